//! The system calls that a command does not get: those that reach out of the fence by something that is neither a file nor
//! a signal.

use std::collections::BTreeMap;
use std::ptr;

use libc::c_long;
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// The filters, for a process that has no new privileges.
#[derive(Debug)]
pub(super) struct Calls(Vec<BpfProgram>);

/// Calls that fail, whatever their arguments.
const NEVER: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls into the memory of other processes.
const MEMORY: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
];

/// `ioctl`s that type into a terminal.
const TYPE: [u64; 2] = [libc::TIOCSTI as _, libc::TIOCLINUX as _];

/// The bit that x86-64 programs with short pointers call by, and their own numbers for calls named here.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: c_long = X32 | 514;
#[cfg(target_arch = "x86_64")]
const X32_MEMORY: &[c_long] = &[X32 | 521, X32 | 539, X32 | 540];

type CallRules = BTreeMap<c_long, Vec<SeccompRule>>;

impl Calls {
    /// The filters; nothing where this machine's calls are not known. `is_visible`: no other layer keeps the command from the
    /// memory of other processes.
    pub(super) fn new(is_visible: bool) -> Option<Self> {
        let mut rules: CallRules = NEVER.iter().map(|call| (*call, Vec::new())).collect();
        if is_visible {
            rules.extend(MEMORY.iter().map(|call| (*call, Vec::new())));
        }
        let types = || {
            let request = |number| when(1, SeccompCmpOp::Eq, number);
            TYPE.into_iter().filter_map(request).collect::<Vec<_>>()
        };
        rules.insert(libc::SYS_ioctl, types());
        let new_user = libc::CLONE_NEWUSER as u64;
        for call in [libc::SYS_clone, libc::SYS_unshare] {
            let with = when(0, SeccompCmpOp::MaskedEq(new_user), new_user);
            rules.insert(call, with.into_iter().collect());
        }
        let of_others = when(0, SeccompCmpOp::Ne, 0);
        rules.insert(libc::SYS_prlimit64, of_others.into_iter().collect());
        #[cfg(target_arch = "x86_64")]
        {
            let short: CallRules = rules
                .iter()
                .map(|(call, rules)| (call | X32, rules.clone()))
                .collect();
            rules.extend(short);
            rules.insert(X32_IOCTL, types());
            if is_visible {
                rules.extend(X32_MEMORY.iter().map(|call| (*call, Vec::new())));
            }
        }
        let refused = program(rules, libc::EPERM as u32)?;
        // Its flags are in memory, where no filter can look; programs then use `clone`.
        let unknown = CallRules::from([(libc::SYS_clone3, Vec::new())]);
        let unknown = program(unknown, libc::ENOSYS as u32)?;
        Some(Self(vec![refused, unknown]))
    }

    /// Applies the filters to the calling process for good. Makes system calls only.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        for program in &self.0 {
            apply_filter(program).map_err(|_| Errno::PERM)?;
        }
        Ok(())
    }
}

/// A condition on an argument, of which the low 32 bits count: the kernel looks at no more.
fn when(argument: u8, op: SeccompCmpOp, value: u64) -> Option<SeccompRule> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).ok()?;
    SeccompRule::new(vec![condition]).ok()
}

fn program(rules: CallRules, error: u32) -> Option<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error),
        arch,
    );
    filter.ok()?.try_into().ok()
}

/// Tells if the kernel has such filters.
pub(super) fn are_known() -> bool {
    const GET_ACTION_AVAIL: libc::c_uint = 2;
    let action = libc::SECCOMP_RET_ERRNO;
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: it reads one number, which outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            GET_ACTION_AVAIL,
            0_u32,
            ptr::from_ref(&action),
        )
    };
    result == 0
}
