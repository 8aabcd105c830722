//! Finds the stretches of a file that its lines head: a class, a function, a section. Knows no language, only
//! indentation.

use std::ops::Range;

use super::{EditCause, PLACES_LIMIT, lines};

/// The stretches from `from` on that are headed by the last of these lines, inside those that the lines before it head.
/// Each begins with the start of its line.
///
/// A line heads what is indented below it, up to the next line that is not, brackets aside. A line that is the text is
/// looked for first, then one that has it.
pub(super) fn blocks(
    file: &[u8],
    below: &[&str],
    from: usize,
) -> Result<Vec<Range<usize>>, EditCause> {
    let mut blocks = std::iter::once(from..file.len()).collect::<Vec<_>>();
    for anchor in below {
        let text = anchor.trim().as_bytes();
        let is = |line: &[u8]| line == text;
        let has = |line: &[u8]| memchr::memmem::find(line, text).is_some();
        let mut found = heads(file, &blocks, is);
        if found.is_empty() {
            found = heads(file, &blocks, has);
        }
        if found.is_empty() {
            return Err(EditCause::NoAnchor {
                text: anchor.trim().to_owned(),
            });
        }
        if found.len() == PLACES_LIMIT {
            let lines = found.iter().map(|start| lines::number(file, *start));
            return Err(EditCause::ManyAnchors {
                text: anchor.trim().to_owned(),
                lines: lines.collect(),
            });
        }
        let found = found.into_iter();
        blocks = found.map(|start| start..block_end(file, start)).collect();
    }
    Ok(blocks)
}

/// The starts of the lines in some stretches that are meant, without the white space at their ends; the first few.
fn heads(file: &[u8], blocks: &[Range<usize>], is_meant: impl Fn(&[u8]) -> bool) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    for block in blocks {
        // One stretch may be inside another.
        let start = block.start.max(at);
        at = block.end.max(at);
        for line in lines::contents(&file[start..at]) {
            if is_meant(file[start..][line.clone()].trim_ascii()) {
                found.push(start + line.start);
                if found.len() == PLACES_LIMIT {
                    return found;
                }
            }
        }
    }
    found
}

fn block_end(file: &[u8], start: usize) -> usize {
    let indentation = lines::indentation(file, start).len();
    let mut at = lines::next(file, start);
    while at < file.len() {
        let own = lines::indentation(file, at).len();
        let first = file.get(at + own).copied().unwrap_or(b'\n');
        if own <= indentation && !b"\r\n{}()[]".contains(&first) {
            break;
        }
        at = lines::next(file, at);
    }
    at
}
