//! The root's lock, files and history, which the commands on saved states share. Decides nothing.

use std::path::Path;

use crate::cli::terminal::Terminal;
use crate::cmd;
use crate::error::Error;
use crate::git::Snapshots;
use crate::listener::{project, rules};
use crate::run::recover;
use crate::settings::places::{self, Folders};
use crate::settings::{ReadableSettings, Settings};
use crate::start;
use crate::world::lock::Lock;
use crate::world::workspace::Disk;

/// A root's saved states and its files.
pub(super) struct ProjectHistory {
    pub(super) snapshots: Snapshots,
    pub(super) disk: Disk,
    /// Keeps batches from running meanwhile, where something will be changed.
    _lock: Option<Lock>,
}

impl ProjectHistory {
    /// Opens them; to change something, waits until no other process does.
    pub(super) fn open(given: Option<&Path>, to_change: bool) -> Result<Self, Error> {
        let (given, root) = start::find_root(given)?;
        let folders = Folders::of_user().ok_or(Error::NoHome)?;
        // Ctrl-C in the middle would leave a half-done change.
        let stop = start::stop_signal()?;
        let mut terminal = Terminal::new(std::io::stderr());
        let lock = if to_change {
            let lock = start::lock_root(&folders, &root, &stop, &mut terminal);
            let stopped = || {
                let why = "stopped before anything was done";
                std::io::Error::new(std::io::ErrorKind::Interrupted, why)
            };
            Some(start::runtime()?.block_on(lock)?.ok_or_else(stopped)?)
        } else {
            None
        };
        let ReadableSettings {
            settings,
            mut wrong,
            has_lost_git,
        } = Settings::rest(&folders, &root);
        // The commits may be in another place than the default one.
        if has_lost_git && !wrong.is_empty() {
            return Err(Error::LostGit(wrong.swap_remove(0)));
        }
        cmd::tell_wrong(&wrong);
        let mut own = start::watched_in(&folders, &root);
        own.extend([places::NOTES, &settings.watch.output_file].map(|name| root.join(name)));
        let mut disk = project::workspace((&given, &root), &folders, &own)?;
        rules::avoid_known(&folders);
        rules::avoid(&folders, &root, &settings.exec);
        let git = rules::git_of(&settings.git, &folders, std::env::vars_os().collect());
        let snapshots = if settings.git.enabled {
            Snapshots::open(&root, &own, &git.options, &stop)?
        } else {
            None
        };
        let Some(snapshots) = snapshots else {
            return Err(Error::NoHistory(root));
        };
        if to_change && let Some((said, is_over)) = recover(&git, &root, &mut disk, &snapshots) {
            if is_over {
                terminal.line(&said)
            } else {
                return Err(Error::CutShort(said));
            }
        }
        Ok(Self {
            snapshots,
            disk,
            _lock: lock,
        })
    }
}
