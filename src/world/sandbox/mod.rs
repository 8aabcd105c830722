//! The fence around a script: what it may write and reach. Never starts a script, and never decides which fence it gets.
//!
//! Linux has Landlock for it, and namespaces where the system gives them; macOS has `sandbox-exec`. Reading is not fenced in.
//! What this system can hold is [`support`]; what it cannot hold is at least seen by a [`Guard`].

mod denial;
mod git;
mod guard;
#[cfg(target_os = "linux")]
pub(in crate::world) mod linux;
#[cfg(any(test, target_os = "macos"))]
mod macos;
mod sockets;
mod trees;

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use denial::{denied, unsaved_setting};
pub use git::{
    Danger, Planted, Repositories, directories, git_dirs, guarded, guards_of, index_records,
    led_to, shared_dir,
};
pub use guard::Guard;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
pub(in crate::world) use system::Prepared;
use trees::WritableTree;

pub use sockets::doors;
pub use trees::{LeftOut, NotOpened, Settled};

/// The extent to which a script is fenced in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The script writes in the project, the temporary directories and what else was allowed.
    Workspace,
    /// The script writes in the temporary directories.
    ReadOnly,
    Off,
}

/// The bounds of what a script may do.
#[derive(Debug, Clone)]
pub struct Fence {
    pub level: Level,
    /// Tells if it may use TCP.
    pub network: bool,
    pub root: PathBuf,
    /// Writable at every level but [`Level::Off`], where it changes nothing ([`temp_dirs`]).
    pub temp: Vec<PathBuf>,
    /// Outside the root: caches, and a git directory that is elsewhere ([`git_dirs`]).
    pub writable: Vec<PathBuf>,
    /// The paths that are not to be changed, though in a tree that may be written ([`guarded`]).
    pub guarded: Vec<PathBuf>,
    /// Sockets, and folders of them, that a command is not to find. Only namespaces hide them.
    pub hidden: Vec<PathBuf>,
    /// The most processes that a command may have at a time, where the system can bound that.
    pub processes: u32,
    /// The trees that the above come to, found at the first use.
    pub settled: Settled,
}

/// The abilities of this system to enforce a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// The means of the fence, such as `Landlock 7`. `None`: scripts run without a fence.
    pub by: Option<String>,
    /// Tells if TCP can be forbidden.
    pub network: bool,
    /// Tells if guarded paths are read-only. If not, they are only watched.
    pub guards: bool,
    /// Tells if a command has namespaces: it sees no other process, none of its own outlives it, and all that is outside its
    /// trees is read-only.
    pub alone: bool,
    /// The abilities that are missing, and why.
    pub lacks: Vec<String>,
}

/// The most processes that a command may have if nobody says otherwise.
pub const PROCESSES: u32 = 4096;

/// The reason why a fence could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(
        "cannot set up the fence around exec: {0} (`exec.sandbox = \"off\"` runs it without one)"
    )]
    Prepare(String),
}

/// Returns what this system can enforce. The first call tries it out, which takes some milliseconds.
pub fn support() -> &'static Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    SUPPORT.get_or_init(system::support)
}

/// Finds out what this system can enforce, beside what else there is to do.
pub fn warm_up() {
    // Without a thread to be had it is found out when it is needed.
    let _ = std::thread::Builder::new().spawn(support);
}

/// Fences the calling process in for good: it may only read and write what is open, as far as the system can see to that.
///
/// # Errors
/// Where the system has such a fence and does not give it.
pub(in crate::world) fn stay_alone() -> Result<(), SandboxError> {
    system::stay_alone()
}

/// The folders in which programs put temporary files. Many name `/tmp` whatever `TMPDIR` says.
pub fn temp_dirs() -> Vec<PathBuf> {
    vec![env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
}

/// Says for a user what of a fence this system does not enforce; `None` where it enforces all.
pub fn shortfall(fence: &Fence) -> Option<String> {
    if fence.level == Level::Off {
        return None;
    }
    let support = support();
    if support.by.is_none() {
        return Some(format!(
            "⚠ {support}: commands can do all that you can (`exec.sandbox = \"off\"` turns this warning off)"
        ));
    }
    (!fence.network && !support.network)
        .then(|| format!("⚠ {support}: `exec.network = \"off\"` is not enforced"))
}

impl Fence {
    /// Makes everything that can be made before the fork, for a script that runs in this directory: keep it until the spawn
    /// has returned. Nothing if the script is not to be fenced in, or cannot be on this system. Paths that do not exist are
    /// passed over.
    ///
    /// # Errors
    ///
    /// The system has a fence and does not give it now, as without descriptors left.
    pub(in crate::world) fn ready(&self, dir: &Path) -> Result<Option<Prepared>, SandboxError> {
        if self.level == Level::Off {
            return Ok(None);
        }
        system::prepare(self, dir)
    }

    /// A fence that opens nothing around a project.
    pub fn nothing(root: &Path) -> Self {
        Self {
            level: Level::Workspace,
            network: true,
            root: root.to_owned(),
            temp: Vec::new(),
            writable: Vec::new(),
            guarded: Vec::new(),
            hidden: Vec::new(),
            processes: PROCESSES,
            settled: Settled::default(),
        }
    }

    /// The trees that a script may write in, as they were named; devices are apart.
    pub fn named(&self) -> Vec<PathBuf> {
        let mut named = self.temp.clone();
        if self.level == Level::Workspace {
            named.push(self.root.clone());
            named.extend(self.writable.iter().cloned());
        }
        named
    }

    /// Finds the trees if that was not done yet, and returns those that were there then.
    pub fn settle(&self) -> Vec<PathBuf> {
        self.settled.trees(|| self.named()).known()
    }

    /// Returns the trees that can be opened now, and those that are left out though they are there.
    fn now(&self) -> (Vec<WritableTree>, Vec<LeftOut>) {
        self.settled.trees(|| self.named()).now()
    }

    /// The folders that a script may write in, without links. On Linux without those that are not there, which cannot be
    /// allowed.
    pub fn trees(&self) -> Vec<PathBuf> {
        let (now, _) = self.now();
        let mut paths: Vec<PathBuf> = now.into_iter().map(|tree| tree.path).collect();
        if !cfg!(target_os = "linux") {
            paths.extend(self.settled.trees(|| self.named()).missing());
        }
        paths
    }

    /// The paths that the settings name and a script may not write in all the same.
    pub fn left_out(&self) -> Vec<LeftOut> {
        if self.level == Level::Off {
            return Vec::new();
        }
        self.now().1
    }

    /// Returns the trees that a script which starts now could write in if they were there.
    pub fn missing(&self) -> Vec<PathBuf> {
        if self.level == Level::Off || !cfg!(target_os = "linux") {
            return Vec::new();
        }
        self.settled.trees(|| self.named()).missing()
    }

    /// The guarded paths that exist in these trees, a parent before what is in it.
    fn guards(&self, trees: &[PathBuf]) -> Vec<PathBuf> {
        let mut guards = self.guarded.clone();
        if self.level == Level::ReadOnly {
            // It may be in a temporary directory.
            guards.push(self.root.clone());
        }
        let mut guards = resolved(guards.iter());
        guards.retain(|path| path.exists() && is_in(path, trees));
        guards
    }
}

/// One line, for a user.
impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by {
            Some(by) => write!(f, "exec is fenced by {by}")?,
            None => f.write_str("exec is not fenced")?,
        }
        for (number, lack) in self.lacks.iter().enumerate() {
            write!(f, "{} {lack}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

/// Returns the paths with their links resolved, in order and each once.
fn resolved<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = paths.map(|path| real(path)).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    path.canonicalize()
        .unwrap_or_else(|_| match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => real(parent).join(name),
            _ => path.to_owned(),
        })
}

fn is_in(path: &Path, trees: &[PathBuf]) -> bool {
    trees.iter().any(|tree| path.starts_with(tree))
}

/// The directories below that of a tree that a guarded path is in. Renamed, they would take the path with them.
fn held<'g>(guard: &'g Path, trees: &[PathBuf]) -> impl Iterator<Item = &'g Path> {
    let is_below = |dir: &Path| {
        let mut trees = trees.iter();
        trees.any(|tree| dir != tree && dir.starts_with(tree))
    };
    guard.ancestors().skip(1).filter(move |dir| is_below(dir))
}

#[cfg(test)]
mod tests;
