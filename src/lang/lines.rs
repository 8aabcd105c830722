//! Ranges of lines, as replies write them: `12`, or `12-40`.

/// Lines of a file, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    pub first: usize,
    pub last: usize,
}

/// Why a text is no range of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineError {
    /// It is not `N` or `A-B` with numbers from 1.
    Invalid,
    /// It ends before it begins.
    Reversed,
}

impl LineRange {
    /// The range that a text names.
    ///
    /// # Errors
    /// For anything but `N` and `A-B` in decimal digits, from 1, in this order.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let number = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_plain.then(|| text.parse().ok()).flatten();
            number
                .filter(|number| *number > 0)
                .ok_or(LineError::Invalid)
        };
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(text)?, number(text)?),
        };
        match first <= last {
            true => Ok(Self { first, last }),
            false => Err(LineError::Reversed),
        }
    }

    /// How many lines it has.
    pub fn count(&self) -> usize {
        self.last - self.first + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_are_lines() {
        assert_eq!(LineRange::parse("4"), Ok(LineRange { first: 4, last: 4 }));
        assert_eq!(
            LineRange::parse("23-43"),
            Ok(LineRange {
                first: 23,
                last: 43
            })
        );
        for invalid in [
            "",
            "0",
            "-5",
            "abc",
            "-1-5",
            "1-2-3",
            "1-",
            "3x",
            "+1",
            "99999999999999999999999",
        ] {
            assert_eq!(
                LineRange::parse(invalid),
                Err(LineError::Invalid),
                "{invalid}"
            );
        }
        assert_eq!(LineRange::parse("5-3"), Err(LineError::Reversed));
    }
}
