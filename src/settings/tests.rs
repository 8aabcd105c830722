//! What the files of settings come to, and what is said of wrong ones.

use super::file::parse;
use super::*;
use crate::settings::places::OUTPUT;

struct Place {
    dir: tempfile::TempDir,
    folders: Folders,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        for name in ["folder", "config"] {
            fs::create_dir(dir.path().join(name)).expect("folder");
        }
        let folders = Folders::below(dir.path());
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

    fn trust(&self) -> Trusted {
        Settings::trust(&self.folders, &self.root()).expect("trust")
    }

    fn load(&self) -> LoadedSettings {
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
    let LoadedSettings { settings, notice } = Place::new().load();
    assert_eq!(notice, None);
    let Settings {
        dialects,
        exec,
        git,
        watch,
        clipboard,
        notify,
        ledger,
        log,
        limits,
        actions,
        paths,
        hooks,
        vars,
    } = settings;
    assert_eq!(dialects, Dialect::ALL);
    assert_eq!((hooks, vars), (HookSettings::default(), BTreeMap::new()));
    assert_eq!((actions.allow.len(), actions.deny.len()), (1, 0));
    let lists = paths.lists().map(|list| list.patterns.is_empty());
    assert_eq!(lists, [false, false, false, false, true, true]);
    let LimitSettings {
        output,
        max_file_size,
    } = limits;
    let ExecSettings {
        enabled,
        timeout,
        sandbox,
        network,
        caches,
        write: _,
        sockets: _,
        processes,
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
        "sockets",
        "processes",
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
    let GitSettings {
        enabled: saves,
        target,
        commit,
        sign: false,
        hooks: false,
        untracked: UntrackedRule::Leave,
        new_file: 5_242_880,
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
        "untracked",
        "new_file",
        "private_limit",
        "private_file",
    ];
    assert_eq!(names(&table["git"]), git.map(str::to_owned).into());
    assert_eq!(
        (saves, target, commit, private_file),
        (true, CommitTarget::Branch, Commit::Task, 64 << 20)
    );
    let WatchSettings {
        debounce,
        poll: Every(None),
        output_file,
    } = watch
    else {
        panic!("{watch:?}");
    };
    let watch = ["debounce", "poll", "output_file"].map(str::to_owned);
    assert_eq!(names(&table["watch"]), watch.into());
    assert_eq!((debounce.as_millis(), &*output_file), (100, OUTPUT));
    let ClipboardSettings {
        enabled: copies,
        watch: takes,
        changes,
        limit,
    } = clipboard;
    let NotifySettings { enabled: tells } = notify;
    assert!(copies && changes && tells && !takes);
    assert_eq!(limit, 60_000);
    let clipboard = ["enabled", "watch", "changes", "limit"].map(str::to_owned);
    assert_eq!(names(&table["clipboard"]), clipboard.into());
    assert_eq!(names(&table["notify"]), ["enabled".to_owned()].into());
    let LedgerSettings { days, size } = ledger;
    assert_eq!((days, size), (90, 256 << 20));
    let ledger = ["days", "size"].map(str::to_owned);
    assert_eq!(names(&table["ledger"]), ledger.into());
    let LogSettings { level, format } = log;
    assert_eq!((level, format), (LogLevel::Auto, Format::Text));
    let log = ["level", "format"].map(str::to_owned);
    assert_eq!(names(&table["log"]), log.into());
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
    assert_eq!(login_env, LoginEnvUse::Auto);
    assert_eq!(processes, crate::world::sandbox::PROCESSES);
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
    let LoadedSettings { settings, notice } = place.load();
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
        notice.contains("is not trusted: the defaults and your own settings apply"),
        "{notice}"
    );

    assert_eq!(
        place.trust(),
        Trusted::New("[exec]\nsandbox = \"off\"\n".to_owned())
    );
    assert_eq!(sandbox(), (Sandbox::Off, String::new()));
    place.project("# other words\n[exec]\nsandbox = \"off\"\n");
    assert_eq!(sandbox(), (Sandbox::Off, String::new()));

    place.project("[exec]\nsandbox = 'read-only'");
    place.trust();
    for (changed, says) in [
        (
            "[exec]\nsandbox = 'off'",
            "`exec.sandbox` in clada.toml differs from what you trusted: that stays in effect",
        ),
        (
            "[exec]\nsandbox = 'read-only'\nask = []",
            "`exec.ask` in clada.toml is not trusted: the defaults and your own settings apply",
        ),
        (
            "[exec]\nsandbox = 'off'\nask = []\n[git]\ncommit = 'batch'",
            "`exec.sandbox`, `exec.ask`, `git.commit` in clada.toml differ from what you trusted: that stays in effect",
        ),
        (
            "[exec]",
            "`exec.sandbox` in clada.toml was removed: what you trusted stays in effect",
        ),
        (
            "",
            "`exec.sandbox` in clada.toml was removed: what you trusted stays in effect",
        ),
    ] {
        place.project(changed);
        let (level, notice) = sandbox();
        assert_eq!(level, Sandbox::ReadOnly, "{changed}");
        assert_eq!(notice, format!("⚠ {says} (`clada trust` changes that)"));
    }
    fs::remove_file(place.root().join(PROJECT)).expect("remove");
    assert_eq!(sandbox().0, Sandbox::ReadOnly);
    assert_eq!(place.trust(), Trusted::Withdrawn { file_exists: false });
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
fn only_the_user_has_the_clipboard_watched() {
    let place = Place::new();
    assert!(!place.load().settings.clipboard.watch);
    place.project("[clipboard]\nenabled = false\nwatch = true");
    assert!(
        place
            .error()
            .contains("line 3, column 1: `clipboard.watch` applies to all projects")
    );
    // A command that carries out nothing reads the rest, and not this.
    let rest = Settings::rest(&place.folders, &place.root()).settings;
    assert!(!rest.clipboard.watch && !rest.clipboard.enabled);
    place.project("[clipboard]\nenabled = false");
    place.user("[clipboard]\nwatch = true");
    let clipboard = place.load().settings.clipboard;
    assert!(clipboard.watch && !clipboard.enabled);
    let of_user = Settings::of_user(&place.folders).expect("settings");
    assert!(of_user.clipboard.watch);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let place = Place::new();
    let wrong = |text: &str| place.project(text).error();
    assert_eq!(
        wrong("[exec]\n  timeout = 'soon'"),
        "`/folder/clada.toml`, line 2, column 13: the value must be a number above 0 with ms, s, m or h, such as `90s`"
    );
    assert!(wrong("[exec.env]\nA = true").contains(
        "line 2, column 5: `true` is not allowed: write a string, or `false` to remove the variable"
    ));
    assert!(
        wrong("[exec.env]\nA = 7")
            .contains("line 2, column 5: a string, or `false` to remove the variable"),
        "{}",
        wrong("[exec.env]\nA = 7")
    );
    for size in ["999 B", "9 MB", "many"] {
        assert!(
            wrong(&format!("[clipboard]\nlimit = '{size}'"))
                .contains("the value must be a size from `1 KB` to `8 MB`, such as `60 KB`"),
            "{size}"
        );
    }
    assert!(
        wrong("[limits]\noutput = 'much'")
            .contains("line 2, column 10: the value must be a whole number with")
    );
    assert!(
        wrong("[exec\n").contains("line 1, column "),
        "{}",
        wrong("[exec\n")
    );
}

#[test]
fn a_file_that_is_none_is_said() {
    let place = Place::new();
    place.project(&"#\n".repeat(1 << 20));
    let why = |said: &str| {
        format!(
            "cannot read the settings `/folder/clada.toml`: {said}: make it a text file that this user can read"
        )
    };
    assert_eq!(place.error(), why("it is larger than 1 MiB"));
    fs::remove_file(place.root().join(PROJECT)).expect("remove");
    fs::create_dir(place.root().join(PROJECT)).expect("folder");
    assert_eq!(place.error(), why("it is not a regular file"));
}

#[test]
fn the_log_is_as_the_users_file_says_and_unknown_where_that_is_wrong() {
    let place = Place::new();
    let log = || Settings::log_of_user(&place.folders);
    let of_user = || Settings::of_user(&place.folders).expect("settings").log;
    assert_eq!(log(), Some(of_user()));
    place.user("[log]\nlevel = \"debug\"\n");
    assert_eq!(log().map(|log| log.level), Some(LogLevel::Debug));
    assert_eq!(log(), Some(of_user()));
    for wrong in ["[log]\nlevel = \"loud\"\n", "[exec]\nno = 1\n", "log ="] {
        place.user(wrong);
        assert_eq!(log(), None, "{wrong}");
    }
}
