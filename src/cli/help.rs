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
        &["add", "remove", "list", "daemon", "service"],
    ),
];
const OTHERS: &str = "Other commands";

/// The examples at the end of each command's help: a command line, and its effect.
pub(super) const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "clada",
        &[
            (
                "clada init",
                "create clada.toml and clada.md in this folder",
            ),
            ("clada", "watch clada.md in this folder"),
            (
                "clada instructions",
                "print the text to paste into a new chat",
            ),
            (
                "clada run reply.md --dry-run",
                "show what a reply would change",
            ),
            (
                "clada context --copy",
                "copy the files that the chat works with",
            ),
            ("clada undo", "revert the latest batch"),
        ],
    ),
    (
        "add",
        &[
            (
                "clada add clada.md",
                "watch it for the folder that it is in",
            ),
            (
                "clada add ~/notes/app.md --root ~/code/app",
                "watch it for another folder",
            ),
        ],
    ),
    (
        "approve",
        &[(
            "clada approve",
            "run what waits in this folder's notes file",
        )],
    ),
    (
        "check",
        &[
            ("clada check reply.md", "list its tasks and problems"),
            ("clada check --json < reply.md", "list them for a program"),
        ],
    ),
    (
        "completions",
        &[
            (
                "clada completions bash > ~/.local/share/bash-completion/completions/clada",
                "bash with the package bash-completion: active in new shells",
            ),
            (
                "clada completions zsh > ~/.zfunc/_clada",
                "zsh: put `fpath+=(~/.zfunc)` before `compinit` in ~/.zshrc, then start a new shell",
            ),
            (
                "clada completions fish > ~/.config/fish/completions/clada.fish",
                "fish: active in new shells",
            ),
            (
                "clada completions elvish > ~/.config/elvish/clada.elv",
                "elvish: put `eval (slurp < ~/.config/elvish/clada.elv)` into ~/.config/elvish/rc.elv",
            ),
            (
                "clada completions powershell > ~/.config/powershell/clada.ps1",
                "PowerShell: put `. ~/.config/powershell/clada.ps1` into the file that $PROFILE names",
            ),
        ],
    ),
    (
        "context",
        &[
            (
                "clada context add src/main.rs src/lib.rs:1-80",
                "add files to the set",
            ),
            (
                "clada context --copy",
                "copy all files in the set, to paste them",
            ),
        ],
    ),
    (
        "diff",
        &[
            ("clada diff", "show what the latest batch changed"),
            (
                "clada diff 20261120-1032 --stat",
                "show how much another batch changed",
            ),
        ],
    ),
    (
        "init",
        &[
            ("clada init", "start in this folder"),
            (
                "clada init --root ~/code/app --service",
                "start there, in the background",
            ),
        ],
    ),
    (
        "instructions",
        &[
            (
                "clada instructions",
                "print the text, to paste it once per chat",
            ),
            (
                "clada instructions --copy",
                "copy the text, to paste it once per chat",
            ),
            (
                "clada instructions work.md",
                "start a chat for this notes file, where several are watched",
            ),
            (
                "clada instructions --dialect aider",
                "teach SEARCH/REPLACE blocks",
            ),
            (
                "clada instructions --actions read,grep",
                "teach these two actions as well",
            ),
        ],
    ),
    (
        "list",
        &[
            ("clada list", "list the files with their project folders"),
            ("clada list --json", "list them for a program"),
        ],
    ),
    (
        "log",
        &[
            ("clada log -n 3", "show the latest three batches"),
            ("clada log --here", "show the batches of this project"),
            ("clada log --json", "print the latest ten for a program"),
            (
                "clada log 12 --output",
                "print what was copied for the LLM after batch 12",
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
    (
        "redo",
        &[("clada redo", "reapply what the last undo reverted")],
    ),
    (
        "remove",
        &[(
            "clada remove clada.md",
            "stop watching it; the file itself stays",
        )],
    ),
    (
        "retry",
        &[
            (
                "clada retry",
                "retry what failed in this folder's notes file",
            ),
            (
                "clada retry --at 19",
                "apply an edit whose text is in several places at line 19",
            ),
        ],
    ),
    (
        "run",
        &[
            ("clada run reply.md", "carry out a reply"),
            ("clada run reply.md --dry-run", "show what it would change"),
            ("clada run --json < reply.md", "carry it out for a program"),
        ],
    ),
    (
        "squash",
        &[
            (
                "clada squash --dry-run",
                "show which commits would be squashed",
            ),
            (
                "clada squash --since main --message 'Add login'",
                "squash the commits after main",
            ),
        ],
    ),
    (
        "step-back",
        &[(
            "clada step-back 2",
            "show the files as they were two states ago",
        )],
    ),
    (
        "step-forward",
        &[("clada step-forward --end", "return to the present")],
    ),
    (
        "trust",
        &[("clada trust", "trust clada.toml in this folder")],
    ),
    (
        "undo",
        &[
            ("clada undo", "revert the latest batch"),
            (
                "clada undo 3 --dry-run",
                "show what reverting three would do",
            ),
            (
                "clada undo --keep",
                "revert the latest batch, and keep what you changed since",
            ),
        ],
    ),
    (
        "watch",
        &[
            ("clada watch", "watch clada.md in this folder"),
            (
                "clada watch ~/notes/app.md --root ~/code/app",
                "watch another file for another folder",
            ),
            (
                "clada watch --poll 2s",
                "look every 2 seconds, for network folders",
            ),
        ],
    ),
];

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

/// The examples of a command.
pub(super) fn examples(name: &str) -> &'static [(&'static str, &'static str)] {
    let of = EXAMPLES.iter().find(|(command, _)| *command == name);
    of.map_or(&[], |(_, lines)| *lines)
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
