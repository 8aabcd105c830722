//! Namespaces: a command's own processes, mounts, terminals and shared memory. After the fork it makes system calls only.
//!
//! Everything is read-only in them but the trees. Landlock cannot take something out of a tree that it allows; so guarded
//! paths are mounted on themselves, read-only. What is mounted cannot be renamed or removed, and nothing in the fence can
//! mount or unmount.

use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, mkdir, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, move_mount, open_tree,
};
use rustix::process::{chdir, getegid, geteuid};

use super::super::trees::WritableTree;
use super::super::{Fence, held};
use super::done;
use super::process::{self, SplitProcess};

/// Shared memory: a command gets an empty one.
const SHARED_MEMORY: &str = "/dev/shm";

/// The folder of ssh's files that it takes only from their owner or from root, who is nobody in a user namespace.
const SSH_CONFIG: &CStr = c"/etc/ssh/ssh_config.d";

/// From which Linux on a bound of processes holds for one namespace, and not for the machine.
const OWN_PID_MAX: (u32, u32) = (6, 14);
/// The lowest that it can be.
const LEAST_PID_MAX: u32 = 301;

/// The means by which a process comes by namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamespaceMode {
    /// The process may change mounts.
    Direct,
    /// The process may change mounts in a user namespace, where it is the only user.
    AsUser,
}

/// The reason why commands have no namespaces.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoNamespaces {
    #[error("this system gives commands no namespaces ({0})")]
    Refused(#[from] io::Error),
    #[error("this system does not enforce private mounts")]
    NotPrivate,
}

/// The mounts for one command, in this order.
#[derive(Debug)]
pub(super) struct Mounts {
    /// The maps of the user and the group, in a user namespace.
    maps: Option<[String; 2]>,
    network: bool,
    trees: Vec<TreeMount>,
    /// The places in the empty shared memory for trees to be mounted on; each folder before what is in it.
    rooms: Vec<Room>,
    shared_memory: CString,
    hidden: Vec<HiddenPath>,
    /// Held in place and writable.
    held: Vec<CString>,
    /// Read-only, and mounted after the above.
    guarded: Vec<CString>,
    /// The files that are put into an own [`SSH_CONFIG`]: names and contents.
    ssh: Vec<(CString, Vec<u8>)>,
    /// The working directory afterwards: a working directory stays in what is mounted over.
    dir: CString,
    /// The most processes that there may be, where that can be said.
    processes: Option<String>,
}

/// A place for a tree in the empty shared memory.
#[derive(Debug)]
enum Room {
    Folder(CString),
    File(CString),
}

/// A path that a command is not to find.
#[derive(Debug)]
enum HiddenPath {
    /// A folder of sockets, which is hidden by an empty one.
    Folder(CString),
    /// A socket, by `/dev/null`.
    Socket(CString),
}

/// A tree, which is mounted only if its path leads to it then.
#[derive(Debug)]
struct TreeMount {
    path: CString,
    id: (u64, u64),
    is_writable: bool,
    /// The tree as a mount that is nowhere yet.
    mount: RefCell<Option<OwnedFd>>,
}

impl Mounts {
    /// Finds out what is to be mounted for a command that runs in `dir`.
    ///
    /// # Errors
    /// A path that holds a NUL.
    pub(super) fn of(
        way: NamespaceMode,
        fence: &Fence,
        trees: &[WritableTree],
        guards: &[PathBuf],
        dir: &Path,
    ) -> io::Result<Self> {
        let paths: Vec<PathBuf> = trees.iter().map(|tree| tree.path.clone()).collect();
        let mut above: Vec<PathBuf> = guards
            .iter()
            .flat_map(|guard| held(guard, &paths))
            .map(Path::to_owned)
            .collect();
        above.sort();
        above.dedup();
        let terminated =
            |paths: Vec<PathBuf>| paths.into_iter().map(terminated).collect::<io::Result<_>>();
        let dir = std::path::absolute(dir)?;
        let shared = Path::new(SHARED_MEMORY);
        let shared = shared.canonicalize().unwrap_or_else(|_| shared.into());
        let mut mounted: Vec<TreeMount> = Vec::new();
        let mut in_shared = paths.clone();
        let is_lost = dir.starts_with(&shared) && !paths.iter().any(|path| dir.starts_with(path));
        let kept = if dir.starts_with(&fence.root) {
            &fence.root
        } else {
            &dir
        };
        if is_lost && let Ok(found) = fs::symlink_metadata(kept) {
            let id = (found.dev(), found.ino());
            mounted.push(TreeMount::of(kept, id, false)?);
            in_shared.push(kept.clone());
        }
        for tree in trees {
            mounted.push(TreeMount::of(&tree.path, tree.id, true)?);
        }
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Ok(Self {
            maps: (way == NamespaceMode::AsUser)
                .then(|| [user, group].map(|id| format!("{id} {id} 1"))),
            network: fence.network,
            trees: mounted,
            rooms: rooms(&shared, &in_shared)?,
            shared_memory: self::terminated(shared)?,
            hidden: hidden(&fence.hidden)?,
            held: terminated(above)?,
            guarded: terminated(guards.to_vec())?,
            ssh: ssh_files(way),
            dir: self::terminated(dir)?,
            processes: bounds_processes().then(|| fence.processes.max(LEAST_PID_MAX).to_string()),
        })
    }

    /// The namespaces that the first process is to be started in.
    pub(super) fn flags(&self) -> libc::c_int {
        let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
        if self.maps.is_some() {
            flags |= libc::CLONE_NEWUSER;
        }
        if !self.network {
            flags |= libc::CLONE_NEWNET;
        }
        flags
    }

    /// Mounts everything, in the first process. A path that is gone meanwhile is passed over.
    pub(super) fn set_up(&self) -> Result<(), Errno> {
        if let Some([user, group]) = &self.maps {
            write(c"/proc/self/setgroups", b"deny")?;
            write(c"/proc/self/uid_map", user.as_bytes())?;
            write(c"/proc/self/gid_map", group.as_bytes())?;
        }
        if !self.network {
            // A test's own server is reached by it.
            process::raise_loopback();
        }
        // What the user mounts still comes in; nothing goes out.
        mount_change(
            c"/",
            MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
        )?;
        self.mount_system();
        for tree in &self.trees {
            tree.take();
        }
        make_read_only(c"/")?;
        self.mount_shared_memory();
        for tree in &self.trees {
            tree.put()?;
        }
        self.hide();
        for path in &self.held {
            let _ = mount_bind_recursive(path.as_c_str(), path.as_c_str());
        }
        for path in &self.guarded {
            if mount_bind_recursive(path.as_c_str(), path.as_c_str()).is_ok() {
                make_read_only(path)?;
            }
        }
        chdir(self.dir.as_c_str())
    }

    /// Processes and terminals of its own. Where the system does not let us, in some containers, those of before stay: they
    /// are read-only all the same, and no process is seen that is not in the namespace.
    fn mount_system(&self) {
        let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
        let proc = mount(
            c"proc",
            c"/proc",
            c"proc",
            plain | MountFlags::NODEV,
            None::<&CStr>,
        );
        if let (Ok(()), Some(processes)) = (proc, &self.processes) {
            let _ = write(c"/proc/sys/kernel/pid_max", processes.as_bytes());
        }
        let options = c"newinstance,ptmxmode=0666,mode=620";
        if mount(c"devpts", c"/dev/pts", c"devpts", plain, options).is_ok() {
            let _ = mount_bind(c"/dev/pts/ptmx", c"/dev/ptmx");
        }
    }

    /// Mounts an empty one, with places for the trees. If one cannot be made, the tree's own mount says so.
    fn mount_shared_memory(&self) {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let at = self.shared_memory.as_c_str();
        if mount(c"tmpfs", at, c"tmpfs", flags, c"mode=1777").is_err() {
            return;
        }
        for room in &self.rooms {
            let _ = match room {
                Room::Folder(path) => mkdir(path.as_c_str(), Mode::from_raw_mode(0o755)),
                Room::File(path) => {
                    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                    let mode = Mode::from_raw_mode(0o600);
                    rustix::fs::open(path.as_c_str(), flags, mode).map(drop)
                }
            };
        }
    }

    fn hide(&self) {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        for path in &self.hidden {
            let options = c"mode=0700,size=64k";
            let _ = match path {
                HiddenPath::Folder(dir) => mount(c"tmpfs", dir, c"tmpfs", flags, options),
                HiddenPath::Socket(socket) => mount_bind(c"/dev/null", socket),
            };
        }
        let at = SSH_CONFIG;
        if !self.ssh.is_empty() && mount(c"tmpfs", at, c"tmpfs", flags, c"mode=0755").is_ok() {
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
            let Ok(dir) = rustix::fs::open(at, flags, Mode::empty()) else {
                return;
            };
            for (name, text) in &self.ssh {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                let file =
                    rustix::fs::openat(&dir, name.as_c_str(), flags, Mode::from_raw_mode(0o644));
                let _ = file.map(|file| rustix::io::write(file, text));
            }
        }
    }
}

impl TreeMount {
    fn of(path: &Path, id: (u64, u64), is_writable: bool) -> io::Result<Self> {
        Ok(Self {
            path: terminated(path.to_owned())?,
            id,
            is_writable,
            mount: RefCell::new(None),
        })
    }

    /// Takes the tree as it is before everything is read-only.
    fn take(&self) {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let plain = ResolveFlags::NO_SYMLINKS;
        let Ok(at) = openat2(CWD, self.path.as_c_str(), flags, Mode::empty(), plain) else {
            return;
        };
        if !fstat(&at).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == self.id) {
            return;
        }
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        self.mount.replace(open_tree(&at, c"", flags).ok());
    }

    /// Mounts it where it was.
    fn put(&self) -> Result<(), Errno> {
        let Some(mount) = self.mount.take() else {
            return Ok(());
        };
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        move_mount(&mount, c"", CWD, self.path.as_c_str(), flags)?;
        if self.is_writable {
            Ok(())
        } else {
            make_read_only(&self.path)
        }
    }
}

/// The places in the shared memory for these paths, as far as they are below it.
fn rooms(shared: &Path, paths: &[PathBuf]) -> io::Result<Vec<Room>> {
    let mut rooms = Vec::new();
    for path in paths.iter().filter(|path| path.starts_with(shared)) {
        let below = path.ancestors().take_while(|above| *above != shared);
        let mut below: Vec<&Path> = below.collect();
        below.reverse();
        for place in below {
            let is_file = place == path && place.is_file();
            let place = terminated(place.to_owned())?;
            rooms.push(if is_file {
                Room::File(place)
            } else {
                Room::Folder(place)
            });
        }
    }
    Ok(rooms)
}

/// The folders and the sockets among paths that are to be hidden, as far as they are there.
fn hidden(paths: &[PathBuf]) -> io::Result<Vec<HiddenPath>> {
    let hidden = paths.iter().filter_map(|path| {
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        let path = terminated(path.clone());
        if kind.is_dir() {
            return Some(path.map(HiddenPath::Folder));
        }
        kind.is_socket().then(|| path.map(HiddenPath::Socket))
    });
    hidden.collect()
}

/// Files that are root's here, and would be nobody's in a user namespace.
fn ssh_files(way: NamespaceMode) -> Vec<(CString, Vec<u8>)> {
    if way == NamespaceMode::Direct {
        return Vec::new();
    }
    let entries = fs::read_dir(OsStr::from_bytes(SSH_CONFIG.to_bytes()))
        .into_iter()
        .flatten()
        .flatten();
    let files = entries.filter_map(|entry| {
        let meta = fs::metadata(entry.path()).ok()?;
        let is_config = entry.path().extension().is_some_and(|end| end == "conf");
        let is_foreign = meta.is_file() && meta.uid() != geteuid().as_raw();
        let text = || fs::read(entry.path()).ok();
        let name = terminated(entry.file_name().into()).ok()?;
        Some((name, text()?)).filter(|_| is_config && is_foreign)
    });
    files.collect()
}

/// Tells if the number of processes can be bounded for a namespace alone.
pub(super) fn bounds_processes() -> bool {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    let next = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    next >= OWN_PID_MAX
}

pub(super) fn terminated(path: PathBuf) -> io::Result<CString> {
    Ok(CString::new(path.into_os_string().into_vec())?)
}

fn write(path: &CStr, text: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}

/// Adds this one attribute, to all that is mounted below too. A remount sets them all, and is refused in a user namespace if
/// one of those that came with the mount (nosuid, nodev, noexec, …) is left out.
fn make_read_only(path: &CStr) -> Result<(), Errno> {
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
            CWD.as_raw_fd(),
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    done(result)
}

/// The means by which namespaces are had here, or the reason why there are none; tried out once.
pub(super) fn way() -> &'static Result<NamespaceMode, NoNamespaces> {
    static WAY: OnceLock<Result<NamespaceMode, NoNamespaces>> = OnceLock::new();
    WAY.get_or_init(|| {
        let direct = tried(NamespaceMode::Direct);
        if direct.is_ok() || geteuid().is_root() {
            // In a user namespace root would lose its power over the files of others.
            return direct;
        }
        tried(NamespaceMode::AsUser)
    })
}

/// Tries to write to what is guarded, to what is outside, and in a tree.
fn tried(way: NamespaceMode) -> Result<NamespaceMode, NoNamespaces> {
    /// The exit code if all is as it should be; otherwise it is the error that occurred.
    const HOLDS: i32 = 0;
    const LEAKS: i32 = 255;
    let dir = tempfile::tempdir()?;
    let top = dir.path().canonicalize()?;
    let [tree, outside] = ["tree", "outside"].map(|name| top.join(name));
    for dir in [&tree, &outside] {
        fs::create_dir(dir)?;
    }
    let guard = tree.join("guarded");
    fs::write(&guard, "")?;
    let fence = Fence {
        writable: vec![tree.clone()],
        ..Fence::nothing(&tree)
    };
    let (trees, _) = fence.now();
    let guards = std::slice::from_ref(&guard);
    let mounts = Mounts::of(way, &fence, &trees, guards, &tree)?;
    let [guard, outside, inside] = [guard, outside.join("new"), tree.join("new")].map(terminated);
    let (guard, outside, inside) = (guard?, outside?, inside?);
    let make = |path: &CStr| {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::from_raw_mode(0o600)).map(drop)
    };
    let child = match process::split(mounts.flags())? {
        SplitProcess::Parent(child) => child,
        SplitProcess::Child => {
            let holds = || -> Result<(), Errno> {
                mounts.set_up()?;
                make(&inside)?;
                match (make(&guard), make(&outside)) {
                    // In shared memory, what is outside is not there.
                    (Err(Errno::ROFS), Err(Errno::ROFS | Errno::NOENT)) => Ok(()),
                    _ => Err(Errno::from_raw_os_error(LEAKS)),
                }
            };
            process::exit(holds().map_or_else(Errno::raw_os_error, |()| HOLDS))
        }
    };
    match process::reap(child)?.exit_status() {
        Some(HOLDS) => Ok(way),
        Some(LEAKS) => Err(NoNamespaces::NotPrivate),
        error => Err(io::Error::from_raw_os_error(error.unwrap_or(libc::EPERM)).into()),
    }
}
