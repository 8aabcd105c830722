//! SHAM and NESL: what `clada check --json` says of blocks, what they ask for, and what holds for any text.

use std::fmt::Write as _;
use std::hint::black_box;

use clada::reply::dialect::Dialect;
use clada::reply::dialects::nesl::document;
use clada::reply::scan::scan;
use clada::reply::task::{BatchState, LineNumbers};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cases;
use crate::growth::assert_linear;
use crate::harness::Project;
use crate::scanned::{describe, describe_task};

/// A line for each block and each error.
fn found(text: &str) -> String {
    let found = document(text, &scan(text));
    let mut out = String::new();
    for value in found.blocks.iter().chain(&found.errors) {
        let _ = writeln!(out, "{value}");
    }
    out
}

#[test]
fn cases_of_nesl() {
    cases::run("nesl", one);
}

#[test]
fn cases_of_sham() {
    cases::run("sham", one);
}

fn one(case: &cases::Case, verdict: &mut cases::Verdict) {
    let reply = case.one("reply").expect("a `reply` block").string();
    if let Some(expected) = case.one("json") {
        verdict.expect(expected, found(&reply).as_bytes());
    }
    if let Some(expected) = case.one("scan") {
        verdict.expect(expected, describe(&reply).as_bytes());
    }
}

/// The markers of a dialect: header, end line, heredoc.
fn markers(dialect: Dialect, id: &str) -> (String, String, String) {
    let (header, end, heredoc) = match dialect {
        Dialect::Sham => ("#!SHAM", "#!END_SHAM_", "EOT_SHAM_"),
        _ => ("#!nesl", "#!end_", "EOT_"),
    };
    let header = format!("{header} [@three-char-SHA-256: {id}]");
    (header, format!("{end}{id}"), format!("{heredoc}{id}"))
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![Just(Dialect::Sham), Just(Dialect::Nesl)]
}

/// Pieces that blocks are made of, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "#!SHAM [@three-char-SHA-256: abc]\n",
        "#!SHAM [@three-char-SHA-256: de]\n",
        "#!END_SHAM_abc\n",
        "#!nesl [@three-char-SHA-256: abc]\n",
        "#!nesl [@three-char-SHA-256: de]\n",
        "#!nesl [@x: a]\n",
        "#!nesl ",
        "#!end_abc\n",
        "#!end_de\n",
        "#!end_abc",
        "a = \"1\"\n",
        "action = \"ls\"\npath = \"/p\"\n",
        "b = <<'EOT_abc'\n",
        "c = <<'EOT_SHAM_abc'\n",
        "d = <<'EOT_de'\n",
        "EOT_abc\n",
        "EOT_SHAM_abc\n",
        "EOT_de\n",
        "EOT_abc'",
        "e = \"open\n",
        "f = <<EOT\n",
        "prose\n",
        "<task>\n<c>exec</c>\n<x>\ntrue\n</x>\n</task>\n",
        "<tasks>\n",
        "<x>\n",
        "</x>\n",
        "```\n",
        "<!-- clada:off -->\n",
        "<!-- clada:on -->\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\u{feff}",
        "=",
        ":=",
        "=>",
        "\"",
        "é😀",
    ];
    prop_oneof![
        9 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
    ]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

/// The tasks and problems of the batches that are complete: where each is, and what it says.
fn complete(text: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let found = scan(text);
    let batches = found.batches.iter();
    let batches = batches.filter(|batch| batch.state == BatchState::Complete);
    let tasks = batches.flat_map(|batch| &batch.tasks);
    tasks
        .map(|task| {
            let mut said = String::new();
            describe_task(task, &mut LineNumbers::new(text), &mut said);
            (task.span.clone(), said)
        })
        .collect()
}

proptest! {
    /// What is written as a block comes back, in both dialects, quoted and in heredocs.
    #[test]
    fn a_block_that_is_written_is_read_the_same(
        dialect in dialect(),
        id in "[A-Za-z0-9]{2,8}",
        values in proptest::collection::btree_map("[a-zé_用][a-z0-9_é]{0,9}", (any::<String>(), any::<bool>()), 0..6),
        windows in any::<bool>(),
    ) {
        let (header, end, delimiter) = markers(dialect, &id);
        let mut text = header + "\n";
        let mut expected = serde_json::Map::new();
        for (key, (value, heredoc)) in values {
            let value = value.replace("\r", "");
            let can_be = value.split('\n').all(|line| !line.contains(&delimiter));
            text += &match heredoc && can_be {
                true => format!("{key} = <<'{delimiter}'\n{value}\n{delimiter}\n"),
                // The one escape that the grammar takes for an operator.
                false => format!("{key} = {}\n", json!(value).to_string().replace(":=", "\\u003a=")),
            };
            expected.insert(key, value.into());
        }
        text += &(end + "\n");
        let lines = text.lines().count();
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let found = document(&text, &scan(&text));
        let no_errors: Vec<Value> = Vec::new();
        prop_assert_eq!(found.errors, no_errors);
        let block = json!({ "id": id, "properties": expected, "startLine": 1, "endLine": lines });
        prop_assert_eq!(found.blocks, vec![block]);
    }

    /// No text makes it panic; blocks lie in order, and each error has its place in the text.
    #[test]
    fn any_text_can_be_read(text in prop_oneof![text(), any::<String>()]) {
        let found = document(&text, &scan(&text));
        let lines = text.split('\n').count();
        let mut last = 0;
        for block in &found.blocks {
            let start = block["startLine"].as_u64().unwrap_or_default();
            prop_assert!(start > last, "{text:?}");
            last = start;
        }
        for error in &found.errors {
            let line = usize::try_from(error["line"].as_u64().unwrap_or_default()).unwrap_or_default();
            prop_assert!(line >= 1 && line <= lines + 1, "{text:?}");
            let context = error["context"].as_str().unwrap_or_default();
            prop_assert_eq!(context.split('\n').count(), lines.min(5), "{:?}", text);
            prop_assert!(context.contains(error["content"].as_str().unwrap_or_default()));
        }
        describe(&text);
    }

    /// What a prefix holds as complete stays what it is as the rest arrives.
    #[test]
    fn complete_blocks_of_a_prefix_stay(text in text(), cut in any::<prop::sample::Index>()) {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        let (part, whole) = (complete(&text[..cut]), complete(&text));
        prop_assert!(part.iter().all(|task| whole.contains(task)), "{text:?} at {cut}\n{part:?}\n{whole:?}");
    }

    /// Nothing in a heredoc is read, whatever it is.
    #[test]
    fn what_is_in_a_heredoc_is_content(content in text()) {
        prop_assume!(!content.contains("EOT_zzz"));
        let content = content.replace('\r', "");
        let text = format!("#!nesl [@three-char-SHA-256: zzz]\na = <<'EOT_zzz'\n{content}\nEOT_zzz\n#!end_zzz\n");
        let found = document(&text, &scan(&text));
        prop_assert_eq!(found.blocks.len(), 1);
        prop_assert_eq!(&found.blocks[0]["properties"]["a"], &Value::from(content));
        prop_assert!(found.errors.is_empty());
    }
}

/// Texts on which a careless reader is quadratic.
#[test]
fn no_text_makes_the_reading_quadratic() {
    let head = "#!nesl [@three-char-SHA-256: abc]\n";
    let sham = "#!SHAM [@three-char-SHA-256: abc]\n";
    let texts = |size: usize| {
        let many = |unit: &str| unit.repeat(size / unit.len());
        vec![
            many(head),
            many("#!nesl "),
            many("#!nesl x\n"),
            many("#!nesl      "),
            many(&format!("{head}x\n{sham}y\n")),
            head.to_owned() + &many("#!nesl x\n"),
            head.to_owned() + &many("="),
            head.to_owned() + &many("=\n"),
            head.to_owned() + &many("x\n"),
            head.to_owned() + &many(":="),
            head.to_owned() + &many("a = \"\n"),
            head.to_owned() + "a = \"" + &many("\\\""),
            head.to_owned() + &many("a = <<'EOT_abc'\n"),
            head.to_owned() + &many("a = <<'EOT_abd'\n"),
            head.to_owned() + &many("a = <<'EOT_abc'\nEOT_abc\n"),
            head.to_owned() + "a = <<'EOT_abc'\n" + &many("EOT_abc "),
            head.to_owned() + "a = <<'EOT_abc'\n" + &many(" EOT_abc x\n"),
            head.to_owned()
                + &(0..size * 3 / 10)
                    .map(|n| format!("k{n} = \"\"\n"))
                    .collect::<String>(),
            many(&format!("{head}a = <<'EOT_abc'\n")),
            many(&format!("{head}a = \"1\"\n#!end_abc\n")),
            many(&format!(
                "{head}a = \"1\"\n<task>\n<c>exec</c>\n<x>\ntrue\n</x>\n</task>\n"
            )),
        ]
    };
    assert_linear(100_000, texts, |text| {
        black_box(scan(text));
        // Making JSON of it is slow without optimization.
        let part = &text[..text.len() / 4];
        black_box(document(part, &scan(part)));
    });
}

#[test]
fn check_prints_the_form_of_the_dialects_that_are_there() {
    let project = Project::new();
    let keys = |reply: &str| -> Vec<String> {
        let said = project.clada_with(["check", "--json"], reply).json();
        let keys = said.as_object().expect("an object").keys();
        keys.cloned().collect()
    };
    let block = "#!nesl [@three-char-SHA-256: abc]\naction = \"undo\"\n#!end_abc\n";
    let batch = "<task>\n<c>exec</c>\n<x>\ntrue\n</x>\n</task>\n";
    assert_eq!(keys(block), ["blocks", "errors"]);
    let of_batch = ["tasks", "totalBlocks", "parseErrors", "key", "clipboard"];
    assert_eq!(keys(batch), of_batch);
    let keyed = format!("clada: k7m2x\n{block}");
    assert_eq!(keys(&keyed), ["blocks", "errors", "key", "clipboard"]);
    let all = ["blocks", "errors", "tasks", "totalBlocks", "parseErrors"];
    let both = [&all[..], &["key", "clipboard"]].concat();
    assert_eq!(keys(&(block.to_owned() + batch)), both);
    assert_eq!(keys("nothing"), all);
}

#[test]
fn check_says_each_error_with_its_line() {
    let project = Project::new();
    let reply = "\n#!SHAM [@three-char-SHA-256: abc]\na = 1\nb\n#!END_SHAM_abc\n#!SHAM [@three-char-SHA-256: a]\n\
                 #!SHAM [@three-char-SHA-256: def]\naction = \"fly\"\n#!END_SHAM_def\n";
    let checked = project.clada_with(["check"], reply).exits(1);
    assert_eq!(
        checked.out,
        "abc (lines 2-5)\n\
         def fly (lines 7-9)\n\
         line 3: block abc: Value must be a quoted string or heredoc\n\
         line 4: block abc: Invalid line format in block 'abc': not a valid key-value assignment or empty line\n\
         line 6: Block ID must be exactly 3 characters\n\
         line 7: block def: Unknown action: fly\n\
         2 tasks, 4 problems\n"
    );
}
