//! The message of a commit. Owns the form of the message; never decides when to commit.

use std::fmt;

use crate::text::hidden::left_out;

/// The mark that every subject of ours ends in.
const MARK: &str = "💚clada";

/// The message of a commit, in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The words of the subject. The step adds before them what kind of commit it is.
    pub subject: String,
    /// The local time: the last line of the body, and the subject where there is none.
    pub time: String,
    /// A line for each task.
    pub body: Vec<String>,
    /// The batch's id, for the trailers by which clada finds its commits again.
    pub batch: String,
    pub step: CommitStep,
    /// The batches that a squashed batch was.
    pub of: Vec<String>,
    /// The commit that the branch was at before, where a command of the batch has moved it elsewhere.
    pub moved: Option<String>,
    /// The commit, in the private snapshots, that is git's last one, by which the two histories can be read as one.
    pub beside: Option<String>,
}

/// The part that a commit has in its batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CommitStep {
    /// The commit saves what the user had changed before the batch.
    Before,
    /// The commit adds untracked files at the user's request; it belongs to no batch.
    Add,
    /// The commit saves what the batch did.
    #[default]
    Task,
    /// The commit takes back that batch.
    Undo(String),
    /// The commit does again what was taken back of that batch.
    Redo(String),
    /// Several commits in one.
    Squash,
}

impl Message {
    /// The same for what the user has staged, where that is a commit of its own.
    pub(super) fn of_staged(&self) -> Self {
        let subject = match self.subject.trim() {
            "" => &self.time,
            subject => subject,
        };
        Self {
            subject: format!("{subject} (staged)"),
            ..self.clone()
        }
    }
}

impl fmt::Display for CommitStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before => f.write_str("before"),
            Self::Add => f.write_str("add"),
            Self::Task => f.write_str("task"),
            Self::Undo(batch) => write!(f, "undo {}", one_line(batch)),
            Self::Redo(batch) => write!(f, "redo {}", one_line(batch)),
            Self::Squash => f.write_str("squash"),
        }
    }
}

impl CommitStep {
    /// The kind of commit, as it stands before the words of its subject.
    fn prefix(&self) -> &'static str {
        match self {
            Self::Before => "before: ",
            Self::Task | Self::Squash | Self::Add => "",
            Self::Undo(_) => "undo: ",
            Self::Redo(_) => "redo: ",
        }
    }

    /// The words of a subject that such a commit has.
    pub(super) fn words<'s>(&self, subject: &'s str) -> &'s str {
        // As clada wrote it at first.
        let older = match self {
            Self::Undo(_) => subject.strip_prefix("Undo \""),
            Self::Redo(_) => subject.strip_prefix("Redo \""),
            _ => None,
        };
        older
            .and_then(|words| words.strip_suffix('"'))
            .or_else(|| subject.strip_prefix(self.prefix()))
            .unwrap_or(subject)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(' ') {
            None if text == "before" => Self::Before,
            None if text == "add" => Self::Add,
            None if text == "task" => Self::Task,
            None if text == "squash" => Self::Squash,
            Some(("undo", batch)) => Self::Undo(batch.to_owned()),
            Some(("redo", batch)) => Self::Redo(batch.to_owned()),
            _ => return None,
        })
    }
}

/// The text of the commit. Nothing that a reply says can end the subject early or pose as the trailer:
/// each part is one line, and the trailers stand alone in the last paragraph.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = one_line(&self.subject);
        let subject = match subject.strip_suffix(MARK).unwrap_or(&subject).trim_end() {
            "" => &self.time,
            subject => subject,
        };
        write!(f, "{}{subject} {MARK}\n\n", self.step.prefix())?;
        for line in &self.body {
            writeln!(f, "{INDENT}{}", one_line(line))?;
        }
        if !self.time.is_empty() {
            writeln!(f, "{}", one_line(&self.time))?;
        }
        if !self.body.is_empty() || !self.time.is_empty() {
            writeln!(f)?;
        }
        writeln!(f, "{BATCH}{}", one_line(&self.batch))?;
        writeln!(f, "{STEP}{}", self.step)?;
        let of = (!self.of.is_empty()).then(|| self.of.join(" "));
        for (name, value) in [(OF, &of), (MOVED, &self.moved), (BESIDE, &self.beside)] {
            if let Some(value) = value {
                writeln!(f, "{name}{}", one_line(value))?;
            }
        }
        Ok(())
    }
}

/// The beginning of a task's line; the time has none.
const INDENT: &str = "  ";

/// The trailers, in the last paragraph: a `commit-msg` hook may have put others there.
const BATCH: &str = "Clada-Batch: ";
const STEP: &str = "Clada-Step: ";
const OF: &str = "Clada-Of: ";
const MOVED: &str = "Clada-Moved: ";
const BESIDE: &str = "Clada-Beside: ";

/// Reads a commit's text; `None` for one that clada did not write.
pub(super) fn read(text: &str) -> Option<Message> {
    let (text, trailers) = text.trim_end().rsplit_once("\n\n")?;
    let mut trailers = trailers.lines();
    let batch = trailers.find_map(|line| line.strip_prefix(BATCH))?;
    let step = CommitStep::parse(trailers.next()?.strip_prefix(STEP)?)?;
    let rest: Vec<&str> = trailers.collect();
    let trailer = |name| rest.iter().find_map(|line| line.strip_prefix(name));
    let (subject, body) = text.split_once('\n').unwrap_or((text, ""));
    let subject = subject.strip_suffix(MARK)?.trim_end().to_owned();
    let lines = body.lines().filter(|line| !line.trim().is_empty());
    let mut body: Vec<&str> = lines.collect();
    let time = body.pop_if(|line| is_time(line)).unwrap_or_default();
    let unindented = |line: &str| line.strip_prefix(INDENT).unwrap_or(line).to_owned();
    let of = trailer(OF).into_iter().flat_map(|of| of.split(' '));
    Some(Message {
        subject,
        time: time.to_owned(),
        body: body.into_iter().map(unindented).collect(),
        batch: batch.to_owned(),
        step,
        of: of.map(str::to_owned).collect(),
        moved: trailer(MOVED).map(str::to_owned),
        beside: trailer(BESIDE).map(str::to_owned),
    })
}

/// True for a date and a time, with which the body of clada's commits ends.
fn is_time(line: &str) -> bool {
    let is_of_time = |byte: u8| byte.is_ascii_digit() || b"-: ".contains(&byte);
    line.starts_with(|c: char| c.is_ascii_digit())
        && line.contains('-')
        && line.contains(':')
        && line.bytes().all(is_of_time)
}

fn one_line(text: &str) -> String {
    let flat = text.replace(|c: char| c.is_control(), " ");
    left_out(&flat).trim_end().to_owned()
}
