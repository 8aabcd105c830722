//! The work that is about to be done under a root, as a file that outlives a crash: written before it begins, removed when it is
//! over. Knows nothing of what it says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::world::folder::if_there;
use crate::world::state;

/// The file for one root.
pub struct Intent {
    path: PathBuf,
}

impl Intent {
    /// The file of a root, in this folder.
    pub fn of(folder: &Path, root: &Path) -> Self {
        let path = folder.join(state::name_of(&[root]) + ".json");
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it say this, which is on the disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written; then it says what it said before.
    pub fn write(&self, text: &str) -> io::Result<()> {
        state::replace_on_disk(&self.path, text.as_bytes())
    }

    /// Reads what it says, if there is one.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn read(&self) -> io::Result<Option<String>> {
        if_there(fs::read_to_string(&self.path))
    }

    /// Removes it: what was about to be done is over.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        if_there(fs::remove_file(&self.path)).map(drop)
    }
}
