//! The commands, one file for each: calls the one that the command line names.

pub mod check;
pub mod clipboard;
pub mod completions;
pub mod config;
pub mod context;
pub mod diff;
pub mod doctor;
pub(crate) mod exclude;
pub mod help;
mod history;
pub mod init;
pub mod instructions;
pub mod log;
pub mod man;
mod notes;
pub mod outline;
pub mod pause;
mod reply_input;
pub mod retry;
pub mod run;
pub mod service;
pub mod squash;
pub mod status;
pub mod step;
pub mod tail;
pub mod trust;
pub mod undo;
pub mod watch;
pub mod watched;

use std::io::Write;
use std::process::ExitCode;

use crate::cli::terminal;
use crate::cli::{Cli, Verb};
use crate::error::Error;
use crate::settings::SettingsError;
use crate::settings::places::Folders;
use crate::supervisor;
use crate::world::state;

/// Carries out a command line.
///
/// # Errors
/// For wrong usage, or where a tool that clada needs is broken.
pub fn dispatch(cli: Cli) -> Result<ExitCode, Error> {
    if let Some((given, nearest)) = cli.misspelt() {
        return Err(Error::NoCommand { given, nearest });
    }
    if let Some(folders) = Folders::of_user() {
        state::keep_private(&folders.state)?;
    }
    match cli.command {
        None => watch::main(&cli.listen),
        Some(Verb::Watch(args)) => watch::main(&args),
        Some(Verb::Run(args)) => run::main(&args),
        Some(Verb::Check { file, json }) => check::main(file.as_deref(), json),
        Some(Verb::Log(args)) => log::main(&args),
        Some(Verb::Retry(args)) => retry::main(&args),
        Some(Verb::Approve(args)) => retry::approve(&args),
        Some(Verb::Trust { root, allow_shared }) => trust::main(root.as_deref(), allow_shared),
        Some(Verb::Undo(args)) => undo::main(&args),
        Some(Verb::Redo(args)) => undo::redo(&args),
        Some(Verb::StepBack(args)) => step::back(&args),
        Some(Verb::StepForward(args)) => step::forward(&args),
        Some(Verb::Diff(args)) => diff::main(&args),
        Some(Verb::Squash(args)) => squash::main(&args),
        Some(Verb::Context(args)) => context::main(&args),
        Some(Verb::Daemon {
            no_clipboard,
            allow_shared,
        }) => supervisor::watch_all(!no_clipboard, allow_shared),
        Some(Verb::Status { json }) => status::main(json),
        Some(Verb::Config { root, json }) => config::main(root.as_deref(), json),
        Some(Verb::Pause { time }) => pause::main(time),
        Some(Verb::Resume) => pause::resume(),
        Some(Verb::Copy(args)) => clipboard::main(&args),
        Some(Verb::ClipboardOwner { stays }) => clipboard::own(stays),
        Some(Verb::CodeParser) => outline::parse(),
        Some(Verb::Outline(args)) => outline::main(&args),
        Some(Verb::Doctor(args)) => doctor::main(&args),
        Some(Verb::Service(what)) => service::main(&what),
        Some(Verb::Tail { file, root }) => tail::main(file.as_deref(), root.as_deref()),
        Some(Verb::Instructions(args)) => instructions::main(&args),
        Some(Verb::Init(args)) => init::main(&args),
        Some(Verb::Add(args)) => watched::add(&args),
        Some(Verb::Remove { file }) => watched::remove(&file),
        Some(Verb::List { json }) => watched::list(json),
        Some(Verb::Completions { shell }) => completions::main(shell),
        Some(Verb::Man { folder }) => man::main(folder.as_deref()),
        Some(Verb::Help { words }) => help::main(&words),
    }
}

/// Prints what is invalid in the settings, for a command that continues without it.
fn tell_wrong(wrong: &[SettingsError]) {
    for wrong in wrong {
        let said = format!("clada: {wrong}; the other settings apply\n");
        let _ = terminal::stderr().write_all(said.as_bytes());
    }
}

/// Refuses a command that only the user may run, in a command that clada runs.
fn for_the_user(command: &'static str) -> Result<(), Error> {
    match std::env::var_os("CLADA") {
        Some(_) => Err(Error::ForTheUser(command)),
        None => Ok(()),
    }
}
