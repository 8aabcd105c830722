//! The `clada` program: reads the command line, ends with the command's exit status.

use std::process::ExitCode;

use clada::cli::Cli;
use clada::cmd;
use clada::config::Folders;
use clada::config::settings::Settings;
use clada::lang::plain::plain;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::read();
    let filter = EnvFilter::try_from_env("CLADA_LOG").unwrap_or_else(|_| EnvFilter::new(level()));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match cmd::dispatch(cli) {
        Ok(status) => status,
        Err(error) => {
            let _ = std::io::Write::write_all(
                &mut std::io::stderr(),
                plain(format!("clada: {error}\n").as_bytes()).as_bytes(),
            );
            ExitCode::from(error.status())
        }
    }
}

/// As the user's settings have it. What is wrong with them the command tells that reads them.
fn level() -> &'static str {
    let settings = Folders::of_user().and_then(|folders| Settings::of_user(&folders).ok());
    settings.map_or("off", |settings| settings.log.level.name())
}
