//! A page of `docs/` as the tests follow it: what a reader does on it, in order, and what the page says is printed. Runs
//! nothing.

use crate::cases;

/// One page.
pub(super) struct Page {
    name: String,
    source: String,
    pub(super) deeds: Vec<Deed>,
}

/// Something that a reader of the page does.
pub(super) struct Deed {
    /// The line of the page on which it begins, from 1.
    pub(super) line: usize,
    pub(super) what: What,
    /// The block of text that shows what comes of it.
    pub(super) printed: Option<Printed>,
}

/// What a reader does.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    /// Types this into a shell.
    Type { script: String, fails: bool },
    /// Types this into a shell to change the notes, and waits for the results.
    Save(String),
    /// Pastes this below what is in the notes.
    Paste(String),
    /// Puts this into the user's settings.
    Set(String),
}

/// A block of text.
#[derive(Debug, PartialEq)]
pub(super) struct Printed {
    /// The line of the fence that opens it, from 1.
    pub(super) line: usize,
    pub(super) text: String,
}

/// The blocks of a page that concern a reader's hands.
enum Block {
    Fence { info: String, text: String },
    Hidden(String),
}

impl Page {
    /// Reads a page of `docs/` by its name.
    pub(super) fn read(name: &str) -> Self {
        let path = cases::root().join("docs").join(format!("{name}.md"));
        let source = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(name, source)
    }

    fn parse(name: &str, source: String) -> Self {
        let mut deeds: Vec<Deed> = Vec::new();
        // Whether a block of text that comes next belongs to the deed before it.
        let mut awaits_text = false;
        for (line, block) in blocks(name, &source) {
            let (words, text) = match block {
                Block::Hidden(script) => ("sh hidden".to_owned(), script),
                Block::Fence { info, text } => (info, text),
            };
            let words: Vec<&str> = words.split_whitespace().collect();
            let has = |word: &str| words.contains(&word);
            let language = words.first().copied().unwrap_or_default();
            let awaited = std::mem::take(&mut awaits_text);
            if has("not-run") {
                continue;
            }
            let what = match language {
                _ if has("reply") => What::Paste(text),
                "xml" if text.contains("<tasks>") => What::Paste(text),
                "sh" if has("saves") => What::Save(text),
                "sh" => What::Type {
                    script: text,
                    fails: has("fails"),
                },
                "toml" => What::Set(text),
                "text" if awaited => {
                    if let Some(deed) = deeds.last_mut() {
                        deed.printed = Some(Printed { line, text });
                    }
                    continue;
                }
                _ => continue,
            };
            awaits_text = !matches!(what, What::Set(_)) && !has("hidden");
            deeds.push(Deed {
                line,
                what,
                printed: None,
            });
        }
        let name = name.to_owned();
        Self {
            name,
            source,
            deeds,
        }
    }

    /// A place on the page, for messages.
    pub(super) fn at(&self, line: usize) -> String {
        format!("docs/{}.md:{line}", self.name)
    }

    /// Writes the page with other text in some of its blocks.
    pub(super) fn rewrite(&self, texts: &[(&Printed, String)]) {
        let path = cases::root().join("docs").join(format!("{}.md", self.name));
        std::fs::write(path, self.with(texts)).expect("rewrite");
    }

    fn with(&self, texts: &[(&Printed, String)]) -> String {
        let mut lines: Vec<&str> = self.source.lines().collect();
        let mut from_last: Vec<_> = texts.iter().collect();
        from_last.sort_by_key(|(old, _)| std::cmp::Reverse(old.line));
        for (old, new) in from_last {
            let range = old.line..old.line + old.text.lines().count();
            lines.splice(range, new.lines());
        }
        lines.join("\n") + "\n"
    }
}

/// The fenced blocks and hidden scripts of a page, each with the number of its first line.
fn blocks(name: &str, source: &str) -> Vec<(usize, Block)> {
    let mut found = Vec::new();
    let mut lines = source.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let mut until = |end: &str| {
            let mut text = String::new();
            for (line, _) in lines.by_ref() {
                if line == end {
                    return text;
                }
                text += line;
                text.push('\n');
            }
            panic!("docs/{name}.md:{number}: no line `{end}` ends this")
        };
        let ticks = line.len() - line.trim_start_matches('`').len();
        let indented = line.trim_start();
        assert!(
            indented.len() == line.len() || !indented.starts_with("```"),
            "docs/{name}.md:{number}: a fence that is indented is not followed"
        );
        if ticks >= 3 {
            let info = line[ticks..].trim().to_owned();
            let text = until(&line[..ticks]);
            found.push((number, Block::Fence { info, text }));
        } else if line.starts_with("<!-- run") {
            found.push((number, Block::Hidden(until("-->"))));
        }
    }
    found
}

#[test]
fn a_page_is_read_as_its_reader_follows_it() {
    let source = "# Title\n\n```text\nan illustration\n```\n<!-- run\nmkdir src\n-->\n```text\nanother\n```\n\
                  ```sh\nls\n```\nIt prints:\n```text\nsrc\n```\n```text\nnot of it\n```\n```sh fails\nfalse\n```\n\
                  ````xml\n<tasks>\n```\n</tasks>\n````\n```xml\n<task>\n```\n```diff reply\n+a\n```\n\
                  ```sh not-run\nreboot\n```\n```text\nneither\n```\n```toml\na = 1\n```\n```sh saves\nsed\n```\n";
    let page = Page::parse("git", source.to_owned());
    let read: Vec<_> = page
        .deeds
        .iter()
        .map(|deed| (deed.line, &deed.what, deed.printed.as_ref()))
        .collect();
    let script = |script: &str, fails| What::Type {
        script: script.to_owned(),
        fails,
    };
    let printed = Printed {
        line: 16,
        text: "src\n".to_owned(),
    };
    let expected = [
        (6, &script("mkdir src\n", false), None),
        (12, &script("ls\n", false), Some(&printed)),
        (22, &script("false\n", true), None),
        (
            25,
            &What::Paste("<tasks>\n```\n</tasks>\n".to_owned()),
            None,
        ),
        (33, &What::Paste("+a\n".to_owned()), None),
        (42, &What::Set("a = 1\n".to_owned()), None),
        (45, &What::Save("sed\n".to_owned()), None),
    ];
    assert_eq!(read, expected);
    let rewritten = page.with(&[(&printed, "one\ntwo\n".to_owned())]);
    assert_eq!(
        rewritten,
        source.replace("```text\nsrc\n", "```text\none\ntwo\n")
    );
    assert_eq!(page.at(6), "docs/git.md:6");
}
