//! Reads one batch of CML: its tasks and their elements, and what is broken about its structure.
//!
//! ```text
//! batch    = "<tasks" attributes ">" { text | task } "</tasks>" | task
//! task     = "<task>" { text | short | payload | unknown } "</task>"
//! short    = "<i>" … "</i>" | "<path>" … "</path>" | "<c>" … "</c>"      up to the first closing tag, trimmed
//! payload  = "<x>" … "</x>" | search | search-head | search-tail | replace      raw, see `payload`
//! unknown  = any other element: an error of the task, its content skipped
//! ```
//!
//! Tags count first on their line or directly behind another tag; everything else between them is text. Where the
//! structure is broken nobody can tell where things start and end, and text that was only quoted might be taken for a
//! task: then the whole batch is refused.

mod elements;
pub(crate) mod payload;
pub(crate) mod tag;

use memchr::memchr;

use super::dialect::Dialect;
use super::task::{
    Action, Batch, BatchState, Cause, Payload, Problem, Replacement, WholePart, Within,
};
use super::text::Form;
use crate::reply::cml::elements::{Content, Element, Elements};
use crate::reply::cml::payload::{Ends, UnknownEnd};
use crate::reply::cml::tag::{
    Kind, Name, Tag, follows, line_start, next_line, opens, rest_is_blank,
};

/// A batch, and where the scan goes on.
pub(crate) struct Read<'t> {
    pub(crate) batch: Batch<'t>,
    pub(crate) resume: usize,
}

/// Reads the batch that `open` opens: a `<tasks>`, or a `<task>` that stands alone.
pub(crate) fn read<'t>(text: &'t str, open: &Tag<'t>, ends: &mut Ends<'t>) -> Read<'t> {
    let lone = open.name == Some(Name::Task);
    let mut reader = Reader {
        text,
        start: open.at,
        lone,
        depth: usize::from(lone),
        task: Elements::default(),
        batch: Batch::new(
            Dialect::Cml,
            open.at..open.end,
            BatchState::Complete,
            Vec::with_capacity(1),
        ),
        whole: None,
        broken: None,
        provisional: false,
        in_cdata: false,
        bad_attribute: None,
        warnings: Vec::new(),
    };
    if lone {
        reader.task.begin(open);
    } else {
        reader.read_attributes(open);
    }
    let resume = reader.run(open.end, ends);
    reader.finish(resume)
}

struct Reader<'t> {
    text: &'t str,
    start: usize,
    /// The batch is a `<task>` of its own.
    lone: bool,
    /// Open `<task>` in a lone batch that is broken by one inside another.
    depth: usize,
    /// The task that is being read, if one is open.
    task: Elements<'t>,
    batch: Batch<'t>,
    /// Behind the last task that is closed.
    whole: Option<usize>,
    /// The first structural problem that more text cannot mend.
    broken: Option<Problem>,
    provisional: bool,
    /// The payload that never closes begins with CDATA.
    in_cdata: bool,
    /// A bad attribute of `<tasks>` is an error of every task of it.
    bad_attribute: Option<Problem>,
    /// Attributes of `<tasks>` that mean nothing: told with the first task.
    warnings: Vec<Problem>,
}

/// What follows the place where a batch was given up.
enum Rest {
    /// No tag of a task: an answer that was too long ends so.
    Text,
    Tags,
}

/// What reading a tag leads to.
enum Step {
    /// Go on behind this offset.
    On(usize),
    /// The batch ends before or behind this offset.
    End(usize),
    /// The text ended inside this element, which starts at the offset.
    Unclosed(&'static str, usize),
}

impl<'t> Reader<'t> {
    fn run(&mut self, from: usize, ends: &mut Ends<'t>) -> usize {
        let bytes = self.text.as_bytes();
        let (mut at, mut last_tag_end) = (from, from);
        while let Some(next) = next_tag(bytes, at) {
            at = next;
            let tag = follows(bytes, at, last_tag_end)
                .then(|| Tag::at(self.text, at))
                .flatten();
            let Some(tag) = tag else {
                at += 1;
                continue;
            };
            match self.step(&tag, ends) {
                Step::On(end) => (at, last_tag_end) = (end, end),
                Step::End(end) => return end,
                Step::Unclosed(element, at) => return self.unclosed(element, at),
            }
        }
        match self.task.open() {
            Some(task) => self.unclosed(Name::Task.text(), task),
            None => self.unclosed(Name::Tasks.text(), self.start),
        }
    }

    fn step(&mut self, tag: &Tag<'t>, ends: &mut Ends<'t>) -> Step {
        let Some(name) = tag.name else {
            return self.unknown(tag, ends);
        };
        match (name, tag.kind) {
            // A payload may have lost its tag, and quote that.
            (Name::Tasks, Kind::Open)
                if opens(self.text, tag) && self.task.open().is_some() && self.broken.is_none() =>
            {
                return Step::Unclosed(Name::Task.text(), self.task.open().unwrap_or(tag.at));
            }
            (Name::Tasks, Kind::Open) if opens(self.text, tag) => {
                let within = self.within();
                self.break_at(self.start, Cause::BatchInBatch { within });
                return Step::End(tag.at);
            }
            (Name::Tasks, Kind::Close) => {
                if let Some(task) = self.task.open() {
                    let within = self.within();
                    self.break_at(task, Cause::TaskCutOff { within });
                }
                return Step::End(tag.end);
            }
            (Name::Task, Kind::Open) => {
                self.depth += 1;
                match self.task.open() {
                    Some(_) => {
                        let within = self.within();
                        self.break_at(tag.at, Cause::TaskInTask { within });
                    }
                    None => self.task.begin(tag),
                }
            }
            (Name::Task, Kind::Close) => {
                match self.task.open() {
                    Some(_) => {
                        self.batch.tasks.push(self.task.finish(tag.end));
                        self.whole = Some(tag.end);
                    }
                    None => self.stray(tag, name),
                }
                self.depth = self.depth.saturating_sub(1);
                if self.lone && self.depth == 0 {
                    return Step::End(tag.end);
                }
            }
            (Name::Tasks | Name::Task, _) => {}
            (_, Kind::Close) if name.is_payload() => self.stray(tag, name),
            (_, Kind::Close) => {}
            _ if name.is_payload() => return self.payload(tag, name, ends),
            _ => return self.short(tag, name),
        }
        Step::On(tag.end)
    }

    fn payload(&mut self, tag: &Tag<'t>, name: Name, ends: &mut Ends<'t>) -> Step {
        let Some(end) = ends.of(tag, name) else {
            self.in_cdata = ends.is_cdata(tag);
            return Step::Unclosed(name.text(), tag.at);
        };
        self.provisional |= end.provisional;
        // Between tasks it is skipped as a whole too: what it quotes must not be taken for a task.
        if self.task.open().is_some() {
            let payload = Payload {
                form: end.form,
                raw: end.raw.into(),
                indent: "",
                is_crlf: end.form == Form::Block && is_crlf(end.raw) && !self.ends_in_crlf(tag),
                is_whole: false,
            };
            self.task.add(Element {
                name,
                tag: *tag,
                content: Content::Payload(payload),
                end: end.after,
            });
        }
        Step::On(end.after)
    }

    /// Whether the line of a tag ends in CRLF.
    fn ends_in_crlf(&self, tag: &Tag<'_>) -> bool {
        let bytes = self.text.as_bytes();
        bytes[..next_line(bytes, tag.end)].ends_with(b"\r\n")
    }

    fn short(&mut self, tag: &Tag<'t>, name: Name) -> Step {
        if tag.kind == Kind::Empty {
            self.add_short(tag, name, "", tag.end);
            return Step::On(tag.end);
        }
        let bytes = self.text.as_bytes();
        let mut at = tag.end;
        while let Some(next) = memchr(b'<', &bytes[at..]) {
            at += next;
            if let Some(inner) = Tag::at(self.text, at) {
                if inner.is(Kind::Close, name) {
                    self.add_short(tag, name, self.text[tag.end..at].trim(), inner.end);
                    return Step::On(inner.end);
                }
                if self.is_boundary(&inner) {
                    let cause = Cause::Unclosed {
                        element: name.text(),
                        cdata: false,
                        within: self.within(),
                    };
                    self.break_at(tag.at, cause);
                    return Step::On(tag.end);
                }
            }
            at += 1;
        }
        Step::Unclosed(name.text(), tag.at)
    }

    fn add_short(&mut self, tag: &Tag<'t>, name: Name, content: &'t str, end: usize) {
        if self.task.open().is_some() {
            self.task.add(Element {
                name,
                tag: *tag,
                content: Content::Short(content),
                end,
            });
        }
    }

    /// Whether a tag is one that a short element cannot go over: of CML, first on its line, and not just a word there.
    fn is_boundary(&self, tag: &Tag<'t>) -> bool {
        let Some(name) = tag
            .name
            .filter(|_| crate::reply::cml::tag::starts_line(self.text.as_bytes(), tag.at))
        else {
            return false;
        };
        if tag.ends_line(self.text) || opens(self.text, tag) {
            return true;
        }
        let line = &self.text[tag.end..next_line(self.text.as_bytes(), tag.end)];
        line.match_indices("</").any(|(at, _)| {
            Tag::at(self.text, tag.end + at).is_some_and(|close| close.is(Kind::Close, name))
        })
    }

    /// An element that CML does not have is an error of its task. What it holds is skipped, since it may quote tags.
    fn unknown(&mut self, tag: &Tag<'t>, ends: &mut Ends<'t>) -> Step {
        if self.task.open().is_none() || tag.kind == Kind::Close {
            return Step::On(tag.end);
        }
        self.task.unknown(tag);
        if tag.kind == Kind::Empty {
            return Step::On(tag.end);
        }
        match ends.of_unknown(tag) {
            UnknownEnd::At(end) => Step::On(end),
            UnknownEnd::None => {
                self.provisional = true;
                Step::On(tag.end)
            }
            UnknownEnd::TooMany => {
                let within = self.within();
                self.break_at(tag.at, Cause::TooManyUnknown { within });
                Step::On(tag.end)
            }
        }
    }

    fn break_at(&mut self, at: usize, cause: Cause) {
        self.broken.get_or_insert(Problem { at, cause });
    }

    fn stray(&mut self, tag: &Tag<'t>, name: Name) {
        let cause = Cause::StrayClose {
            element: name.text(),
            within: self.within(),
        };
        self.break_at(tag.at, cause);
    }

    /// The place that is being read, in the words of the reply.
    fn within(&self) -> Within {
        let whole = self.batch.tasks.len();
        let is_open = self.task.open().is_some();
        let (name, last) = self.task.read_so_far();
        Within {
            task: whole + usize::from(is_open),
            is_open,
            name,
            last,
        }
    }

    /// The text ended inside an element: the batch is open, and nothing of it runs. It is taken to end where its own last
    /// tag seems to stand, or before the next batch: what is behind that may be quoted in it, or be another reply.
    fn unclosed(&mut self, element: &'static str, at: usize) -> usize {
        let (end, rest) = self.rest(at);
        let within = self.within();
        let cause = match rest {
            Rest::Text => Cause::CutOff {
                within,
                whole: self.whole_part(),
            },
            Rest::Tags => Cause::Unclosed {
                element,
                cdata: self.in_cdata,
                within,
            },
        };
        self.batch.state = BatchState::Open(Problem { at, cause });
        end
    }

    /// Where a batch seems to end whose element at an offset does not, and what is left of it behind that element.
    fn rest(&self, at: usize) -> (usize, Rest) {
        let bytes = self.text.as_bytes();
        let mut rest = Rest::Text;
        // Batches that follow, each with its end, are no sign of this one's.
        let (mut next_batch, mut depth) = (None, 0_usize);
        let mut last_tag_end = usize::MAX;
        let mut from = match self.task.open() {
            Some(_) => Tag::at(self.text, at).map_or(at + 1, |tag| tag.end),
            None => self.whole.unwrap_or(self.start + 1),
        };
        while let Some(next) = memchr(b'<', &bytes[from..]) {
            let at = from + next;
            from = at + 1;
            let tag = Tag::at(self.text, at).filter(|_| follows(bytes, at, last_tag_end));
            let Some(tag) = tag.filter(|tag| matches!(tag.name, Some(Name::Task | Name::Tasks)))
            else {
                continue;
            };
            (from, last_tag_end) = (tag.end, tag.end);
            match (tag.name, tag.kind) {
                (Some(Name::Tasks), Kind::Open) if opens(self.text, &tag) => {
                    next_batch.get_or_insert(at);
                    depth += 1;
                }
                (Some(Name::Tasks), Kind::Close) if depth > 0 => depth -= 1,
                (Some(Name::Tasks), Kind::Close) => {
                    return (next_batch.unwrap_or(tag.end), Rest::Tags);
                }
                (Some(Name::Task), Kind::Close) if depth == 0 && self.lone => {
                    return (next_batch.unwrap_or(tag.end), Rest::Tags);
                }
                (Some(Name::Task), Kind::Open | Kind::Close) if depth == 0 => rest = Rest::Tags,
                _ => {}
            }
        }
        (next_batch.unwrap_or(self.text.len()), rest)
    }

    /// The tasks that are surely whole, where nothing is asked of the batch as a whole.
    fn whole_part(&self) -> Option<WholePart> {
        let is_sure = !self.provisional && self.broken.is_none() && self.bad_attribute.is_none();
        let end = self.whole.filter(|_| is_sure && !self.batch.atomic)?;
        Some(WholePart {
            tasks: self.batch.tasks.len(),
            end,
        })
    }

    fn read_attributes(&mut self, open: &Tag<'t>) {
        let attributes = match open.attributes() {
            Ok(attributes) => attributes,
            Err(value) => vec![(String::new(), value)],
        };
        for (name, value) in attributes {
            match (name.as_str(), value.to_ascii_lowercase().as_str()) {
                ("message", _) => self.batch.message = Some(value),
                ("atomic", "yes" | "true" | "atomic" | "") => self.batch.atomic = true,
                ("atomic", "no" | "false") => {}
                ("atomic", _) => {
                    let cause = Cause::BadAttribute {
                        element: "tasks",
                        name: "atomic",
                        value,
                        expected: "`yes` or `no`",
                    };
                    self.bad_attribute = Some(Problem { at: open.at, cause });
                }
                _ => {
                    let cause = Cause::UnknownAttribute {
                        element: "tasks",
                        name,
                    };
                    self.warnings.push(Problem { at: open.at, cause });
                }
            }
        }
    }

    fn finish(mut self, resume: usize) -> Read<'t> {
        self.batch.span = self.start..resume;
        if let Some(problem) = self.broken {
            self.batch.state = BatchState::Broken(problem);
        } else if self.provisional && self.batch.state == BatchState::Complete {
            self.batch.state = BatchState::Provisional;
        }
        if self.batch.state.problem().is_some() {
            self.batch.tasks.clear();
        }
        if let Some(problem) = self.bad_attribute {
            for task in &mut self.batch.tasks {
                task.action = Err(problem.clone());
            }
        }
        if let Some(task) = self.batch.tasks.first_mut() {
            task.warnings.append(&mut self.warnings);
        }
        let bytes = self.text.as_bytes();
        let indent = &self.text[line_start(bytes, self.start)..self.start];
        if !indent.is_empty() && indented(&self.text[self.batch.span.clone()], indent) {
            for task in &mut self.batch.tasks {
                if let Ok(action) = &mut task.action {
                    set_indent(action, indent);
                }
            }
        }
        Read {
            batch: self.batch,
            resume,
        }
    }
}

/// Whether all lines of a text end in CRLF, and there are some.
fn is_crlf(text: &str) -> bool {
    text.ends_with("\r\n")
        && text
            .split_inclusive('\n')
            .all(|line| line.ends_with("\r\n"))
}

/// The next `<`. Mostly it is the first of the next line, and looking there first made the scan of tasks 8 % faster.
fn next_tag(bytes: &[u8], from: usize) -> Option<usize> {
    match bytes[from..] {
        [b'\n', b'<', ..] => Some(from + 1),
        _ => memchr(b'<', &bytes[from..]).map(|next| from + next),
    }
}

/// Whether every non-blank line but the first, whose start is not in the stretch, begins with the indentation.
fn indented(stretch: &str, indent: &str) -> bool {
    indent.bytes().all(|b| matches!(b, b' ' | b'\t'))
        && stretch
            .split('\n')
            .skip(1)
            .all(|line| line.starts_with(indent) || rest_is_blank(line.as_bytes(), 0))
}

fn set_indent<'t>(action: &mut Action<'t>, indent: &'t str) {
    let payloads: Vec<&mut Payload<'t>> = match action {
        Action::Edit {
            change: Replacement::Pairs(pairs),
            ..
        } => pairs
            .iter_mut()
            .flat_map(|(search, replace)| [search, replace])
            .collect(),
        Action::Edit {
            change:
                Replacement::Stretch {
                    head,
                    tail,
                    replace,
                },
            ..
        } => vec![head, tail, replace],
        Action::ReplaceAll {
            search, replace, ..
        } => vec![search, replace],
        Action::Overwrite { content, .. }
        | Action::Append { content, .. }
        | Action::ReplaceLines { content, .. } => vec![content],
        Action::Exec { script, .. } => vec![script],
        // The others have no payload.
        _ => Vec::new(),
    };
    for payload in payloads {
        payload.indent = indent;
    }
}
