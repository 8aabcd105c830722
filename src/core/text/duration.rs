//! Durations as people write them: `90s`, `2m`, `500ms`, `1h`; a plain number means seconds.

use std::time::Duration;

/// The form of a duration, for messages.
pub const FORM: &str = "a number above 0 with ms, s, m or h, such as `90s`";

/// Reads a duration. `None` where it is none, or is zero.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.len()
        - text
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
            .len();
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let duration = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
    (!duration.is_zero()).then_some(duration)
}

/// Writes a duration for a person: `0.4 s`, `12.3 s`, `3 min 20 s`.
pub fn show(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Writes a duration in one unit, for a sentence: `10 minutes`, `1 hour`, `90 seconds`, `500 ms`.
pub fn in_words(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [("hour", 3_600_000), ("minute", 60_000), ("second", 1000)];
    match units.into_iter().find(|(_, unit)| ms.is_multiple_of(*unit)) {
        Some((name, unit)) if ms == unit => format!("1 {name}"),
        Some((name, unit)) => format!("{} {name}s", ms / unit),
        None => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        for (text, words) in [
            ("10m", "10 minutes"),
            ("1h", "1 hour"),
            ("2h", "2 hours"),
            ("90s", "90 seconds"),
            ("1.5s", "1500 ms"),
        ] {
            assert_eq!(parse(text).map(in_words).as_deref(), Some(words));
        }
    }

    #[test]
    fn units() {
        let ms = |text| parse(text).map(|d| d.as_millis());
        assert_eq!(ms("90s"), Some(90_000));
        assert_eq!(ms("2m"), Some(120_000));
        assert_eq!(ms(" 500 ms"), Some(500));
        assert_eq!(ms("1.5"), Some(1_500));
        assert_eq!(ms("1h"), Some(3_600_000));
        for bad in [
            "",
            "s",
            "-1s",
            "0",
            "1d",
            "1e9s",
            "nan",
            "1.2.3s",
            "999999999999999999999h",
        ] {
            assert_eq!(ms(bad), None, "{bad}");
        }
    }

    #[test]
    fn shown() {
        assert_eq!(show(Duration::from_millis(2_440)), "2.4 s");
        assert_eq!(show(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(show(Duration::from_secs(7_500)), "2 h 5 min");
    }
}
