//! The processes that descend from a script, and their end. Never touches a child that clada has for other reasons.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep};

/// From SIGTERM to SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// What a shell left behind gets to end by itself, as the `tee` of `exec > >(tee log)` does when its input ends.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// How long a killed process is waited for: one that hangs in the kernel, or is another user's, is given up.
pub(super) const STUCK: Duration = Duration::from_millis(500);

/// Has the orphans of scripts come to clada from now on, and says which children it has already.
///
/// To be called before a script is started.
pub(super) fn adopt_orphans() -> HashSet<Pid> {
    table::adopt_orphans()
}

/// A script's shell and all that descends from it.
///
/// A process that leaves the shell's session (`setsid`, a daemon) becomes, when its parent ends, a child of the nearest
/// subreaper: clada. So what came from a script is below clada, and is told from clada's other children by not having
/// been there before and by its session: none of it can be in clada's own. (Only a child that clada starts meanwhile in
/// a session of its own would be taken for the script's; it starts none but shells, one at a time.)
///
/// Marking the environment instead would miss what clears it; a cgroup needs rights that a user often lacks.
pub(super) struct Family {
    shell: Pid,
    /// Children that clada had before the script.
    earlier: HashSet<Pid>,
    /// Those that have been sent SIGTERM; a second one makes many programs drop what they are tidying up.
    told: HashSet<Pid>,
    /// Nothing of it is left, as far as can be known.
    over: bool,
}

/// A process as far as ending it needs.
#[derive(Debug, Clone, Copy)]
struct Member {
    pid: Pid,
    group: Pid,
}

impl Family {
    pub(super) fn of(shell: &Child, earlier: HashSet<Pid>) -> Self {
        let id = shell.id().and_then(|id| Pid::from_raw(id as i32));
        let shell = id.expect("a child that has not been waited for has a number");
        Self {
            shell,
            earlier,
            told: HashSet::new(),
            over: false,
        }
    }

    /// Asks all of it to end.
    pub(super) fn terminate(&mut self) {
        self.send(Signal::TERM, &table::living(self));
    }

    pub(super) fn kill(&mut self) {
        self.send(Signal::KILL, &table::living(self));
    }

    /// Ends what the shell left behind: SIGTERM, and SIGKILL at `kill_at` or after the usual grace. Says how many there
    /// were that did not end by themselves.
    ///
    /// It looks again and again instead of waiting for events: nearly always the first look finds nothing, and what
    /// descends from others cannot be waited for.
    pub(super) async fn end(&mut self, kill_at: Option<Instant>) -> usize {
        let settled = Instant::now() + SETTLE;
        let mut pause = Duration::from_millis(1);
        let mut living = table::living(self);
        while !living.is_empty() && Instant::now() < settled {
            sleep(pause).await;
            pause *= 2;
            living = table::living(self);
        }

        let left_running = living.len();
        let kill_at = kill_at.unwrap_or_else(|| Instant::now() + GRACE);
        let given_up = kill_at.max(Instant::now()) + STUCK;
        let mut pause = Duration::from_millis(1);
        while !living.is_empty() && Instant::now() < given_up {
            let signal = if Instant::now() < kill_at {
                Signal::TERM
            } else {
                Signal::KILL
            };
            self.send(signal, &living);
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(16));
            living = table::living(self);
        }
        self.over = true;
        left_running
    }

    /// Sends a signal to these, SIGTERM at most once to each. The first time and for SIGKILL the shell's group gets it
    /// as a whole, which leaves no gap for a process to be started in.
    fn send(&mut self, signal: Signal, members: &[Member]) {
        let at_once = signal == Signal::KILL || self.told.is_empty();
        if at_once && members.iter().any(|member| member.group == self.shell) {
            let _ = kill_process_group(self.shell, signal);
        }
        for member in members {
            let is_new = self.told.insert(member.pid);
            let has_it = at_once && member.group == self.shell;
            if (is_new || signal == Signal::KILL) && !has_it {
                let _ = kill_process(member.pid, signal);
            }
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if !self.over {
            self.kill();
        }
    }
}

/// Looking processes up in `/proc`.
#[cfg(target_os = "linux")]
mod table {
    use std::collections::HashSet;
    use std::fs;
    use std::sync::LazyLock;

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

    use super::{Family, Member};

    struct Stat {
        is_dead: bool,
        parent: Option<Pid>,
        group: Pid,
        session: Session,
    }

    /// As the kernel prints it: 0 is one whose leader lives outside this container's process numbers, as that of all in
    /// a container is which was given no session of its own.
    #[derive(PartialEq, Eq)]
    struct Session(u32);

    /// Dead children do not count: they are remains of a script whose run was dropped, to be reaped after the next.
    pub(super) fn adopt_orphans() -> HashSet<Pid> {
        // It can only fail on kernels before 3.4; orphans then stay unknown and the rest works.
        let _ = set_child_subreaper(Some(getpid()));
        let is_alive = |pid: &Pid| stat(*pid).is_some_and(|stat| !stat.is_dead);
        children(getpid()).into_iter().filter(is_alive).collect()
    }

    /// The members that run. Dead orphans are reaped on the way; the shell itself is left to its owner.
    pub(super) fn living(family: &Family) -> Vec<Member> {
        // One that has died since the children were listed may have left children that were not in the list yet. The
        // bound is for a script that starts short-lived processes faster than they can be looked at.
        for _ in 0..16 {
            let (living, reaped) = look(family);
            if !reaped {
                return living;
            }
        }
        look(family).0
    }

    /// One look, and whether it has reaped anything.
    fn look(family: &Family) -> (Vec<Member>, bool) {
        let own_session = stat(getpid()).map(|stat| stat.session);
        let is_member = |pid: &Pid| {
            !family.earlier.contains(pid)
                && stat(*pid).is_some_and(|stat| Some(stat.session) != own_session)
        };
        let mut next: Vec<Pid> = children(getpid()).into_iter().filter(is_member).collect();
        let mut seen = HashSet::new();
        let mut living = Vec::new();
        let mut reaped = false;
        while let Some(pid) = next.pop() {
            let Some(stat) = stat(pid) else { continue };
            if !seen.insert(pid) {
                continue;
            }
            if !stat.is_dead {
                living.push(Member {
                    pid,
                    group: stat.group,
                });
                next.extend(children(pid));
            } else if pid != family.shell && stat.parent == Some(getpid()) {
                reaped |= matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)));
            }
        }
        (living, reaped)
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

    /// What the kernel lists, thread by thread.
    pub(super) fn listed_children(pid: Pid) -> Vec<Pid> {
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

    /// The same where the kernel was built without these lists: asks every process for its parent.
    pub(super) fn searched_children(pid: Pid) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| parse(entry.file_name().to_str()?));
        pids.filter(|other| stat(*other).is_some_and(|stat| stat.parent == Some(pid)))
            .collect()
    }

    fn stat(pid: Pid) -> Option<Stat> {
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // `PID (NAME) STATE PPID PGRP SESSION …`, where the name may hold anything.
        let name_end = line.iter().rposition(|&byte| byte == b')')?;
        let mut fields = str::from_utf8(&line[name_end + 1..])
            .ok()?
            .split_whitespace();
        Some(Stat {
            is_dead: matches!(fields.next()?, "Z" | "X"),
            parent: parse(fields.next()?),
            // A group with such a leader is one that no signal is sent to.
            group: parse(fields.next()?).unwrap_or(pid),
            session: Session(fields.next()?.parse().ok()?),
        })
    }

    /// Nothing for 0, and for the -1 that stands in the groups of a process which is being reaped.
    fn parse(number: &str) -> Option<Pid> {
        let number = number.parse().ok().filter(|number| *number > 0)?;
        Pid::from_raw(number)
    }
}

/// Without `/proc` and subreapers a family is what is in the shell's process group, seen as one member.
#[cfg(not(target_os = "linux"))]
mod table {
    use std::collections::HashSet;

    use rustix::process::{Pid, test_kill_process_group};

    use super::{Family, Member};

    pub(super) fn adopt_orphans() -> HashSet<Pid> {
        HashSet::new()
    }

    pub(super) fn living(family: &Family) -> Vec<Member> {
        match test_kill_process_group(family.shell) {
            Ok(()) => vec![Member {
                pid: family.shell,
                group: family.shell,
            }],
            Err(_) => Vec::new(),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    use rustix::process::getpid;

    #[test]
    fn children_are_found_without_the_kernels_lists() {
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(table::listed_children(getpid()).contains(&pid));
        assert!(table::searched_children(getpid()).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!table::searched_children(getpid()).contains(&pid));
    }
}
