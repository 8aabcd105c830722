//! The floors and the habits that no compiler checks. `the_numbers -- --nocapture` prints what there is to count.

mod rules;
mod source;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use crate::cases;
use source::Source;

/// A rule: what it finds in sources.
type Rule = fn(&[Source]) -> Vec<String>;

/// A rule that must find nothing in the source, and something in the file that is given with it.
fn holds(rule: Rule, name: &str, broken: &str) {
    let found = rule(product());
    assert!(
        found.is_empty(),
        "{}\n{} findings",
        found.join("\n"),
        found.len()
    );
    let found = rule(&[Source::new(name, broken)]);
    assert_eq!(found.len(), 1, "the rule cannot fail: {found:?}");
}

/// The sources, test files aside. Parsed once for all rules.
fn product() -> &'static [Source] {
    static PRODUCT: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let sources = sources().into_iter().filter(|(name, _)| !is_test(name));
        let parsed = sources.map(|(name, text)| Source::new(&name, &text));
        parsed.collect()
    });
    &PRODUCT
}

#[test]
fn imports_go_down_only() {
    holds(
        rules::imports_that_go_up,
        "text/a.rs",
        "use crate::{text::b, run::Runner};",
    );
    holds(
        rules::imports_that_go_up,
        "world/a/b.rs",
        "fn a() { super::super::super::git::look() }",
    );
    holds(rules::imports_that_go_up, "drawer/a.rs", "");
}

#[test]
fn text_and_values_know_nothing_outside() {
    holds(
        rules::impure_text,
        "reply/a.rs",
        "use std::{fmt, fs::File};",
    );
    holds(
        rules::impure_text,
        "edit/a.rs",
        "fn a() { eprintln!(\"{:?}\", std::time::Instant::now()) }",
    );
}

#[test]
fn each_outside_crate_has_one_home() {
    holds(
        rules::crates_away_from_home,
        "run/a.rs",
        "use git2::Repository;",
    );
}

/// The world's files do not know each other, but for the small parts under some of them.
#[test]
fn the_world_is_flat() {
    holds(
        rules::parts_of_the_world_that_meet,
        "world/lock/a.rs",
        "use crate::world::{lock, scarce, ledger::Ledger};",
    );
}

#[test]
fn every_file_says_what_it_owns() {
    holds(
        rules::files_without_an_opening,
        "text/a.rs",
        "use std::fmt;",
    );
}

#[test]
fn every_type_has_a_name_of_its_own() {
    let found = rules::names_in_two_files(product());
    assert!(
        found.is_empty(),
        "{}\n{} findings",
        found.join("\n"),
        found.len()
    );
    let twice = ["a/a.rs", "b/b.rs"].map(|name| Source::new(name, "struct Place;"));
    assert_eq!(rules::names_in_two_files(&twice).len(), 1);
    let in_tests = "#[cfg(test)] mod tests { struct Place; }";
    let once = [
        Source::new("a.rs", "struct Place;"),
        Source::new("b.rs", in_tests),
    ];
    assert!(rules::names_in_two_files(&once).is_empty());
}

#[test]
fn doc_comments_say_what_a_thing_is() {
    holds(
        rules::docs_that_ask,
        "text/a.rs",
        "struct A {\n    /// How large it is.\n    size: u64,\n}",
    );
}

#[test]
fn nothing_matches_on_a_bool() {
    holds(
        rules::matches_on_a_bool,
        "text/a.rs",
        "fn a(b: bool) -> u8 { match b { true => 1, false => 2 } }",
    );
}

#[test]
fn errors_are_types() {
    holds(
        rules::errors_that_are_text,
        "text/a.rs",
        "fn a() -> Result<u8, String> { Ok(1) }",
    );
}

#[test]
fn parameters_have_names() {
    holds(
        rules::tuples_as_parameters,
        "text/a.rs",
        "fn a((b, c): (u8, u8)) {}",
    );
}

#[test]
fn functions_fit_on_a_screen() {
    let long = format!(
        "fn a() {{\n{}}}",
        "    b();\n".repeat(rules::LONGEST_FUNCTION)
    );
    holds(rules::long_functions, "text/a.rs", &long);
}

/// Prints the numbers by which the source can be compared with that of other programs.
#[test]
fn the_numbers() {
    let sources = product();
    let count = |of: fn(&Source) -> usize| -> usize { sources.iter().map(of).sum() };
    let types = sources.iter().flat_map(|source| &source.items.types);
    let names: std::collections::BTreeSet<&str> = types.map(|(name, _)| name.as_str()).collect();
    let functions = sources.iter().flat_map(|source| &source.items.functions);
    let long = functions
        .clone()
        .filter(|(_, _, lines)| *lines > 60)
        .count();
    let longest = functions.clone().map(|(_, _, lines)| *lines).max();
    let mut lines: Vec<usize> = sources
        .iter()
        .map(|source| source.text.lines().count())
        .collect();
    lines.sort_unstable();
    let code = count(|source| source.code);
    eprintln!("lines of code, tests aside         {code}");
    for floor in rules::FLOORS {
        let here = sources
            .iter()
            .filter(|source| source.module.get(1).is_some_and(|own| own == floor));
        eprintln!(
            "  {floor:<32} {}",
            here.map(|source| source.code).sum::<usize>()
        );
    }
    eprintln!(
        "type names in more than one file   {} of {}",
        rules::shared_names(sources).len(),
        names.len()
    );
    eprintln!(
        "doc comments that open with What … {} of {}",
        rules::docs_that_ask(sources).len(),
        count(|source| source.items.docs.len())
    );
    eprintln!(
        "`match` on a bool                  {}",
        rules::matches_on_a_bool(sources).len()
    );
    eprintln!(
        "`Result<_, String>`                {}",
        rules::errors_that_are_text(sources).len()
    );
    eprintln!(
        "parameters taken apart             {}",
        rules::tuples_as_parameters(sources).len()
    );
    eprintln!(
        "functions above 60 lines           {long} of {}, the longest {longest:?}",
        functions.count()
    );
    eprintln!(
        "median file, lines                 {}",
        lines[lines.len() / 2]
    );
    assert!(code > 10_000, "the numbers are of nothing");
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
        // `outline` has cases of the files in `code`.
        if path.is_dir() && name != "code" {
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

/// Every source file by its path below `src`. The modules of `src/core` are modules of `clada` too, and go by that name.
pub(crate) fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(&cases::root().join("src"), "", &mut found);
    let shown = |name: String| match name.strip_prefix("core/") {
        Some(own) if own != "lib.rs" => own.to_owned(),
        _ => name,
    };
    let found = found.into_iter();
    found.map(|(name, text)| (shown(name), text)).collect()
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
