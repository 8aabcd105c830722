//! The settings: the shipped defaults, the user's over them, the project's over both. Reads the files; acts on nothing.
//!
//! What a project's file says of commands, hooks, paths and git could open the fence for the reply that wrote it, or come with
//! a cloned repository. So it holds only as the user has trusted it, word for word: what was trusted is kept in the state folder, and goes on
//! holding when the file says something else, or is gone.

mod change;
mod effective;
mod file;
mod listener;
pub mod places;
mod readable;
pub mod registry;
mod replies;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use serde::de::value::{self, StrDeserializer};
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::reply::dialect::Dialect;
use crate::settings::places::{Folders, PROJECT};
use crate::text::hex::hex;
use crate::text::{duration, size};
use crate::world::ownership::NotOwn;
use crate::world::state;

use effective::leaves;
use file::File;

pub use effective::Effective;
pub use listener::{
    ClipboardSettings, Every, Format, LedgerSettings, LogLevel, LogSettings, NotifySettings,
    WatchSettings, is_bare,
};
pub use replies::{ActionSettings, Hook, HookSettings, PathLists, PathSettings, VarName};

/// The shipped defaults; they name every setting.
pub const DEFAULTS: &str = include_str!("../../config/clada.toml");

/// The user's settings, in the folder for them.
const USER: &str = "config.toml";

/// The sections and keys that a project may set only once its user trusts it.
const FENCED: [&str; 8] = [
    "exec",
    "git",
    "limits",
    "actions",
    "paths",
    "hooks",
    "vars",
    "watch.output_file",
];

/// The sections and keys that only the user may set: they are about all of clada, not about a project.
const OWN: [&str; 3] = ["ledger", "log", "clipboard.watch"];

/// Every setting. What a file leaves out is nothing, so what holds is read from all of them together.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub dialects: Vec<Dialect>,
    pub exec: ExecSettings,
    pub git: GitSettings,
    pub watch: WatchSettings,
    pub clipboard: ClipboardSettings,
    pub notify: NotifySettings,
    pub ledger: LedgerSettings,
    pub log: LogSettings,
    pub limits: LimitSettings,
    pub actions: ActionSettings,
    pub paths: PathSettings,
    pub hooks: HookSettings,
    /// By name, for hooks.
    pub vars: BTreeMap<VarName, String>,
}

/// The limits of commands, and their environment.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecSettings {
    pub enabled: bool,
    #[serde(deserialize_with = "time")]
    pub timeout: Duration,
    pub sandbox: Sandbox,
    pub network: Network,
    pub caches: Vec<String>,
    pub write: Vec<String>,
    pub sockets: Vec<String>,
    pub processes: u32,
    pub deny: Vec<String>,
    pub ask: Vec<String>,
    pub env: BTreeMap<String, Variable>,
    pub scrub: Vec<String>,
    pub mask: Vec<String>,
    pub login_env: LoginEnvUse,
}

/// The snapshots before and after tasks.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GitSettings {
    pub enabled: bool,
    pub target: CommitTarget,
    pub commit: Commit,
    pub sign: bool,
    pub hooks: bool,
    pub untracked: UntrackedRule,
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub new_file: u64,
    /// In files.
    pub private_limit: usize,
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub private_file: u64,
}

/// The target of commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitTarget {
    /// Onto the branch that is checked out, or onto HEAD itself where it is detached.
    #[default]
    Branch,
    /// The same history under `refs/clada/BRANCH`: HEAD, index and branch are left as they are.
    Side,
}

/// The rule for files that git neither tracks nor ignores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UntrackedRule {
    /// They stay off the branch; see the top of `git/untracked.rs`.
    #[default]
    Leave,
    /// They are committed, but for what looks like a secret.
    Commit,
}

/// The unit that gets a commit of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commit {
    #[default]
    Task,
    Batch,
}

/// The largest sizes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub output: u64,
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub max_file_size: u64,
}

/// The strictness of the fence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    #[default]
    Workspace,
    ReadOnly,
    Off,
}

/// The access of commands to the network by TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    #[default]
    On,
    Off,
}

/// The cases in which the login shell is asked for its environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoginEnvUse {
    #[default]
    Auto,
    Always,
    Never,
}

/// The change of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    Set(String),
    Remove,
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a string, or `false` to remove the variable")]
        enum WrittenVariable {
            Value(String),
            Kept(bool),
        }
        match WrittenVariable::deserialize(from)? {
            WrittenVariable::Value(value) => Ok(Self::Set(value)),
            WrittenVariable::Kept(false) => Ok(Self::Remove),
            WrittenVariable::Kept(true) => Err(serde::de::Error::custom(
                "`true` is not allowed: write a string, or `false` to remove the variable",
            )),
        }
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    written(from, duration::parse, duration::FORM)
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    written(from, size::parse, size::FORM)
}

/// The value of a setting that has this name.
pub fn by_name<'n, T: Deserialize<'n>>(name: &'n str) -> Option<T> {
    T::deserialize(StrDeserializer::<value::Error>::new(name)).ok()
}

/// Reads a text of this form. What is no text is as wrong as one of another form.
fn written<'de, D: Deserializer<'de>, T>(
    from: D,
    parse: impl Fn(&str) -> Option<T>,
    form: &str,
) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    let read = value.as_str().and_then(parse);
    read.ok_or_else(|| serde::de::Error::custom(format!("the value must be {form}")))
}

/// The error of settings that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read the settings `{}`: {error}: make it a text file that this user can read", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("`{}`, {why}", path.display())]
    Wrong { path: PathBuf, why: String },
    #[error("`{setting}`: {why}")]
    Setting { setting: &'static str, why: String },
    #[error("`{}` {doubt}, so clada does not use it: run `{remedy}`", path.display())]
    Shared {
        path: PathBuf,
        doubt: NotOwn,
        remedy: String,
    },
    #[error(
        "`{}` is a symbolic link that leads out of the project folder, so clada does not read it: replace it with a \
         file",
        .0.display()
    )]
    LeadsOut(PathBuf),
    #[error("cannot write the settings `{}`: {error}: nothing was changed; check the folder's permissions and disk space", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot set `clipboard.watch` in `{}`: write `watch = true` below `[clipboard]` there", .0.display())]
    NotSet(PathBuf),
    #[error("cannot save what you trust in `{}`: {error}: make its folder writable for this user", path.display())]
    Keep { path: PathBuf, error: io::Error },
}

/// The settings as far as they can be read, for a command that carries out nothing.
#[derive(Debug)]
pub struct ReadableSettings {
    pub settings: Settings,
    /// The mistakes, one a file; first those that keep git's section from being read.
    pub wrong: Vec<SettingsError>,
    /// They do not say for sure where states are saved.
    pub has_lost_git: bool,
}

/// The settings that hold, and what there is to know about them.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSettings {
    pub settings: Settings,
    /// The warning about settings that do not apply.
    pub notice: Option<String>,
}

impl Settings {
    /// Reads the settings for a root, given by its canonical path.
    ///
    /// # Errors
    /// Where a file cannot be read, or says what no setting can be.
    pub fn load(folders: &Folders, root: &Path) -> Result<LoadedSettings, SettingsError> {
        let (layers, wrong) = SettingsLayers::read(folders, root);
        if let Some((error, _)) = wrong.into_iter().next() {
            return Err(error);
        }
        let notice = untrusted(&layers.asked, &layers.trusted.table);
        let settings = Self::of(layers.all(), &layers.project.path)?;
        Ok(LoadedSettings { settings, notice })
    }

    /// Reads what can be read of the settings for a root, given by its canonical path. Where something is wrong, the defaults
    /// hold.
    pub fn rest(folders: &Folders, root: &Path) -> ReadableSettings {
        let (layers, wrong, has_lost_git) = SettingsLayers::readable(folders, root);
        let settings = Self::of(layers.all(), &layers.project.path);
        let settings = settings.or_else(|_| Self::of(defaults().clone(), &layers.project.path));
        ReadableSettings {
            settings: settings.unwrap_or_default(),
            wrong,
            has_lost_git,
        }
    }

    /// The files that they are read from: the user's, by its canonical path, and the project's.
    pub fn files(folders: &Folders, root: &Path) -> [PathBuf; 2] {
        [Self::user_file(folders), root.join(PROJECT)]
    }

    /// The user's file, by its canonical path.
    pub fn user_file(folders: &Folders) -> PathBuf {
        let folder = folders.config.canonicalize();
        let folder = folder.unwrap_or_else(|_| folders.config.clone());
        folder.join(USER)
    }

    /// Reads what holds for this user wherever no project is.
    ///
    /// # Errors
    /// Where the user's file cannot be read, or says what no setting can be.
    pub fn of_user(folders: &Folders) -> Result<Self, SettingsError> {
        let user = File::read_own(&folders.config.join(USER))?;
        let mut all = defaults().clone();
        lay_over(&mut all, user.table);
        Self::of(all, &user.path)
    }

    /// Reads how this user wants the log; `None` where the user's file is wrong. The log is wanted before all else, and that
    /// commands read the other settings too is no reason to make values of them twice.
    pub fn log_of_user(folders: &Folders) -> Option<LogSettings> {
        let mut user = File::read_own(&folders.config.join(USER)).ok()?;
        let mut log = defaults().get("log")?.as_table()?.clone();
        if let Some(Value::Table(of_user)) = user.table.remove("log") {
            lay_over(&mut log, of_user);
        }
        log.try_into().ok()
    }

    /// Those of all files in one, of which this is the last. Each was looked at by itself.
    fn of(all: Table, last: &Path) -> Result<Self, SettingsError> {
        all.try_into()
            .map_err(|error: toml::de::Error| SettingsError::Wrong {
                path: last.to_owned(),
                why: error.message().to_owned(),
            })
    }

    /// Trusts the settings in the project's file that need trust, so that they apply from now on.
    ///
    /// # Errors
    /// Where the file is invalid, or the trusted settings cannot be kept.
    pub fn trust(folders: &Folders, root: &Path) -> Result<Trusted, SettingsError> {
        let mut project = File::read_project(root)?;
        let path = trusted_path(folders, root);
        let keep = |error| SettingsError::Keep {
            path: path.clone(),
            error,
        };
        let fenced = take_fenced(&mut project.table);
        if fenced.is_empty() {
            let file_exists = project.path.exists();
            return match fs::remove_file(&path) {
                Ok(()) => Ok(Trusted::Withdrawn { file_exists }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Ok(Trusted::Nothing { file_exists })
                }
                Err(error) => Err(keep(error)),
            };
        }
        let text = fenced.to_string();
        let before = File::read_own(&path).map(|mut file| take_fenced(&mut file.table));
        if before.is_ok_and(|before| before == fenced) {
            return Ok(Trusted::Already(text));
        }
        let folder = path.parent().unwrap_or(&folders.state);
        state::make(folder).map_err(keep)?;
        // As a whole or not at all.
        let new = path.with_extension("new");
        fs::write(&new, format!("# {}\n{text}", root.join(PROJECT).display()))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(keep)?;
        Ok(Trusted::New(text))
    }
}

/// The result of trusting a project's settings.
#[derive(Debug, PartialEq, Eq)]
pub enum Trusted {
    /// These settings apply from now on.
    New(String),
    /// These settings were trusted before.
    Already(String),
    /// The file sets nothing that needs trust, and nothing was trusted before.
    Nothing { file_exists: bool },
    /// The file no longer sets anything that needs trust, so the settings trusted before no longer apply.
    Withdrawn { file_exists: bool },
}

/// The settings that need trust, as a list in a sentence.
pub fn fenced() -> String {
    let names = FENCED.map(shown);
    let (last, others) = names
        .split_last()
        .map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    format!("{} and {last}", others.join(", "))
}

/// A section or a key, as one writes of it.
fn shown(name: &str) -> String {
    if name.contains('.') {
        format!("`{name}`")
    } else {
        format!("[{name}]")
    }
}

/// Takes out what needs trust.
fn take_fenced(project: &mut Table) -> Table {
    let mut fenced = Table::new();
    for name in FENCED {
        fenced.extend(take(project, name));
    }
    fenced
}

/// Takes out a section, or a key of one, and returns it as the section that is left of it.
fn take(table: &mut Table, name: &str) -> Option<(String, Value)> {
    let Some((section, key)) = name.split_once('.') else {
        return table.remove_entry(name);
    };
    let taken = table.get_mut(section)?.as_table_mut()?.remove_entry(key)?;
    Some((section.to_owned(), Table::from_iter([taken]).into()))
}

/// Returns the value of a section, or of a key in one, such as `watch.output_file`.
fn get<'t>(table: &'t Table, name: &str) -> Option<&'t Value> {
    match name.split_once('.') {
        None => table.get(name),
        Some((section, key)) => table.get(section)?.get(key),
    }
}

/// The settings that need trust, and differ from what was trusted.
fn not_trusted(asked: &Table, trusted: &Table) -> impl Iterator<Item = &'static str> {
    FENCED
        .into_iter()
        .filter(|name| get(asked, name) != get(trusted, name))
}

/// The most settings that a warning names.
const NAMED: usize = 8;

/// Returns the warning about a file that asks for something else than was trusted.
fn untrusted(asked: &Table, trusted: &Table) -> Option<String> {
    let (asked, trusted) = (leaves(asked), leaves(trusted));
    let is_in = |all: &[(String, &Value)], path: &str| all.iter().any(|(held, _)| held == path);
    let changed = asked.iter().filter(|leaf| !trusted.contains(leaf));
    let removed = trusted.iter().filter(|(path, _)| !is_in(&asked, path));
    let mut names: Vec<&str> = changed.chain(removed).map(|(path, _)| &**path).collect();
    // A heading without settings is named if nothing else is to be named.
    if names.iter().any(|name| name.contains('.')) {
        names.retain(|name| name.contains('.'));
    }
    let is_one = names.len() == 1;
    let what = if !names.iter().any(|name| is_in(&trusted, name)) {
        let is = if is_one { "is" } else { "are" };
        format!("{is} not trusted: the defaults and your own settings apply")
    } else if !names.iter().any(|name| is_in(&asked, name)) {
        let was = if is_one { "was" } else { "were" };
        format!("{was} removed: what you trusted stays in effect")
    } else {
        let differs = if is_one { "differs" } else { "differ" };
        format!("{differs} from what you trusted: that stays in effect")
    };
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(NAMED);
    (!names.is_empty()).then(|| {
        let names = names.join("`, `");
        format!("⚠ `{names}`{more} in {PROJECT} {what} (`clada trust` changes that)")
    })
}

/// The files of settings, each over the one before it.
struct SettingsLayers {
    user: File,
    /// Without what needs trust, which is in `asked`.
    project: File,
    asked: Table,
    trusted: File,
}

impl SettingsLayers {
    /// Reads what can be read of them, with what is wrong in their order, and whether that may be of git.
    fn read(folders: &Folders, root: &Path) -> (Self, Vec<(SettingsError, bool)>) {
        let own = |path: &Path| File::readable(path, File::read_own(path));
        let (user, user_wrong) = own(&folders.config.join(USER));
        let (mut trusted, trusted_wrong) = own(&trusted_path(folders, root));
        let project = File::read_project(root);
        let (mut project, project_wrong) = File::readable(&root.join(PROJECT), project);
        let not_its = project.refuse(&OWN, &user.path).err();
        for name in OWN {
            take(&mut project.table, name);
        }
        // What a project says of git is in what is trusted of it.
        let of_project = project_wrong.map(|(error, _)| error).into_iter();
        let of_project = of_project.chain(not_its).map(|error| (error, false));
        let wrong = user_wrong.into_iter().chain(of_project);
        let wrong = wrong.chain(trusted_wrong).collect();
        let asked = take_fenced(&mut project.table);
        trusted.table = take_fenced(&mut trusted.table);
        let layers = Self {
            user,
            project,
            asked,
            trusted,
        };
        (layers, wrong)
    }

    /// The same for a command that carries out nothing: first what is wrong of git, and whether there is such.
    fn readable(folders: &Folders, root: &Path) -> (Self, Vec<SettingsError>, bool) {
        let (layers, mut wrong) = Self::read(folders, root);
        wrong.sort_by_key(|(_, of_git)| !*of_git);
        let has_lost_git = wrong.first().is_some_and(|(_, of_git)| *of_git);
        let wrong = wrong.into_iter().map(|(error, _)| error).collect();
        (layers, wrong, has_lost_git)
    }

    /// All of it in one.
    fn all(&self) -> Table {
        let mut all = defaults().clone();
        for file in [&self.user, &self.project, &self.trusted] {
            lay_over(&mut all, file.table.clone());
        }
        all
    }
}

/// The shipped defaults, read once.
fn defaults() -> &'static Table {
    static DEFAULT: LazyLock<Table> =
        LazyLock::new(|| toml::from_str(DEFAULTS).expect("the shipped defaults are well-formed"));
    &DEFAULT
}

/// The paths that are denied where no settings say otherwise: those that look like a secret.
pub fn shipped_paths() -> PathSettings {
    let paths = defaults().get("paths").cloned();
    let paths = paths.and_then(|paths| paths.try_into().ok());
    paths.expect("the shipped paths are well-formed")
}

fn trusted_path(folders: &Folders, root: &Path) -> PathBuf {
    let name = hex(&Sha256::digest(root.as_os_str().as_encoded_bytes()));
    folders.state.join("trusted").join(name + ".toml")
}

/// Puts one file's settings over those of another: tables are merged, everything else is replaced.
fn lay_over(under: &mut Table, over: Table) {
    for (name, value) in over {
        match (under.get_mut(&name), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => lay_over(under, over),
            (_, value) => {
                under.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
