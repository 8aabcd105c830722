//! Tells if anybody has a file open, by a lease on Linux. Never waits, never reads or writes the file.
//!
//! A read lease is granted only while nobody has the file open for writing, a write lease only while nobody else has it open at all.
//! A process that opens the file against a lease is held by the kernel until the lease is given back (45 s at most), and the holder
//! gets a signal. That is SIGIO, which ends a process that does not expect it; so the descriptor is first told (`F_SETSIG`) to send
//! SIGURG, which does nothing unless somebody asks for it. The rejected ways are a handler for SIGIO, which every program and test that
//! uses this file would have to remember, and `SIG_IGN`, which the commands that clada starts would inherit.

use std::os::fd::{AsFd, BorrowedFd};

/// Tells if nobody has this file open for writing: `Some(true)` if so, `Some(false)` if somebody does, `None` where it cannot
/// be told (not Linux, a file system without leases, a file of another user).
///
/// The file must be open for reading only: the asker's own write access counts too. True holds for the moment of asking.
pub fn no_writer(file: &impl AsFd) -> Option<bool> {
    match lease(file.as_fd(), LeaseKind::Read) {
        Granted::Yes(held) => {
            drop(held);
            Some(true)
        }
        Granted::Busy => Some(false),
        Granted::Unknown => None,
    }
}

/// Keeps everybody else from opening the file for as long as the value lives: only for moments, as they wait meanwhile.
///
/// The file may be open for writing, once, by the asker, and by nobody else for anything.
pub fn alone(file: &impl AsFd) -> Granted<'_> {
    lease(file.as_fd(), LeaseKind::Write)
}

/// The answer to a request for a lease.
pub enum Granted<'a> {
    /// It is held until this value is dropped.
    Yes(HeldLease<'a>),
    /// Somebody has the file open; ask again later.
    Busy,
    /// There are no leases here.
    Unknown,
}

/// A lease that is given back when dropped.
pub struct HeldLease<'a> {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code))]
    file: BorrowedFd<'a>,
}

#[derive(Clone, Copy)]
enum LeaseKind {
    Read,
    Write,
}

#[cfg(target_os = "linux")]
fn lease(file: BorrowedFd<'_>, kind: LeaseKind) -> Granted<'_> {
    let kind = match kind {
        LeaseKind::Read => libc::F_RDLCK,
        LeaseKind::Write => libc::F_WRLCK,
    };
    /// Missing from `libc`; the same on every architecture that Rust has a Linux for but PA-RISC.
    const F_SETSIG: libc::c_int = 10;
    if control(file, F_SETSIG, libc::SIGURG).is_err() {
        return Granted::Unknown;
    }
    match control(file, libc::F_SETLEASE, kind) {
        Ok(()) => Granted::Yes(HeldLease { file }),
        Err(Some(libc::EAGAIN)) => Granted::Busy,
        Err(_) => Granted::Unknown,
    }
}

#[cfg(not(target_os = "linux"))]
fn lease(_: BorrowedFd<'_>, _: LeaseKind) -> Granted<'_> {
    Granted::Unknown
}

impl Drop for HeldLease<'_> {
    fn drop(&mut self) {
        // It can only fail if the lease is gone already.
        #[cfg(target_os = "linux")]
        let _ = control(self.file, libc::F_SETLEASE, libc::F_UNLCK);
    }
}

/// rustix has no leases, so this is the one place that calls `fcntl` itself.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "fcntl with an integer argument on a descriptor that is borrowed for the call: it touches no memory of ours"
)]
fn control(
    file: BorrowedFd<'_>,
    command: libc::c_int,
    value: libc::c_int,
) -> Result<(), Option<i32>> {
    use std::os::fd::AsRawFd;
    match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
        -1 => Err(std::io::Error::last_os_error().raw_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn a_writer_is_seen_while_it_has_the_file_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.into_temp_path();
        let reader = File::open(&path).unwrap();
        assert_eq!(no_writer(&reader), Some(true));
        let writer = OpenOptions::new().append(true).open(&path).unwrap();
        assert_eq!(no_writer(&reader), Some(false));
        drop(writer);
        assert_eq!(no_writer(&reader), Some(true));
    }

    #[test]
    fn alone_means_no_reader_either() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let ours = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let reader = File::open(&path).unwrap();
        assert!(matches!(alone(&ours), Granted::Busy));
        drop(reader);
        assert!(matches!(alone(&ours), Granted::Yes(_)));
    }

    #[test]
    fn who_opens_against_a_lease_waits_and_the_signal_kills_nobody() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let ours = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let (opened, started) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let Granted::Yes(held) = alone(&ours) else {
                panic!("not granted")
            };
            let (opened, started, path) = (&opened, &started, &path);
            scope.spawn(move || {
                started.store(true, Ordering::SeqCst);
                File::open(path).unwrap();
                opened.store(true, Ordering::SeqCst);
            });
            while !started.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            let until = Instant::now() + Duration::from_millis(50);
            while Instant::now() < until {
                assert!(!opened.load(Ordering::SeqCst));
                std::thread::sleep(Duration::from_millis(5));
            }
            drop(held);
        });
        assert!(opened.load(Ordering::SeqCst));
    }
}
