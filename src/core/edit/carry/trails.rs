//! Decides which white space new lines have at their ends.

use super::Merge;

/// The rules for the white space at the ends of lines.
#[derive(Debug)]
pub(super) struct Trails {
    /// The search text has such that the file has not, and the replacement kept it: it means nothing on new lines.
    pub(super) are_lost: bool,
    /// The file has such that the search text has not, and the replacement has it: it did not lose it.
    pub(super) are_own: bool,
}

impl Trails {
    pub(super) fn of(merge: &Merge<'_, '_, '_>) -> Self {
        let (search, found) = (&merge.search.lines, &merge.found.lines);
        let (new, pairing) = (&merge.new.lines, &merge.pairing);
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
        let mut bare = bare.map(|(_, is, own)| is == own).peekable();
        Self {
            are_lost,
            are_own: bare.peek().is_some() && bare.all(|is_own| is_own),
        }
    }
}
