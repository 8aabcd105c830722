//! Compares the content of an open file with a text. Never holds all of the file.

use std::io;
use std::os::fd::AsFd;

use rustix::io::{pread, retry_on_intr};

/// Tells if a file holds exactly these bytes.
///
/// # Errors
/// Where it cannot be read.
pub fn holds(file: impl AsFd, expected: &[u8]) -> io::Result<bool> {
    let mut rest = expected;
    let mut piece = vec![0; (256 * 1024).min(rest.len() + 1)];
    loop {
        let at = (expected.len() - rest.len()) as u64;
        let length = retry_on_intr(|| pread(&file, &mut piece[..], at))?;
        if length == 0 {
            return Ok(rest.is_empty());
        }
        match rest.strip_prefix(&piece[..length]) {
            Some(after) => rest = after,
            None => return Ok(false),
        }
    }
}
