//! Owns the watching of an X11 display. Reads the selection CLIPBOARD only, never the one that is made by marking text.

use std::collections::VecDeque;
use std::env;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{self, ConnectionExt as _, SelectionEventMask};
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, GetPropertyReply, Property,
    SelectionNotifyEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::{COPY_DEPTH_FROM_PARENT, COPY_FROM_PARENT, CURRENT_TIME, NONE, atom_manager};

use super::{Eye, Sight, WatchFault, WatchedDisplay, left};

atom_manager! {
    Atoms: AtomsCookie {
        CLIPBOARD,
        TARGETS,
        INCR,
        UTF8_STRING,
        UTF8_MIME: b"text/plain;charset=utf-8",
        SECRET: b"x-kde-passwordManagerHint",
        CLADA_COPIED,
    }
}

/// The most kinds of content that a clipboard may offer.
const MOST_TYPES: u32 = 4096;
/// The most reads that were given up and may still be answered.
const MOST_LEFT: usize = 16;

/// A connection to an X server.
struct X11Eye {
    server: RustConnection,
    atoms: Atoms,
    root: Window,
    read: Option<X11Read>,
    /// Reads that were given up. A window is destroyed when the other program has used it: many a program dies when it writes
    /// to one that is gone.
    left: VecDeque<X11Read>,
    /// Events that came while something was sent.
    early: Vec<Event>,
    seen: Vec<Sight>,
}

/// A read under way, through a window of its own.
struct X11Read {
    window: Window,
    stage: X11Stage,
}

/// The point at which a read is.
enum X11Stage {
    /// The kinds of content are asked for.
    Types,
    /// The text is.
    Text(Atom),
    /// The text comes in parts.
    Parts(Atom, Vec<u8>),
}

/// Opens the display of the environment.
pub(super) fn open() -> Result<WatchedDisplay, WatchFault> {
    let (server, screen) = x11rb::connect(None).map_err(WatchFault::unreachable)?;
    let name = env::var("DISPLAY").unwrap_or_default();
    let known = server.extension_information(xfixes::X11_EXTENSION_NAME);
    if known.map_err(lost)?.is_none() {
        return Err(WatchFault::NoXfixes);
    }
    let version = server.xfixes_query_version(5, 0).map_err(lost)?;
    let version = version.reply().map_err(WatchFault::unreachable)?;
    let atoms = Atoms::new(&server).map_err(lost)?;
    let atoms = atoms.reply().map_err(WatchFault::unreachable)?;
    let root = server.setup().roots[screen].root;
    let eye = X11Eye {
        server,
        atoms,
        root,
        read: None,
        left: VecDeque::new(),
        early: Vec::new(),
        seen: Vec::new(),
    };
    let (major, minor) = (version.major_version, version.minor_version);
    Ok(WatchedDisplay {
        name: format!("X11, {name}"),
        by: format!("X11 (XFIXES {major}.{minor})"),
        eye: Box::new(eye),
    })
}

fn lost(error: ConnectionError) -> WatchFault {
    WatchFault::unreachable(error)
}

/// `None` where the server refuses it, as with a window that is gone.
fn granted<T>(reply: Result<T, ReplyError>) -> Result<Option<T>, WatchFault> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(ReplyError::ConnectionError(error)) => Err(lost(error)),
        Err(ReplyError::X11Error(_)) => Ok(None),
    }
}

impl Eye for X11Eye {
    fn start(&mut self) -> Result<bool, WatchFault> {
        let (clipboard, mask) = (
            self.atoms.CLIPBOARD,
            SelectionEventMask::SET_SELECTION_OWNER,
        );
        // Of who ends, nothing is to be known: nothing is copied by that.
        self.server
            .xfixes_select_selection_input(self.root, clipboard, mask)
            .map_err(lost)?;
        let owner = self.server.get_selection_owner(clipboard).map_err(lost)?;
        let owner = owner.reply().map_err(WatchFault::unreachable)?.owner;
        Ok(owner != NONE)
    }

    fn begin(&mut self) -> Result<bool, WatchFault> {
        self.give_up();
        // Where there is no number left for a window, nothing can be read.
        let Ok(window) = self.server.generate_id() else {
            return Ok(false);
        };
        self.create(window).map_err(lost)?;
        self.ask(window, self.atoms.TARGETS).map_err(lost)?;
        self.read = Some(X11Read {
            window,
            stage: X11Stage::Types,
        });
        Ok(true)
    }

    fn look(&mut self, most: usize) -> Result<Vec<Sight>, WatchFault> {
        for event in std::mem::take(&mut self.early) {
            self.take_in(event, most)?;
        }
        while let Some(event) = self.server.poll_for_event().map_err(lost)? {
            self.take_in(event, most)?;
        }
        Ok(std::mem::take(&mut self.seen))
    }

    fn fetch(&mut self) -> Result<(), WatchFault> {
        let answer = self.server.get_input_focus().map_err(lost)?;
        granted(answer.reply()).map(drop)
    }

    fn give_up(&mut self) {
        let Some(read) = self.read.take() else { return };
        self.left.push_back(read);
        if self.left.len() > MOST_LEFT
            && let Some(oldest) = self.left.pop_front()
        {
            self.destroy(oldest.window);
        }
    }

    fn sleep(&mut self, woken: BorrowedFd<'_>, until: Option<Instant>) -> Result<(), WatchFault> {
        self.server.flush().map_err(lost)?;
        // To flush may read too.
        if let Some(event) = self.server.poll_for_event().map_err(lost)? {
            self.early.push(event);
            return Ok(());
        }
        let stream = self.server.stream().as_fd();
        let mut both = [stream, woken].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match poll(&mut both, left(until).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(WatchFault::unreachable(error)),
        }
    }
}

impl X11Eye {
    /// Creates a window into which a text may be put.
    fn create(&self, window: Window) -> Result<(), ConnectionError> {
        let aux = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        let (depth, visual) = (COPY_DEPTH_FROM_PARENT, COPY_FROM_PARENT);
        let class = WindowClass::INPUT_ONLY;
        self.server
            .create_window(depth, window, self.root, 0, 0, 1, 1, 0, class, visual, &aux)
            .map(drop)
    }

    /// Asks for what is copied as this kind of content.
    fn ask(&self, window: Window, target: Atom) -> Result<(), ConnectionError> {
        let (clipboard, into) = (self.atoms.CLIPBOARD, self.atoms.CLADA_COPIED);
        self.server
            .convert_selection(window, clipboard, target, into, CURRENT_TIME)
            .map(drop)
    }

    fn destroy(&self, window: Window) {
        // Where the server is gone, so is the window.
        let _ = self.server.destroy_window(window);
    }

    fn take_in(&mut self, event: Event, most: usize) -> Result<(), WatchFault> {
        match event {
            Event::XfixesSelectionNotify(event) if event.owner != NONE => {
                self.give_up();
                if !matches!(self.seen.last(), Some(Sight::Changed)) {
                    self.seen.push(Sight::Changed);
                }
                Ok(())
            }
            Event::SelectionNotify(event) => self.answered(&event, most),
            Event::PropertyNotify(event) if event.state == Property::NEW_VALUE => {
                self.came(event.window, most)
            }
            _ => Ok(()),
        }
    }

    /// Goes on with a read after an answer.
    fn answered(&mut self, event: &SelectionNotifyEvent, most: usize) -> Result<(), WatchFault> {
        let is_its = |read: &X11Read| {
            read.window == event.requestor && !matches!(read.stage, X11Stage::Parts(..))
        };
        if let Some(at) = self.left.iter().position(is_its) {
            self.left.remove(at);
            self.destroy(event.requestor);
        }
        let Some(read) = self.read.take_if(|read| is_its(read)) else {
            return Ok(());
        };
        let next = match read.stage {
            _ if event.property == NONE => Next::End(None),
            X11Stage::Types => self.types(read.window)?,
            X11Stage::Text(target) => self.text(read.window, target, most)?,
            X11Stage::Parts(..) => Next::End(None),
        };
        self.go_on(read.window, next)
    }

    /// Goes on with a read of parts after one came.
    fn came(&mut self, window: Window, most: usize) -> Result<(), WatchFault> {
        let is_its =
            |read: &X11Read| read.window == window && matches!(read.stage, X11Stage::Parts(..));
        if let Some(at) = self.left.iter().position(is_its) {
            self.left.remove(at);
            self.destroy(window);
        }
        let Some(read) = self.read.take_if(|read| is_its(read)) else {
            return Ok(());
        };
        let next = match read.stage {
            X11Stage::Parts(target, text) => self.part(window, target, text, most)?,
            X11Stage::Types | X11Stage::Text(_) => Next::End(None),
        };
        self.go_on(window, next)
    }

    fn go_on(&mut self, window: Window, next: Next) -> Result<(), WatchFault> {
        match next {
            Next::Wait(stage) => {
                self.read = Some(X11Read { window, stage });
            }
            Next::End(text) => {
                self.destroy(window);
                self.seen.push(Sight::Read(text));
            }
        }
        Ok(())
    }

    /// Chooses one of the kinds of content that are offered.
    fn types(&self, window: Window) -> Result<Next, WatchFault> {
        let Some(reply) = self.property(window, true, MOST_TYPES)? else {
            return Ok(Next::End(None));
        };
        let types: Vec<Atom> = reply.value32().into_iter().flatten().collect();
        let is_secret = reply.bytes_after > 0 || types.contains(&self.atoms.SECRET);
        let texts = [
            self.atoms.UTF8_STRING,
            self.atoms.UTF8_MIME,
            AtomEnum::STRING.into(),
        ];
        let target = texts.into_iter().find(|text| types.contains(text));
        let Some(target) = target.filter(|_| !is_secret) else {
            return Ok(Next::End(None));
        };
        self.ask(window, target).map_err(lost)?;
        Ok(Next::Wait(X11Stage::Text(target)))
    }

    /// Reads the text, if it is there in one piece.
    fn text(&self, window: Window, target: Atom, most: usize) -> Result<Next, WatchFault> {
        let Some(head) = self.property(window, false, 1)? else {
            return Ok(Next::End(None));
        };
        if head.type_ == self.atoms.INCR {
            // It says how many bytes there are at least.
            let least = head.value32().into_iter().flatten().next();
            if least.is_some_and(|least| least as usize > most) {
                return Ok(Next::End(None));
            }
            self.server
                .delete_property(window, self.atoms.CLADA_COPIED)
                .map_err(lost)?;
            return Ok(Next::Wait(X11Stage::Parts(target, Vec::new())));
        }
        let text = self.rest(window, &head, most)?;
        Ok(Next::End(text.and_then(|text| decoded(text, target, most))))
    }

    /// Reads one part; the last is empty.
    fn part(
        &self,
        window: Window,
        target: Atom,
        mut text: Vec<u8>,
        most: usize,
    ) -> Result<Next, WatchFault> {
        let head = self.property(window, false, 1)?;
        let room = most.saturating_sub(text.len());
        let part = head.map(|head| self.rest(window, &head, room));
        Ok(match part.transpose()?.flatten() {
            None => Next::End(None),
            Some(part) if part.is_empty() => Next::End(decoded(text, target, most)),
            Some(part) => {
                text.extend(part);
                Next::Wait(X11Stage::Parts(target, text))
            }
        })
    }

    /// Reads a value whose first bytes are known, and deletes it; `None` if it is longer than that, or no text.
    fn rest(
        &self,
        window: Window,
        head: &GetPropertyReply,
        most: usize,
    ) -> Result<Option<Vec<u8>>, WatchFault> {
        let size = head.value.len() + head.bytes_after as usize;
        if size > most || (head.format != 8 && size > 0) {
            return Ok(None);
        }
        let words = u32::try_from(size.div_ceil(4)).unwrap_or(u32::MAX);
        let all = self.property(window, true, words)?;
        let all = all.filter(|all| all.bytes_after == 0);
        Ok(all.map(|all| all.value))
    }

    /// Reads so many words of what was put into a window, and deletes it once it is read as a whole.
    fn property(
        &self,
        window: Window,
        delete: bool,
        words: u32,
    ) -> Result<Option<GetPropertyReply>, WatchFault> {
        let of = self.atoms.CLADA_COPIED;
        let reply = self
            .server
            .get_property(delete, window, of, AtomEnum::ANY, 0, words);
        granted(reply.map_err(lost)?.reply())
    }
}

/// The way in which a read goes on.
enum Next {
    Wait(X11Stage),
    End(Option<Vec<u8>>),
}

/// The text in UTF-8: where it is called a STRING, it is in Latin-1.
fn decoded(text: Vec<u8>, target: Atom, most: usize) -> Option<Vec<u8>> {
    if target != Atom::from(AtomEnum::STRING) || text.is_ascii() {
        return Some(text);
    }
    let text: String = text.into_iter().map(char::from).collect();
    (text.len() <= most).then(|| text.into_bytes())
}
