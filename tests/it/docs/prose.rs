//! What all documents for readers have in common: short sentences, links that lead somewhere, and pages that open with what
//! they are for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clada::cli::topics::TOPICS;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::FOR_BUILDERS;
use crate::cases;

/// The longest sentence, in words.
pub(crate) const LONGEST: usize = 30;
/// The most lines of the README.
const README_LINES: usize = 180;
/// A page shows its first example within so many lines.
const OPENING: usize = 25;

/// The README, the pages of `docs/`, and these beside it, where they exist.
fn documents(beside: &[&str]) -> Vec<PathBuf> {
    let root = cases::root();
    let beside = beside.iter().map(|name| root.join(name));
    let mut found: Vec<PathBuf> = beside.filter(|path| path.exists()).collect();
    found.push(root.join("README.md"));
    found.extend(cases::markdown_files(&root.join("docs")));
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The path as it is named in messages.
fn name_of(path: &Path) -> String {
    let below = path.strip_prefix(cases::root()).expect("of the repository");
    below.display().to_string()
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[test]
fn the_readme_is_one_page() {
    let lines = read(&cases::root().join("README.md")).lines().count();
    assert!(
        lines <= README_LINES,
        "{lines} lines, at most {README_LINES}"
    );
}

#[test]
fn no_sentence_is_long() {
    let mut long = String::new();
    for path in documents(&["SECURITY.md", "CONTRIBUTING.md"]) {
        let text = read(&path);
        for (at, block) in prose(&text) {
            for (words, sentence) in long_sentences(&block) {
                let (name, line) = (name_of(&path), line_of(&text, at));
                long += &format!("{name}:{line}: {words} words: {sentence}\n");
            }
        }
    }
    assert!(long.is_empty(), "{long}");
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = String::new();
    let documents = documents(&["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]);
    for path in &documents {
        let text = read(path);
        for (at, link) in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let folder = path.parent().expect("a folder");
            let to = if file.is_empty() {
                path.clone()
            } else {
                folder.join(file)
            };
            let is_there =
                to.exists() && (anchor.is_empty() || anchors(&read(&to)).contains(anchor));
            if !is_there {
                dead += &format!("{}:{}: {link}\n", name_of(path), line_of(&text, at));
            }
        }
    }
    assert!(dead.is_empty(), "{dead}");
}

#[test]
fn every_page_opens_with_what_it_is_for_and_an_example() {
    let mut wrong = String::new();
    for path in cases::markdown_files(&cases::root().join("docs")) {
        let text = read(&path);
        let mut events = Parser::new_ext(&text, Options::ENABLE_TABLES);
        let opening = [
            events.next(),
            events.find(|event| matches!(event, Event::Start(_))),
        ];
        let name = name_of(&path);
        if !text.starts_with("# ") || !matches!(opening[1], Some(Event::Start(Tag::Paragraph))) {
            wrong += &format!("{name}: no title with a paragraph below it\n");
        }
        let example = text.lines().position(|line| line.starts_with("```"));
        if example.is_none_or(|line| line >= OPENING) {
            wrong += &format!("{name}: no example in its first {OPENING} lines\n");
        }
        let wide = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.starts_with('|'));
        let mut in_code = false;
        for (line, number) in wide {
            in_code ^= line.starts_with("```");
            if !in_code && line.chars().count() > 100 && line.contains(' ') {
                wrong += &format!("{name}:{number}: longer than 100 columns\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_page_is_a_topic_that_the_readme_links_to() {
    let files = cases::markdown_files(&cases::root().join("docs"));
    let pages: BTreeSet<String> = files.iter().map(|path| name_of(path)).collect();
    let topics = TOPICS.iter().map(|topic| format!("docs/{}.md", topic.name));
    let apart = FOR_BUILDERS.iter().map(|name| format!("docs/{name}.md"));
    assert_eq!(pages, topics.chain(apart).collect::<BTreeSet<_>>());
    let readme = read(&cases::root().join("README.md"));
    for topic in TOPICS {
        let line = format!("\n- [{0}](docs/{0}.md): {1}\n", topic.name, topic.about);
        assert!(readme.contains(&line), "the README lacks{line}");
    }
}

/// The links of a document, each with its place.
fn links(text: &str) -> Vec<(usize, String)> {
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let link = |(event, range): (Event<'_>, std::ops::Range<usize>)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((range.start, dest_url.into_string()))
        }
        _ => None,
    };
    events.filter_map(link).collect()
}

/// The anchors that a document's headings get on a code host.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut heading = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(text) | Event::Code(text), Some(heading)) => *heading += &text,
            (Event::End(TagEnd::Heading(_)), Some(text)) => {
                let name = anchor(text);
                let again = (1..).map(|number| format!("{name}-{number}"));
                let free = std::iter::once(name.clone()).chain(again);
                found.extend(free.into_iter().find(|name| !found.contains(name)));
                heading = None;
            }
            _ => {}
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The text of each paragraph, heading, list item and cell, with its place. A code span is one word.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut in_code = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let block = found.last_mut().map(|(_, block)| block);
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Start(
                Tag::Paragraph
                | Tag::Heading { .. }
                | Tag::Item
                | Tag::TableCell
                | Tag::BlockQuote(_),
            )
            | Event::End(TagEnd::Paragraph | TagEnd::Item) => {
                found.push((range.start, String::new()))
            }
            Event::Text(text) if !in_code => *block.expect("a block") += &text,
            Event::Code(code) => *block.expect("a block") += &one_word(&code),
            Event::SoftBreak | Event::HardBreak => *block.expect("a block") += " ",
            _ => {}
        }
    }
    found
}

fn one_word(code: &str) -> String {
    format!(
        "`{}`",
        code.replace(char::is_whitespace, "_")
            .replace(['.', '!', '?'], "_")
    )
}

/// The sentences of a text that are longer than allowed, with how many words they have.
pub(crate) fn long_sentences(text: &str) -> Vec<(usize, String)> {
    let counted = |sentence: String| (sentence.split_whitespace().count(), sentence);
    let counted = sentences(text).into_iter().map(counted);
    counted.filter(|(words, _)| *words > LONGEST).collect()
}

/// The sentences of a text: each ends with a full stop, a question mark or an exclamation mark before a blank.
fn sentences(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in text.split_whitespace() {
        let sentence = found.last_mut().expect("a sentence");
        sentence.push_str(word);
        sentence.push(' ');
        if word
            .trim_end_matches(['"', ')', '”', '*'])
            .ends_with(['.', '!', '?'])
        {
            found.push(String::new());
        }
    }
    found
}

#[test]
fn sentences_and_anchors_are_found() {
    let text = "# A `b` (c), d!\n\nOne two. Three `four. five` six?\nSeven:\n\n- item one\n- item two\n\n\
                | cell one | cell two |\n| --- | --- |\n| `a b` | c. D e |\n\n```sh\nnot. This.\n```\n\n## A b c d\n";
    let found: Vec<String> = prose(text)
        .iter()
        .flat_map(|(_, block)| sentences(block))
        .filter(|sentence| !sentence.is_empty())
        .collect();
    assert_eq!(
        found,
        [
            "A `b` (c), d! ",
            "One two. ",
            "Three `four__five` six? ",
            "Seven: ",
            "item one ",
            "item two ",
            "cell one ",
            "cell two ",
            "`a_b` ",
            "c. ",
            "D e ",
            "A b c d ",
        ]
    );
    let anchors: Vec<String> = anchors(text).into_iter().collect();
    assert_eq!(anchors, ["a-b-c-d", "a-b-c-d-1"]);
}
