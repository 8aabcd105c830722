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
use crate::reply::cml::payload::Ends;
use crate::reply::cml::tag::{
    Kind, Name, Tag, follows, line_start, next_line, opens, rest_is_blank, skip_blanks, starts_line,
};
use crate::reply::dialects::{ParsedBlock, aider, codex, diff, nesl, replacer};

/// Reads a text in all dialects. Never fails: what cannot be read is a problem of a batch, a task or the text.
pub fn scan(text: &str) -> Scan<'_> {
    scan_for(text, Dialects::ALL)
}

/// How many batches may be looked into that do not end: each look may cost the text's length.
const OPEN: usize = 32;

/// Reads a text in some dialects; what is written in others is prose.
pub fn scan_for(text: &str, dialects: Dialects) -> Scan<'_> {
    let mut pass = Pass {
        text,
        dialects,
        ends: Ends::new(text),
        places: Places::new(text, dialects),
        found: Scan::default(),
        inside: None,
        loose: Loose::default(),
        escaped_batch_open: false,
        last_tag_end: usize::MAX,
        floor: 0,
        opened: 0,
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
    dialects: Dialects,
    ends: Ends<'t>,
    places: Places<'t>,
    found: Scan<'t>,
    /// What was found behind something that does not end, once there is such.
    inside: Option<Inside<'t>>,
    loose: Loose,
    escaped_batch_open: bool,
    last_tag_end: usize,
    /// What is behind the last batch; no other begins before it.
    floor: usize,
    /// How many batches do not end.
    opened: usize,
}

/// What stands behind the beginning of something that does not end.
#[derive(Default)]
struct Inside<'t> {
    found: Scan<'t>,
    /// A `<task>` by itself is one of that batch's own, not a batch.
    has_own_tasks: bool,
    /// A `clada:off` that does not end, and where.
    off: Option<(usize, &'t str)>,
}

impl<'t> Pass<'t> {
    /// Reads what begins at an offset; where to go on, unless enough was read.
    fn read(&mut self, at: usize) -> Option<usize> {
        let (text, bytes) = (self.text, self.text.as_bytes());
        if let Some(dialect) = self.places.mark(at)
            && let Some(other) = read_other(text, at, dialect, self.floor)
        {
            return self.other(at, other);
        }
        let is_tag = matches!(bytes[at], b'<' | b'&');
        let is_for_all = text[at..].starts_with("<!--");
        if !is_tag
            || !self.dialects.has(Dialect::Cml) && !is_for_all
            || !follows(bytes, at, self.last_tag_end)
        {
            return Some(at + 1);
        }
        if bytes[at] == b'&' {
            if self.inside.is_none() {
                let problems = &mut self.found.problems;
                escaped_batch(text, at, &mut self.escaped_batch_open, problems);
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
            Some(Name::Tasks | Name::Task) if tag.kind == Kind::Open && opens(text, &tag) => {
                self.cml(&tag)
            }
            Some(name) if tag.alone(text) => {
                if self.inside.is_none() {
                    self.loose.add(name, &tag);
                }
                Some(tag.end)
            }
            _ => Some(tag.end),
        }
    }

    fn cml(&mut self, tag: &Tag<'t>) -> Option<usize> {
        let is_lone = tag.name == Some(Name::Task);
        if is_lone && self.inside.as_ref().is_some_and(|it| it.has_own_tasks) {
            return Some(tag.end);
        }
        let read = cml::read(self.text, tag, &mut self.ends);
        (self.floor, self.last_tag_end) = (read.resume, read.resume);
        let open = match &read.batch.state {
            BatchState::Open(problem) => Some(matches!(problem.cause, Cause::CutOff { .. })),
            _ => None,
        };
        self.batches().push(read.batch);
        match (open, &mut self.inside) {
            (Some(is_cut_off), _) => self.enter(is_cut_off)?,
            (None, Some(inside)) => inside.has_own_tasks = false,
            (None, None) => {}
        }
        Some(read.resume)
    }

    /// A batch of another dialect, whose mark is at an offset.
    fn other(&mut self, mark: usize, other: ParsedBlock<'t>) -> Option<usize> {
        // A header in prose ends at the next; all else that does not end reads to the end of the text, or near it.
        let swallows = other.batch.as_ref().is_some_and(|batch| {
            let is_open = matches!(batch.state, BatchState::Open(_));
            is_open && (other.resume == self.text.len() || batch.dialect == Dialect::Diff)
        });
        match &mut self.inside {
            None => {
                self.found.problems.extend(other.problems);
                self.found.add(self.text, other.batch);
            }
            Some(inside) => inside.found.add(self.text, other.batch),
        }
        self.floor = other.resume;
        if !swallows {
            return Some(other.resume.max(mark + 1));
        }
        self.enter(false)?;
        self.floor = next_line(self.text.as_bytes(), mark);
        Some(self.floor)
    }

    /// What follows stands behind something that does not end; nothing where enough was looked into.
    fn enter(&mut self, has_own_tasks: bool) -> Option<()> {
        self.opened += 1;
        self.inside.get_or_insert_default().has_own_tasks = has_own_tasks;
        (self.opened < OPEN).then_some(())
    }

    /// Where to go on behind a `clada:off`. In something that does not end it is a text of that, if it does not end itself.
    fn off(&mut self, off: &Switch<'t>) -> Option<usize> {
        let end = off.end(self.text);
        if end.is_none() {
            self.opened += 1;
            let place = (off.at, off.word);
            let fresh = || Inside {
                off: Some(place),
                ..Inside::default()
            };
            self.inside.get_or_insert_with(fresh);
        }
        self.floor = end.unwrap_or(off.next_line);
        (self.opened < OPEN).then_some(self.floor)
    }

    fn batches(&mut self) -> &mut Vec<Batch<'t>> {
        match &mut self.inside {
            Some(inside) => &mut inside.found.batches,
            None => &mut self.found.batches,
        }
    }

    fn finish(mut self) -> Scan<'t> {
        let Self { mut found, .. } = self;
        found.problems.extend(self.loose.hint());
        if let Some(inside) = self.inside.take() {
            found.inside = inside.found.batches;
            if let Some((at, word)) = inside.off {
                found.off = Some(at);
                let word = word.to_owned();
                let cause = Cause::OffNeverEnds { word };
                let hides = !found.inside.is_empty();
                found
                    .problems
                    .extend(hides.then_some(Problem { at, cause }));
            }
        }
        for batch in &mut found.inside {
            batch.is_inside = true;
        }
        found.doubt();
        found.problems.sort_by_key(|problem| problem.at);
        found
    }
}

/// The text of a batch that gives this batch when it is read by itself: with the indentation of its first line, and a line
/// end, without which more of its last line could be still to come.
pub fn alone(text: &str, batch: &Batch<'_>) -> String {
    let span = &batch.span;
    let line = line_start(text.as_bytes(), span.start);
    let is_indented = text[line..span.start].chars().all(char::is_whitespace);
    let mut alone = text[if is_indented { line } else { span.start }..span.end].to_owned();
    if !alone.ends_with('\n') {
        alone.push('\n');
    }
    alone
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

    /// What stands behind a block that never ends may turn out to be a part of it, if its end is still to come.
    fn doubt(&mut self) {
        let is_open = |batch: &Batch<'_>| {
            batch.dialect != Dialect::Cml && matches!(batch.state, BatchState::Open(_))
        };
        let open = self.batches.iter().position(is_open);
        for batch in self
            .batches
            .iter_mut()
            .skip(open.map_or(usize::MAX, |open| open + 1))
        {
            if batch.state == BatchState::Complete {
                batch.state = BatchState::Provisional;
            }
        }
    }
}

/// Whether there are only blank lines and fences in a text.
fn is_gap(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .all(|line| line.is_empty() || line.starts_with("```") || line.starts_with("~~~"))
}

/// What a batch may begin with, in the order of the text.
struct Places<'t> {
    text: &'t [u8],
    marks: Vec<(Dialect, &'static [u8])>,
}

/// The only mark that begins with a letter, and what of it is seldom anything else: prose is full of its first letter.
const WORDED: (&[u8], &str) = (b"diff ", "--git ");

/// What is looked for, all of it at once. So few and so short, they are found by vector instructions, though only with this
/// kind of match; one search for each took twice as long.
static SIGNS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(["<", "&", "#", "*", "+", WORDED.1])
        .expect("a few short patterns")
});

/// How many bytes are looked at one by one before it is worth to begin a search.
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

    /// Of which dialect the mark is that is at a place.
    fn mark(&self, at: usize) -> Option<Dialect> {
        let rest = &self.text[at..];
        let second = rest.get(1)?;
        let mut marks = self.marks.iter();
        let found = marks
            .find(|(_, mark)| (mark[0], mark[1]) == (rest[0], *second) && rest.starts_with(mark));
        found.map(|(dialect, _)| *dialect)
    }
}

/// A batch whose tags were escaped in copying is reported at its first tag.
fn escaped_batch(text: &str, at: usize, open: &mut bool, problems: &mut Vec<Problem>) {
    let starts = |with: &str| {
        text.as_bytes()[at..]
            .get(..with.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(with.as_bytes()))
    };
    if starts("&lt;/tasks&gt;") {
        *open = false;
    } else if starts("&lt;tasks") || !*open && starts("&lt;task&gt;") {
        *open = starts("&lt;tasks");
        problems.push(Problem {
            at,
            cause: Cause::EscapedBatch,
        });
    }
}

/// Element tags alone on their lines outside any batch: a sign that `<task>` was lost in copying.
///
/// `<i>` alone is no sign: HTML has it too.
#[derive(Default)]
struct Loose {
    first: Option<(usize, Name, bool)>,
    count: usize,
    any_but_i: bool,
}

impl Loose {
    fn add(&mut self, name: Name, tag: &Tag<'_>) {
        self.first
            .get_or_insert((tag.at, name, tag.kind == Kind::Close));
        self.count += 1;
        self.any_but_i |= name != Name::I;
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
