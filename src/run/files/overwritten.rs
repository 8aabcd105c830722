//! Writes a file anew, or a definition in one.

use std::borrow::Cow;

use serde_json::json;

use super::definition;
use super::left_out::{self, Use};
use super::named_file::NamedFile;
use super::{FileResult, failed};
use crate::reply::task::Payload;
use crate::report::fault::Fault;
use crate::report::outcome::Outcome;
use crate::world::workspace::{FsError, ProjectFiles};

pub(super) fn overwrite(
    path: &str,
    content: &Payload<'_>,
    final_newline: bool,
    only_new: bool,
    files: &mut dyn ProjectFiles,
) -> FileResult {
    let file = NamedFile::perhaps_new(path, files)?;
    if file.names.is_some() {
        return definition::overwrite(&file, content, files);
    }
    let exists = || {
        let message = format!("`{}` already exists: edit it, or delete it first", file.rel);
        failed(Fault::Exists, message)
    };
    if only_new && file.kind.is_some() {
        return Err(exists());
    }
    let text = file_text(content, final_newline);
    let bytes = text.as_bytes();
    let replaced = file
        .kind
        .and_then(|_| files.read_to_change(&file.place).ok());
    let replaced = replaced.as_ref().map(|content| content.bytes.as_slice());
    if !only_new {
        left_out::refuse(content, &file.rel, replaced, Use::Whole)?;
    }
    if only_new {
        let written = files.write_new(&file.place, &[bytes]);
        written.map_err(|error| match error {
            FsError::Exists(_) => exists(),
            error => error.into(),
        })?;
    } else {
        files.write(&file.place, &[bytes], None)?;
    }
    Ok(Outcome {
        message: replaced.and_then(|old| loss(old, bytes)),
        data: json!({ "path": file.rel.to_string(), "bytesWritten": bytes.len() }),
        touched: file.touched(),
        ..Outcome::default()
    })
}

/// The text of a file that is made of a payload.
pub(super) fn file_text<'p>(content: &'p Payload<'_>, final_newline: bool) -> Cow<'p, str> {
    let mut text = content.file_text();
    if !final_newline {
        let bare = text.strip_suffix('\n').unwrap_or(&text);
        let bare = bare
            .strip_suffix('\r')
            .filter(|_| content.is_crlf)
            .unwrap_or(bare);
        text = bare.to_owned().into();
    }
    text
}

/// The number of lines that a file had and has, if it loses more than half of them.
fn loss(old: &[u8], new: &[u8]) -> Option<String> {
    let count = |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').count();
    let (old, new) = (count(old), count(new));
    let lines = if new == 1 { "line" } else { "lines" };
    (2 * new < old).then(|| format!("{old} → {new} {lines}"))
}
