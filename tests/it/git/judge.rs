//! What git itself would have saved, by `git add -A` on an index and a store of its own.

use std::path::PathBuf;
use std::process::Command;

use crate::harness::Project;

pub(super) struct Judge<'p> {
    project: &'p Project,
    index: PathBuf,
}

impl<'p> Judge<'p> {
    pub(super) fn new(project: &'p Project) -> Self {
        let index = project.home().join("judge-index");
        std::fs::create_dir(project.home().join("judge")).expect("mkdir");
        // Files that clada makes for itself are in no commit of its own.
        project.write(".git/info/exclude", ".clada-*\n");
        Self { project, index }
    }

    /// Begins with what the user's index has, which says what is tracked though it is ignored.
    pub(super) fn begin(&self) {
        let _ = std::fs::remove_file(&self.index);
        let index = self.project.path(".git/index");
        if index.exists() {
            std::fs::copy(&index, &self.index).expect("copy");
            // By the index's age git knows which entries it must look into.
            let written = index.metadata().and_then(|data| data.modified());
            let copied = std::fs::File::options().append(true).open(&self.index);
            copied
                .and_then(|copied| copied.set_modified(written?))
                .expect("as old as the index");
        }
    }

    /// The tree of the work tree as it is now.
    pub(super) fn tree(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["write-tree"])
    }

    fn git(&self, args: &[&str]) -> String {
        let mut git: Command = self.project.command("git");
        git.args(args)
            .env("GIT_INDEX_FILE", &self.index)
            .env("GIT_OBJECT_DIRECTORY", self.project.home().join("judge"))
            .env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                self.project.path(".git/objects"),
            );
        let output = git.output().expect("git");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {said}");
        String::from_utf8(output.stdout)
            .expect("UTF-8")
            .trim_end()
            .to_owned()
    }

    /// Of a revision.
    pub(super) fn tree_of(&self, revision: &str) -> String {
        let tree = self
            .project
            .git(["rev-parse", &format!("{revision}^{{tree}}")]);
        tree.trim_end().to_owned()
    }

    #[track_caller]
    pub(super) fn finds_it_sound(&self) {
        self.project.git(["fsck", "--strict", "--no-dangling"]);
    }
}
