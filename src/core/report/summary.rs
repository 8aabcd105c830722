//! A report in a few words, for the desktop's notification and the log.

use super::{Report, brief, clip, clipped, one_line, outcome_line};
use crate::report::outcome::{Outcome, Status};

/// The most lines about failures.
const LINES: usize = 3;
/// The longest that each may be, in characters.
const LONGEST: usize = 160;

impl Report {
    /// Counts the tasks by their status, as `3 done, 1 failed`.
    pub fn counts(&self) -> String {
        let told = [
            (&[Status::Done][..], "done"),
            (&[Status::Failed], "failed"),
            (&[Status::Interrupted], "interrupted"),
            (&[Status::NotRun], "not run"),
            (&[Status::Skipped], "skipped"),
            (&[Status::Waits, Status::Asks], "waiting for approval"),
        ];
        let mut counts = Vec::new();
        for (these, word) in told {
            let outcomes = self.outcomes.iter();
            match outcomes.filter(|it| these.contains(&it.status)).count() {
                0 => {}
                many => counts.push(format!("{many} {word}")),
            }
        }
        let mistakes = self.problems.iter();
        match mistakes.filter(|it| it.error_type != "warning").count() {
            0 => {}
            1 => counts.push("1 mistake in the reply".to_owned()),
            many => counts.push(format!("{many} mistakes in the reply")),
        }
        let offers = self.offers.len() + self.open.len();
        match (counts.is_empty(), offers == 0) {
            (false, _) => counts.join(", "),
            (true, false) => "something is waiting for your approval".to_owned(),
            (true, true) => "something to read".to_owned(),
        }
    }

    /// The first lines of what did not go well, as the results have them.
    pub fn troubles(&self) -> String {
        let outcomes = self.outcomes.iter();
        let bad = outcomes.filter(|outcome| !outcome.status.is_good());
        let problems = self.problems.iter().map(|it| clipped(&it.message));
        let mut lines: Vec<String> = bad.map(trouble).chain(problems).collect();
        let more = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        for line in &mut lines {
            *line = one_line(&clip(line, LONGEST));
        }
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("\n")
    }
}

/// Returns the line about a task that is not done. A box in it could not be ticked where it is read.
fn trouble(outcome: &Outcome) -> String {
    if outcome.status == Status::Asks {
        let target = brief(&outcome.target);
        return format!("{} {target} waits for you in the notes", outcome.command);
    }
    outcome_line(outcome)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::reply::record::Offer;
    use crate::report::outcome::Outcome;
    use crate::report::{Offered, ParseError};

    fn outcome(number: usize, status: Status, message: &str) -> Outcome {
        Outcome {
            number,
            command: "edit".to_owned(),
            target: format!("src/{number}.rs"),
            status,
            message: (!message.is_empty()).then(|| message.to_owned()),
            ..Outcome::default()
        }
    }

    #[test]
    fn a_report_is_told_in_a_few_words() {
        let mut report = Report::default();
        assert_eq!(report.counts(), "something to read");
        report.outcomes = vec![
            outcome(1, Status::Done, ""),
            outcome(2, Status::Done, ""),
            outcome(3, Status::Failed, "no such text\u{202e}"),
            outcome(4, Status::Asks, ""),
            outcome(5, Status::Waits, ""),
        ];
        assert_eq!(report.counts(), "2 done, 1 failed, 2 waiting for approval");
        assert_eq!(
            report.troubles(),
            "3 ❌ edit src/3.rs - no such text\\u{202e}\nedit src/4.rs waits for you in the notes\n5 ⏸ edit src/5.rs"
        );
    }

    #[test]
    fn mistakes_and_offers_are_told_too() {
        let mistake = || ParseError {
            block_id: "unknown".to_owned(),
            action: None,
            error_type: "syntax",
            message: "broken".to_owned(),
            end: None,
            block_start_line: 1,
            content: None,
        };
        let mut report = Report {
            problems: vec![mistake()],
            ..Report::default()
        };
        assert_eq!(report.counts(), "1 mistake in the reply");
        report.problems.push(mistake());
        assert_eq!(report.counts(), "2 mistakes in the reply");
        report = Report {
            offers: vec![Offered {
                why: "⏸ 2 tasks".to_owned(),
                action: "run them",
                offer: Offer::of(1, vec![0]),
            }],
            ..Report::default()
        };
        assert_eq!(report.counts(), "something is waiting for your approval");
    }

    #[test]
    fn a_summary_stays_short() {
        let long = "ä".repeat(1000);
        let report = Report {
            outcomes: (1..=9).map(|n| outcome(n, Status::Failed, &long)).collect(),
            ..Report::default()
        };
        let troubles = report.troubles();
        let lines: Vec<&str> = troubles.lines().collect();
        assert_eq!(lines.len(), LINES + 1);
        assert_eq!(lines[LINES], "and 6 more");
        assert!(lines.iter().all(|line| line.chars().count() <= LONGEST + 1));
    }
}
