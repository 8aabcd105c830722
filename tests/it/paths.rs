//! Which pattern decides about a path, and what the settings say of one that cannot be meant.

use std::path::Path;

use clada::policy::paths::{Access, PathList, PathPattern, Paths};
use proptest::prelude::*;

use crate::harness::Project;

fn patterns(all: &[&str]) -> Vec<PathPattern> {
    let pattern = |text: &&str| PathPattern::try_from((*text).to_owned()).expect("a pattern");
    all.iter().map(pattern).collect()
}

/// Whether a path may be read, by `allow` and `deny`.
fn may(allow: &[&str], deny: &[&str], path: &str) -> bool {
    let (allow, deny) = (patterns(allow), patterns(deny));
    let list = |allows, patterns| PathList {
        setting: "list",
        of: None,
        allows,
        patterns,
    };
    let lists = [list(true, &allow[..]), list(false, &deny[..])];
    let paths = Paths::new(&lists, Path::new("/r"), Path::new("/r/home")).expect("inside");
    paths.refuses(Access::Read, Path::new(path)).is_none()
}

#[test]
fn what_a_pattern_covers() {
    for (pattern, covered, other) in [
        ("a", &["a", "a/b", "A/b/c"][..], &["b/a", "ab"][..]),
        (
            "*.pem",
            &["x.pem", "x.PEM", ".pem", "d.pem/x"],
            &["a/x.pem", "x.pem2"],
        ),
        ("**/*.pem", &["x.pem", "a/b/x.pem", "a/x.pem/y"], &["x.pe"]),
        (
            "src/**/gen/?.rs",
            &["src/gen/a.rs", "src/a/b/gen/c.rs"],
            &["src/gen/ab.rs", "gen/a.rs"],
        ),
        ("./a//b/", &["a/b", "a/b/c"], &["a", "a/c"]),
        ("/r/a", &["a"], &["r/a"]),
        ("~/a", &["home/a"], &["a"]),
        ("**", &["a", "a/b"], &[]),
        ("é*", &["Éa"], &["e"]),
    ] {
        for path in covered {
            assert!(may(&[pattern], &[], path), "{pattern} {path}");
        }
        for path in other {
            assert!(!may(&[pattern], &[], path), "{pattern} {path}");
        }
    }
    assert!(may(&[], &["**"], ""), "the root is always there");
}

#[test]
fn the_more_precise_one_decides() {
    for (allow, deny, path, expected) in [
        ("**", "a", "a/b", false),
        ("a/b", "a", "a/b/c", true),
        ("a", "a/b", "a/b/c", false),
        ("a/*.rs", "a/**", "a/x.rs", true),
        ("a/b*", "a/*", "a/bc", true),
        ("a", "a", "a", false),
        ("*b", "a*", "ab", false),
    ] {
        assert_eq!(
            may(&[allow], &[deny], path),
            expected,
            "{allow} {deny} {path}"
        );
    }
}

#[test]
fn a_pattern_that_cannot_be_meant_is_an_error() {
    let project = Project::new();
    for (settings, expected) in [
        (
            "[paths]\ndeny = ['../a']",
            "line 2, column 8: `../a` has a `..`: nothing outside the project folder can be opened, so write a path relative to that folder",
        ),
        (
            "[paths.read]\nallow = ['a',\n '*.{a,b}']",
            "line 2, column 9: `*.{a,b}` has a `[`, `{` or `\\`, which have no meaning here: use `*`, `**` or `?` (which matches these characters too)",
        ),
        (
            "[paths.write]\nallow = ['']",
            "line 2, column 9: `` is not a path: write one relative to the project folder, such as `src/**` or `**/*.pem`",
        ),
        (
            "[paths]\ndeny = ['/etc/passwd']",
            "`paths.deny`: `/etc/passwd`: nothing outside the project folder can be opened",
        ),
        (
            "[paths.read]\ndeny = ['~/x']",
            "`paths.read.deny`: `~/x`: nothing outside the project folder can be opened",
        ),
        (
            "[paths]\nred = []",
            "line 2, column 1: unknown key `paths.red`: did you mean `read`?",
        ),
        (
            "[actions]\nallow = ['edti']",
            "line 2, column 9: unknown action `edti`: did you mean `edit`?",
        ),
        ("[hooks]\nbefore = 'x'", "line 2, column 10: invalid type"),
        (
            "[[hooks.before]]\ntimeout = '1s'",
            "line 1, column 1: missing field `run`",
        ),
        (
            "[[hooks.before]]\nrun = ' '",
            "line 2, column 7: `run` must be a command",
        ),
        (
            "[[hooks.after]]\nrun = 'x'\ntimeout = 5",
            "line 3, column 11: the value must be a number above 0 with ms, s, m or h",
        ),
        (
            "[vars]\nx = 5",
            "line 2, column 5: invalid type: integer `5`, expected a string",
        ),
        (
            "[vars]\nCLADA_X = ''",
            "`CLADA_X` cannot be a variable: use letters, digits and `_`, and begin with neither a digit nor `CLADA`",
        ),
    ] {
        project.configure(settings);
        let ended = project.clada_with(["run"], "");
        assert_ne!(ended.code, Some(0), "{settings}");
        assert!(ended.err.contains(expected), "{settings}\n{}", ended.err);
    }
}

#[test]
fn a_project_says_so_only_once_it_is_trusted() {
    let project = Project::new();
    let reply = "<task><c>overwrite</c><path>a.key</path><x>a</x></task>\n";
    project.write(
        "clada.toml",
        "[paths]\ndeny = []\n[[hooks.after]]\nrun = 'echo ran >log'\n",
    );
    let ended = project.clada_with(["run"], reply).exits(1);
    assert!(
        ended
            .results()
            .contains("⚠ `paths.deny`, `hooks.after` in clada.toml are not trusted")
    );
    let trusted = project.clada(["trust"]).exits(0);
    assert!(
        trusted
            .out
            .contains("[[hooks.after]]\nrun = \"echo ran >log\""),
        "{}",
        trusted.out
    );
    project.clada_with(["run"], reply).exits(0);
    assert_eq!(project.read("log"), "ran\n");
}

proptest! {
    /// Long paths and patterns of many stars are compared at once.
    #[test]
    fn any_pattern_and_path_are_compared(
        names in prop::collection::vec("[ab*?]{1,3}|\\*\\*", 1..200),
        path in prop::collection::vec("[ab]{1,3}", 0..200),
    ) {
        let pattern = names.join("/");
        let path = path.join("/");
        // Denied by what it has itself, or by nothing that allows it.
        prop_assert!(!may(&[], &[&pattern], &path) || path.is_empty());
        prop_assert!(may(&["**", &pattern], &[], &path));
    }
}
