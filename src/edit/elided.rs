//! Edits with lines that stand for text which is left out, the same in search text and replacement: their parts are found
//! in order, and what stands between them stays.

use super::content::Content;
use super::done::{Done, unclear};
use super::find::line_numbers;
use super::hit::Hit;
use super::search::Search;
use super::splice::Splice;
use super::{Cause, Place, Tier, lines};
use crate::edit::elision::{self, Elision};
use crate::reply::text::{Form, Text};

/// A part with more places than this is nowhere in particular.
const PLACES: usize = 1000;

/// The text between two lines that stand for others, and what comes in its place.
struct Part<'t> {
    search: String,
    new: &'t [&'t str],
    is_changed: bool,
}

/// Carries out an edit whose search text has such lines; `None` where it has none, or where not all of its parts are in
/// the file.
pub(super) fn replace(
    content: &Content<'_>,
    search: Text<'_>,
    replacement: Text<'_>,
) -> Option<Result<Done, Cause>> {
    if search.form == Form::Inline || !content.is_text() {
        return None;
    }
    let (was, new) = (lines_of(search.text), lines_of(replacement.text));
    let (was, new) = (split(&was), split(&new));
    if was.marks.is_empty() {
        return None;
    }
    // A line for others that is indented otherwise would move them.
    if was.marks != new.marks || was.depths != new.depths {
        return Some(Err(Cause::ElisionsDiffer));
    }
    let mut parts = Vec::new();
    for (was, new) in was.parts.into_iter().zip(new.parts) {
        let is_blank = |lines: &[&str]| lines.iter().all(|line| line.trim().is_empty());
        match (is_blank(was), is_blank(new)) {
            (true, true) => {}
            // Nothing says where it goes.
            (true, false) => return Some(Err(Cause::ElisionsDiffer)),
            (false, _) => parts.push(Part {
                search: was.iter().flat_map(|line| [line, "\n"]).collect(),
                new,
                is_changed: was != new,
            }),
        }
    }
    let searches: Vec<Search<'_>> = parts
        .iter()
        .map(|part| Search::new(Text::block(&part.search)))
        .collect();
    let places = searches.iter().map(|search| places(content, search));
    let mut places = places.collect::<Option<Vec<_>>>()?;
    keep_ordered(&mut places);
    if places.iter().any(Vec::is_empty) {
        return None;
    }
    let changed = || {
        let all = parts.iter().zip(&searches).zip(&places);
        all.filter(|((part, _), _)| part.is_changed)
    };
    // Where a part that nothing changes is does not matter.
    if let Some((_, hits)) = changed().find(|(_, hits)| hits.len() > 1) {
        return Some(Err(Cause::Ambiguous {
            tier: Tier::Elision,
            lines: line_numbers(content.bytes, &hits[..hits.len().min(super::PLACES_LIMIT)]),
        }));
    }
    let alone = places.iter().filter(|hits| hits.len() == 1).count() == places.len();
    if alone
        && places
            .windows(2)
            .any(|pair| leaves_block(content.bytes, &pair[0][0], &pair[1][0]))
    {
        return None;
    }
    // What a page did to one part it did to the others.
    let text_of =
        |hit: &Hit| String::from_utf8_lossy(&content.bytes[hit.range.clone()]).into_owned();
    let found = searches.iter().zip(&places);
    let beside: Vec<(String, String)> = found
        .map(|(search, hits)| (search.body.to_owned(), text_of(&hits[0])))
        .collect();
    let splices = changed().map(|((part, search), hits)| {
        let hit = search.settled(content, hits[0].clone());
        let new: String = part.new.iter().flat_map(|line| [line, "\n"]).collect();
        let line = lines::number(content.bytes, hit.range.start);
        let texts = (search.body, Text::block(&new));
        let splice = Splice::tolerant(content.bytes, &hit, texts, &beside);
        splice
            .map_err(|doubt| unclear(doubt, line))
            .map(|splice| (splice, line))
    });
    let splices = splices.collect::<Result<Vec<_>, _>>();
    Some(splices.and_then(|splices| joined(content.bytes, splices)))
}

/// The splices of one file, in order, as one.
fn joined(file: &[u8], splices: Vec<(Splice, usize)>) -> Result<Done, Cause> {
    let mut splices = splices.into_iter();
    let Some((mut all, line)) = splices.next() else {
        return Err(Cause::NothingChanges { at: 1 });
    };
    for (next, _) in splices {
        all.inserted
            .extend_from_slice(&file[all.range.end..next.range.start]);
        all.inserted.extend_from_slice(&next.inserted);
        all.range.end = next.range.end;
        all.adapted = all.adapted.and(next.adapted);
    }
    let place = Place {
        tier: Tier::Elision,
        line,
        adapted: all.adapted,
    };
    Done::of(file, all, place, true)
}

fn places(content: &Content<'_>, search: &Search<'_>) -> Option<Vec<Hit>> {
    let (_, mut hits) = search.all(content, 0, PLACES)?;
    hits.retain(Hit::is_whole_lines);
    (hits.len() < PLACES).then_some(hits)
}

/// Returns whether the text between two parts leaves the block that they are in: the second is then another's.
fn leaves_block(file: &[u8], first: &Hit, second: &Hit) -> bool {
    let depth = |at: usize| lines::indentation(file, at).len();
    let head = depth(lines::start_of(file, first.range.end));
    let below = depth(lines::start_of(file, second.range.start));
    let least = if below > head { head + 1 } else { below };
    let (from, to) = (
        lines::next(file, first.range.end),
        lines::start_of(file, second.range.start),
    );
    let Some(between) = file.get(from..to) else {
        return false;
    };
    lines::contents(between).any(|line| {
        let text = between[line.clone()].trim_ascii();
        let is_bracket = text.first().is_some_and(|b| b"{)]".contains(b));
        !text.is_empty() && !is_bracket && lines::indentation(between, line.start).len() < least
    })
}

/// Leaves the places that have one of each other part before and behind them.
fn keep_ordered(places: &mut [Vec<Hit>]) {
    let mut after = 0;
    for hits in places.iter_mut() {
        hits.retain(|hit| hit.range.start >= after);
        after = hits
            .iter()
            .map(|hit| hit.range.end)
            .min()
            .unwrap_or(usize::MAX);
    }
    let mut before = usize::MAX;
    for hits in places.iter_mut().rev() {
        hits.retain(|hit| hit.range.end <= before);
        before = hits.iter().map(|hit| hit.range.start).max().unwrap_or(0);
    }
}

/// The parts of a text between the lines that stand for others, and those lines.
struct Split<'t> {
    parts: Vec<&'t [&'t str]>,
    marks: Vec<&'t str>,
    depths: Vec<usize>,
}

fn split<'t>(lines: &'t [&'t str]) -> Split<'t> {
    let is_mark = |line: &&str| elision::elision(line).is_some();
    let marks = lines.iter().filter(|line| is_mark(line));
    Split {
        depths: marks
            .map(|line| line.len() - line.trim_start().len())
            .collect(),
        parts: lines.split(is_mark).collect(),
        marks: lines
            .iter()
            .filter(|line| is_mark(line))
            .map(|line| line.trim())
            .collect(),
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
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
            let opens = |above: &str| above.trim_end().ends_with([':']) || is_docstring(above);
            above.is_some_and(opens)
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

fn is_docstring(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with("\"\"\"") || line.ends_with("'''")
}

fn file_lines(file: &[u8]) -> impl Iterator<Item = &str> {
    let lines = lines::contents(file);
    lines.filter_map(|line| std::str::from_utf8(&file[line]).ok())
}
