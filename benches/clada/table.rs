//! Rounds, medians, and the table they are printed in.

use std::time::{Duration, Instant};

/// One figure.
pub(crate) struct Row {
    /// What was measured, behind the name of its group.
    pub(crate) what: String,
    pub(crate) ours: String,
    /// The baseline's name and value.
    pub(crate) baseline: (&'static str, String),
    /// How many times the baseline ours is; less is better.
    pub(crate) ratio: f64,
    /// The goal in words, and whether it is met; `None` where there is none to meet.
    pub(crate) goal: Option<(String, bool)>,
}

/// Prints the line above the rows.
pub(crate) fn head() {
    line("figure", "clada", "baseline", "", "ratio", "goal");
    println!("{}", "-".repeat(137));
}

impl Row {
    pub(crate) fn print(&self, group: &str) {
        let goal = match &self.goal {
            None => "-".to_owned(),
            Some((goal, true)) => format!("{goal}: met"),
            Some((goal, false)) => format!("{goal}: NOT MET"),
        };
        let (name, value) = &self.baseline;
        let ratio = match self.ratio.is_finite() {
            true => format!("{:.2}", self.ratio),
            false => "-".to_owned(),
        };
        let figure = [group, &self.what].join(" ");
        line(figure.trim(), &self.ours, name, value, &ratio, &goal);
    }
}

fn line(figure: &str, ours: &str, baseline: &str, value: &str, ratio: &str, goal: &str) {
    println!("{figure:<48} {ours:>11}  {baseline:<32} {value:>11} {ratio:>6}  {goal}");
}

/// Times of two things that were measured in turn.
pub(crate) struct Pair {
    pub(crate) ours: Duration,
    pub(crate) theirs: Duration,
    /// The median of the ratios of neighbouring rounds.
    pub(crate) ratio: f64,
}

/// Measures two things in turn, so often.
pub(crate) fn paired(
    rounds: usize,
    mut ours: impl FnMut() -> Duration,
    mut theirs: impl FnMut() -> Duration,
) -> Pair {
    // The first round of each reads files and code into memory.
    ours();
    theirs();
    let times: Vec<(Duration, Duration)> = (0..rounds).map(|_| (ours(), theirs())).collect();
    let ratio = |(ours, theirs): &(Duration, Duration)| ours.as_secs_f64() / theirs.as_secs_f64();
    Pair {
        ours: median(times.iter().map(|times| times.0).collect(), Duration::cmp),
        theirs: median(times.iter().map(|times| times.1).collect(), Duration::cmp),
        ratio: median(times.iter().map(ratio).collect(), f64::total_cmp),
    }
}

fn median<T: Copy>(mut values: Vec<T>, order: impl Fn(&T, &T) -> std::cmp::Ordering) -> T {
    values.sort_by(order);
    values[values.len() / 2]
}

pub(crate) fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let clock = Instant::now();
    let made = std::hint::black_box(work());
    let took = clock.elapsed();
    // What is given back is not part of the work.
    drop(made);
    took
}

/// A time in milliseconds.
pub(crate) fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Bytes in a time, in 10^9 bytes per second.
pub(crate) fn speed(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

pub(crate) fn gbs(bytes: usize, time: Duration) -> String {
    format!("{:.2} GB/s", speed(bytes, time))
}
