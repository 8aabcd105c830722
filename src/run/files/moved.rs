//! An edit and a move as one: the file is changed and has another name, or neither.

use serde_json::json;

use super::{Done, Failure, apply, missed, missing, named, refused};
use crate::edit::{self, Edit};
use crate::reply::path::RelPath;
use crate::world::workspace::{FileKind, FsError, ProjectFiles};

pub(super) fn edit_and_move(
    edit: &Edit<'_>,
    (rel, to): (&RelPath, &str),
    files: &mut dyn ProjectFiles,
    preview: bool,
) -> Result<Done, Failure> {
    let to_rel = named::any(to, files)?;
    let source = files.place(rel, false)?;
    match files.kind(&source)? {
        None => return Err(missing::not_found_to_edit(rel, edit, files)),
        Some(FileKind::Link) => {
            let why = format!(
                "`{rel}` is a link: edit the file that it points to, and move the link in a task of its own"
            );
            return Err(refused(why));
        }
        Some(_) => {}
    }
    if to_rel.is_root() || to.trim_end().ends_with('/') {
        return Err(FsError::IsAFolder(to_rel.to_string()).into());
    }
    let target = files.place(&to_rel, false)?;
    if target == source {
        return Err(refused(
            "source and destination are the same: leave the move out",
        ));
    }
    if files.kind(&target)?.is_some() {
        let why = format!("`{to_rel}` already exists: delete it first, or choose another name");
        return Err(refused(why));
    }
    let before = files.read_to_change(&source)?;
    if let Err(errors) = edit::apply(&before.bytes, edit) {
        let shown = (before.bytes.as_slice(), &files.may_show(&source));
        return Err(missed::failure(&errors, edit, (rel, &source), shown));
    }
    // Whether it can be written at all is seen before it has its other name.
    files.write(&source, &[&before.bytes], Some(&before))?;
    files.rename(&source, &target, false)?;
    let mut done = match apply(edit, rel, &target, files, preview) {
        Ok(done) => done,
        Err(mut failure) => {
            if files.rename(&target, &source, false).is_err() {
                failure.message =
                    format!("moved to `{to_rel}`, but not edited: {}", failure.message).into();
            }
            return Err(failure);
        }
    };
    done.touched.insert(0, source.path().to_owned());
    done.data["to"] = json!(to_rel.to_string());
    done.data["overwrote"] = json!(false);
    if preview {
        done.diff += &format!("rename from {rel}\nrename to {to_rel}\n");
    }
    Ok(done)
}
