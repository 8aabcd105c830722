//! From the elements of one task to its action, or to the problems in it.

mod commands;
mod meant;
mod parts;

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::payload::PayloadEnd;
use super::tag::{ENTITIES, ElementName, Tag, TagKind, tags};
use crate::reply::action::{Action, Command, Payload};
use crate::reply::task::{Cause, Problem, Task};
use commands::takes_paths;
use meant::{meant, unknown_command};

/// The elements of the task that is being read. One value serves all tasks of a text, one after the other: with a fresh
/// one for each the scan of tasks took a sixth longer.
#[derive(Default)]
pub(crate) struct Elements<'t> {
    /// The offset of its `<task>`.
    at: usize,
    is_open: bool,
    elements: Vec<Element<'t>>,
    /// The first unknown element.
    unknown: Option<Problem>,
    warnings: Vec<Problem>,
}

/// One element of a task.
pub(crate) struct Element<'t> {
    pub(crate) name: ElementName,
    pub(crate) tag: Tag<'t>,
    pub(crate) content: ElementContent<'t>,
    /// The offset behind its closing tag.
    pub(crate) end: usize,
}

/// The content of an element.
pub(crate) enum ElementContent<'t> {
    Short(&'t str),
    Payload(Payload<'t>),
}

/// Those whose lines may stand for text that is left out, and the attribute that says they do not.
const WHOLE: [ElementName; 2] = [ElementName::X, ElementName::Replace];
const IS_WHOLE: (&str, &str) = ("elision", "text");

impl<'t> Elements<'t> {
    /// The offset of the `<task>` that is open.
    pub(crate) fn open(&self) -> Option<usize> {
        self.is_open.then_some(self.at)
    }

    /// Command and path of the task that is open, as far as they were read, and its last element.
    pub(crate) fn read_so_far(&self) -> (String, Option<&'static str>) {
        let said = |name| match self.first(name).map(|element| &element.content) {
            Some(ElementContent::Short(text)) => *text,
            _ => "",
        };
        let name = format!("{} {}", said(ElementName::C), said(ElementName::Path));
        let last = self.elements.last().map(|element| element.name.text());
        (name.trim().to_owned(), last)
    }

    /// Forgets a task that never closed.
    pub(crate) fn clear(&mut self) {
        self.is_open = false;
        self.elements.clear();
        self.unknown = None;
        self.warnings.clear();
    }

    pub(crate) fn begin(&mut self, task: &Tag<'t>) {
        self.at = task.at;
        self.is_open = true;
        self.check_attributes(ElementName::Task, task);
    }

    /// Adds an element that is no payload.
    pub(crate) fn add_short(
        &mut self,
        name: ElementName,
        tag: &Tag<'t>,
        text: &'t str,
        end: usize,
    ) {
        if !name.has_options() {
            self.check_attributes(name, tag);
        }
        self.elements.push(Element {
            name,
            tag: *tag,
            content: ElementContent::Short(text),
            end,
        });
    }

    /// Adds a payload with this end.
    pub(crate) fn add_payload(
        &mut self,
        name: ElementName,
        tag: &Tag<'t>,
        end: &PayloadEnd<'t>,
        is_crlf: bool,
    ) {
        if !name.has_options() {
            self.check_attributes(name, tag);
        }
        // Code often has neither, and one pass says so.
        if let Some(sign) = memchr::memchr2(b'<', b'&', end.raw.as_bytes()) {
            let element = name.text();
            if holds_task_end(end.raw, sign) {
                self.warn(tag.at, Cause::HoldsTaskEnd { element });
            }
            if looks_escaped(end.raw, sign) {
                self.warn(tag.at, Cause::LooksEscaped { element });
            }
        }
        self.elements.push(Element {
            name,
            tag: *tag,
            content: ElementContent::Payload(Payload {
                form: end.form,
                raw: end.raw.into(),
                indent: "",
                is_crlf,
                is_whole: tag.has_attributes() && says_whole(name, tag),
            }),
            end: end.after,
        });
    }

    pub(crate) fn unknown(&mut self, tag: &Tag<'t>) {
        let name = tag.spelling.to_owned();
        let nearest = meant(&name);
        self.unknown.get_or_insert(Problem {
            at: tag.at,
            cause: Cause::UnknownElement { name, nearest },
        });
    }

    /// The task, whose last tag ends at `end`.
    pub(crate) fn finish(&mut self, end: usize) -> Task<'t> {
        let name = self.short(ElementName::C);
        let command = match &name {
            Ok(Some((_, name))) => Command::parse(name),
            _ => None,
        };
        let action = self.action(name, command);
        let why = self.short(ElementName::I).ok().flatten();
        let why = why.map_or("", |(_, why)| why);
        let why_span = self.first(ElementName::I).map(|e| e.tag.at..e.end);
        self.elements.clear();
        self.is_open = false;
        Task {
            why,
            why_span,
            warnings: std::mem::take(&mut self.warnings),
            command,
            ..Task::new(self.at..end, action)
        }
    }

    fn action(
        &mut self,
        name: Result<Option<(usize, &'t str)>, Problem>,
        command: Option<Command>,
    ) -> Result<Action<'t>, Problem> {
        let mut problems: Vec<Problem> = self.unknown.take().into_iter().collect();
        let meant = match problems.first().map(|unknown| &unknown.cause) {
            Some(Cause::UnknownElement { nearest, .. }) => *nearest,
            _ => None,
        };
        problems.extend(self.no_duplicates(command).err());
        let named = match name {
            Ok(Some((at, name))) if command.is_none() => {
                let cause = unknown_command(name);
                let nearest = match &cause {
                    Cause::UnknownCommand { nearest, .. } => nearest.and_then(Command::parse),
                    _ => None,
                };
                problems.push(self.problem(at, cause));
                nearest
            }
            Ok(Some(_)) => command,
            Ok(None) => {
                let cause = Cause::Missing {
                    element: "c",
                    command: self.likely(),
                };
                problems.push(self.problem(self.at, cause));
                None
            }
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        match named.or_else(|| self.likely()) {
            None => problems.extend(self.short(ElementName::Path).err()),
            Some(command) => match self.action_of(command) {
                Ok(action) if problems.is_empty() => {
                    self.warn_unused(command);
                    return Ok(action);
                }
                Ok(_) => {}
                Err(problem) => {
                    for problem in std::iter::once(problem).chain(self.lacks(command)) {
                        // An element of a wrong name is not missing too.
                        let is_meant = matches!(&problem.cause, Cause::Missing { element, .. } if meant == Some(*element));
                        if !is_meant && !problems.contains(&problem) {
                            problems.push(problem);
                        }
                    }
                }
            },
        }
        let at = problems.first().map_or(self.at, |first| first.at);
        Err(match <[Problem; 1]>::try_from(problems) {
            Ok([only]) => only,
            Err(several) => self.problem(at, Cause::Several(several)),
        })
    }

    /// The only command that a task without one can have.
    fn likely(&self) -> Option<Command> {
        let is_of_edit =
            |element: &Element<'_>| element.name.is_payload() && element.name != ElementName::X;
        let mut elements = self.elements.iter();
        elements.any(is_of_edit).then_some(Command::Edit)
    }

    fn no_duplicates(&self, command: Option<Command>) -> Result<(), Problem> {
        let may_repeat = |name| match name {
            ElementName::Search | ElementName::Replace => true,
            ElementName::Path => command.is_some_and(takes_paths),
            _ => false,
        };
        for (index, element) in self.elements.iter().enumerate() {
            let mut before = self.elements[..index].iter();
            if !may_repeat(element.name) && before.any(|it| it.name == element.name) {
                let cause = Cause::Duplicate {
                    element: element.name.text(),
                };
                return Err(self.problem(element.tag.at, cause));
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn check_attributes(&mut self, name: ElementName, tag: &Tag<'t>) {
        if tag.has_attributes() {
            self.warn_of_attributes(name, tag);
        }
    }

    fn warn_of_attributes(&mut self, name: ElementName, tag: &Tag<'t>) {
        let attributes = tag.attributes();
        let attributes = attributes.unwrap_or_else(|text| vec![(text.to_owned(), String::new())]);
        for (attribute, value) in attributes {
            if !is_whole(name, &attribute, &value) {
                let cause = Cause::UnknownAttribute {
                    element: name.text(),
                    name: attribute,
                };
                self.warn(tag.at, cause);
            }
        }
    }

    fn warn(&mut self, at: usize, cause: Cause) {
        self.warnings.push(Problem { at, cause });
    }

    fn problem(&self, at: usize, cause: Cause) -> Problem {
        Problem { at, cause }
    }
}

/// True if a tag of an element says that no line of it stands for text which is left out.
fn says_whole(element: ElementName, tag: &Tag<'_>) -> bool {
    let attributes = tag.attributes().unwrap_or_default();
    let mut attributes = attributes.iter();
    attributes.any(|(known, value)| is_whole(element, known, value))
}

/// True if an attribute of an element says that no line of it stands for text which is left out.
fn is_whole(element: ElementName, attribute: &str, value: &str) -> bool {
    let (known, meant) = IS_WHOLE;
    WHOLE.contains(&element) && attribute == known && value.eq_ignore_ascii_case(meant)
}

/// Made once: that took longer than to search a short payload.
static TASK_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("</task>"));

/// True if a payload whose first `<` or `&` is at an offset holds the end of a task that does not begin in it, alone on a line.
fn holds_task_end(payload: &str, sign: usize) -> bool {
    let mut depth = 0;
    TASK_END.find(&payload.as_bytes()[sign..]).is_some()
        && tags(payload, 0..payload.len())
            .filter(|tag| tag.name == Some(ElementName::Task) && tag.alone(payload))
            .any(|tag| {
                depth += if tag.kind == TagKind::Close { -1 } else { 1 };
                depth < 0
            })
}

/// True if every special character of a payload whose first `<` or `&` is at an offset is written as an entity, and a tag's
/// at least. Nearly always the first one is not.
fn looks_escaped(payload: &str, sign: usize) -> bool {
    let is_entity = |at| ENTITIES.iter().any(|(e, _)| payload[at..].starts_with(e));
    let bytes = payload.as_bytes();
    bytes[sign] == b'&'
        && memchr::memchr_iter(b'&', bytes).all(is_entity)
        && memchr::memchr2(b'<', b'>', bytes).is_none()
        && (payload.contains("&lt;") || payload.contains("&gt;"))
}
