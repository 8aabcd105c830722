//! Compares the content of an open file with a text. Never holds all of the file.

use std::io::{self, Read, Seek};

/// Tells if a file holds exactly these bytes.
///
/// # Errors
/// Where it cannot be read.
pub fn holds(mut file: impl Read + Seek, expected: &[u8]) -> io::Result<bool> {
    file.rewind()?;
    let mut rest = expected;
    let mut piece = vec![0; (256 * 1024).min(rest.len() + 1)];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok(rest.is_empty());
        }
        match rest.strip_prefix(&piece[..length]) {
            Some(after) => rest = after,
            None => return Ok(false),
        }
    }
}
