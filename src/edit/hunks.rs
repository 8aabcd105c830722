//! Applies the hunks of a patch: each is found behind the one before it, all in the file as it is, and only the lines go
//! and come that the patch names. A line of context stays as the file has it, however the patch spells it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

use super::carry;
use super::content::Content;
use super::done::unclear;
use super::find::Miss;
use super::hit::{Hit, Judge};
use super::occurrences::Occurrences;
use super::pair::cause;
use super::search::Search;
use super::view::View;
use super::{
    Adapted, Cause, EditError, Edited, PLACES_LIMIT, Part, Place, Tier, anchors, elided, lines,
    without_bom,
};
use crate::reply::hunk::{Hunk, Sign};
use crate::reply::text::Text;

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
        let failed = |cause| EditError {
            pair: index + 1,
            part: Part::Hunk,
            cause,
        };
        if let Some(line) = elided::left_out(text, &hunk.search(), Text::block(&hunk.replacement()))
        {
            return Err(failed(Cause::LeftOut { line }));
        }
        let placed = place(&content, hunk, &before).map_err(failed)?;
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
    content: &Content<'_>,
    hunk: &Hunk<'_>,
    before: &Before,
    verbatim: bool,
) -> Result<Placed, Cause> {
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
        range: at..at,
        tier: Tier::Exact,
    };
    found.apply(file, hunk, verbatim)
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
            || content.bytes[found.range.start..]
                .starts_with(search.trim_end_matches('\n').as_bytes())
    }) {
        return found.apply(content.bytes, hunk, verbatim);
    }
    if search.trim().is_empty() {
        return Err(Cause::NoContext);
    }
    let search = Search::new(Text::block(&search));
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
            let hit = match hits {
                Hits::None => continue,
                Hits::Several(starts) => {
                    let lines = starts.into_iter();
                    let lines = lines.map(|at| lines::number(content.bytes, at)).collect();
                    return Err(Cause::Ambiguous { tier, lines });
                }
                Hits::One(hit) => hit,
            };
            if hunk.at_end && !ends_file(&hit, content) {
                let line = lines::number(content.bytes, hit.range.start);
                return Err(Cause::NotAtEnd { line });
            }
            let hit = judge.settled(hit);
            let end = hit.line_end.map_or(hit.range.end, |end| end.next);
            let found = Found {
                range: hit.range.start..end,
                tier,
            };
            return found.apply(content.bytes, hunk, verbatim);
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
fn stated(content: &Content<'_>, hunk: &Hunk<'_>, before: &Before) -> Option<Found> {
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
    fits.then_some(Found {
        range: start..at,
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
    fn holds(&self, hit: &Hit, content: &Content<'_>) -> bool {
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
enum Hits {
    None,
    One(Hit),
    /// The starts of the first few.
    Several(Vec<usize>),
}

fn hits((view, pattern): (&View<'_>, &[u8]), judge: &mut Judge<'_, '_>, scope: &Scope) -> Hits {
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
        first.get_or_insert(hit);
        if starts.len() == PLACES_LIMIT {
            break;
        }
    }
    match first {
        None => Hits::None,
        Some(hit) if starts.len() == 1 => Hits::One(hit),
        Some(_) => Hits::Several(starts),
    }
}

fn ends_file(hit: &Hit, content: &Content<'_>) -> bool {
    hit.line_end
        .is_some_and(|end| end.next == content.bytes.len())
}

/// A place for a hunk.
struct Found {
    /// Its whole lines.
    range: Range<usize>,
    tier: Tier,
}

impl Found {
    /// What the hunk makes of this place.
    fn apply(self, file: &[u8], hunk: &Hunk<'_>, verbatim: bool) -> Result<Placed, Cause> {
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
                .map_err(|doubt| unclear(doubt, line))?,
        };
        let end = range.end;
        if end == file.len() && !hunk.lines.is_empty() {
            let is_ended = inserted.ends_with(b"\n");
            let had_newline = file.is_empty() || file.ends_with(b"\n");
            match hunk.final_newline.unwrap_or(had_newline) {
                true if !inserted.is_empty() && !is_ended => {
                    inserted.extend_from_slice(newline.as_bytes());
                }
                false if inserted.is_empty() => {
                    range.start = lines::before_newline(file, range.start);
                }
                false if is_ended => {
                    inserted.truncate(lines::before_newline(&inserted, inserted.len()))
                }
                _ => {}
            }
        }
        // A line may be put behind a last one that has no newline.
        if range.start == file.len() && !file.is_empty() && !file.ends_with(b"\n") {
            inserted.splice(0..0, lines::ending_at(file, range.start).bytes());
        }
        if inserted == file[range.clone()] && hunk.search() != hunk.replacement() {
            return Err(Cause::NothingChanges { at: line });
        }
        let range = leave_context(file, range, &mut inserted);
        Ok(Placed {
            range,
            inserted,
            end,
            place: Place {
                tier: self.tier,
                line,
                adapted,
            },
        })
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
        let place = carry::Place::whole(file, self.range.clone());
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
