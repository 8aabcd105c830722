//! The notifications that a click may still answer. Nothing comes of a click but the opening of a file.

use std::future;
use std::path::{Path, PathBuf};

use dbus::Message;
use dbus::arg::PropMap;

use super::bus::{Bus, NoAnswer};
use super::{Notice, opener, without_markup};

/// The most notifications that wait for a click: more would pile up where nobody sits before the desktop.
const CLICKABLE: usize = 8;
/// The name of the button's action, and that of a click beside it, as all desktops call it.
const OPEN: &str = "open";
const DEFAULT: &str = "default";

/// The desktop, as long as a notification waits for a click there.
#[derive(Default)]
pub(super) struct Clickable(Option<Session>);

/// A desktop, and what waits for a click on it.
struct Session {
    bus: Bus,
    /// The oldest first.
    notices: Vec<OpenNotice>,
}

/// A notification that waits for a click.
struct OpenNotice {
    id: u32,
    path: PathBuf,
}

impl Clickable {
    /// Shows a notification. One that opens a file takes the place of the last one that does.
    pub(super) async fn show(&mut self, notice: Notice) -> Result<(), NoAnswer> {
        let session = self.0.take().filter(|session| session.bus.is_connected());
        let mut session = match session {
            Some(session) => session,
            None => Session::open().await?,
        };
        let shown = session.show(notice).await;
        self.0 = session.if_it_waits();
        shown
    }

    /// Waits for the next click, or for another end of a notification; forever where none waits.
    pub(super) async fn click(&mut self) {
        let Some(session) = &mut self.0 else {
            return future::pending().await;
        };
        match session.bus.signal().await {
            Ok(signal) => session.hear(&signal),
            // Its notifications ended with the bus.
            Err(_) => session.notices.clear(),
        }
        self.0 = self.0.take().and_then(Session::if_it_waits);
    }
}

impl Session {
    async fn open() -> Result<Self, NoAnswer> {
        Ok(Self {
            bus: Bus::open().await?,
            notices: Vec::new(),
        })
    }

    fn if_it_waits(self) -> Option<Self> {
        (!self.notices.is_empty()).then_some(self)
    }

    async fn show(&mut self, notice: Notice) -> Result<(), NoAnswer> {
        let can = self.bus.capabilities().await?;
        let can = |what: &str| can.iter().any(|name| name == what);
        let body = if can("body-markup") {
            without_markup(&notice.body)
        } else {
            notice.body
        };
        let Some(path) = notice.opens.filter(|_| can("actions")) else {
            self.notify(&notice.title, &body, &[]).await?;
            return Ok(());
        };
        // What was answered until now is not closed.
        while let Some(signal) = self.bus.early_signal() {
            self.hear(&signal);
        }
        self.make_room(&path).await;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let label = format!("Open {name}");
        let actions = [DEFAULT, &label, OPEN, &label];
        let id = self.notify(&notice.title, &body, &actions).await?;
        self.notices.push(OpenNotice { id, path });
        Ok(())
    }

    /// Shows a notification with these buttons, and returns its id.
    async fn notify(&mut self, title: &str, body: &str, actions: &[&str]) -> Result<u32, NoAnswer> {
        let (replaces, icon, hints, usual_time) = (0_u32, "", PropMap::new(), -1_i32);
        let args = (
            "clada", replaces, icon, title, body, actions, hints, usual_time,
        );
        let shown = self.bus.call_desktop("Notify", args).await?;
        let (id,) = shown.read_all()?;
        Ok(id)
    }

    /// Closes the notification of the same file, and the oldest one where there are too many.
    async fn make_room(&mut self, path: &Path) {
        while let Some(at) = self.notices.iter().position(|notice| notice.path == path) {
            self.close(at).await;
        }
        while self.notices.len() >= CLICKABLE {
            self.close(0).await;
        }
    }

    /// Takes it off the desktop, where it still waits.
    async fn close(&mut self, at: usize) {
        let id = self.notices.remove(at).id;
        if let Err(error) = self.bus.call_desktop("CloseNotification", (id,)).await {
            tracing::debug!(%error, "a notification was not closed");
        }
    }

    /// Ends the notification that this signal is about, and opens its file if it was clicked on.
    fn hear(&mut self, signal: &Message) {
        let (id, action) = match signal.member().as_deref() {
            Some("ActionInvoked") => signal.get2(),
            _ => (signal.get1::<u32>(), None::<&str>),
        };
        let ended = |notice: &OpenNotice| Some(notice.id) == id;
        let Some(at) = self.notices.iter().position(ended) else {
            return;
        };
        let path = self.notices.remove(at).path;
        if action.is_some_and(|action| [DEFAULT, OPEN].contains(&action)) {
            tokio::spawn(opener::open(path));
        }
    }
}
