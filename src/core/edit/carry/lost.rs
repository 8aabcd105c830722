//! Refuses search texts and replacements whose indentation was lost where nobody can know it.

use std::collections::HashSet;

use super::indents::Indents;
use super::style::{Style, opens};
use super::{Merge, Unclear};
use crate::edit::Doubt;

impl Merge<'_, '_, '_> {
    /// # Errors
    /// Where it cannot be told how deep a line of the replacement is, or which line is left out.
    pub(super) fn refuse_what_is_lost(&self, indents: &Indents) -> Result<(), Unclear> {
        // What the first line lost, a line further down cannot have.
        let new = &self.new.lines;
        let first_kept = self.pairing.in_order().into_iter().find(|(_, i)| *i == 0);
        if let Some((j, _)) = first_kept
            && j > 0
            && indents.first.is_some()
        {
            return Err(unclear(new[j].number));
        }
        if indents.is_unsure || self.is_flat() || indents.first.is_some() {
            self.refuse_lost_blocks()?;
        }
        self.refuse_flat()
    }

    /// Returns whether search text and replacement have no indentation at all and the place has.
    fn is_flat(&self) -> bool {
        let mut lines = self.search.lines.iter().chain(&self.new.lines);
        // One blank is what is left of any number of them.
        let is_left = |indent: &str| matches!(indent, "" | " ");
        let left = self.search.lines.first().map_or("", |line| line.indent);
        let found = &self.found.lines;
        is_left(left)
            && lines.all(|line| line.indent == left)
            && found.iter().any(|line| !is_left(line.indent))
    }

    /// Refuses to guess at blocks without indentation: lines that are left out must not leave their block behind, a line that
    /// opens one must go on to do so, and of lines that are the same but for their depth nobody knows which is left out.
    fn refuse_lost_blocks(&self) -> Result<(), Unclear> {
        let stays: HashSet<usize> = self.pairing.all.values().copied().collect();
        let (search, found) = (&self.search.lines, &self.found.lines);
        let first = self.new.lines.first().map_or(1, |line| line.number);
        let (_, below) = self.place.neighbours();
        let below = below.filter(|_| !self.place.is_inside).map_or(0, str::len);
        for i in 0..found.len() {
            let goes = !stays.contains(&i);
            let next = match found.get(i + 1) {
                Some(next) if stays.contains(&(i + 1)) => next.indent.len(),
                Some(_) => 0,
                None => below,
            };
            if goes && next > found[i].indent.len() {
                return Err(unclear(first));
            }
            let is_twin = |other: usize| {
                search[other].key == search[i].key && found[other].indent != found[i].indent
            };
            if goes && stays.iter().any(|other| is_twin(*other)) {
                return Err(unclear(first));
            }
        }
        for (j, i) in self.pairing.in_order() {
            let line = &self.new.lines[j];
            let is_changed = !self.pairing.kept.contains_key(&j);
            if is_changed && opens(search[i].body) != opens(line.body) {
                return Err(unclear(line.number));
            }
        }
        Ok(())
    }

    /// Refuses lines that are plainly not flat, where all indentation was lost.
    fn refuse_flat(&self) -> Result<(), Unclear> {
        let (search, found, new) = (&self.search.lines, &self.found.lines, &self.new.lines);
        let is_new = |j: usize| j < new.len() && self.pairing.line_of(j).is_none();
        if !self.is_flat() {
            return self.refuse_flat_block(is_new);
        }
        for (j, line) in new.iter().enumerate() {
            let goes_on = j + 1 < new.len();
            let is_block = match self.pairing.line_of(j) {
                None => is_new(j + 1) || goes_on && opens(line.body),
                Some(i) => goes_on && opens(line.body) && !opens(search[i].body),
            };
            if is_block {
                return Err(unclear(line.number));
            }
        }
        if self.place.is_inside {
            return Ok(());
        }
        let (Some(first), Some(last)) = (found.first(), found.last()) else {
            return Ok(());
        };
        let (above, below) = self.place.neighbours();
        let last_new = new.len().saturating_sub(1);
        for (j, at, neighbour) in [(0, first, above), (last_new, last, below)] {
            if is_new(j) && neighbour.is_some_and(|indent| indent != at.indent) {
                return Err(unclear(new[j].number));
            }
        }
        Ok(())
    }

    /// Refuses a new line that opens a block with another at the same depth below it, where the file's blocks are deeper.
    fn refuse_flat_block(&self, is_new: impl Fn(usize) -> bool) -> Result<(), Unclear> {
        let new = &self.new.lines;
        let mut all = self.search.lines.iter().chain(new);
        let opens = |j: usize| is_new(j) && new[j].body.ends_with([':', '{']);
        let opener = (0..new.len().saturating_sub(1)).find(|j| opens(*j));
        match opener {
            Some(j)
                if all.all(|line| line.indent.is_empty())
                    && !new[j + 1].body.starts_with(['}', ']', ')', '-'])
                    && Style::of(self.place.file).has_deep_blocks() =>
            {
                Err(unclear(new[j].number))
            }
            _ => Ok(()),
        }
    }
}

/// The failure where nobody knows how deep a line is.
pub(super) fn unclear(line: usize) -> Unclear {
    Unclear {
        line,
        doubt: Doubt::Indentation,
    }
}
