//! Ranges of lines, as replies write them: `12`, or `12-40`; in CML also `12-` and `-40`.

/// Lines of a file, counted from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    pub first: usize,
    pub last: usize,
}

/// The error of a text that is no range of lines.
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
        if first > last {
            return Err(LineError::Reversed);
        }
        Ok(Self { first, last })
    }

    /// Reads the same, or a range that is open: `12-` goes to the end, which is [`usize::MAX`], and `-40` begins at line 1.
    ///
    /// # Errors
    /// For anything else.
    pub fn parse_open(text: &str) -> Result<Self, LineError> {
        match text.strip_suffix('-') {
            Some(first) => Ok(Self {
                last: usize::MAX,
                ..Self::parse(first).and_then(Self::one)?
            }),
            None if text.starts_with('-') => Self::parse(&format!("1{text}")),
            None => Self::parse(text),
        }
    }

    /// The range, where it is one line.
    fn one(self) -> Result<Self, LineError> {
        if self.first != self.last {
            return Err(LineError::Invalid);
        }
        Ok(self)
    }

    /// The number of its lines.
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

    #[test]
    fn a_range_may_be_open() {
        let range = |first, last| Ok(LineRange { first, last });
        assert_eq!(LineRange::parse_open("60-"), range(60, usize::MAX));
        assert_eq!(LineRange::parse_open("-40"), range(1, 40));
        assert_eq!(LineRange::parse_open("7"), range(7, 7));
        assert_eq!(LineRange::parse_open("7-9"), range(7, 9));
        for invalid in ["-", "", "--4", "4--", "3-4-", "-0", "0-", "-3-4", "x-"] {
            assert_eq!(
                LineRange::parse_open(invalid),
                Err(LineError::Invalid),
                "{invalid}"
            );
        }
    }
}
