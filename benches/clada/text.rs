//! Figures of the library alone, on text that is in memory.

use std::fmt::Write;
use std::sync::Arc;

use clada::novelty::{self, Event, Look, NoveltyState};
use clada::reply::dialect::Dialects;
use clada::reply::note::{self, Blocks};
use clada::reply::record::Seed;
use clada::reply::scan::scan;
use clada::settings::places;
use clada::world::note_file::{NoteFile, NoteReading};
use sha2::{Digest, Sha256};

use crate::project::{CLADA, Project, whole};
use crate::table::{Pair, Row, gbs, paired, speed, time};

const MB: usize = 1_000_000;

pub(crate) fn scan_prose(print: &mut dyn FnMut(Row)) {
    measure_scan(
        "100 MB, 10 batches in it",
        &prose(100 * MB),
        Some(8.0),
        print,
    );
}

pub(crate) fn scan_tasks(print: &mut dyn FnMut(Row)) {
    measure_scan("20 MB, nothing else", &tasks(20 * MB), Some(1.0), print);
    let whole_files = overwrites(20 * MB);
    measure_scan("20 MB of small whole files", &whole_files, Some(0.8), print);
}

/// `clada check` from its start to its end, of texts that are in the system's memory.
pub(crate) fn check(print: &mut dyn FnMut(Row)) {
    let project = Project::new();
    let reply = project.path("reply.md");
    let mut measure = |what: &str, text: String, goal: f64| {
        std::fs::write(&reply, &text).expect("write");
        let program = |program: &str, args: &[&str]| {
            let mut command = project.command(program);
            command.args(args).arg(&reply);
            whole(command)
        };
        // It reads all of the text as `clada check` does, and counts its lines.
        let pair = paired(9, || program(CLADA, &["check"]), || program("wc", &["-l"]));
        print(Row {
            what: what.to_owned(),
            ours: gbs(text.len(), pair.ours),
            baseline: ("wc -l", gbs(text.len(), pair.theirs)),
            ratio: pair.ratio,
            goal: Some((format!("{goal} GB/s"), speed(text.len(), pair.ours) >= goal)),
        });
    };
    measure("of 150 MB of tasks", overwrites(150 * MB), 0.8);
    measure("of 300 MB of prose", plain_prose(300 * MB), 1.6);
}

pub(crate) fn scan_mixed(print: &mut dyn FnMut(Row)) {
    measure_scan(
        "100 MB of chats in every dialect",
        &mixed(100 * MB),
        Some(0.5),
        print,
    );
    measure_scan(
        "20 MB, nothing but blocks of one line",
        &dense(20 * MB),
        None,
        print,
    );
}

fn measure_scan(what: &str, text: &str, goal: Option<f64>, print: &mut dyn FnMut(Row)) {
    // No text holds this byte: all of it is read and nothing found.
    let absent = || memchr::memchr(0xff, text.as_bytes());
    let Pair {
        ours,
        theirs,
        ratio,
    } = paired(25, || time(|| scan(text)), || time(absent));
    print(Row {
        what: what.to_owned(),
        ours: gbs(text.len(), ours),
        baseline: ("memchr of a byte not there", gbs(text.len(), theirs)),
        ratio,
        goal: goal.map(|goal| (format!("{goal} GB/s"), speed(text.len(), ours) >= goal)),
    });
}

/// What a save costs until it is known what is new in it.
pub(crate) fn save_path(print: &mut dyn FnMut(Row)) {
    let text = note::join(RESULTS, &prose(100 * MB));
    let own = Own(note::canonical(RESULTS));
    let seen = |text: &str| {
        let body = note::split(text, &own).body;
        let hash: [u8; 32] = Sha256::digest(body.as_bytes()).into();
        let scan = scan(&body);
        let look = Look {
            body: &body,
            scan: &scan,
            dialects: Dialects::ALL,
            over: true,
            settled: false,
            foreign: false,
            run_existing: false,
            copied: &[],
            ticks: &[],
        };
        let mut state = NoveltyState::new(Seed(1, 2));
        (hash, novelty::step(&mut state, Event::Looked(look)))
    };
    let hash = |text: &[u8]| -> [u8; 32] { Sha256::digest(text).into() };

    let pair = paired(
        9,
        || time(|| seen(&text)),
        || time(|| hash(text.as_bytes())),
    );
    print(row(
        "100 MB in memory",
        "SHA-256 of it",
        1.15,
        text.len(),
        &pair,
    ));

    let project = Project::new();
    let path = project.path("root/notes.md");
    std::fs::write(&path, &text).expect("write");
    let note = NoteFile::new(&path, places::NOTES_LIMIT).expect("a file");
    let read_and_see = || match note.read().expect("readable") {
        NoteReading::Text { text, .. } => (seen(&text), text),
        NoteReading::Missing => unreachable!("it was written above"),
    };
    let read_and_hash = || {
        let bytes = std::fs::read(&path).expect("readable");
        (hash(&bytes), bytes)
    };
    let pair = paired(9, || time(read_and_see), || time(read_and_hash));
    print(row(
        "100 MB from a file",
        "read and SHA-256 of it",
        1.15,
        text.len(),
        &pair,
    ));
}

fn row(what: &str, baseline: &'static str, goal: f64, bytes: usize, pair: &Pair) -> Row {
    Row {
        what: what.to_owned(),
        ours: gbs(bytes, pair.ours),
        baseline: (baseline, gbs(bytes, pair.theirs)),
        ratio: pair.ratio,
        goal: Some((format!("ratio {goal}"), pair.ratio <= goal)),
    }
}

/// Batches of one task each, which overwrites a file of 30 lines.
fn overwrites(length: usize) -> String {
    let code: String = (0..30)
        .map(|line| format!("    let x{line} = compute({line}, &mut state)?;\n"))
        .collect();
    let mut text = String::with_capacity(length + 4096);
    let mut number = 0;
    while text.len() < length {
        let _ = writeln!(
            text,
            "<tasks>\n<task>\n<i>Change {number}</i>\n<path>src/f{number}.rs</path>\n<c>overwrite</c>\n<x>\n{code}</x>\n</task>\n</tasks>\n"
        );
        number += 1;
    }
    text
}

/// Lines of words, without a sign of any dialect.
fn plain_prose(length: usize) -> String {
    let line = "What was tried and what came of it, folder by folder and file by file.\n";
    line.repeat(length / line.len())
}

/// Notes about code: some character of markup in every other paragraph, and ten batches between them.
pub(crate) fn prose(length: usize) -> String {
    let mut text = String::with_capacity(length + 4096);
    let mut batches = 0;
    let mut paragraph = 0;
    while text.len() < length {
        if text.len() >= batches * (length / 10) {
            batches += 1;
            let _ = writeln!(text, "<tasks>\n{}</tasks>\n", task(batches));
        }
        paragraph += 1;
        for line in 0..20 {
            let _ = writeln!(
                text,
                "Paragraph {paragraph}, line {line}: what was tried, what came of it, and what to look at tomorrow morning."
            );
        }
        if paragraph % 2 == 0 {
            text.push_str("It holds where a < b, in R&D as elsewhere.\n\n");
        }
    }
    text
}

/// Chats: a question, an answer in prose with code in it, and what to do, each time in the next dialect, with as much
/// code in it as a reply has.
fn mixed(length: usize) -> String {
    let mut text = String::with_capacity(length + 16 * 1024);
    let mut number = 0;
    while text.len() < length {
        number += 1;
        for _ in 0..12 {
            text.push_str("What was tried, what came of it, and what to look at: a < b, `Vec<String>`, R&D, 2 * 3 + 4, #12.\n");
        }
        text.push_str("# A heading\n* an item\n+ another\n- [ ] a box\n\n```rust\n#[test]\nfn it_is() {\n    assert!(1 + 1 < 3 && *x != 2);\n}\n```\n\n");
        text.push_str(&block(number, &code(40)));
    }
    text
}

/// Prose with a block of each dialect, each as short as can be.
fn dense(length: usize) -> String {
    let mut text = String::with_capacity(length + 16 * 1024);
    let mut number = 0;
    while text.len() < length {
        number += 1;
        if number % 7 == 0 {
            text.push_str("What was tried, what came of it, and what to look at: a < b, `Vec<String>`, R&D, 2 * 3 + 4, #12.\n");
        }
        text.push_str(&block(number, &code(1)));
    }
    text
}

/// Lines of code.
fn code(lines: usize) -> String {
    let line = |number| {
        format!("    let total{number} = items.iter().map(|item| item.price * 2).sum::<u64>();\n")
    };
    (0..lines).map(line).collect()
}

/// A block with this code, each time in the next dialect.
fn block(number: usize, code: &str) -> String {
    let signed = |sign| {
        code.lines()
            .map(|line| format!("{sign}{line}\n"))
            .collect::<String>()
    };
    let lines = code.lines().count();
    match number % 7 {
        0 => format!(
            "<tasks>\n<task>\n<path>src/a{number}.rs</path>\n<c>edit</c>\n<search>\n{code}</search>\n<replace>\n{code}{code}</replace>\n</task>\n</tasks>\n\n"
        ),
        1 => format!(
            "```sh nesl\n#!nesl [@three-char-SHA-256: a1b]\naction = \"file_write\"\npath = \"/tmp/a{number}.rs\"\n\
             content = <<'EOT_a1b'\n{code}EOT_a1b\n#!end_a1b\n```\n\n"
        ),
        2 => format!(
            "#!SHAM [@three-char-SHA-256: abc]\naction = \"file_append\"\npath = \"/tmp/b{number}.rs\"\n\
             content = <<'EOT_SHAM_abc'\n{code}EOT_SHAM_abc\n#!END_SHAM_abc\n\n"
        ),
        3 => format!(
            "<<<EXPLANATION>>>\nwhy\n<<<FILE>>>\nsrc/c{number}.rs\n<<<SEARCH>>>\n{code}<<<REPLACE>>>\n{code}{code}<<<END>>>\n\n"
        ),
        4 => format!(
            "src/d{number}.rs\n```rust\n<<<<<<< SEARCH\n{code}=======\n{code}{code}>>>>>>> REPLACE\n```\n\n"
        ),
        5 => format!(
            "*** Begin Patch\n*** Update File: src/e{number}.rs\n@@ fn sums()\n{}{}*** End Patch\n\n",
            signed("-"),
            signed("+")
        ),
        _ => format!(
            "```diff\n--- a/src/f{number}.rs\n+++ b/src/f{number}.rs\n@@ -1,{lines} +1,{lines} @@\n{}{}```\n\n",
            signed("-"),
            signed("+")
        ),
    }
}

/// Tasks of every kind with short payloads, 20 of them in a batch.
fn tasks(length: usize) -> String {
    let mut text = String::with_capacity(length + 16 * 1024);
    let mut number = 0;
    while text.len() < length {
        text.push_str("<tasks>\n");
        for _ in 0..20 {
            number += 1;
            text.push_str(&task(number));
        }
        text.push_str("</tasks>\n");
    }
    text
}

fn task(number: usize) -> String {
    let path = format!("src/part{}/module{number}.rs", number % 50);
    let code = format!(
        "    let total = items.iter().map(|item| item.price * item.count).sum::<u64>();\n    \
         if total > LIMIT {{\n        return Err(Error::TooMuch {{ total, at: {number} }});\n    }}\n"
    );
    let command = match number % 4 {
        0 => format!("<path>{path}</path>\n<c>overwrite</c>\n<x>\n{code}{code}{code}</x>"),
        1 => "<c>exec</c>\n<x>\ncargo test --quiet\ncargo clippy --all-targets\n</x>".to_owned(),
        _ => {
            format!(
                "<path>{path}</path>\n<c>edit</c>\n<search>\n{code}</search>\n<replace>\n{code}    log(total);\n</replace>"
            )
        }
    };
    format!(
        "<task>\n<i>Step {number}: the sum must not go over the limit</i>\n{command}\n</task>\n"
    )
}

/// What is on top of notes in use.
const RESULTS: &str =
    "📋 Copied to clipboard at 10:32:45\n=== CLADA RESULTS ===\n1 ✅ delete a\n=== END ===\n";

/// clada wrote this block.
struct Own(String);

impl Blocks for Own {
    fn written(&self) -> &[Arc<str>] {
        &[]
    }

    fn is_known(&self, canonical: &str) -> bool {
        canonical == self.0
    }

    fn is_pasted(&self, _: &str, _: &str) -> bool {
        false
    }
}
