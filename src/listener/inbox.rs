//! The copied replies for one watched file, from the clipboard to the notes, and on until their results are handed out.
//!
//! Each is kept in the state folder as long, so that one which was taken is carried out after a crash too.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::novelty::batch_key;
use crate::reply::dialect::Dialects;
use crate::reply::note;
use crate::reply::record::{Key, Seed};
use crate::reply::scan::scan_for;
use crate::reply::task::{Batch, BatchState, Scan};
use crate::world::clipboard::CopyId;
use crate::world::copied_replies::CopiedReplies;
use crate::world::locked::locked;
use crate::world::watch::Waker;

/// The number of times that a reply is put into notes which an editor then overwrites with a text that lacks it.
const TRIES: u8 = 3;

/// The time for which a paste of a copied reply is taken for a slip: who copies is used to paste.
const SHORT: Duration = Duration::from_secs(60 * 60);

/// The copied replies for one watched file. The intake fills it, the listener empties it.
pub(crate) struct Inbox {
    replies: Mutex<Vec<InboxReply>>,
    /// News for the person at the terminal.
    news: Mutex<Vec<String>>,
    kept: CopiedReplies,
    /// The batches of replies whose results were handed out a short time ago.
    done: Mutex<Vec<(Instant, Vec<Key>)>>,
    /// The dialects that count in this file.
    dialects: Mutex<Dialects>,
    waker: Waker,
}

struct InboxReply {
    number: u64,
    text: String,
    /// `None` where it was copied before this process began.
    copy: Option<CopyId>,
    stage: ReplyStage,
    tries: u8,
}

/// The way of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyStage {
    Waiting,
    /// It is in the notes.
    Written,
    /// The listener has seen it there, and its results are due.
    Seen,
}

/// The copied reply whose results are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopiedSource {
    /// `None` where nobody knows what was copied since.
    pub(crate) copy: Option<CopyId>,
}

impl Inbox {
    /// Opens the inbox of a file, with what is left from before.
    pub(crate) fn open(kept: CopiedReplies, dialects: Dialects, waker: Waker) -> Self {
        let left = kept.all().unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read the copied replies");
            Vec::new()
        });
        let left = left.into_iter().map(|reply| InboxReply {
            number: reply.number,
            text: reply.text,
            copy: None,
            stage: if reply.is_written {
                ReplyStage::Written
            } else {
                ReplyStage::Waiting
            },
            // Whoever took it out of the notes meanwhile knew of it.
            tries: if reply.is_written { TRIES } else { 0 },
        });
        Self {
            replies: Mutex::new(left.collect()),
            news: Mutex::default(),
            kept,
            done: Mutex::default(),
            dialects: Mutex::new(dialects),
            waker,
        }
    }

    /// True if no reply is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.replies).is_empty()
    }

    pub(crate) fn dialects(&self) -> Dialects {
        *locked(&self.dialects)
    }

    pub(super) fn set_dialects(&self, dialects: Dialects) {
        *locked(&self.dialects) = dialects;
    }

    /// Returns true if a reply with this batch is on its way.
    pub(super) fn holds(&self, batch: &str) -> bool {
        let replies = locked(&self.replies);
        replies.iter().any(|reply| note::has(&reply.text, batch))
    }

    /// Puts a reply in, and wakes the listener.
    ///
    /// # Errors
    /// Where it cannot be kept; then it is not in.
    pub(super) fn put(&self, text: String, copy: CopyId) -> std::io::Result<()> {
        let mut replies = locked(&self.replies);
        let number = replies.last().map_or(1, |last| last.number + 1);
        self.kept.keep(number, &text)?;
        replies.push(InboxReply {
            number,
            text,
            copy: Some(copy),
            stage: ReplyStage::Waiting,
            tries: 0,
        });
        self.waker.wake();
        Ok(())
    }

    /// Has the listener tell something.
    pub(super) fn tell(&self, news: String) {
        locked(&self.news).push(news);
        self.waker.wake();
    }

    pub(super) fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.news))
    }

    /// Returns the next reply that is to be put into the notes.
    pub(super) fn next(&self) -> Option<(u64, String)> {
        let replies = locked(&self.replies);
        let mut waiting = replies.iter().filter(|it| it.stage == ReplyStage::Waiting);
        waiting.next().map(|it| (it.number, it.text.clone()))
    }

    /// Notes that a reply was put into the notes.
    pub(super) fn written(&self, number: u64) {
        let mut replies = locked(&self.replies);
        if let Some(reply) = replies.iter_mut().find(|it| it.number == number) {
            reply.stage = ReplyStage::Written;
            reply.tries += 1;
            logged(self.kept.written(number));
        }
    }

    /// Takes in a body: which of the replies are in it. True if one is there for the first time.
    pub(super) fn look(&self, body: &str) -> bool {
        let mut replies = locked(&self.replies);
        let mut is_new = false;
        replies.retain_mut(|reply| {
            if reply.stage != ReplyStage::Written {
                return true;
            }
            if note::has(body, &reply.text) {
                reply.stage = ReplyStage::Seen;
                is_new = true;
            } else if reply.tries < TRIES {
                // An editor saved a text from before.
                reply.stage = ReplyStage::Waiting;
            } else {
                logged(self.kept.forget(reply.number));
                return false;
            }
            true
        });
        is_new
    }

    /// Takes the batches of replies that are in the notes for whole, also those that text still to come could change: no more
    /// comes of a reply that was copied.
    pub(super) fn settle(&self, body: &str, scan: &mut Scan<'_>) {
        let dialects = self.dialects();
        for reply in locked(&self.replies).iter() {
            if reply.stage != ReplyStage::Seen {
                continue;
            }
            let own = readings(&reply.text, &scan_for(&reply.text, dialects));
            for batch in &mut scan.batches {
                let text = note::plain_ends(&body[batch.span.clone()]);
                if batch.state == BatchState::Provisional && own.contains(text.as_ref()) {
                    batch.state = BatchState::Complete;
                }
            }
        }
    }

    /// Returns the source of the results that are due.
    pub(super) fn source(&self) -> Option<CopiedSource> {
        let replies = locked(&self.replies);
        let last = replies.iter().rfind(|it| it.stage == ReplyStage::Seen)?;
        Some(CopiedSource { copy: last.copy })
    }

    /// Forgets the replies whose results were handed out.
    pub(super) fn finish(&self, seed: Seed) {
        let dialects = self.dialects();
        let mut replies = locked(&self.replies);
        for reply in replies.extract_if(.., |it| it.stage == ReplyStage::Seen) {
            logged(self.kept.forget(reply.number));
            let keys = batch_keys(seed, &reply.text, dialects);
            locked(&self.done).push((Instant::now(), keys));
        }
    }

    /// Returns the keys of the batches that came here in the last hour.
    pub(super) fn keys(&self, seed: Seed) -> Vec<Key> {
        let dialects = self.dialects();
        let replies = locked(&self.replies);
        let on_their_way = replies.iter();
        let on_their_way = on_their_way.flat_map(|it| batch_keys(seed, &it.text, dialects));
        let mut done = locked(&self.done);
        done.retain(|(at, _)| at.elapsed() < SHORT);
        let done = done.iter().flat_map(|(_, keys)| keys.iter().copied());
        on_their_way.chain(done).collect()
    }
}

fn batch_keys(seed: Seed, text: &str, dialects: Dialects) -> Vec<Key> {
    let scan = scan_for(text, dialects);
    let batches = scan.batches.iter();
    batches.map(|batch| batch_key(seed, text, batch)).collect()
}

/// Puts a reply into notes of which this is the body, unless it is there already: at their end, or on top of the body where something at the end does not
/// end. Nothing where it would be read in neither place as it is read alone, or would change how the rest is read.
pub(super) fn placed(text: &str, body: &str, reply: &str, dialects: Dialects) -> Option<String> {
    if note::has(text, reply) {
        return Some(text.to_owned());
    }
    let reading = |text: &str| readings(text, &scan_for(text, dialects));
    let mut expected = reading(reply);
    expected.extend(reading(body));
    let is_right = |body: &str| {
        let found = reading(body);
        expected.iter().all(|batch| found.contains(batch))
    };
    let at_end = note::append(body, reply);
    if is_right(&at_end) {
        return Some(note::append(text, reply));
    }
    let on_top = note::insert(body, body, reply)?;
    note::insert(text, body, reply).filter(|_| is_right(&on_top))
}

/// The texts of the batches that can be read in a text.
fn readings(text: &str, scan: &Scan<'_>) -> HashSet<String> {
    let is_open = |batch: &&Batch<'_>| matches!(batch.state, BatchState::Open(_));
    let batches = scan.batches.iter().filter(|batch| !is_open(batch));
    let texts = batches.map(|batch| note::plain_ends(&text[batch.span.clone()]).into_owned());
    texts.collect()
}

/// Logs an error that costs no more than a file which is left over.
fn logged(result: std::io::Result<()>) {
    if let Err(error) = result {
        tracing::error!(%error, "cannot keep the copied replies");
    }
}
