//! From a block to its action: the names, the parameters that each needs, and what is wrong with them.

use std::borrow::Cow;
use std::time::Duration;

use super::grammar::Properties;
use crate::lang::action::{Action, Change, Command, ContextTask, Payload};
use crate::lang::language::Language;
use crate::lang::task::Given;

/// An action, as the originals describe it.
struct Schema {
    command: Command,
    /// In both generations of the language.
    names: &'static [&'static str],
    params: &'static [Param],
    make: for<'t> fn(&Values<'_, 't>) -> Action<'t>,
}

struct Param {
    name: &'static str,
    kind: Kind,
    is_required: bool,
}

/// What a parameter's value must be.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Path,
    /// One on a line.
    Paths,
    Integer,
    Boolean,
    Version,
    Enum(&'static [&'static str]),
}

const fn needs(name: &'static str, kind: Kind) -> Param {
    Param {
        name,
        kind,
        is_required: true,
    }
}

const fn may(name: &'static str, kind: Kind) -> Param {
    Param {
        name,
        kind,
        is_required: false,
    }
}

const PATH: Param = needs("path", Kind::Path);
const PATHS: Param = needs("paths", Kind::Paths);
const CONTENT: Param = needs("content", Kind::Text);
const OLD_TEXT: Param = needs("old_text", Kind::Text);
const NEW_TEXT: Param = needs("new_text", Kind::Text);

/// What stands between a line's number and the line, where the reply does not say.
const DELIMITER: &str = ": ";

const SCHEMAS: &[Schema] = &[
    Schema {
        command: Command::Overwrite,
        names: &["file_write", "write_file", "file_create", "create_file"],
        params: &[PATH, CONTENT],
        make: |of| Action::Overwrite {
            path: of.text("path"),
            content: Payload::inline(of.text("content")),
            final_newline: true,
            only_new: false,
        },
    },
    Schema {
        command: Command::Append,
        names: &["file_append", "append_to_file", "append_file"],
        params: &[PATH, CONTENT],
        make: |of| Action::Append {
            path: of.text("path"),
            content: Payload::inline(of.text("content")),
            final_newline: true,
        },
    },
    Schema {
        command: Command::Edit,
        names: &["file_replace_text", "replace_text_in_file"],
        params: &[PATH, OLD_TEXT, NEW_TEXT],
        make: |of| Action::Edit {
            path: of.text("path"),
            change: Change::Literal {
                search: of.text("old_text"),
                replace: of.text("new_text"),
            },
            to: None,
        },
    },
    Schema {
        command: Command::Edit,
        names: &["file_replace_text_range", "replace_text_range_in_file"],
        params: &[
            PATH,
            needs("old_text_beginning", Kind::Text),
            needs("old_text_end", Kind::Text),
            NEW_TEXT,
        ],
        make: |of| Action::Edit {
            path: of.text("path"),
            change: Change::LiteralRange {
                beginning: of.text("old_text_beginning"),
                end: of.text("old_text_end"),
                replace: of.text("new_text"),
            },
            to: None,
        },
    },
    Schema {
        command: Command::ReplaceAll,
        names: &["file_replace_all_text", "replace_all_text_in_file"],
        params: &[PATH, OLD_TEXT, NEW_TEXT, may("count", Kind::Integer)],
        make: |of| Action::ReplaceAll {
            paths: vec![of.text("path")],
            search: Payload::inline(of.text("old_text")),
            replace: Payload::inline(of.text("new_text")),
            count: of.number("count").and_then(|count| count.try_into().ok()),
        },
    },
    Schema {
        command: Command::ReplaceAll,
        names: &["files_replace_all_text", "replace_all_text_in_files"],
        params: &[PATHS, OLD_TEXT, NEW_TEXT],
        make: |of| Action::ReplaceAll {
            paths: of.paths(),
            search: Payload::inline(of.text("old_text")),
            replace: Payload::inline(of.text("new_text")),
            count: None,
        },
    },
    Schema {
        command: Command::ReplaceLines,
        names: &["file_replace_lines", "replace_lines_in_file"],
        params: &[
            PATH,
            needs("lines", Kind::Text),
            needs("new_content", Kind::Text),
        ],
        make: |of| Action::ReplaceLines {
            path: of.text("path"),
            lines: of.text("lines"),
            content: Payload::inline(of.text("new_content")),
        },
    },
    Schema {
        command: Command::Move,
        names: &["file_move", "move_file"],
        params: &[needs("old_path", Kind::Path), needs("new_path", Kind::Path)],
        make: |of| Action::Move {
            path: of.text("old_path"),
            to: of.text("new_path"),
            overwrite: true,
            exact: true,
        },
    },
    Schema {
        command: Command::Delete,
        names: &["file_delete", "delete_file"],
        params: &[PATH],
        make: |of| Action::Delete {
            path: of.text("path"),
            only_file: true,
            held: Vec::new(),
        },
    },
    Schema {
        command: Command::Read,
        names: &["file_read", "read_file"],
        params: &[PATH],
        make: |of| Action::Read {
            paths: vec![of.text("path")],
            lines: None,
            numbers: None,
        },
    },
    Schema {
        command: Command::Read,
        names: &["file_read_numbered", "read_file_numbered"],
        params: &[PATH, may("lines", Kind::Text), may("delimiter", Kind::Text)],
        make: |of| Action::Read {
            paths: vec![of.text("path")],
            lines: of.some("lines"),
            numbers: of.some("delimiter").or(Some(DELIMITER.into())),
        },
    },
    Schema {
        command: Command::Read,
        names: &["files_read", "read_files"],
        params: &[PATHS],
        make: |of| Action::Read {
            paths: of.paths(),
            lines: None,
            numbers: None,
        },
    },
    Schema {
        command: Command::MakeFolder,
        names: &["dir_create", "create_dir", "create_directory"],
        params: &[PATH],
        make: |of| Action::MakeFolder {
            path: of.text("path"),
        },
    },
    Schema {
        command: Command::RemoveFolder,
        names: &["dir_delete", "delete_dir", "delete_directory"],
        params: &[PATH],
        make: |of| Action::RemoveFolder {
            path: of.text("path"),
        },
    },
    Schema {
        command: Command::List,
        names: &["ls"],
        params: &[PATH],
        make: |of| Action::List {
            path: of.some("path"),
        },
    },
    Schema {
        command: Command::Grep,
        names: &["grep"],
        params: &[
            needs("pattern", Kind::Text),
            PATH,
            may("include", Kind::Text),
        ],
        make: |of| Action::Grep {
            pattern: of.text("pattern"),
            path: of.some("path"),
            include: of.some("include"),
            ignore_case: false,
        },
    },
    Schema {
        command: Command::Glob,
        names: &["glob"],
        params: &[needs("pattern", Kind::Text), needs("base_path", Kind::Path)],
        make: |of| Action::Glob {
            pattern: of.text("pattern"),
            path: of.some("base_path"),
        },
    },
    Schema {
        command: Command::Exec,
        names: &["exec"],
        params: &[
            needs("code", Kind::Text),
            needs(
                "lang",
                Kind::Enum(&["python", "javascript", "bash", "ruby"]),
            ),
            may("version", Kind::Version),
            may("cwd", Kind::Path),
            may("return_output", Kind::Boolean),
            may("timeout", Kind::Integer),
        ],
        make: |of| {
            let lang = Language::parse(&of.text("lang"));
            let version = of.some("version").map(Cow::into_owned);
            Action::Exec {
                script: Payload::inline(of.text("code")),
                // In milliseconds; none is the configured one.
                timeout: of
                    .number("timeout")
                    .filter(|limit| *limit > 0)
                    .map(Duration::from_millis),
                lang,
                version: version.filter(|_| lang.is_some_and(|lang| !lang.is_shell())),
                cwd: of.some("cwd").map(Cow::into_owned),
                quiet: of.flag("return_output") == Some(false),
            }
        },
    },
    Schema {
        command: Command::ContextAdd,
        names: &["context_add"],
        params: &[PATH, may("lines", Kind::Text)],
        make: |of| {
            Action::Context(ContextTask::Add {
                paths: vec![of.text("path")],
                lines: of.some("lines"),
            })
        },
    },
    Schema {
        command: Command::ContextRemove,
        names: &["context_remove"],
        params: &[PATH],
        make: |of| {
            Action::Context(ContextTask::Remove {
                paths: vec![of.text("path")],
            })
        },
    },
    Schema {
        command: Command::ContextList,
        names: &["context_list"],
        params: &[],
        make: |_| Action::Context(ContextTask::List),
    },
    Schema {
        command: Command::ContextPrune,
        names: &["context_prune"],
        params: &[],
        make: |_| Action::Context(ContextTask::Prune),
    },
    Schema {
        command: Command::ContextClear,
        names: &["context_clear"],
        params: &[],
        make: |_| Action::Context(ContextTask::Clear),
    },
    Schema {
        command: Command::Undo,
        names: &["undo"],
        params: &[],
        make: |_| Action::ForUser(Command::Undo),
    },
    Schema {
        command: Command::Squash,
        names: &["git_squash"],
        params: &[],
        make: |_| Action::ForUser(Command::Squash),
    },
    Schema {
        command: Command::StepBack,
        names: &["git_step_back"],
        params: &[],
        make: |_| Action::ForUser(Command::StepBack),
    },
    Schema {
        command: Command::StepForward,
        names: &["git_step_forward"],
        params: &[],
        make: |_| Action::ForUser(Command::StepForward),
    },
];

/// The values of an action's parameters, in the order of its description.
struct Values<'v, 't>(&'v [(&'static str, Given<'t>)]);

impl<'t> Values<'_, 't> {
    fn get(&self, name: &str) -> Option<&Given<'t>> {
        let mut all = self.0.iter();
        all.find_map(|(known, value)| (*known == name).then_some(value))
    }

    fn some(&self, name: &str) -> Option<Cow<'t, str>> {
        match self.get(name)? {
            Given::Text(text) => Some(text.clone()),
            Given::Number(_) | Given::Flag(_) => None,
        }
    }

    /// One that is required.
    fn text(&self, name: &str) -> Cow<'t, str> {
        self.some(name).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Given::Number(number) => Some(*number),
            Given::Text(_) | Given::Flag(_) => None,
        }
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)? {
            Given::Flag(flag) => Some(*flag),
            Given::Text(_) | Given::Number(_) => None,
        }
    }

    fn paths(&self) -> Vec<Cow<'t, str>> {
        match self.text("paths") {
            Cow::Borrowed(text) => lines(text).map(Cow::Borrowed).collect(),
            Cow::Owned(text) => lines(&text)
                .map(|path| Cow::Owned(path.to_owned()))
                .collect(),
        }
    }
}

/// The paths of a parameter that holds one on a line.
pub(super) fn lines(paths: &str) -> impl Iterator<Item = &str> {
    paths.lines().map(str::trim).filter(|path| !path.is_empty())
}

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
    let is_meant = |schema: &&Schema| schema.names.iter().any(|n| n.eq_ignore_ascii_case(name));
    let Some(schema) = SCHEMAS.iter().find(is_meant) else {
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

/// What a block's action is about, for its line in the results.
pub(super) fn primary(command: Command, params: &[(&'static str, Given<'_>)]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_means_two_actions_and_each_leads_to_its_command() {
        let names: Vec<&str> = SCHEMAS
            .iter()
            .flat_map(|schema| schema.names)
            .copied()
            .collect();
        let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
        for command in Command::ALL {
            assert!(
                SCHEMAS.iter().any(|schema| schema.command == command),
                "{command:?}"
            );
        }
    }

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
