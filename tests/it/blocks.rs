//! The dialects whose blocks lie between marker lines, replacer and aider: their cases, and what holds for any text.

use std::hint::black_box;
use std::ops::Range;

use clada::reply::scan::scan;
use clada::reply::task::{Action, BatchState, LineNumbers, Replacement};
use proptest::prelude::*;

use crate::growth::assert_linear;
use crate::scanned::{self, describe, describe_task};

#[test]
fn cases_of_replacer() {
    scanned::check("replacer");
}

#[test]
fn cases_of_aider() {
    scanned::check("aider");
}

/// Pieces that replies of these dialects are made of, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "<<<EXPLANATION>>>\n",
        "<<<FILE>>>\n",
        "<<<SEARCH>>>\n",
        "<<<REPLACE>>>\n",
        "<<<OVERWRITE>>>\n",
        "<<<END>>>\n",
        "<<<END>>>",
        "<<<<<<< SEARCH\n",
        "<<<<< SEARCH>\n",
        "=======\n",
        "=====\n",
        ">>>>>>> REPLACE\n",
        ">>>>>>> REPLACE",
        "<<<<<<< HEAD\n",
        "```\n",
        "```src/a.py\n",
        "src/a.py\n",
        "**b.txt**:\n",
        "some prose\n",
        "<tasks>\n",
        "</tasks>\n",
        "<x>\n",
        "</x>\n",
        "<!-- clada:off -->\n",
        "<!-- clada:on -->\n",
        "  ",
        "\t",
        "\r\n",
        "\n",
        "\u{feff}",
        "é😀",
        "<",
        ">",
    ];
    prop_oneof![
        8 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        2 => Just("<<<FILE>>>\na.txt\n<<<SEARCH>>>\na\n<<<REPLACE>>>\nb\n<<<END>>>\n".to_owned()),
        2 => Just("a.txt\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".to_owned()),
        1 => Just("<task>\n<c>exec</c>\n<x>\ntrue\n</x>\n</task>\n".to_owned()),
    ]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

/// The tasks of a text that may run, each by its place and what it asks for.
fn tasks(text: &str, may_run: fn(&BatchState) -> bool) -> Vec<(Range<usize>, String)> {
    let found = scan(text);
    let batches = found.batches.iter().filter(|batch| may_run(&batch.state));
    let tasks = batches.flat_map(|batch| &batch.tasks);
    let tasks = tasks.map(|task| {
        let mut out = String::new();
        describe_task(task, &mut LineNumbers::new(text), &mut out);
        (task.span.clone(), out)
    });
    tasks.collect()
}

/// The payload of lines that no marker is among.
fn content() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[^\n\r]{0,20}",
        1 => Just("<<<<<<< HEAD".to_owned()),
        1 => Just("<tasks>".to_owned()),
        1 => Just("x <<<END>>>".to_owned()),
        1 => Just("  ```".to_owned()),
    ];
    let is_marker = |line: &str| {
        let line = line.trim_start_matches('\u{feff}').trim();
        line.starts_with("<<<") && line.ends_with(">>>")
            || line.starts_with("<<<<< SEARCH")
            || line.starts_with("=====")
    };
    let line = line.prop_filter("no marker", move |line| !is_marker(line));
    proptest::collection::vec(line, 0..6)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

fn path() -> impl Strategy<Value = String> {
    "[a-z_]{1,8}(/[a-z_.]{1,8}){0,2}/[a-z_]{1,8}(\\.[a-z]{1,3})?"
}

/// What a text with one block asks for, where it asks for one thing and no more.
fn only_action(text: &str) -> Result<Action<'_>, TestCaseError> {
    let mut found = scan(text);
    let state = found.batches.first().map(|batch| batch.state.clone());
    let is_one = found.batches.len() == 1 && found.problems.is_empty();
    let mut tasks = found.batches.pop().map_or(Vec::new(), |batch| batch.tasks);
    match tasks.pop() {
        Some(task) if is_one && tasks.is_empty() && state == Some(BatchState::Complete) => {
            let action = task.action;
            action.map_err(|problem| TestCaseError::fail(format!("{problem:?}")))
        }
        _ => Err(TestCaseError::fail(describe(text))),
    }
}

proptest! {
    /// Half-written is pending, not wrong: a task that may run at once stays what it is as the rest arrives.
    #[test]
    fn complete_tasks_of_a_prefix_stay(text in text(), cut in any::<prop::sample::Index>()) {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        let part = tasks(&text[..cut], |state| *state == BatchState::Complete);
        let whole = tasks(&text, |state| matches!(state, BatchState::Complete | BatchState::Provisional));
        let gone = part.iter().find(|task| !whole.contains(task));
        prop_assert_eq!(gone, None, "{:?}", whole);
    }

    /// No text makes the scan panic; batches lie in order and do not overlap, and each read by itself is the same.
    #[test]
    fn any_text_with_marks_can_be_scanned(text in text()) {
        let found = scan(&text);
        let mut end = 0;
        for batch in &found.batches {
            prop_assert!(batch.span.start >= end && batch.span.end <= text.len());
            end = batch.span.end;
            for task in &batch.tasks {
                prop_assert!(batch.span.start <= task.span.start && task.span.end <= batch.span.end);
            }
        }
        describe(&text);
    }

    /// A block of the replacer format comes back as it was written.
    #[test]
    fn blocks_of_replacer_come_back(
        path in path(),
        why in "[a-z ]{0,20}",
        pairs in proptest::collection::vec((content(), content()), 1..3),
    ) {
        let texts: String = pairs.iter().map(|(s, r)| format!("<<<SEARCH>>>\n{s}<<<REPLACE>>>\n{r}")).collect();
        let block = format!("<<<EXPLANATION>>>\n\n{why}\n\n<<<FILE>>>\n{path}\n{texts}<<<END>>>\n");
        let Action::Edit { path: read, change: Replacement::Pairs(change), .. } = only_action(&block)? else {
            return Err(TestCaseError::fail(describe(&block)));
        };
        prop_assert_eq!(read, path);
        let change: Vec<_> = change.iter().map(|(s, r)| (s.text().into_owned(), r.text().into_owned())).collect();
        let written = pairs.into_iter().map(|(s, r)| (s, if r.trim().is_empty() { String::new() } else { r }));
        prop_assert_eq!(change, written.collect::<Vec<_>>());
    }

    /// So does one that overwrites.
    #[test]
    fn files_of_replacer_come_back(path in path(), text in content()) {
        let block = format!("<<<FILE>>>\n{path}\n<<<OVERWRITE>>>\n{text}<<<END>>>\n");
        let Action::Overwrite { path: read, content, final_newline: true, only_new: false } = only_action(&block)? else {
            return Err(TestCaseError::fail(describe(&block)));
        };
        prop_assert_eq!(read, path);
        prop_assert_eq!(content.text(), text);
    }

    /// So does a block of aider.
    #[test]
    fn blocks_of_aider_come_back(path in path(), search in content(), replace in content()) {
        let block = format!("{path}\n```\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n");
        let (read, written) = match only_action(&block)? {
            Action::Edit { path, change: Replacement::Pairs(pairs), .. } => {
                prop_assert_eq!(pairs[0].0.text(), search);
                (path.into_owned(), pairs[0].1.text().into_owned())
            }
            Action::Overwrite { path, content, final_newline: true, only_new: true } => {
                prop_assert!(search.trim().is_empty());
                (path.into_owned(), content.text().into_owned())
            }
            _ => return Err(TestCaseError::fail(describe(&block))),
        };
        prop_assert_eq!((read, written), (path, replace));
    }

    /// What is quoted in a payload of CML is content.
    #[test]
    fn blocks_in_cml_do_not_run(pieces in proptest::collection::vec(piece(), 0..20)) {
        let quoted: String = pieces.into_iter().filter(|piece| !piece.contains("x>")).collect();
        let cml = format!("<task>\n<path>a</path>\n<c>overwrite</c>\n<x>\n{quoted}\n</x>\n</task>\n");
        let Action::Overwrite { content, .. } = only_action(&cml)? else {
            return Err(TestCaseError::fail(describe(&cml)));
        };
        prop_assert_eq!(content.text().replace('\r', ""), format!("{quoted}\n").replace('\r', ""));
    }

    /// CML and blocks of aider in a block of the replacer format are content.
    #[test]
    fn cml_in_blocks_does_not_run(pieces in proptest::collection::vec(piece(), 0..20)) {
        let quoted: String = pieces.into_iter().filter(|piece| !piece.contains("<<<E") && !piece.contains(">>>\n")).collect();
        let block = format!("<<<FILE>>>\na\n<<<OVERWRITE>>>\n{quoted}\n<<<END>>>\n");
        let Action::Overwrite { content, .. } = only_action(&block)? else {
            return Err(TestCaseError::fail(describe(&block)));
        };
        prop_assert_eq!(content.text().replace('\r', ""), format!("{quoted}\n").replace('\r', ""));
    }
}

/// Texts on which a careless reader is quadratic.
#[test]
fn no_marks_make_the_scan_quadratic() {
    let texts = |size: usize| {
        let many = |unit: &str| unit.repeat(size / unit.len());
        vec![
            many("<<<FILE>>>\n"),
            many("<<<FILE>>>"),
            many("<<<FILE>>> "),
            many("                                <<<FILE>>>x\n"),
            many("<<<FILE>>>\na\n"),
            many("<<<FILE>>>\na\nb\n"),
            many("<<<SEARCH>>>\n"),
            many("<<<OVERWRITE>>>\n<<<END>>>\n"),
            many("<<<EXPLANATION>>>\n"),
            many("<<<EXPLANATION>>>\n") + &many("<<<FILE>>>\na\n<<<FILE>>>\n"),
            many("<<<EXPLANATION>>>") + &many("<<<FILE>>>\na\n<<<OVERWRITE>>>\n<<<END>>>\n"),
            many("x") + &many("<<<FILE>>>\na\nb\n"),
            many("<<<FILE>>>\na\n<<<SEARCH>>>\n<<<REPLACE>>>\n<<<END>>>\n"),
            "<<<FILE>>>\na\n".to_owned() + &many("<<<SEARCH>>>\n<<<REPLACE>>>\n") + "<<<END>>>\n",
            many("<<<<<<< SEARCH\n"),
            many("<<<<<<< SEARCH"),
            many("<<<<<"),
            many("  <<<<<<< SEARCH\n  >>>>>>> REPLACE\n"),
            many("<<<<<<< SEARCH\n>>>>>>> REPLACE\n"),
            many("a\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n"),
            many("<<<<<<< SEARCH\n>>>>>>> REPLACE\n") + "<<<<<<< SEARCH\n",
            many("x ") + "\n<<<<<<< SEARCH\n" + &many("=======\n"),
            many(
                "<<<<<<< SEARCH\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n<<<<<<< SEARCH\n>>>>>>> REPLACE\n",
            ),
            many("<<<<<<< SEARCH\n>>>>>>> REPLACE\nx\n```\n"),
            many("```\n") + &many("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n```\n"),
        ]
    };
    assert_linear(500_000, texts, |text| drop(black_box(scan(text))));
}
