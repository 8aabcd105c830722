//! The copied replies of a watched file whose results are not handed out yet, as files of clada's state. One that was taken
//! is not lost with the process.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::world::folder::if_there;
use crate::world::state;

/// The extensions of a reply's name, before and after it was put into the notes; before them is its number.
const WAITING: &str = "waiting";
const WRITTEN: &str = "written";

/// A copied reply that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptReply {
    pub number: u64,
    /// It was put into the notes.
    pub is_written: bool,
    pub text: String,
}

/// The copied replies of one watched file.
#[derive(Debug, Clone)]
pub struct CopiedReplies {
    folder: PathBuf,
}

impl CopiedReplies {
    /// The replies for the watched file at this path, with all links followed.
    pub fn of(folder: &Path, notes: &Path) -> Self {
        let folder = folder.join(state::name_of(&[notes]));
        Self { folder }
    }

    /// Keeps a reply that is not in the notes yet, under a number that is greater than all others.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn keep(&self, number: u64, text: &str) -> io::Result<()> {
        let new = self.folder.join("new");
        state::replace(&self.path(number, WAITING), &new, |file| {
            file.write_all(text.as_bytes())
        })
    }

    /// Notes that a reply is in the notes.
    ///
    /// # Errors
    /// Where its file cannot be renamed.
    pub fn written(&self, number: u64) -> io::Result<()> {
        let renamed = fs::rename(self.path(number, WAITING), self.path(number, WRITTEN));
        if_there(renamed).map(drop)
    }

    /// Returns all of them, the oldest first.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn all(&self) -> io::Result<Vec<KeptReply>> {
        let Some(entries) = if_there(fs::read_dir(&self.folder))? else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some((number, extension)) = name.and_then(|name| name.split_once('.')) else {
                continue;
            };
            if let Ok(number) = number.parse() {
                all.push(KeptReply {
                    number,
                    is_written: extension == WRITTEN,
                    text: fs::read_to_string(path)?,
                });
            }
        }
        all.sort_unstable_by_key(|reply| reply.number);
        Ok(all)
    }

    /// Forgets one; the folder too where it was the last.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn forget(&self, number: u64) -> io::Result<()> {
        for extension in [WAITING, WRITTEN] {
            if_there(fs::remove_file(self.path(number, extension)))?;
        }
        // Others may be in it.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }

    fn path(&self, number: u64, extension: &str) -> PathBuf {
        self.folder.join(format!("{number}.{extension}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_kept_in_order_until_they_are_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let notes = dir.path().join("clada.md");
        let replies = CopiedReplies::of(&dir.path().join("copied"), &notes);
        let kept = |number: u64, is_written: bool| KeptReply {
            number,
            is_written,
            text: format!("reply {number}\n"),
        };
        assert_eq!(replies.all().unwrap(), []);
        for number in [9, 10] {
            replies.keep(number, &kept(number, false).text).unwrap();
        }
        replies.written(9).unwrap();
        assert_eq!(replies.all().unwrap(), [kept(9, true), kept(10, false)]);
        replies.forget(9).unwrap();
        replies.forget(9).unwrap();
        assert_eq!(replies.all().unwrap(), [kept(10, false)]);
        replies.forget(10).unwrap();
        assert!(!replies.folder.exists());
    }
}
