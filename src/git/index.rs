//! Git's index as saves leave it: changes that are in memory and not in its file yet. Owns when that file is read and written.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use git2::{Commit, Index, Oid, Tree};

use super::at::opened;
use super::entries::IndexContent;
use super::error::GitResult;
use super::history::{Saved, first_parent, first_parents};
use super::recorded::{INTENT_TO_ADD, KnownEntries};
use super::stage::Staged;
use super::tree::{self, TreeEdits};
use super::walk::{self, Ahead, Checksum, IndexFile, IndexWalk};
use super::{SnapshotError, Store};
use crate::world::folder::if_there;

/// The most of clada's last commits that the index may not have yet.
const LATE: usize = 100;

/// The changes of the index that its file does not have.
#[derive(Default)]
pub(super) struct PendingIndex {
    /// The index in memory holds changes that were given up, so it must be read again though the file is the same.
    pub(super) given_up: Cell<bool>,
    /// The changes that are committed and not written yet.
    pub(super) unsettled: RefCell<Vec<Staged>>,
    /// The entries as they were read last.
    known: RefCell<Option<(Checksum, Arc<KnownEntries>)>>,
}

/// The entries below `from` of the plain index file with that checksum.
fn known_in(path: &Path, checksum: Checksum, from: &Path) -> Option<KnownEntries> {
    let mut file = Vec::new();
    opened(path)?.read_to_end(&mut file).ok()?;
    let content = IndexContent::of(&file).filter(|content| content.checksum == checksum)?;
    Some(KnownEntries::among(content.entries, from))
}

impl Store {
    /// Makes git's index anew from the last commit where its file is gone: git takes that for one in which all is deleted.
    pub(super) fn mend_index(&self) -> GitResult<()> {
        let path = self.index_path();
        if self.is_private() || self.rules.is_beside_branch() || path.exists() {
            return Ok(());
        }
        let Some(tip) = self.tip()? else {
            return Ok(());
        };
        self.locks.patiently(&path, || {
            let mut index = self.repo.index()?;
            index.read_tree(&tip.tree()?)?;
            Ok(index.write()?)
        })
    }

    /// The index as it is, with what waits to be written.
    pub(super) fn index_now(&self) -> GitResult<Index> {
        let mut index = self.repo.index()?;
        // A missing index file is an empty index, which libgit2 believes only when forced.
        index.read(self.index.given_up.get() || !self.index_path().exists())?;
        // That may have been another one, which has none of this.
        let unsettled = self.index.unsettled.borrow();
        let ends = [unsettled.first(), unsettled.last()];
        if !ends.into_iter().flatten().all(|one| one.is_in(&index)) {
            for one in &*unsettled {
                one.put(&mut index)?;
            }
        }
        Ok(index)
    }

    /// The index's file as it is now.
    pub(super) fn index_file(&self) -> IndexFile {
        IndexFile {
            written: walk::written(&self.index_path()),
            checksum: self.checksum(),
        }
    }

    fn checksum(&self) -> Option<Checksum> {
        let mut sum = Checksum::default();
        let mut file = opened(&self.index_path())?;
        file.seek(SeekFrom::End(-(sum.len() as i64))).ok()?;
        file.read_exact(&mut sum).ok()?;
        // Git leaves it out where `index.skipHash` is set.
        (sum != Checksum::default()).then_some(sum)
    }

    /// The index as it is, read while all that its file has is compared with the work tree. With it the result of that, where
    /// the file is plain and is the same afterwards, and memory has nothing else.
    pub(super) fn index_and_ahead(
        &self,
        walk: &IndexWalk<'_>,
    ) -> GitResult<(Index, Option<Ahead>)> {
        let is_settled = self.index.unsettled.borrow().is_empty();
        let Some(checksum) = walk.file.checksum.filter(|_| is_settled) else {
            return Ok((self.index_now()?, None));
        };
        let last = self.index.known.borrow().clone();
        let (path, root) = (self.index_path(), self.root.as_path());
        let look = || {
            let known = match last {
                Some((then, known)) if then == checksum => known,
                _ => Arc::new(known_in(&path, checksum, root)?),
            };
            let doubts = walk.doubts_and_ids(&known);
            Some(Ahead { known, doubts })
        };
        let (index, ahead) = thread::scope(|scope| {
            let ahead = thread::Builder::new().spawn_scoped(scope, look);
            let index = self.index_now();
            let ahead = ahead.ok().map(thread::ScopedJoinHandle::join);
            let ahead = ahead.and_then(|done| done.unwrap_or_else(|panic| resume_unwind(panic)));
            (index, ahead)
        });
        let index = index?;
        let ahead = ahead.filter(|_| self.checksum() == Some(checksum));
        if let Some(ahead) = &ahead {
            self.index
                .known
                .replace(Some((checksum, Arc::clone(&ahead.known))));
        }
        Ok((index, ahead))
    }

    /// The entries of an index that was just read, as libgit2 has them; kept for the next time where the file was and is the same.
    pub(super) fn known_entries(&self, index: &Index, file: &IndexFile) -> Arc<KnownEntries> {
        let is_settled = self.index.unsettled.borrow().is_empty();
        let checksum = file
            .checksum
            .filter(|_| is_settled && self.checksum() == file.checksum);
        let entries = Arc::new(KnownEntries::of(index, &self.root));
        let known = checksum.map(|now| (now, Arc::clone(&entries)));
        self.index.known.replace(known);
        entries
    }

    /// Notes that these changes are committed, and written later.
    pub(super) fn put_off(&self, staged: Vec<Staged>) -> GitResult<()> {
        let mut unsettled = self.index.unsettled.borrow_mut();
        if unsettled.is_empty() && !staged.is_empty() && !self.is_private() {
            let mark = self.unsettled_mark();
            // Never through a link.
            if let Err(why) = File::create_new(&mark)
                && why.kind() != ErrorKind::AlreadyExists
            {
                return Err(SnapshotError::OwnIndex(mark, why));
            }
        }
        unsettled.extend(staged);
        self.index.given_up.set(false);
        Ok(())
    }

    /// Writes to the index's file what was committed after file tasks, as `git status` reads that file.
    pub(super) fn settle(&self) -> GitResult<()> {
        if self.index.unsettled.borrow().is_empty() {
            return Ok(());
        }
        self.write_index(&[])
    }

    /// Puts the staged entries into the index file, unless something began since it was read.
    ///
    /// The user may have run `git add` since the index was read: it is read again where its file is another
    /// one, and our entries are put into that. libgit2 takes the lock after that reading, not before as git
    /// does, so an `add` that ends within the same few milliseconds is still lost from the index (its content
    /// is not: it is on disk, and the next save sees it). Taking the lock ourselves would close that gap, but
    /// then libgit2 could not write the file.
    pub(super) fn write_index(&self, staged: &[Staged]) -> GitResult<()> {
        let mut unsettled = self.index.unsettled.borrow_mut();
        let mut index = self.repo.index()?;
        self.locks.patiently(&self.index_path(), || {
            index.read(false)?;
            for one in unsettled.iter().chain(staged) {
                one.put(&mut index)?;
            }
            self.refuse_in_the_middle(&index)?;
            if unsettled.is_empty() && staged.is_empty() {
                return Ok(());
            }
            Ok(index.write()?)
        })?;
        unsettled.clear();
        self.index.given_up.set(false);
        let mark = self.unsettled_mark();
        match if_there(fs::remove_file(&mark)) {
            Err(why) => Err(SnapshotError::OwnIndex(mark, why)),
            Ok(_) => Ok(()),
        }
    }

    /// A file that is there while the index's own waits to be written: it tells if clada was killed then.
    fn unsettled_mark(&self) -> PathBuf {
        let mut name = self.index_path().into_os_string();
        name.push(".clada-unsettled");
        name.into()
    }

    /// Makes a tree of what the user has staged, of the paths that the index has otherwise than the last commit; with it,
    /// those of them that nobody has staged.
    pub(super) fn staged_tree(
        &self,
        index: &Index,
        differing: &BTreeSet<PathBuf>,
    ) -> GitResult<(Option<Oid>, BTreeSet<PathBuf>)> {
        let mut staged = differing.clone();
        if staged.is_empty() {
            return Ok((None, staged));
        }
        let head = self.tip()?;
        if self.unsettled_mark().symlink_metadata().is_ok() {
            self.forget_late(&mut staged, index, head.as_ref())?;
        }
        let late = differing.difference(&staged).cloned().collect();
        let base = head.map(|head| head.tree()).transpose()?;
        Ok((self.tree_with(index, base.as_ref(), &staged)?, late))
    }

    /// Takes out what nobody has staged: where clada ended before the index was settled, that has what was there before its
    /// last commits.
    fn forget_late(
        &self,
        paths: &mut BTreeSet<PathBuf>,
        index: &Index,
        head: Option<&Commit<'_>>,
    ) -> GitResult<()> {
        for commit in first_parents(head.cloned()).take(LATE) {
            let commit = commit?;
            if paths.is_empty() || Saved::of(&commit).is_none() {
                break;
            }
            let before = first_parent(&commit)?.map(|it| it.tree()).transpose()?;
            paths.retain(|path| {
                let was = before.as_ref().and_then(|tree| tree.get_path(path).ok());
                let was = was.map(|was| (was.id(), was.filemode().cast_unsigned()));
                was != index.get_path(path, 0).map(|is| (is.id, is.mode))
            });
        }
        Ok(())
    }

    /// The tree of a commit with these paths as the index has them.
    pub(super) fn tree_with(
        &self,
        index: &Index,
        base: Option<&Tree<'_>>,
        paths: &BTreeSet<PathBuf>,
    ) -> GitResult<Option<Oid>> {
        let saved = paths.iter().filter(|path| !self.rules.is_left_out(path));
        let edits: TreeEdits<'_> = saved
            .map(|path| {
                let entry = index.get_path(path, 0);
                // What is only announced is nothing yet: git commits none of it either.
                let entry = entry.filter(|entry| entry.flags_extended & INTENT_TO_ADD == 0);
                let now = entry.map(|entry| (entry.id, entry.mode));
                (path.as_os_str().as_bytes(), now)
            })
            .collect();
        match tree::rewrite(&self.repo, base, &edits)? {
            // Before the first commit an empty tree is nothing to commit; afterwards it says that all is deleted.
            None if base.is_some() => Ok(Some(self.empty_tree()?)),
            tree => Ok(tree),
        }
    }

    pub(super) fn empty_tree(&self) -> Result<Oid, git2::Error> {
        self.repo.treebuilder(None)?.write()
    }
}
