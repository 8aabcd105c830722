//! Owns the system's clipboard: puts text there and keeps it there. Never reads it, and never lets a slow display hold up
//! anything.
//!
//! The text lives in the process that set it, so one [`owner`] stays for as long as clada does; it is looked after by a
//! thread of its own. It is started at the first copy and anew after an error, for the [`display`] that is there then: that
//! of a service that started before the desktop is found. Where a display lets only others copy, their [`program`] is
//! asked; and who sits at a [`terminal`] over SSH, or without a display at one that takes it, gets the text through that.

pub(crate) mod display;
mod owner;
mod program;
mod terminal;
mod trial;

use std::env;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use display::var;
use owner::Owner;

use crate::world::programs::Programs;

pub use display::EnvMap;
pub use owner::{NAME as OWNER, STAYS as OWNER_STAYS, own};

pub use trial::{Trial, not_run, try_out};

/// X11 says yes to more than this and gives every reader nothing.
const MOST: usize = 16 * 1024 * 1024;
/// The longest time that the end waits for the owner to hand over its text.
const FAREWELL: Duration = Duration::from_millis(350);
/// The time for which a text without a display is kept for one that appears. After that, the user may have copied something
/// newer.
const LATE: Duration = Duration::from_secs(60);
/// The time between two such attempts.
const AGAIN: Duration = Duration::from_secs(2);

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
                Self::NoDisplay { looked: false } | Self::TooLong { .. } | Self::NoThread { .. }
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
        // Where the file was replaced by a newer one, this is still what runs.
        let program = if cfg!(target_os = "linux") {
            "/proc/self/exe".into()
        } else {
            env::current_exe().unwrap_or_else(|_| "clada".into())
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
/// Dropping it ends the ownership, and gives a clipboard manager, if there is one, the text to keep; that is waited for
/// only shortly. A process that ends without the drop takes its owner along.
pub struct Clipboard {
    newest: Arc<NewestJob>,
    /// Wakes the thread, which ends when this is gone.
    bell: Option<SyncSender<()>>,
    /// Disconnected when the thread has ended; or why it could not be started.
    ended: std::io::Result<Mutex<Receiver<()>>>,
    /// True once it was said how to have none.
    advised: AtomicBool,
}

/// The newest text only: while the display hangs, texts that nobody will see must not pile up.
type NewestJob = Mutex<Option<CopyJob>>;

struct CopyJob {
    text: String,
    answer: SyncSender<Result<Copied, ClipboardError>>,
}

impl Clipboard {
    /// Starts the thread, which sleeps until there is something to copy. No display is looked for yet.
    pub fn start(around: ClipboardContext) -> Clipboard {
        let newest = Arc::<NewestJob>::default();
        let (bell, rung) = sync_channel(1);
        let (ending, ended) = sync_channel(0);
        let jobs = Arc::clone(&newest);
        let started = thread::Builder::new()
            .name("clipboard".into())
            .spawn(move || serve(&jobs, &rung, around, ending));
        Clipboard {
            newest,
            bell: Some(bell),
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
        if let Err(error) = &self.ended {
            let cause = error.to_string();
            return Err(ClipboardError::NoThread { cause });
        }
        let (bytes, most) = (text.len(), MOST);
        if bytes > most {
            return Err(ClipboardError::TooLong { bytes, most });
        }
        let (answer, answered) = sync_channel(1);
        *lock(&self.newest) = Some(CopyJob { text, answer });
        if let Some(bell) = &self.bell {
            // Where it rings already, this text is found too.
            let _ = bell.try_send(());
        }
        match answered.recv_timeout(patience) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => Err(ClipboardError::NoAnswer { patience }),
            Err(RecvTimeoutError::Disconnected) => Err(ClipboardError::Overtaken),
        }
    }
}

impl Drop for Clipboard {
    fn drop(&mut self) {
        // Nobody waits for it any more.
        lock(&self.newest).take();
        self.bell = None;
        if let Ok(ended) = &mut self.ended {
            let ended = ended.get_mut().unwrap_or_else(PoisonError::into_inner);
            // Not joined: a thread that a display holds is left to the end of the process.
            let _ = ended.recv_timeout(FAREWELL);
        }
    }
}

fn lock(newest: &NewestJob) -> MutexGuard<'_, Option<CopyJob>> {
    newest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread. `_ending` is dropped after the owner, which says that it is done.
fn serve(
    newest: &NewestJob,
    rung: &Receiver<()>,
    around: ClipboardContext,
    _ending: SyncSender<()>,
) {
    let mut hand = Hand {
        programs: Programs::of_vars(&around.vars),
        around,
        owner: None,
    };
    let mut late: Option<(String, Instant)> = None;
    loop {
        let longest = late.as_ref().map_or(Duration::MAX, |_| AGAIN);
        match rung.recv_timeout(longest) {
            Ok(()) => {
                let Some(CopyJob { text, answer }) = lock(newest).take() else {
                    continue;
                };
                let result = hand.put(&text);
                let error = result.as_ref().err();
                let again = error.is_some_and(ClipboardError::may_pass);
                late = again.then(|| (text, Instant::now() + LATE));
                // Nobody may wait for it any more.
                let _ = answer.try_send(result);
            }
            Err(RecvTimeoutError::Timeout) => {
                late.take_if(|(text, until)| {
                    let copied = hand.put(text);
                    tracing::debug!(?copied, "late");
                    copied.is_ok() || Instant::now() > *until
                });
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    hand.owner.into_iter().for_each(Owner::end);
}

/// The state of the thread that puts texts on the clipboard.
struct Hand {
    around: ClipboardContext,
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
            match owner.and_then(|mut owner| owner.put(text).map(|()| owner)) {
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
