//! Finds every place where one run of bytes occurs in another, overlapping ones included, in linear time.

use memchr::memmem::Finder;

/// The starts of all occurrences, in order.
///
/// `memmem` skips to the next occurrence, and only behind an occurrence the Knuth-Morris-Pratt table takes over, until
/// no overlapping one can follow. Starting `memmem` anew one byte further instead would read the needle again for each
/// occurrence: hours for a long run of one character searched in a longer one.
pub(super) struct Occurrences<'a> {
    haystack: &'a [u8],
    finder: Finder<'a>,
    /// For each prefix of the needle, the length of the longest shorter prefix that it also ends with. Made at the
    /// first occurrence.
    borders: Vec<usize>,
    /// The first byte not yet read.
    at: usize,
    /// The number of bytes before `at` that are the beginning of a possible occurrence.
    matched: usize,
}

impl<'a> Occurrences<'a> {
    /// The occurrences of `needle` that start at or after `from`; none for an empty needle.
    pub(super) fn new(haystack: &'a [u8], needle: &'a [u8], from: usize) -> Self {
        Self {
            haystack,
            finder: Finder::new(needle),
            borders: Vec::new(),
            at: from,
            matched: 0,
        }
    }

    fn skip_to_next(&mut self) -> Option<usize> {
        let needle = self.finder.needle();
        let start = self.at + self.finder.find(self.haystack.get(self.at..)?)?;
        if self.borders.is_empty() {
            self.borders = borders(needle);
        }
        self.at = start + needle.len();
        self.matched = *self.borders.last()?;
        Some(start)
    }

    /// Reads one byte; the start of the occurrence that it completes.
    fn read(&mut self, byte: u8) -> Option<usize> {
        let needle = self.finder.needle();
        self.matched = extend(needle, &self.borders, self.matched, byte);
        self.at += 1;
        if self.matched < needle.len() {
            return None;
        }
        self.matched = *self.borders.last()?;
        Some(self.at - needle.len())
    }
}

impl Iterator for Occurrences<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.finder.needle().is_empty() {
            return None;
        }
        while self.matched > 0 {
            let byte = *self.haystack.get(self.at)?;
            if let Some(start) = self.read(byte) {
                return Some(start);
            }
        }
        self.skip_to_next()
    }
}

fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders = Vec::with_capacity(needle.len());
    borders.push(0);
    let mut matched = 0;
    for &byte in &needle[1..] {
        matched = extend(needle, &borders, matched, byte);
        borders.push(matched);
    }
    borders
}

/// The length of the needle's prefix that ends with `byte`, given that `matched` bytes of it stood before.
fn extend(needle: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && needle[matched] != byte {
        matched = borders[matched - 1];
    }
    if needle[matched] == byte {
        matched += 1;
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn are_those_that_trying_every_place_finds(haystack in "[ab]{0,40}", needle in "[ab]{1,6}", from in 0..10_usize) {
            let (haystack, needle) = (haystack.as_bytes(), needle.as_bytes());
            let tried: Vec<usize> = (from..haystack.len()).filter(|&at| haystack[at..].starts_with(needle)).collect();
            prop_assert_eq!(Occurrences::new(haystack, needle, from).collect::<Vec<_>>(), tried);
        }
    }
}
