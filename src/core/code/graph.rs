//! Files as a graph: who refers to whom, and which files are related most to those that one starts from. Pure, and the same
//! for the same files in whatever order they come.

use std::collections::HashMap;

/// The share of its rank that a file hands on to those that it refers to.
const HANDED_ON: f64 = 0.85;
/// The most rounds, and the change from which on another one is no use.
const ROUNDS: usize = 40;
const SMALL: f64 = 1e-10;
/// A name that so many files define says little of which one is meant.
const MANY_DEFINE: usize = 5;
/// A name of so many letters that has several words is hardly there by chance.
const LONG: usize = 8;

/// A file as the graph needs to know it.
#[derive(Debug, Clone, Default)]
pub struct GraphFile<'t> {
    pub path: &'t str,
    pub defines: Vec<DefinedName<'t>>,
    /// The names that it uses, and how often.
    pub uses: Vec<(&'t str, u32)>,
    /// The weight that it starts with: more for what one works with. Below zero counts as zero.
    pub start: f64,
}

/// A name that a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefinedName<'t> {
    pub name: &'t str,
    /// Other files cannot use it.
    pub is_private: bool,
}

/// The ranks of files, each in the place of its file: the rank of a file is high where files that matter refer to it, or where it
/// starts with much weight. `is_meant` tells the names that are asked for: references by these count more.
///
/// It is a PageRank that is personalised by the weights at the start. A file that refers to nothing hands nothing on: so more
/// weight at the start never lowers a file's own rank.
pub fn ranks(files: &[GraphFile<'_>], is_meant: &dyn Fn(&str) -> bool) -> Vec<f64> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|at| files[*at].path);
    let sorted: Vec<&GraphFile<'_>> = order.iter().map(|at| &files[*at]).collect();
    let edges = edges(&sorted, is_meant);
    let start: Vec<f64> = sorted.iter().map(|file| file.start.max(0.0)).collect();
    let mut rank = start.clone();
    for _ in 0..ROUNDS {
        let mut next = start.clone();
        for (from, to) in edges.iter().enumerate() {
            for (to, share) in to {
                next[*to] += HANDED_ON * share * rank[from];
            }
        }
        let change: f64 = rank
            .iter()
            .zip(&next)
            .map(|(was, is)| (was - is).abs())
            .sum();
        rank = next;
        if change <= SMALL {
            break;
        }
    }
    let mut ranks = vec![0.0; files.len()];
    for (place, at) in order.into_iter().enumerate() {
        ranks[at] = rank[place];
    }
    ranks
}

/// The files that each file refers to, with the shares of its references; they add up to 1 where there are any.
fn edges(files: &[&GraphFile<'_>], is_meant: &dyn Fn(&str) -> bool) -> Vec<Vec<(usize, f64)>> {
    let names = names(files);
    let edges = files.iter().enumerate().map(|(from, file)| {
        let mut uses = file.uses.clone();
        uses.sort_unstable();
        let mut weights: HashMap<usize, f64> = HashMap::new();
        for (name, count) in uses {
            let Some(known) = names.get(name) else {
                continue;
            };
            let asked = if is_meant(name) { 10.0 } else { 1.0 };
            let weight = asked * known.weight(name, files.len()) * f64::from(count).sqrt();
            for (to, is_private) in known.defined_in.iter().filter(|(to, _)| *to != from) {
                let open = if *is_private { 0.1 } else { 1.0 };
                *weights.entry(*to).or_default() += weight * open;
            }
        }
        let mut to: Vec<(usize, f64)> = weights.into_iter().collect();
        to.sort_unstable_by_key(|(to, _)| *to);
        let all: f64 = to.iter().map(|(_, weight)| weight).sum();
        to.iter_mut().for_each(|(_, weight)| *weight /= all);
        to
    });
    edges.collect()
}

/// The files of a name.
#[derive(Default)]
struct NameFiles {
    /// Each with whether only that file can use it.
    defined_in: Vec<(usize, bool)>,
    used_in: usize,
}

impl NameFiles {
    /// The weight of a reference by this name.
    fn weight(&self, name: &str, files: usize) -> f64 {
        // As search engines weigh words: what is everywhere tells nothing.
        let rare = (1.0 + files as f64 / self.used_in.max(1) as f64).ln();
        let definitions = self.defined_in.len().max(1);
        let spread = if definitions > MANY_DEFINE { 0.1 } else { 1.0 };
        rare * rare * spread * telling(name) / definitions as f64
    }
}

/// The factor for the form of a name.
fn telling(name: &str) -> f64 {
    if name.starts_with('_') {
        return 0.1;
    }
    let has = |is: fn(char) -> bool| name.chars().any(is);
    let is_several =
        has(|c| matches!(c, '_' | '-')) || has(char::is_lowercase) && has(char::is_uppercase);
    if is_several && name.chars().count() >= LONG {
        10.0
    } else if name.starts_with(char::is_uppercase) {
        // A type, while a word in small letters may be any variable.
        3.0
    } else {
        1.0
    }
}

/// All names that a file defines.
fn names<'t>(files: &[&GraphFile<'t>]) -> HashMap<&'t str, NameFiles> {
    let mut names: HashMap<&str, NameFiles> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        for defined in &file.defines {
            let of = &mut names.entry(defined.name).or_default().defined_in;
            match of.last_mut() {
                Some((file, is_private)) if *file == at => *is_private &= defined.is_private,
                _ => of.push((at, defined.is_private)),
            }
        }
    }
    for file in files {
        for (name, _) in &file.uses {
            if let Some(known) = names.get_mut(name) {
                known.used_in += 1;
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file<'t>(path: &'t str, defines: &[&'t str], uses: &[&'t str], start: f64) -> GraphFile<'t> {
        let defined = |name: &&'t str| DefinedName {
            name: name.trim_start_matches('-'),
            is_private: name.starts_with('-'),
        };
        GraphFile {
            path,
            defines: defines.iter().map(defined).collect(),
            uses: uses.iter().map(|name| (*name, 1)).collect(),
            start,
        }
    }

    /// The paths, the highest rank first.
    fn order<'t>(files: &[GraphFile<'t>], meant: &str) -> Vec<&'t str> {
        let ranks = ranks(files, &|name| name == meant);
        let mut order: Vec<usize> = (0..files.len()).collect();
        order.sort_by(|one, other| ranks[*other].total_cmp(&ranks[*one]));
        order.into_iter().map(|at| files[at].path).collect()
    }

    #[test]
    fn what_is_used_directly_comes_before_what_that_uses() {
        let files = [
            file("far", &["far_away_thing"], &[], 0.0),
            file("near", &["near_by_thing"], &["far_away_thing"], 0.0),
            file("set", &[], &["near_by_thing"], 1.0),
            file("other", &[], &["far_away_thing"], 0.0),
        ];
        assert_eq!(order(&files, ""), ["set", "near", "far", "other"]);
    }

    #[test]
    fn names_that_tell_more_weigh_more() {
        for (more, less) in [
            ("parse_the_header", "parse"),
            ("ParseHeader", "parseable"),
            ("shared", "-hidden"),
            ("plain", "_plain"),
            ("Line", "line"),
        ] {
            let files = [
                file("a", &[less], &[], 0.0),
                file("b", &[more], &[], 0.0),
                file("set", &[], &[less.trim_start_matches('-'), more], 1.0),
            ];
            assert_eq!(order(&files, ""), ["set", "b", "a"], "{more} {less}");
        }
    }

    #[test]
    fn rare_names_and_names_with_one_definition_weigh_more() {
        let files = [
            file("common", &["one"], &[], 0.0),
            file("rare", &["two"], &[], 0.0),
            file("x", &[], &["one"], 0.0),
            file("y", &[], &["one"], 0.0),
            file("set", &[], &["one", "two"], 1.0),
        ];
        assert_eq!(order(&files, "")[..2], ["set", "rare"]);
        let files = [
            file("first", &["new"], &[], 0.0),
            file("second", &["new"], &[], 0.0),
            file("only", &["make"], &[], 0.0),
            file("set", &[], &["new", "make"], 1.0),
        ];
        assert_eq!(order(&files, "")[..2], ["set", "only"]);
    }

    #[test]
    fn a_name_that_is_asked_for_weighs_more() {
        let files = [
            file("a", &["alpha"], &[], 0.0),
            file("b", &["beta"], &[], 0.0),
            file("set", &[], &["alpha", "beta"], 1.0),
        ];
        assert_eq!(order(&files, "alpha")[1], "a");
        assert_eq!(order(&files, "beta")[1], "b");
    }

    #[test]
    fn a_file_alone_has_the_weight_that_it_starts_with() {
        assert_eq!(ranks(&[], &|_| false), [0.0; 0]);
        let alone = [file("a", &["a"], &["a", "b"], 2.0)];
        assert_eq!(ranks(&alone, &|_| false), [2.0]);
    }

    const NAMES: [&str; 6] = [
        "new",
        "draw_the_line",
        "Widget",
        "_x",
        "parse",
        "HeaderLine",
    ];
    const PATHS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

    fn some_files() -> impl Strategy<Value = Vec<GraphFile<'static>>> {
        let names = || proptest::collection::vec((0..NAMES.len(), 1..9_u32), 0..5);
        let file = (names(), names(), 0..3_u32);
        proptest::collection::vec(file, 1..PATHS.len()).prop_map(|files| {
            let files = files.into_iter().zip(PATHS);
            let made = files.map(|((defines, uses, start), path)| GraphFile {
                path,
                defines: defines
                    .into_iter()
                    .map(|(at, count)| DefinedName {
                        name: NAMES[at],
                        is_private: count > 6,
                    })
                    .collect(),
                uses: uses
                    .into_iter()
                    .map(|(at, count)| (NAMES[at], count))
                    .collect(),
                start: f64::from(start),
            });
            made.collect()
        })
    }

    proptest! {
        /// A set shares one weight among its files: also then one more in it never has less than before.
        #[test]
        fn a_file_that_joins_the_set_never_sinks(files in some_files(), joins in 0..7_usize) {
            let joins = joins % files.len();
            let shared = |set: &[usize]| {
                let mut files = files.clone();
                for at in set {
                    files[*at].start += 1.0 / set.len() as f64;
                }
                ranks(&files, &|_| false)
            };
            let set: Vec<usize> = (0..files.len()).filter(|at| at % 2 == 0 && *at != joins).collect();
            let before = shared(&set)[joins];
            let after = shared(&[set, vec![joins]].concat())[joins];
            prop_assert!(after >= before - 1e-9, "{before} {after}");
        }

        #[test]
        fn the_order_in_which_files_come_does_not_matter(files in some_files(), turn in 0..7_usize) {
            let mut turned = files.clone();
            turned.reverse();
            let middle = turn % turned.len();
            turned.rotate_left(middle);
            for file in &mut turned {
                file.uses.reverse();
                file.defines.reverse();
            }
            let by_path = |files: &[GraphFile<'static>]| {
                let ranks = ranks(files, &|_| false);
                let mut by_path: Vec<(&str, u64)> =
                    files.iter().zip(ranks).map(|(file, rank)| (file.path, rank.to_bits())).collect();
                by_path.sort_unstable();
                by_path
            };
            prop_assert_eq!(by_path(&files), by_path(&turned));
        }
    }
}
