//! Owns whose turn it is to start programs that start others: one script, or the login shell, at a time. Starts nothing itself.

use tokio::sync::Mutex;

/// Held from before such a program is started until all that is to be ended of it has ended.
///
/// With two at once, nothing could tell whose an orphan is: what leaves its session and loses its parent becomes a child
/// of clada, and a script's run ends every new child that clada has not started in its own session.
pub static TURN: Mutex<()> = Mutex::const_new(());
