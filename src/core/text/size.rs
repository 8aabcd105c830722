//! Sizes as people write them: `1 GiB`, `500MB`, `64 KiB`; a plain number means bytes.

/// The form of a size, for messages.
pub const FORM: &str = "a whole number with B, KB, MB, GB, KiB, MiB or GiB, such as `1 GiB`";

/// Reads a size, in bytes. `None` where it is none, or is zero.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim() {
        "" | "B" => 1,
        "KB" | "kB" => 1000,
        "MB" => 1000 * 1000,
        "GB" => 1000 * 1000 * 1000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    let size = number.parse::<u64>().ok()?.checked_mul(unit)?;
    (size > 0).then_some(size)
}

/// Writes a size for a person, rounded: `812 B`, `24 KiB`, `3.1 GiB`.
pub fn show(bytes: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes >= *unit) {
        None => format!("{bytes} B"),
        Some((name, unit)) if bytes.is_multiple_of(unit) => format!("{} {name}", bytes / unit),
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit as f64),
    }
}

/// Writes a number with commas: `58,300`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(parse("1 GiB"), Some(1024 * 1024 * 1024));
        assert_eq!(parse(" 500MB "), Some(500_000_000));
        assert_eq!(parse("64KiB"), Some(65_536));
        assert_eq!(parse("7"), Some(7));
        for bad in [
            "",
            "0",
            "GiB",
            "1.5 GiB",
            "-1",
            "1 TiBs",
            "99999999999999999999",
            "18446744073709551615 KB",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn for_people() {
        let sizes = [812, 1024, 1024 * 1024, 3 << 30, (3 << 30) + (100 << 20)];
        assert_eq!(
            sizes.map(show),
            ["812 B", "1 KiB", "1 MiB", "3 GiB", "3.1 GiB"]
        );
    }
}
