//! Showing files.

use std::borrow::Cow;

use super::{Done, Failure, refused};
use crate::world::workspace::Files;

pub(super) fn read(
    _paths: &[Cow<'_, str>],
    _lines: Option<&str>,
    _numbers: Option<&str>,
    _files: &dyn Files,
) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}
