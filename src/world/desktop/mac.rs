//! The notifications of macOS, where no click is told of.

use std::future;

use notify_rust::Notification;
use notify_rust::error::Result;

use super::Notice;

/// No notification waits for a click.
#[derive(Default)]
pub(super) struct Clickable(());

impl Clickable {
    /// Shows a notification.
    pub(super) async fn show(&mut self, notice: Notice) -> Result<()> {
        let mut notification = Notification::new();
        let notification = notification
            .appname("clada")
            .summary(&notice.title)
            .body(&notice.body);
        notification.show().map(drop)
    }

    /// Waits forever.
    pub(super) async fn click(&mut self) {
        future::pending().await
    }
}
