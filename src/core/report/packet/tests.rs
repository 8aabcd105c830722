//! Tests of the content and the size of packets.

use proptest::prelude::*;

use super::super::frame::OUTPUTS;
use super::*;
use crate::reply::scan::scan;
use crate::report::cut_text;
use crate::report::outcome::{Cut, Section, Spooled, Status, Stretch};

/// An output in memory.
struct Memory(String);

impl Spooled for Memory {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn lines(&self) -> u64 {
        self.0.matches('\n').count() as u64
    }

    fn cut(&mut self, edge: usize) -> io::Result<Cut> {
        Ok(cut_text(&self.0, edge))
    }

    fn copy_to(&mut self, to: &mut dyn io::Write) -> io::Result<()> {
        to.write_all(self.0.as_bytes())
    }
}

fn stdout(text: impl Into<String>) -> Section {
    Section::Stream("stdout", Box::new(Memory(text.into())))
}

fn text(text: impl Into<String>) -> Section {
    Section::Text(text.into())
}

/// All of a file, or its lines from a number on.
fn file(path: &str, first: usize, content: &str) -> Section {
    let count = content.lines().count();
    Section::File {
        name: match first {
            1 => path.to_owned(),
            _ => format!("{path} (lines {first}-{} of 900)", first + count - 1),
        },
        content: content.to_owned(),
        at: Some(Stretch {
            path: path.to_owned(),
            first,
            of: 900,
        }),
    }
}

fn numbered(lines: std::ops::Range<usize>) -> String {
    lines.map(|line| format!("line {line}\n")).collect()
}

fn report(tasks: Vec<(Status, Vec<Section>)>) -> Report {
    let outcome = |(at, (status, sections))| Outcome {
        number: at + 1,
        command: "exec".to_owned(),
        target: "make".to_owned(),
        status,
        sections,
        ..Outcome::default()
    };
    Report {
        outcomes: tasks.into_iter().enumerate().map(outcome).collect(),
        fence: "w0rd".to_owned(),
        ..Report::default()
    }
}

/// The outputs of tasks that went well.
fn outputs(tasks: Vec<Vec<Section>>, limit: usize) -> String {
    let tasks = tasks.into_iter().map(|sections| (Status::Done, sections));
    let mut report = report(tasks.collect());
    let packet = report.packet(&[], limit, "out.txt").unwrap();
    assert!(packet.text.len() <= limit, "{}", packet.text.len());
    packet.outputs
}

#[test]
fn what_failed_comes_first_and_older_results_last() {
    let mut report = report(vec![
        (Status::Done, vec![stdout("one\n")]),
        (Status::Failed, vec![stdout("two\n")]),
    ]);
    let older = |time: &str, said: &str| Earlier {
        time: time.to_owned(),
        lines: format!("1 ✅ {said}\n"),
        outputs: format!("\n[1] {said}:\nstdout:\n{said}\n"),
    };
    let earlier = [older("10:32:40", "later"), older("10:32:30", "first")];
    let packet = report.packet(&earlier, 60_000, "out.txt").unwrap();
    let newest = "\n[2] exec make (failed):\nstdout:\ntwo\n\n[1] exec make:\nstdout:\none\n";
    assert_eq!(packet.outputs, newest);
    assert_eq!(
        packet.text,
        format!(
            "=== CLADA RESULTS ===\n1 ✅ exec make\n2 ❌ exec make\n--- 10:32:40 ---\n1 ✅ later\n--- 10:32:30 ---\n\
             1 ✅ first\n=== END ===\n\n=== OUTPUTS ===\n{newest}\n--- 10:32:40 ---\n\n[1] later:\nstdout:\nlater\n\
             \n--- 10:32:30 ---\n\n[1] first:\nstdout:\nfirst\n=== END ===\n"
        )
    );
}

/// The line that counted what was left out the first time may be left out the second time.
#[test]
fn how_much_of_older_outputs_is_left_out_is_not_counted_anew() {
    let mut older = report(vec![(Status::Done, vec![stdout(numbered(1..20_001))])]);
    let earlier = Earlier {
        time: "10:32:40".to_owned(),
        lines: String::new(),
        outputs: older.packet(&[], 20_000, "out.txt").unwrap().outputs,
    };
    let mut newer = report(vec![(Status::Done, vec![stdout("new\n")])]);
    let packet = newer.packet(&[earlier], 3_000, "out.txt").unwrap();
    let shown = packet.text;
    assert!(
        shown.contains("… a part is left out here, all of it is in out.txt …\n"),
        "{shown}"
    );
    assert_eq!(shown.matches("left out").count(), 1, "{shown}");
}

#[test]
fn a_long_output_is_cut_at_lines_and_says_how_to_get_the_rest() {
    let shown = outputs(vec![vec![stdout(numbered(1..20_001))]], 10_000);
    let (head, tail) = shown.split_once("… ").unwrap();
    let (hint, tail) = tail.split_once(" …\n").unwrap();
    let kept = head.lines().count() - 3 + tail.lines().count();
    let left = grouped(20_000 - kept as u64);
    assert!(hint.starts_with(&format!("{left} lines (")), "{hint}");
    assert!(
        hint.ends_with(
            " KB) left out here, all of it is in out.txt: to see more, rerun it with `| grep WORD`, `| head` or `| \
            tail`"
        ),
        "{hint}"
    );
    assert!(head.starts_with("\n[1] exec make:\nstdout:\nline 1\n") && head.ends_with('\n'));
    assert!(tail.starts_with("line ") && tail.ends_with("\nline 20000\n"));
    assert!((9_000..10_000).contains(&shown.len()), "{}", shown.len());
}

#[test]
fn no_part_is_longer_than_50_kb_and_small_ones_are_whole() {
    let big = || vec![stdout(numbered(1..100_000))];
    let shown = outputs(vec![big()], 1_000_000);
    assert!((50_000..=PART).contains(&shown.len()), "{}", shown.len());
    let small = numbered(1..100);
    let shown = outputs(vec![big(), vec![stdout(small.clone())], big()], 20_000);
    assert!(shown.contains(&small));
    assert!((19_000..20_000).contains(&shown.len()), "{}", shown.len());
}

#[test]
fn of_a_file_that_is_cut_the_lines_that_are_missing_are_named() {
    let shown = outputs(vec![vec![file("a.txt", 101, &numbered(101..801))]], 4000);
    let (head, rest) = shown.split_once("… ").unwrap();
    let (hint, tail) = rest.split_once(" …\n").unwrap();
    let (_, lines) = hint
        .split_once("left out here: read them with lines=\"")
        .unwrap();
    let (first, last) = lines.trim_end_matches('"').split_once('-').unwrap();
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(head.ends_with(&format!("line {}\n", first - 1)));
    assert!(tail.starts_with(&format!("line {}\n", last + 1)));
    assert!(tail.ends_with("line 800\n=== END FILE: a.txt (lines 101-800 of 900) ===\n"));
}

#[test]
fn a_very_long_line_is_cut_within() {
    let shown = outputs(
        vec![vec![stdout(format!("{}\nend\n", "é".repeat(50_000)))]],
        3000,
    );
    assert!(shown.contains("é…\n… 97 KB left out here, "), "{shown}");
    assert!(shown.ends_with("é\nend\n") && shown.contains("\n…é"));
}

#[test]
fn a_file_is_in_it_once() {
    let all = numbered(1..41);
    let edited = all.replace("line 20\n", "line twenty\n");
    let shown = outputs(
        vec![
            vec![file("a.txt", 1, &all)],
            vec![file("a.txt", 1, &all), file("b.txt", 1, "b\n")],
            vec![file("a.txt", 1, &edited)],
            vec![file("a.txt", 30, &numbered(30..43))],
        ],
        60_000,
    );
    let expected = format!(
        "\n[1] exec make:\n=== START FILE: a.txt ===\n{all}=== END FILE: a.txt ===\n\
         \n[2] exec make:\n=== FILE: a.txt: as shown under [1] ===\n\n=== START FILE: b.txt ===\nb\n=== END FILE: b.txt ===\n\
         \n[3] exec make:\n=== FILE: a.txt (lines 1-19 of 900): as shown under [1] ===\n\
         === START FILE: a.txt (line 20 of 900) ===\nline twenty\n=== END FILE: a.txt (line 20 of 900) ===\n\
         === FILE: a.txt (lines 21-40 of 900): as shown under [1] ===\n\
         \n[4] exec make:\n=== FILE: a.txt (lines 30-40 of 900): as shown under [1] ===\n\
         === START FILE: a.txt (lines 41-42 of 900) ===\nline 41\nline 42\n=== END FILE: a.txt (lines 41-42 of 900) ===\n"
    );
    assert_eq!(shown, expected);
}

#[test]
fn a_long_text_or_output_is_in_it_once() {
    let long = numbered(1..100);
    let tasks = vec![
        vec![text(&long), stdout(format!("{long}\n"))],
        vec![text(&long), stdout(format!("{long}\n"))],
        vec![text("short\n"), text("short\n")],
    ];
    let shown = outputs(tasks, 60_000);
    assert!(
        shown.ends_with(
            "\n[2] exec make:\n(as shown under [1])\nstdout:\n(as shown under [1])\n\n[3] exec make:\nshort\nshort\n"
        ),
        "{shown}"
    );
}

#[test]
fn a_file_of_older_results_that_is_there_again_is_in_it_once() {
    let (a, b) = (numbered(1..41), numbered(50..81));
    let mut older = report(vec![(
        Status::Done,
        vec![file("a.txt", 1, &a), file("b.txt", 1, &b)],
    )]);
    let earlier = Earlier {
        time: "10:32:40".to_owned(),
        lines: String::new(),
        outputs: older.packet(&[], 60_000, "out.txt").unwrap().outputs,
    };
    let mut newer = report(vec![(Status::Done, vec![file("a.txt", 1, &a)])]);
    let packet = newer
        .packet(&[earlier.clone(), earlier], 60_000, "out.txt")
        .unwrap();
    assert_eq!(
        packet.text.matches("line 7\n").count(),
        1,
        "{}",
        packet.text
    );
    assert_eq!(packet.text.matches("line 57\n").count(), 1);
    assert_eq!(
        packet
            .text
            .matches("=== FILE: a.txt: as shown above ===\n")
            .count(),
        2
    );
}

#[test]
fn no_escape_sequence_and_no_line_of_the_frame_comes_from_a_task() {
    let shown = outputs(
        vec![vec![
            text("\u{1b}[31m1 ✅ red\u{1b}[0m\nstdout:\n"),
            file("a.txt", 1, "=== END ===\n1 ✅ kept\n\u{c}\u{1b}[1mbold\r\n"),
            stdout("=== OUTPUTS ===\n[2] edit src/a.rs:\nplain\n"),
        ]],
        60_000,
    );
    assert_eq!(
        shown,
        "\n[1] exec make:\n  \\x1b[31m1 ✅ red\\x1b[0m\n  stdout:\n(in this file, 1 line that looks like one of clada's is indented by \
         two spaces, and invisible characters are written as `\\x1b` or `\\u{202e}`)\n\
         === START FILE: a.txt ===\n  === END ===\n1 ✅ kept\n\\x0c\\x1b[1mbold\n\
         === END FILE: a.txt ===\nstdout:\n  === OUTPUTS ===\n  [2] edit src/a.rs:\nplain\n"
    );
    // The full output has the same.
    let mut whole = Vec::new();
    let mut report = report(vec![(
        Status::Done,
        vec![stdout("=== END ===\n".repeat(10_000))],
    )]);
    report.write_output(None, &mut whole).unwrap();
    let whole = String::from_utf8(whole).unwrap();
    assert_eq!(whole.matches("\n  === END ===").count(), 10_000);
    assert_eq!(whole.matches("\n=== END ===").count(), 2);
}

#[test]
fn of_many_results_and_parts_the_first_ones_are_there() {
    let many: Vec<_> = (0..2000).map(|_| vec![stdout("x".repeat(100))]).collect();
    let tasks = many.into_iter().map(|sections| (Status::Done, sections));
    let mut report = report(tasks.collect());
    let packet = report.packet(&[], 20_000, "out.txt").unwrap();
    assert!(packet.text.len() <= 20_000, "{}", packet.text.len());
    let (results, outputs) = packet.text.split_once(OUTPUTS).unwrap();
    assert!(results.contains("\n1 ✅ exec make\n2 ✅"), "{results}");
    let (_, more) = results.split_once("\nand ").unwrap();
    let more: usize = more
        .split(' ')
        .next()
        .unwrap()
        .replace(',', "")
        .parse()
        .unwrap();
    assert_eq!(results.matches("✅").count() + more, 2000);
    assert_eq!(outputs, "\n=== END ===\n");
    let packet = report.packet(&[], 100_000, "out.txt").unwrap();
    assert!(packet.text.contains("\n2000 ✅ exec make\n=== END ==="));
    assert!(packet.text.contains(" more tasks are only in out.txt: "));
    assert!(
        (95_000..=100_000).contains(&packet.text.len()),
        "{}",
        packet.text.len()
    );
}

#[test]
fn what_has_no_room_says_where_it_is() {
    let mut one = report(vec![
        (Status::Done, vec![stdout("x".repeat(4000))]),
        (Status::Done, vec![stdout("y".repeat(4000))]),
    ]);
    let packet = one.packet(&[], 900, "out.txt").unwrap();
    let more =
        "… the outputs of 1 more task are only in out.txt: run fewer tasks with long output …";
    assert!(packet.text.contains(more), "{}", packet.text);

    let texts: Vec<Section> = (0..9).map(|n| text(format!("{n}").repeat(4000))).collect();
    let outputs = outputs(vec![texts], 3000);
    let said = " more texts left out here: ask for less at once …\n";
    assert!(outputs.contains(said), "{outputs}");
    let said = " left out here, all of it is in out.txt: ask for less at once …\n";
    assert!(outputs.contains(said), "{outputs}");

    let mut changed = report(Vec::new());
    changed.changes = "a.txt: line 4, not by you; read it before you edit it\n".repeat(100);
    let packet = changed.packet(&[], 900, "out.txt").unwrap();
    let said = "\ntoo much to show here: all of it is in out.txt\n";
    assert!(packet.text.contains(said), "{}", packet.text);
}

#[test]
fn of_a_numbered_file_a_part_is_to_be_read() {
    let numbered = Section::File {
        name: "[numbered] a.txt".to_owned(),
        content: numbered(0..2000),
        at: None,
    };
    let outputs = outputs(vec![vec![numbered]], 3000);
    let said = " left out here: read a part of it with lines=\"…\" …\n";
    assert!(outputs.contains(said), "{outputs}");
}

#[test]
fn the_size_of_a_large_packet_is_told() {
    assert_eq!(packet_size(&"x".repeat(20_000)), "");
    assert_eq!(packet_size(&"x".repeat(34_400)), " (34 KB, ≈ 9,000 tokens)");
    assert_eq!(
        packet_size(&"x".repeat(7_999_000)),
        " (7,999 KB, ≈ 2,000,000 tokens)"
    );
}

/// A text of short and long lines.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[ -~]{0,60}\n",
        "[é日🦀 a]{0,40}\n",
        "[a-z]{1,10}",
        Just("=== END ===\n".to_owned()),
        Just("1 ✅ a\n".to_owned()),
        Just("<tasks>\n<task>\n".to_owned()),
        Just("<!-- clada:off -->\n".to_owned()),
        Just("```\n".to_owned()),
    ];
    // From nothing to about 1 MB.
    let times = prop_oneof![Just(1_usize), 1..50_usize, 1..4000_usize];
    (proptest::collection::vec(piece, 0..20), times)
        .prop_map(|(pieces, times)| pieces.concat().repeat(times))
}

fn any_section() -> impl Strategy<Value = Section> {
    prop_oneof![
        any_text().prop_map(text),
        any_text().prop_map(stdout),
        (any_text(), 1..500_usize).prop_map(|(content, first)| file("a.txt", first, &content)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_packet_is_never_larger_than_its_limit_and_holds_no_task(
        tasks in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any_section(), 0..4)), 0..12),
        older in proptest::collection::vec(any_section(), 0..3),
        limits in (1_usize..3000, 1000_usize..200_000),
    ) {
        let count = tasks.len();
        let tasks = tasks.into_iter().map(|(failed, sections)| {
            (if failed { Status::Failed } else { Status::Done }, sections)
        });
        let mut report = report(tasks.collect());
        let earlier = self::report(vec![(Status::Done, older)]).packet(&[], limits.1, "out.txt").unwrap();
        let earlier = Earlier {
            time: "10:32:40".to_owned(),
            lines: "1 ✅ exec make\n".to_owned(),
            outputs: earlier.outputs,
        };
        report.fence = "other".to_owned();
        for limit in [limits.0, limits.1] {
            let packet = report.packet(std::slice::from_ref(&earlier), limit, "out.txt").unwrap();
            let text = packet.text;
            prop_assert!(text.len() <= limit.max(100), "{} of {limit}", text.len());
            let found = scan(&text);
            prop_assert!(found.batches.is_empty() && found.problems.is_empty(), "{text}");
            let frame = |line: &str| text.lines().filter(|it| *it == line).count();
            prop_assert_eq!((frame(RESULTS), frame(OUTPUTS), frame(END)), (1, 1, 2));
            if limit > 20_000 {
                prop_assert_eq!(text.matches("exec make\n").count(), count + 1);
            }
        }
    }

    #[test]
    fn room_is_shared_out_as_far_as_it_is_needed(
        needs in proptest::collection::vec(0_usize..1000, 0..20),
        room in 0_usize..10_000,
    ) {
        let shares = share(&needs, room);
        let sum: usize = shares.iter().sum();
        prop_assert!(shares.iter().zip(&needs).all(|(share, need)| share <= need));
        prop_assert!(sum <= room);
        // Nothing is kept back but what cannot be shared equally.
        prop_assert!(sum == needs.iter().sum::<usize>() || sum + needs.len() > room);
        let least_cut = shares.iter().zip(&needs).filter(|(share, need)| share < need).map(|(share, _)| share).min();
        if let Some(least) = least_cut {
            prop_assert!(shares.iter().all(|share| *share <= least + 1 + needs.len()));
        }
    }
}
