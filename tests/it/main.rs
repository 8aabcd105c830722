//! One integration crate: every file beside this one is a subject.

#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only tests on Linux use all of the harness")
)]

#[cfg(feature = "grammars")]
mod addresses;
mod atomic;
mod blocks;
mod browser;
mod cases;
mod chance;
mod changed;
mod chat_key;
mod cli;
#[cfg(target_os = "linux")]
mod clipboard;
#[cfg(target_os = "linux")]
mod clipboard_watch;
mod cml;
mod config;
mod confine;
#[cfg(all(feature = "grammars", feature = "tokens"))]
mod context;
#[cfg(target_os = "linux")]
mod copied;
mod daemon;
mod damage;
mod dialects;
mod disk_full;
mod docs;
mod doctor;
mod edit;
mod elsewhere;
#[cfg(target_os = "linux")]
mod errors;
mod exclude;
#[cfg(target_os = "linux")]
mod exec;
mod fenced;
mod files;
mod first_day;
mod flags;
mod git;
mod growth;
mod guarded;
mod harness;
mod help;
mod hooks;
#[cfg(target_os = "linux")]
mod install;
mod lessons;
mod log;
mod logs;
mod many_tasks;
mod meanwhile;
mod messages;
mod messages_list;
mod nesl;
mod note;
#[cfg(target_os = "linux")]
mod notices;
mod novelty;
#[cfg(target_os = "linux")]
mod odd_files;
mod outline;
mod package;
mod packet;
mod patch;
mod paths;
mod pause;
mod policy;
#[cfg(target_os = "linux")]
mod printed;
mod programs;
mod reference;
mod registering;
mod replay;
#[cfg(target_os = "linux")]
mod repositories;
mod roundtrip;
mod run;
#[cfg(target_os = "linux")]
mod sandbox;
mod scanned;
#[cfg(target_os = "linux")]
mod screenshot;
mod search;
#[cfg(target_os = "linux")]
mod service;
mod shared;
mod stale;
mod subject;
mod syntax;
mod tail;
mod terminal;
mod tidy;
mod undo;
