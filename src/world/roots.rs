//! The project folder that each notes file was watched for last, as files of clada's state. Tells commands where a notes file
//! belongs that lies elsewhere; who watches it now, the locks tell.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::world::state;

/// Keeps the root of a notes file, in a folder for that. Both are given by their canonical paths.
///
/// # Errors
/// Where it cannot be written; then it is what it was.
pub fn keep(folder: &Path, notes: &Path, root: &Path) -> io::Result<()> {
    let path = folder.join(state::name_of(&[notes]) + ".root");
    // No path has a NUL.
    let text = [notes.as_os_str().as_bytes(), root.as_os_str().as_bytes()].join(&0);
    if fs::read(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    // Who watches a file does so alone.
    let new = path.with_extension("new");
    state::replace(&path, &new, |file| file.write_all(&text))
}

/// Returns all notes files that were ever watched, each with its root. What cannot be read is left out.
pub fn all(folder: &Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<(PathBuf, PathBuf)> = paths
        .filter(|path| path.extension() == Some(OsStr::new("root")))
        .filter_map(|path| parse(&fs::read(path).ok()?))
        .collect();
    found.sort();
    found
}

fn parse(text: &[u8]) -> Option<(PathBuf, PathBuf)> {
    let end = text.iter().position(|byte| *byte == 0)?;
    let path = |bytes| PathBuf::from(OsStr::from_bytes(bytes));
    Some((path(&text[..end]), path(&text[end + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_the_root_that_it_was_watched_for_last() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/roots");
        assert_eq!(all(&folder), []);
        let (a, b) = (Path::new("/vault/a b.md"), Path::new("/vault/b\n.md"));
        let (one, two) = (Path::new("/one"), Path::new("/two"));
        for (notes, root) in [(a, two), (b, one), (a, one), (a, one)] {
            keep(&folder, notes, root).unwrap();
        }
        fs::write(folder.join("damaged.root"), "x").unwrap();
        let pair = |notes: &Path, root: &Path| (notes.to_owned(), root.to_owned());
        assert_eq!(all(&folder), [pair(a, one), pair(b, one)]);
    }
}
