//! The file that a task names, and what it finds there.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use super::addressed::{AddressedPart, CodeFile, outline};
use super::named::MeantPlace;
use super::{FileResult, MOST_FILES, failed, named, refused};
use crate::code::{Outline, address};
use crate::edit::{Edit, EditError, EditedFile};
use crate::reply::path::RelPath;
use crate::report::failed_edit::FailedEdit;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section, Stretch, Touched};
use crate::report::repair::{self, FailedPlace, NotShown};
use crate::world::syntax::Syntax;
use crate::world::workspace::{
    FileContent, FileKind, FsError, ProjectFiles, ResolvedPath, SeenPlace,
};

/// A file as a task names it, and its place.
#[derive(Debug, Clone)]
pub(super) struct NamedFile {
    pub(super) rel: RelPath,
    pub(super) place: ResolvedPath,
    /// The kind of what was there when it was named.
    pub(super) kind: Option<FileKind>,
    /// The names of the definition in it that is meant; none where all of it is.
    pub(super) names: Option<String>,
}

impl NamedFile {
    /// The file at a place; if it is a link, the file that the link leads to.
    pub(super) fn at(meant: MeantPlace<'_>, files: &dyn ProjectFiles) -> FileResult<Self> {
        let seen = meant.seen.filter(|it| it.kind != Some(FileKind::Link));
        let SeenPlace { place, kind } = match seen {
            Some(seen) => seen,
            None => files.see(&meant.rel, true)?,
        };
        Ok(Self {
            rel: meant.rel,
            place,
            kind,
            names: meant.names.map(str::to_owned),
        })
    }

    /// Refuses an address, for a task that takes whole files.
    pub(super) fn whole(self) -> FileResult<Self> {
        match &self.names {
            None => Ok(self),
            Some(_) => Err(refused(format!(
                "this task takes whole files, and `{}` is a part of one: name the file alone",
                self.address()
            ))),
        }
    }

    /// Its path, with the names of the part that is meant.
    pub(super) fn address(&self) -> String {
        address::written(self.rel.as_str(), self.names.as_deref())
    }

    /// A file that should exist. Its path cannot be a folder's.
    pub(super) fn existing(path: &str, files: &dyn ProjectFiles) -> FileResult<Self> {
        Self::of(path, named::text(path, files)?, files)
    }

    /// A file that may be new. Its path cannot be a folder's.
    pub(super) fn perhaps_new(path: &str, files: &dyn ProjectFiles) -> FileResult<Self> {
        Self::of(path, named::writable(path, files)?, files)
    }

    fn of(path: &str, meant: MeantPlace<'_>, files: &dyn ProjectFiles) -> FileResult<Self> {
        let ends_as_folder = meant.names.is_none() && path.trim_end().ends_with('/');
        let is_folder = meant.rel.is_root() || ends_as_folder;
        let file = Self::at(meant, files);
        if !is_folder {
            return file;
        }
        let Self { rel, kind, .. } = file?;
        if kind == Some(FileKind::File) {
            let message = format!("`{rel}` is a file: write its path without the `/` at the end");
            return Err(failed(Fault::NotAFolder, message));
        }
        Err(FsError::IsAFolder(rel.to_string()).into())
    }

    /// The only path that a task touches which changes this file.
    pub(super) fn touched(&self) -> Touched {
        Touched::Paths(vec![self.path()])
    }

    pub(super) fn path(&self) -> PathBuf {
        self.place.path().to_owned()
    }
}

/// The content of a file that a task names.
pub(super) struct FoundFile<'f> {
    pub(super) file: &'f NamedFile,
    pub(super) content: &'f [u8],
    pub(super) may_show: Result<(), FsError>,
    /// Parses it.
    pub(super) syntax: Syntax,
    /// The part of it that is meant, once that was found.
    part: Option<AddressedPart>,
}

impl<'f> FoundFile<'f> {
    pub(super) fn new(
        file: &'f NamedFile,
        content: &'f FileContent,
        files: &dyn ProjectFiles,
    ) -> Self {
        Self {
            file,
            content: &content.bytes,
            may_show: files.may_show(&file.place),
            syntax: files.disk().syntax().clone(),
            part: None,
        }
    }

    /// Finds the part that is meant, where the task names one.
    pub(super) fn with_part(mut self) -> FileResult<Self> {
        if let Some(names) = &self.file.names {
            let file = CodeFile {
                rel: &self.file.rel,
                content: self.content,
                is_shown: self.text().is_ok(),
                syntax: &self.syntax,
            };
            self.part = Some(AddressedPart::find(&file, names)?);
        }
        Ok(self)
    }

    /// The part that is meant.
    ///
    /// # Panics
    /// Where all of it is.
    pub(super) fn addressed(&self) -> &AddressedPart {
        let Some(part) = &self.part else {
            unreachable!("only who names a part asks for it");
        };
        part
    }

    /// The file with the part that an edit may change.
    pub(super) fn target(&self) -> EditedFile<'f> {
        match &self.part {
            None => self.content.into(),
            Some(part) => EditedFile::part(self.content, part.range.clone()),
        }
    }

    /// The bytes that are meant.
    pub(super) fn range(&self) -> Range<usize> {
        self.target().within()
    }

    /// The text, or the line that is shown instead of it.
    pub(super) fn text(&self) -> Result<&'f str, NotShown> {
        match &self.may_show {
            Ok(()) => {
                let file_name = self.file.place.path().to_string_lossy();
                repair::showable(self.file.rel.as_str(), &file_name, self.content)
            }
            Err(why) => Err(NotShown::Withheld(why.to_string())),
        }
    }

    /// The whole file, for whoever is to repair a task that failed on it; by the path that the reply wrote.
    pub(super) fn section(&self, path: &str) -> Section {
        match self.text() {
            Ok(text) => Section::File {
                name: path.to_owned(),
                content: text.to_owned(),
                at: Some(Stretch {
                    path: self.file.rel.to_string(),
                    first: 1,
                    of: text.lines().count(),
                }),
            },
            Err(why) => Section::Text(why.to_string()),
        }
    }

    /// Lines around the places where an edit changed the file.
    pub(super) fn written(&self, new: &[u8]) -> Vec<Section> {
        let file_name = self.file.place.path().to_string_lossy();
        let written = repair::written(self.file.rel.as_str(), &file_name, self.content, new);
        let section = |(name, content)| Section::File {
            name,
            content,
            at: None,
        };
        written.into_iter().map(section).collect()
    }

    /// Its definitions, where they are known and may be told.
    pub(super) fn outline(&self) -> Option<Cow<'_, Outline>> {
        let text = self.text().ok()?;
        match &self.part {
            Some(part) => Some(Cow::Borrowed(&part.outline)),
            None => outline(&self.file.rel, text, &self.syntax)
                .ok()
                .map(Cow::Owned),
        }
    }

    /// The failure of an edit, with what helps to repair it if the file may be shown.
    pub(super) fn failure(&self, errors: &[EditError], edit: &Edit<'_>) -> Box<Outcome> {
        let (rel, place) = (&self.file.rel, self.file.path());
        let outline = self.outline();
        let searched = FailedEdit::new(
            errors,
            edit,
            FailedPlace {
                rel,
                place,
                target: self.target(),
                text: self.text(),
                outline: outline.as_deref(),
                part: self.part.as_ref().map(AddressedPart::full_name),
            },
        );
        let mut failure = refused(searched.message());
        failure.data = serde_json::json!({ "path": rel.to_string() });
        if self.may_show.is_ok() {
            failure.explain(&searched);
            failure.failed_edit = Some(Box::new(searched));
        } else {
            // Of one that may not be shown nothing earlier is looked at either.
            failure.sections = searched.sections();
        }
        failure
    }
}

/// Refuses a task without a file, and one with more than anybody means.
pub(super) fn check_count(paths: &[Cow<'_, str>]) -> FileResult<()> {
    match paths.len() {
        0 => Err(refused("this task has no path: name the files")),
        1..=MOST_FILES => Ok(()),
        files => Err(refused(format!(
            "{files} files in one task, but at most {MOST_FILES} are allowed: write several tasks"
        ))),
    }
}
