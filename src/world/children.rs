//! Owns which processes clada has started in sessions of their own, and whose turn it is to start some. Starts nothing
//! itself.
//!
//! What a script leaves behind may lose its parent and leave its session; then it becomes a child of clada. So whoever
//! ends what is left of a script must know which children are somebody else's.

use std::collections::HashSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Pid;
use tokio::sync::RwLock;

/// Read by scripts, written by the login shell: what its start-up files begin (an agent, say) may outlive it, and must not
/// be taken for what a script left behind.
pub static TURN: RwLock<()> = RwLock::const_new(());

static OWN: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);

/// A child in a session of its own that somebody waits for. To be dropped before the child is waited for to its end, or
/// right behind it.
#[derive(Debug)]
pub struct Own(Pid);

impl Own {
    /// Starts one. Nobody looks at clada's children until it is known.
    ///
    /// # Errors
    /// Those of `spawn`.
    pub fn start<C>(
        spawn: impl FnOnce() -> io::Result<C>,
        id: impl FnOnce(&C) -> Option<Pid>,
    ) -> io::Result<(C, Option<Self>)> {
        let mut own = lock();
        let child = spawn()?;
        let pid = id(&child);
        if let Some(pid) = pid {
            own.get_or_insert_default().insert(pid);
        }
        Ok((child, pid.map(Self)))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(own) = &mut *lock() {
            own.remove(&self.0);
        }
    }
}

fn lock() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at clada's children while none is started; what it looks with tells which are [`Own`].
pub fn looking<T>(look: impl FnOnce(&dyn Fn(Pid) -> bool) -> T) -> T {
    let own = lock();
    look(&|pid| own.as_ref().is_some_and(|own| own.contains(&pid)))
}
