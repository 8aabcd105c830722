//! Owns the process that has the text: how it is started, told and heard. What it does is in [`super::owning`].
//!
//! On X11 and Wayland the text lives in the process that set it, and the libraries find the display in the environment.
//! That of a process with threads must not be changed; so the owner is a process of its own, which is this program again. A
//! display that hangs, or takes the owner with it, then costs a process that is ended and started anew.
//!
//! It is told something and answers, in frames. Once it watches, it also tells what others copied: then a thread hears it.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use super::display::EnvMap;
use super::exchange::Exchange;
use super::frame::{Frame, FrameKind};
use super::{ClipboardError, ClipboardNews, CopiedText, CopyId};

/// The name of the command that is the owner.
pub const NAME: &str = "clipboard-owner";
/// The flag with which it stays until somebody else copies something.
pub const STAYS: &str = "stays";

/// The longest time that a display may take to answer before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time that giving the text to a clipboard manager may take at the end; it takes 100 ms where there is none.
pub(super) const FAREWELL: Duration = Duration::from_millis(300);
/// The cause of an error where the owner is gone.
const EXITED: &str = "the process that held it exited";

/// An owner that runs. It is ended with this value, unless it has to stay.
#[derive(Debug)]
pub(super) struct Owner {
    process: Child,
    /// Leads to its standard input and comes from its standard output.
    line: UnixStream,
    /// The answers, where a thread hears them.
    answers: Option<Receiver<Frame>>,
    /// The reason why that thread hears nothing any more.
    lost: Arc<OnceLock<String>>,
    /// The number under which it watches.
    watch: Option<u64>,
    stays: bool,
    is_left: bool,
}

impl Owner {
    /// Starts one in this environment.
    pub(super) fn start(
        program: &Path,
        vars: &EnvMap,
        stays: bool,
    ) -> Result<Self, ClipboardError> {
        let mut command = Command::new(program);
        command.arg(NAME);
        if stays {
            command.arg(format!("--{STAYS}"));
        }
        // Ctrl-C in a terminal is not meant for it, and it keeps no folder busy.
        command
            .env_clear()
            .envs(vars)
            .process_group(0)
            .current_dir("/");
        let failed = |error: io::Error| ClipboardError::NoOwner {
            cause: error.to_string(),
        };
        let (line, its) = UnixStream::pair().map_err(failed)?;
        let input = its.try_clone().map_err(failed)?;
        command
            .stdin(OwnedFd::from(input))
            .stdout(OwnedFd::from(its))
            .stderr(Stdio::null());
        let process = command.spawn().map_err(failed)?;
        Ok(Self {
            process,
            line,
            answers: None,
            lost: Arc::default(),
            watch: None,
            stays,
            is_left: false,
        })
    }

    /// Gives it a text to put on the clipboard; with `after` only unless something was copied since.
    pub(super) fn put(&mut self, text: &str, after: Option<CopyId>) -> Result<(), ClipboardError> {
        let kind = after.map_or(FrameKind::Text, |_| FrameKind::TextAfter);
        self.ask(kind, after.unwrap_or_default(), text)?;
        self.is_left = self.stays;
        Ok(())
    }

    /// Has it watch what others copy, under this number; what it then tells goes to the exchange.
    pub(super) fn watch(
        &mut self,
        number: u64,
        exchange: &Arc<Exchange>,
    ) -> Result<(), ClipboardError> {
        if self.answers.is_none() {
            self.answers = Some(self.hear(exchange)?);
        }
        self.watch = None;
        let copy = CopyId {
            watch: number,
            generation: 0,
        };
        self.ask(FrameKind::Watch, copy, "")?;
        self.watch = Some(number);
        Ok(())
    }

    /// Has it watch no longer.
    pub(super) fn unwatch(&mut self) -> Result<(), ClipboardError> {
        if self.watch.take().is_none() {
            return Ok(());
        }
        self.ask(FrameKind::Unwatch, CopyId::default(), "")
    }

    /// Returns true if it watches and did this copy's telling: another owner knows nothing of it.
    pub(super) fn knows(&self, copy: CopyId) -> bool {
        self.watch == Some(copy.watch)
    }

    /// Returns true if it watches.
    pub(super) fn watches(&self) -> bool {
        self.watch.is_some()
    }

    /// The reason why it is heard no longer, if so.
    pub(super) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Starts the thread that hears it.
    fn hear(&self, exchange: &Arc<Exchange>) -> Result<Receiver<Frame>, ClipboardError> {
        let failed = |error: io::Error| ClipboardError::NoThread {
            cause: error.to_string(),
        };
        let line = self.line.try_clone().map_err(failed)?;
        line.set_read_timeout(None).map_err(failed)?;
        let (answers, answered) = sync_channel(1);
        let (lost, exchange) = (Arc::clone(&self.lost), Arc::clone(exchange));
        let hear = move || {
            let cause = hear(line, &answers, &exchange);
            let _ = lost.set(cause);
            exchange.ring();
        };
        let thread = thread::Builder::new().name("clipboard news".into());
        thread.spawn(hear).map_err(failed)?;
        Ok(answered)
    }

    fn ask(&mut self, kind: FrameKind, copy: CopyId, text: &str) -> Result<(), ClipboardError> {
        let unreachable = |cause: String| ClipboardError::Unreachable { cause };
        let answer = self.exchange(kind, copy, text);
        let answer = answer.map_err(|error| unreachable(error.to_string()))?;
        let cause = answer.text;
        match answer.kind {
            FrameKind::Done | FrameKind::Watching => Ok(()),
            FrameKind::CopiedSince => Err(ClipboardError::CopiedSince),
            FrameKind::Unreachable => Err(unreachable(cause)),
            FrameKind::Unwatchable => Err(ClipboardError::Unwatchable { cause }),
            _ => Err(ClipboardError::Refused { cause }),
        }
    }

    /// Says something and returns the answer.
    fn exchange(&mut self, kind: FrameKind, copy: CopyId, text: &str) -> io::Result<Frame> {
        let exited = || io::Error::other(EXITED);
        let silent = || io::Error::other("it does not answer");
        Frame::send(&mut self.line, kind, copy, text).map_err(|_| exited())?;
        if let Some(answers) = &self.answers {
            return answers.recv_timeout(PATIENCE).map_err(|error| match error {
                RecvTimeoutError::Timeout => silent(),
                RecvTimeoutError::Disconnected => exited(),
            });
        }
        self.line.set_read_timeout(Some(PATIENCE))?;
        match Frame::next(&mut self.line) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(silent()),
            Ok(Some(answer)) => Ok(answer),
            _ => Err(exited()),
        }
    }

    /// Lets it give its text to a clipboard manager, if there is one, and end.
    pub(super) fn end(mut self) {
        let _ = self.line.shutdown(Shutdown::Write);
        if self.is_left {
            return;
        }
        if let Some(answers) = &self.answers {
            // The thread that hears it ends with it.
            let _ = answers.recv_timeout(FAREWELL);
        } else if self.line.set_read_timeout(Some(FAREWELL)).is_ok() {
            let _ = Frame::next(&mut self.line);
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if !self.is_left {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// Hears an owner: passes its answers on, and tells its news. Returns the reason why it ends.
fn hear(mut line: UnixStream, answers: &SyncSender<Frame>, exchange: &Exchange) -> String {
    while let Ok(Some(frame)) = Frame::next(&mut line) {
        let Frame { kind, copy, text } = frame;
        match kind {
            FrameKind::Copied => {
                let news = ClipboardNews::Copied(CopiedText { text, copy });
                exchange.tell(Some(copy.watch), news);
            }
            FrameKind::Lost if exchange.is_watched(copy.watch) => return text,
            FrameKind::Lost => {}
            FrameKind::Watching => {
                // Before the first text, which may come at once.
                exchange.tell(Some(copy.watch), ClipboardNews::Watching(text));
                let text = String::new();
                let _ = answers.try_send(Frame { kind, copy, text });
            }
            _ => {
                let _ = answers.try_send(Frame { kind, copy, text });
            }
        }
    }
    EXITED.to_owned()
}
