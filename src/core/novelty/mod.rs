//! Decides what of a save is new. No I/O, no clock: events in, effects out.
//!
//! The text of old replies stays in the notes, comes back by undo or sync, and is repaired in place. So a save is
//! compared with the one before and with what is remembered, always by raw text. The first of these decides:
//!
//! 1. *Still there*: it was in the last body, as often as now. (Offered where its surroundings were replaced.) One in
//!    which nothing but an `<i>` changed, between the same lines of prose, is the one that was there; so is one that is
//!    hidden (see `seen`).
//! 2. *Come back*: it was in an earlier body, in the prose it stands in now, and is not in the last one. It is offered.
//! 3. *Repaired*: it shares tasks with one that vanished, and prose (see `revision`). What succeeded is not done again.
//! 4. *New*: all of it runs.
//!
//! What is there at first sight, or came with the results of another clada, is noted and offered, not run.
//!
//! A reply that does not end spoils no other: what stood in it when it was first seen belongs to it, and what comes there
//! later is a reply of its own (see `enclosure`). One that was cut off is never joined with what is put behind it; its
//! whole tasks can be asked for, and then the whole reply completes them (see `cut_off`).
//!
//! A batch that was pasted arrives whole; one that may be half-typed, because it stands in the place of a vanished one
//! or looks like it, waits until nothing changes any more.
//!
//! A batch that is to run counts as there from then on, but as remembered only once it has begun: [`NoveltyState::to_text`]
//! leaves it out until then, so that it is new again after a crash before its first task.

mod body;
mod cut_off;
mod enclosure;
mod event;
mod kept;
mod problems;
mod prose;
mod revision;
mod runs;
mod seen;
mod twins;
mod verdict;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;

use crate::reply::dialect::Dialect;
use crate::reply::record::{
    Fate, Key, Number, Offer, Record, Seed, Spot, TaskPlan, TaskRecord, Tick,
};
use crate::reply::task::{Batch, Command, Task};

use body::BodyReading;
pub use enclosure::key as batch_key;
use enclosure::{Enclosure, Enclosures};
pub use event::{Effect, Event, Look, OfferReason};
use kept::KeptState;
use seen::{Candidate, EarlierPlace, SeenBatch, Uncertainty, Unfound};
use verdict::{BatchVerdict, NotedAs, Scene};

/// The most characters that somebody types between two saves; who adds more has pasted it.
const TYPED: usize = 200;

/// The number of surroundings in which a batch is known again when it comes back, beside the first.
const STOOD: usize = 8;

/// The memory of a watched file.
#[derive(Debug)]
pub struct NoveltyState {
    seed: Seed,
    kept: KeptState,
    /// The batches of the last body that may be half-typed; they have no numbers.
    typing: Vec<SeenBatch>,
    /// All batches that were ever seen.
    records: HashMap<Number, Record>,
    /// Their numbers by their texts.
    by_key: HashMap<Key, Vec<Number>>,
    /// Batches that are to run and have not begun, with the tick that asked for one.
    waiting: BTreeMap<Number, Option<Tick>>,
}

/// Takes an event in.
pub fn step(state: &mut NoveltyState, event: Event<'_>) -> Vec<Effect> {
    match event {
        Event::Looked(look) => state.looked(&look),
        Event::Asked(ticks) => state.ticked(ticks),
        Event::Began(number, at) => {
            state.began(number, at);
            Vec::new()
        }
        Event::Refused(number) => {
            if let Some(tick) = state.waiting.remove(&number) {
                state.kept.ticks.extend(tick);
            }
            state.forget(number);
            let mut parts = state.kept.parts.iter_mut();
            if let Some(part) = parts.find(|part| part.by == Some(number)) {
                part.by = None;
            }
            Vec::new()
        }
        Event::Ended(number, fates) => {
            state.ended(number, fates);
            Vec::new()
        }
    }
}

impl NoveltyState {
    /// Nothing was seen yet.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            kept: KeptState {
                next: 1,
                ..KeptState::default()
            },
            typing: Vec::new(),
            records: HashMap::new(),
            by_key: HashMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// The batches that are in the file, as far as is known.
    pub fn present(&self) -> Vec<Number> {
        let seen = self.kept.body.seen().map(|seen| seen.number);
        let parts = self.kept.parts.iter().map(|part| part.number);
        seen.chain(parts).collect()
    }

    /// True if the user said that this task may run, and it could not begin yet.
    pub fn is_approved(&self, batch: Number, task: usize) -> bool {
        self.has_tick(batch, task, |offer| offer.approves)
    }

    /// True if the user chose a place for this task, and it could not begin yet.
    pub fn is_chosen(&self, batch: Number, task: usize) -> bool {
        self.has_tick(batch, task, |offer| offer.spot.is_some())
    }

    /// True if this very tick could not be carried out yet.
    pub fn keeps(&self, tick: &Tick) -> bool {
        let mut kept = self.kept.ticks.iter();
        tick.source.is_some() && kept.any(|kept| kept.source == tick.source)
    }

    fn has_tick(&self, batch: Number, task: usize, such: fn(&Offer) -> bool) -> bool {
        let ticks = self.kept.ticks.iter();
        let ticks = ticks.filter(|tick| such(&tick.offer));
        let mut batches = ticks.flat_map(|tick| &tick.offer.batches);
        batches.any(|(of, tasks)| *of == batch && tasks.contains(&task))
    }

    /// True if a look at the same text would find nothing to do, as of when this batch has begun.
    pub fn is_at_rest(&self, beginning: Option<Number>) -> bool {
        let mut waiting = self.waiting.keys();
        waiting.all(|number| beginning == Some(*number))
            && self.kept.ticks.is_empty()
            && self.typing.is_empty()
            && self.kept.body.unclosed == 0
    }

    /// A batch that was seen.
    pub fn record(&self, number: Number) -> Option<&Record> {
        self.records.get(&number)
    }

    fn looked(&mut self, look: &Look<'_>) -> Vec<Effect> {
        let first = self.kept.body.there.is_none();
        let dialects = mem::replace(&mut self.kept.dialects, look.dialects);
        let switched = !first && dialects != look.dialects;
        let settled = look.settled || first || switched;
        let last = mem::take(&mut self.kept.body);
        let mut earlier = Unfound::default();
        earlier.add(EarlierPlace::Last, last.there.unwrap_or_default());
        earlier.add(EarlierPlace::Hidden, last.hidden);
        earlier.add(EarlierPlace::Replaced, last.replaced);
        let mut body = BodyReading::new(self.seed, look, &mut earlier, settled);
        let mut made = LookOutcome {
            effects: self.ticked(look.ticks),
            ..LookOutcome::default()
        };

        let unsure = !look.over && !settled;
        let calm = !unsure && body.troubles.is_subset(&last.calm);
        let new_trouble = unsure || !body.troubles.is_subset(&last.troubles);
        let uncertainty = Uncertainty::new(self.seed, look, &body.new, new_trouble, calm);
        let (hidden, vanished) = earlier.part(&uncertainty, &body.found);
        self.kept.body.calm = if calm || hidden.is_empty() {
            body.troubles.clone()
        } else {
            last.calm
        };
        self.kept.body.troubles = mem::take(&mut body.troubles);
        // What seems to have gone from a half-written file is believed when the file has settled.
        let waits = body.unfinished.waits || unsure && !hidden.is_empty();

        self.offer_returned(&body, &mut made.offers);
        let open = mem::take(&mut self.kept.open);
        let scene = Scene {
            look,
            unknown: unknown(look, first, switched),
            settled,
            closed: body.unfinished.unclosed < last.unclosed,
            held: body.unfinished.held,
            typing: mem::take(&mut self.typing),
            hidden,
            enclosures: Enclosures::new(self.seed, look, open),
        };
        self.judge(&mut body, &scene, vanished, &mut made);
        let mut effects = made.effects;
        effects.extend(made.offers.effects());
        // Of what was there at first sight nothing is told because clada was started: it is old.
        let is_old = first && !look.run_existing;
        effects.extend(self.told(&scene, is_old, made.swallowed));
        let waits = waits || !self.typing.is_empty();
        effects.extend(waits.then_some(Effect::Wait));
        self.close(scene, made.came_inside, waits);
        self.keep_places(&body.now);
        self.kept.body.unclosed = body.unfinished.unclosed;
        self.kept.body.there = Some(body.now);
        effects
    }

    /// Offers the batches that were there and have another place now.
    fn offer_returned(&self, body: &BodyReading<'_>, offers: &mut Offers) {
        for number in &body.freed {
            offers.add(OfferReason::Freed, self.whole(*number));
        }
        for number in &body.moved {
            offers.add(OfferReason::Moved { ran: None }, self.whole(*number));
            offers.ran = offers.ran.max(self.ran(*number));
        }
    }

    /// Judges the new batches of a body one after the other, and takes them in.
    fn judge(
        &mut self,
        body: &mut BodyReading<'_>,
        scene: &Scene<'_>,
        mut vanished: Vec<SeenBatch>,
        made: &mut LookOutcome,
    ) {
        let asks = |new: &Candidate<'_>| !new.batch.tasks.is_empty();
        for new in mem::take(&mut body.new).into_iter().filter(asks) {
            let verdict = self.verdict(&new, scene, &body.now, &vanished);
            let seen = self.take(&new, verdict, scene, &mut vanished, made);
            body.now.extend(seen);
        }
        self.kept.body.replaced = vanished;
        self.forget_replaced();
    }

    /// Takes in a batch that was not in the last body, as it was judged. It is there from now on, unless it may still become
    /// another one.
    fn take(
        &mut self,
        new: &Candidate<'_>,
        verdict: BatchVerdict,
        scene: &Scene<'_>,
        vanished: &mut Vec<SeenBatch>,
        made: &mut LookOutcome,
    ) -> Option<SeenBatch> {
        made.came_inside |= new.batch.is_inside;
        let (mut bared, mut swallowed) = (false, false);
        let number = match verdict {
            BatchVerdict::Typed => {
                self.typing.push(new.seen(0));
                return None;
            }
            BatchVerdict::Run(plans) => self.run(new, plans, scene, &mut made.effects),
            BatchVerdict::CameBack(was) => {
                made.offers.ran = made.offers.ran.max(self.ran(was));
                let number = self.come_back(new, was, &mut made.effects);
                let why = OfferReason::CameBack { ran: None };
                made.offers.add(why, self.whole(number));
                number
            }
            BatchVerdict::Reworded(was) => {
                vanished.retain(|seen| seen.number != was);
                self.reword(new, was, &mut made.effects)
            }
            BatchVerdict::Noted(noted, fates) => {
                let number = self.note(new, None, fates, &mut made.effects);
                match noted {
                    NotedAs::Bared => bared = true,
                    NotedAs::Swallowed => {
                        swallowed = true;
                        made.swallowed += new.batch.tasks.len();
                    }
                    // A block of which nothing can be read was told of when it did not end.
                    NotedAs::Offered(OfferReason::Joined)
                        if new.batch.tasks.iter().all(|task| task.action.is_err()) => {}
                    NotedAs::Offered(why) => {
                        let batch = if why == OfferReason::Joined {
                            self.undone(number)
                        } else {
                            self.whole(number)
                        };
                        made.offers.add(why, batch);
                    }
                }
                number
            }
        };
        Some(SeenBatch {
            bared,
            swallowed,
            ..new.seen(number)
        })
    }

    /// Has a batch run.
    fn run(
        &mut self,
        new: &Candidate<'_>,
        plans: Vec<(TaskPlan, Fate)>,
        scene: &Scene<'_>,
        effects: &mut Vec<Effect>,
    ) -> Number {
        let (plan, fates) = plans.into_iter().unzip();
        let number = self.remember(new, None, fates);
        let tasks = self.keys(new);
        let in_place = self.is_in_place(new, scene);
        self.completes(&tasks, in_place, number);
        self.waiting.insert(number, None);
        effects.push(Effect::Run {
            batch: new.index,
            number,
            plan,
        });
        number
    }

    /// The number of a batch that came back: the one that it had, unless its details are forgotten.
    fn come_back(&mut self, new: &Candidate<'_>, was: Number, effects: &mut Vec<Effect>) -> Number {
        if !self.is_forgotten(was) {
            return was;
        }
        let ran = self.ran(was);
        // Nobody knows what came of its tasks: none of them may be done again unasked.
        let fates = match ran {
            Some(_) => vec![Fate::Done(Vec::new()); new.batch.tasks.len()],
            None => Vec::new(),
        };
        self.note(new, ran, fates, effects)
    }

    /// Remembers a batch in which nothing but an `<i>` changed: what became of it is what became of the one that it was.
    fn reword(&mut self, new: &Candidate<'_>, was: Number, effects: &mut Vec<Effect>) -> Number {
        let tasks = self.records.get(&was).map_or(&[][..], |was| &was.tasks);
        let fates = tasks.iter().map(|task| task.fate.clone()).collect();
        self.note(new, self.ran(was), fates, effects)
    }

    /// Tells each problem once, unless the body is old.
    fn told(&mut self, scene: &Scene<'_>, is_old: bool, swallowed: usize) -> Vec<Effect> {
        let (look, open) = (scene.look, &scene.enclosures.now);
        let mut effects =
            problems::untold(&mut self.kept.told, self.seed, look, open, scene.settled);
        if is_old {
            effects.clear();
        }
        effects.extend(self.offer_parts(look, &effects));
        let is_told = swallowed > 0 && Enclosure::is_new_of_reply(open);
        effects.extend(is_told.then_some(Effect::Swallowed(swallowed)));
        effects
    }

    /// Keeps the batches that are hidden, and the things that do not end, for the next look.
    fn close(&mut self, scene: Scene<'_>, came_inside: bool, waits: bool) {
        let Enclosures { mut now, before } = scene.enclosures;
        Enclosure::close(&mut now, scene.settled, came_inside);
        if waits {
            now.extend(Enclosure::gone(before, &now));
        }
        self.kept.open = now;
        self.kept.body.hidden = scene.hidden;
    }

    /// Runs the tasks that the user ticked.
    fn ticked(&mut self, ticks: &[Tick]) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut taken = HashSet::new();
        let kept = mem::take(&mut self.kept.ticks);
        let all = || kept.iter().chain(ticks);
        // An edit for which the user chose a place is carried out there, and nowhere else.
        let mut chosen_at: HashMap<(Number, usize), &Spot> = HashMap::new();
        for (spot, offer) in all().filter_map(|tick| Some((tick.offer.spot.as_ref()?, &tick.offer)))
        {
            for (of, task) in offer.each() {
                chosen_at.entry((of, task)).or_insert(spot);
            }
        }
        for tick in all() {
            for (of, chosen) in &tick.offer.batches {
                // One that could not begin is still ticked in the file if the results could not be written.
                if !taken.insert((tick.source, *of)) {
                    continue;
                }
                let spot = tick.offer.spot.as_ref();
                let asked = chosen.iter().copied();
                let asked = asked.filter(|task| chosen_at.get(&(*of, *task)).copied() == spot);
                effects.extend(self.run_again(tick, *of, asked.collect()));
            }
        }
        effects
    }

    /// Has these tasks of a remembered batch run once more, as a tick asks.
    fn run_again(&mut self, tick: &Tick, of: Number, mut asked: Vec<usize>) -> Option<Effect> {
        let mut again = self.records.get(&of)?.clone();
        asked.retain(|task| *task < again.tasks.len());
        if asked.is_empty() {
            return None;
        }
        let mut plan = vec![TaskPlan::Leave; again.tasks.len()];
        for task in &asked {
            again.tasks[*task].fate = Fate::NotRun;
            plan[*task] = match &tick.offer.spot {
                Some(spot) => TaskPlan::Chosen(spot.clone()),
                None if tick.offer.approves => TaskPlan::Approved,
                None => TaskPlan::Run,
            };
        }
        let number = self.number();
        (again.number, again.ran) = (number, None);
        self.insert(again);
        let offer = Offer {
            batches: vec![(of, asked)],
            ..tick.offer.clone()
        };
        let source = tick.source;
        self.waiting.insert(number, Some(Tick { source, offer }));
        Some(Effect::Again {
            of,
            number,
            plan,
            source,
        })
    }

    fn began(&mut self, number: Number, at: i64) {
        if let Some(record) = self.records.get_mut(&number) {
            record.ran = Some(at);
        }
        self.kept.parts.retain(|part| part.by != Some(number));
        if let Some(tick) = self.waiting.remove(&number).flatten() {
            // The other batches of one tick need it no more.
            for other in self.waiting.values_mut().flatten() {
                other.follows(&tick, number);
            }
            self.kept.begin(&tick, number);
        }
        self.forget_replaced();
    }

    fn ended(&mut self, number: Number, fates: Vec<Fate>) {
        // What is about to repeat it leaves what it did not ask for as it is now.
        for (next, tick) in &self.waiting {
            let of = tick.as_ref().map(|tick| &tick.offer.batches[0]);
            if let Some((_, asked)) = of.filter(|(of, _)| *of == number)
                && let Some(record) = self.records.get_mut(next)
            {
                let tasks = record.tasks.iter_mut().zip(&fates).enumerate();
                for (_, (task, fate)) in tasks.filter(|(index, _)| !asked.contains(index)) {
                    task.fate.clone_from(fate);
                }
            }
        }
        if let Some(record) = self.records.get_mut(&number) {
            for (task, fate) in record.tasks.iter_mut().zip(fates) {
                task.fate = fate;
            }
        }
    }

    /// Forgets what vanished, unless something may have taken its place and has not begun.
    fn forget_replaced(&mut self) {
        if self.waiting.is_empty() && self.typing.is_empty() {
            self.kept.body.replaced.clear();
        }
    }

    /// Remembers a batch of the body that does not run.
    fn note(
        &mut self,
        new: &Candidate<'_>,
        ran: Option<i64>,
        fates: Vec<Fate>,
        effects: &mut Vec<Effect>,
    ) -> Number {
        let number = self.remember(new, ran, fates);
        effects.push(Effect::Remember {
            batch: new.index,
            number,
        });
        number
    }

    /// The time at which a batch ran.
    fn ran(&self, number: Number) -> Option<i64> {
        self.records.get(&number)?.ran
    }

    /// True if nothing is known of a batch but that it was there.
    fn is_forgotten(&self, number: Number) -> bool {
        let record = self.records.get(&number);
        record.is_none_or(|record| record.tasks.is_empty())
    }

    /// Gives a batch a number.
    fn remember(&mut self, new: &Candidate<'_>, ran: Option<i64>, fates: Vec<Fate>) -> Number {
        let mut tasks = self.tasks(new);
        for (task, fate) in tasks.iter_mut().zip(fates) {
            task.fate = fate;
        }
        let record = Record {
            number: self.number(),
            key: new.key,
            head: self.head(new),
            prose: new.prose,
            ran,
            tasks,
        };
        let number = record.number;
        self.insert(record);
        number
    }

    fn insert(&mut self, record: Record) {
        self.by_key
            .entry(record.key)
            .or_default()
            .push(record.number);
        self.records.insert(record.number, record);
    }

    fn number(&mut self) -> Number {
        let number = self.kept.next;
        self.kept.next += 1;
        number
    }

    /// Forgets a batch that could not begin.
    fn forget(&mut self, number: Number) {
        if let Some(last) = &mut self.kept.body.there {
            last.retain(|seen| seen.number != number);
        }
        if let Some(record) = self.records.remove(&number)
            && let Some(numbers) = self.by_key.get_mut(&record.key)
        {
            numbers.retain(|other| *other != number);
        }
    }

    fn tasks(&self, new: &Candidate<'_>) -> Vec<TaskRecord> {
        let tasks = new.batch.tasks.iter().map(|task| TaskRecord {
            key: self.seed.key(&new.body[task.span.clone()]),
            tells: tells(task),
            fate: Fate::NotRun,
        });
        tasks.collect()
    }

    /// The key of what is asked of the batch as a whole: its text up to its first task.
    fn head(&self, new: &Candidate<'_>) -> Key {
        let first = new.batch.tasks.first();
        let end = first.map_or(new.batch.span.end, |task| task.span.start);
        self.seed
            .key(new.body[new.batch.span.start..end].trim_end())
    }

    /// An offer of all tasks of a batch.
    fn whole(&self, number: Number) -> (Number, Vec<usize>) {
        let record = self.records.get(&number);
        let tasks = record.map_or(0, |record| record.tasks.len());
        (number, (0..tasks).collect())
    }

    /// An offer of the tasks of a batch that are not done.
    fn undone(&self, number: Number) -> (Number, Vec<usize>) {
        let tasks = self.records.get(&number).into_iter();
        let tasks = tasks.flat_map(|record| record.tasks.iter().enumerate());
        let undone = tasks.filter(|(_, task)| !matches!(task.fate, Fate::Done(_)));
        (number, undone.map(|(index, _)| index).collect())
    }

    /// Remembers the places where batches stand now.
    fn keep_places(&mut self, now: &[SeenBatch]) {
        for seen in now {
            let Some(record) = self.records.get(&seen.number) else {
                continue;
            };
            if record.prose == seen.prose {
                continue;
            }
            let stood = self.kept.stood.entry(seen.number).or_default();
            if stood.last() != Some(&seen.prose) {
                stood.retain(|prose| *prose != seen.prose);
                stood.push(seen.prose);
                stood.drain(..stood.len().saturating_sub(STOOD));
            }
        }
    }
}

/// The reason that nobody can tell if the new batches of a look ran already, where there is one.
fn unknown(look: &Look<'_>, first: bool, switched: bool) -> Option<OfferReason> {
    if look.run_existing {
        None
    } else if look.foreign {
        Some(OfferReason::Foreign)
    } else if switched {
        Some(OfferReason::Dialects)
    } else {
        first.then_some(OfferReason::FirstSight)
    }
}

/// True if a batch is a `<task>` outside any `<tasks>`.
fn is_lone(batch: &Batch<'_>) -> bool {
    batch.dialect == Dialect::Cml
        && matches!(batch.tasks.as_slice(), [task] if task.span == batch.span)
}

/// True if a task is done for what it reports: a command, or a task that only looks.
fn tells(task: &Task<'_>) -> bool {
    match &task.action {
        Ok(action) => action.tells(),
        Err(_) => task.command == Some(Command::Exec),
    }
}

/// The results of a look at a body.
#[derive(Default)]
struct LookOutcome {
    effects: Vec<Effect>,
    offers: Offers,
    /// The number of tasks that came with something that does not end.
    swallowed: usize,
    /// True if a batch came that stands in something that does not end.
    came_inside: bool,
}

/// The batches that are offered after a look, by reason.
#[derive(Default)]
struct Offers {
    batches: BTreeMap<OfferReason, Vec<(Number, Vec<usize>)>>,
    /// The time at which the last of those that came back or were moved ran.
    ran: Option<i64>,
}

impl Offers {
    fn add(&mut self, why: OfferReason, batch: (Number, Vec<usize>)) {
        self.batches.entry(why).or_default().push(batch);
    }

    fn effects(self) -> impl Iterator<Item = Effect> {
        self.batches.into_iter().map(move |(mut why, batches)| {
            if let OfferReason::CameBack { ran } | OfferReason::Moved { ran } = &mut why {
                *ran = self.ran;
            }
            Effect::Offer {
                why,
                offer: Offer::of_all(batches),
            }
        })
    }
}
