//! The settings: the shipped defaults, the user's over them, the project's over both. Reads the files; acts on nothing.
//!
//! What a project's file says of commands, hooks, paths and git could open the fence for the reply that wrote it, or come with
//! a cloned repository. So it holds only as the user has trusted it, word for word: what was trusted is kept in the state folder, and goes on
//! holding when the file says something else, or is gone.

mod replies;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::value::{self, StrDeserializer};
use serde::{Deserialize, Deserializer};
use sha2::{Digest, Sha256};
use toml::Table;

use super::{Folders, PROJECT, SETTINGS_LIMIT};
use crate::lang::dialect::Dialect;
use crate::lang::hex::hex;
use crate::lang::{duration, size};

pub use replies::{Actions, Hook, Hooks, PathLists, Paths, VarName};

/// The shipped defaults; they name every setting.
pub const DEFAULTS: &str = include_str!("../../config/clada.toml");

/// The user's settings, in the folder for them.
const USER: &str = "config.toml";

/// What a project may only set once its user trusts it.
const FENCED: [&str; 7] = ["exec", "git", "limits", "actions", "paths", "hooks", "vars"];

/// Every setting. What a file leaves out is nothing, so what holds is read from all of them together.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub dialects: Vec<Dialect>,
    pub exec: Exec,
    pub git: Git,
    pub limits: Limits,
    pub actions: Actions,
    pub paths: Paths,
    pub hooks: Hooks,
    /// By name, for hooks.
    pub vars: BTreeMap<VarName, String>,
}

/// What commands may do, and how they are run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exec {
    pub enabled: bool,
    #[serde(deserialize_with = "time")]
    pub timeout: Duration,
    pub sandbox: Sandbox,
    pub network: Network,
    pub caches: Vec<String>,
    pub write: Vec<String>,
    pub deny: Vec<String>,
    pub ask: Vec<String>,
    pub env: BTreeMap<String, Variable>,
    pub scrub: Vec<String>,
    pub mask: Vec<String>,
    pub login_env: LoginEnv,
}

/// How the state is saved before and after.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Git {
    pub enabled: bool,
    pub target: Target,
    pub commit: Commit,
    pub sign: bool,
    pub hooks: bool,
    /// In files.
    pub private_limit: usize,
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub private_file: u64,
}

/// Where commits go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    #[default]
    Branch,
    Side,
}

/// What makes a commit of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Commit {
    #[default]
    Task,
    Batch,
}

/// How much is too much.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub output: u64,
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub max_file_size: u64,
}

/// How far commands are fenced in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    #[default]
    Workspace,
    ReadOnly,
    Off,
}

impl Sandbox {
    /// The level of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::deserialize(StrDeserializer::<value::Error>::new(name)).ok()
    }
}

/// Whether commands may reach others by TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    #[default]
    On,
    Off,
}

/// When the login shell is asked for its environment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoginEnv {
    #[default]
    Auto,
    Always,
    Never,
}

/// What becomes of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    Set(String),
    Remove,
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a text, or `false` to take the variable away")]
        enum Written {
            Value(String),
            Kept(bool),
        }
        match Written::deserialize(from)? {
            Written::Value(value) => Ok(Self::Set(value)),
            Written::Kept(false) => Ok(Self::Remove),
            Written::Kept(true) => Err(serde::de::Error::custom(
                "`true` says nothing: write a text, or `false` to take the variable away",
            )),
        }
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    duration::parse(&text)
        .ok_or_else(|| serde::de::Error::custom(format!("it must be {}", duration::FORM)))
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    size::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("it must be {}", size::FORM)))
}

/// Why the settings cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("cannot read `{}`: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("`{}`, {why}", path.display())]
    Wrong { path: PathBuf, why: String },
    #[error("`{setting}`: {why}")]
    Setting { setting: &'static str, why: String },
    #[error("cannot keep what is trusted in `{}`: {error}", path.display())]
    Keep { path: PathBuf, error: io::Error },
}

/// The settings that hold, and what there is to know about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub settings: Settings,
    /// Why not all of the files holds.
    pub notice: Option<String>,
}

impl Settings {
    /// Reads the settings for a root, given by its canonical path.
    ///
    /// # Errors
    /// Where a file cannot be read, or says what no setting can be.
    pub fn load(folders: &Folders, root: &Path) -> Result<Loaded, SettingsError> {
        let mut all: Table =
            toml::from_str(DEFAULTS).expect("the shipped defaults are well-formed");
        if let Some(user) = read(&folders.config.join(USER))? {
            lay_over(&mut all, user);
        }
        let mut project = read(&root.join(PROJECT))?.unwrap_or_default();
        let asked = take_fenced(&mut project);
        let trusted = trusted(folders, root)?;
        let notice = untrusted(&asked, &trusted);
        project.extend(trusted);
        lay_over(&mut all, project);
        let settings = all
            .try_into()
            .map_err(|error: toml::de::Error| SettingsError::Wrong {
                // Each file was looked at by itself.
                path: root.join(PROJECT),
                why: error.message().to_owned(),
            })?;
        Ok(Loaded { settings, notice })
    }

    /// Has what needs trust in the project's file hold from now on; what that is, as text. Nothing where it says nothing of
    /// that.
    ///
    /// # Errors
    /// Where the file is wrong, or it cannot be kept.
    pub fn trust(folders: &Folders, root: &Path) -> Result<Option<String>, SettingsError> {
        let mut project = read(&root.join(PROJECT))?.unwrap_or_default();
        let path = trusted_path(folders, root);
        let keep = |error| SettingsError::Keep {
            path: path.clone(),
            error,
        };
        let fenced = take_fenced(&mut project);
        if fenced.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(keep(error)),
                _ => Ok(None),
            };
        }
        let text = fenced.to_string();
        let folder = path.parent().unwrap_or(&folders.state);
        fs::create_dir_all(folder).map_err(keep)?;
        // As a whole or not at all.
        let new = path.with_extension("new");
        fs::write(&new, format!("# {}\n{text}", root.join(PROJECT).display()))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(keep)?;
        Ok(Some(text))
    }
}

/// The sections that need trust, as one lists them.
pub fn fenced() -> String {
    let names: Vec<String> = FENCED.iter().map(|name| format!("[{name}]")).collect();
    let (last, others) = names
        .split_last()
        .map_or(("", &[][..]), |(last, others)| (last.as_str(), others));
    format!("{} and {last}", others.join(", "))
}

/// Takes out what needs trust.
fn take_fenced(project: &mut Table) -> Table {
    let fenced = FENCED.iter();
    fenced
        .filter_map(|name| Some(((*name).to_owned(), project.remove(*name)?)))
        .collect()
}

/// What to say where the file asks for something else than was trusted.
fn untrusted(asked: &Table, trusted: &Table) -> Option<String> {
    let name = FENCED
        .into_iter()
        .find(|name| asked.get(*name) != trusted.get(*name))?;
    let holds = match trusted.contains_key(name) {
        true => "the one that you trusted before holds",
        false => "the defaults and your own settings hold",
    };
    Some(match asked.contains_key(name) {
        true => format!(
            "⚠ the [{name}] in {PROJECT} is not the one that you trusted: {holds} (`clada trust` changes that)"
        ),
        false => {
            format!("⚠ the [{name}] in {PROJECT} is gone: {holds} (`clada trust` changes that)")
        }
    })
}

/// What the user trusts a root's settings to say.
fn trusted(folders: &Folders, root: &Path) -> Result<Table, SettingsError> {
    let kept = read(&trusted_path(folders, root))?;
    Ok(take_fenced(&mut kept.unwrap_or_default()))
}

fn trusted_path(folders: &Folders, root: &Path) -> PathBuf {
    let name = hex(&Sha256::digest(root.as_os_str().as_encoded_bytes()));
    folders.state.join("trusted").join(name + ".toml")
}

/// The tables in a file; `None` where there is none.
fn read(path: &Path) -> Result<Option<Table>, SettingsError> {
    let text = match text_of(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| SettingsError::Read {
            path: path.to_owned(),
            error,
        })?,
    };
    let wrong = |why| SettingsError::Wrong {
        path: path.to_owned(),
        why,
    };
    parse(&text).map(Some).map_err(wrong)
}

/// A file's text. A command may have put anything in its place: a pipe is not waited for, nor is all read of a device.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = file.open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if meta.len() > SETTINGS_LIMIT {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    let mut text = String::new();
    file.take(SETTINGS_LIMIT).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a file's text. Every value in it must be one that its setting can have.
fn parse(text: &str) -> Result<Table, String> {
    let wrong = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("line {line}, column {column}: {}", error.message())
    };
    toml::from_str::<Settings>(text).map_err(wrong)?;
    toml::from_str(text).map_err(wrong)
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
mod tests {
    use super::*;

    struct Place {
        dir: tempfile::TempDir,
        folders: Folders,
    }

    impl Place {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("temp dir");
            let at = |name: &str| dir.path().join(name);
            for name in ["folder", "config"] {
                fs::create_dir(at(name)).expect("folder");
            }
            let folders = Folders {
                home: at("home"),
                state: at("state"),
                config: at("config"),
                services: at("services"),
            };
            Self { dir, folders }
        }

        fn root(&self) -> PathBuf {
            self.dir.path().join("folder")
        }

        fn project(&self, text: &str) -> &Self {
            fs::write(self.root().join(PROJECT), text).expect("write");
            self
        }

        fn user(&self, text: &str) -> &Self {
            fs::write(self.folders.config.join(USER), text).expect("write");
            self
        }

        fn trust(&self) -> Option<String> {
            Settings::trust(&self.folders, &self.root()).expect("trust")
        }

        fn load(&self) -> Loaded {
            Settings::load(&self.folders, &self.root()).expect("load")
        }

        fn error(&self) -> String {
            let error = Settings::load(&self.folders, &self.root()).expect_err("load");
            error
                .to_string()
                .replace(&self.dir.path().display().to_string(), "")
        }
    }

    #[test]
    fn the_defaults_name_every_setting() {
        let Loaded { settings, notice } = Place::new().load();
        assert_eq!(notice, None);
        let Settings {
            dialects,
            exec,
            git,
            limits,
            actions,
            paths,
            hooks,
            vars,
        } = settings;
        assert_eq!(dialects, Dialect::ALL);
        assert_eq!((hooks, vars), (Hooks::default(), BTreeMap::new()));
        assert_eq!((actions.allow.len(), actions.deny.len()), (1, 0));
        let lists = paths.lists().map(|list| list.patterns.is_empty());
        assert_eq!(lists, [false, false, false, false, true, true]);
        let Limits {
            output,
            max_file_size,
        } = limits;
        let Exec {
            enabled,
            timeout,
            sandbox,
            network,
            caches,
            write: _,
            deny: _,
            ask,
            env: _,
            scrub: _,
            mask,
            login_env,
        } = exec;
        let exec = [
            "enabled",
            "timeout",
            "sandbox",
            "network",
            "caches",
            "write",
            "deny",
            "ask",
            "env",
            "scrub",
            "mask",
            "login_env",
        ];
        let table = parse(DEFAULTS).expect("defaults");
        let names = |table: &toml::Value| {
            let names = table.as_table().expect("a table").keys().cloned();
            names.collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(names(&table["exec"]), exec.map(str::to_owned).into());
        let Git {
            enabled: saves,
            target,
            commit,
            sign: false,
            hooks: false,
            private_limit: 20_000,
            private_file,
        } = git
        else {
            panic!("{git:?}");
        };
        let git = [
            "enabled",
            "target",
            "commit",
            "sign",
            "hooks",
            "private_limit",
            "private_file",
        ];
        assert_eq!(names(&table["git"]), git.map(str::to_owned).into());
        assert_eq!(
            (saves, target, commit, private_file),
            (true, Target::Branch, Commit::Task, 64 << 20)
        );
        let limits = ["output", "max_file_size"];
        assert_eq!(names(&table["limits"]), limits.map(str::to_owned).into());
        assert_eq!(max_file_size, 10 << 20);
        let lists = ["allow", "deny"].map(str::to_owned);
        assert_eq!(names(&table["actions"]), lists.clone().into());
        assert_eq!(names(&table["paths"]["read"]), lists.clone().into());
        assert_eq!(names(&table["paths"]["write"]), lists.into());
        assert_eq!(
            names(&table["hooks"]),
            ["before", "after"].map(str::to_owned).into()
        );
        assert_eq!((enabled, timeout.as_secs(), output), (true, 600, 1 << 30));
        assert_eq!((sandbox, network), (Sandbox::Workspace, Network::On));
        assert_eq!(login_env, LoginEnv::Auto);
        assert!(caches.len() > 10 && ask.len() > 5 && mask.len() == 4);
    }

    #[test]
    fn the_project_comes_before_the_user_and_the_user_before_the_defaults() {
        let place = Place::new();
        place.user("[exec]\ntimeout = '1s'\nsandbox = 'read-only'\n[exec.env]\nA = 'user'\nB = 'user'\n[limits]\noutput = '5 MiB'");
        let exec = place.load().settings.exec;
        assert_eq!(
            (exec.timeout.as_secs(), exec.sandbox),
            (1, Sandbox::ReadOnly)
        );
        place.project(
            "[exec]\ntimeout = '2s'\nask = []\n[exec.env]\nB = false\n[limits]\noutput = '6 MiB'",
        );
        place.trust();
        let Loaded { settings, notice } = place.load();
        let exec = settings.exec;
        assert_eq!(
            (exec.timeout.as_secs(), exec.sandbox, notice),
            (2, Sandbox::ReadOnly, None)
        );
        assert_eq!(exec.ask, Vec::<String>::new());
        let env = [
            ("A".to_owned(), Variable::Set("user".to_owned())),
            ("B".to_owned(), Variable::Remove),
        ];
        assert_eq!(exec.env, env.into());
        assert_eq!(settings.limits.output, 6 << 20);
    }

    #[test]
    fn what_a_project_says_of_exec_holds_once_it_is_trusted() {
        let place = Place::new();
        let sandbox = || {
            let loaded = place.load();
            (
                loaded.settings.exec.sandbox,
                loaded.notice.unwrap_or_default(),
            )
        };
        place.project("[exec]\nsandbox = 'off'");
        let (level, notice) = sandbox();
        assert_eq!(level, Sandbox::Workspace);
        assert!(
            notice.contains("the defaults and your own settings hold"),
            "{notice}"
        );

        assert_eq!(
            place.trust().as_deref(),
            Some("[exec]\nsandbox = \"off\"\n")
        );
        assert_eq!(sandbox(), (Sandbox::Off, String::new()));
        place.project("# other words\n[exec]\nsandbox = \"off\"\n");
        assert_eq!(sandbox(), (Sandbox::Off, String::new()));

        place.project("[exec]\nsandbox = 'read-only'");
        place.trust();
        for changed in [
            "[exec]\nsandbox = 'off'",
            "[exec]\nsandbox = 'read-only'\nask = []",
            "",
        ] {
            place.project(changed);
            let (level, notice) = sandbox();
            assert_eq!(level, Sandbox::ReadOnly, "{changed}");
            assert!(
                notice.contains("the one that you trusted before holds"),
                "{notice}"
            );
        }
        fs::remove_file(place.root().join(PROJECT)).expect("remove");
        assert_eq!(sandbox().0, Sandbox::ReadOnly);
        assert_eq!(place.trust(), None);
        assert_eq!(sandbox(), (Sandbox::Workspace, String::new()));
    }

    #[test]
    fn a_project_loosens_no_limit_until_it_is_trusted() {
        let place = Place::new();
        place.project("[limits]\nmax_file_size = '1 GiB'");
        assert_eq!(place.load().settings.limits.max_file_size, 10 << 20);
        place.trust();
        assert_eq!(place.load().settings.limits.max_file_size, 1 << 30);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let place = Place::new();
        let wrong = |text: &str| place.project(text).error();
        assert_eq!(
            wrong("[exec]\n  timeout = 'soon'"),
            "`/folder/clada.toml`, line 2, column 13: it must be one number above 0 with ms, s, m or h, such as `90s`"
        );
        assert!(wrong("[exec]\nsandbxo = 'off'").starts_with(
            "`/folder/clada.toml`, line 2, column 1: unknown field `sandbxo`, expected one of"
        ));
        assert!(
            wrong("[exec]\nsandbox = 'strict'").contains(
                "line 2, column 11: unknown variant `strict`, expected one of `workspace`"
            )
        );
        assert!(wrong("[exec.env]\nA = true").contains("line 2, column 5: `true` says nothing"));
        assert!(
            wrong("[exec.env]\nA = 7").contains("line 2, column 5: a text, or `false`"),
            "{}",
            wrong("[exec.env]\nA = 7")
        );
        assert!(
            wrong("[limits]\noutput = 'much'")
                .contains("line 2, column 10: it must be a whole number with")
        );
        assert!(
            wrong("[exec\n").contains("line 1, column "),
            "{}",
            wrong("[exec\n")
        );
        assert!(
            wrong("[what]\n").contains("line 1, column 2: unknown field `what`"),
            "{}",
            wrong("[what]\n")
        );
        place.project("").user("x = 1");
        assert!(
            place
                .error()
                .starts_with("`/config/config.toml`, line 1, column 1: unknown field `x`")
        );
    }
}
