//! What each tier of an edit costs, in memory: on a file of 9 MB, and beside one of half the size.

use std::fmt::Write;

use clada::edit::{Edit, Tier, apply};
use clada::reply::text::Text;

use crate::table::{Pair, Row, ms, paired, time};

const WHOLE: usize = 9_000_000;

/// What is looked for, as the file has it.
const THERE: &str = "    fn total(items: &[Item]) -> u64 {
        let sum = items.iter().map(|item| item.price  * 2).sum();
        log(\"sum\", sum);
        sum
    }
";

/// One edit for each tier: the search text and the replacement, and how many times the baseline it took when the tiers
/// were first measured, where it is to stay so.
struct Sample {
    tier: Option<Tier>,
    search: String,
    replace: String,
    first: Option<f64>,
}

pub(crate) fn measure(print: &mut dyn FnMut(Row)) {
    let (whole, half) = (file(WHOLE), file(WHOLE / 2));
    for sample in samples() {
        let name = sample.tier.map_or("not found", Tier::name);
        let pairs = vec![(Text::block(&sample.search), Text::block(&sample.replace))];
        let edit = Edit::Pairs(pairs);
        let tier = apply(whole.as_bytes(), &edit)
            .ok()
            .map(|e| e.places[0].tier);
        let other = match tier == sample.tier {
            true => String::new(),
            false => format!(" (came by {})", tier.map_or("none", Tier::name)),
        };
        let edited = |file: &str| time(|| drop(apply(file.as_bytes(), &edit)));
        // All of it is read, and each line is come across.
        let lines = || time(|| memchr::memchr_iter(b'\n', whole.as_bytes()).count());
        let pair = paired(25, || edited(&whole), lines);
        let goal = sample.first.map(|first| 1.2 * first);
        print(row(
            format!("{name}, 9 MB{other}"),
            "its lines counted",
            goal,
            &pair,
        ));
        let pair = paired(15, || edited(&whole), || edited(&half));
        print(row(
            format!("{name}, 9 MB{other}"),
            "the same, 4.5 MB",
            Some(2.4),
            &pair,
        ));
    }
}

fn row(what: String, baseline: &'static str, goal: Option<f64>, pair: &Pair) -> Row {
    Row {
        what,
        ours: ms(pair.ours),
        baseline: (baseline, ms(pair.theirs)),
        ratio: pair.ratio,
        goal: goal.map(|goal| (format!("ratio {goal:.1}"), pair.ratio <= goal)),
    }
}

/// Lines of code like each other, and what is looked for in the middle of them.
fn file(size: usize) -> String {
    let mut text = String::with_capacity(size + THERE.len() + 128);
    let mut number = 0;
    let mut there = false;
    while text.len() < size {
        if text.len() > size / 2 && !there {
            there = true;
            text.push_str(THERE);
        }
        number += 1;
        let _ = writeln!(
            text,
            "        let value{number} = values.get({number}).map(|value| \"a\" == value);"
        );
    }
    text
}

fn samples() -> Vec<Sample> {
    let sample = |tier, first, damage: &dyn Fn(&str) -> String| Sample {
        tier,
        search: damage(THERE),
        replace: damage(&THERE.replace("* 2", "* 3")),
        first,
    };
    let dedented = |text: &str| -> String {
        let lines = text.lines();
        lines.map(|line| format!("{}\n", &line[4..])).collect()
    };
    let left_out = |text: &str| -> String {
        let lines: Vec<&str> = text.lines().collect();
        let price = lines[1];
        format!("{}\n        // ...\n{price}\n", lines[0]) + "        // ...\n        sum\n    }\n"
    };
    vec![
        sample(Some(Tier::Exact), Some(1.7), &str::to_owned),
        sample(Some(Tier::LineEndings), Some(23.0), &|text| {
            text.replace('\n', "  \n")
        }),
        sample(Some(Tier::Indentation), Some(50.0), &dedented),
        sample(Some(Tier::Whitespace), None, &|text| {
            text.replace("  *", " *")
        }),
        sample(Some(Tier::Typography), None, &|text| {
            text.replace("\"sum\"", "“sum”")
        }),
        sample(Some(Tier::Copying), None, &|text| {
            format!("```\n{text}```\n")
        }),
        sample(Some(Tier::Elision), None, &left_out),
        sample(None, None, &|text| text.replace("price", "cost")),
    ]
}
