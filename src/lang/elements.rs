//! From the elements of one task to its action: what each command needs, and what is wrong with it.

use std::borrow::Cow;

use super::action::{Action, Change, Command, ContextTask, Payload};
use super::duration;
use super::language::Language;
use super::lines::LineRange;
use super::tag::{Kind, Name, Tag, decode_entities};
use super::task::{Cause, Problem, Task};
use super::text::Form;

/// The elements of the task that is being read. One value serves all tasks of a batch, one after the other: with a fresh
/// one for each the scan of tasks took a sixth longer.
#[derive(Default)]
pub(crate) struct Elements<'t> {
    /// The offset of its `<task>`.
    at: usize,
    is_open: bool,
    elements: Vec<Element<'t>>,
    /// The first unknown element.
    unknown: Option<Problem>,
    warnings: Vec<Problem>,
}

/// One element of a task.
pub(crate) struct Element<'t> {
    pub(crate) name: Name,
    pub(crate) tag: Tag<'t>,
    pub(crate) content: Content<'t>,
    /// The offset behind its closing tag.
    pub(crate) end: usize,
}

/// What an element holds.
pub(crate) enum Content<'t> {
    Short(&'t str),
    Payload(Payload<'t>),
}

/// What models write instead of the right name, where spelling alone would not lead to it.
const MEANT: [(&str, Name); 30] = [
    ("file", Name::Path),
    ("filename", Name::Path),
    ("filepath", Name::Path),
    ("file_path", Name::Path),
    ("folder", Name::Path),
    ("directory", Name::Path),
    ("source", Name::Path),
    ("command", Name::C),
    ("cmd", Name::C),
    ("action", Name::C),
    ("content", Name::X),
    ("contents", Name::X),
    ("code", Name::X),
    ("body", Name::X),
    ("text", Name::X),
    ("destination", Name::X),
    ("pattern", Name::X),
    ("regex", Name::X),
    ("query", Name::X),
    ("new_content", Name::X),
    ("new_path", Name::X),
    ("script", Name::X),
    ("find", Name::Search),
    ("old", Name::Search),
    ("old_text", Name::Search),
    ("new", Name::Replace),
    ("new_text", Name::Replace),
    ("description", Name::I),
    ("explanation", Name::I),
    ("reason", Name::I),
];

/// Elements that models write for what is an attribute, and how that is written.
const OPTION_ELEMENTS: [(&str, &str); 10] = [
    ("lines", "c lines=\"12-40\""),
    ("line", "c lines=\"12-40\""),
    ("range", "c lines=\"12-40\""),
    ("count", "c count=\"3\""),
    ("delimiter", "c numbered=\"yes\" delimiter=\": \""),
    ("include", "c include=\"*.rs\""),
    ("lang", "c lang=\"python\""),
    ("cwd", "c cwd=\"sub/dir\""),
    ("timeout", "c timeout=\"90s\""),
    ("overwrite", "c overwrite=\"yes\""),
];

/// What other dialects and tools call a command, where spelling alone would not lead to it.
const CALLED: [(&str, Command); 40] = [
    ("file_write", Command::Overwrite),
    ("write_file", Command::Overwrite),
    ("file_create", Command::Overwrite),
    ("create_file", Command::Overwrite),
    ("write_to_file", Command::Overwrite),
    ("file_append", Command::Append),
    ("append_to_file", Command::Append),
    ("file_replace_text", Command::Edit),
    ("replace_text_in_file", Command::Edit),
    ("file_replace_text_range", Command::Edit),
    ("replace_text_range_in_file", Command::Edit),
    ("replace_in_file", Command::Edit),
    ("str_replace", Command::Edit),
    ("insert", Command::Edit),
    ("file_replace_all_text", Command::ReplaceAll),
    ("replace_all_text_in_file", Command::ReplaceAll),
    ("files_replace_all_text", Command::ReplaceAll),
    ("file_replace_lines", Command::ReplaceLines),
    ("replace_lines_in_file", Command::ReplaceLines),
    ("file_move", Command::Move),
    ("move_file", Command::Move),
    ("file_delete", Command::Delete),
    ("delete_file", Command::Delete),
    ("dir_create", Command::MakeFolder),
    ("make_dir", Command::MakeFolder),
    ("dir_delete", Command::RemoveFolder),
    ("file_read", Command::Read),
    ("read_file", Command::Read),
    ("file_read_numbered", Command::Read),
    ("read_file_numbered", Command::Read),
    ("files_read", Command::Read),
    ("read_files", Command::Read),
    ("list_dir", Command::List),
    ("list_files", Command::List),
    ("grep_search", Command::Grep),
    ("search_files", Command::Grep),
    ("find_files", Command::Glob),
    ("run_command", Command::Exec),
    ("execute_command", Command::Exec),
    ("execute", Command::Exec),
];

/// What `lang` can be, for messages; a test compares it with [`Language::ALL`].
const LANGUAGES: &str = "one of `bash`, `sh`, `python`, `javascript`, `ruby`";

/// The elements whose attributes say how a command is meant.
const OPTIONS: [Name; 3] = [Name::C, Name::Path, Name::X];

const YES_NO: &str = "`yes` or `no`";
const LINES: &str = "a line, such as `12`, or a range, such as `12-40`";
const COUNT: &str = "how many places there are, such as `3`";

/// What `version` must look like, for messages.
const VERSION: &str = "digits and dots, such as `3.11`";

impl<'t> Elements<'t> {
    /// The offset of the `<task>` that is open.
    pub(crate) fn open(&self) -> Option<usize> {
        self.is_open.then_some(self.at)
    }

    pub(crate) fn begin(&mut self, task: &Tag<'t>) {
        self.at = task.at;
        self.is_open = true;
        self.check_attributes(Name::Task, task);
    }

    pub(crate) fn add(&mut self, element: Element<'t>) {
        if !OPTIONS.contains(&element.name) {
            self.check_attributes(element.name, &element.tag);
        }
        if let Content::Payload(payload) = &element.content
            && holds_task_end(&payload.raw)
        {
            let cause = Cause::HoldsTaskEnd {
                element: element.name.text(),
            };
            self.warn(element.tag.at, cause);
        }
        if let Content::Payload(payload) = &element.content
            && looks_escaped(&payload.raw)
        {
            self.warn(
                element.tag.at,
                Cause::LooksEscaped {
                    element: element.name.text(),
                },
            );
        }
        self.elements.push(element);
    }

    pub(crate) fn unknown(&mut self, tag: &Tag<'t>) {
        let name = tag.spelling.to_owned();
        let nearest = meant(&name);
        self.unknown.get_or_insert(Problem {
            at: tag.at,
            cause: Cause::UnknownElement { name, nearest },
        });
    }

    /// The task, whose last tag ends at `end`.
    pub(crate) fn finish(&mut self, end: usize) -> Task<'t> {
        let name = self.short(Name::C);
        let command = match &name {
            Ok(Some((_, name))) => Command::parse(name),
            _ => None,
        };
        let action = self.action(name, command);
        let why = self.short(Name::I).ok().flatten();
        let why = why.map_or("", |(_, why)| why);
        let why_span = self
            .elements
            .iter()
            .find(|e| e.name == Name::I)
            .map(|e| e.tag.at..e.end);
        self.elements.clear();
        self.is_open = false;
        Task {
            span: self.at..end,
            why_span,
            why,
            command,
            call: None,
            action,
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    fn action(
        &mut self,
        name: Result<Option<(usize, &'t str)>, Problem>,
        command: Option<Command>,
    ) -> Result<Action<'t>, Problem> {
        if let Some(problem) = self.unknown.take() {
            return Err(problem);
        }
        self.no_duplicates(command)?;
        let Some((at, name)) = name? else {
            return Err(self.problem(
                self.at,
                Cause::Missing {
                    element: "c",
                    command: None,
                },
            ));
        };
        let Some(command) = command else {
            return Err(self.problem(at, unknown_command(name)));
        };
        let action = self.action_of(command)?;
        self.warn_unused(command);
        Ok(action)
    }

    fn action_of(&mut self, command: Command) -> Result<Action<'t>, Problem> {
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
                let lines = self.lines(lines)?;
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

    fn no_duplicates(&self, command: Option<Command>) -> Result<(), Problem> {
        let may_repeat = |name| match name {
            Name::Search | Name::Replace => true,
            Name::Path => command.is_some_and(takes_paths),
            _ => false,
        };
        for (index, element) in self.elements.iter().enumerate() {
            let first = self.elements[..index]
                .iter()
                .find(|before| before.name == element.name);
            if let Some(first) = first.filter(|e| !may_repeat(e.name)) {
                let cause = Cause::Duplicate {
                    element: element.name.text(),
                    first: first.tag.at,
                };
                return Err(self.problem(element.tag.at, cause));
            }
        }
        Ok(())
    }

    fn change(&self, command: Command) -> Result<Change<'t>, Problem> {
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
            return Ok(Change::Stretch {
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
        Ok(Change::Pairs(pairs))
    }

    fn all(&self, name: Name) -> impl Iterator<Item = Payload<'t>> {
        self.elements
            .iter()
            .filter(move |e| e.name == name)
            .filter_map(|e| match e.content {
                Content::Payload(ref payload) => Some(payload.clone()),
                Content::Short(_) => None,
            })
    }

    fn payload(&self, name: Name, command: Command) -> Result<Payload<'t>, Problem> {
        let missing = Cause::Missing {
            element: name.text(),
            command: Some(command),
        };
        self.all(name)
            .next()
            .ok_or_else(|| self.problem(self.at, missing))
    }

    /// One path, or several: each in an element or on a line of its own.
    fn paths(&self, command: Command) -> Result<Vec<Cow<'t, str>>, Problem> {
        self.path(command)?;
        let paths = self.elements.iter().filter(|e| e.name == Name::Path);
        let lines = paths.flat_map(|element| match element.content {
            Content::Short(content) => content.lines(),
            Content::Payload(_) => "".lines(),
        });
        let paths = lines.map(str::trim).filter(|line| !line.is_empty());
        Ok(paths.map(decode_entities).collect())
    }

    fn path_if_any(&self) -> Result<Option<Cow<'t, str>>, Problem> {
        let path = self.short(Name::Path)?;
        Ok(path.map(|(_, path)| decode_entities(path)))
    }

    /// What `<x>` has to look for, without the end of its last line.
    fn pattern(&self, command: Command) -> Result<Cow<'t, str>, Problem> {
        let payload = self.payload(Name::X, command)?;
        if payload.is_blank() {
            return Err(self.problem(self.at_of(Name::X), Cause::Empty { element: "x" }));
        }
        let text = payload.text();
        let pattern = text.strip_suffix('\n').unwrap_or(&text);
        Ok(pattern.to_owned().into())
    }

    fn final_newline(&mut self) -> Result<bool, Problem> {
        let [eof] = self.options(["eof"])?;
        let eof = self.value("eof", eof, "`no-newline`", |value| {
            value.eq_ignore_ascii_case("no-newline").then_some(false)
        })?;
        Ok(eof.unwrap_or(true))
    }

    /// Refuses what names lines for a command that would take the whole file.
    fn whole_file(&self, command: &str, instead: &str) -> Result<(), Problem> {
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
            "`{command}` is for the whole file, not for lines of it: for those write `<c lines=\"12-40\">replace-lines</c>` \
             and {instead}"
        );
        Err(self.problem(element.tag.at, Cause::Said(said)))
    }

    fn lines(&self, lines: Option<String>) -> Result<Option<Cow<'t, str>>, Problem> {
        let lines = self.value("lines", lines, LINES, |lines| {
            // `L12 – L40` says it as well.
            let said = |c: &char| !matches!(c, 'L' | 'l') && !c.is_whitespace();
            let lines: String = lines.replace('–', "-").chars().filter(said).collect();
            LineRange::parse(&lines).ok().map(|_| lines)
        })?;
        Ok(lines.map(Cow::Owned))
    }

    fn yes_or_no(
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

    fn path(&self, command: Command) -> Result<Cow<'t, str>, Problem> {
        let missing = Cause::Missing {
            element: "path",
            command: Some(command),
        };
        let (_, path) = self
            .short(Name::Path)?
            .ok_or_else(|| self.problem(self.at, missing))?;
        Ok(decode_entities(path))
    }

    /// A short element's offset and content; an error where it is there and empty.
    fn short(&self, name: Name) -> Result<Option<(usize, &'t str)>, Problem> {
        let found = self.elements.iter().find(|e| e.name == name);
        match found.map(|e| (e.tag.at, &e.content)) {
            Some((at, Content::Short(""))) if name != Name::I => Err(self.problem(
                at,
                Cause::Empty {
                    element: name.text(),
                },
            )),
            Some((at, Content::Short(content))) => Ok(Some((at, content))),
            _ => Ok(None),
        }
    }

    fn at_of(&self, name: Name) -> usize {
        self.elements
            .iter()
            .find(|e| e.name == name)
            .map_or(self.at, |e| e.tag.at)
    }

    /// An exec with the values of its attributes.
    fn exec(
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

    /// What the value of an attribute means.
    fn value<T>(
        &self,
        name: &'static str,
        value: Option<String>,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = value else { return Ok(None) };
        match parse(&value) {
            None => Err(self.bad_attribute(name, value, expected)),
            parsed => Ok(parsed),
        }
    }

    /// The values of the attributes that this command knows, on whichever element they stand; a warning for each other.
    fn options<const N: usize>(
        &mut self,
        known: [&'static str; N],
    ) -> Result<[Option<String>; N], Problem> {
        let mut found = [const { None }; N];
        for element in self.elements.iter().filter(|e| OPTIONS.contains(&e.name)) {
            if !element.tag.has_attributes() {
                continue;
            }
            let (at, of) = (element.tag.at, element.name.text());
            let attributes = element.tag.attributes().map_err(|text| {
                let cause = Cause::UnreadableAttributes { element: of, text };
                self.problem(at, cause)
            })?;
            for (name, value) in attributes {
                let same = |known: &&str| *known == name || *known == name.replace('_', "-");
                match known.iter().position(same) {
                    Some(index) => found[index] = Some(value),
                    None => self.warnings.push(Problem {
                        at,
                        cause: Cause::UnknownAttribute { element: of, name },
                    }),
                }
            }
        }
        Ok(found)
    }

    fn bad_attribute(&self, name: &'static str, value: String, expected: &'static str) -> Problem {
        let has_it = |e: &&Element<'_>| {
            OPTIONS.contains(&e.name)
                && e.tag
                    .attributes()
                    .is_ok_and(|all| all.iter().any(|(known, _)| known.replace('_', "-") == name))
        };
        let element = self.elements.iter().find(has_it);
        let element = element.map_or(Name::X, |element| element.name);
        self.problem(
            self.at_of(element),
            Cause::BadAttribute {
                element: element.text(),
                name,
                value,
                expected,
            },
        )
    }

    fn check_attributes(&mut self, name: Name, tag: &Tag<'t>) {
        if !tag.has_attributes() {
            return;
        }
        let names = match tag.attributes() {
            Ok(attributes) => attributes.into_iter().map(|(name, _)| name).collect(),
            Err(text) => vec![text],
        };
        for attribute in names {
            self.warn(
                tag.at,
                Cause::UnknownAttribute {
                    element: name.text(),
                    name: attribute,
                },
            );
        }
    }

    fn warn_unused(&mut self, command: Command) {
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

    fn warn(&mut self, at: usize, cause: Cause) {
        self.warnings.push(Problem { at, cause });
    }

    fn problem(&self, at: usize, cause: Cause) -> Problem {
        Problem { at, cause }
    }
}

/// Whether a command is about several files at once, if the reply names several.
fn takes_paths(command: Command) -> bool {
    matches!(
        command,
        Command::Read | Command::ReplaceAll | Command::ContextAdd | Command::ContextRemove
    )
}

/// Whether it is numbers with a dot between each two.
fn is_version(value: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    value.split('.').all(is_number)
}

/// Whether a payload holds the end of a task that does not begin in it, alone on a line.
fn holds_task_end(payload: &str) -> bool {
    let mut depth = 0;
    memchr::memmem::find(payload.as_bytes(), b"</task>").is_some()
        && memchr::memchr_iter(b'<', payload.as_bytes())
            .filter_map(|at| Tag::at(payload, at))
            .filter(|tag| tag.name == Some(Name::Task) && tag.alone(payload))
            .any(|tag| {
                depth += if tag.kind == Kind::Close { -1 } else { 1 };
                depth < 0
            })
}

/// Whether every special character of a payload is written as an entity, and a tag's at least.
fn looks_escaped(payload: &str) -> bool {
    const ENTITIES: [&str; 5] = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"];
    memchr::memchr(b'&', payload.as_bytes()).is_some()
        && !payload.contains(['<', '>'])
        && (payload.contains("&lt;") || payload.contains("&gt;"))
        && payload
            .match_indices('&')
            .all(|(at, _)| ENTITIES.iter().any(|e| payload[at..].starts_with(e)))
}

fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if let Some((_, attribute)) = OPTION_ELEMENTS.iter().find(|(option, _)| *option == name) {
        return Some(attribute);
    }
    let aliases = MEANT.iter().map(|(alias, _)| *alias);
    let known = nearest(
        &name,
        Name::ELEMENTS.iter().map(|name| name.text()).chain(aliases),
    )?;
    let alias = MEANT.iter().find(|(alias, _)| *alias == known);
    Some(alias.map_or(known, |(_, name)| name.text()))
}

fn unknown_command(name: &str) -> Cause {
    let wanted = name.to_ascii_lowercase().replace('-', "_");
    let called = CALLED.iter().find(|(called, _)| *called == wanted);
    let names = || {
        let names = Command::ALL.into_iter().map(Command::names);
        nearest(&name.to_ascii_lowercase(), names.flatten().copied())
    };
    Cause::UnknownCommand {
        name: name.to_owned(),
        nearest: called.map_or_else(names, |(_, command)| Some(command.name())),
    }
}

/// The known name that a misspelt one is most like, if it is like one at all.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let like = known
        .filter(|k| k.len() > 1)
        .map(|k| (strsim::normalized_damerau_levenshtein(name, k), k));
    like.filter(|(similarity, _)| *similarity > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
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
