//! What a reply asks for: batches of tasks, and the problems found while reading them. Values only; `scan` makes them.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use serde_json::{Value, json};

use super::language::Language;
use super::text::{Form, Text};

/// What a scan of a text found.
#[derive(Debug, Clone, Default)]
pub struct Scan<'t> {
    /// In the order of the text.
    pub batches: Vec<Batch<'t>>,
    /// Problems of the text outside any batch: hints, damaged batches.
    pub problems: Vec<Problem>,
}

/// One `<tasks>` element, or a `<task>` that stands outside any.
#[derive(Debug, Clone)]
pub struct Batch<'t> {
    /// Its bytes in the scanned text, from its first tag to its last, or to where it was given up.
    pub span: Range<usize>,
    /// `<tasks atomic="yes">`: all of it, or nothing of its file tasks.
    pub atomic: bool,
    /// `<tasks message="…">`: the subject of its commits.
    pub message: Option<String>,
    pub state: BatchState,
    /// Empty unless the batch may run: what was read of a broken one is not to be trusted.
    pub tasks: Vec<Task<'t>>,
}

impl Batch<'_> {
    /// Whether a task of it runs a command.
    pub fn has_exec(&self) -> bool {
        let mut actions = self.tasks.iter().map(|task| &task.action);
        actions.any(|action| matches!(action, Ok(Action::Exec { .. })))
    }
}

/// Whether a batch may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchState {
    /// Closed, and no text that follows can change what it means.
    Complete,
    /// Closed by a lenient reading that text still to come could overturn: it runs when nothing more arrives.
    Provisional,
    /// The text ended inside it: perhaps it is still being pasted, else it is broken.
    Open(Problem),
    /// Nobody can tell where its parts start and end: none of it runs.
    Broken(Problem),
}

impl BatchState {
    /// The structural problem, for a batch that has one or will have it if no more text comes.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Complete | Self::Provisional => None,
            Self::Open(problem) | Self::Broken(problem) => Some(problem),
        }
    }
}

/// One `<task>` element: the unit that succeeds or fails.
#[derive(Debug, Clone)]
pub struct Task<'t> {
    /// Its bytes in the scanned text.
    pub span: Range<usize>,
    /// `<i>`: why it is done, for the human.
    pub why: &'t str,
    /// The bytes of its `<i>` element.
    pub why_span: Option<Range<usize>>,
    /// What `<c>` names, as far as it is known.
    pub command: Option<Command>,
    /// What to do, or why this task alone cannot be done.
    pub action: Result<Action<'t>, Problem>,
    /// What looks wrong but does not stop the task.
    pub warnings: Vec<Problem>,
}

impl<'t> Task<'t> {
    /// The command's main name; empty where the reply names none.
    pub fn command_name(&self) -> &'static str {
        self.command.map_or("", Command::name)
    }

    /// What it is about, in one line of text as the reply wrote it: a path, `a → b`, or the first line of a script.
    pub fn target(&self) -> Cow<'t, str> {
        match &self.action {
            Ok(
                Action::Edit { path, .. }
                | Action::Overwrite { path, .. }
                | Action::Delete { path },
            ) => path.clone(),
            Ok(Action::Move { path, to, .. }) => format!("{path} → {to}").into(),
            Ok(Action::Exec { script, .. }) => script.first_line(),
            Err(_) => "".into(),
        }
    }

    /// Its line in a commit message: what it does, and why.
    pub fn summary(&self) -> String {
        let why: String = self.why.split_whitespace().collect::<Vec<_>>().join(" ");
        let target: String = self
            .target()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let what = format!("{} {target}", self.command_name());
        if why.is_empty() {
            what
        } else {
            format!("{what} - {why}")
        }
    }
}

/// The five commands, by their main names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Edit,
    Overwrite,
    Move,
    Delete,
    Exec,
}

impl Command {
    /// All of them, in the order of the reference.
    pub const ALL: [Self; 5] = [
        Self::Edit,
        Self::Overwrite,
        Self::Move,
        Self::Delete,
        Self::Exec,
    ];

    /// The main name, which the results show.
    pub fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Every name it answers to, the main one first. The others are what models wrote unasked.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Edit => &["edit", "replace", "patch"],
            Self::Overwrite => &["overwrite", "write", "create"],
            Self::Move => &["move", "rename", "mv"],
            Self::Delete => &["delete", "remove", "rm"],
            Self::Exec => &["exec", "run", "shell", "bash", "sh"],
        }
    }

    /// The command of that name, in any letter case.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|c| c.names().iter().any(|n| n.eq_ignore_ascii_case(name)))
    }
}

/// A task's command with all that it needs. Paths are still text: the workspace decides what they mean.
#[derive(Debug, Clone)]
pub enum Action<'t> {
    Edit {
        path: Cow<'t, str>,
        change: Change<'t>,
    },
    Overwrite {
        path: Cow<'t, str>,
        content: Payload<'t>,
        final_newline: bool,
    },
    Move {
        path: Cow<'t, str>,
        to: Cow<'t, str>,
        overwrite: bool,
    },
    Delete {
        path: Cow<'t, str>,
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
    },
}

impl Action<'_> {
    /// What the reply asked for, for `--json`.
    pub fn params(&self) -> Value {
        match self {
            Self::Edit {
                path,
                change: Change::Pairs(pairs),
            } => match pairs.as_slice() {
                [(search, replace)] => {
                    json!({ "path": path, "search": search.text(), "replace": replace.text() })
                }
                pairs => {
                    let pair = |(search, replace): &(Payload<'_>, Payload<'_>)| json!({ "search": search.text(), "replace": replace.text() });
                    json!({ "path": path, "pairs": pairs.iter().map(pair).collect::<Vec<_>>() })
                }
            },
            Self::Edit {
                path,
                change:
                    Change::Stretch {
                        head,
                        tail,
                        replace,
                    },
            } => json!({
                "path": path, "search-head": head.text(), "search-tail": tail.text(), "replace": replace.text(),
            }),
            Self::Overwrite { path, content, .. } => {
                json!({ "path": path, "content": content.text() })
            }
            Self::Move {
                path,
                to,
                overwrite,
            } => json!({ "path": path, "to": to, "overwrite": overwrite }),
            Self::Delete { path } => json!({ "path": path }),
            Self::Exec {
                script,
                timeout,
                lang,
                version,
                cwd,
            } => {
                let mut params = json!({ "script": script.text() });
                if let Some(timeout) = timeout {
                    params["timeout"] = timeout.as_secs_f64().into();
                }
                if let Some(lang) = lang {
                    params["lang"] = lang.name().into();
                }
                if let Some(version) = version {
                    params["version"] = version.as_str().into();
                }
                if let Some(cwd) = cwd {
                    params["cwd"] = cwd.as_str().into();
                }
                params
            }
        }
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
}

/// The raw text between a payload element's tags.
#[derive(Debug, Clone, Copy)]
pub struct Payload<'t> {
    pub form: Form,
    /// As it stands in the scanned text; in block form a list of lines, each with its line end (the last one's may be missing).
    pub raw: &'t str,
    /// White space that the whole batch is indented by, not part of the payload's lines.
    pub indent: &'t str,
}

impl<'t> Payload<'t> {
    /// The payload's text: in block form every line ends in LF and lacks the batch's indentation; inline it is as written.
    pub fn text(&self) -> Cow<'t, str> {
        match self.form {
            Form::Inline if self.indent.is_empty() => Cow::Borrowed(self.raw),
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
                    return Cow::Borrowed(self.raw);
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

    /// Its first line that is not blank, with a sign that there are more.
    fn first_line(&self) -> Cow<'t, str> {
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

/// Something wrong in a reply: where, and what. The sentences are in `report`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A byte offset in the scanned text.
    pub at: usize,
    pub cause: Cause,
}

/// What can be wrong in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// An element of a batch, or the batch, never closes; the `<tasks>` at these offsets were swallowed by it.
    Unclosed {
        element: &'static str,
        /// It begins with CDATA whose end is missing.
        cdata: bool,
        swallowed: Vec<usize>,
    },
    /// `</tasks>` came while a `<task>` was open.
    TaskCutOff { tasks_end: usize },
    /// A `<task>` inside the `<task>` that starts at `open`.
    TaskInTask { open: usize },
    /// A `<tasks>` at `next` began before this one was closed.
    BatchInBatch { next: usize },
    /// A closing tag alone on its line that closes nothing.
    StrayClose { element: &'static str },
    /// So many unknown elements that never close that no boundary can be trusted.
    TooManyUnknown,
    /// An element that CML does not have.
    UnknownElement {
        name: String,
        nearest: Option<&'static str>,
    },
    /// An element that stands twice in a task, first at `first`.
    Duplicate { element: &'static str, first: usize },
    /// A command that CML does not have.
    UnknownCommand {
        name: String,
        nearest: Option<&'static str>,
    },
    /// A task without an element that it needs; `command` is `None` where `<c>` itself is missing.
    Missing {
        element: &'static str,
        command: Option<Command>,
    },
    /// A path, destination or command that is empty.
    Empty { element: &'static str },
    /// Elements that exclude each other: pairs, and head with tail.
    MixedEdit,
    /// A different number of `<search>` and `<replace>`.
    UnevenPairs { searches: usize, replaces: usize },
    /// An attribute whose value is none of the possible ones.
    BadAttribute {
        element: &'static str,
        name: &'static str,
        value: String,
        expected: &'static str,
    },
    /// Attributes that cannot be read: twice the same, or not `name="value"`.
    UnreadableAttributes { element: &'static str, text: String },
    /// Warning: an attribute that means nothing here.
    UnknownAttribute { element: &'static str, name: String },
    /// Warning: an element that this command does not use.
    Unused {
        element: &'static str,
        command: Command,
    },
    /// Warning: a payload that holds the end of a task which does not begin in it.
    HoldsTaskEnd { element: &'static str },
    /// Warning: a payload in which every special character is escaped.
    LooksEscaped { element: &'static str },
    /// Every tag of a batch arrived as `&lt;task&gt;`: damaged in copying.
    EscapedBatch,
    /// Hint: element tags alone on their lines outside any batch, the first of them at the place.
    LooseTags {
        element: &'static str,
        closing: bool,
        count: usize,
    },
    /// `<!-- clada:off -->` that never ends and hides a `<tasks>` at `hidden`.
    OffNeverEnds { word: String, hidden: usize },
}

impl Cause {
    /// Whether it stops the whole batch.
    pub fn is_structural(&self) -> bool {
        matches!(
            self,
            Self::Unclosed { .. }
                | Self::TaskCutOff { .. }
                | Self::TaskInTask { .. }
                | Self::BatchInBatch { .. }
                | Self::StrayClose { .. }
                | Self::TooManyUnknown
        )
    }

    /// Whether it only deserves to be said.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            Self::UnknownAttribute { .. }
                | Self::Unused { .. }
                | Self::LooksEscaped { .. }
                | Self::HoldsTaskEnd { .. }
                | Self::LooseTags { .. }
        )
    }
}

/// Finds the line numbers of byte offsets. Made only where a problem is told, because counting lines costs a pass.
#[derive(Debug)]
pub struct Lines<'t> {
    text: &'t [u8],
    /// The last answer: an offset and its line.
    last: (usize, usize),
}

impl<'t> Lines<'t> {
    pub fn new(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            last: (0, 1),
        }
    }

    /// The line of a byte offset, from 1.
    pub fn of(&mut self, offset: usize) -> usize {
        let (from, line) = if offset >= self.last.0 {
            self.last
        } else {
            (0, 1)
        };
        let line = line + memchr::memchr_iter(b'\n', &self.text[from..offset]).count();
        self.last = (offset, line);
        line
    }
}
