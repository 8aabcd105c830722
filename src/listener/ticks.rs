//! Ticks: which of them count, and why others do not. One rule for whatever can be ticked: a tick must be the person's, so
//! nothing counts that a reply, a command, a hook or what these left behind could have written. Carries out none.
//!
//! Where one tick of a save may not be the person's, none of that save counts, and what was ticked is offered again.

use std::collections::HashSet;

use crate::listener::Listener;
use crate::listener::commands::{self, Lingering, Writer};
use crate::listener::memory::{Memory, logged};
use crate::listener::ticked::{FoundTick, Ticked};

use crate::reply::record::{Offer, Tick, TickSource};
use crate::report::{Offered, Report};
use crate::world::ledger::LedgerError;

/// The differences of a save from the text that clada saw or wrote last.
#[derive(Debug, Clone, Copy)]
pub(super) struct SaveChange {
    /// Nobody listened before.
    pub(super) is_start: bool,
    /// The person's text is the same.
    pub(super) is_same: bool,
    /// So are the results, but for ticks: they stand there as they did, with the line above them.
    pub(super) is_framed: bool,
    /// The time at which the file was changed, in Unix time in milliseconds.
    pub(super) changed_ms: i64,
    /// clada put a copied reply into it: that tells nothing of what the person has read in it.
    pub(super) is_copied: bool,
}

/// The reason why no tick of a save counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Void {
    /// No clada listened when they were made.
    Unwatched,
    /// The results are in the notes twice.
    Doubled,
    /// Newer results took the place of these, or what was ticked was begun meanwhile.
    Old,
    /// Something else changed with them.
    Changed,
    /// Commands ran.
    Command,
    /// Processes of commands live on.
    Survivors(Lingering),
    /// Two places of one edit are ticked.
    Several,
}

impl Void {
    /// Says why, in a line of the results.
    pub(super) fn said(&self) -> String {
        let why = match self {
            Self::Unwatched => {
                "a tick made while no clada watched this file is ignored: tick it again"
            }
            Self::Doubled => {
                "ticks are ignored while the results are in the notes file twice, as a reply may quote them: remove the \
                 copy, if it is still there, and tick again"
            }
            Self::Old => "a tick in older results is ignored: tick what is offered now",
            Self::Changed => {
                "a tick is ignored if other text changes with it, as a reply may quote one: tick it again and change \
                 nothing else"
            }
            Self::Command => {
                "a tick made while a command or a hook runs is ignored: tick it again, or run `clada approve` or `clada \
                 retry`"
            }
            Self::Survivors(left) => {
                return format!("⚠ {}", left_behind(left));
            }
            Self::Several => {
                "several places are ticked for one edit, so nothing was done: tick only one"
            }
        };
        format!("⚠ {why}")
    }
}

/// Says that processes of commands still run, so that ticks are ignored.
pub(super) fn left_behind(left: &Lingering) -> String {
    format!(
        "ticks are ignored while processes that commands left behind are running: {}; stop them, or run `clada approve` \
         or `clada retry`",
        left
    )
}

/// The ticks of a save, by whether they count.
#[derive(Default)]
pub(super) struct Counted {
    /// Those that count.
    pub(super) ticks: Vec<Tick>,
    /// Those that count and have untracked files added to git.
    pub(super) adds: Vec<TickSource>,
    /// The reason why the others do not.
    pub(super) void: Option<Void>,
    /// The others.
    pub(super) lost: Vec<FoundTick>,
}

impl Counted {
    /// True if a tick asks for something.
    pub(super) fn asks(&self) -> bool {
        !self.ticks.is_empty() || !self.adds.is_empty()
    }
}

impl Listener<'_> {
    /// Finds which ticks count.
    pub(super) fn counted(
        &mut self,
        taken: Vec<FoundTick>,
        change: SaveChange,
    ) -> Result<Counted, LedgerError> {
        // What was ticked in results that newer ones have replaced just now.
        let mut lost = std::mem::take(&mut self.memory.ticks.lost);
        let mut void = (!lost.is_empty()).then_some(Void::Old);
        // One that could not begin is still ticked in the file where the results could not be written.
        let novelty = &self.memory.novelty;
        let is_new = |taken: &FoundTick| !novelty.keeps(&taken.tick);
        let (sure, others): (Vec<_>, Vec<_>) = taken
            .into_iter()
            .filter(is_new)
            .partition(|taken| taken.is_sure);
        let why = if others.is_empty() {
            None
        } else {
            self.void(&others, change)?
        };
        let mut counts = sure;
        if why.is_some() {
            let sources = others.iter().filter_map(|taken| taken.tick.source);
            self.memory.ticks.ignored.extend(sources);
            lost.extend(others);
            void = why;
        } else {
            counts.extend(others);
        }
        let mut counted = Counted {
            void,
            lost,
            ..Counted::default()
        };
        let mut answered = HashSet::new();
        for FoundTick { mut tick, .. } in counts {
            if let Some(source) = tick.source.filter(|_| tick.offer.adds()) {
                counted.adds.push(source);
                continue;
            }
            // Who says twice that a command may run has it run once.
            for (of, tasks) in &mut tick.offer.batches {
                tasks.retain(|task| {
                    !novelty.is_approved(*of, *task) && answered.insert((*of, *task))
                });
            }
            tick.offer.batches.retain(|(_, tasks)| !tasks.is_empty());
            match tick.source {
                Some(source) if tick.offer.batches.is_empty() => self.memory.ledger.void(source)?,
                _ => counted.ticks.push(tick),
            }
        }
        Ok(counted)
    }

    /// Returns the reason why these do not count; nothing where they do.
    fn void(&self, taken: &[FoundTick], change: SaveChange) -> Result<Option<Void>, LedgerError> {
        if change.is_start {
            return Ok(Some(Void::Unwatched));
        }
        if taken.iter().any(|taken| taken.is_doubled) {
            return Ok(Some(Void::Doubled));
        }
        for taken in taken {
            if self.is_old(&taken.tick)? {
                return Ok(Some(Void::Old));
            }
        }
        if !change.is_same || !change.is_framed {
            return Ok(Some(Void::Changed));
        }
        Ok(
            match commands::since(&self.claim.site.folders.locks(), change.changed_ms) {
                Some(Writer::Command) => Some(Void::Command),
                Some(Writer::Survivors(left)) => Some(Void::Survivors(left)),
                None => are_several(taken).then_some(Void::Several),
            },
        )
    }

    /// True if a tick is in results that are not the newest, or for what began since.
    fn is_old(&self, tick: &Tick) -> Result<bool, LedgerError> {
        let memory = &self.memory;
        let Some(source) = tick.source else {
            return Ok(false);
        };
        if !memory.ledger.is_newest(memory.file, source)? {
            return Ok(true);
        }
        for (of, task) in tick.offer.each() {
            let has_begun = match &tick.offer {
                Offer { spot: Some(_), .. } => memory.is_over(of, task),
                Offer { approves: true, .. } => memory.novelty.is_approved(of, task),
                _ => memory.ledger.ran_since(memory.file, of, task, source)?,
            };
            if has_begun {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Offers again what was ticked to no avail, where that is still open. What the newest results offer stands there still, and
    /// questions are asked as long as they are open anyway.
    pub(super) fn offer_again(&mut self, lost: &[FoundTick], report: &mut Report) {
        if lost.is_empty() {
            return;
        }
        self.memory.unread.reopen();
        let below = self.memory.earlier(report).into_iter();
        let below = below.flat_map(|telling| telling.offers);
        let mut open: Vec<Offer> = below.map(|(_, offer)| self.memory.latest(&offer)).collect();
        for taken in lost {
            let offer = self.memory.latest(&taken.tick.offer);
            let place = offer.spot.as_ref().and_then(|_| offer.each().next());
            let is_there = |known: &Offer| match place {
                Some(task) => known.spot.is_some() && known.each().any(|it| it == task),
                None => *known == offer,
            };
            if open.iter().any(is_there) || offer.approves && !offer.adds() {
                continue;
            }
            match place {
                Some((of, task)) => report.open.extend(self.open_edit(of, task)),
                None if self.has_begun(taken) => {}
                None => report.offers.extend(offered(&taken.line, &offer)),
            }
            open.push(offer);
        }
    }

    fn has_begun(&self, taken: &FoundTick) -> bool {
        let memory = &self.memory;
        let began = |(batch, task), source| {
            let began = memory.ledger.ran_since(memory.file, batch, task, source);
            began.unwrap_or(true)
        };
        let source = taken.tick.source;
        let mut tasks = taken.tick.offer.each();
        source.is_some_and(|source| tasks.any(|task| began(task, source)))
    }
}

impl Memory {
    /// Takes in the ticks of blocks that clada has just replaced: none counts but those that a command of the person made.
    ///
    /// To be called before what replaced them counts as delivered: it may read the same, and nobody ticked it.
    pub(super) fn ticked_meanwhile(&mut self, ticked: &[Ticked]) {
        let taken = ticked.iter().filter_map(|it| logged(self.taken(it)));
        let (sure, lost): (Vec<_>, Vec<_>) = taken.flatten().partition(|it| it.is_sure);
        self.ticks.sure.extend(sure);
        self.ticks.lost.extend(lost);
    }
}

/// True if two places of one edit are ticked.
fn are_several(taken: &[FoundTick]) -> bool {
    let mut chosen = HashSet::new();
    let places = taken.iter().filter(|it| it.tick.offer.spot.is_some());
    let mut tasks = places.flat_map(|it| it.tick.offer.each());
    !tasks.all(|task| chosen.insert(task))
}

/// An offer that a line of a block made, once more.
fn offered(line: &str, offer: &Offer) -> Option<Offered> {
    let (why, action) = line.rsplit_once(" - [ ] ")?;
    let action = ACTIONS.into_iter().find(|known| *known == action)?;
    // Nothing of this block has its number.
    let why = why.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(Offered {
        why: why.trim_start().to_owned(),
        action,
        offer: offer.clone(),
    })
}

/// The actions that a tick can ask for.
const ACTIONS: [&str; 4] = ["run it", "run them", "run again", "add and commit them"];
