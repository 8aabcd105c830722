//! `clada daemon`: listens on all registered files until it is stopped, and tells the service manager how it does.

use std::process::ExitCode;

use crate::cmd;
use crate::error::Error;
use crate::world::service::supervisor::Supervisor;

/// Listens.
///
/// # Errors
/// Where signals cannot be listened for.
pub fn main() -> Result<ExitCode, Error> {
    let (mut stop, mut reload) = cmd::stop_and_reload()?;
    cmd::runtime()?.block_on(async {
        let mut supervisor = Supervisor::from_env();
        supervisor.ready("watching 0 files");
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                Ok(()) = reload.changed() => {
                    supervisor.reloading();
                    supervisor.ready("watching 0 files");
                }
                () = supervisor.beat() => {}
            }
        }
        supervisor.stopping();
    });
    Ok(ExitCode::SUCCESS)
}
