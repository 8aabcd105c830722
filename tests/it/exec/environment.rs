//! What commands find in their environment, and what is never seen of it.

use std::fs;
use std::process::Command;

use super::{clada, printed, reply, run};
use crate::daemon::display::Xvfb;
use crate::daemon::{NOTES, OUTPUT, wait_for_results, wait_to_read};
use crate::harness::{Ended, Project, Watching, installed, save_by_rename};

#[test]
fn every_command_is_told_that_nobody_looks_on() {
    let project = Project::new();
    project.configure("[exec]\nenv = { CLADA = 'no', TERM = 'xterm', NO_COLOR = false }\n");
    let vars = [("TERM", "xterm-256color"), ("CLADA", "0")];
    for lang in ["", "lang=\"sh\""] {
        let task = super::task(lang, "echo $CLADA $NO_COLOR $TERM $GIT_TERMINAL_PROMPT");
        let ended = Ended::of(clada(&project, &["run", "--no-git"], &vars), &task).exits(0);
        assert!(ended.out.contains("stdout:\n1 1 dumb 0\n"), "{}", ended.out);
    }
}

#[test]
fn variables_are_added_replaced_taken_away_and_scrubbed() {
    let project = Project::new();
    project.configure(
        "[exec]\nscrub = ['AWS_*', 'own_?']\n\
         [exec.env]\nADDED = 'new value'\nKEPT = 'replaced'\nGONE = false\nAWS_REGION = 'set all the same'\n",
    );
    let vars = [
        ("KEPT", "of clada"),
        ("GONE", "x"),
        ("AWS_PROFILE", "x"),
        ("AWS_REGION", "x"),
        ("OWN_A", "x"),
        ("OWN_AB", "untouched"),
        ("STRANGE", "two\nlines 'and' \"quotes\""),
    ];
    let script = "for name in ADDED KEPT GONE AWS_PROFILE AWS_REGION OWN_A OWN_AB STRANGE; do
        echo \"$name=${!name-(unset)}\"
    done";
    assert_eq!(
        printed(&project, &vars, script),
        "ADDED=new value\nKEPT=replaced\nGONE=(unset)\nAWS_PROFILE=(unset)\nAWS_REGION=set all the same\n\
         OWN_A=(unset)\nOWN_AB=untouched\nSTRANGE=two\nlines 'and' \"quotes\"\n"
    );
}

#[test]
fn a_path_of_the_settings_is_where_programs_are_looked_for() {
    let project = Project::new();
    let tools = project.home().join("tools");
    fs::create_dir(&tools).expect("mkdir");
    project.program("tool", "echo found");
    fs::rename(project.home().join("bin/tool"), tools.join("tool")).expect("rename");
    run(&project, &[], &["tool"]).exits(1);
    project.configure(&format!(
        "[exec.env]\nPATH = '{}:/usr/bin:/bin'\n",
        tools.display()
    ));
    assert_eq!(printed(&project, &[], "tool"), "found\n");
}

/// What a service manager starts: it has neither a terminal nor the environment of a login.
fn service(project: &Project, args: &[&str], vars: &[(&str, &str)]) -> Command {
    let mut command = project.command("setsid");
    command
        .env_clear()
        .env("HOME", project.home())
        .env("SHELL", "/bin/bash")
        .env("PATH", "/usr/bin:/bin")
        .env("INVOCATION_ID", "0123456789abcdef0123456789abcdef")
        .env("NOTIFY_SOCKET", "/run/nobody")
        .env("JOURNAL_STREAM", "8:1")
        .env("LISTEN_FDS", "1")
        .envs(vars.iter().copied())
        .arg(env!("CARGO_BIN_EXE_clada"))
        .args(args);
    command
}

/// A user whose start-up files are what most have.
fn user() -> Project {
    let project = Project::new();
    project.program("tool", "echo found");
    for (name, text) in [
        (
            ".bash_profile",
            "[ -f ~/.bashrc ] && . ~/.bashrc\nexport FROM_PROFILE=yes\necho welcome\n",
        ),
        (
            ".bashrc",
            "case $- in *i*) ;; *) return;; esac\nexport PATH=\"$HOME/bin:$PATH\"\n\
             export FROM_RC='two\nlines'\nexport OLD=of-rc NOTIFY_SOCKET=/run/of-rc\n",
        ),
    ] {
        fs::write(project.home().join(name), text).expect("write");
    }
    project
}

const TELL: &str = "echo \"$FROM_PROFILE|$FROM_RC|$OLD|$CLADA_LOGIN_ENV|$NOTIFY_SOCKET$INVOCATION_ID$JOURNAL_STREAM$LISTEN_FDS\"; tool";

/// The stdout of a single script.
fn told(command: Command) -> String {
    let ended = Ended::of(command, &reply(&[TELL])).json();
    let out = &ended["results"][0]["data"]["stdout"];
    out.as_str().expect("stdout").to_owned()
}

#[test]
fn a_service_gives_commands_what_a_login_has() {
    if !installed("setsid") {
        return;
    }
    let project = user();
    let (bare, all) = ("||of-manager||\n", "yes|two\nlines|of-rc||\nfound\n");
    let run = ["run", "--no-git", "--json"];
    let vars = [("OLD", "of-manager")];
    for (wanted, expect) in [("auto", all), ("always", all), ("never", bare)] {
        project.configure(&format!("[exec]\nlogin_env = '{wanted}'\n"));
        assert_eq!(told(service(&project, &run, &vars)), expect, "{wanted}");
    }
    // Not started by a manager: what it has is meant.
    for (wanted, expect) in [("auto", bare), ("always", all)] {
        project.configure(&format!("[exec]\nlogin_env = '{wanted}'\n"));
        let mut command = service(&project, &run, &vars);
        command
            .env_remove("INVOCATION_ID")
            .env_remove("NOTIFY_SOCKET");
        assert_eq!(told(command), expect, "{wanted}");
    }

    // The listener too, and the settings are laid over it.
    project.configure("[exec.env]\nFROM_PROFILE = 'settings'\n");
    let args = ["watch", "--no-git", "--no-clipboard", "--root"];
    let root = project.root();
    let args = [&args[..], &[root.to_str().expect("UTF-8")]].concat();
    let watching = Watching::start(service(&project, &args, &vars));
    watching.wait_for("watching ");
    save_by_rename(&project.path(NOTES), reply(&[TELL]));
    wait_for_results(&project, "1 ✅");
    let output = project.read(OUTPUT);
    assert!(
        output.contains("stdout:\nsettings|two\nlines|of-rc||\nfound\n"),
        "{output}"
    );
}

#[test]
fn a_login_shell_that_fails_is_told_and_clada_works() {
    if !installed("setsid") {
        return;
    }
    let project = user();
    fs::write(project.home().join(".bash_profile"), "exit 3\n").expect("write");
    let command = service(&project, &["run", "--no-git"], &[]);
    let ended = Ended::of(command, &reply(&["echo fine"])).exits(0);
    let results = ended.results();
    assert!(results.starts_with("1 ✅ exec echo fine\n"), "{results}");
    assert!(
        results.contains(
            "⚠ the login shell printed no environment (`/bin/bash -l -i -c` exited with code 3"
        ),
        "{results}"
    );
}

const SECRET: &str = "s3cret-é-0123456789";

#[test]
fn a_secret_is_seen_nowhere() {
    let display = Xvfb::start();
    let mut project = Project::with_git();
    if let Some(display) = &display {
        project = project.on_display(display.name());
    }
    project.write("config.txt", format!("one\nkey = {SECRET}\ntwo\n"));
    let vars = [("GH_TOKEN", SECRET)];
    // In what a command writes, whole and in two pieces; in targets, messages, and what a failed edit shows.
    let reply = format!(
        "<tasks message=\"all for {SECRET}\">\n\
         {}{}{}\
         <task>\n<i>use {SECRET}</i>\n<path>config.txt</path>\n<c>edit</c>\n<search>\none\nkey = other\ntwo\n</search>\n\
         <replace>\nx\n</replace>\n</task>\n\
         <task>\n<path>missing-{SECRET}.txt</path>\n<c>delete</c>\n</task>\n\
         <task>\n<path>made-{SECRET}.txt</path>\n<c>overwrite</c>\n<x>\n{SECRET}\n</x>\n</task>\n\
         </tasks>\n",
        super::task(
            "",
            "echo \"out $GH_TOKEN\"; echo \"err $GH_TOKEN\" >&2; exit 1"
        ),
        super::task(
            "",
            "printf '%s' \"${GH_TOKEN:0:9}\"; sleep 0.1; printf '%s\\n' \"${GH_TOKEN:9}\"; printf '\\033[1m'"
        ),
        super::task("", &format!("echo {SECRET}")),
    );
    #[track_caller]
    fn hidden(text: &str, times: usize) {
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains("0123456789"), "{text}");
        let masked = text.matches("[masked: GH_TOKEN]").count();
        assert!(masked >= times, "{masked} times, not {times}: {text}");
    }
    for args in [&["run"][..], &["run", "--json"], &["run", "--dry-run"]] {
        let ended = Ended::of(clada(&project, args, &vars), &reply);
        hidden(&ended.out, 5);
        hidden(&ended.err, if args.len() == 1 { 6 } else { 0 });
        let _ = fs::remove_file(project.path(&format!("made-{SECRET}.txt")));
    }

    let watching = Watching::start(clada(&project, &["watch"], &vars));
    watching.wait_for("watching ");
    save_by_rename(&project.path(NOTES), &reply);
    let notes = wait_for_results(&project, "6 ✅");
    assert_eq!(
        notes.results[2..6],
        [
            "3 ✅ exec echo [masked: GH_TOKEN]",
            "4 ❌ edit config.txt - search text not found: it must match the file exactly, character by character",
            "5 ❌ delete missing-[masked: GH_TOKEN].txt - file not found: `missing-[masked: GH_TOKEN].txt`",
            "6 ✅ overwrite made-[masked: GH_TOKEN].txt",
        ]
    );
    assert_eq!(notes.body, reply, "the user's text is the user's");
    let output = project.read(OUTPUT);
    hidden(&output, 8);
    assert_eq!(
        output.matches("key = [masked: GH_TOKEN]\n").count(),
        2,
        "{output}"
    );
    watching.wait_for("💚 git");
    hidden(&watching.said(), 8);
    if let Some(display) = &display {
        hidden(&display.clipboard(&project), 8);
    }
    // What git keeps beside the files themselves.
    hidden(&project.git(["log", "--all", "--format=%B"]), 12);
    hidden(&project.clada(["log"]).exits(0).out, 4);
}

#[test]
fn a_question_about_a_secret_is_asked_without_it() {
    let project = Project::new();
    project.configure("[exec]\nask = ['deploy']\n");
    let args = ["watch", "--no-git", "--no-clipboard"];
    let watching = Watching::start(clada(&project, &args, &[("GH_TOKEN", SECRET)]));
    watching.wait_for("watching ");
    let asked = reply(&[&format!("deploy {SECRET}")]);
    save_by_rename(&project.path(NOTES), &asked);
    wait_for_results(&project, "1 ⏸ exec deploy [masked: GH_TOKEN] - [ ] run it");
    // Remembered as it was shown.
    wait_to_read(&project.path(NOTES));
    save_by_rename(
        &project.path(NOTES),
        format!("{asked}and\n{}", reply(&["true"])),
    );
    wait_for_results(&project, "⏸ exec deploy [masked: GH_TOKEN] (asked ");
}
