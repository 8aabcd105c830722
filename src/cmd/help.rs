//! `clada help`: the help of a command, or a page of the manual.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cli::topics::{self, TOPICS, Topic};
use crate::cli::{self, Cli};
use crate::error::Error;
use crate::text::names::{nearest_name, typos};

/// The widest that a page becomes.
const WIDEST: usize = 100;

/// Prints what is known of a command or a topic; of no word, the list of both.
///
/// # Errors
/// For a word that is neither.
pub fn main(words: &[String]) -> Result<ExitCode, Error> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let [word] = words.as_slice()
        && let Some(topic) = topics::find(word)
    {
        return Ok(match print(topic) {
            // Whoever reads has read enough.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error.into()),
            _ => ExitCode::SUCCESS,
        });
    }
    if let Some(first) = words.first().filter(|first| !Cli::has_command(first)) {
        return Err(Error::NoHelp {
            given: (*first).to_owned(),
            nearest: nearest(first),
            topics: TOPICS
                .iter()
                .map(|topic| topic.name)
                .collect::<Vec<_>>()
                .join(", "),
        });
    }
    let help = Cli::help_of(&words);
    let _ = help.print();
    Ok(ExitCode::from(u8::try_from(help.exit_code()).unwrap_or(2)))
}

fn print(topic: &Topic) -> io::Result<()> {
    use std::io::Write;
    let width = terminal::width().map_or(WIDEST, |width| width.min(WIDEST));
    let mut out = terminal::stdout();
    for line in cli::lines(topic.page, width) {
        for span in line {
            out.emphasize(span.face, &span.text)?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// The command or topic that may be meant.
fn nearest(word: &str) -> Option<String> {
    let topics = TOPICS.iter().map(|topic| topic.name.to_owned());
    let names = Cli::commands().into_iter().chain(topics);
    let distance = |name: &String| typos(name, word);
    let is_near = |name: &String| distance(name) <= 2 && distance(name) * 2 < word.len();
    nearest_name(word, names.filter(is_near))
}
