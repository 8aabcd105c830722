//! Reads one batch of CML: its tasks and their elements, and the errors in its structure.
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
    Action, Batch, BatchState, Cause, Payload, Problem, Replacement, Task, WholePart, Within,
};
use super::text::Form;
use crate::reply::cml::elements::Elements;
use crate::reply::cml::payload::{Ends, is_cdata};
use crate::reply::cml::tag::{
    ElementName, Tag, TagKind, follows, line_start, next_line, opens, rest_is_blank, starts_line,
    tags,
};

/// Reads the batches of one text, one after the other.
pub(crate) struct Reader<'t> {
    text: &'t str,
    ends: Ends<'t>,
    task: Elements<'t>,
    /// The room for the tasks of a batch, whose number is known at its end.
    tasks: Vec<Task<'t>>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text,
            ends: Ends::new(text),
            task: Elements::default(),
            tasks: Vec::new(),
        }
    }

    /// Reads the batch that `open` opens: a `<tasks>`, or a `<task>` that stands alone. The scan goes on behind it.
    pub(crate) fn read(&mut self, open: &Tag<'t>) -> Batch<'t> {
        let lone = open.name == Some(ElementName::Task);
        self.ends.is_unsure = false;
        self.task.clear();
        let mut reader = BatchReader {
            text: self.text,
            ends: &mut self.ends,
            lone,
            depth: usize::from(lone),
            task: &mut self.task,
            tasks: &mut self.tasks,
            batch: Batch::new(
                Dialect::Cml,
                open.at..open.end,
                BatchState::Complete,
                Vec::new(),
            ),
            bad_attribute: None,
            warnings: Vec::new(),
        };
        if lone {
            reader.task.begin(open);
        } else {
            reader.read_attributes(open);
        }
        reader.batch.span.end = reader.run(open.end);
        reader.finish()
    }

    /// True if an element of the last batch may still end elsewhere, in text to come.
    pub(crate) fn is_unsure(&self) -> bool {
        self.ends.is_unsure
    }
}

struct BatchReader<'r, 't> {
    text: &'t str,
    ends: &'r mut Ends<'t>,
    /// True if the batch is a `<task>` of its own.
    lone: bool,
    /// The number of `<task>` that are open in a lone batch, which is broken by one inside another.
    depth: usize,
    /// The task that is being read, if one is open.
    task: &'r mut Elements<'t>,
    /// Those that are closed.
    tasks: &'r mut Vec<Task<'t>>,
    /// Broken by the first structural problem that more text cannot repair.
    batch: Batch<'t>,
    /// A bad attribute of `<tasks>`, which is an error of every task of it.
    bad_attribute: Option<Problem>,
    /// Attributes of `<tasks>` that mean nothing: told with the first task.
    warnings: Vec<Problem>,
}

/// The rest of the text behind the place where a batch was given up.
enum Remainder {
    /// No tag of a task: an answer that was too long ends so.
    Text,
    Tags,
}

/// The way to go on behind a tag.
enum NextTag {
    /// Behind this offset.
    Behind(usize),
    /// The batch ends before or behind this offset.
    End(usize),
    /// The text ended inside this element, which starts at the offset.
    Unclosed(ElementName, usize),
}

impl<'t> BatchReader<'_, 't> {
    fn run(&mut self, from: usize) -> usize {
        let bytes = self.text.as_bytes();
        let (mut at, mut last_tag_end) = (from, from);
        while let Some(next) = next_tag(bytes, at) {
            at = next;
            if !follows(bytes, at, last_tag_end) {
                at += 1;
                continue;
            }
            let Some(tag) = Tag::at(self.text, at) else {
                at += 1;
                continue;
            };
            match self.step(&tag) {
                NextTag::Behind(end) => (at, last_tag_end) = (end, end),
                NextTag::End(end) => return end,
                NextTag::Unclosed(element, at) => return self.unclosed(element, at),
            }
        }
        match self.task.open() {
            Some(task) => self.unclosed(ElementName::Task, task),
            None => self.unclosed(ElementName::Tasks, self.batch.span.start),
        }
    }

    fn step(&mut self, tag: &Tag<'t>) -> NextTag {
        let Some(name) = tag.name else {
            return self.unknown(tag);
        };
        match (name, tag.kind) {
            (ElementName::Tasks, TagKind::Open) if opens(self.text, tag) => {
                // A payload may have lost its tag, and quote that.
                if let Some(task) = self.task.open().filter(|_| !self.is_broken()) {
                    return NextTag::Unclosed(ElementName::Task, task);
                }
                self.break_at(self.batch.span.start, |within| Cause::BatchInBatch {
                    within,
                });
                return NextTag::End(tag.at);
            }
            (ElementName::Tasks, TagKind::Close) => {
                if let Some(task) = self.task.open() {
                    self.break_at(task, |within| Cause::TaskCutOff { within });
                }
                return NextTag::End(tag.end);
            }
            (ElementName::Task, TagKind::Open) => {
                self.depth += 1;
                match self.task.open() {
                    Some(_) => self.break_at(tag.at, |within| Cause::TaskInTask { within }),
                    None => self.task.begin(tag),
                }
            }
            (ElementName::Task, TagKind::Close) => {
                match self.task.open() {
                    Some(_) => self.tasks.push(self.task.finish(tag.end)),
                    None => self.stray(tag, name),
                }
                self.depth = self.depth.saturating_sub(1);
                if self.lone && self.depth == 0 {
                    return NextTag::End(tag.end);
                }
            }
            (ElementName::Tasks | ElementName::Task, _) => {}
            (_, TagKind::Close) if name.is_payload() => self.stray(tag, name),
            (_, TagKind::Close) => {}
            _ if name.is_payload() => return self.payload(tag, name),
            _ => return self.short(tag, name),
        }
        NextTag::Behind(tag.end)
    }

    fn payload(&mut self, tag: &Tag<'t>, name: ElementName) -> NextTag {
        let Some(end) = self.ends.of(tag, name) else {
            return NextTag::Unclosed(name, tag.at);
        };
        // Between tasks it is skipped as a whole too: what it quotes must not be taken for a task.
        if self.task.open().is_some() {
            let is_block = end.form == Form::Block;
            let is_crlf = is_block && is_crlf(end.raw) && !self.ends_in_crlf(tag);
            self.task.add_payload(name, tag, &end, is_crlf);
        }
        NextTag::Behind(end.after)
    }

    /// True if the line of a tag ends in CRLF.
    fn ends_in_crlf(&self, tag: &Tag<'_>) -> bool {
        let bytes = self.text.as_bytes();
        bytes[..next_line(bytes, tag.end)].ends_with(b"\r\n")
    }

    fn short(&mut self, tag: &Tag<'t>, name: ElementName) -> NextTag {
        if tag.kind == TagKind::Empty {
            self.add_short(tag, name, "", tag.end);
            return NextTag::Behind(tag.end);
        }
        for inner in tags(self.text, tag.end..self.text.len()) {
            if inner.is(TagKind::Close, name) {
                self.add_short(tag, name, trimmed(&self.text[tag.end..inner.at]), inner.end);
                return NextTag::Behind(inner.end);
            }
            if self.is_boundary(&inner) {
                self.break_at(tag.at, |within| Cause::Unclosed {
                    element: name.text(),
                    cdata: false,
                    within,
                });
                return NextTag::Behind(tag.end);
            }
        }
        NextTag::Unclosed(name, tag.at)
    }

    fn add_short(&mut self, tag: &Tag<'t>, name: ElementName, content: &'t str, end: usize) {
        if self.task.open().is_some() {
            self.task.add_short(name, tag, content, end);
        }
    }

    /// True if a tag is one that a short element cannot go over: of CML, first on its line, and not just a word there.
    fn is_boundary(&self, tag: &Tag<'t>) -> bool {
        let starts_line = starts_line(self.text.as_bytes(), tag.at);
        let Some(name) = tag.name.filter(|_| starts_line) else {
            return false;
        };
        if tag.ends_line(self.text) || opens(self.text, tag) {
            return true;
        }
        let line = &self.text[tag.end..next_line(self.text.as_bytes(), tag.end)];
        tags(line, 0..line.len()).any(|close| close.is(TagKind::Close, name))
    }

    /// An element that CML does not have is an error of its task. What it holds is skipped, since it may quote tags.
    fn unknown(&mut self, tag: &Tag<'t>) -> NextTag {
        if self.task.open().is_none() || tag.kind == TagKind::Close {
            return NextTag::Behind(tag.end);
        }
        self.task.unknown(tag);
        if tag.kind == TagKind::Empty {
            return NextTag::Behind(tag.end);
        }
        let end = self.ends.of_unknown(tag);
        if end.is_none() {
            self.break_at(tag.at, |within| Cause::TooManyUnknown { within });
        }
        NextTag::Behind(end.unwrap_or(tag.end))
    }

    /// The offset behind the last task that is closed.
    fn last_task_end(&self) -> Option<usize> {
        self.tasks.last().map(|task| task.span.end)
    }

    fn is_broken(&self) -> bool {
        matches!(self.batch.state, BatchState::Broken(_))
    }

    fn break_at(&mut self, at: usize, cause: impl FnOnce(Within) -> Cause) {
        if !self.is_broken() {
            let cause = cause(self.within());
            self.batch.state = BatchState::Broken(Problem { at, cause }.into());
        }
    }

    fn stray(&mut self, tag: &Tag<'t>, name: ElementName) {
        let element = name.text();
        self.break_at(tag.at, |within| Cause::StrayClose { element, within });
    }

    /// The place that is being read, in the words of the reply.
    fn within(&self) -> Within {
        let whole = self.tasks.len();
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
    fn unclosed(&mut self, element: ElementName, at: usize) -> usize {
        let (end, rest) = self.rest(at);
        let within = self.within();
        let cause = match rest {
            Remainder::Text => Cause::CutOff {
                within,
                whole: self.whole_part(),
            },
            Remainder::Tags => Cause::Unclosed {
                element: element.text(),
                cdata: element.is_payload()
                    && Tag::at(self.text, at).is_some_and(|tag| is_cdata(self.text, &tag)),
                within,
            },
        };
        match &self.batch.state {
            BatchState::Broken(_) if end == self.text.len() => {}
            // What is read behind it may turn out to be a part of it all the same.
            BatchState::Broken(first) => self.batch.state = BatchState::Open(first.clone()),
            _ => self.batch.state = BatchState::Open(Problem { at, cause }.into()),
        }
        end
    }

    /// The end that a batch seems to have whose element at an offset does not end, and the rest of it behind that element.
    fn rest(&self, at: usize) -> (usize, Remainder) {
        let bytes = self.text.as_bytes();
        let mut rest = Remainder::Text;
        // Batches that follow, each with its end, are no sign of this one's.
        let (mut next_batch, mut depth) = (None, 0_usize);
        let mut last_tag_end = usize::MAX;
        let from = match self.task.open() {
            Some(_) => Tag::at(self.text, at).map_or(at + 1, |tag| tag.end),
            None => self.last_task_end().unwrap_or(self.batch.span.start + 1),
        };
        let is_of_tasks =
            |tag: &Tag<'_>| matches!(tag.name, Some(ElementName::Task | ElementName::Tasks));
        for tag in tags(self.text, from..bytes.len()).filter(is_of_tasks) {
            if !follows(bytes, tag.at, last_tag_end) {
                continue;
            }
            last_tag_end = tag.end;
            match (tag.name, tag.kind) {
                (Some(ElementName::Tasks), TagKind::Open) if opens(self.text, &tag) => {
                    next_batch.get_or_insert(tag.at);
                    depth += 1;
                }
                (Some(ElementName::Tasks), TagKind::Close) if depth > 0 => depth -= 1,
                (Some(ElementName::Tasks), TagKind::Close) => {
                    return (next_batch.unwrap_or(tag.end), Remainder::Tags);
                }
                (Some(ElementName::Task), TagKind::Close) if depth == 0 && self.lone => {
                    return (next_batch.unwrap_or(tag.end), Remainder::Tags);
                }
                (Some(ElementName::Task), TagKind::Open | TagKind::Close) if depth == 0 => {
                    rest = Remainder::Tags
                }
                _ => {}
            }
        }
        (next_batch.unwrap_or(self.text.len()), rest)
    }

    /// The tasks that are surely whole, where nothing is asked of the batch as a whole.
    fn whole_part(&self) -> Option<WholePart> {
        let is_doubtful = self.ends.is_unsure || self.is_broken() || self.batch.atomic;
        let end = self.last_task_end();
        let end = end.filter(|_| !is_doubtful && self.bad_attribute.is_none())?;
        Some(WholePart {
            tasks: self.tasks.len(),
            end,
        })
    }

    fn read_attributes(&mut self, open: &Tag<'t>) {
        let attributes = match open.attributes() {
            Ok(attributes) => attributes,
            Err(text) => vec![(String::new(), text.to_owned())],
        };
        for (name, value) in attributes {
            match (name.as_str(), value.to_ascii_lowercase().as_str()) {
                ("message", _) => self.batch.message = Some(value),
                ("key", _) => self.batch.key = Some(value),
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

    fn finish(mut self) -> Batch<'t> {
        if self.batch.state == BatchState::Complete && self.ends.is_unsure {
            self.batch.state = BatchState::Provisional;
        }
        let tasks = self.tasks.drain(..);
        if self.batch.state.problem().is_none() {
            self.batch.tasks = tasks.collect();
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
        let indent = &self.text[line_start(bytes, self.batch.span.start)..self.batch.span.start];
        if !indent.is_empty() && indented(&self.text[self.batch.span.clone()], indent) {
            for task in &mut self.batch.tasks {
                if let Ok(action) = &mut task.action {
                    set_indent(action, indent);
                }
            }
        }
        self.batch
    }
}

/// A text without the white space around it. Mostly there is none, and its first and its last byte tell.
fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim(),
    }
}

/// True if all lines of a text end in CRLF, and there are some.
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

/// True if every non-blank line but the first, whose start is not in the stretch, begins with the indentation.
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
