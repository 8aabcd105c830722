//! Owns the desktop's notifications, and the opening of the notes by a click on one. Never waits for the desktop, and never
//! fails: who has none misses nothing.
//!
//! A button opens a file and does nothing else: any program of the user can press it, commands of replies among them.
//! There is none on macOS: what was clicked is told there only to a program with the main loop of an application.

#[cfg(not(target_os = "macos"))]
mod bus;
#[cfg(not(target_os = "macos"))]
mod click;
#[cfg(target_os = "macos")]
mod mac;
#[cfg(not(target_os = "macos"))]
mod opener;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;

use tokio::runtime;
use tokio::sync::mpsc::{Receiver, Sender, channel};

#[cfg(not(target_os = "macos"))]
use click::Clickable;
#[cfg(target_os = "macos")]
use mac::Clickable;

/// The most notifications that wait for a desktop that does not answer; further ones are skipped.
const WAITING: usize = 8;

/// The way to the desktop. Its copies share it.
#[derive(Clone)]
pub struct Desktop {
    notices: Sender<Notice>,
}

/// A notification.
#[derive(Debug, Clone, Default)]
pub struct Notice {
    pub title: String,
    pub body: String,
    /// The file that a click on it opens. A later notification with the same one takes its place.
    pub opens: Option<PathBuf>,
}

impl Desktop {
    /// The desktop of this process, with a thread of its own that sleeps until there is something to tell: what has no
    /// answer from the bus holds up that thread and nobody else.
    pub fn of_process() -> Self {
        static DESKTOP: OnceLock<Desktop> = OnceLock::new();
        DESKTOP.get_or_init(Self::start).clone()
    }

    fn start() -> Self {
        let (notices, waiting) = channel(WAITING);
        let serve = thread::Builder::new().name("desktop".to_owned());
        if let Err(error) = serve.spawn(move || serve_all(waiting)) {
            tracing::warn!(%error, "cannot start the thread for notifications");
        }
        Self { notices }
    }

    /// Tells something, if it can be told.
    pub fn tell(&self, notice: Notice) {
        if self.notices.try_send(notice).is_err() {
            tracing::debug!("a notification was skipped");
        }
    }
}

/// The thread. That there is no desktop is logged once, until there is one.
fn serve_all(mut waiting: Receiver<Notice>) {
    let serve = async move {
        let mut shown = Clickable::default();
        let mut is_told = false;
        loop {
            let notice = tokio::select! {
                notice = waiting.recv() => notice,
                () = shown.click() => continue,
            };
            let Some(notice) = notice else { break };
            match shown.show(notice).await {
                Ok(()) => is_told = false,
                Err(error) if !std::mem::replace(&mut is_told, true) => {
                    tracing::warn!(%error, "cannot show notifications: is a desktop running?");
                }
                Err(_) => {}
            }
        }
    };
    // For the bus and its limits, and for the programs that open files.
    match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(serve),
        Err(error) => tracing::warn!(%error, "cannot wait for the desktop"),
    }
}

/// A text that reads the same where it is taken for markup.
#[cfg(any(test, not(target_os = "macos")))]
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
        let (notices, mut waiting) = channel(WAITING);
        let desktop = Desktop { notices };
        for number in 0..WAITING * 3 {
            let title = number.to_string();
            desktop.tell(Notice {
                title,
                ..Notice::default()
            });
        }
        drop(desktop);
        let told = std::iter::from_fn(|| waiting.blocking_recv());
        let told: Vec<String> = told.map(|notice| notice.title).collect();
        let first: Vec<String> = (0..WAITING).map(|number| number.to_string()).collect();
        assert_eq!(told, first);
    }
}
