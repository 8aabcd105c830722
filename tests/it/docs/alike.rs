//! Compares what a page shows with what was printed: commit ids, times, batch ids, durations and process numbers stand for
//! any, and a line `…` for any number of lines.

/// Stands for lines that are left out.
const LEFT_OUT: &str = "…";

/// Returns whether a page's text shows what was printed.
pub(super) fn is_shown(expected: &str, got: &str) -> bool {
    let expected: Vec<String> = expected.lines().map(any).collect();
    let got: Vec<String> = got.lines().map(any).collect();
    matches(&expected, &got)
}

fn matches(expected: &[String], got: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return got.is_empty();
    };
    if first.trim() == LEFT_OUT {
        return (0..=got.len()).any(|skipped| matches(rest, &got[skipped..]));
    }
    got.first().is_some_and(|line| is_line(first, line)) && matches(rest, &got[1..])
}

/// A busy machine makes a duration worth saying where the page has none.
fn is_line(expected: &str, got: &str) -> bool {
    got == expected || got.replacen(" (N s)", "", 1) == expected
}

/// The text that a page should have: what was printed, without lines that are left out in the old one.
///
/// The lines before the first `…` and after the last one are as many as they were.
pub(super) fn renewed(old: &str, got: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let got: Vec<&str> = got.lines().collect();
    let is_left_out = |line: &&str| line.trim() == LEFT_OUT;
    let (Some(first), Some(last)) = (
        old.iter().position(is_left_out),
        old.iter().rposition(is_left_out),
    ) else {
        return got.iter().map(|line| format!("{line}\n")).collect();
    };
    let after = old.len() - last - 1;
    let head = &got[..first.min(got.len())];
    let tail = &got[got.len().saturating_sub(after).max(head.len())..];
    let lines = head.iter().chain(&[LEFT_OUT]).chain(tail);
    lines.map(|line| format!("{line}\n")).collect()
}

/// A line with what differs from run to run replaced by its kind.
fn any(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let mut words: Vec<String> = line.split_whitespace().map(word).collect();
    for at in 1..words.len() {
        let is_duration = matches!(
            words[at].trim_end_matches([')', ',', ':', '.', ';']),
            "s" | "ms" | "min"
        );
        let number = words[at - 1].trim_start_matches('(');
        if is_duration && number.parse::<f64>().is_ok() {
            words[at - 1] = words[at - 1].replace(number, "N");
        }
        if words[at - 1] == "version" && words[at].starts_with(|c: char| c.is_ascii_digit()) {
            "N".clone_into(&mut words[at]);
        }
        if words[at - 1].ends_with("process") && words[at].starts_with(|c: char| c.is_ascii_digit())
        {
            words[at] = words[at]
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .to_owned()
                + "N";
        }
    }
    line[..indent].to_owned() + &words.join(" ")
}

/// A word whose ids and times are replaced.
fn word(word: &str) -> String {
    let mut text = String::new();
    let mut piece = String::new();
    for c in word.chars() {
        if c.is_ascii_alphanumeric() || ":-".contains(c) {
            piece.push(c);
        } else {
            text += &kind(&std::mem::take(&mut piece));
            text.push(c);
        }
    }
    text + &kind(&piece)
}

fn kind(piece: &str) -> String {
    let trimmed = piece.trim_end_matches([':', '-']);
    let end = &piece[trimmed.len()..];
    let is_commit = |text: &str| {
        matches!(text.len(), 7 | 40) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let name = match trimmed {
        text if is_commit(text) => "COMMIT",
        text if is_form(text, "00:00:00") || is_form(text, "00:00") => "TIME",
        text if is_form(text, "0000-00-00") => "DATE",
        text if is_batch(text) => "BATCH",
        text => text,
    };
    format!("{name}{end}")
}

/// The id of a batch, or its beginning as people type it.
fn is_batch(text: &str) -> bool {
    let id = text.get(..15).filter(|_| text.len() == 20);
    let is_id = |id: &str| is_form(id, "00000000-000000") && text.as_bytes()[15] == b'-';
    id.is_some_and(is_id) || is_form(text, "00000000-000000") || is_form(text, "00000000-0000")
}

/// Returns whether a text has digits where the form has them, and else is the same.
fn is_form(text: &str, form: &str) -> bool {
    let is_alike = |(a, b): (u8, u8)| {
        if b == b'0' {
            a.is_ascii_digit()
        } else {
            a == b
        }
    };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(is_alike)
}

#[test]
fn what_differs_from_run_to_run_is_alike_and_nothing_else() {
    let shown = "1 ✅ exec sh a.sh (2.4 s)\n💚 git 3f2a1bc → 9d0e221\n…\n";
    assert!(is_shown(
        shown,
        "1 ✅ exec sh a.sh (0.1 s)\n💚 git 1234567 → abcdefa\n"
    ));
    assert!(is_shown(
        shown,
        "1 ✅ exec sh a.sh (0.1 s)\n💚 git 1234567 → abcdefa\nmore\nlines\n"
    ));
    assert!(!is_shown(
        shown,
        "1 ✅ exec sh b.sh (0.1 s)\n💚 git 1234567 → abcdefa\n"
    ));
    assert!(!is_shown("a\n", "a\nb\n") && !is_shown("a\nb\n", "a\n"));
    assert!(is_shown("a\n…\nd\n…\n", "a\nb\nc\nd\n") && !is_shown("a\n…\nd\n", "a\nb\n"));
    for (one, other) in [
        (
            "  12  20261120-103245-3f2a  10:32:45",
            "  12 20261120-235959-0000  23:59:59",
        ),
        ("saved (9a85af7): undo:", "saved (1a85af7): undo:"),
        ("process 4711 runs", "process 12 runs"),
        ("1 ✅ exec true", "1 ✅ exec true (0.1 s)"),
        ("2026-11-20 10:32", "2027-01-01 11:00"),
    ] {
        assert!(is_shown(one, other), "{one}");
    }
    for (one, other) in [
        ("  a", "a"),
        ("v0.1.0", "v0.2.0"),
        ("1 ✅ exec true (0.1 s)", "1 ✅ exec true"),
        ("3 files", "4 files"),
        ("exit code 1", "exit code 2"),
    ] {
        assert!(!is_shown(one, other), "{one}");
    }
}

#[test]
fn renewed_text_leaves_out_what_the_old_one_did() {
    assert_eq!(renewed("a\n", "b\nc\n"), "b\nc\n");
    assert_eq!(renewed("a\n…\nz\n", "b\nc\nd\ne\n"), "b\n…\ne\n");
    assert_eq!(renewed("a\nb\n…\n", "c\n"), "c\n…\n");
    assert_eq!(renewed("…\ny\nz\n", "c\n"), "…\nc\n");
}
