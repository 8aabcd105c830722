//! The floors and the habits that no compiler checks.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cases;

/// A crate that stands for an outside thing, and the part of the source that may know it.
const HOMES: &[(&str, &str)] = &[
    ("arboard", "world/clipboard"),
    ("cap_fs_ext", "world/workspace/"),
    ("cap_std", "world/workspace/"),
    ("cap_tempfile", "world/workspace/"),
    ("clap", "cli"),
    ("clap_complete", "cli"),
    ("clap_mangen", "cli/pages"),
    ("directories", "config"),
    ("git2", "world/snapshot"),
    ("globset", "lang/"),
    ("grep_matcher", "world/workspace/"),
    ("grep_regex", "world/workspace/"),
    ("grep_searcher", "world/workspace/"),
    ("ignore", "world/workspace/"),
    ("indicatif", "terminal"),
    ("jiff", "cmd/"),
    ("landlock", "world/sandbox/"),
    ("notify", "world/watch"),
    ("notify_debouncer_full", "world/watch"),
    ("notify_rust", "world/desktop"),
    ("pulldown_cmark", "cli/document"),
    ("quick_xml", "lang/tag"),
    ("rusqlite", "world/ledger"),
    ("tempfile", "world/"),
    ("sd_notify", "world/service/"),
    ("toml", "config"),
    ("toml_edit", "config/registry"),
    ("tracing_subscriber", "logs"),
    ("unicode_properties", "lang/nesl/assignment"),
    ("wl_clipboard_rs", "world/clipboard"),
];

/// What a floor may not name.
const FLOORS: [(&str, &[&str]); 4] = [
    (
        "lang/",
        &[
            "crate::batch",
            "crate::cli",
            "crate::cmd",
            "crate::config",
            "crate::daemon",
            "crate::engine",
            "crate::error",
            "crate::file_task",
            "crate::terminal",
            "crate::world",
            "std::env",
            "std::fs",
            "std::net",
            "std::process",
            "std::time::Instant",
            "std::time::SystemTime",
            "tokio",
            "tracing",
        ],
    ),
    (
        "world/",
        &[
            "crate::batch",
            "crate::cli",
            "crate::cmd",
            "crate::config",
            "crate::daemon",
            "crate::engine",
            "crate::error",
            "crate::file_task",
            "crate::terminal",
        ],
    ),
    (
        "engine.rs",
        &[
            "crate::batch",
            "crate::daemon",
            "crate::world",
            "crate::cmd",
            "std::fs",
            "std::time",
            "tokio",
        ],
    ),
    (
        "batch.rs",
        &[
            "crate::daemon",
            "crate::cmd",
            "crate::cli",
            "clipboard",
            "note_file",
            "world::watch",
        ],
    ),
];

#[test]
fn imports_go_down_only() {
    let mut wrong = String::new();
    for (name, source) in sources() {
        // Tests may use what they like.
        let product = source.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = product
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for (floor, never) in FLOORS.iter().filter(|(floor, _)| name.starts_with(floor)) {
            for word in never
                .iter()
                .filter(|word| code.iter().any(|line| line.contains(*word)))
            {
                wrong += &format!("{name} names {word}, which {floor} must not\n");
            }
        }
        for (outside, home) in HOMES.iter().filter(|(_, home)| !name.starts_with(home)) {
            let named = |line: &&&str| {
                line.contains(&format!("{outside}::")) && !line.contains(&format!("_{outside}::"))
            };
            if let Some(line) = code.iter().find(named).filter(|_| !is_test(&name)) {
                wrong += &format!("{name} names {outside}, which belongs to {home}: {line}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The world's files do not know each other, but for the small parts under some of them.
#[test]
fn the_world_is_flat() {
    const SHARED: [&str; 11] = [
        "attributes",
        "children",
        "folder",
        "hurry",
        "lease",
        "ownership",
        "programs",
        "sandbox",
        "scarce",
        "state",
        "survivors",
    ];
    let mut wrong = String::new();
    for (name, source) in sources() {
        let Some(own) = name
            .strip_prefix("world/")
            .map(|rest| rest.split(['/', '.']).next().unwrap_or_default())
        else {
            continue;
        };
        for line in source
            .lines()
            .filter(|line| line.contains("crate::world::"))
        {
            let others = line.split("crate::world::").nth(1).unwrap_or_default();
            let words = others.split(|c: char| !c.is_alphanumeric() && c != '_');
            let several = if others.starts_with('{') {
                usize::MAX
            } else {
                1
            };
            let named = words.filter(|word| !word.is_empty()).take(several);
            for other in named.filter(|other| *other != own && !SHARED.contains(other)) {
                wrong += &format!("{name} knows world::{other}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_file_says_what_it_owns() {
    let silent: Vec<String> = sources()
        .into_iter()
        .filter(|(_, source)| !source.starts_with("//! "))
        .map(|(name, _)| name)
        .collect();
    assert!(silent.is_empty(), "no first line in {silent:?}");
}

/// A folder of cases that nobody runs would look like a test.
#[test]
fn no_case_is_orphaned() {
    let tests: String = test_sources().into_values().collect();
    for entry in std::fs::read_dir(cases::root().join("test-data")).expect("test-data") {
        let path = entry.expect("entry").path();
        let name = path
            .file_name()
            .expect("name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let runs = ["cases::run", "scanned::check"];
            assert!(
                runs.iter()
                    .any(|run| tests.contains(&format!("{run}(\"{name}\""))),
                "nothing runs test-data/{name}"
            );
        }
    }
}

/// The repository stands on its own: no path of a machine, no address of a package registry.
#[test]
fn nothing_names_a_machine() {
    let words = [
        "/home/",
        "/root/",
        "crates.io",
        "github.com",
        "registry.npmjs",
    ]
    .map(str::to_owned);
    for (name, source) in sources() {
        for word in &words {
            assert!(!source.contains(word.as_str()), "{name} names {word}");
        }
    }
}

pub(crate) fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("/tests.rs")
}

/// Every source file by its path below `src`.
pub(crate) fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(&cases::root().join("src"), "", &mut found);
    found
}

/// Every file of the tests by its path below `tests`.
pub(crate) fn test_sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(&cases::root().join("tests"), "", &mut found);
    found
}

fn collect(folder: &Path, prefix: &str, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        let name = format!(
            "{prefix}{}",
            path.file_name().expect("name").to_string_lossy()
        );
        if path.is_dir() {
            collect(&path, &format!("{name}/"), into);
        } else if name.ends_with(".rs") {
            into.insert(name, std::fs::read_to_string(&path).expect("source"));
        }
    }
}
