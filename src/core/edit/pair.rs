//! Carries out one pair of search text and replacement, or one stretch between a head and a tail.

use super::carry::Reindent;
use super::copying::{self, Undone};
use super::find::{Miss, line_numbers};
use super::hit::{Hit, Judge};
use super::search::Search;
use super::searched_file::SearchedFile;
use super::splice::Splice;
use super::{Doubt, EditCause, EditError, EditPart, EditedFile, PLACES_LIMIT, Tier, elided, lines};
use crate::reply::dialects::block::is_fence;
use crate::reply::text::Text;

/// Replaces a text where it stands once, or of several places in the one that starts on `line`.
pub(super) fn replace(
    file: EditedFile<'_>,
    search: Text<'_>,
    replacement: Text<'_>,
    line: Option<usize>,
) -> Result<Splice, EditCause> {
    stays_inside(file, replace_anywhere(file, search, replacement, line)?)
}

/// Refuses to change more than the part of a file that may be changed, as blank lines beside a place could be.
fn stays_inside(file: EditedFile<'_>, splice: Splice) -> Result<Splice, EditCause> {
    let within = file.within();
    if within.start <= splice.range.start && splice.range.end <= within.end {
        return Ok(splice);
    }
    Err(EditCause::NotFound {
        not_utf8: false,
        applied_at: None,
    })
}

fn replace_anywhere(
    file: EditedFile<'_>,
    search: Text<'_>,
    replacement: Text<'_>,
    line: Option<usize>,
) -> Result<Splice, EditCause> {
    let content = SearchedFile::new(file);
    let file = file.bytes;
    let searched = Search {
        line,
        ..Search::new(search)
    };
    match searched.find(&content, 0) {
        Ok(hit) => return at(file, &hit, search, replacement),
        Err(Miss::NotFound) => {}
        Err(miss) => return Err(cause(&content, miss, replacement)),
    }
    let undone = copying::undone(&[search.text], replacement.text);
    replace_undone(&content, search, replacement, line, &undone)
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
fn at(
    file: &[u8],
    hit: &Hit,
    search: Text<'_>,
    replacement: Text<'_>,
) -> Result<Splice, EditCause> {
    let splice = Splice::one(file, hit, Search::new(search).body, replacement)?;
    if search.text == replacement.text {
        return Ok(splice);
    }
    splice.refuse_nothing(file)
}

/// Replaces a text that was damaged as a whole; `None` where it is not found without the damage either.
fn replace_undone(
    content: &SearchedFile<'_>,
    search: Text<'_>,
    replacement: Text<'_>,
    line: Option<usize>,
    undone: &[Undone],
) -> Option<Result<Splice, EditCause>> {
    let file = content.bytes;
    for undone in undone {
        let was = search.with(&undone.searches[0]);
        let searched = Search {
            line,
            ..Search::new(was)
        };
        let hit = match numbered(content, searched, undone.number) {
            Err(Miss::NotFound) => continue,
            Err(miss) => return Some(Err(cause(content, miss, replacement))),
            Ok(hit) => hit,
        };
        let new = undone.replacement.as_ref();
        let new = new.filter(|_| !undone.is_fenced_alone || !is_fenced(file, &hit, search));
        let Some(new) = new else {
            return Some(Err(half_damaged(lines::number(file, hit.range.start))));
        };
        let hit = Hit {
            tier: Tier::Copying,
            ..hit
        };
        return Some(at(file, &hit, was, replacement.with(new)));
    }
    None
}

/// The place where a text stands; of several, the one on the line whose number stood before the text.
fn numbered(
    content: &SearchedFile<'_>,
    search: Search<'_>,
    number: Option<usize>,
) -> Result<Hit, Miss> {
    match (search.find(content, 0), number) {
        (Err(Miss::Ambiguous(tier, hits)), Some(number)) => {
            let lines = line_numbers(content.bytes, &hits);
            let text = search.body.trim_start();
            let before = &search.body[..search.body.len() - text.len()];
            let blanks = before.matches('\n').count();
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
            let first = search.body.lines().next().unwrap_or_default().trim();
            let there = lines::contents(content.bytes).nth(number.saturating_sub(1));
            let is_named = there.is_some_and(|there| {
                String::from_utf8_lossy(&content.bytes[there]).trim() == first
            });
            if line != number && is_named && !first.is_empty() {
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
        is_fence(&line) && line.trim().as_bytes().first() == mark
    };
    let start = lines::start_of(file, hit.range.start);
    let end = lines::next(file, hit.range.end);
    start > 0 && is_fence(lines::start_of(file, start - 1)) || end < file.len() && is_fence(end)
}

/// The failure of an edit found at a line of the file whose replacement is damaged only in part.
fn half_damaged(at: usize) -> EditCause {
    EditCause::Unclear {
        line: 1,
        at,
        doubt: Doubt::HalfDamaged,
    }
}

/// Replaces the text from the one place of a head to the one place of a tail behind it.
pub(super) fn replace_stretch(
    file: EditedFile<'_>,
    head: Text<'_>,
    tail: Text<'_>,
    replacement: Text<'_>,
) -> Result<Splice, EditError> {
    let is_missing = |error: &EditError| matches!(error.cause, EditCause::NotFound { .. });
    let failed = match stretch(file, head, tail, replacement) {
        Err(error) if is_missing(&error) => error,
        done => return done,
    };
    for undone in copying::undone(&[head.text, tail.text], replacement.text) {
        let (head, tail) = (
            head.with(&undone.searches[0]),
            tail.with(&undone.searches[1]),
        );
        let new = undone.replacement.as_deref();
        let new_text = new.map_or(replacement, |new| replacement.with(new));
        let mut splice = match stretch(file, head, tail, new_text) {
            Err(error) if is_missing(&error) => continue,
            done => done?,
        };
        if new.is_none() {
            return Err(half_damaged(splice.applied.line).in_part(EditPart::Head));
        }
        splice.applied.tier = Tier::Copying;
        return Ok(splice);
    }
    Err(failed)
}

fn stretch(
    file: EditedFile<'_>,
    head: Text<'_>,
    tail: Text<'_>,
    replacement: Text<'_>,
) -> Result<Splice, EditError> {
    let content = SearchedFile::new(file);
    let (part, file) = (file, file.bytes);
    let failed = |part, miss| cause(&content, miss, replacement).in_part(part);
    // A head or tail may cut words in either form.
    let [head, tail] = [head, tail].map(|text| Search {
        may_cut: true,
        ..Search::new(text)
    });
    let first = head.find(&content, 0);
    let first = first.map_err(|miss| failed(EditPart::Head, miss))?;
    let last = match tail.find(&content, first.range.end) {
        Err(Miss::Ambiguous(Tier::Indentation, hits)) => {
            as_deep(&content, &head, &first, &tail, hits)
        }
        found => found,
    };
    let last = last.and_then(|last| follow_head(&content, &head, &first, &tail, last));
    let last = last.map_err(|miss| failed(EditPart::Tail, miss))?;
    Splice::stretch(file, &first, head.body, &last, tail.body, replacement)
        .and_then(|splice| splice.refuse_nothing(file))
        .and_then(|splice| stays_inside(part, splice))
        .map_err(|cause| cause.in_part(EditPart::Head))
}

/// The place of a tail that is shifted as its head is: a brace further out is another.
fn follow_head(
    content: &SearchedFile<'_>,
    head: &Search<'_>,
    first: &Hit,
    tail: &Search<'_>,
    last: Hit,
) -> Result<Hit, Miss> {
    let has_its_own = tail.body.starts_with([' ', '\t']) && last.tier < Tier::Indentation;
    let is_shifted = first.tier == Tier::Indentation && !has_its_own;
    if !is_shifted || !first.is_whole_lines() || !last.is_whole_lines() {
        return Ok(last);
    }
    as_deep(content, head, first, tail, vec![last]).or_else(|_| {
        let hits = tail.hits(content, Tier::Indentation, first.range.end, PLACES_LIMIT);
        if hits.is_empty() {
            return Err(Miss::NotFound);
        }
        as_deep(content, head, first, tail, hits)
    })
}

/// Chooses, of several places of a tail that is shifted, the only one that is shifted as the head is.
fn as_deep(
    content: &SearchedFile<'_>,
    head: &Search<'_>,
    first: &Hit,
    tail: &Search<'_>,
    hits: Vec<Hit>,
) -> Result<Hit, Miss> {
    let of_head = Judge::new(head, content, first.tier);
    let is_as_deep = |hit: &&Hit| {
        let of_tail = Judge::new(tail, content, hit.tier);
        let pairs = of_head.indentations(first.range.start);
        let pairs = pairs.chain(of_tail.indentations(hit.range.start));
        let may_be = first.tier <= Tier::Indentation;
        may_be && !Reindent::between(&pairs.collect::<Vec<_>>()).is_empty()
    };
    let mut deep = hits.iter().filter(is_as_deep);
    match (deep.next(), deep.next()) {
        (Some(hit), None) => Ok(tail.settled(content, hit.clone())),
        _ => Err(Miss::Ambiguous(Tier::Indentation, hits)),
    }
}

/// The failure of an edit whose text was not found once.
pub(super) fn cause(content: &SearchedFile<'_>, miss: Miss, replacement: Text<'_>) -> EditCause {
    match miss {
        Miss::Ambiguous(tier, hits) => EditCause::Ambiguous {
            tier,
            lines: line_numbers(content.bytes, &hits),
        },
        Miss::NotFound => EditCause::NotFound {
            not_utf8: !content.is_text(),
            applied_at: applied_at(content, replacement),
        },
    }
}

/// The line of the one place where the replacement stands already.
fn applied_at(content: &SearchedFile<'_>, replacement: Text<'_>) -> Option<usize> {
    if replacement.is_blank() {
        return None;
    }
    let hit = Search::new(replacement).find(content, 0).ok()?;
    Some(lines::number(content.bytes, hit.range.start))
}
