//! Making folders, and deleting empty ones. Git keeps no empty folder, so neither counts as a change that is committed.

use serde_json::json;

use super::missing::not_found;
use super::{Done, Failure, fault, named};
use crate::report::fault::Fault;
use crate::world::workspace::{FileKind, FsError, ProjectFiles};

pub(super) fn make(path: &str, files: &mut dyn ProjectFiles) -> Result<Done, Failure> {
    let rel = named::any(path, files)?;
    let place = files.place(&rel, true)?;
    let is_new = match files.kind(&place)? {
        Some(FileKind::Dir) => false,
        Some(_) => {
            let message = format!(
                "`{rel}` is a file: give the folder another name, or delete the file first"
            );
            return Err(fault(Fault::Exists, message));
        }
        None => files.make_folder(&place)?,
    };
    Ok(Done {
        message: (!is_new).then(|| "already exists".to_owned()),
        data: json!({ "path": rel.to_string(), "created": is_new }),
        diff: match is_new {
            true => format!("new folder {rel}\n"),
            false => String::new(),
        },
        ..Done::default()
    })
}

pub(super) fn remove(path: &str, files: &mut dyn ProjectFiles) -> Result<Done, Failure> {
    let rel = named::existing(path, files)?;
    if rel.is_root() {
        return Err(super::refused(
            "the project folder itself cannot be deleted",
        ));
    }
    let place = files.place(&rel, false)?;
    match files.kind(&place)? {
        Some(FileKind::Dir) => files.remove_folder(&place)?,
        Some(FileKind::Link) => {
            let message = format!("`{rel}` is a link, not a folder: use `delete`");
            return Err(fault(Fault::NotAFolder, message));
        }
        Some(_) => return Err(FsError::NotAFolder(rel.to_string()).into()),
        None => return Err(not_found(&rel, files)),
    }
    Ok(Done {
        data: json!({ "path": rel.to_string() }),
        diff: format!("deleted folder {rel}\n"),
        ..Done::default()
    })
}
