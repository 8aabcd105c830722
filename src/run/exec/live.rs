//! Shows an output as it comes: all of it, unless it comes faster than anybody could read or a terminal could
//! show. Nothing is lost by that: the whole is in the results.

use tokio::time::Instant;

use crate::text::size;

/// The bytes a second that are shown for as long as it takes, and those at once.
const RATE: u64 = 8 * 1024 * 1024;
const BURST: u64 = 16 * 1024 * 1024;

/// The bytes that can be shown again before any are, once some were not: a flood that goes on would be a line of it and a line
/// about the gap in turn, thousands of times a second. Fewer bytes than `SMALL` do not wait for that: they may well be the last
/// for a while, and a flood has more at once.
const AGAIN: u64 = RATE / 8;
const SMALL: u64 = 1024;

/// Lets through what can be shown.
pub(super) struct Live {
    /// The bytes that may be shown, as of `at`.
    budget: u64,
    at: Instant,
    left_out: u64,
}

impl Live {
    /// A budget of which nothing is used.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            budget: BURST,
            at: now,
            left_out: 0,
        }
    }

    /// Returns true if this many bytes are shown, and a line that comes before them if others were not.
    pub(super) fn take(&mut self, bytes: u64, now: Instant) -> (bool, Option<String>) {
        let passed = now.duration_since(self.at).as_micros();
        let more = u64::try_from(passed * u128::from(RATE) / 1_000_000).unwrap_or(BURST);
        // A little is kept together until it is worth something.
        if more > 0 {
            self.budget = self.budget.saturating_add(more).min(BURST);
            self.at = now;
        }
        let goes_on = self.left_out > 0 && bytes >= SMALL;
        let needed = if goes_on { bytes.max(AGAIN) } else { bytes };
        if self.budget < needed {
            self.left_out += bytes;
            return (false, None);
        }
        self.budget -= bytes;
        (true, self.gap())
    }

    /// True if the last of the output is not shown.
    pub(super) fn is_left_out(&self) -> bool {
        self.left_out > 0
    }

    /// A line about the output that was not shown, if there is any.
    pub(super) fn gap(&mut self) -> Option<String> {
        let left_out = std::mem::take(&mut self.left_out);
        (left_out > 0).then(|| {
            format!(
                "… {} of output is not shown here: the results will have all of it …\n",
                size::show(left_out)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_is_shown_in_part_and_what_is_slower_as_a_whole() {
        let start = Instant::now();
        let mut live = Live::new(start);
        let second = Duration::from_secs(1);
        assert_eq!(live.take(BURST, start), (true, None));
        assert_eq!(live.take(1, start), (false, None));
        assert_eq!(live.take(1023, start), (false, None));
        let said = "… 1 KiB of output is not shown here: the results will have all of it …\n";
        assert_eq!(
            live.take(RATE, start + second),
            (true, Some(said.to_owned()))
        );
        for n in 2..100 {
            assert_eq!(live.take(RATE, start + n * second), (true, None));
        }
        assert_eq!(live.take(RATE, start + 99 * second), (false, None));
        assert!(
            live.gap()
                .expect("a gap")
                .starts_with("… 8 MiB of output is not shown")
        );
        assert_eq!(live.gap(), None);
        let (is_shown, _) = live.take(BURST + 1, start + 1000 * second);
        assert!(!is_shown, "never more at once");
    }

    #[test]
    fn a_flood_that_goes_on_is_shown_in_a_few_pieces() {
        let start = Instant::now();
        let mut live = Live::new(start);
        live.take(BURST, start);
        let pieces = (1..10_000).map(|n| start + n * Duration::from_micros(100));
        let gaps = pieces.filter(|now| live.take(4096, *now).1.is_some());
        let gaps = gaps.count();
        assert!((1..=8).contains(&gaps), "{gaps} within a second");
        let soon = start + Duration::from_secs(1);
        live.take(BURST, soon);
        let (is_shown, gap) = live.take(5, soon + Duration::from_millis(1));
        assert!(is_shown && gap.is_some(), "a line behind it");
    }

    #[test]
    fn small_pieces_in_quick_succession_add_up() {
        let start = Instant::now();
        let mut live = Live::new(start);
        live.take(BURST, start);
        let mut shown = 0;
        for micros in 0..1_000_000_u64 {
            let now = start + Duration::from_micros(micros);
            shown += u64::from(live.take(16, now).0) * 16;
        }
        assert!(shown > RATE / 2, "{shown}");
    }
}
