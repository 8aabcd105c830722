//! A first day: `clada init`, and the list of watched files by `clada add`, `remove` and `list`.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::cases;
#[cfg(target_os = "linux")]
use crate::daemon::{exec, wait_for_results};
use crate::harness::{Ended, Project, installed};
#[cfg(target_os = "linux")]
use crate::harness::{save_by_rename, wait_until};
#[cfg(target_os = "linux")]
use crate::terminal::Terminal;

const GREETING: &str = include_str!("../../config/greeting.md");

fn list(project: &Project) -> Vec<(String, String)> {
    let listed = project.clada(["list", "--json"]).exits(0).json();
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let listed = listed.as_array().expect("array").iter();
    listed
        .map(|one| (text(&one["file"]), text(&one["root"])))
        .collect()
}

fn name(project: &Project, name: &str) -> String {
    project.path(name).display().to_string()
}

#[test]
fn init_makes_what_is_missing_and_keeps_what_is_there() {
    let project = Project::new();
    let first = project.clada(["init"]).exits(0);
    assert_eq!(project.read("clada.md"), GREETING);
    assert!(first.out.starts_with("created ")
            && first.out.contains("(clada's settings for this folder)")
            && first.out.contains("(the notes file, to paste replies into)")
            && first.out.contains("next: start watching with `clada` (or in the background with `clada init --service`)\n")
            && first.out.contains("paste what `clada instructions` prints into your chat, once"));
    assert!(list(&project).is_empty());

    project
        .write("clada.toml", "# mine\n")
        .write("clada.md", "mine\n");
    // Nobody keeps it running here.
    let again = project.clada(["init", "--service"]).exits(1);
    assert!(!again.out.contains("created "), "{}", again.out);
    assert_eq!(project.read("clada.toml"), "# mine\n");
    assert_eq!(project.read("clada.md"), "mine\n");
    let root = name(&project, "");
    let entry = (
        name(&project, "clada.md"),
        root.trim_end_matches('/').to_owned(),
    );
    let once = [entry];
    assert_eq!(list(&project), once);
    project.clada(["init", "--service"]).exits(1);
    assert_eq!(list(&project), once);
}

#[test]
fn init_asks_on_a_terminal() {
    if !installed("script") {
        return;
    }
    for (answer, registers) in [
        ("\n", false),
        ("y\n", true),
        ("n\n", false),
        ("what\n", false),
    ] {
        let project = Project::new();
        let mut command = project.command("script");
        command.args([
            "-qec",
            &format!("{} init", env!("CARGO_BIN_EXE_clada")),
            "/dev/null",
        ]);
        let said = Ended::of(command, answer).exits(i32::from(registers)).out;
        assert!(
            said.contains("Start watching clada.md at each login, in the background? [y/N]"),
            "{said}"
        );
        assert_eq!(
            list(&project).len(),
            usize::from(registers),
            "{answer:?}: {said}"
        );
    }
}

/// What it suggests is done, as a person would.
#[test]
#[cfg(target_os = "linux")]
fn where_no_service_manager_is_init_says_what_works() {
    if !installed("tmux") {
        return;
    }
    let Some(project) = Project::apart() else {
        return;
    };
    project.program("systemctl", "exit 1");
    let said = project.clada(["init", "--service"]).exits(1).out;
    assert!(
        said.contains("no daemon is running yet: cannot reach your systemd"),
        "{said}"
    );
    for part in [
        "without a service manager, one of these commands watches all files in your list:\n",
        "in a terminal that stays open, or in tmux\n",
        " daemon >/dev/null 2>&1 &\n",
        "from now on, even after the terminal is closed\n",
        "as a line in `crontab -e`, at each start of the machine\n",
        "next: start the daemon in one of these ways, or watch in this terminal with `clada`\n",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let clada = env!("CARGO_BIN_EXE_clada");
    let suggested = |start: &str| {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("  {start}")));
        line.unwrap_or_else(|| panic!("{start} in {said}"))
            .trim()
            .to_owned()
    };
    let watches = |is_so: bool| {
        let status = || project.clada(["status"]);
        let is_up = || {
            let said = status().out;
            said.contains("the daemon") && said.contains("clada.md in ")
        };
        wait_until(|| is_up() == is_so, || status().out);
    };
    let pid = || {
        let status = project.clada(["status", "--json"]).exits(0).json();
        i32::try_from(status["processes"][0]["pid"].as_i64().expect("pid")).expect("pid")
    };
    let stop = || {
        let pid = rustix::process::Pid::from_raw(pid()).expect("pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("kill");
        watches(false);
    };

    let shell = ["bash", "--norc"];
    let terminal = Terminal::start(&project, "shell", (100, 10), &shell);
    terminal.type_in(&suggested(&format!("{clada} daemon")));
    terminal.press("Enter");
    watches(true);
    terminal.press("C-c");
    watches(false);
    terminal.type_in(&suggested("nohup "));
    terminal.press("Enter");
    watches(true);
    drop(terminal);
    // Its terminal is gone, and the shell may tell it so once more.
    let daemon = rustix::process::Pid::from_raw(pid()).expect("pid");
    rustix::process::kill_process(daemon, rustix::process::Signal::HUP).expect("kill");
    save_by_rename(&project.path("clada.md"), exec("echo one"));
    wait_for_results(&project, "1 ✅ exec echo one");
    assert_eq!(pid(), daemon.as_raw_pid());
    stop();

    let line = suggested("@reboot ");
    let command = line.strip_prefix("@reboot ").expect("a command");
    // As cron starts it.
    let mut cron = project.command("/bin/sh");
    cron.env_clear()
        .env("HOME", project.home())
        .env("PATH", "/usr/bin:/bin")
        .env("SHELL", "/bin/sh")
        .stderr(std::process::Stdio::null());
    let mut cron = cron.args(["-c", command]).spawn().expect("sh");
    watches(true);
    stop();
    cron.wait().expect("wait");
}

/// Each line that begins with `#` and no space is a setting, which works alone and together with the others.
#[test]
fn each_setting_that_init_writes_can_be_uncommented_alone() {
    let project = Project::new();
    project.clada(["init"]).exits(0);
    let text = project.read("clada.toml");
    let shown = |text: &str| {
        project.write("clada.toml", text);
        project.clada(["trust"]).exits(0).out
    };
    assert!(shown(&text).contains("nothing to trust: "));
    let is_setting = |line: &str| line.starts_with('#') && !line.starts_with("# ");
    let settings: Vec<&str> = text.lines().filter(|line| is_setting(line)).collect();
    for setting in &settings {
        let (section, key) = setting[1..].split_once('.').expect("a dotted key");
        let key = key.split_whitespace().next().expect("a key");
        let one = shown(&text.replace(setting, &setting[1..]));
        assert!(
            one.contains(&format!("[{section}")) && one.contains(key),
            "{setting}: {one}"
        );
        project.clada(["config"]).exits(0);
    }
    let uncommented = |text: &str, setting: &&str| text.replace(*setting, &setting[1..]);
    let all = shown(
        &settings
            .iter()
            .fold(text.clone(), |text, it| uncommented(&text, it)),
    );
    for part in [
        "timeout",
        "write",
        "ask",
        "network",
        "commit",
        "src",
        "make format",
    ] {
        assert!(all.contains(part), "{part} in {all}");
    }
}

#[test]
fn add_makes_the_file_and_remove_leaves_it() {
    let project = Project::new();
    let (file, root) = (name(&project, "sub/n.md"), name(&project, "sub"));
    let added = project.write("sub/x", "").clada(["add", "sub/n.md"]);
    let added = added.exits(0).out;
    assert_eq!(
        added,
        format!("added {file} to the list of `clada daemon`\n")
    );
    assert_eq!(project.read("sub/n.md"), GREETING);
    assert_eq!(list(&project), [(file.clone(), root)]);
    let again = project.clada(["add", "sub/n.md"]).exits(0);
    assert!(
        again.out == format!("{file} is already in the list of `clada daemon`\n"),
        "{}",
        again.out
    );
    let other = project.clada(["add", "sub/n.md", "--root", "."]).exits(0);
    assert!(
        other
            .out
            .contains(" in the list of `clada daemon` is now for ")
            && other.out.contains(", no longer for "),
        "{}",
        other.out
    );
    let top = name(&project, "").trim_end_matches('/').to_owned();
    assert_eq!(list(&project), [(file, top)]);
    let removed = project.clada(["remove", "sub/n.md"]).exits(0).out;
    assert!(
        removed.contains("n.md; the file itself is unchanged\n")
            && removed.starts_with("`clada daemon` no longer watches "),
        "{removed}"
    );
    let empty = project.clada(["list"]).exits(0).out;
    assert_eq!(
        empty,
        "the list is empty: add a notes file with `clada add FILE`\n"
    );
    assert!(list(&project).is_empty() && project.exists("sub/n.md"));
    let unknown = project.clada(["remove", "sub/n.md"]).exits(2);
    assert!(
        unknown
            .err
            .contains("` is not in the list of watched files: run `clada list` to see the list"),
        "{}",
        unknown.err
    );
}

#[test]
fn a_file_that_is_gone_with_its_folder_is_listed_so_and_can_be_removed() {
    let project = Project::new();
    project
        .write("sub/n.md", "")
        .clada(["add", "sub/n.md"])
        .exits(0);
    std::fs::remove_dir_all(project.path("sub")).expect("remove");
    let listed = project.clada(["list", "--json"]).exits(0).json();
    assert_eq!(listed[0]["missing"], json!(["file", "root"]));
    assert!(
        project
            .clada(["list"])
            .exits(0)
            .out
            .contains("missing: file, root")
    );
    project.clada(["remove", "sub/n.md"]).exits(0);
    assert!(list(&project).is_empty());
}

#[test]
fn a_file_that_clada_knows_and_that_is_gone_is_not_made_anew() {
    let project = Project::new();
    let watching = project.watch([]);
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
    std::fs::remove_file(project.path("clada.md")).expect("remove");
    project.clada(["add", "clada.md"]).exits(0);
    assert!(!project.exists("clada.md") && list(&project).len() == 1);
}

#[test]
fn what_cannot_be_watched_is_refused_and_what_may_come_is_told() {
    let project = Project::new();
    project.write("sub/f", "");
    let folder = project.clada(["add", "sub"]).exits(2);
    assert!(folder.err.contains("sub` is a directory"), "{}", folder.err);
    let no_root = project.clada(["add", "n.md", "--root", "sub/f"]).exits(2);
    assert!(no_root.err.contains("not a directory"), "{}", no_root.err);
    project.clada(["add", "missing/n.md"]).exits(2);
    assert!(list(&project).is_empty() && !project.exists("n.md"));
    let later = project.clada(["add", "n.md", "--root", "later"]).exits(0);
    assert!(
        later.err.contains("⚠ the project folder `")
            && later.err.contains("` cannot be used yet (No such file or directory (os error 2)): clada waits until it can"),
        "{}",
        later.err
    );
    let home = project.home().canonicalize().expect("home");
    let wide = project.command(env!("CARGO_BIN_EXE_clada"));
    let mut wide = wide;
    wide.args(["add", "m.md", "--root"])
        .arg(&home)
        .env("HOME", &home);
    assert!(
        Ended::of(wide, "")
            .exits(0)
            .err
            .contains("`, which contains your home folder: choose a smaller one with `--root DIR`")
    );
    assert_eq!(list(&project).len(), 2);
}

#[test]
fn a_command_that_clada_runs_registers_nothing() {
    let project = Project::new();
    for args in [&["add", "n.md"][..], &["remove", "n.md"], &["init"]] {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args).env("CLADA", "1");
        assert!(
            Ended::of(command, "")
                .exits(2)
                .err
                .contains("only you can run")
        );
    }
    assert!(!project.exists("n.md") && !project.exists("clada.toml"));
}

#[test]
fn a_wrong_entry_is_told_and_the_others_are_listed() {
    let project = Project::new();
    project.clada(["add", "n.md"]).exits(0);
    let path = project.config_folder().join("watched.toml");
    let text = std::fs::read_to_string(&path).expect("list");
    std::fs::write(&path, format!("{text}\n[[watch]]\nfiel = '/x'\n")).expect("write");
    let listed = project.clada(["list"]).exits(1);
    assert!(listed.out.contains("n.md") && listed.err.contains("did you mean `file`?"));
    let lines = text.lines().count();
    let place = format!("line {}, column 1: unknown key `fiel`", lines + 3);
    assert!(listed.err.contains(&place), "{}", listed.err);
}

/// Kept here, so that the settings that `clada init` writes are shipped.
#[test]
fn the_project_settings_speak_of_no_other_setting_than_the_shipped_ones() {
    let read =
        |name: &str| std::fs::read_to_string(cases::root().join("config").join(name)).expect(name);
    let defaults = read("clada.toml");
    let project = read("project.toml");
    let defaults: toml::Table = defaults.parse().expect("TOML");
    let keys = project.lines().filter_map(|line| line.strip_prefix('#'));
    for line in keys.filter(|line| !line.starts_with(' ')) {
        let (section, key) = line
            .split(' ')
            .next()
            .and_then(|path| path.split_once('.'))
            .expect("a key");
        assert!(defaults[section].get(key).is_some(), "{line}");
    }
}

/// The user's settings.
fn settings(project: &Project) -> std::path::PathBuf {
    project.config_folder().join("config.toml")
}

#[test]
fn init_asks_on_a_terminal_whether_to_watch_the_clipboard() {
    if !installed("script") {
        return;
    }
    const QUESTION: &str = "Watch the clipboard for replies to this chat? [y/N]";
    let project = Project::new();
    let init = |answers: &str| {
        let mut command = project.command("script");
        let init = format!("{} init", env!("CARGO_BIN_EXE_clada"));
        command.args(["-qec", &init, "/dev/null"]);
        Ended::of(command, answers).exits(0).out
    };
    for no in ["n\nn\n", "n\n\n", "n\n"] {
        let said = init(no);
        assert!(said.contains(QUESTION), "{said}");
        assert!(
            said.contains("every reply that the chat writes carries a short key, which `clada instructions` teaches it")
                && said.contains("clada runs a copied text only if it has this key; other texts on the clipboard are ignored"),
            "{said}"
        );
        assert!(!settings(&project).exists());
    }
    let mine = "# mine\n[clipboard] # copied\nwatch = false # no\n\n[exec]\ntimeout = '5m'\n";
    project.configure(mine);
    let said = init("n\ny\n");
    let path = settings(&project).canonicalize().expect("settings");
    let done = format!(
        "watching the clipboard is on now (`clipboard.watch = true` in {})",
        path.display()
    );
    assert!(said.contains(&done), "{said}");
    let text = fs::read_to_string(&path).expect("settings");
    assert_eq!(text, mine.replace("watch = false", "watch = true"));
    let said = init("n\n");
    assert!(!said.contains(QUESTION), "{said}");
    assert!(said.contains("watching the clipboard is on\r\n"), "{said}");
}

#[test]
fn init_turns_on_the_watching_of_the_clipboard() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &Path| {
        let meta = fs::metadata(path).expect("settings");
        meta.permissions().mode() & 0o777
    };
    let project = Project::new();
    let path = settings(&project);
    // Nobody can be asked, so nothing is changed of itself.
    let said = project.clada(["init"]).exits(0).out;
    assert!(!said.contains("clipboard") && !path.exists(), "{said}");
    let said = project.clada(["init", "--clipboard"]).exits(0).out;
    assert!(said.contains("watching the clipboard is on now"), "{said}");
    assert!(said.contains("next: start watching with `clada`"), "{said}");
    let on = "[clipboard]\nwatch = true\n";
    assert_eq!(fs::read_to_string(&path).expect("settings"), on);
    assert_eq!(mode(&path), 0o600);
    let said = project.clada(["config"]).exits(0).out;
    assert!(said.contains("\nwatch = true  # "), "{said}");
    // A link to settings that are kept elsewhere.
    let project = Project::new();
    let path = settings(&project);
    let elsewhere = project.home().join("dotfiles.toml");
    fs::write(&elsewhere, "[git]\ncommit = 'batch'\n").expect("write");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o640)).expect("mode");
    fs::create_dir_all(path.parent().expect("folder")).expect("mkdir");
    symlink(&elsewhere, &path).expect("link");
    for _ in 0..2 {
        let said = project.clada(["init", "--clipboard"]).exits(0).out;
        assert!(said.contains("watching the clipboard is on"), "{said}");
    }
    assert!(path.is_symlink());
    let text = fs::read_to_string(&elsewhere).expect("settings");
    assert_eq!(text, format!("[git]\ncommit = 'batch'\n\n{on}"));
    assert_eq!(mode(&elsewhere), 0o640);
}

#[test]
fn settings_that_cannot_be_changed_stay_as_they_are() {
    let project = Project::new();
    let path = settings(&project);
    let wrong = "[clipboard]\nwatsh = false\n";
    project.configure(wrong);
    project.clada(["init"]).exits(0);
    let said = project.clada(["init", "--clipboard"]).exits(1).out;
    assert!(
        said.contains("⚠ the clipboard is not watched: `")
            && said.contains("did you mean `watch`?"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&path).expect("settings"), wrong);
    // Something is in the way of the new file.
    project.configure("");
    fs::create_dir(path.with_extension("toml.new")).expect("mkdir");
    let said = project.clada(["init", "--clipboard"]).exits(1).out;
    assert!(
        said.contains("⚠ the clipboard is not watched: cannot write the settings `")
            && said
                .contains(": nothing was changed; check the folder's permissions and disk space"),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&path).expect("settings"), "");
}
