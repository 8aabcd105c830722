//! One integration crate: every file beside this one is a subject.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod atomic;
mod blocks;
mod browser;
mod cases;
mod chance;
mod cli;
mod cml;
mod confine;
mod context;
mod daemon;
mod dialects;
mod disk_full;
mod docs;
mod edit;
mod engine;
#[cfg(target_os = "linux")]
mod exec;
mod fenced;
mod files;
mod first_day;
mod git;
mod guarded;
mod harness;
mod hooks;
mod lessons;
mod log;
mod meanwhile;
mod nesl;
mod note;
mod patch;
mod paths;
mod policy;
mod replay;
mod roundtrip;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod scanned;
#[cfg(target_os = "linux")]
mod screenshot;
mod search;
mod stale;
#[cfg(target_os = "linux")]
mod terminal;
mod tidy;
mod undo;
