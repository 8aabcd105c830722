//! Owns the watching of a display's clipboard, in the process of the owner. Tells of each text that somebody else copies, and
//! keeps, logs and shows none.
//!
//! It has a connection of its own, which [`x11`], [`wayland`] or [`mac`] reads, and a thread that sleeps until the display tells
//! of a change. A text is read in pieces as they come: whoever offers one and does not give it holds up nothing.

mod history;
#[cfg(target_os = "macos")]
mod mac;
#[cfg(not(target_os = "macos"))]
mod wayland;
#[cfg(not(target_os = "macos"))]
mod x11;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::CopyId;
use super::frame::{Frame, FrameKind};
use crate::world::locked::locked;

pub(super) use history::CopyHistory;

/// The longest time that a text may take to arrive.
const PATIENCE: Duration = Duration::from_secs(1);
/// The shortest time between the starts of two reads. Who copies thousands of texts a second would be asked for each, and answer
/// the last too late.
const CALM: Duration = Duration::from_millis(20);

/// The reason why a clipboard cannot be watched.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    target_os = "macos",
    expect(dead_code, reason = "there are faults that only other systems have")
)]
pub(super) enum WatchFault {
    #[error("the compositor has no ext-data-control, as on GNOME under Wayland")]
    NoDataControl,
    #[error("the X server has no XFIXES")]
    NoXfixes,
    /// It cannot be reached, or went away.
    #[error("{0}")]
    Unreachable(String),
}

impl WatchFault {
    fn unreachable(error: impl ToString) -> Self {
        Self::Unreachable(error.to_string())
    }
}

/// The display that is watched, and how.
pub(super) struct WatchedDisplay {
    /// Such as `X11, :1`.
    pub(super) name: String,
    /// Such as `X11 (XFIXES 6.0)`.
    pub(super) by: String,
    eye: Box<dyn Eye>,
}

/// A thing that was seen of the clipboard.
enum Sight {
    /// Something was copied, and a read of what was before is given up.
    Changed,
    /// It was read; `None` if it has no text, or none that may be read.
    Read(Option<Vec<u8>>),
}

/// A connection that tells of the clipboard.
trait Eye: Send {
    /// Begins to watch. Returns true if something is copied already.
    fn start(&mut self) -> Result<bool, WatchFault>;
    /// Begins to read what is copied. Returns false if that has no text, or none that may be read.
    fn begin(&mut self) -> Result<bool, WatchFault>;
    /// Takes in what has come since, and reads on, up to so many bytes.
    fn look(&mut self, most: usize) -> Result<Vec<Sight>, WatchFault>;
    /// Fetches all that the display has to tell up to now.
    fn fetch(&mut self) -> Result<(), WatchFault>;
    /// Gives up the text that is being read.
    fn give_up(&mut self);
    /// Sleeps until there is something to look at, it is woken by this, or this moment.
    fn sleep(&mut self, woken: BorrowedFd<'_>, until: Option<Instant>) -> Result<(), WatchFault>;
}

/// Opens the display of the environment for watching. Reads nothing of what is copied there.
#[cfg(not(target_os = "macos"))]
pub(super) fn open() -> Result<WatchedDisplay, WatchFault> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set("WAYLAND_DISPLAY") {
        return x11::open();
    }
    match wayland::open() {
        Err(WatchFault::NoDataControl) if is_set("DISPLAY") => {
            let mut display = x11::open().map_err(|_| WatchFault::NoDataControl)?;
            display.by += ", through Xwayland";
            Ok(display)
        }
        opened => opened,
    }
}

#[cfg(target_os = "macos")]
pub(super) use mac::open;

/// A clipboard that is watched, until this is dropped.
pub(super) struct OwnerWatch {
    orders: Sender<SettleQuestion>,
    /// Wakes the thread.
    bell: UnixStream,
    history: Arc<Mutex<CopyHistory>>,
}

/// A question whether all that was copied is known.
struct SettleQuestion {
    answer: SyncSender<bool>,
    until: Instant,
}

impl OwnerWatch {
    /// Starts to watch under this number.
    pub(super) fn start(
        display: WatchedDisplay,
        number: u64,
        history: &Arc<Mutex<CopyHistory>>,
    ) -> io::Result<Self> {
        let (bell, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let (orders, ordered) = channel();
        locked(history).begin(number);
        let mut thread = WatchThread {
            eye: display.eye,
            number,
            history: Arc::clone(history),
            ordered,
            woken,
            reading: None,
            calm: Instant::now(),
            settle: None,
        };
        thread::Builder::new()
            .name("watch".into())
            .spawn(move || thread.run())?;
        Ok(Self {
            orders,
            bell,
            history: Arc::clone(history),
        })
    }

    /// Returns true if nobody else has copied anything since, which may take a moment to find out.
    pub(super) fn is_latest(&self, copy: CopyId) -> bool {
        self.settles() && locked(&self.history).is_latest(copy)
    }

    /// Waits until all that was copied is known. Returns false if that takes too long.
    pub(super) fn settles(&self) -> bool {
        let (answer, answered) = sync_channel(1);
        let until = Instant::now() + PATIENCE;
        let is_asked = self.orders.send(SettleQuestion { answer, until }).is_ok();
        let is_woken = (&self.bell).write_all(&[0]).is_ok();
        is_asked && is_woken && answered.recv().unwrap_or(false)
    }
}

impl Drop for OwnerWatch {
    fn drop(&mut self) {
        locked(&self.history).end();
    }
}

/// The read that is due or under way.
struct Reading {
    /// The moment at which it begins, or ends if it has begun.
    due: Instant,
    is_begun: bool,
    /// Of what was there at the start.
    is_first: bool,
}

/// The thread that watches.
struct WatchThread {
    eye: Box<dyn Eye>,
    number: u64,
    history: Arc<Mutex<CopyHistory>>,
    ordered: Receiver<SettleQuestion>,
    woken: UnixStream,
    reading: Option<Reading>,
    /// The moment before which no other read begins.
    calm: Instant,
    settle: Option<SettleQuestion>,
}

impl WatchThread {
    fn run(&mut self) {
        let Err(fault) = self.watch() else { return };
        let copy = CopyId {
            watch: self.number,
            generation: 0,
        };
        // Where clada has ended, there is nobody to tell.
        let _ = say(FrameKind::Lost, copy, &fault.to_string());
    }

    /// Watches until that is wanted no longer.
    fn watch(&mut self) -> Result<(), WatchFault> {
        if self.eye.start()? {
            self.expect(true);
        }
        loop {
            self.look()?;
            match self.ordered.try_recv() {
                Err(TryRecvError::Disconnected) => return Ok(()),
                Ok(settle) => {
                    self.settle = Some(settle);
                    self.eye.fetch()?;
                    self.look()?;
                }
                Err(TryRecvError::Empty) => {}
            }
            let (reading, now) = (self.reading.as_ref(), Instant::now());
            let is_settled = reading.is_none();
            let answer = self
                .settle
                .take_if(|settle| is_settled || settle.until <= now);
            if let Some(settle) = answer {
                let _ = settle.answer.try_send(is_settled);
            }
            let ends = [
                self.reading.as_ref().map(|reading| reading.due),
                self.settle.as_ref().map(|settle| settle.until),
            ];
            let until = ends.into_iter().flatten().min();
            self.eye.sleep(self.woken.as_fd(), until)?;
            let _ = (&self.woken).read(&mut [0; 64]);
        }
    }

    /// Has what is copied now read, as soon as it may.
    fn expect(&mut self, is_first: bool) {
        self.reading = Some(Reading {
            due: self.calm.max(Instant::now()),
            is_begun: false,
            is_first,
        });
    }

    /// Takes in what has happened, and begins or gives up the read that is due.
    fn look(&mut self) -> Result<(), WatchFault> {
        let most = locked(&self.history).most();
        for sight in self.eye.look(most)? {
            match sight {
                Sight::Changed => self.expect(false),
                Sight::Read(text) => self.finish(text)?,
            }
        }
        let now = Instant::now();
        let Some(reading) = self.reading.as_mut().filter(|reading| reading.due <= now) else {
            return Ok(());
        };
        if reading.is_begun {
            self.eye.give_up();
            return self.finish(None);
        }
        (reading.is_begun, reading.due) = (true, now + PATIENCE);
        self.calm = now + CALM;
        if !self.eye.begin()? {
            self.finish(None)?;
        }
        Ok(())
    }

    /// Ends a read, and tells the text if it is news.
    fn finish(&mut self, text: Option<Vec<u8>>) -> Result<(), WatchFault> {
        let Some(reading) = self.reading.take() else {
            return Ok(());
        };
        let text = text.and_then(|text| String::from_utf8(text).ok());
        let text = text.filter(|text| !text.is_empty());
        let mut history = locked(&self.history);
        // Another watching may have begun, or none is wanted.
        if !history.is_watched(self.number) {
            return Ok(());
        }
        let now = Instant::now();
        if reading.is_first {
            history.finds(text.as_deref(), now);
            return Ok(());
        }
        let told = history.sees(text.as_deref(), now);
        drop(history);
        if let (Some(copy), Some(text)) = (told, text) {
            say(FrameKind::Copied, copy, &text).map_err(WatchFault::unreachable)?;
        }
        Ok(())
    }
}

/// Tells clada something.
pub(super) fn say(kind: FrameKind, copy: CopyId, text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    Frame::send(&mut out, kind, copy, text)?;
    out.flush()
}

/// The time up to a moment, as systems take it; `None` is for ever.
#[cfg(not(target_os = "macos"))]
fn left(until: Option<Instant>) -> Option<rustix::event::Timespec> {
    let left = until?.saturating_duration_since(Instant::now());
    // A moment more than too little, so that nothing turns in circles.
    (left + Duration::from_millis(1)).try_into().ok()
}
