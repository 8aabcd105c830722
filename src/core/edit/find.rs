//! Finds a search text in a file: tries the tiers in order, and collects the places that count in each.

use super::hit::{Hit, Judge};
use super::lines;
use super::occurrences::Occurrences;
use super::search::Search;
use super::searched_file::SearchedFile;
use super::{PLACES_LIMIT, Tier};
use crate::reply::text::Form;

/// The reason why a text was not found exactly once.
pub(super) enum Miss {
    NotFound,
    /// The tier that found it, and the places.
    Ambiguous(Tier, Vec<Hit>),
}

impl Search<'_> {
    /// The one place at or after `from` where the text stands, by the first tier that finds any.
    pub(super) fn find(&self, content: &SearchedFile<'_>, from: usize) -> Result<Hit, Miss> {
        let Some((tier, mut hits)) = self.all(content, from, PLACES_LIMIT) else {
            return Err(Miss::NotFound);
        };
        let lines = self.line.map(|_| line_numbers(content.bytes, &hits));
        let counts = |at: &usize| lines.as_ref().map(|lines| lines[*at]) == self.line;
        let mut counting = (0..hits.len()).filter(counts);
        match (counting.next(), counting.next()) {
            (Some(only), None) => Ok(self.settled(content, hits.swap_remove(only))),
            _ => Err(Miss::Ambiguous(tier, hits)),
        }
    }

    /// The place with what it takes in beside the text itself.
    pub(super) fn settled(&self, content: &SearchedFile<'_>, hit: Hit) -> Hit {
        Judge::new(self, content, hit.tier).settled(hit)
    }

    /// The first tier that finds the text, and the places at or after `from` where it does, not settled: at least one,
    /// and the first `most` at the most.
    pub(super) fn all(
        &self,
        content: &SearchedFile<'_>,
        from: usize,
        most: usize,
    ) -> Option<(Tier, Vec<Hit>)> {
        Tier::ALL.into_iter().find_map(|tier| {
            let mut hits = self.hits(content, tier, from, most);
            self.leave_to_line_tiers(&mut hits, tier, content);
            (!hits.is_empty()).then_some((tier, hits))
        })
    }

    /// The places at or after `from` where one tier finds the text, not settled: those that are whole lines, if there are
    /// any, else the places anywhere; the first `most` of them.
    pub(super) fn hits(
        &self,
        content: &SearchedFile<'_>,
        tier: Tier,
        from: usize,
        most: usize,
    ) -> Vec<Hit> {
        let (mut whole, mut anywhere) = (Vec::new(), Vec::new());
        self.visit_hits(content, tier, from, |hit| {
            if hit.is_whole_lines() {
                whole.push(hit);
            } else if anywhere.len() < most {
                anywhere.push(hit);
            }
            match self.form {
                Form::Block => whole.len() < most,
                Form::Inline => anywhere.len() < most,
            }
        });
        if whole.is_empty() { anywhere } else { whole }
    }

    /// Hands each place at or after `from` to `visit`, in order and not settled, as long as that returns true.
    pub(super) fn visit_hits(
        &self,
        content: &SearchedFile<'_>,
        tier: Tier,
        from: usize,
        mut visit: impl FnMut(Hit) -> bool,
    ) {
        let Some(view) = content.view(tier) else {
            return;
        };
        let pattern = self.pattern(tier);
        let mut judge = Judge::new(self, content, tier);
        let within = &content.within;
        let from = view.at_or_after(from.max(within.start));
        for at in Occurrences::new(view.bytes(), &pattern, from) {
            let start = view.start_in_file(at);
            if start.is_some_and(|start| start >= within.end) {
                return;
            }
            let end = view.end_in_file(at + pattern.len());
            let range = start.zip(end).map(|(start, end)| start..end);
            let range =
                range.filter(|range| within.start <= range.start && range.end <= within.end);
            if let Some(hit) = range.and_then(|range| judge.hit(range))
                && !visit(hit)
            {
                return;
            }
        }
    }

    /// Removes places that are whole lines without their indentation: the file has nothing but white space around them,
    /// and the tiers behind find them as lines.
    fn leave_to_line_tiers(&self, hits: &mut Vec<Hit>, tier: Tier, content: &SearchedFile<'_>) {
        let file = content.bytes;
        let is_of_lines = |hit: &Hit| {
            !hit.is_whole_lines()
                && lines::start(file, hit.range.start, char::is_whitespace).is_some()
                && lines::end(file, hit.range.end, char::is_whitespace).is_some()
        };
        let may_leave = match tier {
            Tier::Exact => hits.len() == 1,
            tier => tier == Tier::LineEndings,
        };
        if self.form == Form::Block
            && may_leave
            && hits.iter().any(is_of_lines)
            && content.is_text()
        {
            hits.retain(|hit| !is_of_lines(hit));
        }
    }
}

/// The lines of places, which are in the order of the file.
pub(super) fn line_numbers(file: &[u8], hits: &[Hit]) -> Vec<usize> {
    let (mut at, mut line) = (0, 1);
    let number = |hit: &Hit| {
        line += lines::number(&file[at..], hit.range.start - at) - 1;
        at = hit.range.start;
        line
    };
    hits.iter().map(number).collect()
}
