//! Finds the programs that clada itself runs, outside every fence. Owns where they may be: in no folder that a command of a
//! reply may write to, nor another user. Never decides what a program is told.
//!
//! A PATH that has a project's `.venv/bin` in front is an everyday thing, and whatever lies there may come from a reply. So
//! each folder of the PATH is followed name by name and link by link, and left out where something on the way is not the
//! user's alone. What is left is also the PATH that these programs get: git finds its hooks' programs by it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use crate::world::locked::locked;
use crate::world::ownership::{NotOwn, OwnUsers, follow};

/// The programs of a PATH. Its copies share what was found.
#[derive(Clone)]
pub struct Programs(Arc<Mutex<PathSearch>>);

/// The results of a search.
struct PathSearch {
    path: OsString,
    /// The number of trees that were to be avoided then.
    trees: usize,
    folders: Vec<PathFolder>,
}

/// A folder of the PATH.
struct PathFolder {
    named: PathBuf,
    /// Its place, or the reason why nothing in it is run.
    is: Result<PathBuf, Risk>,
}

/// The reason why nothing in a place is run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Risk {
    /// Commands may write there.
    Written,
    /// Something on the way there is not the user's alone.
    Shared(PathBuf, NotOwn),
    /// The PATH does not name it from `/` on.
    Relative,
    Unreadable(String),
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written => f.write_str("which commands can write to"),
            Self::Shared(path, doubt) => write!(f, "and `{}` {doubt}", path.display()),
            Self::Relative => f.write_str("which PATH names without its full path"),
            Self::Unreadable(error) => write!(f, "which clada cannot check ({error})"),
        }
    }
}

/// The reason why a program is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    #[error("`{0}` is not in PATH: install it")]
    None(String),
    #[error(
        "`{name}` is only in `{}`, {why}: clada does not run it there; install it for the whole system", folder.display()
    )]
    AtRisk {
        name: String,
        folder: PathBuf,
        /// In words.
        why: String,
    },
}

impl NoProgram {
    /// Tells if there is one that is not run.
    pub fn is_risk(&self) -> bool {
        matches!(self, Self::AtRisk { .. })
    }
}

/// The trees that commands of this process may write to. They only become more: what was planted in one stays there.
static TREES: LazyLock<Mutex<AvoidedTrees>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct AvoidedTrees {
    /// As they were named. Few processes ever run a program, so where these lead is not asked before that. They are more than a
    /// hundred, and named anew before each run: hashing them takes a fraction of the time of keeping them in order.
    named: HashSet<PathBuf>,
    /// The same trees, and the places where they have led.
    all: BTreeSet<PathBuf>,
}

impl AvoidedTrees {
    /// Returns all of them, as they are now and were before.
    fn all() -> BTreeSet<PathBuf> {
        let named = locked(&TREES).named.clone();
        // Not while others wait: a file system may not answer.
        let leads = named.iter().filter_map(|tree| tree.canonicalize().ok());
        let leads: Vec<PathBuf> = leads.collect();
        let all = &mut locked(&TREES).all;
        all.extend(named.into_iter().chain(leads));
        all.clone()
    }
}

/// Runs nothing from these trees any more.
pub fn avoid(trees: impl IntoIterator<Item = PathBuf>) {
    locked(&TREES).named.extend(trees);
}

/// Runs nothing from these project folders any more, which are named by their canonical paths. They are not looked at: the file
/// system of one may hang, as that of a server that is gone does.
pub fn avoid_roots(roots: impl IntoIterator<Item = PathBuf>) {
    locked(&TREES).all.extend(roots);
}

/// Tells if nobody but the user can put another file or folder at this path, and no command.
pub fn is_safe(path: &Path) -> bool {
    leads_to(path, &AvoidedTrees::all(), true).is_ok()
}

impl Programs {
    /// Returns the programs of this process's PATH.
    pub fn of_process() -> Self {
        Self::of(env::var_os("PATH").as_deref())
    }

    /// Returns the programs of the PATH in an environment.
    pub fn of_vars<'v>(vars: impl IntoIterator<Item = (&'v OsString, &'v OsString)>) -> Self {
        let path = vars.into_iter().find(|(name, _)| *name == "PATH");
        Self::of(path.map(|(_, path)| path.as_os_str()))
    }

    /// Returns the programs of a PATH; where there is none, of the system's own folders. Nothing is looked for yet.
    pub fn of(path: Option<&OsStr>) -> Self {
        /// The searches of all PATHs, kept for as long as the process lives.
        static KNOWN: LazyLock<Mutex<HashMap<OsString, Programs>>> = LazyLock::new(Mutex::default);
        let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let mut known = locked(&KNOWN);
        let new = || {
            let search = PathSearch {
                path: path.to_owned(),
                trees: usize::MAX,
                folders: Vec::new(),
            };
            Self(Arc::new(Mutex::new(search)))
        };
        known.entry(path.to_owned()).or_insert_with(new).clone()
    }

    /// Finds a program.
    ///
    /// # Errors
    /// Where there is none, or none that is run.
    pub fn find(&self, name: &str) -> Result<PathBuf, NoProgram> {
        locked(&self.0).settled().find(name)
    }

    /// The PATH without what is at risk.
    pub fn path(&self) -> OsString {
        let mut search = locked(&self.0);
        let folders = search.settled().folders.iter();
        let folders = folders.filter_map(|folder| folder.is.as_ref().ok());
        // None of them has a colon, as each came out of such a list; a link may lead to one.
        let folders =
            folders.filter(|folder| !folder.as_os_str().as_encoded_bytes().contains(&b':'));
        env::join_paths(folders).unwrap_or_default()
    }

    /// The folders of the PATH in which nothing is run, as it names them.
    pub fn left_out(&self) -> Vec<PathBuf> {
        let mut search = locked(&self.0);
        let folders = search.settled().folders.iter();
        let at_risk = folders.filter(|folder| folder.is.is_err());
        at_risk.map(|folder| folder.named.clone()).collect()
    }

    /// A program that is about to run in the environment of this process.
    ///
    /// # Errors
    /// Where there is none, or none that is run.
    pub fn command(&self, name: &str) -> Result<Command, NoProgram> {
        let mut command = Command::new(self.find(name)?);
        command.env("PATH", self.path());
        Ok(command)
    }

    /// A program that is about to run in this environment and no other.
    ///
    /// # Errors
    /// Where there is none, or none that is run.
    pub fn command_in<'v>(
        &self,
        name: &str,
        vars: impl IntoIterator<Item = (&'v OsString, &'v OsString)>,
    ) -> Result<Command, NoProgram> {
        let mut command = self.command(name)?;
        command.env_clear().envs(vars).env("PATH", self.path());
        Ok(command)
    }
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Programs")
            .field(&locked(&self.0).path)
            .finish()
    }
}

impl PathSearch {
    /// Looks at the folders, where that was not done with all that is known by now.
    fn settled(&mut self) -> &mut Self {
        let trees = AvoidedTrees::all();
        if self.trees != trees.len() {
            self.trees = trees.len();
            let folders = env::split_paths(&self.path);
            let folders = folders.map(|named| PathFolder {
                is: leads_to(&named, &trees, true),
                named,
            });
            self.folders = folders.collect();
        }
        self
    }

    fn find(&self, name: &str) -> Result<PathBuf, NoProgram> {
        let trees = AvoidedTrees::all();
        let mut at_risk = None;
        for folder in &self.folders {
            let file = folder.is.as_ref().unwrap_or(&folder.named).join(name);
            if !is_program(&file) {
                continue;
            }
            let is = folder.is.clone();
            match is.and_then(|_| leads_to(&file, &trees, false)) {
                Ok(_) => return Ok(file),
                Err(risk) => {
                    at_risk.get_or_insert_with(|| NoProgram::AtRisk {
                        name: name.to_owned(),
                        folder: folder.named.clone(),
                        why: risk.to_string(),
                    });
                }
            }
        }
        Err(at_risk.unwrap_or_else(|| NoProgram::None(name.to_owned())))
    }
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// Follows a path, if nobody but the user can make it lead elsewhere; `alone`: nor put anything in it.
fn leads_to(path: &Path, trees: &BTreeSet<PathBuf>, alone: bool) -> Result<PathBuf, Risk> {
    if !path.is_absolute() {
        return Err(Risk::Relative);
    }
    let users = OwnUsers::of_process();
    let shared = |path: &Path, doubt| Risk::Shared(path.to_owned(), doubt);
    let is_written = |path: &Path| trees.iter().any(|tree| path.starts_with(tree));
    let mut check = |path: &Path, found: &Metadata| match users.doubt(found) {
        _ if is_written(path) => Err(Risk::Written),
        Some(doubt) => Err(shared(path, doubt)),
        None => Ok(()),
    };
    let leads = follow(path, &mut check)?;
    let leads = leads.map_err(|error| Risk::Unreadable(error.to_string()))?;
    if is_written(&leads) {
        return Err(Risk::Written);
    }
    let doubt = |found: Metadata| users.doubt_strictly(&found);
    let doubt = fs::symlink_metadata(&leads).ok().and_then(doubt);
    match doubt.filter(|_| alone) {
        Some(doubt) => Err(shared(&leads, doubt)),
        None => Ok(leads),
    }
}
