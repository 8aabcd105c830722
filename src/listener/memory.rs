//! What a listener remembers of its file, kept in the ledger: what was seen, what ran, which results blocks are its own.
//! Decides nothing; `novelty` does.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::clock;
use crate::listener::last_notes::{Hash, KnownBlocks, LastNotes};
use crate::listener::site::Retention;
use crate::listener::ticked::{FoundTick, KnownTicks, Ticked};
use crate::listener::unread::Unread;
use crate::novelty::{self, Effect, Event, Look, NoveltyState};
use crate::reply::note::{self, Note};
use crate::reply::question::{self, Question};
use crate::reply::record::{Key, Number, Offer, Tick};
use crate::reply::scan::{alone, part_alone, scan};
use crate::reply::task::Action;
use crate::report::{self, Offered, Report};
use crate::text::mask::Mask;
use crate::world::ledger::{
    BlockId, FileId, KnownBlock, Ledger, LedgerError, LogBatch, NewBlock, Noted, SavedState,
};

/// Behind the hash of a body that nothing is to be done about.
const AT_REST: &str = " at rest";

/// The time between two checks of the ledger's limits, in seconds.
const PRUNE_EVERY: i64 = 24 * 60 * 60;

/// The memory of one watched file.
pub struct Memory {
    pub(super) ledger: Ledger,
    pub(super) limits: Retention,
    pub(super) file: FileId,
    pub(super) novelty: NoveltyState,
    pub(super) last: LastNotes,
    pub(super) ticks: KnownTicks,
    /// The newest results block.
    pub(super) unread: Unread,
    kept: Kept,
}

/// The progress of the ledger with what it is to keep.
#[derive(Default)]
struct Kept {
    /// The state as the ledger has it.
    state: String,
    /// The batches that are not in the ledger yet. The state must not get there without it: its batches would be new after a restart.
    unkept: Vec<Unkept>,
    /// The time of the last check of its limits, in seconds since 1970.
    pruned: i64,
}

/// A batch that was noted.
struct Unkept {
    number: Number,
    text: String,
    tasks: Vec<(String, String)>,
}

impl Memory {
    /// Reads from the ledger what it knows of the file at this path, whose text is given where it can be read. One that is new there
    /// may be another one, which is gone, under a new name: its old path is returned too. `watched` tells those that a clada waits
    /// for.
    ///
    /// # Errors
    /// Where the ledger cannot be used.
    pub(super) fn open(
        mut ledger: Ledger,
        limits: Retention,
        path: &Path,
        text: Option<&str>,
        watched: &dyn Fn() -> Vec<PathBuf>,
    ) -> Result<(Self, Option<PathBuf>), LedgerError> {
        let seed = ledger.seed();
        let mut known = ledger.file(path)?;
        let mut was = None;
        if known.is_none()
            && let Some(text) = text
            && let Some((file, old)) = renamed(&ledger, text, watched)?
        {
            ledger.move_file(file, path)?;
            known = ledger.file(path)?;
            was = Some(old);
        }
        let (file, kept) = match known {
            Some(known) => (known.id, known.state),
            None => (ledger.add_file(path)?, String::new()),
        };
        let (looked, state) = parted(&kept);
        let records = ledger.records(file)?;
        let mut text_of = |number| {
            let text = ledger.text(file, number).ok().flatten().unwrap_or_default();
            text.trim_start().to_owned()
        };
        let novelty =
            NoveltyState::from_text(seed, state, records, &mut text_of).map_err(|error| {
                tracing::error!(%error, "cannot read the state of the notes file");
                ledger.damaged()
            })?;
        let unread = Unread::of(ledger.standing(file)?);
        let first = kept.lines().next().unwrap_or_default();
        let is_bare = unread
            .block
            .is_some_and(|block| first.split(' ').any(|word| word == bare_word(block)));
        let newest = ledger.newest(file)?;
        let known = KnownBlocks::of(seed, ledger.blocks(file)?, newest.as_deref(), looked);
        let memory = Self {
            last: LastNotes::new(looked, known, newest.as_deref().filter(|_| !is_bare)),
            ledger,
            limits,
            file,
            novelty,
            ticks: KnownTicks::default(),
            unread,
            kept: Kept {
                state: kept,
                ..Kept::default()
            },
        };
        Ok((memory, was))
    }

    /// True if nothing is to be done about a text, nor to be told of its file, as far as the ledger knows.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub fn is_at_rest(ledger: &Ledger, path: &Path, text: &str) -> Result<bool, LedgerError> {
        let Some(known) = ledger.file(path)? else {
            return Ok(false);
        };
        let (looked, _) = parted(&known.state);
        let first = known.state.lines().next().unwrap_or_default();
        let (Some(looked), true) = (looked, first.ends_with(AT_REST)) else {
            return Ok(false);
        };
        let of_file = KnownBlocks::of(ledger.seed(), ledger.blocks(known.id)?, None, Some(looked));
        let note = note::split(text, &of_file);
        let mut blocks = note.blocks.iter();
        // Something may have been put into one that is not known.
        let is_seen = Hash::of(&note.body) == looked
            && blocks.all(|block| block.is_known && block.ticks().is_empty());
        Ok(is_seen && ledger.is_told(known.id)? && ledger.owed(known.id)?.is_none())
    }

    /// Takes a text apart. Another clada may have written the block on top of it, on behalf of this one; a block of another
    /// file is as foreign as any.
    pub(super) fn split<'t>(&mut self, text: &'t str) -> Note<'t> {
        if let Some((key, block)) = self.last.unknown_top(text)
            && matches!(self.block(key), Ok(Some(_)))
        {
            self.last.know(block);
        }
        self.last.split(text)
    }

    /// Finds the ticks in the blocks of a note, and in those that clada took off since the last look, that were not
    /// used before.
    ///
    /// # Errors
    /// Where the ledger cannot be read.
    pub(super) fn ticks(&mut self, note: &Note<'_>) -> Result<Vec<FoundTick>, LedgerError> {
        let ticked = Ticked::all(note);
        let mut all = std::mem::take(&mut self.ticks.sure);
        if ticked.is_empty() {
            return Ok(all);
        }
        let newest = self.ledger.newest(self.file)?;
        let newest = newest.map(|block| note::canonical(&block));
        let is_below = newest.is_some_and(|block| note::holds(&note.body, &block));
        for mut ticked in ticked {
            ticked.is_doubled |= is_below;
            all.extend(self.taken(&ticked)?);
        }
        Ok(all)
    }

    /// Finds the offers that these ticks take up.
    pub(super) fn taken(&self, ticked: &Ticked) -> Result<Vec<FoundTick>, LedgerError> {
        let is_sure = ticked.is_by_command();
        let known = self.block(self.ledger.seed().key(&ticked.block))?;
        let offers = known.into_iter().flat_map(|known| known.offers);
        let taken = offers.filter(|known| {
            let is_ignored = self.ticks.ignored.contains(&known.source);
            ticked.lines.contains(&known.source.line) && !known.used && !is_ignored
        });
        let ticks = taken.map(|known| {
            let mut offer = known.offer;
            if offer.approves {
                // The one that knows what was done since it was asked.
                for (batch, _) in &mut offer.batches {
                    *batch = self.ledger.latest(self.file, *batch)?;
                }
            }
            Ok(FoundTick {
                is_sure,
                is_doubled: ticked.is_doubled && !is_sure,
                line: ticked.line(known.source.line),
                tick: Tick {
                    source: Some(known.source),
                    offer,
                },
            })
        });
        ticks.collect()
    }

    /// Finds this file's results block with this key. Others may have some that read the same.
    fn block(&self, key: Key) -> Result<Option<KnownBlock>, LedgerError> {
        let blocks = self.ledger.blocks_with(key)?;
        Ok(blocks.into_iter().find(|block| block.file == self.file))
    }

    /// Has `novelty` look at a body, of which so many bytes stand above a block.
    pub(super) fn look(&mut self, look: Look<'_>, hash: Hash, above: usize) -> Vec<Effect> {
        self.last.look(look.body, hash, above);
        self.step(Event::Looked(look))
    }

    /// Tells `novelty` what happened, and returns what is to be done about it.
    pub(super) fn step(&mut self, event: Event<'_>) -> Vec<Effect> {
        novelty::step(&mut self.novelty, event)
    }

    /// Keeps what `novelty` made of a look: batches that were noted, and its state.
    ///
    /// # Errors
    /// Where the ledger cannot be written: it is tried again with the next look, and before a batch begins.
    pub(super) fn keep(
        &mut self,
        look: &Look<'_>,
        effects: &[Effect],
        now: i64,
    ) -> Result<(), LedgerError> {
        let noted = effects.iter().filter_map(|effect| match effect {
            Effect::Remember { batch, number } => {
                let batch = &look.scan.batches[*batch];
                Some(Unkept {
                    number: *number,
                    text: alone(look.body, batch),
                    tasks: batch.names(),
                })
            }
            Effect::RememberPart { batch, number } => {
                let text = part_alone(look.body, &look.scan.batches[*batch])?;
                let tasks = scan(&text).batches.first()?.names();
                Some(Unkept {
                    number: *number,
                    text,
                    tasks,
                })
            }
            _ => None,
        });
        self.kept.unkept.extend(noted);
        let state = self.state(None);
        if self.kept.unkept.is_empty() && state == self.kept.state {
            return Ok(());
        }
        self.keep_noted(state, now)
    }

    /// Keeps a state, with the batches that it needs.
    fn keep_noted(&mut self, state: String, now: i64) -> Result<(), LedgerError> {
        let noted = self.kept.unkept.iter().filter_map(|unkept| {
            Some(Noted {
                record: self.novelty.record(unkept.number)?,
                text: &unkept.text,
                tasks: &unkept.tasks,
            })
        });
        let noted: Vec<_> = noted.collect();
        let sight = SavedState {
            state: &state,
            present: &self.novelty.present(),
        };
        self.ledger.keep(self.file, &noted, sight, now)?;
        self.kept.unkept.clear();
        self.kept.state = state;
        Ok(())
    }

    /// Reads the text of a batch; empty if it is forgotten or cannot be read, and then nothing of it can run.
    pub(super) fn text(&self, number: Number) -> String {
        logged(self.ledger.text(self.file, number))
            .flatten()
            .unwrap_or_default()
    }

    /// True if a task is not to be offered on behalf of a batch: it was done or tried again since, or is about to be.
    pub(super) fn is_over(&self, batch: Number, task: usize) -> bool {
        let over = logged(self.ledger.is_over(self.file, batch, task));
        over.unwrap_or(true) || self.novelty.is_chosen(batch, task)
    }

    /// Keeps what a batch that is about to begin finds in the ledger.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub(super) fn catch_up(&mut self, now: i64) -> Result<(), LedgerError> {
        if self.kept.unkept.is_empty() {
            return Ok(());
        }
        self.keep_noted(self.state(None), now)
    }

    /// Returns the state as the ledger keeps it, perhaps as it will be when a batch has begun.
    pub(super) fn state(&self, beginning: Option<Number>) -> String {
        let looked = self.last.looked.map(|hash| hash.hex()).unwrap_or_default();
        let bare = self.unread.block.filter(|_| self.last.is_bare());
        let bare = bare.map_or(String::new(), |block| format!(" {}", bare_word(block)));
        let is_at_rest = self.novelty.is_at_rest(beginning);
        let rests = if is_at_rest { AT_REST } else { "" };
        let state = self.novelty.to_text(beginning);
        format!("{looked}{bare}{rests}\n{state}")
    }

    /// Holds the ledger to its limits, now and then. It is no loss where that cannot be.
    pub(super) fn prune(&mut self, now: i64) {
        if now - self.kept.pruned < PRUNE_EVERY {
            return;
        }
        self.kept.pruned = now;
        let began = now - self.limits.seconds;
        logged(self.ledger.prune(began, self.limits.bytes));
    }

    /// Takes in that the ledger has this state now.
    pub(super) fn kept(&mut self, state: String) {
        self.kept.state = state;
    }

    /// Returns the batches whose results the notes never got, as clada was ended before. They are ended.
    ///
    /// # Errors
    /// Where the ledger cannot be written.
    pub(super) fn recover(&mut self, now_ms: i64) -> Result<Vec<LogBatch>, LedgerError> {
        let batches = self.ledger.untold(self.file, now_ms)?;
        for batch in &batches {
            let fates = batch.tasks.iter().map(|task| task.fate.clone()).collect();
            self.step(Event::Ended(batch.number, fates));
        }
        Ok(batches)
    }

    /// Adds the questions that wait for an answer, but those that a report asks itself.
    pub(super) fn add_asked(&self, report: &mut Report, mask: &Mask) {
        const MOST: usize = 20;
        let asked = logged(self.ledger.asked(self.file, MOST)).unwrap_or_default();
        let own = report.offer_lines().into_iter().map(|(_, offer)| offer);
        let earlier = self.earlier(report).into_iter();
        let below = earlier.flat_map(|telling| telling.offers);
        let below = below.map(|(_, offer)| self.latest(&offer));
        let offers: Vec<Offer> = own.chain(below).collect();
        for asked in asked {
            let latest = self.latest_of(asked.batch);
            let offer = Offer::of(latest, vec![asked.task]).approving(true);
            let is_answered = self.novelty.is_approved(latest, asked.task);
            if is_answered || offers.contains(&offer) {
                continue;
            }
            let when = clock::when(asked.asked_ms.div_euclid(1000));
            let target = report::one_line(&report::brief(&asked.target));
            let said = asked.message.unwrap_or_default();
            let (why, commands) = said.split_once('\n').unwrap_or((&said, ""));
            let dash = if why.is_empty() { "" } else { " - " };
            let why = format!(
                "⏸ {} {target}{dash}{why} (asked {when})\n{commands}",
                asked.command
            );
            if !commands.is_empty() {
                let whole = self.question(asked.batch, asked.task, &said);
                report.asked.push(mask.text(&whole).into_owned());
            }
            report.offers.push(Offered {
                why: why.trim_end().to_owned(),
                action: "run it",
                offer,
            });
        }
    }

    /// Returns the questions that wait for an answer, by the tasks that they are about: in the batches that stand for theirs by now.
    pub(super) fn questions(&self) -> Vec<((Number, usize), Question)> {
        let asked = logged(self.ledger.asked(self.file, usize::MAX >> 1)).unwrap_or_default();
        let questions = asked.into_iter().filter_map(|asked| {
            let (latest, task) = (self.latest_of(asked.batch), asked.task);
            let message = asked.message;
            let whole = message
                .as_ref()
                .map(|said| self.question(asked.batch, task, said));
            let is_answered = self.novelty.is_approved(latest, task);
            (!is_answered).then_some(((latest, task), Question { message, whole }))
        });
        questions.collect()
    }

    /// Returns the whole text that a question is about.
    fn question(&self, batch: Number, task: usize, said: &str) -> String {
        let text = self.text(batch);
        let scan = scan(&text);
        let tasks = scan.batches.first().map(|batch| &batch.tasks[..]);
        let task = tasks.and_then(|tasks| tasks.get(task));
        let script = match task.map(|task| &task.action) {
            Some(Ok(Action::Exec { script, .. })) => script.text(),
            _ => Cow::Borrowed(""),
        };
        question::whole(said, &script)
    }

    /// Learns of a block that shows a run that goes on. If it cannot be kept it is known as long as clada runs.
    pub(super) fn add_running(&mut self, block: &str, now: i64) -> KnownBlocks {
        let new = NewBlock {
            key: self.last.know(block),
            text: block,
            offers: &[],
            is_result: false,
        };
        logged(self.ledger.add_block(self.file, new, now));
        self.last.known()
    }
}

/// Finds the file, now gone, that had this very text: the results block on top, which others may have too, and the body.
fn renamed(
    ledger: &Ledger,
    text: &str,
    watched: &dyn Fn() -> Vec<PathBuf>,
) -> Result<Option<(FileId, PathBuf)>, LedgerError> {
    let seed = ledger.seed();
    let Some(top) = note::top_block(text) else {
        return Ok(None);
    };
    for block in ledger.blocks_with(note::key(seed, top))? {
        if block.path.exists() || watched().contains(&block.path) {
            continue;
        }
        let known = KnownBlocks::of(seed, ledger.blocks(block.file)?, None, None);
        let body = Hash::of(&note::split(text, &known).body);
        let kept = ledger.file(&block.path)?;
        if kept.is_some_and(|kept| parted(&kept.state).0 == Some(body)) {
            return Ok(Some((block.file, block.path)));
        }
    }
    Ok(None)
}

/// Returns the body last looked at and the state of `novelty`, as [`Memory::state`] put them together.
fn parted(kept: &str) -> (Option<Hash>, &str) {
    let (looked, state) = kept.split_once('\n').unwrap_or_default();
    (Hash::from_hex(looked), state)
}

/// Returns the word of the state for notes from which these results were taken away.
fn bare_word(block: BlockId) -> String {
    format!("bare{}", block.number())
}

/// Logs an error of the ledger that nothing is lost by.
pub(super) fn logged<T>(result: Result<T, LedgerError>) -> Option<T> {
    let result = result.inspect_err(|error| tracing::error!(%error, "cannot use the ledger"));
    result.ok()
}
