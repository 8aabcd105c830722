//! The elements of a task one by one: paths, payloads, attributes.

use std::borrow::Cow;

use super::{Element, ElementContent, Elements, is_whole};
use crate::reply::action::{Command, Payload};
use crate::reply::cml::tag::{ElementName, decode_entities};
use crate::reply::task::{Cause, Problem};

impl<'t> Elements<'t> {
    pub(super) fn all(&self, name: ElementName) -> impl Iterator<Item = Payload<'t>> {
        let named = self.elements.iter().filter(move |e| e.name == name);
        named.filter_map(|e| match &e.content {
            ElementContent::Payload(payload) => Some(payload.clone()),
            ElementContent::Short(_) => None,
        })
    }

    pub(super) fn payload(
        &self,
        name: ElementName,
        command: Command,
    ) -> Result<Payload<'t>, Problem> {
        let payload = self.all(name).next();
        payload.ok_or_else(|| self.missing(name, command))
    }

    pub(super) fn missing(&self, name: ElementName, command: Command) -> Problem {
        let cause = Cause::Missing {
            element: name.text(),
            command: Some(command),
        };
        self.problem(self.at, cause)
    }

    pub(super) fn first(&self, name: ElementName) -> Option<&Element<'t>> {
        self.elements.iter().find(|element| element.name == name)
    }

    /// One path, or several: each in an element or on a line of its own.
    pub(super) fn paths(&self, command: Command) -> Result<Vec<Cow<'t, str>>, Problem> {
        self.path(command)?;
        let paths = self.elements.iter().filter(|e| e.name == ElementName::Path);
        let lines = paths.flat_map(|element| match element.content {
            ElementContent::Short(content) => content.lines(),
            ElementContent::Payload(_) => "".lines(),
        });
        let paths = lines.map(str::trim).filter(|line| !line.is_empty());
        Ok(paths.map(decode_entities).collect())
    }

    pub(super) fn path(&self, command: Command) -> Result<Cow<'t, str>, Problem> {
        let path = self.path_if_any()?;
        path.ok_or_else(|| self.missing(ElementName::Path, command))
    }

    pub(super) fn path_if_any(&self) -> Result<Option<Cow<'t, str>>, Problem> {
        let path = self.short(ElementName::Path)?;
        Ok(path.map(|(_, path)| decode_entities(path)))
    }

    /// A short element's offset and content; an error where it is there and empty.
    pub(super) fn short(&self, name: ElementName) -> Result<Option<(usize, &'t str)>, Problem> {
        let element = name.text();
        match self.first(name).map(|e| (e.tag.at, &e.content)) {
            Some((at, ElementContent::Short(""))) if name != ElementName::I => {
                Err(self.problem(at, Cause::Empty { element }))
            }
            Some((at, ElementContent::Short(content))) => Ok(Some((at, content))),
            _ => Ok(None),
        }
    }

    pub(super) fn at_of(&self, name: ElementName) -> usize {
        self.first(name).map_or(self.at, |element| element.tag.at)
    }

    /// The meaning of an attribute's value.
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
        let has_any = |e: &&Element<'_>| e.tag.has_attributes() && e.name.has_options();
        for element in self.elements.iter().filter(has_any) {
            let (at, of) = (element.tag.at, element.name.text());
            let attributes = element.tag.attributes().map_err(|text| {
                let text = text.to_owned();
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
                    None => {
                        let cause = Cause::UnknownAttribute { element: of, name };
                        self.warnings.push(self.problem(at, cause));
                    }
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
            let attributes = e.tag.attributes().unwrap_or_default();
            let mut names = attributes.iter().map(|(known, _)| known.replace('_', "-"));
            e.name.has_options() && names.any(|known| known == name)
        };
        let element = self.elements.iter().find(has_it);
        let element = element.map_or(ElementName::X, |element| element.name);
        let cause = Cause::BadAttribute {
            element: element.text(),
            name,
            value,
            expected,
        };
        self.problem(self.at_of(element), cause)
    }
}
