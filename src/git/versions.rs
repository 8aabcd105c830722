//! The contents of a file in earlier commits. Reads only, and never more than some of them.

use std::path::Path;

use git2::{Commit, ObjectType, Oid};

use super::error::GitResult;
use super::history::first_parents;
use super::message;
use super::{Snapshots, Store};

/// The limits of a look back: commits, different contents of the file, and bytes of them.
const COMMITS: usize = 200;
const VERSIONS: usize = 20;
const BYTES: usize = 8 * 1024 * 1024;

/// The commit that took a content's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// All hex digits; none for one of the private snapshots, which nobody sees.
    pub commit: Option<String>,
    /// The first line of its message, without clada's mark.
    pub subject: String,
    /// Unix time in seconds.
    pub time: i64,
}

impl Snapshots {
    /// Shows the contents that a file (relative to the root) had, newest first, until `look` has an answer; that, and the
    /// commit after which the content was another: `None` where the newest commit still has it.
    ///
    /// # Errors
    /// Where the history cannot be read.
    pub fn earlier<T>(
        &self,
        path: &Path,
        mut look: impl FnMut(&[u8]) -> Option<T>,
    ) -> GitResult<Option<(T, Option<Successor>)>> {
        if let Some(found) = self.store.earlier(path, &mut look)? {
            return Ok(Some(found));
        }
        // Git may not have tracked it then.
        let Some(aside) = self.aside() else {
            return Ok(None);
        };
        let mut found = aside.earlier(path, &mut look)?;
        if let Some((_, Some(successor))) = &mut found {
            successor.commit = None;
        }
        Ok(found)
    }
}

impl Store {
    fn earlier<T>(
        &self,
        path: &Path,
        look: &mut impl FnMut(&[u8]) -> Option<T>,
    ) -> GitResult<Option<(T, Option<Successor>)>> {
        let path = self.root.join(path);
        let mut successor: Option<Commit<'_>> = None;
        let mut last: Option<Oid> = None;
        let (mut versions, mut bytes) = (0, 0);
        for commit in first_parents(self.tip()?).take(COMMITS) {
            let commit = commit?;
            let entry = commit.tree()?.get_path(&path).ok();
            let blob = entry.filter(|entry| entry.kind() == Some(ObjectType::Blob));
            let blob = blob.map(|entry| entry.id());
            if let Some(id) = blob.filter(|id| last != Some(*id)) {
                let (size, _) = self.repo.odb()?.read_header(id)?;
                versions += 1;
                bytes += size;
                if versions > VERSIONS || bytes > BYTES {
                    break;
                }
                if let Some(found) = look(self.repo.find_blob(id)?.content()) {
                    return Ok(Some((found, successor.as_ref().map(Successor::of))));
                }
            }
            last = blob;
            successor = Some(commit);
        }
        Ok(None)
    }
}

impl Successor {
    fn of(commit: &Commit<'_>) -> Self {
        let text = String::from_utf8_lossy(commit.message_bytes());
        let first = || text.lines().next().unwrap_or_default().to_owned();
        Self {
            commit: Some(commit.id().to_string()),
            subject: message::read(&text).map_or_else(first, |message| message.subject),
            time: commit.time().seconds(),
        }
    }
}
