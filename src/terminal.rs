//! What the person at the terminal sees of a run, live: a line for each task, what a command writes, and which command
//! runs for how long. Decides nothing.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tracing::Level;

use crate::batch::Progress;
use crate::lang::plain::plain;
use crate::lang::report;
use crate::logs;
use crate::world::scarce;

/// How often the time of a running command is shown anew.
const TICK: Duration = Duration::from_millis(100);

/// Writes to one stream, and knows whether it is at the start of a line.
pub struct Terminal<W> {
    to: W,
    in_line: bool,
    /// Drawn on stderr below what was written, where that is a terminal.
    running: Option<ProgressBar>,
}

impl<W: Write> Terminal<W> {
    /// Nothing is written yet.
    pub fn new(to: W) -> Self {
        Self {
            to,
            in_line: false,
            running: None,
        }
    }

    /// A line of its own.
    ///
    /// A terminal that is gone is no reason to stop: what is written here is for a person who looks.
    pub fn line(&mut self, text: &str) {
        let line = format!("{}{text}\n", self.line_end());
        self.write(line.as_bytes());
    }

    /// A line on stderr.
    pub fn trouble(&mut self, text: &str) {
        let end = self.line_end();
        self.write(end.as_bytes());
        let line = logs::line(Level::WARN, &report::one_line(text));
        let write = || {
            let _ = io::stderr().write_all(line.as_bytes());
        };
        match &self.running {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// What happens in a run.
    pub fn progress(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Started {
                number,
                total,
                command,
                target,
            } => {
                let what = format!("{number}/{total} {command} {}", report::one_line(target));
                self.line(&format!("▶ {what}"));
                if command.eq_ignore_ascii_case("exec") {
                    self.running = Some(bar(what));
                }
            }
            Progress::Output(_, bytes) => self.output(bytes),
            Progress::Finished(outcome) => {
                if let Some(bar) = self.running.take() {
                    bar.finish_and_clear();
                }
                self.line(&report::outcome_line(outcome));
            }
        }
    }

    /// Shows what a command writes, without its colours: nobody asked for those here.
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

    /// What ends the line that is begun, if one is.
    fn line_end(&mut self) -> &'static str {
        match std::mem::take(&mut self.in_line) {
            true => "\n",
            false => "",
        }
    }

    /// In one piece: stderr is not buffered, and each piece would be a system call.
    fn write(&mut self, bytes: &[u8]) {
        let to = &mut self.to;
        let mut write = || {
            let _ = to.write_all(bytes).and_then(|()| to.flush());
        };
        match &self.running {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

/// Shows that a command runs, and for how long; nothing where stderr is no terminal.
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
