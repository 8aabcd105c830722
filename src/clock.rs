//! The time and chance of this machine: dates, ids of runs, words that nobody can guess. Reads nothing else.

use std::hash::{BuildHasher, Hasher, RandomState};

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// Returns the local time, `HH:MM:SS`.
pub(crate) fn time() -> String {
    now().strftime("%H:%M:%S").to_string()
}

/// Returns the local date and time, for commits.
pub(crate) fn date_time() -> String {
    now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns the milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// Formats the local time of a second since 1970, with its date if that is not today.
pub(crate) fn when(second: i64) -> String {
    let Ok(moment) = Timestamp::from_second(second) else {
        return "at an unknown time".to_owned();
    };
    let moment = local(moment);
    let form = if moment.date() == now().date() {
        "%H:%M"
    } else {
        "%Y-%m-%d %H:%M"
    };
    moment.strftime(form).to_string()
}

pub(crate) fn now() -> Zoned {
    local(Timestamp::now())
}

/// Returns the local time of a moment.
///
/// Where TZ names no zone the system's is read directly: `TimeZone::system` would first list all folders of the zone
/// database to learn the zone's name, which took 1.1 ms of the 2.6 ms that `clada run` of an empty reply took.
pub(crate) fn local(moment: Timestamp) -> Zoned {
    let of_system = || {
        let data = std::fs::read("/etc/localtime").ok()?;
        TimeZone::tzif("local", &data).ok()
    };
    let zone = std::env::var_os("TZ").map_or_else(of_system, |_| None);
    moment.to_zoned(zone.unwrap_or_else(TimeZone::system))
}

/// Returns a name for a run.
pub(crate) fn run_id() -> String {
    format!("{}-{}", now().strftime("%Y%m%d-%H%M%S"), &word()[..4])
}

/// Returns a word that cannot be guessed. `RandomState` takes its keys from the system's random numbers.
pub(crate) fn word() -> String {
    format!("{:016x}", chance())
}

/// Returns a number that cannot be guessed.
pub(crate) fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Formats a second since 1970 in UTC: `2026-11-20T10:30:00Z`.
pub(crate) fn utc(second: i64) -> String {
    let moment = Timestamp::from_second(second).unwrap_or_default();
    moment.to_string()
}

/// Reads a time: with a zone, local, of today (or yesterday, if it is later than now), or a duration before now.
pub(crate) fn moment(text: &str) -> Option<Timestamp> {
    let now = now();
    let zone = now.time_zone().clone();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let is_time = text.contains(':') && !text.contains('-');
    if let Some(time) = text.parse::<Time>().ok().filter(|_| is_time) {
        let today = now.date().to_datetime(time).to_zoned(zone).ok()?;
        let moment = if today > now {
            today.yesterday().ok()?.date().to_datetime(time)
        } else {
            today.datetime()
        };
        return Some(moment.to_zoned(now.time_zone().clone()).ok()?.timestamp());
    }
    if let Some(at) = text.parse::<DateTime>().ok().filter(|_| text.contains('-')) {
        return Some(at.to_zoned(zone).ok()?.timestamp());
    }
    // A short commit id such as `1234567d` is no number of days.
    if text.len() > 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let ago: Span = text.parse().ok()?;
    Some(now.checked_sub(ago.abs()).ok()?.timestamp())
}

/// Returns the moment of a millisecond since 1970.
pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (second, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_795_312_333, "2026-11-22T01:52:13Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(second), date);
        }
    }

    #[test]
    fn a_time_is_told_from_a_revision() {
        let now = now();
        let ago = |text: &str| {
            let moment = moment(text).unwrap_or_else(|| panic!("{text}"));
            now.timestamp().as_second() - moment.as_second()
        };
        for (text, seconds) in [("2h", 7200), ("90m", 5400), ("30s", 30)] {
            assert!((ago(text) - seconds).abs() <= 2, "{text}: {}", ago(text));
        }
        // A day may have 23 hours.
        assert!((ago("3d") - 3 * 86_400).abs() <= 3602);
        for text in ["00:00", "10:30", "23:59:59"] {
            assert!((0..=90_000).contains(&ago(text)), "{text}: {}", ago(text));
        }
        let at = |text: &str| moment(text).map(|moment| moment.to_string());
        let given = "2026-11-20T10:30:00Z";
        assert_eq!(at(given).as_deref(), Some(given));
        assert_eq!(at("2026-11-20T12:30:00+02:00").as_deref(), Some(given));
        for text in ["2026-11-20", "2026-11-20 10:30", "2026-11-20T10:30:15"] {
            assert!(
                at(text).is_some_and(|moment| moment.starts_with("2026-11-")),
                "{text}"
            );
        }
        for text in [
            "main", "HEAD~5", "abc1234", "123456d", "20261120", "v1.0", "",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }
}
