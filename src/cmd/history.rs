//! What the commands on saved states share: the root's lock, its files and its history. Decides nothing.

use std::path::Path;

use crate::batch::recover;
use crate::cmd;
use crate::cmd::rules;
use crate::config::settings::Settings;
use crate::config::{self, Folders};
use crate::error::Error;
use crate::terminal::Terminal;
use crate::world::lock::Lock;
use crate::world::snapshot::Snapshots;
use crate::world::workspace::Disk;

/// A root's saved states, and its files.
pub(super) struct History {
    pub(super) snapshots: Snapshots,
    pub(super) disk: Disk,
    /// No batch runs meanwhile, where something is to be changed.
    _lock: Option<Lock>,
}

impl History {
    /// Opens them; to change something, once nobody else does.
    pub(super) fn open(given: Option<&Path>, to_change: bool) -> Result<Self, Error> {
        let (given, root) = cmd::find_root(given)?;
        let folders = Folders::of_user().ok_or(Error::NoHome)?;
        // Ctrl-C in the middle would leave half of it.
        let stop = cmd::stop_signal()?;
        let lock = match to_change {
            true => Some(lock(&folders, &root, &stop)?),
            false => None,
        };
        let own = [root.join(config::NOTES), root.join(config::OUTPUT)];
        let (mut disk, never) = cmd::workspace((&given, &root), &folders, &own)?;
        let settings = Settings::load(&folders, &root)?.settings.git;
        let git = rules::git_of(&settings, &folders, std::env::vars_os().collect());
        let snapshots = match settings.enabled {
            true => Snapshots::open(&root, &never, &git.options, &stop)?,
            false => None,
        };
        let Some(snapshots) = snapshots else {
            return Err(Error::NoHistory(root));
        };
        if to_change && let Some((said, is_over)) = recover(&git, &root, &mut disk, &snapshots) {
            match is_over {
                true => Terminal::new(std::io::stderr()).line(&said),
                false => return Err(Error::CutShort(said)),
            }
        }
        Ok(Self {
            snapshots,
            disk,
            _lock: lock,
        })
    }
}

fn lock(
    folders: &Folders,
    root: &Path,
    stop: &tokio::sync::watch::Receiver<bool>,
) -> Result<Lock, Error> {
    let mut terminal = Terminal::new(std::io::stderr());
    let mut held = |pid: &str| {
        terminal.line(&format!(
            "waiting for the run of another clada here (process {pid})"
        ))
    };
    let locks = folders.locks();
    let mut stopped = stop.clone();
    cmd::runtime()?.block_on(async {
        tokio::select! {
            lock = Lock::take(&locks, "root", root, &mut held) => Ok(lock?),
            _ = stopped.wait_for(|stop| *stop) => {
                let stopped = std::io::ErrorKind::Interrupted;
                Err(std::io::Error::new(stopped, "stopped before anything was done").into())
            }
        }
    })
}
