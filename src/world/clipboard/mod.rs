//! Owns the system's clipboard: puts text there and keeps it there. Never reads it, and never lets a slow display hold up anything.
//!
//! The text lives in the process that set it, so one [`owner`] stays for as long as clada does; it is looked after by a thread of its
//! own. It is started at the first copy and anew after an error, for the [`display`] that is there then: that of a service that
//! started before the desktop is found. Where a display lets only others copy, their [`program`] is asked; and who sits at a
//! [`terminal`] over SSH, or without a display at one that takes it, gets the text through that.

mod display;
mod owner;
mod program;
mod terminal;

mod trial;

use std::env;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use display::var;
use owner::Owner;

use crate::world::programs::Programs;

pub use display::Vars;
pub use owner::{NAME as OWNER, STAYS as OWNER_STAYS, own};

pub use trial::{Trial, not_run, try_out};

/// X11 says yes to more than this and gives every reader nothing.
const MOST: usize = 16 * 1024 * 1024;
/// How long the end waits for the owner to hand over its text.
const FAREWELL: Duration = Duration::from_millis(350);
/// How long a text that found no display is kept for one that appears. Later, what the user has copied meanwhile is worth more.
const LATE: Duration = Duration::from_secs(60);
/// How often that is tried.
const AGAIN: Duration = Duration::from_secs(2);

/// Why a text is not on the clipboard; short enough for one line of a results block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipboardError {
    #[error(
        "no display (DISPLAY and WAYLAND_DISPLAY are not set{})",
        if *.looked { ", and no desktop of yours is running" } else { "" }
    )]
    NoDisplay {
        /// That of a desktop was looked for.
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

    /// Whether it may go better later.
    fn may_pass(&self) -> bool {
        match self {
            Self::NotRun { cause, .. } => cause.may_pass(),
            _ => !matches!(
                self,
                Self::NoDisplay { looked: false } | Self::TooLong { .. } | Self::NoThread { .. }
            ),
        }
    }
}

/// How a text was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copied {
    /// clada has it there.
    Kept,
    /// A program of this name has.
    By(&'static str),
    /// It was sent to the terminal, which does not tell whether it took it.
    Sent,
}

/// What a clipboard is found by.
#[derive(Debug, Clone)]
pub struct Around {
    /// clada, to be started as the owner.
    pub program: PathBuf,
    pub vars: Vars,
    /// That of the user, if it may take a text.
    pub terminal: Option<PathBuf>,
    /// The user sits at another machine: the displays of this one are not theirs.
    pub is_remote: bool,
    /// The text outlives this process, until somebody else copies something.
    pub stays: bool,
}

impl Around {
    /// What this process has.
    pub fn of_process() -> Self {
        let vars: Vars = env::vars_os().collect();
        let is_remote = ["SSH_CONNECTION", "SSH_TTY"]
            .iter()
            .any(|name| var(&vars, name).is_some());
        let is_terminal = std::io::stdout().is_terminal() || std::io::stderr().is_terminal();
        let takes = is_terminal && (is_remote || terminal::may_take(&vars));
        // Where the file was replaced by a newer one, this is still what runs.
        let program = match cfg!(target_os = "linux") {
            true => "/proc/self/exe".into(),
            false => env::current_exe().unwrap_or_else(|_| "clada".into()),
        };
        Self {
            program,
            vars,
            terminal: takes.then(|| "/dev/tty".into()),
            is_remote,
            stays: false,
        }
    }
}

/// The clipboard and its owner.
///
/// Dropping it ends the ownership, and gives a clipboard manager, if there is one, the text to keep; that is waited for only shortly.
/// A process that ends without the drop takes its owner along.
pub struct Clipboard {
    shared: Arc<Shared>,
    /// Disconnected when the thread has ended; or why it could not be started.
    ended: std::io::Result<Mutex<Receiver<()>>>,
    /// It was said how to have none.
    advised: AtomicBool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    filled: Condvar,
}

/// Holds the newest text only: while the display hangs, texts that nobody will see must not pile up.
#[derive(Default)]
struct Desk {
    job: Option<Job>,
    closed: bool,
}

struct Job {
    text: String,
    answer: SyncSender<Result<Copied, ClipboardError>>,
}

impl Clipboard {
    /// Starts the thread, which sleeps until there is something to copy. No display is looked for yet.
    pub fn start(around: Around) -> Clipboard {
        let shared = Arc::<Shared>::default();
        let (ending, ended) = sync_channel(0);
        let desk = Arc::clone(&shared);
        let started = thread::Builder::new()
            .name("clipboard".into())
            .spawn(move || serve(&desk, around, ending));
        Clipboard {
            shared,
            ended: started.map(|_| Mutex::new(ended)),
            advised: AtomicBool::new(false),
        }
    }

    /// Returns true once: then it is to be said how to have none.
    pub fn is_to_be_advised(&self) -> bool {
        !self.advised.swap(true, Ordering::Relaxed)
    }

    /// Puts the text on the clipboard, and waits for that only so long. After an error that may pass the thread goes on for a minute
    /// to try to have this text there, unless a later copy replaces it.
    ///
    /// What is too long for every reader is an error, as it would look like a success; the caller cuts, far below this.
    pub fn copy(&self, text: String, patience: Duration) -> Result<Copied, ClipboardError> {
        if let Err(error) = &self.ended {
            let cause = error.to_string();
            return Err(ClipboardError::NoThread { cause });
        }
        let (bytes, most) = (text.len(), MOST);
        if bytes > most {
            return Err(ClipboardError::TooLong { bytes, most });
        }
        let (answer, answered) = sync_channel(1);
        self.shared.lock().job = Some(Job { text, answer });
        self.shared.filled.notify_one();
        match answered.recv_timeout(patience) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(ClipboardError::NoAnswer { patience }),
            Err(RecvTimeoutError::Disconnected) => Err(ClipboardError::Overtaken),
        }
    }
}

impl Drop for Clipboard {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.filled.notify_one();
        if let Ok(ended) = &mut self.ended {
            let ended = ended.get_mut().unwrap_or_else(PoisonError::into_inner);
            // Not joined: a thread that a display holds is left to the end of the process.
            let _ = ended.recv_timeout(FAREWELL);
        }
    }
}

/// What the thread wakes up for.
enum Next {
    Job(Job),
    Again,
    Closed,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until there is a job; with `late`, not longer than until it is to be tried again.
    fn next(&self, late: bool) -> Next {
        let idle = |desk: &mut Desk| desk.job.is_none() && !desk.closed;
        let mut desk = match late {
            true => {
                let woken = self.filled.wait_timeout_while(self.lock(), AGAIN, idle);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            false => {
                let woken = self.filled.wait_while(self.lock(), idle);
                woken.unwrap_or_else(PoisonError::into_inner)
            }
        };
        if desk.closed {
            return Next::Closed;
        }
        desk.job.take().map_or(Next::Again, Next::Job)
    }
}

/// The thread. `_ending` is dropped after the owner, which says that it is done.
fn serve(shared: &Shared, around: Around, _ending: SyncSender<()>) {
    let mut hand = Hand {
        programs: Programs::of_vars(&around.vars),
        around,
        owner: None,
    };
    let mut late: Option<(String, Instant)> = None;
    loop {
        match shared.next(late.is_some()) {
            Next::Job(Job { text, answer }) => {
                let result = hand.put(&text);
                let error = result.as_ref().err();
                let again = error.is_some_and(ClipboardError::may_pass);
                late = again.then(|| (text, Instant::now() + LATE));
                // Nobody may wait for it any more.
                let _ = answer.try_send(result);
            }
            Next::Again => {
                late.take_if(|(text, until)| {
                    let copied = hand.put(text);
                    tracing::debug!(?copied, "late");
                    copied.is_ok() || Instant::now() > *until
                });
            }
            Next::Closed => break,
        }
    }
    hand.owner.into_iter().for_each(Owner::end);
}

/// What puts texts there.
struct Hand {
    around: Around,
    programs: Programs,
    owner: Option<Owner>,
}

impl Hand {
    fn put(&mut self, text: &str) -> Result<Copied, ClipboardError> {
        if let Some(owner) = &mut self.owner {
            if owner.put(text).is_ok() {
                return Ok(Copied::Kept);
            }
            self.owner = None;
        }
        let around = &self.around;
        let displays = display::candidates(&around.vars, around.is_remote);
        let mut failed = None;
        for vars in &displays {
            let owner = Owner::start(&around.program, vars, around.stays);
            let put = owner.and_then(|mut owner| owner.put(text).map(|()| owner));
            match put {
                Ok(owner) => {
                    self.owner = Some(owner);
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
                Err(why) => not_run = not_run.or(Some(why)),
            }
        }
        let failed = match (failed, not_run) {
            (Some(failed), Some(why)) => Some(ClipboardError::NotRun {
                cause: Box::new(failed),
                why: why.to_string(),
            }),
            (failed, _) => failed,
        };
        match &around.terminal {
            Some(path) => {
                let sent = send(text, path, (&around.vars, &self.programs));
                // A display of this machine that failed is the likelier one.
                let failed = failed.filter(|_| !around.is_remote);
                sent.map_err(|error| failed.unwrap_or(error))
            }
            None => Err(failed.unwrap_or(ClipboardError::NoDisplay {
                looked: display::can_appear(&around.vars),
            })),
        }
    }
}

/// Sends a text to the terminal's clipboard.
fn send(
    text: &str,
    path: &Path,
    (vars, programs): (&Vars, &Programs),
) -> Result<Copied, ClipboardError> {
    let way = terminal::way(vars, programs)
        .map_err(|closed| ClipboardError::ClosedTmux { setting: closed.0 })?;
    let (bytes, most) = (text.len(), terminal::MOST);
    if bytes > most {
        return Err(ClipboardError::TooLong { bytes, most });
    }
    let sent = terminal::write(text, path, way);
    sent.map(|()| Copied::Sent)
        .map_err(|error| ClipboardError::Terminal {
            cause: error.to_string(),
        })
}
