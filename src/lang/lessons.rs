//! How each command is asked for, as the teaching texts tell it: a task of CML, and the actions of SHAM and NESL with their
//! parameters. What they mean is elsewhere.

use super::task::Command;

/// How a command is asked for in CML.
#[derive(Debug)]
pub struct Task {
    /// One task, in one line.
    pub example: &'static str,
    pub says: &'static str,
}

/// An action of SHAM and NESL.
#[derive(Debug)]
pub struct Action {
    pub name: &'static str,
    /// Its parameters; a `?` stands behind one that may be left out.
    pub params: &'static str,
    pub says: &'static str,
}

/// A task with the command; none where only the user may do it.
pub fn task(command: Command) -> Option<Task> {
    let (example, says) = match command {
        Command::Edit => (
            "<task><path>src/app.py</path><c>edit</c><search>old_name</search><replace>new_name</replace></task>",
            "replaces a text that is there exactly once",
        ),
        Command::Overwrite => (
            "<task><path>src/new.py</path><c>overwrite</c><x>print(1)</x></task>",
            "creates the file, or replaces all that is in it",
        ),
        Command::Append => (
            "<task><path>notes.md</path><c>append</c><x>more</x></task>",
            "adds `<x>` at the end of the file, in block form as lines of its own",
        ),
        Command::ReplaceAll => (
            "<task><path>src/app.py</path><path>src/b.py</path><c count=\"3\">replace-all</c><search>old</search><replace>new</replace></task>",
            "replaces this very text wherever it is; `count` is how many places there must be",
        ),
        Command::ReplaceLines => (
            "<task><path>src/app.py</path><c lines=\"12-40\">replace-lines</c><x>pass</x></task>",
            "puts `<x>` in the place of these lines",
        ),
        Command::Move => (
            "<task><path>docs/old.md</path><c>move</c><x>docs/new.md</x></task>",
            "moves or renames; onto a file only with `<x overwrite=\"yes\">`",
        ),
        Command::Delete => (
            "<task><path>src/dead.py</path><c>delete</c></task>",
            "deletes a file, or a folder with all that is in it",
        ),
        Command::MakeFolder => (
            "<task><path>src/new</path><c>mkdir</c></task>",
            "makes a folder and its parents",
        ),
        Command::RemoveFolder => (
            "<task><path>src/empty</path><c>rmdir</c></task>",
            "removes an empty folder",
        ),
        Command::Read => (
            "<task><path>src/app.py</path><c lines=\"1-120\" numbered=\"yes\">read</c></task>",
            "shows a file, or several by a `<path>` for each; `lines` and `numbered` may be left out",
        ),
        Command::List => (
            "<task><path>src</path><c>ls</c></task>",
            "lists a folder; without a `<path>` the project folder",
        ),
        Command::Grep => (
            "<task><path>src</path><c include=\"*.py\" ignore-case=\"yes\">grep</c><x>def \\w+_name</x></task>",
            "finds lines by a regular expression, in a file or folder; only `<x>` is needed",
        ),
        Command::Glob => (
            "<task><path>src</path><c>glob</c><x>**/*.py</x></task>",
            "finds files by their names; `<path>` may be left out",
        ),
        Command::Exec => (
            "<task><c timeout=\"90s\" lang=\"python\" cwd=\"src\">exec</c><x>print(1)</x></task>",
            "runs a script, of bash unless `lang` says python, javascript or ruby; `output=\"no\"` where its output is not needed",
        ),
        Command::ContextAdd => (
            "<task><path>src/app.py</path><c lines=\"1-120\">context-add</c></task>",
            "adds files, or lines of one, to the set that I give to each chat",
        ),
        Command::ContextRemove => (
            "<task><path>src/app.py</path><c>context-remove</c></task>",
            "takes files out of that set",
        ),
        Command::ContextList => ("<task><c>context-list</c></task>", "lists that set"),
        Command::ContextPrune => (
            "<task><c>context-prune</c></task>",
            "takes out of that set what is no longer there",
        ),
        Command::ContextClear => ("<task><c>context-clear</c></task>", "empties that set"),
        Command::Undo | Command::Squash | Command::StepBack | Command::StepForward => return None,
    };
    Some(Task { example, says })
}

/// The actions that come to a command; none where only the user may do it.
pub fn actions(command: Command) -> &'static [Action] {
    const fn action(name: &'static str, params: &'static str, says: &'static str) -> Action {
        Action { name, params, says }
    }
    match command {
        Command::Edit => {
            const {
                &[
                    action(
                        "file_replace_text",
                        "path, old_text, new_text",
                        "replaces a text that is there exactly once",
                    ),
                    action(
                        "file_replace_text_range",
                        "path, old_text_beginning, old_text_end, new_text",
                        "replaces from the one text to the other, both included; each is there exactly once",
                    ),
                ]
            }
        }
        Command::Overwrite => {
            const {
                &[action(
                    "file_write",
                    "path, content",
                    "creates the file and its folders, or replaces all that is in it",
                )]
            }
        }
        Command::Append => {
            const {
                &[action(
                    "file_append",
                    "path, content",
                    "adds the content where the file ends; no newline is added before it",
                )]
            }
        }
        Command::ReplaceAll => {
            const {
                &[
                    action(
                        "file_replace_all_text",
                        "path, old_text, new_text, count?",
                        "replaces the text wherever it is; `count` is how many places there must be",
                    ),
                    action(
                        "files_replace_all_text",
                        "paths, old_text, new_text",
                        "does so in several files",
                    ),
                ]
            }
        }
        Command::ReplaceLines => {
            const {
                &[action(
                    "file_replace_lines",
                    "path, lines, new_content",
                    "replaces lines by their numbers: `lines = \"12-40\"`",
                )]
            }
        }
        Command::Move => {
            const {
                &[action(
                    "file_move",
                    "old_path, new_path",
                    "moves or renames a file, also onto one that is there",
                )]
            }
        }
        Command::Delete => const { &[action("file_delete", "path", "deletes a file")] },
        Command::MakeFolder => {
            const {
                &[action(
                    "dir_create",
                    "path",
                    "makes a folder and its parents",
                )]
            }
        }
        Command::RemoveFolder => {
            const { &[action("dir_delete", "path", "removes an empty folder")] }
        }
        Command::Read => {
            const {
                &[
                    action("file_read", "path", "shows a file"),
                    action("files_read", "paths", "shows several files"),
                    action(
                        "file_read_numbered",
                        "path, lines?, delimiter?",
                        "shows a file, or some lines of it, with their numbers",
                    ),
                ]
            }
        }
        Command::List => const { &[action("ls", "path", "lists a folder")] },
        Command::Grep => {
            const {
                &[action(
                    "grep",
                    "pattern, path, include?",
                    "finds lines by a regular expression; `include = \"*.py\"` takes only such files",
                )]
            }
        }
        Command::Glob => {
            const {
                &[action(
                    "glob",
                    "pattern, base_path",
                    "finds files by their names: `pattern = \"**/*.py\"`",
                )]
            }
        }
        Command::Exec => {
            const {
                &[action(
                    "exec",
                    "code, lang, cwd?, version?, return_output?, timeout?",
                    "runs a script; `lang` is bash, python or javascript",
                )]
            }
        }
        Command::ContextAdd => {
            const {
                &[action(
                    "context_add",
                    "path",
                    "adds a file to the set that I give to each chat",
                )]
            }
        }
        Command::ContextRemove => {
            const {
                &[action(
                    "context_remove",
                    "path",
                    "takes a file out of that set",
                )]
            }
        }
        Command::ContextList => const { &[action("context_list", "", "lists that set")] },
        Command::ContextPrune => {
            const {
                &[action(
                    "context_prune",
                    "",
                    "takes out of that set what is no longer there",
                )]
            }
        }
        Command::ContextClear => const { &[action("context_clear", "", "empties that set")] },
        Command::Undo | Command::Squash | Command::StepBack | Command::StepForward => &[],
    }
}

/// The command that a name means: one of CML, or an action of SHAM and NESL.
///
/// # Errors
/// For a name that there is none of, with the nearest one, and for what only the user may do.
pub fn command(name: &str) -> Result<Command, String> {
    let of_action = |command: &Command| {
        let mut actions = actions(*command).iter();
        actions.any(|action| action.name.eq_ignore_ascii_case(name))
    };
    let known = Command::parse(name).or_else(|| Command::ALL.into_iter().find(of_action));
    if let Some(command) = known {
        return match command.typed() {
            Some(typed) => Err(format!("only you can do that, with `{typed}`")),
            None => Ok(command),
        };
    }
    let lower = name.to_ascii_lowercase();
    let names = Command::ALL.into_iter().flat_map(|command| {
        let actions = actions(command).iter().map(|action| action.name);
        actions.chain(task(command).map(|_| command.name()))
    });
    let nearest = names.min_by_key(|known| strsim::osa_distance(known, &lower));
    Err(format!(
        "there is no such action: did you mean `{}`?",
        nearest.unwrap_or_default()
    ))
}
