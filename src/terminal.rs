//! What the person at the terminal sees of a run, live. Decides nothing.

use std::io::{self, Write};

use crate::batch::Progress;
use crate::lang::report;

/// Writes to one stream, and knows whether it is at the start of a line.
pub struct Terminal<W> {
    to: W,
    in_line: bool,
}

impl<W: Write> Terminal<W> {
    /// Nothing is written yet.
    pub fn new(to: W) -> Self {
        Self { to, in_line: false }
    }

    /// A line of its own.
    ///
    /// A terminal that is gone is no reason to stop: what is written here is for a person who looks.
    pub fn line(&mut self, text: &str) {
        let _ = self.try_line(text);
    }

    /// A line on stderr.
    pub fn trouble(&mut self, text: &str) {
        if std::mem::take(&mut self.in_line) {
            let _ = writeln!(self.to);
        }
        let _ = writeln!(io::stderr(), "{}", report::one_line(text));
    }

    /// What happens in a run.
    pub fn progress(&mut self, progress: &Progress<'_>) {
        let _ = match progress {
            Progress::Started {
                number,
                total,
                command,
                target,
            } => self.try_line(&format!(
                "▶ {number}/{total} {command} {}",
                report::one_line(target)
            )),
            Progress::Output(_, bytes) => self.output(bytes),
            Progress::Finished(outcome) => self.try_line(&report::outcome_line(outcome)),
        };
    }

    fn try_line(&mut self, text: &str) -> io::Result<()> {
        if std::mem::take(&mut self.in_line) {
            writeln!(self.to)?;
        }
        // In one piece: stderr is not buffered, and each piece would be a system call.
        self.to.write_all(format!("{text}\n").as_bytes())?;
        self.to.flush()
    }

    fn output(&mut self, bytes: &[u8]) -> io::Result<()> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.in_line {
                self.to.write_all("  │ ".as_bytes())?;
            }
            self.to.write_all(line)?;
            self.in_line = !line.ends_with(b"\n");
        }
        self.to.flush()
    }
}
