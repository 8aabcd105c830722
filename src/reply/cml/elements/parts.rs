//! The elements of a task one by one: paths, payloads, attributes.

use std::borrow::Cow;

use super::{Content, Element, Elements, OPTIONS, is_whole};
use crate::reply::action::{Command, Payload};
use crate::reply::cml::tag::{Name, decode_entities};
use crate::reply::task::{Cause, Problem};

impl<'t> Elements<'t> {
    pub(super) fn all(&self, name: Name) -> impl Iterator<Item = Payload<'t>> {
        self.elements
            .iter()
            .filter(move |e| e.name == name)
            .filter_map(|e| match e.content {
                Content::Payload(ref payload) => Some(payload.clone()),
                Content::Short(_) => None,
            })
    }

    pub(super) fn payload(&self, name: Name, command: Command) -> Result<Payload<'t>, Problem> {
        let missing = Cause::Missing {
            element: name.text(),
            command: Some(command),
        };
        self.all(name)
            .next()
            .ok_or_else(|| self.problem(self.at, missing))
    }

    /// One path, or several: each in an element or on a line of its own.
    pub(super) fn paths(&self, command: Command) -> Result<Vec<Cow<'t, str>>, Problem> {
        self.path(command)?;
        let paths = self.elements.iter().filter(|e| e.name == Name::Path);
        let lines = paths.flat_map(|element| match element.content {
            Content::Short(content) => content.lines(),
            Content::Payload(_) => "".lines(),
        });
        let paths = lines.map(str::trim).filter(|line| !line.is_empty());
        Ok(paths.map(decode_entities).collect())
    }

    pub(super) fn path(&self, command: Command) -> Result<Cow<'t, str>, Problem> {
        let missing = Cause::Missing {
            element: "path",
            command: Some(command),
        };
        let (_, path) = self
            .short(Name::Path)?
            .ok_or_else(|| self.problem(self.at, missing))?;
        Ok(decode_entities(path))
    }

    pub(super) fn path_if_any(&self) -> Result<Option<Cow<'t, str>>, Problem> {
        let path = self.short(Name::Path)?;
        Ok(path.map(|(_, path)| decode_entities(path)))
    }

    /// A short element's offset and content; an error where it is there and empty.
    pub(super) fn short(&self, name: Name) -> Result<Option<(usize, &'t str)>, Problem> {
        let found = self.elements.iter().find(|e| e.name == name);
        match found.map(|e| (e.tag.at, &e.content)) {
            Some((at, Content::Short(""))) if name != Name::I => Err(self.problem(
                at,
                Cause::Empty {
                    element: name.text(),
                },
            )),
            Some((at, Content::Short(content))) => Ok(Some((at, content))),
            _ => Ok(None),
        }
    }

    pub(super) fn at_of(&self, name: Name) -> usize {
        self.elements
            .iter()
            .find(|e| e.name == name)
            .map_or(self.at, |e| e.tag.at)
    }

    /// What the value of an attribute means.
    pub(super) fn value<T>(
        &self,
        name: &'static str,
        value: Option<String>,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = value else { return Ok(None) };
        match parse(&value) {
            None => Err(self.bad_attribute(name, value, expected)),
            parsed => Ok(parsed),
        }
    }

    /// The values of the attributes that this command knows, on whichever element they stand; a warning for each other.
    pub(super) fn options<const N: usize>(
        &mut self,
        known: [&'static str; N],
    ) -> Result<[Option<String>; N], Problem> {
        let mut found = [const { None }; N];
        for element in self.elements.iter().filter(|e| OPTIONS.contains(&e.name)) {
            if !element.tag.has_attributes() {
                continue;
            }
            let (at, of) = (element.tag.at, element.name.text());
            let attributes = element.tag.attributes().map_err(|text| {
                let cause = Cause::UnreadableAttributes { element: of, text };
                self.problem(at, cause)
            })?;
            for (name, value) in attributes {
                if is_whole(element.name, &name, &value) {
                    continue;
                }
                let same = |known: &&str| *known == name || *known == name.replace('_', "-");
                match known.iter().position(same) {
                    Some(index) => found[index] = Some(value),
                    None => self.warnings.push(Problem {
                        at,
                        cause: Cause::UnknownAttribute { element: of, name },
                    }),
                }
            }
        }
        Ok(found)
    }

    pub(super) fn bad_attribute(
        &self,
        name: &'static str,
        value: String,
        expected: &'static str,
    ) -> Problem {
        let has_it = |e: &&Element<'_>| {
            OPTIONS.contains(&e.name)
                && e.tag
                    .attributes()
                    .is_ok_and(|all| all.iter().any(|(known, _)| known.replace('_', "-") == name))
        };
        let element = self.elements.iter().find(has_it);
        let element = element.map_or(Name::X, |element| element.name);
        self.problem(
            self.at_of(element),
            Cause::BadAttribute {
                element: element.text(),
                name,
                value,
                expected,
            },
        )
    }
}
