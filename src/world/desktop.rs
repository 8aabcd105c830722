//! Owns the desktop's notifications. Never waits for the desktop, and never fails: who has none misses nothing.

use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use notify_rust::Notification;

/// The most notifications that wait for a desktop that does not answer; further ones are skipped.
const WAITING: usize = 8;

/// The way to the desktop. Its copies share it.
#[derive(Clone)]
pub struct Desktop {
    notices: SyncSender<Notice>,
}

struct Notice {
    title: String,
    body: String,
}

impl Desktop {
    /// The desktop of this process, with a thread of its own that sleeps until there is something to tell: what has no
    /// answer from the bus holds up that thread and nobody else.
    pub fn of_process() -> Self {
        static DESKTOP: OnceLock<Desktop> = OnceLock::new();
        DESKTOP.get_or_init(Self::start).clone()
    }

    fn start() -> Self {
        let (notices, waiting) = sync_channel(WAITING);
        let serve = thread::Builder::new().name("desktop".to_owned());
        if let Err(error) = serve.spawn(move || serve_all(&waiting)) {
            tracing::warn!(%error, "cannot start the thread for notifications");
        }
        Self { notices }
    }

    /// Tells something, if it can be told.
    pub fn tell(&self, title: String, body: String) {
        if self.notices.try_send(Notice { title, body }).is_err() {
            tracing::debug!("a notification was skipped");
        }
    }
}

/// The thread. That there is no desktop is logged once, until there is one.
fn serve_all(waiting: &Receiver<Notice>) {
    let mut is_told = false;
    for notice in waiting {
        match show(&notice) {
            Ok(()) => is_told = false,
            Err(error) if !std::mem::replace(&mut is_told, true) => {
                tracing::warn!(%error, "cannot show notifications: is a desktop running?");
            }
            Err(_) => {}
        }
    }
}

fn show(notice: &Notice) -> notify_rust::error::Result<()> {
    let body = if reads_markup()? {
        without_markup(&notice.body)
    } else {
        notice.body.clone()
    };
    Notification::new()
        .appname("clada")
        .summary(&notice.title)
        .body(&body)
        .show()?;
    Ok(())
}

/// Returns true if the desktop reads a body as markup.
#[cfg(not(target_os = "macos"))]
fn reads_markup() -> notify_rust::error::Result<bool> {
    let can = notify_rust::get_capabilities()?;
    Ok(can.iter().any(|name| name == "body-markup"))
}

#[cfg(target_os = "macos")]
fn reads_markup() -> notify_rust::error::Result<bool> {
    Ok(false)
}

/// A text that reads the same where it is taken for markup.
fn without_markup(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_markup() {
        assert_eq!(
            without_markup("a < b && <i>"),
            "a &lt; b &amp;&amp; &lt;i&gt;"
        );
    }

    /// Nobody takes the notices, as where the bus hangs.
    #[test]
    fn a_desktop_that_hangs_holds_up_nobody() {
        let (notices, waiting) = sync_channel(WAITING);
        let desktop = Desktop { notices };
        for number in 0..WAITING * 3 {
            desktop.tell(number.to_string(), String::new());
        }
        drop(desktop);
        let told: Vec<String> = waiting.iter().map(|notice| notice.title).collect();
        let first: Vec<String> = (0..WAITING).map(|number| number.to_string()).collect();
        assert_eq!(told, first);
    }
}
