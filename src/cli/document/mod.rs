//! A page of the manual taken apart: headings, paragraphs, lists, tables and code, from its Markdown. Comments and pictures are
//! left out. Lays nothing out.

pub(super) mod layout;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::topics;

/// A block of a page.
#[derive(Debug, PartialEq)]
pub(super) enum Passage {
    /// A heading with its level, from 1.
    Heading(usize, Vec<Span>),
    Paragraph(Vec<Span>),
    /// Code, line by line as it is.
    Code(String),
    /// The items of a list; a numbered list has the number of its first.
    List(Option<u64>, Vec<Vec<Passage>>),
    /// The cells of the head, and those of each row.
    Table(Vec<Vec<Span>>, Vec<Vec<Vec<Span>>>),
    Quote(Vec<Passage>),
}

/// A run of text in one face.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub face: Face,
    pub text: String,
}

impl Span {
    fn new(face: Face, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { face, text }
    }
}

/// The way a run of text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Plain,
    Bold,
    Italic,
    /// A command, a name, or another literal.
    Code,
    /// The name of another page.
    Page,
}

/// Reads a page. Markdown that the manual does not use is read as text.
pub(super) fn parse(page: &str) -> Vec<Passage> {
    MarkdownReader(Parser::new_ext(page, Options::ENABLE_TABLES)).passages()
}

/// Lays a page out in lines of at most a width; only code may be longer.
pub fn lines(page: &str, width: usize) -> Vec<Vec<Span>> {
    layout::lines(&parse(page), width)
}

/// The text of some spans without their faces.
pub(super) fn text_of(spans: &[Span]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}

/// The events of a page that are still to be read.
struct MarkdownReader<'p>(Parser<'p>);

impl<'p> MarkdownReader<'p> {
    /// The blocks up to the end of what encloses them.
    fn passages(&mut self) -> Vec<Passage> {
        let mut found = Vec::new();
        // The text of a short list item is in no paragraph.
        let mut loose = Vec::new();
        while let Some(event) = self.0.next() {
            let passage = match event {
                Event::End(_) => break,
                Event::Start(tag) if is_block(&tag) => self.block(tag),
                event => {
                    self.inline(event, Face::Plain, &mut loose);
                    continue;
                }
            };
            end_paragraph(&mut loose, &mut found);
            found.extend(passage);
        }
        end_paragraph(&mut loose, &mut found);
        found
    }

    /// The block that a tag begins.
    fn block(&mut self, tag: Tag<'p>) -> Option<Passage> {
        Some(match tag {
            Tag::Heading { level, .. } => Passage::Heading(level as usize, self.spans()),
            Tag::CodeBlock(_) => Passage::Code(self.raw()),
            Tag::List(first) => {
                let mut items = Vec::new();
                while let Some(Event::Start(_)) = self.0.next() {
                    items.push(self.passages());
                }
                Passage::List(first, items)
            }
            Tag::Table(_) => self.table(),
            Tag::BlockQuote(_) => Passage::Quote(self.passages()),
            Tag::HtmlBlock => {
                let text = without_tags(&self.raw());
                return (!text.is_empty()).then(|| Passage::Paragraph(vec![plain(text)]));
            }
            _ => {
                let spans = self.spans();
                return (!text_of(&spans).trim().is_empty()).then_some(Passage::Paragraph(spans));
            }
        })
    }

    fn table(&mut self) -> Passage {
        let mut rows = Vec::new();
        while let Some(Event::Start(_)) = self.0.next() {
            let mut cells = Vec::new();
            while let Some(Event::Start(_)) = self.0.next() {
                cells.push(self.spans());
            }
            rows.push(cells);
        }
        let mut rows = rows.into_iter();
        Passage::Table(rows.next().unwrap_or_default(), rows.collect())
    }

    /// The text of a block up to its end, as it is.
    fn raw(&mut self) -> String {
        let mut text = String::new();
        for event in self.0.by_ref() {
            match event {
                Event::End(_) => break,
                Event::Text(piece) | Event::Html(piece) => text += &piece,
                _ => {}
            }
        }
        text
    }

    fn spans(&mut self) -> Vec<Span> {
        let mut spans = Vec::new();
        self.spans_in(Face::Plain, &mut spans);
        spans
    }

    /// The text up to the end of what encloses it.
    fn spans_in(&mut self, face: Face, into: &mut Vec<Span>) {
        while let Some(event) = self.0.next() {
            if matches!(event, Event::End(_)) {
                return;
            }
            self.inline(event, face, into);
        }
    }

    fn inline(&mut self, event: Event<'p>, face: Face, into: &mut Vec<Span>) {
        let mut push = |face, text: &str| into.push(Span::new(face, text));
        match event {
            Event::Text(text) => push(face, &text),
            Event::Code(text) => push(Face::Code, &text),
            Event::SoftBreak | Event::HardBreak => push(face, " "),
            Event::Start(Tag::Strong) => self.spans_in(Face::Bold, into),
            Event::Start(Tag::Emphasis) => self.spans_in(Face::Italic, into),
            // A picture is for those who see the page elsewhere.
            Event::Start(Tag::Image { .. }) => self.spans_in(face, &mut Vec::new()),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let from = into.len();
                self.spans_in(face, into);
                let address = address(&dest_url, &text_of(&into[from..]));
                into.extend(address);
            }
            Event::Start(_) => self.spans_in(face, into),
            _ => {}
        }
    }
}

/// Returns the text behind a link: the address of a web page, or the name of another page.
fn address(to: &str, text: &str) -> Vec<Span> {
    let page = to.split('#').next().unwrap_or_default();
    let page = page
        .strip_suffix(".md")
        .filter(|name| topics::find(name).is_some());
    let (face, name) = match page {
        Some(page) => (Face::Page, page),
        None if to.contains("://") && to != text => (Face::Plain, to),
        None => return Vec::new(),
    };
    vec![plain(" ("), Span::new(face, name), plain(")")]
}

fn plain(text: impl Into<String>) -> Span {
    Span::new(Face::Plain, text)
}

fn is_block(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Heading { .. }
            | Tag::Paragraph
            | Tag::CodeBlock(_)
            | Tag::List(_)
            | Tag::Table(_)
            | Tag::BlockQuote(_)
            | Tag::HtmlBlock
    )
}

fn end_paragraph(loose: &mut Vec<Span>, found: &mut Vec<Passage>) {
    if !loose.is_empty() {
        found.push(Passage::Paragraph(std::mem::take(loose)));
    }
}

/// The text of an HTML block without its comments and tags.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text += before;
        let end = if tag.starts_with("!--") { "-->" } else { ">" };
        rest = tag.split_once(end).map_or("", |(_, rest)| rest);
    }
    text += rest;
    text.trim().to_owned()
}
