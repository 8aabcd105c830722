//! Owns the watching of the pasteboard of macOS, which tells of no change: its count of changes is asked for again and again.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use objc2::rc::autoreleasepool;
use objc2_app_kit::NSPasteboard;
use rustix::event::{PollFd, PollFlags, poll};

use super::{Eye, Sight, WatchFault, WatchedDisplay};

/// The time between two questions.
const EVERY: Duration = Duration::from_millis(250);
/// The types that mark a text that nobody else is to keep.
const SECRET: [&str; 2] = [
    "org.nspasteboard.ConcealedType",
    "org.nspasteboard.TransientType",
];

/// The count of changes that is known.
struct MacEye {
    count: isize,
    /// Its text is to be read.
    is_due: bool,
}

/// Opens the pasteboard. A process without a session of the desktop, as one that came by SSH, may have none.
pub(in crate::world::clipboard) fn open() -> Result<WatchedDisplay, WatchFault> {
    arboard::Clipboard::new().map_err(WatchFault::unreachable)?;
    Ok(WatchedDisplay {
        name: "macOS".to_owned(),
        by: "macOS (four times a second)".to_owned(),
        eye: Box::new(MacEye {
            count: count(),
            is_due: false,
        }),
    })
}

/// Asks for the count. Objects that the system lends for the call are given back after it: nobody else does so in this thread.
fn count() -> isize {
    autoreleasepool(|_| NSPasteboard::generalPasteboard().changeCount())
}

/// `None` where there is no text, or none that may be read.
fn text(most: usize) -> Option<Vec<u8>> {
    autoreleasepool(|_| {
        let types = NSPasteboard::generalPasteboard().types()?;
        let is_secret = |name: String| SECRET.contains(&name.as_str());
        if types.iter().any(|name| is_secret(name.to_string())) {
            return None;
        }
        let text = arboard::Clipboard::new().ok()?.get_text().ok()?;
        (text.len() <= most).then(|| text.into_bytes())
    })
}

impl Eye for MacEye {
    fn start(&mut self) -> Result<bool, WatchFault> {
        Ok(true)
    }

    fn begin(&mut self) -> Result<bool, WatchFault> {
        self.is_due = true;
        Ok(true)
    }

    fn look(&mut self, most: usize) -> Result<Vec<Sight>, WatchFault> {
        let mut seen = Vec::new();
        let now = count();
        if now != self.count {
            (self.count, self.is_due) = (now, false);
            seen.push(Sight::Changed);
        }
        if std::mem::take(&mut self.is_due) {
            seen.push(Sight::Read(text(most)));
        }
        Ok(seen)
    }

    fn fetch(&mut self) -> Result<(), WatchFault> {
        Ok(())
    }

    fn give_up(&mut self) {
        self.is_due = false;
    }

    fn sleep(&mut self, woken: BorrowedFd<'_>, until: Option<Instant>) -> Result<(), WatchFault> {
        let now = Instant::now();
        let left = until.map_or(EVERY, |until| until.saturating_duration_since(now));
        let left = left.min(EVERY).try_into().ok();
        let mut woken = [PollFd::from_borrowed_fd(woken, PollFlags::IN)];
        match poll(&mut woken, left.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(WatchFault::unreachable(error)),
        }
    }
}
