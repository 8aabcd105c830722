//! Carries out an edit on the bytes of a file: finds the text that is meant, once and by the tiers, and replaces it.
//! Never opens a file, and returns failures as values, not as sentences.
//!
//! One module for each question:
//!
//! | module | question |
//! | --- | --- |
//! | `search` | what is looked for? |
//! | `view` | what does a tier see of a text, and where in the file is that? |
//! | `occurrences` | where does one run of bytes occur in another? |
//! | `hit` | does an occurrence count, and which bytes of the file does it cover? |
//! | `find` | which tier decides, and is there one place only? |
//! | `pair` | what does one pair, or one stretch, make of the file? |
//! | `searched_file` | what is worked out about the file once? |
//! | `copying` | what was a payload before a page damaged it as a whole? |
//! | `elided` | where are the parts between lines that stand for text which is left out? |
//! | `carry` | what is written where the file has the text otherwise? |
//! | `hunks` | where are the parts of a patch, and what do they make of the file? |
//! | `anchors` | which stretches of the file does a line head? |
//! | `splice` | which bytes go, and which come, for one replacement? |
//! | `choice` | at which places can the user have an edit carried out that failed? |
//! | `refit` | how is a text indented that takes the place of another as a whole? |
//! | `lines` | where do lines and words start and end? |
//! | `literal` | where is this very text, without tiers, and what if it is replaced everywhere? |

mod anchors;
mod carry;
mod choice;
mod copying;
mod elided;
pub mod elision;
mod find;
pub mod habit;
mod hit;
mod hunks;
mod lines;
mod literal;
pub mod nearest;
mod occurrences;
mod pair;
mod refit;
mod search;
mod searched_file;
mod splice;
mod view;

use std::borrow::Cow;
use std::ops::Range;

use self::splice::Splice;
use crate::reply::hunk::Hunk;
use crate::reply::text::Text;

pub use self::choice::{Choice, apply_at, choices, line_of};
pub use self::literal::{places, replace_all};
pub use self::refit::{indented_as, refitted};

/// The line ending that a file uses at a place.
pub fn newline_at(file: &[u8], at: usize) -> &'static str {
    lines::ending_at(file, at)
}

/// The number of places at which the counting stops: [`EditCause::Ambiguous`] never has more lines than this.
pub const PLACES_LIMIT: usize = 50;

/// An edit of a file: what to replace in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Search texts, each with what comes in its place; applied in order, each to the result of the one before.
    Pairs(Vec<(Text<'a>, Text<'a>)>),
    /// The text that runs from the first byte of `head` to the last of `tail`.
    Stretch {
        head: Text<'a>,
        tail: Text<'a>,
        replace: Text<'a>,
    },
    /// Parts of a patch, in the order of the file; all of them are found in the file as it is.
    Hunks(&'a [Hunk<'a>]),
}

/// A file with the part of it that an edit may change. What is outside of that part is not found.
#[derive(Debug, Clone, Copy)]
pub struct EditedFile<'f> {
    pub bytes: &'f [u8],
    start: usize,
    end: usize,
}

impl<'f> EditedFile<'f> {
    /// A file of which only this part may be changed.
    pub fn part(bytes: &'f [u8], within: Range<usize>) -> Self {
        Self {
            bytes,
            start: within.start,
            end: within.end.min(bytes.len()),
        }
    }

    /// The part that may be changed.
    pub fn within(&self) -> Range<usize> {
        self.start..self.end
    }

    /// True if all of it may be changed.
    pub fn is_whole(&self) -> bool {
        self.start == 0 && self.end == self.bytes.len()
    }

    /// The lines of the part, from 1; the last is among them.
    pub fn lines(&self) -> (usize, usize) {
        let before_end = self.bytes[..self.end]
            .strip_suffix(b"\n")
            .unwrap_or(&self.bytes[..self.end]);
        (
            lines::number(self.bytes, self.start),
            lines::number(self.bytes, before_end.len()),
        )
    }

    /// A BOM at the start is not content: what follows it is the start of line 1.
    fn without_bom(self) -> Self {
        let bytes = without_bom(self.bytes);
        let bom = self.bytes.len() - bytes.len();
        Self {
            bytes,
            start: self.start.saturating_sub(bom),
            end: self.end.saturating_sub(bom),
        }
    }
}

impl<'f> From<&'f [u8]> for EditedFile<'f> {
    fn from(bytes: &'f [u8]) -> Self {
        Self::part(bytes, 0..bytes.len())
    }
}

impl<'f> From<&'f Vec<u8>> for EditedFile<'f> {
    fn from(bytes: &'f Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

/// The file as the edit leaves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited<'f> {
    /// In order, the new content. What one pair or stretch leaves alone is not copied.
    pub parts: Vec<Cow<'f, [u8]>>,
    /// For each pair or hunk, or the one stretch, where it applied.
    pub places: Vec<Applied>,
}

/// The way in which a pair, stretch or hunk applied, and the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The tier that found it; for a stretch the less exact of those that found its head and its tail.
    pub tier: Tier,
    /// The line where the match starts, counted from 1, in the content that it was applied to: for a second pair, what
    /// the first one left.
    pub line: usize,
    /// The differences between the text that was written and the replacement.
    pub adapted: Adapted,
}

/// The differences between written text and the replacement, which put it in the file's own spelling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Adapted {
    pub indentation: Option<Indented>,
    /// Words of it have the file's white space or characters.
    pub characters: bool,
}

impl Adapted {
    /// The differences of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            indentation: self.indentation.or(other.indentation),
            characters: self.characters || other.characters,
        }
    }
}

/// The indentation that lines got which the replacement indents otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Indented {
    WithTabs,
    WithSpaces,
    /// As the lines of the place.
    AsThere,
}

/// The degree to which a search text may differ from the file, from not at all to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    Exact,
    LineEndings,
    Indentation,
    Whitespace,
    Typography,
    /// As one of the tiers above, once what a page or a habit did to the payload as a whole is undone.
    Copying,
    /// Part by part, between lines that stand for text which is left out.
    Elision,
}

/// A failure of an edit, of which nothing is done then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// The pair or hunk that failed, counted from 1; 1 for a stretch.
    pub pair: usize,
    pub part: EditPart,
    pub cause: EditCause,
}

/// The text that was to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditPart {
    Search,
    Head,
    Tail,
    /// The kept and removed lines of a part of a patch.
    Hunk,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditCause {
    /// There is nothing but white space in it.
    Blank,
    NotFound {
        /// The file is binary or not UTF-8, so that only the exact and line-endings tiers were tried.
        not_utf8: bool,
        /// The line of the one place where the replacement already stands.
        applied_at: Option<usize>,
    },
    /// It stands in several places, at these lines (the first [`PLACES_LIMIT`] places; a line with two is in it twice).
    Ambiguous { tier: Tier, lines: Vec<usize> },
    /// It was found, and what is to be written there cannot be told.
    Unclear {
        /// The line of the replacement, from 1, where it shows.
        line: usize,
        /// The line of the file where the text was found.
        at: usize,
        doubt: Doubt,
    },
    /// It was found at this line, and the file would stay as it is: what the replacement changes is already so, or was
    /// taken away in copying.
    NothingChanges { at: usize },
    /// This line of the replacement, from 1, stands for text that is left out, and the search text has no such line.
    LeftOut { line: usize },
    /// Search text and replacement do not leave out the same, so nobody can tell what goes where.
    ElisionsDiffer,
    /// A hunk has no line that could be looked for.
    NoContext,
    /// No line has the text that a hunk is said to be below.
    NoAnchor { text: String },
    /// Too many lines have it, the first few at these lines.
    ManyAnchors { text: String, lines: Vec<usize> },
    /// A hunk that is said to be at the end of the file is at this line, and only there.
    NotAtEnd { line: usize },
    /// A hunk is at this line, above the end of the hunk before it.
    OutOfOrder { line: usize },
}

/// The thing that cannot be told about text that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The depth that the line is to be indented to.
    Indentation,
    /// The depth of all lines, which may have to be moved: the replacement is indented as the file is, the search text is not.
    Moved,
    /// The white space, which differs in the search text, the replacement and the file.
    WhiteSpace,
    /// The character of the file that this one stands for.
    Character(char),
    /// The replacement, which is damaged only in part, the search text as a whole.
    HalfDamaged,
}

impl EditCause {
    /// The lines of the file that it names, counted from 1.
    pub fn lines(&self) -> Vec<usize> {
        match self {
            Self::Ambiguous { lines, .. } | Self::ManyAnchors { lines, .. } => lines.clone(),
            Self::Unclear { at: line, .. }
            | Self::NothingChanges { at: line }
            | Self::NotAtEnd { line }
            | Self::OutOfOrder { line } => vec![*line],
            Self::NotFound { applied_at, .. } => applied_at.iter().copied().collect(),
            Self::Blank
            | Self::LeftOut { .. }
            | Self::ElisionsDiffer
            | Self::NoContext
            | Self::NoAnchor { .. } => Vec::new(),
        }
    }

    /// The failure of the first pair, or of the only stretch, whose search text this is.
    fn in_part(self, part: EditPart) -> EditError {
        EditError {
            pair: 1,
            part,
            cause: self,
        }
    }
}

impl<'f> Edited<'f> {
    /// The file after one replacement.
    fn by(splice: Splice, file: &'f [u8]) -> Self {
        Self {
            places: vec![splice.applied],
            parts: splice.parts(file),
        }
    }

    /// True if this is the new content.
    fn is(&self, content: &[u8]) -> bool {
        let mut at = 0;
        let is_there = self.parts.iter().all(|part| {
            let there = content.get(at..at + part.len());
            at += part.len();
            // What was not copied is there, and need not be compared.
            there.is_some_and(|there| std::ptr::eq(there, part.as_ref()) || there == part.as_ref())
        });
        is_there && at == content.len()
    }

    /// The new content in one piece.
    pub fn bytes(&self) -> Vec<u8> {
        self.parts.concat()
    }
}

impl Tier {
    /// Those that look for the text itself, in their order.
    pub(crate) const ALL: [Self; 5] = [
        Self::Exact,
        Self::LineEndings,
        Self::Indentation,
        Self::Whitespace,
        Self::Typography,
    ];

    /// The name that results and messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineEndings => "line-endings",
            Self::Indentation => "indentation",
            Self::Whitespace => "whitespace",
            Self::Typography => "typography",
            Self::Copying => "copying",
            Self::Elision => "elision",
        }
    }
}

/// Applies all of an edit to a file's content, or nothing.
///
/// # Errors
/// Everything that stands in the way, in the order of the edit: at least one error.
pub fn apply<'f>(
    file: impl Into<EditedFile<'f>>,
    edit: &Edit<'_>,
) -> Result<Edited<'f>, Vec<EditError>> {
    let file = file.into();
    refuse_blank(edit)?;
    let edited = match edit {
        Edit::Pairs(pairs) => apply_pairs(file, pairs)?,
        Edit::Stretch {
            head,
            tail,
            replace,
        } => apply_stretch(file, *head, *tail, *replace)?,
        Edit::Hunks(hunks) => hunks::apply(file, hunks).map_err(|error| vec![error])?,
    };
    match edited.places.first() {
        Some(place) if edited.is(file.bytes) => {
            let part = match edit {
                Edit::Hunks(_) => EditPart::Hunk,
                Edit::Pairs(_) | Edit::Stretch { .. } => EditPart::Search,
            };
            let cause = EditCause::NothingChanges { at: place.line };
            Err(vec![cause.in_part(part)])
        }
        _ => Ok(edited),
    }
}

fn refuse_blank(edit: &Edit<'_>) -> Result<(), Vec<EditError>> {
    let cause = EditCause::Blank;
    let (pair, part) = match edit {
        Edit::Pairs(pairs) => match pairs.iter().position(|(search, _)| search.is_blank()) {
            Some(index) => (index + 1, EditPart::Search),
            None => return Ok(()),
        },
        Edit::Stretch { head, .. } if head.is_blank() => (1, EditPart::Head),
        Edit::Stretch { tail, .. } if tail.is_blank() => (1, EditPart::Tail),
        Edit::Stretch { .. } | Edit::Hunks(_) => return Ok(()),
    };
    Err(vec![EditError { pair, part, cause }])
}

fn apply_pairs<'f>(
    file: EditedFile<'f>,
    pairs: &[(Text<'_>, Text<'_>)],
) -> Result<Edited<'f>, Vec<EditError>> {
    let mut parts = vec![Cow::Borrowed(file.bytes)];
    let behind = file.bytes.len() - file.end;
    let mut places = Vec::with_capacity(pairs.len());
    let mut errors: Vec<EditError> = Vec::new();
    for (index, &(search, replacement)) in pairs.iter().enumerate() {
        let content = in_one_piece(parts);
        // What is behind the part stays as it is, so the part ends where that begins.
        let within = file.start..content.len() - behind;
        let now = EditedFile::part(&content, within).without_bom();
        let text = now.bytes;
        let failed = |cause| EditError {
            pair: index + 1,
            part: EditPart::Search,
            cause,
        };
        if let Some(line) = elided::left_out(text, search.text, replacement) {
            errors.push(failed(EditCause::LeftOut { line }));
        }
        parts = match pair::replace(now, search, replacement, None) {
            Ok(splice) => {
                places.push(splice.applied);
                match content {
                    Cow::Borrowed(file) => splice.parts(file),
                    Cow::Owned(content) => vec![Cow::Owned(splice.parts(&content).concat())],
                }
            }
            Err(cause) => {
                // A text that only a pair before would have put there says nothing that its error does not say.
                let is_put_there = |error: &EditError| {
                    let (_, missing) = &pairs[error.pair - 1];
                    missing.text.contains(search.text.trim())
                };
                let follows = matches!(cause, EditCause::NotFound { .. });
                if !follows || !errors.iter().any(is_put_there) {
                    errors.push(failed(cause));
                }
                vec![content]
            }
        };
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Edited { parts, places })
}

fn apply_stretch<'f>(
    file: EditedFile<'f>,
    head: Text<'_>,
    tail: Text<'_>,
    replacement: Text<'_>,
) -> Result<Edited<'f>, Vec<EditError>> {
    let text = file.without_bom();
    let known = [head.text, "\n", tail.text].concat();
    let left_out = elided::left_out(text.bytes, &known, replacement);
    let left_out = left_out.map(|line| EditCause::LeftOut { line }.in_part(EditPart::Head));
    match (
        pair::replace_stretch(text, head, tail, replacement),
        left_out,
    ) {
        (Ok(splice), None) => Ok(Edited::by(splice, file.bytes)),
        (done, left_out) => Err(left_out.into_iter().chain(done.err()).collect()),
    }
}

fn in_one_piece(parts: Vec<Cow<'_, [u8]>>) -> Cow<'_, [u8]> {
    match <[_; 1]>::try_from(parts) {
        Ok([only]) => only,
        Err(parts) => Cow::Owned(parts.concat()),
    }
}

/// A BOM at the start is not content: what follows it is the start of line 1.
fn without_bom(file: &[u8]) -> &[u8] {
    file.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(file)
}
