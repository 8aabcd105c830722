//! The reply that a command reads: from a file, or from standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

use crate::error::Error;

/// The bytes of a file from which on two threads read it, each a half: the system makes the memory for it page by page.
const LARGE: u64 = 16 * 1024 * 1024;

/// Reads the reply in a file; of `-` or no file, on standard input.
pub(super) fn read_reply(file: Option<&Path>) -> Result<String, Error> {
    let (bytes, name) = match file.filter(|path| *path != Path::new("-")) {
        None => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            (bytes, "standard input".to_owned())
        }
        Some(path) => {
            let bytes = read_file(path).map_err(|error| Error::Reply {
                path: path.to_owned(),
                error,
            })?;
            (bytes, path.display().to_string())
        }
    };
    String::from_utf8(bytes).map_err(|error| Error::NotText {
        path: name,
        at: error.utf8_error().valid_up_to(),
    })
}

/// Reads all of a file.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let length = usize::try_from(found.len()).unwrap_or_default();
    if !found.is_file() || found.len() < LARGE {
        return fs::read(path);
    }
    let mut bytes = vec![0; length];
    let (first, second) = bytes.split_at_mut(length / 2);
    let behind = first.len() as u64;
    let read = thread::scope(|scope| {
        let reader = || file.read_exact_at(second, behind);
        let other = thread::Builder::new().spawn_scoped(scope, reader)?;
        file.read_exact_at(first, 0)?;
        other
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    });
    // It changes while it is read, or there is no thread for it.
    if read.is_err() {
        return fs::read(path);
    }
    Ok(bytes)
}
