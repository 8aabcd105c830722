//! The context set of a watched file, as a file of clada's state. Changed under a lock and replaced as a whole, so that a crash
//! or a second process costs nothing. Knows nothing of what is in it but its form.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::reply::context::ContextSet;
use crate::text::hex::hex;
use crate::world::state;

/// Where the set of one watched file under one root is kept.
#[derive(Debug, Clone)]
pub struct ContextStore {
    path: PathBuf,
}

impl ContextStore {
    /// That of a watched file, whose set has paths under this root.
    pub fn of(folder: &Path, root: &Path, notes: &Path) -> Self {
        let mut hash = Sha256::new();
        for path in [root, notes] {
            hash.update(path.as_os_str().as_encoded_bytes());
            // No path has it.
            hash.update([0]);
        }
        let path = folder.join(format!("{}.json", hex(&hash.finalize()[..12])));
        Self { path }
    }

    /// What is in it; nothing where nothing was put in.
    ///
    /// # Errors
    /// Where its file cannot be read or is damaged, naming it.
    pub fn read(&self) -> io::Result<ContextSet> {
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(ContextSet::default());
            }
            text => text.map_err(|error| self.trouble(&error))?,
        };
        serde_json::from_slice(&text).map_err(|error| self.trouble(&error))
    }

    /// Changes what is in it, and waits for whoever does so at this moment. It is on the disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be read or written; then it is what it was.
    pub fn change<T>(&self, change: impl FnOnce(&mut ContextSet) -> T) -> io::Result<T> {
        let _lock = self.lock()?;
        let mut set = self.read()?;
        let before = set.clone();
        let result = change(&mut set);
        if set != before {
            self.write(&set)?;
        }
        Ok(result)
    }

    /// Empties it, also where it is damaged.
    ///
    /// # Errors
    /// Where its file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        let _lock = self.lock()?;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.trouble(&error)),
            _ => Ok(()),
        }
    }

    /// Has what is in another one, unless it has something itself: the watched file has another name now.
    ///
    /// # Errors
    /// Where its file cannot be moved.
    pub fn take_over(&self, other: &Self) -> io::Result<()> {
        let _lock = self.lock()?;
        if self.path.exists() {
            return Ok(());
        }
        match fs::rename(&other.path, &self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(other.trouble(&error)),
            _ => Ok(()),
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// Held for as long as a small file is written: one lock is enough for all of them. It ends with its process.
    fn lock(&self) -> io::Result<File> {
        let lock = || {
            state::make(self.folder())?;
            let folder = File::open(self.folder())?;
            folder.lock()?;
            Ok(folder)
        };
        lock().map_err(|error: io::Error| self.trouble(&error))
    }

    fn write(&self, set: &ContextSet) -> io::Result<()> {
        let write = || {
            let text = serde_json::to_vec(set)?;
            // Always of this name, so that a crash leaves no more than one.
            let new = self.path.with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(new, &self.path)?;
            File::open(self.folder())?.sync_all()
        };
        write().map_err(|error: io::Error| self.trouble(&error))
    }

    fn trouble(&self, error: &dyn std::fmt::Display) -> io::Error {
        io::Error::other(format!(
            "cannot use the context set in `{}`: {error}: fix or remove that file",
            self.path.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_two_files_are_two() {
        let folder = tempfile::tempdir().unwrap();
        let set = |root, notes| ContextStore::of(folder.path(), Path::new(root), Path::new(notes));
        set("/p", "/p/a.md")
            .change(|set| set.add("x", None))
            .unwrap();
        assert_eq!(set("/p", "/p/a.md").read().unwrap().files.len(), 1);
        for (root, notes) in [("/p", "/p/b.md"), ("/q", "/p/a.md"), ("/p/a.md", "/p")] {
            assert!(set(root, notes).read().unwrap().files.is_empty());
        }
    }

    #[test]
    fn many_that_change_it_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for who in 0..8 {
                let folder = folder.path();
                scope.spawn(move || {
                    let store = ContextStore::of(folder, Path::new("/p"), Path::new("/p/a.md"));
                    for number in 0..10 {
                        let path = format!("{who}-{number}");
                        store.change(|set| set.add(&path, None)).unwrap();
                    }
                });
            }
        });
        let store = ContextStore::of(folder.path(), Path::new("/p"), Path::new("/p/a.md"));
        assert_eq!(store.read().unwrap().files.len(), 80);
    }

    #[test]
    fn what_a_crash_leaves_behind_is_harmless_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = ContextStore::of(folder.path(), Path::new("/p"), Path::new("/p/a.md"));
        store.change(|set| set.add("x", None)).unwrap();
        fs::write(store.path.with_extension("new"), "{\"fil").unwrap();
        assert_eq!(store.read().unwrap().files.len(), 1);
        store.change(|set| set.add("y", None)).unwrap();
        assert_eq!(store.read().unwrap().files.len(), 2);
        fs::write(&store.path, "{\"fil").unwrap();
        let said = store
            .change(|set| set.add("z", None))
            .unwrap_err()
            .to_string();
        let begins = format!("cannot use the context set in `{}`: ", store.path.display());
        assert!(
            said.starts_with(&begins) && said.ends_with(": fix or remove that file"),
            "{said}"
        );
        store.clear().unwrap();
        store.clear().unwrap();
        assert!(store.read().unwrap().files.is_empty());
    }
}
