//! From a block to its action, and what is wrong with its name and its parameters.

use std::borrow::Cow;
use std::time::Duration;

use super::grammar::Properties;
use super::schemas::{Schema, schema};
use super::values::{Arguments, lines, number};
use crate::reply::action::{Action, Command, ContextTask, Payload, Replacement};
use crate::reply::context::ContextLevel;
use crate::text::language::Language;

/// The languages of a script.
const LANGUAGES: [&str; 4] = ["python", "javascript", "bash", "ruby"];

/// The text between a line's number and the line, where the reply does not say.
const DELIMITER: &str = ": ";

/// An action with the parameters that a block gives it.
#[derive(Debug)]
pub(super) struct Request<'t> {
    pub(super) params: Vec<(&'static str, Cow<'t, str>)>,
    pub(super) action: Action<'t>,
}

/// The error in a block whose form is good.
#[derive(Debug)]
pub(super) struct InvalidRequest {
    /// `validation` or `type`.
    pub(super) kind: &'static str,
    pub(super) message: String,
}

/// Reads the action of a block; `marks` is the name of its dialect in messages.
pub(super) fn read<'t>(
    properties: &Properties<'t>,
    marks: &str,
) -> Result<Request<'t>, InvalidRequest> {
    let invalid = |message| InvalidRequest {
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
    let mut required = schema.params().filter(|param| param.is_required);
    if let Some(missing) = required.find(|param| properties.get(param.name).is_none()) {
        let said = format!("Missing required parameter: {}", missing.name);
        return Err(invalid(said));
    }
    let mut params = Vec::new();
    for param in schema.params() {
        if let Some(value) = properties.get(param.name) {
            check(param.name, value)?;
            params.push((param.name, value.clone()));
        }
    }
    Ok(Request {
        action: action(schema, &Arguments(&params)),
        params,
    })
}

/// Refuses the value of a parameter that must be something else.
fn check(param: &str, value: &str) -> Result<(), InvalidRequest> {
    let message = match param {
        "path" | "old_path" | "new_path" | "base_path" | "cwd" if !is_absolute(value) => {
            format!("Invalid absolute path: {value}")
        }
        "paths" => match lines(value).find(|path| !is_absolute(path)) {
            Some(path) => format!("Invalid absolute path: {path}"),
            None => return Ok(()),
        },
        "count" | "timeout" if number(value).is_none() => {
            format!("Invalid integer value: {value}")
        }
        "return_output" if !matches!(value, "true" | "false") => {
            format!("Invalid boolean value: {value}")
        }
        "version" if !is_version(value) => {
            format!("Invalid version: {value}. Write digits and dots, such as 3.11")
        }
        "lang" if !LANGUAGES.contains(&value) => {
            let allowed = LANGUAGES.join(", ");
            format!("Invalid enum value: {value}. Allowed: {allowed}")
        }
        "level" if ContextLevel::parse(value).is_none() => {
            let allowed = ContextLevel::ALL.map(ContextLevel::word).join(", ");
            format!("Invalid enum value: {value}. Allowed: {allowed}")
        }
        _ => return Ok(()),
    };
    let kind = "type";
    Err(InvalidRequest { kind, message })
}

/// The action that these arguments come to.
fn action<'t>(schema: &Schema, of: &Arguments<'_, 't>) -> Action<'t> {
    match schema.command {
        Command::Overwrite => Action::Overwrite {
            path: of.text("path"),
            content: Payload::inline(of.text("content")),
            final_newline: true,
            only_new: false,
        },
        Command::Append => Action::Append {
            path: of.text("path"),
            content: Payload::inline(of.text("content")),
            final_newline: true,
        },
        Command::Edit => Action::Edit {
            path: of.text("path"),
            change: match of.some("old_text") {
                Some(search) => Replacement::Literal {
                    search,
                    replace: of.text("new_text"),
                },
                None => Replacement::LiteralRange {
                    beginning: of.text("old_text_beginning"),
                    end: of.text("old_text_end"),
                    replace: of.text("new_text"),
                },
            },
            to: None,
        },
        Command::ReplaceAll => Action::ReplaceAll {
            paths: of.paths(),
            search: Payload::inline(of.text("old_text")),
            replace: Payload::inline(of.text("new_text")),
            count: of.number("count").and_then(|count| count.try_into().ok()),
        },
        Command::ReplaceLines => Action::ReplaceLines {
            path: of.text("path"),
            lines: of.text("lines"),
            content: Payload::inline(of.text("new_content")),
        },
        Command::Move => Action::Move {
            path: of.text("old_path"),
            to: of.text("new_path"),
            overwrite: true,
            exact: true,
        },
        Command::Delete => Action::Delete {
            path: of.text("path"),
            only_file: true,
            held: Vec::new(),
        },
        Command::Read => {
            let is_numbered = schema.params.contains(&"delimiter?");
            let default = is_numbered.then_some(DELIMITER.into());
            Action::Read {
                paths: of.paths(),
                lines: of.some("lines"),
                numbers: of.some("delimiter").or(default),
                is_lenient: false,
            }
        }
        Command::MakeFolder => Action::MakeFolder {
            path: of.text("path"),
        },
        Command::RemoveFolder => Action::RemoveFolder {
            path: of.text("path"),
        },
        Command::Outline => Action::Outline {
            paths: of.paths(),
            only_public: false,
        },
        Command::List => Action::List {
            path: of.some("path"),
        },
        Command::Grep => Action::Grep {
            pattern: of.text("pattern"),
            path: of.some("path"),
            include: of.some("include"),
            ignore_case: false,
        },
        Command::Glob => Action::Glob {
            pattern: of.text("pattern"),
            path: of.some("base_path"),
        },
        Command::Exec => {
            let lang = Language::parse(&of.text("lang"));
            let version = of.some("version").map(Cow::into_owned);
            // In milliseconds; none is the configured one.
            let timeout = of.number("timeout").filter(|limit| *limit > 0);
            Action::Exec {
                script: Payload::inline(of.text("code")),
                timeout: timeout.map(Duration::from_millis),
                lang,
                version: version.filter(|_| lang.is_some_and(|lang| !lang.is_shell())),
                cwd: of.some("cwd").map(Cow::into_owned),
                quiet: of.some("return_output").as_deref() == Some("false"),
            }
        }
        Command::ContextAdd => Action::Context(ContextTask::Add {
            paths: of.paths(),
            lines: of.some("lines"),
            level: of
                .some("level")
                .and_then(|level| ContextLevel::parse(&level)),
        }),
        Command::ContextRemove => Action::Context(ContextTask::Remove { paths: of.paths() }),
        Command::ContextList => Action::Context(ContextTask::List),
        Command::ContextPrune => Action::Context(ContextTask::Prune),
        Command::ContextClear => Action::Context(ContextTask::Clear),
        Command::Undo | Command::Squash | Command::StepBack | Command::StepForward => {
            Action::ForUser(schema.command)
        }
    }
}

fn is_version(value: &str) -> bool {
    let is_plain = value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_plain && !value.is_empty() && !value.starts_with('.')
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    path.starts_with(['/'])
        || path.starts_with(r"\\")
        || matches!(bytes, [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic())
}
