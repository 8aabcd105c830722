//! White space at the ends of lines.

use super::lines::{FileLine, Line};
use super::pairing::Pairing;

/// The rule for it.
#[derive(Debug)]
pub(super) struct Trails {
    /// The search text has such that the file has not, and the replacement kept it: it means nothing on new lines.
    pub(super) are_lost: bool,
    /// The file has such that the search text has not, and the replacement has it: it did not lose it.
    pub(super) are_own: bool,
}

impl Trails {
    pub(super) fn of(
        search: &[Line<'_>],
        found: &[FileLine<'_>],
        new: &[Line<'_>],
        pairing: &Pairing,
    ) -> Self {
        let is_odd = |i: usize| !search[i].trail.is_empty() && search[i].trail != found[i].trail;
        let mut stay = pairing.all.iter().filter(|(_, i)| is_odd(**i)).peekable();
        // Where no such line stays, nothing speaks for what new lines have.
        let are_lost = match stay.peek() {
            Some(_) => stay.any(|(&j, &i)| new[j].trail == search[i].trail),
            None => (0..search.len()).any(is_odd),
        };
        let bare = pairing
            .kept
            .iter()
            .map(|(&j, &i)| (search[i].trail, found[i].trail, new[j].trail))
            .filter(|(was, is, _)| was.is_empty() && !is.is_empty());
        let bare: Vec<bool> = bare.map(|(_, is, own)| is == own).collect();
        Self {
            are_lost,
            are_own: !bare.is_empty() && bare.iter().all(|is_own| *is_own),
        }
    }
}
