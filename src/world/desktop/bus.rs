//! Owns the connection to the user's message bus, where the desktop is called and tells of clicks.
//!
//! libdbus connects, but waits for nothing else: it reads and writes what its socket has and takes, and tokio says when that
//! is. Its own calls would hold up all clicks, and it would look elsewhere for a bus that the environment does not name.

use std::collections::VecDeque;
use std::env;
use std::io;
use std::time::Duration;

use dbus::arg::AppendAll;
use dbus::channel::Channel;
use dbus::{Message, MessageType};
use rustix::process::geteuid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// The name of the bus on itself, and that of its interface.
const BUS: &str = "org.freedesktop.DBus";
const BUS_OBJECT: &str = "/org/freedesktop/DBus";
/// The name of the desktop on the bus, and that of its interface.
const DESKTOP: &str = "org.freedesktop.Notifications";
const DESKTOP_OBJECT: &str = "/org/freedesktop/Notifications";
/// The time in which the bus answers, and a desktop that runs.
const ANSWERS: Duration = Duration::from_secs(2);
/// The time in which a desktop answers that the bus has to start first: the bus itself gives up after it.
const STARTS: Duration = Duration::from_secs(25);

/// A failure to call the desktop.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    #[error(transparent)]
    Refused(#[from] dbus::Error),
    #[error("no answer over the message bus within {} s", .0.as_secs())]
    Late(Duration),
    #[error("the connection to the message bus has ended")]
    Ended,
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A connection to the bus. It ends when dropped.
pub(super) struct Bus {
    channel: Channel,
    /// The signals that came while an answer was waited for.
    signals: VecDeque<Message>,
}

impl Bus {
    /// Connects to the bus of the session, and listens to the desktop.
    pub(super) async fn open() -> Result<Self, NoAnswer> {
        let mut channel = Channel::open_private(&address())?;
        channel.set_watch_enabled(true);
        let signals = VecDeque::new();
        let mut bus = Self { channel, signals };
        bus.call_bus("Hello", ()).await?;
        for signal in ["ActionInvoked", "NotificationClosed"] {
            let rule = format!("type='signal',interface='{DESKTOP}',member='{signal}'");
            bus.call_bus("AddMatch", (rule,)).await?;
        }
        Ok(bus)
    }

    /// Tells if it is still connected.
    pub(super) fn is_connected(&self) -> bool {
        self.exchange().is_ok()
    }

    /// Asks the desktop for its abilities. The bus starts one where none runs.
    pub(super) async fn capabilities(&mut self) -> Result<Vec<String>, NoAnswer> {
        let call = desktop_call("GetCapabilities", ());
        let (capabilities,) = self.call(call, STARTS).await?.read_all()?;
        Ok(capabilities)
    }

    /// Calls a method of a desktop that runs.
    pub(super) async fn call_desktop(
        &mut self,
        method: &str,
        args: impl AppendAll,
    ) -> Result<Message, NoAnswer> {
        self.call(desktop_call(method, args), ANSWERS).await
    }

    async fn call_bus(&mut self, method: &str, args: impl AppendAll) -> Result<Message, NoAnswer> {
        let call = Message::call_with_args(BUS, BUS_OBJECT, BUS, method, args);
        self.call(call, ANSWERS).await
    }

    async fn call(&mut self, call: Message, limit: Duration) -> Result<Message, NoAnswer> {
        let serial = self.channel.send(call).map_err(|()| NoAnswer::Ended)?;
        let answer = timeout(limit, self.answer(serial)).await;
        answer.map_err(|_| NoAnswer::Late(limit))?
    }

    /// Waits for the answer to a call.
    async fn answer(&mut self, call: u32) -> Result<Message, NoAnswer> {
        loop {
            let mut message = self.receive().await?;
            if message.get_reply_serial() == Some(call) {
                message.as_result()?;
                return Ok(message);
            }
            self.signals.extend(signal_of_desktop(message));
        }
    }

    /// Waits for the next signal of the desktop.
    pub(super) async fn signal(&mut self) -> Result<Message, NoAnswer> {
        loop {
            if let Some(signal) = self.early_signal() {
                return Ok(signal);
            }
            let message = self.receive().await?;
            self.signals.extend(signal_of_desktop(message));
        }
    }

    /// The next signal that came before the last answer.
    pub(super) fn early_signal(&mut self) -> Option<Message> {
        self.signals.pop_front()
    }

    /// Waits for the next message.
    async fn receive(&mut self) -> Result<Message, NoAnswer> {
        loop {
            if let Some(message) = self.channel.pop_message() {
                return Ok(message);
            }
            self.exchange()?;
            if let Some(message) = self.channel.pop_message() {
                return Ok(message);
            }
            self.ready().await?;
        }
    }

    /// Reads and writes without waiting.
    fn exchange(&self) -> Result<(), NoAnswer> {
        let done = self.channel.read_write(Some(Duration::ZERO));
        done.map_err(|()| NoAnswer::Ended)
    }

    /// Waits until there is something to read, or room for what libdbus has to write.
    ///
    /// The socket is registered anew each time. tokio tells of what comes once, and libdbus does not always read all of it.
    #[expect(unsafe_code, reason = "libdbus gives its socket as a number only")]
    async fn ready(&mut self) -> Result<(), NoAnswer> {
        let watch = self.channel.watch();
        let interest = if watch.write {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::READABLE
        };
        // SAFETY: libdbus closes its socket within calls only, and there is none while this one has the connection for itself.
        let socket = unsafe { AsyncFd::register_with_interest(watch.fd, interest) };
        let socket = socket.map_err(io::Error::from)?;
        socket.ready(interest).await?.retain_ready();
        Ok(())
    }
}

fn desktop_call(method: &str, args: impl AppendAll) -> Message {
    Message::call_with_args(DESKTOP, DESKTOP_OBJECT, DESKTOP, method, args)
}

/// The message, if it is a signal of a desktop.
fn signal_of_desktop(message: Message) -> Option<Message> {
    let is_signal = message.msg_type() == MessageType::Signal
        && message.interface().as_deref() == Some(DESKTOP);
    is_signal.then_some(message)
}

/// The address of the bus of this session.
fn address() -> String {
    let named = env::var_os("DBUS_SESSION_BUS_ADDRESS").filter(|address| !address.is_empty());
    if let Some(named) = named {
        return named.to_string_lossy().into_owned();
    }
    let folder = env::var("XDG_RUNTIME_DIR");
    let folder = folder.unwrap_or_else(|_| format!("/run/user/{}", geteuid().as_raw()));
    format!("unix:path={folder}/bus")
}
