//! The sentences about tasks that were not run, and about the notes file. Decides nothing.

use std::path::Path;

use crate::novelty::OfferReason;
use crate::report::wording;

/// Said of settings that were invalid before.
pub(super) const FIXED: &str = "✅ the settings are valid again";

/// Said where a remembered batch cannot be read.
pub(super) const UNREADABLE: &str =
    "❌ cannot read from the ledger what was ticked: clada tries again";

/// Said of a notes file that does not exist.
pub(super) const MISSING: &str = "the notes file does not exist: waiting for it";

/// Says why tasks were not run, and what a tick does.
pub(super) fn reason(
    why: OfferReason,
    tasks: usize,
    when: fn(i64) -> String,
) -> (String, &'static str) {
    let (came, are, them) = match tasks {
        1 => ("was", "is", "run it"),
        _ => ("were", "are", "run them"),
    };
    let tasks = wording::tasks(tasks);
    let ran = |ran| {
        let ran = Option::map(ran, when);
        ran.map_or("never run".to_owned(), |ran| format!("ran {ran}"))
    };
    match why {
        OfferReason::FirstSight => (
            format!("⏸ {tasks} {came} here before clada began to watch: not run"),
            them,
        ),
        OfferReason::Foreign => (
            format!(
                "⏸ {tasks} came with results of another clada, or with results that were edited: not run here"
            ),
            them,
        ),
        OfferReason::Dialects => (
            format!(
                "⏸ {tasks} {came} not run: `dialects` in the settings changed since the last save"
            ),
            them,
        ),
        OfferReason::CameBack { ran: at } => {
            (format!("↩ {tasks} came back ({})", ran(at)), "run again")
        }
        OfferReason::Moved { ran: at } => (
            format!(
                "↩ {tasks} {are} unchanged, but the text around changed ({})",
                ran(at)
            ),
            "run again",
        ),
        OfferReason::Trimmed => (
            format!("⏭ {tasks} left of a shortened batch: not run"),
            "run again",
        ),
        OfferReason::Inside => (
            format!("⏸ {tasks} {are} inside or after something that does not end: not run"),
            them,
        ),
        OfferReason::Freed => (
            format!("⏸ {tasks} came together with a reply that does not end: not run"),
            them,
        ),
        OfferReason::CutOff(within) => {
            let before = if within.is_open {
                "before it"
            } else {
                "in all"
            };
            let whole = tasks.replacen(" ", " whole ", 1);
            (format!("✂ {}: {whole} {before}", within.end()), them)
        }
        OfferReason::Joined => (
            format!(
                "⏸ {tasks} made of a cut-off reply and the text pasted after it: not run, as the parts may not fit; paste the \
                 whole reply"
            ),
            them,
        ),
    }
}

/// Says that a link is not followed, as a command may have made it.
pub(super) fn not_followed(link: &Path, leads_to: &Path) -> String {
    format!(
        "clada does not follow the symbolic link `{}` to `{}`, as a command may have made it: replace it with a file, or start \
         clada with the file's real path",
        link.display(),
        leads_to.display()
    )
}

/// Says that tasks came with something that does not end.
pub(super) fn swallowed(tasks: usize) -> String {
    let (are, them) = match tasks {
        1 => ("was", "it"),
        _ => ("were", "them"),
    };
    format!(
        "⏹ {} inside or after it {are} not run: paste {them} again without it",
        wording::tasks(tasks)
    )
}

/// Says that a paste of this many characters has no task in it.
pub(super) fn no_task(size: usize) -> String {
    format!(
        "the pasted text ({size} characters) contains no task, so nothing ran: a reply has its tasks in `<tasks>`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_is_a_sentence() {
        let when = |_| "10:32".to_owned();
        for (why, tasks, expected) in [
            (
                OfferReason::FirstSight,
                1,
                "⏸ 1 task was here before clada began to watch: not run",
            ),
            (
                OfferReason::Foreign,
                2,
                "⏸ 2 tasks came with results of another clada, or with results that were edited: not run here",
            ),
            (
                OfferReason::Dialects,
                2,
                "⏸ 2 tasks were not run: `dialects` in the settings changed since the last save",
            ),
            (
                OfferReason::CameBack { ran: None },
                2,
                "↩ 2 tasks came back (never run)",
            ),
            (
                OfferReason::Moved { ran: Some(0) },
                1,
                "↩ 1 task is unchanged, but the text around changed (ran 10:32)",
            ),
            (
                OfferReason::Trimmed,
                2,
                "⏭ 2 tasks left of a shortened batch: not run",
            ),
            (
                OfferReason::Inside,
                2,
                "⏸ 2 tasks are inside or after something that does not end: not run",
            ),
            (
                OfferReason::Freed,
                1,
                "⏸ 1 task came together with a reply that does not end: not run",
            ),
        ] {
            assert_eq!(reason(why, tasks, when).0, expected);
        }
        assert_eq!(
            swallowed(1),
            "⏹ 1 task inside or after it was not run: paste it again without it"
        );
        assert_eq!(
            no_task(700),
            "the pasted text (700 characters) contains no task, so nothing ran: a reply has its tasks in `<tasks>`"
        );
    }
}
