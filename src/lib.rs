//! clada carries out what an LLM's reply asks for, when the person saves that reply in a notes file.
//!
//! # From a save to its results
//!
//! ```text
//! clipboard ─▶ listener/intake ─▶ listener/inbox: copied replies with the key of these notes
//!    ┌──────────────────────────────────┘
//!    ▼
//! notes file ─▶ world/watch ─▶ reply/note ─▶ reply/scan ─▶ novelty: which batches are new?
//!    ▲              save      block | body    batches             │         ▲
//!    │                                                            ▼         │ what was seen, what ran
//!    │                                   ledger: started, then finished ◀─▶ world/ledger
//!    │                                                            │
//!    │                                                            ▼
//!    └─ write back ◀─ report ◀─ outcomes ◀─ run: snapshot, tasks in the confined workspace, snapshot
//!                       ├──▶ .clada-output-latest.txt
//!                       └──▶ clipboard
//! ```
//!
//! [`listener`] is the loop that takes a text this way, and one file reads like the line above. A task is in the ledger on the
//! disk before it starts, and a results block before it is written. So whatever ends clada, the next start knows what may have
//! happened, runs nothing twice, and reports what was not reported. A reply from the clipboard is appended to the notes file by the
//! listener itself; then everything goes as after a save.
//!
//! # Folders
//!
//! From the bottom up. Imports go down only, and each outside crate has one home; `tests/it/tidy/` checks both.
//!
//! | folder | what is in it |
//! | --- | --- |
//! | [`text`] | plain text and small values: sizes, durations, wildcards, masks, what a terminal shows |
//! | [`clock`] | time and chance |
//! | [`code`] | source code as an outline: definitions, the addresses that name them |
//! | [`reply`] | a reply as values: batches, tasks, problems; `scan` finds them, `cml/` and `dialects/` read them; parsing cannot fail |
//! | [`policy`] | which actions, paths and commands replies may use |
//! | [`edit`] | where an edit applies, and what is written there |
//! | [`novelty`] | what of a save is new: `step(state, event) -> effects` |
//! | [`report`] | outcomes become results, output, packet and JSON; the wording of all that an LLM reads |
//! | [`world`] | one file or folder for each outside thing: the project's files, the notes, the ledger, the shell, the fence, the clipboard |
//! | [`settings`] | the settings, and the folders of this user |
//! | [`git`] | snapshots, undo, squash, older states |
//! | [`run`] | one batch: snapshot, tasks, snapshot; `files/`, `exec/` and `context` are what the tasks do |
//! | [`error`] | the errors that end the process |
//! | [`listener`] | one notes file: the loop from a save to its results |
//! | [`supervisor`] | many listeners in one process: `clada daemon` |
//! | [`cli`], [`start`], [`cmd`] | the command line, what commands start with, and one thin file for each command |
//!
//! The first eight but the clock are pure: they open no file, start no process and read no clock. They are a crate of their own,
//! `clada-core` in `src/core`, and seen here under their names.
//!
//! # Glossary
//!
//! One word for one thing, in code, messages and documents.
//!
//! | word | meaning |
//! | --- | --- |
//! | notes | the watched file: a results block on top, the person's text below |
//! | reply | the text that an LLM wrote, as the person pasted it |
//! | copied reply | a reply that the person only copied: the intake puts it into the inbox of its notes file |
//! | chat key | a word in a reply that says which notes file it is for |
//! | dialect | a language in which a reply can ask for tasks: CML, or that of another tool |
//! | batch | the tasks of a reply that belong together; it runs as a whole or not at all |
//! | task | one thing to do: edit a file, run a command |
//! | run | the carrying out of one batch, with the snapshots around it |
//! | outcome | what came of a task, success or failure |
//! | snapshot | a commit that saves the state of the project before or after tasks |
//! | ledger | the database of what was seen, started and finished |
//! | results | what the person reads on top of the notes; they stand in a block |
//! | packet | the text for the clipboard: what the LLM needs next |
//! | offer | a box below results; a tick in it lets something run |
//! | tick | an `x` that the person put into a box |
//! | context set | the files, folders and definitions that the person or a reply chose for the chat, each at a level |
//! | level | the part of a file that the chat sees: full, outline or name |
//! | fence | the limits that the system enforces on a command |
//! | listener | what watches one notes file and takes each save to its results |
//! | supervisor | what keeps many listeners in one process |

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that panics has failed")
)]

pub use clada_core::{code, edit, novelty, policy, reply, report, text};

pub mod cli;
pub mod clock;
pub mod cmd;
pub mod error;
pub mod git;
pub mod listener;
pub mod logs;
pub mod run;
pub mod settings;
pub mod start;
pub mod supervisor;
pub mod world;
