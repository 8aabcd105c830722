//! Applies the hunks of a patch: each is found behind the one before it, all in the file as it is, and only the lines go
//! and come that the patch names. A line of context stays as the file has it, however the patch spells it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::carry;
use super::find::{Miss, line_numbers};
use super::hit::Hit;
use super::pair::cause;
use super::search::Search;
use super::searched_file::SearchedFile;
use super::splice::Splice;
use super::{
    Adapted, Applied, EditCause, EditError, EditPart, Edited, EditedFile, PLACES_LIMIT, Tier,
    anchors, elided, lines,
};
use crate::reply::hunk::{Hunk, Sign};
use crate::reply::text::Text;

/// Applies all hunks to a file, or none.
pub(super) fn apply<'f>(file: EditedFile<'f>, hunks: &[Hunk<'_>]) -> Result<Edited<'f>, EditError> {
    // Git's own diffs have the BOM in the file's first line, others leave it out.
    let mut lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let text = if lines.any(|(_, line)| line.starts_with('\u{FEFF}')) {
        file
    } else {
        file.without_bom()
    };
    let content = SearchedFile::new(text);
    let (file, text) = (file.bytes, text.bytes);
    let mut before = PreviousHunk::default();
    let bom = &file[..file.len() - text.len()];
    let mut parts = vec![Cow::Borrowed(bom)];
    let mut places = Vec::with_capacity(hunks.len());
    for (index, hunk) in hunks.iter().enumerate() {
        let failed = |cause| EditError {
            pair: index + 1,
            part: EditPart::Hunk,
            cause,
        };
        if let Some(line) = elided::left_out(text, &hunk.search(), Text::block(&hunk.replacement()))
        {
            return Err(failed(EditCause::LeftOut { line }));
        }
        let placed = place(&content, hunk, &before).map_err(failed)?;
        let Splice {
            range,
            inserted,
            applied,
        } = placed.splice;
        parts.push(Cow::Borrowed(&text[before.changed..range.start]));
        parts.push(Cow::Owned(inserted));
        if let Some(line) = hunk.line {
            before.offset = applied.line.cast_signed() - line.cast_signed();
        }
        (before.end, before.changed) = (placed.end, range.end);
        places.push(applied);
    }
    parts.push(Cow::Borrowed(&text[before.changed..]));
    Ok(Edited { parts, places })
}

/// The hunk that was placed last; the file's start before any was.
#[derive(Default)]
struct PreviousHunk {
    /// The end of it, and of its last change.
    end: usize,
    changed: usize,
    /// The number of lines that it was further down than it says.
    offset: isize,
}

/// A hunk in its place.
struct Placed {
    splice: Splice,
    /// The end of its last line of context.
    end: usize,
}

fn place(
    content: &SearchedFile<'_>,
    hunk: &Hunk<'_>,
    before: &PreviousHunk,
) -> Result<Placed, EditCause> {
    let has_cr = hunk.lines.iter().any(|(_, line)| line.ends_with('\r'));
    if hunk.lines.iter().all(|(sign, _)| *sign == Sign::Added) {
        return place_bare(content, hunk, before, has_cr);
    }
    if !has_cr {
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

/// Places a hunk that has nothing but added lines; `verbatim`: they have their carriage returns, and get no others.
fn place_bare(
    content: &SearchedFile<'_>,
    hunk: &Hunk<'_>,
    before: &PreviousHunk,
    verbatim: bool,
) -> Result<Placed, EditCause> {
    let (file, tier) = (content.bytes, Tier::Exact);
    let at = match hunk.below.as_slice() {
        _ if file.is_empty() => 0,
        [] if hunk.at_end => file.len(),
        [] => return Err(EditCause::NoContext),
        below => match anchors::blocks(file, below, before.changed)?.as_slice() {
            [block] => lines::next(file, block.start),
            blocks => {
                let lines = blocks.iter().map(|block| lines::number(file, block.start));
                let lines = lines.collect();
                return Err(EditCause::Ambiguous { tier, lines });
            }
        },
    };
    let found = HunkPlace {
        range: at..at,
        tier,
    };
    found.apply(file, hunk, verbatim)
}

/// Places a hunk by its lines; `verbatim`: only where the file has them to the byte.
fn place_by_lines(
    content: &SearchedFile<'_>,
    hunk: &Hunk<'_>,
    before: &PreviousHunk,
    verbatim: bool,
) -> Result<Placed, EditCause> {
    let (search, replacement) = (hunk.search(), hunk.replacement());
    let replacement = Text::block(&replacement);
    let is_there = |found: &HunkPlace| {
        let there = &content.bytes[found.range.start..];
        !verbatim || there.starts_with(search.trim_end_matches('\n').as_bytes())
    };
    if let Some(found) = stated(content, hunk, before).filter(is_there) {
        return found.apply(content.bytes, hunk, verbatim);
    }
    if search.trim().is_empty() {
        return Err(EditCause::NoContext);
    }
    let search = Search::new(Text::block(&search));
    let blocks = anchors::blocks(content.bytes, &hunk.below, before.changed)?;
    let scopes = scopes(hunk, before);
    let tiers = if verbatim {
        &Tier::ALL[..1]
    } else {
        &Tier::ALL
    };
    let all = tiers
        .iter()
        .flat_map(|tier| scopes.iter().map(move |scope| (*tier, scope)));
    for (tier, scope) in all {
        let mut hits = scope.hits(&search, content, tier, &blocks);
        let lines = line_numbers(content.bytes, &hits);
        let Some(hit) = hits.pop() else {
            continue;
        };
        let (hit, line) = if hits.is_empty() {
            (hit, lines[0])
        } else {
            hits.push(hit);
            match below_heading(content.bytes, hunk.heading, &hits) {
                Some(at) => (hits.swap_remove(at), lines[at]),
                None => return Err(EditCause::Ambiguous { tier, lines }),
            }
        };
        if hunk.at_end && !ends_file(&hit, content) {
            return Err(EditCause::NotAtEnd { line });
        }
        let hit = search.settled(content, hit);
        let end = hit.line_end.map_or(hit.range.end, |end| end.next);
        let found = HunkPlace {
            range: hit.range.start..end,
            tier,
        };
        return found.apply(content.bytes, hunk, verbatim);
    }
    if before.end > 0
        && let Ok(hit) = search.find(content, 0)
    {
        let line = lines::number(content.bytes, hit.range.start);
        return Err(EditCause::OutOfOrder { line });
    }
    Err(cause(content, Miss::NotFound, replacement))
}

/// Of several places the only one that is in what the heading of a hunk begins.
fn below_heading(file: &[u8], heading: Option<&str>, hits: &[Hit]) -> Option<usize> {
    // Of more places than are looked for, those that are not known could be in it too.
    let heading = heading.filter(|_| hits.len() < PLACES_LIMIT)?;
    let blocks = anchors::blocks(file, &[heading], 0).ok()?;
    let is_in = |hit: &Hit| {
        let mut blocks = blocks.iter();
        blocks.any(|block| block.start <= hit.range.start && hit.range.end <= block.end)
    };
    let mut inside = (0..hits.len()).filter(|at| is_in(&hits[*at]));
    inside.next().filter(|_| inside.next().is_none())
}

/// The place that the hunk's line number says, moved as the hunk before it was, where its lines stand there. Where no
/// context follows its changes they are at the end of the file, or the number alone would say too little.
fn stated(content: &SearchedFile<'_>, hunk: &Hunk<'_>, before: &PreviousHunk) -> Option<HunkPlace> {
    let file = content.bytes;
    let index = hunk.line?.checked_sub(1)?;
    let start = content.line_start(index.checked_add_signed(before.offset)?);
    if start < before.changed {
        return None;
    }
    let mut at = start;
    let mut tier = Tier::Exact;
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
        at = file.len().min(at + end + 1);
    }
    let has_end = hunk
        .lines
        .last()
        .is_some_and(|(sign, _)| *sign == Sign::Kept);
    let fits = at == file.len() || has_end && !hunk.at_end;
    fits.then_some(HunkPlace {
        range: start..at,
        tier,
    })
}

/// A stretch of the file where a hunk may be. The first of them in which it is at all decides.
#[derive(PartialEq)]
struct Scope {
    from: usize,
    /// It is inside one of the blocks that the anchors head; else it may go on behind the start of the first of them.
    is_inside: bool,
    /// It ends where the file does.
    at_end: bool,
}

impl Scope {
    /// The places in it where whole lines are the search text's; the first few, not settled.
    fn hits(
        &self,
        search: &Search<'_>,
        content: &SearchedFile<'_>,
        tier: Tier,
        blocks: &[Range<usize>],
    ) -> Vec<Hit> {
        let holds = |hit: &Hit| {
            let (start, end) = (hit.range.start, hit.range.end);
            let is_in = |block: &Range<usize>| block.start <= start && end <= block.end;
            let is_there = if self.is_inside {
                blocks.iter().any(is_in)
            } else {
                blocks.first().is_none_or(|first| end > first.start)
            };
            is_there && (!self.at_end || ends_file(hit, content))
        };
        let mut hits = Vec::new();
        search.visit_hits(content, tier, self.from, |hit| {
            if hit.is_whole_lines() && holds(&hit) {
                hits.push(hit);
            }
            hits.len() < PLACES_LIMIT
        });
        hits
    }
}

/// The stretches where a hunk may be. One without anchors has one block, the rest of the file.
fn scopes(hunk: &Hunk<'_>, before: &PreviousHunk) -> Vec<Scope> {
    let places = if hunk.below.is_empty() {
        // The context before a hunk may be the context behind the last one.
        [(before.end, true), (before.changed, true)]
    } else {
        [(before.changed, true), (before.changed, false)]
    };
    let ends = [true, false].into_iter().filter(|end| hunk.at_end || !end);
    let all = ends.flat_map(|at_end| {
        places.map(|(from, is_inside)| Scope {
            from,
            is_inside,
            at_end,
        })
    });
    let mut scopes: Vec<Scope> = all.collect();
    scopes.dedup();
    scopes
}

fn ends_file(hit: &Hit, content: &SearchedFile<'_>) -> bool {
    hit.line_end
        .is_some_and(|end| end.next == content.bytes.len())
}

/// A place for a hunk.
struct HunkPlace {
    /// Its whole lines.
    range: Range<usize>,
    tier: Tier,
}

impl HunkPlace {
    /// The change that the hunk makes of this place.
    fn apply(self, file: &[u8], hunk: &Hunk<'_>, verbatim: bool) -> Result<Placed, EditCause> {
        let line = lines::number(file, self.range.start);
        let newline = if verbatim {
            "\n"
        } else {
            lines::ending_at(file, self.range.start)
        };
        let (mut range, mut inserted, adapted) = match self.tier {
            Tier::Exact => {
                let inserted = patched(&file[self.range.clone()], hunk, newline);
                (self.range.clone(), inserted, Adapted::default())
            }
            _ => self
                .carried(file, hunk)
                .map_err(|unclear| unclear.at(line))?,
        };
        let end = range.end;
        if end == file.len() && !hunk.lines.is_empty() {
            let is_ended = inserted.ends_with(b"\n");
            let had_newline = file.is_empty() || file.ends_with(b"\n");
            let ends = hunk.final_newline.unwrap_or(had_newline);
            if ends && !inserted.is_empty() && !is_ended {
                inserted.extend_from_slice(newline.as_bytes());
            } else if !ends && inserted.is_empty() {
                range.start = lines::before_newline(file, range.start);
            } else if !ends && is_ended {
                inserted.truncate(lines::before_newline(&inserted, inserted.len()));
            }
        }
        // A line may be put behind a last one that has no newline.
        if range.start == file.len() && !file.is_empty() && !file.ends_with(b"\n") {
            inserted.splice(0..0, lines::ending_at(file, range.start).bytes());
        }
        if inserted == file[range.clone()] && hunk.search() != hunk.replacement() {
            return Err(EditCause::NothingChanges { at: line });
        }
        let range = leave_context(file, range, &mut inserted);
        let applied = Applied {
            tier: self.tier,
            line,
            adapted,
        };
        let splice = Splice {
            range,
            inserted,
            applied,
        };
        Ok(Placed { splice, end })
    }

    /// The difference that the hunk makes, in the words of the file.
    fn carried(
        &self,
        file: &[u8],
        hunk: &Hunk<'_>,
    ) -> Result<(Range<usize>, Vec<u8>, Adapted), carry::Unclear> {
        let (mut search, mut new, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (sign, line) in &hunk.lines {
            if *sign == Sign::Kept {
                kept.push((search.len(), new.len()));
            }
            if *sign != Sign::Added {
                search.push(*line);
            }
            if *sign != Sign::Removed {
                new.push(*line);
            }
        }
        let place = carry::Matched::whole(file, self.range.clone());
        let carried = carry::carry(&place, &search, &new, Some(&kept))?;
        Ok((carried.range, carried.text.into_bytes(), carried.adapted))
    }
}

/// The lines of a place that are the hunk's, one by one, as the hunk leaves them.
fn patched(place: &[u8], hunk: &Hunk<'_>, newline: &str) -> Vec<u8> {
    let mut patched = Vec::with_capacity(place.len());
    let mut at = 0;
    for (sign, line) in &hunk.lines {
        if *sign == Sign::Added {
            // The last line of a file may have no newline, and then gets one before another line follows.
            if !patched.is_empty() && !patched.ends_with(b"\n") {
                patched.extend_from_slice(newline.as_bytes());
            }
            patched.extend_from_slice(line.as_bytes());
            patched.extend_from_slice(newline.as_bytes());
            continue;
        }
        let next = lines::next(place, at);
        if *sign == Sign::Kept {
            patched.extend_from_slice(&place[at..next]);
        }
        at = next;
    }
    patched
}

/// Leaves what stays as it is at both ends of a place to the hunks beside this one.
fn leave_context(file: &[u8], mut range: Range<usize>, inserted: &mut Vec<u8>) -> Range<usize> {
    loop {
        let place = &file[range.clone()];
        let last = |text: &[u8]| lines::start_of(text, lines::before_newline(text, text.len()));
        let (old, new) = (last(place), last(inserted));
        if place.is_empty() || inserted.is_empty() || place[old..] != inserted[new..] {
            break;
        }
        range.end = range.start + old;
        inserted.truncate(new);
    }
    let (place, mut same) = (&file[range.clone()], 0);
    while same < place.len() {
        let (old, new) = (lines::next(place, same), lines::next(inserted, same));
        if place[same..old] != inserted[same..new] || !place[..old].ends_with(b"\n") {
            break;
        }
        same = old;
    }
    range.start += same;
    inserted.drain(..same);
    range
}
