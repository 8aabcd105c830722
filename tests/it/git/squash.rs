//! `clada squash`: what becomes one commit, what stays to the byte, and what is never touched.

use super::{exec, overwrite};
use crate::harness::Project;

/// A commit's content without its parents.
fn content(project: &Project, revision: &str) -> String {
    let text = project.git(["cat-file", "commit", revision]);
    let lines = text.lines().filter(|line| !line.starts_with("parent "));
    lines.map(|line| format!("{line}\n")).collect()
}

fn index(project: &Project) -> Vec<u8> {
    std::fs::read(project.path(".git/index")).unwrap()
}

/// The way back that was printed.
fn go_back(project: &Project, said: &str) {
    let (_, rest) = said.split_once("is committed: `").expect("a way back");
    let command = rest.split('`').next().unwrap();
    let done = project.command("sh").args(["-ec", command]).status();
    assert!(done.unwrap().success(), "{command}");
}

#[test]
fn what_batches_left_on_top_becomes_one_commit() {
    let project = Project::begun();
    project.write("a.txt", "mine\n");
    let reply = overwrite("b.txt", "b") + &exec("echo more >> b.txt; echo new > c.txt");
    project.runs(&reply);
    project.runs(&overwrite("a.txt", "two"));
    let old = project.id("HEAD");
    assert_eq!(project.subjects("HEAD").len(), 5);
    project.write("staged.txt", "staged\n");
    project.git(["add", "staged.txt"]);
    project.write("a.txt", "three\n");
    let trace = (index(&project), project.git(["status", "--porcelain"]));

    let said = project.clada(["squash", "--message", "All of it"]).exits(0);
    assert_eq!(project.subjects("HEAD"), ["All of it 💚clada", "first"]);
    let body = project.git(["log", "-1", "--format=%b"]);
    let (list, trailers) = body.split_once("\n\n").unwrap();
    let (list, _time) = list.rsplit_once('\n').unwrap();
    assert_eq!(
        list,
        "  what was changed before\n  overwrite b.txt\n  exec echo more >> b.txt; echo new > c.txt\n  overwrite a.txt"
    );
    assert!(
        trailers.contains("Clada-Step: squash\nClada-Of: "),
        "{trailers:?}"
    );
    assert_eq!(project.git(["diff", &old, "HEAD"]), "");
    assert_eq!(
        trace,
        (index(&project), project.git(["status", "--porcelain"]))
    );
    assert!(project.git(["reflog"]).contains("HEAD@{0}: clada squash"));
    project.is_sound();

    go_back(&project, &said.out);
    assert_eq!(project.id("HEAD"), old);
    assert_eq!(
        trace.1,
        project.git(["status", "--porcelain"]),
        "after the way back"
    );
}

#[test]
fn commits_of_the_user_stay_as_they_are() {
    let project = Project::begun();
    project.saved("b1", "One", "b.txt");
    project.saved("b1", "One", "c.txt");
    project.write("d.txt", "mine\n");
    project.git(["add", "-A"]);
    project.git([
        "-c",
        "i18n.commitEncoding=ISO-8859-1",
        "commit",
        "-qm",
        "mine",
        "--date=2001-02-03T04:05:06+0700",
        "--author=Eve <eve@example.org>",
    ]);
    let mine = content(&project, "HEAD");
    assert!(mine.contains("encoding ISO-8859-1"));
    project.saved("b2", "Two", "b.txt");
    project.saved("b3", "Three", "b.txt");
    project.commit("last");
    let (last, tree) = (content(&project, "HEAD"), project.id("HEAD^{tree}"));
    project.git(["tag", "old"]);
    project.git(["branch", "other", "HEAD~1"]);

    // Nothing of clada's is on top.
    let said = project.clada(["squash"]).exits(0).out;
    assert!(
        said.starts_with("nothing to squash: clada made no two consecutive commits here"),
        "{said}"
    );

    let dry = project
        .clada(["squash", "-n", "9", "--dry-run"])
        .exits(0)
        .out;
    assert!(
        dry.contains(
            "2 later commits would be rewritten: same content, author and times, new id\n"
        ),
        "{dry}"
    );
    let said = project.clada(["squash", "-n", "9"]).exits(0).out;
    assert_eq!(
        project.subjects("HEAD"),
        ["last", "Two; Three 💚clada", "mine", "One 💚clada", "first"]
    );
    assert_eq!(content(&project, "HEAD~2"), mine);
    assert_eq!(
        (content(&project, "HEAD"), project.id("HEAD^{tree}")),
        (last, tree)
    );
    assert!(
        said.contains("2 later commits rewritten: same content, author and times, new id"),
        "{said}"
    );
    assert!(
        said.contains("these still point to the old commits: "),
        "{said}"
    );
    assert!(said.contains("other") && said.contains("old"), "{said}");
    let back = "to go back, before anything else is committed: `git reset --soft ";
    assert!(said.contains(back), "{said}");
    assert_eq!(project.subjects("old").len(), 7);
    project.is_sound();
}

#[test]
fn a_choice_is_made_by_batch_text_revision_number_or_time() {
    let made = || {
        let project = Project::begun();
        let first = project.id("HEAD");
        for (batch, subject) in [
            ("20260101-1000", "One"),
            ("20260101-1000", "Two"),
            ("20260102-1000", "Two"),
            ("20260102-1000", "Two"),
        ] {
            project.saved(batch, subject, "b.txt");
        }
        (project, first)
    };
    let check = |args: &[&str], expected: &[&str]| {
        let (project, _) = made();
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        let done = command.arg("squash").args(args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        let subjects = project.subjects("HEAD");
        let subjects: Vec<&str> = subjects
            .iter()
            .map(|line| line.trim_end_matches(" 💚clada"))
            .collect();
        assert_eq!(subjects, expected, "{args:?}");
        project.is_sound();
    };
    check(&[], &["One; Two", "first"]);
    check(
        &["--batch", "20260101"],
        &["Two", "Two", "One; Two", "first"],
    );
    check(
        &["--batch", "20260102-1000"],
        &["Two", "Two", "One", "first"],
    );
    check(&["--containing", "Two"], &["Two", "One", "first"]);
    check(&["--since", "HEAD~3"], &["Two", "One", "first"]);
    check(&["--since", "1h"], &["One; Two", "first"]);
    check(&["--since", "2001-02-03"], &["One; Two", "first"]);
    check(&["-n", "2"], &["Two", "Two", "One", "first"]);
    // One that stands alone stays as it is.
    check(&["-n", "1"], &["Two", "Two", "Two", "One", "first"]);
    check(
        &["--since", "2099-01-01"],
        &["Two", "Two", "Two", "One", "first"],
    );

    let (project, first) = made();
    let refused = |args: [&str; 3], why: &str| {
        let said = project.clada(args).exits(2).err;
        assert!(said.contains(why), "{said}");
    };
    refused(["squash", "--batch", "2026"], "` matches several batches (");
    // One that begins another's is meant itself.
    project.saved("20260102-1000.2", "Two", "c.txt");
    project.git(["tag", "several"]);
    project
        .clada(["squash", "--batch", "20260102-1000"])
        .exits(0);
    assert_eq!(project.subjects("HEAD").len(), 5);
    assert_eq!(project.subjects("several").len(), 6);
    refused(
        ["squash", "--batch", "x"],
        "this history has no commit of batch `x`: `git log --grep Clada-Batch` shows the ids",
    );
    refused(
        ["squash", "--since", "nothing"],
        "` is neither a revision that git knows nor a time: write, for example, `--since HEAD~5`, `--since 2h` or `--since 2026-11-20`",
    );
    project
        .clada(["squash", "--since", &first, "-n", "2"])
        .exits(2);
    project.clada(["squash", "--since", &first]).exits(0);
    assert_eq!(project.subjects("HEAD").len(), 2);
}

#[test]
fn a_dry_run_shows_each_group_and_changes_nothing() {
    let project = Project::begun();
    project.saved("b1", "One", "b.txt");
    project.saved("b2", "Two", "b.txt");
    let trace = || {
        let all = project.git(["for-each-ref"]) + &project.git(["reflog", "--all"]);
        (all, project.git(["count-objects"]))
    };
    let before = trace();
    let said = project.clada(["squash", "--dry-run"]).exits(0).out;
    for part in [
        "2 commits would become one:\n",
        " One\n",
        " Two\n",
        "with this message:\n  One; Two 💚clada",
        "  edit b.txt",
        "  Clada-Step: squash",
        "dry run",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert_eq!(trace(), before);
}

#[test]
fn what_is_pushed_is_left_alone_without_force() {
    let project = Project::begun();
    project.git(["init", "-q", "--bare", "../remote.git"]);
    project.git(["remote", "add", "origin", "../remote.git"]);
    project.saved("b1", "One", "b.txt");
    project.saved("b1", "Two", "b.txt");
    project.git(["push", "-q", "-u", "origin", "main"]);
    let pushed = project.id("HEAD");
    let said = project.clada(["squash"]).exits(1).out;
    assert!(
        said.starts_with("nothing was squashed\n2 of clada's commits are on origin/main, ")
            && said.ends_with("and stay as they are (`--force` would squash them too)\n"),
        "{said}"
    );
    assert_eq!(project.id("HEAD"), pushed);

    project.saved("b2", "Three", "b.txt");
    project.saved("b2", "Four", "b.txt");
    let said = project.clada(["squash"]).exits(0).out;
    assert!(said.contains("stay as they are"), "{said}");
    assert_eq!(project.id("HEAD~1"), pushed);
    assert_eq!(project.subjects("HEAD").len(), 4);

    let said = project.clada(["squash", "--force"]).exits(0).out;
    assert!(
        said.contains("so push with `git push --force-with-lease` now"),
        "{said}"
    );
    assert_eq!(project.subjects("HEAD").len(), 2);
    project.git(["push", "-q", "--force-with-lease"]);
    project.is_sound();

    project.saved("b3", "Five", "b.txt");
    project.saved("b4", "Six", "b.txt");
    project.git(["push", "-q", "origin", "HEAD~1:main"]);
    let said = project.clada(["squash", "-n", "2"]).exits(1).out;
    assert_eq!(
        said,
        "nothing was squashed\n1 of clada's commits is on origin/main, and stays as it is (`--force` would squash it too)\n"
    );
}

/// A branch that leaves from between two commits must find a commit with the same tree there; merges keep all parents.
#[test]
fn branches_and_merges_keep_their_shape() {
    let project = Project::begun();
    project.saved("b1", "One", "b.txt");
    project.saved("b1", "Two", "b.txt");
    project.git(["checkout", "-qb", "topic"]);
    project.write("t.txt", "topic\n");
    project.commit("topic");
    project.git(["checkout", "-q", "main"]);
    project.saved("b1", "Three", "b.txt");
    project.saved("b1", "Four", "b.txt");
    project.git(["merge", "-q", "--no-ff", "-m", "merge", "topic"]);
    project.saved("b2", "Five", "b.txt");
    project.saved("b2", "Six", "b.txt");
    let graph = |revision: &str| {
        let log = project.git(["log", "--format=%T %P %s", "--topo-order", revision]);
        log.lines().count()
    };
    let trees = project.git(["log", "--format=%T", "--first-parent"]);
    assert_eq!(graph("HEAD"), 9);
    project.clada(["squash", "-n", "9"]).exits(0);
    let left: Vec<String> = project
        .git(["log", "--format=%s", "--first-parent"])
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        left,
        [
            "Five; Six 💚clada",
            "merge",
            "Three; Four 💚clada",
            "One; Two 💚clada",
            "first"
        ]
    );
    assert_eq!(graph("HEAD"), 6);
    // What the branch did is the same, and each tree that is left was there.
    assert_eq!(
        project
            .git(["show", "--format=", "--stat", "HEAD~1^2"])
            .trim()
            .lines()
            .count(),
        2
    );
    assert_eq!(project.id("HEAD~1^2~1"), project.id("HEAD~3"));
    let now = project.git(["log", "--format=%T", "--first-parent"]);
    assert!(now.lines().all(|tree| trees.contains(tree)));
    project.is_sound();
}

#[test]
fn it_is_refused_in_the_middle_of_something_and_to_tasks() {
    let project = Project::begun();
    project.saved("b1", "One", "b.txt");
    project.saved("b1", "Two", "b.txt");
    project.git(["bisect", "start"]);
    let said = project.clada(["squash"]).exits(1).err;
    assert!(said.contains("a bisect is in progress"), "{said}");
    project.git(["bisect", "reset"]);
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("squash").env("CLADA", "1");
    let said = crate::harness::Ended::of(command, "").exits(2).err;
    assert!(said.contains("only you can run"), "{said}");
    assert_eq!(project.subjects("HEAD").len(), 3);
}

#[test]
fn there_may_be_no_branch_no_commit_or_no_repository() {
    let project = Project::with_git();
    assert!(project.clada(["squash"]).exits(0).out.contains("nothing"));
    // The first of all may be clada's.
    project.saved("b1", "One", "b.txt");
    project.saved("b1", "Two", "b.txt");
    project.git(["checkout", "-q", "--detach"]);
    let (main, old) = (project.id("main"), project.id("HEAD"));
    let said = project.clada(["squash"]).exits(0).out;
    assert_eq!(project.subjects("HEAD").len(), 1);
    assert_eq!(project.id("main"), main);
    go_back(&project, &said);
    assert_eq!(project.id("HEAD"), old);
    project.is_sound();

    let plain = Project::new();
    plain.write("sub dir/mine.txt", "mine\n");
    assert!(plain.clada(["squash"]).exits(0).out.contains("nothing"));
    plain.runs(&overwrite("a.txt", "one"));
    plain.runs(&overwrite("a.txt", "two"));
    let said = plain.clada(["squash"]).exits(0).out;
    assert!(said.contains("3 commits became"), "{said}");
    go_back(&plain, &said);
    assert!(
        plain
            .clada(["squash"])
            .exits(0)
            .out
            .contains("3 commits became")
    );
}

#[test]
fn the_end_of_a_shallow_clone_stays() {
    let project = Project::begun();
    for subject in ["One", "Two", "Three", "Four"] {
        project.saved("b1", subject, "b.txt");
    }
    let from = format!("file://{}", project.root().display());
    project.git(["clone", "-q", "--depth", "3", &from, "clone"]);
    let clone = project.path("clone");
    let git = |args: &[&str]| {
        let out = project
            .command("git")
            .current_dir(&clone)
            .args(args)
            .output();
        String::from_utf8(out.unwrap().stdout).unwrap()
    };
    git(&["remote", "remove", "origin"]);
    let end = git(&["rev-parse", "HEAD~2"]);
    let root = clone.display().to_string();
    project.clada(["squash", "--root", &root]).exits(0);
    assert_eq!(git(&["rev-parse", "HEAD~1"]), end);
    assert_eq!(git(&["log", "--format=%s"]).lines().count(), 2);
    assert_eq!(git(&["fsck", "--strict"]), "");
}

#[test]
fn beside_a_branch_only_that_history_is_rewritten() {
    let project = Project::begun();
    project.saved("b0", "On the branch", "b.txt");
    project.saved("b0", "On the branch", "c.txt");
    project.configure("[git]\ntarget = \"side\"\n");
    assert!(project.clada(["squash"]).exits(0).out.contains("nothing"));
    project.runs(&overwrite("a.txt", "two"));
    project.runs(&overwrite("a.txt", "three"));
    let (head, side) = (project.id("HEAD"), project.id("refs/clada/main"));
    let users = index(&project);
    let said = project.clada(["squash"]).exits(0).out;
    assert_eq!(project.id("refs/clada/main~1"), head);
    assert_eq!((project.id("HEAD"), index(&project)), (head, users));
    go_back(&project, &said);
    assert_eq!(project.id("refs/clada/main"), side);

    // What the user commits comes in as a second parent, and stays one.
    let mine = project.commit("mine");
    project.runs(&overwrite("a.txt", "four"));
    project.runs(&overwrite("a.txt", "five"));
    project.clada(["squash"]).exits(0);
    assert_eq!(project.id("refs/clada/main^2"), mine);
    project.clada(["squash", "-n", "9"]).exits(0);
    assert_eq!(project.id("refs/clada/main^2"), mine);
    assert_eq!(project.id("HEAD"), mine);
    project.is_sound();
}

/// Histories of all shapes: what the user made stays to the byte, no tree that is left is a new one, and nothing of clada's
/// is left in a row.
#[test]
fn any_history_keeps_what_is_the_users() {
    let mut seed = 7_u64;
    let mut chance = |of: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
        (seed >> 33) % of
    };
    for round in 0..6 {
        let project = Project::begun();
        let mut script = String::from("set -e\n");
        let ours = |n: u64, step: u64| {
            let text = format!(
                "step {step} 💚clada\n\nedit f{n}\n\nClada-Batch: b{n}\nClada-Step: task\n"
            );
            format!("echo {step} >> f{n}; git add -A; printf '%s' '{text}' | git commit -qF -\n")
        };
        for step in 0..30 {
            script += &match chance(8) {
                0..=3 => ours(chance(3), step),
                4 | 5 => format!("echo {step} >> mine; git add -A; git commit -qm 'mine {step}'\n"),
                6 => format!("git branch -q -f side; git tag t{step}\n"),
                _ => format!(
                    "git branch -q -f here; git checkout -q side 2> /dev/null || git checkout -qb side\n\
                     echo {step} > s{step}; git add -A; git commit -qm 'side {step}'\n\
                     git checkout -q main; git merge -q --no-ff -X ours -m 'merge {step}' side\n"
                ),
            };
        }
        let done = project
            .command("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        assert!(done.status.success(), "round {round}: {done:?}");
        let users = || {
            let log = project.git([
                "log",
                "--topo-order",
                "--format=%T %an %ad %cn %cd %B",
                "--invert-grep",
                "--grep=Clada-Batch",
            ]);
            let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let trees = project.git(["log", "--format=%T"]);
        let before = (users(), project.id("HEAD^{tree}"));
        project.clada(["squash", "-n", "99"]).exits(0);
        assert_eq!(
            (users(), project.id("HEAD^{tree}")),
            before,
            "round {round}"
        );
        let now = project.git(["log", "--format=%T"]);
        assert!(
            now.lines().all(|tree| trees.contains(tree)),
            "round {round}"
        );
        let again = project
            .clada(["squash", "-n", "99", "--dry-run"])
            .exits(0)
            .out;
        assert!(
            again.starts_with("nothing to squash"),
            "round {round}: {again}"
        );
        assert_eq!(project.git(["status", "--porcelain"]), "");
        project.is_sound();
    }
}
