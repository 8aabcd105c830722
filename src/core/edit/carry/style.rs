//! Reads how a file indents its lines, only where a reply leaves open how deep a line is.

use std::collections::BTreeSet;

use super::reindent::{self, TAB};
use crate::edit::lines;

/// A step of indentation wider than this is alignment.
const WIDEST: usize = 16;

/// So much of a large file shows its style.
const READ: usize = 1 << 20;

/// The style by which a file indents its lines.
#[derive(Debug, Default)]
pub(super) struct Style {
    /// The step by which indentation mostly grows; nothing where it never does.
    step: Option<usize>,
    /// The number of lines that begin with a tab, and with a space.
    tabs: usize,
    spaces: usize,
    /// The number of lines that have spaces behind tabs.
    mixed: usize,
    /// The number of heads of blocks that have a deeper line below, and of those that have not.
    deep: usize,
    flat: usize,
    /// All lines are indented by whole steps.
    is_regular: bool,
}

impl Style {
    pub(super) fn of(file: &[u8]) -> Self {
        let file = &file[..file.len().min(READ)];
        let mut style = Self::default();
        let mut counts = [0_usize; WIDEST + 1];
        let mut widths = BTreeSet::new();
        let mut before: Option<(usize, bool)> = None;
        for line in lines::contents(file) {
            let indent = lines::indentation(file, line.start);
            let text = file[line].trim_ascii_end();
            if indent.len() >= text.len() {
                continue;
            }
            style.tabs += usize::from(indent.starts_with('\t'));
            style.spaces += usize::from(indent.starts_with(' '));
            style.mixed += usize::from(indent.contains('\t') && indent.contains(' '));
            let width = reindent::columns(indent, TAB).unwrap_or_default();
            widths.insert(width);
            if let Some((above, is_head)) = before {
                if let Some(count) = counts.get_mut(width.saturating_sub(above)) {
                    *count += 1;
                }
                style.deep += usize::from(is_head && width > above);
                style.flat += usize::from(is_head && width <= above);
            }
            before = Some((width, text.ends_with(b":") || text.ends_with(b"{")));
        }
        let most = counts[1..].iter().max().copied().filter(|most| *most > 0);
        style.step = most
            .and_then(|most| counts[1..].iter().position(|count| *count == most))
            .map(|at| at + 1);
        let is_regular = |step| widths.iter().all(|width| width.is_multiple_of(step));
        style.is_regular = style.step.is_some_and(is_regular);
        style
    }

    /// The step by which indentation grows near such lines; nothing where that is not known.
    pub(super) fn step_near(&self, near: &[&str]) -> Option<usize> {
        match self.step {
            None if near.iter().any(|indent| indent.contains('\t')) => Some(TAB),
            step => step,
        }
    }

    /// Returns whether the head of a block has a deeper line below, as a rule.
    pub(super) fn has_deep_blocks(&self) -> bool {
        self.deep > self.flat
    }

    /// Returns whether a new line may be indented so, below a line that is indented and reads so: with what the file indents
    /// its lines with, and below the head of a block by whole steps.
    pub(super) fn allows(&self, indent: &str, above: Option<(&str, &str)>) -> bool {
        if indent.is_empty() {
            return true;
        }
        let is_other = indent.contains('\t') && self.tabs == 0 && self.spaces > 0
            || indent.contains(' ') && self.spaces == 0 && self.tabs > 0;
        let step = self.step_near(&[indent]);
        let width = |indent: &str| reindent::columns(indent, TAB);
        let is_odd = above.zip(step).is_some_and(|((above, head), step)| {
            let (Some(own), Some(above)) = (width(indent), width(above)) else {
                return false;
            };
            head.ends_with([':', '{']) && own > above && !(own - above).is_multiple_of(step)
        });
        // A depth between the file's levels is nobody's.
        let is_between = self.is_regular
            && step
                .zip(width(indent))
                .is_some_and(|(step, own)| !own.is_multiple_of(step));
        !is_other && !is_odd && !is_between
    }

    /// Returns whether a line that is moved may be indented so: at a level of the file where it is in spaces, and without
    /// spaces behind tabs that no line of the file has.
    pub(super) fn allows_moved(&self, indent: &str) -> bool {
        let step = self.step_near(&[indent]);
        let is_mixed = indent.contains('\t') && indent.contains(' ');
        let is_between = self.is_regular
            && self.tabs == 0
            && step.is_some_and(|step| !indent.len().is_multiple_of(step));
        !is_between && (!is_mixed || self.mixed > 0)
    }

    /// The number of lines that are not as deep below those above them as the file's are: more than a step deeper, or no
    /// deeper than the head of a block.
    pub(super) fn oddities(&self, lines: &[(String, &str)]) -> usize {
        let indents: Vec<&str> = lines.iter().map(|(indent, _)| indent.as_str()).collect();
        let step = self.step_near(&indents);
        let has_deep_blocks = self.has_deep_blocks();
        let width = |indent: &str| reindent::columns(indent, TAB).unwrap_or(0);
        let is_odd = |pair: &&[(String, &str)]| {
            let (above, below) = (width(&pair[0].0), width(&pair[1].0));
            let is_head = pair[0].1.ends_with([':', '{']);
            step.is_some_and(|step| below > above + step)
                || has_deep_blocks && is_head && below <= above
        };
        lines.windows(2).filter(is_odd).count()
    }
}

/// Returns whether a line that ends like this is followed by a deeper one.
pub(super) fn opens(body: &str) -> bool {
    body.ends_with([':', '{', '(', '[', ',', '\\'])
}
