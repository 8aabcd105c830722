//! Things that no more than one of this user's cladas does, and only now and then.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::world::folder::if_there;
use crate::world::state;

/// Returns true if something of this name was done by nobody for so long, and notes that it is done now.
///
/// # Errors
/// Where that cannot be noted.
pub fn is_due(folder: &Path, name: &str, every: Duration, now_ms: i64) -> io::Result<bool> {
    let _lock = state::lock(folder)?;
    let path = folder.join(format!("{name}.time"));
    let last = if_there(fs::read_to_string(&path))?;
    let last: Option<i64> = last.and_then(|last| last.trim().parse().ok());
    let every = i64::try_from(every.as_millis()).unwrap_or(i64::MAX);
    // A clock that was set back must not silence it for long.
    if last.is_some_and(|last| (0..every).contains(&(now_ms - last))) {
        return Ok(false);
    }
    state::replace_on_disk(&path, now_ms.to_string().as_bytes())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_once_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let due = |now| is_due(dir.path(), "told", Duration::from_secs(60), now).unwrap();
        let told: Vec<bool> = [1_000, 2_000, 60_999, 61_000, 62_000, 0].map(due).to_vec();
        assert_eq!(told, [true, false, false, true, false, true]);
    }
}
