//! The checks of the desktop: display, clipboard, and the service that starts clada at login.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::CheckResult;
use crate::cmd::service::of_user;
use crate::settings::places::Folders;
use crate::world::clipboard::{not_run, try_out};

/// The time limit for the display.
const PATIENCE: Duration = Duration::from_secs(5);

/// Checks display and clipboard.
pub(super) fn desk() -> Vec<(&'static str, CheckResult)> {
    let not_run = not_run().into_iter();
    let not_run = not_run.map(|why| ("clipboard program", CheckResult::Less(why.to_string())));
    display().into_iter().chain(not_run).collect()
}

fn display() -> Vec<(&'static str, CheckResult)> {
    let Some(trial) = try_out(PATIENCE) else {
        let hangs = "it does not answer: until it does, results are only in the notes file and the output file";
        return vec![("display", CheckResult::Less(hangs.to_owned()))];
    };
    let display = match trial.display {
        Ok(name) => CheckResult::Fine(name),
        // Without a display there is no clipboard.
        Err(why) => return vec![("display", CheckResult::Less(why.to_string()))],
    };
    let clipboard = match trial.clipboard {
        Ok(works) => CheckResult::Fine(works.to_owned()),
        Err(why) => CheckResult::Less(why.to_string()),
    };
    let data_control = trial.data_control.map(|found| match found {
        Ok(()) => CheckResult::Fine("programs without a window can copy".to_owned()),
        Err(why) => CheckResult::Less(why.to_string()),
    });
    let watching = match trial.watching {
        Ok(by) => CheckResult::Fine(by),
        Err(why) => CheckResult::Less(why.to_string()),
    };
    let mut found = vec![
        ("display", display),
        ("clipboard", clipboard),
        ("clipboard watching", watching),
    ];
    found.extend(data_control.map(|it| ("data control", it)));
    found
}

/// Checks whether clada starts at login, and which program that is.
pub(super) fn service(folders: &Folders) -> CheckResult {
    let unit = of_user(folders).file();
    let none = || {
        CheckResult::Fine(
            "not installed: clada runs where you start it (to start it at login, run `clada service install`)"
                .to_owned(),
        )
    };
    let text = match fs::read_to_string(&unit) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return none(),
        Err(error) => {
            return CheckResult::Less(format!("`{}` cannot be read: {error}", unit.display()));
        }
    };
    let again = "run `clada service install` again";
    let shown = unit.display();
    let Some(program) = program(&text, &folders.home) else {
        return CheckResult::Wrong(format!("`{shown}` starts nothing: {again}"));
    };
    let Ok(starts) = program.canonicalize() else {
        return CheckResult::Wrong(format!(
            "`{shown}` starts `{}`, which does not exist: {again}",
            program.display()
        ));
    };
    let this = std::env::current_exe().and_then(|this| this.canonicalize());
    if this.is_ok_and(|this| this != starts) {
        return CheckResult::Less(format!(
            "`{shown}` starts `{}`, not the clada that you run here: {again} with the one you want",
            program.display()
        ));
    }
    if !is_enabled(&unit) {
        return CheckResult::Less(format!(
            "`{shown}` does not start at login: run `systemctl --user enable --now clada`"
        ));
    }
    let has_git = |path: &str| std::env::split_paths(path).any(|dir| dir.join("git").is_file());
    match path(&text) {
        Some(path) if !has_git(&path) => CheckResult::Less(format!(
            "`{shown}` has a PATH without git, {path}: {again} in a shell whose PATH has the programs that you need"
        )),
        Some(path) => CheckResult::Fine(format!("`{shown}`, with the PATH {path}")),
        None => CheckResult::Fine(format!("`{shown}`, with the PATH of your login shell")),
    }
}

/// Returns whether a service starts at login: a systemd unit by a link in a `.wants` folder, a launchd agent by its file.
fn is_enabled(unit: &Path) -> bool {
    if unit.extension().is_some_and(|end| end == "plist") {
        return true;
    }
    let (Some(folder), Some(name)) = (unit.parent(), unit.file_name()) else {
        return false;
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut wants =
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "wants"));
    wants.any(|wants| wants.path().join(name).symlink_metadata().is_ok())
}

/// Returns the program that a systemd unit or a launchd agent starts.
fn program(text: &str, home: &Path) -> Option<PathBuf> {
    let home = home.to_string_lossy();
    let first = match text
        .lines()
        .find_map(|line| line.trim().strip_prefix("ExecStart="))
    {
        Some(command) => {
            let command = command.trim_start_matches(['@', '-', ':', '+', '!', '|']);
            match command.strip_prefix('"') {
                Some(quoted) => quoted.split('"').next()?,
                None => command.split_whitespace().next()?,
            }
        }
        None => {
            let (_, after) = text.split_once("<key>ProgramArguments</key>")?;
            between(after)?
        }
    };
    let program = first.replace("%h", &home).replace("%%", "%");
    Some(program)
        .filter(|program| !program.is_empty())
        .map(Into::into)
}

/// Returns the PATH that it sets.
fn path(text: &str) -> Option<String> {
    let settings = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Environment="));
    let mut in_unit = settings.filter_map(|setting| {
        let (_, path) = setting
            .split_once("PATH=")
            .filter(|(before, _)| before.is_empty() || before.ends_with(['"', '\'', ' ']))?;
        path.split(['"', '\'']).next()
    });
    let in_agent = text
        .split_once("<key>PATH</key>")
        .and_then(|(_, after)| between(after));
    in_unit.next_back().or(in_agent).map(str::to_owned)
}

/// Returns the next string of a property list.
fn between(text: &str) -> Option<&str> {
    let (_, string) = text.split_once("<string>")?;
    Some(string.split_once("</string>")?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_service_starts_is_found() {
        let of = |text: &str| (program(text, Path::new("/h")), path(text));
        let unit = "[Service]\nExecStart=-%h/bin/clada daemon\nEnvironment=LANG=C\nEnvironment=\"PATH=/a:/b c\"\n";
        assert_eq!(
            of(unit),
            (Some("/h/bin/clada".into()), Some("/a:/b c".to_owned()))
        );
        let unit =
            "ExecStart=\"/with space/clada\" daemon\nEnvironment=\"CDPATH=/x\" \"PATH=/a\"\n";
        assert_eq!(of(unit), (Some("/with space/clada".into()), None));
        let agent = "<dict><key>ProgramArguments</key>\n<array><string>/bin/clada</string><string>daemon</string></array>\
                     <key>EnvironmentVariables</key><dict><key>PATH</key><string>/a:/b</string></dict></dict>";
        assert_eq!(
            of(agent),
            (Some("/bin/clada".into()), Some("/a:/b".to_owned()))
        );
        assert_eq!(of("[Service]\nExecStart=\n"), (None, None));
    }
}
