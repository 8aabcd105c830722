//! A text for a chat that fits into so many tokens: the project's tree, the set, and outlines of what the set refers to, most
//! related first. The same files give the same text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::load::{self, LoadedFile, LoadedSet};
use super::sources::{CodeSources, MappedFile};
use crate::code::FileSummary;
use crate::code::graph::{self, GraphFile};
use crate::reply::context::ContextLevel;
use crate::report::context::fit::{FitFile, LevelCosts, lower};
use crate::report::context::tree::{TreeFile, tree};
use crate::report::context::{ContextBlock, FileBlock, ShortenedFile, by_name, left_out, text};
use crate::run::files::FileResult;
use crate::text::tokens;

/// The weights at the start: of the set, of what is asked for, of what changed lately, of all files.
const OF_SET: f64 = 1.0;
const OF_WANTED: f64 = 1.5;
const OF_RECENT: f64 = 0.2;
const OF_ALL: f64 = 0.1;
/// The part of the last that a test has.
const OF_TEST: f64 = 0.05;
/// The share of the budget that the tree may have, and its most tokens.
const TREE_SHARE: usize = 5;
const MOST_TREE: usize = 6000;
/// The share of the budget that is kept for what is left out, and its most tokens.
const END_SHARE: usize = 10;
const MOST_END: usize = 800;
/// A word that is in more than this share of the files says nothing.
const COMMON: usize = 4;
/// The least letters of a word that counts.
const SHORTEST: usize = 3;
/// No more files are named as left out, and so many that do not fit end the search for one that does.
const MOST_NAMED: usize = 20;
const MOST_TRIED: usize = 100;
/// A word as long as that of a fence.
const FENCE: &str = "0123456789abcdef";

/// The wishes for a text.
#[derive(Debug, Clone, Copy)]
pub struct BudgetWish<'a> {
    pub tokens: usize,
    /// The words of the person on what is to be done; empty where there are none.
    pub wanted: &'a str,
}

/// A text within a budget.
#[derive(Debug, Default)]
pub struct BudgetText {
    pub blocks: Vec<ContextBlock>,
    pub tokens: usize,
    /// The entries that are shown less fully than asked, and related files that are not shown.
    pub left_out: Vec<ShortenedFile>,
}

/// Makes the text of a set within a budget; without blocks where not even the shortest tree fits. `recent` are the files that
/// changed lately, with weights.
///
/// # Errors
/// Where the project cannot be looked at.
pub fn within(
    wish: BudgetWish<'_>,
    set: &LoadedSet,
    recent: &[(PathBuf, f64)],
    sources: &CodeSources<'_>,
) -> FileResult<BudgetText> {
    let project = sources.project()?;
    let ranks = ranks(wish.wanted, set, recent, &project);
    let set = with_outlines(set, &project, sources);
    let plan = BudgetPlan {
        wish,
        set: &set,
        project: &project,
        ranks: &ranks,
        sources,
        costs: set.iter().map(|file| costs(file, sources)).collect(),
        order: order(&project, &ranks),
    };
    let mut room = wish.tokens;
    loop {
        let made = plan.text(room);
        // Blocks are counted one by one, and a text may have a few tokens more than its blocks.
        let over = made.tokens.saturating_sub(wish.tokens);
        if over == 0 {
            return Ok(made);
        }
        room = room.saturating_sub(over + 1);
    }
}

/// The way to such a text.
struct BudgetPlan<'p> {
    wish: BudgetWish<'p>,
    set: &'p [LoadedFile],
    project: &'p [MappedFile],
    ranks: &'p BTreeMap<&'p str, f64>,
    sources: &'p CodeSources<'p>,
    /// Of each file of the set.
    costs: Vec<LevelCosts>,
    /// The files with an outline, most related first.
    order: Vec<usize>,
}

impl BudgetPlan<'_> {
    fn rank(&self, path: &str) -> f64 {
        self.ranks.get(path).copied().unwrap_or_default()
    }

    /// The text for so much room.
    fn text(&self, room: usize) -> BudgetText {
        let mut left = room.saturating_sub((self.wish.tokens / END_SHARE).min(MOST_END));
        let mut end = room - left;
        let mut blocks = Vec::new();
        if let Some((block, cost)) = self.tree(left) {
            left -= cost;
            blocks.push(block);
        }
        let mut lowered = self.set_files(&mut left, &mut blocks);
        lowered.extend(self.related(&mut left, &mut blocks));
        // What is left is for the end.
        end += left;
        let ends = (0..=MOST_NAMED)
            .rev()
            .filter_map(|most| left_out(&lowered, most));
        blocks.extend(ends.into_iter().find(|block| self.cost(block) <= end));
        BudgetText {
            tokens: self.sources.tokens(&text(&blocks)),
            blocks,
            left_out: lowered,
        }
    }

    /// The tokens of a block with the line between it and the next.
    fn cost(&self, block: &ContextBlock) -> usize {
        self.sources.tokens(&block.text(FENCE)) + 1
    }

    fn tree(&self, room: usize) -> Option<(ContextBlock, usize)> {
        let files = self.project.iter().map(|file| TreeFile {
            path: &file.path,
            weight: self.rank(&file.path),
        });
        let files: Vec<TreeFile<'_>> = files.collect();
        let block = |text: &str| ContextBlock::Said {
            title: "PROJECT".to_owned(),
            text: text.to_owned(),
        };
        let most = (self.wish.tokens / TREE_SHARE).min(MOST_TREE).min(room);
        let tree = tree(&files, most, &mut |text| self.cost(&block(text)));
        let block = block(&tree);
        let cost = self.cost(&block);
        (!tree.is_empty() && cost <= room).then_some((block, cost))
    }

    /// The files of the set, as fully as there is room.
    fn set_files(&self, left: &mut usize, blocks: &mut Vec<ContextBlock>) -> Vec<ShortenedFile> {
        let fits = self
            .set
            .iter()
            .zip(&self.costs)
            .map(|(file, costs)| FitFile {
                rank: self.rank(&file.path),
                level: file.level,
                costs: *costs,
            });
        let fits: Vec<FitFile> = fits.collect();
        // The lines around the names.
        let head = self.cost(&by_name(&[]));
        let levels = lower(&fits, left.saturating_sub(head));
        let mut names = Vec::new();
        let mut lowered = Vec::new();
        for ((file, fit), level) in self.set.iter().zip(&fits).zip(levels) {
            let cost = fit.costs.at(level);
            *left = left.saturating_sub(cost);
            match level {
                Some(ContextLevel::Name) => names.push((file.own_name(), fit.costs.full)),
                Some(level) => {
                    let of_file = file.blocks(level).iter().cloned();
                    blocks.extend(of_file.map(ContextBlock::File));
                }
                None => {}
            }
            if level != Some(file.level) {
                lowered.push(ShortenedFile {
                    name: file.own_name(),
                    shown: level,
                    costs: dearer(&fit.costs, level, file.level),
                });
            }
        }
        if !names.is_empty() {
            *left = left.saturating_sub(head);
            blocks.push(by_name(&names));
        }
        lowered
    }

    /// Outlines of other files, or all of one that is shorter than its outline. Returns those that do not fit.
    fn related(&self, left: &mut usize, blocks: &mut Vec<ContextBlock>) -> Vec<ShortenedFile> {
        let whole: BTreeSet<&str> = self.set.iter().map(|file| file.path.as_str()).collect();
        let mut lacking: Vec<ShortenedFile> = Vec::new();
        for at in &self.order {
            let file = &self.project[*at];
            let Some(summary) = &file.summary else {
                continue;
            };
            if whole.contains(file.path.as_str()) {
                continue;
            }
            let about = tokens::by_bytes(summary.outline.len() as u64);
            // What is far too long need not be counted.
            let is_tried = about / 2 <= *left && lacking.len() < MOST_TRIED;
            let block = is_tried.then(|| self.shortest(file)).flatten();
            let cost = block.as_ref().map_or(about, |block| self.cost(block));
            if let Some(block) = block.filter(|_| cost <= *left) {
                *left -= cost;
                blocks.push(block);
                continue;
            }
            lacking.push(ShortenedFile {
                name: file.path.clone(),
                shown: None,
                costs: vec![
                    (ContextLevel::Outline, cost),
                    (ContextLevel::Full, tokens::by_bytes(file.size)),
                ],
            });
        }
        lacking
    }

    /// The outline of a file, or all of it where that is less.
    fn shortest(&self, file: &MappedFile) -> Option<ContextBlock> {
        let outline = ContextBlock::File(outline(file, self.sources)?);
        let length = file.summary.as_ref()?.outline.len() as u64;
        if file.size > length.saturating_mul(2) {
            return Some(outline);
        }
        let whole = load::whole_file(&file.path, ContextLevel::Full, self.sources).ok();
        let whole = whole.and_then(|whole| whole.full.into_iter().next());
        let whole = whole.map(ContextBlock::File);
        let is_less = |whole: &ContextBlock| self.cost(whole) <= self.cost(&outline);
        whole.filter(is_less).or(Some(outline))
    }
}

/// The outline of a file of the project.
fn outline(file: &MappedFile, sources: &CodeSources<'_>) -> Option<FileBlock> {
    let outline = &file.summary.as_ref()?.outline;
    let text = (!outline.is_empty()).then(|| sources.masked(outline))?;
    Some(FileBlock::outline(&file.path, text))
}

/// The files of a set, whole ones with their outlines.
fn with_outlines(
    set: &LoadedSet,
    project: &[MappedFile],
    sources: &CodeSources<'_>,
) -> Vec<LoadedFile> {
    let files = set.files.iter().map(|file| {
        let mut file = file.clone();
        let is_whole = file.full.iter().all(|block| block.part.is_none());
        let place = project.binary_search_by(|it| it.path.as_str().cmp(&file.path));
        if let Some(at) = place.ok().filter(|_| is_whole && file.outline.is_none()) {
            file.outline = outline(&project[at], sources);
        }
        file
    });
    files.collect()
}

/// The tokens of a file of the set at each level, with the lines around it.
fn costs(file: &LoadedFile, sources: &CodeSources<'_>) -> LevelCosts {
    let cost = |blocks: &[FileBlock]| {
        let blocks = blocks.iter().cloned().map(ContextBlock::File);
        blocks
            .map(|block| sources.tokens(&block.text(FENCE)) + 1)
            .sum::<usize>()
    };
    let outline = file.blocks(ContextLevel::Outline);
    let full = cost(file.blocks(ContextLevel::Full));
    let name = sources.tokens(&by_name(&[(file.own_name(), full)]).text(FENCE));
    LevelCosts {
        full,
        outline: (!outline.is_empty()).then(|| cost(outline)),
        name: name.saturating_sub(sources.tokens(&by_name(&[]).text(FENCE))) + 1,
    }
}

/// The levels above the one that is shown, up to the one that was asked for, with their tokens.
fn dearer(
    costs: &LevelCosts,
    shown: Option<ContextLevel>,
    asked: ContextLevel,
) -> Vec<(ContextLevel, usize)> {
    let is_dearer = |level: &ContextLevel| {
        let has = *level != ContextLevel::Outline || costs.outline.is_some();
        has && *level >= asked && shown.is_none_or(|shown| *level < shown)
    };
    let levels = ContextLevel::ALL.into_iter().filter(is_dearer);
    levels.map(|level| (level, costs.at(Some(level)))).collect()
}

/// The files of the project by their ranks, the highest first; of the same rank by their paths.
fn order(project: &[MappedFile], ranks: &BTreeMap<&str, f64>) -> Vec<usize> {
    let rank = |at: usize| {
        ranks
            .get(project[at].path.as_str())
            .copied()
            .unwrap_or_default()
    };
    let has_outline = |at: &usize| {
        let summary = project[*at].summary.as_ref();
        summary.is_some_and(|summary| !summary.outline.is_empty())
    };
    let mut order: Vec<usize> = (0..project.len()).filter(has_outline).collect();
    order.sort_by(|one, other| rank(*other).total_cmp(&rank(*one)).then(one.cmp(other)));
    order
}

/// The ranks of all files.
fn ranks<'p>(
    wanted: &str,
    set: &LoadedSet,
    recent: &[(PathBuf, f64)],
    project: &'p [MappedFile],
) -> BTreeMap<&'p str, f64> {
    let words = words(wanted);
    let starts = starts(&words, set, recent, project);
    let none = FileSummary::default();
    let files = project.iter().zip(starts).map(|(file, start)| {
        let summary = file.summary.as_ref().unwrap_or(&none);
        summary.graph_file(&file.path, start)
    });
    let files: Vec<GraphFile<'_>> = files.collect();
    let ranks = graph::ranks(&files, &|name| is_word(&words, name));
    project
        .iter()
        .map(|file| file.path.as_str())
        .zip(ranks)
        .collect()
}

/// The weight that each file starts with.
fn starts(
    words: &BTreeSet<String>,
    set: &LoadedSet,
    recent: &[(PathBuf, f64)],
    project: &[MappedFile],
) -> Vec<f64> {
    let all = OF_ALL / project.len().max(1) as f64;
    let own = |file: &MappedFile| {
        if is_test(&file.path) {
            all * OF_TEST
        } else {
            all
        }
    };
    let mut starts: Vec<f64> = project.iter().map(own).collect();
    let places: BTreeMap<&str, usize> = project
        .iter()
        .enumerate()
        .map(|(at, file)| (file.path.as_str(), at))
        .collect();
    let in_set: BTreeSet<&str> = set.files.iter().map(|file| file.path.as_str()).collect();
    for at in in_set.iter().filter_map(|path| places.get(path)) {
        starts[*at] += OF_SET / in_set.len() as f64;
    }
    let recent = recent
        .iter()
        .filter_map(|(path, weight)| Some((*places.get(path.to_str()?)?, weight)));
    let recent: Vec<(usize, &f64)> = recent.collect();
    let all: f64 = recent.iter().map(|(_, weight)| **weight).sum();
    for (at, weight) in recent {
        starts[at] += OF_RECENT * weight / all;
    }
    let found: Vec<Vec<usize>> = words
        .iter()
        .map(|word| having(word, project))
        .filter(|found| !found.is_empty() && found.len() * COMMON <= project.len().max(20))
        .collect();
    for of_word in &found {
        for at in of_word {
            starts[*at] += OF_WANTED / found.len() as f64 / of_word.len() as f64;
        }
    }
    starts
}

/// The files that have a word in their path, or define it.
fn having(word: &str, project: &[MappedFile]) -> Vec<usize> {
    let is_it = |name: &str| name.eq_ignore_ascii_case(word);
    let has = |file: &MappedFile| {
        file.path.split(|c: char| !c.is_alphanumeric()).any(is_it)
            || file.path.split(['/', '.']).any(is_it)
            || file
                .summary
                .as_ref()
                .is_some_and(|it| it.open_names().any(is_it))
    };
    (0..project.len()).filter(|at| has(&project[*at])).collect()
}

/// True for a file in a folder of tests: much of them refers to little of the program.
fn is_test(path: &str) -> bool {
    let mut folders = path.split('/');
    folders.next_back();
    folders.any(|name| {
        matches!(
            name,
            "test" | "tests" | "spec" | "__tests__" | "testdata" | "test-data"
        )
    })
}

/// The words that may be names.
fn words(wanted: &str) -> BTreeSet<String> {
    let words = wanted.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let words = words.filter(|word| word.chars().count() >= SHORTEST);
    words.map(str::to_lowercase).collect()
}

fn is_word(words: &BTreeSet<String>, name: &str) -> bool {
    words.iter().any(|word| name.eq_ignore_ascii_case(word))
}
