//! The last texts that were meant for the clipboard, of each watched file, as files of clada's state: to be copied once more.
//! Each is replaced as a whole; one that is lost costs nothing but that. Beside them is what an output file held, while
//! a newer run writes there.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::world::folder::if_there;
use crate::world::state;

/// The number of texts that are kept of each watched file.
pub const KEPT: usize = 20;

/// The ends of the names: of what an output file held, of what is being written, and of a text.
const ASIDE: &str = "aside";
const NEW: &str = "new";
const PACKET: &str = "txt";

/// The texts of one watched file.
#[derive(Debug, Clone)]
pub struct Packets {
    folder: PathBuf,
}

impl Packets {
    /// The texts of the watched file at this path, with all links followed.
    pub fn of(folder: &Path, notes: &Path) -> Self {
        let folder = folder.join(state::name_of(&[notes]));
        Self { folder }
    }

    /// Keeps the text that went out with a results block, by the block's number, and forgets the oldest.
    ///
    /// # Errors
    /// Where it cannot be written; then the others are what they were.
    pub fn keep(&self, block: i64, text: &str) -> io::Result<()> {
        self.put(&self.path(block, PACKET), |file| {
            file.write_all(text.as_bytes())
        })?;
        for old in self.numbers(PACKET)?.into_iter().rev().skip(KEPT) {
            fs::remove_file(self.path(old, PACKET))?;
        }
        Ok(())
    }

    /// The text that went out with this block; `None` if it is forgotten.
    ///
    /// # Errors
    /// Where it cannot be read, naming it.
    pub fn read(&self, block: i64) -> io::Result<Option<String>> {
        let path = self.path(block, PACKET);
        if_there(fs::read_to_string(&path)).map_err(|error| unreadable(&path, &error))
    }

    /// The newest text.
    ///
    /// # Errors
    /// Where it cannot be read, naming it.
    pub fn newest(&self) -> io::Result<Option<String>> {
        match self.numbers(PACKET)?.last() {
            Some(block) => self.read(*block),
            None => Ok(None),
        }
    }

    /// Keeps what the output file held when this block was the newest.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn set_aside(&self, block: i64, output: &mut File) -> io::Result<()> {
        let path = self.path(block, ASIDE);
        self.put(&path, |file| io::copy(output, file).map(drop))?;
        self.forget_aside(Some(block));
        Ok(())
    }

    /// Opens what was set aside with this block.
    pub fn aside(&self, block: i64) -> Option<File> {
        File::open(self.path(block, ASIDE)).ok()
    }

    /// Removes what was set aside, but that of this block. It is no loss where that cannot be: it goes the next time.
    pub fn forget_aside(&self, but: Option<i64>) {
        for block in self.numbers(ASIDE).unwrap_or_default() {
            if Some(block) != but {
                let _ = fs::remove_file(self.path(block, ASIDE));
            }
        }
    }

    fn path(&self, block: i64, kind: &str) -> PathBuf {
        self.folder.join(format!("{block}.{kind}"))
    }

    /// The blocks of which there is a file of this kind, in order.
    fn numbers(&self, kind: &str) -> io::Result<Vec<i64>> {
        let entries = if_there(fs::read_dir(&self.folder));
        let entries = entries.map_err(|error| unreadable(&self.folder, &error))?;
        let paths = entries.into_iter().flatten().flatten();
        let paths = paths.map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension() == Some(OsStr::new(kind)));
        let number = |path: PathBuf| path.file_stem()?.to_str()?.parse().ok();
        let mut numbers: Vec<i64> = paths.filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn put(&self, path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        state::replace(path, &self.folder.join(NEW), write)
    }
}

fn unreadable(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("cannot read `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_file_has_its_last_ones_which_are_the_users_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/packets");
        let of = |name: &str| Packets::of(&folder, Path::new(name));
        assert_eq!(of("/a").newest().unwrap(), None);
        let last = KEPT as i64 + 95;
        for block in 90..=last {
            of("/a").keep(block, &format!("text {block}")).unwrap();
        }
        of("/b").keep(7, "b").unwrap();
        let newest = of("/a").newest().unwrap();
        assert_eq!(newest, Some(format!("text {last}")), "by number, not name");
        assert_eq!(of("/b").newest().unwrap().as_deref(), Some("b"));
        assert_eq!(of("/a").read(95).unwrap(), None, "forgotten");
        assert_eq!(of("/a").read(96).unwrap().as_deref(), Some("text 96"));
        assert_eq!(fs::read_dir(&of("/a").folder).unwrap().count(), KEPT);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&of("/a").folder), 0o700);
        assert_eq!(mode(&of("/a").path(96, PACKET)), 0o600);
    }

    #[test]
    fn what_is_set_aside_is_that_of_one_block() {
        let dir = tempfile::tempdir().unwrap();
        let packets = Packets::of(dir.path(), Path::new("/a"));
        let output = dir.path().join("out");
        for (block, text) in [(1, "one"), (2, "two")] {
            fs::write(&output, text).unwrap();
            let mut file = File::open(&output).unwrap();
            packets.set_aside(block, &mut file).unwrap();
        }
        assert!(packets.aside(1).is_none());
        let two = io::read_to_string(packets.aside(2).unwrap()).unwrap();
        assert_eq!(two, "two");
        assert_eq!(packets.newest().unwrap(), None);
        packets.forget_aside(None);
        assert!(packets.aside(2).is_none());
    }
}
