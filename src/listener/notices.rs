//! The sentences about tasks that were not run, and about the notes file. Decides nothing.

use std::path::Path;

use crate::clock;
use crate::novelty::OfferReason;
use crate::report::wording;
use crate::world::ledger::KnownBatch;

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
        OfferReason::Copied { ran: at } => (
            format!(
                "⏸ {tasks} {are} the same as in the reply that you copied ({}): not run again",
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

/// Said where the watching of the clipboard ended by itself.
pub(super) const STRANGERS: &str = "10 texts with unknown keys were copied within a minute";

/// Says that the watching of the clipboard ended by itself: a title and a text.
pub(super) fn strangers() -> (String, String) {
    (
        "clada no longer watches the clipboard".to_owned(),
        format!("{STRANGERS}: find out which page or program did that, then run `clada resume`"),
    )
}

/// Says by which way the clipboard is watched.
pub(super) fn watching(way: &str) -> String {
    format!("watching the clipboard ({way})")
}

/// Says why the clipboard cannot be watched.
pub(super) fn blind(why: &str) -> String {
    format!("cannot watch the clipboard: {why}; paste replies into the notes until that works")
}

/// A reason why a copied text with tasks is not taken.
#[derive(Debug, Clone)]
pub(super) enum CopyRefusal {
    /// It has the right key, and does not end.
    CutOff,
    NoKey {
        tasks: usize,
    },
    OtherKey {
        tasks: usize,
    },
    SeveralKeys {
        tasks: usize,
    },
    /// The ledger has this batch of it.
    Known {
        batch: KnownBatch,
        /// It has all of them.
        is_all: bool,
    },
    /// The ledger cannot be read.
    NoLedger(String),
    /// It cannot be kept.
    NotKept(String),
}

impl CopyRefusal {
    /// Returns it as a title and a text, about the notes file at a path.
    pub(super) fn said(&self, file: Option<&Path>) -> (String, String) {
        let name = file.and_then(Path::file_name);
        let name = name.map_or("your notes".into(), |name| name.to_string_lossy());
        let paste = format!("to run them, paste them into {name}");
        let of = |tasks: usize, key: &str| {
            let tasks = wording::tasks(tasks);
            (format!("{tasks} on the clipboard {key}"), paste.clone())
        };
        match self {
            Self::CutOff => (
                format!("{name}: the copied reply is cut off"),
                format!("nothing of it ran: copy the whole reply, or paste it into {name}"),
            ),
            Self::NoKey { tasks } => of(*tasks, "without this chat's key"),
            Self::OtherKey { tasks } => of(*tasks, "with another chat's key"),
            Self::SeveralKeys { tasks } => of(*tasks, "with several keys"),
            Self::Known { is_all: false, .. } => (
                format!("{name}: a part of this reply is not new"),
                format!("nothing of it ran now: to run the rest, paste that into {name}"),
            ),
            Self::Known {
                batch:
                    KnownBatch {
                        run: Some(run),
                        began_ms: Some(began_ms),
                        ..
                    },
                ..
            } => {
                let ran = clock::when(began_ms.div_euclid(1000));
                (
                    format!("{name}: this reply ran at {ran}"),
                    format!("`clada retry --all {run}` runs it again"),
                )
            }
            Self::Known { .. } => (
                format!("{name}: this reply is known, and nothing of it ran"),
                format!("to run it, tick its box in {name}, or paste it there again"),
            ),
            Self::NoLedger(why) => (format!("{name}: the copied reply did not run"), why.clone()),
            Self::NotKept(why) => (
                format!("{name}: the copied reply did not run"),
                format!("clada cannot keep it in its state folder ({why}): paste it into {name}"),
            ),
        }
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
                OfferReason::Copied { ran: Some(0) },
                1,
                "⏸ 1 task is the same as in the reply that you copied (ran 10:32): not run again",
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

    #[test]
    fn each_refusal_says_what_helps() {
        let known = |run: Option<&str>| KnownBatch {
            run: run.map(str::to_owned),
            began_ms: run.map(|_| 0),
            ended_ms: run.map(|_| 1),
        };
        let file = Path::new("/p/clada.md");
        let at = clock::when(0);
        for (refusal, title, body) in [
            (
                CopyRefusal::CutOff,
                "clada.md: the copied reply is cut off",
                "nothing of it ran: copy the whole reply, or paste it into clada.md",
            ),
            (
                CopyRefusal::NoKey { tasks: 4 },
                "4 tasks on the clipboard without this chat's key",
                "to run them, paste them into clada.md",
            ),
            (
                CopyRefusal::OtherKey { tasks: 1 },
                "1 task on the clipboard with another chat's key",
                "to run them, paste them into clada.md",
            ),
            (
                CopyRefusal::SeveralKeys { tasks: 2 },
                "2 tasks on the clipboard with several keys",
                "to run them, paste them into clada.md",
            ),
            (
                CopyRefusal::Known {
                    batch: known(Some("20261123-103245-abcd")),
                    is_all: true,
                },
                &format!("clada.md: this reply ran at {at}"),
                "`clada retry --all 20261123-103245-abcd` runs it again",
            ),
            (
                CopyRefusal::Known {
                    batch: known(None),
                    is_all: true,
                },
                "clada.md: this reply is known, and nothing of it ran",
                "to run it, tick its box in clada.md, or paste it there again",
            ),
            (
                CopyRefusal::Known {
                    batch: known(None),
                    is_all: false,
                },
                "clada.md: a part of this reply is not new",
                "nothing of it ran now: to run the rest, paste that into clada.md",
            ),
            (
                CopyRefusal::NoLedger("why".to_owned()),
                "clada.md: the copied reply did not run",
                "why",
            ),
            (
                CopyRefusal::NotKept("no space".to_owned()),
                "clada.md: the copied reply did not run",
                "clada cannot keep it in its state folder (no space): paste it into clada.md",
            ),
        ] {
            let said = refusal.said(Some(file));
            assert_eq!(said, (title.to_owned(), body.to_owned()));
        }
        let (_, body) = CopyRefusal::NoKey { tasks: 1 }.said(None);
        assert_eq!(body, "to run them, paste them into your notes");
    }

    #[test]
    fn what_ends_the_watching_is_told() {
        let (title, body) = strangers();
        assert_eq!(title, "clada no longer watches the clipboard");
        assert_eq!(
            body,
            "10 texts with unknown keys were copied within a minute: find out which page or program did that, then run \
             `clada resume`"
        );
        assert_eq!(
            blind("no display"),
            "cannot watch the clipboard: no display; paste replies into the notes until that works"
        );
        assert_eq!(watching("X11, :1"), "watching the clipboard (X11, :1)");
    }
}
