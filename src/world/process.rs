//! Looks a process up in the system's table, and finds the program that runs. Ends none.

use std::env;
use std::path::PathBuf;

use rustix::process::Pid;

/// A process, as the system has it in its table.
#[derive(Debug)]
pub struct ProcessEntry {
    /// The name of its program.
    pub name: String,
    /// A zombie, or about to be none.
    pub is_dead: bool,
    /// The number of the process that it is below.
    pub parent: i32,
    /// The time of its start: no other process with its number has the same. Linux counts ticks since the system was started,
    /// macOS microseconds since 1970.
    pub began: u64,
}

/// Returns the entry of a process; `None` where there is none, and where the system has no such table.
#[cfg(not(target_os = "macos"))]
pub fn look_up(pid: Pid) -> Option<ProcessEntry> {
    parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns the entry of a process of this user; `None` where there is none.
#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "no crate at hand asks for one process")]
pub fn look_up(pid: Pid) -> Option<ProcessEntry> {
    /// The word for a zombie, from the system's `sys/proc.h`.
    const ZOMBIE: u32 = 5;
    // SAFETY: all zeros is a valid `proc_bsdinfo`, which has only numbers.
    let mut found: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::proc_bsdinfo>() as libc::c_int;
    let (pid, kind) = (pid.as_raw_pid(), libc::PROC_PIDTBSDINFO);
    // SAFETY: the call writes as many bytes at most as `found` has, which outlives it.
    let read = unsafe { libc::proc_pidinfo(pid, kind, 0, (&raw mut found).cast(), size) };
    let name = found.pbi_comm.iter().map(|letter| *letter as u8);
    let name: Vec<u8> = name.take_while(|letter| *letter != 0).collect();
    (read == size).then(|| ProcessEntry {
        name: String::from_utf8_lossy(&name).into_owned(),
        is_dead: found.pbi_status == ZOMBIE,
        parent: found.pbi_ppid as i32,
        began: found.pbi_start_tvsec * 1_000_000 + found.pbi_start_tvusec,
    })
}

/// The program that runs, to be started once more. Where its file was replaced by a newer one, this is still what runs.
pub fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        env::current_exe().unwrap_or_else(|_| "clada".into())
    }
}

/// Returns true if this process was started with SIGHUP ignored, as by `nohup`, and nothing has changed that.
#[expect(unsafe_code, reason = "no crate at hand asks without a change")]
pub fn ignores_hangup() -> bool {
    // SAFETY: all zeros is a valid `sigaction`, whose fields are numbers and pointers.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is changed, and the answer goes into a value that outlives the call.
    let asked = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), &mut now) };
    asked == 0 && now.sa_sigaction == libc::SIG_IGN
}

/// Gives the memory that is free back to the system. glibc keeps what many small pieces were in, and a listener that rests is to be
/// small; other libraries are left to themselves.
pub fn give_back_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(unsafe_code, reason = "no crate at hand offers this call")]
        // SAFETY: it touches only what is free, in any thread.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// Reads a line of Linux's table, `PID (NAME) STATE …`, where the name may hold anything, also spaces and parentheses. The start
/// is the 20th field behind it.
#[cfg(any(test, not(target_os = "macos")))]
fn parse(stat: &[u8]) -> Option<ProcessEntry> {
    let stat = String::from_utf8_lossy(stat);
    let (start, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    Some(ProcessEntry {
        name: start.split_once('(')?.1.to_owned(),
        is_dead: matches!(fields.next()?, "Z" | "X"),
        parent: fields.next()?.parse().ok()?,
        began: fields.nth(17)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_stands_behind_any_name() {
        let fields = "S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 1";
        for name in ["cat", "a b", "a) S 1 1 (b", "))"] {
            let stat = format!("12 ({name}) {fields}\n");
            let entry = parse(stat.as_bytes()).expect("an entry");
            assert_eq!((entry.began, &*entry.name), (4711, name));
        }
        assert!(parse(b"12 (cat) S 1").is_none());
        assert!(parse(b"").is_none());
    }
}
