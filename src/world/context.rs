//! The context set of a watched file, as a file of clada's state. Changed under a lock and replaced as a whole, so that a crash
//! or a second process costs nothing. Knows nothing of what is in it but its form.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::reply::context::ContextSet;
use crate::world::folder::if_there;
use crate::world::state;

/// The context set of one watched file under one root.
#[derive(Debug, Clone)]
pub struct ContextStore {
    path: PathBuf,
    root: PathBuf,
}

impl ContextStore {
    /// The set of a watched file, with paths under this root.
    pub fn of(folder: &Path, root: &Path, notes: &Path) -> Self {
        let path = folder.join(state::name_of(&[root, notes]) + ".json");
        let root = root.to_owned();
        Self { path, root }
    }

    /// The root that its paths are under.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder beside that of the sets for what can be found out anew.
    pub fn caches(&self) -> PathBuf {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        folder.with_file_name("code")
    }

    /// Reads what is in it; nothing where nothing was put in.
    ///
    /// # Errors
    /// Where its file cannot be read or is damaged, naming it.
    pub fn read(&self) -> io::Result<ContextSet> {
        let text = if_there(fs::read(&self.path)).map_err(|error| self.trouble(&error))?;
        let set = text.map(|text| serde_json::from_slice(&text)).transpose();
        Ok(set
            .map_err(|error| self.trouble(&error))?
            .unwrap_or_default())
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
            let text = serde_json::to_vec(&set)?;
            let written = state::replace_on_disk(&self.path, &text);
            written.map_err(|error| self.trouble(&error))?;
        }
        Ok(result)
    }

    /// Empties it, also where it is damaged.
    ///
    /// # Errors
    /// Where its file cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        let _lock = self.lock()?;
        let removed = if_there(fs::remove_file(&self.path));
        removed.map(drop).map_err(|error| self.trouble(&error))
    }

    /// Takes what is in another one, unless it has something itself: the watched file has another name now.
    ///
    /// # Errors
    /// Where its file cannot be moved.
    pub fn take_over(&self, other: &Self) -> io::Result<()> {
        let _lock = self.lock()?;
        if self.path.exists() {
            return Ok(());
        }
        let moved = if_there(fs::rename(&other.path, &self.path));
        moved.map(drop).map_err(|error| other.trouble(&error))
    }

    fn lock(&self) -> io::Result<File> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        state::lock(folder).map_err(|error| self.trouble(&error))
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
    use crate::reply::context::{ContextEntry, ContextLevel};

    fn entry(path: &str) -> ContextEntry {
        ContextEntry::new(path, None, &[], ContextLevel::default())
    }

    #[test]
    fn sets_of_two_files_are_two() {
        let folder = tempfile::tempdir().unwrap();
        let set = |root, notes| ContextStore::of(folder.path(), Path::new(root), Path::new(notes));
        set("/p", "/p/a.md")
            .change(|set| set.add(entry("x")))
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
                        store.change(|set| set.add(entry(&path))).unwrap();
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
        store.change(|set| set.add(entry("x"))).unwrap();
        fs::write(store.path.with_extension("new"), "{\"fil").unwrap();
        assert_eq!(store.read().unwrap().files.len(), 1);
        store.change(|set| set.add(entry("y"))).unwrap();
        assert_eq!(store.read().unwrap().files.len(), 2);
        fs::write(&store.path, "{\"fil").unwrap();
        let said = store
            .change(|set| set.add(entry("z")))
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
