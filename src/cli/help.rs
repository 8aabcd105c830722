//! The help: the commands in groups, and worked examples. Which commands and flags there are, `cli.rs` says.

use std::fmt::Write;

use clap::Command;

use super::topics::{self, TOPICS};

/// The commands as one looks for them; one that is in no group is among the others.
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
            "copy",
        ],
    ),
    (
        "What happened",
        &["status", "log", "tail", "diff", "doctor"],
    ),
    ("Go on", &["retry", "approve", "trust", "config"]),
    (
        "Take back",
        &["undo", "redo", "step-back", "step-forward", "squash"],
    ),
    (
        "In the background",
        &["add", "remove", "list", "daemon", "service"],
    ),
];
const OTHERS: &str = "Other commands";

/// The notes file and the root of a command that goes on with what was watched.
const WATCHED_FILE: &str =
    "The notes file [default: the one watched for the project folder, else its clada.md]";
const WATCHED_ROOT: &str = "The project folder: no file task can leave it [default: the one that the notes file is watched \
                            for, else this folder]";

/// Below the help of a command. Each is a command line, and what it does.
pub(super) const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "clada",
        &[
            ("clada init", "make clada.toml and clada.md in this folder"),
            ("clada", "watch clada.md in this folder"),
            (
                "clada instructions",
                "the text that teaches an LLM to write tasks",
            ),
            ("clada run reply.md --dry-run", "what a reply would change"),
            (
                "clada context --copy",
                "the files the chat works with, to paste",
            ),
            ("clada undo", "take back the last batch"),
        ],
    ),
    (
        "add",
        &[
            ("clada add clada.md", "its folder is the project folder"),
            (
                "clada add ~/notes/app.md --root ~/code/app",
                "it is elsewhere",
            ),
        ],
    ),
    (
        "approve",
        &[("clada approve", "run what waits in this folder's notes")],
    ),
    (
        "check",
        &[
            (
                "clada check reply.md",
                "its tasks, and what is wrong with it",
            ),
            ("clada check --json < reply.md", "the same for a program"),
        ],
    ),
    (
        "completions",
        &[
            (
                "clada completions bash > ~/.local/share/bash-completion/completions/clada",
                "",
            ),
            ("clada completions zsh > ~/.zfunc/_clada", ""),
            (
                "clada completions fish > ~/.config/fish/completions/clada.fish",
                "",
            ),
        ],
    ),
    (
        "context",
        &[
            (
                "clada context add src/main.rs src/lib.rs:1-80",
                "put files in",
            ),
            ("clada context --copy", "copy all that is in, to paste it"),
        ],
    ),
    (
        "diff",
        &[
            ("clada diff", "what the last batch changed"),
            (
                "clada diff 20261120-1032 --stat",
                "how much another one did",
            ),
        ],
    ),
    (
        "init",
        &[
            ("clada init", "in this folder"),
            (
                "clada init --root ~/code/app --service",
                "there, and in the background",
            ),
        ],
    ),
    (
        "instructions",
        &[
            ("clada instructions", "print it, to paste it once per chat"),
            (
                "clada instructions work.md",
                "for the chat of these notes, where several are watched",
            ),
            (
                "clada instructions --dialect aider",
                "for SEARCH/REPLACE blocks",
            ),
            (
                "clada instructions --actions read,grep",
                "with these two as well",
            ),
        ],
    ),
    (
        "list",
        &[
            ("clada list", "the files and their project folders"),
            ("clada list --json", "the same for a program"),
        ],
    ),
    (
        "log",
        &[
            ("clada log -n 3", "the last three batches"),
            ("clada log --here", "those of this project"),
            ("clada log --json", "the last ten for a program"),
            (
                "clada log 12 --output",
                "what the LLM was given after batch 12",
            ),
        ],
    ),
    (
        "man",
        &[
            ("clada man | man -l -", "read the manual"),
            ("clada man ~/.local/share/man", "install all pages"),
        ],
    ),
    ("redo", &[("clada redo", "what the last undo took back")]),
    (
        "remove",
        &[("clada remove clada.md", "the file stays where it is")],
    ),
    (
        "retry",
        &[
            ("clada retry", "what failed in this folder's clada.md"),
            (
                "clada retry --at 19",
                "the edit whose text is in several places, at line 19",
            ),
        ],
    ),
    (
        "run",
        &[
            ("clada run reply.md", "carry out a reply"),
            ("clada run reply.md --dry-run", "show what it would change"),
            ("clada run --json < reply.md", "as a program does it"),
        ],
    ),
    (
        "squash",
        &[
            ("clada squash --dry-run", "which commits would become one"),
            (
                "clada squash --since main --message 'Add login'",
                "those after main",
            ),
        ],
    ),
    (
        "step-back",
        &[("clada step-back 2", "two states ago, for looking")],
    ),
    (
        "step-forward",
        &[("clada step-forward --end", "back to what was there before")],
    ),
    ("trust", &[("clada trust", "for clada.toml in this folder")]),
    (
        "undo",
        &[
            ("clada undo", "the last batch"),
            ("clada undo 3 --dry-run", "what taking back three would do"),
            ("clada undo --keep", "and keep what you changed since"),
        ],
    ),
    (
        "watch",
        &[
            ("clada watch", "clada.md in this folder"),
            (
                "clada watch ~/notes/app.md --root ~/code/app",
                "both elsewhere",
            ),
            (
                "clada watch --poll 2s",
                "where a network folder tells no changes",
            ),
        ],
    ),
];

/// What the whole program says at the end.
const END: &str = "\
Options: those of `clada watch`, and -h, --help, -V, --version.
`clada help COMMAND` explains a command, `clada help TOPIC` prints a page.

Exit status: 0 all done, 1 something failed, 2 wrong usage.
CLADA_LOG=debug shows on stderr what clada does and why.";

/// Puts help into the definition of the whole program.
pub(super) fn with_help(mut whole: Command) -> Command {
    // Their flags are those of `watch`, but they go on where it was.
    for name in ["approve", "retry"] {
        whole = whole.mut_subcommand(name, |command| {
            command
                .mut_arg("file", |file| file.help(WATCHED_FILE))
                .mut_arg("root", |root| root.help(WATCHED_ROOT))
        });
    }
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
        "{{about}}\n\n{} clada [FILE] [OPTIONS]   listen, as `clada watch` does\n       clada COMMAND\n",
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
        let (name, title) = (topic.name, topic.title());
        let _ = writeln!(template, "  {literal}{name:<15}{literal:#}  {title}");
    }
    template.truncate(template.trim_end().len());
    template += "{after-help}";
    whole
        .after_help(format!("{}\n{END}", below("clada")))
        .help_template(template)
}

/// The commands that there are, with what they do, in their groups.
pub(super) fn groups(whole: &Command) -> Vec<(&'static str, Vec<(String, String)>)> {
    let shown = |command: &Command| {
        let about = command.get_about().map(ToString::to_string);
        (command.get_name().to_owned(), about.unwrap_or_default())
    };
    let there = |name: &&str| whole.find_subcommand(name).map(shown);
    let is_other = |command: &&Command| {
        let grouped = GROUPS.iter().flat_map(|(_, names)| names.iter());
        !grouped
            .chain(&["help"])
            .any(|name| *name == command.get_name())
    };
    let others = whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .filter(is_other)
        .map(shown)
        .collect();
    let groups = GROUPS.iter();
    let mut all: Vec<(&str, Vec<_>)> = groups
        .map(|(name, names)| (*name, names.iter().filter_map(&there).collect()))
        .collect();
    all.push((OTHERS, others));
    all.retain(|(_, commands): &(_, Vec<_>)| !commands.is_empty());
    all
}

/// The examples of a command.
pub(super) fn examples(name: &str) -> &'static [(&'static str, &'static str)] {
    let of = EXAMPLES.iter().find(|(command, _)| *command == name);
    of.map_or(&[], |(_, lines)| *lines)
}

fn below(name: &str) -> String {
    let lines = examples(name);
    let width = lines
        .iter()
        .map(|(line, _)| line.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    if !lines.is_empty() {
        text += "Examples:\n";
    }
    for (line, says) in lines {
        let _ = writeln!(text, "{}", format!("  {line:<width$}  {says}").trim_end());
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
        for (name, lines) in EXAMPLES {
            for (line, _) in *lines {
                let command = line.split(['|', '<', '>']).next().unwrap_or_default();
                let words = command
                    .split_whitespace()
                    .map(|word| word.trim_matches('\''));
                // The only quoted text has two words, of which one is enough.
                let words = words.filter(|word| *word != "login");
                let read = Cli::definition().try_get_matches_from(words);
                let read = read.unwrap_or_else(|error| panic!("{line}: {error}"));
                let meant = read.subcommand_name().unwrap_or("clada");
                assert!(
                    *name == "clada" || *name == meant,
                    "{line} is no example of {name}"
                );
            }
        }
    }

    #[test]
    fn every_command_is_found_in_the_help_which_fits_a_terminal() {
        let mut whole = Cli::definition();
        let help = whole.render_help().to_string();
        for command in whole.get_subcommands() {
            let line = format!("\n  {:<12}  ", command.get_name());
            let times = help.matches(&line).count();
            let is_shown = command.get_name() != "help" && !command.is_hide_set();
            assert_eq!(times, usize::from(is_shown), "{line}");
        }
        let wide: Vec<&str> = help
            .lines()
            .filter(|line| line.chars().count() > 80)
            .collect();
        assert!(wide.is_empty(), "{wide:#?}");
        let others = ["completions", "man"];
        let groups = groups(&whole);
        let (name, found) = groups.last().expect("groups");
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((*name, names.as_slice()), (OTHERS, others.as_slice()));
    }
}
