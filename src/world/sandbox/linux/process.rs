//! Raw processes: one that splits off without an exec, and what it gives up. What runs in it makes system calls only.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities,
};

/// The two that come out of [`split`].
pub(in crate::world) enum SplitProcess {
    Parent(Pid),
    Child,
}

/// Splits the calling process, as `fork` does, with the child in namespaces of its own by these flags of `clone`.
///
/// The child has this one thread only, and locks that others held are held for ever: it must make system calls only, and
/// end by [`exit`] or an exec. Every signal is blocked in it, and none is handled.
///
/// # Errors
/// Those of `clone`.
pub(in crate::world) fn split(flags: libc::c_int) -> io::Result<SplitProcess> {
    let before = block(None);
    let flags = (flags | libc::SIGCHLD) as libc::c_ulong;
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: without a stack and without shared memory it is a fork; the child does no more than is said above.
    let result =
        unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    if result == 0 {
        handle_nothing();
        return Ok(SplitProcess::Child);
    }
    let error = io::Error::last_os_error();
    block(Some(before));
    match Pid::from_raw(result.max(0) as i32) {
        Some(child) => Ok(SplitProcess::Parent(child)),
        None => Err(error),
    }
}

/// Blocks these signals and no others, or all, and returns those that were blocked before.
fn block(signals: Option<libc::sigset_t>) -> libc::sigset_t {
    #[expect(unsafe_code, reason = "no crate at hand offers these calls")]
    // SAFETY: both sets are made by the calls before they are read.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        let blocked = signals.unwrap_or(all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const blocked, &raw mut before);
        before
    }
}

/// Takes the handlers of the parent away: they would act for it.
fn handle_nothing() {
    for signal in 1..=libc::SIGRTMAX() {
        #[expect(unsafe_code, reason = "no crate at hand offers these calls")]
        // SAFETY: the action is made by the call before it is read, and the default one is always valid.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            let is_known = libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0;
            if is_known && !matches!(now.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) {
                now.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const now, std::ptr::null_mut());
            }
        }
    }
}

/// The error of the last system call, or this one where it left none.
pub(in crate::world) fn last_error(other: Errno) -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(other)
}

/// Ends the calling process at once.
pub(in crate::world) fn exit(code: i32) -> ! {
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: it ends the process and touches nothing of it.
    unsafe {
        libc::_exit(code)
    }
}

/// Waits for the end of a child.
///
/// # Errors
/// Those of `waitpid`.
pub(in crate::world) fn reap(child: Pid) -> io::Result<WaitStatus> {
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sets up the loopback of the calling process's own network.
pub(super) fn raise_loopback() {
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: the request is made of zeros, which is valid, and outlives both calls.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return;
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request);
        libc::close(socket);
    }
}

/// The capabilities that root keeps where the project is another user's: its files are written as if they were root's.
pub(super) const OVER_FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID);

/// Gives up all capabilities but these, for good. Where the calling process has none it is done already.
pub(super) fn drop_capabilities(kept: CapabilitySet) {
    for capability in CapabilitySet::all().difference(kept).iter() {
        // A kernel does not know all of them.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    let _ = set_capabilities(None, sets);
}
