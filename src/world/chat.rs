//! What the chat of a watched file knows of the project's files, as a folder of clada's state: a list, and beside it the texts
//! by their hashes. This user's alone. Changed under a lock, so that a crash or a second process costs nothing but what was
//! being changed.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::report::chat::Chat;
use crate::text::hex::hex;

/// The name of the list.
const LIST: &str = "files.json";

/// Where that of one watched file under one root is kept.
#[derive(Debug, Clone)]
pub struct ChatStore {
    folder: PathBuf,
}

/// Texts by their hashes.
pub type Texts = BTreeMap<String, String>;

impl ChatStore {
    /// That of a watched file whose chat works under this root.
    pub fn of(folder: &Path, root: &Path, notes: &Path) -> Self {
        let mut hash = Sha256::new();
        for path in [root, notes] {
            hash.update(path.as_os_str().as_encoded_bytes());
            // No path has it.
            hash.update([0]);
        }
        let folder = folder.join(hex(&hash.finalize()[..12]));
        Self { folder }
    }

    /// Reads what is known; nothing where nothing was shown or written.
    ///
    /// # Errors
    /// Where it cannot be read or is damaged.
    pub fn read(&self) -> io::Result<Chat> {
        match fs::read(self.folder.join(LIST)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Chat::default()),
            text => Ok(serde_json::from_slice(&text?)?),
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
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
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

    /// A new chat begins, which knows nothing, under a name that no chat had.
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
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Has what another one has, unless it has something itself: the watched file has another name now.
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

    /// Held for as long as a few small files are written: one lock is enough for all chats. It ends with its process.
    fn lock(&self) -> io::Result<File> {
        let folder = self.folder.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let folder = File::open(folder)?;
        folder.lock()?;
        Ok(folder)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        // Always of this name, so that a crash leaves no more than one.
        let new = self.folder.join("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.open(&new)?.write_all(bytes)?;
        fs::rename(new, self.folder.join(name))
    }
}
