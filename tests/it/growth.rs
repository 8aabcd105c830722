//! Guards against work whose time grows faster than its size: compares the time of one shape in several sizes.
//!
//! The time is that which this thread had a processor for, so that other work on the machine counts little. A bound in
//! seconds was rejected: it fails on a slow machine, and a fast one hides what it is to find.

use std::fmt::Debug;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How many times larger the next size is.
const STEP: usize = 16;

/// How many times longer the next size may take than `STEP` times the one before: linear work takes as long, quadratic
/// work sixteen times as long. Linear work was seen to take three times as long for seconds on end, on a machine whose
/// memory others use too: what is small fits into a cache of its own.
const LIMIT: u32 = 4;

/// A difference that is not told from chance.
const NOISE: Duration = Duration::from_millis(5);

/// How often, and how long at least, a pair of sizes is measured before it counts as too slow. A machine that is busy may
/// slow all work down for a while, and counts what it takes away as time of this thread.
const ROUNDS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(5);

/// Asserts that the time of work is in proportion to its size, for all shapes of input. `shapes` makes the same ones of
/// about any size; `work` is done with each, in the size given and in smaller ones.
///
/// The small sizes come first, so that work which would take minutes in full is found in seconds.
#[track_caller]
pub(crate) fn assert_linear<T: Debug>(
    size: usize,
    shapes: impl Fn(usize) -> Vec<T>,
    work: impl Fn(&T),
) {
    let [small, middle, large] = [size / STEP / STEP, size / STEP, size].map(shapes);
    let mut wrong = String::new();
    for ((small, middle), large) in small.iter().zip(&middle).zip(&large) {
        let slow = too_slow(|| work(small), || work(middle));
        let slow = slow.or_else(|| too_slow(|| work(middle), || work(large)));
        if let Some((before, after)) = slow {
            let start: String = format!("{small:?}").chars().take(100).collect();
            wrong += &format!("{before:?}, {STEP} times larger {after:?}: {start}\n");
        }
    }
    assert!(wrong.is_empty(), "more than linear:\n{wrong}");
}

/// The least times of two sizes, where the larger one takes too long.
///
/// The small work is done as often as the large one is larger, so that linear work takes the same time in both. Where
/// a busy machine takes the processor away every few milliseconds, short work is never hit and long work always is:
/// once, work of 5 milliseconds beside work of 20 looked quadratic for as long as anyone was patient.
fn too_slow(small: impl Fn(), large: impl Fn()) -> Option<(Duration, Duration)> {
    let (mut before, mut after) = (Duration::MAX, Duration::MAX);
    let start = Instant::now();
    for round in 0.. {
        if round >= ROUNDS && start.elapsed() > PATIENCE {
            break;
        }
        before = before.min(time_of(|| (0..STEP).for_each(|_| small())));
        after = after.min(time_of(&large));
        if after < before * LIMIT + NOISE {
            return None;
        }
    }
    Some((before / STEP as u32, after))
}

/// The time that this thread has a processor for while it does some work.
fn time_of(work: impl Fn()) -> Duration {
    let start = spent();
    work();
    spent() - start
}

fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a time since the thread began")
}

/// Does so many steps, which are not optimized away.
fn steps(count: usize) {
    for step in 0..count {
        black_box(step);
    }
}

#[test]
fn linear_work_passes() {
    assert_linear(2_000_000, |size| vec![size], |size| steps(*size));
}

/// A sort's logarithm is no square.
#[test]
fn sorting_passes() {
    let numbers = |size: usize| {
        let mixed = (0..size as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        vec![mixed.collect::<Vec<u64>>()]
    };
    assert_linear(100_000, numbers, |numbers| {
        let mut numbers = numbers.clone();
        numbers.sort_unstable();
        black_box(numbers);
    });
}

#[test]
#[should_panic(expected = "more than linear")]
fn quadratic_work_fails() {
    assert_linear(8_000, |size| vec![size], |size| steps(size * size));
}

/// One shape of several is enough, and linear work beside it does not hide it.
#[test]
#[should_panic(expected = "16 times larger")]
fn one_quadratic_shape_among_linear_ones_fails() {
    let shapes = |size: usize| vec![(size, 0), (size, size), (size, 0)];
    assert_linear(8_000, shapes, |(size, passes)| {
        steps(size * 100);
        steps(size * passes);
    });
}
