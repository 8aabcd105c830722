//! Tells when the system has no more of something: threads and processes, open files, memory. Says how
//! to have more. Owns none of it.

use std::io;
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::process::{Resource, getrlimit};

/// The number of open files that a listener and a batch with git may need at a time.
const FILES: u64 = 64;

/// Tells if an error goes away when there is more of something, or less is used.
pub fn is_scarce(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM)
    )
}

/// An error in words, with what to raise where the system has no more of something.
pub fn explain(error: &io::Error) -> String {
    match remedy(error) {
        Some(remedy) => format!("{error}: {remedy}"),
        None => error.to_string(),
    }
}

/// Returns the remedy for such an error; `None` for another one.
pub fn remedy(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::EMFILE => {
            Some("raise the limit of open files (`ulimit -n`, for a service `LimitNOFILE=`)")
        }
        libc::ENFILE => Some("close programs, or raise `sysctl fs.file-max`"),
        libc::ENOMEM => Some(
            "close programs, or raise the limit of memory (`ulimit -v`, for a service `MemoryMax=`)",
        ),
        // Of a thread or a process that was to be started.
        libc::EAGAIN => Some(
            "close programs, or raise the limit of processes (`ulimit -u`, for a service `TasksMax=`)",
        ),
        _ => None,
    }
}

/// Says what there is too little of from the start; `None` where there is enough.
pub fn shortfall() -> Option<String> {
    let files = getrlimit(Resource::Nofile).current?;
    (files < FILES).then(|| {
        format!(
            "only {files} files may be open at a time, and a batch may need {FILES}: raise the limit (`ulimit -n {FILES}`, \
             for a service `LimitNOFILE=`)"
        )
    })
}

/// Checks that this process can open as many files as tokio needs at its start: without the last ones it panics.
///
/// # Errors
/// Where it cannot.
pub fn check_files() -> io::Result<()> {
    drop([
        UnixStream::pair()?,
        UnixStream::pair()?,
        UnixStream::pair()?,
    ]);
    Ok(())
}

/// Tries if a thread can be had now, for what panics or waits in vain where it gets none.
///
/// # Errors
/// Where there is none.
pub fn check_thread() -> io::Result<()> {
    let thread = thread::Builder::new().spawn(|| {})?;
    let _ = thread.join();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_what_to_raise() {
        let told = |number| explain(&io::Error::from_raw_os_error(number));
        for (number, remedy) in [
            (
                libc::EMFILE,
                ": raise the limit of open files (`ulimit -n`, for a service `LimitNOFILE=`)",
            ),
            (
                libc::ENFILE,
                ": close programs, or raise `sysctl fs.file-max`",
            ),
            (
                libc::ENOMEM,
                ": close programs, or raise the limit of memory (`ulimit -v`, for a service `MemoryMax=`)",
            ),
            (
                libc::EAGAIN,
                ": close programs, or raise the limit of processes (`ulimit -u`, for a service `TasksMax=`)",
            ),
        ] {
            assert!(told(number).ends_with(remedy), "{}", told(number));
        }
        let other = io::Error::from_raw_os_error(libc::EACCES);
        assert_eq!(explain(&other), other.to_string());
        assert!(!is_scarce(&other));
        assert!(is_scarce(&io::Error::from_raw_os_error(libc::ENFILE)));
        check_thread().expect("a thread");
    }
}
