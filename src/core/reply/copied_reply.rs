//! A copied text, judged by the keys of its batches and by its end: what may be done with it. Knows no notes file.

use std::collections::BTreeSet;
use std::ops::Range;

use memchr::memchr2;

use super::chat_key::{ChatKey, key_in};
use super::cml::tag::line_start;
use super::dialect::Dialect;
use super::dialects::aider;
use super::dialects::block::is_fence;
use super::dialects::diff::start_with_fence;
use super::note;
use super::task::{Batch, BatchState, Cause, Problem, Scan};
use super::teaching;

/// A text from the clipboard, by what may be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopiedReply {
    /// No batch is in it.
    Prose,
    /// It holds the examples of the instructions, and nothing else.
    Example,
    /// Something in it does not end: a batch, a block, `clada:off`, a code fence. With the key of its batches, where those that
    /// have one have the same.
    CutOff { key: Option<ChatKey>, tasks: usize },
    /// A batch in it has no key.
    Unkeyed { tasks: usize },
    /// Its batches have several keys.
    Mixed { tasks: usize },
    /// Every batch in it carries this key.
    Keyed { key: ChatKey, tasks: usize },
}

/// Judges a text that was copied, by what a scan found in it.
pub fn judge(text: &str, scan: &Scan<'_>) -> CopiedReply {
    let nothing = scan.batches.is_empty() && scan.inside.is_empty();
    if nothing || note::begins_with_results(text) {
        return CopiedReply::Prose;
    }
    if is_example(text, scan) {
        return CopiedReply::Example;
    }
    let tasks = batches(scan).map(task_count).sum();
    let keys = keys(text, scan);
    let mut known = keys.iter().flatten().copied();
    let first = known.next().filter(|_| known.next().is_none());
    let key = first.filter(|_| keys.len() == 1);
    if is_cut_off(text, scan) {
        CopiedReply::CutOff { key: first, tasks }
    } else if let Some(key) = key {
        CopiedReply::Keyed { key, tasks }
    } else if keys.contains(&None) {
        CopiedReply::Unkeyed { tasks }
    } else {
        CopiedReply::Mixed { tasks }
    }
}

/// True if a batch of a text has a key.
pub fn has_key(text: &str, scan: &Scan<'_>) -> bool {
    keys(text, scan).iter().any(Option::is_some)
}

/// All batches of a text, also those inside something that does not end.
fn batches<'s, 't>(scan: &'s Scan<'t>) -> impl Iterator<Item = &'s Batch<'t>> {
    scan.batches.iter().chain(&scan.inside)
}

/// True if every task of a text is one of the examples, and there are some.
fn is_example(text: &str, scan: &Scan<'_>) -> bool {
    let is_example = |batch: &Batch<'_>| {
        let mut tasks = batch.tasks.iter();
        !batch.tasks.is_empty()
            && tasks.all(|task| teaching::is_example(batch.dialect, &text[task.span.clone()]))
    };
    scan.inside.is_empty() && scan.batches.iter().all(is_example)
}

/// The number of tasks of a batch that are whole, as far as it was read.
fn task_count(batch: &Batch<'_>) -> usize {
    let whole = match batch.state.problem().map(|problem| &problem.cause) {
        Some(Cause::Unclosed { within, .. } | Cause::CutOff { within, .. }) => {
            within.task - usize::from(within.is_open)
        }
        _ => 0,
    };
    batch.tasks.len().max(whole)
}

/// The keys of batches, `None` among them where one has none. The first batch that is not CML has its key from the line above
/// it; so do those behind it that have no line of their own.
fn keys(text: &str, scan: &Scan<'_>) -> BTreeSet<Option<ChatKey>> {
    let mut of_others = None;
    let mut floor = 0;
    let mut keys = BTreeSet::new();
    for batch in batches(scan) {
        keys.insert(if batch.dialect == Dialect::Cml {
            batch.key.as_ref().and_then(|key| key.parse().ok())
        } else {
            let own = key_above(text, floor.min(batch.span.start), batch);
            let first = *of_others.get_or_insert(own);
            own.or(first)
        });
        floor = batch.span.end;
    }
    keys
}

/// The key in the first line above a batch that is neither blank nor a fence, and not before `floor`.
fn key_above(text: &str, floor: usize, batch: &Batch<'_>) -> Option<ChatKey> {
    let above = |block: usize| {
        let start = line_start(text.as_bytes(), block).max(floor);
        let mut lines = text[floor..start].lines().rev();
        let line = lines.find(|line| !line.trim().is_empty() && !is_fence(line))?;
        key_in(line)
    };
    let is_aider = batch.dialect == Dialect::Aider;
    // The name of the file may stand above the line.
    let inside = is_aider.then(|| above(block_start(text, &batch.span)));
    inside.flatten().or_else(|| above(batch.span.start))
}

/// The offset of the first marker's line in a block of aider, which may have the name of its file above a fence.
fn block_start(text: &str, block: &Range<usize>) -> usize {
    let mark = text[block.clone()].find(aider::MARKS[0]);
    let line = mark.map(|mark| line_start(text.as_bytes(), block.start + mark));
    line.unwrap_or_default().max(block.start)
}

/// True if something in a text does not end.
fn is_cut_off(text: &str, scan: &Scan<'_>) -> bool {
    let is_open = |batch: &Batch<'_>| {
        let mut tasks = batch.tasks.iter();
        matches!(batch.state, BatchState::Open(_))
            || batch.state.problem().is_some_and(is_unended)
            || tasks.any(|task| task.action.as_ref().is_err_and(is_unended))
    };
    scan.off.is_some()
        || !scan.inside.is_empty()
        || scan.problems.iter().any(is_unended)
        || scan.batches.iter().any(is_open)
        || has_open_fence(text, scan)
}

/// True if a problem says that something does not end.
fn is_unended(problem: &Problem) -> bool {
    match &problem.cause {
        Cause::Unclosed { .. }
        | Cause::CutOff { .. }
        | Cause::NotEnded { .. }
        | Cause::OffNeverEnds { .. } => true,
        Cause::Block(errors) => errors.iter().any(|error| error.end.is_some()),
        Cause::Several(problems) => problems.iter().any(is_unended),
        _ => false,
    }
}

/// True if a code fence does not close. Those that a task quotes are none.
fn has_open_fence(text: &str, scan: &Scan<'_>) -> bool {
    let mut open = None;
    let mut end = 0;
    for batch in &scan.batches {
        // Between blocks fences may open and close.
        let are_apart = batch.dialect.has_loose_blocks() && !batch.tasks.is_empty();
        let blocks = if are_apart { &batch.tasks[..] } else { &[] };
        let whole = (!are_apart).then_some(&batch.span);
        for span in blocks.iter().map(|task| &task.span).chain(whole) {
            let start = own_start(text, batch.dialect, span);
            follow_fences(&text[end..start.max(end)], &mut open);
            end = span.end.max(end);
        }
    }
    follow_fences(&text[end..], &mut open);
    open.is_some()
}

/// The start of the text of a batch, or of a block, in which a fence is text of its own.
fn own_start(text: &str, dialect: Dialect, span: &Range<usize>) -> usize {
    match dialect {
        Dialect::Aider => block_start(text, span),
        // It ends with its fence.
        Dialect::Diff => start_with_fence(text, span.start),
        _ => span.start,
    }
}

/// A fence that is open: its sign, and the number of times that it stands there.
#[derive(Clone, Copy)]
struct OpenFence {
    sign: char,
    length: usize,
}

/// Opens and closes fences as the lines of a text do.
fn follow_fences(text: &str, open: &mut Option<OpenFence>) {
    if memchr2(b'`', b'~', text.as_bytes()).is_none() {
        return;
    }
    for line in text.lines() {
        // It may open in an item of a list, and hold a reply there.
        let is_before = |c: char| c.is_ascii_digit() || " \t-*.)\u{feff}".contains(c);
        let fence = match open {
            Some(_) => line.trim_start(),
            None => line.trim_start_matches(is_before),
        };
        let Some(sign) = fence.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            continue;
        };
        let info = fence.trim_start_matches(sign);
        let length = fence.len() - info.len();
        match open {
            Some(of) if of.sign == sign && length >= of.length && info.trim().is_empty() => {
                *open = None;
            }
            None if length >= 3 && !(sign == '`' && info.contains(sign)) => {
                *open = Some(OpenFence { sign, length });
            }
            _ => {}
        }
    }
}
