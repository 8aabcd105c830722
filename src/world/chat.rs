//! The knowledge of the project's files that the chat of a watched file has, as a folder of clada's state: a list, and beside
//! it the texts by their hashes. This user's alone. Changed under a lock, so that a crash or a second process costs nothing but what was
//! being changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::report::chat::Chat;
use crate::world::folder::if_there;
use crate::world::state;

/// The name of the list.
const LIST: &str = "files.json";

/// The knowledge of the chat of one watched file under one root.
#[derive(Debug, Clone)]
pub struct ChatStore {
    folder: PathBuf,
}

/// Texts by their hashes.
pub type Texts = BTreeMap<String, String>;

impl ChatStore {
    /// The knowledge of a watched file whose chat works under this root.
    pub fn of(folder: &Path, root: &Path, notes: &Path) -> Self {
        let folder = folder.join(state::name_of(&[root, notes]));
        Self { folder }
    }

    /// Reads what is known; nothing where nothing was shown or written.
    ///
    /// # Errors
    /// Where it cannot be read or is damaged.
    pub fn read(&self) -> io::Result<Chat> {
        match if_there(fs::read(self.folder.join(LIST)))? {
            Some(text) => Ok(serde_json::from_slice(&text)?),
            None => Ok(Chat::default()),
        }
    }

    /// A text by its hash, where it is kept.
    pub fn text(&self, hash: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(hash)).ok()
    }

    /// Changes what is known, and keeps of these texts and of those that are there what it needs.
    ///
    /// # Errors
    /// Where it cannot be written; then it is what it was, or nothing where it was damaged.
    pub fn change(&self, texts: &Texts, change: impl FnOnce(&mut Chat)) -> io::Result<()> {
        let _lock = self.lock()?;
        let was = self.read().unwrap_or_default();
        let mut chat = was.clone();
        change(&mut chat);
        chat.trim();
        if chat == was {
            return Ok(());
        }
        let kept = |hash: &str| {
            let mut files = chat.files.values();
            files.any(|file| file.last.has_text && file.last.hash == hash)
        };
        for (hash, text) in texts.iter().filter(|(hash, _)| kept(hash)) {
            if !self.folder.join(hash).exists() {
                self.write(hash, text.as_bytes())?;
            }
        }
        self.write(LIST, &serde_json::to_vec(&chat)?)?;
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name() != LIST && !kept(&entry.file_name().to_string_lossy()) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Begins a new chat, which knows nothing, under a name that no chat had.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(&self, id: &str) -> io::Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        self.change(&Texts::new(), |chat| {
            *chat = Chat::default();
            id.clone_into(&mut chat.id);
        })
    }

    /// Forgets all of it.
    ///
    /// # Errors
    /// Where it cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        if_there(fs::remove_dir_all(&self.folder)).map(drop)
    }

    /// Takes what another one has, unless it has something itself: the watched file has another name now.
    ///
    /// # Errors
    /// Where its folder cannot be moved.
    pub fn take_over(&self, other: &Self) -> io::Result<()> {
        if self.folder.exists() || !other.folder.exists() {
            return Ok(());
        }
        let _lock = self.lock()?;
        fs::rename(&other.folder, &self.folder)
    }

    fn lock(&self) -> io::Result<File> {
        state::lock(self.folder.parent().unwrap_or(Path::new("/")))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = self.folder.join("new");
        state::replace(&self.folder.join(name), &new, |file| file.write_all(bytes))
    }
}
