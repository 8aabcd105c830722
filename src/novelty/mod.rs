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
//! A batch that is to run counts as there from then on, but as remembered only once it has begun: [`State::to_text`]
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

use std::collections::{HashMap, HashSet};
use std::mem;
use std::sync::Arc;

use crate::reply::dialect::{Dialect, Dialects};
use crate::reply::record::{
    Fate, Key, Number, Offer, Plan, Prose, Record, Seed, Spot, TaskRecord, Tick,
};
use crate::reply::task::{Batch, Command, Task};

use body::{Body, Candidate};
use cut_off::CutOff;
use enclosure::Enclosure;
pub use event::{Effect, Event, Look, Why};
use problems::Told;
use seen::{Doubt, From, Seen, Troubles, Unfound};
use verdict::{Scene, Verdict};

/// How many characters somebody may type between two saves; who adds more has pasted it.
const TYPED: usize = 200;

/// In how many surroundings a batch is known again when it comes back, beside the first.
const STOOD: usize = 8;

/// What the engine remembers of a watched file.
#[derive(Debug)]
pub struct State {
    seed: Seed,
    /// The number of the next batch that is seen.
    next: Number,
    /// In which the last body was read.
    dialects: Dialects,
    /// What was in the last body and needs no run any more; `None` before the first.
    last: Option<Vec<Seen>>,
    hidden: Vec<Seen>,
    /// What vanished while the text in its place was being typed, or could not begin yet.
    replaced: Vec<Seen>,
    /// The batches of the last body that may be half-typed; they have no numbers.
    typing: Vec<Seen>,
    /// How many batches of the last body were not closed yet.
    unclosed: usize,
    troubles: Troubles,
    told: Told,
    /// All batches that were ever seen.
    records: HashMap<Number, Record>,
    /// Their numbers by their texts.
    by_key: HashMap<Key, Vec<Number>>,
    /// Where batches stood last, beside where they were first seen.
    stood: HashMap<Number, Vec<Prose>>,
    /// Batches that are to run and have not begun, with the tick that asked for one.
    waiting: HashMap<Number, Option<Tick>>,
    /// Ticks that could not be carried out yet.
    ticks: Vec<Tick>,
    /// What did not end in the last body.
    open: Vec<Enclosure>,
    /// What can be completed of replies that were cut off.
    parts: Vec<CutOff>,
}

/// Takes an event in.
pub fn step(state: &mut State, event: Event<'_>) -> Vec<Effect> {
    match event {
        Event::Looked(look) => state.looked(&look),
        Event::Asked(ticks) => state.ticked(ticks),
        Event::Began(number, at) => {
            state.began(number, at);
            Vec::new()
        }
        Event::Refused(number) => {
            if let Some(tick) = state.waiting.remove(&number) {
                state.ticks.extend(tick);
            }
            state.forget(number);
            for part in state.parts.iter_mut().filter(|it| it.by == Some(number)) {
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

/// When a batch ran, and what came of each of its tasks; none of that is known of a new one.
type Past = (Option<i64>, Vec<Fate>);

impl State {
    /// Nothing was seen yet.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            next: 1,
            dialects: Dialects::ALL,
            last: None,
            hidden: Vec::new(),
            replaced: Vec::new(),
            typing: Vec::new(),
            unclosed: 0,
            troubles: Troubles::default(),
            told: Told::new(),
            records: HashMap::new(),
            by_key: HashMap::new(),
            stood: HashMap::new(),
            waiting: HashMap::new(),
            ticks: Vec::new(),
            open: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The batches that are in the file, as far as is known.
    pub fn present(&self) -> Vec<Number> {
        let lists = [
            self.last.as_deref().unwrap_or_default(),
            &self.hidden,
            &self.replaced,
        ];
        let seen = lists.into_iter().flatten().map(|seen| seen.number);
        let parts = self.parts.iter().map(|part| part.number);
        seen.chain(parts).collect()
    }

    /// Whether the user said that this task may run, and it could not begin yet.
    pub fn is_approved(&self, batch: Number, task: usize) -> bool {
        self.has_tick(batch, task, |offer| offer.approves)
    }

    /// Whether the user chose a place for this task, and it could not begin yet.
    pub fn is_chosen(&self, batch: Number, task: usize) -> bool {
        self.has_tick(batch, task, |offer| offer.spot.is_some())
    }

    /// Whether this very tick could not be carried out yet.
    pub fn keeps(&self, tick: &Tick) -> bool {
        let mut kept = self.ticks.iter();
        tick.source.is_some() && kept.any(|kept| kept.source == tick.source)
    }

    fn has_tick(&self, batch: Number, task: usize, such: fn(&Offer) -> bool) -> bool {
        let ticks = self.ticks.iter().filter(|tick| such(&tick.offer));
        let mut batches = ticks.flat_map(|tick| &tick.offer.batches);
        batches.any(|(of, tasks)| *of == batch && tasks.contains(&task))
    }

    /// Whether a look at the same text would find nothing to do, as of when this batch has begun.
    pub fn is_at_rest(&self, beginning: Option<Number>) -> bool {
        let mut waiting = self.waiting.keys();
        waiting.all(|number| beginning == Some(*number))
            && self.ticks.is_empty()
            && self.typing.is_empty()
            && self.unclosed == 0
    }

    /// A batch that was seen.
    pub fn record(&self, number: Number) -> Option<&Record> {
        self.records.get(&number)
    }

    fn looked(&mut self, look: &Look<'_>) -> Vec<Effect> {
        let first = self.last.is_none();
        let switched = !first && mem::replace(&mut self.dialects, look.dialects) != look.dialects;
        self.dialects = look.dialects;
        let settled = look.settled || first || switched;
        let mut earlier = Unfound::default();
        earlier.add(From::Last, self.last.take().unwrap_or_default());
        earlier.add(From::Hidden, mem::take(&mut self.hidden));
        earlier.add(From::Replaced, mem::take(&mut self.replaced));
        let mut body = Body::read(self.seed, look, &mut earlier, settled);
        let mut made = Made {
            effects: self.ticked(look.ticks),
            ..Made::default()
        };

        let unsure = !look.over && !settled;
        let new_trouble = unsure || !body.troubles.is_subset(&self.troubles.last);
        let calm = !unsure && body.troubles.is_subset(&self.troubles.calm);
        let bare = body.new.iter().filter(|new| is_lone(new.batch));
        let bare = bare.map(|new| new.key).collect();
        let doubt = Doubt::new(self.seed, look, bare, (new_trouble, calm));
        let (hidden, mut vanished) = earlier.part(&doubt, &body.found);
        self.troubles.next(body.troubles, calm || hidden.is_empty());
        // What seems to have gone from a half-written file is believed when the file has settled.
        let mut waits = body.waits || unsure && !hidden.is_empty();

        for number in mem::take(&mut body.freed) {
            made.offers.freed.push(self.whole(number));
        }
        for number in mem::take(&mut body.moved) {
            made.offers.moved.push(self.whole(number));
            made.offers.ran = made.offers.ran.max(self.ran(number));
        }
        let was_open = mem::take(&mut self.open);
        let scene = Scene {
            look,
            first,
            switched,
            settled,
            closed: body.unclosed < self.unclosed,
            held: body.held,
            typing: mem::take(&mut self.typing),
            hidden,
            open: Enclosure::all(self.seed, look, was_open.clone()),
            was_open,
        };
        let asks = |new: &Candidate<'_>| !new.batch.tasks.is_empty();
        for new in mem::take(&mut body.new).into_iter().filter(asks) {
            let verdict = self.verdict(&new, &scene, &body.now, &vanished);
            body.now
                .extend(self.take(&new, verdict, &scene, &mut vanished, &mut made));
        }
        waits |= !self.typing.is_empty();
        self.replaced = vanished;
        self.forget_replaced();
        let unknown = match (look.foreign, switched) {
            (true, _) => Why::Foreign,
            (false, true) => Why::Dialects,
            (false, false) => Why::FirstSight,
        };
        let mut effects = made.effects;
        effects.extend(made.offers.effects(unknown));
        effects.extend(self.told(&scene, made.swallowed));
        self.close(scene, made.came_inside);
        if waits {
            effects.push(Effect::Wait);
        }
        self.keep_places(&body.now);
        self.unclosed = body.unclosed;
        self.last = Some(body.now);
        effects
    }

    /// Takes in a batch that was not in the last body, as it was judged. It is there from now on, unless it may still become
    /// another one.
    fn take(
        &mut self,
        new: &Candidate<'_>,
        verdict: Verdict,
        scene: &Scene<'_>,
        vanished: &mut Vec<Seen>,
        made: &mut Made,
    ) -> Option<Seen> {
        let look = scene.look;
        let Made {
            effects, offers, ..
        } = made;
        made.came_inside |= new.batch.is_inside;
        let bared = matches!(verdict, Verdict::Bared);
        let swallowed = matches!(verdict, Verdict::Swallowed);
        let number = match verdict {
            Verdict::Typed => {
                self.typing.push(seen(0, new, look));
                return None;
            }
            Verdict::Run(plans) => self.run(new, plans, scene, effects),
            Verdict::CameBack(was) => {
                offers.ran = offers.ran.max(self.ran(was));
                let number = self.come_back(new, was, look, effects);
                offers.came_back.push(self.whole(number));
                number
            }
            Verdict::Reworded(was) => {
                vanished.retain(|seen| seen.number != was);
                self.reword(new, was, look, effects)
            }
            Verdict::Bared => self.note(look, new, (None, Vec::new()), effects),
            Verdict::Swallowed => {
                made.swallowed += new.batch.tasks.len();
                self.note(look, new, (None, Vec::new()), effects)
            }
            Verdict::Doubtful => {
                let number = self.note(look, new, (None, Vec::new()), effects);
                offers.inside.push(self.whole(number));
                number
            }
            Verdict::Joined(fates) => {
                let number = self.note(look, new, (None, fates), effects);
                // A block of which nothing can be read was told of when it did not end.
                if new.batch.tasks.iter().any(|task| task.action.is_ok()) {
                    offers.joined.push(self.undone(number));
                }
                number
            }
            Verdict::Unknown(fates) => {
                let number = self.note(look, new, (None, fates), effects);
                offers.unknown.push(self.whole(number));
                number
            }
            Verdict::Trimmed(fates) => {
                let number = self.note(look, new, (None, fates), effects);
                offers.trimmed.push(self.whole(number));
                number
            }
        };
        Some(Seen {
            bared,
            swallowed,
            ..seen(number, new, look)
        })
    }

    /// Has a batch run.
    fn run(
        &mut self,
        new: &Candidate<'_>,
        plans: Vec<(Plan, Fate)>,
        scene: &Scene<'_>,
        effects: &mut Vec<Effect>,
    ) -> Number {
        let (plan, fates) = plans.into_iter().unzip();
        let number = self.remember(scene.look, new, (None, fates));
        let tasks = self.keys(scene.look, new);
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

    /// The number of a batch that came back: that which it had, unless its details are forgotten.
    fn come_back(
        &mut self,
        new: &Candidate<'_>,
        was: Number,
        look: &Look<'_>,
        effects: &mut Vec<Effect>,
    ) -> Number {
        if !self.is_forgotten(was) {
            return was;
        }
        let ran = self.ran(was);
        // Nobody knows what came of its tasks: none of them may be done again unasked.
        let fates = match ran {
            Some(_) => vec![Fate::Done(Vec::new()); new.batch.tasks.len()],
            None => Vec::new(),
        };
        self.note(look, new, (ran, fates), effects)
    }

    /// Remembers a batch in which nothing but an `<i>` changed: what became of it is what became of the one that it was.
    fn reword(
        &mut self,
        new: &Candidate<'_>,
        was: Number,
        look: &Look<'_>,
        effects: &mut Vec<Effect>,
    ) -> Number {
        let tasks = self.records.get(&was).into_iter();
        let tasks = tasks.flat_map(|was| &was.tasks);
        let fates = tasks.map(|task| task.fate.clone()).collect();
        self.note(look, new, (self.ran(was), fates), effects)
    }

    /// Tells what is wrong, once. Of what was there at first sight nothing is told because clada was started: it is old.
    fn told(&mut self, scene: &Scene<'_>, swallowed: usize) -> Vec<Effect> {
        let look = scene.look;
        let known = (scene.open.as_slice(), scene.settled);
        let mut effects = problems::untold(&mut self.told, self.seed, look, known);
        if scene.first && !look.run_existing {
            effects.clear();
        }
        effects.extend(self.offer_parts(look, &effects));
        let is_told = swallowed > 0 && Enclosure::is_new_of_reply(&scene.open);
        effects.extend(is_told.then_some(Effect::Swallowed(swallowed)));
        effects
    }

    /// Keeps what is not found, and what does not end, for the next look.
    fn close(&mut self, scene: Scene<'_>, came_inside: bool) {
        let Scene {
            mut open,
            was_open,
            hidden,
            settled,
            ..
        } = scene;
        Enclosure::close(&mut open, settled, came_inside);
        if !self.typing.is_empty() {
            open.extend(Enclosure::gone(was_open, &open));
        }
        self.open = open;
        self.hidden = hidden;
    }

    /// Runs what the user ticked.
    fn ticked(&mut self, ticks: &[Tick]) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut taken = HashSet::new();
        let kept = mem::take(&mut self.ticks);
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
                let is_new = taken.insert((tick.source, *of));
                let record = self
                    .records
                    .get(of)
                    .filter(|record| !record.tasks.is_empty());
                let Some(mut again) = record.filter(|_| is_new).cloned() else {
                    continue;
                };
                let mut plan = vec![Plan::Leave; again.tasks.len()];
                for (index, task) in again.tasks.iter_mut().enumerate() {
                    let at = chosen_at.get(&(*of, index));
                    if !chosen.contains(&index) || at.copied() != tick.offer.spot.as_ref() {
                        continue;
                    }
                    task.fate = Fate::NotRun;
                    plan[index] = match &tick.offer {
                        Offer {
                            spot: Some(spot), ..
                        } => Plan::Chosen(spot.clone()),
                        Offer { approves: true, .. } => Plan::Approved,
                        _ => Plan::Run,
                    };
                }
                let asked = (0..plan.len()).filter(|index| plan[*index] != Plan::Leave);
                let asked: Vec<usize> = asked.collect();
                if asked.is_empty() {
                    continue;
                }
                let number = self.number();
                (again.number, again.ran) = (number, None);
                self.insert(again);
                let tick = Tick {
                    source: tick.source,
                    offer: Offer {
                        batches: vec![(*of, asked)],
                        ..tick.offer.clone()
                    },
                };
                effects.push(Effect::Again {
                    of: *of,
                    number,
                    plan,
                    source: tick.source,
                });
                self.waiting.insert(number, Some(tick));
            }
        }
        effects
    }

    fn began(&mut self, number: Number, at: i64) {
        if let Some(record) = self.records.get_mut(&number) {
            record.ran = Some(at);
        }
        self.parts.retain(|part| part.by != Some(number));
        if let Some(tick) = self.waiting.remove(&number).flatten() {
            // The other batches of one tick need it no more.
            let others = self.waiting.values_mut().flatten().chain(&mut self.ticks);
            // It stands for the one that it repeats from now on.
            let of = tick.offer.batches[0].0;
            for other in others {
                other.follows(&tick, number);
            }
            let seen = self.last.iter_mut().flatten().chain(&mut self.hidden);
            for seen in seen.filter(|seen| seen.number == of) {
                seen.number = number;
            }
            for part in self.parts.iter_mut().filter(|part| part.number == of) {
                part.number = number;
            }
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

    /// What vanished matters for as long as something may have taken its place and has not begun.
    fn forget_replaced(&mut self) {
        if self.waiting.is_empty() && self.typing.is_empty() {
            self.replaced.clear();
        }
    }

    /// Remembers a batch of the body that does not run.
    fn note(
        &mut self,
        look: &Look<'_>,
        new: &Candidate<'_>,
        past: Past,
        effects: &mut Vec<Effect>,
    ) -> Number {
        let number = self.remember(look, new, past);
        effects.push(Effect::Remember {
            batch: new.index,
            number,
        });
        number
    }

    /// When a batch ran.
    fn ran(&self, number: Number) -> Option<i64> {
        self.records.get(&number)?.ran
    }

    /// Whether nothing is known of a batch but that it was there.
    fn is_forgotten(&self, number: Number) -> bool {
        let record = self.records.get(&number);
        record.is_none_or(|record| record.tasks.is_empty())
    }

    /// Gives a batch of the body a number.
    fn remember(&mut self, look: &Look<'_>, new: &Candidate<'_>, (ran, fates): Past) -> Number {
        let mut tasks = self.tasks(look.body, new.batch);
        for (task, fate) in tasks.iter_mut().zip(fates) {
            task.fate = fate;
        }
        let record = Record {
            number: self.number(),
            key: new.key,
            head: self.head(look.body, new.batch),
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
        let number = self.next;
        self.next += 1;
        number
    }

    /// Forgets a batch that could not begin.
    fn forget(&mut self, number: Number) {
        if let Some(last) = &mut self.last {
            last.retain(|seen| seen.number != number);
        }
        if let Some(record) = self.records.remove(&number)
            && let Some(numbers) = self.by_key.get_mut(&record.key)
        {
            numbers.retain(|other| *other != number);
        }
    }

    fn tasks(&self, body: &str, batch: &Batch<'_>) -> Vec<TaskRecord> {
        let tasks = batch.tasks.iter();
        tasks
            .map(|task| TaskRecord {
                key: self.seed.key(&body[task.span.clone()]),
                is_for_output: is_for_output(task),
                fate: Fate::NotRun,
            })
            .collect()
    }

    /// The key of what is asked of the batch as a whole: its text up to its first task.
    fn head(&self, body: &str, batch: &Batch<'_>) -> Key {
        let end = batch
            .tasks
            .first()
            .map_or(batch.span.end, |task| task.span.start);
        self.seed.key(body[batch.span.start..end].trim_end())
    }

    /// An offer of all tasks of a batch.
    fn whole(&self, number: Number) -> (Number, Vec<usize>) {
        let tasks = self
            .records
            .get(&number)
            .map_or(0, |record| record.tasks.len());
        (number, (0..tasks).collect())
    }

    /// An offer of the tasks of a batch that are not done.
    fn undone(&self, number: Number) -> (Number, Vec<usize>) {
        let tasks = self.records.get(&number).into_iter();
        let tasks = tasks.flat_map(|record| record.tasks.iter().enumerate());
        let undone = tasks.filter(|(_, task)| !matches!(task.fate, Fate::Done(_)));
        (number, undone.map(|(index, _)| index).collect())
    }

    /// Keeps in mind where batches stand now.
    fn keep_places(&mut self, now: &[Seen]) {
        for seen in now {
            let Some(record) = self.records.get(&seen.number) else {
                continue;
            };
            if record.prose == seen.prose {
                continue;
            }
            let stood = self.stood.entry(seen.number).or_default();
            if stood.last() != Some(&seen.prose) {
                stood.retain(|prose| *prose != seen.prose);
                stood.push(seen.prose);
                stood.drain(..stood.len().saturating_sub(STOOD));
            }
        }
    }
}

fn seen(number: Number, new: &Candidate<'_>, look: &Look<'_>) -> Seen {
    Seen {
        number,
        key: new.key,
        prose: new.prose,
        text: Arc::from(new.text(look)),
        bared: false,
        swallowed: false,
    }
}

/// Whether a batch is a `<task>` outside any `<tasks>`.
fn is_lone(batch: &Batch<'_>) -> bool {
    batch.dialect == Dialect::Cml
        && matches!(batch.tasks.as_slice(), [task] if task.span == batch.span)
}

fn is_for_output(task: &Task<'_>) -> bool {
    match &task.action {
        Ok(action) => action.tells(),
        Err(_) => task.command == Some(Command::Exec),
    }
}

/// What the new batches of a look come to.
#[derive(Default)]
struct Made {
    effects: Vec<Effect>,
    offers: Offers,
    /// How many tasks came with something that does not end.
    swallowed: usize,
    /// A batch came that stands in something that does not end.
    came_inside: bool,
}

/// What is offered after a look, by reason.
#[derive(Default)]
struct Offers {
    unknown: Vec<(Number, Vec<usize>)>,
    came_back: Vec<(Number, Vec<usize>)>,
    trimmed: Vec<(Number, Vec<usize>)>,
    moved: Vec<(Number, Vec<usize>)>,
    inside: Vec<(Number, Vec<usize>)>,
    freed: Vec<(Number, Vec<usize>)>,
    joined: Vec<(Number, Vec<usize>)>,
    /// When the last of those that came back or were moved ran.
    ran: Option<i64>,
}

impl Offers {
    fn effects(self, unknown: Why) -> Vec<Effect> {
        let ran = self.ran;
        [
            (unknown, self.unknown),
            (Why::CameBack { ran }, self.came_back),
            (Why::Moved { ran }, self.moved),
            (Why::Trimmed, self.trimmed),
            (Why::Inside, self.inside),
            (Why::Freed, self.freed),
            (Why::Joined, self.joined),
        ]
        .into_iter()
        .filter(|(_, batches)| !batches.is_empty())
        .map(|(why, batches)| Effect::Offer {
            why,
            offer: Offer::of_all(batches),
        })
        .collect()
    }
}
