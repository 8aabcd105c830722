//! Turns the settings into the rules of a run: how replies are read, commands run and states saved. Each run does it again, as
//! settings are edited while clada listens.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, Once};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::git::{self, NotesFiles};
use crate::policy::Policy;
use crate::policy::actions::Actions;
use crate::policy::paths::Paths;
use crate::policy::secrets::Secrets;
use crate::run::exec::ExecRules;
use crate::run::{GitSetup, HookSetup, Setup};
use crate::settings::places::{Folders, PROJECT};
use crate::settings::registry::Registry;
use crate::settings::{
    self, LoadedSettings, Network, Sandbox, Settings, SettingsError, VarName, Variable,
};
use crate::text::mask::{self, Mask};
use crate::world::ledger::Ledger;
use crate::world::locked::locked;
use crate::world::login_env::{self, LoginEnv};
use crate::world::programs;
use crate::world::roots;
use crate::world::sandbox::{self, Fence, Level, Repositories, Settled};

/// The time that the login shell may take, for each of the two ways to ask it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The flags for runs, which override the settings.
#[derive(Debug, Clone, Default)]
pub struct RunFlags {
    /// The time limit of a command.
    pub timeout: Option<Duration>,
    pub sandbox: Option<Sandbox>,
    /// Git is not used.
    pub no_git: bool,
    /// Nothing that is carried out runs a command, so the trees of the fence are not looked for.
    pub no_commands: bool,
}

/// The source of the rules of one root.
pub(crate) struct RuleSource {
    folders: Folders,
    /// Canonical.
    root: PathBuf,
    flags: RunFlags,
    /// The environment before the settings change it.
    env: LoginEnv,
    /// The trees of the fence, resolved when listening began or when the settings last named others.
    ground: Mutex<Ground>,
}

/// The trees that the settings name, and what they led to at first: a command could since have replaced them with links or with
/// a git directory.
#[derive(Default)]
struct Ground {
    named: Vec<PathBuf>,
    git: Vec<PathBuf>,
    settled: Settled,
}

/// The environment of the login shell, or why it is unknown. The shell is asked once for all listeners of a process.
#[derive(Clone, Default)]
pub(crate) struct Login(Arc<Mutex<Arc<AskedLogin>>>);

/// The answer of the login shell, once it was asked.
type AskedLogin = OnceCell<Result<LoginEnv, NotLoggedIn>>;

/// The warning that the login shell did not give its environment.
#[derive(Debug, Clone, thiserror::Error)]
#[error("⚠ {0}")]
pub(crate) struct NotLoggedIn(String);

impl Login {
    async fn get(&self) -> Result<LoginEnv, NotLoggedIn> {
        let asked = Arc::clone(&locked(&self.0));
        let ask = || async {
            let told = LoginEnv::capture(PATIENCE).await;
            told.map_err(|error| NotLoggedIn(error.to_string()))
        };
        asked.get_or_init(ask).await.clone()
    }

    /// Makes the next use ask again.
    pub(crate) fn forget(&self) {
        let mut told = locked(&self.0);
        *told = Arc::default();
    }
}

/// The result of a start.
pub(crate) struct Start {
    pub(crate) source: RuleSource,
    /// The success of asking the login shell for its environment; `None` if it was not asked. If that failed, the
    /// environment is clada's own.
    pub(crate) login: Option<Result<(), NotLoggedIn>>,
    /// As of [`RuleSource::setup`].
    pub(crate) made: Result<RunRules, SettingsError>,
}

/// The rules that the settings lead to.
pub(crate) struct RunRules {
    pub(crate) setup: Setup,
    pub(crate) settings: Settings,
    /// The reason why not all of them apply.
    pub(crate) notice: Option<String>,
}

impl RuleSource {
    /// Makes rules of the settings, and asks the login shell for its environment where clada was started without one.
    pub(crate) async fn start(
        folders: &Folders,
        root: &Path,
        loaded: LoadedSettings,
        flags: &RunFlags,
        login: &Login,
    ) -> Start {
        let is_asked = match loaded.settings.exec.login_env {
            settings::LoginEnvUse::Auto => login_env::is_needed(),
            settings::LoginEnvUse::Always => true,
            settings::LoginEnvUse::Never => false,
        };
        let mut source = Self {
            folders: folders.clone(),
            root: root.to_owned(),
            flags: flags.clone(),
            env: LoginEnv::own(),
            ground: Mutex::default(),
        };
        let Settings { exec, git, .. } = &loaded.settings;
        avoid(folders, root, exec);
        if is_asked || git.sign || git.hooks {
            avoid_known(folders);
        }
        let mut asked = None;
        if is_asked {
            asked = Some(login.get().await.map(|env| source.env = env));
        }
        let made = source.made_of(loaded);
        Start {
            source,
            login: asked,
            made,
        }
    }

    /// Warns where the project folder contains everything that the fence should protect.
    pub(crate) fn holds_home(&self) -> Option<&'static str> {
        self.folders.home.starts_with(&self.root).then_some(
            "⚠ your home folder is in this project folder, so commands can write to all of it: run clada in a smaller folder",
        )
    }

    /// Adds the git directories to the trees of a fence, and fixes the trees to what they were at first.
    fn settle(&self, fence: &mut Fence) {
        let mut ground = locked(&self.ground);
        let named = fence.named();
        if ground.named != named {
            let git = sandbox::git_dirs(&self.root, &fence.settle());
            // Without more of them, the trees that were found just now are all.
            let settled = if git.is_empty() {
                fence.settled.clone()
            } else {
                Settled::default()
            };
            *ground = Ground {
                named,
                git,
                settled,
            };
        }
        fence.writable.extend(ground.git.iter().cloned());
        fence.settled = ground.settled.clone();
        // Now, while nothing runs.
        fence.settle();
    }

    /// Returns the current rules.
    ///
    /// # Errors
    /// Where the settings are invalid.
    pub(crate) fn setup(&self) -> Result<RunRules, SettingsError> {
        self.made_of(Settings::load(&self.folders, &self.root)?)
    }

    pub(crate) fn made_of(
        &self,
        LoadedSettings { settings, notice }: LoadedSettings,
    ) -> Result<RunRules, SettingsError> {
        let exec = &settings.exec;
        let policy = Policy::new(&exec.deny, &exec.ask);
        let policy = policy.map_err(|error| SettingsError::Setting {
            setting: "exec.deny and exec.ask",
            why: error.to_string(),
        })?;
        let env = environment(self.env.vars(), exec);
        let guarded = sandbox::guarded(&self.root);
        let watched = [self.root.join(PROJECT), self.folders.config.clone()];
        let watched = watched.into_iter().chain(guarded.clone());
        let repositories = Repositories::of(&self.root, git::has_tool_name);
        let fence = self.fence(exec, &env, guarded, &repositories);
        let rules = ExecRules {
            enabled: exec.enabled,
            policy,
            timeout: self.flags.timeout.unwrap_or(exec.timeout),
            output_limit: settings.limits.output,
            fence,
            watched: watched.collect(),
            repositories,
            mask: mask_of(&env, exec),
            env,
        };
        let git = (!self.flags.no_git && settings.git.enabled)
            .then(|| git_of(&settings.git, &self.folders, rules.env.clone()));
        let paths = Paths::new(&settings.paths.lists(), &self.root, &self.folders.home);
        let paths = paths.map_err(|(setting, why)| SettingsError::Setting { setting, why })?;
        let vars = settings.vars.iter();
        let vars = vars.map(|(VarName(name), value)| (name.clone(), value.clone()));
        let hooks = HookSetup {
            before: settings.hooks.before.clone(),
            after: settings.hooks.after.clone(),
            vars: vars.collect(),
        };
        let setup = Setup {
            dialects: settings.dialects.iter().copied().collect(),
            actions: Actions::new(&settings.actions.allow, &settings.actions.deny),
            paths,
            hooks,
            rules,
            git,
            largest_file: settings.limits.max_file_size,
            changes: settings.clipboard.changes,
        };
        Ok(RunRules {
            setup,
            settings,
            notice,
        })
    }

    /// Returns the fence around commands, and keeps clada itself from running programs of the places that they may write to.
    fn fence(
        &self,
        exec: &settings::ExecSettings,
        env: &login_env::EnvVars,
        guarded: Vec<PathBuf>,
        repositories: &Repositories,
    ) -> Fence {
        let home = &self.folders.home;
        let var = |name: &str| var_of(env, name);
        let opened = exec.sockets.iter();
        let opened: Vec<PathBuf> = opened
            .filter_map(|path| expanded(path, home, var))
            .collect();
        let below = git::not_ignored(&self.root, repositories.below());
        if self.folders.config.starts_with(&self.root) {
            // The root is the user's home, and what is not there cannot be guarded. Where it cannot be made, neither can a
            // command make it.
            let _ = std::fs::create_dir_all(&self.folders.config);
        }
        let mut fence = Fence {
            level: match self.flags.sandbox.unwrap_or(exec.sandbox) {
                Sandbox::Workspace => Level::Workspace,
                Sandbox::ReadOnly => Level::ReadOnly,
                Sandbox::Off => Level::Off,
            },
            network: exec.network == Network::On,
            root: self.root.clone(),
            temp: temp_of(env).collect(),
            writable: named_trees(exec, home, var).collect(),
            guarded: guarded
                .into_iter()
                .chain(sandbox::guards_of(&below))
                .chain(self.folders.own(&self.root))
                .collect(),
            // A command could lock what other cladas wait for.
            hidden: [self.folders.state.clone()]
                .into_iter()
                .chain(sandbox::doors(home, var, &opened))
                .collect(),
            processes: exec.processes,
            settled: Settled::default(),
        };
        if !self.flags.no_commands {
            self.settle(&mut fence);
        }
        programs::avoid_roots([fence.root.clone()]);
        programs::avoid(fence.temp.iter().chain(&fence.writable).cloned());
        fence
    }
}

/// The rules for what the chat is shown outside a run.
pub(crate) struct SightRules {
    pub(crate) paths: Paths,
    pub(crate) mask: Mask,
}

/// Returns these rules, with the secrets of this process's environment: no shell is asked, as a person waits.
///
/// # Errors
/// Where the settings are invalid.
pub(crate) fn sight(
    folders: &Folders,
    root: &Path,
    settings: &Settings,
) -> Result<SightRules, SettingsError> {
    let paths = Paths::new(&settings.paths.lists(), root, &folders.home);
    Ok(SightRules {
        paths: paths.map_err(|(setting, why)| SettingsError::Setting { setting, why })?,
        mask: mask_of(
            &environment(LoginEnv::own().vars(), &settings.exec),
            &settings.exec,
        ),
    })
}

fn mask_of(env: &login_env::EnvVars, exec: &settings::ExecSettings) -> Mask {
    let vars = env
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    Mask::new(vars, &exec.mask)
}

/// Returns a variable of an environment.
fn var_of<'e>(env: &'e login_env::EnvVars, name: &str) -> Option<&'e OsStr> {
    let set = env.iter().find(|(known, _)| known == name);
    set.map(|(_, value)| value.as_os_str())
}

/// Returns the folders for temporary files.
fn temp_of(env: &login_env::EnvVars) -> impl Iterator<Item = PathBuf> {
    let of_env = var_of(env, "TMPDIR").map(PathBuf::from);
    sandbox::temp_dirs().into_iter().chain(of_env)
}

/// Returns the trees outside a root that commands may write to by these settings, as they are named, even if commands may not
/// now.
fn trees_beside(folders: &Folders, exec: &settings::ExecSettings) -> Vec<PathBuf> {
    let env = LoginEnv::own();
    let env = environment(env.vars(), exec);
    let named = named_trees(exec, &folders.home, |name| var_of(&env, name));
    temp_of(&env).chain(named).collect()
}

/// Returns the trees that replies may write to by these settings, including those of file tasks.
pub(crate) fn trees(folders: &Folders, root: &Path, exec: &settings::ExecSettings) -> Vec<PathBuf> {
    let beside = trees_beside(folders, exec).into_iter();
    let leads = beside.filter_map(|tree| tree.canonicalize().ok());
    leads.chain([root.to_owned()]).collect()
}

/// Keeps clada itself from running programs in folders that replies may write to.
pub(crate) fn avoid(folders: &Folders, root: &Path, exec: &settings::ExecSettings) {
    programs::avoid_roots([root.to_owned()]);
    programs::avoid(trees_beside(folders, exec));
}

/// Keeps clada itself from running programs in the project folders that this user has watched, and in folders that commands may
/// write to in any project. Reads none of them.
pub(crate) fn avoid_known(folders: &Folders) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let roots = roots::all(&folders.roots()).into_iter();
        // A home folder that was once watched as a whole has all programs that the user installed.
        let roots = roots.filter(|(_, root)| !folders.home.starts_with(root));
        programs::avoid_roots(roots.map(|(_, root)| root));
        let settings = Settings::of_user(folders).unwrap_or_default();
        programs::avoid(trees_beside(folders, &settings.exec));
    });
}

/// Returns the trees outside the root that the settings name, except caches with a folder of the PATH in them.
fn named_trees<'e>(
    exec: &settings::ExecSettings,
    home: &Path,
    var: impl Fn(&str) -> Option<&'e OsStr> + Copy,
) -> impl Iterator<Item = PathBuf> {
    let programs = programs(var("PATH"));
    let above = programs.iter().flat_map(|folder| folder.ancestors());
    // Each of the hundred caches is looked up here: comparing them with every folder took half of the time of this.
    let above: HashSet<PathBuf> = above.map(Path::to_owned).collect();
    let caches = exec.caches.iter().flat_map(|path| everywhere(path));
    let caches = caches.filter_map(move |path| expanded(&path, home, var));
    let caches = caches.filter(move |cache| !above.contains(cache));
    let write = exec.write.iter();
    caches.chain(write.filter_map(move |path| expanded(path, home, var)))
}

/// Returns how states are saved by these settings; git itself gets this environment.
pub(crate) fn git_of(
    settings: &settings::GitSettings,
    folders: &Folders,
    env: login_env::EnvVars,
) -> GitSetup {
    GitSetup {
        options: git::Options {
            target: settings.target,
            untracked: settings.untracked,
            new_file: settings.new_file,
            notes: {
                let folders = folders.clone();
                NotesFiles(Arc::new(move || notes_of(&folders)))
            },
            secrets: SECRETS.clone(),
            private: folders.state.join("snapshots"),
            home: folders.home.clone(),
            private_limit: settings.private_limit,
            private_file: settings.private_file,
            sign: settings.sign,
            hooks: settings.hooks,
            env,
        },
        intents: folders.state.join("atomic"),
        whole_batches: settings.commit == settings::Commit::Batch,
    }
}

/// The file names that the default settings hide from replies.
static SECRETS: LazyLock<Secrets> =
    LazyLock::new(|| Secrets::new(&settings::shipped_paths().lists()));

/// Returns all notes files that this user's clada processes watch or have watched, as far as that can be read.
fn notes_of(folders: &Folders) -> Vec<PathBuf> {
    let ledger = Ledger::read(&folders.state).ok().flatten();
    let known = ledger.and_then(|ledger| ledger.files().ok());
    let listed = Registry::load(folders).map(|list| list.entries);
    let listed = listed.unwrap_or_default().into_iter();
    let listed = listed.map(|entry| entry.file);
    known
        .unwrap_or_default()
        .into_iter()
        .chain(listed)
        .collect()
}

/// Returns an environment with the changes of the settings.
fn environment(base: &[(OsString, OsString)], exec: &settings::ExecSettings) -> login_env::EnvVars {
    let is_scrubbed = |name: &OsStr| {
        let name = name.to_string_lossy();
        exec.scrub
            .iter()
            .any(|pattern| mask::matches(pattern, &name))
    };
    let kept = base.iter().filter(|(name, _)| {
        let is_set = name
            .to_str()
            .is_some_and(|name| exec.env.contains_key(name));
        !is_set && !is_scrubbed(name)
    });
    let set = exec
        .env
        .iter()
        .filter_map(|(name, variable)| match variable {
            Variable::Set(value) => Some((name.into(), value.into())),
            Variable::Remove => None,
        });
    kept.cloned().chain(set).collect()
}

/// Returns the path of a cache, and its other possible places.
fn everywhere(path: &str) -> Vec<String> {
    let others = path.strip_prefix("~/.cache/").into_iter().flat_map(|name| {
        ["$XDG_CACHE_HOME", "~/Library/Caches"].map(|base| format!("{base}/{name}"))
    });
    std::iter::once(path.to_owned()).chain(others).collect()
}

/// Returns the folders of the PATH, under both names where they are links.
fn programs(path: Option<&OsStr>) -> Vec<PathBuf> {
    let folders = std::env::split_paths(path.unwrap_or_default());
    let both = folders.flat_map(|folder| {
        let real = folder.canonicalize().ok();
        std::iter::once(folder).chain(real)
    });
    both.collect()
}

/// Expands `~` and variables in a path of the settings; `None` where it begins with a variable that is not set.
fn expanded<'e>(
    path: &str,
    home: &Path,
    var: impl Fn(&str) -> Option<&'e OsStr>,
) -> Option<PathBuf> {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let first = match first.strip_prefix('$') {
        Some(name) => PathBuf::from(var(name).filter(|value| !value.is_empty())?),
        None if first == "~" => home.to_owned(),
        None => return Path::new(path).is_absolute().then(|| path.into()),
    };
    Some(first.join(rest)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells if the trees of the fence are found before anything runs.
    async fn are_trees_found(no_commands: bool) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir(&root).unwrap();
        let folders = Folders::below(dir.path());
        let mut loaded = Settings::load(&folders, &root).unwrap();
        loaded.settings.exec.login_env = settings::LoginEnvUse::Never;
        let flags = RunFlags {
            no_commands,
            ..RunFlags::default()
        };
        let start = RuleSource::start(&folders, &root, loaded, &flags, &Login::default()).await;
        let rules = start.made.ok().unwrap().setup.rules;
        rules.fence.settled.is_found()
    }

    #[tokio::test]
    async fn trees_are_found_at_the_start_unless_no_command_can_follow() {
        assert!(are_trees_found(false).await);
        assert!(!are_trees_found(true).await);
    }

    #[test]
    fn paths_of_the_settings_are_expanded() {
        let var = |name: &str| match name {
            "CARGO_HOME" => Some(OsStr::new("/c")),
            "RELATIVE" => Some(OsStr::new("c")),
            "EMPTY" => Some(OsStr::new("")),
            _ => None,
        };
        let path = |path| expanded(path, Path::new("/h/me"), var);
        assert_eq!(path("~/.npm"), Some("/h/me/.npm".into()));
        assert_eq!(path("~"), Some("/h/me".into()));
        assert_eq!(path("$CARGO_HOME/registry"), Some("/c/registry".into()));
        assert_eq!(path("/opt/x"), Some("/opt/x".into()));
        for passed_over in ["$UNSET/x", "$EMPTY/x", "$RELATIVE/x", "x/y", "", "~you/x"] {
            assert_eq!(path(passed_over), None, "{passed_over}");
        }
    }
}
