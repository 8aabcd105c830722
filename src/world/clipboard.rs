//! Owns the system's clipboard: puts text there and keeps it there. Never reads it, and never lets a slow display hold up anything.
//!
//! On X11 the text lives in the process that set it, so one owner stays for as long as clada does, on a thread of its own: a display
//! server that hangs blocks that thread and nobody else. It is made at the first copy and made anew after an error, so that a display
//! that appears later (a service that started before the desktop) is found without being looked for.

mod trial;

use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub use trial::{Trial, try_out};

/// X11 says yes to more than this and gives every reader nothing.
const MOST: usize = 16 * 1024 * 1024;
/// How long giving the text to a clipboard manager may take at the end; it takes 100 ms where there is none.
const FAREWELL: Duration = Duration::from_millis(300);

/// Why a text is not on the clipboard; short enough for one line of a results block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipboardError {
    #[error("no display (DISPLAY and WAYLAND_DISPLAY are not set)")]
    NoDisplay,
    #[error("display not reachable ({cause})")]
    Unreachable { cause: String },
    #[error("display refused the text ({cause})")]
    Refused { cause: String },
    #[error("display did not answer within {} ms", patience.as_millis())]
    NoAnswer { patience: Duration },
    #[error("a newer text came first")]
    Overtaken,
    #[error("text of {bytes} bytes is too long for the clipboard (16 MiB): cut it")]
    TooLong { bytes: usize },
    #[error("no thread for it ({cause})")]
    NoThread { cause: String },
}

/// The clipboard and its owner.
///
/// Dropping it ends the ownership, and gives a clipboard manager, if there is one, the text to keep; that is waited for only shortly.
/// A process that ends without the drop ends just as fast, and the text goes with it.
pub struct Clipboard {
    shared: Arc<Shared>,
    /// Disconnected when the thread has ended; or why it could not be started.
    ended: std::io::Result<Receiver<()>>,
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
    answer: SyncSender<Result<(), ClipboardError>>,
}

impl Clipboard {
    /// Starts the thread, which sleeps until there is something to copy. No display is looked for yet.
    pub fn start() -> Clipboard {
        let shared = Arc::<Shared>::default();
        let (ending, ended) = sync_channel(0);
        let desk = Arc::clone(&shared);
        let started = thread::Builder::new()
            .name("clipboard".into())
            .spawn(move || serve(&desk, ending));
        Clipboard {
            shared,
            ended: started.map(|_| ended),
        }
    }

    /// Puts the text on the clipboard, and waits for that only so long. After `NoAnswer` the thread goes on with this text until it is
    /// there, unless a later copy replaces it.
    ///
    /// What is too long for every reader is an error, as it would look like a success; the caller cuts, far below this.
    pub fn copy(&self, text: String, patience: Duration) -> Result<(), ClipboardError> {
        if let Err(error) = &self.ended {
            let cause = error.to_string();
            return Err(ClipboardError::NoThread { cause });
        }
        let bytes = text.len();
        if bytes > MOST {
            return Err(ClipboardError::TooLong { bytes });
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
        if let Ok(ended) = &self.ended {
            // Not joined: a thread that a display holds is left to the end of the process.
            let _ = ended.recv_timeout(FAREWELL);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until there is a job; `None` at the end.
    fn next(&self) -> Option<Job> {
        let idle = |desk: &mut Desk| desk.job.is_none() && !desk.closed;
        let desk = self.filled.wait_while(self.lock(), idle);
        let mut desk = desk.unwrap_or_else(PoisonError::into_inner);
        if desk.closed { None } else { desk.job.take() }
    }
}

/// The thread. `_ending` is dropped after the owner, which says that it is done.
fn serve(shared: &Shared, _ending: SyncSender<()>) {
    let mut owner = None;
    while let Some(job) = shared.next() {
        // A panic of the foreign code must not cost the clipboard for the rest of the run.
        let put = panic::catch_unwind(AssertUnwindSafe(|| put(&mut owner, &job.text)));
        let result = put.unwrap_or_else(|_| {
            let cause = "it panicked".into();
            Err(ClipboardError::Refused { cause })
        });
        // Nobody may wait for it any more.
        let _ = job.answer.try_send(result);
    }
}

fn put(owner: &mut Option<arboard::Clipboard>, text: &str) -> Result<(), ClipboardError> {
    if let Some(old) = owner {
        if old.set_text(text).is_ok() {
            return Ok(());
        }
        owner.take().into_iter().for_each(give_up);
    }
    let mut new = open()?;
    let done = new.set_text(text).map_err(|error| ClipboardError::Refused {
        cause: short(error),
    });
    match done {
        Ok(()) => *owner = Some(new),
        Err(_) => give_up(new),
    }
    done
}

fn open() -> Result<arboard::Clipboard, ClipboardError> {
    let unset = |name| env::var_os(name).is_none_or(|value| value.is_empty());
    if cfg!(not(target_os = "macos")) && unset("DISPLAY") && unset("WAYLAND_DISPLAY") {
        return Err(ClipboardError::NoDisplay);
    }
    arboard::Clipboard::new().map_err(|error| ClipboardError::Unreachable {
        cause: short(error),
    })
}

/// Drops an owner that does not work any more, so that the next one is a new one.
///
/// On X11 arboard keeps one connection for the process and counts its owners to find the last: us, itself and its thread. When the
/// server went away that thread has ended, the count is never reached, and every later owner gets the dead connection. A second owner
/// takes the thread's place in the count.
fn give_up(owner: arboard::Clipboard) {
    let second = arboard::Clipboard::new();
    drop(owner);
    drop(second);
}

/// One line, as it goes into one.
fn short(error: arboard::Error) -> String {
    let text = match error {
        arboard::Error::Unknown { description } => description,
        other => other.to_string(),
    };
    let words: Vec<_> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    text.truncate(text.floor_char_boundary(120));
    text
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdout, Command, Stdio};
    use std::time::Instant;

    const PATIENCE: Duration = Duration::from_secs(5);

    /// Not a test of its own: the body of the children below, whose displays are not that of the test process. Copies each line that
    /// it is given and answers with one.
    #[test]
    fn copies_lines_when_asked_to() {
        if env::var_os("CLADA_TEST_COPIES").is_none() {
            return;
        }
        let clipboard = Clipboard::start();
        let patience = env::var("CLADA_TEST_PATIENCE").map_or(PATIENCE, |millis| {
            Duration::from_millis(millis.parse().unwrap())
        });
        let mut out = std::io::stdout();
        for line in std::io::stdin().lines() {
            let line = line.unwrap();
            let text = match line.strip_prefix("long ") {
                Some(count) => "ä".repeat(count.parse().unwrap()),
                None => line,
            };
            let result = clipboard.copy(text, patience);
            writeln!(out, "answer {result:?}").unwrap();
        }
        let start = Instant::now();
        drop(clipboard);
        writeln!(out, "answer {}", start.elapsed() < Duration::from_secs(30)).unwrap();
    }

    struct Copier {
        child: Child,
        out: BufReader<ChildStdout>,
    }

    impl Copier {
        fn start(display: Option<&str>) -> Copier {
            Copier::start_with(display, &[])
        }
        fn start_with(display: Option<&str>, variables: &[(&str, &str)]) -> Copier {
            let mut command = Command::new(env::current_exe().unwrap());
            command.args([
                "--exact",
                "world::clipboard::tests::copies_lines_when_asked_to",
                "--nocapture",
            ]);
            command.env("CLADA_TEST_COPIES", "1");
            command.env_remove("WAYLAND_DISPLAY").env_remove("DISPLAY");
            command.envs(variables.iter().copied());
            command.envs(display.map(|display| ("DISPLAY", display)));
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let out = BufReader::new(child.stdout.take().unwrap());
            Copier { child, out }
        }
        fn copy(&mut self, line: &str) -> String {
            writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
            self.answer()
        }
        fn answer(&mut self) -> String {
            let mut line = String::new();
            while self.out.read_line(&mut line).unwrap() > 0 {
                // The test harness writes into the same line.
                if let Some((_, answer)) = line.split_once("answer ") {
                    return answer.trim_end().to_owned();
                }
                line.clear();
            }
            panic!("no answer");
        }
        fn end(mut self) -> String {
            drop(self.child.stdin.take());
            let answer = self.answer();
            self.child.wait().unwrap();
            answer
        }
    }

    /// A display server of one's own.
    struct Xvfb {
        child: Child,
        display: String,
    }

    impl Xvfb {
        /// `None` where it is not installed.
        fn start(display: Option<&str>) -> Option<Xvfb> {
            let mut command = Command::new("Xvfb");
            command
                .args(display)
                .args(["-displayfd", "1", "-nolisten", "tcp", "-noreset"]);
            command.stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().ok()?;
            let mut number = String::new();
            BufReader::new(child.stdout.as_mut().unwrap())
                .read_line(&mut number)
                .unwrap();
            let display = format!(":{}", number.trim());
            Some(Xvfb { child, display })
        }
        fn read(&self) -> String {
            let mut command = Command::new("timeout");
            command.args([
                "10",
                "xclip",
                "-o",
                "-selection",
                "clipboard",
                "-display",
                &self.display,
            ]);
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        }
    }

    impl Drop for Xvfb {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    #[test]
    fn no_display_is_said_at_once() {
        let mut copier = Copier::start(None);
        let start = Instant::now();
        assert_eq!(copier.copy("text"), "Err(NoDisplay)");
        assert!(start.elapsed() < PATIENCE);
        assert_eq!(copier.end(), "true");

        let mut copier = Copier::start(Some(":4711"));
        assert!(copier.copy("text").starts_with("Err(Unreachable"));
        assert_eq!(copier.end(), "true");
    }

    #[test]
    fn what_no_reader_would_get_is_an_error() {
        let clipboard = Clipboard::start();
        let bytes = MOST + 1;
        let failed = clipboard.copy("x".repeat(bytes), PATIENCE);
        assert_eq!(failed, Err(ClipboardError::TooLong { bytes }));
    }

    #[test]
    fn readers_get_the_text_also_after_the_display_came_back() {
        let Some(xvfb) = Xvfb::start(None) else {
            return;
        };
        let mut copier = Copier::start(Some(&xvfb.display));
        for text in ["first", "second 🌍 `$x`"] {
            assert_eq!(copier.copy(text), "Ok(())");
            assert_eq!(xvfb.read(), text);
        }
        assert_eq!(copier.copy("long 4194304"), "Ok(())");
        assert_eq!(xvfb.read().len(), 8 * 1024 * 1024);

        let display = xvfb.display.clone();
        drop(xvfb);
        assert!(copier.copy("nobody there").starts_with("Err("));
        let xvfb = Xvfb::start(Some(&display)).unwrap();
        assert_eq!(xvfb.display, display);
        assert_eq!(copier.copy("back"), "Ok(())");
        assert_eq!(xvfb.read(), "back");
        assert_eq!(copier.end(), "true");
    }

    /// A server that accepts and never answers, as one does that is stopped.
    #[test]
    fn a_display_that_hangs_holds_up_nobody() {
        let Some(xvfb) = Xvfb::start(None) else {
            return;
        };
        let stop = |signal: &str| {
            let pid = xvfb.child.id().to_string();
            assert!(
                Command::new("kill")
                    .args([signal, &pid])
                    .status()
                    .unwrap()
                    .success()
            );
        };
        stop("-STOP");
        let mut copier = Copier::start_with(Some(&xvfb.display), &[("CLADA_TEST_PATIENCE", "300")]);
        let refused = "Err(NoAnswer { patience: 300ms })";
        assert_eq!(copier.copy("too early"), refused);
        assert_eq!(copier.copy("also too early"), refused);
        stop("-CONT");
        while copier.copy("later") == refused {}
        assert_eq!(xvfb.read(), "later");
        stop("-STOP");
        assert_eq!(copier.end(), "true");
        stop("-CONT");
    }
}
