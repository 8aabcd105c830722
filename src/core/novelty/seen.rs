//! The batches that were in a body: which of them are found again, and which only seem to have gone. Decides nothing
//! about new ones.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Look, is_lone};
use crate::reply::record::{Key, Number, Prose, Seed};
use crate::reply::scan::scan;
use crate::reply::task::Batch;

/// A batch of a body that was not in the last.
pub(super) struct Candidate<'c> {
    /// The text that it is in, and its place in the scan of that.
    pub(super) body: &'c str,
    pub(super) index: usize,
    pub(super) batch: &'c Batch<'c>,
    pub(super) key: Key,
    pub(super) prose: Prose,
}

impl<'c> Candidate<'c> {
    pub(super) fn text(&self) -> &'c str {
        &self.body[self.batch.span.clone()]
    }

    /// It as a batch that is there, with this number.
    pub(super) fn seen(&self, number: Number) -> SeenBatch {
        SeenBatch {
            number,
            key: self.key,
            prose: self.prose,
            text: self.text().into(),
            bared: false,
            swallowed: false,
        }
    }
}

/// A batch that was in a body and needs no run any more: one for each time that its text is there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SeenBatch {
    pub(super) number: Number,
    /// Kept with the batch itself, as its text is.
    #[serde(skip)]
    pub(super) key: Key,
    /// The prose that it stood in last.
    pub(super) prose: Prose,
    #[serde(skip)]
    pub(super) text: Arc<str>,
    /// A `<task>` by itself, read so only because the `<tasks>` around it is damaged.
    pub(super) bared: bool,
    /// It came in something that does not end, and was not looked at for that.
    pub(super) swallowed: bool,
}

/// The place of an earlier batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EarlierPlace {
    /// In the last body.
    Last,
    /// Not found there, and counted as there.
    Hidden,
    /// It went while what stands in its place was being typed, or could not begin.
    Replaced,
}

/// The earlier batches that were not found in a body yet, by their texts.
#[derive(Debug, Default)]
pub(super) struct Unfound(HashMap<Key, Vec<(EarlierPlace, SeenBatch)>>);

impl Unfound {
    pub(super) fn add(&mut self, from: EarlierPlace, list: Vec<SeenBatch>) {
        for seen in list {
            self.0.entry(seen.key).or_default().push((from, seen));
        }
    }

    pub(super) fn count(&self, key: Key) -> usize {
        self.0.get(&key).map_or(0, Vec::len)
    }

    /// Takes out a batch with this text that stood in such a place.
    pub(super) fn take(&mut self, key: Key, is_place: impl Fn(Prose) -> bool) -> Option<SeenBatch> {
        let list = self.0.get_mut(&key)?;
        let at = list.iter().position(|(_, seen)| is_place(seen.prose))?;
        Some(list.remove(at).1)
    }

    /// Parts those that count as there from those that vanished.
    ///
    /// Such a batch is *hidden*: something else swallowed it or switched it off, a slip of the keyboard broke it, or the
    /// save is half written. It must not run when it is found again; nor must a task of it whose text is still there and
    /// only cannot be read.
    pub(super) fn part(
        self,
        doubt: &Uncertainty<'_>,
        found: &HashMap<Key, usize>,
    ) -> (Vec<SeenBatch>, Vec<SeenBatch>) {
        let (mut hidden, mut vanished) = (Vec::new(), Vec::new());
        for (key, list) in self.0 {
            let is_hidden = |(from, _): &&(EarlierPlace, SeenBatch)| *from == EarlierPlace::Hidden;
            let was_hidden = list.iter().any(|entry| is_hidden(&entry));
            let mut room = list.len();
            // Hidden before it counts as hidden; else trouble must have come with its going.
            if !was_hidden && !doubt.new_trouble || doubt.calm {
                let in_text = list.first().map_or(0, |(_, seen)| doubt.count(&seen.text));
                room = in_text.saturating_sub(found.get(&key).copied().unwrap_or(0));
            }
            for (from, seen) in list {
                let stays = from != EarlierPlace::Replaced && room > 0;
                if stays || doubt.holds_a_task_of(&seen) {
                    room = room.saturating_sub(1);
                    hidden.push(seen);
                } else {
                    vanished.push(seen);
                }
            }
        }
        for list in [&mut hidden, &mut vanished] {
            list.sort_by_key(|seen: &SeenBatch| seen.number);
        }
        (hidden, vanished)
    }
}

/// The reasons to doubt that a batch which is not found has gone.
pub(super) struct Uncertainty<'d> {
    /// Something is wrong in this body that was not wrong in the last, or it may be half a save.
    new_trouble: bool,
    /// Nothing is wrong but what was wrong while nothing was hidden.
    calm: bool,
    seed: Seed,
    look: &'d Look<'d>,
    plain: OnceCell<String>,
    /// Tasks by themselves that were not there before.
    bare: Vec<Key>,
    /// The number of times that each task can be read.
    tasks: OnceCell<HashMap<Key, usize>>,
}

impl<'d> Uncertainty<'d> {
    pub(super) fn new(
        seed: Seed,
        look: &'d Look<'d>,
        new: &[Candidate<'_>],
        new_trouble: bool,
        calm: bool,
    ) -> Self {
        let bare = new.iter().filter(|new| is_lone(new.batch));
        Self {
            new_trouble,
            calm,
            seed,
            look,
            bare: bare.map(|new| new.key).collect(),
            plain: OnceCell::new(),
            tasks: OnceCell::new(),
        }
    }

    /// The number of times that a text is in the body, read or not.
    fn count(&self, text: &str) -> usize {
        let text = plain(text);
        if text.is_empty() {
            return 0;
        }
        let body = self.plain.get_or_init(|| plain(self.look.body));
        body.matches(&text).count()
    }

    /// True if the text of one of its tasks is in the body where it cannot be read, or only by itself.
    fn holds_a_task_of(&self, seen: &SeenBatch) -> bool {
        let found = scan(&seen.text);
        let mut tasks = found.batches.iter().flat_map(|batch| &batch.tasks);
        tasks.any(|task| {
            let text = &seen.text[task.span.clone()];
            self.count(text) > self.readable(text)
        })
    }

    /// The number of times that a task can be read, and was not bared just now.
    fn readable(&self, task: &str) -> usize {
        let key = self.seed.key(task);
        let tasks = self.tasks.get_or_init(|| {
            let mut tasks = HashMap::new();
            for task in self.look.scan.batches.iter().flat_map(|batch| &batch.tasks) {
                let key = self.seed.key(&self.look.body[task.span.clone()]);
                *tasks.entry(key).or_default() += 1;
            }
            tasks
        });
        let bare = self.bare.iter().filter(|bare| **bare == key).count();
        tasks
            .get(&key)
            .map_or(0, |count| count.saturating_sub(bare))
    }
}

/// A text with LF line ends and no white space before them.
fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}
