//! Patches of Codex and unified diffs: their cases, what `git diff` writes, and any text at all.

use std::hint::black_box;

use clada::edit::{Edit, apply};
use clada::reply::scan::scan;
use clada::reply::task::{Action, BatchState, Hunk, LineNumbers, Replacement, Sign};
use proptest::prelude::*;

use crate::growth::assert_linear;
use crate::harness::Project;
use crate::scanned::{self, describe_task};

#[test]
fn cases_of_codex() {
    scanned::check("codex");
}

#[test]
fn cases_of_diff() {
    scanned::check("diff");
}

/// Lines of files, few kinds of them so that they repeat, some of which look like parts of a patch or a reply.
fn line() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "",
        " ",
        "\tx",
        "  }",
        "}",
        "-- a",
        "++ b",
        "-",
        "+",
        "@@ -1 +1 @@",
        "```",
        "~~~",
        "<tasks>",
        "</x>",
        "diff --git a/f1 b/f1",
        "--- a/f1",
        "+++ b/f1",
        "\\ No newline at end of file",
        "*** Begin Patch",
        "*** End Patch",
        "<<<<<<< SEARCH",
        "#!nesl [@three-char-SHA-256: abc]",
        "\u{e4}\u{1f600}",
        "\u{2028}",
        "x\ry",
        "-- ",
        "2.39.2",
        "\u{b}",
        "\u{feff}",
    ];
    prop_oneof![
        4 => proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
        4 => "[ab]{1,2}",
        4 => "[a-z]{8}",
    ]
}

/// What becomes of a line.
fn change() -> impl Strategy<Value = Option<Vec<String>>> {
    prop_oneof![
        8 => Just(None),
        1 => proptest::collection::vec(line(), 0..3).prop_map(Some),
    ]
}

/// A file before and after: nothing where it is not there.
fn pair() -> impl Strategy<Value = (Option<String>, Option<String>)> {
    let lines = proptest::collection::vec((line(), change()), 0..25);
    let ends = (any::<bool>(), any::<bool>());
    let newline = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    (lines, ends, newline, 0..12).prop_map(|(lines, ends, newline, kind)| {
        let text = |lines: Vec<&str>, ends: bool| {
            let text: String = lines.iter().flat_map(|line| [*line, newline]).collect();
            match text.strip_suffix(newline) {
                Some(bare) if !ends => bare.to_owned(),
                _ => text,
            }
        };
        let before = lines.iter().map(|(line, _)| line.as_str()).collect();
        let after = lines.iter().flat_map(|(line, change)| match change {
            None => vec![line.as_str()],
            Some(new) => new.iter().map(String::as_str).collect(),
        });
        let (before, after) = (text(before, ends.0), text(after.collect(), ends.1));
        match kind {
            0 => (None, Some(after)),
            1 => (Some(before), None),
            _ => (Some(before), Some(after)),
        }
    })
}

fn write_all(project: &Project, files: &[(String, Option<&String>)]) {
    for (name, content) in files {
        match content {
            Some(content) => drop(project.write(name, content)),
            None if project.exists(name) => {
                std::fs::remove_file(project.path(name)).expect("remove")
            }
            None => {}
        }
    }
}

fn found(project: &Project, name: &str) -> Option<String> {
    let bytes = std::fs::read(project.path(name)).ok()?;
    Some(String::from_utf8(bytes).expect("UTF-8"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// What git writes of any change makes that change, as `git apply` does. Without context it does so or says no.
    #[test]
    fn what_git_writes_is_applied(pairs in proptest::collection::vec(pair(), 1..25), context in 0..5_usize, moves: bool) {
        let project = Project::with_git();
        let names = ["f", "dir/a b", "\u{e4}", "q\"uote", "tab\t", "a/x", "b/x"];
        let name = |at: usize| format!("{}{at}", names[at % names.len()]);
        let before: Vec<_> = pairs.iter().enumerate().map(|(at, (old, _))| (name(at), old.as_ref())).collect();
        let mut after: Vec<_> = pairs.iter().enumerate().map(|(at, (_, new))| (name(at), new.as_ref())).collect();
        write_all(&project, &before);
        project.git(["add", "-A"]);
        project.git(["commit", "-q", "--allow-empty", "-m", "before"]);
        if moves {
            for (at, (old, new)) in pairs.iter().enumerate() {
                if old.is_some() && new.is_some() && at % 3 == 0 {
                    after[at].1 = None;
                    after.push((format!("moved/{at}"), new.as_ref()));
                }
            }
        }
        write_all(&project, &after);
        project.git(["add", "-A"]);
        let diff = project.git(["diff", "--cached", "-M", &format!("-U{context}"), "HEAD"]);
        project.git(["reset", "-q", "--hard"]);
        let run = project.clada_with(["run"], &diff);
        for (name, content) in &after {
            let got = found(&project, name);
            let refused = context == 0 && got == before.iter().find(|(other, _)| other == name).and_then(|(_, old)| old.cloned());
            prop_assert!(
                refused || got.as_ref() == *content,
                "{name}: {got:?}, not {content:?}\n{diff}\n{}{}", run.out, run.err
            );
        }
    }
}

/// Pieces that patches are made of, right and wrong.
pub(crate) fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "diff --git a/x b/x\n",
        "--- a/x\n",
        "+++ b/x\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "@@ -1 +1 @@\n",
        "@@ -1,2 +1,3 @@ fn\n",
        "@@ -0,0 +1 @@\n",
        "@@\n",
        "@@ a\n",
        " a\n",
        "-b\n",
        "+c\n",
        "\n",
        " \n",
        "a\n",
        "\\ No newline\n",
        "rename from x\n",
        "rename to y\n",
        "new file mode 100755\n",
        "deleted file mode 100644\n",
        "old mode 1\n",
        "new mode 2\n",
        "copy from x\n",
        "Binary files a and b differ\n",
        "GIT binary patch\n",
        "literal 3\n",
        "index 1..2\n",
        "-- \n",
        "2.3\n",
        "```\n",
        "````diff\n",
        "~~~\n",
        "*** Begin Patch\n",
        "*** End Patch\n",
        "*** Add File: a\n",
        "*** Update File: a\n",
        "*** Move to: b\n",
        "*** Delete File: c\n",
        "*** End of File\n",
        "*** x\n",
        "> ",
        "\r\n",
        "\t",
        "\"a/\\303\\244\"",
        "<tasks>\n",
        "</tasks>\n",
        "<task>\n<c>exec</c>\n<x>true</x>\n</task>\n",
        "é",
        "-",
        "+",
        "@",
    ];
    prop_oneof![
        6 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
        2 => Just("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n".to_owned()),
        2 => Just("*** Begin Patch\n*** Update File: a\n@@\n a\n-b\n*** End Patch\n".to_owned()),
    ]
}

proptest! {
    /// What a prefix holds as complete stays what it is as the rest arrives.
    #[test]
    fn complete_patches_of_a_prefix_stay(pieces in proptest::collection::vec(piece(), 0..30), cut in any::<prop::sample::Index>()) {
        let text = pieces.concat();
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        let complete = |text: &str| -> Vec<(std::ops::Range<usize>, String)> {
            let found = scan(text);
            let complete = found.batches.iter().filter(|batch| batch.state == BatchState::Complete);
            complete.map(|batch| {
                let mut out = String::new();
                for task in &batch.tasks {
                    describe_task(task, &mut LineNumbers::new(text), &mut out);
                }
                (batch.span.clone(), out)
            }).collect()
        };
        let (part, whole) = (complete(&text[..cut]), complete(&text));
        prop_assert!(whole.starts_with(&part), "{text}\n{part:?}\n{whole:?}");
    }

    /// Batches lie in order, and hunks can be tried on any file.
    #[test]
    fn any_patch_can_be_read_and_tried(pieces in proptest::collection::vec(piece(), 0..30), file in proptest::collection::vec(line(), 0..10)) {
        let text = pieces.concat();
        let file = file.join("\n");
        let mut end = 0;
        for batch in scan(&text).batches {
            prop_assert!(batch.span.start >= end && batch.span.end <= text.len());
            end = batch.span.end;
            for task in &batch.tasks {
                if let Ok(Action::Edit { change: Replacement::Hunks(hunks), .. }) = &task.action {
                    let _ = apply(file.as_bytes(), &Edit::Hunks(hunks));
                }
            }
        }
    }

    /// Lines that were put above or between move the place, and never change it: the result is what it would have been.
    #[test]
    fn moved_lines_are_found_again(
        words in proptest::collection::vec("[a-d]{1,3}", 3..30),
        at in any::<prop::sample::Index>(),
        above in proptest::collection::vec("[A-D]{1,3}", 0..5),
    ) {
        // Each line is there once, so that its place is known.
        let lines: Vec<String> = words.iter().enumerate().map(|(at, word)| format!("{word}{at}\n")).collect();
        let at = at.index(lines.len());
        let mut hunk = Hunk { line: Some(at.saturating_sub(1) + 1), ..Hunk::default() };
        for (index, line) in lines.iter().enumerate().skip(at.saturating_sub(1)).take(if at == 0 { 2 } else { 3 }) {
            let sign = if index == at { Sign::Removed } else { Sign::Kept };
            hunk.lines.push((sign, line.trim_end()));
            if index == at {
                hunk.lines.push((Sign::Added, "new"));
            }
        }
        let above: String = above.iter().map(|line| format!("{line}\n")).collect();
        let file = above.clone() + &lines.concat();
        let wanted = above + &lines[..at].concat() + "new\n" + &lines[at + 1..].concat();
        let edited = apply(file.as_bytes(), &Edit::Hunks(std::slice::from_ref(&hunk))).expect("found");
        prop_assert_eq!(String::from_utf8_lossy(&edited.bytes()).into_owned(), wanted);
        // Where all of it is there twice, and not where it says, nobody knows which is meant.
        hunk.line = None;
        let twice = file.repeat(2);
        prop_assert!(apply(twice.as_bytes(), &Edit::Hunks(&[hunk])).is_err());
    }
}

/// Texts on which a careless reader is quadratic.
#[test]
fn no_patch_makes_the_scan_quadratic() {
    let texts = |size: usize| {
        let many = |unit: &str| unit.repeat(size / unit.len());
        vec![
            many("*** Begin Patch\n"),
            many("*** Begin Patch\n*** Update File: a\n"),
            "*** Begin Patch\n".to_owned() + &many("*** Update File: a\n@@\n-a\n"),
            "*** Begin Patch\n*** Update File: a\n".to_owned() + &many("@@ a\n"),
            many("--- a\n+++ b\n@@"),
            many("--- a\n+++ b\n@@\n"),
            many("--- a\n+++ b\n@@ -1,9999999 +1,9999999 @@\n a\n"),
            many("--- a\n+++ b\n"),
            many("\n+++ "),
            many("diff --git "),
            many("diff --git a/x b/x\n"),
            many("diff --git a/x b/x\nold mode 1\n"),
            "diff --git a/x b/x\nGIT binary patch\n".to_owned() + &many("literal 1\n\n"),
            "```\n--- a\n+++ b\n@@ -1,99 +1,99 @@\n".to_owned() + &many("\n"),
            "--- a\n+++ b\n@@ -1,99 +1,99 @@\n".to_owned() + &many("--- a\n"),
            "--- a\n+++ b\n@@ -1,99 +1,99 @@\n".to_owned() + &many("-- \n"),
        ]
    };
    assert_linear(1_000_000, texts, |text| drop(black_box(scan(text))));
}

/// A file in which the lines of a hunk stand at every line.
#[test]
fn no_uniform_file_makes_a_hunk_quadratic() {
    let files = |size: usize| vec![("a\n".repeat(size / 2), size / 100)];
    assert_linear(1_000_000, files, |(file, lines)| {
        let hunk = Hunk {
            lines: vec![(Sign::Kept, "a"); *lines],
            below: vec!["a", "a", "a"],
            at_end: true,
            ..Hunk::default()
        };
        let _ = black_box(apply(file.as_bytes(), &Edit::Hunks(&[hunk])));
    });
}
