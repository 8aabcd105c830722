//! The text that was last meant for the clipboard, of each watched file, as a file of clada's state: to be copied once more.
//! Replaced as a whole; one that is lost costs nothing but that.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::lang::hex::hex;

/// Where that of one watched file is kept.
#[derive(Debug, Clone)]
pub struct PacketFile {
    path: PathBuf,
}

impl PacketFile {
    /// That of the watched file at this path, with all links followed.
    pub fn of(folder: &Path, notes: &Path) -> Self {
        let hash = Sha256::digest(notes.as_os_str().as_encoded_bytes());
        let path = folder.join(format!("{}.txt", hex(&hash[..12])));
        Self { path }
    }

    /// Keeps another text in place of the one before.
    ///
    /// # Errors
    /// Where it cannot be written; then it is what it was.
    pub fn keep(&self, text: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        // Always of this name, so that a crash leaves no more than one; who watches the file does so alone.
        let new = self.path.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&new)?.write_all(text.as_bytes())?;
        fs::rename(new, &self.path)?;
        Ok(())
    }

    /// What was kept last.
    ///
    /// # Errors
    /// Where it cannot be read, naming it.
    pub fn read(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io::Error::other(format!(
                "cannot read `{}`: {error}",
                self.path.display()
            ))),
            text => text.map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn each_file_has_its_last_one_which_is_the_users_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/packets");
        let of = |name: &str| PacketFile::of(&folder, Path::new(name));
        assert_eq!(of("/a").read().unwrap(), None);
        for text in ["one", "two"] {
            of("/a").keep(text).unwrap();
        }
        of("/b").keep("b").unwrap();
        assert_eq!(of("/a").read().unwrap().as_deref(), Some("two"));
        assert_eq!(of("/b").read().unwrap().as_deref(), Some("b"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        let mode = fs::metadata(&of("/a").path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
