//! The commands, one file for each: calls the one that the command line names.

pub mod approve;
pub mod check;
pub mod clipboard;
pub mod completions;
pub mod config;
pub mod context;
pub mod daemon;
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
        Some(Verb::Check(args)) => check::main(&args),
        Some(Verb::Log(args)) => log::main(&args),
        Some(Verb::Retry(args)) => retry::main(&args),
        Some(Verb::Approve(args)) => approve::main(&args),
        Some(Verb::Trust(args)) => trust::main(&args),
        Some(Verb::Undo(args)) => undo::main(&args),
        Some(Verb::Redo(args)) => undo::redo(&args),
        Some(Verb::StepBack(args)) => step::back(&args),
        Some(Verb::StepForward(args)) => step::forward(&args),
        Some(Verb::Diff(args)) => diff::main(&args),
        Some(Verb::Squash(args)) => squash::main(&args),
        Some(Verb::Context(args)) => context::main(&args),
        Some(Verb::Daemon(args)) => daemon::main(&args),
        Some(Verb::Status(args)) => status::main(&args),
        Some(Verb::Config(args)) => config::main(&args),
        Some(Verb::Copy(args)) => clipboard::main(&args),
        Some(Verb::ClipboardOwner(args)) => clipboard::own(&args),
        Some(Verb::Doctor(args)) => doctor::main(&args),
        Some(Verb::Service(what)) => service::main(&what),
        Some(Verb::Tail(args)) => tail::main(&args),
        Some(Verb::Instructions(args)) => instructions::main(&args),
        Some(Verb::Init(args)) => init::main(&args),
        Some(Verb::Add(args)) => watched::add(&args),
        Some(Verb::Remove(args)) => watched::remove(&args),
        Some(Verb::List(args)) => watched::list(&args),
        Some(Verb::Completions(args)) => completions::main(&args),
        Some(Verb::Man(args)) => man::main(&args),
        Some(Verb::Help(args)) => help::main(&args),
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
