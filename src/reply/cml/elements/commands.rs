//! What each command needs of the elements of its task, and how their attributes say what is meant.

use std::borrow::Cow;

use super::{Element, Elements, OPTIONS};
use crate::reply::action::{Action, Command, ContextTask, Payload, Replacement};
use crate::reply::cml::tag::{Name, decode_entities};
use crate::reply::task::{Cause, Problem};
use crate::reply::text::Form;
use crate::text::duration;
use crate::text::language::Language;
use crate::text::lines::{LineError, LineRange};

/// What `lang` can be, for messages; a test compares it with [`Language::ALL`].
const LANGUAGES: &str = "one of `bash`, `sh`, `python`, `javascript`, `ruby`";
const YES_NO: &str = "`yes` or `no`";
const LINES: &str = "a line, such as `12`, or a range, such as `12-40`, `12-` or `-40`";
const CLOSED_LINES: &str = "a line, such as `12`, or a range, such as `12-40`";
const FORWARD: &str = "a range whose first line comes before its last, such as `12-40`";
const COUNT: &str = "how many places there are, such as `3`";
/// What `version` must look like, for messages.
const VERSION: &str = "digits and dots, such as `3.11`";

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
                    content: self.payload(Name::X, command)?,
                    final_newline,
                    only_new: false,
                }
            }
            Command::Append => {
                let final_newline = self.final_newline()?;
                Action::Append {
                    path: self.path(command)?,
                    content: self.payload(Name::X, command)?,
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
                    search: self.payload(Name::Search, command)?,
                    replace: self.payload(Name::Replace, command)?,
                    count,
                }
            }
            Command::ReplaceLines => {
                let [lines] = self.options(["lines"])?;
                let path = self.path(command)?;
                let mut content = self.payload(Name::X, command)?;
                if content.form == Form::Inline {
                    // Whole lines go, so whole lines come.
                    let text = content.text();
                    let end = if text.is_empty() { "" } else { "\n" };
                    content = Payload::block(format!("{text}{end}"));
                }
                let Some(lines) = self.lines(lines)? else {
                    return Err(self.problem(
                        self.at,
                        Cause::MissingOption {
                            name: "lines",
                            form: LINES,
                        },
                    ));
                };
                Action::ReplaceLines {
                    path,
                    lines,
                    content,
                }
            }
            Command::Move => {
                let [overwrite] = self.options(["overwrite"])?;
                let overwrite = self.yes_or_no("overwrite", overwrite)?.unwrap_or(false);
                let to = self.payload(Name::X, command)?;
                let to = decode_entities(to.raw.trim()).into_owned();
                if to.is_empty() {
                    return Err(self.problem(self.at_of(Name::X), Cause::Empty { element: "x" }));
                }
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
                let lines = self.lines(lines)?;
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
                let script = self.payload(Name::X, command)?;
                if script.is_blank() {
                    return Err(self.problem(self.at_of(Name::X), Cause::Empty { element: "x" }));
                }
                self.exec(script, values)?
            }
            Command::ContextAdd => {
                let [lines] = self.options(["lines"])?;
                let lines = self.closed_lines(lines)?;
                Action::Context(ContextTask::Add {
                    paths: self.paths(command)?,
                    lines,
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
    pub(super) fn lacks(&self, command: Command) -> Vec<Problem> {
        let x = || self.payload(Name::X, command).err();
        let found = match command {
            Command::Edit => [self.path(command).err(), self.change(command).err()],
            Command::ReplaceAll => [
                self.path(command).err(),
                self.payload(Name::Search, command)
                    .and_then(|_| self.payload(Name::Replace, command))
                    .err(),
            ],
            Command::Overwrite | Command::Append | Command::ReplaceLines | Command::Move => {
                [self.path(command).err(), x()]
            }
            Command::Exec | Command::Grep | Command::Glob => [x(), None],
            Command::Delete
            | Command::MakeFolder
            | Command::RemoveFolder
            | Command::Read
            | Command::ContextAdd
            | Command::ContextRemove => [self.path(command).err(), None],
            Command::List
            | Command::ContextList
            | Command::ContextPrune
            | Command::ContextClear
            | Command::Undo
            | Command::Squash
            | Command::StepBack
            | Command::StepForward => [None, None],
        };
        found.into_iter().flatten().collect()
    }

    pub(super) fn change(&self, command: Command) -> Result<Replacement<'t>, Problem> {
        let count = |name| self.all(name).count();
        let of_stretch = |e: &Element<'_>| matches!(e.name, Name::SearchHead | Name::SearchTail);
        let stretch = self.elements.iter().any(of_stretch);
        if stretch && count(Name::Search) > 0 {
            return Err(self.problem(self.at_of(Name::SearchHead).max(self.at), Cause::MixedEdit));
        }
        if stretch {
            if count(Name::Replace) > 1 {
                return Err(self.problem(
                    self.at,
                    Cause::UnevenPairs {
                        searches: 1,
                        replaces: count(Name::Replace),
                    },
                ));
            }
            return Ok(Replacement::Stretch {
                head: self.payload(Name::SearchHead, command)?,
                tail: self.payload(Name::SearchTail, command)?,
                replace: self.payload(Name::Replace, command)?,
            });
        }
        self.payload(Name::Search, command)?;
        self.payload(Name::Replace, command)?;
        let (searches, replaces) = (count(Name::Search), count(Name::Replace));
        if searches != replaces {
            return Err(self.problem(self.at, Cause::UnevenPairs { searches, replaces }));
        }
        // Exactly the room for them: for the usual single pair, collecting would make room for four.
        let mut pairs = Vec::with_capacity(searches);
        pairs.extend(self.all(Name::Search).zip(self.all(Name::Replace)));
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
            self.warn(self.at_of(Name::X), cause);
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
            let attributes = element
                .tag
                .has_attributes()
                .then(|| element.tag.attributes());
            matches!(attributes, Some(Ok(all)) if all.iter().any(|(name, _)| name == "lines"))
        };
        let mut options = self.elements.iter().filter(|e| OPTIONS.contains(&e.name));
        let Some(element) = options.find(has_lines) else {
            return Ok(());
        };
        let said = format!(
            "`{command}` takes a whole file, not lines of it: for those, write `<c \
             lines=\"12-40\">replace-lines</c>` and {instead}"
        );
        Err(self.problem(element.tag.at, Cause::Said(said)))
    }

    /// What `<x>` has to look for, without the end of its last line.
    pub(super) fn pattern(&self, command: Command) -> Result<Cow<'t, str>, Problem> {
        let payload = self.payload(Name::X, command)?;
        if payload.is_blank() {
            return Err(self.problem(self.at_of(Name::X), Cause::Empty { element: "x" }));
        }
        let text = payload.text();
        let pattern = text.strip_suffix('\n').unwrap_or(&text);
        Ok(pattern.to_owned().into())
    }

    pub(super) fn lines(&self, lines: Option<String>) -> Result<Option<Cow<'t, str>>, Problem> {
        let expected = range_expected(lines.as_deref(), LINES);
        let lines = self.value("lines", lines, expected, |lines| {
            let lines = plain_lines(lines);
            LineRange::parse_open(&lines).ok().map(|_| lines)
        })?;
        Ok(lines.map(Cow::Owned))
    }

    /// The same where both ends must be named.
    fn closed_lines(&self, lines: Option<String>) -> Result<Option<Cow<'t, str>>, Problem> {
        let expected = range_expected(lines.as_deref(), CLOSED_LINES);
        let lines = self.value("lines", lines, expected, |lines| {
            let lines = plain_lines(lines);
            LineRange::parse(&lines).ok().map(|_| lines)
        })?;
        Ok(lines.map(Cow::Owned))
    }

    pub(super) fn yes_or_no(
        &self,
        name: &'static str,
        value: Option<String>,
    ) -> Result<Option<bool>, Problem> {
        self.value(name, value, YES_NO, |value| {
            let is = |known: &[&str]| known.iter().any(|known| value.eq_ignore_ascii_case(known));
            match value {
                _ if is(&["yes", "true"]) => Some(true),
                _ if is(&["no", "false"]) => Some(false),
                _ => None,
            }
        })
    }

    pub(super) fn warn_unused(&mut self, command: Command) {
        let used: &[Name] = match command {
            Command::Edit => &[
                Name::Path,
                Name::Search,
                Name::SearchHead,
                Name::SearchTail,
                Name::Replace,
            ],
            Command::ReplaceAll => &[Name::Path, Name::Search, Name::Replace],
            Command::Overwrite
            | Command::Append
            | Command::ReplaceLines
            | Command::Move
            | Command::Grep
            | Command::Glob => &[Name::Path, Name::X],
            Command::Delete
            | Command::MakeFolder
            | Command::RemoveFolder
            | Command::Read
            | Command::List
            | Command::ContextAdd
            | Command::ContextRemove => &[Name::Path],
            Command::Exec => &[Name::X],
            Command::ContextList
            | Command::ContextPrune
            | Command::ContextClear
            | Command::Undo
            | Command::Squash
            | Command::StepBack
            | Command::StepForward => &[],
        };
        let unused = self
            .elements
            .iter()
            .find(|e| !matches!(e.name, Name::I | Name::C) && !used.contains(&e.name));
        if let Some((at, element)) = unused.map(|e| (e.tag.at, e.name.text())) {
            self.warn(at, Cause::Unused { element, command });
        }
    }
}

/// Whether a command is about several files at once, if the reply names several.
pub(super) fn takes_paths(command: Command) -> bool {
    matches!(
        command,
        Command::Read | Command::ReplaceAll | Command::ContextAdd | Command::ContextRemove
    )
}

/// A range of lines without what is around its numbers: `L12 – L40` says it as well.
fn plain_lines(lines: &str) -> String {
    let said = |c: &char| !matches!(c, 'L' | 'l') && !c.is_whitespace();
    lines.replace('–', "-").chars().filter(said).collect()
}

/// Returns what a range of lines must look like, for a message about one that may be the wrong way round.
fn range_expected(lines: Option<&str>, usual: &'static str) -> &'static str {
    let range = lines.map(|lines| LineRange::parse(&plain_lines(lines)));
    match range {
        Some(Err(LineError::Reversed)) => FORWARD,
        _ => usual,
    }
}

/// Whether it is numbers with a dot between each two.
fn is_version(value: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    value.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_is_named_where_one_is_unknown() {
        let names = Language::ALL.map(|language| format!("`{}`", language.name()));
        assert_eq!(LANGUAGES, format!("one of {}", names.join(", ")));
    }
}
