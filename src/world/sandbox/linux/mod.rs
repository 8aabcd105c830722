//! The fence on Linux, in layers: namespaces, no capabilities, Landlock, and a filter of system calls. Where the system has
//! not all of them, those that it has; [`support`] says what is missing. Never allocates after the fork.

mod access;
mod alone;
mod calls;
mod mounts;
pub(in crate::world) mod process;

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, set_no_new_privs};

use super::{Fence, SandboxError, Support};
use access::Late;
use calls::Calls;

pub(super) use alone::stay_alone;
use mounts::Mounts;

/// Everything that a command's processes need, made in the parent.
#[derive(Debug)]
pub(in crate::world) struct Prepared {
    mounts: Option<Mounts>,
    /// Without namespaces, for the first process: signals go no further than what it starts.
    signals: Option<OwnedFd>,
    kept: CapabilitySet,
    ruleset: Option<OwnedFd>,
    late: Late,
    calls: Option<Calls>,
}

impl Prepared {
    /// The flags of `clone` for the first process.
    pub(in crate::world) fn flags(&self) -> libc::c_int {
        self.mounts.as_ref().map_or(0, Mounts::flags)
    }

    /// The descriptors that are needed until the command runs.
    pub(in crate::world) fn descriptors(&self) -> Vec<RawFd> {
        let rules = self.signals.iter().chain(&self.ruleset);
        rules.map(OwnedFd::as_raw_fd).collect()
    }

    /// Fences the first process in, which outlives the command's own ones and ends them.
    pub(in crate::world) fn set_up(&self) -> Result<(), Errno> {
        match (&self.mounts, &self.signals) {
            (Some(mounts), _) => mounts.set_up(),
            (None, Some(signals)) => {
                set_no_new_privs(true)?;
                access::restrict(signals)
            }
            (None, None) => Ok(()),
        }
    }

    /// Fences the calling process in for good.
    pub(in crate::world) fn enter(&self) -> Result<(), Errno> {
        if let (Some(rules), Some(_)) = (&self.ruleset, &self.mounts) {
            self.late.add(rules)?;
        }
        process::drop_capabilities(self.kept);
        set_no_new_privs(true)?;
        if let Some(rules) = &self.ruleset {
            access::restrict(rules)?;
        }
        match &self.calls {
            Some(calls) => calls.enter(),
            None => Ok(()),
        }
    }

    /// Tells if no process of the command outlives its first one.
    pub(in crate::world) fn is_alone(&self) -> bool {
        self.mounts.is_some()
    }

    /// Tells if a signal of the first process reaches what it started, and nothing else.
    pub(in crate::world) fn holds_signals(&self) -> bool {
        self.mounts.is_some() || self.signals.is_some()
    }
}

pub(super) fn prepare(fence: &Fence, dir: &Path) -> Result<Option<Prepared>, SandboxError> {
    let (trees, _) = fence.now();
    let paths: Vec<_> = trees.iter().map(|tree| tree.path.clone()).collect();
    let guards = fence.guards(&paths);
    let mounts = mounts::way().as_ref().ok();
    let mounts = mounts.map(|way| Mounts::of(*way, fence, &trees, &guards, dir));
    let mounts = mounts.transpose().map_err(refused)?;
    // A network of its own needs no rules.
    let has_tcp = fence.network || mounts.is_some();
    let ruleset = access::ruleset(&trees, has_tcp).map_err(refused)?;
    let signals = if mounts.is_none() && access::abi() >= SIGNALS {
        access::signals().map_err(refused)?
    } else {
        None
    };
    // Namespaces hide other processes, and Landlock their memory.
    let is_visible = mounts.is_none() && ruleset.is_none();
    Ok(Some(Prepared {
        calls: calls::are_known().then(|| Calls::new(is_visible)).flatten(),
        kept: kept(&fence.root),
        late: Late::of(access::abi()),
        mounts,
        signals,
        ruleset,
    }))
}

/// The capabilities that a command has: root's over files, where the project is not root's.
fn kept(root: &Path) -> CapabilitySet {
    let is_roots = fs::metadata(root).is_ok_and(|meta| meta.uid() == 0);
    if geteuid().is_root() && !is_roots {
        process::OVER_FILES
    } else {
        CapabilitySet::empty()
    }
}

fn refused(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Prepare(error.to_string())
}

fn done(result: libc::c_long) -> Result<(), Errno> {
    if result == 0 {
        return Ok(());
    }
    Err(process::last_error(Errno::PERM))
}

/// The versions of Landlock from which on TCP can be forbidden, and signals to other processes.
const NETWORK: i32 = 4;
const SIGNALS: i32 = 6;

/// The versions of Landlock, and what is missing in those before.
const LANDLOCK: [(i32, &str); 4] = [
    (
        2,
        "commands cannot move a file to another directory (Linux 5.19 allows it)",
    ),
    (
        3,
        "commands can empty files outside (Linux 6.2 prevents it)",
    ),
    (NETWORK, "TCP cannot be blocked (Linux 6.7 can block it)"),
    (
        SIGNALS,
        "commands can send signals to your other processes (Linux 6.12 prevents it)",
    ),
];

pub(super) fn support() -> Support {
    let abi = access::abi();
    let namespaces = mounts::way().as_ref();
    let mut lacks: Vec<String> = Vec::new();
    match namespaces {
        Ok(_) if mounts::bounds_processes() => {}
        Ok(_) => {
            lacks.push("the number of processes is not limited (Linux 6.14 can limit it)".into());
        }
        Err(why) => {
            if abi < 1 {
                lacks.push(
                    "this kernel has no Landlock, or its command line leaves it out of `lsm=`"
                        .into(),
                );
            } else {
                let missing = LANDLOCK.iter().filter(|(since, _)| abi < *since);
                lacks.extend(missing.map(|(_, what)| (*what).to_owned()));
            }
            lacks.push(format!(
                "{why}: protected files are only watched, sockets are not hidden, and commands can change modes and times \
                 of files outside"
            ));
        }
    }
    if !calls::are_known() {
        lacks.push("system calls are not filtered, as this kernel has no seccomp".into());
    }
    let alone = namespaces.is_ok();
    let by = [
        alone.then(|| "namespaces".to_owned()),
        (abi >= 1).then(|| format!("Landlock {abi}")),
    ];
    let by: Vec<String> = by.into_iter().flatten().collect();
    Support {
        by: (!by.is_empty()).then(|| by.join(" and ")),
        network: alone || abi >= NETWORK,
        guards: alone,
        alone,
        lacks,
    }
}
