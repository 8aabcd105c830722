//! Owns what the owner process does: it has the text, and watches what others copy. Knows no display but that of its environment.
//!
//! It gets frames on its standard input and answers each with one; between these it tells what others copied. At the end of
//! the input it ends.

use std::env;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::display;
use super::frame::{Frame, FrameKind};
use super::owner::FAREWELL;
use super::watching::{self, CopyHistory, OwnerWatch, WatchFault, say};
use crate::world::locked::locked;

/// The time after which an owner that stays checks again that its display is there.
const LOOK: Duration = Duration::from_secs(10);

/// Runs the process that is the owner. With `stays` it takes one text, and ends when somebody else copies something.
///
/// # Errors
/// Where its input is none, or there is no thread.
pub fn own(stays: bool) -> io::Result<()> {
    let (frames, work) = sync_channel(1);
    let (ending, ended) = sync_channel(0);
    // The display may hang: whether clada has ended is noticed beside it.
    thread::Builder::new().spawn(move || serve(&work, stays, ending))?;
    let mut input = io::stdin().lock();
    while let Some(frame) = Frame::next(&mut input)? {
        if frames.send(frame).is_err() {
            break;
        }
    }
    drop(frames);
    // Who waits for another copy is not told when the display goes. One that cannot be asked is taken to stay.
    let vars = env::vars_os().collect();
    let server = || stays.then(|| display::server(&vars)).flatten();
    let first = server();
    let every = if stays { LOOK } else { FAREWELL };
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(every)
        && stays
        && server() == first
    {}
    Ok(())
}

/// `_ending` is dropped after the clipboard, which says that it is done.
fn serve(work: &Receiver<Frame>, stays: bool, _ending: SyncSender<()>) {
    let mut desk = OwnerDesk::default();
    for frame in work {
        let answer = desk.answer(&frame);
        if say(answer.kind, frame.copy, &answer.text).is_err() {
            return;
        }
        if let Some(clipboard) = desk.clipboard.as_mut().filter(|_| stays) {
            stay(clipboard, frame.text);
            return;
        }
    }
}

/// An answer to clada.
struct Answer {
    kind: FrameKind,
    text: String,
}

impl From<FrameKind> for Answer {
    fn from(kind: FrameKind) -> Self {
        let text = String::new();
        Self { kind, text }
    }
}

/// The state of the thread that has the text.
#[derive(Default)]
struct OwnerDesk {
    clipboard: Option<arboard::Clipboard>,
    watch: Option<OwnerWatch>,
    history: Arc<Mutex<CopyHistory>>,
}

impl OwnerDesk {
    fn answer(&mut self, frame: &Frame) -> Answer {
        match frame.kind {
            FrameKind::TextAfter if !self.is_latest(frame) => FrameKind::CopiedSince.into(),
            FrameKind::Watch => self.watch(frame.copy.watch),
            FrameKind::Unwatch => {
                self.watch = None;
                FrameKind::Done.into()
            }
            _ => self.set(&frame.text),
        }
    }

    fn is_latest(&self, frame: &Frame) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|watch| watch.is_latest(frame.copy))
    }

    /// Puts a text on the clipboard.
    fn set(&mut self, text: &str) -> Answer {
        if self.clipboard.is_none() {
            match arboard::Clipboard::new() {
                Ok(new) => self.clipboard = Some(new),
                Err(error) => {
                    let (kind, text) = (FrameKind::Unreachable, short(error));
                    return Answer { kind, text };
                }
            }
        }
        // It may be seen before it is said to be there.
        locked(&self.history).owns(text, Instant::now());
        let set = self.clipboard.as_mut();
        match set.map(|clipboard| clipboard.set_text(text)) {
            Some(Err(error)) => {
                let (kind, text) = (FrameKind::Refused, short(error));
                Answer { kind, text }
            }
            Some(Ok(())) | None => FrameKind::Done.into(),
        }
    }

    /// Watches what others copy.
    fn watch(&mut self, number: u64) -> Answer {
        self.watch = None;
        let started = watching::open().and_then(|display| {
            let text = display.name.clone();
            let watch = OwnerWatch::start(display, number, &self.history);
            let watch = watch.map_err(|error| WatchFault::Unreachable(error.to_string()))?;
            Ok((watch, text))
        });
        match started {
            Ok((watch, text)) => {
                // What is there now is told apart from what is copied next.
                watch.settles();
                self.watch = Some(watch);
                let kind = FrameKind::Watching;
                Answer { kind, text }
            }
            Err(WatchFault::Unreachable(text)) => {
                let kind = FrameKind::Unreachable;
                Answer { kind, text }
            }
            Err(fault) => Answer {
                kind: FrameKind::Unwatchable,
                text: fault.to_string(),
            },
        }
    }
}

/// Waits until somebody else copies something.
fn stay(clipboard: &mut arboard::Clipboard, text: String) {
    #[cfg(not(target_os = "macos"))]
    {
        use arboard::SetExtLinux;
        // It is told that the text is there before this, as this does not return.
        let _ = clipboard.set().wait().text(text);
    }
    #[cfg(target_os = "macos")]
    let _ = (clipboard, text);
}

/// One line, as it goes into one.
pub(super) fn short(error: arboard::Error) -> String {
    let text = match error {
        arboard::Error::Unknown { description } => description,
        other => other.to_string(),
    };
    let words: Vec<_> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    text.truncate(text.floor_char_boundary(120));
    text
}
