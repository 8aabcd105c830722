//! Carries out one pair of search text and replacement, or one stretch between a head and a tail.

use super::carry::Way;
use super::content::Content;
use super::copying::{self, Undone};
use super::done::{Done, unclear};
use super::find::{Miss, line_numbers};
use super::hit::{Hit, Judge};
use super::search::Search;
use super::splice::Splice;
use super::{Cause, Doubt, EditError, Part, Place, Tier, elided, lines};
use crate::reply::text::Text;

/// Replaces a text where it stands once, or of several places in the one that starts on `line`.
pub(super) fn replace(
    file: &[u8],
    (search, replacement): (Text<'_>, Text<'_>),
    line: Option<usize>,
) -> Result<Done, Cause> {
    let content = Content::new(file);
    let found = Search::new(search).on_line(line).find(&content, 0);
    let as_it_is = match found {
        Err(Miss::NotFound) => None,
        found => Some(found),
    };
    if let Some(found) = as_it_is {
        let hit = found.map_err(|miss| cause(&content, miss, replacement))?;
        return at(file, &hit, search, replacement);
    }
    let undone = copying::undone(&[search.text], replacement.text);
    replace_undone(&content, (search, replacement), line, &undone)
        .or_else(|| elided::replace(&content, search, replacement))
        .or_else(|| {
            undone.iter().find_map(|undone| {
                let new = replacement.with(undone.replacement.as_ref()?);
                elided::replace(&content, search.with(&undone.searches[0]), new)
            })
        })
        .unwrap_or_else(|| Err(cause(&content, Miss::NotFound, replacement)))
}

/// Replaces a text in a place where it stands.
pub(super) fn at(
    file: &[u8],
    hit: &Hit,
    search: Text<'_>,
    replacement: Text<'_>,
) -> Result<Done, Cause> {
    let line = lines::number(file, hit.range.start);
    let changes = search.text != replacement.text;
    let search = Search::new(search);
    let splice = Splice::one(file, hit, search.body, replacement);
    let splice = splice.map_err(|doubt| unclear(doubt, line))?;
    let place = Place {
        tier: hit.tier,
        line,
        adapted: splice.adapted,
    };
    Done::of(file, splice, place, changes)
}

/// Replaces a text that was damaged as a whole; `None` where it is not found without the damage either.
fn replace_undone(
    content: &Content<'_>,
    (search, replacement): (Text<'_>, Text<'_>),
    line: Option<usize>,
    undone: &[Undone],
) -> Option<Result<Done, Cause>> {
    let file = content.bytes;
    for undone in undone {
        let was = search.with(&undone.searches[0]);
        let hit = match numbered(content, Search::new(was).on_line(line), undone) {
            Err(Miss::NotFound) => continue,
            found => found.map_err(|miss| cause(content, miss, replacement)),
        };
        return Some(hit.and_then(|hit| {
            let new = match &undone.replacement {
                Some(new) if !undone.is_fenced_alone || !is_fenced(file, &hit, search) => new,
                _ => return Err(half_damaged(lines::number(file, hit.range.start))),
            };
            let hit = Hit {
                tier: Tier::Copying,
                ..hit
            };
            at(file, &hit, was, replacement.with(new))
        }));
    }
    None
}

/// The place where a text stands; of several, the one on the line whose number stood before the text.
fn numbered(content: &Content<'_>, search: Search<'_>, undone: &Undone) -> Result<Hit, Miss> {
    let number = undone
        .numbers
        .as_ref()
        .and_then(|numbers| numbers.first().copied());
    match (search.find(content, 0), number) {
        (Err(Miss::Ambiguous(tier, hits)), Some(number)) => {
            let lines = line_numbers(content.bytes, &hits);
            let text = search.body.trim_start();
            let blanks = search.body[..search.body.len() - text.len()]
                .matches('\n')
                .count();
            let is_it = |line: usize| line == number || line == number + blanks;
            let mut chosen = hits.iter().zip(lines).filter(|(_, line)| is_it(*line));
            match (chosen.next(), chosen.next()) {
                (Some((hit, _)), None) => Ok(search.settled(content, hit.clone())),
                _ => Err(Miss::Ambiguous(tier, hits)),
            }
        }
        // The text of the line that is named may be meant, spelled otherwise.
        (Ok(hit), Some(number)) => {
            let line = lines::number(content.bytes, hit.range.start);
            let first = search.body.lines().next().unwrap_or_default();
            let there = lines::contents(content.bytes).nth(number.saturating_sub(1));
            let there =
                there.map(|line| String::from_utf8_lossy(&content.bytes[line]).into_owned());
            let is_other =
                line != number && there.is_some_and(|there| there.trim() == first.trim());
            if is_other && !first.trim().is_empty() {
                return Err(Miss::Ambiguous(hit.tier, vec![hit]));
            }
            Ok(hit)
        }
        (found, _) => found,
    }
}

/// Returns whether a place stands in a fence of the file, which may be the one that the reply means.
fn is_fenced(file: &[u8], hit: &Hit, search: Text<'_>) -> bool {
    let mark = search.text.trim_start().as_bytes().first();
    let is_fence = |at: usize| {
        let line = String::from_utf8_lossy(&file[at..lines::next(file, at)]);
        copying::is_fence(line.trim()) && line.trim().as_bytes().first() == mark
    };
    let (start, end) = (
        lines::start_of(file, hit.range.start),
        lines::next(file, hit.range.end),
    );
    start > 0 && is_fence(lines::start_of(file, start - 1)) || end < file.len() && is_fence(end)
}

/// The failure of an edit found at a line of the file whose replacement is damaged only in part.
fn half_damaged(at: usize) -> Cause {
    Cause::Unclear {
        line: 1,
        at,
        doubt: Doubt::HalfDamaged,
    }
}

/// Replaces what runs from the one place of a head to the one of a tail behind it.
pub(super) fn replace_stretch(
    file: &[u8],
    (head, tail): (Text<'_>, Text<'_>),
    replacement: Text<'_>,
) -> Result<Done, EditError> {
    let failed = match stretch(file, (head, tail), replacement) {
        Err(error) if matches!(error.cause, Cause::NotFound { .. }) => error,
        done => return done,
    };
    for undone in copying::undone(&[head.text, tail.text], replacement.text) {
        let texts = (
            head.with(&undone.searches[0]),
            tail.with(&undone.searches[1]),
        );
        let new = undone.replacement.as_deref();
        let done = stretch(
            file,
            texts,
            new.map_or(replacement, |new| replacement.with(new)),
        );
        if let Err(error) = &done
            && matches!(error.cause, Cause::NotFound { .. })
        {
            continue;
        }
        return match (done, new) {
            (Ok(done), None) => Err(EditError {
                pair: 1,
                part: Part::Head,
                cause: half_damaged(done.place.line),
            }),
            (done, _) => done.map(|mut done| {
                done.place.tier = Tier::Copying;
                done
            }),
        };
    }
    Err(failed)
}

fn stretch(
    file: &[u8],
    (head, tail): (Text<'_>, Text<'_>),
    replacement: Text<'_>,
) -> Result<Done, EditError> {
    let content = Content::new(file);
    let head = Search::new(head).cutting_words();
    let tail = Search::new(tail).cutting_words();
    let failed = |part, cause| EditError {
        pair: 1,
        part,
        cause,
    };
    let first = head.find(&content, 0);
    let first = first.map_err(|miss| failed(Part::Head, cause(&content, miss, replacement)))?;
    let last = match tail.find(&content, first.range.end) {
        Err(Miss::Ambiguous(Tier::Indentation, hits)) => {
            as_deep(&content, (&head, &first), (&tail, hits))
        }
        found => found,
    };
    let last = last.and_then(|last| follow_head(&content, (&head, &first), (&tail, last)));
    let last = last.map_err(|miss| failed(Part::Tail, cause(&content, miss, replacement)))?;
    let line = lines::number(file, first.range.start);
    let splice = Splice::stretch(file, (&first, head.body), (&last, tail.body), replacement);
    let done = splice
        .map_err(|doubt| unclear(doubt, line))
        .and_then(|splice| {
            let place = Place {
                tier: first.tier.max(last.tier),
                line,
                adapted: splice.adapted,
            };
            Done::of(file, splice, place, true)
        });
    done.map_err(|cause| failed(Part::Head, cause))
}

/// A tail is indented otherwise than the file in the way in which its head is: a brace further out is another.
fn follow_head(
    content: &Content<'_>,
    (head, first): (&Search<'_>, &Hit),
    (tail, last): (&Search<'_>, Hit),
) -> Result<Hit, Miss> {
    let has_its_own = tail.body.starts_with([' ', '\t']) && last.tier < Tier::Indentation;
    let is_shifted = first.tier == Tier::Indentation && !has_its_own;
    if !is_shifted || !first.is_whole_lines() || !last.is_whole_lines() {
        return Ok(last);
    }
    let from = first.range.end;
    match as_deep(content, (head, first), (tail, vec![last])) {
        Ok(last) => Ok(last),
        Err(_) => match tail.all_of(content, from, Tier::Indentation) {
            hits if hits.is_empty() => Err(Miss::NotFound),
            hits => as_deep(content, (head, first), (tail, hits)),
        },
    }
}

/// Of several places of a tail that is indented otherwise than the file, the one that is indented so in the same way as the
/// head.
fn as_deep(
    content: &Content<'_>,
    (head, first): (&Search<'_>, &Hit),
    (tail, hits): (&Search<'_>, Vec<Hit>),
) -> Result<Hit, Miss> {
    let is_as_deep = |hit: &&Hit| {
        let mut pairs = Judge::new(head, content, first.tier).indentations(first.range.start);
        pairs.extend(Judge::new(tail, content, hit.tier).indentations(hit.range.start));
        !Way::between(&pairs).is_empty()
    };
    let mut deep = match first.tier {
        Tier::Exact | Tier::LineEndings | Tier::Indentation => hits.iter(),
        _ => [].iter(),
    }
    .filter(is_as_deep);
    match (deep.next(), deep.next()) {
        (Some(hit), None) => Ok(tail.settled(content, hit.clone())),
        _ => Err(Miss::Ambiguous(Tier::Indentation, hits)),
    }
}

pub(super) fn cause(content: &Content<'_>, miss: Miss, replacement: Text<'_>) -> Cause {
    match miss {
        Miss::Ambiguous(tier, hits) => Cause::Ambiguous {
            tier,
            lines: line_numbers(content.bytes, &hits),
        },
        Miss::NotFound => Cause::NotFound {
            not_utf8: !content.is_text(),
            applied_at: applied_at(content, replacement),
        },
    }
}

/// The line of the one place where the replacement stands already.
fn applied_at(content: &Content<'_>, replacement: Text<'_>) -> Option<usize> {
    if replacement.is_blank() {
        return None;
    }
    let hit = Search::new(replacement).find(content, 0).ok()?;
    Some(lines::number(content.bytes, hit.range.start))
}
