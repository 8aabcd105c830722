//! The processes that descend from a script, and their end. Never touches a child that clada has for other reasons.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use crate::world::children::Own;
use crate::world::survivors;

/// From SIGTERM to SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// What a shell left behind gets to end by itself, as the `tee` of `exec > >(tee log)` does when its input ends.
pub(super) const SETTLE: Duration = Duration::from_millis(100);

/// How long a killed process is waited for: one that hangs in the kernel, or is another user's, is given up.
pub(super) const STUCK: Duration = Duration::from_millis(500);

/// The variable in whose value all that descends from a script can be told, unless it clears its environment.
const MARK: &str = "CLADA_RUN";

/// The scripts that run in this process.
static RUNNING: Mutex<Running> = Mutex::new(Running {
    marks: Vec::new(),
    before: Vec::new(),
    count: 0,
});

struct Running {
    marks: Vec<String>,
    /// The children that clada had before the first of them.
    before: Vec<Pid>,
    /// How many have begun.
    count: u64,
}

fn running() -> MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A script's shell and all that descends from it.
///
/// A process that leaves the shell's session (`setsid`, a daemon) becomes, when its parent ends, a child of the nearest
/// subreaper: clada. So what came from a script is below clada, and is told from clada's other children by not being one
/// that somebody waits for and by its session: none of it can be in clada's own. Whose of several scripts that run side
/// by side it is says its environment; where that was cleared, the last of them has it.
///
/// A cgroup would tell more, and needs rights that a user often lacks.
pub(super) struct Family {
    shell: Pid,
    mark: String,
    _shell_is_own: Option<Own>,
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
    /// Starts a script's shell.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(super) fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let mark = {
            let mut running = running();
            if running.marks.is_empty() {
                running.before = table::adopt_orphans();
            }
            running.count += 1;
            let mark = format!("{}-{}", std::process::id(), running.count);
            running.marks.push(mark.clone());
            mark
        };
        command.env(MARK, &mark);
        let pid = |child: &Child| Pid::from_raw(child.id()? as i32);
        let started = Own::start(|| command.spawn(), pid);
        let (child, own) = started.inspect_err(|_| forget(&mark))?;
        let shell = pid(&child).expect("a child that has not been waited for has a number");
        let family = Self {
            shell,
            mark,
            _shell_is_own: own,
            told: HashSet::new(),
            over: false,
        };
        Ok((child, family))
    }

    /// Whether a child of clada that is nobody's is to be ended with this script: its environment says so, or it has none
    /// that says anything and no other script runs.
    #[cfg(target_os = "linux")]
    fn has(&self, mark: Option<&str>, pid: Pid) -> bool {
        let running = running();
        match mark.filter(|mark| running.marks.iter().any(|known| known == mark)) {
            Some(mark) => mark == self.mark,
            None => running.marks.len() == 1 && !running.before.contains(&pid),
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
        survivors::report(living.iter().map(|member| member.pid));
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
        forget(&self.mark);
    }
}

/// A script does not run any more.
fn forget(mark: &str) {
    running().marks.retain(|known| known != mark);
}

/// Looking processes up in `/proc`.
#[cfg(target_os = "linux")]
mod table {
    use std::collections::HashSet;
    use std::fs;
    use std::sync::LazyLock;

    use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};

    use super::{Family, MARK, Member};
    use crate::world::children;

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

    impl Session {
        fn is_led_by(&self, leader: Pid) -> bool {
            u32::try_from(leader.as_raw_pid()) == Ok(self.0)
        }
    }

    /// Has the orphans of scripts come to clada from now on, and says which children it has already. Dead ones do not
    /// count: they are remains of a script whose run was dropped, to be reaped after the next.
    pub(super) fn adopt_orphans() -> Vec<Pid> {
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
        children::looking(|is_own| {
            let is_member = |pid: &Pid| {
                *pid == family.shell
                    || !is_own(*pid)
                        && stat(*pid).is_some_and(|stat| {
                            let is_known =
                                stat.session.is_led_by(family.shell) || family.told.contains(pid);
                            // A dead one says nothing, and nobody waits for it.
                            is_known
                                || Some(stat.session) != own_session
                                    && (stat.is_dead || family.has(mark(*pid).as_deref(), *pid))
                        })
            };
            let next = children(getpid()).into_iter().filter(is_member);
            walk(family, next.collect())
        })
    }

    /// These and all that descends from them, and whether any was reaped.
    fn walk(family: &Family, mut next: Vec<Pid>) -> (Vec<Member>, bool) {
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

    /// What the environment of a process says of the script that it comes from.
    fn mark(pid: Pid) -> Option<String> {
        let read = || fs::read(format!("/proc/{pid}/environ")).ok();
        let mut environment = read()?;
        // It seems to have none while it becomes another program.
        for _ in 0..4 {
            if !environment.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_micros(250));
            environment = read()?;
        }
        let mut variables = environment.split(|byte| *byte == 0);
        let value = |variable: &[u8]| {
            let value = variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"=")?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        variables.find_map(value)
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

    /// What the kernel lists, thread by thread. While threads or children end it may leave some out, so it is asked until
    /// it says the same twice.
    pub(super) fn listed_children(pid: Pid) -> Vec<Pid> {
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
    use rustix::process::{Pid, test_kill_process_group};

    use super::{Family, Member};

    pub(super) fn adopt_orphans() -> Vec<Pid> {
        Vec::new()
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
