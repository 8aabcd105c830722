//! The reply that a command reads: from a file, or from standard input.

use std::io::{self, Read};
use std::path::Path;

use crate::error::Error;

/// Reads the reply in a file; of `-` or no file, on standard input.
pub(super) fn read_reply(file: Option<&Path>) -> Result<String, Error> {
    let (bytes, name) = match file.filter(|path| *path != Path::new("-")) {
        None => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            (bytes, "standard input".to_owned())
        }
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|error| Error::Reply {
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
