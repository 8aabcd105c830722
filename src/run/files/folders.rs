//! Makes folders and deletes empty ones. Git keeps no empty folder, so neither counts as a change that is committed.

use serde_json::json;

use super::moved::to_delete;
use super::named_file::NamedFile;
use super::{FileResult, failed, named};
use crate::report::fault::Fault;
use crate::report::outcome::Outcome;
use crate::world::workspace::{FileKind, FsError, ProjectFiles};

pub(super) fn make(path: &str, files: &mut dyn ProjectFiles) -> FileResult {
    let rel = named::any(path, files)?;
    let place = files.place(&rel, true)?;
    let is_new = match files.kind(&place)? {
        Some(FileKind::Dir) => false,
        Some(_) => {
            let message = format!(
                "`{rel}` is a file: give the folder another name, or delete the file first"
            );
            return Err(failed(Fault::Exists, message));
        }
        None => files.make_folder(&place)?,
    };
    Ok(Outcome {
        message: (!is_new).then(|| "already exists".to_owned()),
        data: json!({ "path": rel.to_string(), "created": is_new }),
        ..Outcome::default()
    })
}

pub(super) fn remove(path: &str, files: &mut dyn ProjectFiles) -> FileResult {
    let (NamedFile { rel, place, .. }, kind) = to_delete(path, files)?;
    match kind {
        FileKind::Dir => files.remove_folder(&place)?,
        FileKind::Link => {
            let message = format!("`{rel}` is a link, not a folder: use `delete`");
            return Err(failed(Fault::NotAFolder, message));
        }
        FileKind::File | FileKind::Other => {
            return Err(FsError::NotAFolder(rel.to_string()).into());
        }
    }
    Ok(Outcome {
        data: json!({ "path": rel.to_string() }),
        ..Outcome::default()
    })
}
