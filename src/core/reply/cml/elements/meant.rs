//! What models write instead of the right names, and the names that they meant.

use crate::reply::action::Command;
use crate::reply::cml::tag::ElementName;
use crate::reply::dialects::nesl::schemas::schema;
use crate::reply::task::Cause;

/// The names that models write instead of the right one, where spelling alone would not lead to it.
const MEANT: [(ElementName, &str); 6] = [
    (
        ElementName::Path,
        "file|filename|filepath|file_path|folder|directory|source",
    ),
    (ElementName::C, "command|cmd|action"),
    (
        ElementName::X,
        "content|contents|code|body|text|destination|pattern|regex|query|new_content|new_path|script",
    ),
    (ElementName::Search, "find|old|old_text"),
    (ElementName::Replace, "new|new_text"),
    (ElementName::I, "description|explanation|reason"),
];

/// Elements that models write for what is an attribute, and how that is written.
const OPTION_ELEMENTS: [(&str, &str); 10] = [
    ("lines", "c lines=\"12-40\""),
    ("line", "c lines=\"12-40\""),
    ("range", "c lines=\"12-40\""),
    ("count", "c count=\"3\""),
    ("delimiter", "c numbered=\"yes\" delimiter=\": \""),
    ("include", "c include=\"*.rs\""),
    ("lang", "c lang=\"python\""),
    ("cwd", "c cwd=\"sub/dir\""),
    ("timeout", "c timeout=\"90s\""),
    ("overwrite", "c overwrite=\"yes\""),
];

/// The names of commands in other tools, where spelling alone would not lead to them.
const CALLED: [(Command, &str); 8] = [
    (Command::Overwrite, "write_to_file"),
    (Command::Edit, "replace_in_file|str_replace|insert"),
    (Command::MakeFolder, "make_dir"),
    (
        Command::Outline,
        "list_code_definition_names|get_symbols_overview",
    ),
    (Command::List, "list_dir|list_files"),
    (Command::Grep, "grep_search|search_files"),
    (Command::Glob, "find_files"),
    (Command::Exec, "run_command|execute_command|execute"),
];

/// The right name of an element that CML does not have, or the attribute that stands for it.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if let Some((_, attribute)) = OPTION_ELEMENTS.iter().find(|(option, _)| *option == name) {
        return Some(attribute);
    }
    let names = ElementName::ELEMENTS.map(|name| (name.text(), name));
    let aliases = MEANT
        .iter()
        .flat_map(|(meant, names)| names.split('|').map(|name| (name, *meant)));
    let all: Vec<_> = names.into_iter().chain(aliases).collect();
    let known = nearest(&name, all.iter().map(|(known, _)| *known))?;
    let meant = all.iter().find(|(name, _)| *name == known);
    meant.map(|(_, meant)| meant.text())
}

/// The problem of a command that CML does not have, with the one that is meant.
pub(super) fn unknown_command(name: &str) -> Cause {
    let lower = name.to_ascii_lowercase();
    let wanted = lower.replace('-', "_");
    let mut called = CALLED.iter();
    let called = called.find(|(_, names)| names.split('|').any(|name| name == wanted));
    let command = called.map(|(command, _)| *command);
    let command = command.or_else(|| Some(schema(&wanted)?.command));
    let nearest = match command {
        Some(command) => Some(command.name()),
        None => nearest(&lower, Command::all().flat_map(Command::names).copied()),
    };
    Cause::UnknownCommand {
        name: name.to_owned(),
        nearest,
    }
}

/// The known name that a misspelt one is most like, if it is like one at all.
pub(super) fn nearest(
    name: &str,
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let like = known
        .filter(|k| k.len() > 1)
        .map(|k| (strsim::normalized_damerau_levenshtein(name, k), k));
    like.filter(|(similarity, _)| *similarity > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}
