//! The things that do not end: a batch without its closing tags, a block without its last marker, a `clada:off` without its
//! `on`. The text behind may be quoted in one, or be a reply of its own. The text alone cannot tell, but the order in which
//! they came can. Decides nothing about batches.

use serde::{Deserialize, Serialize};

use super::{Look, TYPED, prose};
use crate::reply::dialect::Dialect;
use crate::reply::dialects::block::is_fence;
use crate::reply::record::{Key, Prose, Seed};
use crate::reply::task::{Batch, BatchState};

/// The number of lines by which a block that does not end is known: with the name of its file, where that is above it.
const FIRST: usize = 2;

/// Something in a body that does not end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Enclosure {
    text: OwnText,
    /// It stood in this.
    prose: Prose,
    /// The text had settled with it: all batches in it by then belong to it.
    known: bool,
    /// It grew over several saves.
    typed: bool,
    /// It was last seen in a save that was over.
    over: bool,
    /// It switches off the text behind it, as somebody asked for.
    is_off: bool,
    /// It is not there any more: the text in its place is being typed, or more of it may come.
    gone: bool,
    #[serde(skip)]
    pub(super) arrival: Arrival,
}

/// The text that surely belongs to something that does not end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct OwnText {
    /// Of its first line.
    head: Key,
    /// Of its text up to the problem in it.
    key: Key,
    /// Of all of it, with the numbers of its lines and bytes.
    all: Key,
    lines: usize,
    size: usize,
}

/// The place of something in the body that is looked at, and the changes since the last save.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrival {
    /// The offset at which it begins.
    pub(super) at: usize,
    /// It has other text of its own than in the last save.
    grew: bool,
    /// It was not in the last save.
    fresh: bool,
}

/// The relation of a batch to something that does not end, and in which it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// It came later: a reply of its own.
    Own,
    /// It came later, but perhaps as a part of it.
    Doubtful,
    /// It came with it.
    Swallowed,
}

/// The things that do not end: in the body that is looked at, and in the last one.
pub(super) struct Enclosures {
    pub(super) now: Vec<Enclosure>,
    pub(super) before: Vec<Enclosure>,
}

impl Enclosures {
    pub(super) fn new(seed: Seed, look: &Look<'_>, before: Vec<Enclosure>) -> Self {
        Self {
            now: Enclosure::all(seed, look, before.clone()),
            before,
        }
    }

    /// Those that ended since the last body.
    pub(super) fn gone(&self) -> impl Iterator<Item = &Enclosure> {
        let before = self.before.iter();
        before.filter(|was| was.has_gone(&self.now))
    }
}

impl Enclosure {
    /// Those of a body, beside those of the last one.
    fn all(seed: Seed, look: &Look<'_>, mut last: Vec<Self>) -> Vec<Self> {
        let is_open = |batch: &Batch<'_>| matches!(batch.state, BatchState::Open(_));
        if look.scan.off.is_none() && !look.scan.batches.iter().any(is_open) {
            return Vec::new();
        }
        last.retain(|it| !it.gone);
        let proses = prose::around(seed, look.body, look.scan);
        let batches = look.scan.batches.iter().zip(proses);
        let open = batches.filter(|(batch, _)| is_open(batch));
        let open = open.map(|(batch, prose)| {
            let own = look.body[batch.span.clone()].trim_end();
            let key = key(seed, look.body, batch);
            Self {
                prose,
                ..Self::new(seed, look, batch.span.start, key, own)
            }
        });
        let off = look.scan.off.map(|at| {
            let line = line_at(look.body, at);
            Self {
                is_off: true,
                ..Self::new(seed, look, at, seed.key(line), line)
            }
        });
        let mut all: Vec<Self> = off.into_iter().chain(open).collect();
        let is_same: [fn(&OwnText, &OwnText) -> bool; 2] = [
            |now, was| now.key == was.key,
            |now, was| now.head == was.head,
        ];
        for (pass, is_same) in is_same.into_iter().enumerate() {
            for now in all.iter_mut().filter(|now| now.arrival.fresh) {
                let mut before = last.iter();
                if let Some(at) = before.position(|was| is_same(&now.text, &was.text)) {
                    now.follow(&last.remove(at), pass == 0);
                }
            }
        }
        all
    }

    fn new(seed: Seed, look: &Look<'_>, at: usize, key: Key, own: &str) -> Self {
        Self {
            text: OwnText {
                head: seed.key(line_at(own, 0)),
                key,
                all: seed.key(own),
                lines: own.lines().count(),
                size: own.len(),
            },
            over: look.over,
            arrival: Arrival {
                at,
                fresh: true,
                ..Arrival::default()
            },
            ..Self::default()
        }
    }

    /// Takes over what is known of it.
    fn follow(&mut self, was: &Self, is_same: bool) {
        self.arrival.fresh = false;
        self.known = was.known && is_same;
        self.typed = was.typed;
        self.arrival.grew = self.text.all != was.text.all && self.over && was.over;
    }

    /// The look is over, in which batches came that stand in one of these, or none. Prose that comes with a batch is that
    /// one's, and nobody's typing.
    pub(super) fn close(all: &mut [Self], settled: bool, came: bool) {
        let came = came || all.iter().any(|it| it.arrival.fresh);
        for it in all {
            it.known |= settled;
            it.typed |= it.arrival.grew && !came;
        }
    }

    /// Of those of the last body, those that are kept while what took their place is being typed.
    pub(super) fn gone(last: Vec<Self>, now: &[Self]) -> Vec<Self> {
        let is_gone = |was: &Self| was.known && was.has_gone(now);
        let gone = last.into_iter().filter(is_gone);
        gone.map(|was| Self { gone: true, ..was }).collect()
    }

    /// True if somebody may be writing it by hand, and has not come far.
    pub(super) fn is_typed(&self, has_whole_tasks: bool) -> bool {
        self.typed || self.arrival.grew || self.text.size <= TYPED && !has_whole_tasks
    }

    /// True if this is not among those of a body any more.
    pub(super) fn has_gone(&self, now: &[Self]) -> bool {
        !now.iter().any(|now| now.text.key == self.text.key)
    }

    /// True if what came with these belongs to something that does not end; of a `clada:off` that is said already.
    pub(super) fn is_new_of_reply(all: &[Self]) -> bool {
        all.iter().any(|it| !it.is_off && !it.known)
    }

    /// The relation of a batch at this offset to these.
    pub(super) fn place(all: &[Self], at: usize) -> Placement {
        let around = || all.iter().filter(|it| it.arrival.at < at);
        if around().any(|it| !it.known) {
            Placement::Swallowed
        } else if around().any(|it| it.typed || it.is_off) {
            Placement::Doubtful
        } else {
            Placement::Own
        }
    }

    /// True if a text is this with more behind it: parts put together by somebody who did not see where the first one
    /// breaks off, or a block that another reply has ended. Closing tags alone are no part.
    pub(super) fn is_joined(&self, seed: Seed, text: &str, prose: Prose) -> bool {
        let mut behind = text.split_inclusive('\n').skip(self.text.lines).peekable();
        let is_only_closed = behind.peek().is_some() && behind.all(is_closing);
        let is_there = prose.above == self.prose.above;
        self.begins(seed, text) && is_there && !self.typed && !is_only_closed
    }

    /// The offset at which this ends in a text that begins with it.
    pub(super) fn end_in(&self, seed: Seed, text: &str) -> Option<usize> {
        let own = text.split_inclusive('\n').take(self.text.lines);
        let end = own.map(str::len).sum();
        (self.known && seed.key(&text[..end]) == self.text.all).then_some(end)
    }

    /// True if a text begins with all of this, which was known.
    pub(super) fn begins(&self, seed: Seed, text: &str) -> bool {
        self.end_in(seed, text).is_some()
    }
}

/// The rest of the line at an offset.
pub(super) fn line_at(body: &str, at: usize) -> &str {
    body[at..].lines().next().unwrap_or_default()
}

/// The key of a batch: of its text, or, where that does not end, of as much of it as surely stays what it is when something
/// is put behind it.
pub fn key(seed: Seed, body: &str, batch: &Batch<'_>) -> Key {
    let text = &body[batch.span.clone()];
    seed.key(match &batch.state {
        BatchState::Open(problem) if batch.dialect == Dialect::Cml => {
            let line = line_at(body, problem.at);
            &body[batch.span.start..problem.at + line.len()]
        }
        BatchState::Open(_) => {
            let first = text.split_inclusive('\n').take(FIRST).map(str::len);
            &text[..first.sum()]
        }
        _ => text,
    })
}

/// True if there are only closing tags, a fence or nothing on a line.
fn is_closing(line: &str) -> bool {
    let mut rest = line.trim();
    if is_fence(rest) {
        return true;
    }
    while !rest.is_empty() {
        let tag = rest.strip_prefix("]]>").or_else(|| {
            let tag = rest.strip_prefix("</")?;
            Some(tag.split_once('>')?.1)
        });
        let Some(behind) = tag else {
            return false;
        };
        rest = behind.trim_start();
    }
    true
}
