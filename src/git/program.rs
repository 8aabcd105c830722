//! Git itself, where libgit2 cannot do it: signatures and the user's hooks. Owns how git is started and ended; never
//! decides what is committed.
//!
//! It gets the user's environment and no terminal, so that whatever would ask there fails at once. At the limit, or when
//! clada is to stop, it is ended with its process group.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use git2::{Commit, Index, Oid, Signature, Tree};
use rustix::process::{Pid, Signal, kill_process_group, setsid};

use tempfile::TempDir;

use super::error::GitResult;
use super::message::{self, Message};
use super::stage::Staged;
use super::{SnapshotError, Store};
use crate::world::folder::if_there;
use crate::world::locked::locked;
use crate::world::programs::Programs;

/// The time that git may take to sign, and a hook to end.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);

/// The most that is shown of what it said, and the most that it may say at all, in bytes.
const SHOWN: usize = 600;
const MOST: u64 = 16 * 1024 * 1024;

/// The tree that a hook refused last, when, and why. A listener tries a refused batch again every few seconds, and a hook
/// may be a whole test suite: it is asked about the same tree once a minute.
static REFUSED: Mutex<Option<(PathBuf, Oid, Instant, String)>> = Mutex::new(None);
const ASK_AGAIN: Duration = Duration::from_secs(60);

impl Store {
    /// Writes a commit that nothing points to, signed where that is wished. The names are those of its author and its committer.
    pub(super) fn make(
        &self,
        names: [&Signature<'_>; 2],
        tree: &Tree<'_>,
        text: &str,
        parents: &[Commit<'_>],
    ) -> GitResult<Oid> {
        if !self.rules.options.sign {
            let [author, committer] = names;
            let parents: Vec<&Commit<'_>> = parents.iter().collect();
            let repo = &self.repo;
            return Ok(repo.commit(None, author, committer, text, tree, &parents)?);
        }
        let mut git = self.git(&self.index_path())?;
        // Else git would name another encoding in the commit, where the user has set one.
        git.args(["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S"]);
        for parent in parents {
            git.arg("-p").arg(parent.id().to_string());
        }
        git.args(["-F", "-"]).arg(tree.id().to_string());
        for (role, who) in ["AUTHOR", "COMMITTER"].into_iter().zip(names) {
            let bytes = |bytes| <OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes);
            git.env(format!("GIT_{role}_NAME"), bytes(who.name_bytes()))
                .env(format!("GIT_{role}_EMAIL"), bytes(who.email_bytes()))
                .env(format!("GIT_{role}_DATE"), date(who));
        }
        let ran = self.see_through(git, text)?;
        let id = String::from_utf8_lossy(&ran.out).trim().to_owned();
        match (ran.trouble, Oid::from_str(&id)) {
            (None, Ok(id)) => Ok(id),
            (trouble, _) => {
                let trouble = trouble.unwrap_or("it printed no commit id".to_owned());
                Err(SnapshotError::NotSigned(told(trouble, &ran.said)))
            }
        }
    }

    /// Runs `pre-commit` with the index as it will be, in a copy: where the hook refuses, the index is as it was.
    pub(super) fn pre_commit(&self, tree: Oid, staged: &[Staged]) -> GitResult<()> {
        let git = self.repo.path();
        let refused = locked(&REFUSED);
        if let Some((at, of, when, why)) = &*refused
            && (at.as_path(), *of) == (git, tree)
            && when.elapsed() < ASK_AGAIN
        {
            return Err(SnapshotError::Hook(why.clone()));
        }
        drop(refused);
        let folder = self.temporary()?;
        let path = folder.path().join("index");
        if_there(fs::copy(self.index_path(), &path))
            .map_err(|why| SnapshotError::OwnIndex(path.clone(), why))?;
        let mut index = Index::open(&path)?;
        for one in self.index.unsettled.borrow().iter().chain(staged) {
            one.put(&mut index)?;
        }
        index.write()?;
        self.hook("pre-commit", &path, None)
            .inspect_err(|why| self.remember(tree, why))
    }

    /// The message as `commit-msg` leaves it.
    pub(super) fn commit_msg(&self, tree: Oid, message: &Message) -> GitResult<String> {
        let text = message.to_string();
        if !self.rules.options.hooks {
            return Ok(text);
        }
        let folder = self.temporary()?;
        let path = folder.path().join("COMMIT_EDITMSG");
        let failed = |why| SnapshotError::OwnIndex(path.clone(), why);
        fs::write(&path, &text).map_err(failed)?;
        self.hook("commit-msg", &self.index_path(), Some(&path))
            .inspect_err(|why| self.remember(tree, why))?;
        let changed = fs::read_to_string(&path).map_err(failed)?;
        let ours = |read: Option<Message>| read.map(|read| (read.batch, read.step));
        if changed != text && ours(message::read(&changed)) != ours(message::read(&text)) {
            let why = "the `commit-msg` hook changed the mark at the end of the first line, or the trailers, by which \
                 clada finds its commits, so nothing was committed";
            let why = SnapshotError::Hook(why.to_owned());
            self.remember(tree, &why);
            return Err(why);
        }
        Ok(changed.trim_end().to_owned() + "\n")
    }

    /// Runs `post-commit`, which can no longer change anything.
    pub(super) fn post_commit(&self) -> Option<String> {
        if !self.rules.options.hooks {
            return None;
        }
        let ran = self.hook("post-commit", &self.index_path(), None);
        ran.err().map(|why| why.to_string())
    }

    fn hook(&self, name: &str, index: &Path, file: Option<&Path>) -> GitResult<()> {
        let mut git = self.git(index)?;
        git.args(["hook", "run", "--ignore-missing", name])
            .env("GIT_EDITOR", ":");
        if let Some(file) = file {
            git.arg("--").arg(file);
        }
        let ran = self.see_through(git, "")?;
        match ran.trouble {
            None => Ok(()),
            Some(trouble) => {
                let why = told(format!("the `{name}` hook: {trouble}"), &ran.said);
                Err(SnapshotError::Hook(why))
            }
        }
    }

    fn remember(&self, tree: Oid, why: &SnapshotError) {
        let SnapshotError::Hook(why) = why else {
            return;
        };
        let mut refused = locked(&REFUSED);
        let git = self.repo.path().to_owned();
        *refused = Some((git, tree, Instant::now(), why.clone()));
    }

    /// A folder in the git directory, which goes when it is dropped.
    fn temporary(&self) -> GitResult<TempDir> {
        let git = self.repo.path();
        let made = tempfile::Builder::new().prefix("clada-").tempdir_in(git);
        made.map_err(|why| SnapshotError::OwnIndex(git.to_owned(), why))
    }

    /// Git for this repository, in its work tree. It runs what it finds by PATH, in this one too.
    fn git(&self, index: &Path) -> GitResult<Command> {
        let env = self
            .rules
            .options
            .env
            .iter()
            .map(|(name, value)| (name, value));
        let programs = Programs::of_vars(env.clone());
        let mut git = programs.command_in("git", env)?;
        // They would lead git to another repository, or have it ask on the terminal.
        for name in [
            "GIT_COMMON_DIR",
            "GIT_OBJECT_DIRECTORY",
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            "GIT_NAMESPACE",
            "GIT_PREFIX",
            "GIT_CEILING_DIRECTORIES",
            "GIT_ASKPASS",
            "SSH_ASKPASS_REQUIRE",
            "GPG_TTY",
        ] {
            git.env_remove(name);
        }
        git.env("GIT_DIR", self.repo.path())
            .env("GIT_WORK_TREE", &self.top)
            .env("GIT_INDEX_FILE", index)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("CLADA", "1")
            .current_dir(&self.top);
        Ok(git)
    }

    /// Runs it to its end, or to the limit.
    ///
    /// What it says goes into files: whatever a hook leaves running may keep a pipe open for ever.
    fn see_through(&self, mut git: Command, input: &str) -> GitResult<GitOutput> {
        let mut run = || {
            let mut stdin = tempfile::tempfile()?;
            let (mut out, mut said) = (tempfile::tempfile()?, tempfile::tempfile()?);
            stdin.write_all(input.as_bytes())?;
            stdin.rewind()?;
            git.stdin(Stdio::from(stdin))
                .stdout(out.try_clone()?)
                .stderr(said.try_clone()?);
            in_own_session(&mut git);
            let mut child = git.spawn()?;
            Ok(GitOutput {
                trouble: self.wait(&mut child, [&out, &said])?,
                out: tail(&mut out)?,
                said: tail(&mut said)?,
            })
        };
        run().map_err(SnapshotError::NoGit)
    }

    /// Waits until it ends, or ends it; says what is wrong with its end.
    fn wait(&self, child: &mut Child, files: [&File; 2]) -> io::Result<Option<String>> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(match status.code() {
                    Some(0) => None,
                    Some(code) => Some(format!("exit status {code}")),
                    None => Some(status.to_string()),
                });
            }
            let floods = files
                .iter()
                .any(|file| file.metadata().is_ok_and(|data| data.len() > MOST));
            let why = if floods {
                "clada killed it, because it wrote too much"
            } else if Instant::now() >= until {
                "clada killed it after 60 seconds"
            } else if self.locks.hurry.is_over(until) {
                "clada killed it, because clada is stopping"
            } else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            child.wait()?;
            return Ok(Some(why.to_owned()));
        }
    }
}

/// The result of git.
struct GitOutput {
    /// None where it ended well.
    trouble: Option<String>,
    out: Vec<u8>,
    said: Vec<u8>,
}

/// The trouble with the last lines of what was said, as one line.
fn told(trouble: String, said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let parts: Vec<&str> = lines.collect();
    if parts.is_empty() {
        return trouble;
    }
    format!("{trouble}: {}", parts.join(" / "))
}

/// The end of a file.
fn tail(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(SHOWN as u64)))?;
    let mut bytes = Vec::new();
    file.take(SHOWN as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A time as git reads it from the environment.
fn date(who: &Signature<'_>) -> String {
    let (when, sign) = (who.when(), who.when().sign());
    let minutes = when.offset_minutes().abs();
    format!(
        "@{} {sign}{:02}{:02}",
        when.seconds(),
        minutes / 60,
        minutes % 60
    )
}

/// Makes the child the leader of its own session, and so of a process group, without a terminal to ask on.
#[expect(
    unsafe_code,
    reason = "pre_exec is the only way to act between fork and exec"
)]
fn in_own_session(command: &mut Command) {
    // SAFETY: the closure makes one system call; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(|| Ok(setsid().map(drop)?)) };
}
