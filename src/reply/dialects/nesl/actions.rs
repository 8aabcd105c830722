//! From a block to its action, and what is wrong with its name and its parameters.

use std::borrow::Cow;

use super::grammar::Properties;
use super::schemas::{Kind, schema};
use super::values::{Values, lines};
use crate::reply::action::{Action, Command};
use crate::reply::task::Given;

/// What a block asks for.
#[derive(Debug)]
pub(super) struct Asked<'t> {
    pub(super) command: Command,
    pub(super) params: Vec<(&'static str, Given<'t>)>,
    pub(super) action: Action<'t>,
}

/// What is wrong with a block whose form is good.
#[derive(Debug)]
pub(super) struct Wrong {
    /// `validation` or `type`.
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// Reads what a block asks for; `marks` is the name of its dialect in messages.
pub(super) fn read<'t>(properties: &Properties<'t>, marks: &str) -> Result<Asked<'t>, Wrong> {
    let invalid = |message| Wrong {
        kind: "validation",
        message,
    };
    let name = match properties.get("action") {
        Some(name) if !name.is_empty() => name,
        _ => return Err(invalid(format!("Missing 'action' field in {marks} block"))),
    };
    let Some(schema) = schema(name) else {
        return Err(invalid(format!("Unknown action: {name}")));
    };
    let mut required = schema.params.iter().filter(|param| param.is_required);
    if let Some(missing) = required.find(|param| properties.get(param.name).is_none()) {
        let said = format!("Missing required parameter: {}", missing.name);
        return Err(invalid(said));
    }
    let mut params = Vec::new();
    for param in schema.params {
        if let Some(value) = properties.get(param.name) {
            let value = param.kind.read(value).map_err(|message| Wrong {
                kind: "type",
                message,
            })?;
            params.push((param.name, value));
        }
    }
    Ok(Asked {
        command: schema.command,
        action: (schema.make)(&Values(&params)),
        params,
    })
}

impl Kind {
    fn read<'t>(self, value: &Cow<'t, str>) -> Result<Given<'t>, String> {
        let text = || Given::Text(value.clone());
        match self {
            Self::Text => Ok(text()),
            Self::Path if is_absolute(value) => Ok(text()),
            Self::Path => Err(format!("Invalid absolute path: {value}")),
            Self::Paths => match lines(value).find(|path| !is_absolute(path)) {
                Some(path) => Err(format!("Invalid absolute path: {path}")),
                None => Ok(text()),
            },
            Self::Integer => number(value.trim())
                .map(Given::Number)
                .ok_or_else(|| format!("Invalid integer value: {value}")),
            Self::Boolean => match value.as_ref() {
                "true" => Ok(Given::Flag(true)),
                "false" => Ok(Given::Flag(false)),
                _ => Err(format!("Invalid boolean value: {value}")),
            },
            Self::Version => match value.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
                true if value.starts_with(|c: char| c != '.') => Ok(text()),
                _ => Err(format!(
                    "Invalid version: {value}. Write digits and dots, such as 3.11"
                )),
            },
            Self::Enum(allowed) if allowed.contains(&value.as_ref()) => Ok(text()),
            Self::Enum(allowed) => {
                let allowed = allowed.join(", ");
                Err(format!("Invalid enum value: {value}. Allowed: {allowed}"))
            }
        }
    }
}

/// A plain decimal number.
fn number(text: &str) -> Option<u64> {
    let number = text.parse::<u64>().ok()?;
    (number.to_string() == text).then_some(number)
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    path.starts_with(['/'])
        || path.starts_with(r"\\")
        || matches!(bytes, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic())
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
