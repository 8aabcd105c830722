//! What models write instead of the right names, and the names that they meant.

use crate::reply::action::Command;
use crate::reply::cml::tag::Name;
use crate::reply::task::Cause;

/// What models write instead of the right name, where spelling alone would not lead to it.
const MEANT: [(&str, Name); 30] = [
    ("file", Name::Path),
    ("filename", Name::Path),
    ("filepath", Name::Path),
    ("file_path", Name::Path),
    ("folder", Name::Path),
    ("directory", Name::Path),
    ("source", Name::Path),
    ("command", Name::C),
    ("cmd", Name::C),
    ("action", Name::C),
    ("content", Name::X),
    ("contents", Name::X),
    ("code", Name::X),
    ("body", Name::X),
    ("text", Name::X),
    ("destination", Name::X),
    ("pattern", Name::X),
    ("regex", Name::X),
    ("query", Name::X),
    ("new_content", Name::X),
    ("new_path", Name::X),
    ("script", Name::X),
    ("find", Name::Search),
    ("old", Name::Search),
    ("old_text", Name::Search),
    ("new", Name::Replace),
    ("new_text", Name::Replace),
    ("description", Name::I),
    ("explanation", Name::I),
    ("reason", Name::I),
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

/// What other dialects and tools call a command, where spelling alone would not lead to it.
const CALLED: [(&str, Command); 40] = [
    ("file_write", Command::Overwrite),
    ("write_file", Command::Overwrite),
    ("file_create", Command::Overwrite),
    ("create_file", Command::Overwrite),
    ("write_to_file", Command::Overwrite),
    ("file_append", Command::Append),
    ("append_to_file", Command::Append),
    ("file_replace_text", Command::Edit),
    ("replace_text_in_file", Command::Edit),
    ("file_replace_text_range", Command::Edit),
    ("replace_text_range_in_file", Command::Edit),
    ("replace_in_file", Command::Edit),
    ("str_replace", Command::Edit),
    ("insert", Command::Edit),
    ("file_replace_all_text", Command::ReplaceAll),
    ("replace_all_text_in_file", Command::ReplaceAll),
    ("files_replace_all_text", Command::ReplaceAll),
    ("file_replace_lines", Command::ReplaceLines),
    ("replace_lines_in_file", Command::ReplaceLines),
    ("file_move", Command::Move),
    ("move_file", Command::Move),
    ("file_delete", Command::Delete),
    ("delete_file", Command::Delete),
    ("dir_create", Command::MakeFolder),
    ("make_dir", Command::MakeFolder),
    ("dir_delete", Command::RemoveFolder),
    ("file_read", Command::Read),
    ("read_file", Command::Read),
    ("file_read_numbered", Command::Read),
    ("read_file_numbered", Command::Read),
    ("files_read", Command::Read),
    ("read_files", Command::Read),
    ("list_dir", Command::List),
    ("list_files", Command::List),
    ("grep_search", Command::Grep),
    ("search_files", Command::Grep),
    ("find_files", Command::Glob),
    ("run_command", Command::Exec),
    ("execute_command", Command::Exec),
    ("execute", Command::Exec),
];

pub(super) fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if let Some((_, attribute)) = OPTION_ELEMENTS.iter().find(|(option, _)| *option == name) {
        return Some(attribute);
    }
    let aliases = MEANT.iter().map(|(alias, _)| *alias);
    let known = nearest(
        &name,
        Name::ELEMENTS.iter().map(|name| name.text()).chain(aliases),
    )?;
    let alias = MEANT.iter().find(|(alias, _)| *alias == known);
    Some(alias.map_or(known, |(_, name)| name.text()))
}

pub(super) fn unknown_command(name: &str) -> Cause {
    let wanted = name.to_ascii_lowercase().replace('-', "_");
    let called = CALLED.iter().find(|(called, _)| *called == wanted);
    let names = || {
        let names = Command::all().map(Command::names);
        nearest(&name.to_ascii_lowercase(), names.flatten().copied())
    };
    Cause::UnknownCommand {
        name: name.to_owned(),
        nearest: called.map_or_else(names, |(_, command)| Some(command.name())),
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
