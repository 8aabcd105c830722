//! The question about a script that needs approval, as the person is shown it: with each of its commands. Decides nothing.

use std::collections::HashSet;

use crate::text::visible::visible;

/// The number of lines that are shown below that of a task.
const LINES: usize = 5;
/// The length of a command that a line shows, in characters.
const LINE: usize = 200;
/// A single command of so many characters stands in the line of its task.
const SHORT: usize = 100;

/// A script that the person is to be asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// The question, and each command on a line of its own; nothing where the script is one line that is shown whole.
    pub message: Option<String>,
    /// All that the person may want to read of it before an answer, where the line does not show it.
    pub whole: Option<String>,
}

impl Question {
    /// The question of whether these commands of a script may run; `target` is what is shown of it anyway.
    pub fn new(script: &str, target: &str, commands: impl IntoIterator<Item = String>) -> Self {
        let trimmed = script.trim();
        let is_shown = target == trimmed && shown(trimmed) == trimmed && is_short(trimmed, LINE);
        if is_shown {
            return Self::default();
        }
        let mut seen = HashSet::new();
        let commands = commands.into_iter().map(|command| shown(&command));
        let commands: Vec<String> = commands
            .filter(|command| seen.insert(command.clone()))
            .collect();
        let message = match &commands[..] {
            [command] if is_short(command, SHORT) => format!("needs approval for `{command}`"),
            [command] => format!("needs approval for this command\n{command}"),
            _ => format!(
                "needs approval for these {} commands\n{}",
                commands.len(),
                commands.join("\n")
            ),
        };
        let whole = whole(&message, trimmed);
        Self {
            message: Some(message),
            whole: Some(whole),
        }
    }
}

/// A message and the script that it is about, for the full output.
pub fn whole(message: &str, script: &str) -> String {
    format!("{message}\n\nthe script:\n{}\n", script.trim())
}

/// The first line of a message, and the commands below it as they are shown there.
pub fn parted(message: &str) -> (&str, Vec<String>) {
    let (first, commands) = message.split_once('\n').unwrap_or((message, ""));
    let mut lines: Vec<String> = commands.lines().map(cut).collect();
    if lines.len() > LINES {
        let more = lines.len() - (LINES - 1);
        lines.truncate(LINES - 1);
        lines.push(format!(
            "and {more} more: see all of them, and the whole script, in the full output"
        ));
    }
    (first, lines)
}

/// A command in one line in which nothing hides.
fn shown(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    visible(&words.join(" ")).into_owned()
}

fn is_short(text: &str, most: usize) -> bool {
    text.chars().count() <= most
}

fn cut(command: &str) -> String {
    match command.char_indices().nth(LINE) {
        Some((end, _)) => {
            let more = command[end..].chars().count();
            format!("{}… ({more} more characters)", &command[..end])
        }
        None => command.to_owned(),
    }
}
