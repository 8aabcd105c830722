//! Showing what there is: folders, lines that match, names that match.

use super::{Done, Failure, refused};
use crate::world::workspace::Files;

pub(super) fn list(_path: Option<&str>, _files: &dyn Files) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}

pub(super) fn grep(
    _pattern: &str,
    _path: Option<&str>,
    (_include, _ignore_case): (Option<&str>, bool),
    _files: &dyn Files,
) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}

pub(super) fn glob(
    _pattern: &str,
    _path: Option<&str>,
    _files: &dyn Files,
) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}
