//! The scanner and the CML reader: `test-data/cml`, and properties that hold for any text.

use std::hint::black_box;

use clada::reply::scan::scan;
use clada::reply::task::{Action, BatchState, LineNumbers};
use proptest::prelude::*;

use crate::growth::assert_linear;
use crate::scanned::{self, describe, describe_task};

#[test]
fn cases_of_cml() {
    scanned::check("cml");
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

pub(crate) fn text() -> impl Strategy<Value = String> {
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
                    describe_task(task, &mut LineNumbers::new(text), &mut out);
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

/// Texts on which a careless scanner is quadratic.
#[test]
fn no_text_makes_the_scan_quadratic() {
    let head = "<tasks>\n";
    let texts = |size: usize| {
        let many = |unit: &str| unit.repeat(size / unit.len());
        vec![
            many("<"),
            many("<tasks>\n"),
            many("<task>\n"),
            many("<task><x>\nbar</x>\n</task>\n"),
            head.to_owned() + &many("<task>\n<c>exec</c>\n<x>\nbar</x>\n</task>\n"),
            head.to_owned() + &many("<task>\n<x>\n<x>\n<x>\n</x>\n"),
            head.to_owned() + &many("<task><unknown>\n</task>\n"),
            head.to_owned()
                + &(0..size / 20)
                    .map(|n| format!("<task>\n<u{n}>\n</task>\n"))
                    .collect::<String>(),
            (0..size / 40)
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
        ]
    };
    assert_linear(500_000, texts, |text| drop(black_box(scan(text))));
}
