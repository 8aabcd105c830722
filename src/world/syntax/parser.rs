//! Owns the process that parses, and what is said to it and by it: a text goes in with its language, an answer comes out.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use serde::{Deserialize, Serialize};

use super::{CodeError, parse_here};
use crate::code::{CodeLanguage, FileSummary, ParsedFile};
use crate::world::sandbox;

/// The name of the command that parses.
pub const NAME: &str = "code-parser";

/// The longest time that an answer may take; the parser gives up by itself before that, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest message, in bytes.
const LONGEST: usize = 256 * 1024 * 1024;

/// A process that parses. It ends with this value.
#[derive(Debug)]
pub(super) struct Parser {
    process: Child,
    input: ChildStdin,
    output: ChildStdout,
}

/// The head of a text that is sent to it.
#[derive(Debug, Serialize, Deserialize)]
struct ParserRequest {
    language: CodeLanguage,
    /// The bytes of the text behind it.
    size: usize,
    wants_summary: bool,
}

/// An answer of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ParserAnswer {
    Parsed(ParsedFile),
    Summed(FileSummary),
    TooSlow,
    Failed(String),
}

impl Parser {
    /// Starts one.
    pub(super) fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .arg(NAME)
            .env_clear()
            .current_dir("/")
            .process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("it has no pipes"));
        };
        Ok(Self {
            process,
            input,
            output,
        })
    }

    /// Has a text parsed. Where it gives no answer, it is of no more use.
    pub(super) fn ask(
        &mut self,
        language: CodeLanguage,
        text: &str,
        wants_summary: bool,
    ) -> Result<ParserAnswer, CodeError> {
        let head = ParserRequest {
            language,
            size: text.len(),
            wants_summary,
        };
        let until = Instant::now() + PATIENCE;
        let answer = self.exchange(&head, text, until);
        answer.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => CodeError::TooSlow,
            _ => CodeError::Failed("its process ended".to_owned()),
        })
    }

    fn exchange(
        &mut self,
        head: &ParserRequest,
        text: &str,
        until: Instant,
    ) -> io::Result<ParserAnswer> {
        let mut message = message(&serde_json::to_vec(head)?);
        message.extend_from_slice(text.as_bytes());
        // It reads all of a text before it answers.
        self.input.write_all(&message)?;
        self.input.flush()?;
        let mut size = [0; 8];
        self.read(&mut size, until)?;
        let size = usize::try_from(u64::from_le_bytes(size)).unwrap_or(usize::MAX);
        if size > LONGEST {
            return Err(io::Error::other("an answer that is too long"));
        }
        let mut answer = vec![0; size];
        self.read(&mut answer, until)?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Reads so many bytes until then.
    fn read(&mut self, mut into: &mut [u8], until: Instant) -> io::Result<()> {
        while !into.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut output = [PollFd::new(&self.output, PollFlags::IN)];
            if poll(&mut output, Some(&left))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.output.read(into)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => into = &mut into[count..],
            }
        }
        Ok(())
    }
}

impl ParserAnswer {
    /// The reason why it is not what was asked for.
    pub(super) fn error(self) -> CodeError {
        match self {
            Self::TooSlow => CodeError::TooSlow,
            Self::Failed(why) => CodeError::Failed(why),
            Self::Parsed(_) | Self::Summed(_) => {
                CodeError::Failed("it gave another answer".to_owned())
            }
        }
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Parses the texts that come on the standard input until that ends.
///
/// # Errors
/// Where one is no text, or the answer cannot be written.
pub fn serve() -> io::Result<()> {
    // What it reads may be made to find a fault in a grammar.
    sandbox::stay_alone().map_err(io::Error::other)?;
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    while let Some(head) = receive(&mut input)? {
        let head: ParserRequest = serde_json::from_slice(&head)?;
        let mut text = vec![0; head.size.min(LONGEST)];
        input.read_exact(&mut text)?;
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        let answer = match parse_here(head.language, &text) {
            Ok(parsed) if head.wants_summary => ParserAnswer::Summed(parsed.summary()),
            Ok(parsed) => ParserAnswer::Parsed(parsed),
            Err(CodeError::TooSlow) => ParserAnswer::TooSlow,
            Err(error) => ParserAnswer::Failed(error.to_string()),
        };
        output.write_all(&message(&serde_json::to_vec(&answer)?))?;
        output.flush()?;
    }
    Ok(())
}

/// A message with its length before it, to be written at once: each piece would wake the other process up.
fn message(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

/// Reads a message; `None` at the end.
fn receive(from: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut size = [0; 8];
    match from.read_exact(&mut size) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let size = usize::try_from(u64::from_le_bytes(size)).unwrap_or(usize::MAX);
    let mut message = vec![0; size.min(LONGEST)];
    from.read_exact(&mut message)?;
    Ok(Some(message))
}
