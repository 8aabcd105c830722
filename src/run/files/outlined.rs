//! Shows the definitions of files: one line for each, without the bodies. Changes nothing.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::addressed::outline;
use super::find::counted;
use super::named_file::{FoundFile, NamedFile, check_count};
use super::{FileResult, may_show, named, not_found, refused};
use crate::code::{CodeLanguage, Outline, OutlineStyle};
use crate::reply::path::RelPath;
use crate::report::outcome::{Outcome, Section};
use crate::text::size;
use crate::world::syntax;
use crate::world::workspace::{FileKind, ProjectFiles, ResolvedPath, TreeQuery};

/// No more text is shown, in bytes, and no more time is taken.
const MOST_TEXT: usize = 512 * 1024;
const PATIENCE: Duration = Duration::from_secs(30);

/// Shows the outlines of files, and of all files in folders that have one.
pub(super) fn show(
    paths: &[Cow<'_, str>],
    only_public: bool,
    files: &dyn ProjectFiles,
) -> FileResult {
    check_count(paths)?;
    let mut shown = ShownOutlines {
        style: OutlineStyle { only_public },
        until: Instant::now() + PATIENCE,
        text: String::new(),
        data: Vec::new(),
        definitions: 0,
        left_out: None,
        without: Vec::new(),
    };
    for path in paths {
        let file = NamedFile::at(named::text(path, files)?, files)?.whole()?;
        match files.kind(&file.place)? {
            None => return Err(not_found(&file.rel, files)),
            Some(FileKind::Dir) => shown.add_folder(&file.place, files)?,
            Some(_) => shown.add_named(file, files)?,
        }
    }
    Ok(shown.outcome())
}

/// The outlines that a task shows.
struct ShownOutlines {
    style: OutlineStyle,
    until: Instant,
    text: String,
    data: Vec<Value>,
    definitions: usize,
    /// The reason why files were left out at the end.
    left_out: Option<String>,
    /// The files that were named and have no outline, each with the reason.
    without: Vec<String>,
}

impl ShownOutlines {
    /// Adds a file that the task names. One without an outline is told of.
    fn add_named(&mut self, file: NamedFile, files: &dyn ProjectFiles) -> FileResult<()> {
        may_show(&file.place, files)?;
        let rel = file.rel.clone();
        if let Err(why) = self.add(file, files) {
            self.without.push(format!("`{rel}`: {}", why.said()));
        }
        Ok(())
    }

    /// Adds all files in a folder that are in a known language.
    fn add_folder(&mut self, folder: &ResolvedPath, files: &dyn ProjectFiles) -> FileResult<()> {
        let is_code = |path: &str, kind: FileKind| {
            let language = CodeLanguage::of(path, "");
            kind == FileKind::File && language.is_some_and(syntax::is_built)
        };
        let query = TreeQuery {
            wants: &is_code,
            depth: None,
            until: self.until,
        };
        let tree = files.disk().tree(folder, &query);
        for (at, path) in tree.paths.iter().enumerate() {
            let more = tree.paths.len() - at;
            if self.text.len() > MOST_TEXT || Instant::now() > self.until {
                let most = size::show(MOST_TEXT as u64);
                self.left_out = Some(format!(
                    "{more} more files after {most}: name a smaller folder"
                ));
                break;
            }
            let rel = files.parse(&path.to_string_lossy());
            let meant = rel.map(named::MeantPlace::whole)?;
            let file = NamedFile::at(meant, files)?;
            if may_show(&file.place, files).is_ok() {
                // One that cannot be read or parsed in time is as one in no known language.
                let _ = self.add(file, files);
            }
        }
        if tree.cut {
            self.left_out =
                Some("there was no time for all files: name a smaller folder".to_owned());
        }
        Ok(())
    }

    fn add(&mut self, file: NamedFile, files: &dyn ProjectFiles) -> FileResult<()> {
        let content = files.read(&file.place)?;
        let found = FoundFile::new(&file, &content, files);
        let text = found
            .text()
            .map_err(|why| refused(why.to_string().trim_end()))?;
        let outline =
            outline(&file.rel, text, &found.syntax).map_err(|why| refused(why.to_string()))?;
        self.text += &section(&file.rel, &outline, self.style);
        self.definitions += outline.definitions.len();
        self.data.push(data(&file.rel, &outline));
        Ok(())
    }

    fn outcome(self) -> Outcome {
        let mut said = format!(
            "{} in {}",
            counted(self.definitions, "definition"),
            counted(self.data.len(), "file")
        );
        for more in self.without.into_iter().chain(self.left_out) {
            said += &format!("; {more}");
        }
        let sections = (!self.text.is_empty()).then_some(Section::Text(self.text));
        Outcome {
            message: Some(said),
            data: self.data.into(),
            sections: sections.into_iter().collect(),
            ..Outcome::default()
        }
    }
}

/// The outline of a file below its name.
fn section(rel: &RelPath, outline: &Outline, style: OutlineStyle) -> String {
    let lines = counted(outline.lines, "line");
    let errors = match outline.errors.first() {
        None => String::new(),
        Some(line) => format!(", does not parse at line {line}"),
    };
    format!("{rel} ({lines}{errors})\n{}\n", outline.text(style))
}

fn data(rel: &RelPath, outline: &Outline) -> Value {
    let shown = (0..outline.definitions.len()).filter(|at| !outline.definitions[*at].is_local);
    let definition = |at: usize| {
        let it = &outline.definitions[at];
        json!({
            "names": outline.names(at),
            "header": it.header,
            "first": it.first_line,
            "last": it.last_line,
            "private": it.is_private,
            "test": it.is_test,
        })
    };
    json!({
        "path": rel.to_string(),
        "lines": outline.lines,
        "definitions": shown.map(definition).collect::<Vec<_>>(),
    })
}
