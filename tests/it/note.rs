//! The results block on top of the notes: taking it off gives back the user's text, to the byte, whatever is in either.

use std::sync::Arc;

use clada::reply::note::{Blocks, END, RESULTS, canonical, join, split};
use clada::reply::question::parted;
use clada::reply::record::{Key, Offer, Spot};
use clada::report::outcome::{OfferedPlace, Outcome, Status};
use clada::report::{Earlier, Offered, OpenEdit, ParseError, Report};
use proptest::prelude::*;

/// What texts are made of: all that could be taken for a part of a block, or break one.
const PIECES: [&str; 22] = [
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "=== CLADA RESULTS ===",
    "=== CLADA RESULTS ===\n1 ✅ delete a\n=== END ===\n",
    "=== END ===",
    "\n=== END ===\n",
    "📋 Copied to clipboard at 10:32:45\n",
    "📋 Results of ~/clada.md\n",
    "--- 10:32:40 ---\n",
    "❌ Clipboard copy failed at 10:32:45 - no display\r\n",
    "1 ✅ edit a.txt",
    "- [ ] run again",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "\u{202e}",
    "\u{1b}[31m\t\0\u{7f}",
    "🌍 é",
    " ",
    "prose",
];

fn text() -> impl Strategy<Value = String> {
    let any_text = prop::collection::vec(0..PIECES.len(), 0..9)
        .prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect());
    prop_oneof![4 => any_text, 1 => any::<String>()]
}

fn report() -> impl Strategy<Value = Report> {
    let status = prop::sample::select(vec![
        Status::Done,
        Status::Failed,
        Status::NotRun,
        Status::Interrupted,
        Status::Skipped,
        Status::Waits,
        Status::Asks,
    ]);
    let offer = |approves| Offer::of(1, vec![0]).approving(approves);
    let outcome =
        (text(), prop::option::of(text()), status).prop_map(move |(target, message, status)| {
            Outcome {
                command: "edit".to_owned(),
                target,
                status,
                message,
                offer: match status {
                    Status::Waits => Some(offer(false)),
                    Status::Asks => Some(offer(true)),
                    _ => None,
                },
                ..Outcome::default()
            }
        });
    let places = || {
        let place = text().prop_map(|label| OfferedPlace {
            label: format!("line {label}"),
            offer: Offer::at(1, 0, spot()),
        });
        prop::collection::vec(place, 0..3)
    };
    let outcome = (outcome, places()).prop_map(|(outcome, places)| Outcome { places, ..outcome });
    let open = (text(), places()).prop_map(|(why, places)| OpenEdit {
        why: format!("⚠ {why}"),
        places,
    });
    let offered = text().prop_map(move |why| Offered {
        why: format!("↩ {why}"),
        action: "run again",
        offer: offer(false),
    });
    let problem = text().prop_map(|message| ParseError {
        block_id: "unknown".to_owned(),
        action: None,
        error_type: "syntax",
        message,
        end: None,
        block_start_line: 7,
        content: None,
    });
    let outcomes = prop::collection::vec(outcome, 0..5);
    let problems = prop::collection::vec(problem, 0..4);
    let offers = prop::collection::vec(offered, 0..3);
    let open = prop::collection::vec(open, 0..2);
    let notice_and_git = (text(), prop::option::of(text()));
    let parts = (outcomes, problems, offers, open, notice_and_git);
    parts.prop_map(|(mut outcomes, problems, offers, open, (notice, git))| {
        for (index, outcome) in outcomes.iter_mut().enumerate() {
            outcome.number = index + 1;
        }
        Report {
            outcomes,
            problems,
            offers,
            open,
            // As clada's own notices and git lines are: they begin with a mark.
            notices: vec![format!("⚠ {notice}")],
            git: git.map(|git| format!("💚 git {git}")),
            ..Report::default()
        }
    })
}

/// Results that could not be read yet, with the lines of their offers.
fn earlier() -> impl Strategy<Value = Vec<(Earlier, Vec<(usize, Offer)>)>> {
    let told = report().prop_map(|report| {
        let offers = report.offer_lines().into_iter();
        let offers = offers.map(|(line, offer)| (line - 1, offer));
        let text = Earlier {
            time: "10:32:40".to_owned(),
            lines: report.lines(),
            outputs: String::new(),
        };
        (text, offers.collect())
    });
    prop::collection::vec(told, 0..3)
}

/// The block of a report above these.
fn block_above(
    report: &Report,
    status: &str,
    earlier: &[(Earlier, Vec<(usize, Offer)>)],
) -> String {
    let texts: Vec<Earlier> = earlier.iter().map(|(text, _)| text.clone()).collect();
    report.block_above(Some(status), &texts)
}

/// How many commands stand below its questions.
fn commands(report: &Report) -> usize {
    let asked = report
        .outcomes
        .iter()
        .filter(|it| it.status == Status::Asks);
    let asked = asked.filter_map(|outcome| outcome.message.as_deref());
    let said = asked.chain(report.offers.iter().map(|offered| offered.why.as_str()));
    said.map(|said| parted(said).1.len()).sum()
}

/// How many places the user can choose.
fn places(report: &Report) -> usize {
    let outcomes = report.outcomes.iter().map(|outcome| outcome.places.len());
    let open = report.open.iter().map(|open| open.places.len());
    outcomes.chain(open).sum()
}

fn spot() -> Spot {
    Spot {
        line: 1,
        around: 3,
        key: Key(1),
    }
}

fn status() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("📋 Copied to clipboard at 10:32:45".to_owned()),
        Just("📋 Results of ~/clada.md".to_owned()),
        Just("📋 Sent to the terminal's clipboard at 10:32:45: not every terminal".to_owned()),
        text().prop_map(|why| format!("❌ Clipboard copy failed at 10:32:45 - {why}")),
    ]
}

/// clada wrote this block last, on top of this body.
struct Wrote<'w> {
    block: &'w str,
    body: &'w str,
}

impl Blocks for Wrote<'_> {
    fn written(&self) -> &[Arc<str>] {
        &[]
    }

    fn is_known(&self, text: &str) -> bool {
        text == canonical(self.block)
    }

    fn is_pasted(&self, above: &str, below: &str) -> bool {
        below == self.body || !self.body.contains(above.trim())
    }
}

#[test]
fn a_box_in_the_words_of_a_place_is_none() {
    let place = OfferedPlace {
        label: "line 2, in `- [x] a`".to_owned(),
        offer: Offer::at(1, 0, spot()),
    };
    let report = Report {
        open: vec![OpenEdit {
            why: "⚠ edit a.md".to_owned(),
            places: vec![place],
        }],
        ..Report::default()
    };
    let block = report.block(Some(""));
    let wrote = Wrote {
        block: &block,
        body: "",
    };
    let text = join(&block, "");
    assert_eq!(split(&text, &wrote).blocks[0].ticks(), Vec::<usize>::new());
    let ticked = text.replace("     - [ ] ", "     - [x] ");
    assert_eq!(split(&ticked, &wrote).blocks[0].ticks(), [2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn taking_off_is_the_inverse_of_putting_on(report in report(), earlier in earlier(), status in status(), body in text()) {
        let block = block_above(&report, &status, &earlier);
        let joined = join(&block, &body);
        let wrote = Wrote { block: &block, body: &body };
        let split = split(&joined, &wrote);
        prop_assert_eq!(split.blocks.len(), 1);
        prop_assert!(split.blocks[0].is_known);
        prop_assert_eq!(split.blocks[0].ticks(), Vec::<usize>::new());
        prop_assert_eq!(split.body, body.as_str());
        prop_assert_eq!(joined.starts_with('\u{feff}'), body.starts_with('\u{feff}'));
        // The block's lines end as the body's first line does.
        let first_end = body.find('\n').map(|at| body[..at].ends_with('\r'));
        let on_top = &joined[..joined.len() - body.trim_start_matches('\u{feff}').len().min(body.len())];
        if !body.contains('\u{feff}') {
            let crlf = on_top.matches("\r\n").count();
            prop_assert_eq!(crlf, if first_end == Some(true) { on_top.matches('\n').count() } else { 0 });
        }
    }

    #[test]
    fn each_offer_can_be_ticked(report in report(), earlier in earlier(), status in status(), body in text(), which in any::<prop::sample::Index>()) {
        let block = block_above(&report, &status, &earlier);
        let below = earlier.iter().map(|(text, offers)| (text, offers.as_slice()));
        let offers = report.offer_lines_above(below);
        prop_assume!(!offers.is_empty());
        let line = offers[which.index(offers.len())].0;
        let mut lines: Vec<String> = block.lines().map(str::to_owned).collect();
        let at = lines[line + 1].rfind("- [ ] ").expect("a box") + 2;
        lines[line + 1].replace_range(at..at + 3, "[x]");
        let wrote = Wrote { block: &block, body: &body };
        let text = join(&(lines.join("\n") + "\n"), &body);
        let split = split(&text, &wrote);
        prop_assert!(split.blocks[0].is_known);
        prop_assert_eq!(split.blocks[0].ticks(), [line]);
        prop_assert_eq!(split.body, body.as_str());
    }

    #[test]
    fn nothing_breaks_the_lines_of_a_block(report in report(), status in status()) {
        let block = report.block(Some(&status));
        let lines: Vec<&str> = block.split('\n').collect();
        let told = report.outcomes.len() + places(&report) + commands(&report) + report.open.len() + report.offers.len() + report.problems.len() + report.notices.len() + usize::from(report.git.is_some());
        prop_assert_eq!(lines.len(), told + 4, "{:?}", block);
        prop_assert_eq!(lines[1], RESULTS);
        prop_assert_eq!(lines[told + 2], END);
        prop_assert_eq!(lines.iter().filter(|line| **line == END).count(), 1);
        let below = |line: &&&str| !line.starts_with("     ");
        let tasks = lines[2..].iter().filter(below).take(report.outcomes.len());
        for (number, line) in (1..).zip(tasks) {
            prop_assert!(line.starts_with(&format!("{number} ")), "{line:?}");
        }
        let breaks = |c: char| c != '\n' && c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202e}');
        prop_assert!(!block.contains(breaks), "{:?}", block);
    }

    #[test]
    fn a_paste_above_the_block_leaves_all_text(report in report(), status in status(), above in "[a-z<>/]{1,9}(\r?\n[a-z]{0,3}){0,3}", body in text()) {
        let body = body.trim_start_matches('\u{feff}');
        let block = report.block(Some(&status));
        let wrote = Wrote { block: &block, body };
        let text = format!("{above}{}", join(&block, body));
        let split = split(&text, &wrote);
        prop_assert_eq!(split.blocks.len(), 1);
        let ends = above.ends_with('\n');
        let expected = [above.clone(), format!("{above}\n"), format!("{above}\r\n")].map(|above| above + body);
        prop_assert!(expected[usize::from(!ends)..].iter().any(|text| *text == split.body), "{:?}", split.body);
    }
}
