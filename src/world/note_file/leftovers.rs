//! Clears away what a clada that was killed in a write-back left beside the notes. Never removes a text that is not in them.

use super::NoteFile;
use super::write_back::{LONGEST_NAME, RANDOM};
use crate::world::folder::OpenFolder;
use crate::world::lease;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

impl NoteFile {
    /// Clears away what a killed clada left: the text from before, a save that came in between, or results that had not got into the
    /// file yet. Of each, `is_in` is asked whether the user's part of that text is in the file now. Then it is removed; else it gets
    /// a name that says that it was kept, which is returned: the person must be told.
    ///
    /// The caller holds the lock on the file, as what another clada is at work with looks the same. What cannot be removed stays, to
    /// be found next time. What is beside a file with a very long name stays too: that name was cut, so it may be another file's.
    pub fn leftovers(&self, is_in: &mut dyn FnMut(&str) -> bool) -> Vec<PathBuf> {
        let Ok(Some(folder)) = self.folder() else {
            return Vec::new();
        };
        let named = folder.names().into_iter();
        let named = named.filter(|name| self.names_ours(name));
        let paths = named.map(|name| self.path.with_file_name(name));
        let left: Vec<PathBuf> = paths
            .filter(|path| self.may_be_ours(&folder, path))
            .collect();
        let mut kept = Vec::new();
        for path in left {
            if self.is_needless(&folder, &path, is_in) {
                let _ = folder.remove(&path);
            } else {
                kept.push(self.keep(&folder, path));
            }
        }
        kept
    }

    /// True if a write-back of this file, and of no other, makes files of this name.
    fn names_ours(&self, name: &OsStr) -> bool {
        let own = self.path.file_name().and_then(OsStr::to_str);
        let beside = self.beside("tmp");
        let random = name.as_bytes().strip_prefix(beside.as_bytes());
        own.is_some_and(|own| own.len() <= LONGEST_NAME)
            && random.is_some_and(|random| {
                random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
            })
    }

    /// True if it is a file of this user, or of the owner of the notes: a file that came off their path is his, also where
    /// clada is root.
    fn may_be_ours(&self, folder: &OpenFolder, path: &Path) -> bool {
        let Ok(found) = folder.metadata(path) else {
            return false;
        };
        let notes = folder.metadata(&self.path).ok();
        let owners = [Some(geteuid().as_raw()), notes.map(|notes| notes.uid())];
        found.is_file() && owners.contains(&Some(found.uid()))
    }

    /// True if nothing is lost with this file: its text is in the notes, and nobody is writing another one into it.
    fn is_needless(
        &self,
        folder: &OpenFolder,
        path: &Path,
        is_in: &mut dyn FnMut(&str) -> bool,
    ) -> bool {
        let Ok(Some(file)) = self.open(folder, path) else {
            return false;
        };
        lease::no_writer(&file) != Some(false) && self.text_of(&file).is_ok_and(|text| is_in(&text))
    }
}
