//! Plain text and the values that are written in it. Knows nothing of replies, files or clocks.

pub mod diff;
pub mod duration;
pub mod glob;
pub mod hex;
pub mod hidden;
pub mod language;
pub mod lines;
pub mod mask;
pub mod names;
pub mod paths;
pub mod plain;
pub mod size;
pub mod tokens;
pub mod visible;
