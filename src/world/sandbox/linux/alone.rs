//! The fence around a process that works on what it is given: it opens no file, starts nothing and reaches nobody.

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope,
};
use libc::c_long;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::set_no_new_privs;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::super::SandboxError;
use super::refused;

/// The newest rights that are forbidden.
const NEWEST: ABI = ABI::V6;
/// The most memory, in bytes.
const MEMORY: u64 = 4 * 1024 * 1024 * 1024;

/// All that such a process calls: it reads, writes, has memory and time, and ends.
const CALLS: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_ppoll,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Fences the calling process in for good, as far as the system can.
pub(in crate::world::sandbox) fn stay_alone() -> Result<(), SandboxError> {
    let limit = |most| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(Resource::Core, limit(0)).map_err(refused)?;
    setrlimit(Resource::As, limit(MEMORY)).map_err(refused)?;
    set_no_new_privs(true).map_err(refused)?;
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(NEWEST)))
        .and_then(|rules| rules.scope(Scope::Signal))
        .and_then(|rules| rules.scope(Scope::AbstractUnixSocket))
        .and_then(Ruleset::create);
    rules
        .and_then(|rules| rules.restrict_self())
        .map_err(refused)?;
    if let Some(filter) = super::calls::are_known().then(filter).flatten() {
        apply_filter(&filter).map_err(refused)?;
    }
    Ok(())
}

fn filter() -> Option<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let rules = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    let forbidden = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, forbidden, SeccompAction::Allow, arch);
    filter.ok()?.try_into().ok()
}
