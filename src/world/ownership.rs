//! Tells whose a file or folder is, and who else may write it. Changes nothing, and never decides what follows from it.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::process::geteuid;

/// The system's lists of users and groups.
const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";
/// As many links as the system itself follows.
const LINKS: usize = 40;
/// The bits of a mode that let others write, and the one that keeps them from what is not theirs in a folder.
const BY_GROUP: u32 = 0o020;
const BY_ALL: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// The users whose files are as good as one's own: this user and root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnUsers {
    own: u32,
    /// The owner that root's files seem to have in a container that does not know root.
    unknown: Option<u32>,
}

/// A reason why something is not the user's alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOwn {
    /// It belongs to this user.
    Owner(u32),
    /// The members of this group may write it.
    Group(u32),
    /// Everybody may write it.
    All,
}

impl fmt::Display for NotOwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) => write!(f, "belongs to {}", named("the user", USERS, *user)),
            Self::Group(group) => {
                let group = named("with the number", GROUPS, *group);
                write!(f, "is writable by the group {group}")
            }
            Self::All => f.write_str("is writable by all users"),
        }
    }
}

impl NotOwn {
    /// The command that makes it this user's alone; the path is written as a shell takes it.
    pub fn remedy(&self, path: &str) -> String {
        match self {
            Self::Owner(_) => {
                let own = geteuid().as_raw();
                let name = name_in(USERS, own).unwrap_or_else(|| own.to_string());
                format!("sudo chown {name} {path}")
            }
            Self::Group(_) | Self::All => format!("chmod go-w {path}"),
        }
    }
}

impl OwnUsers {
    /// The user that this process runs as, and root.
    pub fn of_process() -> Self {
        Self {
            own: geteuid().as_raw(),
            unknown: unknown_owner(),
        }
    }

    /// Tells if a file of this owner is as good as one's own.
    pub fn has(&self, user: u32) -> bool {
        user == 0 || user == self.own || self.unknown == Some(user)
    }

    /// Returns the reason why something is not these users' alone. In a folder where nobody can change what is another's, as
    /// in `/tmp`, others may make what is theirs.
    pub fn doubt(&self, of: &Metadata) -> Option<NotOwn> {
        let is_sticky = of.is_dir() && of.mode() & STICKY != 0;
        self.doubt_strictly(of).filter(|doubt| match doubt {
            NotOwn::Owner(_) => true,
            NotOwn::Group(_) | NotOwn::All => !is_sticky,
        })
    }

    /// The same for a folder in which others are to make nothing either.
    pub fn doubt_strictly(&self, of: &Metadata) -> Option<NotOwn> {
        if !self.has(of.uid()) {
            return Some(NotOwn::Owner(of.uid()));
        }
        if of.is_symlink() {
            return None;
        }
        if of.mode() & BY_ALL != 0 {
            return Some(NotOwn::All);
        }
        let by_group = of.mode() & BY_GROUP != 0 && !self.is_own_group(of.gid());
        by_group.then(|| NotOwn::Group(of.gid()))
    }

    /// Tells if nobody else is in a group. One that the system's own lists do not have is a user's where its number is.
    fn is_own_group(&self, group: u32) -> bool {
        if cfg!(target_os = "macos") {
            // `wheel` and `admin`: they administer the machine. Of the people there the lists say nothing, and all of them are in
            // `staff`.
            return [0, 80].contains(&group);
        }
        let Some(listed) = entry(GROUPS, group) else {
            return group == self.own;
        };
        let members = listed.rsplit(':').next().unwrap_or_default();
        let users = fs::read_to_string(USERS).unwrap_or_default();
        users.lines().all(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
            let is_named =
                !fields[0].is_empty() && members.split(',').any(|name| name == fields[0]);
            let is_in = is_named || number(3) == Some(group);
            !is_in || number(2).is_some_and(|user| self.has(user))
        })
    }
}

/// A file system whose modes say nothing of who may write: that of Windows in its subsystem for Linux, where each file is
/// everybody's.
#[cfg(target_os = "linux")]
pub fn has_no_modes(path: &Path) -> bool {
    const NINE_P: u64 = 0x0102_1997;
    let is_windows = || {
        let version = fs::read_to_string("/proc/version").unwrap_or_default();
        version.to_lowercase().contains("microsoft")
    };
    let found = rustix::fs::statfs(path);
    found.is_ok_and(|found| found.f_type as u64 == NINE_P) && is_windows()
}

/// No such file system is known elsewhere.
#[cfg(not(target_os = "linux"))]
pub fn has_no_modes(_path: &Path) -> bool {
    false
}

/// Follows a path from `/` on, all links with it, and returns where it leads. `check` is asked about each folder and link on
/// the way and what is at the end, before it is entered or followed. What does not exist ends the way: its names are added.
///
/// # Errors
/// What `check` returns; and in the inner result what the system says.
pub fn follow<E>(
    path: &Path,
    check: &mut dyn FnMut(&Path, &Metadata) -> Result<(), E>,
) -> Result<io::Result<PathBuf>, E> {
    let names = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        let parts = parts.filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    // The next one is the last.
    let mut rest = names(path);
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        let found = match fs::symlink_metadata(&next) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                rest.reverse();
                return Ok(Ok(rest.iter().fold(next, |path, name| path.join(name))));
            }
            Err(error) => return Ok(Err(error)),
        };
        check(&next, &found)?;
        if !found.is_symlink() {
            at = next;
            continue;
        }
        links += 1;
        if links > LINKS {
            return Ok(Err(rustix::io::Errno::LOOP.into()));
        }
        match fs::read_link(&next) {
            Ok(target) => {
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                rest.extend(names(&target));
            }
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(at))
}

/// Returns the name of a group, as far as the system's list has it.
pub fn group_name(group: u32) -> Option<String> {
    name_in(GROUPS, group)
}

/// Returns the file or its folder, whichever is not this user's alone, and the reason.
pub fn of_others(file: &Path) -> Option<(PathBuf, NotOwn)> {
    let users = OwnUsers::of_process();
    let path = file.canonicalize().ok()?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    [path, folder].into_iter().find_map(|path| {
        let doubt = users.doubt(&fs::metadata(&path).ok()?)?;
        let is_meant = matches!(doubt, NotOwn::Owner(_)) || !has_no_modes(&path);
        is_meant.then_some((path, doubt))
    })
}

fn named(what: &str, list: &str, number: u32) -> String {
    match name_in(list, number) {
        Some(name) => format!("`{name}`"),
        None => format!("{what} {number}"),
    }
}

fn name_in(list: &str, number: u32) -> Option<String> {
    Some(entry(list, number)?.split(':').next()?.to_owned())
}

/// The line of a number in the list of users or groups.
fn entry(list: &str, number: u32) -> Option<String> {
    let list = fs::read_to_string(list).unwrap_or_default();
    let number = number.to_string();
    let mut lines = list.lines();
    let line = lines.find(|line| line.split(':').nth(2) == Some(number.as_str()))?;
    Some(line.to_owned())
}

/// The owner that files of all unknown users have, where root is one of them.
fn unknown_owner() -> Option<u32> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    let mut first = map
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    if first.any(|first| first == "0") {
        return None;
    }
    let unknown = fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    unknown.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn doubt(path: &Path) -> Option<NotOwn> {
        let meta = fs::symlink_metadata(path).unwrap();
        OwnUsers::of_process().doubt(&meta)
    }

    #[test]
    fn who_else_may_write_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "x").unwrap();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&path, 0o664);
        if !cfg!(target_os = "macos") {
            assert_eq!(doubt(&path), None, "the user's own group");
        }
        mode(&path, 0o666);
        assert_eq!(doubt(&path), Some(NotOwn::All));
        mode(dir.path(), 0o1777);
        assert_eq!(doubt(dir.path()), None, "as `/tmp`");
        mode(dir.path(), 0o777);
        assert_eq!(doubt(dir.path()), Some(NotOwn::All));
        if !geteuid().is_root() {
            return;
        }
        mode(&path, 0o660);
        chown(&path, None, Some(4711)).unwrap();
        assert_eq!(doubt(&path), Some(NotOwn::Group(4711)));
        chown(&path, Some(4711), Some(4711)).unwrap();
        assert_eq!(doubt(&path), Some(NotOwn::Owner(4711)));
    }

    #[test]
    fn each_folder_and_link_of_a_path_is_asked_about() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/b")).unwrap();
        symlink("a", top.join("to-a")).unwrap();
        symlink(top.join("to-a/b"), top.join("a/b/all")).unwrap();
        let mut seen = Vec::new();
        let mut check = |path: &Path, _: &Metadata| -> Result<(), ()> {
            seen.extend(path.strip_prefix(&top).map(Path::to_owned));
            Ok(())
        };
        let leads = follow(&top.join("to-a/b/all/../new/er"), &mut check);
        assert_eq!(leads.unwrap().unwrap(), top.join("a/new/er"));
        let names = ["", "to-a", "a", "a/b", "a/b/all", "", "to-a", "a", "a/b"];
        let names: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
        assert!(seen.starts_with(&names), "{seen:?}");
    }
}
