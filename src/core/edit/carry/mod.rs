//! Works out what is written where a search text was found otherwise than exactly: the difference between it and the
//! replacement, carried over to the file's text.
//!
//! It is a merge of three texts: the search text is the base, the file's text and the replacement are the two sides.
//! Search text and file have the same visible characters, so the sides can only conflict in white space and typography;
//! there the edit fails. Text of the replacement that is the search text's, to the byte, is the file's, to the byte.
//!
//! | module | question |
//! | --- | --- |
//! | `lines` | which lines are the search text's, in the file? |
//! | `pairing` | which lines of the replacement are lines of the search text, kept or changed? |
//! | `reindent`, `indents` | how deep is a line indented in the file? |
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
mod reindent;
mod style;
mod trails;
mod words;

use std::cell::LazyCell;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;

use self::blanks::Gaps;
use self::indents::Indents;
pub(super) use self::indents::smallest_step;
pub(super) use self::inside::carry_inside;
use self::lines::{FoundLines, PayloadLine, PayloadLines};
use self::pairing::Pairing;
pub(super) use self::reindent::Reindent;
use self::style::Style;
use self::trails::Trails;
use self::words::Cure;
use super::lines as file_lines;
use super::{Adapted, Doubt, EditCause, Indented};

/// A place in a file that a search text was found at.
#[derive(Debug, Clone)]
pub(super) struct Matched<'f> {
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

impl Unclear {
    /// The failure of the edit at a line of the file.
    pub(super) fn at(self, at: usize) -> EditCause {
        EditCause::Unclear {
            line: self.line,
            at,
            doubt: self.doubt,
        }
    }
}

impl<'f> Matched<'f> {
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
    fn neighbours(&self) -> (Option<&'f str>, Option<&'f str>) {
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
    fn says_indentation(&self, line: &PayloadLine<'_>) -> bool {
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
    place: &Matched<'_>,
    search: &[&str],
    replacement: &[&str],
    kept: Option<&[(usize, usize)]>,
) -> Result<Carried, Unclear> {
    let (mut search, new) = (PayloadLines::of(search), PayloadLines::of(replacement));
    let newline = file_lines::ending_at(place.file, place.range.start);
    let found = FoundLines::cut(place.text(), &search.lines, newline);
    search.gaps.drain(found.lines.len()..search.lines.len());
    search.lines.truncate(found.lines.len());
    let kept = kept.map(|kept| by_index(kept, &search.lines, &new.lines));
    let pairing = Pairing::of(&search.lines, &new.lines, kept);
    adopt_copied(place, &mut search.lines, &new.lines, &pairing);
    let lines = search.lines.iter().zip(&found.lines);
    let bodies = lines.map(|(was, is)| (was.body, is.body));
    let merge = Merge {
        bodies: agreed(bodies),
        place,
        newline,
        search,
        found,
        new,
        pairing,
    };
    merge.written()
}

/// Each key with its value, which is `None` where the pairs have several.
fn agreed<K: Eq + Hash, V: PartialEq>(
    pairs: impl IntoIterator<Item = (K, V)>,
) -> HashMap<K, Option<V>> {
    let mut agreed: HashMap<K, Option<V>> = HashMap::new();
    for (key, value) in pairs {
        match agreed.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Some(value));
            }
            Entry::Occupied(mut entry) => {
                entry.get_mut().take_if(|known| *known != value);
            }
        }
    }
    agreed
}

/// Pairs of lines, by their indexes in the payloads, as pairs of those that are not blank.
fn by_index(
    kept: &[(usize, usize)],
    search: &[PayloadLine<'_>],
    new: &[PayloadLine<'_>],
) -> Vec<(usize, usize)> {
    let at = |lines: &[PayloadLine<'_>], index: usize| {
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
    place: &Matched<'_>,
    search: &mut [PayloadLine<'t>],
    new: &[PayloadLine<'t>],
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
    place: &'m Matched<'f>,
    newline: &'static str,
    search: PayloadLines<'t>,
    found: FoundLines<'f>,
    new: PayloadLines<'t>,
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
        let new = &self.new.lines;
        let first = new.first().map_or(1, |line| line.number);
        let at = |line: usize| move |doubt| Unclear { line, doubt };
        let indents = Indents::of(self).map_err(at(first))?;
        self.refuse_what_is_lost(&indents)?;
        let cure = Cure::of(self);
        let trails = Trails::of(self);
        let mut adapted = Adapted::default();
        let mut written: Vec<Written<'_>> = Vec::with_capacity(new.len());
        let style = LazyCell::new(|| Style::of(self.place.file));
        let seen: HashSet<&str> = self.found.lines.iter().map(|line| line.indent).collect();
        for (j, line) in new.iter().enumerate() {
            let done = self.line(j, &indents, &cure, &trails);
            let done = done.map_err(at(line.number))?;
            let is_seen = seen.contains(done.indent.as_str());
            if !is_seen && !indents.is_literal && done.glue.is_none() {
                let before = written.last();
                let before = before.map(|line| (line.indent.as_str(), line.body.as_str()));
                let is_fine = if self.pairing.kept.contains_key(&j) {
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
                adapted.indentation = Some(kind_of(&indents.ways, &done.indent));
            }
            written.push(done);
        }
        self.refuse_odd_first(&indents, &written)?;
        let (range, blanks) = self.blanks(trails.are_lost);
        Ok(Carried {
            range,
            text: self.text(&written, &blanks),
            adapted,
        })
    }

    /// A new line in the place of a first one that lost its indentation may have lost another.
    fn refuse_odd_first(&self, indents: &Indents, written: &[Written<'_>]) -> Result<(), Unclear> {
        let ([first, next, ..], None) = (written, self.pairing.line_of(0)) else {
            return Ok(());
        };
        if indents.first.is_none() {
            return Ok(());
        }
        let pair = [first, next].map(|line| (line.indent.clone(), line.body.as_str()));
        let is_deeper = next.indent.len() > first.indent.len();
        if Style::of(self.place.file).oddities(&pair) > 0 || is_deeper && !style::opens(&first.body)
        {
            return Err(lost::unclear(self.new.lines[0].number));
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
            return Ok(Written {
                indent: if is_inside {
                    String::new()
                } else {
                    indents.lead(line.indent, j == 0)?
                },
                body: self.new_body(line, cure)?,
                trail: if trails.are_lost { "" } else { line.trail }.to_owned(),
                eol: self.newline,
                glue: None,
            });
        };
        let (was, is) = (&self.search.lines[i], &self.found.lines[i]);
        let body = words::merge(was.body, is.body, line.body, cure)?;
        let indent = if is_inside {
            String::new()
        } else {
            self.kept_indent(j, i, indents)?
        };
        let is_lost = line.trail == was.trail || trails.are_lost && !line.trail.is_empty();
        let trail = if is_lost && !trails.are_own {
            is.trail
        } else {
            line.trail
        };
        let goes_on = i > 0
            && j > 0
            && self.pairing.line_of(j - 1) == Some(i - 1)
            && line.indent == was.indent
            && self.new.gaps[j].len() == self.search.gaps[i].len();
        Ok(Written {
            indent,
            body,
            trail: trail.to_owned(),
            eol: is.eol,
            glue: is.glue.filter(|_| goes_on),
        })
    }

    /// The indentation of a line of the replacement that is a line of the search text.
    fn kept_indent(&self, j: usize, i: usize, indents: &Indents) -> Result<String, Doubt> {
        let (was, is) = (&self.search.lines[i], &self.found.lines[i]);
        let own = self.new.lines[j].indent;
        let begins = is.glue.is_none();
        let is_copied = self.place.copied.contains(&was.number);
        let stays = own == was.indent && !indents.is_literal && !is_copied;
        // A line that comes to be the first may have lost its indentation as the first one did.
        let is_lost = j == 0 && i > 0 && own.is_empty() && indents.first.is_some();
        if begins && (is_lost || stays) {
            Ok(is.indent.to_owned())
        } else if begins && was.indent == is.indent && indents.is_unsure {
            Ok(own.to_owned())
        } else {
            indents.lead(own, j == 0)
        }
    }

    /// Returns whether a new line is to follow, as deep as it, a line that the file has behind the head of its block.
    fn is_beside_glued(&self, j: usize) -> bool {
        let search = &self.search.lines;
        let before = j.checked_sub(1).and_then(|j| self.pairing.line_of(j));
        before.is_some_and(|i| {
            self.found.lines[i].glue.is_some()
                && search[i].indent == self.new.lines[j].indent
                && i > 0
                && search[i - 1].indent.len() < search[i].indent.len()
        })
    }

    /// A line that the search text has elsewhere was moved, and is the file's.
    fn new_body(&self, line: &PayloadLine<'_>, cure: &Cure<'_>) -> Result<String, Doubt> {
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
        let (searched, new) = (&self.search.gaps, &self.new.gaps);
        let mut found = self.found.gaps.clone();
        let mut range = self.place.range.clone();
        let end = (self.new.lines.len(), self.search.lines.len());
        let mut pairs = self.pairing.in_order();
        pairs.push(end);
        // Where the search text has other blank lines, the replacement may have them as the file does.
        let before = |j: usize| j.checked_sub(1).and_then(|j| self.pairing.line_of(j));
        let neighbours = pairs.iter().filter(|(j, i)| {
            before(*j) == i.checked_sub(1) && searched[*i].len() != found[*i].len()
        });
        let mut lost = neighbours
            .map(|(j, i)| found[*i].len() == new[*j].len())
            .peekable();
        let is_own = lost.peek().is_some() && lost.all(|is_same| is_same);
        if is_own && !self.place.is_inside {
            self.take_in_edges(&mut range, &mut found, new);
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
fn kind_of(ways: &[Reindent], indent: &str) -> Indented {
    let respelt = |way: &Reindent| matches!(way, Reindent::Tabs { .. } | Reindent::Spaces { .. });
    if !ways.iter().any(respelt) {
        Indented::AsThere
    } else if indent.contains('\t') {
        Indented::WithTabs
    } else {
        Indented::WithSpaces
    }
}
