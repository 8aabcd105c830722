//! The commands of a reply, in whichever dialect, and the parameters that each needs. Paths are still text here.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::context::ContextLevel;
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
    Outline,
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

/// The names of each command, in the order of the reference. The main one is first; the others are what models wrote unasked.
static NAMES: [(Command, &[&str]); 24] = [
    (Command::Edit, &["edit", "replace", "patch"]),
    (Command::Overwrite, &["overwrite", "write", "create"]),
    (Command::Append, &["append", "add"]),
    (Command::ReplaceAll, &["replace-all", "edit-all"]),
    (Command::ReplaceLines, &["replace-lines", "edit-lines"]),
    (Command::Move, &["move", "rename", "mv"]),
    (Command::Delete, &["delete", "remove", "rm"]),
    (
        Command::MakeFolder,
        &["mkdir", "create-folder", "create-directory", "create-dir"],
    ),
    (
        Command::RemoveFolder,
        &["rmdir", "delete-folder", "delete-directory", "delete-dir"],
    ),
    (Command::Read, &["read", "cat", "view", "show"]),
    (Command::Outline, &["outline", "symbols", "skeleton"]),
    (Command::List, &["ls", "list", "dir"]),
    (Command::Grep, &["grep", "search", "rg"]),
    (Command::Glob, &["glob", "find"]),
    (Command::Exec, &["exec", "run", "shell", "bash", "sh"]),
    (Command::ContextAdd, &["context-add"]),
    (Command::ContextRemove, &["context-remove"]),
    (Command::ContextList, &["context-list"]),
    (Command::ContextPrune, &["context-prune"]),
    (Command::ContextClear, &["context-clear"]),
    (Command::Undo, &["undo"]),
    (Command::Squash, &["squash", "git-squash"]),
    (Command::StepBack, &["step-back", "git-step-back"]),
    (Command::StepForward, &["step-forward", "git-step-forward"]),
];

impl Command {
    /// All commands, in the order of the reference.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(|(command, _)| command)
    }

    /// The commands that a message lists where a reply names an unknown one.
    pub fn usual() -> impl Iterator<Item = Self> {
        Self::all().take_while(|command| *command != Self::ContextAdd)
    }

    /// The main name, which the results show.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Every name that the command answers to, the main one first.
    pub fn names(self) -> &'static [&'static str] {
        NAMES[self as usize].1
    }

    /// The command of that name, in any letter case; `_` is as good as `-`.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.as_bytes();
        let is_same = |known: &[u8]| {
            let mut known = known.iter().enumerate();
            known.all(|(at, k)| k.eq_ignore_ascii_case(&name[at]) || *k == b'-' && name[at] == b'_')
        };
        for (command, names) in &NAMES {
            for known in *names {
                if known.len() == name.len() && is_same(known.as_bytes()) {
                    return Some(*command);
                }
            }
        }
        None
    }

    /// The command line that does it, where only the user may ask for it.
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
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Action<'t> {
    Edit {
        path: Cow<'t, str>,
        #[serde(flatten)]
        change: Replacement<'t>,
        /// The new path of the file, if it is moved with its change.
        to: Option<Cow<'t, str>>,
    },
    Overwrite {
        path: Cow<'t, str>,
        #[serde(serialize_with = "file_text")]
        content: Payload<'t>,
        #[serde(skip)]
        final_newline: bool,
        /// A file that is there already is an error.
        #[serde(skip)]
        only_new: bool,
    },
    /// In block form it begins on a line of its own, in inline form where the file ends.
    Append {
        path: Cow<'t, str>,
        #[serde(serialize_with = "file_text")]
        content: Payload<'t>,
        #[serde(skip)]
        final_newline: bool,
    },
    /// Every place that has this very text, in each of these files.
    ReplaceAll {
        paths: Vec<Cow<'t, str>>,
        search: Payload<'t>,
        replace: Payload<'t>,
        /// The number of places that there must be.
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
        #[serde(skip)]
        exact: bool,
    },
    Delete {
        path: Cow<'t, str>,
        /// A folder is an error.
        #[serde(skip)]
        only_file: bool,
        /// The content that a diff says it has; without hunks it may have any.
        #[serde(skip)]
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
        /// The text between a line's number and the line; nothing: no numbers.
        #[serde(rename = "delimiter")]
        numbers: Option<Cow<'t, str>>,
        /// Lines that the file does not have are left out, and a folder is listed. Else both are mistakes.
        #[serde(skip)]
        is_lenient: bool,
    },
    Outline {
        /// Files and folders.
        paths: Vec<Cow<'t, str>>,
        /// Only what other files can use.
        only_public: bool,
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
        #[serde(serialize_with = "seconds")]
        timeout: Option<Duration>,
        /// Nothing: a shell.
        #[serde(serialize_with = "language_name")]
        lang: Option<Language>,
        /// Digits and dots; only beside a language.
        version: Option<String>,
        /// The folder to run it in, as the reply wrote it.
        cwd: Option<String>,
        /// Its output is not asked for.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        quiet: bool,
    },
    Context(ContextTask<'t>),
    /// A command that only the user may give, by typing it.
    #[serde(skip)]
    ForUser(Command),
}

/// A change of the set of files that the chat works with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ContextTask<'t> {
    Add {
        paths: Vec<Cow<'t, str>>,
        /// `N` or `A-B`; nothing: all.
        lines: Option<Cow<'t, str>>,
        /// Nothing: in full, or as it is in the set.
        #[serde(skip_serializing_if = "Option::is_none")]
        level: Option<ContextLevel>,
    },
    Remove {
        paths: Vec<Cow<'t, str>>,
    },
    List,
    /// Takes out the files, lines and definitions that no longer exist.
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
            Self::Outline { .. } => Command::Outline,
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

    /// True if it may change anything in the project.
    pub fn changes(&self) -> bool {
        !matches!(
            self,
            Self::Read { .. }
                | Self::Outline { .. }
                | Self::List { .. }
                | Self::Grep { .. }
                | Self::Glob { .. }
                | Self::Context(_)
                | Self::ForUser(_)
        )
    }

    /// True if it is done for what it reports: a command, or a task that only looks. It is done again where a task before it
    /// was.
    pub fn tells(&self) -> bool {
        matches!(self, Self::Exec { .. }) || !self.changes()
    }

    /// Its subject, in one line of text as the reply wrote it: a path, `a → b`, or the first line of a script.
    pub fn target(&self) -> Cow<'_, str> {
        let files = |paths: &[Cow<'_, str>]| match paths {
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
            Self::Read { paths, lines, .. }
            | Self::Context(ContextTask::Add { paths, lines, .. }) => match lines {
                Some(lines) => format!("{}:{lines}", files(paths)).into(),
                None => files(paths).into(),
            },
            Self::Outline { paths, .. }
            | Self::ReplaceAll { paths, .. }
            | Self::Context(ContextTask::Remove { paths }) => files(paths).into(),
            Self::List { path } => path.as_deref().unwrap_or(".").into(),
            Self::Grep { pattern, path, .. } | Self::Glob { pattern, path } => match path {
                Some(path) => format!("{pattern} in {path}").into(),
                None => pattern.as_ref().into(),
            },
            Self::Exec { script, .. } => script.first_line(),
            Self::Context(_) | Self::ForUser(_) => "".into(),
        }
    }

    /// The parameters that the reply gave, for `--json`.
    pub fn params(&self) -> Value {
        // A command without parameters gives no object.
        let mut params = match serde_json::to_value(self) {
            Ok(Value::Object(params)) => params,
            _ => Map::new(),
        };
        params.retain(|_, value| !value.is_null());
        params.into()
    }
}

fn file_text<S: Serializer>(content: &Payload<'_>, to: S) -> Result<S::Ok, S::Error> {
    content.file_text().serialize(to)
}

fn seconds<S: Serializer>(timeout: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    timeout.map(|timeout| timeout.as_secs_f64()).serialize(to)
}

fn language_name<S: Serializer>(lang: &Option<Language>, to: S) -> Result<S::Ok, S::Error> {
    lang.map(Language::name).serialize(to)
}

/// The text that an edit replaces, and the new one.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Replacement<'t> {
    /// `<search>` and `<replace>`, one or more times.
    #[serde(serialize_with = "pairs")]
    Pairs(Vec<(Payload<'t>, Payload<'t>)>),
    /// From `<search-head>` to `<search-tail>`, both included. It is rare, and in boxes it makes no other task larger.
    Stretch {
        #[serde(rename = "search-head")]
        head: Box<Payload<'t>>,
        #[serde(rename = "search-tail")]
        tail: Box<Payload<'t>>,
        replace: Box<Payload<'t>>,
    },
    /// This very text, which must be there once.
    Literal {
        search: Cow<'t, str>,
        replace: Cow<'t, str>,
    },
    /// From one very text to another, both included; each must be there once.
    LiteralRange {
        #[serde(rename = "search-head")]
        beginning: Cow<'t, str>,
        #[serde(rename = "search-tail")]
        end: Cow<'t, str>,
        replace: Cow<'t, str>,
    },
    /// Parts of a patch, in the order of the file.
    #[serde(serialize_with = "hunks")]
    Hunks(Vec<Hunk<'t>>),
}

fn pairs<S: Serializer>(pairs: &[(Payload<'_>, Payload<'_>)], to: S) -> Result<S::Ok, S::Error> {
    let pair = |(search, replace): &(Payload<'_>, Payload<'_>)| json!({ "search": search, "replace": replace });
    match pairs {
        [only] => pair(only),
        pairs => json!({ "pairs": pairs.iter().map(pair).collect::<Vec<_>>() }),
    }
    .serialize(to)
}

fn hunks<S: Serializer>(hunks: &[Hunk<'_>], to: S) -> Result<S::Ok, S::Error> {
    let hunk = |hunk: &Hunk<'_>| json!({ "line": hunk.line, "search": hunk.search(), "replace": hunk.replacement() });
    json!({ "hunks": hunks.iter().map(hunk).collect::<Vec<_>>() }).serialize(to)
}

/// The raw text between a payload element's tags.
#[derive(Debug, Clone)]
pub struct Payload<'t> {
    pub form: Form,
    /// As it stands in the scanned text; in block form a list of lines, each with its line end (the last one's may be missing).
    pub raw: Cow<'t, str>,
    /// The start of each line that is not part of it: white space that the whole batch is indented by, or the `+` of a
    /// patch.
    pub indent: &'t str,
    /// All lines end in CRLF, and those of the tags around them do not: so it is meant.
    pub is_crlf: bool,
    /// The reply says that no line of it stands for text which is left out: `elision="text"`.
    pub is_whole: bool,
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(to)
    }
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
            is_whole: false,
            ..Self::inline(raw)
        }
    }

    /// The payload's text: in block form every line ends in LF and lacks the batch's indentation; inline it is as written.
    pub fn text(&self) -> Cow<'_, str> {
        let is_inline = self.form == Form::Inline;
        let is_plain = self.indent.is_empty()
            && (is_inline
                || (self.raw.is_empty() || self.raw.ends_with('\n'))
                    && memchr::memchr(b'\r', self.raw.as_bytes()).is_none());
        if is_plain {
            return Cow::Borrowed(&self.raw);
        }
        let mut text = String::with_capacity(self.raw.len() + 1);
        for (index, line) in self.raw.split_inclusive('\n').enumerate() {
            if is_inline {
                // The first line follows a tag.
                text.push_str(if index == 0 {
                    line
                } else {
                    dedent(line, self.indent)
                });
                continue;
            }
            let line = dedent(line, self.indent);
            let line = line.strip_suffix('\n').unwrap_or(line);
            text.push_str(line.strip_suffix('\r').unwrap_or(line));
            text.push('\n');
        }
        Cow::Owned(text)
    }

    /// The text of a file that is made of it: as [`Self::text`], with the line ends that the payload itself has.
    pub fn file_text(&self) -> Cow<'_, str> {
        if self.is_crlf {
            self.text().replace('\n', "\r\n").into()
        } else {
            self.text()
        }
    }

    /// Its first line that is not blank, with a sign that there are more.
    fn first_line(&self) -> Cow<'_, str> {
        let lines = self.raw.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() {
            format!("{first} …").into()
        } else {
            first.into()
        }
    }

    /// True if there is nothing but white space in it.
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
