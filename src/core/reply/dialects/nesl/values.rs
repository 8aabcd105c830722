//! The values that a block gives to the parameters of its action.

use std::borrow::Cow;

use serde_json::Value;

use crate::reply::action::Command;

/// The values of an action's parameters, in the order of its description.
pub(super) struct Arguments<'v, 't>(pub(super) &'v [(&'static str, Cow<'t, str>)]);

impl<'t> Arguments<'_, 't> {
    pub(super) fn some(&self, name: &str) -> Option<Cow<'t, str>> {
        let mut all = self.0.iter();
        all.find_map(|(known, value)| (*known == name).then(|| value.clone()))
    }

    /// The value of a required parameter.
    pub(super) fn text(&self, name: &str) -> Cow<'t, str> {
        self.some(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        number(&self.some(name)?)
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

/// A plain decimal number, with blanks around it.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let number = text.parse::<u64>().ok()?;
    (number.to_string() == text).then_some(number)
}

/// The value of a parameter, for `--json`.
pub(crate) fn json(name: &str, value: &str) -> Value {
    match name {
        "count" | "timeout" => number(value).into(),
        "return_output" => (value == "true").into(),
        _ => value.into(),
    }
}

/// The paths of a parameter that holds one on a line.
pub(crate) fn lines(paths: &str) -> impl Iterator<Item = &str> {
    paths.lines().map(str::trim).filter(|path| !path.is_empty())
}

/// The subject of a block's action, for its line in the results.
pub(super) fn primary(command: Command, params: &[(&'static str, Cow<'_, str>)]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_are_integers() {
        for (text, expected) in [
            ("0", Some(0)),
            ("42", Some(42)),
            ("007", None),
            ("+1", None),
            ("-1", None),
            ("1.0", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
