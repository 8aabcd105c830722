//! Cuts the text for a chat into parts for one that takes less at once: between blocks, or at the ends of lines.

use super::{ContextBlock, FileBlock};
use crate::text::size::grouped;

/// The tokens for the lines that say which part it is, and between its blocks.
const AROUND: usize = 80;
/// The least tokens of a part.
pub const LEAST: usize = 500;

/// Divides blocks into parts of at most so many tokens each. A part that is too small for clada's own lines is taken to have
/// [`LEAST`] tokens.
pub fn divided(
    blocks: Vec<ContextBlock>,
    size: usize,
    cost: &mut dyn FnMut(&str) -> usize,
) -> Vec<Vec<ContextBlock>> {
    let room = size.max(LEAST) - AROUND;
    let mut parts = vec![Vec::new()];
    let mut left = room;
    for block in blocks {
        for piece in pieces(block, left, room, cost) {
            let needs = cost(&piece.text(FENCE)) + 2;
            if needs > left && left < room {
                parts.push(Vec::new());
                left = room;
            }
            left = left.saturating_sub(needs);
            if let Some(part) = parts.last_mut() {
                part.push(piece);
            }
        }
    }
    parts
}

/// A word as long as that of a fence.
const FENCE: &str = "0123456789abcdef";

/// A part with the lines that say which it is.
pub fn framed(text: &str, part: usize, of: usize) -> String {
    let which = format!("part {} of {}", grouped(part as u64), grouped(of as u64));
    if of == 1 {
        return text.to_owned();
    }
    if part == of {
        return format!("({which}, the last: this is all, so you can begin)\n\n{text}");
    }
    format!(
        "({which}: more comes, so answer only `ok` and wait for the last part)\n\n{text}\n({which} ends here: wait for part {})\n",
        part + 1
    )
}

/// A block as it is, or cut where it has more tokens than there is room. What is left of a part may take its beginning.
fn pieces(
    block: ContextBlock,
    left: usize,
    room: usize,
    cost: &mut dyn FnMut(&str) -> usize,
) -> Vec<ContextBlock> {
    if cost(&block.text(FENCE)) + 2 <= room {
        return vec![block];
    }
    let text = match &block {
        ContextBlock::File(file) => &file.text,
        ContextBlock::Said { text, .. } => text,
    };
    let empty = with_text(&block, String::new(), 0, true);
    let around = cost(&empty.text(FENCE)) + cost(&format!("<!-- clada:off {FENCE} -->\n")) * 2 + 30;
    let inner = room.saturating_sub(around).max(1);
    let mut pieces = Vec::new();
    let begins = if left > room / 3 { left } else { room };
    let (mut piece, mut first) = (String::new(), 0);
    let mut left = begins.saturating_sub(around).max(1);
    for line in text.split_inclusive('\n') {
        for stretch in stretches(line, inner, cost) {
            let needs = cost(stretch);
            if needs > left && !piece.is_empty() {
                let lines = piece.matches('\n').count();
                pieces.push(with_text(&block, std::mem::take(&mut piece), first, false));
                first += lines;
                left = inner;
            }
            left = left.saturating_sub(needs);
            piece += stretch;
        }
    }
    pieces.push(with_text(&block, piece, first, true));
    pieces
}

/// A line, cut where it alone has too many tokens. No token is of less than a byte.
fn stretches<'l>(line: &'l str, most: usize, cost: &mut dyn FnMut(&str) -> usize) -> Vec<&'l str> {
    if cost(line) <= most {
        return vec![line];
    }
    let mut stretches = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.floor_char_boundary(most.max(4)).max(1);
        let blank = rest[..end].rfind(' ').filter(|_| end < rest.len());
        let end = blank.map_or(end, |at| at + 1);
        let (stretch, behind) = rest.split_at(end);
        stretches.push(stretch);
        rest = behind;
    }
    stretches
}

/// The same block with a part of its text, which begins so many lines into it.
fn with_text(block: &ContextBlock, text: String, first: usize, is_last: bool) -> ContextBlock {
    match block {
        ContextBlock::Said { title, .. } => ContextBlock::Said {
            title: title.clone(),
            text,
        },
        ContextBlock::File(file) => {
            let count = text.lines().count().max(1);
            let lines = file.lines.as_ref().map(|lines| {
                let first = lines.start.saturating_add(first);
                first..first + count
            });
            let mut part = match &lines {
                Some(lines) => format!("lines {}-{}", lines.start + 1, lines.end),
                None => file.part.clone().unwrap_or_default(),
            };
            if !text.is_empty() && !text.ends_with('\n') && !is_last {
                part += ", the last continues";
            }
            ContextBlock::File(FileBlock {
                path: file.path.clone(),
                part: Some(part),
                text,
                lines,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::context;

    fn file(path: &str, lines: usize) -> ContextBlock {
        ContextBlock::File(FileBlock {
            path: path.to_owned(),
            part: None,
            text: (1..=lines).map(|line| format!("line {line}\n")).collect(),
            lines: Some(0..usize::MAX),
        })
    }

    /// A token is four bytes here.
    fn parts(blocks: Vec<ContextBlock>, size: usize) -> Vec<String> {
        let mut cost = |text: &str| text.len().div_ceil(4);
        let parts = divided(blocks, size, &mut cost);
        let of = parts.len();
        let texts = parts.iter().enumerate();
        let texts: Vec<String> = texts
            .map(|(at, part)| framed(&context::text(part), at + 1, of))
            .collect();
        for text in &texts {
            assert!(text.len() <= size.max(LEAST) * 4, "{} {size}", text.len());
        }
        texts
    }

    #[test]
    fn what_fits_is_one_part_and_says_nothing_of_it() {
        let all = parts(vec![file("a", 3)], 600);
        assert_eq!(
            all,
            ["=== START FILE: a ===\nline 1\nline 2\nline 3\n=== END FILE: a ===\n"]
        );
        assert_eq!(parts(vec![], 600), [""]);
    }

    #[test]
    fn a_cut_is_between_files_where_it_can_be() {
        let all = parts(vec![file("a", 150), file("b", 150), file("c", 150)], 600);
        assert_eq!(all.len(), 3);
        assert!(all[0].starts_with("(part 1 of 3: more comes, so answer only `ok` and wait for the last part)\n\n=== START FILE: a ===\n"));
        assert!(
            all[0].ends_with("=== END FILE: a ===\n\n(part 1 of 3 ends here: wait for part 2)\n")
        );
        assert!(all[2].starts_with("(part 3 of 3, the last: this is all, so you can begin)\n\n"));
        assert!(all[2].ends_with("=== END FILE: c ===\n"));
    }

    #[test]
    fn a_file_that_is_too_long_is_cut_at_lines_and_says_which() {
        let all = parts(vec![file("a", 1000)], 800);
        let mut next = 1;
        for text in &all {
            let head = text
                .lines()
                .find(|line| line.starts_with("=== START"))
                .unwrap_or_default();
            let lines = head
                .trim_start_matches("=== START FILE: a (lines ")
                .trim_end_matches(") ===");
            let (first, last) = lines.split_once('-').expect("a range");
            assert_eq!(first.parse(), Ok(next), "{head}");
            assert!(
                text.contains(&format!("\nline {next}\n"))
                    && text.contains(&format!("\nline {last}\n"))
            );
            next = last.parse::<usize>().expect("a number") + 1;
        }
        assert_eq!(next, 1001);
    }

    #[test]
    fn a_line_without_an_end_is_cut_too() {
        let block = ContextBlock::File(FileBlock {
            path: "a".to_owned(),
            part: None,
            text: "one\n".to_owned() + &"éé ".repeat(5000),
            lines: Some(0..usize::MAX),
        });
        let all = parts(vec![block], 1000);
        let words: usize = all.iter().map(|text| text.matches("éé ").count()).sum();
        assert_eq!(words, 5000);
        let last = all.len() - 1;
        for (at, text) in all.iter().enumerate() {
            let goes_on = text.contains("(lines 1-2, the last continues) ===\n")
                || text.contains("(lines 2-2, the last continues) ===\n");
            assert_eq!(goes_on, at < last, "{at} of {last}: {text}");
        }
    }
}
