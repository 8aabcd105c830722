//! Owns the system's clipboard: puts text there and keeps it there, and tells what others copy if that is wanted. Never logs
//! what is there, and never lets a slow display hold up anything.
//!
//! The text lives in the process that set it, so one [`owner`] stays for as long as clada does; it is looked after by a
//! thread of its own. It is started at the first copy and anew after an error, for the [`display`] that is there then: that
//! of a service that started before the desktop is found. Where a display lets only others copy, their [`program`] is
//! asked; and who sits at a [`terminal`] over SSH, or without a display at one that takes it, gets the text through that.

pub(crate) mod display;
mod exchange;
mod frame;
mod hand;
mod owner;
mod owning;
mod program;
mod terminal;
mod trial;
mod watching;

use std::env;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::world::process;
use display::var;
use exchange::{CopyJob, Exchange};

pub use display::EnvMap;
pub use owner::{NAME as OWNER, STAYS as OWNER_STAYS};
pub use owning::own;

pub use trial::{Trial, not_run, try_out};

/// X11 says yes to more than this and gives every reader nothing.
const MOST: usize = 16 * 1024 * 1024;
/// The longest time that the end waits for the owner to hand over its text.
const FAREWELL: Duration = Duration::from_millis(350);

/// The reason why a text is not on the clipboard; short enough for one line of a results block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipboardError {
    #[error(
        "no display (DISPLAY and WAYLAND_DISPLAY are not set{})",
        if *.looked { ", and no desktop of yours is running" } else { "" }
    )]
    NoDisplay {
        /// True if the display of a desktop was looked for.
        looked: bool,
    },
    #[error(
        "no display, and tmux blocks its clipboard (`set-clipboard` is {setting}): run `tmux set -s set-clipboard on`"
    )]
    ClosedTmux { setting: String },
    #[error("display not reachable ({cause})")]
    Unreachable { cause: String },
    #[error("display refused the text ({cause})")]
    Refused { cause: String },
    #[error("display did not answer within {} ms", patience.as_millis())]
    NoAnswer { patience: Duration },
    #[error("a newer text replaced it")]
    Overtaken,
    #[error("something else was copied since")]
    CopiedSince,
    #[error("the clipboard was not watched all the time since")]
    NotWatched,
    #[error("the clipboard cannot be watched ({cause})")]
    Unwatchable { cause: String },
    #[error(
        "the text has {bytes} bytes, and the clipboard takes {}: shorten it",
        most
    )]
    TooLong { bytes: usize, most: usize },
    #[error("the terminal did not accept it ({cause})")]
    Terminal { cause: String },
    #[error("cannot start a process for it ({cause})")]
    NoOwner { cause: String },
    #[error("cannot start a thread for it ({cause})")]
    NoThread { cause: String },
    /// There is a program that could, and it is not run.
    #[error("{cause}; {why}")]
    NotRun { cause: Box<Self>, why: String },
}

impl ClipboardError {
    /// Tells if there is no clipboard here: the user may not want any.
    pub fn is_without(&self) -> bool {
        matches!(self, Self::NoDisplay { .. } | Self::ClosedTmux { .. })
    }

    /// Returns true if a later attempt may succeed.
    fn may_pass(&self) -> bool {
        match self {
            Self::NotRun { cause, .. } => cause.may_pass(),
            _ => !matches!(
                self,
                Self::NoDisplay { looked: false }
                    | Self::TooLong { .. }
                    | Self::CopiedSince
                    | Self::NotWatched
                    | Self::NoThread { .. }
            ),
        }
    }
}

/// The way in which a text was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// clada has it there.
    Kept,
    /// A program of this name has.
    By(&'static str),
    /// The text was sent to the terminal, which does not tell whether it took it.
    Sent,
}

/// A text that somebody else copied.
pub struct CopiedText {
    pub text: String,
    pub copy: CopyId,
}

/// Names one act of copying, as long as it is watched by the same process without a break.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopyId {
    /// The watching that saw it.
    watch: u64,
    /// Counts the acts that it saw.
    generation: u64,
}

/// The news of the watching.
pub enum ClipboardNews {
    /// Somebody else copied a text.
    Copied(CopiedText),
    /// The clipboard is watched by this way, such as `X11, :1`.
    Watching(String),
    /// Nothing can be watched now, for this reason. It is tried again.
    Blind(ClipboardError),
}

/// Takes the news of the watching.
type NewsTaker = Box<dyn Fn(ClipboardNews) + Send>;

/// The surroundings in which a clipboard is looked for.
#[derive(Debug, Clone)]
pub struct ClipboardContext {
    /// clada, to be started as the owner.
    pub program: PathBuf,
    pub vars: EnvMap,
    /// The user's terminal, if it may take a text.
    pub terminal: Option<PathBuf>,
    /// The user sits at another machine: the displays of this one are not theirs.
    pub is_remote: bool,
    /// The text outlives this process, until somebody else copies something.
    pub stays: bool,
}

impl ClipboardContext {
    /// The surroundings of this process.
    pub fn of_process() -> Self {
        let vars: EnvMap = env::vars_os().collect();
        let is_remote = ["SSH_CONNECTION", "SSH_TTY"]
            .iter()
            .any(|name| var(&vars, name).is_some());
        let is_terminal = std::io::stdout().is_terminal() || std::io::stderr().is_terminal();
        let takes = is_terminal && (is_remote || terminal::may_take(&vars));
        Self {
            program: process::this_program(),
            vars,
            terminal: takes.then(|| "/dev/tty".into()),
            is_remote,
            stays: false,
        }
    }
}

/// The clipboard and its owner.
///
/// Dropping it ends the ownership, and gives a clipboard manager, if there is one, the text to keep; that is waited for
/// only shortly. A process that ends without the drop takes its owner along.
pub struct Clipboard {
    exchange: Arc<Exchange>,
    /// Disconnected when the thread has ended; or why it could not be started.
    ended: std::io::Result<Mutex<Receiver<()>>>,
    /// True once it was said how to have none.
    advised: AtomicBool,
}

impl Clipboard {
    /// Starts the thread, which sleeps until there is something to do. No display is looked for yet.
    pub fn start(around: ClipboardContext) -> Clipboard {
        let exchange = Arc::<Exchange>::default();
        let (ending, ended) = sync_channel(0);
        let its = Arc::clone(&exchange);
        let started = thread::Builder::new()
            .name("clipboard".into())
            .spawn(move || hand::serve(its, around, ending));
        Clipboard {
            exchange,
            ended: started.map(|_| Mutex::new(ended)),
            advised: AtomicBool::new(false),
        }
    }

    /// Returns true once: then it is to be said how to have none.
    pub fn is_to_be_advised(&self) -> bool {
        !self.advised.swap(true, Ordering::Relaxed)
    }

    /// Puts the text on the clipboard, and waits for that only so long. After an error that may pass the thread goes on for
    /// a minute to try to have this text there, unless a later copy replaces it.
    ///
    /// What is too long for every reader is an error, as it would look like a success; the caller cuts, far below this.
    pub fn copy(&self, text: String, patience: Duration) -> Result<Copied, ClipboardError> {
        self.put(text, None, patience)
    }

    /// Puts the text on the clipboard as [`Clipboard::copy`] does, unless anything, text or not, was copied since that copy;
    /// then the error is [`ClipboardError::CopiedSince`], or [`ClipboardError::NotWatched`] where nobody knows.
    pub fn copy_after(
        &self,
        text: String,
        after: CopyId,
        patience: Duration,
    ) -> Result<Copied, ClipboardError> {
        self.put(text, Some(after), patience)
    }

    /// Tells what others copy from now on, or nothing any more with `None`. Returns at once. What is on the clipboard then is
    /// nothing new.
    ///
    /// The function must be quick: while it runs, nothing else is heard of the display. It must not call this one.
    pub fn watch(&self, told: Option<Box<dyn Fn(ClipboardNews) + Send>>) {
        let is_wanted = told.is_some();
        self.exchange.take_news(told);
        match &self.ended {
            Ok(_) => self.exchange.wish(|wishes| wishes.watch = Some(is_wanted)),
            Err(error) => {
                let cause = error.to_string();
                let blind = ClipboardNews::Blind(ClipboardError::NoThread { cause });
                self.exchange.tell(None, blind);
            }
        }
    }

    fn put(
        &self,
        text: String,
        after: Option<CopyId>,
        patience: Duration,
    ) -> Result<Copied, ClipboardError> {
        if let Err(error) = &self.ended {
            let cause = error.to_string();
            return Err(ClipboardError::NoThread { cause });
        }
        let (bytes, most) = (text.len(), MOST);
        if bytes > most {
            return Err(ClipboardError::TooLong { bytes, most });
        }
        let (answer, answered) = sync_channel(1);
        let job = CopyJob {
            text,
            after,
            answer,
        };
        self.exchange.wish(|wishes| wishes.copy = Some(job));
        match answered.recv_timeout(patience) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(ClipboardError::NoAnswer { patience }),
            Err(RecvTimeoutError::Disconnected) => Err(ClipboardError::Overtaken),
        }
    }
}

impl Drop for Clipboard {
    fn drop(&mut self) {
        self.exchange.take_news(None);
        // Nobody waits for a copy any more.
        self.exchange.wish(|wishes| {
            wishes.copy = None;
            wishes.ends = true;
        });
        if let Ok(ended) = &mut self.ended {
            let ended = ended.get_mut().unwrap_or_else(PoisonError::into_inner);
            // Not joined: a thread that a display holds is left to the end of the process.
            let _ = ended.recv_timeout(FAREWELL);
        }
    }
}
