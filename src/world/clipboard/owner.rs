//! Owns the process that has the text: both how it is started and what it does. Knows no display but the one that it is given.
//!
//! On X11 and Wayland the text lives in the process that set it, and the libraries find the display in the environment.
//! That of a process with threads must not be changed; so the owner is a process of its own, which is this program again. A
//! display that hangs, or takes the owner with it, then costs a process that is ended and started anew.
//!
//! It gets texts on its standard input, each after its length, and answers each with a line. At the end of the input it ends.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::display::{self, EnvMap};
use super::{ClipboardError, MOST};

/// The name of the command that is the owner.
pub const NAME: &str = "clipboard-owner";
/// The flag with which it stays until somebody else copies something.
pub const STAYS: &str = "stays";

/// The longest time that a display may take to answer before it is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time that giving the text to a clipboard manager may take at the end; it takes 100 ms where there is none.
const FAREWELL: Duration = Duration::from_millis(300);
/// The time after which an owner that stays checks again that its display is there.
const LOOK: Duration = Duration::from_secs(10);
/// The answers, of which the second is followed by the cause.
const DONE: &str = "done";
const UNREACHABLE: &str = "unreachable ";

/// An owner that runs. It is ended with this value, unless it has to stay.
#[derive(Debug)]
pub(super) struct Owner {
    process: Child,
    /// Leads to its standard input and comes from its standard output.
    line: UnixStream,
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
            stays,
            is_left: false,
        })
    }

    /// Gives it a text to put on the clipboard.
    pub(super) fn put(&mut self, text: &str) -> Result<(), ClipboardError> {
        let unreachable = |cause: String| ClipboardError::Unreachable { cause };
        let answer = self
            .ask(text)
            .map_err(|error| unreachable(error.to_string()))?;
        if answer == DONE {
            self.is_left = self.stays;
            return Ok(());
        }
        Err(match answer.strip_prefix(UNREACHABLE) {
            Some(cause) => unreachable(cause.to_owned()),
            None => ClipboardError::Refused { cause: answer },
        })
    }

    fn ask(&mut self, text: &str) -> io::Result<String> {
        let exited = || io::Error::other("the process that held it exited");
        let sent = self
            .line
            .write_all(&(text.len() as u64).to_le_bytes())
            .and_then(|()| self.line.write_all(text.as_bytes()));
        sent.map_err(|_| exited())?;
        self.line.set_read_timeout(Some(PATIENCE))?;
        let mut answer = String::new();
        match BufReader::new(&self.line).read_line(&mut answer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(io::Error::other("it does not answer"))
            }
            Ok(_) if answer.ends_with('\n') => Ok(answer.trim_end().to_owned()),
            _ => Err(exited()),
        }
    }

    /// Lets it give its text to a clipboard manager, if there is one, and end.
    pub(super) fn end(mut self) {
        let _ = self.line.shutdown(Shutdown::Write);
        if !self.is_left && self.line.set_read_timeout(Some(FAREWELL)).is_ok() {
            let _ = self.line.read_to_end(&mut Vec::new());
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

/// Runs the process that is the owner. With `stays` it takes one text, and ends when somebody else copies something.
///
/// # Errors
/// Where its input is none, or there is no thread.
pub fn own(stays: bool) -> io::Result<()> {
    let (texts, work) = sync_channel(1);
    let (ending, ended) = sync_channel(0);
    // The display may hang: whether clada has ended is noticed beside it.
    thread::Builder::new().spawn(move || serve(&work, stays, ending))?;
    let mut input = io::stdin().lock();
    while let Some(text) = next(&mut input)? {
        if texts.send(text).is_err() {
            break;
        }
    }
    drop(texts);
    // Who waits for another copy is not told when the display goes. One that cannot be asked is taken to stay.
    let vars = env::vars_os().collect();
    let server = || stays.then(|| display::server(&vars)).flatten();
    let first = server();
    let every = if stays { LOOK } else { FAREWELL };
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(every)
        && stays
        && server() == first
    {}
    Ok(())
}

/// The next text; `None` at the end.
fn next(input: &mut dyn Read) -> io::Result<Option<String>> {
    let mut size = [0; 8];
    if input.read_exact(&mut size).is_err() {
        return Ok(None);
    }
    let size = usize::try_from(u64::from_le_bytes(size)).unwrap_or(usize::MAX);
    if size > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; size];
    input.read_exact(&mut text)?;
    String::from_utf8(text).map(Some).map_err(io::Error::other)
}

/// `_ending` is dropped after the clipboard, which says that it is done.
fn serve(work: &Receiver<String>, stays: bool, _ending: SyncSender<()>) {
    let mut clipboard = None;
    for text in work {
        let answer = set(&mut clipboard, &text);
        let said = io::stdout().write_all(format!("{answer}\n").as_bytes());
        if said.and_then(|()| io::stdout().flush()).is_err() {
            return;
        }
        if let Some(clipboard) = clipboard.as_mut().filter(|_| stays) {
            stay(clipboard, text);
            return;
        }
    }
}

/// Puts a text on the clipboard, and returns the answer to that.
fn set(clipboard: &mut Option<arboard::Clipboard>, text: &str) -> String {
    if clipboard.is_none() {
        match arboard::Clipboard::new() {
            Ok(new) => *clipboard = Some(new),
            Err(error) => return UNREACHABLE.to_owned() + &short(error),
        }
    }
    let set = clipboard.as_mut().map(|clipboard| clipboard.set_text(text));
    match set {
        Some(Err(error)) => short(error),
        Some(Ok(())) | None => DONE.to_owned(),
    }
}

/// Waits until somebody else copies something.
fn stay(clipboard: &mut arboard::Clipboard, text: String) {
    #[cfg(not(target_os = "macos"))]
    {
        use arboard::SetExtLinux;
        // It is told that the text is there before this, as this does not return.
        let _ = clipboard.set().wait().text(text);
    }
    #[cfg(target_os = "macos")]
    let _ = (clipboard, text);
}

/// One line, as it goes into one.
pub(super) fn short(error: arboard::Error) -> String {
    let text = match error {
        arboard::Error::Unknown { description } => description,
        other => other.to_string(),
    };
    let words: Vec<_> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    text.truncate(text.floor_char_boundary(120));
    text
}
