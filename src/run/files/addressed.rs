//! The part of a file that an address names, found by the grammar of its language. Changes nothing.

use std::ops::Range;

use super::{FileResult, failed, refused};
use crate::code::{AddressError, CodeLanguage, Definition, FoundPlace, MARK, Outline};
use crate::reply::path::RelPath;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section};
use crate::report::repair;
use crate::world::syntax::{self, CodeError, Syntax};

/// A file that a definition is looked for in.
pub(super) struct CodeFile<'f> {
    pub(super) rel: &'f RelPath,
    pub(super) content: &'f [u8],
    /// Its content may be told.
    pub(super) is_shown: bool,
    /// Parses it.
    pub(super) syntax: &'f Syntax,
}

/// The part of a file that an address names.
pub(super) struct AddressedPart {
    pub(super) outline: Outline,
    /// The definition, by its place in the outline.
    at: usize,
    /// Its bytes with all that belongs to it, whole lines where that can be.
    pub(super) range: Range<usize>,
}

impl AddressedPart {
    /// Finds what an address names in the text of a file.
    ///
    /// # Errors
    /// Where its language is not known, or not one definition has these names.
    pub(super) fn find(file: &CodeFile<'_>, names: &str) -> FileResult<Self> {
        let (rel, content) = (file.rel, file.content);
        let text = std::str::from_utf8(content).map_err(|_| {
            refused(format!(
                "`{rel}` is not UTF-8 text, so `{names}` cannot be looked for in it: name the file alone"
            ))
        })?;
        let outline = outline(rel, text, file.syntax).map_err(|why| {
            refused(format!(
                "`{names}` cannot be looked for in `{rel}`: {why}. Name the file alone"
            ))
        })?;
        if outline.is_cut {
            return Err(refused(format!(
                "`{rel}` has more definitions than clada reads, so `{names}` may be another one: name the file alone"
            )));
        }
        match outline.find(names) {
            Ok(at) => Ok(Self {
                range: outline.scope(at, content),
                outline,
                at,
            }),
            // Of a file that is not shown no name is told.
            Err(_) if !file.is_shown => Err(refused(format!(
                "`{names}` does not name one definition in `{rel}`, whose content is not shown: name the file alone"
            ))),
            Err(error) => Err(not_there(rel.as_str(), names, &error, &outline)),
        }
    }

    pub(super) fn definition(&self) -> &Definition {
        &self.outline.definitions[self.at]
    }

    /// Its name with those of what it is in.
    pub(super) fn full_name(&self) -> String {
        self.outline.full_name(self.at)
    }

    /// Refuses to go by where it ends, where that is not sure.
    pub(super) fn check_end(&self, rel: &RelPath) -> FileResult<()> {
        if !self.definition().has_error {
            return Ok(());
        }
        let (first, last) = (self.definition().first_line, self.definition().last_line);
        let inside = |line: &&usize| (first..=last).contains(*line);
        let line = self.outline.errors.iter().find(inside).unwrap_or(&first);
        Err(refused(format!(
            "`{}` in `{rel}` does not parse (line {line}), so where it ends is not sure: use `edit`",
            self.full_name()
        )))
    }
}

/// The definitions of a file.
///
/// # Errors
/// Where they cannot be told.
pub(super) fn outline(rel: &RelPath, text: &str, syntax: &Syntax) -> Result<Outline, NoOutline> {
    let language = CodeLanguage::of(rel.as_str(), text).ok_or(NoOutline::NoLanguage)?;
    Ok(syntax.outline(language, text)?)
}

/// The reason why the definitions of a file are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoOutline {
    #[error("clada knows the definitions of {} files only", languages())]
    NoLanguage,
    #[error("{0}")]
    Code(#[from] CodeError),
}

/// The languages whose grammars were built in.
fn languages() -> String {
    let known = CodeLanguage::ALL
        .into_iter()
        .filter(|it| syntax::is_built(*it));
    known.map(CodeLanguage::name).collect::<Vec<_>>().join(", ")
}

/// The failure of an address that leads nowhere, with the outline of the file where nothing is near.
pub(crate) fn not_there(
    rel: &str,
    names: &str,
    error: &AddressError,
    outline: &Outline,
) -> Box<Outcome> {
    let address =
        |place: &FoundPlace| format!("`{rel}{MARK}{}` (line {})", place.names, place.line);
    let listed = |places: &[FoundPlace]| places.iter().map(address).collect::<Vec<_>>().join(", ");
    let message = match error {
        AddressError::Empty => format!(
            "nothing stands behind a `{MARK}` of `{rel}{MARK}{names}`: write the name of a definition there"
        ),
        AddressError::Missing {
            part,
            within,
            nearest,
            has_others,
        } => {
            let within = within.as_ref().map(|within| format!(" in `{within}`"));
            let there = format!("`{rel}` has no `{part}`{}", within.unwrap_or_default());
            match (nearest.as_slice(), has_others) {
                ([], false) => format!("{there}, and no other definition: name the file alone"),
                ([], true) => {
                    format!("{there}: name one of its definitions, which `outline` lists")
                }
                (nearest, _) => format!("{there}: did you mean {}?", listed(nearest)),
            }
        }
        AddressError::Several { places, count } => format!(
            "`{names}` may be {count} definitions in `{rel}`: write {}{}",
            listed(places),
            if places.len() < *count { ", …" } else { "" }
        ),
    };
    let mut failure = failed(Fault::Other, message);
    let is_repaired = match error {
        AddressError::Missing { nearest, .. } => !nearest.is_empty(),
        AddressError::Several { .. } => true,
        AddressError::Empty => false,
    };
    failure.sections = (!is_repaired)
        .then(|| section(rel, outline))
        .flatten()
        .into_iter()
        .collect();
    failure
}

/// The outline of a file, as far as a failure shows it.
fn section(rel: &str, outline: &Outline) -> Option<Section> {
    let text = repair::outline_shown(outline);
    (!text.is_empty()).then(|| Section::Text(format!("outline of {rel}:\n{text}\n")))
}
