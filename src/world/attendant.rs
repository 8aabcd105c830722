//! Owns the one thread of this process that waits for what comes seldom and takes a moment: signals, questions of other
//! cladas, changes of what is mounted. The thread that does the work also blocks in places, and could not hear of them there.

use std::future::{self, Future};
use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;

use crate::world::scarce;

/// The runtime of the thread, once there is one.
static ATTENDANT: Mutex<Option<Handle>> = Mutex::new(None);

/// Lets the thread wait for something, from now to the end of the process. `begin` makes what it waits with, in this thread.
///
/// What it then does must never block: everything else that comes would wait for it.
///
/// # Errors
/// Where the system has no thread or file for it, or `begin` fails.
pub fn attend<F>(begin: impl FnOnce() -> io::Result<F>) -> io::Result<AbortHandle>
where
    F: Future<Output = ()> + Send + 'static,
{
    let attendant = attendant()?;
    let _context = attendant.enter();
    Ok(attendant.spawn(begin()?).abort_handle())
}

fn attendant() -> io::Result<Handle> {
    let mut known = ATTENDANT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(attendant) = &*known {
        return Ok(attendant.clone());
    }
    scarce::check_files()?;
    scarce::check_thread()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let attendant = runtime.handle().clone();
    std::thread::Builder::new()
        .name("attendant".to_owned())
        .spawn(move || runtime.block_on(future::pending::<()>()))?;
    Ok(known.insert(attendant).clone())
}
