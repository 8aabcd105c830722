//! The key in a copied reply: which texts carry one, which are cut off, and which are the examples of the instructions.

use clada::reply::chat_key::ChatKey;
use clada::reply::copied_reply::{CopiedReply, judge};
use clada::reply::dialect::Dialect;
use clada::reply::lessons;
use clada::reply::scan::scan;
use clada::reply::task::Command;
use clada::reply::teaching;
use proptest::prelude::*;

use crate::{blocks, cml, nesl, patch};

const KEY: &str = "k7m2x";

fn key() -> ChatKey {
    KEY.parse().expect("a key")
}

fn judged(text: &str) -> CopiedReply {
    judge(text, &scan(text))
}

fn keyed(tasks: usize) -> CopiedReply {
    CopiedReply::Keyed { key: key(), tasks }
}

fn cut_off(tasks: usize) -> CopiedReply {
    let key = Some(key());
    CopiedReply::CutOff { key, tasks }
}

/// The names of all actions that are taught.
fn names() -> Vec<String> {
    let taught = Command::all().filter(|command| lessons::lesson(*command).is_some());
    taught.map(|command| command.name().to_owned()).collect()
}

/// The examples of a text, with the key and their fences.
fn examples(dialect: Dialect, actions: &[String]) -> String {
    let text = teaching::text(dialect, actions, Some(key()));
    let lines: Vec<&str> = text.lines().collect();
    let is_start = |line: &&str| line.starts_with("``````") || line.starts_with("clada: ");
    let start = lines.iter().position(is_start).expect("an example");
    let last = lines.iter().rposition(|line| *line == "``````");
    lines[start..=last.expect("a fence")].join("\n") + "\n"
}

/// A reply that looks like the examples and does something else.
fn reply(dialect: Dialect) -> String {
    let example = examples(dialect, &[]);
    let reply = example.replace("app", "main").replace("content", "text");
    assert_ne!(reply, example);
    format!("I changed `main`:\n\n{reply}\nThat is all.\n")
}

fn task_count(text: &str) -> usize {
    let found = scan(text);
    found.batches.iter().map(|batch| batch.tasks.len()).sum()
}

#[test]
fn a_reply_with_the_key_counts_in_every_dialect() {
    for dialect in Dialect::ALL {
        let text = reply(dialect);
        assert_eq!(judged(&text), keyed(task_count(&text)), "{text}");
        let without = text
            .replace(" key=\"k7m2x\"", "")
            .replace("clada: k7m2x\n", "");
        let tasks = task_count(&without);
        assert_eq!(
            judged(&without),
            CopiedReply::Unkeyed { tasks },
            "{without}"
        );
        for form in ["`clada: k7m2x`", "  clada:k7m2x  ", "clada: k7m2x\r"] {
            let text = text.replace("clada: k7m2x", form);
            assert_eq!(judged(&text), keyed(task_count(&text)), "{text}");
        }
        for no_key in [
            "k7m2",
            "k7m2xx",
            "K7M2X",
            "k7m21",
            "k7m2é",
            "k7m2x k7m2x",
            "",
        ] {
            let text = text.replace(KEY, no_key);
            let tasks = task_count(&text);
            assert_eq!(judged(&text), CopiedReply::Unkeyed { tasks }, "{text}");
        }
    }
}

#[test]
fn the_line_with_the_key_may_stand_above_the_fence_or_in_it() {
    for dialect in &Dialect::ALL[1..] {
        let text = reply(*dialect).replace("clada: k7m2x\n", "");
        let tasks = task_count(&text);
        let fence = text.find("``````").expect("a fence");
        let first = fence + text[fence..].find('\n').expect("a line end") + 1;
        let name = text[..fence].find("src/").unwrap_or(fence);
        for at in [fence, first, name] {
            for line in ["clada: k7m2x\n", "clada: k7m2x\n\n"] {
                // The fence of a diff is on the line above it.
                if *dialect == Dialect::Diff && at == first && line.ends_with("\n\n") {
                    continue;
                }
                let text = format!("{}{line}{}", &text[..at], &text[at..]);
                assert_eq!(judged(&text), keyed(tasks), "{text}");
            }
        }
        let above = text.replacen("I changed", "clada: k7m2x\nI changed", 1);
        assert_eq!(judged(&above), CopiedReply::Unkeyed { tasks }, "{above}");
        let behind = format!("{text}\nclada: k7m2x\n");
        assert_eq!(judged(&behind), CopiedReply::Unkeyed { tasks }, "{behind}");
    }
}

#[test]
fn all_batches_of_a_text_must_have_the_same_key() {
    let cml = |tag: &str| format!("{tag}\n<task><path>a</path><c>delete</c></task>\n</tasks>\n");
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
    let (own, other) = (cml("<tasks key=\"k7m2x\">"), cml("<tasks key=\"aaaaa\">"));
    let lone = "<task><path>a</path><c>delete</c></task>\n";
    for (text, expected) in [
        (format!("{own}{own}"), keyed(2)),
        (
            format!("{own}clada: k7m2x\n{patch}prose\n{patch}"),
            keyed(3),
        ),
        (format!("{own}{patch}"), CopiedReply::Unkeyed { tasks: 2 }),
        (format!("{own}{lone}"), CopiedReply::Unkeyed { tasks: 2 }),
        (
            format!("{lone}{own}{other}"),
            CopiedReply::Unkeyed { tasks: 3 },
        ),
        (format!("{own}{other}"), CopiedReply::Mixed { tasks: 2 }),
        (
            format!("{own}clada: aaaaa\n{patch}"),
            CopiedReply::Mixed { tasks: 2 },
        ),
        (
            format!("clada: k7m2x\n{patch}clada: aaaaa\n{patch}"),
            CopiedReply::Mixed { tasks: 2 },
        ),
        // The line above a later block is not the first one's.
        (
            format!("{patch}clada: k7m2x\n{patch}"),
            CopiedReply::Unkeyed { tasks: 2 },
        ),
    ] {
        assert_eq!(judged(&text), expected, "{text}");
    }
}

#[test]
fn a_reply_that_was_cut_off_never_counts() {
    for dialect in Dialect::ALL {
        let text = reply(dialect);
        let closed = text.rfind("\n``````\n").expect("a fence") + "\n``````".len();
        for (cut, _) in text.char_indices().filter(|(cut, _)| *cut < closed) {
            let part = &text[..cut];
            // Each of aider's blocks has a fence of its own: behind it nothing is open.
            let is_between = dialect == Dialect::Aider
                && part
                    .lines()
                    .filter(|line| line.starts_with("``````"))
                    .count()
                    % 2
                    == 0;
            assert!(
                is_between || !matches!(judged(part), CopiedReply::Keyed { .. }),
                "{part}"
            );
        }
        assert!(matches!(judged(&text[..closed]), CopiedReply::Keyed { .. }));
    }
}

#[test]
fn what_does_not_end_makes_a_reply_cut_off() {
    let task = "<task>\n<path>a</path>\n<c>overwrite</c>\n<x>\n```\n</x>\n</task>\n";
    let tasks = format!("<tasks key=\"{KEY}\">\n{task}{task}</tasks>\n");
    assert_eq!(judged(&tasks), keyed(2));
    for (text, expected) in [
        (format!("```xml\n{tasks}```\n"), keyed(2)),
        (
            format!("1. ```xml\n{tasks}   ```\nmore `code`, ```and more```\n"),
            keyed(2),
        ),
        (format!("~~~\n```\n~~~\n{tasks}"), keyed(2)),
        (
            format!("```xml\n{}", tasks.replace("</tasks>\n", "</tasks>```\n")),
            keyed(2),
        ),
        (format!("```xml\n{tasks}"), cut_off(2)),
        (format!("``````xml\n{tasks}`````\n"), cut_off(2)),
        (format!("``````xml\n{tasks}~~~~~~\n"), cut_off(2)),
        (format!("{tasks}```\nmore"), cut_off(2)),
        (format!("{tasks}<!-- clada:off -->\nmore\n"), cut_off(2)),
        (format!("<!-- clada:off -->\n{tasks}"), cut_off(2)),
        (format!("{tasks}<tasks key=\"{KEY}\">\n{task}"), cut_off(3)),
        (tasks.replacen("</tasks>", "", 1), cut_off(2)),
        // These tags are there, in a wrong order.
        (tasks.replacen("</task>\n", "", 1), keyed(0)),
        (format!("<tasks key=\"{KEY}\">\n"), cut_off(0)),
        // Of the part that does not end the key may be missing.
        (format!("{tasks}<tasks>\n"), cut_off(2)),
        (
            format!("{tasks}<tasks key=\"abcde\">\n"),
            CopiedReply::CutOff {
                key: None,
                tasks: 2,
            },
        ),
    ] {
        assert_eq!(judged(&text), expected, "{text}");
    }
    let open = "clada: k7m2x\n#!nesl [@three-char-SHA-256: abc]\naction = \"ls\"\n#!nesl [@three-char-SHA-256: abd]\naction = \"ls\"\n#!end_abd\n";
    assert!(matches!(judged(open), CopiedReply::CutOff { .. }));
}

/// The errors in it are told as those of a paste are.
#[test]
fn a_reply_with_errors_is_whole() {
    let unknown = "<task><paht>a</paht><c>delete</c></task>\n";
    let tasks = |inside: &str| format!("<tasks key=\"{KEY}\">\n{inside}</tasks>\n");
    assert_eq!(judged(&tasks(unknown)), keyed(1));
    assert_eq!(judged(&tasks("</search>\n")), keyed(0));
    assert_eq!(judged(&tasks("")), keyed(0));
}

#[test]
fn a_text_without_a_batch_is_prose() {
    let reply = reply(Dialect::Cml);
    let results =
        "📋 Copied to clipboard at 10:32:45\n=== CLADA RESULTS ===\n1 ✅ delete a\n=== END ===\n";
    for text in [
        String::new(),
        "prose\n".to_owned(),
        "Begin with the line\n\nclada: k7m2x\n".to_owned(),
        "```\nclada: k7m2x\n".to_owned(),
        reply.replace('<', "&lt;").replace('>', "&gt;"),
        "<!-- clada:off -->\n".to_owned(),
        format!("{results}\n{reply}"),
        format!("\u{feff}\n=== CLADA RESULTS ===\n{reply}"),
    ] {
        assert_eq!(judged(&text), CopiedReply::Prose, "{text}");
    }
    for dialect in Dialect::ALL {
        let text = teaching::text(dialect, &[], Some(key()));
        assert_eq!(judged(&text), CopiedReply::Prose, "{}", dialect.name());
    }
}

#[test]
fn the_examples_are_known_in_every_dialect() {
    for dialect in Dialect::ALL {
        let actions = match dialect {
            Dialect::Cml => names(),
            _ => Vec::new(),
        };
        let text = examples(dialect, &actions);
        assert!(task_count(&text) > 0);
        let elsewhere = text.replace("/path/to/project", "/home/me/my code");
        let indented: String = text.lines().map(|line| format!("  {line}  \n")).collect();
        for text in [&text, &elsewhere, &text.replace('\n', "\r\n")] {
            assert_eq!(judged(text), CopiedReply::Example, "{text}");
        }
        if dialect == Dialect::Cml {
            assert_eq!(judged(&indented), CopiedReply::Example, "{indented}");
        }
        let changed = text.replacen("old_name", "former_name", 1);
        let (changed, tasks) = match dialect {
            Dialect::Cml => (changed, task_count(&text)),
            _ => (text.replace("app.py", "main.py"), task_count(&text)),
        };
        assert_eq!(judged(&changed), keyed(tasks), "{changed}");
    }
    for command in Command::all() {
        let Some(lesson) = lessons::lesson(command) else {
            continue;
        };
        let (example, own) = (lesson.example, "<task><path>a</path><c>delete</c></task>");
        assert_eq!(judged(example), CopiedReply::Example, "{example}");
        let batch = |tasks: &str| format!("<tasks key=\"{KEY}\">\n{tasks}\n</tasks>\n");
        assert_eq!(judged(&batch(example)), CopiedReply::Example, "{example}");
        let both = batch(&format!("{example}\n{own}"));
        assert_eq!(judged(&both), keyed(2), "{both}");
    }
}

#[test]
fn a_key_is_five_characters() {
    for number in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
        let key = ChatKey::from_random(number);
        assert_eq!(key.to_string().parse(), Ok(key));
        let json = serde_json::to_string(&key).expect("JSON");
        assert_eq!(json, format!("\"{key}\""));
        assert_eq!(serde_json::from_str::<ChatKey>(&json).expect("a key"), key);
    }
    assert_ne!(ChatKey::from_random(0), ChatKey::from_random(1));
    let refused = serde_json::from_str::<ChatKey>("\"k7m2\"").expect_err("too short");
    let said = "this is no key: a key is five characters, each of a-z or 2-9";
    assert!(refused.to_string().contains(said), "{refused}");
}

/// Pieces that texts with keys are made of.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "clada: k7m2x\n",
        "`clada: k7m2x`\n",
        "clada: é\n",
        "<tasks key=\"k7m2x\">\n",
        "<tasks key=k7m2x atomic>\n",
        "<tasks key=\"é>\n",
        "<tasks key= =k>\n",
        "<task>\n<path>a</path><c>delete</c>\n</task>\n",
        "</tasks>\n",
        "```\n",
        "``````é\n",
        "~~~",
        "- ```\n",
        "<!-- clada:off -->\n",
        "=== CLADA RESULTS ===\n",
        "\u{feff}",
        "\n",
    ];
    prop_oneof![
        3 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned),
        1 => cml::text(),
        1 => nesl::text(),
        1 => blocks::text(),
        1 => patch::piece(),
    ]
}

proptest! {
    #[test]
    fn any_text_is_judged(pieces in proptest::collection::vec(piece(), 0..16)) {
        let text = pieces.concat();
        let found = scan(&text);
        let has_batch = !(found.batches.is_empty() && found.inside.is_empty());
        let judged = judge(&text, &found);
        prop_assert!(has_batch || judged == CopiedReply::Prose);
        if let CopiedReply::Keyed { key, .. } = judged {
            prop_assert!(text.contains(&key.to_string()));
            prop_assert!(found.inside.is_empty() && found.off.is_none());
        }
    }
}
