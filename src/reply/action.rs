//! What a task asks for, in whichever dialect: the commands, and what each needs. Paths are still text here.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Value, json};

use super::hunk::Hunk;
use super::text::{Form, Text};
use crate::text::language::Language;

/// The commands, by their main names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Edit,
    Overwrite,
    Append,
    ReplaceAll,
    ReplaceLines,
    Move,
    Delete,
    MakeFolder,
    RemoveFolder,
    Read,
    List,
    Grep,
    Glob,
    Exec,
    ContextAdd,
    ContextRemove,
    ContextList,
    ContextPrune,
    ContextClear,
    Undo,
    Squash,
    StepBack,
    StepForward,
}

impl Command {
    /// All of them, in the order of the reference.
    pub const ALL: [Self; 23] = [
        Self::Edit,
        Self::Overwrite,
        Self::Append,
        Self::ReplaceAll,
        Self::ReplaceLines,
        Self::Move,
        Self::Delete,
        Self::MakeFolder,
        Self::RemoveFolder,
        Self::Read,
        Self::List,
        Self::Grep,
        Self::Glob,
        Self::Exec,
        Self::ContextAdd,
        Self::ContextRemove,
        Self::ContextList,
        Self::ContextPrune,
        Self::ContextClear,
        Self::Undo,
        Self::Squash,
        Self::StepBack,
        Self::StepForward,
    ];

    /// Those that a message names where a reply has none of them.
    pub const USUAL: &[Self] = Self::ALL.split_at(14).0;

    /// The main name, which the results show.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Every name it answers to, the main one first. The others are what models wrote unasked.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Edit => &["edit", "replace", "patch"],
            Self::Overwrite => &["overwrite", "write", "create"],
            Self::Append => &["append", "add"],
            Self::ReplaceAll => &["replace-all", "edit-all"],
            Self::ReplaceLines => &["replace-lines", "edit-lines"],
            Self::Move => &["move", "rename", "mv"],
            Self::Delete => &["delete", "remove", "rm"],
            Self::MakeFolder => &["mkdir", "create-folder", "create-directory", "create-dir"],
            Self::RemoveFolder => &["rmdir", "delete-folder", "delete-directory", "delete-dir"],
            Self::Read => &["read", "cat", "view", "show"],
            Self::List => &["ls", "list", "dir"],
            Self::Grep => &["grep", "search", "rg"],
            Self::Glob => &["glob", "find"],
            Self::Exec => &["exec", "run", "shell", "bash", "sh"],
            Self::ContextAdd => &["context-add"],
            Self::ContextRemove => &["context-remove"],
            Self::ContextList => &["context-list"],
            Self::ContextPrune => &["context-prune"],
            Self::ContextClear => &["context-clear"],
            Self::Undo => &["undo"],
            Self::Squash => &["squash", "git-squash"],
            Self::StepBack => &["step-back", "git-step-back"],
            Self::StepForward => &["step-forward", "git-step-forward"],
        }
    }

    /// The command of that name, in any letter case; `_` is as good as `-`.
    pub fn parse(name: &str) -> Option<Self> {
        let same = |known: &str| {
            known.len() == name.len()
                && known
                    .bytes()
                    .zip(name.bytes())
                    .all(|(k, n)| k.eq_ignore_ascii_case(&n) || k == b'-' && n == b'_')
        };
        Self::ALL
            .into_iter()
            .find(|command| command.names().iter().any(|known| same(known)))
    }

    /// What the user types to do it, where no reply may ask for it.
    pub fn typed(self) -> Option<&'static str> {
        match self {
            Self::Undo => Some("clada undo"),
            Self::Squash => Some("clada squash"),
            Self::StepBack => Some("clada step-back"),
            Self::StepForward => Some("clada step-forward"),
            _ => None,
        }
    }
}

/// A task's command with all that it needs. Paths are still text: the workspace decides what they mean.
#[derive(Debug, Clone)]
pub enum Action<'t> {
    Edit {
        path: Cow<'t, str>,
        change: Change<'t>,
        /// Where the file is moved to with its change.
        to: Option<Cow<'t, str>>,
    },
    Overwrite {
        path: Cow<'t, str>,
        content: Payload<'t>,
        final_newline: bool,
        /// A file that is there already is an error.
        only_new: bool,
    },
    /// In block form it begins on a line of its own, in inline form where the file ends.
    Append {
        path: Cow<'t, str>,
        content: Payload<'t>,
        final_newline: bool,
    },
    /// Every place that has this very text, in each of these files.
    ReplaceAll {
        paths: Vec<Cow<'t, str>>,
        search: Payload<'t>,
        replace: Payload<'t>,
        /// How many places there must be.
        count: Option<usize>,
    },
    ReplaceLines {
        path: Cow<'t, str>,
        /// `N` or `A-B`.
        lines: Cow<'t, str>,
        content: Payload<'t>,
    },
    Move {
        path: Cow<'t, str>,
        to: Cow<'t, str>,
        overwrite: bool,
        /// To this very name, also where a folder has it.
        exact: bool,
    },
    Delete {
        path: Cow<'t, str>,
        /// A folder is an error.
        only_file: bool,
        /// What a diff says that it holds; without hunks it may hold anything.
        held: Vec<Hunk<'t>>,
    },
    MakeFolder {
        path: Cow<'t, str>,
    },
    /// Only an empty one.
    RemoveFolder {
        path: Cow<'t, str>,
    },
    Read {
        paths: Vec<Cow<'t, str>>,
        /// `N` or `A-B`; nothing: all.
        lines: Option<Cow<'t, str>>,
        /// What stands between a line's number and the line; nothing: no numbers.
        numbers: Option<Cow<'t, str>>,
        /// It shows what there is: of lines those that are in the file, of a folder what is in it. Else both are mistakes.
        is_lenient: bool,
    },
    List {
        /// Nothing: the root.
        path: Option<Cow<'t, str>>,
    },
    Grep {
        /// A regular expression.
        pattern: Cow<'t, str>,
        /// A file or folder; nothing: the root.
        path: Option<Cow<'t, str>>,
        /// Only files of such names.
        include: Option<Cow<'t, str>>,
        ignore_case: bool,
    },
    Glob {
        pattern: Cow<'t, str>,
        /// The folder that the pattern begins in; nothing: the root.
        path: Option<Cow<'t, str>>,
    },
    Exec {
        script: Payload<'t>,
        timeout: Option<Duration>,
        /// Nothing: a shell.
        lang: Option<Language>,
        /// Digits and dots; only beside a language.
        version: Option<String>,
        /// The folder to run it in, as the reply wrote it.
        cwd: Option<String>,
        /// What it writes is not asked for.
        quiet: bool,
    },
    Context(ContextTask<'t>),
    /// What only the user may do, by typing it.
    ForUser(Command),
}

/// What to do with the set of files that the chat works with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextTask<'t> {
    Add {
        paths: Vec<Cow<'t, str>>,
        /// `N` or `A-B`; nothing: all.
        lines: Option<Cow<'t, str>>,
    },
    Remove {
        paths: Vec<Cow<'t, str>>,
    },
    List,
    /// Takes out what is no longer there.
    Prune,
    Clear,
}

impl Action<'_> {
    /// The command that asks for it.
    pub fn command(&self) -> Command {
        match self {
            Self::Edit { .. } => Command::Edit,
            Self::Overwrite { .. } => Command::Overwrite,
            Self::Append { .. } => Command::Append,
            Self::ReplaceAll { .. } => Command::ReplaceAll,
            Self::ReplaceLines { .. } => Command::ReplaceLines,
            Self::Move { .. } => Command::Move,
            Self::Delete { .. } => Command::Delete,
            Self::MakeFolder { .. } => Command::MakeFolder,
            Self::RemoveFolder { .. } => Command::RemoveFolder,
            Self::Read { .. } => Command::Read,
            Self::List { .. } => Command::List,
            Self::Grep { .. } => Command::Grep,
            Self::Glob { .. } => Command::Glob,
            Self::Exec { .. } => Command::Exec,
            Self::Context(ContextTask::Add { .. }) => Command::ContextAdd,
            Self::Context(ContextTask::Remove { .. }) => Command::ContextRemove,
            Self::Context(ContextTask::List) => Command::ContextList,
            Self::Context(ContextTask::Prune) => Command::ContextPrune,
            Self::Context(ContextTask::Clear) => Command::ContextClear,
            Self::ForUser(command) => *command,
        }
    }

    /// Whether it may change anything in the project.
    pub fn changes(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::List { .. }
            | Self::Grep { .. }
            | Self::Glob { .. }
            | Self::Context(_)
            | Self::ForUser(_) => false,
            Self::Edit { .. }
            | Self::Overwrite { .. }
            | Self::Append { .. }
            | Self::ReplaceAll { .. }
            | Self::ReplaceLines { .. }
            | Self::Move { .. }
            | Self::Delete { .. }
            | Self::MakeFolder { .. }
            | Self::RemoveFolder { .. }
            | Self::Exec { .. } => true,
        }
    }

    /// Whether it is done for what it tells, so that it is done again where a task before it was: a command, or one that
    /// looks.
    pub fn tells(&self) -> bool {
        matches!(self, Self::Exec { .. }) || !self.changes()
    }

    /// What it is about, in one line of text as the reply wrote it: a path, `a → b`, or the first line of a script.
    pub fn target(&self) -> Cow<'_, str> {
        let several = |paths: &[Cow<'_, str>]| match paths {
            [path] => path.clone().into_owned(),
            paths => format!("({} files)", paths.len()),
        };
        match self {
            Self::Edit {
                path, to: Some(to), ..
            }
            | Self::Move { path, to, .. } => format!("{path} → {to}").into(),
            Self::Edit { path, .. }
            | Self::Overwrite { path, .. }
            | Self::Append { path, .. }
            | Self::Delete { path, .. }
            | Self::MakeFolder { path }
            | Self::RemoveFolder { path } => path.as_ref().into(),
            Self::ReplaceLines { path, lines, .. } => format!("{path}:{lines}").into(),
            Self::ReplaceAll { paths, .. } => several(paths).into(),
            Self::Read { paths, lines, .. } => match lines {
                Some(lines) => format!("{}:{lines}", several(paths)).into(),
                None => several(paths).into(),
            },
            Self::List { path } => path.as_deref().unwrap_or(".").into(),
            Self::Grep { pattern, path, .. } | Self::Glob { pattern, path } => match path {
                Some(path) => format!("{pattern} in {path}").into(),
                None => pattern.as_ref().into(),
            },
            Self::Exec { script, .. } => script.first_line(),
            Self::Context(task) => match task {
                ContextTask::Add { paths, lines } => match lines {
                    Some(lines) => format!("{}:{lines}", several(paths)).into(),
                    None => several(paths).into(),
                },
                ContextTask::Remove { paths } => several(paths).into(),
                ContextTask::List | ContextTask::Prune | ContextTask::Clear => "".into(),
            },
            Self::ForUser(_) => "".into(),
        }
    }

    /// What the reply asked for, for `--json`.
    pub fn params(&self) -> Value {
        let mut params = match self {
            Self::Edit { path, change, to } => {
                let mut params = change.params();
                params["path"] = path.as_ref().into();
                if let Some(to) = to {
                    params["to"] = to.as_ref().into();
                }
                params
            }
            Self::Overwrite { path, content, .. } | Self::Append { path, content, .. } => {
                json!({ "path": path, "content": content.file_text() })
            }
            Self::ReplaceAll {
                paths,
                search,
                replace,
                count,
            } => {
                json!({ "paths": paths, "search": search.text(), "replace": replace.text(), "count": count })
            }
            Self::ReplaceLines {
                path,
                lines,
                content,
            } => {
                json!({ "path": path, "lines": lines, "content": content.text() })
            }
            Self::Move {
                path,
                to,
                overwrite,
                ..
            } => json!({ "path": path, "to": to, "overwrite": overwrite }),
            Self::Delete { path, .. } | Self::MakeFolder { path } | Self::RemoveFolder { path } => {
                json!({ "path": path })
            }
            Self::Read {
                paths,
                lines,
                numbers,
                ..
            } => {
                json!({ "paths": paths, "lines": lines, "delimiter": numbers })
            }
            Self::List { path } => json!({ "path": path }),
            Self::Grep {
                pattern,
                path,
                include,
                ignore_case,
            } => {
                json!({ "pattern": pattern, "path": path, "include": include, "ignore_case": ignore_case })
            }
            Self::Glob { pattern, path } => json!({ "pattern": pattern, "path": path }),
            Self::Exec {
                script,
                timeout,
                lang,
                version,
                cwd,
                quiet,
            } => json!({
                "script": script.text(),
                "timeout": timeout.map(|timeout| timeout.as_secs_f64()),
                "lang": lang.map(Language::name),
                "version": version,
                "cwd": cwd,
                "quiet": quiet.then_some(true),
            }),
            Self::Context(ContextTask::Add { paths, lines }) => {
                json!({ "paths": paths, "lines": lines })
            }
            Self::Context(ContextTask::Remove { paths }) => json!({ "paths": paths }),
            Self::Context(ContextTask::List | ContextTask::Prune | ContextTask::Clear)
            | Self::ForUser(_) => json!({}),
        };
        // What was left out is not in it.
        if let Value::Object(params) = &mut params {
            params.retain(|_, value| !value.is_null());
        }
        params
    }
}

/// What an edit replaces.
#[derive(Debug, Clone)]
pub enum Change<'t> {
    /// `<search>` and `<replace>`, one or more times.
    Pairs(Vec<(Payload<'t>, Payload<'t>)>),
    /// From `<search-head>` to `<search-tail>`, both included.
    Stretch {
        head: Payload<'t>,
        tail: Payload<'t>,
        replace: Payload<'t>,
    },
    /// This very text, which must be there once.
    Literal {
        search: Cow<'t, str>,
        replace: Cow<'t, str>,
    },
    /// From one very text to another, both included; each must be there once.
    LiteralRange {
        beginning: Cow<'t, str>,
        end: Cow<'t, str>,
        replace: Cow<'t, str>,
    },
    /// Parts of a patch, in the order of the file.
    Hunks(Vec<Hunk<'t>>),
}

impl Change<'_> {
    /// What the reply asked for, without the file.
    fn params(&self) -> Value {
        match self {
            Self::Pairs(pairs) => match pairs.as_slice() {
                [(search, replace)] => {
                    json!({ "path": "", "search": search.text(), "replace": replace.text() })
                }
                pairs => {
                    let pair = |(search, replace): &(Payload<'_>, Payload<'_>)| json!({ "search": search.text(), "replace": replace.text() });
                    json!({ "path": "", "pairs": pairs.iter().map(pair).collect::<Vec<_>>() })
                }
            },
            Self::Stretch {
                head,
                tail,
                replace,
            } => json!({
                "path": "", "search-head": head.text(), "search-tail": tail.text(), "replace": replace.text(),
            }),
            Self::Literal { search, replace } => {
                json!({ "path": "", "search": search, "replace": replace })
            }
            Self::LiteralRange {
                beginning,
                end,
                replace,
            } => {
                json!({ "path": "", "search-head": beginning, "search-tail": end, "replace": replace })
            }
            Self::Hunks(hunks) => {
                let hunk = |hunk: &Hunk<'_>| json!({ "line": hunk.line, "search": hunk.search(), "replace": hunk.replacement() });
                json!({ "path": "", "hunks": hunks.iter().map(hunk).collect::<Vec<_>>() })
            }
        }
    }
}

/// The raw text between a payload element's tags.
#[derive(Debug, Clone)]
pub struct Payload<'t> {
    pub form: Form,
    /// As it stands in the scanned text; in block form a list of lines, each with its line end (the last one's may be missing).
    pub raw: Cow<'t, str>,
    /// What the lines begin with and is not part of them: white space that the whole batch is indented by, or the `+` of
    /// a patch.
    pub indent: &'t str,
    /// All lines end in CRLF, and those of the tags around them do not: so it is meant.
    pub is_crlf: bool,
    /// The reply says that no line of it stands for text which is left out: `elision="text"`.
    pub is_whole: bool,
}

impl<'t> Payload<'t> {
    /// Text that is taken as it is.
    pub fn inline(raw: impl Into<Cow<'t, str>>) -> Self {
        Self {
            form: Form::Inline,
            raw: raw.into(),
            indent: "",
            is_crlf: false,
            is_whole: true,
        }
    }

    /// Lines, each with its line end.
    pub fn block(raw: impl Into<Cow<'t, str>>) -> Self {
        Self {
            form: Form::Block,
            raw: raw.into(),
            indent: "",
            is_crlf: false,
            is_whole: false,
        }
    }

    /// The payload's text: in block form every line ends in LF and lacks the batch's indentation; inline it is as written.
    pub fn text(&self) -> Cow<'_, str> {
        match self.form {
            Form::Inline if self.indent.is_empty() => Cow::Borrowed(&self.raw),
            Form::Inline => {
                let mut lines = self.raw.split_inclusive('\n');
                let first = lines.next().unwrap_or_default();
                Cow::Owned(lines.fold(first.to_owned(), |all, line| {
                    all + dedent(line, self.indent)
                }))
            }
            Form::Block => {
                let ends_well = self.raw.is_empty() || self.raw.ends_with('\n');
                if ends_well
                    && self.indent.is_empty()
                    && memchr::memchr(b'\r', self.raw.as_bytes()).is_none()
                {
                    return Cow::Borrowed(&self.raw);
                }
                let mut text = String::with_capacity(self.raw.len() + 1);
                for line in self.raw.split_inclusive('\n') {
                    let line = dedent(line, self.indent);
                    let line = line.strip_suffix('\n').unwrap_or(line);
                    text.push_str(line.strip_suffix('\r').unwrap_or(line));
                    text.push('\n');
                }
                Cow::Owned(text)
            }
        }
    }

    /// The text of a file that is made of it: as [`Self::text`], with the line ends that the payload itself has.
    pub fn file_text(&self) -> Cow<'_, str> {
        match self.is_crlf {
            true => self.text().replace('\n', "\r\n").into(),
            false => self.text(),
        }
    }

    /// Its first line that is not blank, with a sign that there are more.
    fn first_line(&self) -> Cow<'_, str> {
        let mut lines = self
            .raw
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() {
            format!("{first} …").into()
        } else {
            first.into()
        }
    }

    /// Whether there is nothing but white space in it.
    pub fn is_blank(&self) -> bool {
        self.raw.trim().is_empty()
    }
}

impl<'a> Text<'a> {
    /// A payload's text, already taken out by [`Payload::text`], in its form.
    pub fn of(payload: &Payload<'_>, text: &'a str) -> Self {
        Self {
            form: payload.form,
            text,
            is_whole: payload.is_whole,
        }
    }
}

/// Takes a batch's indentation off a line; a blank line may have less of it.
fn dedent<'l>(line: &'l str, indent: &str) -> &'l str {
    line.strip_prefix(indent).unwrap_or_else(|| {
        let common = line
            .bytes()
            .zip(indent.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        &line[common..]
    })
}
