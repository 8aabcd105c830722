//! The part of clada that is values and nothing else: what a reply says, where its edits apply, what of a save is new, and what
//! is told of it. Nothing here opens a file, starts a process or reads a clock, and all of it works on texts that are given.
//!
//! The crate `clada` shows these modules as its own, and says how they belong together.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that panics has failed")
)]

pub mod code;
pub mod edit;
pub mod novelty;
pub mod policy;
pub mod reply;
pub mod report;
pub mod text;
