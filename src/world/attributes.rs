//! Copies to a new file what it keeps of the one that it replaces: owner, group, extended attributes, mode. Never touches contents or names.
//!
//! A replacement is a new inode, so everything but the text would silently become that of a fresh file. What cannot be kept is an
//! error and not a warning: a notes file that changes hands because clada runs as root, or loses its access list, is damage that
//! nobody looks for. Only the group may change, where the user is not in it: git and vim write such files too, and the result says it.

use rustix::buffer::spare_capacity;
use rustix::fs::{self, Gid, Mode, RawMode, Uid, XattrFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
#[cfg(target_os = "macos")]
use std::os::fd::BorrowedFd;

use crate::world::ownership;

/// The most bytes that Linux has for a list or a value. On macOS a file with a longer one is not replaced.
const MOST: usize = 64 * 1024;
/// Enough for a usual list: the system sets as many aside each time as it is offered.
const USUAL: usize = 512;

/// The error for an attribute that is not there.
#[cfg(not(target_os = "macos"))]
const MISSING: Errno = Errno::NODATA;
#[cfg(target_os = "macos")]
const MISSING: Errno = Errno::NOATTR;

/// The owner, the group and the mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    pub owner: u32,
    pub group: u32,
    pub mode: u32,
}

impl Rights {
    fn of(file: impl AsFd) -> io::Result<Self> {
        let found = fs::fstat(file)?;
        Ok(Self {
            owner: found.st_uid,
            group: found.st_gid,
            #[allow(clippy::useless_conversion, reason = "16 bits on some systems")]
            mode: found.st_mode.into(),
        })
    }
}

/// A group that could not be kept, by the groups' numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Regrouped {
    was: u32,
    now: u32,
}

impl fmt::Display for Regrouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |group: u32| ownership::group_name(group).unwrap_or_else(|| group.to_string());
        write!(f, "{}, was {}", name(self.now), name(self.was))
    }
}

/// Gives `to` the owner, group, extended attributes and mode of `from`, and takes off it what `from` has not. Takes anything with a descriptor, as the workspace holds
/// `cap_std` files and the notes file plain ones.
///
/// Where the user is not in the group, `to` keeps the one that it has, and that is returned.
///
/// The order matters: a change of owner clears set-user-id bits, and an attribute can only be set on a file that may be written, so
/// the mode comes last. Times are not copied: the replacement *is* a change.
pub fn copy(from: &impl AsFd, to: &impl AsFd) -> io::Result<Option<Regrouped>> {
    copy_known(from, Rights::of(from)?, to, Rights::of(to)?)
}

/// Does the same with files that were looked at a moment ago, and had these rights.
pub fn copy_known(
    from: &impl AsFd,
    old: Rights,
    to: &impl AsFd,
    new: Rights,
) -> io::Result<Option<Regrouped>> {
    let (from, to) = (from.as_fd(), to.as_fd());

    // Asked for only where it differs: unprivileged users may not call it at all, also not to keep what is there.
    let owner = (old.owner != new.owner).then(|| Uid::from_raw(old.owner));
    let group = (old.group != new.group).then(|| Gid::from_raw(old.group));
    let mut regrouped = None;
    if owner.is_some() || group.is_some() {
        match fs::fchown(to, owner, group) {
            // Somebody else's group, or one that has no number in this container.
            Err(Errno::PERM | Errno::INVAL) if owner.is_none() => {
                regrouped = Some(Regrouped {
                    was: old.group,
                    now: new.group,
                });
            }
            done => done?,
        }
    }
    let kept = names(from)?;
    for name in &kept {
        copy_one(from, to, name)?;
    }
    // A new file gets an access list from its folder's default, which would let others read what they could not read before.
    for name in names(to)? {
        if !kept.contains(&name) && !is_policy(&name) {
            remove_one(to, &name)?;
        }
    }
    #[cfg(target_os = "macos")]
    copy_access_list(from, to)?;
    // Also after a change of owner, which may have taken bits off.
    if old.mode != new.mode || owner.is_some() || group.is_some() {
        let mode = match regrouped {
            Some(_) => in_another_group(old.mode),
            None => old.mode,
        };
        fs::fchmod(to, Mode::from_raw_mode(mode as RawMode))?;
    }
    Ok(regrouped)
}

/// The mode of a file whose group is another now: it runs with nobody's rights but its caller's, and who was in the old group and is
/// one of all others now may do no more than before.
fn in_another_group(mode: u32) -> u32 {
    let of_group = mode >> 3 & 0o7;
    mode & !0o6007 | mode & of_group
}

fn copy_one(from: impl AsFd, to: impl AsFd, name: &CStr) -> io::Result<()> {
    let value = match value(&from, name) {
        Ok(value) => value,
        // Taken away since the list was read.
        Err(MISSING) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    // What the system has set by itself is left alone: an equal label may be forbidden to set and needs no setting.
    if self::value(&to, name).is_ok_and(|there| there == value) {
        return Ok(());
    }
    match fs::fsetxattr(&to, name, &value, XattrFlags::empty()) {
        Ok(()) | Err(Errno::NOTSUP) => Ok(()),
        // Labels of a security module belong to its policy, not to the file's owner.
        Err(Errno::PERM | Errno::ACCESS | Errno::INVAL) if is_policy(name) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn remove_one(from: impl AsFd, name: &CStr) -> io::Result<()> {
    match fs::fremovexattr(&from, name) {
        Ok(()) | Err(MISSING | Errno::NOTSUP) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Tells if an attribute belongs to the system's policy. macOS sets these on new files by itself, and lets nobody else do so.
fn is_policy(name: &CStr) -> bool {
    const OF_MACOS: [&CStr; 3] = [
        c"com.apple.macl",
        c"com.apple.provenance",
        c"com.apple.rootless",
    ];
    name.to_bytes().starts_with(b"security.")
        || name.to_bytes().starts_with(b"trusted.")
        || OF_MACOS.contains(&name)
}

/// Copies the access list, which is no attribute on macOS. An entry that a folder hands down stays with files of that folder.
#[cfg(target_os = "macos")]
#[expect(unsafe_code, reason = "no crate at hand has this call")]
fn copy_access_list(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let nothing = std::ptr::null_mut();
    // SAFETY: both descriptors are open, and without a state the call needs no memory of this process.
    let copied = unsafe {
        libc::fcopyfile(
            from.as_raw_fd(),
            to.as_raw_fd(),
            nothing,
            libc::COPYFILE_ACL,
        )
    };
    match Errno::from_io_error(&io::Error::last_os_error()) {
        _ if copied == 0 => Ok(()),
        // A file system without access lists.
        Some(Errno::NOTSUP) => Ok(()),
        Some(error) => Err(error.into()),
        None => Err(io::Error::other("the access list was not copied")),
    }
}

fn names(file: impl AsFd) -> io::Result<Vec<CString>> {
    let mut list = Vec::with_capacity(USUAL);
    let mut listed = fs::flistxattr(&file, spare_capacity(&mut list));
    if listed == Err(Errno::RANGE) {
        list.reserve(MOST);
        listed = fs::flistxattr(&file, spare_capacity(&mut list));
    }
    match listed {
        Ok(_) => {}
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let names = list
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    Ok(names.filter_map(|name| CString::new(name).ok()).collect())
}

fn value(file: impl AsFd, name: &CStr) -> Result<Vec<u8>, Errno> {
    let mut value = Vec::with_capacity(MOST);
    fs::fgetxattr(&file, name, spare_capacity(&mut value))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn keeps_the_mode_also_when_nobody_may_write() {
        let from = tempfile::tempfile().unwrap();
        let to = tempfile::tempfile().unwrap();
        for mode in [0o444, 0o640, 0o755, 0o600] {
            from.set_permissions(Permissions::from_mode(mode)).unwrap();
            copy(&from, &to).unwrap();
            assert_eq!(to.metadata().unwrap().mode() & 0o7777, mode);
        }
    }

    #[test]
    fn keeps_owner_and_group_where_it_may() {
        let from = tempfile::tempfile().unwrap();
        let to = tempfile::tempfile().unwrap();
        if fs::fchown(&from, Some(Uid::from_raw(4711)), Some(Gid::from_raw(4712))).is_err() {
            return; // Only root can make the difference that this is about.
        }
        copy(&from, &to).unwrap();
        let to = to.metadata().unwrap();
        assert_eq!((to.uid(), to.gid()), (4711, 4712));
    }

    #[test]
    fn in_another_group_nobody_may_do_more() {
        for (before, after) in [
            (0o640, 0o640),
            (0o664, 0o664),
            (0o646, 0o644),
            (0o607, 0o600),
            (0o6755, 0o755),
        ] {
            assert_eq!(in_another_group(before), after, "{before:o}");
        }
    }

    #[test]
    fn a_group_is_named_where_it_has_a_name() {
        let said = Regrouped {
            was: 4_294_967_000,
            now: 0,
        };
        let root = if cfg!(target_os = "macos") {
            "wheel"
        } else {
            "root"
        };
        assert_eq!(said.to_string(), format!("{root}, was 4294967000"));
    }

    #[test]
    fn keeps_extended_attributes_of_any_size() {
        let from = tempfile::tempfile().unwrap();
        let to = tempfile::tempfile().unwrap();
        let long = vec![b'x'; 3000];
        for (name, value) in [("user.small", &b"1"[..]), ("user.long", &long)] {
            match fs::fsetxattr(&from, name, value, XattrFlags::empty()) {
                Err(Errno::NOTSUP) => return,
                done => done.unwrap(),
            }
        }
        copy(&from, &to).unwrap();
        assert_eq!(value(&to, c"user.small").unwrap(), b"1");
        assert_eq!(value(&to, c"user.long").unwrap(), long);
    }

    /// An access list as Linux stores it: the owner, this other user, the group, the mask, all others.
    #[cfg(target_os = "linux")]
    fn access_list(user: u32) -> Vec<u8> {
        const NOBODY: u32 = u32::MAX;
        let entries = [
            (0x01_u16, 6_u16, NOBODY),
            (0x02, 6, user),
            (0x04, 4, NOBODY),
            (0x10, 6, NOBODY),
            (0x20, 0, NOBODY),
        ];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            list.extend(tag.to_le_bytes());
            list.extend(permissions.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        list
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn the_access_list_is_that_of_the_old_file_and_not_that_of_the_folder() {
        const LIST: &CStr = c"system.posix_acl_access";
        let dir = tempfile::tempdir().unwrap();
        let plain = tempfile::tempfile_in(&dir).unwrap();
        let listed = tempfile::tempfile_in(&dir).unwrap();
        let set = XattrFlags::empty();
        if let Err(error) = fs::fsetxattr(&listed, LIST, &access_list(4711), set) {
            eprintln!("skipped: no access lists here: {error}");
            return;
        }
        let default = c"system.posix_acl_default";
        fs::setxattr(dir.path(), default, &access_list(4712), set).unwrap();
        for (from, list) in [
            (&plain, Err(Errno::NODATA)),
            (&listed, Ok(access_list(4711))),
        ] {
            let to = tempfile::tempfile_in(&dir).unwrap();
            assert!(value(&to, LIST).is_ok(), "the folder's default");
            copy(from, &to).unwrap();
            assert_eq!(value(&to, LIST), list);
            assert_eq!(
                to.metadata().unwrap().mode(),
                from.metadata().unwrap().mode()
            );
        }
    }

    #[test]
    #[cfg(target_os = "macos")]
    fn the_access_list_is_that_of_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| dir.path().join(name));
        for path in [&from, &to] {
            std::fs::write(path, "").unwrap();
        }
        let run = |program: &str, args: &[&str], path: &std::path::Path| {
            let mut command = std::process::Command::new(program);
            let said = command.args(args).arg(path).output().unwrap();
            assert!(said.status.success(), "{said:?}");
            String::from_utf8(said.stdout).unwrap()
        };
        run("chmod", &["+a", "everyone deny delete"], &from);
        copy(&File::open(&from).unwrap(), &File::create(&to).unwrap()).unwrap();
        assert!(run("ls", &["-le"], &to).contains("everyone deny delete"));
        // What is not in the old one goes.
        run("chmod", &["-N"], &from);
        copy(&File::open(&from).unwrap(), &File::create(&to).unwrap()).unwrap();
        assert!(!run("ls", &["-le"], &to).contains("everyone deny delete"));
    }

    #[test]
    fn a_file_without_attributes_is_fine() {
        let plain = if cfg!(target_os = "linux") {
            "/proc/self/status"
        } else {
            "/dev/null"
        };
        let from = File::open(plain).unwrap();
        let to = tempfile::tempfile().unwrap();
        copy(&from, &to).unwrap();
    }
}
