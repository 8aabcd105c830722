//! Finds a search text in a file: the tiers in order, and in each the places that count.

use super::content::Content;
use super::hit::{Hit, Judge};
use super::lines;
use super::occurrences::Occurrences;
use super::search::Search;
use super::view::View;
use super::{PLACES_LIMIT, Tier};
use crate::lang::text::Form;

/// Why a text was not found once.
pub(super) enum Miss {
    NotFound,
    /// The tier that found it, and the lines where it did.
    Ambiguous(Tier, Vec<usize>),
}

impl Search<'_> {
    /// The one place at or after `from` where the text stands, by the first tier that finds any.
    pub(super) fn find<'x>(
        &'x self,
        content: &'x Content<'_>,
        from: usize,
    ) -> Result<Hit<'x>, Miss> {
        for tier in Tier::ALL {
            let Some(view) = content.view(tier) else {
                break;
            };
            let mut judge = Judge::new(self, content, tier);
            let mut hits = self.hits(view, &mut judge, tier, from);
            let counted = hits.len() > 1 || self.line.is_some() && !hits.is_empty();
            if counted {
                let lines = line_numbers(content.bytes, &hits);
                match self.only_on_its_line(&lines) {
                    Some(chosen) => hits = vec![hits.swap_remove(chosen)],
                    None => return Err(Miss::Ambiguous(tier, lines)),
                }
            }
            if let Some(hit) = hits.pop() {
                return Ok(judge.settled(hit));
            }
        }
        Err(Miss::NotFound)
    }

    /// Which of the places, which start on these lines, is the only one on the line that is named.
    fn only_on_its_line(&self, lines: &[usize]) -> Option<usize> {
        let line = self.line?;
        let chosen = lines.iter().position(|at| *at == line)?;
        (lines.get(chosen + 1) != Some(&line)).then_some(chosen)
    }

    /// The places that are whole lines, if there are any, else the places anywhere; the first few of them.
    fn hits<'x>(
        &'x self,
        view: &View<'_>,
        judge: &mut Judge<'x, '_>,
        tier: Tier,
        from: usize,
    ) -> Vec<Hit<'x>> {
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
                Some(hit) if anywhere.len() < PLACES_LIMIT => anywhere.push(hit),
                _ => {}
            }
            let enough = match self.form {
                Form::Block => whole.len() == PLACES_LIMIT,
                Form::Inline => anywhere.len() == PLACES_LIMIT,
            };
            if enough {
                break;
            }
        }
        if whole.is_empty() { anywhere } else { whole }
    }
}

fn line_numbers(file: &[u8], hits: &[Hit<'_>]) -> Vec<usize> {
    let (mut at, mut line) = (0, 1);
    let number = |hit: &Hit<'_>| {
        line += lines::number(&file[at..], hit.range.start - at) - 1;
        at = hit.range.start;
        line
    };
    hits.iter().map(number).collect()
}
