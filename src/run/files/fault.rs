//! Failures of file commands, as outcomes.

use std::io;

use crate::report::fault::Fault;
use crate::report::outcome::Outcome;
use crate::world::workspace::FsError;

/// The result of a file command, or of a step of one.
pub(crate) type FileResult<T = Outcome> = Result<T, Box<Outcome>>;

/// A failure for which no dialect has words of its own.
pub(crate) fn refused(message: impl Into<String>) -> Box<Outcome> {
    failed(Fault::Other, message)
}

pub(crate) fn failed(fault: Fault, message: impl Into<String>) -> Box<Outcome> {
    Box::new(Outcome {
        fault,
        ..Outcome::failed(message)
    })
}

impl From<FsError> for Box<Outcome> {
    fn from(error: FsError) -> Self {
        let fault = match &error {
            FsError::NotFound(_) => Fault::Missing,
            FsError::Exists(_) => Fault::Exists,
            FsError::IsAFolder(_) => Fault::IsFolder,
            FsError::NotAFolder(_) => Fault::NotAFolder,
            FsError::NotEmpty(_) => Fault::NotEmpty,
            FsError::ReadOnly(_) => Fault::Denied,
            FsError::Io { error, .. } => fault_of(error),
            _ => Fault::Other,
        };
        failed(fault, error.to_string())
    }
}

/// The cause that an error of the system names.
fn fault_of(error: &io::Error) -> Fault {
    let code = match error.kind() {
        io::ErrorKind::NotFound => return Fault::Missing,
        io::ErrorKind::AlreadyExists => return Fault::Exists,
        io::ErrorKind::PermissionDenied => return Fault::Denied,
        io::ErrorKind::NotADirectory => return Fault::NotAFolder,
        io::ErrorKind::IsADirectory => return Fault::IsFolder,
        io::ErrorKind::DirectoryNotEmpty => return Fault::NotEmpty,
        io::ErrorKind::InvalidFilename => "ENAMETOOLONG",
        io::ErrorKind::StorageFull => "ENOSPC",
        io::ErrorKind::QuotaExceeded => "EDQUOT",
        io::ErrorKind::ReadOnlyFilesystem => "EROFS",
        io::ErrorKind::ResourceBusy => "EBUSY",
        io::ErrorKind::FileTooLarge => "EFBIG",
        io::ErrorKind::InvalidInput => "EINVAL",
        _ => "EIO",
    };
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    Fault::System {
        code: code.to_owned(),
        text: text.to_lowercase(),
    }
}
