//! The processes that descend from a script, and their end. Never touches any other.
//!
//! All of them are below the script's [first process](super::keeper), wherever they went.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::process::{Pid, Rlimit, Signal, WaitOptions, kill_process, waitpid};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::keeper::{self, ENDED, TOLD};
use super::launch::Launch;
use crate::world::locked::locked;
use crate::world::process::{self, ProcessEntry};
use crate::world::survivors::{self, Survivor};

/// First processes that have not ended yet, of scripts that were let go.
static LEFT: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A script's processes.
pub(super) struct Family {
    first: Pid,
    told: Receiver,
    /// Closed, it has the first process end all of them.
    control: Option<OwnedFd>,
    ended: Option<ExitStatus>,
    /// The processes that have been sent SIGTERM; a second one makes many programs drop what they are tidying up.
    asked: HashSet<Pid>,
    /// The first process has ended, and so all of them.
    is_over: bool,
}

impl Family {
    /// Starts a script's shell, which writes to these two.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(super) fn start(
        launch: &Launch,
        output: [OwnedFd; 2],
        files: Option<Rlimit>,
    ) -> io::Result<Self> {
        reap_left();
        let first = keeper::start(launch, output, files)?;
        Ok(Self {
            first: first.pid,
            told: Receiver::from_owned_fd(first.told)?,
            control: Some(first.control),
            ended: None,
            asked: HashSet::new(),
            is_over: false,
        })
    }

    /// Waits for the end of the shell. It can be dropped and asked again.
    ///
    /// # Errors
    /// The first process ended before it.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.ended {
            return Ok(status);
        }
        let mut told = [0; TOLD];
        // What is told is that long, and a pipe does not part it.
        let read = self.told.read(&mut told).await?;
        match keeper::parts(told) {
            (ENDED, status) if read == TOLD => {
                let status = ExitStatus::from_raw(status as i32);
                Ok(*self.ended.insert(status))
            }
            _ => Err(io::Error::other("its first process was killed")),
        }
    }

    /// Asks all of it to end, each process once.
    pub(super) fn terminate(&mut self) {
        for pid in self.living() {
            if self.asked.insert(pid) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }

    /// Tells the first process to end all of it.
    pub(super) fn kill(&mut self) {
        self.control = None;
    }

    /// Counts the processes.
    pub(super) fn count(&self) -> usize {
        self.living().len()
    }

    /// Keeps in mind which processes there still are, and names them.
    pub(super) fn survivors(&self) -> Vec<Survivor> {
        survivors::report(self.living())
    }

    /// Tells if the first process has ended, and so all of them.
    pub(super) fn has_ended(&mut self) -> bool {
        if !self.is_over {
            self.is_over = is_reaped(self.first);
        }
        self.is_over
    }

    /// Lists the processes below the first one that have not ended. Once that has, its number may be another's.
    fn living(&self) -> Vec<Pid> {
        if self.is_over {
            return Vec::new();
        }
        let mut next = children(self.first);
        let mut seen = HashSet::new();
        let mut living = Vec::new();
        while let Some(pid) = next.pop() {
            if !seen.insert(pid) || alive(pid).is_none() {
                continue;
            }
            living.push(pid);
            next.extend(children(pid));
        }
        living
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
        if !self.has_ended() {
            LEFT.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(self.first);
        }
    }
}

/// Reaps the first processes of scripts that were let go.
fn reap_left() {
    let mut left = locked(&LEFT);
    left.retain(|first| !is_reaped(*first));
}

/// Tells if a child has ended; its number is free then.
fn is_reaped(child: Pid) -> bool {
    !matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None))
}

fn children(pid: Pid) -> Vec<Pid> {
    static LISTED: LazyLock<bool> =
        LazyLock::new(|| fs::exists("/proc/thread-self/children").unwrap_or(false));
    if *LISTED {
        listed_children(pid)
    } else {
        searched_children(pid)
    }
}

/// Returns the children that the kernel lists, thread by thread. While threads or children end it may leave some out, so it
/// is asked until it says the same twice.
fn listed_children(pid: Pid) -> Vec<Pid> {
    let mut children = list(pid);
    for _ in 0..16 {
        let again = list(pid);
        if again == children {
            break;
        }
        children = again;
    }
    children
}

fn list(pid: Pid) -> Vec<Pid> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().filter_map(parse));
    }
    children
}

/// Finds the children where the kernel was built without these lists: asks every process for its parent.
fn searched_children(pid: Pid) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| parse(entry.file_name().to_str()?));
    pids.filter(|other| alive(*other).is_some_and(|it| it.parent == pid.as_raw_pid()))
        .collect()
}

/// The entry of a process that has not ended.
fn alive(pid: Pid) -> Option<ProcessEntry> {
    process::look_up(pid).filter(|entry| !entry.is_dead)
}

fn parse(number: &str) -> Option<Pid> {
    let number = number.parse().ok().filter(|number| *number > 0)?;
    Pid::from_raw(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    use rustix::process::getpid;

    #[test]
    fn children_are_found_without_the_kernels_lists() {
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(listed_children(getpid()).contains(&pid));
        assert!(searched_children(getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!searched_children(getpid()).contains(&pid));
    }
}
