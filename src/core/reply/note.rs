//! The watched file's text: the results block on top, which is clada's, and the body below, which is the user's.
//!
//! [`split`] takes off exactly what [`join`] put on: for every block and every body `split(join(block, body)).body == body`,
//! to the byte, with LF, CRLF and a BOM, which stays first in the file.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;

use super::record::{Key, Seed};

/// The line that begins the results.
pub const RESULTS: &str = "=== CLADA RESULTS ===";
/// The line that ends the results, and the outputs.
pub const END: &str = "=== END ===";

/// The start of a packet's first line that names the notes file whose results it has.
pub const RESULTS_OF: &str = "📋 Results of ";

/// The starts of the line above a block: it says how the copying went, or whose results these are.
const STATUS: [&str; 5] = [
    RESULTS_OF,
    "📋 Copied to clipboard at ",
    "📋 Not copied at ",
    "📋 Sent to the terminal's clipboard at ",
    "❌ Clipboard copy failed at ",
];

const BOM: char = '\u{feff}';

/// A text taken apart.
#[derive(Debug, PartialEq, Eq)]
pub struct Note<'t> {
    /// The results blocks that were taken off, from the top.
    pub blocks: Vec<ResultsBlock<'t>>,
    pub body: Cow<'t, str>,
    /// The length of the body's part that the user pasted above the block or into it, in bytes.
    pub above: usize,
    /// All that was taken off, with the lines above and below the blocks.
    pub frame: &'t str,
}

/// A results block that was taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultsBlock<'t> {
    /// From its first marker to its last.
    pub text: &'t str,
    /// clada wrote it.
    pub is_known: bool,
}

impl<'t> ResultsBlock<'t> {
    fn of(text: &'t str, known: &dyn Blocks) -> Self {
        Self {
            text,
            is_known: known.is_known(&canonical(text)),
        }
    }

    /// Its text as it is known by: without line ends, status line and ticks, which may change.
    pub fn canonical(&self) -> String {
        canonical(self.text)
    }

    /// Its lines that the user ticked, counted from its first marker, which is 0.
    pub fn ticks(&self) -> Vec<usize> {
        let lines = self.text.lines().enumerate();
        let ticked = lines.filter(|(_, line)| is_ticked(line));
        ticked.map(|(line, _)| line).collect()
    }
}

/// The last box of a line is clada's; those before it may be in the name of a file.
fn is_ticked(line: &str) -> bool {
    line.rfind("- [").is_some_and(|at| {
        let rest = &line[at + "- [".len()..];
        rest.starts_with("x] ") || rest.starts_with("X] ")
    })
}

/// Knowledge that tells clada's own block from others.
pub trait Blocks {
    /// True if clada wrote a block, by its canonical text.
    fn is_known(&self, canonical: &str) -> bool;

    /// The canonical texts of the blocks that clada wrote last: what the user put into one of them is known by it.
    fn written(&self) -> &[Arc<str>];

    /// True if the user pasted the text above a block of clada's: it was not in the last body, of which `below` is the
    /// rest, or it stood above the block there.
    fn is_pasted(&self, above: &str, below: &str) -> bool;
}

/// A text's block, from its first marker on, as it is known by: without line ends, status line and ticks.
pub fn canonical(block: &str) -> String {
    let lines = block.lines().skip_while(|line| line.trim_end() != RESULTS);
    let lines: Vec<String> = canonical_lines(lines).collect();
    lines.join("\n")
}

fn canonical_lines<'t>(lines: impl Iterator<Item = &'t str>) -> impl Iterator<Item = String> {
    lines.map(without_tick).take_while(|line| line != END)
}

fn without_tick(line: &str) -> String {
    line.trim_end()
        .replace("- [x] ", "- [ ] ")
        .replace("- [X] ", "- [ ] ")
}

/// A text without its ticks, line ends and blank ends.
pub fn unticked(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(without_tick).collect();
    lines.join("\n").trim_end().to_owned()
}

/// True if a text has a block with this canonical text anywhere.
pub fn holds(text: &str, canonical: &str) -> bool {
    memmem::find_iter(text.as_bytes(), RESULTS).any(|at| {
        let is_line = at == 0 || text[..at].ends_with(['\n', BOM]);
        is_line && canonical_lines(text[at..].lines()).eq(canonical.split('\n'))
    })
}

/// The key by which a ledger with this seed knows a block.
pub fn key(seed: Seed, block: &str) -> Key {
    seed.key(&canonical(block))
}

/// The complete results block on top of a text, whoever wrote it.
pub fn top_block(text: &str) -> Option<&str> {
    Some(block_at(without_bom(text))?.0)
}

/// True if the first line of a text begins results, whoever wrote them and whether they end.
pub fn begins_with_results(text: &str) -> bool {
    let mut lines = without_bom(text).lines().map(str::trim_end);
    lines.find(|line| !is_status_line(line)) == Some(RESULTS)
}

/// A text without the mark that some editors put first in a file.
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// That mark, or nothing, and the rest of a text.
fn part_bom(text: &str) -> (&str, &str) {
    text.split_at(text.len() - without_bom(text).len())
}

/// Takes a text apart. Blocks that clada wrote go from the very top, as many as follow each other there; so does one
/// that it did not write, as the first. Lines that the user put into the first one stay, on top of the body. Another block of
/// clada's goes where the user pasted above it. Any other is the user's quotation and stays.
pub fn split<'t>(text: &'t str, known: &dyn Blocks) -> Note<'t> {
    let (bom, mut body) = part_bom(text);
    let whole = body;
    let mut blocks = Vec::new();
    let mut inside = String::new();
    while let Some((text, end)) = block_at(body) {
        let mut block = ResultsBlock::of(text, known);
        if blocks.is_empty()
            && !block.is_known
            && let Some(added) = pasted_into(text, known)
        {
            inside = added;
            block.is_known = true;
        }
        if !block.is_known && !blocks.is_empty() {
            break;
        }
        blocks.push(block);
        body = &body[end..];
    }
    if blocks.is_empty()
        && let Some((above, block, below)) = pasted_above(body, known)
    {
        blocks.push(block);
        // What is copied from a page often lacks the end of its last line; the text below had a line of its own.
        let newline = if above.ends_with('\n') {
            ""
        } else {
            line_end(body)
        };
        let frame = &body[above.len()..body.len() - below.len()];
        let above = format!("{bom}{above}{newline}");
        return Note {
            blocks,
            frame,
            above: above.len(),
            body: Cow::Owned(above + below),
        };
    }
    let frame = &whole[..whole.len() - body.len()];
    let above = if inside.is_empty() {
        0
    } else {
        bom.len() + inside.len()
    };
    let body = match bom {
        _ if blocks.is_empty() => Cow::Borrowed(text),
        "" if inside.is_empty() => Cow::Borrowed(body),
        bom => Cow::Owned(format!("{bom}{inside}{body}")),
    };
    Note {
        blocks,
        body,
        above,
        frame,
    }
}

/// True if all lines of `part` are in `whole`, in their order.
pub fn has_lines(whole: &str, part: &str) -> bool {
    let mut lines = whole.lines();
    part.lines().all(|line| lines.any(|there| there == line))
}

/// Puts a block, whose lines end in LF, on top of a body, in the line ends that the body uses.
pub fn join(block: &str, body: &str) -> String {
    let (bom, rest) = part_bom(body);
    let block = format!("{block}\n").replace('\n', line_end(rest));
    format!("{bom}{block}{rest}")
}

/// Puts a reply at the end of a text, as a paste there does, unless it is in the text already.
pub fn append(text: &str, reply: &str) -> String {
    if has(text, reply) {
        return text.to_owned();
    }
    let before = match text {
        "" => "",
        _ if text.ends_with("\n\n") || text.ends_with("\n\r\n") => "",
        _ if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let added = format!("{before}{}\n", plain_ends(reply).trim_end());
    text.to_owned() + &added.replace('\n', line_end(text))
}

/// Puts a reply between what stands on top of a text and its body, as a paste there does. Nothing where the text does not end
/// with that body.
pub fn insert(text: &str, body: &str, reply: &str) -> Option<String> {
    let top = text.strip_suffix(body)?;
    let added = format!("{}\n\n", plain_ends(reply).trim_end());
    let added = added.replace('\n', line_end(text));
    Some(format!("{top}{added}{body}"))
}

/// True if a text has a reply in it; line ends aside.
pub fn has(text: &str, reply: &str) -> bool {
    plain_ends(text).contains(plain_ends(reply).trim_end())
}

/// A text with LF line ends.
pub fn plain_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        text.replace("\r\n", "\n").into()
    } else {
        text.into()
    }
}

fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(newline) if text[..newline].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The complete block at the start of a text, from its first marker on, and where its blank line ends.
fn block_at(text: &str) -> Option<(&str, usize)> {
    let first = text.split_inclusive('\n').next()?;
    let start = match trimmed(first) {
        RESULTS => 0,
        status if is_status_line(status) => first.len(),
        _ => return None,
    };
    let (block, end) = marked(&text[start..])?;
    Some((block, start + end))
}

/// The same of a text that begins with the line of the first marker.
fn marked(text: &str) -> Option<(&str, usize)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| trimmed(line) == RESULTS)?;
    let mut end = first.len();
    lines.find(|line| {
        end += line.len();
        trimmed(line) == END
    })?;
    let blank = lines.next().filter(|line| trimmed(line).is_empty());
    Some((&text[..end], end + blank.map_or(0, str::len)))
}

/// The line above the results: how the copying went, or blank where the clipboard is off; in a packet, whose they are.
fn is_status_line(line: &str) -> bool {
    line.is_empty() || STATUS.iter().any(|start| line.starts_with(start))
}

fn trimmed(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Parts a text at a block of clada's above which the user pasted something.
fn pasted_above<'t>(
    text: &'t str,
    known: &dyn Blocks,
) -> Option<(&'t str, ResultsBlock<'t>, &'t str)> {
    memmem::find_iter(text.as_bytes(), RESULTS).find_map(|at| {
        if at == 0 || !text[..at].ends_with('\n') {
            return None;
        }
        let (block, end) = marked(&text[at..])?;
        let block = ResultsBlock::of(block, known);
        // The line above is clada's too; what was pasted may stand right before it.
        let line_start = text[..at - 1].rfind('\n').map_or(0, |newline| newline + 1);
        let line = trimmed(&text[line_start..at]);
        let starts = STATUS.iter().filter_map(|start| line.find(start));
        let status = starts.min().unwrap_or(line.len());
        let above = &text[..line_start + status];
        let below = &text[at + end..];
        let is_pasted = block.is_known && !above.trim().is_empty() && known.is_pasted(above, below);
        is_pasted.then_some((above, block, below))
    })
}

/// The lines that were put into a block that clada wrote, whose own lines are all there.
fn pasted_into(block: &str, known: &dyn Blocks) -> Option<String> {
    known.written().iter().find_map(|written| {
        let mut own = written.split('\n').peekable();
        let mut added = String::new();
        for line in block.split_inclusive('\n') {
            if own.next_if(|own| *own == without_tick(line)).is_none() && trimmed(line) != END {
                added += line;
            }
        }
        if added.trim().is_empty() {
            added.clear();
        }
        own.peek().is_none().then_some(added)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str =
        "📋 Copied to clipboard at 10:32:45\n=== CLADA RESULTS ===\n1 ✅ delete a\n=== END ===\n";

    /// clada wrote [`BLOCK`] on top of this body.
    struct Wrote(&'static str, [Arc<str>; 1]);

    fn wrote(body: &'static str) -> Wrote {
        Wrote(body, [canonical(BLOCK).into()])
    }

    impl Blocks for Wrote {
        fn written(&self) -> &[Arc<str>] {
            &self.1
        }

        fn is_known(&self, text: &str) -> bool {
            text == canonical(BLOCK)
        }

        fn is_pasted(&self, above: &str, below: &str) -> bool {
            below == self.0 || !self.0.contains(above.trim())
        }
    }

    fn body(text: &str, last: &'static str) -> String {
        split(text, &wrote(last)).body.into_owned()
    }

    #[test]
    fn block_is_taken_off_at_the_top_only() {
        let text = join(BLOCK, "notes\n");
        let note = split(&text, &wrote("notes\n"));
        assert_eq!(note.body, "notes\n");
        assert!(matches!(
            note.blocks[..],
            [ResultsBlock { is_known: true, .. }]
        ));
        let quoted = format!("notes\n{BLOCK}");
        assert_eq!(body(&quoted, "notes\n"), quoted);
        for stays in [
            "=== CLADA RESULTS ===\n1 ✅ delete a\n",
            "text\n=== CLADA RESULTS ===\n=== END ===\n",
        ] {
            assert_eq!(body(stays, ""), stays);
        }
    }

    #[test]
    fn blocks_that_follow_each_other() {
        let foreign = "\n=== CLADA RESULTS ===\n=== END ===\n\n";
        let own = join(BLOCK, "");
        assert_eq!(body(&format!("{own}{own}notes\n"), ""), "notes\n");
        assert_eq!(body(&format!("{foreign}{own}notes\n"), ""), "notes\n");
        let quoted = format!("{foreign}notes\n");
        assert_eq!(body(&format!("{own}{quoted}"), ""), quoted);
        let text = format!("{foreign}{quoted}");
        let note = split(&text, &wrote(""));
        assert_eq!(note.body, quoted);
        assert!(matches!(
            note.blocks[..],
            [ResultsBlock {
                is_known: false,
                ..
            }]
        ));
    }

    #[test]
    fn status_line_is_blank_or_missing() {
        let bare = "=== CLADA RESULTS ===\n=== END ===\n";
        for block in [format!("\n{bare}"), bare.to_owned()] {
            assert_eq!(body(&join(&block, "\n\nb"), ""), "\n\nb");
        }
    }

    #[test]
    fn crlf_and_bom() {
        let notes = "\u{feff}one\r\ntwo\r\n";
        let text = join(BLOCK, notes);
        assert!(text.starts_with("\u{feff}📋") && text.contains("=== END ===\r\n\r\none\r\n"));
        let note = split(&text, &wrote(""));
        assert_eq!(note.body, notes);
        assert!(note.blocks[0].is_known);
    }

    #[test]
    fn pasted_above_the_block() {
        let text = format!("new\n{}", join(BLOCK, "old\n"));
        assert_eq!(body(&text, "old\n"), "new\nold\n");
        // The same once more, and without the end of its line.
        let text = format!("old{}", join(BLOCK, "old\n"));
        assert_eq!(body(&text, "old\n"), "old\nold\n");
        let status = format!("new\n\n{}", &BLOCK[BLOCK.find('\n').unwrap() + 1..]);
        assert_eq!(body(&format!("{status}\nold\n"), "old\n"), "new\nold\n");
        let quotation = format!("old\n{BLOCK}\n");
        assert_eq!(body(&quotation, "old\n"), quotation);
    }

    #[test]
    fn pasted_into_the_block() {
        let text = join(BLOCK, "\u{feff}old\r\n");
        let reply = "a reply\r\n\r\nof two lines\r\n";
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        for at in starts.skip(1).take(2) {
            let mut text = text.clone();
            text.insert_str(at, reply);
            let known = wrote("old\r\n");
            let note = split(&text, &known);
            assert_eq!(note.body, format!("\u{feff}{reply}old\r\n"));
            assert_eq!(note.above, '\u{feff}'.len_utf8() + reply.len());
            assert!(note.blocks[0].is_known);
            assert_eq!(body(&join(BLOCK, &note.body), ""), note.body);
        }
        let blank = BLOCK.replace("1 ✅", "\n1 ✅") + "\nold\n";
        let known = wrote("old\n");
        let note = split(&blank, &known);
        assert_eq!(note.body, "old\n");
        assert!(note.blocks[0].is_known);
        let other = BLOCK.replace("delete a", "delete b\nmore");
        assert!(!split(&other, &known).blocks[0].is_known);
    }

    #[test]
    fn a_packet_on_top_is_results_with_or_without_the_name_of_its_notes() {
        let packet = &BLOCK[BLOCK.find('\n').unwrap() + 1..];
        let outputs = "=== OUTPUTS ===\n\n[1] delete a:\n=== END ===\n";
        let rest = format!("{outputs}{}", join(BLOCK, "notes\n"));
        for first in [String::new(), format!("{RESULTS_OF}~/clada.md\n")] {
            let text = format!("{first}{packet}\n{rest}");
            let note = split(&text, &wrote("notes\n"));
            assert!(matches!(
                note.blocks[..],
                [ResultsBlock { is_known: true, .. }]
            ));
            assert_eq!(note.body, rest);
        }
    }

    #[test]
    fn ticks() {
        let block = "\n=== CLADA RESULTS ===\n↩ 1 task - [ ] run again\n2 ⏸ edit a - [x] b - [ ] run again\n3 ⏸ edit c - [ ] run again\n=== END ===\n";
        let ticked = block
            .replacen("[ ] run", "[X] run", 1)
            .replace("c - [ ] run", "c - [x] run");
        assert_eq!(canonical(&ticked), canonical(block));
        let found = ResultsBlock {
            text: &ticked[1..],
            is_known: true,
        };
        assert_eq!(found.ticks(), [1, 3]);
    }

    #[test]
    fn a_block_that_a_text_holds() {
        let block = canonical(BLOCK);
        assert!(holds(BLOCK, &block));
        assert!(holds(
            &format!("a\r\n{}", BLOCK.replace('\n', "\r\n")),
            &block
        ));
        assert!(holds(&format!("{RESULTS}\n{BLOCK}"), &block));
        assert!(!holds(&BLOCK.replace("delete a", "delete b"), &block));
        assert!(!holds("", &block));
    }

    #[test]
    fn a_reply_is_appended_once_with_the_line_ends_of_the_notes() {
        for (notes, reply, expected) in [
            ("", "reply\n", "reply\n"),
            ("\n", "reply", "\n\nreply\n"),
            ("own", "reply\n\n\n", "own\n\nreply\n"),
            ("own\n", "two\nlines", "own\n\ntwo\nlines\n"),
            ("own\n\n", "reply", "own\n\nreply\n"),
            ("own\r\n", "two\nlines\n", "own\r\n\r\ntwo\r\nlines\r\n"),
            ("own\r\n\r\n", "reply\r\n", "own\r\n\r\nreply\r\n"),
            ("own\n", "two\r\nlines\r\n", "own\n\ntwo\nlines\n"),
            // A person pasted it meanwhile.
            ("a\ntwo\r\nlines\nb", "two\nlines\n", "a\ntwo\r\nlines\nb"),
        ] {
            assert_eq!(append(notes, reply), expected, "{notes:?} and {reply:?}");
            assert_eq!(
                append(expected, reply),
                expected,
                "{expected:?} and {reply:?}"
            );
            assert!(has(expected, reply));
        }
        assert!(!has("own", "reply"));
    }
}
