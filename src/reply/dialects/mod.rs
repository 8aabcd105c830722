//! The dialects beside CML: one reader for each, and what they share.

pub(crate) mod aider;
mod block;
pub(crate) mod codex;
pub(crate) mod diff;
pub mod nesl;
mod patch;
pub(crate) mod replacer;
