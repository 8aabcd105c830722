//! Processes of commands that clada could not end, as long as they live. Ends none.

use std::sync::Mutex;

use rustix::process::Pid;

use super::process;
use crate::world::locked::locked;

/// A process that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    pub pid: Pid,
    /// The name of its program, as the system has it.
    pub name: String,
    /// As the system counts it.
    began: u64,
}

static REPORTED: Mutex<Vec<Survivor>> = Mutex::new(Vec::new());

/// Keeps in mind that these processes of a script could not be ended, and names those that live. Until they have ended, no tick
/// counts.
pub fn report(pids: impl IntoIterator<Item = Pid>) -> Vec<Survivor> {
    let new: Vec<Survivor> = pids.into_iter().filter_map(survivor).collect();
    let mut reported = locked(&REPORTED);
    reported.extend(new.iter().cloned());
    new
}

/// Returns those of them that still live.
pub fn reported() -> Vec<Survivor> {
    let mut reported = locked(&REPORTED);
    reported.retain(|known| survivor(known.pid).is_some_and(|now| now.began == known.began));
    reported.clone()
}

fn survivor(pid: Pid) -> Option<Survivor> {
    let entry = process::look_up(pid).filter(|entry| !entry.is_dead)?;
    Some(Survivor {
        pid,
        name: entry.name,
        began: entry.began,
    })
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
