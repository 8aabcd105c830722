//! The trees that a fence opens: found once, held by descriptor, and left out where they became something else. Never
//! follows a link that a command could have made.
//!
//! A command may put a link to the home directory where one of its trees was. So trees are found when a listener starts,
//! while nothing runs: links that lie in a tree are not followed even then, as an earlier command could have made them. From
//! then on each tree is one folder, known by its descriptor. Its path must still lead there without a link; only a folder
//! that the user put in its place, where no command can write, is taken instead.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rustix::fs::{OFlags, fstat};
use rustix::process::geteuid;

use super::is_in;
use crate::world::folder::open_plain;
use crate::world::locked::locked;
use crate::world::ownership;

/// One folder, or file, in which commands may write.
#[derive(Debug, Clone)]
pub(super) struct WritableTree {
    /// Without links.
    pub(super) path: PathBuf,
    descriptor: Arc<OwnedFd>,
    /// Its device and its number there.
    pub(super) id: (u64, u64),
}

impl AsFd for WritableTree {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A path that the settings name, and that is not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub path: PathBuf,
    pub why: NotOpened,
}

/// The reason why a tree is not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotOpened {
    /// A link in a tree leads there, or has come in its place since the start.
    Link(PathBuf),
    /// It belongs to another user.
    NotOwn,
    /// Another folder has come in its place since the start.
    Replaced,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match &self.why {
            NotOpened::Link(link) if *link == self.path => {
                "it is a symbolic link that a command may have made; put the folder back"
            }
            NotOpened::Link(link) => &format!(
                "the symbolic link `{}`, which a command may have made, leads there; remove it",
                link.display()
            ),
            NotOpened::NotOwn => "it belongs to another user",
            NotOpened::Replaced => {
                "it was replaced after clada started, perhaps by a command; if you did that, restart clada"
            }
        };
        let path = self.path.display();
        write!(f, "⚠ commands may not write in `{path}`: {why}")
    }
}

/// The trees of a fence, found at the first use and the same for all its clones.
#[derive(Debug, Clone, Default)]
pub struct Settled(Arc<OnceLock<Mutex<WritableTrees>>>);

impl Settled {
    /// The trees as they are now; `named` are their paths, needed at the first use only.
    pub(super) fn trees(
        &self,
        named: impl FnOnce() -> Vec<PathBuf>,
    ) -> MutexGuard<'_, WritableTrees> {
        let trees = self
            .0
            .get_or_init(|| Mutex::new(WritableTrees::of(&named())));
        locked(trees)
    }

    #[cfg(test)]
    pub(crate) fn is_found(&self) -> bool {
        self.0.get().is_some()
    }
}

#[derive(Debug)]
pub(super) struct WritableTrees {
    /// By their paths, with links resolved; those that were not there yet come last.
    named: Vec<(PathBuf, Option<WritableTree>)>,
    left_out: Vec<LeftOut>,
}

/// A named path as it was followed.
struct Followed {
    named: PathBuf,
    path: PathBuf,
    /// The places of the links that were followed.
    links: Vec<PathBuf>,
    opened: Option<WritableTree>,
}

impl Followed {
    /// The error for a path that leads through a link in one of these trees.
    fn in_tree(&self, trees: &[PathBuf]) -> Option<LeftOut> {
        let link = self.links.iter().find(|link| is_in(link, trees))?;
        Some(LeftOut {
            path: self.named.clone(),
            why: NotOpened::Link(link.clone()),
        })
    }
}

impl WritableTrees {
    fn of(named: &[PathBuf]) -> Self {
        let followed: Vec<Followed> = named.iter().map(|path| follow(path)).collect();
        let (plain, mut linked): (Vec<&Followed>, Vec<_>) =
            followed.iter().partition(|it| it.links.is_empty());
        let mut paths: Vec<PathBuf> = plain.into_iter().map(|it| it.path.clone()).collect();
        // A link that was accepted may lead to a tree in which another link lies.
        while let Some(found) = linked.iter().position(|it| it.in_tree(&paths).is_none()) {
            paths.push(linked.swap_remove(found).path.clone());
        }
        let mut left_out: Vec<LeftOut> = Vec::new();
        let mut accepted = BTreeMap::new();
        for followed in followed {
            match followed.in_tree(&paths) {
                Some(link) => left_out.push(link),
                None => _ = accepted.insert(followed.path, followed.opened),
            }
        }
        let (mut there, mut missing) = (Vec::<(PathBuf, Option<WritableTree>)>::new(), Vec::new());
        for (path, opened) in accepted {
            // One inside another adds nothing.
            if there.iter().any(|(tree, _)| path.starts_with(tree)) {
                continue;
            }
            match opened {
                Some(tree) if is_own(&tree) => there.push((path, Some(tree))),
                Some(_) => left_out.push(LeftOut {
                    path,
                    why: NotOpened::NotOwn,
                }),
                None => missing.push((path, None)),
            }
        }
        there.append(&mut missing);
        Self {
            named: there,
            left_out,
        }
    }

    /// The paths of those that were there when they were looked at last; on systems other than Linux, of all.
    pub(super) fn known(&self) -> Vec<PathBuf> {
        let known = self.named.iter();
        let known = known.filter(|(_, tree)| tree.is_some() || !cfg!(target_os = "linux"));
        known.map(|(path, _)| path.clone()).collect()
    }

    /// The trees that can be opened now, and those that are left out. Those that came to be since, or were replaced, are among
    /// the former where no command could have made them.
    pub(super) fn now(&mut self) -> (Vec<WritableTree>, Vec<LeftOut>) {
        let mut left_out = self.left_out.clone();
        let held = self.named.iter().filter(|(_, tree)| tree.is_some());
        let held: Vec<PathBuf> = held.map(|(path, _)| path.clone()).collect();
        let is_safe = |path: &Path| path.parent().is_some_and(|parent| !is_in(parent, &held));
        let mut now = Vec::new();
        for (path, tree) in &mut self.named {
            let why = match (opened(path), &*tree) {
                (Ok(there), known)
                    if known.as_ref().is_some_and(|known| known.id == there.id)
                        || is_safe(path) && is_own(&there) =>
                {
                    now.push(there.clone());
                    *tree = Some(there);
                    continue;
                }
                (Ok(_), Some(_)) => NotOpened::Replaced,
                (Err(error), Some(_)) if is_link(&error, path) => NotOpened::Link(path.clone()),
                // It is missing.
                _ => continue,
            };
            left_out.push(LeftOut {
                path: path.clone(),
                why,
            });
        }
        (now, left_out)
    }

    /// The paths of those that are not there now.
    pub(super) fn missing(&mut self) -> Vec<PathBuf> {
        let (now, left_out) = self.now();
        let is_out = |path: &Path| {
            now.iter().any(|tree| tree.path == path) || left_out.iter().any(|it| it.path == path)
        };
        let named = self.named.iter().map(|(path, _)| path);
        named.filter(|path| !is_out(path)).cloned().collect()
    }
}

/// Tells if a tree is this user's, or root's as `/tmp` is.
fn is_own(tree: &WritableTree) -> bool {
    let owner = fstat(tree.descriptor.as_fd()).map(|stat| stat.st_uid);
    owner.is_ok_and(|owner| owner == geteuid().as_raw() || owner == 0)
}

fn is_link(error: &io::Error, path: &Path) -> bool {
    let leads = || fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
    matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR)) || leads()
}

/// Opens a path without following any link.
fn opened(path: &Path) -> io::Result<WritableTree> {
    let descriptor = open_plain(path, OFlags::empty())?;
    let stat = fstat(&descriptor)?;
    if stat.st_mode & libc::S_IFMT == libc::S_IFLNK {
        return Err(io::Error::from_raw_os_error(libc::ELOOP));
    }
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        reason = "the types differ between systems"
    )]
    let id = (stat.st_dev as u64, stat.st_ino);
    Ok(WritableTree {
        path: path.to_owned(),
        descriptor: Arc::new(descriptor),
        id,
    })
}

/// Follows a path as far as it exists, keeps where its links are, and opens what it leads to. One that cannot be followed stays as it
/// was named: it is not opened, as it has links.
fn follow(named: &Path) -> Followed {
    if let Some(opened) = opened_plain(named) {
        return Followed {
            named: named.to_owned(),
            path: named.components().collect(),
            links: Vec::new(),
            opened,
        };
    }
    let mut links = Vec::new();
    let mut keep = |at: &Path, found: &Metadata| {
        if found.is_symlink() {
            links.push(at.to_owned());
        }
        Ok::<_, Infallible>(())
    };
    let Ok(path) = ownership::follow(named, &mut keep);
    let path = path.unwrap_or_else(|_| named.to_owned());
    Followed {
        named: named.to_owned(),
        opened: opened(&path).ok(),
        path,
        links,
    }
}

/// Opens what is at a path, if there is something; `None` where a link is on the way. One call does for most paths: with a look at each
/// name of more than a hundred paths, a start took half as long again.
fn opened_plain(path: &Path) -> Option<Option<WritableTree>> {
    let mut parts = path.components();
    if !parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_))) {
        return None;
    }
    match opened(path) {
        Ok(tree) => Some(Some(tree)),
        Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::real;
    use super::*;
    use std::os::unix::fs::symlink;

    struct Ground {
        _dir: tempfile::TempDir,
        top: PathBuf,
    }

    impl Ground {
        fn new(dirs: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let top = real(dir.path());
            for name in dirs {
                fs::create_dir_all(top.join(name)).unwrap();
            }
            Self { _dir: dir, top }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.top.join(name)
        }

        fn trees(&self, names: &[&str]) -> WritableTrees {
            let named: Vec<_> = names.iter().map(|name| self.at(name)).collect();
            WritableTrees::of(&named)
        }

        fn open(&self, trees: &mut WritableTrees) -> Vec<PathBuf> {
            let (now, _) = trees.now();
            let below = |tree: WritableTree| tree.path.strip_prefix(&self.top).unwrap().to_owned();
            now.into_iter().map(below).collect()
        }
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn one_inside_another_adds_nothing() {
        let ground = Ground::new(&["a/b", "ab"]);
        let mut trees = ground.trees(&["a/b", "ab", "a", "a"]);
        assert_eq!(ground.open(&mut trees), paths(&["a", "ab"]));
    }

    #[test]
    fn a_link_of_the_users_is_followed_and_one_in_a_tree_is_not() {
        let ground = Ground::new(&["home", "big", "project"]);
        symlink(ground.at("big"), ground.at("cache")).unwrap();
        symlink(ground.at("home"), ground.at("project/out")).unwrap();
        symlink(ground.at("project/out"), ground.at("further")).unwrap();
        let mut trees = ground.trees(&["cache", "project", "project/out", "further"]);
        assert_eq!(ground.open(&mut trees), paths(&["big", "project"]));
        let (_, left_out) = trees.now();
        let link = NotOpened::Link(ground.at("project/out"));
        assert_eq!(left_out.len(), 2);
        assert!(left_out.iter().all(|it| it.why == link), "{left_out:?}");
    }

    #[test]
    fn what_became_a_link_is_left_out_and_said() {
        let ground = Ground::new(&["home", "p/cache", "project"]);
        let mut trees = ground.trees(&["p/cache", "project"]);
        fs::rename(ground.at("p/cache"), ground.at("p/was")).unwrap();
        symlink(ground.at("home"), ground.at("p/cache")).unwrap();
        assert_eq!(ground.open(&mut trees), paths(&["project"]));
        let (_, left_out) = trees.now();
        assert_eq!(
            left_out[0].to_string(),
            format!(
                "⚠ commands may not write in `{}`: it is a symbolic link that a command may have made; put the folder back",
                ground.at("p/cache").display()
            )
        );
        for (why, said) in [
            (
                NotOpened::Link("/l".into()),
                "`: the symbolic link `/l`, which a command may have made, leads there; remove it",
            ),
            (NotOpened::NotOwn, "`: it belongs to another user"),
            (
                NotOpened::Replaced,
                "`: it was replaced after clada started, perhaps by a command; if you did that, restart clada",
            ),
        ] {
            let path = "/p".into();
            let expected = format!("⚠ commands may not write in `/p{said}");
            assert_eq!(LeftOut { path, why }.to_string(), expected);
        }
        // A link on the way to it is none the better.
        fs::rename(ground.at("p"), ground.at("q")).unwrap();
        fs::create_dir_all(ground.at("home/cache")).unwrap();
        symlink(ground.at("home"), ground.at("p")).unwrap();
        assert_eq!(ground.open(&mut trees), paths(&["project"]));
    }

    #[test]
    fn what_was_missing_or_made_anew_by_the_user_is_taken() {
        let ground = Ground::new(&["project"]);
        let mut trees = ground.trees(&["project", "cache"]);
        assert_eq!(trees.missing(), [ground.at("cache")]);
        fs::create_dir(ground.at("cache")).unwrap();
        assert_eq!(ground.open(&mut trees), paths(&["project", "cache"]));
        assert_eq!(trees.missing(), [] as [PathBuf; 0]);
        // The old one stays, so that the new one has another number.
        fs::rename(ground.at("cache"), ground.at("old")).unwrap();
        assert_eq!(trees.missing(), [ground.at("cache")]);
        fs::create_dir(ground.at("cache")).unwrap();
        assert_eq!(ground.open(&mut trees), paths(&["project", "cache"]));
    }
}
