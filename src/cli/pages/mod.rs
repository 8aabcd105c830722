//! The completions for shells and the man pages, made from the command line's definition.

mod manual;

use std::io::{self, Write};

use clap::Command;
pub use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::topics::{self, TOPICS};
use super::{Cli, help};

const FILES: [(&str, &str); 7] = [
    ("clada.md", "The notes file, unless another one is named."),
    (
        ".clada-output-latest.txt",
        "The full output of the latest batch, next to the notes file.",
    ),
    (
        "clada.toml",
        "The settings of a project, in the project folder.",
    ),
    (
        "~/.config/clada/config.toml",
        "Your settings, for all projects.",
    ),
    (
        "~/.config/clada/watched.toml",
        "The list of notes files that clada daemon watches.",
    ),
    (
        "~/.local/state/clada",
        "What clada keeps between runs: the ledger, locks, trusted settings, private snapshots.",
    ),
    (
        "~/Library/Application Support/clada",
        "The last three of these on macOS.",
    ),
];
const ENVIRONMENT: [(&str, &str); 5] = [
    (
        "CLADA_LOG",
        "How much clada logs to stderr: error, warn, info, debug or trace.",
    ),
    ("CLADA_LOG_FORMAT", "The format of that log: text or json."),
    (
        "CLADA",
        "Set for the commands that clada runs. Where it is set, clada refuses what only you may do.",
    ),
    (
        "XDG_CONFIG_HOME, XDG_STATE_HOME",
        "The folders to use instead of ~/.config and ~/.local/state.",
    ),
    (
        "DISPLAY, WAYLAND_DISPLAY",
        "The display with the clipboard.",
    ),
];
const STATUS: [(&str, &str); 3] = [
    ("0", "All done."),
    ("1", "Something failed."),
    ("2", "Wrong usage, or invalid settings."),
];

/// The synopsis of the whole program. A generated one would list all flags in a row.
const SYNOPSIS: &str = "\
.SH SYNOPSIS
\\fBclada\\fR [\\fIFILE\\fR] [\\fIOPTIONS\\fR]
.br
\\fBclada\\fR \\fICOMMAND\\fR
";

/// The completions for a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    let whole = Cli::definition();
    // They would offer what the help does not show.
    let is_shown = |command: &&Command| !command.is_hide_set();
    let commands = || whole.get_subcommands().filter(is_shown);
    let is_other = |command: &&Command| command.get_name() != "help";
    let mut shown = Command::new("clada")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(whole.get_arguments().cloned())
        .subcommands(commands().filter(is_other).cloned())
        .subcommands(
            whole
                .find_subcommand("help")
                .map(|help| helped(help, commands().filter(is_other))),
        );
    clap_complete::generate(shell, &mut shown, "clada", &mut script);
    script
}

/// `clada help` with the words that may follow it: the commands and their parts, and the topics.
fn helped<'c>(help: &Command, commands: impl Iterator<Item = &'c Command>) -> Command {
    let bare = |command: &Command| {
        let about = command.get_about().cloned().unwrap_or_default();
        // The process ends when the script is written.
        let name: &'static str = command.get_name().to_owned().leak();
        Command::new(name).about(about)
    };
    let with_parts =
        |command: &Command| bare(command).subcommands(command.get_subcommands().map(bare));
    let topics = TOPICS
        .iter()
        .map(|topic| Command::new(topic.name).about(topic.about));
    bare(help)
        .disable_help_flag(true)
        .subcommands(commands.map(with_parts))
        .subcommands(topics)
}

/// The man pages by their paths in a folder of manuals, the main one first.
///
/// # Errors
/// Never, as they are written to memory.
pub fn man() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut whole = Cli::definition();
    whole.build();
    let mut pages = vec![("man1/clada.1".to_owned(), page(&whole, "clada")?)];
    for command in whole
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = command.get_name();
        pages.push((format!("man1/clada-{name}.1"), page(command, name)?));
    }
    for topic in TOPICS {
        let page = manual::page(topic)?;
        pages.push((format!("man7/clada-{}.7", topic.name), page));
    }
    Ok(pages)
}

fn page(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    let is_main = name == "clada";
    let title = if is_main {
        name.to_owned()
    } else {
        format!("clada-{name}")
    };
    let man = Man::new(command.clone())
        .title(title.to_uppercase())
        .source(concat!("clada ", env!("CARGO_PKG_VERSION")))
        .manual("clada");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    if is_main {
        text.write_all(SYNOPSIS.as_bytes())?
    } else {
        man.render_synopsis_section(&mut text)?
    }
    man.render_description_section(&mut text)?;
    if is_main {
        commands(command).to_writer(&mut text)?;
    } else if command.has_subcommands() {
        man.render_subcommands_section(&mut text)?;
    }
    man.render_options_section(&mut text)?;
    section("EXAMPLES", &help::examples(name)).to_writer(&mut text)?;
    if is_main {
        section("FILES", &FILES).to_writer(&mut text)?;
        section("ENVIRONMENT", &ENVIRONMENT).to_writer(&mut text)?;
        section("EXIT STATUS", &STATUS).to_writer(&mut text)?;
        let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
        manual::see_also(&[], &topics).to_writer(&mut text)?;
    } else {
        let topics: Vec<&str> = topics::of_command(name).into_iter().collect();
        manual::see_also(&[""], &topics).to_writer(&mut text)?;
    }
    Ok(manual::in_ascii(&text))
}

fn commands(whole: &Command) -> Roff {
    let mut page = Roff::new();
    page.control("SH", ["COMMANDS"]);
    for (group, commands) in help::groups(whole) {
        page.control("SS", [group]);
        for (name, about) in commands {
            page.control("TP", []);
            page.text([bold(format!("clada-{name}")), roman("(1)")]);
            page.text([roman(about)]);
        }
    }
    page
}

/// Terms, and what is to be said of each.
fn section(name: &str, terms: &[(&str, &str)]) -> Roff {
    let mut page = Roff::new();
    if !terms.is_empty() {
        page.control("SH", [name]);
    }
    for (term, says) in terms {
        page.control("TP", []);
        page.text([bold(*term)]);
        page.text([roman(*says)]);
    }
    page
}
