//! Applies the hunks of a patch: each is found behind the one before it, all in the file as it is, and only the lines go
//! and come that the patch names. A line of context stays as the file has it, however the patch spells it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::content::Content;
use super::hit::{Hit, Judge};
use super::occurrences::Occurrences;
use super::search::Search;
use super::shift::{self, Shift};
use super::view::View;
use super::{
    Cause, EditError, Edited, Miss, PLACES_LIMIT, Part, Place, Tier, anchors, cause, lines,
    without_bom,
};
use crate::lang::hunk::{Hunk, Sign};
use crate::lang::text::Text;

/// Applies all hunks to a file, or none.
pub(super) fn apply<'f>(file: &'f [u8], hunks: &[Hunk<'_>]) -> Result<Edited<'f>, EditError> {
    // Git's own diffs have the BOM in the file's first line, others leave it out.
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let text = match lines
        .into_iter()
        .any(|(_, line)| line.starts_with('\u{FEFF}'))
    {
        true => file,
        false => without_bom(file),
    };
    let content = Content::new(text);
    let mut before = Before::default();
    let mut parts = Vec::with_capacity(2 * hunks.len() + 1);
    let mut places = Vec::with_capacity(hunks.len());
    let mut copied = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let placed = place(&content, hunk, &before).map_err(|cause| EditError {
            pair: index + 1,
            part: Part::Hunk,
            cause,
        })?;
        // What stands before the text is its BOM.
        let from = match index {
            0 => 0,
            _ => file.len() - text.len() + copied,
        };
        let to = file.len() - text.len() + placed.range.start;
        parts.push(Cow::Borrowed(&file[from..to]));
        parts.push(Cow::Owned(placed.inserted));
        copied = placed.range.end;
        if let Some(line) = hunk.line {
            before.offset = placed.place.line.cast_signed() - line.cast_signed();
        }
        (before.end, before.changed) = (placed.end, placed.range.end);
        places.push(placed.place);
    }
    parts.push(Cow::Borrowed(&text[copied..]));
    Ok(Edited { parts, places })
}

/// What the hunks before leave to the next one.
#[derive(Default)]
struct Before {
    /// Where the last one ends, and where its last change ends.
    end: usize,
    changed: usize,
    /// How many lines further down it was than it says.
    offset: isize,
}

/// Where a hunk applies.
struct Placed {
    /// What goes, and what comes.
    range: Range<usize>,
    inserted: Vec<u8>,
    /// Where its last line of context ends.
    end: usize,
    place: Place,
}

fn place(content: &Content<'_>, hunk: &Hunk<'_>, before: &Before) -> Result<Placed, Cause> {
    if hunk.lines.iter().all(|(sign, _)| *sign == Sign::Added) {
        return place_bare(content, hunk, before);
    }
    if !hunk.lines.iter().any(|(_, line)| line.ends_with('\r')) {
        return place_by_lines(content, hunk, before, false);
    }
    if let Ok(placed) = place_by_lines(content, hunk, before, true) {
        return Ok(placed);
    }
    let lines = hunk.lines.iter();
    let lines = lines.map(|(sign, line)| (*sign, line.strip_suffix('\r').unwrap_or(line)));
    let plain = Hunk {
        lines: lines.collect(),
        ..hunk.clone()
    };
    place_by_lines(content, &plain, before, false)
}

/// Places a hunk that has nothing but added lines.
fn place_bare(content: &Content<'_>, hunk: &Hunk<'_>, before: &Before) -> Result<Placed, Cause> {
    let file = content.bytes;
    let at = match hunk.below.as_slice() {
        _ if file.is_empty() => 0,
        [] if hunk.at_end => file.len(),
        [] => return Err(Cause::NoContext),
        below => match anchors::blocks(file, below, before.changed)?.as_slice() {
            [block] => lines::next(file, block.start),
            blocks => {
                let lines = blocks.iter().map(|block| lines::number(file, block.start));
                return Err(Cause::Ambiguous {
                    tier: Tier::Exact,
                    lines: lines.collect(),
                });
            }
        },
    };
    let found = Found {
        start: at,
        ends: Vec::new(),
        shift: Shift::NONE,
        tier: Tier::Exact,
    };
    found.apply(file, hunk, false).ok_or(Cause::NoContext)
}

/// Places a hunk by its lines; `verbatim`: only where the file has them to the byte.
fn place_by_lines(
    content: &Content<'_>,
    hunk: &Hunk<'_>,
    before: &Before,
    verbatim: bool,
) -> Result<Placed, Cause> {
    let (search, replacement) = (hunk.search(), hunk.replacement());
    let replacement = Text::block(&replacement);
    let not_found = || cause(content, Miss::NotFound, replacement);
    if let Some(found) = stated(content, hunk, before).filter(|found| {
        !verbatim
            || content.bytes[found.start..].starts_with(search.trim_end_matches('\n').as_bytes())
    }) {
        return found
            .apply(content.bytes, hunk, verbatim)
            .ok_or_else(not_found);
    }
    if search.trim().is_empty() {
        return Err(Cause::NoContext);
    }
    let search = Search::new(Text::block(&search), replacement);
    let scopes = scopes(content, hunk, before)?;
    for tier in Tier::ALL {
        let Some(view) = content
            .view(tier)
            .filter(|_| !verbatim || tier == Tier::Exact)
        else {
            break;
        };
        let Some(pattern) = View::new(search.body.as_bytes(), tier) else {
            break;
        };
        let mut judge = Judge::new(&search, content, tier);
        for scope in &scopes {
            let hits = hits((view, pattern.bytes()), &mut judge, scope);
            let (at, hit) = match hits {
                Hits::None => continue,
                Hits::Several(starts) => {
                    let lines = starts.into_iter();
                    let lines = lines.map(|at| lines::number(content.bytes, at)).collect();
                    return Err(Cause::Ambiguous { tier, lines });
                }
                Hits::One(at, hit) => (at, hit),
            };
            if hunk.at_end && !ends_file(&hit, content) {
                let line = lines::number(content.bytes, hit.range.start);
                return Err(Cause::NotAtEnd { line });
            }
            let hit = judge.settled(hit);
            let found = Found {
                start: hit.range.start,
                ends: ends(hunk, &pattern, (view, at)).ok_or_else(not_found)?,
                shift: hit.shift,
                tier,
            };
            return found
                .apply(content.bytes, hunk, verbatim)
                .ok_or_else(not_found);
        }
    }
    if before.end > 0
        && let Ok(hit) = search.find(content, 0)
    {
        let line = lines::number(content.bytes, hit.range.start);
        return Err(Cause::OutOfOrder { line });
    }
    Err(not_found())
}

/// The place that the hunk's line number says, moved as the hunk before it was, where its lines stand there. Where no
/// context follows its changes they are at the end of the file, or the number alone would say too little.
fn stated<'x>(content: &Content<'_>, hunk: &Hunk<'_>, before: &Before) -> Option<Found<'x>> {
    let file = content.bytes;
    let index = hunk.line?.checked_sub(1)?;
    let start = content.line_start(index.checked_add_signed(before.offset)?);
    if start < before.changed {
        return None;
    }
    let mut at = start;
    let mut tier = Tier::Exact;
    let mut ends = Vec::with_capacity(hunk.lines.len());
    for (_, line) in hunk.lines.iter().filter(|(sign, _)| *sign != Sign::Added) {
        let rest = file.get(at..).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        if &rest[..end] != line.as_bytes() {
            let is_crlf =
                end < rest.len() && rest[..end].strip_suffix(b"\r") == Some(line.as_bytes());
            if !is_crlf {
                return None;
            }
            tier = Tier::LineEndings;
        }
        ends.push(at + line.len());
        at = file.len().min(at + end + 1);
    }
    let has_end = hunk
        .lines
        .last()
        .is_some_and(|(sign, _)| *sign == Sign::Kept);
    let fits = at == file.len() || has_end && !hunk.at_end;
    fits.then_some(Found {
        start,
        ends,
        shift: Shift::NONE,
        tier,
    })
}

/// Where a hunk may be. The first of them in which it is at all decides.
struct Scope {
    from: usize,
    /// It is in one of these, or ends behind the start of the first; none: anywhere.
    blocks: Vec<Range<usize>>,
    inside: bool,
    /// It ends where the file does.
    at_end: bool,
}

impl Scope {
    fn holds(&self, hit: &Hit<'_>, content: &Content<'_>) -> bool {
        let end = hit.range.end;
        let in_blocks = match (self.blocks.as_slice(), self.inside) {
            ([], _) => true,
            (blocks, true) => blocks
                .iter()
                .any(|block| block.start <= hit.range.start && end <= block.end),
            ([first, ..], false) => end > first.start,
        };
        in_blocks && (!self.at_end || ends_file(hit, content))
    }
}

fn scopes(content: &Content<'_>, hunk: &Hunk<'_>, before: &Before) -> Result<Vec<Scope>, Cause> {
    let scope = |from, blocks: &[Range<usize>], inside, at_end| Scope {
        from,
        blocks: blocks.to_vec(),
        inside,
        at_end,
    };
    let mut scopes = Vec::new();
    let ends: &[bool] = if hunk.at_end {
        &[true, false]
    } else {
        &[false]
    };
    for at_end in ends {
        if hunk.below.is_empty() {
            // The context before a hunk may be the context behind the last one.
            scopes.push(scope(before.end, &[], false, *at_end));
            if before.changed < before.end {
                scopes.push(scope(before.changed, &[], false, *at_end));
            }
        } else {
            let blocks = anchors::blocks(content.bytes, &hunk.below, before.changed)?;
            scopes.push(scope(before.changed, &blocks, true, *at_end));
            scopes.push(scope(before.changed, &blocks, false, *at_end));
        }
    }
    Ok(scopes)
}

/// Where the lines of a hunk stand.
enum Hits<'x> {
    None,
    /// And where that is in the view.
    One(usize, Hit<'x>),
    /// The starts of the first few.
    Several(Vec<usize>),
}

fn hits<'x>(
    (view, pattern): (&View<'_>, &[u8]),
    judge: &mut Judge<'x, '_>,
    scope: &Scope,
) -> Hits<'x> {
    let mut first = None;
    let mut starts = Vec::new();
    for at in Occurrences::new(view.bytes(), pattern, view.at_or_after(scope.from)) {
        let range = view
            .start_in_file(at)
            .zip(view.end_in_file(at + pattern.len()));
        let hit = range.and_then(|(start, end)| judge.hit(start..end));
        let content = judge.content();
        let Some(hit) = hit.filter(|hit| hit.is_whole_lines() && scope.holds(hit, content)) else {
            continue;
        };
        starts.push(hit.range.start);
        first.get_or_insert((at, hit));
        if starts.len() == PLACES_LIMIT {
            break;
        }
    }
    match first {
        None => Hits::None,
        Some((at, hit)) if starts.len() == 1 => Hits::One(at, hit),
        Some(_) => Hits::Several(starts),
    }
}

fn ends_file(hit: &Hit<'_>, content: &Content<'_>) -> bool {
    hit.line_end
        .is_some_and(|end| end.next == content.bytes.len())
}

/// Where in the file each line ends that the hunk looks for.
fn ends(hunk: &Hunk<'_>, pattern: &View<'_>, (view, at): (&View<'_>, usize)) -> Option<Vec<usize>> {
    let mut next = 0;
    let lines = hunk.lines.iter().filter(|(sign, _)| *sign != Sign::Added);
    let ends = lines.map(|(_, line)| {
        let end = next + line.len();
        next = end + 1;
        match line.as_bytes().trim_ascii().is_empty() {
            true => Some(0),
            false => view.end_in_file(at + pattern.at_or_after(end)),
        }
    });
    ends.collect()
}

/// A place for a hunk.
struct Found<'x> {
    /// The start of its first line.
    start: usize,
    /// Where the text of each line ends that is kept or removed; for a blank one nothing is known.
    ends: Vec<usize>,
    shift: Shift<'x>,
    tier: Tier,
}

impl<'x> Found<'x> {
    /// What the hunk makes of this place; nothing where a line of the file would have to go and stay at once.
    fn apply(&self, file: &'x [u8], hunk: &'x Hunk<'_>, verbatim: bool) -> Option<Placed> {
        let newline = match verbatim {
            true => "\n",
            false => lines::ending_at(file, self.start),
        };
        let mut ends = self.ends.iter();
        let mut shift = self.shift;
        let step = self
            .tier
            .ge(&Tier::Whitespace)
            .then(|| shift::step(&hunk.replacement()));
        let mut cursor = self.start;
        let mut last = None;
        let mut patched = Patched::default();
        for (sign, line) in &hunk.lines {
            if *sign == Sign::Added {
                patched.reach(file, cursor);
                patched.end_line(file, newline);
                shift.push_line(line.as_bytes(), &mut patched.inserted);
                patched.inserted.extend_from_slice(newline.as_bytes());
                last = Some(*sign);
                continue;
            }
            let end = *ends.next()?;
            let is_blank = line.as_bytes().trim_ascii().is_empty();
            // A blank line that only the patch has is nothing; one that only the file has stays.
            if is_blank && !lines::is_blank_at(file, cursor) {
                continue;
            }
            if !is_blank && end <= cursor {
                if last != Some(*sign) {
                    return None;
                }
                continue;
            }
            while !is_blank && lines::is_blank_at(file, cursor) {
                cursor = lines::next(file, cursor);
            }
            let start = cursor;
            if let Some(step) = step.filter(|_| !is_blank) {
                // The lines may be indented otherwise each by itself: the one above tells most.
                let (wanted, is) = (
                    lines::indentation(line.as_bytes(), 0),
                    lines::indentation(file, start),
                );
                shift = Shift::between_lines(wanted, is, step);
            }
            cursor = lines::next(file, if is_blank { cursor } else { end });
            if *sign == Sign::Removed {
                patched.reach(file, start);
                patched.remove_to(cursor);
            }
            last = Some(*sign);
        }
        let mut range = patched.range.unwrap_or(cursor..cursor);
        let mut inserted = patched.inserted;
        if range.end == file.len() {
            let had_newline = file.is_empty() || file.ends_with(b"\n");
            let is_ended = inserted.ends_with(b"\n");
            match hunk.final_newline.unwrap_or(had_newline) {
                true if !inserted.is_empty() && !is_ended => {
                    inserted.extend_from_slice(newline.as_bytes());
                }
                false if inserted.is_empty() => {
                    range.start = lines::before_newline(file, range.start)
                }
                false if is_ended => inserted.truncate(inserted.len() - newline.len()),
                _ => {}
            }
        }
        Some(Placed {
            range,
            inserted,
            end: cursor,
            place: Place {
                tier: self.tier,
                line: lines::number(file, self.start),
            },
        })
    }
}

/// What becomes of the file between a hunk's first change and its last.
#[derive(Default)]
struct Patched {
    range: Option<Range<usize>>,
    inserted: Vec<u8>,
}

impl Patched {
    /// What stands between the last change and here stays.
    fn reach(&mut self, file: &[u8], at: usize) {
        let range = self.range.get_or_insert(at..at);
        self.inserted.extend_from_slice(&file[range.end..at]);
        range.end = at;
    }

    fn remove_to(&mut self, at: usize) {
        if let Some(range) = &mut self.range {
            range.end = at;
        }
    }

    /// The last line of a file may have no newline, and then gets one before another line follows.
    fn end_line(&mut self, file: &[u8], newline: &str) {
        let start = self.range.as_ref().map_or(0, |range| range.start);
        let before = match self.inserted.as_slice() {
            [] => &file[..start],
            inserted => inserted,
        };
        if !before.is_empty() && !before.ends_with(b"\n") {
            self.inserted.extend_from_slice(newline.as_bytes());
        }
    }
}
