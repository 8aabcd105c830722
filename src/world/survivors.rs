//! Processes that commands may have left behind, beyond the run that they belong to. Finds and names them; ends none.
//!
//! While clada runs, who ends a script's processes reports those that it could not end. After clada was killed nobody can: then
//! they are told by what a process cannot take off. All that comes from a fenced command has `no_new_privs` and the fence's
//! filters, and is in a session that began with the command or later; a start in the kernel's count cannot be changed either.
//! Where no fence is, the variable in their environment is all there is.

use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// A process that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub pid: Pid,
    /// That of its program, as the system has it.
    pub name: String,
    /// As the system counts it; nothing where it does not tell.
    began: Option<u64>,
}

static REPORTED: Mutex<Vec<Survivor>> = Mutex::new(Vec::new());

/// Keeps in mind that these processes of a script could not be ended. Until they have, no tick counts.
pub fn report(pids: impl IntoIterator<Item = Pid>) {
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let new: Vec<Survivor> = pids.into_iter().filter_map(table::survivor).collect();
    reported.extend(new);
}

/// Those of them that live still.
pub fn reported() -> Vec<Survivor> {
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    reported.retain(|known| table::survivor(known.pid).is_some_and(|now| now.began == known.began));
    reported.clone()
}

/// What lives of commands that began at this time, in Unix time in milliseconds, or later. Those of a clada that lives are none.
pub fn since(time_ms: i64) -> Vec<Survivor> {
    table::since(time_ms)
}

/// Looking processes up in `/proc`.
#[cfg(target_os = "linux")]
mod table {
    use std::collections::HashMap;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::time::{SystemTime, UNIX_EPOCH};

    use rustix::process::{Pid, geteuid, getpid};

    use super::Survivor;

    /// The start of the variable that a script's processes have.
    const MARK: &[u8] = b"CLADA_RUN=";

    /// In how many parts of a second the kernel counts for programs, whatever its own clock.
    const TICKS: u64 = 100;

    /// How far up a process is followed.
    const DEEP: usize = 1_000;

    /// How much earlier than it seems a process may have begun, in milliseconds: two clocks are compared.
    const SLACK: i64 = 1_000;

    struct Stat {
        name: String,
        is_dead: bool,
        parent: i32,
        session: i32,
        began: u64,
    }

    /// What nobody can take off.
    #[derive(Default, PartialEq, Eq)]
    struct Bonds {
        no_new_privs: bool,
        filters: u32,
    }

    pub(super) fn survivor(pid: Pid) -> Option<Survivor> {
        let stat = stat(pid.as_raw_pid()).filter(|stat| !stat.is_dead)?;
        Some(Survivor {
            pid,
            name: stat.name,
            began: Some(stat.began),
        })
    }

    pub(super) fn since(time_ms: i64) -> Vec<Survivor> {
        let Some(earliest) = start_at(time_ms - SLACK) else {
            return Vec::new();
        };
        let own = bonds(getpid().as_raw_pid());
        let all: HashMap<i32, Stat> = pids().filter_map(|pid| Some((pid, stat(pid)?))).collect();
        let is_bound = |pid: i32| {
            let bonds = bonds(pid);
            bonds.no_new_privs && !own.no_new_privs || bonds.filters > own.filters
        };
        // One whose leader is somebody else's was there before the command, and nobody can join it from elsewhere.
        let is_new = |session: i32| match all.get(&session) {
            Some(leader) => leader.is_dead || leader.began >= earliest && is_bound(session),
            None => true,
        };
        let name = all.get(&getpid().as_raw_pid()).map(|own| own.name.clone());
        let is_clada = |pid: i32, stat: &Stat| Some(&stat.name) == name.as_ref() && !is_bound(pid);
        // Orphans do not become the children of another clada, and none of them can pass for one: that is not bound.
        let has_clada = |pid: i32| {
            let parent = |pid: &i32| all.get(pid).map(|stat| stat.parent);
            let mut above = std::iter::successors(parent(&pid), parent).take(DEEP);
            above.any(|pid| all.get(&pid).is_some_and(|stat| is_clada(pid, stat)))
        };
        let may_be = |pid: &i32, stat: &Stat| {
            !stat.is_dead
                && stat.began >= earliest
                && *pid != getpid().as_raw_pid()
                && is_of_user(*pid)
                && (is_marked(*pid) || is_new(stat.session) && is_bound(*pid))
                && !has_clada(*pid)
        };
        let found = all.iter().filter(|(pid, stat)| may_be(pid, stat));
        let found = found.filter_map(|(pid, stat)| {
            Some(Survivor {
                pid: Pid::from_raw(*pid)?,
                name: stat.name.clone(),
                began: Some(stat.began),
            })
        });
        let mut found: Vec<Survivor> = found.collect();
        found.sort_by_key(|survivor| survivor.pid.as_raw_pid());
        found
    }

    /// A moment as the kernel counts the starts of processes; nothing where it was before the system was started: no process
    /// is as old.
    fn start_at(time_ms: i64) -> Option<u64> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let up = fs::read_to_string("/proc/uptime").ok()?;
        let up: f64 = up.split_whitespace().next()?.parse().ok()?;
        let ago = now.as_millis() as i64 - time_ms;
        let at = (up * 1000.0) as i64 - ago;
        let at = u64::try_from(at).ok()?;
        Some(at * TICKS / 1000)
    }

    fn pids() -> impl Iterator<Item = i32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    fn stat(pid: i32) -> Option<Stat> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        let (start, rest) = text.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Stat {
            name: start.split_once('(')?.1.to_owned(),
            is_dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            began: fields.get(19)?.parse().ok()?,
        })
    }

    fn bonds(pid: i32) -> Bonds {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u32>().ok()
        };
        Bonds {
            no_new_privs: field("NoNewPrivs:") == Some(1),
            filters: field("Seccomp_filters:").unwrap_or_default(),
        }
    }

    fn is_marked(pid: i32) -> bool {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ
            .split(|byte| *byte == 0)
            .any(|var| var.starts_with(MARK))
    }

    /// Tells if it may come from this user's commands: those of root may have become another's.
    fn is_of_user(pid: i32) -> bool {
        let user = geteuid().as_raw();
        user == 0 || fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == user)
    }
}

#[cfg(not(target_os = "linux"))]
mod table {
    use rustix::process::{Pid, test_kill_process};

    use super::Survivor;

    pub(super) fn survivor(pid: Pid) -> Option<Survivor> {
        test_kill_process(pid).is_ok().then(|| Survivor {
            pid,
            name: "process".to_owned(),
            began: None,
        })
    }

    /// Nothing tells them there.
    pub(super) fn since(_: i64) -> Vec<Survivor> {
        Vec::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_reported_is_known_as_long_as_it_lives() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let pid = Pid::from_child(&child);
        report([pid]);
        let is_known = || reported().iter().any(|it| it.pid == pid);
        assert!(is_known());
        child.kill().expect("kill");
        assert!(!is_known() || child.try_wait().expect("wait").is_none());
        child.wait().expect("wait");
        assert!(!is_known());
    }
}
