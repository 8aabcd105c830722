//! The `clada` program: reads the command line, ends with the command's exit status.

use std::io::Write;
use std::process::ExitCode;

use clada::cli::terminal;
use clada::cli::{Cli, Verb};
use clada::settings::Settings;
use clada::settings::places::Folders;
use clada::{cmd, logs};
use tracing::Level;

fn main() -> ExitCode {
    let cli = Cli::read();
    // What is wrong with the settings the command tells that reads them.
    let settings = Folders::of_user().and_then(|folders| Settings::log_of_user(&folders));
    let is_service = matches!(cli.command, Some(Verb::Daemon { .. }));
    if let Some(wrong) = logs::start(cli.log_format, settings, is_service, terminal::stderr) {
        say(&wrong);
    }
    match cmd::dispatch(cli) {
        Ok(status) => status,
        Err(error) => {
            // Nobody is left to tell.
            if !error.is_closed_pipe() {
                say(&error.to_string());
            }
            ExitCode::from(error.status())
        }
    }
}

fn say(what: &str) {
    let line = logs::line(Level::ERROR, &format!("clada: {what}"));
    let _ = terminal::stderr().write_all(line.as_bytes());
}
