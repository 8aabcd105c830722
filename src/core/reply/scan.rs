//! Finds the batches of all dialects in a text, in one pass over it, so that what is quoted inside a batch is never taken
//! for another. What stands in a batch is the business of `cml`, `nesl` and the other dialects.
//!
//! A batch of CML opens at a `<tasks>` or `<task>` that is first on its line (or directly follows another tag) and is itself
//! followed by nothing or another tag on that line. Between `<!-- clada:off -->` and `<!-- clada:on -->` nothing is
//! looked at; a word in both (`clada:off k3v9`) pairs them.
//!
//! Where a batch does not end, or an `off`, nobody can tell from the text alone whether what stands behind that belongs to
//! it. It is read all the same, and kept apart ([`Scan::inside`]).
//!
//! Everything else is prose and passes at nearly the speed of `memchr`; line numbers are not counted here for that reason.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use memchr::memmem;

use super::dialect::{Dialect, Dialects};
use super::task::{Batch, BatchState, Cause, Problem, Scan};
use crate::reply::cml;
use crate::reply::cml::tag::{
    ElementName, Tag, TagKind, follows, line_start, next_line, opens, rest_is_blank, skip_blanks,
    starts_line,
};
use crate::reply::dialects::block::is_fence;
use crate::reply::dialects::{ParsedBlock, aider, codex, diff, nesl, replacer};

/// Reads a text in all dialects. Never fails: what cannot be read is a problem of a batch, a task or the text.
pub fn scan(text: &str) -> Scan<'_> {
    scan_for(text, Dialects::ALL)
}

/// The most batches that may be looked into that do not end: each look may cost the text's length.
const OPEN: usize = 32;

/// Reads a text in some dialects; text in others is prose.
pub fn scan_for(text: &str, dialects: Dialects) -> Scan<'_> {
    let mut pass = Pass {
        text,
        cml: cml::Reader::new(text),
        places: Places::new(text, dialects),
        found: Scan::default(),
        behind: None,
        unsure: None,
        stray: StrayTags::default(),
        last_tag_end: usize::MAX,
        floor: 0,
    };
    let mut at = 0;
    while let Some(next) = pass.places.next(at) {
        let Some(resume) = pass.read(next) else {
            break;
        };
        at = resume;
    }
    pass.finish()
}

/// One way through a text.
struct Pass<'t> {
    text: &'t str,
    cml: cml::Reader<'t>,
    places: Places<'t>,
    found: Scan<'t>,
    /// The batches behind something that does not end, once there is such.
    behind: Option<BehindOpen<'t>>,
    /// The offset of the first batch that has an element whose end may still come.
    unsure: Option<usize>,
    stray: StrayTags,
    last_tag_end: usize,
    /// The offset behind the last batch; no other begins before it.
    floor: usize,
}

/// The batches behind the beginning of something that does not end.
#[derive(Default)]
struct BehindOpen<'t> {
    found: Scan<'t>,
    /// The number of things that do not end.
    opened: usize,
    /// A `<task>` by itself is one of that batch's own, not a batch.
    has_own_tasks: bool,
    /// The offset and the word of a `clada:off` that does not end.
    off: Option<(usize, &'t str)>,
}

impl<'t> Pass<'t> {
    /// Reads from an offset. Returns the offset to go on at, unless enough was read.
    fn read(&mut self, at: usize) -> Option<usize> {
        let (text, bytes) = (self.text, self.text.as_bytes());
        if let Some(dialect) = self.places.mark(at)
            && let Some(other) = read_other(text, at, dialect, self.floor)
        {
            return self.other(at, other);
        }
        let is_tag = matches!(bytes[at], b'<' | b'&');
        let is_for_all = text[at..].starts_with("<!--");
        if !is_tag || !self.places.has_cml && !is_for_all || !follows(bytes, at, self.last_tag_end)
        {
            return Some(at + 1);
        }
        if bytes[at] == b'&' {
            if self.behind.is_none() && self.stray.begins_escaped(text, at) {
                let cause = Cause::EscapedBatch;
                self.found.problems.push(Problem { at, cause });
            }
            return Some(at + 1);
        }
        if let Some(off) = Switch::at(text, at, "off") {
            return self.off(&off);
        }
        let Some(tag) = Tag::at(text, at) else {
            return Some(at + 1);
        };
        match tag.name {
            Some(ElementName::Tasks | ElementName::Task)
                if tag.kind == TagKind::Open && opens(text, &tag) =>
            {
                self.cml(&tag)
            }
            Some(name) if tag.alone(text) => {
                if self.behind.is_none() {
                    self.stray.add(name, &tag);
                }
                Some(tag.end)
            }
            _ => Some(tag.end),
        }
    }

    fn cml(&mut self, tag: &Tag<'t>) -> Option<usize> {
        let is_lone = tag.name == Some(ElementName::Task);
        if is_lone && self.behind.as_ref().is_some_and(|it| it.has_own_tasks) {
            return Some(tag.end);
        }
        let batch = self.cml.read(tag);
        if self.cml.is_unsure() {
            self.unsure.get_or_insert(batch.span.start);
        }
        let resume = batch.span.end;
        (self.floor, self.last_tag_end) = (resume, resume);
        let open = match &batch.state {
            BatchState::Open(problem) => Some(matches!(problem.cause, Cause::CutOff { .. })),
            _ => None,
        };
        self.found().batches.push(batch);
        match (open, &mut self.behind) {
            (Some(is_cut_off), _) => self.enter(is_cut_off)?,
            (None, Some(inside)) => inside.has_own_tasks = false,
            (None, None) => {}
        }
        Some(resume)
    }

    /// A batch of another dialect, whose mark is at an offset.
    fn other(&mut self, mark: usize, other: ParsedBlock<'t>) -> Option<usize> {
        // A header in prose ends at the next; all else that does not end reads to the end of the text, or near it.
        let swallows = other.batch.as_ref().is_some_and(|batch| {
            let is_open = matches!(batch.state, BatchState::Open(_));
            is_open && (other.resume == self.text.len() || batch.dialect == Dialect::Diff)
        });
        // What is wrong behind something that does not end is not told.
        let text = self.text;
        let found = self.found();
        found.problems.extend(other.problems);
        found.add(text, other.batch);
        self.floor = other.resume;
        if !swallows {
            return Some(other.resume.max(mark + 1));
        }
        self.enter(false)?;
        self.floor = next_line(self.text.as_bytes(), mark);
        Some(self.floor)
    }

    /// Notes that the text from here on is behind something that does not end; nothing where enough was looked into.
    fn enter(&mut self, has_own_tasks: bool) -> Option<()> {
        let behind = self.behind.get_or_insert_default();
        behind.has_own_tasks = has_own_tasks;
        behind.opened += 1;
        (behind.opened < OPEN).then_some(())
    }

    /// Returns the offset to go on at behind a `clada:off`. In something that does not end it is a text of that, if it does
    /// not end itself.
    fn off(&mut self, off: &Switch<'t>) -> Option<usize> {
        if let Some(end) = off.end(self.text) {
            self.floor = end;
            return Some(end);
        }
        let fresh = || BehindOpen {
            off: Some((off.at, off.word)),
            ..BehindOpen::default()
        };
        let behind = self.behind.get_or_insert_with(fresh);
        behind.opened += 1;
        self.floor = off.next_line;
        (behind.opened < OPEN).then_some(self.floor)
    }

    fn found(&mut self) -> &mut Scan<'t> {
        match &mut self.behind {
            Some(behind) => &mut behind.found,
            None => &mut self.found,
        }
    }

    fn finish(self) -> Scan<'t> {
        let Self { mut found, .. } = self;
        found.problems.extend(self.stray.hint());
        if let Some(behind) = self.behind {
            found.inside = behind.found.batches;
            if let Some((at, word)) = behind.off {
                found.off = Some(at);
                if !found.inside.is_empty() {
                    let word = word.to_owned();
                    let cause = Cause::OffNeverEnds { word };
                    found.problems.push(Problem { at, cause });
                }
            }
        }
        for batch in &mut found.inside {
            batch.is_inside = true;
        }
        found.doubt(self.unsure);
        found.problems.sort_by_key(|problem| problem.at);
        found
    }
}

/// The text of a batch that gives this batch when it is read by itself: with the indentation of its first line, the fence
/// around a diff, and a line end, without which more of its last line could be still to come.
pub fn alone(text: &str, batch: &Batch<'_>) -> String {
    let span = &batch.span;
    let line = line_start(text.as_bytes(), span.start);
    let is_indented = text[line..span.start].chars().all(char::is_whitespace);
    let mut start = if is_indented { line } else { span.start };
    if batch.dialect == Dialect::Diff {
        start = diff::start_with_fence(text, start);
    }
    let mut alone = text[start..span.end].to_owned();
    if !alone.ends_with('\n') {
        alone.push('\n');
    }
    alone
}

/// A batch as [`alone`] gives it, without the indentation of its first line: a page copies the same reply with it and without.
pub fn dedented(alone: &str) -> String {
    let indent = &alone[..alone.len() - alone.trim_start().len()];
    let lines = alone.split_inclusive('\n');
    let lines = lines.map(|line| line.strip_prefix(indent).unwrap_or(line));
    lines.collect()
}

/// The text of the whole tasks of a batch that was cut off, as a batch of their own.
pub fn part_alone(text: &str, batch: &Batch<'_>) -> Option<String> {
    let problem = batch.state.problem()?;
    let Cause::CutOff {
        whole: Some(whole), ..
    } = &problem.cause
    else {
        return None;
    };
    let start = line_start(text.as_bytes(), batch.span.start);
    let indent = &text[start..batch.span.start];
    let indent = indent.trim_start_matches('\u{feff}');
    let tasks = &text[batch.span.start..whole.end];
    Some(format!("{indent}{tasks}\n{indent}</tasks>\n"))
}

/// Reads what begins with a mark, if it is a block of that dialect.
fn read_other<'t>(
    text: &'t str,
    mark: usize,
    dialect: Dialect,
    floor: usize,
) -> Option<ParsedBlock<'t>> {
    match dialect {
        Dialect::Cml => None,
        Dialect::Sham | Dialect::Nesl => nesl::read(text, mark),
        Dialect::Replacer => replacer::read(text, mark, floor),
        Dialect::Aider => aider::read(text, mark, floor),
        Dialect::Codex => codex::read(text, mark, floor),
        Dialect::Diff => diff::read(text, mark, floor),
    }
}

impl<'t> Scan<'t> {
    /// Adds a batch, or its blocks to the batch before it: blocks with nothing between them but blank lines and fences are
    /// one batch.
    fn add(&mut self, text: &str, batch: Option<Batch<'t>>) {
        let Some(batch) = batch else { return };
        let is_whole = |batch: &Batch<'_>| batch.state == BatchState::Complete;
        if let Some(last) = self.batches.last_mut()
            && last.dialect == batch.dialect
            && batch.dialect.has_loose_blocks()
            && is_whole(last)
            && is_whole(&batch)
            && is_gap(&text[last.span.end..batch.span.start])
        {
            last.span.end = batch.span.end;
            last.tasks.extend(batch.tasks);
            return;
        }
        self.batches.push(batch);
    }

    /// Batches behind a block that never ends, or behind the `unsure` batch, may turn out to be a part of it, if its end is
    /// still to come.
    fn doubt(&mut self, unsure: Option<usize>) {
        let is_open = |batch: &&Batch<'_>| {
            batch.dialect != Dialect::Cml && matches!(batch.state, BatchState::Open(_))
        };
        let open = self.batches.iter().find(is_open);
        let Some(from) = open
            .map(|batch| batch.span.start)
            .into_iter()
            .chain(unsure)
            .min()
        else {
            return;
        };
        let batches = self.batches.iter_mut();
        for batch in batches.filter(|batch| batch.span.start > from) {
            if batch.state == BatchState::Complete {
                batch.state = BatchState::Provisional;
            }
        }
    }
}

/// True if there are only blank lines and fences in a text.
fn is_gap(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || is_fence(line))
}

/// The places where a batch may begin, in the order of the text.
struct Places<'t> {
    text: &'t [u8],
    has_cml: bool,
    marks: Vec<(Dialect, &'static [u8])>,
}

/// The only mark that begins with a letter, and the part of it that is seldom anything else: prose is full of its first letter.
const WORDED: (&[u8], &str) = (b"diff ", "--git ");

/// The signs that are looked for, all at once. So few and so short, they are found by vector instructions, though only with this
/// kind of match; one search for each took twice as long.
static SIGNS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(["<", "&", "#", "*", "+", WORDED.1])
        .expect("a few short patterns")
});

/// The number of bytes that are looked at one by one before it is worth to begin a search.
const NEAR: usize = 24;

impl<'t> Places<'t> {
    fn new(text: &'t str, dialects: Dialects) -> Self {
        let marks = [
            (Dialect::Sham, nesl::SHAM_MARKS),
            (Dialect::Nesl, nesl::NESL_MARKS),
            (Dialect::Replacer, replacer::MARKS),
            (Dialect::Aider, aider::MARKS),
            (Dialect::Codex, codex::MARKS),
            (Dialect::Diff, diff::MARKS),
        ];
        let wanted = marks
            .into_iter()
            .filter(|(dialect, _)| dialects.has(*dialect));
        let marks = wanted
            .flat_map(|(dialect, marks)| marks.iter().map(move |mark| (dialect, mark.as_bytes())));
        Self {
            text: text.as_bytes(),
            has_cml: dialects.has(Dialect::Cml),
            marks: marks.collect(),
        }
    }

    /// The next place at an offset or behind it.
    fn next(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            let rest = self.text.get(at..)?;
            let near = &rest[..rest.len().min(NEAR)];
            let is_sign = |byte: &u8| matches!(byte, b'<' | b'&' | b'#' | b'*' | b'+' | b'-');
            at += match near.iter().position(is_sign) {
                Some(sign) => sign,
                None => near.len() + SIGNS.find(&rest[near.len()..])?.start(),
            };
            if self.text[at] != b'-' {
                return Some(at);
            }
            if self.text[at..].starts_with(WORDED.1.as_bytes())
                && self.text[from..at].ends_with(WORDED.0)
            {
                return Some(at - WORDED.0.len());
            }
            at += 1;
        }
    }

    /// The dialect of the mark at a place.
    fn mark(&self, at: usize) -> Option<Dialect> {
        let rest = &self.text[at..];
        let second = rest.get(1)?;
        let mut marks = self.marks.iter();
        let found = marks
            .find(|(_, mark)| (mark[0], mark[1]) == (rest[0], *second) && rest.starts_with(mark));
        found.map(|(dialect, _)| *dialect)
    }
}

/// The tags outside any batch that are a sign of damage in copying: escaped ones, and those of elements alone on their
/// lines, whose `<task>` was lost.
#[derive(Default)]
struct StrayTags {
    first: Option<(usize, ElementName, bool)>,
    count: usize,
    /// `<i>` alone is no sign: HTML has it too.
    any_but_i: bool,
    /// An escaped `<tasks>` is open, which was told at its first tag.
    is_escaped: bool,
}

impl StrayTags {
    /// True if a batch whose tags are escaped begins at an offset.
    fn begins_escaped(&mut self, text: &str, at: usize) -> bool {
        let starts = |with: &str| {
            let start = text.as_bytes()[at..].get(..with.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
        };
        if starts("&lt;/tasks&gt;") {
            self.is_escaped = false;
            return false;
        }
        let is_task = !self.is_escaped && starts("&lt;task&gt;");
        if !is_task && !starts("&lt;tasks") {
            return false;
        }
        self.is_escaped = !is_task;
        true
    }

    fn add(&mut self, name: ElementName, tag: &Tag<'_>) {
        self.first
            .get_or_insert((tag.at, name, tag.kind == TagKind::Close));
        self.count += 1;
        self.any_but_i |= name != ElementName::I;
    }

    fn hint(&self) -> Option<Problem> {
        let (at, name, closing) = self.first.filter(|_| self.any_but_i)?;
        Some(Problem {
            at,
            cause: Cause::LooseTags {
                element: name.text(),
                closing,
                count: self.count,
            },
        })
    }
}

/// A `<!-- clada:off WORD -->` or `on`, alone on its line.
struct Switch<'t> {
    word: &'t str,
    at: usize,
    next_line: usize,
}

impl<'t> Switch<'t> {
    fn at(text: &'t str, at: usize, which: &str) -> Option<Self> {
        let rest = text[at..].strip_prefix("<!--")?;
        let inside = &rest[..rest
            .find(['\n', '>'])
            .filter(|end| rest[..*end].ends_with("--"))?
            - 2];
        let word = inside.trim().strip_prefix("clada:")?.strip_prefix(which)?;
        if !(word.is_empty() || word.starts_with([' ', '\t'])) || !starts_line(text.as_bytes(), at)
        {
            return None;
        }
        let end = at + "<!--".len() + inside.len() + "-->".len();
        rest_is_blank(text.as_bytes(), end).then(|| Self {
            word: word.trim(),
            at,
            next_line: next_line(text.as_bytes(), end),
        })
    }

    /// The offset behind the line of the `on` that ends this `off`.
    fn end(&self, text: &'t str) -> Option<usize> {
        let bytes = text.as_bytes();
        memmem::find_iter(&bytes[self.next_line..], b"clada:on").find_map(|at| {
            let line = line_start(bytes, self.next_line + at);
            let on = Switch::at(text, skip_blanks(bytes, line), "on")?;
            (on.word == self.word).then_some(on.next_line)
        })
    }
}
