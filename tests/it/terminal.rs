//! A real terminal, of tmux: what is typed on it, and what it shows.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::harness::{Project, wait_until};

/// A terminal that runs one command. Ended when dropped.
pub(crate) struct Terminal<'p> {
    project: &'p Project,
    socket: PathBuf,
}

impl<'p> Terminal<'p> {
    /// Its name is its own in the project; its size is in columns and lines.
    pub(crate) fn start(
        project: &'p Project,
        name: &str,
        (columns, lines): (u16, u16),
        command: &[&str],
    ) -> Self {
        let terminal = Self {
            project,
            socket: project.home().join(format!(".tmux-{name}")),
        };
        let (columns, lines) = (columns.to_string(), lines.to_string());
        let session = ["new-session", "-d", "-x", &columns, "-y", &lines];
        // A server that has just been started now and then gives up at once.
        let started = || {
            let mut tmux = terminal.tmux(&["-f", "/dev/null"]);
            let status = tmux.args(session).args(command).status();
            status.expect("tmux").success()
        };
        wait_until(started, || "tmux to start".to_owned());
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Command {
        let mut tmux = self.project.command("tmux");
        tmux.env("LC_ALL", "C.UTF-8")
            .arg("-S")
            .arg(&self.socket)
            .args(args);
        tmux
    }

    fn run(&self, args: &[&str]) {
        let status = self.tmux(args).status();
        assert!(status.expect("tmux").success(), "tmux {args:?}");
    }

    /// Types a text.
    pub(crate) fn type_in(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    /// Presses a key by its name: `Enter`, `C-c`.
    pub(crate) fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    /// Pastes as a terminal does: marked as pasted, where the program asks for that.
    pub(crate) fn paste(&self, text: &str) {
        let mut load = self.tmux(&["load-buffer", "-"]);
        let mut load = load.stdin(Stdio::piped()).spawn().expect("tmux");
        let mut input = load.stdin.take().expect("stdin");
        input.write_all(text.as_bytes()).expect("it reads");
        drop(input);
        assert!(load.wait().expect("tmux").success());
        self.run(&["paste-buffer", "-p"]);
    }

    /// The lines that are on it.
    pub(crate) fn shows(&self) -> Vec<String> {
        let output = self.tmux(&["capture-pane", "-p"]).output();
        let text = String::from_utf8(output.expect("tmux").stdout).expect("UTF-8");
        text.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, what: impl Fn(&[String]) -> bool) {
        wait_until(|| what(&self.shows()), || self.shows().join("\n"));
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]).output();
    }
}
