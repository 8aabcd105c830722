//! The man pages of section 7, made of the manual's pages.

use std::io;

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::cli::document::layout::named;
use crate::cli::document::{Face, Passage, Span, parse, text_of};
use crate::cli::topics::Topic;

/// The indentation of code.
const INDENT: &str = "4";

/// The man page of a topic.
pub(super) fn page(topic: &Topic) -> io::Result<Vec<u8>> {
    let mut page = Roff::new();
    let name = format!("clada-{}", topic.name);
    let version = concat!("clada ", env!("CARGO_PKG_VERSION"));
    page.control(
        "TH",
        [name.to_uppercase().as_str(), "7", "", version, "clada"],
    );
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {}", topic.about))]);
    page.control("SH", ["DESCRIPTION"]);
    let passages = parse(topic.page);
    // The title is the page's name.
    let rest = passages
        .iter()
        .filter(|passage| !matches!(passage, Passage::Heading(1, _)));
    write_passages(rest, &mut page);
    let mut commands = vec![""];
    commands.extend(topic.commands);
    page.extend([see_also(&commands, &[])]);
    let mut text = Vec::new();
    page.to_writer(&mut text)?;
    Ok(in_ascii(&text))
}

/// The section that names other pages: of commands, where no name is the program itself, and of topics.
pub(super) fn see_also(commands: &[&str], topics: &[&str]) -> Roff {
    let mut page = Roff::new();
    let commands = commands.iter().map(|name| (*name, "(1)"));
    let topics = topics.iter().map(|name| (*name, "(7)"));
    let mut line = Vec::new();
    for (name, section) in commands.chain(topics) {
        if !line.is_empty() {
            line.push(roman(", "));
        }
        let dash = if name.is_empty() { "" } else { "-" };
        line.push(bold(format!("clada{dash}{name}")));
        line.push(roman(section));
    }
    page.control("SH", ["SEE ALSO"]);
    page.text(line);
    page
}

/// Escapes all characters that are not ASCII, as some readers of manuals need.
pub(super) fn in_ascii(page: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    for c in String::from_utf8_lossy(page).chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            text += &format!("\\[u{:04X}]", u32::from(c));
        }
    }
    text.into_bytes()
}

fn write_passages<'p>(passages: impl Iterator<Item = &'p Passage>, page: &mut Roff) {
    for passage in passages {
        match passage {
            Passage::Heading(level, spans) => {
                let heading = heading(spans);
                if *level <= 2 {
                    page.control("SH", [heading.to_uppercase().as_str()]);
                } else {
                    page.control("SS", [heading.as_str()]);
                }
            }
            Passage::Paragraph(spans) => {
                page.control("PP", []);
                page.text(inlines(spans));
            }
            Passage::Code(code) => {
                page.control("PP", [])
                    .control("RS", [INDENT])
                    .control("nf", []);
                for line in code.lines() {
                    page.text([roman(line)]);
                }
                page.control("fi", []).control("RE", []);
            }
            Passage::List(first, items) => write_list(*first, items, page),
            Passage::Table(head, rows) => write_table(head, rows, page),
            Passage::Quote(passages) => {
                page.control("RS", [INDENT]);
                write_passages(passages.iter(), page);
                page.control("RE", []);
            }
        }
    }
}

/// Headings are arguments, in which a quotation mark would end them.
fn heading(spans: &[Span]) -> String {
    text_of(spans).replace('"', "'")
}

fn write_list(first: Option<u64>, items: &[Vec<Passage>], page: &mut Roff) {
    for (number, item) in (first.unwrap_or_default()..).zip(items) {
        let mark = first.map_or("•".to_owned(), |_| format!("{number}."));
        page.control("IP", [mark.as_str(), INDENT]);
        let mut rest = item.iter();
        if let Some(Passage::Paragraph(spans)) = item.first() {
            page.text(inlines(spans));
            rest.next();
        }
        if rest.len() > 0 {
            page.control("RS", [INDENT]);
            write_passages(rest, page);
            page.control("RE", []);
        }
    }
}

/// Each row as a term, and what the other columns say of it.
fn write_table(head: &[Vec<Span>], rows: &[Vec<Vec<Span>>], page: &mut Roff) {
    for row in rows {
        let Some((term, cells)) = row.split_first() else {
            continue;
        };
        page.control("TP", []);
        page.text([bold(text_of(term))]);
        for (at, (name, cell)) in head.iter().skip(1).zip(cells).enumerate() {
            if at > 0 {
                page.control("br", []);
            }
            page.text(inlines(&named(name, cell, head.len() > 2)));
        }
    }
}

fn inlines(spans: &[Span]) -> Vec<Inline> {
    let inline = |Span { face, text }: &Span| match face {
        Face::Plain => roman(text),
        Face::Italic => italic(text),
        Face::Bold | Face::Code => bold(text),
        Face::Page => bold(format!("clada-{text}(7)")),
    };
    spans.iter().map(inline).collect()
}
