//! Owns the thread of the clipboard: it starts owners, gives them texts and has them watch. Only this thread waits for displays.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use super::exchange::{CopyJob, Exchange};
use super::owner::Owner;
use super::{ClipboardContext, ClipboardError, ClipboardNews, Copied, CopyId};
use super::{display, program, terminal};
use crate::world::programs::Programs;

/// The time for which a text without a display is kept for one that appears. After that, the user may have copied something
/// newer.
const LATE: Duration = Duration::from_secs(60);
/// The time between two such attempts.
const AGAIN: Duration = Duration::from_secs(2);
/// The shortest and the longest pause before a display is looked for again that can be watched.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// A text that could not be copied and may be later.
struct LateCopy {
    text: String,
    after: Option<CopyId>,
    next: Instant,
    until: Instant,
}

/// The thread. `_ending` is dropped after the owner, which says that it is done.
pub(super) fn serve(exchange: Arc<Exchange>, around: ClipboardContext, _ending: SyncSender<()>) {
    let mut hand = Hand {
        programs: Programs::of_vars(&around.vars),
        around,
        owner: None,
        watching: None,
        last_watch: 0,
        exchange,
    };
    let mut late: Option<LateCopy> = None;
    loop {
        let next = late.as_ref().map(|late| late.next);
        let until = [next, hand.due()].into_iter().flatten().min();
        let wishes = hand.exchange.wait(until);
        if wishes.ends {
            break;
        }
        if let Some(is_wanted) = wishes.watch {
            hand.wants(is_wanted);
        }
        if let Some(job) = wishes.copy {
            late = hand.copy(job);
        } else {
            late.take_if(|late| late.next <= Instant::now() && hand.is_done(late));
        }
        hand.see();
    }
    hand.owner.into_iter().for_each(Owner::end);
}

/// The state of the thread that puts texts on the clipboard.
struct Hand {
    exchange: Arc<Exchange>,
    around: ClipboardContext,
    programs: Programs,
    owner: Option<Owner>,
    /// `None` if no watching is wanted.
    watching: Option<Watching>,
    /// The number of the last watching.
    last_watch: u64,
}

/// The state of the watching that is wanted.
struct Watching {
    /// The reason that was told last.
    told: Option<ClipboardError>,
    /// The moment of the next attempt, while nothing is watched.
    due: Instant,
    pause: Duration,
}

impl Watching {
    fn begin() -> Self {
        Self {
            told: None,
            due: Instant::now(),
            pause: PAUSES[0],
        }
    }

    /// Waits before the next attempt, each time longer.
    fn rest(&mut self) {
        self.due = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(PAUSES[1]);
    }
}

impl Hand {
    /// The moment at which a display is looked for again.
    fn due(&self) -> Option<Instant> {
        let is_blind = !self.owner.as_ref().is_some_and(Owner::watches);
        let watching = self.watching.as_ref().filter(|_| is_blind);
        watching.map(|watching| watching.due)
    }

    /// Begins to watch anew, or ends that.
    fn wants(&mut self, is_wanted: bool) {
        self.watching = is_wanted.then(Watching::begin);
        let ended = self.owner.as_mut().map(Owner::unwatch);
        if let Some(Err(error)) = ended {
            tracing::debug!(%error, "unwatch");
            self.owner = None;
        }
    }

    /// Looks after the watching.
    fn see(&mut self) {
        let lost = self.owner.as_ref().and_then(Owner::lost);
        if let Some(cause) = lost.map(str::to_owned) {
            self.owner = None;
            self.blind(ClipboardError::Unreachable { cause });
        }
        if self.due().is_none_or(|due| due > Instant::now()) {
            return;
        }
        match self.begin() {
            Ok(()) => {
                if let Some(watching) = &mut self.watching {
                    *watching = Watching::begin();
                }
            }
            Err(error) => self.blind(error),
        }
    }

    /// Tells that nothing is watched, if that is new.
    fn blind(&mut self, error: ClipboardError) {
        let Some(watching) = &mut self.watching else {
            return;
        };
        watching.rest();
        if watching.told.as_ref() != Some(&error) {
            watching.told = Some(error.clone());
            self.exchange.tell(None, ClipboardNews::Blind(error));
        }
    }

    /// Begins to watch, with the owner that there is if it can, else on the first display that lets one.
    fn begin(&mut self) -> Result<(), ClipboardError> {
        self.last_watch += 1;
        let number = self.last_watch;
        self.exchange.begin(number);
        let mut failed = None;
        if let Some(owner) = &mut self.owner {
            match owner.watch(number, &self.exchange) {
                Ok(()) => return Ok(()),
                Err(error) => failed = Some(error),
            }
        }
        let around = &self.around;
        for vars in display::candidates(&around.vars, around.is_remote) {
            let owner = Owner::start(&around.program, &vars, false);
            let watches = owner.and_then(|mut owner| {
                owner.watch(number, &self.exchange)?;
                Ok(owner)
            });
            match watches {
                Ok(owner) => {
                    let before = self.owner.replace(owner);
                    before.into_iter().for_each(Owner::end);
                    return Ok(());
                }
                // The likeliest display tells most.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or(ClipboardError::NoDisplay {
            looked: display::can_appear(&around.vars),
        }))
    }

    /// Does a job. Returns what is to be tried again.
    fn copy(&mut self, job: CopyJob) -> Option<LateCopy> {
        let CopyJob {
            text,
            after,
            answer,
        } = job;
        let result = self.put(&text, after);
        let error = result.as_ref().err();
        let is_late = error.is_some_and(ClipboardError::may_pass);
        // Nobody may wait for it any more.
        let _ = answer.try_send(result);
        let now = Instant::now();
        is_late.then(|| LateCopy {
            text,
            after,
            next: now + AGAIN,
            until: now + LATE,
        })
    }

    /// Tries again. Returns true if there is no more to do for it.
    fn is_done(&mut self, late: &mut LateCopy) -> bool {
        let copied = self.put(&late.text, late.after);
        tracing::debug!(?copied, "late");
        let now = Instant::now();
        late.next = now + AGAIN;
        let may_pass = copied.is_err_and(|error| error.may_pass());
        !may_pass || now > late.until
    }

    fn put(&mut self, text: &str, after: Option<CopyId>) -> Result<Copied, ClipboardError> {
        if let Some(after) = after {
            return self.put_after(text, after);
        }
        if let Some(owner) = &mut self.owner {
            if owner.put(text, None).is_ok() {
                return Ok(Copied::Kept);
            }
            self.owner = None;
        }
        let around = &self.around;
        let displays = display::candidates(&around.vars, around.is_remote);
        let mut failed = None;
        for vars in &displays {
            let owner = Owner::start(&around.program, vars, around.stays);
            match owner.and_then(|mut owner| owner.put(text, None).map(|()| owner)) {
                Ok(owner) => {
                    self.owner = Some(owner);
                    if let Some(watching) = &mut self.watching {
                        watching.due = Instant::now();
                    }
                    return Ok(Copied::Kept);
                }
                // The likeliest display tells most.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let mut not_run = None;
        for vars in &displays {
            match program::copy(text, vars, &self.programs) {
                Ok(Some(name)) => return Ok(Copied::By(name)),
                Ok(None) => {}
                Err(why) => not_run = not_run.or(Some(why.to_string())),
            }
        }
        let failed = failed.map(|cause| match not_run {
            Some(why) => ClipboardError::NotRun {
                cause: Box::new(cause),
                why,
            },
            None => cause,
        });
        let Some(path) = &around.terminal else {
            return Err(failed.unwrap_or(ClipboardError::NoDisplay {
                looked: display::can_appear(&around.vars),
            }));
        };
        // A display of this machine that failed is the likelier cause.
        let failed = failed.filter(|_| !around.is_remote);
        self.send(text, path)
            .map_err(|error| failed.unwrap_or(error))
    }

    /// Copies a text where that copy is known to be the last. Only the owner that told of it knows.
    fn put_after(&mut self, text: &str, after: CopyId) -> Result<Copied, ClipboardError> {
        let owner = self.owner.as_mut().filter(|owner| owner.knows(after));
        let owner = owner.ok_or(ClipboardError::NotWatched)?;
        match owner.put(text, Some(after)) {
            Ok(()) => Ok(Copied::Kept),
            Err(ClipboardError::CopiedSince) => Err(ClipboardError::CopiedSince),
            Err(error) => {
                self.owner = None;
                Err(error)
            }
        }
    }

    /// Sends a text to the terminal's clipboard.
    fn send(&self, text: &str, path: &Path) -> Result<Copied, ClipboardError> {
        let route = terminal::route(&self.around.vars, &self.programs)
            .map_err(|closed| ClipboardError::ClosedTmux { setting: closed.0 })?;
        let (bytes, most) = (text.len(), terminal::MOST);
        if bytes > most {
            return Err(ClipboardError::TooLong { bytes, most });
        }
        let cause = |error: std::io::Error| ClipboardError::Terminal {
            cause: error.to_string(),
        };
        terminal::write(text, path, route).map_err(cause)?;
        Ok(Copied::Sent)
    }
}
