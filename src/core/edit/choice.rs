//! Lists the places at which the user may have a failed edit carried out: those of a text that stands in several, and the
//! only one that differs from it in nothing but lines which the replacement keeps. Chooses none of them.

use std::ops::Range;

use super::{Edit, EditCause, EditError, EditPart, Edited, EditedFile, apply, pair, without_bom};
use crate::reply::record::{Key, Seed, Spot};
use crate::reply::text::Text;
use crate::text::diff::{DiffOp, changes};

/// Of more places than that nobody chooses.
const MOST: usize = 5;
/// The number of lines above and below a place that tell it from others, where no more are needed.
const AROUND: usize = 3;
/// The limit of what is compared to find the place that is like a text: lines of the file times lines of the text.
const COMPARED: usize = 20_000_000;

/// A place that the user may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub spot: Spot,
    /// Its lines, counted from 1; the last is among them.
    pub first: usize,
    pub last: usize,
    /// Its lines that differ from the search text, which has others there; none where it is one of several.
    pub others: Vec<Other>,
    /// The definition that it is in, or the nearest line above with less indentation.
    pub within: Option<String>,
}

/// A line of a file in the place of one of a search text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Counted from 1.
    pub line: usize,
    pub searched: String,
    pub there: String,
}

/// The places at which an edit of one pair that fails could be carried out; none where it does not fail, or for another
/// reason.
pub fn choices<'f>(file: impl Into<EditedFile<'f>>, edit: &Edit<'_>) -> Vec<Choice> {
    let file = file.into();
    let (Some(pair), Ok(text), Err(errors)) = (
        only_pair(edit),
        std::str::from_utf8(without_bom(file.bytes)),
        apply(file, edit),
    ) else {
        return Vec::new();
    };
    let starts = starts(&errors, pair, text, file);
    let is_once = |line: &usize| starts.iter().filter(|other| *other == line).count() == 1;
    if starts.len() > MOST || !starts.iter().all(is_once) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let places = starts.iter().map(|line| range(*line, pair.0));
    let places: Vec<Range<usize>> = places.collect();
    let around = distinct(&lines, &places);
    let choice = |place: &Range<usize>| {
        let line = place.start + 1;
        apply_at(file, edit, line).ok()?;
        let is_only = starts.len() == 1;
        let like = is_only.then(|| like(text, pair.0, pair.1)).flatten();
        let like = like.filter(|like| like.first == place.start);
        Some(Choice {
            spot: Spot {
                line,
                around,
                key: key(&lines, place, around),
            },
            first: line,
            last: place.end.min(lines.len()).max(line),
            others: like.map(|like| like.others).unwrap_or_default(),
            within: within(&lines, place.start),
        })
    };
    places.iter().filter_map(choice).collect()
}

/// Carries out an edit of one pair at the place that starts on this line, counted from 1.
///
/// # Errors
/// As [`apply`], also where no such place is there.
pub fn apply_at<'f>(
    file: impl Into<EditedFile<'f>>,
    edit: &Edit<'_>,
    line: usize,
) -> Result<Edited<'f>, Vec<EditError>> {
    let file = file.into();
    let Some((search, replacement)) = only_pair(edit) else {
        return apply(file, edit);
    };
    super::refuse_blank(edit)?;
    let content = file.without_bom();
    let mut done = pair::replace(content, search, replacement, Some(line));
    if let Err(EditCause::NotFound { .. }) = done
        && let Ok(text) = std::str::from_utf8(content.bytes)
        && let Some(like) = like(text, search, replacement)
        && like.first + 1 == line
        && is_inside(file, line)
    {
        let (search, replacement) = (
            search.with(&like.adjusted),
            replacement.with(&like.replacement),
        );
        done = pair::replace(content, search, replacement, Some(line));
    }
    done.map(|splice| Edited::by(splice, file.bytes))
        .map_err(|cause| vec![cause.in_part(EditPart::Search)])
}

/// The line where a place is now that was offered; `None` where it is not there as it was, or not only once.
pub fn line_of<'f>(file: impl Into<EditedFile<'f>>, edit: &Edit<'_>, spot: &Spot) -> Option<usize> {
    let file = file.into();
    let pair = only_pair(edit)?;
    let text = std::str::from_utf8(without_bom(file.bytes)).ok()?;
    let starts = match apply(file, edit) {
        Ok(edited) => edited.places.iter().map(|place| place.line).collect(),
        Err(errors) => starts(&errors, pair, text, file),
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut same = starts.into_iter().filter(|line| {
        let place = range(*line, pair.0);
        key(&lines, &place, spot.around) == spot.key
    });
    same.next().filter(|_| same.next().is_none())
}

fn only_pair<'e>(edit: &Edit<'e>) -> Option<(Text<'e>, Text<'e>)> {
    match edit {
        Edit::Pairs(pairs) => <[_; 1]>::try_from(pairs.as_slice()).ok().map(|[pair]| pair),
        Edit::Stretch { .. } | Edit::Hunks(_) => None,
    }
}

/// The lines where the places start that an edit which failed so could mean.
fn starts(
    errors: &[EditError],
    pair: (Text<'_>, Text<'_>),
    text: &str,
    file: EditedFile<'_>,
) -> Vec<usize> {
    let [EditError { cause, .. }] = errors else {
        return Vec::new();
    };
    match cause {
        EditCause::Ambiguous { lines, .. } => lines.clone(),
        EditCause::NotFound {
            applied_at: None, ..
        } => {
            let like = like(text, pair.0, pair.1).map(|like| like.first + 1);
            like.into_iter()
                .filter(|line| is_inside(file, *line))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// True if a line, counted from 1, is in the part of a file that may be changed.
fn is_inside(file: EditedFile<'_>, line: usize) -> bool {
    let (first, last) = file.lines();
    (first..=last).contains(&line)
}

/// The lines from 0 of a place that starts on a line from 1.
fn range(line: usize, search: Text<'_>) -> Range<usize> {
    let count = search.text.lines().count().max(1);
    line - 1..line - 1 + count
}

/// The number of lines around these places that tells each from the others.
fn distinct(lines: &[&str], places: &[Range<usize>]) -> usize {
    let mut around = AROUND;
    while around < lines.len() {
        let mut keys: Vec<Key> = places.iter().map(|it| key(lines, it, around)).collect();
        keys.sort();
        keys.dedup();
        if keys.len() == places.len() {
            break;
        }
        around *= 2;
    }
    around
}

/// The key of what stands at a place and around it.
fn key(lines: &[&str], place: &Range<usize>, around: usize) -> Key {
    let from = place.start.saturating_sub(around);
    let to = (place.end + around).min(lines.len());
    let above = place.start - from;
    let text = lines.get(from..to).unwrap_or_default().join("\n");
    Seed(0, 0).key(&format!("{above}\n{text}"))
}

/// The nearest line above one, from 0, that is indented less and says something.
fn within(lines: &[&str], start: usize) -> Option<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let first = lines
        .get(start..)?
        .iter()
        .find(|line| !line.trim().is_empty())?;
    let outer = lines[..start]
        .iter()
        .rev()
        .find(|line| depth(line) < depth(first) && line.chars().any(char::is_alphanumeric));
    outer.map(|line| line.trim().to_owned())
}

/// The place that is like a search text, and the pair that is right there.
struct Like {
    /// Its first line, from 0.
    first: usize,
    /// The lines of the search text that have others in their place.
    others: Vec<Other>,
    /// The search text as it is there, and the replacement that goes with it.
    adjusted: String,
    replacement: String,
}

/// The only place like a search text: what differs are lines that the replacement keeps, and at least two lines and half of
/// all are there as they are.
fn like(text: &str, search: Text<'_>, replacement: Text<'_>) -> Option<Like> {
    let lines: Vec<&str> = text.lines().collect();
    let (searched, end) = lines_of(search.text);
    let (replaced, replaced_end) = lines_of(replacement.text);
    if searched.len() < 3 || searched.len().saturating_mul(lines.len()) > COMPARED {
        return None;
    }
    let kept = kept(&searched, &replaced);
    let trimmed: Vec<&str> = searched.iter().map(|line| line.trim()).collect();
    let present: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let mut like = present
        .windows(searched.len())
        .enumerate()
        .filter_map(|(first, there)| {
            let mut others = Vec::new();
            for (at, (searched, there)) in trimmed.iter().zip(there).enumerate() {
                if searched != there {
                    kept[at]?;
                    others.push(at);
                }
            }
            is_enough(&trimmed, &others).then_some((first, others))
        });
    let (first, others) = like.next().filter(|_| like.next().is_none())?;
    let is_same = |at: &usize| others.contains(at) || searched[*at] == lines[first + at];
    let is_exact = (0..searched.len()).all(|at| is_same(&at));
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    let (mut adjusted, mut replaced): (Vec<String>, Vec<String>) =
        (owned(&searched), owned(&replaced));
    for &at in &others {
        let (wanted, mut there) = (searched[at], lines[first + at].to_owned());
        if !is_exact {
            // It is to be indented as the lines around it are, and that is told by those of the search text.
            let depth = wanted.len() - wanted.trim_start().len();
            there = wanted[..depth].to_owned() + there.trim();
        }
        replaced[kept[at]?].clone_from(&there);
        adjusted[at] = there;
    }
    let others = others.into_iter().map(|at| Other {
        line: first + at + 1,
        searched: searched[at].to_owned(),
        there: lines[first + at].to_owned(),
    });
    Some(Like {
        first,
        others: others.collect(),
        adjusted: adjusted.join("\n") + end,
        replacement: replaced.join("\n") + replaced_end,
    })
}

/// True if enough of a text is there where these lines are not.
fn is_enough(searched: &[&str], others: &[usize]) -> bool {
    let says = |at: &usize| !others.contains(at) && !searched[*at].is_empty();
    let found = searched.len() - others.len();
    !others.is_empty()
        && 2 * found >= searched.len()
        && (0..searched.len()).filter(says).count() >= 2
}

/// For each line of a search text, the line of the replacement that is the same one. `None` where that cannot be told, as
/// another line that reads the same is not kept beside it.
fn kept(searched: &[&str], replaced: &[&str]) -> Vec<Option<usize>> {
    let mut kept = vec![None; searched.len()];
    for change in changes(searched, replaced) {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = change
        {
            for at in 0..len {
                kept[old_index + at] = Some(new_index + at);
            }
        }
    }
    let sure = |at: usize| {
        let is_same = |line: &str| line == searched[at];
        let ours = (0..searched.len()).filter(|at| is_same(searched[*at]));
        let theirs = (0..replaced.len()).filter(|at| is_same(replaced[*at]));
        kept[at].filter(|_| ours.map(|at| kept[at]).eq(theirs.map(Some)))
    };
    (0..searched.len()).map(sure).collect()
}

/// The lines of a text, and what ends the last of them.
fn lines_of(text: &str) -> (Vec<&str>, &'static str) {
    match text.strip_suffix('\n') {
        _ if text.is_empty() => (Vec::new(), ""),
        Some(body) => (body.split('\n').collect(), "\n"),
        None => (text.split('\n').collect(), ""),
    }
}
