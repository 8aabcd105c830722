//! What is written where a search text was found otherwise than exactly: the difference between it and the replacement,
//! carried over to the file's text.
//!
//! It is a merge of three texts: the search text is the base, the file's text and the replacement are the two sides.
//! Search text and file have the same visible characters, so the sides can only conflict in white space and typography;
//! there the edit fails. Text of the replacement that is the search text's, to the byte, is the file's, to the byte.
//!
//! | module | question |
//! | --- | --- |
//! | `lines` | which lines are the search text's, in the file? |
//! | `pairing` | which lines of the replacement are lines of the search text, kept or changed? |
//! | `ways`, `indents` | how deep is a line indented in the file? |
//! | `style` | how does the file indent its lines? |
//! | `lost` | was so much indentation lost that nobody knows? |
//! | `words` | what becomes of a changed line, and of the characters of a new one? |
//! | `trails` | and of white space at the ends of lines? |
//! | `blanks` | which blank lines stand between them? |
//! | `inside` | and where the text begins or ends inside a line? |

mod blanks;
mod indents;
mod inside;
mod lines;
mod lost;
mod pairing;
mod style;
mod trails;
mod ways;
mod words;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use self::blanks::Gaps;
use self::indents::Indents;
pub(super) use self::inside::carry_inside;
use self::lines::{Found, Line, Lines};
use self::pairing::Pairing;
use self::style::Style;
use self::trails::Trails;
pub(super) use self::ways::Way;
use self::words::Cure;
use super::lines as file_lines;
use super::{Adapted, Doubt, Indented};

/// A place in a file that a search text was found at.
#[derive(Debug, Clone)]
pub(super) struct Place<'f> {
    pub(super) file: &'f [u8],
    pub(super) range: Range<usize>,
    /// It may begin and end inside lines of the file.
    pub(super) is_inside: bool,
    /// The lines of the search text, from 1, that are not the reply's: they are copied from the file, between a head and a
    /// tail.
    pub(super) copied: Range<usize>,
    /// Other texts of the reply, each with the file's for it: they tell as well what a page did to characters.
    pub(super) beside: &'f [(String, String)],
}

/// A line of the replacement that cannot be carried over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear {
    /// From 1.
    pub(super) line: usize,
    pub(super) doubt: Doubt,
}

/// The text that is written in place of a stretch of the file.
#[derive(Debug)]
pub(super) struct Carried {
    /// The stretch: the place, and blank lines beside it that the replacement knows of.
    pub(super) range: Range<usize>,
    pub(super) text: String,
    pub(super) adapted: Adapted,
}

impl<'f> Place<'f> {
    /// Whole lines of a file.
    pub(super) fn whole(file: &'f [u8], range: Range<usize>) -> Self {
        Self {
            file,
            range,
            is_inside: false,
            copied: 0..0,
            beside: &[],
        }
    }

    fn text(&self) -> &'f str {
        // Every tier compares the search text, which is UTF-8, with all of the place but white space.
        std::str::from_utf8(&self.file[self.range.clone()]).unwrap_or_default()
    }

    /// The indentations of the nearest lines above and below that are not blank.
    fn neighbours(&self) -> (Option<&'f [u8]>, Option<&'f [u8]>) {
        let file = self.file;
        let above = file[..self.range.start].trim_ascii_end().len();
        let above = (above > 0).then(|| file_lines::start_of(file, above));
        let below = file[self.range.end..].iter();
        let below = self.range.end + below.take_while(|b| matches!(b, b'\r' | b'\n')).count();
        let below = (below < file.len() && !file_lines::is_blank_at(file, below)).then_some(below);
        let indentation = |at| file_lines::indentation(file, at);
        (above.map(indentation), below.map(indentation))
    }

    /// Returns whether this line of the search text tells how the reply indents what the file indents.
    fn says_indentation(&self, line: &Line<'_>) -> bool {
        let is_in_a_line = self.is_inside && line.number == 1;
        !is_in_a_line && !self.copied.contains(&line.number)
    }
}

/// Carries over to whole lines of the file what makes the lines `replacement` of the lines `search`. `kept` says which
/// lines of the two are the same, by their indexes, where that is known.
///
/// # Errors
/// Where the text that is to be written cannot be told.
pub(super) fn carry(
    place: &Place<'_>,
    search: &[&str],
    replacement: &[&str],
    kept: Option<&[(usize, usize)]>,
) -> Result<Carried, Unclear> {
    let (mut search, new) = (Lines::of(search), Lines::of(replacement));
    let newline = file_lines::ending_at(place.file, place.range.start);
    let found = Found::cut(place.text(), &search.lines, newline);
    search.lines.truncate(found.lines.len());
    let kept = kept.map(|kept| by_index(kept, &search.lines, &new.lines));
    let pairing = Pairing::of(&search.lines, &new.lines, kept);
    adopt_copied(place, &mut search.lines, &new.lines, &pairing);
    let mut bodies = HashMap::new();
    for (was, is) in search.lines.iter().zip(&found.lines) {
        let body = bodies.entry(was.body).or_insert(Some(is.body));
        if *body != Some(is.body) {
            *body = None;
        }
    }
    let merge = Merge {
        bodies,
        place,
        newline,
        search,
        found,
        new,
        pairing,
    };
    merge.written()
}

/// Pairs of lines, by their indexes in the payloads, as pairs of those that are not blank.
fn by_index(kept: &[(usize, usize)], search: &[Line<'_>], new: &[Line<'_>]) -> Vec<(usize, usize)> {
    let at = |lines: &[Line<'_>], index: usize| {
        lines
            .binary_search_by_key(&(index + 1), |line| line.number)
            .ok()
    };
    let pairs = kept.iter();
    pairs
        .filter_map(|(i, j)| at(search, *i).zip(at(new, *j)))
        .collect()
}

/// Nobody knows how the reply would spell lines that it left out; where the replacement has one of them, it is spelt so.
fn adopt_copied<'t>(
    place: &Place<'_>,
    search: &mut [Line<'t>],
    new: &[Line<'t>],
    pairing: &Pairing,
) {
    for (&j, &i) in &pairing.kept {
        if place.copied.contains(&search[i].number) {
            search[i].body = new[j].body;
            search[i].trail = new[j].trail;
        }
    }
}

struct Merge<'m, 'f, 't> {
    place: &'m Place<'f>,
    newline: &'static str,
    search: Lines<'t>,
    found: Found<'f>,
    new: Lines<'t>,
    pairing: Pairing,
    /// The file's text for each text of the search text, where it is the same in all lines.
    bodies: HashMap<&'t str, Option<&'f str>>,
}

/// A line as it is written.
struct Written<'f> {
    indent: String,
    body: String,
    trail: String,
    eol: &'static str,
    /// It goes on behind the line before it.
    glue: Option<&'f str>,
}

impl<'f, 't> Merge<'_, 'f, 't> {
    fn written(&self) -> Result<Carried, Unclear> {
        let (search, found, new) = (&self.search.lines, &self.found.lines, &self.new.lines);
        let first = new.first().map_or(1, |line| line.number);
        let at = |line: usize| move |doubt| Unclear { line, doubt };
        let indents =
            Indents::of(self.place, (search, found, new), &self.pairing).map_err(at(first))?;
        self.refuse_what_is_lost(&indents)?;
        let cure = Cure::of(self.place, search, found, new, &self.pairing);
        let trails = Trails::of(search, found, new, &self.pairing);
        let mut adapted = Adapted::default();
        let mut written: Vec<Written<'_>> = Vec::with_capacity(new.len());
        let mut style = Style::of(self.place.file);
        let seen: HashSet<&str> = found.iter().map(|line| line.indent).collect();
        for (j, line) in new.iter().enumerate() {
            let done = self.line(j, &indents, &cure, &trails);
            let done = done.map_err(at(line.number))?;
            let is_seen = seen.contains(done.indent.as_str());
            let is_kept = self.pairing.kept.contains_key(&j);
            if !is_seen && !indents.is_literal && done.glue.is_none() {
                let before = written
                    .last()
                    .map(|line| (line.indent.as_str(), line.body.as_str()));
                let is_fine = if is_kept {
                    style.allows_moved(&done.indent)
                } else {
                    style.allows(&done.indent, before)
                };
                if !is_fine {
                    return Err(at(line.number)(Doubt::Indentation));
                }
            }
            adapted.characters |= done.body != line.body;
            if done.indent != line.indent && done.glue.is_none() {
                adapted.indentation = Some(kind_of(indents.ways(), &done.indent));
            }
            written.push(done);
        }
        self.refuse_odd_first(&indents, &written, &mut style)?;
        let (range, blanks) = self.blanks(trails.are_lost);
        Ok(Carried {
            range,
            text: self.text(&written, &blanks),
            adapted,
        })
    }

    /// A new line in the place of a first one that lost its indentation may have lost another.
    fn refuse_odd_first(
        &self,
        indents: &Indents,
        written: &[Written<'_>],
        style: &mut Style<'_>,
    ) -> Result<(), Unclear> {
        let ([first, next, ..], None) = (written, self.pairing.line_of(0)) else {
            return Ok(());
        };
        if !indents.speak_for_first_alone() {
            return Ok(());
        }
        let pair = [first, next].map(|line| (line.indent.clone(), line.body.as_str()));
        let is_deeper = next.indent.len() > first.indent.len();
        if style.oddities(&pair) > 0 || is_deeper && !style::opens(&first.body) {
            return Err(Unclear {
                line: self.new.lines[0].number,
                doubt: Doubt::Indentation,
            });
        }
        Ok(())
    }

    fn line(
        &self,
        j: usize,
        indents: &Indents,
        cure: &Cure<'_>,
        trails: &Trails,
    ) -> Result<Written<'f>, Doubt> {
        let line = &self.new.lines[j];
        // It goes on in a line of the file.
        let is_inside = self.place.is_inside && line.number == 1;
        let Some(i) = self.pairing.line_of(j) else {
            if indents.is_unsure {
                return Err(Doubt::Indentation);
            }
            if self.is_beside_glued(j) {
                return Err(Doubt::WhiteSpace);
            }
            let trail = if trails.are_lost { "" } else { line.trail };
            let indent = if is_inside {
                String::new()
            } else {
                indents.lead(line.indent, j == 0)?
            };
            return Ok(Written {
                indent,
                body: self.new_body(line, cure)?,
                trail: trail.to_owned(),
                eol: self.newline,
                glue: None,
            });
        };
        let (was, is) = (&self.search.lines[i], &self.found.lines[i]);
        let body = words::merge(was.body, is.body, line.body, cure)?;
        let begins = is.glue.is_none();
        let is_copied = self.place.copied.contains(&was.number);
        let stays = line.indent == was.indent && !indents.is_literal && !is_copied;
        // A line that comes to be the first may have lost its indentation as the first one did.
        let is_lost = j == 0 && i > 0 && line.indent.is_empty() && indents.speak_for_first_alone();
        let indent = if is_inside {
            String::new()
        } else if begins && (is_lost || stays) {
            is.indent.to_owned()
        } else if begins && was.indent == is.indent && indents.is_unsure {
            line.indent.to_owned()
        } else {
            indents.lead(line.indent, j == 0)?
        };
        let trail = match (trails.are_own, line.trail == was.trail) {
            (false, true) => is.trail,
            (false, false) if trails.are_lost && !line.trail.is_empty() => is.trail,
            _ => line.trail,
        };
        let goes_on = i > 0
            && j > 0
            && self.pairing.line_of(j - 1) == Some(i - 1)
            && line.indent == was.indent
            && line.blanks.len() == was.blanks.len();
        Ok(Written {
            indent,
            body,
            trail: trail.to_owned(),
            eol: is.eol,
            glue: is.glue.filter(|_| goes_on),
        })
    }

    /// Returns whether a new line is to follow, as deep as it, a line that the file has behind the head of its block.
    fn is_beside_glued(&self, j: usize) -> bool {
        let before = j
            .checked_sub(1)
            .and_then(|before| self.pairing.line_of(before));
        let Some(before) = before.filter(|i| self.found.lines[*i].glue.is_some()) else {
            return false;
        };
        let search = &self.search.lines;
        search[before].indent == self.new.lines[j].indent
            && search[..before]
                .last()
                .is_some_and(|head| head.indent.len() < search[before].indent.len())
    }

    /// A line that the search text has elsewhere was moved, and is the file's.
    fn new_body(&self, line: &Line<'_>, cure: &Cure<'_>) -> Result<String, Doubt> {
        match self.bodies.get(line.body) {
            Some(Some(body)) => Ok((*body).to_owned()),
            _ => {
                cure.check(line.body)?;
                cure.apply(line.body)
            }
        }
    }

    /// The stretch that is written anew, and the blank lines before each line and behind the last.
    fn blanks(&self, are_bare: bool) -> (Range<usize>, Vec<Vec<&str>>) {
        let (searched, new) = (self.search.gaps(), self.new.gaps());
        let mut found = self.found.gaps();
        let mut range = self.place.range.clone();
        let end = (self.new.lines.len(), self.search.lines.len());
        let mut pairs = self.pairing.in_order();
        pairs.push(end);
        // Where the search text has other blank lines, the replacement may have them as the file does.
        let before = |j: usize| j.checked_sub(1).and_then(|j| self.pairing.line_of(j));
        let neighbours = pairs.iter().filter(|(j, i)| {
            before(*j) == i.checked_sub(1) && searched[*i].len() != found[*i].len()
        });
        let lost: Vec<_> = neighbours
            .map(|(j, i)| found[*i].len() == new[*j].len())
            .collect();
        let is_own = !lost.is_empty() && lost.iter().all(|is_same| *is_same);
        if is_own && !self.place.is_inside {
            self.take_in_edges(&mut range, &mut found, &new);
        }
        let (mut i0, mut j0, mut blanks) = (0, 0, Vec::with_capacity(new.len()));
        for (j, i) in pairs {
            let gaps = Gaps {
                search: &searched[i0..=i],
                file: &found[i0..=i],
                replacement: &new[j0..=j],
                is_start: (j0, i0) == (0, 0),
                is_end: (j, i) == end,
            };
            blanks.extend(gaps.merged(is_own, are_bare));
            (i0, j0) = (i + 1, j + 1);
        }
        (range, blanks)
    }

    /// Then those at the edges are the file's own, too.
    fn take_in_edges(&self, range: &mut Range<usize>, found: &mut [Vec<&str>], new: &[Vec<&str>]) {
        let file = self.place.file;
        let (Some(first), Some(last)) = (new.first(), new.last()) else {
            return;
        };
        while first.len() > found[0].len() && range.start > 0 {
            let above = file_lines::start_of(file, range.start - 1);
            if !file_lines::is_blank_at(file, above) {
                break;
            }
            range.start = above;
            found[0].insert(0, "");
        }
        let end = found.len() - 1;
        while last.len() > found[end].len() && file_lines::is_blank_at(file, range.end) {
            range.end = file_lines::next(file, range.end);
            found[end].push("");
        }
    }

    fn text(&self, lines: &[Written<'_>], blanks: &[Vec<&str>]) -> String {
        let mut text = String::new();
        let mut last = self.newline;
        for (line, blanks) in lines.iter().zip(blanks) {
            if let Some(glue) = line.glue {
                text.truncate(text.len() - last.len());
                text += glue;
            } else {
                for blank in blanks {
                    text += blank;
                    text += line.eol;
                }
                text += &line.indent;
            }
            text += &line.body;
            text += &line.trail;
            text += line.eol;
            last = line.eol;
        }
        for blank in blanks.last().into_iter().flatten() {
            text += blank;
            text += last;
        }
        if !self.found.is_closed && text.ends_with(last) {
            text.truncate(text.len() - last.len());
        }
        text
    }
}

/// Names the way in which an indentation differs from the replacement's.
fn kind_of(ways: &[Way], indent: &str) -> Indented {
    let respelt = |way: &Way| matches!(way, Way::Tabs { .. } | Way::Spaces { .. });
    if !ways.iter().any(respelt) {
        Indented::AsThere
    } else if indent.contains('\t') {
        Indented::WithTabs
    } else {
        Indented::WithSpaces
    }
}
