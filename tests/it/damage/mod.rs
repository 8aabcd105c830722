//! Edits that were damaged on their way: written as they were meant, to the byte, or refused; never anything else.
//!
//! `cargo test --test it damage -- --nocapture` prints what came of each kind of damage; `DAMAGES=all` takes every hunk of
//! this repository's history, many pairs of kinds for each, and needs some minutes (`--release`).

mod edits;
mod kinds;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use clada::edit::{self, Tier};
use clada::text::diff::LineDiff;

use self::edits::{Edit, Payload, joined};
use self::kinds::{Kind, Lost, Side};
use crate::cases;
use crate::chance::Chance;

/// How much of all that could be tried is tried.
struct Effort {
    /// Every so many-th file of the history.
    every: usize,
    /// Pairs of kinds for each edit.
    pairs: usize,
}

impl Effort {
    fn get() -> Self {
        match std::env::var("DAMAGES").is_ok_and(|all| all == "all") {
            true => Self {
                every: 1,
                pairs: 200,
            },
            false => Self {
                every: 96,
                pairs: 20,
            },
        }
    }

    fn edits(&self) -> Vec<Edit> {
        let mut edits = edits::of_cases();
        edits.extend(edits::of_history(self.every));
        edits
    }
}

/// What came of a damaged edit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Right,
    Refused,
    /// Right in all that can be known.
    RightButForLost,
    Wrong(String),
    /// The damaged search text stands in the file exactly: it is another edit.
    Another,
}

/// How often what came of a kind.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    right: usize,
    refused: usize,
    wrong: usize,
    lost: usize,
    another: usize,
}

impl Count {
    fn add(&mut self, outcome: &Outcome, lost: bool) {
        match outcome {
            Outcome::Wrong(_) => self.wrong += 1,
            Outcome::Another => self.another += 1,
            _ if lost => self.lost += 1,
            Outcome::Right | Outcome::RightButForLost => self.right += 1,
            Outcome::Refused => self.refused += 1,
        }
    }

    /// Right ones in a hundred in which nothing is lost.
    fn share(&self) -> f64 {
        let all = self.right + self.refused + self.wrong;
        100.0 * self.right as f64 / all.max(1) as f64
    }
}

/// The undamaged edits of `test-data/damage` are exact.
#[test]
fn cases() {
    cases::run("damage", |case, verdict| {
        for edit in edits::of_case(case) {
            let done = applied(&edit);
            if done != Ok((Tier::Exact, edit.wanted.clone())) {
                verdict.wrong(format!("{}: {done:?}", edit.name));
            }
        }
    });
}

#[test]
fn a_damaged_edit_is_right_or_refused() {
    let effort = Effort::get();
    let edits = effort.edits();
    let kinds = kinds::all();
    let mut jobs: Vec<(&Edit, Vec<&Kind>)> = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        jobs.extend(kinds.iter().map(|kind| (edit, vec![kind])));
        let mut chance = Chance::seeded(number as u64);
        let both: Vec<&Kind> = kinds.iter().filter(|k| k.side == Side::Both).collect();
        for _ in 0..effort.pairs {
            let mut pair = vec![*chance.one_of(&both), *chance.one_of(&both)];
            pair.sort_by_key(|kind| kind.stage);
            if pair[0].stage != pair[1].stage {
                jobs.push((edit, pair));
            }
        }
    }
    let came = at_once(&jobs, |(edit, kinds)| {
        let (damaged, lost) = damaged(edit, kinds)?;
        Some((judged(edit, &damaged, lost), lost != Lost::default()))
    });
    let mut counts: [BTreeMap<String, Count>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let mut totals = [Count::default(); 2];
    let mut wrong = String::new();
    for ((edit, kinds), came) in jobs.iter().zip(came) {
        let Some((outcome, lost)) = came else {
            continue;
        };
        let alone = kinds.len() - 1;
        totals[alone].add(&outcome, lost);
        for kind in kinds {
            let count = counts[alone].entry(named(kind)).or_default();
            count.add(&outcome, lost);
        }
        if let Outcome::Wrong(why) = outcome {
            let names: Vec<String> = kinds.iter().map(|kind| named(kind)).collect();
            let _ = writeln!(wrong, "=== {} in {}\n{why}", names.join(", "), edit.name);
        }
    }
    for (title, counts, total) in [
        ("one kind", &counts[0], totals[0]),
        ("two kinds", &counts[1], totals[1]),
    ] {
        print(title, counts, total);
    }
    let [alone, two] = totals.map(|total| total.share());
    assert!(wrong.is_empty(), "{wrong}");
    assert!(alone >= 97.0, "right in {alone:.1} % of single damages");
    assert!(two >= 90.0, "right in {two:.1} % of pairs of damages");
}

/// Text that is not in the file, or is in it twice, is not found, in no tier.
#[test]
fn another_text_is_refused() {
    let edits = Effort::get().edits();
    let edits: Vec<&Edit> = edits.iter().step_by(3).collect();
    let came = at_once(&edits, |edit| {
        let mut wrong = String::new();
        for (what, other) in others(edit) {
            if let Ok((tier, got)) = applied(&other) {
                let _ = writeln!(
                    wrong,
                    "=== {what} in {}: applied ({})\n{}",
                    edit.name,
                    tier.name(),
                    told(&other, &other.file, &got)
                );
            }
        }
        wrong
    });
    let wrong: String = came.concat();
    assert!(wrong.is_empty(), "{wrong}");
}

/// The edit with search texts that are not in the file, and damaged in each way where the file has it all twice.
fn others(edit: &Edit) -> Vec<(String, Edit)> {
    let lines = edit.search.lines();
    let file = bare(&edit.file);
    let mut found = Vec::new();
    let mut searching = |what: &str, lines: &[&str]| {
        let search = joined(lines);
        // What is left may stand there after all, with other white space.
        if !file.contains(&bare(&search)) {
            let search = Payload::block(search);
            let edit = edit.clone();
            found.push((what.to_owned(), Edit { search, ..edit }));
        }
    };
    for number in (0..lines.len()).step_by(1 + lines.len() / 5) {
        if let Some(renamed) = renamed(lines[number]) {
            let mut other = lines.clone();
            other[number] = &renamed;
            searching("a changed word", &other);
        }
        let mut other = lines.clone();
        other.insert(number, lines[number]);
        searching("a line doubled", &other);
        other.drain(number..number + 2);
        searching("a line deleted", &other);
        let mut other = lines.clone();
        other.swap(number, (number + 1) % lines.len());
        searching("two lines swapped", &other);
    }
    let twice = Edit {
        file: edit.file.repeat(2),
        ..edit.clone()
    };
    let mut chance = Chance::seeded(7);
    for kind in kinds::all().iter().filter(|kind| kind.side == Side::Both) {
        // A number says which of the two is meant.
        if let Some((damaged, _)) = kind.damage(&twice, &mut chance)
            && !kind.name.starts_with("numbers")
        {
            found.push((format!("twice there, {}", kind.name), damaged));
        }
    }
    found
}

/// The line with another word in it.
fn renamed(line: &str) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let words = line.split(|c: char| !is_letter(c));
    let word = words
        .max_by_key(|word| word.len())
        .filter(|word| word.len() > 2)?;
    let mut other = word.to_owned();
    let last = other.pop()?;
    other.push(if last == 'x' { 'y' } else { 'x' });
    Some(line.replacen(word, &other, 1))
}

/// The damaged edit, and what that lost.
fn damaged(edit: &Edit, kinds: &[&Kind]) -> Option<(Edit, Lost)> {
    let mut chance = Chance::seeded(edit.file.len() as u64);
    let mut now = edit.clone();
    let mut lost = Lost::default();
    for kind in kinds {
        let (damaged, more) = kind.damage(&now, &mut chance)?;
        now = damaged;
        lost = lost.or(more);
    }
    // The change itself is gone.
    lost.indentation |= now.search == now.replace;
    Some((now, lost))
}

fn judged(edit: &Edit, damaged: &Edit, lost: Lost) -> Outcome {
    let got = match applied(damaged) {
        Err(_) => return Outcome::Refused,
        Ok((Tier::Exact, _)) if said(damaged) != said(edit) => return Outcome::Another,
        Ok((_, got)) => got,
    };
    if got == damaged.wanted {
        Outcome::Right
    } else if is_right_but_for(edit, damaged, &got, lost) {
        Outcome::RightButForLost
    } else {
        Outcome::Wrong(told(damaged, &damaged.wanted, &got))
    }
}

/// What is looked for, in block form or inline.
fn said(edit: &Edit) -> &str {
    edit.search
        .text
        .strip_suffix('\n')
        .unwrap_or(&edit.search.text)
}

/// Whether each line is as it is wanted, or a new one and only so far another as nobody can know.
fn is_right_but_for(edit: &Edit, damaged: &Edit, got: &str, lost: Lost) -> bool {
    let known = edit.search.lines();
    let relevant = |line: &&str| !(lost.blank_lines && line.trim().is_empty());
    let wanted: Vec<&str> = damaged.wanted.lines().filter(relevant).collect();
    let got: Vec<&str> = got.lines().filter(relevant).collect();
    let indentation = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let alike = |(wanted, got): (&&str, &&str)| {
        let same_but_for_spelling = lost.spelling
            && !known.contains(wanted)
            && indentation(wanted) == indentation(got)
            && bare(wanted) == bare(got);
        wanted == got || same_but_for_spelling
    };
    wanted.len() == got.len() && wanted.iter().zip(&got).all(alike)
}

/// The text without white space, in plain typography.
fn bare(text: &str) -> String {
    let visible = text
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '\u{200B}');
    let plain = visible.map(|c| match c {
        '“' | '”' => "\"".to_owned(),
        '‘' | '’' => "'".to_owned(),
        '–' | '—' => "-".to_owned(),
        '…' => "...".to_owned(),
        c => c.to_string(),
    });
    plain.collect()
}

fn applied(edit: &Edit) -> Result<(Tier, String), String> {
    let pairs = vec![(edit.search.as_text(), edit.replace.as_text())];
    match edit::apply(edit.file.as_bytes(), &edit::Edit::Pairs(pairs)) {
        Ok(edited) => {
            let tier = edited.places[0].tier;
            Ok((tier, String::from_utf8(edited.bytes()).expect("UTF-8")))
        }
        Err(errors) => Err(format!("{errors:?}")),
    }
}

/// The payloads, and the lines in which two files differ.
fn told(edit: &Edit, wanted: &str, got: &str) -> String {
    let visible = |text: &str| -> String {
        let lines = text.split_inclusive('\n');
        lines
            .map(|line| format!("    |{}\n", line.escape_debug()))
            .collect()
    };
    let (wanted, got) = (visible(wanted), visible(got));
    let diff = LineDiff::between(&wanted, &got);
    format!(
        "search:\n{}replace:\n{}from what is wanted to what was got:\n{}",
        visible(&edit.search.text),
        visible(&edit.replace.text),
        diff
    )
}

fn named(kind: &Kind) -> String {
    match kind.side {
        Side::Both => kind.name.to_owned(),
        Side::Search => format!("{}, search text only", kind.name),
        Side::Kept => format!("{}, not in new lines", kind.name),
    }
}

fn print(title: &str, counts: &BTreeMap<String, Count>, total: Count) {
    eprintln!(
        "{title:<44} {:>6} {:>7} {:>6} {:>6} {:>8} {:>7}",
        "right", "refused", "wrong", "lost", "another", "share"
    );
    let rows = counts.iter().map(|(name, count)| (name.as_str(), count));
    for (name, count) in rows.chain([("all", &total)]) {
        let Count {
            right,
            refused,
            wrong,
            lost,
            another,
        } = count;
        eprintln!(
            "{name:<44} {right:>6} {refused:>7} {wrong:>6} {lost:>6} {another:>8} {:>5.1} %",
            count.share()
        );
    }
}

/// Does the work for each item, on every processor.
fn at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                match items.get(number) {
                    Some(item) => done.push((number, work(item))),
                    None => return done,
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.flat_map(|done| done.expect("a worker")).collect()
    });
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, done)| done).collect()
}
