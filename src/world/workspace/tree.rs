//! The files under a folder of the project, in the order of the paths: what git ignores is left out, links are not
//! followed, a `.git` is not entered. Goes by directory handles only.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, DirEntry, MetadataExt};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags, RawMode, open};

use super::disk::{Disk, kind, open_regular};
use super::entry::io_error;
use super::{FileKind, FsError, ResolvedPath};
use crate::policy::paths::Access;
use crate::reply::path::is_git;
use crate::world::folder::if_there;
use crate::world::sandbox;

/// Folders in folders in folders: below so many nothing is looked at, as each is held open.
const DEEPEST: usize = 128;
/// The most that is read of a file that says what git ignores.
const LONGEST_RULES: u64 = 1024 * 1024;

/// A name in a folder.
#[derive(Debug, Clone)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: FileKind,
    /// In bytes.
    pub size: u64,
    /// A second since 1970.
    pub modified: i64,
    /// The target that is written in a link.
    pub target: Option<PathBuf>,
}

/// The files that were found under a folder.
#[derive(Debug, Default)]
pub struct FileTree {
    /// Relative to the root, in the order of the paths.
    pub paths: Vec<PathBuf>,
    /// The number of files that were left out because tasks may not read them.
    pub withheld: usize,
    /// Folders that could not be read.
    pub unread: Vec<PathBuf>,
    /// Pipes, sockets and devices.
    pub odd: Vec<(PathBuf, &'static str)>,
    /// There was no time for all of it.
    pub cut: bool,
}

/// The bounds of a look at all that is under a folder.
pub struct TreeQuery<'r> {
    /// True for what is wanted, by its path from where the walk begins.
    pub wants: &'r dyn Fn(&str, FileKind) -> bool,
    /// The number of names in the deepest path; `None` for any number.
    pub depth: Option<usize>,
    /// The time to end.
    pub until: Instant,
}

impl Disk {
    /// True if the content of what is at a place may be shown.
    pub fn may_read(&self, place: &ResolvedPath) -> bool {
        self.allowed(Access::Read, place).is_ok()
    }

    /// Looks at a place; `None` where nothing is.
    ///
    /// # Errors
    /// Where its folder cannot be looked at.
    pub fn list_one(&self, place: &ResolvedPath) -> Result<Option<FolderEntry>, FsError> {
        let (Some(name), Some(parent)) = (place.path().file_name(), place.path().parent()) else {
            return Ok(None);
        };
        let found = self.folder(parent);
        let found = found.and_then(|folder| listed(&folder, name.to_owned()));
        if_there(found).map_err(|error| io_error("look at", place, error))
    }

    /// All that is in a folder, by name; nothing where there is no such folder on the disk.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn list(&self, place: &ResolvedPath) -> Result<Vec<FolderEntry>, FsError> {
        let fail = |error| io_error("read the folder", place, error);
        let Some(folder) = if_there(self.folder(place.path())).map_err(fail)? else {
            return Ok(Vec::new());
        };
        let names = names(&folder).map_err(fail)?.into_iter();
        // What is gone in the meantime is not there.
        let there = names.filter_map(|(name, _)| listed(&folder, name).ok());
        Ok(there.collect())
    }

    /// All that is wanted under a folder. The folder itself is looked into also where git ignores it.
    pub fn tree(&self, base: &ResolvedPath, reach: &TreeQuery<'_>) -> FileTree {
        let mut walk = TreeWalk {
            disk: self,
            base: base.path(),
            reach,
            rules: self.rules_above(base.path()),
            tree: FileTree::default(),
        };
        match if_there(self.folder(base.path())) {
            Ok(Some(folder)) => walk.look_into(&folder, base.path(), 1),
            Ok(None) => {}
            Err(_) => walk.tree.unread.push(base.path().to_owned()),
        }
        walk.tree
    }

    /// Reads the rules of git in the folders above one, also those of its repository outside the root.
    fn rules_above(&self, base: &Path) -> Vec<Gitignore> {
        let root = Path::new(&self.spellings().canonical);
        let inside = |dir: &Path| rules_of(&*self.folder(dir).ok()?, &root.join(dir));
        let outside = |dir: &Path| parsed(dir, &[rules_at(&dir.join(".gitignore"))?]);
        let mut rules: Vec<Gitignore> = base.ancestors().skip(1).filter_map(inside).collect();
        if let Some(top) = root.ancestors().find(|dir| dir.join(".git").exists()) {
            let between = root.ancestors().skip(1);
            let between = between.take_while(|dir| dir.starts_with(top));
            rules.extend(between.filter_map(outside));
            let exclude = sandbox::shared_dir(root);
            let exclude = exclude.and_then(|dir| rules_at(&dir.join("info/exclude")));
            rules.extend(exclude.and_then(|lines| parsed(top, &[lines])));
        }
        // The outermost comes first.
        rules.reverse();
        rules
    }
}

/// A walk in progress.
struct TreeWalk<'w> {
    disk: &'w Disk,
    base: &'w Path,
    reach: &'w TreeQuery<'w>,
    /// From the outermost folder to the one that is looked into.
    rules: Vec<Gitignore>,
    tree: FileTree,
}

impl TreeWalk<'_> {
    fn look_into(&mut self, folder: &Dir, path: &Path, depth: usize) {
        let Ok(names) = names(folder) else {
            self.tree.unread.push(path.to_owned());
            return;
        };
        let root = Path::new(&self.disk.spellings().canonical);
        let own = names
            .iter()
            .any(|(name, _)| RULES.iter().any(|rules| name == rules))
            .then(|| rules_of(folder, &root.join(path)))
            .flatten();
        let outer = self.rules.len();
        self.rules.extend(own);
        for (name, kind) in names {
            self.tree.cut |= Instant::now() >= self.reach.until;
            if self.tree.cut {
                break;
            }
            let kind = match kind {
                // Not every file system says it in its folders.
                FileKind::Other => folder
                    .symlink_metadata(&name)
                    .map_or(kind, |found| self::kind(found.file_type())),
                kind => kind,
            };
            let found = path.join(&name);
            if name.to_str().is_some_and(is_git)
                || self.is_ignored(&root.join(&found), kind == FileKind::Dir)
            {
                continue;
            }
            if kind == FileKind::Other {
                let what = oddity(folder, &name);
                self.tree.odd.extend(what.map(|what| (found.clone(), what)));
            }
            let from_base = found.strip_prefix(self.base).unwrap_or(&found);
            if (self.reach.wants)(&from_base.to_string_lossy(), kind) {
                if self.disk.may_read(&ResolvedPath(found.clone())) {
                    self.tree.paths.push(found.clone());
                } else {
                    self.tree.withheld += 1;
                }
            }
            if kind == FileKind::Dir && self.reach.depth.is_none_or(|deepest| depth < deepest) {
                match if_there(folder.open_dir_nofollow(&name)) {
                    Ok(Some(inner)) if depth < DEEPEST => {
                        self.look_into(&inner, &found, depth + 1);
                    }
                    // Gone in the meantime.
                    Ok(None) => {}
                    _ => self.tree.unread.push(found),
                }
            }
        }
        self.rules.truncate(outer);
    }

    /// The innermost folder that says something about it decides.
    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let innermost_first = self.rules.iter().rev();
        let mut said = innermost_first.map(|rules| rules.matched(path, is_dir));
        said.find(|said| !said.is_none())
            .is_some_and(|said| said.is_ignore())
    }
}

/// The files that say what is to be left out; the second has the last word.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

fn rules_of(folder: &Dir, path: &Path) -> Option<Gitignore> {
    let read = |name: &&str| {
        let place = ResolvedPath(path.join(name));
        let (file, _) = open_regular(folder, OsStr::new(name), &place).ok()?;
        beginning(file)
    };
    let texts: Vec<String> = RULES.iter().filter_map(read).collect();
    parsed(path, &texts)
}

/// The rules in a file outside of the root. It may be a link, but nothing that would be waited for.
fn rules_at(path: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = std::fs::File::from(open(path, flags, Mode::empty()).ok()?);
    let is_file = file.metadata().ok()?.is_file();
    is_file.then(|| beginning(file)).flatten()
}

/// As much of a file with rules as is read.
fn beginning(file: impl Read) -> Option<String> {
    let mut text = Vec::new();
    file.take(LONGEST_RULES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The rules of a folder. What is no rule is passed over, as git does.
fn parsed(folder: &Path, texts: &[String]) -> Option<Gitignore> {
    let mut rules = GitignoreBuilder::new(folder);
    let lines = texts.iter().flat_map(|text| text.lines());
    for line in lines.map(|line| line.trim_start_matches('\u{feff}')) {
        let _ = rules.add_line(None, line);
    }
    rules.build().ok().filter(|rules| !rules.is_empty())
}

/// The names in a folder, sorted, with what the folder says that they are.
fn names(folder: &Dir) -> io::Result<Vec<(OsString, FileKind)>> {
    let named = |entry: io::Result<DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name(), kind(entry.file_type()?)))
    };
    let mut names = folder
        .entries()?
        .map(named)
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(names)
}

/// The word for what is neither a file nor a folder nor a link.
fn oddity(folder: &Dir, name: &OsStr) -> Option<&'static str> {
    let found = folder.symlink_metadata(name).ok()?;
    match FileType::from_raw_mode(found.mode() as RawMode) {
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        FileType::BlockDevice | FileType::CharacterDevice => Some("a device"),
        _ => None,
    }
}

fn listed(folder: &Dir, name: OsString) -> io::Result<FolderEntry> {
    let found = folder.symlink_metadata(&name)?;
    let kind = kind(found.file_type());
    let target = (kind == FileKind::Link).then(|| folder.read_link_contents(&name).ok());
    Ok(FolderEntry {
        kind,
        size: found.size(),
        modified: found.mtime(),
        target: target.flatten(),
        name,
    })
}
