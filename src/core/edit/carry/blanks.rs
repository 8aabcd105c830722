//! Decides which blank lines are written between the lines of a replacement.

/// The blank lines of the gaps between two lines that search text and replacement both have, in the search text, the file
/// and the replacement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gaps<'g, 't> {
    pub(super) search: &'g [Vec<&'t str>],
    pub(super) file: &'g [Vec<&'t str>],
    pub(super) replacement: &'g [Vec<&'t str>],
    /// They begin and end where the texts do.
    pub(super) is_start: bool,
    pub(super) is_end: bool,
}

impl<'t> Gaps<'_, 't> {
    /// The blank lines that are written in each gap of the replacement. `is_own`: the replacement has the file's, which
    /// the search text lost. `are_bare`: what stands on new ones is not meant.
    pub(super) fn merged(self, is_own: bool, are_bare: bool) -> Vec<Vec<&'t str>> {
        let wanted = if is_own {
            counts(self.replacement)
        } else {
            self.wanted()
        };
        let have: Vec<&str> = self.file.iter().flatten().copied().collect();
        let is_one = self.search.len() == 1 && self.replacement.len() == 1;
        let gaps = self.replacement.iter().zip(wanted);
        gaps.map(|(gap, wanted)| {
            // What a page puts on blank lines is never meant.
            let is_odd = |line: &str| line.contains(|c| !matches!(c, ' ' | '\t'));
            let own = gap.iter();
            let own = own.map(|line| if are_bare || is_odd(line) { "" } else { line });
            let mut lines: Vec<&str> = own.collect();
            let is_files = is_one
                && wanted == self.file[0].len()
                && (*gap == self.search[0] || wanted != gap.len());
            if is_files {
                lines.clone_from(&self.file[0]);
            } else if wanted > lines.len() {
                lines.extend(&have);
            }
            lines.resize(wanted, "");
            lines
        })
        .collect()
    }

    fn wanted(self) -> Vec<usize> {
        let [mut search, file, new] = [self.search, self.file, self.replacement].map(counts);
        let mut wanted = new.clone();
        if let ([search], [new]) = (search.as_slice(), new.as_slice()) {
            if new == search {
                return file;
            }
            if *search > file[0] {
                // Fewer than the reply saw are no fewer than it leaves.
                let fewer = *new.min(&file[0]);
                wanted = vec![(new + file[0]).saturating_sub(*search).max(fewer)];
            }
            return wanted;
        }
        let (last, end) = (wanted.len() - 1, search.len() - 1);
        let total = |counts: &[usize]| counts.iter().sum::<usize>();
        if total(&new) == total(&file) && total(&search) != total(&file) {
            // The replacement has as many as the file.
            return wanted;
        }
        // Those at the edges that only the reply has do not come.
        for (is_edge, at, i) in [(self.is_start, 0, 0), (self.is_end, last, end)] {
            if is_edge && search[i] > file[i] {
                wanted[at] = wanted[at].saturating_sub(search[i] - file[i]);
                search[i] = file[i];
            }
        }
        // What the search text lacks beside a line that both have stays beside it; lines that were put in go before it.
        let missing: Vec<usize> = search
            .iter()
            .zip(&file)
            .map(|(s, f)| f.saturating_sub(*s))
            .collect();
        let surplus = search.iter().zip(&file).map(|(s, f)| s.saturating_sub(*f));
        let surplus = surplus.max().unwrap_or(0);
        let is_missing = missing.iter().any(|missing| *missing > 0);
        if is_missing && new.iter().max() < file.iter().max() {
            if last == 0 {
                wanted[0] += missing[0].max(missing[end]);
            } else if end == 0 {
                wanted[last] += missing[0];
            } else {
                wanted[0] += missing[0];
                wanted[last] += missing[end];
            }
        } else if let Some(first) = wanted.iter_mut().find(|wanted| **wanted > 0) {
            *first = first.saturating_sub(surplus);
        }
        wanted
    }
}

fn counts(gaps: &[Vec<&str>]) -> Vec<usize> {
    gaps.iter().map(Vec::len).collect()
}
