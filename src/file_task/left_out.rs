//! Content that is not all there: a line of it stands for text that the model left out.

use super::{Failure, refused};
use crate::lang::elision;
use crate::lang::task::Payload;

/// Refuses content with a line whose words make it plain that text is left out there, unless the file has such a line
/// already or the reply says that it is meant.
pub(super) fn refuse(content: &Payload<'_>, old: Option<&[u8]>) -> Result<(), Failure> {
    if content.is_whole {
        return Ok(());
    }
    let text = content.text();
    let old = old.map(String::from_utf8_lossy).unwrap_or_default();
    let is_there = |line: &str| old.lines().any(|there| there.trim() == line.trim());
    let mut lines = text.lines();
    match lines.position(|line| elision::is_plain(line) && !is_there(line)) {
        None => Ok(()),
        Some(index) => Err(refused(format!(
            "line {} of <x> stands for text that is left out: send the whole file, or edit it with search-head and \
             search-tail; `<x elision=\"text\">` says that the line is meant",
            index + 1
        ))),
    }
}
