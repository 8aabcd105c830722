//! A project of its own for each figure, with a home beside it, and programs that see nothing else of their user.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::table::time;

/// The program that is measured.
pub(crate) const CLADA: &str = env!("CARGO_BIN_EXE_clada");

pub(crate) struct Project {
    top: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In this folder.
    pub(crate) fn below(folder: &Path) -> Self {
        let top = tempfile::tempdir_in(folder).expect("a folder for temporary files");
        for name in ["root", "home"] {
            std::fs::create_dir(top.path().join(name)).expect("mkdir");
        }
        Self { top }
    }

    /// A project with some committed files.
    pub(crate) fn with_git() -> Self {
        let project = Self::new();
        for number in 0..20 {
            std::fs::write(
                project.path(&format!("root/file{number}.txt")),
                "a line\n".repeat(100),
            )
            .expect("write");
        }
        project.commit();
        project
    }

    /// Makes a repository of it, with all its files in one commit.
    pub(crate) fn commit(&self) {
        for args in [
            &["init", "-q"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "commit",
                "-qm",
                "x",
            ],
        ] {
            let done = self.command("git").args(args).status().expect("git");
            assert!(done.success(), "git {args:?}");
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    /// Writes the user's settings.
    pub(crate) fn configure(&self, settings: &str) {
        let folder = match cfg!(target_os = "macos") {
            true => "home/Library/Application Support/clada",
            false => "home/.config/clada",
        };
        let folder = self.path(folder);
        std::fs::create_dir_all(&folder).expect("mkdir");
        std::fs::write(folder.join("config.toml"), settings).expect("write");
    }

    /// Beside the root.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// Makes a named pipe beside the root. It is open for reading and for writing, so it opens at once and has no end.
    pub(crate) fn pipe(&self, name: &str) -> File {
        let path = self.path(name);
        let mut mkfifo = self.command("mkfifo");
        mkfifo.arg(&path);
        whole(mkfifo);
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(path).expect("a pipe")
    }

    /// A program in the root, its output thrown away.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("HOME", self.path("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// `clada run --no-git` of a reply that lies beside the root.
    pub(crate) fn run(&self, reply: &Path) -> Command {
        let mut command = self.command(CLADA);
        command.args(["run", "--no-git"]).arg(reply);
        command
    }
}

/// A `clada watch` that listens, until this is dropped.
pub(crate) struct Watch(pub(crate) Child);

impl Watch {
    /// Starts this command, and waits until it listens.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut clada = command.stdout(Stdio::piped()).spawn().expect("clada");
        let mut output = BufReader::new(clada.stdout.take().expect("its output"));
        let listens = |line: io::Result<String>| line.expect("a line").starts_with("watching ");
        assert!(output.by_ref().lines().any(listens), "it ended");
        thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Self(clada)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// A task that runs a script.
pub(crate) fn task(script: &str) -> String {
    format!("<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n")
}

/// A number that the system tells of a process, by the name before it.
pub(crate) fn number_behind(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.expect("a number")
}

/// How long a program takes from its start to its end, which must be a good one.
pub(crate) fn whole(mut command: Command) -> Duration {
    let mut status = None;
    let took = time(|| status = command.status().ok());
    assert!(status.is_some_and(|status| status.success()), "{command:?}");
    took
}
