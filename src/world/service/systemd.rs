//! The text that systemd is given, and the reading of its answers. Touches no file but the folders of its units.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{ManagerCall, Order, Runs, ServiceState, words};

pub(super) const PROGRAM: &str = "systemctl";
pub(super) const FILE: &str = "clada.service";

/// As it is shipped; a package may install it as it is.
const TEMPLATE: &str = include_str!("../../../systemd/clada.service");
/// The line in it that names the program.
const START: &str = "ExecStart=/usr/bin/clada daemon\n";

/// The unit that starts this program with these variables.
pub(super) fn unit(program: &str, env: &[(&str, String)]) -> String {
    let mut lines = format!("ExecStart={}\n", start(program));
    for (name, value) in env {
        lines += &format!("Environment={}\n", quoted(&format!("{name}={value}")));
    }
    TEMPLATE.replacen(START, &lines, 1)
}

/// The command, in which the colon keeps systemd from putting variables in. It takes no program whose path has quotes,
/// backslashes or control characters, but a shell does.
fn start(program: &str) -> String {
    let is_odd = |c: char| c.is_control() || "\"'\\".contains(c);
    if program.contains(is_odd) {
        format!(r#":/bin/sh -c "exec \"$0\" daemon" {}"#, quoted(program))
    } else {
        format!("{} daemon", quoted(&format!(":{program}")))
    }
}

/// One word of a line, whatever it has in it.
fn quoted(text: &str) -> String {
    let mut word = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => word.extend(['\\', c]),
            '%' => word += "%%",
            c if c.is_ascii_control() => word += &format!("\\x{:02x}", u32::from(c)),
            c => word.push(c),
        }
    }
    word.push('"');
    word
}

pub(super) fn steps(order: Order) -> Vec<ManagerCall> {
    let all = |words: &[&str]| {
        let words = ["--user"].iter().chain(words);
        words.map(|word| (*word).to_owned()).collect()
    };
    let reload = || (all(&["daemon-reload"]), true);
    // One that ended too often is started again only after that; one that never did is unknown here.
    let reset = || (all(&["reset-failed", FILE]), false);
    let must = |verb| (all(&[verb, FILE]), true);
    match order {
        Order::Install => vec![reload(), reset(), must("enable"), must("restart")],
        Order::Remove => vec![must("stop"), (all(&["disable", FILE]), false)],
        Order::Forget => vec![reload(), reset()],
        Order::Start => vec![reset(), must("start")],
        Order::Stop => vec![must("stop")],
        Order::Restart => vec![reset(), must("restart")],
    }
}

pub(super) fn question() -> Vec<String> {
    const PROPERTIES: &str = "LoadState,ActiveState,UnitFileState,MainPID,StatusText,StateChangeTimestamp,NRestarts,\
                              Result,ExecMainStatus";
    words(["--user", "show", FILE, "--property", PROPERTIES])
}

/// Reads the state of the service from the properties of the unit.
pub(super) fn state(properties: &str) -> ServiceState {
    let lines = properties.lines();
    let properties: HashMap<&str, &str> = lines.filter_map(|line| line.split_once('=')).collect();
    let get = |name| properties.get(name).copied().unwrap_or_default();
    ServiceState {
        is_installed: get("LoadState") != "not-found",
        runs: match get("ActiveState") {
            "active" => Runs::Yes,
            "reloading" => Runs::Reloads,
            "activating" => Runs::Starts,
            "deactivating" => Runs::Ends,
            "failed" => Runs::Failed(end(get("Result"), get("ExecMainStatus"))),
            _ => Runs::No,
        },
        pid: get("MainPID").parse().ok().filter(|pid| *pid != 0),
        said: get("StatusText").to_owned(),
        since: get("StateChangeTimestamp").to_owned(),
        restarts: get("NRestarts").parse().unwrap_or_default(),
        at_login: Some(get("UnitFileState").starts_with("enabled")),
    }
}

fn end(result: &str, status: &str) -> String {
    match result {
        // systemd's own number for a program that it cannot start.
        "exit-code" if status == "203" => {
            "its program does not exist or cannot be started".to_owned()
        }
        "exit-code" => format!("it exited with code {status}"),
        "signal" | "core-dump" => format!("it was killed by signal {status}"),
        "watchdog" => "it hung".to_owned(),
        "timeout" => "it took too long".to_owned(),
        "start-limit-hit" => "it exited again and again".to_owned(),
        "oom-kill" => "the system ran out of memory".to_owned(),
        other => other.to_owned(),
    }
}

pub(super) fn logs(lines: usize, follow: bool) -> (&'static str, Vec<String>) {
    let lines = format!("--lines={lines}");
    // Not `--user --unit`: a journal that is not kept, and root's, are not in the user's own files.
    let mut args = words(["--user-unit", FILE, "--no-pager", &lines]);
    args.extend(follow.then(|| "--follow".to_owned()));
    ("journalctl", args)
}

/// Lists the leftovers of the unit in and beside the folder of units: links by which others want it, and changes by
/// `systemctl edit` and
/// `systemctl set-property`.
pub(super) fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let folders = [folder.to_owned(), folder.with_file_name("user.control")];
    let mut found = Vec::from(folders.map(|folder| folder.join("clada.service.d")));
    found.extend(wanting(folder).map(|wanting| wanting.join(FILE)));
    found
}

/// Removes the folders of links that have none any more, as systemd does.
pub(super) fn remove_empty(folder: &Path) {
    for wanting in wanting(folder) {
        // It has others if that fails.
        let _ = std::fs::remove_dir(wanting);
    }
}

fn wanting(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| {
        path.extension()
            .is_some_and(|is| is == "wants" || is == "requires")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_has_the_line_that_is_replaced() {
        assert_eq!(TEMPLATE.matches(START).count(), 1);
        let unit = unit("/opt/x y/clada", &[("PATH", "/a:/b \"%$".to_owned())]);
        let lines = "\nExecStart=\":/opt/x y/clada\" daemon\nEnvironment=\"PATH=/a:/b \\\"%%$\"\n";
        assert!(unit.contains(lines), "{unit}");
        assert_eq!(TEMPLATE.lines().count() + 1, unit.lines().count());
    }

    #[test]
    fn states_are_told() {
        let of = |text: &str| state(&text.replace(' ', "\n"));
        assert!(!of("LoadState=not-found ActiveState=inactive").is_installed);
        let running = of(
            "LoadState=loaded ActiveState=active MainPID=12 UnitFileState=enabled NRestarts=2 \
             StatusText=a=b",
        );
        assert_eq!(
            running,
            ServiceState {
                is_installed: true,
                runs: Runs::Yes,
                pid: Some(12),
                said: "a=b".to_owned(),
                since: String::new(),
                restarts: 2,
                at_login: Some(true),
            }
        );
        let failed = of("ActiveState=failed MainPID=0 Result=exit-code ExecMainStatus=2");
        let why = "it exited with code 2".to_owned();
        assert_eq!((failed.runs, failed.pid), (Runs::Failed(why), None));
        for (result, status, why) in [
            (
                "exit-code",
                "203",
                "its program does not exist or cannot be started",
            ),
            ("signal", "9", "it was killed by signal 9"),
            ("watchdog", "6", "it hung"),
            ("timeout", "0", "it took too long"),
            ("start-limit-hit", "1", "it exited again and again"),
            ("oom-kill", "9", "the system ran out of memory"),
        ] {
            assert_eq!(end(result, status), why);
        }
    }
}
