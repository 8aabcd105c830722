//! The values that a block gives to the parameters of its action.

use std::borrow::Cow;

use crate::reply::action::Command;
use crate::reply::task::ParamValue;

/// The values of an action's parameters, in the order of its description.
pub(super) struct Arguments<'v, 't>(pub(super) &'v [(&'static str, ParamValue<'t>)]);

impl<'t> Arguments<'_, 't> {
    fn get(&self, name: &str) -> Option<&ParamValue<'t>> {
        let mut all = self.0.iter();
        all.find_map(|(known, value)| (*known == name).then_some(value))
    }

    pub(super) fn some(&self, name: &str) -> Option<Cow<'t, str>> {
        match self.get(name)? {
            ParamValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The value of a required parameter.
    pub(super) fn text(&self, name: &str) -> Cow<'t, str> {
        self.some(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            ParamValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            ParamValue::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The one path, or all of several.
    pub(super) fn paths(&self) -> Vec<Cow<'t, str>> {
        match self.some("paths") {
            None => vec![self.text("path")],
            Some(Cow::Borrowed(text)) => lines(text).map(Cow::Borrowed).collect(),
            Some(Cow::Owned(text)) => lines(&text).map(|path| path.to_owned().into()).collect(),
        }
    }
}

/// The paths of a parameter that holds one on a line.
pub(crate) fn lines(paths: &str) -> impl Iterator<Item = &str> {
    paths.lines().map(str::trim).filter(|path| !path.is_empty())
}

/// The subject of a block's action, for its line in the results.
pub(super) fn primary(command: Command, params: &[(&'static str, ParamValue<'_>)]) -> String {
    let values = Arguments(params);
    let order: &[&str] = match command {
        Command::Grep => &["pattern"],
        _ => &["path", "paths", "pattern", "lang", "old_path"],
    };
    let mut found = order
        .iter()
        .filter_map(|name| Some((*name, values.some(name)?)));
    match found.next() {
        Some(("paths", paths)) => format!("({} files)", lines(&paths).count()),
        Some((_, value)) => value.into_owned(),
        None => String::new(),
    }
}
