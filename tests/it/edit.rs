//! The matcher of edits: the cases of `test-data/edit`, and what holds for any file at all.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hint::black_box;

use clada::edit::nearest::nearest;
use clada::edit::{
    Edit, EditCause, EditError, EditPart, PLACES_LIMIT, Tier, apply, apply_at, choices, line_of,
};
use clada::reply::scan::scan;
use clada::reply::task::{Action, Hunk, Replacement};
use clada::reply::text::{Form, Text};
use clada::report::wording;
use proptest::prelude::*;

use crate::cases::{self, Block, Case, Verdict};
use crate::growth::assert_linear;

#[test]
fn cases() {
    cases::run("edit", check);
}

fn check(case: &Case, verdict: &mut Verdict) {
    let file = case.one("file").expect("a `file` block").text();
    let payloads = Payloads::of(case);
    // In a fence, as a reply has it: there a diff says by its lines alone how far it goes.
    let patch = case.one("patch").map(Block::string).unwrap_or_default();
    let patch = match patch.starts_with("---") {
        true => format!("```diff\n{patch}```\n"),
        false => patch,
    };
    let hunks = hunks(&patch);
    let edit = match hunks.is_empty() {
        true => payloads.edit(),
        false => Edit::Hunks(&hunks),
    };
    if let Some(expected) = case.one("choices") {
        let said = choices(&file, &edit);
        let said = said
            .iter()
            .map(|choice| wording::choice(choice, true) + "\n");
        verdict.expect(expected, said.collect::<String>().as_bytes());
        return check_choices(case, verdict, &file, &edit);
    }
    let expected = ["after", "tier", "line", "error"].map(|kind| case.one(kind));
    let [after, tier, line, error] = expected;
    match (apply(&file, &edit), error) {
        (Ok(edited), None) => {
            if edited.bytes() == file {
                verdict.wrong("applied, and nothing changed");
            }
            verdict.expect(after.expect("an `after` or `error` block"), &edited.bytes());
            let places = edited.places.iter();
            if let Some(tier) = tier {
                let tiers: String = places
                    .clone()
                    .map(|p| format!("{}\n", p.tier.name()))
                    .collect();
                verdict.expect(tier, tiers.as_bytes());
            }
            if let Some(line) = line {
                let lines: String = places.map(|p| format!("{}\n", p.line)).collect();
                verdict.expect(line, lines.as_bytes());
            }
        }
        (Err(_), Some(error)) if error.string() == "refused\n" => {}
        (Err(got), Some(error)) => verdict.expect(error, all_said(&got).as_bytes()),
        (Ok(edited), Some(error)) => {
            let tiers: Vec<&str> = edited.places.iter().map(|p| p.tier.name()).collect();
            verdict.expect(
                error,
                format!("none: applied ({})\n", tiers.join(", ")).as_bytes(),
            );
        }
        (Err(got), None) => verdict.wrong(format!("failed: {}", all_said(&got))),
    }
}

/// What the edit makes of the file at each of the places that can be chosen, and what of a file that was `changed` since they
/// were offered.
fn check_choices(case: &Case, verdict: &mut Verdict, file: &[u8], edit: &Edit<'_>) {
    let changed = case.one("changed").map(Block::text);
    let now = changed.as_deref().unwrap_or(file);
    let offered = choices(file, edit);
    for after in case.blocks.iter().filter(|block| block.kind == "after") {
        let line: usize = after.arg.parse().expect("`after LINE`");
        let mut choices = offered.iter();
        let choice = choices.find(|choice| choice.spot.line == line);
        let choice = choice.expect("a choice that starts on the line");
        let done = line_of(now, edit, &choice.spot).map(|line| apply_at(now, edit, line));
        let got = match done {
            None => b"not there\n".to_vec(),
            Some(Ok(edited)) => edited.bytes(),
            Some(Err(errors)) => all_said(&errors).into_bytes(),
        };
        verdict.expect(after, &got);
    }
}

/// The hunks of the only file in a patch.
fn hunks(patch: &str) -> Vec<Hunk<'_>> {
    let action = scan(patch)
        .batches
        .into_iter()
        .flat_map(|batch| batch.tasks)
        .next();
    match action.map(|task| task.action) {
        None => Vec::new(),
        Some(Ok(Action::Edit {
            change: Replacement::Hunks(hunks),
            ..
        })) => hunks,
        Some(other) => panic!("no edit by hunks: {other:?}"),
    }
}

/// The payload blocks of a case, in order.
struct Payloads(Vec<(String, bool, String)>);

impl Payloads {
    fn of(case: &Case) -> Self {
        let is_payload = |b: &&Block| ["search", "replace", "head", "tail"].contains(&&*b.kind);
        let payload = |b: &Block| (b.kind.clone(), b.has("inline"), b.string());
        Self(case.blocks.iter().filter(is_payload).map(payload).collect())
    }

    fn edit(&self) -> Edit<'_> {
        let texts: Vec<(&str, Text<'_>)> = self
            .0
            .iter()
            .map(|(kind, inline, text)| {
                let form = if *inline { Text::inline } else { Text::block };
                (kind.as_str(), form(text))
            })
            .collect();
        match texts[..] {
            [("head", head), ("tail", tail), ("replace", replace)] => Edit::Stretch {
                head,
                tail,
                replace,
            },
            _ => Edit::Pairs(
                texts
                    .chunks(2)
                    .map(|pair| match *pair {
                        [("search", search), ("replace", replacement)] => (search, replacement),
                        _ => panic!("`search` and `replace` blocks come in pairs"),
                    })
                    .collect(),
            ),
        }
    }
}

fn all_said(errors: &[EditError]) -> String {
    errors.iter().map(said).collect()
}

fn said(error: &EditError) -> String {
    let part = match error.part {
        EditPart::Search => "search",
        EditPart::Head => "head",
        EditPart::Tail => "tail",
        EditPart::Hunk => "hunk",
    };
    let mut said = format!("pair {} {part}: ", error.pair);
    match &error.cause {
        EditCause::Blank => said.push_str("blank"),
        EditCause::Unclear { line, at, doubt } => {
            let _ = write!(said, "unclear at {at}, line {line}: {doubt:?}");
        }
        EditCause::NothingChanges { at } => {
            let _ = write!(said, "nothing changes at {at}");
        }
        EditCause::LeftOut { line } => {
            let _ = write!(said, "line {line} is left out");
        }
        EditCause::ElisionsDiffer => said.push_str("other lines are left out"),
        EditCause::NoContext => said.push_str("no context"),
        EditCause::NoAnchor { text } => {
            let _ = write!(said, "no line {text:?}");
        }
        EditCause::ManyAnchors { text, lines } => {
            let _ = write!(said, "{} lines {text:?}", lines.len());
        }
        EditCause::NotAtEnd { line } => {
            let _ = write!(said, "not at the end, but at {line}");
        }
        EditCause::OutOfOrder { line } => {
            let _ = write!(said, "out of order, at {line}");
        }
        EditCause::NotFound {
            not_utf8,
            applied_at,
        } => {
            said.push_str("not found");
            if *not_utf8 {
                said.push_str(", not UTF-8");
            }
            if let Some(line) = applied_at {
                let _ = write!(said, ", applied at {line}");
            }
        }
        EditCause::Ambiguous { tier, lines } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let _ = write!(
                said,
                "ambiguous ({}) lines {}",
                tier.name(),
                lines.join(", ")
            );
        }
    }
    said + "\n"
}

/// Lines like those of a program: few kinds of them, so that some are found, some twice and some not at all.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ \t]{0,4}[ab]{0,3}[ \t]{0,2}",
        1 => "[ \t]{0,2}[ab_ä🎉\u{3000}]{0,6}\r?",
        1 => Just("\u{201C}a\u{2026}b\u{A0}\u{200B}\u{2014}\u{201D}".to_owned()),
        1 => Just("\"a...b-\"".to_owned()),
    ]
}

fn lines() -> impl Strategy<Value = String> {
    proptest::collection::vec(line(), 0..6).prop_map(|lines| lines.join("\n"))
}

/// A search text, and a file that holds it in one spelling or another.
fn file_and_search() -> impl Strategy<Value = (String, String)> {
    let respelt = |search: String, (space, newline): (&str, &str)| {
        search.replace('\n', newline).replace(' ', space)
    };
    let space = prop_oneof![Just(" "), Just("  "), Just("\t"), Just(""), Just("\u{A0}")];
    let newline = prop_oneof![
        Just("\n"),
        Just("\r\n"),
        Just(" \n"),
        Just("\n  "),
        Just("\n\n"),
        Just(" ")
    ];
    let glue = prop_oneof![Just("\n"), Just(" "), Just("\r\n  "), Just("(")];
    (lines(), glue, lines(), (space, newline), lines()).prop_map(
        move |(before, glue, search, spelling, after)| {
            let file = format!(
                "{before}{glue}{}{glue}{after}",
                respelt(search.clone(), spelling)
            );
            (file, search)
        },
    )
}

fn text(block: bool, text: &mut String) -> Text<'_> {
    if !block {
        return Text::inline(text);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    Text::block(text)
}

/// The text without white space, in plain typography.
fn bare(text: &[u8]) -> String {
    let text = std::str::from_utf8(text).expect("cut between characters");
    let visible = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '\u{200B}');
    let plain = visible.map(|c| match c {
        '\u{201C}' | '\u{201D}' => "\"".to_owned(),
        '\u{2014}' => "-".to_owned(),
        '\u{2026}' => "...".to_owned(),
        c => c.to_string(),
    });
    plain.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_bytes_and_texts_are_survived(
        file in prop_oneof![proptest::collection::vec(any::<u8>(), 0..60), lines().prop_map(String::into_bytes)],
        texts in proptest::collection::vec((any::<bool>(), lines()), 3),
        stretch: bool,
    ) {
        let mut texts = texts;
        let mut texts = texts.iter_mut().map(|(block, string)| text(*block, string));
        let mut next = || texts.next().expect("three texts");
        let (one, two, three) = (next(), next(), next());
        let edit = if stretch {
            Edit::Stretch { head: one, tail: two, replace: three }
        } else {
            Edit::Pairs(vec![(one, two), (two, three)])
        };
        if let Ok(edited) = apply(&file, &edit) {
            prop_assert!(edited.places.iter().all(|place| place.line >= 1));
        }
    }

    #[test]
    fn a_line_that_stands_once_is_replaced_as_by_hand(
        before in lines(), after in lines(), indentation in "[ \t]{0,3}", replacement in lines(),
    ) {
        let (before, after) = (before.replace('\r', ""), after.replace('\r', ""));
        let file = |middle: &str| format!("{before}\n{middle}{after}\n");
        let wanted = format!("{indentation}the one line\n");
        let mut replacement = replacement.replace('\r', "");
        let replacement = text(true, &mut replacement);
        let edit = Edit::Pairs(vec![(Text::block(&wanted), replacement)]);
        let original = file(&wanted);
        let edited = apply(original.as_bytes(), &edit).expect("stands once");
        prop_assert_eq!(edited.places[0].tier, Tier::Exact);
        prop_assert_eq!(edited.bytes(), file(replacement.text).into_bytes());
    }

    /// White space and typography aside: what goes is the search text, what comes is the replacement, and the rest
    /// stays to the byte.
    #[test]
    fn only_the_search_text_goes_and_only_the_replacement_comes(
        (file, search) in file_and_search(), replacement in lines(), forms: (bool, bool),
    ) {
        let (mut search, mut replacement) = (search, replacement);
        let search = text(forms.0, &mut search);
        let replacement = text(forms.1, &mut replacement);
        if let Ok(edited) = apply(file.as_bytes(), &Edit::Pairs(vec![(search, replacement)])) {
            let [Cow::Borrowed(before), Cow::Owned(inserted), Cow::Borrowed(after)] = &edited.parts[..] else {
                panic!("one pair copies nothing but what it inserts");
            };
            prop_assert!(file.as_bytes().starts_with(before));
            prop_assert!(file.as_bytes().ends_with(after));
            prop_assert_eq!(bare(file.as_bytes()), bare(before) + &bare(search.text.as_bytes()) + &bare(after));
            prop_assert_eq!(bare(inserted), bare(replacement.text.as_bytes()));
        }
    }

    #[test]
    fn a_stretch_goes_from_its_head_to_its_tail(
        (file, head) in file_and_search(), tail in prop_oneof![lines(), Just("(".to_owned())], forms: (bool, bool),
    ) {
        let (mut head, mut tail) = (head, tail);
        let (head, tail) = (text(forms.0, &mut head), text(forms.1, &mut tail));
        let edit = Edit::Stretch { head, tail, replace: Text::block("new\n") };
        if let Ok(edited) = apply(file.as_bytes(), &edit) {
            let (before, after) = (edited.parts[0].len(), edited.parts[2].len());
            let gone = bare(&file.as_bytes()[before..file.len() - after]);
            let (head, tail) = (bare(head.text.as_bytes()), bare(tail.text.as_bytes()));
            prop_assert!(gone.starts_with(&head) && gone.ends_with(&tail) && gone.len() >= head.len() + tail.len());
        }
    }

    #[test]
    fn inline_text_is_found_if_it_is_there_with_white_space_removed(file in lines(), search in "[ab\"-][ab \t\n\"-]{0,5}[ab\"-]") {
        let edit = Edit::Pairs(vec![(Text::inline(&search), Text::inline(""))]);
        let places = bare(file.as_bytes()).matches(&bare(search.as_bytes())).count();
        match apply(file.as_bytes(), &edit).map_err(|mut errors| errors.remove(0).cause) {
            Ok(edited) => prop_assert!(places > 0, "{:?}", edited),
            Err(EditCause::NotFound { .. }) => prop_assert_eq!(places, 0),
            Err(cause) => prop_assert!(places > 0, "{:?}", cause),
        }
    }

    #[test]
    fn indentation_by_a_constant_is_found_and_kept(levels in proptest::collection::vec(0..4_usize, 2..5), added in 1..4_usize) {
        let indented = |unit: &str, added: usize, name: &str| -> String {
            levels.iter().enumerate().map(|(i, level)| format!("{}{name}({i}, x)\n", unit.repeat(level + added))).collect()
        };
        for (written, used) in [("  ", "  "), ("    ", "\t"), ("\t", "\t"), ("\t", "  ")] {
            let file = format!("first\n{}last\n", indented(used, added, "old"));
            let search = indented(written, 0, "old");
            let replacement = indented(written, 0, "new");
            let pair = (Text::block(&search), Text::block(&replacement));
            let edited = apply(file.as_bytes(), &Edit::Pairs(vec![pair])).expect("found");
            prop_assert_eq!(edited.places[0].tier, Tier::Indentation);
            let expected = format!("first\n{}last\n", indented(used, added, "new"));
            prop_assert_eq!(String::from_utf8(edited.bytes()).expect("UTF-8"), expected);
        }
    }
}

/// Files on which a matcher that compares the search text anew at each place would take hours.
#[test]
fn large_and_uniform_files_take_no_time_to_speak_of() {
    let pairs = |size: usize| {
        let run = "a".repeat(2 * size);
        let half = "a".repeat(size);
        let half_line = format!("{half}\n");
        let lines = " a\n".repeat(size / 2);
        let odd_last = format!("{}  a\n", "a\n".repeat(size / 4));
        let odd_middle = format!("{}  a\n{}", "a\n".repeat(size / 8), "a\n".repeat(size / 8));
        let blank = format!("a{}b\n", " \n".repeat(size / 2));
        let one_line = "( x )".repeat(size / 2);
        let spaced = format!("{}\n", "a ".repeat(size / 4));
        vec![
            (run.clone(), Form::Block, half_line),
            (run.clone(), Form::Inline, half),
            (lines.clone(), Form::Block, odd_last),
            (lines, Form::Block, odd_middle),
            (blank.clone(), Form::Block, "ab\n".to_owned()),
            (blank, Form::Block, "c\n\n\n".to_owned()),
            (run, Form::Block, spaced),
            (one_line, Form::Block, "(x)\n".to_owned()),
        ]
    };
    assert_linear(1 << 18, pairs, |(file, form, search)| {
        let search = match form {
            Form::Block => Text::block(search),
            Form::Inline => Text::inline(search),
        };
        let edit = Edit::Pairs(vec![(search, Text::block("b\n"))]);
        let _ = black_box(apply(file.as_bytes(), &edit));
    });
}

/// The same holds for what is written: texts of very many lines, and lines of very many words.
#[test]
fn large_texts_are_carried_over_in_no_time_to_speak_of() {
    let pairs = |lines: usize| {
        let all = |line: &dyn Fn(usize) -> String| (0..lines).map(line).collect::<String>();
        let file = all(&|i| format!("\tcall_{i}(arg, x)\n"));
        let search = all(&|i| format!("    call_{i}(arg, x)\n"));
        let words = all(&|i| format!("w{i} ")) + "\n";
        let spaced = words.replace(' ', "  ");
        [
            (&file, &search, search.replace("arg", "other")),
            (&file, &search, search.replace("call_7(", "call_8(")),
            (&file, &search, all(&|i| format!("    {i} is new\n"))),
            (&file, &search, search.replace("    ", "")),
            (&words, &spaced, spaced.replace('w', "v")),
            (&words, &spaced, spaced.replace("w7 ", "v ")),
        ]
        .map(|(file, search, replacement)| (file.clone(), search.clone(), replacement))
        .into()
    };
    assert_linear(20_000, pairs, |(file, search, replacement)| {
        let pair = (Text::block(search), Text::block(replacement));
        let _ = black_box(apply(file.as_bytes(), &Edit::Pairs(vec![pair])));
    });
}

/// Nor does the search for a place that is like a text that is not there.
#[test]
fn the_nearest_place_in_a_large_uniform_file_takes_no_time_to_speak_of() {
    let files = |lines: usize| vec![("x = 1;\n".repeat(lines), lines / 64)];
    assert_linear(1 << 16, files, |(file, times)| {
        let search = "x = 1;\nx = 2;\n".repeat(*times);
        assert!(nearest(file, &search).is_some());
    });
}

#[test]
fn places_are_counted_up_to_a_limit() {
    let file = "a\n".repeat(PLACES_LIMIT * 3);
    for search in [Text::block("a\n"), Text::inline("a")] {
        let error = apply(
            file.as_bytes(),
            &Edit::Pairs(vec![(search, Text::block("b\n"))]),
        )
        .expect_err("ambiguous");
        let lines = (1..=PLACES_LIMIT).collect();
        assert_eq!(
            error[0].cause,
            EditCause::Ambiguous {
                tier: Tier::Exact,
                lines
            }
        );
    }
}
