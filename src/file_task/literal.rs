//! Edits that look for one very text, without tiers: those of SHAM and NESL, and replacing everywhere.

use std::borrow::Cow;

use super::{Done, Failure, refused};
use crate::lang::task::Payload;
use crate::world::workspace::Files;

pub(super) fn replace(
    _path: &str,
    (_search, _replace): (&str, &str),
    _files: &mut dyn Files,
    _preview: bool,
) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}

pub(super) fn replace_range(
    _path: &str,
    (_beginning, _end, _replace): (&str, &str, &str),
    _files: &mut dyn Files,
    _preview: bool,
) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}

pub(super) fn replace_all(
    _paths: &[Cow<'_, str>],
    (_search, _replace): (&Payload<'_>, &Payload<'_>),
    _count: Option<usize>,
    _files: &mut dyn Files,
    _preview: bool,
) -> Result<Done, Failure> {
    Err(refused("cannot be done yet"))
}
