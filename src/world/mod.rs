//! The outside world: one file for each outside thing. These files do not know each other.
//!
//! Some are parts that others stand on: [`scarce`], under what may get no thread or open no file, [`attendant`], under what
//! hears of something now and then, [`attributes`] and [`lease`],
//! under [`note_file`] and whatever else replaces files, [`folder`], under these and [`output_file`], [`long_text`], which
//! [`shell`] writes into the file of [`output_file`], [`hurry`], under what
//! waits for other programs, [`sandbox`], under [`shell`], [`programs`], under what runs any outside the fence, [`state`], under
//! what keeps something, [`compare`], [`process`] and [`ownership`]. [`survivors`] hears of [`shell`] what could not be ended.

pub mod attendant;
pub mod attributes;
pub mod chat;
pub mod chat_keys;
pub mod clipboard;
pub mod code_cache;
pub mod compare;
pub mod context;
pub mod copied_replies;
pub mod desktop;
pub mod file_or_link;
pub mod folder;
pub mod hurry;
pub mod intent;
pub mod lease;
pub mod ledger;
pub mod lock;
pub mod locked;
pub mod login_env;
pub mod long_text;
pub mod note_file;
pub mod once_a_while;
pub mod output_file;
pub mod ownership;
pub mod packet;
pub mod pause;
pub mod process;
pub mod programs;
pub mod roots;
pub mod sandbox;
pub mod scarce;
pub mod service;
pub mod shell;
pub mod socket;
pub mod state;
pub mod survivors;
pub mod syntax;
pub mod tty;
pub mod watch;
pub mod whole_file;
pub mod workspace;
