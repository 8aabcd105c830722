//! The actions of SHAM and NESL: the command that each comes to, its names and its parameters.

use crate::reply::action::Command;

/// An action, as the originals describe it.
pub struct Schema {
    /// The command that it comes to.
    pub command: Command,
    /// The names in both generations of the language; the first is the one that is taught.
    pub names: &'static [&'static str],
    /// Its description, for those who learn it; empty where only the user may do it.
    pub says: &'static str,
    /// The names of its parameters; a `?` stands behind one that may be left out.
    pub params: &'static [&'static str],
}

/// A parameter of an action.
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
}

impl Schema {
    const fn new(
        command: Command,
        names: &'static [&'static str],
        says: &'static str,
        params: &'static [&'static str],
    ) -> Self {
        Self {
            command,
            names,
            says,
            params,
        }
    }

    /// Its main name.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// True if it has this name, in any letter case.
    pub fn is_named(&self, name: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Its parameters, in the order in which they are taught.
    pub(super) fn params(&self) -> impl Iterator<Item = Param> + Clone + use<> {
        self.params.iter().map(|param| {
            let name = param.trim_end_matches('?');
            Param {
                name,
                is_required: name == *param,
            }
        })
    }
}

/// The action of that name.
pub fn schema(name: &str) -> Option<&'static Schema> {
    SCHEMAS.iter().find(|schema| schema.is_named(name))
}

/// All actions.
pub const SCHEMAS: &[Schema] = &[
    Schema::new(
        Command::Overwrite,
        &["file_write", "write_file", "file_create", "create_file"],
        "creates the file and its folders, or replaces its whole content",
        &["path", "content"],
    ),
    Schema::new(
        Command::Append,
        &["file_append", "append_to_file", "append_file"],
        "adds the content at the end of the file, without a newline before it",
        &["path", "content"],
    ),
    Schema::new(
        Command::Edit,
        &["file_replace_text", "replace_text_in_file"],
        "replaces text that occurs exactly once",
        &["path", "old_text", "new_text"],
    ),
    Schema::new(
        Command::Edit,
        &["file_replace_text_range", "replace_text_range_in_file"],
        "replaces everything from one text to the other, both included; each occurs exactly once",
        &["path", "old_text_beginning", "old_text_end", "new_text"],
    ),
    Schema::new(
        Command::ReplaceAll,
        &["file_replace_all_text", "replace_all_text_in_file"],
        "replaces the text everywhere; `count` is the expected number of places",
        &["path", "old_text", "new_text", "count?"],
    ),
    Schema::new(
        Command::ReplaceAll,
        &["files_replace_all_text", "replace_all_text_in_files"],
        "does the same in several files",
        &["paths", "old_text", "new_text"],
    ),
    Schema::new(
        Command::ReplaceLines,
        &["file_replace_lines", "replace_lines_in_file"],
        "replaces lines by their numbers: `lines = \"12-40\"`",
        &["path", "lines", "new_content"],
    ),
    Schema::new(
        Command::Move,
        &["file_move", "move_file"],
        "moves or renames a file; an existing one is replaced",
        &["old_path", "new_path"],
    ),
    Schema::new(
        Command::Delete,
        &["file_delete", "delete_file"],
        "deletes a file",
        &["path"],
    ),
    Schema::new(
        Command::Read,
        &["file_read", "read_file"],
        "shows a file",
        &["path"],
    ),
    Schema::new(
        Command::Read,
        &["file_read_numbered", "read_file_numbered"],
        "shows a file, or some lines of it, with their numbers",
        &["path", "lines?", "delimiter?"],
    ),
    Schema::new(
        Command::Read,
        &["files_read", "read_files"],
        "shows several files",
        &["paths"],
    ),
    Schema::new(
        Command::MakeFolder,
        &["dir_create", "create_dir", "create_directory"],
        "creates a folder and its parents",
        &["path"],
    ),
    Schema::new(
        Command::RemoveFolder,
        &["dir_delete", "delete_dir", "delete_directory"],
        "removes an empty folder",
        &["path"],
    ),
    Schema::new(
        Command::Outline,
        &["outline"],
        "lists the definitions of a file or folder with their lines",
        &["path"],
    ),
    Schema::new(Command::List, &["ls"], "lists a folder", &["path"]),
    Schema::new(
        Command::Grep,
        &["grep"],
        "finds lines by a regular expression; `include = \"*.py\"` searches only such files",
        &["pattern", "path", "include?"],
    ),
    Schema::new(
        Command::Glob,
        &["glob"],
        "finds files by their names: `pattern = \"**/*.py\"`",
        &["pattern", "base_path"],
    ),
    Schema::new(
        Command::Exec,
        &["exec"],
        "runs a script; `lang` is bash, python or javascript",
        &[
            "code",
            "lang",
            "version?",
            "cwd?",
            "return_output?",
            "timeout?",
        ],
    ),
    Schema::new(
        Command::ContextAdd,
        &["context_add"],
        "adds a file, or lines of it, or a folder, to the set that I give to each chat; `level` is full, outline or name",
        &["path", "lines?", "level?"],
    ),
    Schema::new(
        Command::ContextRemove,
        &["context_remove"],
        "removes a file from that set",
        &["path"],
    ),
    Schema::new(
        Command::ContextList,
        &["context_list"],
        "lists that set",
        &[],
    ),
    Schema::new(
        Command::ContextPrune,
        &["context_prune"],
        "removes files that no longer exist from that set",
        &[],
    ),
    Schema::new(
        Command::ContextClear,
        &["context_clear"],
        "empties that set",
        &[],
    ),
    Schema::new(Command::Undo, &["undo"], "", &[]),
    Schema::new(Command::Squash, &["git_squash"], "", &[]),
    Schema::new(Command::StepBack, &["git_step_back"], "", &[]),
    Schema::new(Command::StepForward, &["git_step_forward"], "", &[]),
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
        for command in Command::all() {
            assert!(
                SCHEMAS.iter().any(|schema| schema.command == command),
                "{command:?}"
            );
        }
    }

    /// A block with all that an action needs, or with all that it can have.
    fn block(name: &str, params: impl Iterator<Item = Param>) -> String {
        let lines = params.map(|param| {
            let value = match param.name {
                "path" | "paths" | "old_path" | "new_path" | "base_path" | "cwd" => "/tmp/a",
                "count" | "timeout" => "5",
                "return_output" => "true",
                "version" => "3.11",
                "lang" => "python",
                "level" => "outline",
                _ => "1-2",
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
                    let needed = schema.params().filter(|param| param.is_required);
                    for (text, params) in [
                        (block(&name, needed.clone()), needed.count()),
                        (block(&name, schema.params()), schema.params.len()),
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
