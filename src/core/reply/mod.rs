//! A reply as values: the batches, tasks and problems in a text. Parsing cannot fail, and nothing here opens a file.

pub mod action;
pub mod chat_key;
mod cml;
pub mod context;
pub mod copied_reply;
pub mod dialect;
pub mod dialects;
pub mod hunk;
pub mod lessons;
pub mod note;
pub mod path;
pub mod question;
pub mod record;
pub mod scan;
pub mod task;
pub mod teaching;
pub mod text;
