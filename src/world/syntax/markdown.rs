//! The outline of a Markdown text: its headings are the definitions, each with its section. What looks like a heading in a fence,
//! in HTML, in a list, in a quote or before the text is none.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::code::{CodeLanguage, Definition, MOST_DEFINITIONS, Outline, ParsedFile, one_line};

/// A heading of the document.
struct Heading {
    level: usize,
    /// Its line; with the line below where that makes it one.
    span: Range<usize>,
    /// Its text as it is written.
    written: Range<usize>,
    /// Its text as it is read.
    plain: String,
}

/// Finds the headings of a text, and the names in its code spans.
pub(super) fn parse(text: &str) -> ParsedFile {
    let (headings, references) = read(text);
    let line_starts: Vec<usize> = memchr::memchr_iter(b'\n', text.as_bytes())
        .map(|at| at + 1)
        .collect();
    let line = |at: usize| line_starts.partition_point(|start| *start <= at) + 1;
    let mut definitions: Vec<Definition> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let known = &headings[..headings.len().min(MOST_DEFINITIONS)];
    let ends = ends(&headings, text.len());
    for (at, heading) in known.iter().enumerate() {
        while open
            .pop_if(|outer| headings[*outer].level >= heading.level)
            .is_some()
        {}
        let start = heading.span.start;
        let end = text[..ends[at]].trim_ascii_end().len();
        let head_end = heading.span.end.min(end);
        let name = name(heading, text);
        definitions.push(Definition {
            parent: open.last().copied(),
            aliases: aliases(heading, &name),
            span: start..end,
            body: (head_end < end).then_some(head_end..end),
            inside_end: Some(end),
            header: name.clone(),
            name,
            first_line: line(start),
            last_line: line(end.saturating_sub(1)),
            header_line: line(head_end.saturating_sub(1)),
            ..Definition::default()
        });
        open.push(at);
    }
    let outline = Outline {
        language: CodeLanguage::Markdown,
        lines: text.lines().count(),
        errors: Vec::new(),
        error_count: 0,
        verbatim: Vec::new(),
        definitions,
        is_cut: known.len() < headings.len(),
    };
    ParsedFile {
        outline: outline.numbered(),
        references,
    }
}

/// The end of each section: where the next of the same or a higher level begins.
fn ends(headings: &[Heading], end: usize) -> Vec<usize> {
    let mut next = [end; 7];
    let mut ends: Vec<usize> = headings
        .iter()
        .rev()
        .map(|heading| {
            let end = next[heading.level];
            next[heading.level..].fill(heading.span.start);
            end
        })
        .collect();
    ends.reverse();
    ends
}

fn read(text: &str) -> (Vec<Heading>, Vec<(String, u32)>) {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    let from = front_matter(text);
    let mut headings: Vec<Heading> = Vec::new();
    let mut names: HashMap<&str, u32> = HashMap::new();
    let (mut depth, mut is_in_heading) = (0_usize, false);
    for (event, span) in Parser::new_ext(&text[from..], options).into_offset_iter() {
        let span = from + span.start..from + span.end;
        match &event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                is_in_heading = true;
                headings.push(heading(*level, span.clone(), text));
            }
            Event::End(TagEnd::Heading(_)) if depth == 1 => is_in_heading = false,
            Event::Code(_) => {
                for name in words(&text[span.clone()]) {
                    *names.entry(name).or_default() += 1;
                }
            }
            _ => {}
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if is_in_heading && let Some(last) = headings.last_mut() {
            last.take(&event, span);
        }
    }
    let mut names: Vec<(String, u32)> = names
        .into_iter()
        .map(|(name, count)| (name.to_owned(), count))
        .collect();
    names.sort_unstable();
    (headings, names)
}

fn heading(level: HeadingLevel, span: Range<usize>, text: &str) -> Heading {
    let end = text[..span.end].trim_ascii_end().len().max(span.start);
    Heading {
        level: level as usize,
        span: span.start..end,
        written: span.start..span.start,
        plain: String::new(),
    }
}

impl Heading {
    /// Takes a part of its text in.
    fn take(&mut self, event: &Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(Tag::Heading { .. }) | Event::End(_) => return,
            Event::Text(text) | Event::Code(text) => self.plain += text,
            Event::SoftBreak | Event::HardBreak => self.plain.push(' '),
            _ => {}
        }
        if self.written.is_empty() {
            self.written = span;
        } else {
            self.written.end = self.written.end.max(span.end);
        }
    }
}

/// `## Setup`, however its heading is written.
fn name(heading: &Heading, text: &str) -> String {
    let written = &text[heading.written.clone()];
    one_line(&format!("{} {written}", "#".repeat(heading.level)))
}

/// The text of a heading without the marks, and without those in it.
fn aliases(heading: &Heading, name: &str) -> Vec<String> {
    let marks = "#".repeat(heading.level);
    let written = name.trim_start_matches('#').trim().to_owned();
    let plain = one_line(&heading.plain);
    let mut aliases = vec![written];
    if aliases[0] != plain {
        aliases.push(plain.clone());
        aliases.push(format!("{marks} {plain}"));
    }
    aliases.retain(|alias| !alias.is_empty());
    aliases
}

/// The names in a code span.
fn words(code: &str) -> impl Iterator<Item = &str> {
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| (2..=100).contains(&word.len()))
}

/// The end of the lines before the text that tell of it, between two of `---` or `+++`.
fn front_matter(text: &str) -> usize {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = text.len() - bare.len();
    let mut lines = bare.split_inclusive('\n');
    let Some(first) = lines
        .next()
        .filter(|it| matches!(it.trim_end(), "---" | "+++"))
    else {
        return 0;
    };
    at += first.len();
    for line in lines {
        at += line.len();
        let line = line.trim_end();
        if line == first.trim_end() || line == "..." && first.starts_with('-') {
            return at;
        }
    }
    0
}
