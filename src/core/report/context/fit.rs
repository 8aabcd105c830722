//! Lowers the levels of files until they fit: the least related first, from full to outline to name to nothing.

use crate::reply::context::ContextLevel;

/// A file that wants room.
#[derive(Debug, Clone, Copy)]
pub struct FitFile {
    /// Its relation to all else: more is closer.
    pub rank: f64,
    /// The level that it wants.
    pub level: ContextLevel,
    pub costs: LevelCosts,
}

/// The tokens of a file at each level; of an outline only where it has one.
#[derive(Debug, Clone, Copy, Default)]
pub struct LevelCosts {
    pub full: usize,
    pub outline: Option<usize>,
    pub name: usize,
}

impl LevelCosts {
    /// True for a level that it can be lowered to: an outline may be lacking, or longer than the file.
    fn has(&self, level: ContextLevel) -> bool {
        level != ContextLevel::Outline || self.outline.is_some_and(|it| it < self.full)
    }

    /// The tokens at a level; 0 for nothing.
    pub fn at(&self, level: Option<ContextLevel>) -> usize {
        match level {
            Some(ContextLevel::Full) => self.full,
            Some(ContextLevel::Outline) => self.outline.unwrap_or(self.name),
            Some(ContextLevel::Name) => self.name,
            None => 0,
        }
    }
}

/// Returns the level of each file at which all of them fit into so many tokens; `None` for one that is left out.
pub fn lower(files: &[FitFile], room: usize) -> Vec<Option<ContextLevel>> {
    let mut levels: Vec<Option<ContextLevel>> = files.iter().map(|file| Some(file.level)).collect();
    let mut order: Vec<usize> = (0..files.len()).collect();
    // Of two as related, the one that came last.
    order.sort_by(|one, other| {
        files[*one]
            .rank
            .total_cmp(&files[*other].rank)
            .then(other.cmp(one))
    });
    let all = files.iter().zip(&levels);
    let mut cost: usize = all.map(|(file, level)| file.costs.at(*level)).sum();
    let steps = [
        (ContextLevel::Full, ContextLevel::Outline),
        (ContextLevel::Outline, ContextLevel::Name),
        (ContextLevel::Full, ContextLevel::Name),
    ];
    for (from, to) in steps {
        for at in &order {
            if cost <= room {
                break;
            }
            let costs = files[*at].costs;
            let (was, is) = (costs.at(Some(from)), costs.at(Some(to)));
            if levels[*at] == Some(from) && costs.has(to) && is < was {
                levels[*at] = Some(to);
                cost -= was - is;
            }
        }
    }
    // A file that costs no more than its name is still at its level.
    for at in &order {
        if cost > room {
            cost -= files[*at].costs.at(levels[*at].take());
        }
    }
    // Where a large file went last, there is room for smaller ones again.
    for at in order.iter().rev() {
        let FitFile { level, costs, .. } = files[*at];
        let now = costs.at(levels[*at]);
        let fuller = ContextLevel::ALL.into_iter().filter(|it| *it >= level);
        let fuller = fuller.take_while(|it| levels[*at].is_none_or(|now| *it < now));
        let mut fuller = fuller.filter(|it| *it == level || costs.has(*it));
        let fits = fuller.find(|it| cost - now + costs.at(Some(*it)) <= room);
        if let Some(level) = fits {
            levels[*at] = Some(level);
            cost = cost - now + costs.at(Some(level));
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(rank: f64, full: usize, outline: Option<usize>) -> FitFile {
        FitFile {
            rank,
            level: ContextLevel::Full,
            costs: LevelCosts {
                full,
                outline,
                name: 5,
            },
        }
    }

    #[test]
    fn the_least_related_goes_first() {
        let (full, outline, name) = (
            Some(ContextLevel::Full),
            Some(ContextLevel::Outline),
            Some(ContextLevel::Name),
        );
        let files = [
            file(0.3, 100, Some(20)),
            file(0.1, 100, Some(20)),
            file(0.2, 100, None),
        ];
        for (room, levels) in [
            (300, [full, full, full]),
            (299, [full, outline, full]),
            (219, [outline, outline, full]),
            (139, [outline, name, full]),
            (124, [name, name, full]),
            // There is no room for the third again, but for outlines of the others.
            (109, [outline, outline, name]),
            (29, [name, name, name]),
            (14, [name, None, name]),
            (9, [name, None, None]),
            (0, [None, None, None]),
        ] {
            assert_eq!(lower(&files, room), levels, "{room}");
        }
    }

    #[test]
    fn a_file_as_cheap_as_its_name_is_left_out_too() {
        assert_eq!(lower(&[file(0.0, 5, None)], 4), [None]);
    }

    #[test]
    fn a_large_file_does_not_push_out_the_smaller_ones_behind_it() {
        let files = [
            file(0.2, 12_000, None),
            file(0.2, 25, None),
            file(0.2, 377, None),
        ];
        let (full, name) = (Some(ContextLevel::Full), Some(ContextLevel::Name));
        assert_eq!(lower(&files, 5000), [name, full, full]);
        assert_eq!(lower(&files, 380), [name, full, name]);
    }

    proptest! {
        #[test]
        fn what_is_left_fits(
            files in proptest::collection::vec((0..9_u32, 5..200_usize, proptest::option::of(1..300_usize)), 0..9),
            room in 0..900_usize,
        ) {
            let files: Vec<FitFile> =
                files.into_iter().map(|(rank, full, outline)| file(f64::from(rank), full, outline)).collect();
            let levels = lower(&files, room);
            let cost: usize = files.iter().zip(levels).map(|(file, level)| file.costs.at(level)).sum();
            prop_assert!(cost <= room, "{cost}");
        }
    }
}
