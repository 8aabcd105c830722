//! The actions of SHAM and NESL: the names of each, its parameters, and what it comes to. All that is known of them is from
//! this table.

use std::borrow::Cow;
use std::time::Duration;

use super::values::Values;
use crate::reply::action::{Action, Change, Command, ContextTask, Payload};
use crate::text::language::Language;

/// An action, as the originals describe it.
pub struct Schema {
    /// What it comes to.
    pub command: Command,
    /// In both generations of the language; the first is the one that is taught.
    pub names: &'static [&'static str],
    /// What it does, for who learns it; nothing where only the user may do it.
    pub says: &'static str,
    pub params: &'static [Param],
    pub(super) make: for<'t> fn(&Values<'_, 't>) -> Action<'t>,
}

/// A parameter of an action.
pub struct Param {
    pub name: &'static str,
    pub(super) kind: Kind,
    pub is_required: bool,
}

impl Schema {
    /// Its main name.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// Whether it has this name, in any letter case.
    pub fn is_named(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The action of that name.
pub fn schema(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.is_named(name))
}

/// What a parameter's value must be.
#[derive(Clone, Copy)]
pub(super) enum Kind {
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

/// All of them.
pub const SCHEMAS: &[Schema] = &[
    Schema {
        command: Command::Overwrite,
        names: &["file_write", "write_file", "file_create", "create_file"],
        says: "creates the file and its folders, or replaces its whole content",
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
        says: "adds the content at the end of the file, without a newline before it",
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
        says: "replaces text that occurs exactly once",
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
        says: "replaces everything from one text to the other, both included; each occurs exactly once",
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
        says: "replaces the text everywhere; `count` is the expected number of places",
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
        says: "does the same in several files",
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
        says: "replaces lines by their numbers: `lines = \"12-40\"`",
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
        says: "moves or renames a file; an existing one is replaced",
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
        says: "deletes a file",
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
        says: "shows a file",
        params: &[PATH],
        make: |of| Action::Read {
            paths: vec![of.text("path")],
            lines: None,
            numbers: None,
            is_lenient: false,
        },
    },
    Schema {
        command: Command::Read,
        names: &["file_read_numbered", "read_file_numbered"],
        says: "shows a file, or some lines of it, with their numbers",
        params: &[PATH, may("lines", Kind::Text), may("delimiter", Kind::Text)],
        make: |of| Action::Read {
            paths: vec![of.text("path")],
            lines: of.some("lines"),
            numbers: of.some("delimiter").or(Some(DELIMITER.into())),
            is_lenient: false,
        },
    },
    Schema {
        command: Command::Read,
        names: &["files_read", "read_files"],
        says: "shows several files",
        params: &[PATHS],
        make: |of| Action::Read {
            paths: of.paths(),
            lines: None,
            numbers: None,
            is_lenient: false,
        },
    },
    Schema {
        command: Command::MakeFolder,
        names: &["dir_create", "create_dir", "create_directory"],
        says: "creates a folder and its parents",
        params: &[PATH],
        make: |of| Action::MakeFolder {
            path: of.text("path"),
        },
    },
    Schema {
        command: Command::RemoveFolder,
        names: &["dir_delete", "delete_dir", "delete_directory"],
        says: "removes an empty folder",
        params: &[PATH],
        make: |of| Action::RemoveFolder {
            path: of.text("path"),
        },
    },
    Schema {
        command: Command::List,
        names: &["ls"],
        says: "lists a folder",
        params: &[PATH],
        make: |of| Action::List {
            path: of.some("path"),
        },
    },
    Schema {
        command: Command::Grep,
        names: &["grep"],
        says: "finds lines by a regular expression; `include = \"*.py\"` searches only such files",
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
        says: "finds files by their names: `pattern = \"**/*.py\"`",
        params: &[needs("pattern", Kind::Text), needs("base_path", Kind::Path)],
        make: |of| Action::Glob {
            pattern: of.text("pattern"),
            path: of.some("base_path"),
        },
    },
    Schema {
        command: Command::Exec,
        names: &["exec"],
        says: "runs a script; `lang` is bash, python or javascript",
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
        says: "adds a file, or lines of it, to the set that I give to each chat",
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
        says: "removes a file from that set",
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
        says: "lists that set",
        params: &[],
        make: |_| Action::Context(ContextTask::List),
    },
    Schema {
        command: Command::ContextPrune,
        names: &["context_prune"],
        says: "removes files that no longer exist from that set",
        params: &[],
        make: |_| Action::Context(ContextTask::Prune),
    },
    Schema {
        command: Command::ContextClear,
        names: &["context_clear"],
        says: "empties that set",
        params: &[],
        make: |_| Action::Context(ContextTask::Clear),
    },
    Schema {
        command: Command::Undo,
        names: &["undo"],
        says: "",
        params: &[],
        make: |_| Action::ForUser(Command::Undo),
    },
    Schema {
        command: Command::Squash,
        names: &["git_squash"],
        says: "",
        params: &[],
        make: |_| Action::ForUser(Command::Squash),
    },
    Schema {
        command: Command::StepBack,
        names: &["git_step_back"],
        says: "",
        params: &[],
        make: |_| Action::ForUser(Command::StepBack),
    },
    Schema {
        command: Command::StepForward,
        names: &["git_step_forward"],
        says: "",
        params: &[],
        make: |_| Action::ForUser(Command::StepForward),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::dialect::Dialect;
    use crate::reply::scan::scan;

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

    /// A block with all that an action needs, or with all that it can have.
    fn block(name: &str, params: impl Iterator<Item = &'static Param>) -> String {
        let lines = params.map(|param| {
            let value = match param.kind {
                Kind::Text => "1-2",
                Kind::Path | Kind::Paths => "/tmp/a",
                Kind::Integer => "5",
                Kind::Boolean => "true",
                Kind::Version => "3.11",
                Kind::Enum(allowed) => allowed[0],
            };
            format!("{} = \"{value}\"\n", param.name)
        });
        let lines: String = lines.collect();
        format!("#!SHAM [@three-char-SHA-256: abc]\naction = \"{name}\"\n{lines}#!END_SHAM_abc\n")
    }

    #[test]
    fn each_name_is_read_in_any_letter_case_and_echoed() {
        let mixed = |name: &str| -> String {
            let letters = name.char_indices();
            let letters = letters.map(|(at, letter)| match at % 2 {
                0 => letter.to_ascii_uppercase(),
                _ => letter,
            });
            letters.collect()
        };
        for schema in SCHEMAS {
            for name in schema.names {
                for name in [(*name).to_owned(), name.to_ascii_uppercase(), mixed(name)] {
                    let needed = schema.params.iter().filter(|param| param.is_required);
                    for (text, params) in [
                        (block(&name, needed.clone()), needed.count()),
                        (block(&name, schema.params.iter()), schema.params.len()),
                    ] {
                        let found = scan(&text);
                        let [batch] = found.batches.as_slice() else {
                            panic!("{text}");
                        };
                        assert_eq!(batch.dialect, Dialect::Sham);
                        let task = &batch.tasks[0];
                        assert_eq!(task.command, Some(schema.command), "{text}");
                        let action = task.action.as_ref().expect("an action");
                        assert_eq!(action.command(), schema.command);
                        let call = task.call.as_ref().expect("a call");
                        assert_eq!((call.name.as_ref(), call.params.len()), (&*name, params));
                    }
                }
            }
        }
    }
}
