//! Limits waits for somebody else: each ends at its own limit, or in a moment once clada is to stop. Never waits itself.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The time that all waits which ask one [`Hurry`] may last together once clada is to stop.
const GRACE: Duration = Duration::from_millis(300);

/// Tells waits if they may go on. The waits block, so they cannot be broken off from outside.
#[derive(Debug, Clone)]
pub struct Hurry {
    stop: watch::Receiver<bool>,
    /// The moment when it was first noticed that clada is to stop.
    since: OnceCell<Instant>,
}

impl Hurry {
    /// Waits are cut short once `stop` is true.
    pub fn new(stop: watch::Receiver<bool>) -> Self {
        Self {
            stop,
            since: OnceCell::new(),
        }
    }

    /// Every wait may last until its limit.
    pub fn never() -> Self {
        Self::new(watch::channel(false).1)
    }

    /// True if a wait whose limit is `until` has lasted long enough. It should be asked every few milliseconds.
    pub fn is_over(&self, until: Instant) -> bool {
        let now = Instant::now();
        let cut_short = *self.stop.borrow() && now >= *self.since.get_or_init(|| now) + GRACE;
        cut_short || now >= until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_at_its_limit_or_a_moment_after_the_wish_to_stop() {
        let (stop, stopped) = watch::channel(false);
        let hurry = Hurry::new(stopped);
        let (now, late) = (Instant::now(), Instant::now() + Duration::from_secs(3600));
        assert!(hurry.is_over(now) && !hurry.is_over(late));
        assert!(!Hurry::never().is_over(late));
        stop.send_replace(true);
        let asked = Instant::now();
        while !hurry.is_over(late) {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(asked.elapsed() >= GRACE);
        // The next wait gets nothing more.
        assert!(hurry.is_over(Instant::now() + GRACE));
    }
}
