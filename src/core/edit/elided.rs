//! Carries out edits with lines that stand for text which is left out, the same in search text and replacement: finds
//! their parts in order, and leaves what stands between them.

use super::find::line_numbers;
use super::hit::Hit;
use super::search::Search;
use super::searched_file::SearchedFile;
use super::splice::Splice;
use super::{EditCause, Tier, lines};
use crate::edit::elision::{self, Elision};
use crate::reply::text::{Form, Text};

/// A part with more places than this is nowhere in particular.
const PLACES: usize = 1000;

/// The text between two lines that stand for others, and what comes in its place.
struct ElidedPart {
    search: String,
    new: String,
    is_changed: bool,
}

/// Carries out an edit whose search text has such lines; `None` where it has none, or where not all of its parts are in
/// the file.
pub(super) fn replace(
    content: &SearchedFile<'_>,
    search: Text<'_>,
    replacement: Text<'_>,
) -> Option<Result<Splice, EditCause>> {
    if search.form == Form::Inline || !content.is_text() {
        return None;
    }
    if !search.text.lines().any(is_mark) {
        return None;
    }
    let Some(parts) = parts(search.text, replacement.text) else {
        return Some(Err(EditCause::ElisionsDiffer));
    };
    let searches = parts
        .iter()
        .map(|part| Search::new(Text::block(&part.search)));
    let searches: Vec<Search<'_>> = searches.collect();
    let places = ordered_places(content, &searches)?;
    let found = || parts.iter().zip(&searches).zip(&places);
    let changed = || found().filter(|((part, _), _)| part.is_changed);
    // The place of a part that nothing changes does not matter.
    if let Some((_, hits)) = changed().find(|(_, hits)| hits.len() > 1) {
        return Some(Err(EditCause::Ambiguous {
            tier: Tier::Elision,
            lines: line_numbers(content.bytes, &hits[..hits.len().min(super::PLACES_LIMIT)]),
        }));
    }
    let mut beside_each_other = places.windows(2);
    if places.iter().all(|hits| hits.len() == 1)
        && beside_each_other.any(|pair| leaves_block(content.bytes, &pair[0][0], &pair[1][0]))
    {
        return None;
    }
    // What a page did to one part it did to the others.
    let text_of = |hit: &Hit| String::from_utf8_lossy(&content.bytes[hit.range.clone()]).into();
    let beside = found().map(|((_, search), hits)| (search.body.to_owned(), text_of(&hits[0])));
    let beside: Vec<(String, String)> = beside.collect();
    let splices = changed().map(|((part, search), hits)| {
        let hit = search.settled(content, hits[0].clone());
        let new = Text::block(&part.new);
        Splice::tolerant(content.bytes, &hit, search.body, new, &beside)
    });
    let splices = splices.collect::<Result<Vec<_>, _>>();
    Some(splices.and_then(|splices| joined(content.bytes, splices)))
}

/// The parts of a search text that say anything, each with what comes in its place; `None` where the two do not leave out
/// the same. A line for others that is indented otherwise would move them.
fn parts(search: &str, replacement: &str) -> Option<Vec<ElidedPart>> {
    let [search, replacement] = [search, replacement].map(|text| text.lines().collect::<Vec<_>>());
    let marks = |lines: &[&str]| -> Vec<(usize, String)> {
        let marks = lines.iter().filter(|line| is_mark(line));
        let mark = |line: &&str| (line.len() - line.trim_start().len(), line.trim().to_owned());
        marks.map(mark).collect()
    };
    if marks(&search) != marks(&replacement) {
        return None;
    }
    let is_blank = |lines: &[&str]| lines.iter().all(|line| line.trim().is_empty());
    let text = |lines: &[&str]| lines.iter().flat_map(|line| [line, "\n"]).collect();
    let split = |line: &&str| is_mark(line);
    let mut parts = Vec::new();
    for (was, new) in search.split(split).zip(replacement.split(split)) {
        if !is_blank(was) {
            parts.push(ElidedPart {
                search: text(was),
                new: text(new),
                is_changed: was != new,
            });
        } else if !is_blank(new) {
            // Nothing says where it goes.
            return None;
        }
    }
    Some(parts)
}

fn is_mark(line: &str) -> bool {
    elision::elision(line).is_some()
}

/// The splices of one file, in order, as one.
fn joined(file: &[u8], splices: Vec<Splice>) -> Result<Splice, EditCause> {
    let joined = splices.into_iter().reduce(|mut all, next| {
        let between = &file[all.range.end..next.range.start];
        all.inserted.extend_from_slice(between);
        all.inserted.extend_from_slice(&next.inserted);
        all.range.end = next.range.end;
        all.applied.adapted = all.applied.adapted.and(next.applied.adapted);
        all
    });
    let mut joined = joined.ok_or(EditCause::NothingChanges { at: 1 })?;
    joined.applied.tier = Tier::Elision;
    joined.refuse_nothing(file)
}

/// The places of each part that stand in the order of the parts; `None` if a part has none, or far too many.
fn ordered_places(content: &SearchedFile<'_>, searches: &[Search<'_>]) -> Option<Vec<Vec<Hit>>> {
    let places = searches.iter().map(|search| {
        let (_, mut hits) = search.all(content, 0, PLACES)?;
        hits.retain(Hit::is_whole_lines);
        (hits.len() < PLACES).then_some(hits)
    });
    let mut places = places.collect::<Option<Vec<_>>>()?;
    let mut after = 0;
    for hits in &mut places {
        hits.retain(|hit| hit.range.start >= after);
        after = hits.iter().map(|hit| hit.range.end).min()?;
    }
    let mut before = usize::MAX;
    for hits in places.iter_mut().rev() {
        hits.retain(|hit| hit.range.end <= before);
        before = hits.iter().map(|hit| hit.range.start).max()?;
    }
    Some(places)
}

/// Returns whether the text between two parts leaves the block that they are in: the second is then another's.
fn leaves_block(file: &[u8], first: &Hit, second: &Hit) -> bool {
    let depth = |at: usize| lines::indentation(file, at).len();
    let head = depth(lines::start_of(file, first.range.end));
    let below = depth(lines::start_of(file, second.range.start));
    let least = if below > head { head + 1 } else { below };
    let from = lines::next(file, first.range.end);
    let Some(between) = file.get(from..lines::start_of(file, second.range.start)) else {
        return false;
    };
    lines::contents(between).any(|line| {
        let text = between[line.clone()].trim_ascii();
        let is_bracket = text.first().is_some_and(|b| b"{)]".contains(b));
        !text.is_empty() && !is_bracket && lines::indentation(between, line.start).len() < least
    })
}

/// The first line of a replacement, from 1, that stands for text which is left out, where neither the search text nor
/// the file has any such line.
pub(super) fn left_out(file: &[u8], search: &str, replacement: Text<'_>) -> Option<usize> {
    let stands = |line: &str| elision::elision(line);
    if replacement.is_whole || search.lines().any(|line| stands(line).is_some()) {
        return None;
    }
    let mut above: Option<&str> = None;
    for (index, line) in replacement.text.lines().enumerate() {
        let is_meant = || {
            // The body of a function, a docstring, or dots that the file uses elsewhere, too.
            let ends = [":", "\"\"\"", "'''"];
            above.is_some_and(|above| ends.iter().any(|end| above.trim_end().ends_with(end)))
                || file_lines(file).any(|line| stands(line) == Some(Elision::Bare))
        };
        let is_left_out = match stands(line) {
            None => false,
            Some(Elision::Said) => true,
            Some(Elision::Bare) => !is_meant(),
        };
        if is_left_out && !file_lines(file).any(|its| its.trim() == line.trim()) {
            return Some(index + 1);
        }
        if !line.trim().is_empty() {
            above = Some(line);
        }
    }
    None
}

fn file_lines(file: &[u8]) -> impl Iterator<Item = &str> {
    let lines = lines::contents(file);
    lines.filter_map(|line| std::str::from_utf8(&file[line]).ok())
}
