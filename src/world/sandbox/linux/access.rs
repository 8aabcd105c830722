//! Landlock: which files a command may write, and whom it may reach. Never mounts anything.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::super::trees::WritableTree;
use super::done;

/// The newest rights that are asked for; an older kernel gives what it knows. Newer ones were not tried, and would also
/// forbid Unix sockets.
const NEWEST: ABI = ABI::V6;

/// The devices below `/dev` that programs write to, with those for computing on a graphics card.
const DEVICES: &[&str] = &[
    "null",
    "zero",
    "full",
    "random",
    "urandom",
    "tty",
    "ptmx",
    "pts",
    "dri",
    "kfd",
    "nvidiactl",
    "nvidia-uvm",
    "nvidia-uvm-tools",
    "nvidia0",
    "nvidia1",
    "nvidia2",
    "nvidia3",
];

/// Makes the rules, with TCP or without, or nothing if the kernel has no Landlock.
pub(super) fn ruleset(
    trees: &[WritableTree],
    has_tcp: bool,
) -> Result<Option<OwnedFd>, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(NEWEST))?
        .scope(Scope::Signal)?
        .scope(Scope::AbstractUnixSocket)?;
    if !has_tcp {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = rules.create()?;
    for tree in trees {
        (&mut rules).add_rule(PathBeneath::new(tree, in_tree()))?;
    }
    let devices = DEVICES.iter().map(|name| (*name, use_device()));
    for (name, access) in devices.chain([("shm", in_tree())]) {
        // A device that does not exist needs no rule.
        if let Ok(path) = PathFd::new(Path::new("/dev").join(name)) {
            (&mut rules).add_rule(PathBeneath::new(path, access))?;
        }
    }
    Ok(rules.into())
}

/// A ruleset that lets signals go to processes in it only, or nothing if the kernel has none.
pub(super) fn signals() -> Result<Option<OwnedFd>, RulesetError> {
    // Any ruleset forbids that a file goes to another folder, if it does not allow it.
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::Refer)?
        .scope(Scope::Signal)?
        .create()?;
    if let Ok(top) = PathFd::new("/") {
        (&mut rules).add_rule(PathBeneath::new(top, AccessFs::Refer))?;
    }
    Ok(rules.into())
}

/// The rights in a tree. Devices are left out: with one of its own root could write to the disk.
fn in_tree() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar)
}

fn use_device() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

/// Rights for what was mounted since the rules were made. They are those of the kernel that the rules were made for.
#[derive(Debug)]
pub(super) struct Late {
    device: u64,
    shared: u64,
}

impl Late {
    pub(super) fn of(abi: i32) -> Self {
        let known = AccessFs::from_write(ABI::from(abi).min(NEWEST));
        Self {
            device: (use_device() & known).bits(),
            shared: (in_tree() & known).bits(),
        }
    }

    /// Adds them. Makes system calls only.
    pub(super) fn add(&self, rules: &OwnedFd) -> Result<(), Errno> {
        for (path, access) in [
            (c"/dev/pts", self.device),
            (c"/dev/ptmx", self.device),
            (c"/dev/shm", self.shared),
        ] {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            if let Ok(at) = rustix::fs::open(path, flags, Mode::empty()) {
                allow(rules, at.as_raw_fd(), access)?;
            }
        }
        Ok(())
    }
}

fn allow(rules: &OwnedFd, at: RawFd, access: u64) -> Result<(), Errno> {
    #[repr(C, packed)]
    struct Beneath {
        allowed: u64,
        parent: i32,
    }
    const PATH_BENEATH: u32 = 1;
    let beneath = Beneath {
        allowed: access,
        parent: at,
    };
    #[expect(unsafe_code, reason = "the crate's call allocates")]
    // SAFETY: both descriptors are open, and the attributes outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            rules.as_raw_fd(),
            PATH_BENEATH,
            &raw const beneath,
            0_u32,
        )
    };
    done(result)
}

/// Applies rules to the calling process for good. Makes system calls only.
pub(super) fn restrict(rules: &OwnedFd) -> Result<(), Errno> {
    #[expect(unsafe_code, reason = "no crate offers this call without allocating")]
    // SAFETY: it takes two numbers, and the descriptor is open.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0_u32) };
    done(result)
}

/// The number of the kernel's Landlock, 0 for none.
pub(super) fn abi() -> i32 {
    #[expect(unsafe_code, reason = "the crate keeps the number to itself")]
    // SAFETY: with this flag nothing is read from the pointer, which has to be null, and nothing is made.
    let abi = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            1_u32,
        )
    };
    abi.max(0) as i32
}
