//! The lessons of the teaching texts: for each command a task of CML, and the actions of SHAM and NESL that come to it.

use super::dialects::nesl::schemas::{SCHEMAS, Schema, schema};
use super::task::Command;
use crate::text::names::nearest_name;

/// A command as CML teaches it.
#[derive(Debug)]
pub struct Lesson {
    /// One task, in one line.
    pub example: &'static str,
    pub says: &'static str,
}

/// The lesson of a command; none where only the user may give it.
pub fn lesson(command: Command) -> Option<Lesson> {
    let (example, says) = match command {
        Command::Edit => (
            "<task><path>src/app.py</path><c>edit</c><search>old_name</search><replace>new_name</replace></task>",
            "replaces text that occurs exactly once",
        ),
        Command::Overwrite => (
            "<task><path>src/new.py</path><c>overwrite</c><x>print(1)</x></task>",
            "creates the file, or replaces its whole content",
        ),
        Command::Append => (
            "<task><path>notes.md</path><c>append</c><x>more</x></task>",
            "adds `<x>` at the end of the file; in block form, as lines of its own",
        ),
        Command::ReplaceAll => (
            "<task><path>src/app.py</path><path>src/b.py</path><c count=\"3\">replace-all</c><search>old</search><replace>new</replace></task>",
            "replaces exactly this text everywhere; `count` is the expected number of places",
        ),
        Command::ReplaceLines => (
            "<task><path>src/app.py</path><c lines=\"12-40\">replace-lines</c><x>pass</x></task>",
            "replaces these lines with `<x>`",
        ),
        Command::Move => (
            "<task><path>docs/old.md</path><c>move</c><x>docs/new.md</x></task>",
            "moves or renames; replaces a file only with `<x overwrite=\"yes\">`",
        ),
        Command::Delete => (
            "<task><path>src/dead.py</path><c>delete</c></task>",
            "deletes a file, or a folder with all its content",
        ),
        Command::MakeFolder => (
            "<task><path>src/new</path><c>mkdir</c></task>",
            "creates a folder and its parents",
        ),
        Command::RemoveFolder => (
            "<task><path>src/empty</path><c>rmdir</c></task>",
            "removes an empty folder",
        ),
        Command::Read => (
            "<task><path>src/app.py</path><c lines=\"1-120\" numbered=\"yes\">read</c></task>",
            "shows a file, or several with a `<path>` for each; `lines` and `numbered` are optional",
        ),
        Command::Outline => (
            "<task><path>src/app.py</path><c public=\"yes\">outline</c></task>",
            "lists the definitions of files and folders with their lines; `public` is optional",
        ),
        Command::List => (
            "<task><path>src</path><c>ls</c></task>",
            "lists a folder; without a `<path>`, the project folder",
        ),
        Command::Grep => (
            "<task><path>src</path><c include=\"*.py\" ignore-case=\"yes\">grep</c><x>def \\w+_name</x></task>",
            "finds lines by a regular expression in a file or folder; only `<x>` is required",
        ),
        Command::Glob => (
            "<task><path>src</path><c>glob</c><x>**/*.py</x></task>",
            "finds files by their names; `<path>` is optional",
        ),
        Command::Exec => (
            "<task><c timeout=\"90s\" lang=\"python\" cwd=\"src\">exec</c><x>print(1)</x></task>",
            "runs a bash script, or one in `lang`: python, javascript or ruby; `output=\"no\"` if its output is not \
            needed",
        ),
        Command::ContextAdd => (
            "<task><path>src/app.py</path><c lines=\"1-120\">context-add</c></task>",
            "adds files, lines of one, folders or globs to the set that I give to each chat; `level=\"outline\"` for \
            the definitions only, `name` for the path",
        ),
        Command::ContextRemove => (
            "<task><path>src/app.py</path><c>context-remove</c></task>",
            "removes files from that set",
        ),
        Command::ContextList => ("<task><c>context-list</c></task>", "lists that set"),
        Command::ContextPrune => (
            "<task><c>context-prune</c></task>",
            "removes files that no longer exist from that set",
        ),
        Command::ContextClear => ("<task><c>context-clear</c></task>", "empties that set"),
        Command::Undo | Command::Squash | Command::StepBack | Command::StepForward => return None,
    };
    Some(Lesson { example, says })
}

/// The actions that come to a command; none where only the user may do it.
pub fn actions(command: Command) -> impl Iterator<Item = &'static Schema> {
    let is_taught = move |schema: &&Schema| schema.command == command && command.typed().is_none();
    SCHEMAS.iter().filter(is_taught)
}

/// The reason that a name gives no command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandNameError {
    #[error("only you can do that, with `{typed}`")]
    ForUser { typed: &'static str },
    #[error("unknown action: did you mean `{nearest}`?")]
    Unknown { nearest: &'static str },
}

/// The command that a name means: one of CML, or an action of SHAM and NESL.
///
/// # Errors
/// For a name that there is none of, with the nearest one, and for what only the user may do.
pub fn command(name: &str) -> Result<Command, CommandNameError> {
    let known = Command::parse(name).or_else(|| Some(schema(name)?.command));
    if let Some(command) = known {
        return match command.typed() {
            Some(typed) => Err(CommandNameError::ForUser { typed }),
            None => Ok(command),
        };
    }
    let lower = name.to_ascii_lowercase();
    let names = Command::all().flat_map(|command| {
        let actions = actions(command).flat_map(|action| action.names);
        actions
            .copied()
            .chain(lesson(command).map(|_| command.name()))
    });
    let nearest = nearest_name(&lower, names);
    Err(CommandNameError::Unknown {
        nearest: nearest.unwrap_or_default(),
    })
}
