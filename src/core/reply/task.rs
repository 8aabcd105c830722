//! The values that a reply is read to: batches of tasks, and the problems in them. `scan` makes them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::dialects::nesl::values;

pub use super::action::{Action, Command, ContextTask, Payload, Replacement};
pub use super::hunk::{Hunk, Sign};

/// The batches and problems that a scan of a text found.
#[derive(Debug, Clone, Default)]
pub struct Scan<'t> {
    /// In the order of the text.
    pub batches: Vec<Batch<'t>>,
    /// Those that stand where an open batch, or a `clada:off` without its `on`, has not ended: they may be quotations in it,
    /// or replies of their own. Only who remembers when each came can tell; for everybody else they are not there.
    pub inside: Vec<Batch<'t>>,
    /// The offset of a `clada:off` that does not end.
    pub off: Option<usize>,
    /// Problems of the text outside any batch: hints, damaged batches.
    pub problems: Vec<Problem>,
}

/// One `<tasks>` element, or a `<task>` that stands outside any; in other dialects a patch, or blocks that follow each
/// other.
#[derive(Debug, Clone)]
pub struct Batch<'t> {
    pub dialect: Dialect,
    /// Its bytes in the scanned text, from its first tag to its last, or to where it was given up.
    pub span: Range<usize>,
    /// `<tasks atomic="yes">`: all of it, or nothing of its file tasks.
    pub atomic: bool,
    /// `<tasks message="…">`: the subject of its commits.
    pub message: Option<String>,
    /// `<tasks key="…">`, as it is written.
    pub key: Option<String>,
    pub state: BatchState,
    /// It is one of [`Scan::inside`].
    pub is_inside: bool,
    /// Empty unless the batch may run: what was read of a broken one is not to be trusted.
    pub tasks: Vec<Task<'t>>,
}

impl<'t> Batch<'t> {
    /// A batch of which nothing more is asked.
    pub(crate) fn new(
        dialect: Dialect,
        span: Range<usize>,
        state: BatchState,
        tasks: Vec<Task<'t>>,
    ) -> Self {
        Self {
            dialect,
            span,
            atomic: false,
            message: None,
            key: None,
            state,
            is_inside: false,
            tasks,
        }
    }

    /// True if a task of it runs a command.
    pub fn has_exec(&self) -> bool {
        let mut actions = self.tasks.iter().map(|task| &task.action);
        actions.any(|action| matches!(action, Ok(Action::Exec { .. })))
    }

    /// True if a task of it may change anything.
    pub fn changes(&self) -> bool {
        let mut actions = self.tasks.iter().flat_map(|task| &task.action);
        actions.any(Action::changes)
    }

    /// Returns command and target of each task.
    pub fn names(&self) -> Vec<(String, String)> {
        let name = |task: &Task<'_>| (task.command_name().to_owned(), task.target().into_owned());
        self.tasks.iter().map(name).collect()
    }
}

/// The state of a batch, by which it may run or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchState {
    /// Closed, and no text that follows can change what it means.
    Complete,
    /// Closed by a lenient reading that text still to come could overturn: it runs when nothing more arrives.
    Provisional,
    /// The text ended inside it: perhaps it is still being pasted, else it is broken.
    Open(Box<Problem>),
    /// Nobody can tell where its parts start and end: none of it runs.
    Broken(Box<Problem>),
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

/// One `<task>` element, or what is as much in another dialect: the unit that succeeds or fails.
#[derive(Debug, Clone)]
pub struct Task<'t> {
    /// Its bytes in the scanned text.
    pub span: Range<usize>,
    /// `<i>`: why it is done, for the human.
    pub why: &'t str,
    /// The bytes of its `<i>` element.
    pub why_span: Option<Range<usize>>,
    /// The command that `<c>` names, as far as it is known.
    pub command: Option<Command>,
    /// The block of SHAM or NESL that asks for it, as the results echo it.
    pub call: Option<Box<Call<'t>>>,
    /// The action, or the reason that this task alone cannot be done.
    pub action: Result<Action<'t>, Problem>,
    /// Problems that do not stop the task.
    pub warnings: Vec<Problem>,
}

/// A block of SHAM or NESL, in the words of those dialects.
#[derive(Debug, Clone)]
pub struct Call<'t> {
    pub dialect: Dialect,
    /// Its id, which takes the place of a task's number.
    pub id: &'t str,
    /// The action's name, as the reply wrote it; empty where it names none.
    pub name: Cow<'t, str>,
    /// Its subject: the action's first parameter of note.
    pub primary: String,
    /// The parameters that the action has.
    pub params: Vec<(&'static str, Cow<'t, str>)>,
}

impl Call<'_> {
    /// Its parameters, for `--json`.
    pub fn params(&self) -> Value {
        let params = self.params.iter();
        let params = params.map(|(name, value)| ((*name).to_owned(), values::json(name, value)));
        params.collect::<Map<_, _>>().into()
    }

    /// A parameter, as the reply wrote it.
    pub fn text(&self, name: &str) -> Option<&str> {
        let mut params = self.params.iter();
        let (_, value) = params.find(|(known, _)| *known == name)?;
        Some(value)
    }
}

impl<'t> Task<'t> {
    /// A task without explanation and warnings.
    #[inline]
    pub(crate) fn new(span: Range<usize>, action: Result<Action<'t>, Problem>) -> Self {
        Self {
            span,
            why: "",
            why_span: None,
            command: action.as_ref().ok().map(Action::command),
            call: None,
            action,
            warnings: Vec::new(),
        }
    }

    /// The command's main name, or what the block calls it; empty where the reply names none.
    pub fn command_name(&self) -> &str {
        match &self.call {
            Some(call) => &call.name,
            None => self.command.map_or("", Command::name),
        }
    }

    /// Its subject, in one line of text as the reply wrote it.
    pub fn target(&self) -> Cow<'_, str> {
        match (&self.call, &self.action) {
            (Some(call), _) => call.primary.as_str().into(),
            (None, Ok(action)) => action.target(),
            (None, Err(_)) => "".into(),
        }
    }

    /// Its line in a commit message, with the reason for it.
    pub fn summary(&self) -> String {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = words(&format!("{} {}", self.command_name(), self.target()));
        match words(self.why) {
            why if why.is_empty() => what,
            why => format!("{what} - {why}"),
        }
    }
}

/// A problem in a reply, with its place. The sentences are in `report`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A byte offset in the scanned text.
    pub at: usize,
    pub cause: Cause,
}

impl Problem {
    /// One that is told by a sentence, with the next step.
    pub(crate) fn said(at: usize, said: impl Into<String>) -> Self {
        Self {
            at,
            cause: Cause::Said(said.into()),
        }
    }
}

/// An error in a block of SHAM or NESL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockError {
    pub dialect: Dialect,
    /// `unknown` where the block has none that could be read.
    pub block_id: String,
    /// The name of its action, where it has one.
    pub action: Option<String>,
    /// `syntax`, `validation` or `type`.
    pub error_type: &'static str,
    pub message: String,
    /// The lines that would end the block, where it never ends.
    pub end: Option<String>,
    /// The block, for whoever is to repair it; empty where another error of it carries that.
    pub content: Arc<str>,
}

/// A place in a batch, in the words of the reply that holds it: whoever wrote that never saw the lines of the notes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Within {
    /// The task that is open there, counted from 1; or how many are whole, where none is.
    pub task: usize,
    /// Tells that a task is open there.
    pub is_open: bool,
    /// Its command and its path, as far as they were read.
    pub name: String,
    /// Its last element that was closed.
    pub last: Option<&'static str>,
}

/// The whole tasks of a reply that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholePart {
    pub tasks: usize,
    /// The offset behind the last of them.
    pub end: usize,
}

/// The kinds of problems in a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// An element of a batch, or the batch, never closes.
    Unclosed {
        element: &'static str,
        /// It begins with CDATA whose end is missing.
        cdata: bool,
        within: Within,
    },
    /// The text of a batch ends in the middle, as an answer does that was too long; the whole tasks before that, if they
    /// could run without the rest.
    CutOff {
        within: Within,
        whole: Option<WholePart>,
    },
    /// `</tasks>` came while a `<task>` was open.
    TaskCutOff { within: Within },
    /// A `<task>` inside another, which is open.
    TaskInTask { within: Within },
    /// Another `<tasks>` began before this one was closed.
    BatchInBatch { within: Within },
    /// A closing tag alone on its line that closes nothing.
    StrayClose {
        element: &'static str,
        within: Within,
    },
    /// So many unknown elements that never close that no boundary can be trusted.
    TooManyUnknown { within: Within },
    /// An element that CML does not have.
    UnknownElement {
        name: String,
        nearest: Option<&'static str>,
    },
    /// An element that stands twice in a task.
    Duplicate { element: &'static str },
    /// A command that CML does not have.
    UnknownCommand {
        name: String,
        nearest: Option<&'static str>,
    },
    /// A task without an element that it needs. Where `<c>` itself is missing, `command` is the only one that it can be.
    Missing {
        element: &'static str,
        command: Option<Command>,
    },
    /// All that is wrong with a task, where that is more than one thing; none of it is this again.
    Several(Vec<Problem>),
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
    /// An attribute that the command needs.
    MissingOption {
        name: &'static str,
        form: &'static str,
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
    /// Warning: the mode that a diff gives a file, which is not set.
    ModeIgnored { mode: String },
    /// Hint: element tags alone on their lines outside any batch, the first of them at the place.
    LooseTags {
        element: &'static str,
        closing: bool,
        count: usize,
    },
    /// The errors in a block of SHAM or NESL, in the words of those dialects.
    Block(Vec<BlockError>),
    /// The error in a block of another dialect: a sentence with the next step.
    Said(String),
    /// A block of another dialect that never ends, and what would end it.
    NotEnded { dialect: Dialect, end: &'static str },
    /// `<!-- clada:off -->` that never ends, with batches behind it.
    OffNeverEnds { word: String },
}

impl Cause {
    /// True if it does not stop the task.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            Self::UnknownAttribute { .. }
                | Self::Unused { .. }
                | Self::LooksEscaped { .. }
                | Self::HoldsTaskEnd { .. }
                | Self::ModeIgnored { .. }
                | Self::LooseTags { .. }
        )
    }
}

/// Finds the line numbers of byte offsets. Made only where a problem is told, because counting lines costs a pass.
#[derive(Debug)]
pub struct LineNumbers<'t> {
    text: &'t [u8],
    /// The last answer: an offset and its line.
    last: (usize, usize),
}

impl<'t> LineNumbers<'t> {
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
