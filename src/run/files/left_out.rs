//! Finds content that is not complete: a line of it stands for text that the model left out.

use std::collections::HashSet;

use super::{FileResult, refused};
use crate::edit::elision::{self, Plainness};
use crate::reply::path::RelPath;
use crate::reply::task::Payload;

/// The use that a task makes of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// It is all that the file is to hold.
    Whole,
    /// It is all of a definition.
    Part,
    /// It comes behind what the file holds.
    Added,
}

/// Refuses content with a line whose words make it plain that text is left out there, unless the file has such a line
/// already or the reply says that it is meant. Words without dots are enough only where lines of the file would be lost.
pub(super) fn refuse(
    content: &Payload<'_>,
    rel: &RelPath,
    old: Option<&[u8]>,
    to_be: Use,
) -> FileResult<()> {
    if content.is_whole {
        return Ok(());
    }
    let text = content.text();
    let is_new = old.is_none();
    let old = old.map(String::from_utf8_lossy).unwrap_or_default();
    let is_there = |line: &str| old.lines().any(|there| there.trim() == line.trim());
    let loses_lines = || {
        let kept: HashSet<&str> = text.lines().map(str::trim).collect();
        let is_kept = |line: &str| line.is_empty() || kept.contains(line);
        to_be != Use::Added && !old.lines().map(str::trim).all(is_kept)
    };
    let stands_for_more = |line: &str| match elision::plain(line) {
        None => false,
        Some(_) if is_heading(line, rel) => false,
        Some(Plainness::WithDots) => true,
        Some(Plainness::WordsAlone) => loses_lines(),
    };
    let mut lines = text.lines();
    let Some(index) = lines.position(|line| stands_for_more(line) && !is_there(line)) else {
        return Ok(());
    };
    let step = match to_be {
        Use::Added => "write that text",
        Use::Part => "send the whole definition, or edit it",
        Use::Whole if is_new => "send the whole file",
        Use::Whole => "send the whole file, or edit it with search-head and search-tail",
    };
    Err(refused(format!(
        "line {} of <x> stands for text that is left out: {step}. If the line itself is meant, write `<x \
        elision=\"text\">`",
        index + 1
    )))
}

/// True for a heading of a Markdown file.
fn is_heading(line: &str, rel: &RelPath) -> bool {
    let name = rel.as_str().to_lowercase();
    let is_markdown = [".md", ".markdown", ".mdx"]
        .iter()
        .any(|end| name.ends_with(end));
    is_markdown && line.trim_start_matches('#').starts_with(' ') && line.starts_with('#')
}
