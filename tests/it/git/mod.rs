//! What clada does in git, through the real program and with the real git as the judge.

mod busy;
mod crash;
mod judge;
mod private;
mod random;
mod side;
mod sign;
mod squash;
mod states;
mod store;
mod users;

use crate::harness::{Ended, Project};

/// A reply that overwrites one file.
fn overwrite(path: &str, text: &str) -> String {
    format!("<tasks><task><path>{path}</path><c>overwrite</c><x>\n{text}\n</x></task></tasks>\n")
}

fn exec(script: &str) -> String {
    format!("<tasks><task><c>exec</c><x>\n{script}\n</x></task></tasks>\n")
}

impl Project {
    /// A repository with a commit of the user's, `a.txt`.
    fn begun() -> Self {
        let project = Self::with_git();
        project.write("a.txt", "one\n");
        project.commit("first");
        project
    }

    /// The same where no command may write but in the project.
    fn begun_apart() -> Option<Self> {
        let project = Self::apart()?;
        project.git(["init", "-q", "-b", "main"]);
        project.write("a.txt", "one\n");
        project.commit("first");
        Some(project)
    }

    /// A commit of the user's with all that there is.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", message]);
        self.id("HEAD")
    }

    /// A commit as clada makes it, which changes this file.
    fn saved(&self, batch: &str, subject: &str, path: &str) -> String {
        self.write(path, format!("{batch} {subject}\n"));
        self.commit(&format!(
            "{subject} 💚clada\n\nedit {path}\n\nClada-Batch: {batch}\nClada-Step: task"
        ))
    }

    fn id(&self, revision: &str) -> String {
        self.git(["rev-parse", "--verify", "-q", revision])
            .trim()
            .to_owned()
    }

    /// The first lines of a history, newest first.
    fn subjects(&self, revision: &str) -> Vec<String> {
        let log = self.git(["log", "--format=%s", revision]);
        log.lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn runs(&self, reply: &str) -> Ended {
        self.clada_with(["run"], reply).exits(0)
    }

    /// What `git` says must be in order at the end of a test.
    #[track_caller]
    fn is_sound(&self) {
        let said = self.git(["fsck", "--strict", "--no-dangling"]);
        assert!(!said.contains("error"), "{said}");
    }
}
