//! The file that a task names, and what it finds there.

use std::borrow::Cow;
use std::path::PathBuf;

use super::{FileResult, MOST_FILES, failed, named, refused};
use crate::edit::{Edit, EditError};
use crate::reply::path::RelPath;
use crate::report::failed_edit::FailedEdit;
use crate::report::fault::Fault;
use crate::report::outcome::{Outcome, Section, Stretch, Touched};
use crate::report::repair::{self, NotShown};
use crate::world::workspace::{FileContent, FileKind, FsError, ProjectFiles, ResolvedPath};

/// A file as a task names it, and its place.
#[derive(Debug, Clone)]
pub(super) struct NamedFile {
    pub(super) rel: RelPath,
    pub(super) place: ResolvedPath,
}

impl NamedFile {
    /// The file at a path; if it is a link, the file that the link leads to.
    pub(super) fn at(rel: RelPath, files: &dyn ProjectFiles) -> FileResult<Self> {
        let place = files.place(&rel, true)?;
        Ok(Self { rel, place })
    }

    /// A file that should exist. Its path cannot be a folder's.
    pub(super) fn existing(path: &str, files: &dyn ProjectFiles) -> FileResult<Self> {
        Self::of(path, named::text(path, files)?, files)
    }

    /// A file that may be new. Its path cannot be a folder's.
    pub(super) fn perhaps_new(path: &str, files: &dyn ProjectFiles) -> FileResult<Self> {
        Self::of(path, named::any(path, files)?, files)
    }

    fn of(path: &str, rel: RelPath, files: &dyn ProjectFiles) -> FileResult<Self> {
        let is_folder = rel.is_root() || path.trim_end().ends_with('/');
        let file = Self::at(rel, files);
        if !is_folder {
            return file;
        }
        let Self { rel, place } = file?;
        if files.kind(&place)? == Some(FileKind::File) {
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
        }
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

    /// The failure of an edit, with what helps to repair it if the file may be shown.
    pub(super) fn failure(&self, errors: &[EditError], edit: &Edit<'_>) -> Box<Outcome> {
        let (rel, place) = (&self.file.rel, self.file.path());
        let searched = FailedEdit::new(errors, edit, rel, place, self.content, self.text());
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
