//! Locks of values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; the value that a thread left which failed is as good as any.
pub fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
