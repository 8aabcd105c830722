//! Reads the markdown cases of `test-data/` (its README states the format) and runs each folder's check over them.
//!
//! `CASE=words cargo test cases` runs the cases whose name holds these words; `UPDATE_EXPECT=1` rewrites the expected
//! blocks from what was got (refused when `CI` is set).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One `##` section of a case file.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
}

/// One fenced block: its info string's words and its text.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The line of the opening fence, from 1.
    pub(crate) line: usize,
    pub(crate) kind: String,
    /// The second word of the info string, usually a path.
    pub(crate) arg: String,
    flags: Vec<String>,
    raw: String,
}

impl Block {
    /// Whether the info string holds this word after the kind.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// The block's text, with `escaped` and `no-newline` carried out.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = if self.has("escaped") {
            unescape(&self.raw)
        } else {
            self.raw.clone().into_bytes()
        };
        if self.has("no-newline") && text.last() == Some(&b'\n') {
            text.pop();
        }
        text
    }

    /// The block's text as a string.
    pub(crate) fn string(&self) -> String {
        String::from_utf8(self.text()).expect("block is UTF-8")
    }
}

impl Case {
    /// All blocks of a kind.
    pub(crate) fn all<'c>(&'c self, kind: &'c str) -> impl Iterator<Item = &'c Block> + use<'c> {
        self.blocks.iter().filter(move |b| b.kind == kind)
    }

    /// The only block of a kind, if there is one.
    pub(crate) fn one(&self, kind: &str) -> Option<&Block> {
        let all: Vec<&Block> = self.blocks.iter().filter(|b| b.kind == kind).collect();
        assert!(all.len() < 2, "{}: two `{kind}` blocks", self.name);
        all.first().copied()
    }
}

/// What a check says of one case: for each expected block, what was got instead.
pub(crate) struct Verdict {
    wrong: Vec<(Block, Vec<u8>)>,
    said: Vec<String>,
}

impl Verdict {
    pub(crate) fn new() -> Self {
        Self {
            wrong: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Compares an expected block with what was got.
    pub(crate) fn expect(&mut self, block: &Block, got: &[u8]) {
        if block.text() != got {
            self.wrong.push((block.clone(), got.to_vec()));
        }
    }

    /// Something that no block states is wrong.
    pub(crate) fn wrong(&mut self, what: impl Into<String>) {
        self.said.push(what.into());
    }
}

/// Runs `check` over every case below `test-data/FOLDER`, reports all failures at once, and refuses an empty folder.
pub(crate) fn run(folder: &str, check: impl Fn(&Case, &mut Verdict)) {
    let filter = std::env::var("CASE").unwrap_or_default();
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    assert!(
        !(update && std::env::var_os("CI").is_some()),
        "UPDATE_EXPECT is for people, not for CI"
    );
    let mut failures = String::new();
    let mut ran = 0;
    for file in markdown_files(&root().join("test-data").join(folder)) {
        let source = std::fs::read_to_string(&file).expect("case file");
        let cases = parse(&file, &source);
        assert!(!cases.is_empty(), "{}: no case in it", file.display());
        let mut rewrites = Vec::new();
        for case in &cases {
            if !case.name.contains(&filter) {
                continue;
            }
            ran += 1;
            let mut verdict = Verdict::new();
            check(case, &mut verdict);
            for said in &verdict.said {
                let _ = writeln!(failures, "\n{} ## {}\n{said}", file.display(), case.name);
            }
            for (block, got) in verdict.wrong {
                if update {
                    rewrites.push((block.clone(), got.clone()));
                }
                let _ = writeln!(
                    failures,
                    "\n{}:{} ## {}\n`{} {}` should be\n{}\nbut is\n{}",
                    file.display(),
                    block.line,
                    case.name,
                    block.kind,
                    block.arg,
                    show(&block.text()),
                    show(&got),
                );
            }
        }
        if !rewrites.is_empty() {
            rewrite(&file, &source, rewrites);
        }
    }
    assert!(
        ran > 0 || !filter.is_empty(),
        "no case in test-data/{folder}"
    );
    assert!(failures.is_empty(), "{failures}");
}

/// The repository's top.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All `.md` files below a folder, sorted.
pub(crate) fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The cases of one file: `##` headings outside fences, and the fenced blocks below each.
pub(crate) fn parse(file: &Path, source: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = source.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(Case {
                name: name.trim().to_owned(),
                blocks: Vec::new(),
            });
        }
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks < 3 {
            continue;
        }
        let fence = "`".repeat(ticks);
        let mut words = line[ticks..].split_whitespace().map(str::to_owned);
        let kind = words.next().unwrap_or_default();
        let flags: Vec<String> = words.collect();
        let mut raw = String::new();
        let mut closed = false;
        for (_, line) in lines.by_ref() {
            if line == fence {
                closed = true;
                break;
            }
            raw.push_str(line);
            raw.push('\n');
        }
        assert!(
            closed,
            "{}:{}: fence never closes",
            file.display(),
            number + 1
        );
        if let (Some(case), false) = (cases.last_mut(), kind.is_empty()) {
            case.blocks.push(Block {
                line: number + 1,
                kind,
                arg: flags.first().cloned().unwrap_or_default(),
                flags,
                raw,
            });
        }
    }
    cases
}

fn rewrite(file: &Path, source: &str, mut rewrites: Vec<(Block, Vec<u8>)>) {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    rewrites.sort_by_key(|(block, _)| std::cmp::Reverse(block.line));
    for (block, got) in rewrites {
        let mut text = String::from_utf8(got).expect("only text can be rewritten");
        if block.has("escaped") {
            text = escape(&text);
        }
        if block.has("no-newline") {
            text.push('\n');
        }
        let old = block.raw.lines().count();
        lines.splice(
            block.line..block.line + old,
            text.lines().map(str::to_owned),
        );
    }
    std::fs::write(file, lines.join("\n") + "\n").expect("rewrite");
}

/// `\r`, `\t`, `\\`, `\xNN` (a byte) and `\u{N}` (a character).
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let (used, bytes) = match rest.as_bytes().get(at + 1) {
            Some(b'r') => (2, b"\r".to_vec()),
            Some(b't') => (2, b"\t".to_vec()),
            Some(b'\\') => (2, b"\\".to_vec()),
            Some(b'x') => (
                4,
                vec![u8::from_str_radix(&rest[at + 2..at + 4], 16).expect("\\xNN")],
            ),
            Some(b'u') => {
                let end = rest[at..].find('}').expect("\\u{…}") + at;
                let value = u32::from_str_radix(&rest[at + 3..end], 16).expect("\\u{…}");
                (
                    end + 1 - at,
                    char::from_u32(value)
                        .expect("a character")
                        .to_string()
                        .into_bytes(),
                )
            }
            other => panic!("unknown escape {other:?} in {text:?}"),
        };
        out.extend(bytes);
        rest = &rest[at + used..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\n' | ' '..='\u{7e}' => out.push(c),
            c => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    out
}

fn show(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.split_inclusive('\n')
        .map(|l| format!("    |{}\n", l.escape_debug()))
        .collect()
}
