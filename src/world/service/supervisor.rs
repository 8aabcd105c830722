//! Owns what clada tells the service manager that started it: that it is ready, what it does, that it lives, that it ends.
//! Also keeps the log small where that manager writes one into a file. Does nothing where clada was started by hand.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{Instant, sleep_until};

/// Names the file that launchd writes the log to.
pub const LOG: &str = "CLADA_SERVICE_LOG";

/// The largest size of that file, in bytes; the one before is kept beside it.
const LARGEST_LOG: u64 = 8 * 1024 * 1024;

/// The time between two checks of its size.
const LOOK: Duration = Duration::from_secs(600);

/// The service manager above this process, if there is one. systemd is told by the socket that `NOTIFY_SOCKET` names.
#[derive(Debug)]
pub struct Supervisor {
    watchdog: Option<Duration>,
    log: Option<PathBuf>,
    next: Instant,
}

impl Supervisor {
    /// As this process's environment names it.
    pub fn from_env() -> Self {
        let mut supervisor = Self {
            // Twice within the time after which clada is taken for hung.
            watchdog: sd_notify::watchdog_enabled()
                .map(|limit| limit / 2)
                .filter(|every| !every.is_zero()),
            log: std::env::var_os(LOG).map(PathBuf::from),
            next: Instant::now(),
        };
        supervisor.trim_log();
        supervisor.plan();
        supervisor
    }

    /// Reports that clada is ready, again after [`Supervisor::reloading`]; and what clada does now, for people.
    pub fn ready(&self, status: &str) {
        tell(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
    }

    /// Reports what clada does now.
    pub fn status(&self, status: &str) {
        tell(&[NotifyState::Status(&line(status))]);
    }

    /// The settings are read again; [`Supervisor::ready`] ends that.
    pub fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            Ok(now) => tell(&[NotifyState::Reloading, now]),
            Err(_) => tell(&[NotifyState::Reloading]),
        }
    }

    /// clada ends, as it was told to.
    pub fn stopping(&self) {
        tell(&[NotifyState::Stopping, NotifyState::Status("ending")]);
    }

    /// The time between two actions of [`Supervisor::beat`]; `None` where it never acts.
    fn watchdog(&self) -> Option<Duration> {
        self.watchdog.or(self.log.is_some().then_some(LOOK))
    }

    /// Waits until it is time, and says that clada lives. To be polled by what must not hang: where that does, nothing is
    /// said, and the manager starts clada again. Given up before its time it goes on where it was.
    pub async fn beat(&mut self) {
        if self.watchdog().is_none() {
            return std::future::pending().await;
        }
        sleep_until(self.next).await;
        if self.watchdog.is_some() {
            tell(&[NotifyState::Watchdog]);
        }
        self.trim_log();
        self.plan();
    }

    fn plan(&mut self) {
        self.next = Instant::now() + self.watchdog().unwrap_or(LOOK);
    }

    fn trim_log(&self) {
        let trimmed = self.log.as_deref().map(|log| trim(log, LARGEST_LOG));
        if let Some(Err(error)) = trimmed {
            tracing::warn!(%error, "cannot shorten the log file");
        }
    }
}

/// Moves the content of a log that is too large beside it, over what was there before. The file stays the same one, as
/// launchd has it open, at its end. A line that comes between is lost.
fn trim(log: &Path, most: u64) -> io::Result<()> {
    let size = match log.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        meta => meta?.len(),
    };
    if size > most {
        std::fs::copy(log, old_log(log))?;
        OpenOptions::new().write(true).open(log)?.set_len(0)?;
    }
    Ok(())
}

/// Returns the path to which the content of a log that is too large goes.
pub fn old_log(log: &Path) -> PathBuf {
    log.with_extension("old.log")
}

fn tell(state: &[NotifyState<'_>]) {
    // Without such a socket nothing is told and nothing fails.
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

/// A message of the protocol is one line.
fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_too_large_is_kept_beside() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("clada.log");
        let old = folder.path().join("clada.old.log");
        assert!(trim(&log, 4).is_ok(), "there is none yet");
        let mut open = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&log)
            .unwrap();
        for (text, now, before) in [
            ("abcd", "abcd", None),
            ("e", "", Some("abcde")),
            ("fghij", "", Some("fghij")),
            ("k", "k", Some("fghij")),
        ] {
            io::Write::write_all(&mut open, text.as_bytes()).unwrap();
            trim(&log, 4).unwrap();
            assert_eq!(std::fs::read_to_string(&log).unwrap(), now);
            assert_eq!(std::fs::read_to_string(&old).ok().as_deref(), before);
        }
    }
}
