//! clada carries out what an LLM's reply asks for, when the person saves that reply in a notes file.
//!
//! # The way the data goes
//!
//! ```text
//! watched file ─▶ note::split ─▶ scan ─▶ cml ─▶ engine: which batches are new?
//!    ▲             blocks | body  batches  tasks, problems   ▲ │
//!    │                                        what was seen  │ │ what is to run
//!    │                                                  ledger │
//!    │                                  started, then finished ▲
//!    │                                                       │ ▼
//!    └─ write back ◀─ report ◀─ outcomes ◀─ batch: snapshot, tasks in the confined workspace, snapshot
//!                       ├──▶ .clada-output-latest.txt
//!                       └──▶ clipboard
//! ```
//!
//! A task is in the ledger on the disk before it starts, and a results block before it is written; so whatever ends clada,
//! the next one knows what may have happened, runs nothing twice and tells what was not told.
//!
//! That is one file. `clada daemon` does it for all of the list ([`config::registry`]): each file is watched by the one
//! `world/watch/mod.rs` and sleeps; a save wakes a thread on which the listener that `clada watch` has works until nothing is left
//! to do. What it does just then is on the [`daemon::board`], which `clada status` asks for over `world/socket.rs`. `clada
//! service` has the system's service manager keep that process running (`world/service/mod.rs`).
//!
//! What a command may do is settled anew for each run and does not change in it: `listener/rules.rs` makes [`exec_task::Rules`]
//! of the settings (what is asked about, the fence, the environment, the limits, what is masked), and
//! `world/sandbox/mod.rs` makes of the fence what the system enforces.
//!
//! # Floors
//!
//! Imports go down only; `tests/it/tidy.rs` checks it.
//!
//! | floor | what | may use |
//! | --- | --- | --- |
//! | 4 entry | `main.rs`, [`logs`]: the log; [`cli`]: the command line, and the manual of `docs/`; [`cmd`]: one file for each command, `cmd/watch.rs` one listener, `supervisor/mod.rs` many; [`terminal`]: what a person there is shown | everything below |
//! | 3 shell | [`daemon`]: waits for an event, asks the engine, performs its effects, shows on the board what it does | engine, batch, world |
//! | 2 act | [`batch`]: before-snapshot, each task, after-snapshot; [`file_task`], [`exec_task`], [`context_task`]: what the commands mean; [`undo`]: takes batches back | world, lang |
//! | 2 settings | [`config`]: the settings, this user's folders, the list of watched files | world, lang |
//! | 1 decide | [`engine`]: `step(state, event) -> effects`; no I/O, no clock | lang |
//! | 1 do | [`world`]: one file for each outside thing | lang, its one crate |
//! | 0 language | [`lang`]: pure text and values; parsing cannot fail, it returns tasks and problems | - |

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that panics has failed")
)]

pub mod cli;
pub mod clock;
pub mod cmd;
pub mod edit;
pub mod error;
pub mod git;
pub mod listener;
pub mod logs;
pub mod novelty;
pub mod policy;
pub mod reply;
pub mod report;
pub mod run;
pub mod settings;
pub mod start;
pub mod supervisor;
pub mod text;
pub mod world;
