//! Making folders, and deleting empty ones.

use super::{Done, Failure, refused};
use crate::world::workspace::Files;

pub(super) fn make(_path: &str, _files: &mut dyn Files) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}

pub(super) fn remove(_path: &str, _files: &mut dyn Files) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}
