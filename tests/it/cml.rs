//! The scanner and the CML reader: `test-data/cml`, and properties that hold for any text.

use std::fmt::Write as _;

use clada::lang::scan::scan;
use clada::lang::task::{Action, Batch, BatchState, Change, Lines, Payload, Task};
use clada::lang::text::Form;
use clada::lang::wording;
use proptest::prelude::*;

use crate::cases;

#[test]
fn cases_of_cml() {
    cases::run("cml", |case, verdict| {
        let reply = case.one("reply").expect("a `reply` block").string();
        let expected = case.one("scan").expect("a `scan` block");
        verdict.expect(expected, describe(&reply).as_bytes());
    });
}

/// What a scan found, a line a batch, a task, a problem.
fn describe(text: &str) -> String {
    let found = scan(text);
    let mut lines = Lines::new(text);
    let mut out = String::new();
    for problem in &found.problems {
        let said = wording::problem(problem, &mut lines);
        let _ = writeln!(out, "line {}: {said}", lines.of(problem.at));
    }
    for batch in &found.batches {
        describe_batch(batch, &mut lines, &mut out);
    }
    out
}

fn describe_batch(batch: &Batch<'_>, lines: &mut Lines<'_>, out: &mut String) {
    let state = match &batch.state {
        BatchState::Complete => "complete",
        BatchState::Provisional => "provisional",
        BatchState::Open(_) => "open",
        BatchState::Broken(_) => "broken",
    };
    let _ = write!(out, "batch line {} {state}", lines.of(batch.span.start));
    if batch.atomic {
        out.push_str(" atomic");
    }
    if let Some(message) = &batch.message {
        let _ = write!(out, " {message:?}");
    }
    out.push('\n');
    if let Some(problem) = batch.state.problem() {
        let said = wording::problem(problem, lines);
        let _ = writeln!(out, "  line {}: {said}", lines.of(problem.at));
    }
    for task in &batch.tasks {
        describe_task(task, lines, out);
    }
}

fn describe_task(task: &Task<'_>, lines: &mut Lines<'_>, out: &mut String) {
    let _ = write!(out, "  line {}: ", lines.of(task.span.start));
    let text = |payload: &Payload<'_>| {
        let form = if payload.form == Form::Inline {
            "inline "
        } else {
            ""
        };
        format!("{form}{:?}", payload.text())
    };
    let _ = match &task.action {
        Err(problem) => {
            let said = wording::problem(problem, lines);
            write!(out, "error line {}: {said}", lines.of(problem.at))
        }
        Ok(Action::Edit {
            path,
            change: Change::Pairs(pairs),
        }) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(s, r)| format!(" {} => {}", text(s), text(r)))
                .collect();
            write!(out, "edit {path}{}", pairs.concat())
        }
        Ok(Action::Edit {
            path,
            change:
                Change::Stretch {
                    head,
                    tail,
                    replace,
                },
        }) => {
            write!(
                out,
                "edit {path} {} .. {} => {}",
                text(head),
                text(tail),
                text(replace)
            )
        }
        Ok(Action::Overwrite {
            path,
            content,
            final_newline,
        }) => {
            let flag = if *final_newline { "" } else { " no-newline" };
            write!(out, "overwrite {path} {}{flag}", text(content))
        }
        Ok(Action::Move {
            path,
            to,
            overwrite,
        }) => {
            write!(
                out,
                "move {path} -> {to}{}",
                if *overwrite { " overwrite" } else { "" }
            )
        }
        Ok(Action::Delete { path }) => write!(out, "delete {path}"),
        Ok(Action::Exec {
            script,
            timeout,
            lang,
            version,
            cwd,
        }) => {
            let lang = lang.map_or(String::new(), |lang| format!(" lang={}", lang.name()));
            let other = |name, value: &Option<String>| match value {
                Some(value) => format!(" {name}={value:?}"),
                None => String::new(),
            };
            let (version, cwd) = (other("version", version), other("cwd", cwd));
            write!(out, "exec {} {timeout:?}{lang}{version}{cwd}", text(script))
        }
    };
    if !task.why.is_empty() {
        let _ = write!(out, " ({})", task.why);
    }
    out.push('\n');
    for warning in &task.warnings {
        let said = wording::problem(warning, lines);
        let _ = writeln!(out, "    warning line {}: {said}", lines.of(warning.at));
    }
}

/// Pieces that replies are made of, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let tags = [
        "<tasks>",
        "</tasks>",
        "<task>",
        "</task>",
        "<i>",
        "</i>",
        "<path>",
        "</path>",
        "<c>",
        "</c>",
        "<x>",
        "</x>",
        "<search>",
        "</search>",
        "<replace>",
        "</replace>",
        "<search-head>",
        "</search-tail>",
        "<![CDATA[",
        "]]>",
        "<x timeout=\"3s\">",
        "<tasks atomic=\"yes\">",
        "<note>",
        "</note>",
        "<br/>",
        "<!-- clada:off -->",
        "<!-- clada:on -->",
        "&lt;tasks&gt;",
        "edit",
        "a.txt",
        " text ",
        "é😀",
        "\t",
        "  ",
        "\r\n",
        "\n",
        "\n",
        "\n",
        "\u{feff}",
        "<",
        ">",
        "&",
        "\"",
    ];
    prop_oneof![
        6 => proptest::sample::select(tags.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        3 => Just("<tasks>\n<task>\n<path>a</path>\n<c>overwrite</c>\n<x>\nhello\n</x>\n</task>\n</tasks>\n".to_owned()),
        2 => Just("<task>\n<c>exec</c>\n<x>\ntrue\n</x>\n</task>\n".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Half-written is pending, not wrong: what a prefix holds as complete stays what it is as the rest arrives.
    #[test]
    fn complete_batches_of_a_prefix_stay(text in text(), cut in any::<prop::sample::Index>()) {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        let complete = |text: &str| -> Vec<(std::ops::Range<usize>, String)> {
            let found = scan(text);
            let complete = found.batches.iter().filter(|b| b.state == BatchState::Complete);
            complete.map(|b| {
                let mut out = String::new();
                for task in &b.tasks {
                    describe_task(task, &mut Lines::new(text), &mut out);
                }
                (b.span.clone(), out)
            }).collect()
        };
        let (part, whole) = (complete(&text[..cut]), complete(&text));
        prop_assert!(whole.starts_with(&part), "{part:?}\n{whole:?}");
    }

    /// No text makes the scan panic; batches lie in order and do not overlap; a problem has its place in the text.
    #[test]
    fn any_text_can_be_scanned(text in prop_oneof![text(), "\\PC*", any::<String>()]) {
        let found = scan(&text);
        let mut end = 0;
        for batch in &found.batches {
            prop_assert!(batch.span.start >= end && batch.span.end <= text.len());
            end = batch.span.end;
        }
        describe(&text);
    }

    /// What is written between tags that stand alone comes back to the byte.
    #[test]
    fn payloads_are_raw(lines in proptest::collection::vec("[^\n\r]{0,30}", 0..8)) {
        prop_assume!(lines.iter().all(|line| !line.trim().eq_ignore_ascii_case("</x>")
            && !line.trim().to_lowercase().starts_with("<x") && !line.trim().starts_with("<![CDATA[")));
        let payload: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let reply = format!("<tasks>\n<task>\n<path>a</path>\n<c>overwrite</c>\n<x>\n{payload}</x>\n</task>\n</tasks>\n");
        let found = scan(&reply);
        let Ok(Action::Overwrite { content, .. }) = &found.batches[0].tasks[0].action else {
            return Err(TestCaseError::fail(describe(&reply)));
        };
        prop_assert_eq!(content.text(), payload);
    }
}

/// Texts on which a careless scanner is quadratic: each would take minutes then, and takes milliseconds now.
#[test]
fn no_text_makes_the_scan_quadratic() {
    let many = |unit: &str| unit.repeat(1_000_000 / unit.len());
    let head = "<tasks>\n";
    for text in [
        many("<"),
        many("<tasks>\n"),
        many("<task>\n"),
        many("<task><x>\nbar</x>\n</task>\n"),
        head.to_owned() + &many("<task>\n<c>exec</c>\n<x>\nbar</x>\n</task>\n"),
        head.to_owned() + &many("<task>\n<x>\n<x>\n<x>\n</x>\n"),
        head.to_owned() + &many("<task><unknown>\n</task>\n"),
        head.to_owned()
            + &(0..50_000)
                .map(|n| format!("<task>\n<u{n}>\n</task>\n"))
                .collect::<String>(),
        (0..25_000)
            .map(|n| format!("<tasks>\n<task>\n<u{n}>\n</task>\n</tasks>\n"))
            .collect::<String>(),
        head.to_owned() + "<task>\n" + &many("<i>"),
        head.to_owned() + "<task>\n" + &many("<path>\n"),
        head.to_owned() + "<task>\n<x><![CDATA[" + &many("]]> "),
        many("<!-- clada:off -->\n"),
        many("<!-- clada:off a -->\n<!-- clada:on b -->\n"),
        many(" <tasks"),
        many("                                                       <x\n"),
        many("<x></x"),
        head.to_owned() + "<task><x>" + &many("<x>"),
        many("&lt;tasks&gt;\n"),
    ] {
        std::hint::black_box(scan(&text));
    }
}
