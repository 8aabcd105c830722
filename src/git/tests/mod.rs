//! Each rule of a save, with the real `git` as the judge. Every repository must pass `git fsck --strict`
//! at the end of its test.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it is"
)]

mod commit;
mod head;
mod index_files;
mod left_alone;
mod meanwhile;
mod paths;
mod program;
mod refused;
mod restored;
mod saved;
mod users;

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::Once;

use tempfile::TempDir;

use super::save::PreparedSave;
use super::*;
use crate::policy::secrets::Secrets;

impl Snapshots {
    /// The end of a batch of one task.
    fn after_task(
        &mut self,
        paths: &[PathBuf],
        message: &Message,
    ) -> Result<SaveOutcome, SnapshotError> {
        let state = self.after_paths(paths, message)?;
        self.settle()?;
        Ok(state)
    }

    /// The first half of a save of everything.
    fn prepare_all(&mut self) -> PreparedSave<'static> {
        let untracked = &mut self.untracked;
        let prepared = self.store.prepare(SaveScope::Before, None, untracked);
        prepared.unwrap()
    }
}

struct Repo {
    folder: TempDir,
}

/// Of a clada that is not to stop.
fn open(root: &Path, never: &[PathBuf]) -> Result<Option<Snapshots>, SnapshotError> {
    open_as(root, never, &options())
}

fn open_as(
    root: &Path,
    never: &[PathBuf],
    options: &Options,
) -> Result<Option<Snapshots>, SnapshotError> {
    Snapshots::open(root, never, options, &watch::channel(false).1)
}

fn options() -> Options {
    Options {
        target: CommitTarget::Branch,
        untracked: UntrackedRule::Commit,
        new_file: 1000,
        secrets: Secrets::new(&[]),
        notes: NotesFiles::default(),
        private: PathBuf::new(),
        home: PathBuf::new(),
        private_limit: 0,
        private_file: 1000,
        sign: false,
        hooks: false,
        env: std::env::vars_os().collect(),
    }
}

impl Repo {
    /// A repository with one commit that holds `a.txt`.
    fn new() -> Self {
        let repo = Self::unborn();
        repo.write("a.txt", "one\n");
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "first"]);
        repo
    }

    fn unborn() -> Self {
        let repo = Self::init(&[]);
        repo.git(&["config", "user.name", "Ada"]);
        repo.git(&["config", "user.email", "ada@example.org"]);
        repo
    }

    /// One in which the branch `side` has another text in `a.txt`.
    fn conflicting() -> Self {
        let repo = Self::new();
        repo.git(&["checkout", "-qb", "side"]);
        repo.write("a.txt", "side\n");
        repo.git(&["commit", "-qam", "side"]);
        repo.git(&["checkout", "-q", "main"]);
        repo.write("a.txt", "main\n");
        repo.git(&["commit", "-qam", "main"]);
        repo
    }

    fn init(options: &[&str]) -> Self {
        hermetic();
        let folder = TempDir::new().unwrap();
        let repo = Self { folder };
        repo.git(&[&["init", "-q", "-b", "main"], options].concat());
        repo
    }

    fn top(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.top().join(path)
    }

    fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn remove(&self, path: &str) {
        let path = self.at(path);
        match path.symlink_metadata().unwrap().is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
    }

    fn git(&self, arguments: &[&str]) -> String {
        let (success, out) = self.try_git(arguments);
        assert!(success, "git {arguments:?}: {out}");
        out
    }

    fn try_git(&self, arguments: &[&str]) -> (bool, String) {
        git_in(&self.top(), arguments)
    }

    fn open(&self) -> Snapshots {
        self.open_at("")
    }

    fn open_at(&self, root: &str) -> Snapshots {
        open(&self.at(root), &[]).unwrap().unwrap()
    }

    fn open_without(&self, never: &[&str]) -> Snapshots {
        let never: Vec<_> = never.iter().map(|path| self.at(path)).collect();
        open(&self.top(), &never).unwrap().unwrap()
    }

    fn before(&self) -> SaveOutcome {
        self.open().before(&message()).unwrap()
    }

    fn after(&self, paths: &[&str]) -> SaveOutcome {
        self.open()
            .after_task(&paths_of(paths), &message())
            .unwrap()
    }

    fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }

    /// The paths of HEAD's tree.
    fn files(&self) -> Vec<String> {
        let out = self.git(&["ls-tree", "-rz", "--name-only", "HEAD"]);
        out.split_terminator('\0').map(str::to_owned).collect()
    }

    fn committed(&self, path: &str) -> String {
        self.git(&["show", &format!("HEAD:{path}")])
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim_end().to_owned()
    }

    fn commits(&self) -> usize {
        self.git(&["rev-list", "HEAD"]).lines().count()
    }

    /// All that a refused save must leave as it was.
    fn trace(&self) -> (Vec<u8>, String, String) {
        let index = fs::read(self.at(".git/index")).unwrap_or_default();
        (
            index,
            self.git(&["for-each-ref"]),
            self.git(&["reflog", "--all"]),
        )
    }

    fn refused(&self) -> SnapshotError {
        let trace = self.trace();
        let error = self.open().before(&message()).unwrap_err();
        assert_eq!(self.trace(), trace);
        error
    }
}

impl Drop for Repo {
    fn drop(&mut self) {
        if !std::thread::panicking() && self.at(".git").exists() {
            let (success, out) = self.try_git(&["fsck", "--strict", "--no-dangling"]);
            assert!(success && !out.contains("error"), "fsck: {out}");
        }
    }
}

fn git_in(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let out = Command::new("git")
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_EDITOR", "true"),
            ("HOME", "/nonexistent"),
        ])
        .output()
        .unwrap();
    let text = [out.stdout, out.stderr].concat();
    (
        out.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Keeps the machine's own git configuration out of libgit2, for all tests of the process.
fn hermetic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for level in [
            git2::ConfigLevel::ProgramData,
            git2::ConfigLevel::System,
            git2::ConfigLevel::XDG,
            git2::ConfigLevel::Global,
        ] {
            #[expect(
                unsafe_code,
                reason = "no repository is open yet: `Repo` comes through here"
            )]
            unsafe { git2::opts::set_search_path(level, "/nonexistent") }.unwrap();
        }
    });
}

fn message() -> Message {
    Message {
        subject: "Try".into(),
        time: "2024-05-06 07:08".into(),
        body: vec!["edit a.txt".into()],
        batch: "b1".into(),
        step: CommitStep::Task,
        of: Vec::new(),
        moved: None,
        beside: None,
    }
}

fn paths_of(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}
