//! The content of a lock's file: which process has it, and of what. A number alone does not name a process: after a crash and a
//! new start of the system another program may have it. So the file also says when the process began.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use crate::world::process;

/// The process that has a lock, and the path that it is of.
#[derive(Debug)]
pub(super) struct Holder {
    pub(super) pid: Pid,
    /// As the system counts it; nothing where it does not tell, and from a clada that did not write it.
    began: Option<u64>,
    pub(super) path: PathBuf,
    /// In words, what it has the lock for just now; nothing where it does not say.
    pub(super) does: Option<String>,
}

impl Holder {
    pub(super) fn of_this_process(path: &Path) -> Self {
        let pid = getpid();
        Self {
            pid,
            began: began(pid),
            path: path.to_owned(),
            does: None,
        }
    }

    /// The number and the path, as they were written from the first, and behind a NUL, which no path has, the number again with
    /// the start. A clada that knows of no start writes over the first part only; the second number tells that. Behind another
    /// NUL come the number once more and what the holder does: this may be left of an earlier holder too.
    pub(super) fn text(&self) -> Vec<u8> {
        let pid = self.pid.as_raw_pid();
        let mut text = format!("{pid:<10}\n").into_bytes();
        text.extend_from_slice(self.path.as_os_str().as_bytes());
        if let Some(began) = self.began {
            text.extend_from_slice(format!("\0{pid:<10} {began:<20}").as_bytes());
            if let Some(does) = &self.does {
                text.extend_from_slice(format!("\0{pid} {}", does.replace('\0', " ")).as_bytes());
            }
        }
        text
    }

    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let line_end = text.iter().position(|byte| *byte == b'\n')?;
        let (pid, rest) = (&text[..line_end], &text[line_end + 1..]);
        let pid = str::from_utf8(pid).ok()?.trim().parse().ok()?;
        let mut parts = rest.splitn(3, |byte| *byte == 0);
        let path = OsStr::from_bytes(parts.next()?);
        let mut of_this = || {
            let (of, said) = str::from_utf8(parts.next()?).ok()?.split_once(' ')?;
            (of.parse() == Ok(pid)).then(|| said.trim().to_owned())
        };
        let began = of_this().and_then(|began| began.parse().ok());
        let does = of_this();
        Some(Self {
            pid: Pid::from_raw(pid)?,
            began,
            path: path.into(),
            does,
        })
    }

    /// Tells if it is still there, and no other program has its number now. Also one of another user.
    pub(super) fn lives(&self) -> bool {
        if test_kill_process(self.pid) == Err(Errno::SRCH) {
            return false;
        }
        match (self.began, began(self.pid)) {
            (Some(then), Some(now)) => then == now,
            _ => true,
        }
    }
}

fn began(pid: Pid) -> Option<u64> {
    process::look_up(pid).map(|entry| entry.began)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let path = Path::new("/a folder/\nnotes.md");
        let ours = Holder::of_this_process(path);
        let is_told = cfg!(any(target_os = "linux", target_os = "macos"));
        assert_eq!(ours.began.is_some(), is_told);
        let read = Holder::parse(&ours.text()).expect("a holder");
        assert_eq!((read.pid, read.began), (ours.pid, ours.began));
        assert_eq!(read.path, path);
        assert!(read.lives());
        assert_eq!(read.does, None);
        let does = Some("1/2 exec make".to_owned());
        let text = Holder { does, ..ours }.text();
        let read = Holder::parse(&text).expect("a holder");
        let says = is_told.then_some("1/2 exec make");
        assert_eq!(read.does.as_deref(), says);
        assert!(read.lives());
    }

    #[test]
    fn a_start_counts_for_its_own_process_only() {
        let began = |text: &str| {
            let holder = Holder::parse(text.as_bytes()).expect("a holder");
            assert_eq!(holder.path, Path::new("/notes.md"));
            holder.began
        };
        assert_eq!(began("7         \n/notes.md\x007          99   "), Some(99));
        for text in [
            // Of an older clada; and what is left of another where one wrote over it.
            "7         \n/notes.md",
            "7         \n/notes.md\x008          99   ",
            "7         \n/notes.md\0garbage",
        ] {
            assert_eq!(began(text), None, "{text:?}");
        }
        for text in ["", "7", "x\n/notes.md", "0\n/notes.md"] {
            assert!(Holder::parse(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
