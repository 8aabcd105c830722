//! The fence on Linux: Landlock, and a mount namespace for what is guarded. Never allocates after the fork.
//!
//! Landlock cannot take something out of a tree that it allows. So guarded paths are mounted on themselves, read-only, in
//! mounts that only the script sees; once Landlock holds, nothing in the script can mount or unmount. A mount point
//! cannot be renamed or removed either.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_bind_recursive, mount_change};
use rustix::process::{chdir, getegid, geteuid};
use rustix::thread::{UnshareFlags, set_no_new_privs, unshare_unsafe};

use super::{Fence, SandboxError, Support, held};

/// The newest rights that are asked for; an older kernel gives what it knows. Newer ones were not tried, and would also
/// forbid Unix sockets.
const NEWEST: ABI = ABI::V6;

/// What programs write to below `/dev`, with what a graphics card is computed on.
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

/// Files that ssh takes only from their owner or from root, who has another number in a user namespace.
const SSH_CONFIG: &str = "/etc/ssh/ssh_config.d";

/// Everything that the child needs, made in the parent.
#[derive(Debug, Clone)]
pub(super) struct Prepared(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    mounts: Option<Mounts>,
    ruleset: Option<OwnedFd>,
}

/// How a process comes by mounts of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It may change mounts.
    Direct,
    /// It may in a user namespace, where it is the only user.
    AsUser,
}

#[derive(Debug)]
struct Mounts {
    way: Way,
    /// Held in place and writable.
    held: Vec<CString>,
    /// Read-only, and mounted after the above.
    guarded: Vec<CString>,
    /// Where to be afterwards: a working directory stays in what is mounted over.
    dir: CString,
    uid_map: String,
    gid_map: String,
}

impl Prepared {
    pub(super) fn prefix(&self) -> &[String] {
        &[]
    }

    pub(super) fn enter(&self) -> io::Result<()> {
        if let Some(mounts) = &self.0.mounts {
            mounts.enter()?;
        }
        if let Some(ruleset) = &self.0.ruleset {
            set_no_new_privs(true)?;
            restrict(ruleset)?;
        }
        Ok(())
    }
}

pub(super) fn prepare(fence: &Fence, dir: &Path) -> Result<Option<Prepared>, SandboxError> {
    let trees = fence.trees();
    let Some(ruleset) = ruleset(fence, &trees).map_err(refused)? else {
        return Ok(None);
    };
    let mounts = match way() {
        Ok(way) => Mounts::of(&fence.guards(&trees), &trees, dir, *way).map_err(refused)?,
        Err(_) => None,
    };
    Ok(Some(Prepared(Arc::new(Parts {
        mounts,
        ruleset: Some(ruleset),
    }))))
}

fn refused(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Prepare(error.to_string())
}

/// The rules, or nothing if the kernel has no Landlock.
fn ruleset(fence: &Fence, trees: &[PathBuf]) -> Result<Option<OwnedFd>, RulesetError> {
    let write = AccessFs::from_write(NEWEST);
    let use_device = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(write)?
        .scope(Scope::Signal)?;
    if !fence.network {
        rules = rules
            .handle_access(AccessNet::from_all(NEWEST))?
            .scope(Scope::AbstractUnixSocket)?;
    }
    let mut rules = rules.create()?;
    let mut allow = |path: &Path, access: BitFlags<AccessFs>| -> Result<(), RulesetError> {
        // What does not exist cannot be allowed, nor needs to be.
        if let Ok(path) = PathFd::new(path) {
            (&mut rules).add_rule(PathBeneath::new(path, access))?;
        }
        Ok(())
    };
    // With a device of its own root could write to the disk.
    let in_tree = write & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    for tree in trees {
        allow(tree, in_tree)?;
    }
    allow(Path::new("/dev/shm"), in_tree)?;
    for device in DEVICES {
        allow(&Path::new("/dev").join(device), use_device)?;
    }
    Ok(rules.into())
}

fn restrict(ruleset: &OwnedFd) -> io::Result<()> {
    #[expect(unsafe_code, reason = "no crate offers this call without allocating")]
    // SAFETY: it takes two numbers, and the descriptor is open.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0_u32) };
    done(result)
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

impl Mounts {
    /// Nothing if there is nothing to guard.
    fn of(guards: &[PathBuf], trees: &[PathBuf], dir: &Path, way: Way) -> io::Result<Option<Self>> {
        if guards.is_empty() {
            return Ok(None);
        }
        let mut above: Vec<PathBuf> = guards
            .iter()
            .flat_map(|guard| held(guard, trees))
            .map(Path::to_owned)
            .collect();
        above.sort();
        above.dedup();
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Ok(Some(Self {
            way,
            held: above
                .into_iter()
                .map(terminated)
                .collect::<io::Result<_>>()?,
            guarded: guards
                .iter()
                .cloned()
                .map(terminated)
                .collect::<io::Result<_>>()?,
            dir: terminated(std::path::absolute(dir)?)?,
            uid_map: format!("{user} {user} 1"),
            gid_map: format!("{group} {group} 1"),
        }))
    }

    /// A path that cannot be mounted is passed over: it may have gone meanwhile, and it is watched.
    fn enter(&self) -> io::Result<()> {
        let flags = match self.way {
            Way::Direct => UnshareFlags::NEWNS,
            Way::AsUser => UnshareFlags::NEWNS | UnshareFlags::NEWUSER,
        };
        #[expect(unsafe_code, reason = "the crate marks it so for another flag")]
        // SAFETY: the table of descriptors stays as it is.
        unsafe { unshare_unsafe(flags) }?;
        if self.way == Way::AsUser {
            write(c"/proc/self/setgroups", "deny")?;
            write(c"/proc/self/uid_map", &self.uid_map)?;
            write(c"/proc/self/gid_map", &self.gid_map)?;
        }
        // What the user mounts still comes in; nothing goes out.
        mount_change(
            c"/",
            MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
        )?;
        for path in &self.held {
            let _ = mount_bind_recursive(path.as_c_str(), path.as_c_str());
        }
        for path in &self.guarded {
            if mount_bind_recursive(path.as_c_str(), path.as_c_str()).is_ok() {
                let _ = make_read_only(path);
            }
        }
        chdir(self.dir.as_c_str())?;
        Ok(())
    }
}

fn terminated(path: PathBuf) -> io::Result<CString> {
    Ok(CString::new(path.into_os_string().into_vec())?)
}

fn write(path: &std::ffi::CStr, text: &str) -> io::Result<()> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes())?;
    Ok(())
}

/// Adds this one attribute. A remount sets them all, and is refused in a user namespace if one of those that came with
/// the mount (nosuid, nodev, noexec, …) is left out.
fn make_read_only(path: &CString) -> io::Result<()> {
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const READ_ONLY: u64 = 1;
    let attributes = Attributes {
        set: READ_ONLY,
        clear: 0,
        propagation: 0,
        user_namespace: 0,
    };
    #[expect(unsafe_code, reason = "no crate at hand offers this call")]
    // SAFETY: the path ends in NUL, and the size given is that of the attributes; both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    done(result)
}

pub(super) fn support() -> Support {
    let mut support = kernel();
    if support.by.is_some() {
        match way() {
            Ok(_) => support.guards = true,
            Err(why) => support
                .lacks
                .push(format!("protected files are only watched, as {why}")),
        }
    }
    support
}

/// The same but for the mounts, which have to be tried out.
pub(super) fn kernel() -> Support {
    let abi = abi();
    if abi < 1 {
        let why = "this kernel has no Landlock, or it is not among the `lsm=` of its command line";
        return Support {
            by: None,
            network: false,
            signals: false,
            guards: false,
            lacks: vec![why.to_owned()],
        };
    }
    let mut lacks = Vec::new();
    let mut lack = |since, what: &str| {
        if abi < since {
            lacks.push(what.to_owned());
        }
        abi >= since
    };
    lack(
        2,
        "moving a file to another directory always fails (Linux 5.19 can allow it)",
    );
    lack(3, "files outside can be emptied (Linux 6.2 stops it)");
    let network = lack(4, "TCP cannot be forbidden (Linux 6.7 can)");
    let signals = lack(
        6,
        "other processes of yours can be sent signals (Linux 6.12 stops it)",
    );
    Support {
        by: Some(format!("Landlock {abi}")),
        network,
        signals,
        guards: false,
        lacks,
    }
}

/// The number of the kernel's Landlock, 0 for none.
fn abi() -> i64 {
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
    abi.max(0)
}

/// How mounts are come by here, or why not; tried out once.
fn way() -> &'static Result<Way, String> {
    static WAY: OnceLock<Result<Way, String>> = OnceLock::new();
    WAY.get_or_init(|| {
        let direct = tried(Way::Direct);
        if direct.is_ok() || geteuid().is_root() {
            // In a user namespace root would lose its power over the files of others.
            return direct;
        }
        if let Some(file) = refused_by_ssh(Path::new(SSH_CONFIG)) {
            return Err(format!(
                "ssh would refuse `{}` in a user namespace",
                file.display()
            ));
        }
        tried(Way::AsUser)
    })
}

/// A file that is root's here, and would be nobody's in a user namespace.
fn refused_by_ssh(dir: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path());
    let mut files = files.filter(|path| path.extension().is_some_and(|end| end == "conf"));
    files.find(|path| fs::metadata(path).is_ok_and(|meta| meta.uid() != geteuid().as_raw()))
}

/// Tries to write to a guarded file.
fn tried(way: Way) -> Result<Way, String> {
    /// Tells that the file could be written to; nothing that is done here fails by it.
    const WRITTEN: i32 = libc::EXDEV;
    let not = |error: io::Error| {
        format!("this system does not let you have mounts of your own ({error})")
    };
    let dir = tempfile::tempdir().map_err(not)?;
    let path = dir.path().canonicalize().map_err(not)?.join("guarded");
    fs::write(&path, "").map_err(not)?;
    let mounts = Mounts::of(std::slice::from_ref(&path), &[], dir.path(), way).map_err(not)?;
    let prepared = Prepared(Arc::new(Parts {
        mounts,
        ruleset: None,
    }));
    let guarded = terminated(path).map_err(not)?;
    let mut command = Command::new("/bin/sh");
    // Where clada ends right now, nobody takes the error, and the child says so on its way out.
    command.stderr(Stdio::null());
    #[expect(
        unsafe_code,
        reason = "pre_exec is the only way to act between fork and exec"
    )]
    // SAFETY: the closure makes system calls only.
    unsafe {
        command.pre_exec(move || {
            prepared.enter()?;
            write(&guarded, "x")?;
            Err(io::Error::from_raw_os_error(WRITTEN))
        })
    };
    // It ends by one error or another before it is a shell: to start one would take longer than all the rest.
    match command.spawn() {
        Err(error) if error.raw_os_error() == Some(libc::EROFS) => Ok(way),
        Err(error) if error.raw_os_error() != Some(WRITTEN) => Err(not(error)),
        _ => Err("mounts of your own do not hold here".to_owned()),
    }
}
