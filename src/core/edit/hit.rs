//! Judges one occurrence of a search text: decides if it counts as a place in its tier, and which bytes it covers.

use std::ops::Range;

use super::Tier;
use super::carry::Reindent;
use super::lines::{self, Ignored, LineEnd};
use super::search::Search;
use super::searched_file::SearchedFile;
use super::view;
use crate::reply::text::Form;

/// A place where a search text stands in the file.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) tier: Tier,
    pub(super) range: Range<usize>,
    /// The start of its first line, if it is in block form and starts there.
    pub(super) line_start: Option<usize>,
    /// The end of its last line, if it is in block form and ends there.
    pub(super) line_end: Option<LineEnd>,
}

impl Hit {
    pub(super) fn is_whole_lines(&self) -> bool {
        self.line_start.is_some() && self.line_end.is_some()
    }
}

/// Judges the occurrences of one search in one tier.
pub(super) struct Judge<'x, 'f> {
    search: &'x Search<'x>,
    content: &'x SearchedFile<'f>,
    tier: Tier,
    edges: Edges,
    /// The lines of the search whose indentation counts: how far below its first line, and that indentation.
    indented: Vec<(usize, &'x str)>,
    /// The line, by its place in `indented`, at which the last occurrence failed. It is looked at first in the next
    /// one: a file of very many similar lines would else be compared to its end once for each of them.
    suspect: usize,
}

impl<'x, 'f> Judge<'x, 'f> {
    pub(super) fn new(search: &'x Search<'x>, content: &'x SearchedFile<'f>, tier: Tier) -> Self {
        Self {
            search,
            content,
            tier,
            edges: Edges::of(search),
            indented: indented_lines(search),
            suspect: 0,
        }
    }

    /// The place that an occurrence at this range of the file is, if it is one.
    pub(super) fn hit(&mut self, range: Range<usize>) -> Option<Hit> {
        let (before, after) = self.ignored();
        let line_start = lines::start(self.content.bytes, range.start, before);
        let line_end = lines::end(self.content.bytes, range.end, after);
        if !self.edges_agree(&range, line_start.is_some(), line_end.is_some()) {
            return None;
        }
        if self.tier == Tier::Indentation && !self.is_uniform(range.start) {
            return None;
        }
        let is_block = self.search.form == Form::Block;
        Some(Hit {
            tier: self.tier,
            range,
            line_start: line_start.filter(|_| is_block),
            line_end: line_end.filter(|_| is_block),
        })
    }

    /// The place with what it takes in beside the text itself. Only for the one that is chosen: it reads the file back
    /// to the start of the line, which for each of many places in one long line would take too long.
    pub(super) fn settled(&self, mut hit: Hit) -> Hit {
        match self.search.form {
            Form::Block => self.settle_lines(&mut hit),
            Form::Inline => self.settle_newlines(&mut hit),
        }
        hit
    }

    /// The characters that may stand between a place and the start of its line, and between it and the end.
    fn ignored(&self) -> (Ignored, Ignored) {
        match self.tier {
            Tier::Exact => (|_| false, |_| false),
            // A blank line has its white space "at the end" on both sides of the place.
            Tier::LineEndings if self.edges.blank_before > 0 => (view::is_blank, view::is_blank),
            Tier::LineEndings => (|_| false, view::is_blank),
            Tier::Indentation => (view::is_blank, view::is_blank),
            Tier::Whitespace => (view::is_white_space, view::is_white_space),
            Tier::Typography | Tier::Copying | Tier::Elision => {
                (view::is_invisible, view::is_invisible)
            }
        }
    }

    /// True if what the tier ignored at the edges of the search text is what it says it is: a blank line a line, white
    /// space at a line's end at a line's end, and white space next to a word no place in the middle of one.
    fn edges_agree(&self, range: &Range<usize>, line_start: bool, line_end: bool) -> bool {
        let edges = &self.edges;
        let is_block = self.search.form == Form::Block;
        let (needs_start, needs_end) = match self.tier {
            Tier::Exact | Tier::LineEndings => (edges.blank_before > 0, edges.blank_after > 0),
            Tier::Indentation => (true, edges.blank_after > 0),
            _ => (false, false),
        };
        let is_trimmed = matches!(self.tier, Tier::LineEndings | Tier::Indentation);
        if is_block && needs_start && !line_start
            || is_block && needs_end && !line_end
            || is_trimmed && edges.blanks_at_end && !line_end
        {
            return false;
        }
        // Inline text with white space at its edge means that white space; a line of a head or tail that ends in some
        // is a line that was copied with it, and may still end in the middle of a word.
        let means_space = !is_block && self.tier >= Tier::Whitespace;
        let may_cut = |space: bool| self.search.may_cut && !(means_space && space);
        // Without white space, runs of the same mark grow together, and a shorter one is in many a longer one.
        let is_joined = self.tier >= Tier::Whitespace;
        let file = self.content.bytes;
        let cuts = |at| lines::cuts_word(file, at) || is_joined && lines::cuts_run(file, at);
        (may_cut(edges.space_before) || !cuts(range.start))
            && (may_cut(edges.space_after) || !cuts(range.end))
    }

    /// The indentations of the search text's lines, each with the file's of an occurrence at `at`.
    pub(super) fn indentations(&self, at: usize) -> impl Iterator<Item = (&'x str, &'x str)> {
        (0..self.indented.len()).map(move |i| self.indentation(at, i))
    }

    fn indentation(&self, at: usize, i: usize) -> (&'x str, &'x str) {
        let (below, indentation) = self.indented[i];
        let first_line = self.content.line_index(at);
        let start = self.content.line_start(first_line + below);
        (indentation, lines::indentation(self.content.bytes, start))
    }

    /// True if one way leads from the search text's indentation to the file's in every line.
    fn is_uniform(&mut self, at: usize) -> bool {
        let pair = |i: usize| self.indentation(at, i);
        let is_one_way = |pairs: &[(&str, &str)]| !Reindent::between(pairs).is_empty();
        if self.suspect > 0 && !is_one_way(&[pair(0), pair(self.suspect)]) {
            return false;
        }
        let mut distinct = Vec::new();
        for i in 0..self.indented.len() {
            let pair = pair(i);
            if distinct.contains(&pair) {
                continue;
            }
            // Lines of many depths have few ways, and a third pair is enough to see that there is none.
            if distinct
                .first()
                .is_some_and(|first| !is_one_way(&[*first, pair]))
            {
                self.suspect = i;
                return false;
            }
            distinct.push(pair);
        }
        // One indentation alone may become any other.
        distinct.len() < 2 || is_one_way(&distinct)
    }

    /// A place of block form takes in the indentation and the blank lines at its edges that the tier ignored.
    fn settle_lines(&self, hit: &mut Hit) {
        let file = self.content.bytes;
        let (before, after) = self.ignored();
        let (lines_before, lines_after) = self.blank_lines_ignored();
        if let Some(start) = hit.line_start {
            hit.range.start = start;
            for _ in 0..lines_before {
                let above = lines::before_newline(file, hit.range.start);
                match lines::start(file, above, before) {
                    Some(start) => hit.range.start = start,
                    None => break,
                }
            }
        }
        for _ in 0..lines_after {
            let last = hit.line_end.filter(|end| end.is_terminated());
            match last.and_then(|end| lines::end(file, end.next, after)) {
                Some(end) => {
                    hit.line_end = Some(end);
                    hit.range.end = end.content;
                }
                None => break,
            }
        }
    }

    /// A place of inline form takes in the newlines that the search text ends with, where the tier ignored them.
    fn settle_newlines(&self, hit: &mut Hit) {
        let (_, after) = self.ignored();
        let (_, newlines) = self.blank_lines_ignored();
        for _ in 0..newlines {
            match lines::end(self.content.bytes, hit.range.end, after) {
                Some(end) => hit.range.end = end.next,
                None => break,
            }
        }
    }

    /// The other tiers matched them already.
    fn blank_lines_ignored(&self) -> (usize, usize) {
        match self.tier {
            Tier::Whitespace | Tier::Typography => {
                (self.edges.blank_before, self.edges.blank_after)
            }
            _ => (0, 0),
        }
    }
}

/// The blank lines and the white space at the edges of a search text.
struct Edges {
    /// The number of blank lines it starts and ends with; in inline form, of newlines.
    blank_before: usize,
    blank_after: usize,
    space_before: bool,
    space_after: bool,
    /// True if its last line has white space at its end.
    blanks_at_end: bool,
}

impl Edges {
    fn of(search: &Search<'_>) -> Self {
        let body = search.body;
        let newlines = |text: &str| text.matches('\n').count();
        let (before, after) = (body.trim_start().len(), body.trim_end().len());
        Self {
            blank_before: newlines(&body[..body.len() - before]),
            blank_after: newlines(&body[after..]),
            space_before: before < body.len(),
            space_after: after < body.len(),
            blanks_at_end: view::blanks_at_end(body.as_bytes()) > 0,
        }
    }
}

/// The lines whose indentation has to be shifted uniformly: those that are not blank and, as inline text starts inside
/// a line, not its first.
fn indented_lines<'x>(search: &'x Search<'x>) -> Vec<(usize, &'x str)> {
    let body = search.body.as_bytes();
    lines::contents(body)
        .enumerate()
        .skip(usize::from(search.form == Form::Inline))
        .map(|(below, line)| (below, lines::indentation(&body[line.clone()], 0), line))
        .filter(|(_, indentation, line)| indentation.len() < line.len())
        .map(|(below, indentation, _)| (below, indentation))
        .collect()
}
