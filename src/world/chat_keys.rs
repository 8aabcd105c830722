//! The keys of the notes files, as files of clada's state, one for each. This user's alone. Changed under a lock, and a key
//! is given out once: no notes file gets one that another has or had.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::clock;
use crate::reply::chat_key::ChatKey;
use crate::world::folder::if_there;
use crate::world::state;

/// The extension of each file.
const KEY: &str = "key";

/// The keys of all notes files of this user.
#[derive(Debug, Clone)]
pub struct ChatKeys {
    folder: PathBuf,
}

/// The keys of one notes file, as its file keeps them: with spaces between the keys, and a NUL before the path.
struct NotesKeys {
    /// The one that counts.
    now: ChatKey,
    /// Those that counted before.
    before: Vec<ChatKey>,
    notes: PathBuf,
}

impl ChatKeys {
    /// The keys that are kept in this folder.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the key of a notes file, given by its canonical path, and makes one where it has none.
    ///
    /// # Errors
    /// Where the keys cannot be read or written.
    pub fn of(&self, notes: &Path) -> io::Result<ChatKey> {
        let of = || {
            let _lock = state::lock(&self.folder)?;
            match self.read(notes)? {
                Some(keys) => Ok(keys.now),
                None => self.make(notes),
            }
        };
        of().map_err(|error| self.trouble(&error))
    }

    /// Returns the key of a notes file, where it has one.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn find(&self, notes: &Path) -> io::Result<Option<ChatKey>> {
        Ok(self.read(notes)?.map(|keys| keys.now))
    }

    /// Makes another key for a notes file; the one that it had counts no more.
    ///
    /// # Errors
    /// Where the keys cannot be read or written.
    pub fn renew(&self, notes: &Path) -> io::Result<ChatKey> {
        let renew = || {
            let _lock = state::lock(&self.folder)?;
            self.make(notes)
        };
        renew().map_err(|error| self.trouble(&error))
    }

    fn trouble(&self, error: &io::Error) -> io::Error {
        let folder = self.folder.display();
        io::Error::other(format!(
            "cannot keep the keys of chats in `{folder}`: {error}: make that folder writable for this user"
        ))
    }

    /// Returns the keys that count now.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn all(&self) -> io::Result<BTreeSet<ChatKey>> {
        let kept = self.kept()?;
        Ok(kept.into_iter().map(|keys| keys.now).collect())
    }

    /// Returns the notes file that has this key now.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn notes_of(&self, key: ChatKey) -> io::Result<Option<PathBuf>> {
        let mut kept = self.kept()?.into_iter();
        let of = kept.find(|keys| keys.now == key);
        Ok(of.map(|keys| keys.notes))
    }

    /// Gives a notes file the key that it had under another path, unless it has one by now; then the other counts no more.
    ///
    /// # Errors
    /// Where the keys cannot be read or written.
    pub fn take_over(&self, was: &Path, now: &Path) -> io::Result<()> {
        let (old, new) = (self.path(was), self.path(now));
        if old == new || !old.exists() {
            return Ok(());
        }
        let _lock = state::lock(&self.folder)?;
        let Some(was) = self.read(was)? else {
            return Ok(());
        };
        // Killed at any line, no two files have the key.
        match self.read(now)? {
            Some(mut keys) => {
                fs::remove_file(old)?;
                keys.before.extend(was.all());
                self.write(&keys)
            }
            None => {
                fs::rename(old, new)?;
                self.write(&NotesKeys {
                    notes: now.to_owned(),
                    ..was
                })
            }
        }
    }

    /// Makes a key that nobody has or had.
    fn make(&self, notes: &Path) -> io::Result<ChatKey> {
        let taken: BTreeSet<ChatKey> = self.kept()?.iter().flat_map(NotesKeys::all).collect();
        let mut key = ChatKey::from_random(clock::chance());
        while taken.contains(&key) {
            key = ChatKey::from_random(clock::chance());
        }
        let was = self.read(notes)?;
        self.write(&NotesKeys {
            now: key,
            before: was.map_or_else(Vec::new, |was| was.all().collect()),
            notes: notes.to_owned(),
        })?;
        Ok(key)
    }

    fn path(&self, notes: &Path) -> PathBuf {
        let name = state::name_of(&[notes]);
        self.folder.join(name).with_extension(KEY)
    }

    /// Reads the keys of a notes file; none where the file is damaged.
    fn read(&self, notes: &Path) -> io::Result<Option<NotesKeys>> {
        let text = if_there(fs::read(self.path(notes)))?;
        Ok(text.and_then(|text| NotesKeys::parse(&text)))
    }

    /// Reads the keys of all notes files, damaged ones left out.
    fn kept(&self) -> io::Result<Vec<NotesKeys>> {
        let Some(entries) = if_there(fs::read_dir(&self.folder))? else {
            return Ok(Vec::new());
        };
        let mut kept = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension() == Some(OsStr::new(KEY)) {
                // It may be taken over at this moment.
                let text = if_there(fs::read(path))?;
                kept.extend(text.and_then(|text| NotesKeys::parse(&text)));
            }
        }
        Ok(kept)
    }

    fn write(&self, keys: &NotesKeys) -> io::Result<()> {
        let path = self.path(&keys.notes);
        state::replace_on_disk(&path, &keys.text())
    }
}

impl NotesKeys {
    /// Those of now and before.
    fn all(&self) -> impl Iterator<Item = ChatKey> {
        std::iter::once(self.now).chain(self.before.iter().copied())
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // No path has a NUL.
        let end = text.iter().position(|byte| *byte == 0)?;
        let keys = std::str::from_utf8(&text[..end]).ok()?;
        let keys: Result<Vec<ChatKey>, _> = keys.split(' ').map(str::parse).collect();
        let mut keys = keys.ok()?.into_iter();
        Some(Self {
            now: keys.next()?,
            before: keys.collect(),
            notes: PathBuf::from(OsStr::from_bytes(&text[end + 1..])),
        })
    }

    fn text(&self) -> Vec<u8> {
        let keys: Vec<String> = self.all().map(|key| key.to_string()).collect();
        [keys.join(" ").as_bytes(), self.notes.as_os_str().as_bytes()].join(&0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::MetadataExt;
    use std::thread;

    use super::*;

    const A: &str = "/vault/a b.md";
    const B: &str = "/vault/b\n.md";

    fn keys(dir: &tempfile::TempDir) -> ChatKeys {
        ChatKeys::new(dir.path().join("state/keys"))
    }

    #[test]
    fn each_notes_file_has_a_key_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let (keys, a, b) = (keys(&dir), Path::new(A), Path::new(B));
        assert_eq!(keys.find(a).unwrap(), None);
        assert!(keys.all().unwrap().is_empty() && !keys.folder.exists());
        let (of_a, of_b) = (keys.of(a).unwrap(), keys.of(b).unwrap());
        assert_ne!(of_a, of_b);
        assert_eq!(keys.of(a).unwrap(), of_a);
        assert_eq!(keys.find(a).unwrap(), Some(of_a));
        assert_eq!(keys.all().unwrap(), BTreeSet::from([of_a, of_b]));
        assert_eq!(keys.notes_of(of_b).unwrap().as_deref(), Some(b));
        let new = keys.renew(a).unwrap();
        assert!(new != of_a && new != of_b);
        assert_eq!(keys.of(a).unwrap(), new);
        assert_eq!(keys.notes_of(of_a).unwrap(), None);
        assert_eq!(keys.all().unwrap(), BTreeSet::from([new, of_b]));
        for entry in fs::read_dir(&keys.folder).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&keys.folder).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_renamed_notes_file_keeps_its_key() {
        let dir = tempfile::tempdir().unwrap();
        let (keys, a, b) = (keys(&dir), Path::new(A), Path::new(B));
        keys.take_over(a, b).unwrap();
        assert_eq!(keys.find(b).unwrap(), None);
        let key = keys.of(a).unwrap();
        keys.take_over(a, a).unwrap();
        keys.take_over(a, b).unwrap();
        assert_eq!(keys.find(a).unwrap(), None);
        assert_eq!(keys.find(b).unwrap(), Some(key));
        assert_eq!(keys.notes_of(key).unwrap().as_deref(), Some(b));
        // One that has a key by now keeps that, and remembers the other.
        let other = keys.of(a).unwrap();
        keys.take_over(a, b).unwrap();
        assert_eq!(keys.find(a).unwrap(), None);
        assert_eq!(keys.all().unwrap(), BTreeSet::from([key]));
        let before: Vec<ChatKey> = keys.read(b).unwrap().unwrap().before;
        assert_eq!(before, [other]);
    }

    #[test]
    fn a_damaged_file_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let (keys, a, b) = (keys(&dir), Path::new(A), Path::new(B));
        let of_b = keys.of(b).unwrap();
        for damage in ["", "k7m2x", "k7m2\0/a", "\0/a", "k7m2x \0/a"] {
            keys.of(a).unwrap();
            fs::write(keys.path(a), damage).unwrap();
            assert_eq!(keys.find(a).unwrap(), None, "{damage:?}");
            assert_eq!(keys.all().unwrap(), BTreeSet::from([of_b]));
        }
        let key = keys.of(a).unwrap();
        assert_eq!(keys.find(a).unwrap(), Some(key));
    }

    #[test]
    fn many_at_once_get_one_key_for_each_file() {
        let dir = tempfile::tempdir().unwrap();
        let keys = keys(&dir);
        let names: Vec<PathBuf> = (0..4).map(|n| format!("/vault/{n}.md").into()).collect();
        let made = thread::scope(|scope| {
            let all = || {
                let made = names
                    .iter()
                    .map(|name| (name.clone(), keys.of(name).unwrap()));
                made.collect::<BTreeMap<_, _>>()
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
            let made = threads.into_iter().map(|thread| thread.join().unwrap());
            made.collect::<Vec<_>>()
        });
        assert!(made.iter().all(|keys| *keys == made[0]));
        let all: BTreeSet<ChatKey> = made[0].values().copied().collect();
        assert_eq!(all.len(), names.len());
        assert_eq!(keys.all().unwrap(), all);
    }

    #[test]
    fn where_keys_cannot_be_kept_the_folder_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let keys = ChatKeys::new(file.path().join("keys"));
        for made in [ChatKeys::of, ChatKeys::renew] {
            let said = made(&keys, Path::new("/p/clada.md"))
                .unwrap_err()
                .to_string();
            let folder = file.path().join("keys");
            let folder = folder.display();
            let expected = format!("cannot keep the keys of chats in `{folder}`: ");
            assert!(said.starts_with(&expected), "{said}");
            assert!(
                said.ends_with(": make that folder writable for this user"),
                "{said}"
            );
        }
    }
}
