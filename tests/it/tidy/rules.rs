//! The rules, each as a function from sources to findings.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// The floors from the lowest up. A file names only what is below its floor, or beside it in its own folder.
pub(super) const FLOORS: [&str; 19] = [
    "text",
    "clock",
    "code",
    "reply",
    "policy",
    "edit",
    "novelty",
    "report",
    "world",
    "settings",
    "git",
    "run",
    "error",
    "listener",
    "logs",
    "cli",
    "start",
    "supervisor",
    "cmd",
];

/// The floors that know nothing but text and values.
const PURE: [&str; 7] = [
    "text", "code", "reply", "policy", "edit", "novelty", "report",
];

/// What the pure floors may not name.
const OUTSIDE: [&str; 9] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "tokio",
    "tracing",
];

/// A crate that stands for an outside thing, and the part of the source that may know it; two parts where both need it.
const HOMES: [(&str, &str); 40] = [
    ("arboard", "world/clipboard"),
    ("cap_fs_ext", "world/workspace/"),
    ("cap_std", "world/workspace/"),
    ("clap", "cli"),
    ("clap_complete", "cli"),
    ("clap_mangen", "cli/pages"),
    ("dbus", "world/desktop/"),
    ("directories", "settings/places"),
    ("git2", "git/"),
    ("globset", "text/|policy/pattern"),
    ("grep_matcher", "world/workspace/"),
    ("grep_regex", "world/workspace/"),
    ("grep_searcher", "world/workspace/"),
    ("ignore", "world/workspace/"),
    ("indicatif", "cli/terminal"),
    ("jiff", "clock"),
    ("landlock", "world/sandbox/"),
    ("memmap2", "world/whole_file"),
    ("notify", "world/watch"),
    ("notify_debouncer_full", "world/watch"),
    ("notify_rust", "world/desktop/mac"),
    ("objc2", "world/clipboard/watching/"),
    ("objc2_app_kit", "world/clipboard/watching/"),
    ("pulldown_cmark", "cli/document|world/syntax/markdown"),
    ("quick_xml", "reply/cml/tag"),
    ("rusqlite", "world/ledger"),
    ("tempfile", "world/|git/"),
    ("similar", "text/diff"),
    ("sd_notify", "world/service/"),
    ("tiktoken", "text/tokens"),
    ("toml", "settings"),
    ("toml_edit", "settings/registry"),
    ("tracing_subscriber", "logs"),
    ("tree_sitter", "world/syntax/grammar/"),
    ("unicode_properties", "reply/dialects/nesl/assignment"),
    ("wayland_client", "world/clipboard/watching/"),
    ("wayland_protocols", "world/clipboard/watching/"),
    ("wayland_protocols_wlr", "world/clipboard/watching/"),
    ("wl_clipboard_rs", "world/clipboard"),
    ("x11rb", "world/clipboard/watching/"),
];

/// The parts of the world that its other parts may know: each is one thing that the system does, and knows no other part.
const SHARED: [&str; 18] = [
    "attendant",
    "attributes",
    "clipboard::display",
    "compare",
    "file_or_link",
    "folder",
    "hurry",
    "lease",
    "locked",
    "long_text",
    "ownership",
    "process",
    "programs",
    "sandbox",
    "scarce",
    "state",
    "survivors",
    "syntax",
];

/// The most lines of a function.
pub(super) const LONGEST_FUNCTION: usize = 80;

/// Types with one name, as only one of them is compiled for a system.
const TWINS: [&str; 3] = ["Clickable", "Family", "Prepared"];

/// Functions that are one flat table or `match`, which is easier to read in one piece.
const FLAT: [&str; 6] = [
    "action",
    "action_of",
    "carry_out",
    "lesson",
    "problem",
    "told",
];

/// The file whose doc comments are the help: they say what a flag decides.
const HELP: &str = "cli/mod.rs";

/// The words that open a question, and no sentence that says what a thing is.
const QUESTIONS: [&str; 9] = [
    "What", "How", "Whether", "Which", "Where", "When", "Why", "If", "Who",
];

/// Names of a floor that is not below.
pub(super) fn imports_that_go_up(sources: &[Source]) -> Vec<String> {
    let floor = |part: &str| FLOORS.iter().position(|floor| *floor == part);
    let mut found = Vec::new();
    for source in sources {
        let Some(own) = source.module.get(1) else {
            continue;
        };
        let Some(at) = floor(own) else {
            // What begins a crate.
            if !["main", "core"].contains(&own.as_str()) {
                found.push(format!("{} is on no floor", source.name));
            }
            continue;
        };
        for (path, line) in &source.paths {
            let other = path.get(1).filter(|_| path[0] == "crate");
            let Some(other) = other.filter(|other| *other != own) else {
                continue;
            };
            if floor(other).is_some_and(|other| other > at) {
                found.push(format!(
                    "{}:{line} names {}, which is above it",
                    source.name,
                    path.join("::")
                ));
            }
        }
    }
    found
}

/// Files, processes, clocks and logs on the floors of text and values.
pub(super) fn impure_text(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        if !source
            .module
            .get(1)
            .is_some_and(|own| PURE.contains(&own.as_str()))
        {
            continue;
        }
        for (path, line) in &source.paths {
            let path = path.join("::");
            let is_outside =
                |word: &&&str| path == ***word || path.starts_with(&format!("{word}::"));
            if let Some(word) = OUTSIDE.iter().find(|word| is_outside(word)) {
                found.push(format!(
                    "{}:{line} names {word}, and is pure text",
                    source.name
                ));
            }
        }
    }
    found
}

/// Outside crates that are named away from their home.
pub(super) fn crates_away_from_home(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for (path, line) in &source.paths {
            let home = HOMES.iter().find(|(outside, _)| *outside == path[0]);
            if let Some((outside, home)) =
                home.filter(|(_, home)| !home.split('|').any(|home| source.name.starts_with(home)))
            {
                found.push(format!(
                    "{}:{line} names {outside}, whose home is {home}",
                    source.name
                ));
            }
        }
    }
    found
}

/// Parts of the world that know another part.
pub(super) fn parts_of_the_world_that_meet(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let [_, world, own, ..] = source.module.as_slice() else {
            continue;
        };
        if world != "world" {
            continue;
        }
        for (path, line) in &source.paths {
            let [of, world, other, rest @ ..] = path.as_slice() else {
                continue;
            };
            let is_other = of == "crate" && world == "world" && other != own;
            let part = rest.first().map(|part| format!("{other}::{part}"));
            let is_shared = |shared: &&str| shared == other || part.as_deref() == Some(*shared);
            if is_other && !SHARED.iter().any(is_shared) {
                found.push(format!("{}:{line} knows world::{other}", source.name));
            }
        }
    }
    found
}

/// Files that do not open with a line on what they are for.
pub(super) fn files_without_an_opening(sources: &[Source]) -> Vec<String> {
    let silent = sources
        .iter()
        .filter(|source| !source.text.starts_with("//! "));
    silent.map(|source| source.name.clone()).collect()
}

/// The names that types of several files have, with these files.
pub(super) fn shared_names(sources: &[Source]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources {
        for (name, _) in &source.items.types {
            files.entry(name).or_default().insert(&source.name);
        }
    }
    files.retain(|name, files| files.len() > 1 && !TWINS.contains(name));
    files
}

/// Types whose name stands in more than one file.
pub(super) fn names_in_two_files(sources: &[Source]) -> Vec<String> {
    let shared = shared_names(sources).into_iter();
    shared
        .map(|(name, files)| format!("{name} is a type in {files:?}"))
        .collect()
}

/// Doc comments that open with the word of a question.
pub(super) fn docs_that_ask(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.name != HELP) {
        for (doc, line) in &source.items.docs {
            let first = doc.split(|c: char| !c.is_alphabetic()).next();
            if first.is_some_and(|first| QUESTIONS.contains(&first)) {
                found.push(format!(
                    "{}:{line} opens with a question: {doc}",
                    source.name
                ));
            }
        }
    }
    found
}

/// Each `match` on a bool.
pub(super) fn matches_on_a_bool(sources: &[Source]) -> Vec<String> {
    each_line(
        sources,
        |source| &source.items.matches_on_bool,
        "matches on a bool",
    )
}

/// Each error that is only a text.
pub(super) fn errors_that_are_text(sources: &[Source]) -> Vec<String> {
    each_line(
        sources,
        |source| &source.items.text_errors,
        "has a text for an error",
    )
}

/// Each parameter that is taken apart as a tuple.
pub(super) fn tuples_as_parameters(sources: &[Source]) -> Vec<String> {
    each_line(
        sources,
        |source| &source.items.tuples,
        "takes a tuple apart as a parameter",
    )
}

fn each_line(sources: &[Source], of: impl Fn(&Source) -> &Vec<usize>, what: &str) -> Vec<String> {
    let lines = sources.iter().flat_map(|source| {
        let lines = of(source).iter();
        lines.map(|line| format!("{}:{line} {what}", source.name))
    });
    lines.collect()
}

/// Functions that are too long.
pub(super) fn long_functions(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        for (name, line, lines) in &source.items.functions {
            if *lines > LONGEST_FUNCTION && !FLAT.contains(&name.as_str()) {
                found.push(format!("{}:{line} {name} has {lines} lines", source.name));
            }
        }
    }
    found
}
