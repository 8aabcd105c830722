//! Finds a search text in a file: the tiers in order, and in each the places that count.

use super::content::Content;
use super::hit::{Hit, Judge};
use super::lines;
use super::occurrences::Occurrences;
use super::search::Search;
use super::view::View;
use super::{PLACES_LIMIT, Tier};
use crate::reply::text::Form;

/// Why a text was not found once.
pub(super) enum Miss {
    NotFound,
    /// The tier that found it, and where it did.
    Ambiguous(Tier, Vec<Hit>),
}

impl Search<'_> {
    /// The one place at or after `from` where the text stands, by the first tier that finds any.
    pub(super) fn find(&self, content: &Content<'_>, from: usize) -> Result<Hit, Miss> {
        let Some((tier, mut hits)) = self.all(content, from, PLACES_LIMIT) else {
            return Err(Miss::NotFound);
        };
        if self.line.is_some() {
            let lines = line_numbers(content.bytes, &hits);
            return match self.only_on_its_line(&lines) {
                Some(chosen) => Ok(self.settled(content, hits.swap_remove(chosen))),
                None => Err(Miss::Ambiguous(tier, hits)),
            };
        }
        match hits.pop() {
            Some(hit) if hits.is_empty() => Ok(self.settled(content, hit)),
            last => {
                hits.extend(last);
                Err(Miss::Ambiguous(tier, hits))
            }
        }
    }

    /// The place with what it takes in beside the text itself.
    pub(super) fn settled(&self, content: &Content<'_>, hit: Hit) -> Hit {
        Judge::new(self, content, hit.tier).settled(hit)
    }

    /// The first tier that finds the text, and the places at or after `from` where it does, not settled: at least one,
    /// and the first `most` at the most.
    pub(super) fn all(
        &self,
        content: &Content<'_>,
        from: usize,
        most: usize,
    ) -> Option<(Tier, Vec<Hit>)> {
        Tier::ALL.into_iter().find_map(|tier| {
            let view = content.view(tier)?;
            let mut judge = Judge::new(self, content, tier);
            let mut hits = self.hits(view, &mut judge, (tier, from), most);
            self.leave_to_line_tiers(&mut hits, tier, content);
            (!hits.is_empty()).then_some((tier, hits))
        })
    }

    /// Which of the places, which start on these lines, is the only one on the line that is named.
    fn only_on_its_line(&self, lines: &[usize]) -> Option<usize> {
        let line = self.line?;
        let chosen = lines.iter().position(|at| *at == line)?;
        (lines.get(chosen + 1) != Some(&line)).then_some(chosen)
    }

    /// The places at or after `from` where one tier finds the text, not settled.
    pub(super) fn all_of(&self, content: &Content<'_>, from: usize, tier: Tier) -> Vec<Hit> {
        let Some(view) = content.view(tier) else {
            return Vec::new();
        };
        let mut judge = Judge::new(self, content, tier);
        self.hits(view, &mut judge, (tier, from), PLACES_LIMIT)
    }

    /// The places that are whole lines, if there are any, else the places anywhere; the first few of them.
    fn hits(
        &self,
        view: &View<'_>,
        judge: &mut Judge<'_, '_>,
        (tier, from): (Tier, usize),
        most: usize,
    ) -> Vec<Hit> {
        let pattern = self.pattern(tier);
        let (mut whole, mut anywhere) = (Vec::new(), Vec::new());
        for at in Occurrences::new(view.bytes(), &pattern, view.at_or_after(from)) {
            let start = view.start_in_file(at);
            let end = view.end_in_file(at + pattern.len());
            let Some((start, end)) = start.zip(end) else {
                continue;
            };
            match judge.hit(start..end) {
                Some(hit) if hit.is_whole_lines() => whole.push(hit),
                Some(hit) if anywhere.len() < most => anywhere.push(hit),
                _ => {}
            }
            let enough = match self.form {
                Form::Block => whole.len() == most,
                Form::Inline => anywhere.len() == most,
            };
            if enough {
                break;
            }
        }
        if whole.is_empty() { anywhere } else { whole }
    }

    /// Lines without their indentation are found inside the file's lines, with nothing but white space around them. They
    /// are whole lines nevertheless, which the tiers behind find.
    fn leave_to_line_tiers(&self, hits: &mut Vec<Hit>, tier: Tier, content: &Content<'_>) {
        let is_of_lines = |hit: &Hit| {
            let (file, range) = (content.bytes, &hit.range);
            !hit.is_whole_lines()
                && lines::start(file, range.start, char::is_whitespace).is_some()
                && lines::end(file, range.end, char::is_whitespace).is_some()
        };
        match (self.form, tier, hits.as_slice()) {
            (Form::Block, Tier::Exact, [only]) if is_of_lines(only) && content.is_text() => {
                hits.clear();
            }
            (Form::Block, Tier::LineEndings, found)
                if found.iter().any(is_of_lines) && content.is_text() =>
            {
                hits.retain(|hit| !is_of_lines(hit));
            }
            _ => {}
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
