//! The elements that each command needs, and the meaning of their attributes.

use std::borrow::Cow;

use super::{Element, Elements};
use crate::reply::action::{Action, Command, ContextTask, Payload, Replacement};
use crate::reply::cml::tag::{ElementName, decode_entities};
use crate::reply::context::ContextLevel;
use crate::reply::task::{Cause, Problem};
use crate::reply::text::Form;
use crate::text::duration;
use crate::text::language::Language;
use crate::text::lines::{LineError, LineRange};

/// The values of `lang`, for messages; a test compares it with [`Language::ALL`].
const LANGUAGES: &str = "one of `bash`, `sh`, `python`, `javascript`, `ruby`";
const YES_NO: &str = "`yes` or `no`";
const LINES: &str = "a line, such as `12`, or a range, such as `12-40`, `12-` or `-40`";
const CLOSED_LINES: &str = "a line, such as `12`, or a range, such as `12-40`";
const FORWARD: &str = "a range whose first line comes before its last, such as `12-40`";
/// The levels of a file for the chat; a test compares it with [`ContextLevel::ALL`].
const LEVELS: &str = "one of `full`, `outline`, `name`";
const COUNT: &str = "how many places there are, such as `3`";
/// The form of `version`, for messages.
const VERSION: &str = "digits and dots, such as `3.11`";

/// The paths that a command takes.
#[derive(PartialEq, Eq)]
enum PathCount {
    None,
    Optional,
    One,
    /// One or more.
    Several,
}

/// The path and the payloads that a command takes.
fn takes(command: Command) -> (PathCount, &'static [ElementName]) {
    match command {
        Command::Edit => (
            PathCount::One,
            &[
                ElementName::Search,
                ElementName::SearchHead,
                ElementName::SearchTail,
                ElementName::Replace,
            ],
        ),
        Command::ReplaceAll => (
            PathCount::Several,
            &[ElementName::Search, ElementName::Replace],
        ),
        Command::Overwrite | Command::Append | Command::ReplaceLines | Command::Move => {
            (PathCount::One, &[ElementName::X])
        }
        Command::Grep | Command::Glob => (PathCount::Optional, &[ElementName::X]),
        Command::Exec => (PathCount::None, &[ElementName::X]),
        Command::Delete | Command::MakeFolder | Command::RemoveFolder => (PathCount::One, &[]),
        Command::Read | Command::Outline | Command::ContextAdd | Command::ContextRemove => {
            (PathCount::Several, &[])
        }
        Command::List => (PathCount::Optional, &[]),
        Command::ContextList
        | Command::ContextPrune
        | Command::ContextClear
        | Command::Undo
        | Command::Squash
        | Command::StepBack
        | Command::StepForward => (PathCount::None, &[]),
    }
}

/// True if a command is about several files at once, if the reply names several.
pub(super) fn takes_paths(command: Command) -> bool {
    takes(command).0 == PathCount::Several
}

impl<'t> Elements<'t> {
    pub(super) fn action_of(&mut self, command: Command) -> Result<Action<'t>, Problem> {
        let action = match command {
            Command::Edit => {
                self.options([])?;
                Action::Edit {
                    path: self.path(command)?,
                    change: self.change(command)?,
                    to: None,
                }
            }
            Command::Overwrite => {
                self.whole_file("overwrite", "the new ones in `<x>`")?;
                let final_newline = self.final_newline()?;
                Action::Overwrite {
                    path: self.path(command)?,
                    content: self.payload(ElementName::X, command)?,
                    final_newline,
                    only_new: false,
                }
            }
            Command::Append => {
                let final_newline = self.final_newline()?;
                Action::Append {
                    path: self.path(command)?,
                    content: self.payload(ElementName::X, command)?,
                    final_newline,
                }
            }
            Command::ReplaceAll => {
                let [count] = self.options(["count"])?;
                let count = self.value("count", count, COUNT, |count| {
                    let count = count.trim().parse().ok();
                    count.filter(|count: &usize| *count > 0)
                })?;
                Action::ReplaceAll {
                    paths: self.paths(command)?,
                    search: self.payload(ElementName::Search, command)?,
                    replace: self.payload(ElementName::Replace, command)?,
                    count,
                }
            }
            Command::ReplaceLines => {
                let [lines] = self.options(["lines"])?;
                let path = self.path(command)?;
                let mut content = self.payload(ElementName::X, command)?;
                if content.form == Form::Inline {
                    // Whole lines go, so whole lines come.
                    let text = content.text();
                    let end = if text.is_empty() { "" } else { "\n" };
                    content = Payload::block(format!("{text}{end}"));
                }
                let (name, form) = ("lines", LINES);
                let missing = self.problem(self.at, Cause::MissingOption { name, form });
                let lines = self.lines(lines, LINES)?.ok_or(missing)?;
                Action::ReplaceLines {
                    path,
                    lines,
                    content,
                }
            }
            Command::Move => {
                let [overwrite] = self.options(["overwrite"])?;
                let overwrite = self.yes_or_no("overwrite", overwrite)?.unwrap_or(false);
                let to = self.filled(command)?;
                let to = decode_entities(to.raw.trim()).into_owned();
                Action::Move {
                    path: self.path(command)?,
                    to: to.into(),
                    overwrite,
                    exact: false,
                }
            }
            Command::Delete => {
                self.whole_file("delete", "an empty `<x></x>`")?;
                self.options([])?;
                Action::Delete {
                    path: self.path(command)?,
                    only_file: false,
                    held: Vec::new(),
                }
            }
            Command::MakeFolder => {
                self.options([])?;
                Action::MakeFolder {
                    path: self.path(command)?,
                }
            }
            Command::RemoveFolder => {
                self.options([])?;
                Action::RemoveFolder {
                    path: self.path(command)?,
                }
            }
            Command::Read => {
                let [lines, numbered, delimiter] =
                    self.options(["lines", "numbered", "delimiter"])?;
                let lines = self.lines(lines, LINES)?;
                let numbered = self.yes_or_no("numbered", numbered)?;
                Action::Read {
                    paths: self.paths(command)?,
                    lines,
                    numbers: match (numbered, delimiter) {
                        (Some(false), _) | (None, None) => None,
                        (_, Some(delimiter)) => Some(delimiter.into()),
                        (Some(true), None) => Some(": ".into()),
                    },
                    is_lenient: true,
                }
            }
            Command::Outline => {
                let [public] = self.options(["public"])?;
                Action::Outline {
                    paths: self.paths(command)?,
                    only_public: self.yes_or_no("public", public)?.unwrap_or(false),
                }
            }
            Command::List => {
                self.options([])?;
                Action::List {
                    path: self.path_if_any()?,
                }
            }
            Command::Grep => {
                let [include, ignore_case] = self.options(["include", "ignore-case"])?;
                let ignore_case = self.yes_or_no("ignore-case", ignore_case)?;
                Action::Grep {
                    pattern: self.pattern(command)?,
                    path: self.path_if_any()?,
                    include: include.map(Cow::Owned),
                    ignore_case: ignore_case.unwrap_or(false),
                }
            }
            Command::Glob => {
                self.options([])?;
                Action::Glob {
                    pattern: self.pattern(command)?,
                    path: self.path_if_any()?,
                }
            }
            Command::Exec => {
                let values = self.options(["timeout", "lang", "version", "cwd", "output"])?;
                let script = self.filled(command)?;
                self.exec(script, values)?
            }
            Command::ContextAdd => {
                let [lines, level] = self.options(["lines", "level"])?;
                let lines = self.lines(lines, CLOSED_LINES)?;
                let level = self.value("level", level, LEVELS, ContextLevel::parse)?;
                Action::Context(ContextTask::Add {
                    paths: self.paths(command)?,
                    lines,
                    level,
                })
            }
            Command::ContextRemove => {
                self.options([])?;
                Action::Context(ContextTask::Remove {
                    paths: self.paths(command)?,
                })
            }
            Command::ContextList => Action::Context(ContextTask::List),
            Command::ContextPrune => Action::Context(ContextTask::Prune),
            Command::ContextClear => Action::Context(ContextTask::Clear),
            Command::Undo | Command::Squash | Command::StepBack | Command::StepForward => {
                Action::ForUser(command)
            }
        };
        Ok(action)
    }

    /// The elements that a command needs and that are not there, or not as it needs them.
    pub(super) fn lacks(&self, command: Command) -> impl Iterator<Item = Problem> {
        let (path, payloads) = takes(command);
        let needs_path = matches!(path, PathCount::One | PathCount::Several);
        let path = needs_path.then(|| self.path(command).err()).flatten();
        let content = if command == Command::Edit {
            self.change(command).err()
        } else {
            let mut payloads = payloads.iter();
            payloads.find_map(|name| self.payload(*name, command).err())
        };
        path.into_iter().chain(content)
    }

    /// The payload of `<x>`, which must not be blank.
    fn filled(&self, command: Command) -> Result<Payload<'t>, Problem> {
        let payload = self.payload(ElementName::X, command)?;
        if payload.is_blank() {
            return Err(self.problem(self.at_of(ElementName::X), Cause::Empty { element: "x" }));
        }
        Ok(payload)
    }

    /// The texts of an edit.
    fn change(&self, command: Command) -> Result<Replacement<'t>, Problem> {
        let count = |name| self.elements.iter().filter(|e| e.name == name).count();
        let (searches, replaces) = (count(ElementName::Search), count(ElementName::Replace));
        let of_stretch =
            |e: &Element<'_>| matches!(e.name, ElementName::SearchHead | ElementName::SearchTail);
        if self.elements.iter().any(of_stretch) {
            if searches > 0 {
                let at = self.at_of(ElementName::SearchHead).max(self.at);
                return Err(self.problem(at, Cause::MixedEdit));
            }
            if replaces > 1 {
                let searches = 1;
                return Err(self.problem(self.at, Cause::UnevenPairs { searches, replaces }));
            }
            let payload = |name| self.payload(name, command).map(Box::new);
            return Ok(Replacement::Stretch {
                head: payload(ElementName::SearchHead)?,
                tail: payload(ElementName::SearchTail)?,
                replace: payload(ElementName::Replace)?,
            });
        }
        for (name, count) in [
            (ElementName::Search, searches),
            (ElementName::Replace, replaces),
        ] {
            if count == 0 {
                return Err(self.missing(name, command));
            }
        }
        if searches != replaces {
            return Err(self.problem(self.at, Cause::UnevenPairs { searches, replaces }));
        }
        // Exactly the room for them: for the usual single pair, collecting would make room for four.
        let mut pairs = Vec::with_capacity(searches);
        for pair in self
            .all(ElementName::Search)
            .zip(self.all(ElementName::Replace))
        {
            pairs.push(pair);
        }
        Ok(Replacement::Pairs(pairs))
    }

    /// An exec with the values of its attributes.
    pub(super) fn exec(
        &mut self,
        script: Payload<'t>,
        [timeout, lang, version, cwd, output]: [Option<String>; 5],
    ) -> Result<Action<'t>, Problem> {
        let timeout = self.value("timeout", timeout, duration::FORM, duration::parse)?;
        let lang = self.value("lang", lang, LANGUAGES, Language::parse)?;
        let mut version = self.value("version", version, VERSION, |value| {
            is_version(value).then(|| value.to_owned())
        })?;
        if lang.is_none() && version.take().is_some() {
            let cause = Cause::UnknownAttribute {
                element: "x",
                name: "version".to_owned(),
            };
            self.warn(self.at_of(ElementName::X), cause);
        }
        let cwd = self.value("cwd", cwd, "a folder, such as `sub/dir`", |value| {
            let folder = value.trim();
            (!folder.is_empty()).then(|| folder.to_owned())
        })?;
        let output = self.yes_or_no("output", output)?;
        Ok(Action::Exec {
            script,
            timeout,
            lang,
            version,
            cwd,
            quiet: output == Some(false),
        })
    }

    pub(super) fn final_newline(&mut self) -> Result<bool, Problem> {
        let [eof] = self.options(["eof"])?;
        let eof = self.value("eof", eof, "`no-newline`", |value| {
            value.eq_ignore_ascii_case("no-newline").then_some(false)
        })?;
        Ok(eof.unwrap_or(true))
    }

    /// Refuses what names lines for a command that would take the whole file.
    pub(super) fn whole_file(&self, command: &str, instead: &str) -> Result<(), Problem> {
        let has_lines = |element: &&Element<'_>| {
            let attributes = element.tag.attributes().unwrap_or_default();
            attributes.iter().any(|(name, _)| name == "lines")
        };
        let has_any = |e: &&Element<'_>| e.tag.has_attributes() && e.name.has_options();
        let mut options = self.elements.iter().filter(has_any);
        let Some(element) = options.find(has_lines) else {
            return Ok(());
        };
        let said = format!(
            "`{command}` takes a whole file, not lines of it: for those, write `<c \
             lines=\"12-40\">replace-lines</c>` and {instead}"
        );
        Err(self.problem(element.tag.at, Cause::Said(said)))
    }

    /// The pattern in `<x>`, without the end of its last line.
    pub(super) fn pattern(&self, command: Command) -> Result<Cow<'t, str>, Problem> {
        let payload = self.filled(command)?;
        let text = payload.text();
        let pattern = text.strip_suffix('\n').unwrap_or(&text);
        Ok(pattern.to_owned().into())
    }

    /// A range of lines; `form` says if an end of it may be left out.
    fn lines(
        &self,
        lines: Option<String>,
        form: &'static str,
    ) -> Result<Option<Cow<'t, str>>, Problem> {
        let Some(lines) = lines else { return Ok(None) };
        // `L12 – L40` says it as well.
        let said = |c: &char| !matches!(c, 'L' | 'l') && !c.is_whitespace();
        let plain: String = lines.replace('–', "-").chars().filter(said).collect();
        let closed = LineRange::parse(&plain);
        let is_open = form == LINES && LineRange::parse_open(&plain).is_ok();
        match closed {
            Err(LineError::Reversed) => Err(self.bad_attribute("lines", lines, FORWARD)),
            Err(LineError::Invalid) if !is_open => Err(self.bad_attribute("lines", lines, form)),
            _ => Ok(Some(plain.into())),
        }
    }

    fn yes_or_no(
        &self,
        name: &'static str,
        value: Option<String>,
    ) -> Result<Option<bool>, Problem> {
        self.value(name, value, YES_NO, |value| {
            match value.to_ascii_lowercase().as_str() {
                "yes" | "true" => Some(true),
                "no" | "false" => Some(false),
                _ => None,
            }
        })
    }

    /// Warns of the first element that the command does not use.
    pub(super) fn warn_unused(&mut self, command: Command) {
        let (path, payloads) = takes(command);
        let is_used = |name: ElementName| match name {
            ElementName::I | ElementName::C => true,
            ElementName::Path => path != PathCount::None,
            name => payloads.contains(&name),
        };
        let unused = self.elements.iter().find(|element| !is_used(element.name));
        if let Some((at, element)) = unused.map(|e| (e.tag.at, e.name.text())) {
            self.warn(at, Cause::Unused { element, command });
        }
    }
}

/// True if a text is numbers with a dot between each two.
fn is_version(value: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    value.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_named_where_one_is_unknown() {
        let names = Language::ALL.map(|language| format!("`{}`", language.name()));
        assert_eq!(LANGUAGES, format!("one of {}", names.join(", ")));
        let levels = ContextLevel::ALL.map(|level| format!("`{}`", level.word()));
        assert_eq!(LEVELS, format!("one of {}", levels.join(", ")));
    }
}
