//! Owns what the clipboard, its thread and who hears the owner leave for each other. Waits for no display.

use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::{ClipboardError, ClipboardNews, Copied, CopyId, NewsTaker};
use crate::world::locked::locked;

/// A text that is to be copied.
pub(super) struct CopyJob {
    pub(super) text: String,
    /// The copy that must be the last of others.
    pub(super) after: Option<CopyId>,
    pub(super) answer: SyncSender<Result<Copied, ClipboardError>>,
}

/// The place where they meet.
#[derive(Default)]
pub(super) struct Exchange {
    wishes: Mutex<Wishes>,
    /// Wakes the thread.
    bell: Condvar,
    taker: Mutex<Taker>,
}

/// The things that are wanted of the thread.
#[derive(Default)]
pub(super) struct Wishes {
    /// The newest text only: while the display hangs, texts that nobody will see must not pile up.
    pub(super) copy: Option<CopyJob>,
    /// True if the watching begins anew, false if it ends.
    pub(super) watch: Option<bool>,
    pub(super) ends: bool,
    is_rung: bool,
}

/// The one who takes the news, and of which watching. Those of an older one are not for it.
#[derive(Default)]
struct Taker {
    takes: Option<NewsTaker>,
    watch: Option<u64>,
}

impl Exchange {
    /// Leaves a wish, and wakes the thread for it.
    pub(super) fn wish(&self, wish: impl FnOnce(&mut Wishes)) {
        let mut wishes = locked(&self.wishes);
        wish(&mut wishes);
        wishes.is_rung = true;
        self.bell.notify_one();
    }

    /// Wakes the thread.
    pub(super) fn ring(&self) {
        self.wish(|_| {});
    }

    /// Waits for wishes, up to this moment.
    pub(super) fn wait(&self, until: Option<Instant>) -> Wishes {
        let mut wishes = locked(&self.wishes);
        while !wishes.is_rung {
            let waited = match until {
                None => self.bell.wait(wishes),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    let waited = self.bell.wait_timeout(wishes, left);
                    waited.map(|(wishes, _)| wishes).map_err(|error| {
                        let (wishes, _) = error.into_inner();
                        PoisonError::new(wishes)
                    })
                }
            };
            wishes = waited.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut wishes)
    }

    /// Sets who takes the news from now on.
    pub(super) fn take_news(&self, takes: Option<NewsTaker>) {
        *locked(&self.taker) = Taker { takes, watch: None };
    }

    /// Takes news of this watching only.
    pub(super) fn begin(&self, watch: u64) {
        locked(&self.taker).watch = Some(watch);
    }

    /// Returns true if the news of this watching are wanted.
    pub(super) fn is_watched(&self, watch: u64) -> bool {
        locked(&self.taker).watch == Some(watch)
    }

    /// Tells something, of this watching if it is of one.
    pub(super) fn tell(&self, watch: Option<u64>, news: ClipboardNews) {
        let taker = locked(&self.taker);
        let is_wanted = watch.is_none() || watch == taker.watch;
        if let Some(takes) = taker.takes.as_ref().filter(|_| is_wanted) {
            takes(news);
        }
    }
}
