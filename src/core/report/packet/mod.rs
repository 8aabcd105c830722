//! The packet: one text for the clipboard with the results that the LLM needs next, no longer than the settings allow.

use std::io;

use super::earlier::{Earlier, ShownFiles};
use super::excerpt::{Excerpt, PacketContext, kilobytes};
use super::frame::CHANGED;
use super::once::Once;
use super::outputs::{PART, parts};
use super::{Report, outputs_line};
use crate::reply::note::{END, RESULTS};
use crate::report::outcome::{Outcome, Status};
use crate::text::size::grouped;

/// A smaller packet is pasted without a second thought.
const LARGE: usize = 20_000;
/// About how many bytes of it a model counts as one.
const TOKEN: usize = 4;
/// Of what would get less room than this, nothing is shown.
const LEAST: usize = 500;

/// The text for the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub text: String,
    /// The newest outputs in it, without the lines around them and without those of older results.
    pub outputs: String,
}

impl Report {
    /// Makes the packet, of so many bytes at most: the results, newest first, then what failed tasks have to show, then the
    /// others, then the outputs of older results. What has changed since the chat saw it stands between results and outputs. No part is longer than 50 KB, and those that need more than their
    /// share of the room are cut. `whole` names the file that holds all of it.
    ///
    /// Nothing is in it twice. No escape sequences are in it, and of a line of a command's output that a carriage return
    /// begins anew only its last state, as a terminal would show it. What looks like a line of clada's in an output is
    /// indented.
    ///
    /// # Errors
    /// Where a command's output cannot be read again.
    pub fn packet(&mut self, earlier: &[Earlier], limit: usize, whole: &str) -> io::Result<Packet> {
        let begin = outputs_line();
        let end = format!("{END}\n");
        let room = limit.saturating_sub(begin.len() + end.len());
        let mut text = results(&self.lines(), earlier, room);
        let changed = self.changed();
        if changed.len() <= room.saturating_sub(text.len()) / 2 {
            text += &changed;
        } else {
            text += &format!("\n{CHANGED}\ntoo much to show here: all of it is in {whole}\n");
        }
        let room = room.saturating_sub(text.len());
        let context = PacketContext {
            fence: &self.fence,
            whole,
        };
        // What waits for the user is not the chat's business, which wrote it.
        let outcomes = self.outcomes.iter_mut();
        let outcomes = outcomes.filter(|outcome| outcome.status != Status::Asks);
        let mut order: Vec<&mut Outcome> = outcomes.collect();
        order.sort_by_key(|outcome| outcome.status.is_good());
        let hooks = self.hooks.iter_mut().filter(|hook| hook.failed);
        let (mut once, mut files) = (Once::default(), ShownFiles::default());
        let mut fitting = Fitting::new(room, context);
        for mut part in parts(order, hooks) {
            // What cannot be shown need not be read.
            let excerpts = if fitting.is_full() {
                Vec::new()
            } else {
                part.excerpts(&mut once, context)?
            };
            files.take(&excerpts);
            fitting.add(part.title(), excerpts);
        }
        let newest = fitting.parts.len();
        for earlier in earlier {
            let outputs = files.without_those(&earlier.outputs);
            if !outputs.trim().is_empty() {
                let title = format!("\n{}", earlier.title());
                fitting.add(title, vec![Excerpt::earlier(&outputs, context)]);
            }
        }
        let (outputs, older) = fitting.cut(newest);
        text += &[begin, outputs.clone(), older, end].concat();
        Ok(Packet { text, outputs })
    }
}

/// The size of a packet, as it stands behind the time at which it was copied; nothing where it is small.
pub fn packet_size(packet: &str) -> String {
    let size = packet.len();
    if size <= LARGE {
        return String::new();
    }
    let thousands = (size / TOKEN + 500) / 1000 * 1000;
    format!(
        " ({}, ≈ {} tokens)",
        kilobytes(size as u64),
        grouped(thousands as u64)
    )
}

/// The results block of the newest results and those before them. Where there is no room for all of them, the first lines
/// are in it; those of older results get half of the room at most, as what the newest have to show comes first.
fn results(lines: &str, earlier: &[Earlier], room: usize) -> String {
    let room = room.saturating_sub(RESULTS.len() + END.len() + 2);
    let newest = fitting(lines.lines().map(|line| format!("{line}\n")), room);
    let older = earlier.iter().flat_map(|earlier| {
        let lines = earlier.lines.lines().map(|line| format!("{line}\n"));
        std::iter::once(earlier.title()).chain(lines)
    });
    let older = fitting(older, (room / 2).saturating_sub(newest.len()));
    format!("{RESULTS}\n{newest}{older}{END}\n")
}

/// The first of these lines that fit into so much room, and a line that counts the others.
fn fitting(lines: impl Iterator<Item = String>, room: usize) -> String {
    let lines: Vec<String> = lines.collect();
    if lines.iter().map(String::len).sum::<usize>() <= room {
        return lines.concat();
    }
    let more = |count: usize| format!("and {} more\n", grouped(count as u64));
    let all = more(lines.len());
    let mut left = RoomLeft::of(room, &all);
    let kept = lines.iter().take_while(|line| left.takes(line.len()));
    let kept = kept.count();
    match lines.len() - kept {
        _ if all.len() > room => String::new(),
        left_out => lines[..kept].concat() + &more(left_out),
    }
}

/// The room that is left for the first things of a list: nothing fits behind one that does not. `None`: something did not.
struct RoomLeft(Option<usize>);

impl RoomLeft {
    /// So much room, but for the line that counts what does not fit.
    fn of(room: usize, more: &str) -> Self {
        Self(room.checked_sub(more.len()))
    }

    /// Takes so much of it, and tells if that fits.
    fn takes(&mut self, size: usize) -> bool {
        self.0 = self.0.and_then(|left| left.checked_sub(size));
        self.0.is_some()
    }
}

/// The parts that fit, which are the first ones.
struct Fitting<'a> {
    context: PacketContext<'a>,
    room: usize,
    /// The part of it that is not promised to those which are in.
    left: RoomLeft,
    parts: Vec<(String, Vec<Excerpt>)>,
    left_out: usize,
}

impl<'a> Fitting<'a> {
    fn new(room: usize, context: PacketContext<'a>) -> Self {
        Self {
            context,
            room,
            left: RoomLeft::of(room, &more(usize::MAX, context)),
            parts: Vec::new(),
            left_out: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.left_out > 0
    }

    /// Takes a part if it fits, and every one before it.
    fn add(&mut self, title: String, excerpts: Vec<Excerpt>) {
        if self.left.takes(need(&title, &excerpts).min(LEAST)) {
            self.parts.push((title, excerpts));
        } else {
            self.left_out += 1;
        }
    }

    /// The text of so many parts, and of those behind them.
    fn cut(self, first: usize) -> (String, String) {
        let more = match self.left_out {
            0 => String::new(),
            count => more(count, self.context),
        };
        // There may be no room even for that.
        let more = Some(more).filter(|more| more.len() <= self.room);
        let more = more.unwrap_or_default();
        let needs = self
            .parts
            .iter()
            .map(|(title, excerpts)| need(title, excerpts));
        let needs: Vec<usize> = needs.map(|need| need.min(PART)).collect();
        let shares = share(&needs, self.room.saturating_sub(more.len()));
        let parts = self.parts.iter().zip(shares);
        let parts = parts.map(|((title, excerpts), room)| cut(title, excerpts, room, self.context));
        let parts: Vec<String> = parts.collect();
        let (first, behind) = parts.split_at(first);
        if more.is_empty() || behind.is_empty() {
            (first.concat() + &more, behind.concat())
        } else {
            (first.concat(), behind.concat() + &more)
        }
    }
}

/// The line that stands for parts that do not fit.
fn more(count: usize, context: PacketContext<'_>) -> String {
    let whole = context.whole;
    let what = match count {
        1 => "1 more task are".to_owned(),
        count => format!("{} more tasks are", grouped(count as u64)),
    };
    format!("\n… the outputs of {what} only in {whole}: run fewer tasks with long output …\n")
}

/// Returns the room that a part could use.
fn need(title: &str, excerpts: &[Excerpt]) -> usize {
    title.len() + excerpts.iter().map(Excerpt::need).sum::<usize>()
}

/// A part in so much room.
fn cut(title: &str, excerpts: &[Excerpt], room: usize, context: PacketContext<'_>) -> String {
    let Some(room) = room.checked_sub(title.len()) else {
        return String::new();
    };
    let more = |count: usize| {
        format!(
            "… {} more texts left out here: ask for less at once …\n",
            grouped(count as u64)
        )
    };
    let needs: Vec<usize> = excerpts.iter().map(Excerpt::need).collect();
    let mut left = RoomLeft::of(room, &more(excerpts.len()));
    let fits = |need: &&usize| left.takes((**need).min(LEAST));
    // One alone is cut as far as it can be.
    let count = if excerpts.len() == 1 || needs.iter().sum::<usize>() <= room {
        needs.len()
    } else {
        needs.iter().take_while(fits).count()
    };
    let more = match excerpts.len() - count {
        0 => String::new(),
        left_out => more(left_out),
    };
    let shares = share(&needs[..count], room.saturating_sub(more.len()));
    let texts = excerpts
        .iter()
        .zip(shares)
        .map(|(excerpt, room)| excerpt.cut(room, context));
    let text = texts.collect::<String>() + &more;
    if text.len() <= room {
        format!("{title}{text}")
    } else {
        title.to_owned()
    }
}

/// Shares out room: those that need less than an equal share give the rest of it to the others.
fn share(needs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|at| needs[*at]);
    let mut shares = vec![0; needs.len()];
    let mut left = room;
    for (taken, at) in order.into_iter().enumerate() {
        shares[at] = needs[at].min(left / (needs.len() - taken));
        left -= shares[at];
    }
    shares
}

#[cfg(test)]
mod tests;
