//! Locks between processes: one batch at a time per root, one listener per file. A lock ends with its process.

mod holder;

use std::fs::{DirEntry, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};

use self::holder::Holder;
use crate::world::state;

/// A lock that is held for as long as this value lives.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// The content of its file, which names this process.
    holder: Holder,
}

/// The one who has a lock that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// The number of its process, or `unknown`.
    pub pid: String,
    /// In words, what it has the lock for just now; nothing where it does not say.
    pub does: Option<String>,
}

/// A lock that was never given back, as its holder was killed.
#[derive(Debug)]
pub struct AbandonedLock {
    file: PathBuf,
    /// The time when it was taken, in Unix time in milliseconds.
    pub taken_ms: i64,
}

impl AbandonedLock {
    /// Gives it back if nothing is left of what it was held for: whoever still keeps its [descriptor](Lock::descriptor) has the
    /// lock. False then; it stays as it is.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn settle(&self) -> io::Result<bool> {
        let file = OpenOptions::new().write(true).open(&self.file)?;
        match file.try_lock() {
            Ok(()) => file.set_len(0).map(|()| true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Keeps it as one of another kind, so that its own can be taken again. Of two, the one that was taken earlier says more.
    ///
    /// # Errors
    /// Where its file cannot be renamed.
    pub fn put_aside(&self, kind: &str) -> io::Result<()> {
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let aside = name.split_once('-').map_or(&*name, |(_, rest)| rest);
        let aside = self.file.with_file_name(format!("{kind}-{aside}"));
        match aside.metadata() {
            Ok(meta) if meta.len() > 0 => Ok(()),
            _ => std::fs::rename(&self.file, aside),
        }
    }
}

/// A reason why a lock was not to be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody has it; its process id, where it is known and that process lives.
    #[error("{}", whose(*.0))]
    Held(Option<Pid>),
    #[error("cannot use the lock in {path}: {error}: make it readable and writable for this user")]
    Io { path: String, error: io::Error },
}

/// The pause between two tries to take a lock that somebody has.
const RETRY: Duration = Duration::from_millis(20);

/// The longest wait for a lock whose holder is dead: see [`Lock::try_take`].
const AFTERLIFE: Duration = Duration::from_secs(1);

impl Lock {
    /// Takes the lock of a kind for a path; where somebody has it, waits, and tells who that is, and again whenever this one
    /// does something else.
    ///
    /// Asked for again and again: a wait in the system call could not be broken off.
    ///
    /// # Errors
    /// Where locks cannot be used there at all.
    pub async fn take(
        folder: &Path,
        kind: &str,
        path: &Path,
        held: &mut dyn FnMut(&Occupant),
    ) -> Result<Self, LockError> {
        let mut told = None;
        loop {
            let holder = match Self::attempt(folder, kind, path)? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held(holder) => holder,
            };
            let occupant = Occupant {
                pid: name(holder.as_ref().map(|holder| holder.pid)),
                does: holder.and_then(|holder| holder.does),
            };
            if told.as_ref() != Some(&occupant) {
                held(&occupant);
                told = Some(occupant);
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Takes the lock of a kind for a path, if nobody has it.
    ///
    /// The lock is the system's on an open file, not the file's existence, so a crash leaves none behind.
    ///
    /// What a process was starting when it was killed has that one's locks until it ends too, which is a matter of
    /// milliseconds: it is waited for.
    ///
    /// # Errors
    /// [`LockError::Held`] if somebody has it.
    pub fn try_take(folder: &Path, kind: &str, path: &Path) -> Result<Self, LockError> {
        let patience = Instant::now() + AFTERLIFE;
        loop {
            match Self::attempt(folder, kind, path)? {
                Attempt::Taken(lock) => return Ok(lock),
                Attempt::Held(None) if Instant::now() < patience => sleep(RETRY),
                Attempt::Held(holder) => {
                    return Err(LockError::Held(holder.map(|holder| holder.pid)));
                }
            }
        }
    }

    fn attempt(folder: &Path, kind: &str, path: &Path) -> Result<Attempt, LockError> {
        let error = |error| LockError::Io {
            path: folder.display().to_string(),
            error,
        };
        state::make(folder).map_err(error)?;
        let name = state::name_of(&[path]);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join(format!("{kind}-{name}.lock")))
            .map_err(error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = Vec::new();
                let _ = file.read_to_end(&mut holder);
                let holder = Holder::parse(&holder).filter(Holder::lives);
                return Ok(Attempt::Held(holder));
            }
            Err(TryLockError::Error(e)) => return Err(error(e)),
        }
        // As long as what the last holder wrote, and written over it: to empty the file first took 0.25 ms, a seventh of
        // `clada run` of an empty reply.
        let holder = Holder::of_this_process(path);
        write(&mut file, &holder.text()).map_err(error)?;
        Ok(Attempt::Taken(Self { file, holder }))
    }

    /// Leaves in the lock's file what it is held for just now, for those who wait. It is no loss where that cannot be.
    pub fn tell(&mut self, does: String) {
        self.holder.does = Some(does);
        let written = self
            .file
            .rewind()
            .and_then(|()| write(&mut self.file, &self.holder.text()));
        if let Err(error) = written {
            tracing::debug!(%error, "cannot write what the lock is held for");
        }
    }

    /// The open file, by which another process has the lock too, until [`Lock::end`].
    ///
    /// # Errors
    /// Where no more files can be open.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    /// Gives the lock back, whoever has its descriptor, and leaves in its file when that was.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn end(self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.unlock()
    }

    /// Lets go of the lock without giving it back, as if its holder had been killed.
    ///
    /// # Errors
    /// Where its file cannot be written.
    pub fn abandon(mut self) -> io::Result<()> {
        let taken = self.file.metadata()?.modified()?;
        self.file.rewind()?;
        write(&mut self.file, b"0         \n")?;
        self.file.set_modified(taken)
    }

    /// Tells if somebody has a lock of these kinds, or if one was given back at this time, in Unix time in milliseconds, or later: by
    /// [`Lock::end`] or [`AbandonedLock::settle`].
    pub fn held_since(folder: &Path, kinds: &[&str], time_ms: i64) -> bool {
        files(folder, kinds).any(|file| {
            let changed = file.metadata().map_or(0, |meta| {
                meta.ctime() * 1000 + meta.ctime_nsec() / 1_000_000
            });
            changed >= time_ms || holder(&file).is_some()
        })
    }

    /// The locks of these kinds that were never given back, and whose holders are dead.
    pub fn cut_off(folder: &Path, kinds: &[&str]) -> Vec<AbandonedLock> {
        let all = files(folder, kinds).filter(|file| holder(file).is_none());
        let cut_off = all.filter_map(|file| {
            let meta = file.metadata().ok().filter(|meta| meta.len() > 0)?;
            let (file, taken_ms) = (
                file.path(),
                meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000,
            );
            Some(AbandonedLock { file, taken_ms })
        });
        cut_off.collect()
    }

    /// The paths of [`Self::held`] that are in a folder.
    pub fn held_in(folder: &Path, kinds: &[&str], within: &Path) -> Vec<PathBuf> {
        let mut held = Self::held(folder, kinds);
        held.retain(|path| path.starts_with(within));
        held
    }

    /// The paths of which processes that still live have locks of these kinds.
    ///
    /// No lock is tried: that could be in the way of somebody who takes it in just that moment.
    pub fn held(folder: &Path, kinds: &[&str]) -> Vec<PathBuf> {
        let holders = Self::holders(folder, kinds).into_iter();
        holders.map(|(_, path)| path).collect()
    }

    /// As [`Lock::held`], with the ids of the processes.
    pub fn holders(folder: &Path, kinds: &[&str]) -> Vec<(i32, PathBuf)> {
        files(folder, kinds)
            .filter_map(|file| holder(&file))
            .map(|holder| (holder.pid.as_raw_pid(), holder.path))
            .collect()
    }
}

impl LockError {
    /// The id of the other process that holds the lock, or `unknown`; `None` where no other one is the cause.
    pub fn other_process(&self) -> Option<String> {
        match self {
            Self::Held(holder) if *holder != Some(getpid()) => Some(name(*holder)),
            _ => None,
        }
    }
}

/// The result of one attempt to take a lock.
#[derive(Debug)]
enum Attempt {
    Taken(Lock),
    /// Somebody has it: the holder, where it is known and lives.
    Held(Option<Holder>),
}

/// Writes over what a lock's file says. Another one may have left more there, which goes.
fn write(file: &mut File, text: &[u8]) -> io::Result<()> {
    file.write_all(text)?;
    let size = text.len() as u64;
    if file.metadata()?.len() > size {
        file.set_len(size)?;
    }
    Ok(())
}

/// The files of the locks of these kinds.
fn files(folder: &Path, kinds: &[&str]) -> impl Iterator<Item = DirEntry> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| {
        let name = entry.file_name();
        let kind = name.to_str().and_then(|name| name.split_once('-'));
        kind.is_some_and(|(kind, _)| kinds.contains(&kind))
    })
}

/// The holder that a lock's file names, if it still lives.
fn holder(file: &DirEntry) -> Option<Holder> {
    let holder = Holder::parse(&std::fs::read(file.path()).ok()?);
    holder.filter(Holder::lives)
}

fn name(holder: Option<Pid>) -> String {
    holder.map_or("unknown".to_owned(), |pid| pid.to_string())
}

fn whose(holder: Option<Pid>) -> String {
    if holder == Some(getpid()) {
        "this clada already has it".to_owned()
    } else {
        format!("another clada has it (process {})", name(holder))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_lock_is_held_once_and_ends_with_its_holder() {
        let dir = tempfile::tempdir().expect("temp dir");
        let take = |path: &str| Lock::try_take(dir.path(), "file", Path::new(path));
        let held = take("/a").expect("free");
        assert!(
            matches!(take("/a"), Err(LockError::Held(pid)) if pid == Some(rustix::process::getpid()))
        );
        let who = LockError::Held(Pid::from_raw(1)).to_string();
        assert_eq!(who, "another clada has it (process 1)");
        let who = take("/a").expect_err("held").to_string();
        assert_eq!(who, "this clada already has it");
        let other = take("/b").expect("another path");
        let held_paths = || {
            let mut paths = Lock::held(dir.path(), &["file"]);
            paths.sort();
            paths
        };
        assert_eq!(held_paths(), [Path::new("/a"), Path::new("/b")]);
        assert!(Lock::held(dir.path(), &["root"]).is_empty());
        drop((held, other));
        taken_again(dir.path(), "file");
    }

    /// Takes the lock of `/a`, which was just given back. A process that another test starts has the descriptor until it runs its
    /// program.
    fn taken_again(folder: &Path, kind: &str) -> Lock {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        loop {
            match Lock::try_take(folder, kind, Path::new("/a")) {
                Ok(lock) => return lock,
                Err(error) => assert!(std::time::Instant::now() < until, "{error}"),
            }
        }
    }

    #[tokio::test]
    async fn who_waits_is_told_what_the_holder_does() {
        let dir = tempfile::tempdir().expect("temp dir");
        let mut lock = Lock::try_take(dir.path(), "root", Path::new("/a")).expect("free");
        lock.tell("a rather long thing".to_owned());
        lock.tell("1/2 make".to_owned());
        let mut held = Some(lock);
        let mut told = Vec::new();
        let mut tell = |occupant: &Occupant| {
            told.push(occupant.does.clone());
            if told.len() == 1 {
                if let Some(lock) = &mut held {
                    lock.tell("2/2 make install".to_owned());
                }
            } else {
                held = None;
            }
        };
        let taken = Lock::take(dir.path(), "root", Path::new("/a"), &mut tell).await;
        drop(taken.expect("free"));
        if cfg!(any(target_os = "linux", target_os = "macos")) {
            assert_eq!(
                told,
                [
                    Some("1/2 make".to_owned()),
                    Some("2/2 make install".to_owned())
                ]
            );
        }
        // The next one says nothing yet.
        let _lock = taken_again(dir.path(), "root");
        let refused = Lock::attempt(dir.path(), "root", Path::new("/a"));
        assert!(
            matches!(&refused, Ok(Attempt::Held(Some(holder))) if holder.does.is_none()),
            "{refused:?}"
        );
    }

    #[test]
    fn when_a_lock_was_given_back_is_left() {
        let dir = tempfile::tempdir().expect("temp dir");
        let take = || Lock::try_take(dir.path(), "run", Path::new("/a")).expect("free");
        let since = |time| Lock::held_since(dir.path(), &["run"], time);
        assert!(!since(0));
        let lock = take();
        assert!(since(i64::MAX) && !Lock::held_since(dir.path(), &["root"], 0));
        lock.end().expect("end");
        assert!(since(0) && !since(i64::MAX));
    }

    #[test]
    fn a_lock_that_was_never_given_back_is_known_until_it_is_settled() {
        let dir = tempfile::tempdir().expect("temp dir");
        let cut_off = |kind: &str| Lock::cut_off(dir.path(), &[kind]);
        let killed = |text: &str| {
            let lock = taken_again(dir.path(), "run");
            assert!(cut_off("run").is_empty());
            drop(lock);
            std::fs::write(only(dir.path(), "run"), text).expect("write");
        };
        killed("0         \n/a");
        let [first] = &cut_off("run")[..] else {
            panic!("one lock");
        };
        let taken_ms = first.taken_ms;
        first.put_aside("cut").expect("rename");
        assert!(cut_off("run").is_empty());
        assert_eq!(cut_off("cut")[0].taken_ms, taken_ms);
        killed("0         \n/a");
        // The older one is kept.
        cut_off("run")[0].put_aside("cut").expect("nothing");
        assert_eq!(cut_off("cut")[0].taken_ms, taken_ms);
        // As above, another process may have the descriptor for a moment.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !cut_off("cut")[0].settle().expect("settle") {
            assert!(std::time::Instant::now() < until);
        }
        assert!(cut_off("cut").is_empty());
        assert!(Lock::held_since(dir.path(), &["cut"], 0));
    }

    fn only(folder: &Path, kind: &str) -> PathBuf {
        let kinds = [kind];
        let file = files(folder, &kinds).next();
        file.expect("a lock").path()
    }

    #[test]
    fn what_a_killed_holder_was_starting_is_waited_for() {
        let dir = tempfile::tempdir().expect("temp dir");
        let take = || Lock::try_take(dir.path(), "file", Path::new("/a"));
        let lock = take().expect("free");
        let child = |shared: &Lock, script: &str| {
            let shared = shared.file.try_clone().expect("clone");
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stdin(shared);
            shell.spawn().expect("sh")
        };
        let mut dead = child(&lock, "exit");
        dead.wait().expect("wait");
        let mut child = child(&lock, "sleep 0.2");
        // The lock's file says who the holder is.
        let entry = std::fs::read_dir(dir.path()).expect("read dir").next();
        let mut file = OpenOptions::new()
            .write(true)
            .open(entry.expect("one").expect("entry").path())
            .expect("open");
        writeln!(file, "{:<10}", dead.id()).expect("write");
        drop(lock);
        take().expect("free when the child has ended");
        child.wait().expect("wait");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_got_the_number_of_a_dead_holder_has_no_lock() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = Path::new("/a");
        let held = || Lock::holders(dir.path(), &["file"]);
        let lock = Lock::try_take(dir.path(), "file", path).expect("free");
        let own = std::process::id().cast_signed();
        assert_eq!(held(), [(own, path.to_owned())]);
        let entry = std::fs::read_dir(dir.path()).expect("read dir").next();
        let file = entry.expect("one").expect("entry").path();

        let mut stranger = Command::new("sleep").arg("60").spawn().expect("sleep");
        let text = std::fs::read_to_string(&file).expect("read");
        let number = |pid: u32| format!("{pid:<10}");
        let text = text.replace(&number(std::process::id()), &number(stranger.id()));
        // Two processes may begin in one tick, but not with one number.
        let (text, began) = text.trim_end().rsplit_once(' ').expect("a start");
        let began: u64 = began.parse().expect("a number");
        let text = format!("{text} {}", began - 1);
        std::fs::write(&file, &text).expect("write");
        assert_eq!(held(), []);
        // Nor is it named where the lock is not to be had.
        let refused = Lock::attempt(dir.path(), "file", path);
        assert!(matches!(refused, Ok(Attempt::Held(None))), "{refused:?}");
        // An older clada left no more than the number.
        let (before, _) = text.split_once('\0').expect("a start");
        std::fs::write(&file, before).expect("write");
        assert_eq!(held(), [(stranger.id().cast_signed(), path.to_owned())]);
        stranger.kill().expect("kill");
        stranger.wait().expect("wait");
        assert_eq!(held(), []);
        drop(lock);
    }
}
