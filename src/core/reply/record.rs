//! The records of batches: values that `novelty` decides by and the ledger keeps. Nothing here decides or stores.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use super::chat_key::without_key;
use super::question::Question;

/// A batch of a watched file, counted from 1 in the order in which they were seen.
pub type Number = u64;

/// A text by its hash, line ends and white space at line ends aside.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Key(pub u64);

/// The seed of all keys: drawn once and kept in the ledger, as a text must have the same key after a restart. Nobody
/// else knows it, so nobody can write a text that has the key of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64, pub u64);

impl Seed {
    /// The key of a text. That of a batch is the same with any key of a chat in its opening tag, and without one.
    pub fn key(self, text: &str) -> Key {
        let mut hasher = SipHasher13::new_with_keys(self.0, self.1);
        for line in without_key(text).lines() {
            hasher.write(line.trim_end().as_bytes());
            hasher.write_u8(b'\n');
        }
        Key(hasher.finish())
    }
}

/// The nearest lines of prose above and below a batch: fences, blank lines and other batches are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Prose {
    pub above: Option<Key>,
    pub below: Option<Key>,
}

/// A batch that was seen, with the fates of its tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub number: Number,
    pub key: Key,
    /// Of its opening tag, which holds what is asked of the batch as a whole.
    pub head: Key,
    /// The prose that it stood in when it was first seen.
    pub prose: Prose,
    /// The time at which it began to run, in seconds since 1970; `None` if it was noted only.
    pub ran: Option<i64>,
    /// Empty where the details are forgotten, as those of a very old batch are.
    pub tasks: Vec<TaskRecord>,
}

/// A task of a batch that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    pub key: Key,
    /// It is done for what it tells: a command, or a task that looks. It is done again where a task before it is.
    pub tells: bool,
    pub fate: Fate,
}

/// The fate of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Nothing of it was tried.
    NotRun,
    /// It was started, and how it ended is not known.
    Interrupted,
    Failed,
    /// It succeeded, and changed these.
    Done(Vec<TaskTarget>),
}

/// A place that a task changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTarget {
    /// Relative to the root.
    pub path: String,
    /// The states before the task, and after it.
    pub before: FileState,
    pub after: FileState,
}

/// The state of a place at one moment, as a short text: equal texts are equal contents.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileState(pub Option<String>);

impl FileState {
    /// Could not be found out; like nothing, not even another of these.
    pub const UNKNOWN: Self = Self(None);

    /// There is nothing.
    pub fn missing() -> Self {
        Self(Some("missing".to_owned()))
    }

    /// True if both are known and the same.
    pub fn is(&self, other: &Self) -> bool {
        self.0.is_some() && self.0 == other.0
    }
}

/// An offer that the user can take up by a tick in a results block: to run tasks of these batches; with none, to have git track what
/// it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Each with which of its tasks, from 0 and in order.
    pub batches: Vec<(Number, Vec<usize>)>,
    /// They are asked about before they run, and this is the answer.
    #[serde(default)]
    pub approves: bool,
    /// The one task, an edit, is carried out at this place, which it could not tell from others itself.
    #[serde(default)]
    pub spot: Option<Spot>,
}

/// A place of a file, by what stands there and around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// Its line, counted from 1.
    pub line: usize,
    /// The number of lines above and below it that are looked at too.
    pub around: usize,
    /// Of all these lines.
    pub key: Key,
}

impl Offer {
    /// Runs these tasks of one batch.
    pub fn of(batch: Number, tasks: Vec<usize>) -> Self {
        Self::of_all(vec![(batch, tasks)])
    }

    /// Runs these tasks of these batches.
    pub fn of_all(batches: Vec<(Number, Vec<usize>)>) -> Self {
        Self {
            batches,
            ..Self::default()
        }
    }

    /// Carries out this task, an edit, at a place.
    pub fn at(batch: Number, task: usize, spot: Spot) -> Self {
        Self {
            spot: Some(spot),
            ..Self::of(batch, vec![task])
        }
    }

    /// Has untracked files added and committed: nobody but the user may ask for that.
    pub fn adding() -> Self {
        Self::default().approving(true)
    }

    /// Tells that it has untracked files added.
    pub fn adds(&self) -> bool {
        self.batches.is_empty() && self.approves
    }

    /// The same, as the answer to whether they may run, or not as one.
    pub fn approving(self, approves: bool) -> Self {
        Self { approves, ..self }
    }

    /// Each task of each batch.
    pub fn each(&self) -> impl Iterator<Item = (Number, usize)> {
        let batches = self.batches.iter();
        batches.flat_map(|(batch, tasks)| tasks.iter().map(|task| (*batch, *task)))
    }

    /// The same but for tasks that these batches have begun already; nothing if none is left.
    pub fn without(mut self, begun: &[(Number, Vec<usize>)]) -> Option<Self> {
        let is_begun = |of: Number, task: usize| {
            let mut begun = begun.iter();
            begun.any(|(batch, tasks)| *batch == of && tasks.contains(&task))
        };
        let batches = std::mem::take(&mut self.batches);
        let batches = batches.into_iter().filter_map(|(of, mut tasks)| {
            tasks.retain(|task| !is_begun(of, *task));
            (!tasks.is_empty()).then_some((of, tasks))
        });
        let batches: Vec<_> = batches.collect();
        (!batches.is_empty()).then_some(Self { batches, ..self })
    }

    /// The number of tasks that it would run.
    pub fn tasks(&self) -> usize {
        self.batches.iter().map(|(_, tasks)| tasks.len()).sum()
    }
}

/// An offer that the user took up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// The line that was ticked; `None` once that has been used, as it counts once.
    pub source: Option<TickSource>,
    pub offer: Offer,
}

impl Tick {
    /// Another tick has begun to run tasks, as a batch of this number.
    pub fn follows(&mut self, begun: &Self, number: Number) {
        if self.source == begun.source {
            self.source = None;
        }
        let repeated = begun.offer.batches.first().map(|(of, _)| *of);
        for (of, _) in &mut self.offer.batches {
            // That stands for the one that it repeats from now on.
            if Some(*of) == repeated {
                *of = number;
            }
        }
    }
}

/// A line of a results block, in the ledger's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TickSource {
    pub block: i64,
    pub line: usize,
}

/// The commits before a batch and after it: commits by all their digits, empty for a repository without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commits {
    pub before: String,
    pub after: String,
    /// They are in a private repository, as the folder has none.
    pub private: bool,
}

/// The plan for a task of a batch that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskPlan {
    Run,
    /// To be run without asking: the user was asked.
    Approved,
    /// An edit, to be carried out at the place that the user chose.
    Chosen(Spot),
    /// It was not asked for.
    Leave,
    /// It was not asked for, and still waits for approval: the question is asked again.
    Ask(Question),
    /// A file task that succeeded in an earlier form of the batch. It is skipped while each of its targets is as it was
    /// left, and runs where each is as it was before; else somebody changed them, and it waits for the user.
    Done(Vec<Stand>),
    /// An exec that succeeded in an earlier form of the batch: skipped if no task before it runs.
    DoneExec,
}

/// The contents by which to tell whether a done task still stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    /// Relative to the root.
    pub path: String,
    /// As the task, or one after it in its batch, left it.
    pub left: Vec<FileState>,
    /// As it was before the task, or before one ahead of it in its batch.
    pub before: Vec<FileState>,
}
