//! The live view of a run on the terminal: a line for each task, the output of commands, and which command has been running
//! for how long. Decides nothing.

use std::ffi::OsString;
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tracing::Level;

use super::Face;
use crate::logs;
use crate::report;
use crate::run::Progress;
use crate::text::hidden::{Sieve, in_json, is_plain, plain_length, write_out, written_out};
use crate::text::plain::plain;
use crate::world::scarce;

/// The interval at which the time of a running command is updated.
const TICK: Duration = Duration::from_millis(100);

/// A writer to one stream that knows whether it is at the start of a line.
pub struct Terminal<W> {
    to: W,
    in_line: bool,
    /// Drawn on stderr below the output, where that is a terminal.
    running: Option<ProgressBar>,
}

impl<W: Write> Terminal<W> {
    /// Makes one at the start of a line.
    pub fn new(to: W) -> Self {
        Self {
            to,
            in_line: false,
            running: None,
        }
    }

    /// Writes a line of its own.
    ///
    /// A terminal that no longer exists is no reason to stop: this is for a person who looks.
    pub fn line(&mut self, text: &str) {
        let line = format!("{}{}\n", self.line_end(), written_out(text));
        self.write(line.as_bytes());
    }

    /// Writes a line to stderr.
    pub fn trouble(&mut self, text: &str) {
        let end = self.line_end();
        self.write(end.as_bytes());
        let line = logs::line(Level::WARN, &report::one_line(text));
        above(self.running.as_ref(), || {
            io::stderr().write_all(line.as_bytes())
        });
    }

    /// Shows what happens in a run.
    pub fn progress(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Started {
                number,
                total,
                command,
                target,
            } => {
                let what = report::one_line(&format!("{number}/{total} {command} {target}"));
                self.line(&format!("▶ {what}"));
                if command.eq_ignore_ascii_case("exec") {
                    self.running = Some(bar(what));
                }
            }
            Progress::Output(_, bytes) => self.output(bytes),
            Progress::Long(_) => {}
            Progress::Finished(outcome) => {
                if let Some(bar) = self.running.take() {
                    bar.finish_and_clear();
                }
                self.line(&report::outcome_line(outcome));
            }
        }
    }

    /// Shows the output of a command without its colours.
    fn output(&mut self, bytes: &[u8]) {
        let text = plain(bytes);
        let bytes = text.as_bytes();
        let mut shown = Vec::with_capacity(bytes.len() + 1024);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.in_line {
                shown.extend_from_slice("  │ ".as_bytes());
            }
            shown.extend_from_slice(line);
            self.in_line = !line.ends_with(b"\n");
        }
        self.write(&shown);
    }

    /// Returns the end of the line that is begun, if one is.
    fn line_end(&mut self) -> &'static str {
        if std::mem::take(&mut self.in_line) {
            "\n"
        } else {
            ""
        }
    }

    /// Writes all bytes at once: stderr is not buffered, and each piece would be a system call.
    fn write(&mut self, bytes: &[u8]) {
        let to = &mut self.to;
        above(self.running.as_ref(), || {
            to.write_all(bytes).and_then(|()| to.flush())
        });
    }
}

/// Writes above what is drawn of a running command.
fn above(running: Option<&ProgressBar>, write: impl FnOnce() -> io::Result<()>) {
    let _ = match running {
        Some(bar) => bar.suspend(write),
        None => write(),
    };
}

/// Shows which command is running and for how long; hidden where stderr is no terminal.
fn bar(what: String) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}");
    let bar = ProgressBar::new_spinner().with_message(what);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    if !bar.is_hidden() && scarce::check_thread().is_ok() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

/// Standard output or standard error. Invisible characters and terminal escapes are written out, because other programs may have
/// put them into the text.
pub struct Screen<W> {
    to: W,
    sieve: Sieve,
    /// The first bytes of a character whose other bytes have not arrived yet.
    partial: Vec<u8>,
}

/// The width of the terminal that standard output is.
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

/// Tells if standard output shows emphasis: it is a terminal, and the user has not turned styles off.
fn shows_emphasis() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value: OsString| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && !is_dumb && !is_set("NO_COLOR")
}

/// Standard output.
pub fn stdout() -> Screen<StdoutLock<'static>> {
    Screen::new(io::stdout().lock())
}

/// Standard error.
pub fn stderr() -> Screen<StderrLock<'static>> {
    Screen::new(io::stderr().lock())
}

/// Standard output for a text that another program may need byte for byte; only a terminal gets it as from [`stdout`].
pub fn stdout_to_the_byte() -> Box<dyn Write> {
    if io::stdout().is_terminal() {
        Box::new(stdout())
    } else {
        Box::new(io::stdout().lock())
    }
}

/// Prints JSON to standard output.
///
/// # Errors
/// Where it cannot be written.
pub fn print_json(json: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(json)? + "\n";
    io::stdout().lock().write_all(in_json(&text).as_bytes())
}

impl Screen<StdoutLock<'static>> {
    /// Writes a text in its face, as far as the terminal shows that.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn emphasize(&mut self, face: Face, text: &str) -> io::Result<()> {
        let (begin, end) = match face {
            Face::Bold if shows_emphasis() => ("\u{1b}[1m", "\u{1b}[22m"),
            Face::Italic if shows_emphasis() => ("\u{1b}[3m", "\u{1b}[23m"),
            _ => ("", ""),
        };
        self.to.write_all(begin.as_bytes())?;
        self.write_all(text.as_bytes())?;
        self.to.write_all(end.as_bytes())
    }
}

impl<W: Write> Screen<W> {
    fn new(to: W) -> Self {
        Self {
            to,
            sieve: Sieve::default(),
            partial: Vec::new(),
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let (mut from, mut at) = (0, 0);
        loop {
            let plain = plain_length(&text.as_bytes()[at..]);
            if plain > 0 {
                at += plain;
                self.sieve.pass(text.as_bytes()[at - 1]);
            }
            let Some(c) = text[at..].chars().next() else {
                break;
            };
            let start = at;
            at += c.len_utf8();
            if self.sieve.keeps(c) {
                continue;
            }
            self.to.write_all(&text.as_bytes()[from..start])?;
            from = at;
            // A line may end as on Windows.
            if c != '\r' || !text[from..].starts_with('\n') {
                let mut seen = String::new();
                write_out(c, &mut seen);
                self.to.write_all(seen.as_bytes())?;
            }
        }
        self.to.write_all(&text.as_bytes()[from..])
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.partial.is_empty() && is_plain(bytes) {
            self.to.write_all(bytes)?;
            self.sieve.pass(bytes.last().copied().unwrap_or_default());
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let mut read = 0;
        for piece in all.utf8_chunks() {
            self.text(piece.valid())?;
            read += piece.valid().len() + piece.invalid().len();
            let invalid = piece.invalid();
            let is_cut =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_cut && read == all.len() {
                self.partial = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.text("\u{fffd}")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
