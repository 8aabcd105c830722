//! The outside world: one file for each outside thing. These files do not know each other, nor the engine.
//!
//! Seven are parts that others stand on: [`scarce`], under what may get no thread or open no file, [`attributes`] and [`lease`], under [`note_file`] and whatever else replaces files,
//! [`hurry`], under what waits for other programs, [`sandbox`], under [`shell`], and [`children`], under what starts programs
//! in sessions of their own: [`shell`], [`login_env`], [`snapshot`]. [`survivors`] hears of [`shell`] what could not be ended.

pub mod attributes;
pub mod chat;
pub mod children;
pub mod clipboard;
pub mod context;
pub mod desktop;
pub mod hurry;
pub mod intent;
pub mod lease;
pub mod ledger;
pub mod lock;
pub mod login_env;
pub mod note_file;
pub mod output_file;
pub mod packet;
pub mod roots;
pub mod sandbox;
pub mod scarce;
pub mod service;
pub mod shell;
pub mod snapshot;
pub mod socket;
pub mod survivors;
pub mod tty;
pub mod watch;
pub mod workspace;
