//! The values that a block gives to the parameters of its action.

use std::borrow::Cow;

use crate::reply::action::Command;
use crate::reply::task::Given;

/// The values of an action's parameters, in the order of its description.
pub(super) struct Values<'v, 't>(pub(super) &'v [(&'static str, Given<'t>)]);

impl<'t> Values<'_, 't> {
    fn get(&self, name: &str) -> Option<&Given<'t>> {
        let mut all = self.0.iter();
        all.find_map(|(known, value)| (*known == name).then_some(value))
    }

    pub(crate) fn some(&self, name: &str) -> Option<Cow<'t, str>> {
        match self.get(name)? {
            Given::Text(text) => Some(text.clone()),
            Given::Number(_) | Given::Flag(_) => None,
        }
    }

    /// One that is required.
    pub(crate) fn text(&self, name: &str) -> Cow<'t, str> {
        self.some(name).unwrap_or_default()
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Given::Number(number) => Some(*number),
            Given::Text(_) | Given::Flag(_) => None,
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Given::Flag(flag) => Some(*flag),
            Given::Text(_) | Given::Number(_) => None,
        }
    }

    pub(crate) fn paths(&self) -> Vec<Cow<'t, str>> {
        match self.text("paths") {
            Cow::Borrowed(text) => lines(text).map(Cow::Borrowed).collect(),
            Cow::Owned(text) => lines(&text)
                .map(|path| Cow::Owned(path.to_owned()))
                .collect(),
        }
    }
}

/// The paths of a parameter that holds one on a line.
pub(crate) fn lines(paths: &str) -> impl Iterator<Item = &str> {
    paths.lines().map(str::trim).filter(|path| !path.is_empty())
}

/// What a block's action is about, for its line in the results.
pub(crate) fn primary(command: Command, params: &[(&'static str, Given<'_>)]) -> String {
    let values = Values(params);
    let order: &[&str] = match command {
        Command::Grep => &["pattern"],
        _ => &["path", "paths", "pattern", "lang", "old_path"],
    };
    let found = order
        .iter()
        .find_map(|name| Some((*name, values.some(name)?)));
    match found {
        Some(("paths", paths)) => format!("({} files)", lines(&paths).count()),
        Some((_, value)) => value.into_owned(),
        None => String::new(),
    }
}
