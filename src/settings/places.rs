//! The settings, and the places that belong to clada.

use std::path::{Path, PathBuf};
use std::time::Duration;

use directories::{BaseDirs, ProjectDirs};
use rustix::process::getuid;

/// The watched file that is taken where none is named.
pub const NOTES: &str = "clada.md";
/// The file with the full output, beside the watched one.
pub const OUTPUT: &str = ".clada-output-latest.txt";
/// A project's settings; no task may change them.
pub const PROJECT: &str = "clada.toml";
/// The quiet time after which text that looks like half a paste is taken as it is.
pub const PASTE_QUIET: Duration = Duration::from_secs(2);
/// The least text, in characters, that nobody types between two saves.
pub const PASTE: usize = 200;
/// The longest time that the write-back waits for the clipboard. Longer in a debug build, which is slow on a busy machine.
pub const CLIPBOARD_PATIENCE: Duration =
    Duration::from_millis(if cfg!(debug_assertions) { 3_000 } else { 300 });
/// The time after which a batch is tried again that git could not save.
pub const RETRY: Duration = Duration::from_secs(2);
/// The time after which a batch is tried again whose `before` hook failed.
pub const HOOK_RETRY: Duration = Duration::from_secs(60);
/// The time after which the notes show that a batch is running.
pub const SHOW_RUNNING: Duration = Duration::from_secs(2);
/// The seconds within which the same reply is reported as one that ran already.
pub const SAME_REPLY: i64 = 60 * 60;
/// The kinds of locks on a watched file and on its output file.
pub const WATCHED_LOCKS: &[&str] = &["file", "output"];
/// The largest file of settings, in bytes.
pub const SETTINGS_LIMIT: u64 = 1024 * 1024;
/// The largest watched file, in bytes.
pub const NOTES_LIMIT: u64 = 128 * 1024 * 1024;

/// Folders of this user.
#[derive(Debug, Clone)]
pub struct Folders {
    pub home: PathBuf,
    /// The files that clada keeps between runs.
    pub state: PathBuf,
    /// The user's settings.
    pub config: PathBuf,
    /// The user's services, as the system looks for them.
    pub services: PathBuf,
    /// The files that live as long as the user's sessions; `None` if there is no such folder.
    pub runtime: Option<PathBuf>,
}

impl Folders {
    /// Returns the folders that the system and the environment name; `None` for a user without a home.
    pub fn of_user() -> Option<Self> {
        let base = BaseDirs::new()?;
        let own = ProjectDirs::from("", "", "clada")?;
        Some(Self {
            home: base.home_dir().to_owned(),
            state: own.state_dir().unwrap_or(own.data_local_dir()).to_owned(),
            config: own.config_dir().to_owned(),
            services: if cfg!(target_os = "macos") {
                base.home_dir().join("Library/LaunchAgents")
            } else {
                base.config_dir().join("systemd/user")
            },
            runtime: match std::env::var_os("XDG_RUNTIME_DIR") {
                Some(_) => base.runtime_dir().map(Path::to_owned),
                // A login that went by another way than the usual one, as with `su -`, does not name it; services have it.
                None => Some(PathBuf::from(format!("/run/user/{}", getuid().as_raw()))),
            }
            .filter(|folder| folder.is_dir()),
        })
    }

    /// Those of a user who has everything below one folder.
    #[cfg(test)]
    pub(crate) fn below(folder: &Path) -> Self {
        Self {
            home: folder.join("home"),
            state: folder.join("state"),
            config: folder.join("config"),
            services: folder.join("services"),
            runtime: None,
        }
    }

    /// The folder of locks.
    pub fn locks(&self) -> PathBuf {
        self.state.join("locks")
    }

    /// The folder that keeps the root of each notes file that was watched.
    pub fn roots(&self) -> PathBuf {
        self.state.join("roots")
    }

    /// The folders for sockets, the best one first.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let of_session = self.runtime.iter().map(|folder| folder.join("clada"));
        of_session.chain([self.state.join("run")]).collect()
    }

    /// The folder of the last texts for the clipboard.
    pub fn packets(&self) -> PathBuf {
        self.state.join("packets")
    }

    /// The folder of the sets of files that chats work with.
    pub fn contexts(&self) -> PathBuf {
        self.state.join("context")
    }

    /// The folder that keeps what each chat knows of the project's files.
    pub fn chats(&self) -> PathBuf {
        self.state.join("chats")
    }

    /// The folder that keeps the keys of the notes files.
    pub fn chat_keys(&self) -> PathBuf {
        self.state.join("keys")
    }

    /// The folder of copied replies whose results are not handed out yet.
    pub fn copied_replies(&self) -> PathBuf {
        self.state.join("copied")
    }

    /// The paths that no file task may touch, besides the notes file and its output file.
    pub fn protected(&self, root: &Path) -> Vec<PathBuf> {
        let mut protected = self.own(root);
        protected.extend([root.join(NOTES), root.join(OUTPUT)]);
        protected
    }

    /// The files that decide how clada works, and its memory.
    pub fn own(&self, root: &Path) -> Vec<PathBuf> {
        // Each is looked at for every task: only what this system starts.
        let services: &[&str] = if cfg!(target_os = "macos") {
            &["clada.plist"]
        } else {
            &["clada.service", "clada.service.d"]
        };
        let mut own = vec![root.join(PROJECT), self.state.clone(), self.config.clone()];
        own.extend(services.iter().map(|service| self.services.join(service)));
        own
    }
}
