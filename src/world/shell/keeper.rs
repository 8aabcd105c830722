//! The first process of a command: it starts the command's own one, takes in every orphan of it, and ends with the last. It
//! never runs a program itself, and after the fork it makes system calls only.
//!
//! clada would do for that, but then it had to tell a command's orphans from its other children, and a process that forks and
//! ends faster than it can be found would live on. Here nothing else is below this process. In namespaces of its own all
//! end with it; without them it ends all that it may send signals to, which Landlock keeps to what it started; without that
//! its children one after another, each of which brings its own.

use std::ffi::{CString, OsString, c_char, c_void};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::{Errno, fcntl_dupfd_cloexec, read, write};
use rustix::process::{
    Pid, Rlimit, Signal, WaitOptions, chdir, getpid, kill_process, setsid, wait,
};

use super::launch::Launch;
use crate::world::sandbox::Prepared;
use crate::world::sandbox::linux::process::{SplitProcess, exit, last_error, reap, split};

/// The room that the command's process has until it is its program, beside this one.
const STACK: usize = 64 * 1024;

/// The highest number of an open file that is looked for where the kernel cannot close all.
const MOST_OPEN: u32 = 1 << 16;

/// The time between two rounds in which all that is left is ended, in milliseconds.
const ROUND: i64 = 5;

/// The words that the first process tells, each with a number.
pub(super) const STARTED: u32 = 1;
/// The command's process has ended; the number is its status as the system gives it.
pub(super) const ENDED: u32 = 2;
/// The command could not be started; the number is the system's error.
const FAILED: u32 = 3;
/// The length of what it tells.
pub(super) const TOLD: usize = 8;

/// The processes that the first process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndScope {
    /// All that it may send signals to: there is nothing else.
    All,
    /// Its children, and then those that were theirs.
    Children,
}

/// A first process that was started.
pub(super) struct FirstProcess {
    pub(super) pid: Pid,
    /// The pipe that its words come from.
    pub(super) told: OwnedFd,
    /// A pipe that has it end everything when this is closed, as it is when clada ends.
    pub(super) control: OwnedFd,
}

/// The data that the first process needs, made in the parent.
struct KeeperTask<'l> {
    launch: &'l Launch,
    program: CString,
    words: CStrings,
    env: CStrings,
    dir: CString,
    stdio: [OwnedFd; 3],
    tells: OwnedFd,
    control: OwnedFd,
    /// The files that it needs of those that clada has open, in order.
    open: Vec<RawFd>,
    /// The files that it needs until nothing of the command lives.
    kept: Vec<RawFd>,
    /// The limit of open files.
    limit: Option<Rlimit>,
    /// The error for which the program could not be started, or 0.
    failed: AtomicI32,
    clada: Pid,
}

/// A list as `execve` takes it: each string ends in NUL, and the list in a null pointer.
struct CStrings {
    pointers: Vec<*const c_char>,
    /// The strings that are pointed to.
    _strings: Vec<CString>,
}

impl CStrings {
    fn of(texts: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let strings = texts.map(|text| c_string(&text));
        let strings: Vec<CString> = strings.collect::<io::Result<_>>()?;
        let pointers = strings.iter().map(|string| string.as_ptr());
        Ok(Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _strings: strings,
        })
    }
}

impl<'l> KeeperTask<'l> {
    fn of(
        launch: &'l Launch,
        stdio: [OwnedFd; 3],
        pipes: [OwnedFd; 2],
        kept: &[Arc<OwnedFd>],
        limit: Option<Rlimit>,
    ) -> io::Result<Self> {
        let env = launch.env.iter().map(|(name, value)| {
            let mut line = name.clone();
            line.push("=");
            line.push(value);
            line
        });
        let [stdin, out, err] = stdio;
        let stdio = [above(stdin)?, above(out)?, above(err)?];
        let [tells, control] = pipes;
        let (tells, control) = (above(tells)?, above(control)?);
        let mut kept: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
        kept.extend([tells.as_raw_fd(), control.as_raw_fd()]);
        let mut open: Vec<RawFd> = stdio.iter().map(AsRawFd::as_raw_fd).collect();
        open.extend(&kept);
        open.extend(launch.fence.iter().flat_map(Prepared::descriptors));
        kept.sort_unstable();
        open.sort_unstable();
        Ok(Self {
            launch,
            program: c_string(launch.program.as_os_str())?,
            words: CStrings::of(launch.words.iter().cloned())?,
            env: CStrings::of(env)?,
            dir: c_string(launch.dir.as_os_str())?,
            stdio,
            tells,
            control,
            open,
            kept,
            limit,
            failed: AtomicI32::new(0),
            clada: getpid(),
        })
    }
}

/// Starts a program below a first process. `output` is its standard output and its standard error.
///
/// # Errors
/// Where it cannot be started or fenced in.
pub(super) fn start(
    launch: &Launch,
    output: [OwnedFd; 2],
    limit: Option<Rlimit>,
) -> io::Result<FirstProcess> {
    let (told, tells) = io::pipe()?;
    let (control, closes) = io::pipe()?;
    let stdin = match &launch.stdin {
        Some(file) => file.try_clone()?,
        None => File::open("/dev/null")?,
    };
    let [out, err] = output;
    let stdio = [stdin.into(), out, err];
    let pipes = [tells.into(), control.into()];
    // Nothing of it is closed before the first process has it.
    let kept = super::kept();
    let task = KeeperTask::of(launch, stdio, pipes, &kept, limit)?;
    let mut stack = vec![0_u8; STACK];
    let flags = launch.fence.as_ref().map_or(0, Prepared::flags);
    let pid = match split(flags)? {
        SplitProcess::Parent(pid) => pid,
        SplitProcess::Child => keep(&task, &mut stack),
    };
    drop(task);
    drop(kept);
    let first = FirstProcess {
        pid,
        told: told.into(),
        control: closes.into(),
    };
    first.begun()
}

impl FirstProcess {
    /// Waits until the program runs, or could not be started.
    fn begun(self) -> io::Result<Self> {
        let mut told = File::from(self.told.try_clone()?);
        let mut word = [0; TOLD];
        let error = match told.read_exact(&mut word).map(|()| parts(word)) {
            Ok((STARTED, _)) => return Ok(self),
            Ok((FAILED, error)) => io::Error::from_raw_os_error(error as i32),
            Ok(_) | Err(_) => io::Error::other("its first process exited before it began"),
        };
        drop(self.control);
        reap(self.pid)?;
        Err(error)
    }
}

/// A word of the first process, and its number.
pub(super) fn parts(told: [u8; TOLD]) -> (u32, u32) {
    let told = u64::from_ne_bytes(told);
    ((told >> 32) as u32, told as u32)
}

/// Returns the same file by a number above those of standard input and output, which are set in the child one after another.
fn above(file: OwnedFd) -> io::Result<OwnedFd> {
    if file.as_raw_fd() > libc::STDERR_FILENO {
        return Ok(file);
    }
    Ok(fcntl_dupfd_cloexec(&file, libc::STDERR_FILENO + 1)?)
}

fn c_string(text: &std::ffi::OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// The first process, from its start to its end.
fn keep(task: &KeeperTask<'_>, stack: &mut [u8]) -> ! {
    close_but(&task.open);
    let _ = rustix::thread::set_name(c"clada-keeper");
    // Ctrl-C is for clada.
    let _ = setsid();
    let fence = task.launch.fence.as_ref();
    let set_up = fence.map_or(Ok(()), Prepared::set_up);
    if let Err(error) = set_up {
        fail(task, error);
    }
    // It fails only on kernels before 3.4, which have no fence either.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
    // Nothing of the command is to look into this process, which was clada's.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let started = start_program(task, stack);
    let shell = match (started, task.failed.load(Ordering::Relaxed)) {
        (Ok(shell), 0) => shell,
        (Err(error), _) => fail(task, error),
        (Ok(_), error) => fail(task, Errno::from_raw_os_error(error)),
    };
    tell(task, STARTED, 0);
    close_but(&task.kept);
    let hold = match fence {
        Some(fence) if fence.is_alone() && getpid() == Pid::INIT => EndScope::All,
        Some(fence) if fence.holds_signals() && cannot_signal(task.clada) => EndScope::All,
        _ => EndScope::Children,
    };
    watch_over(task, shell, hold)
}

/// Reaps whatever ends until nothing is left; ends everything once clada says so or is gone.
fn watch_over(task: &KeeperTask<'_>, shell: Pid, hold: EndScope) -> ! {
    let ends = signals_of_children();
    let mut is_over = false;
    loop {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == shell => {
                    tell(task, ENDED, status.as_raw() as u32);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                // There are no children any more.
                Err(_) => exit(0),
            }
        }
        if is_over {
            end_all(hold);
        }
        let round = Timespec {
            tv_sec: 0,
            tv_nsec: ROUND * 1_000_000,
        };
        let Some(ends) = &ends else {
            // Without it nobody would be waited for.
            end_all(hold);
            continue;
        };
        let mut both = [
            PollFd::new(&task.control, PollFlags::IN),
            PollFd::new(ends, PollFlags::IN),
        ];
        let polled = if is_over {
            &mut both[1..]
        } else {
            &mut both[..]
        };
        let _ = poll(polled, is_over.then_some(&round));
        if !is_over && !both[0].revents().is_empty() {
            is_over = true;
        }
        // Each read takes what has come since; what ended is asked for above.
        let mut drained = [0_u8; 128];
        if both[1].revents().contains(PollFlags::IN) {
            let _ = read(ends, &mut drained);
        }
    }
}

/// A descriptor that can be read when a child has ended. The signal is blocked.
fn signals_of_children() -> Option<OwnedFd> {
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: the set is made by the calls before it is read, and the new descriptor is nobody else's.
    unsafe {
        use std::os::fd::FromRawFd;
        let mut ends: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut ends);
        libc::sigaddset(&raw mut ends, libc::SIGCHLD);
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let descriptor = libc::signalfd(-1, &raw const ends, flags);
        (descriptor >= 0).then(|| OwnedFd::from_raw_fd(descriptor))
    }
}

fn end_all(hold: EndScope) {
    match hold {
        EndScope::All => {
            #[expect(unsafe_code, reason = "the crate has no such call")]
            // SAFETY: it takes two numbers.
            unsafe {
                libc::kill(-1, libc::SIGKILL);
            }
        }
        EndScope::Children => each_child(|child| {
            let _ = kill_process(child, Signal::KILL);
        }),
    }
}

/// Tells if clada is out of reach of this process's signals.
fn cannot_signal(clada: Pid) -> bool {
    rustix::process::test_kill_process(clada) == Err(Errno::PERM)
}

/// Calls this with the children of this process that the kernel lists.
fn each_child(mut act: impl FnMut(Pid)) {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let list = rustix::fs::open(
        c"/proc/thread-self/children",
        flags,
        rustix::fs::Mode::empty(),
    );
    let Ok(list) = list else { return };
    let mut text = [0_u8; 4096];
    let length = read(&list, &mut text).unwrap_or(0);
    // A number at the end may be cut; the next round has it.
    for number in text[..length].split(|byte| *byte == b' ') {
        let number = number.iter().try_fold(0_i32, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| i32::from(digit - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        });
        if let Some(child) = number.and_then(Pid::from_raw) {
            act(child);
        }
    }
}

fn tell(task: &KeeperTask<'_>, word: u32, number: u32) {
    let told = u64::from(word) << 32 | u64::from(number);
    let _ = write(&task.tells, &told.to_ne_bytes());
}

fn fail(task: &KeeperTask<'_>, error: Errno) -> ! {
    tell(task, FAILED, error.raw_os_error() as u32);
    exit(1)
}

/// Closes all that is open but these, which are in order.
fn close_but(kept: &[RawFd]) {
    let mut from = 0;
    for kept in kept {
        let kept = *kept as u32;
        if from < kept {
            close_range(from, kept - 1, 0);
        }
        from = kept + 1;
    }
    close_range(from, u32::MAX, 0);
}

fn close_range(first: u32, last: u32, flags: libc::c_uint) {
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: in this process nobody uses what is closed.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if result != 0 && flags == 0 {
        // It is there from Linux 5.9 on.
        for number in first..=last.min(MOST_OPEN) {
            #[expect(unsafe_code, reason = "no crate closes what it has not opened")]
            // SAFETY: the same.
            unsafe {
                libc::close(number as RawFd);
            }
        }
    }
}

/// Starts the command's process, which shares the memory of this one until it is its program.
fn start_program(task: &KeeperTask<'_>, stack: &mut [u8]) -> Result<Pid, Errno> {
    extern "C" fn main(task: *mut c_void) -> libc::c_int {
        #[expect(unsafe_code, reason = "this is what was passed below")]
        // SAFETY: the task lives in the process that waits for this one.
        let task = unsafe { &*task.cast::<KeeperTask<'_>>() };
        let Err(error) = become_program(task);
        task.failed.store(error.raw_os_error(), Ordering::Relaxed);
        exit(127)
    }
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: the stack is large enough for a few calls, and this process goes on only when the other has left its memory.
    let result = unsafe {
        let top = stack.as_mut_ptr_range().end;
        let top = top.wrapping_sub(top as usize % 16);
        libc::clone(
            main,
            top.cast(),
            flags,
            ptr::from_ref(task).cast_mut().cast(),
        )
    };
    match Pid::from_raw(result.max(0)) {
        Some(shell) => Ok(shell),
        None => Err(last_error(Errno::AGAIN)),
    }
}

/// Makes the calling process the program: a session of its own, without a terminal to ask on, and inside the fence.
fn become_program(task: &KeeperTask<'_>) -> Result<std::convert::Infallible, Errno> {
    for (number, file) in task.stdio.iter().enumerate() {
        #[expect(
            unsafe_code,
            reason = "the crate has no such call for numbers that are closed"
        )]
        // SAFETY: these numbers are nobody's in this process.
        let result = unsafe { libc::dup2(file.as_raw_fd(), number as RawFd) };
        if result < 0 {
            return Err(Errno::MFILE);
        }
    }
    let _ = setsid();
    chdir(task.dir.as_c_str())?;
    if let Some(limit) = task.limit {
        rustix::process::setrlimit(rustix::process::Resource::Nofile, limit)?;
    }
    if let Some(fence) = &task.launch.fence {
        fence.enter()?;
    }
    const CLOSE_ON_EXEC: libc::c_uint = 1 << 2;
    close_range(3, u32::MAX, CLOSE_ON_EXEC);
    #[expect(unsafe_code, reason = "no crate at hand offers these calls")]
    // SAFETY: the set is made by the call, and all strings and both lists end as they must.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        // Rust ignores it, and a program expects that nobody does.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        libc::execve(
            task.program.as_ptr(),
            task.words.pointers.as_ptr(),
            task.env.pointers.as_ptr(),
        );
    }
    Err(last_error(Errno::NOEXEC))
}
