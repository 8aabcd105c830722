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
/// How long the file must be quiet before what looks like half a paste is taken as it is.
pub const PASTE_QUIET: Duration = Duration::from_secs(2);
/// The least text, in characters, that nobody types between two saves.
pub const PASTE: usize = 200;
/// How long the write-back waits for the clipboard.
pub const CLIPBOARD_PATIENCE: Duration = Duration::from_millis(300);
/// How long until a batch that git could not save is tried again.
pub const RETRY: Duration = Duration::from_secs(2);
/// How long until a batch is tried again before which a hook failed.
pub const HOOK_RETRY: Duration = Duration::from_secs(60);
/// How long a batch runs before the notes show that it does.
pub const SHOW_RUNNING: Duration = Duration::from_secs(2);
/// Within how many seconds the same reply once more is told to be that.
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
    /// What clada keeps between runs.
    pub state: PathBuf,
    /// The user's settings.
    pub config: PathBuf,
    /// Where the system looks for services of the user.
    pub services: PathBuf,
    /// What lives as long as the user's sessions; `None` where there is no such folder.
    pub runtime: Option<PathBuf>,
}

impl Folders {
    /// As the system and the environment have them; `None` for a user without a home.
    pub fn of_user() -> Option<Self> {
        let base = BaseDirs::new()?;
        let own = ProjectDirs::from("", "", "clada")?;
        Some(Self {
            home: base.home_dir().to_owned(),
            state: own.state_dir().unwrap_or(own.data_local_dir()).to_owned(),
            config: own.config_dir().to_owned(),
            services: match cfg!(target_os = "macos") {
                true => base.home_dir().join("Library/LaunchAgents"),
                false => base.config_dir().join("systemd/user"),
            },
            runtime: match std::env::var_os("XDG_RUNTIME_DIR") {
                Some(_) => base.runtime_dir().map(Path::to_owned),
                // A login that went by another way than the usual one, as with `su -`, does not name it; services have it.
                None => Some(PathBuf::from(format!("/run/user/{}", getuid().as_raw()))),
            }
            .filter(|folder| folder.is_dir()),
        })
    }

    /// Where locks are.
    pub fn locks(&self) -> PathBuf {
        self.state.join("locks")
    }

    /// The folder in which the root is kept that each notes file was watched for.
    pub fn roots(&self) -> PathBuf {
        self.state.join("roots")
    }

    /// Where sockets are, the best place first.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let of_session = self.runtime.iter().map(|folder| folder.join("clada"));
        of_session.chain([self.state.join("run")]).collect()
    }

    /// Where the last texts are that were meant for the clipboard.
    pub fn packets(&self) -> PathBuf {
        self.state.join("packets")
    }

    /// Where it is kept what each chat knows of the project's files.
    pub fn chats(&self) -> PathBuf {
        self.state.join("chats")
    }

    /// The folder of the sets of files that chats work with.
    pub fn contexts(&self) -> PathBuf {
        self.state.join("context")
    }

    /// What no file task may touch, beside the watched file and its output.
    pub fn protected(&self, root: &Path) -> Vec<PathBuf> {
        let mut protected = self.own(root);
        protected.extend([root.join(NOTES), root.join(OUTPUT)]);
        protected
    }

    /// What decides how clada works, and what it remembers.
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
