//! Patches of Codex and unified diffs: their cases, what `git diff` writes, and any text at all.

use proptest::prelude::*;

use crate::harness::Project;
use crate::scanned;

#[test]
fn cases_of_codex() {
    scanned::check("codex");
}

#[test]
fn cases_of_diff() {
    scanned::check("diff");
}

/// Lines of files, few kinds of them so that they repeat, some of which look like parts of a patch or a reply.
fn line() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "",
        " ",
        "\tx",
        "  }",
        "}",
        "-- a",
        "++ b",
        "-",
        "+",
        "@@ -1 +1 @@",
        "```",
        "~~~",
        "<tasks>",
        "</x>",
        "diff --git a/f1 b/f1",
        "--- a/f1",
        "+++ b/f1",
        "\\ No newline at end of file",
        "*** Begin Patch",
        "*** End Patch",
        "<<<<<<< SEARCH",
        "#!nesl [@three-char-SHA-256: abc]",
        "\u{e4}\u{1f600}",
        "\u{2028}",
        "x\ry",
        "-- ",
        "2.39.2",
        "\u{b}",
        "\u{feff}",
    ];
    prop_oneof![
        4 => proptest::sample::select(odd.to_vec()).prop_map(str::to_owned),
        4 => "[ab]{1,2}",
        4 => "[a-z]{8}",
    ]
}

/// What becomes of a line.
fn change() -> impl Strategy<Value = Option<Vec<String>>> {
    prop_oneof![
        8 => Just(None),
        1 => proptest::collection::vec(line(), 0..3).prop_map(Some),
    ]
}

/// A file before and after: nothing where it is not there.
fn pair() -> impl Strategy<Value = (Option<String>, Option<String>)> {
    let lines = proptest::collection::vec((line(), change()), 0..25);
    let ends = (any::<bool>(), any::<bool>());
    let newline = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    (lines, ends, newline, 0..12).prop_map(|(lines, ends, newline, kind)| {
        let text = |lines: Vec<&str>, ends: bool| {
            let text: String = lines.iter().flat_map(|line| [*line, newline]).collect();
            match text.strip_suffix(newline) {
                Some(bare) if !ends => bare.to_owned(),
                _ => text,
            }
        };
        let before = lines.iter().map(|(line, _)| line.as_str()).collect();
        let after = lines.iter().flat_map(|(line, change)| match change {
            None => vec![line.as_str()],
            Some(new) => new.iter().map(String::as_str).collect(),
        });
        let (before, after) = (text(before, ends.0), text(after.collect(), ends.1));
        match kind {
            0 => (None, Some(after)),
            1 => (Some(before), None),
            _ => (Some(before), Some(after)),
        }
    })
}

fn write_all(project: &Project, files: &[(String, Option<&String>)]) {
    for (name, content) in files {
        match content {
            Some(content) => drop(project.write(name, content)),
            None if project.exists(name) => {
                std::fs::remove_file(project.path(name)).expect("remove")
            }
            None => {}
        }
    }
}

fn found(project: &Project, name: &str) -> Option<String> {
    let bytes = std::fs::read(project.path(name)).ok()?;
    Some(String::from_utf8(bytes).expect("UTF-8"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    /// What git writes of any change makes that change, as `git apply` does. Without context it does so or says no.
    #[test]
    fn what_git_writes_is_applied(pairs in proptest::collection::vec(pair(), 1..25), context in 0..5_usize, moves: bool) {
        let project = Project::with_git();
        let names = ["f", "dir/a b", "\u{e4}", "q\"uote", "tab\t", "a/x", "b/x"];
        let name = |at: usize| format!("{}{at}", names[at % names.len()]);
        let before: Vec<_> = pairs.iter().enumerate().map(|(at, (old, _))| (name(at), old.as_ref())).collect();
        let mut after: Vec<_> = pairs.iter().enumerate().map(|(at, (_, new))| (name(at), new.as_ref())).collect();
        write_all(&project, &before);
        project.git(["add", "-A"]);
        project.git(["commit", "-q", "--allow-empty", "-m", "before"]);
        if moves {
            for (at, (old, new)) in pairs.iter().enumerate() {
                if old.is_some() && new.is_some() && at % 3 == 0 {
                    after[at].1 = None;
                    after.push((format!("moved/{at}"), new.as_ref()));
                }
            }
        }
        write_all(&project, &after);
        project.git(["add", "-A"]);
        let diff = project.git(["diff", "--cached", "-M", &format!("-U{context}"), "HEAD"]);
        project.git(["reset", "-q", "--hard"]);
        let run = project.clada_with(["run"], &diff);
        for (name, content) in &after {
            let got = found(&project, name);
            let refused = context == 0 && got == before.iter().find(|(other, _)| other == name).and_then(|(_, old)| old.cloned());
            prop_assert!(
                refused || got.as_ref() == *content,
                "{name}: {got:?}, not {content:?}\n{diff}\n{}{}", run.out, run.err
            );
        }
    }
}
