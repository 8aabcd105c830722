//! `clada instructions`: prints or copies the text that teaches an LLM to write tasks.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli;
use crate::cli::terminal;
use crate::clock;
use crate::cmd::notes::NotesWithRoot;
use crate::cmd::{clipboard, context};
use crate::error::Error;
use crate::reply::dialect::Dialect;
use crate::reply::dialects::nesl::schemas::Schema;
use crate::reply::lessons;
use crate::reply::task::Command;
use crate::settings::Settings;
use crate::settings::places::Folders;
use crate::text::duration;

// Each is between `clada:off` and `clada:on`, so that a copy of it in a notes file is never carried out.
const CML: &str = include_str!("../../config/instructions.md");
const NESL: &str = include_str!("../../config/instructions-nesl.md");
const REPLACER: &str = include_str!("../../config/instructions-replacer.md");
const AIDER: &str = include_str!("../../config/instructions-aider.md");
const CODEX: &str = include_str!("../../config/instructions-codex.md");
const DIFF: &str = include_str!("../../config/instructions-diff.md");

/// The last line of each.
const LAST: &str = "<!-- clada:on instructions -->\n";
/// The placeholders in NESL's text for the actions and the project folder.
const ACTIONS: &str = "ACTIONS\n";
const FOLDER: &str = "/path/to/project";

/// The default time limit, as the texts name it.
const TIMEOUT: &str = "10 minutes";

/// NESL's spellings and SHAM's.
const SHAM: [(&str, &str); 5] = [
    ("sh nesl", "sh sham"),
    ("NESL", "SHAM"),
    ("#!nesl ", "#!SHAM "),
    ("#!end_", "#!END_SHAM_"),
    ("EOT_", "EOT_SHAM_"),
];

/// Prints or copies the text for the current folder, and starts a new chat.
///
/// # Errors
/// Where it cannot be written, or the dialect has no actions to choose from.
pub fn main(args: &cli::InstructionsArgs) -> Result<ExitCode, Error> {
    let has_actions = matches!(args.dialect, Dialect::Cml | Dialect::Sham | Dialect::Nesl);
    if !args.actions.is_empty() && !has_actions {
        return Err(Error::NoActions(args.dialect.name()));
    }
    let text = text(args.dialect, &args.actions);
    let text = match std::env::current_dir() {
        Ok(folder) => text.replace(FOLDER, &folder.to_string_lossy()),
        Err(_) => text,
    };
    let file = args.file.as_deref();
    let folders = Folders::of_user();
    let found = folders
        .as_ref()
        .map(|folders| (folders, NotesWithRoot::find(folders, file, None)));
    let limit = found
        .as_ref()
        .and_then(|(folders, notes)| timeout(folders, notes.as_ref().ok()));
    let text = match limit {
        Some(limit) => text.replace(TIMEOUT, &duration::in_words(limit)),
        None => text,
    };
    if args.copy {
        let (said, code) = clipboard::copied(text, "; print the text with `clada instructions`");
        writeln!(terminal::stderr(), "{said}")?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    } else {
        terminal::stdout_to_the_byte().write_all(text.as_bytes())?;
    }
    begin(file, found)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the time limit of commands in the project of the notes file, or in this folder.
fn timeout(folders: &Folders, notes: Option<&NotesWithRoot>) -> Option<Duration> {
    let root = match notes {
        Some(notes) => notes.root.1.clone(),
        None => std::env::current_dir().ok()?,
    };
    let loaded = Settings::load(folders, &root).ok()?;
    Some(loaded.settings.exec.timeout)
}

/// Starts a new chat, which has seen no files. Does nothing where no notes file is given or known.
fn begin(
    file: Option<&Path>,
    found: Option<(&Folders, Result<NotesWithRoot, Error>)>,
) -> Result<(), Error> {
    // A command in a reply starts no new chat.
    if std::env::var_os("CLADA").is_some() {
        return Ok(());
    }
    let begun = || {
        let (folders, notes) = found.ok_or(Error::NoHome)?;
        let notes = notes?;
        let chat = context::chat(folders, &notes.root.1, &notes.file);
        Ok(chat.begin(&clock::run_id())?)
    };
    match begun() {
        Err(error @ Error::WhichNotes { .. }) if file.is_none() => {
            let said = format!("clada: {error}, to start a new chat for it\n");
            Ok(terminal::stderr().write_all(said.as_bytes())?)
        }
        // The text itself was printed.
        Err(error) if file.is_none() => {
            tracing::info!(%error, "no new chat was started");
            Ok(())
        }
        begun => begun,
    }
}

/// Returns the text for a dialect with these actions, given by their names in any language. Without any, the text lists all
/// actions in SHAM and NESL, and the usual ones in CML.
pub fn text(dialect: Dialect, actions: &[String]) -> String {
    let is_asked = |command: &Command| {
        let mut names = actions.iter();
        names.any(|name| lessons::command(name).as_ref() == Ok(command))
    };
    let all = Command::all();
    match dialect {
        Dialect::Cml if actions.is_empty() => CML.to_owned(),
        Dialect::Cml => CML.replace(LAST, &(tasks(all.filter(is_asked)) + LAST)),
        Dialect::Nesl => NESL.replace(ACTIONS, &blocks(actions)),
        Dialect::Sham => SHAM
            .iter()
            .fold(text(Dialect::Nesl, actions), |text, (nesl, sham)| {
                text.replace(nesl, sham)
            }),
        Dialect::Replacer => REPLACER.to_owned(),
        Dialect::Aider => AIDER.to_owned(),
        Dialect::Codex => CODEX.to_owned(),
        Dialect::Diff => DIFF.to_owned(),
    }
}

/// Returns an example task of each command, and their descriptions.
fn tasks(commands: impl Iterator<Item = Command>) -> String {
    let (mut examples, mut list) = (String::new(), String::new());
    for (command, task) in commands.filter_map(|command| Some((command, lessons::lesson(command)?)))
    {
        examples += &format!("{}\n", task.example);
        list += &format!("- `{}` {}\n", command.name(), task.says);
    }
    format!("\nMore, in short\n\n``````xml\n<tasks>\n{examples}</tasks>\n``````\n\n{list}")
}

/// Returns the descriptions of the actions with these names, or of all.
fn blocks(names: &[String]) -> String {
    let actions = Command::all().flat_map(|command| {
        let actions = lessons::actions(command);
        actions.map(move |action| (command, action))
    });
    let is_asked = |command: Command, action: &Schema| {
        let is = |name: &String| action.is_named(name) || Command::parse(name) == Some(command);
        names.is_empty() || names.iter().any(is)
    };
    actions
        .filter(|(command, action)| is_asked(*command, action))
        .map(|(_, action)| {
            let needs = match action.params.join(", ").as_str() {
                "" => String::new(),
                params => format!(" ({params})"),
            };
            format!("- `{}`{needs}: {}\n", action.name(), action.says)
        })
        .collect()
}
