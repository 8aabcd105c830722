//! Edits whose place the user chooses: the boxes below a failed one. Carries out none.

use std::collections::HashSet;
use std::ops::Range;

use crate::listener::Listener;
use crate::listener::due_batch::DueBatch;
use crate::listener::memory::Memory;
use crate::reply::record::{Fate, Number, Offer, TaskRecord};
use crate::reply::scan::scan;
use crate::reply::task::{Batch, Task};
use crate::report::outcome::{OfferedPlace, Outcome, Section, Status};
use crate::report::wording;
use crate::report::{self, OpenEdit};
use crate::run::files;
use crate::run::{FinishedRun, Runner};
use crate::world::ledger::{FileId, Ledger, LedgerError};

/// A place of an edit of the last run, which the user can still choose.
#[derive(Debug)]
pub struct OpenPlace {
    pub line: usize,
    /// The path of the file.
    pub target: String,
    offer: Offer,
}

/// The places that the user can choose for edits of the last run: nothing was carried out since they were offered.
///
/// # Errors
/// Where the ledger cannot be read.
pub fn open_places(ledger: &Ledger, file: FileId) -> Result<Vec<OpenPlace>, LedgerError> {
    let mut open = Vec::new();
    for batch in ledger.last_run(file)? {
        for known in ledger.places(file, batch.number)? {
            let (Some((_, task)), Some(spot)) = (known.offer.each().next(), &known.offer.spot)
            else {
                continue;
            };
            if ledger.is_over(file, batch.number, task)? {
                continue;
            }
            open.push(OpenPlace {
                line: spot.line,
                target: batch
                    .tasks
                    .get(task)
                    .map(|it| it.target.clone())
                    .unwrap_or_default(),
                offer: known.offer,
            });
        }
    }
    Ok(open)
}

/// The offer of the only place that starts on a line.
pub(super) fn offer_at(
    line: usize,
    ledger: &Ledger,
    file: FileId,
) -> Result<Option<Offer>, LedgerError> {
    let mut places = open_places(ledger, file)?.into_iter();
    let mut there = places.by_ref().filter(|place| place.line == line);
    let only = there.next().filter(|_| there.next().is_none());
    Ok(only.map(|place| place.offer))
}

/// Offers the places at which edits of a run that failed could be carried out, as the files are after it.
pub(super) fn offer(
    memory: &Memory,
    runner: &Runner,
    ran: &mut FinishedRun,
    jobs: &[DueBatch<'_>],
) {
    let both = ran.jobs.iter().zip(jobs).filter(|(end, _)| !end.refused);
    for (end, job) in both {
        let (outcomes, those) = (&mut *ran.report.outcomes, end.outcomes.clone());
        offer_of(memory, runner, job.number, job.batch(), outcomes, those);
    }
}

/// The same for one batch, whose tasks are these of all that are told. What is offered above is not offered once more.
pub(super) fn offer_of(
    memory: &Memory,
    runner: &Runner,
    number: Number,
    batch: &Batch<'_>,
    outcomes: &mut [Outcome],
    those: Range<usize>,
) {
    let Some(record) = memory.novelty.record(number) else {
        return;
    };
    // Another batch of this run may do the same again, and know better what is done by now.
    let latest = memory.latest_of(number);
    let (above, outcomes) = outcomes[..those.end].split_at_mut(those.start);
    let offered = above.iter().flat_map(|outcome| &outcome.places);
    let offered: HashSet<_> = offered.flat_map(|place| place.offer.each()).collect();
    let is_open = |index: usize, outcome: &Outcome, task: &TaskRecord| {
        task.fate == Fate::Failed
            && matches!(outcome.status, Status::Failed | Status::Skipped)
            && !offered.contains(&(latest, index))
            && !memory.is_over(number, index)
    };
    let both = outcomes.iter_mut().zip(&record.tasks).enumerate();
    let open = both.filter(|(index, (outcome, task))| is_open(*index, outcome, task));
    for (index, (outcome, _)) in open {
        let Some(task) = task_of(batch, index) else {
            continue;
        };
        let (places, said) = places(runner, task, latest, index);
        if outcome.status == Status::Failed && !places.is_empty() {
            outcome.sections.push(Section::Text(said));
        }
        outcome.places = places;
    }
}

/// Returns a task of a batch, where the user may choose for it.
fn task_of<'s, 't>(batch: &'s Batch<'t>, index: usize) -> Option<&'s Task<'t>> {
    batch.tasks.get(index).filter(|_| !batch.atomic)
}

/// The places of an edit, and what the full output says of them.
fn places(
    runner: &Runner,
    task: &Task<'_>,
    batch: Number,
    index: usize,
) -> (Vec<OfferedPlace>, String) {
    let action = task.action.as_ref().ok();
    let Some(action) = action.filter(|action| runner.setup.actions.refuses(action).is_none())
    else {
        return (Vec::new(), String::new());
    };
    let masked = |text: String| runner.setup.rules.mask.text(&text).into_owned();
    let (choices, shows) = files::choices(action, &runner.disk);
    let places = choices.iter().map(|choice| OfferedPlace {
        label: masked(wording::choice(choice, shows)),
        offer: Offer::at(batch, index, choice.spot.clone()),
    });
    (places.collect(), masked(wording::choices(&choices, shows)))
}

impl Listener<'_> {
    /// An edit whose place is still to be chosen, with a box for each; nothing where it is over.
    pub(super) fn open_edit(&self, of: Number, index: usize) -> Option<OpenEdit> {
        if self.memory.is_over(of, index) {
            return None;
        }
        let text = self.memory.text(of);
        let scan = scan(&text);
        let task = task_of(scan.batches.first()?, index)?;
        let places = places(&self.runner, task, of, index).0;
        let target = self
            .runner
            .setup
            .rules
            .mask
            .text(&task.target())
            .into_owned();
        let target = report::brief(&target).into_owned();
        (!places.is_empty()).then(|| OpenEdit {
            why: format!("⏸ {} {target} - choose the place", task.command_name()),
            places,
        })
    }
}
