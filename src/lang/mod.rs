//! The language: pure text and values. Nothing here opens a file, reads a clock or can fail to parse.

mod cml;
pub mod duration;
pub mod edit;
mod elements;
pub mod entry;
pub mod hex;
pub mod language;
pub mod mask;
pub mod nearest;
pub mod note;
pub mod outcome;
pub mod path;
mod payload;
pub mod plain;
pub mod policy;
pub mod record;
pub mod repair;
pub mod report;
pub mod scan;
pub mod size;
mod tag;
pub mod task;
pub mod text;
pub mod wording;
