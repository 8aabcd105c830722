//! What the commands on saved states share: the root's lock, its files and its history. Decides nothing.

use std::path::{Path, PathBuf};

use crate::cmd;
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
        let (disk, git) = cmd::workspace((&given, &root), &folders, &own)?;
        let opened = git.map(|git| Snapshots::open(&root, &git.never, &git.options, &stop));
        let snapshots = opened.transpose()?.flatten();
        Ok(Self {
            snapshots: snapshots.ok_or(Error::NoHistory(root))?,
            disk,
            _lock: lock,
        })
    }
}

fn lock(
    folders: &Folders,
    root: &PathBuf,
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
