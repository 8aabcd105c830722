//! Follows each page of `docs/` in a home of its own, with a project folder `~/hello`: types what it says into a shell,
//! pastes its replies into the notes that a listener watches, and compares what comes of it.
//!
//! `UPDATE_EXPECT=1` rewrites the text that differs (refused when `CI` is set).

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::FOR_BUILDERS;
use super::alike;
use super::page::{Deed, Page, Printed, What};
use crate::cases;
use crate::daemon::{NOTES, Notes, wait_to_read};
use crate::harness::{LIMIT, Project, Watching, installed, save_by_rename, skip};
use crate::run::IS_WHOLE;

/// What stands for the home in texts.
const HOME: &str = "/home/you";

/// Makes a test of each page, and the list of all.
macro_rules! pages {
    ($($name:ident)*) => {
        const PAGES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                follow(&stringify!($name).replace('_', "-"));
            }
        )*
    };
}

pages! {
    architecture
    background
    chats
    clipboard
    cml
    command_line
    commands
    copied_replies
    dialects
    git
    guide
    releasing
    runs
    settings
    troubleshooting
}

#[test]
fn every_page_is_followed() {
    let files = cases::markdown_files(&cases::root().join("docs"));
    let name = |file: PathBuf| {
        let below = file.strip_prefix(cases::root().join("docs"));
        below
            .expect("docs")
            .with_extension("")
            .display()
            .to_string()
    };
    let found: Vec<String> = files.into_iter().map(name).collect();
    let known = PAGES.iter().map(|page| page.replace('_', "-"));
    let mut known: Vec<String> = known.chain(FOR_BUILDERS.map(str::to_owned)).collect();
    known.sort();
    known.dedup();
    assert_eq!(found, known);
}

/// Follows a page, and reports all that is not as it says.
fn follow(name: &str) {
    if !IS_WHOLE && ["cml", "guide"].contains(&name) {
        skip("the page tells of grammars and tokens that were not built in");
        return;
    }
    // Replies on these pages run Python.
    if ["chats", "cml", "commands"].contains(&name) && !installed("python3") {
        return;
    }
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    assert!(
        !(update && std::env::var_os("CI").is_some()),
        "UPDATE_EXPECT is for people, not for CI"
    );
    let page = Page::read(name);
    let mut desk = Desk::new();
    let mut failures = String::new();
    let mut renewed: Vec<(&Printed, String)> = Vec::new();
    for deed in &page.deeds {
        let got = match desk.carries_out(deed) {
            Ok(got) => got,
            Err(wrong) => {
                // What comes later on the page builds on it.
                let _ = writeln!(failures, "\n{}: {wrong}", page.at(deed.line));
                break;
            }
        };
        let Some(printed) = &deed.printed else {
            continue;
        };
        if !alike::is_shown(&printed.text, &got) {
            let _ = writeln!(
                failures,
                "\n{}: the page shows\n{}\nbut this is printed\n{got}",
                page.at(printed.line),
                printed.text,
            );
            renewed.push((printed, alike::renewed(&printed.text, &got)));
        }
    }
    if update && !renewed.is_empty() {
        page.rewrite(&renewed);
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Where a reader sits: a home, the project in it, and the listener once there is one.
struct Desk {
    project: Project,
    listener: Option<Watching>,
    /// The shells' process groups, in which what they left behind lives on.
    shells: Vec<Pid>,
}

impl Desk {
    fn new() -> Self {
        let project = Project::at_home();
        project.configure("");
        let desk = Self {
            project,
            listener: None,
            shells: Vec::new(),
        };
        let home = desk.project.home();
        std::fs::create_dir_all(home.join("bin")).expect("mkdir");
        let clada = env!("CARGO_BIN_EXE_clada");
        std::os::unix::fs::symlink(clada, home.join("bin/clada")).expect("install");
        std::fs::create_dir(desk.folder()).expect("mkdir");
        for args in [
            ["config", "--global", "user.name", "Ada"],
            ["config", "--global", "user.email", "ada@example.org"],
            ["config", "--global", "init.defaultBranch", "main"],
            ["init", "-q", ".", "--"],
        ] {
            let status = desk.command("git").args(args).status();
            assert!(status.expect("git").success(), "git {args:?}");
        }
        desk
    }

    fn folder(&self) -> PathBuf {
        self.project.home().join("hello")
    }

    /// A program in the project folder. Git has its name of the settings.
    fn command(&self, program: &str) -> Command {
        let mut command = self.project.command(program);
        command.current_dir(self.folder());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env_remove(format!("GIT_{who}_NAME"));
            command.env_remove(format!("GIT_{who}_EMAIL"));
        }
        command
    }

    /// Does what a page says: what is printed, or why it went wrong.
    fn carries_out(&mut self, deed: &Deed) -> Result<String, String> {
        match &deed.what {
            What::Type { script, fails } => self.types(script, *fails),
            What::Save(script) => {
                self.listens();
                wait_to_read(&self.folder().join(NOTES));
                let before = self.notes();
                self.types(script, false)?;
                self.results_after(&before)
            }
            What::Paste(reply) => {
                self.listens();
                let before = self.notes();
                save_by_rename(&self.folder().join(NOTES), format!("{before}\n{reply}"));
                self.results_after(&before)
            }
            What::Set(settings) => accepts(settings).map(|()| String::new()),
        }
    }

    fn types(&mut self, script: &str, fails: bool) -> Result<String, String> {
        let out = tempfile::NamedTempFile::new().expect("temp file");
        let to = || File::options().append(true).open(out.path()).expect("open");
        let mut bash = self.command("bash");
        bash.args(["-e", "-c", script, "bash"]).process_group(0);
        bash.stdin(Stdio::null()).stdout(to()).stderr(to());
        let mut bash = bash.spawn().expect("bash");
        self.shells.push(Pid::from_child(&bash));
        let status = ended(&mut bash);
        let said = std::fs::read(out.path()).expect("output");
        let said = self.as_yours(&String::from_utf8_lossy(&said));
        match status {
            None => Err(format!("this does not end:\n{script}{said}")),
            Some(worked) if worked == fails => {
                let did = if fails { "worked" } else { "failed" };
                Err(format!("this {did}:\n{script}{said}"))
            }
            Some(_) => Ok(said),
        }
    }

    /// Starts the listener, if none is there yet.
    fn listens(&mut self) {
        if self.listener.is_none() {
            let mut clada = self.command("clada");
            // The answer that a person gives by Enter.
            clada.arg("--yes").stdin(Stdio::null());
            let listener = Watching::start(clada);
            listener.wait_for("watching ");
            self.listener = Some(listener);
        }
    }

    fn notes(&self) -> String {
        std::fs::read_to_string(self.folder().join(NOTES)).unwrap_or_default()
    }

    /// The newest results in the notes, once they are others than before.
    fn results_after(&self, before: &str) -> Result<String, String> {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            match new_results(before, &self.notes()) {
                Some(results) => return Ok(self.as_yours(&results)),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        let said = self.listener.as_ref().map(Watching::said);
        Err(format!(
            "no results come of this; the notes are\n{}\nand clada printed\n{}",
            self.notes(),
            said.unwrap_or_default()
        ))
    }

    /// A text with the reader's home in the place of that of the test.
    fn as_yours(&self, text: &str) -> String {
        let home = self.project.home();
        let canonical = home.canonicalize().expect("home");
        [home, canonical]
            .iter()
            .fold(text.to_owned(), |text, home| {
                text.replace(&home.display().to_string(), HOME)
            })
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        for shell in &self.shells {
            // Most have left nothing behind.
            let _ = kill_process_group(*shell, Signal::KILL);
        }
    }
}

/// The newest results in the notes, if they are others than before: a tick alone, or `⏳`, is no result.
fn new_results(before: &str, now: &str) -> Option<String> {
    let before = Notes::parse(before).map(|notes| (notes.status.clone(), notes.all()));
    let notes = Notes::parse(now)?;
    let unticked = |line: String| line.replace("- [x] ", "- [ ] ");
    let is_new = before
        != Some((
            notes.status.clone(),
            notes.all().into_iter().map(unticked).collect(),
        ));
    let results = notes.results.join("\n") + "\n";
    (is_new && !results.starts_with('⏳')).then_some(results)
}

/// Waits for the end of a shell: whether it worked, or `None` where it had to be killed.
fn ended(bash: &mut Child) -> Option<bool> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        if let Some(status) = bash.try_wait().expect("wait") {
            return Some(status.success());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = kill_process_group(Pid::from_child(bash), Signal::KILL);
    let _ = bash.wait();
    None
}

/// Whether clada takes these settings as they are.
fn accepts(settings: &str) -> Result<(), String> {
    let project = Project::new();
    project.configure(settings);
    let config = project.clada(["config"]);
    if config.code == Some(0) && config.err.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "clada refuses these settings:\n{}{}",
            config.out, config.err
        ))
    }
}
