//! What is about to be done under a root, as a file that outlives a crash: written before it begins, removed when it is
//! over. Knows nothing of what it says.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::text::hex::hex;
use crate::world::state;

/// The file for one root.
pub struct Intent {
    path: PathBuf,
}

impl Intent {
    /// That of a root, in this folder.
    pub fn of(folder: &Path, root: &Path) -> Self {
        let hash = Sha256::digest(root.as_os_str().as_encoded_bytes());
        let path = folder.join(format!("{}.json", hex(&hash[..12])));
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has it say this; it is on the disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written; then it says what it said before.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        state::make(folder)?;
        // Always of this name, so that a crash leaves no more than one.
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(new, &self.path)?;
        File::open(folder)?.sync_all()
    }

    /// What it says, if there is one.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// It is over.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
