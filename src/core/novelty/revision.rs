//! Finds out if a batch is an earlier one, changed in place, and what is left to do then. Decides by the texts and by the
//! fates of the earlier tasks; the files on the disk are looked at when it runs.

use std::collections::HashMap;

use crate::reply::chat_key::without_key;
use crate::reply::dialect::Dialect;
use crate::reply::record::{
    Fate, FileState, Key, Prose, Record, Stand, TaskPlan, TaskRecord, TaskTarget,
};
use crate::reply::scan::scan;
use crate::reply::task::Scan;

/// A batch as far as comparing goes.
pub(super) struct Draft<'d> {
    pub(super) head: Key,
    pub(super) tasks: &'d [Key],
    pub(super) prose: Prose,
}

/// A batch that takes the place of vanished ones.
pub(super) struct Revision {
    /// The plan for each task, and its fate until then.
    pub(super) plans: Vec<(TaskPlan, Fate)>,
    /// Nothing was added or changed: it was cut, or put together from others.
    pub(super) is_trimmed: bool,
}

impl Revision {
    /// The fate of each task until now.
    pub(super) fn into_fates(self) -> Vec<Fate> {
        self.plans.into_iter().map(|(_, fate)| fate).collect()
    }
}

/// The revision that `draft` is of the vanished batches, each with the prose it stood in last; `None` if it is a new one.
pub(super) fn revision(draft: &Draft<'_>, vanished: &[(&Record, Prose)]) -> Option<Revision> {
    let is_earlier = |(record, prose): &&(&Record, Prose)| {
        let shared = shared(draft.tasks, &record.tasks);
        let smaller = draft.tasks.len().min(record.tasks.len());
        smaller > 0 && 2 * shared >= smaller && draft.prose.shares_side(*prose)
    };
    let (earlier, _) = vanished.iter().find(is_earlier)?;
    // The tasks of all that vanished are one pool; those of the batch it was come first.
    let others = vanished.iter().map(|(record, _)| *record);
    let others = others.filter(|record| record.number != earlier.number);
    let mut pool: HashMap<Key, Vec<(&Record, usize)>> = HashMap::new();
    for record in std::iter::once(*earlier).chain(others) {
        for (index, task) in record.tasks.iter().enumerate() {
            pool.entry(task.key).or_default().push((record, index));
        }
    }
    let mut is_trimmed = draft.head == earlier.head;
    let plans = draft.tasks.iter().map(|key| {
        let there = pool.get_mut(key).filter(|there| !there.is_empty());
        let Some((record, index)) = there.map(|there| there.remove(0)) else {
            is_trimmed = false;
            return (TaskPlan::Run, Fate::NotRun);
        };
        plan(record, index)
    });
    let plans = plans.collect();
    Some(Revision { plans, is_trimmed })
}

/// The number of tasks that are in both.
fn shared(tasks: &[Key], earlier: &[TaskRecord]) -> usize {
    let mut left: HashMap<Key, usize> = HashMap::new();
    for task in earlier {
        *left.entry(task.key).or_default() += 1;
    }
    let mut take = |key: &&Key| match left.get_mut(*key) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    tasks.iter().filter(|key| take(key)).count()
}

/// The plan for a task that was seen before, and its fate until then.
pub(super) fn plan(record: &Record, index: usize) -> (TaskPlan, Fate) {
    let task = &record.tasks[index];
    match &task.fate {
        Fate::Done(_) if task.tells => (TaskPlan::DoneExec, task.fate.clone()),
        Fate::Done(targets) => {
            let stands = targets
                .iter()
                .map(|target| stand(record, index, &target.path));
            (TaskPlan::Done(stands.collect()), task.fate.clone())
        }
        Fate::NotRun | Fate::Interrupted | Fate::Failed => (TaskPlan::Run, Fate::NotRun),
    }
}

/// A file that several tasks of a batch change is as a task left it also when it is as a later one left it.
fn stand(record: &Record, index: usize, path: &str) -> Stand {
    let states = |tasks: &[TaskRecord], of: fn(&TaskTarget) -> &FileState| {
        let mut states = Vec::new();
        for task in tasks {
            if let Fate::Done(targets) = &task.fate {
                let here = targets.iter().filter(|target| target.path == path);
                states.extend(here.map(of).cloned());
            }
        }
        states
    };
    Stand {
        path: path.to_owned(),
        left: states(&record.tasks[index..], |target| &target.after),
        before: states(&record.tasks[..=index], |target| &target.before),
    }
}

/// The difference between two texts, in characters.
pub(super) struct Difference {
    /// Of both texts together.
    pub(super) differs: usize,
    /// The other has at least half of its text in common with it.
    pub(super) is_alike: bool,
}

/// Compares a text with one that vanished, from the start and from the end, the tags of CML and white space aside.
pub(super) fn difference(dialect: Dialect, text: &str, vanished: &str) -> Difference {
    let (text, vanished) = (bare(dialect, text), bare(dialect, vanished));
    let pairs = text.iter().zip(&vanished);
    let start = pairs.take_while(|(a, b)| a == b).count();
    let rest = text[start..]
        .iter()
        .rev()
        .zip(vanished[start..].iter().rev());
    let end = rest.take_while(|(a, b)| a == b).count();
    let common = start + end;
    Difference {
        differs: text.len() + vanished.len() - 2 * common,
        is_alike: 2 * common >= vanished.len(),
    }
}

/// A text's characters that are neither white space nor, in CML, in a tag.
fn bare(dialect: Dialect, text: &str) -> Vec<char> {
    let mut in_tag = false;
    let outside = |c: &char| match c {
        '<' if dialect == Dialect::Cml => {
            in_tag = true;
            false
        }
        '>' if in_tag => {
            in_tag = false;
            false
        }
        c => !in_tag && !c.is_whitespace(),
    };
    text.chars().filter(outside).collect()
}

/// True if nothing but an `<i>` differs.
pub(super) fn differs_by_why_only(one: &str, other: &str) -> bool {
    without_why(one, &scan(one)) == without_why(other, &scan(other))
}

/// A batch's text without its `<i>` elements, white space at line ends, and the lines that they had for themselves.
fn without_why(text: &str, scan: &Scan<'_>) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut end = 0;
    let tasks = scan.batches.iter().flat_map(|batch| &batch.tasks);
    for why in tasks.filter_map(|task| task.why_span.clone()) {
        rest += &text[end..why.start];
        rest.truncate(rest.trim_end_matches([' ', '\t']).len());
        let own_line = rest.is_empty() || rest.ends_with('\n');
        end = why.end;
        if own_line
            && let Some(after) = text[end..]
                .trim_start_matches([' ', '\t', '\r'])
                .strip_prefix('\n')
        {
            end = text.len() - after.len();
        }
    }
    rest += &text[end..];
    without_key(&rest)
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}
