//! The pause of the watching of the clipboard, as a small file of clada's state: one for all clada processes of this user.
//! Pauses nothing itself.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::world::folder::if_there;
use crate::world::state;

/// The file in the state folder.
const FILE: &str = "pause.json";
/// The most of it that is read, in bytes.
const MOST: u64 = 64 * 1024;

/// A pause of the watching of the clipboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Unix time in milliseconds.
    pub since_ms: i64,
    /// Unix time in milliseconds; `None` if it lasts until the user ends it.
    pub until_ms: Option<i64>,
    /// The reason, if clada itself paused; said to the person.
    pub why: Option<String>,
}

impl Pause {
    /// Reads the pause; `None` if there is none, or if it is over. A damaged file is a pause without an end: it is not known
    /// to be over.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn read(state: &Path, now_ms: i64) -> io::Result<Option<Self>> {
        let path = path(state);
        let Some(text) = if_there(text(&path)).map_err(|error| trouble(&path, &error))? else {
            return Ok(None);
        };
        let damaged = || Self {
            since_ms: now_ms,
            until_ms: None,
            why: Some(format!("`{}` is damaged", path.display())),
        };
        let pause: Self = serde_json::from_slice(&text).unwrap_or_else(|_| damaged());
        let is_over = pause.until_ms.is_some_and(|until| until <= now_ms);
        Ok((!is_over).then_some(pause))
    }

    /// Begins it, in place of another one.
    ///
    /// # Errors
    /// Where the file cannot be written; then what held before holds on.
    pub fn begin(&self, state: &Path) -> io::Result<()> {
        let path = path(state);
        let write = || {
            let text = serde_json::to_vec(self)?;
            let _lock = state::lock(state)?;
            state::replace_on_disk(&path, &text)
        };
        write().map_err(|error| trouble(&path, &error))
    }

    /// Ends the pause. False if there was none.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub fn end(state: &Path) -> io::Result<bool> {
        let path = path(state);
        let ended = if_there(fs::remove_file(&path)).map_err(|error| trouble(&path, &error))?;
        Ok(ended.is_some())
    }
}

fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

fn text(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(MOST).read_to_end(&mut text)?;
    Ok(text)
}

fn trouble(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!(
        "cannot use the pause in `{}`: {error}: fix or remove that file",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_until_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let read = |now| Pause::read(&state, now).unwrap();
        assert_eq!(read(0), None);
        assert!(!Pause::end(&state).unwrap());
        let mut pause = Pause {
            since_ms: 1000,
            until_ms: Some(5000),
            why: None,
        };
        pause.begin(&state).unwrap();
        // A clock that was set back ends nothing.
        for now in [0, 1000, 4999] {
            assert_eq!(read(now), Some(pause.clone()));
        }
        assert_eq!(read(5000), None);
        pause.until_ms = None;
        pause.why = Some("ten texts with unknown keys".to_owned());
        pause.begin(&state).unwrap();
        assert_eq!(read(i64::MAX), Some(pause));
        assert!(Pause::end(&state).unwrap());
        assert_eq!(read(0), None);
    }

    #[test]
    fn a_damaged_file_is_a_pause_without_end() {
        let dir = tempfile::tempdir().unwrap();
        let file = path(dir.path());
        for text in [&b""[..], b"{\"since_ms\": 1", b"\xff", b"[]"] {
            fs::write(&file, text).unwrap();
            let pause = Pause::read(dir.path(), 7).unwrap().unwrap();
            let why = format!("`{}` is damaged", file.display());
            assert_eq!((pause.until_ms, pause.why), (None, Some(why)));
        }
        assert!(Pause::end(dir.path()).unwrap());
        fs::create_dir(&file).unwrap();
        let said = Pause::read(dir.path(), 7).unwrap_err().to_string();
        let begins = format!("cannot use the pause in `{}`: ", file.display());
        assert!(
            said.starts_with(&begins) && said.ends_with(": fix or remove that file"),
            "{said}"
        );
    }
}
