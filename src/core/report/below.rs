//! Earlier results below the lines of newer ones in the block, with their boxes.

use std::io;

use super::earlier::Earlier;
use super::frame::OUTPUTS;
use super::once::Once;
use super::outputs::said;
use super::{Report, one_line, parts};
use crate::reply::note::{END, RESULTS};
use crate::reply::record::Offer;
use crate::report::outcome::OutputWriter;

impl Earlier {
    /// Takes the box of a line away, as what it offers is not open any more. `line` counts from 0.
    pub fn close(&mut self, line: usize) {
        let lines = self.lines.lines().enumerate();
        let lines = lines.map(|(at, text)| {
            if at == line {
                without_box(text)
            } else {
                text.to_owned()
            }
        });
        self.lines = lines.map(|line| line + "\n").collect();
    }
}

/// The last box of a line is clada's. One below a task stands first, and its label stays; behind the others stands only
/// the name of the action.
fn without_box(line: &str) -> String {
    match line.rsplit_once("- [ ] ") {
        Some((before, label)) if before.trim().is_empty() => format!("{before}- {label}"),
        Some((before, _)) => before.trim_end().to_owned(),
        None => line.to_owned(),
    }
}

impl Report {
    /// Returns its block with earlier results below its own lines, newest first.
    pub fn block_above(&self, status: Option<&str>, earlier: &[Earlier]) -> String {
        let status = status.map(|status| one_line(status) + "\n");
        let status = status.unwrap_or_default();
        let older = earlier.iter().map(|it| it.title() + &it.lines);
        let older: String = older.collect();
        format!("{status}{RESULTS}\n{}{older}{END}\n", self.lines())
    }

    /// The lines of that block that can be ticked, as [`Report::offer_lines`] counts them; those of earlier results count
    /// from 0 there.
    pub fn offer_lines_above<'e>(
        &self,
        earlier: impl IntoIterator<Item = (&'e Earlier, &'e [(usize, Offer)])>,
    ) -> Vec<(usize, Offer)> {
        let mut lines = self.offer_lines();
        let mut next = 1 + self.lines().lines().count();
        for (earlier, offers) in earlier {
            let below = offers.iter().map(|(at, offer)| (at + 1, offer));
            lines.extend(below.map(|(at, offer)| (next + at, offer.clone())));
            // The title is a line too.
            next += 1 + earlier.lines.lines().count();
        }
        lines
    }

    /// Writes all that its own tasks have to show.
    ///
    /// # Errors
    /// Where it cannot be written, or a command's output not be read again.
    pub fn write_parts(&mut self, to: &mut dyn OutputWriter) -> io::Result<()> {
        let mut once = Once::default();
        for mut part in parts(self.outcomes.iter_mut().collect(), &mut self.hooks) {
            part.write(&mut once, &self.fence, to)?;
        }
        for text in &self.asked {
            write!(to, "\n[asked] {}", said(text, &self.fence))?;
        }
        Ok(())
    }
}

/// The line that begins the outputs, with the blank one above it.
pub fn outputs_line() -> String {
    format!("\n{OUTPUTS}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Offered;

    fn earlier(time: &str, lines: &str) -> Earlier {
        Earlier {
            time: time.to_owned(),
            lines: lines.to_owned(),
            outputs: String::new(),
        }
    }

    fn report() -> Report {
        let offered = Offered {
            why: "⚠ this".to_owned(),
            action: "run again",
            offer: Offer::of(3, vec![0]),
        };
        Report {
            offers: vec![offered],
            notices: vec!["a notice".to_owned()],
            ..Report::default()
        }
    }

    #[test]
    fn earlier_results_stand_below_with_their_times() {
        let old = [
            earlier("10:32:40", "1 ✅ exec a\n"),
            earlier("10:31:00", "b\nc - [ ] run it\n"),
        ];
        let block = report().block_above(Some("status"), &old);
        assert_eq!(
            block,
            "status\n=== CLADA RESULTS ===\n⚠ this - [ ] run again\na notice\n--- 10:32:40 ---\n1 ✅ exec a\n\
             --- 10:31:00 ---\nb\nc - [ ] run it\n=== END ===\n"
        );
        let offer = Offer::of(1, vec![1]);
        let offers = [(1, offer.clone())];
        let both = old.iter().zip([&[][..], &offers[..]]);
        let lines = report().offer_lines_above(both);
        assert_eq!(lines, [(1, Offer::of(3, vec![0])), (7, offer)]);
        assert_eq!(block.lines().nth(1 + 7), Some("c - [ ] run it"));
        assert_eq!(report().block_above(None, &[]), report().block(None));
    }

    #[test]
    fn a_box_goes_and_what_it_stood_at_stays() {
        let mut old = earlier(
            "",
            "1 ⏸ exec - [ ] x - [ ] run it\n     - [ ] line 4\nplain\n",
        );
        for line in 0..3 {
            old.close(line);
        }
        assert_eq!(old.lines, "1 ⏸ exec - [ ] x\n     - line 4\nplain\n");
    }
}
