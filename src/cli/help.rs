//! The help: the commands in groups, and worked examples. `cli/mod.rs` defines the commands and flags.

use std::fmt::Write;

use clap::Command;

use super::topics::{self, TOPICS, Topic};

/// The commands by purpose. A command that is in no group is listed under [`OTHERS`].
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Start",
        &[
            "init",
            "instructions",
            "watch",
            "run",
            "check",
            "context",
            "outline",
            "copy",
        ],
    ),
    (
        "What happened",
        &["status", "log", "tail", "diff", "doctor"],
    ),
    (
        "Approve, retry, configure",
        &["retry", "approve", "trust", "config"],
    ),
    (
        "Undo",
        &["undo", "redo", "step-back", "step-forward", "squash"],
    ),
    (
        "In the background",
        &[
            "add", "remove", "list", "daemon", "service", "pause", "resume",
        ],
    ),
];
const OTHERS: &str = "Other commands";

/// The examples at the end of each command's help, as a shell would have them: a command line, and its effect as a comment.
/// Those above the empty line are for the whole program.
const EXAMPLES: &str = include_str!("examples.txt");

/// The end of the main help.
const END: &str = "\
Options: those of `clada watch`, and -h, --help, -V, --version.
`clada help COMMAND` explains a command, `clada help TOPIC` prints a page.

Exit status: 0 all done, 1 something failed, 2 wrong usage.
CLADA_LOG=debug logs to stderr what clada does and why.";

/// Adds the help to the definition of the whole program.
pub(super) fn with_help(mut whole: Command) -> Command {
    let names: Vec<String> = whole
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    for name in names {
        let below = below(&name);
        if !below.is_empty() {
            whole = whole.mut_subcommand(&name, |command| command.after_help(below));
        }
    }
    let header = whole.get_styles().get_header();
    let head = |text: &str| format!("{header}{text}{header:#}");
    let mut template = format!(
        "{{about}}\n\n{} clada [FILE] [OPTIONS]   watch a notes file, as `clada watch` does\n       clada COMMAND\n",
        head("Usage:")
    );
    for (name, commands) in groups(&whole) {
        let _ = write!(template, "\n{}\n", head(&format!("{name}:")));
        let literal = whole.get_styles().get_literal();
        for (name, about) in commands {
            let _ = writeln!(template, "  {literal}{name:<12}{literal:#}  {about}");
        }
    }
    let _ = write!(template, "\n{}\n", head("Topics (`clada help TOPIC`):"));
    for topic in TOPICS {
        let literal = whole.get_styles().get_literal();
        let Topic { name, about, .. } = topic;
        let _ = writeln!(template, "  {literal}{name:<15}{literal:#}  {about}");
    }
    template.truncate(template.trim_end().len());
    template += "{after-help}";
    whole
        .after_help(format!("{}\n{END}", below("clada")))
        .help_template(template)
}

/// All commands with their descriptions, by group.
pub(super) fn groups(whole: &Command) -> Vec<(&'static str, Vec<(String, String)>)> {
    let shown = |command: &Command| {
        let about = command.get_about().map(ToString::to_string);
        (command.get_name().to_owned(), about.unwrap_or_default())
    };
    let known = |name: &&str| whole.find_subcommand(name).map(shown);
    let is_other = |command: &&Command| {
        let mut grouped = GROUPS.iter().flat_map(|(_, names)| names.iter());
        !grouped.any(|name| *name == command.get_name())
    };
    let others = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .filter(is_other)
        .map(shown)
        .collect();
    let groups = GROUPS.iter();
    let mut all: Vec<(&str, Vec<_>)> = groups
        .map(|(name, names)| (*name, names.iter().filter_map(&known).collect()))
        .collect();
    all.push((OTHERS, others));
    all.retain(|(_, commands): &(_, Vec<_>)| !commands.is_empty());
    all
}

/// The examples of a command, or of the whole program.
pub(super) fn examples(name: &str) -> Vec<(&'static str, &'static str)> {
    let (whole, commands) = EXAMPLES.split_once("\n\n").unwrap_or_default();
    let is_of = |line: &&str| name == "clada" || line.split(' ').nth(1) == Some(name);
    let lines = if name == "clada" { whole } else { commands };
    let lines = lines.lines().filter(is_of);
    lines.filter_map(|line| line.split_once("  # ")).collect()
}

/// The longest example with its explanation on the same line.
const BESIDE: usize = 60;

fn below(name: &str) -> String {
    let lines = examples(name);
    let width = lines.iter().map(|(line, _)| line.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    if !lines.is_empty() {
        text += "Examples:\n";
    }
    for (line, says) in lines {
        let _ = if width > BESIDE {
            writeln!(text, "  {line}\n      {says}")
        } else {
            writeln!(text, "  {line:<width$}  {says}")
        };
    }
    if let Some(topic) = topics::of_command(name) {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{gap}See also: `clada help {topic}`");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn examples_are_right_usage() {
        let (whole, commands) = EXAMPLES.split_once("\n\n").expect("two parts");
        let of_whole = whole.lines().map(|line| ("clada", line));
        let of_commands = commands.lines().map(|line| ("", line));
        for (name, line) in of_whole.chain(of_commands) {
            let (line, _) = line.split_once("  # ").expect("an effect");
            let command = line.split(['|', '<', '>']).next().unwrap_or_default();
            let words = command
                .split_whitespace()
                .map(|word| word.trim_matches('\''));
            // The only quoted text has two words, of which one is enough.
            let words = words.filter(|word| *word != "login");
            let read = Cli::definition().try_get_matches_from(words);
            let read = read.unwrap_or_else(|error| panic!("{line}: {error}"));
            let meant = read.subcommand_name().unwrap_or_default();
            let shown = |(known, _): &(&str, &str)| *known == line;
            assert!(
                name == "clada" || examples(meant).iter().any(shown),
                "{line} is no example of {meant}"
            );
        }
    }

    #[test]
    fn every_command_is_found_in_the_help_which_fits_a_terminal() {
        let mut whole = Cli::definition();
        let help = whole.render_help().to_string();
        for command in whole.get_subcommands() {
            let line = format!("\n  {:<12}  ", command.get_name());
            let times = help.matches(&line).count();
            assert_eq!(times, usize::from(!command.is_hide_set()), "{line}");
        }
        let wide: Vec<&str> = help
            .lines()
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(wide.is_empty(), "{wide:#?}");
        let others = ["help", "completions", "man"];
        let groups = groups(&whole);
        let (name, found) = groups.last().expect("groups");
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((*name, names.as_slice()), (OTHERS, others.as_slice()));
    }
}
