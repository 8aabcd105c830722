//! The reply that a command reads: from a file, or from standard input.

use std::io::{self, Read};
use std::path::Path;

use crate::error::Error;
use crate::world::whole_file::WholeFile;

/// The bytes of a reply, and the name of what they were read from.
pub(super) struct ReplyInput {
    bytes: WholeFile,
    name: String,
}

/// Reads the reply in a file; of `-` or no file, on standard input.
pub(super) fn read_reply(file: Option<&Path>) -> Result<ReplyInput, Error> {
    match file.filter(|path| *path != Path::new("-")) {
        None => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            Ok(ReplyInput {
                bytes: bytes.into(),
                name: "standard input".to_owned(),
            })
        }
        Some(path) => {
            let bytes = WholeFile::read(path).map_err(|error| Error::Reply {
                path: path.to_owned(),
                error,
            })?;
            let name = path.display().to_string();
            Ok(ReplyInput { bytes, name })
        }
    }
}

impl ReplyInput {
    /// Its text.
    pub(super) fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.bytes).map_err(|error| Error::NotText {
            path: self.name.clone(),
            at: error.valid_up_to(),
        })
    }
}
