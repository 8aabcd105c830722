//! What a save must not touch, or must not take from where it looks.

use super::*;

#[test]
fn never_files_keep_what_the_user_made_of_them() {
    let repo = Repo::new();
    repo.write("tracked.md", "1\n");
    repo.write("dir/staged.md", "1\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "notes"]);
    repo.write("tracked.md", "2\n");
    repo.write("dir/staged.md", "2\n");
    repo.git(&["add", "dir/staged.md"]);
    repo.write("dir/staged.md", "3\n");
    repo.write("untracked.md", "1\n");
    repo.write("new.txt", "1\n");
    symlink("untracked.md", repo.at("link.md")).unwrap();
    let names = [
        "tracked.md",
        "dir/staged.md",
        "untracked.md",
        "link.md",
        "not-there.md",
    ];
    let mut snapshots = repo.open_without(&names);
    let all = "MM dir/staged.md\n M tracked.md\n?? link.md\n?? untracked.md\n";
    assert!(snapshots.before(&message()).unwrap().changed);
    assert_eq!(repo.status(), all);
    assert!(
        !snapshots
            .after_task(&paths_of(&names), &message())
            .unwrap()
            .changed
    );
    assert!(
        !snapshots
            .after_task(&paths_of(&["dir"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(repo.status(), all);
    assert_eq!(repo.committed("dir/staged.md"), "1\n");
    assert_eq!(repo.git(&["show", ":dir/staged.md"]), "2\n");
    repo.remove("dir");
    assert!(!snapshots.after_all(&message()).unwrap().changed);
    assert_eq!(repo.committed("dir/staged.md"), "1\n");
}

#[test]
fn what_is_staged_outside_the_root_stays_staged() {
    let repo = Repo::new();
    repo.write("sub/in.txt", "1\n");
    repo.write("sub-two/out.txt", "1\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "sub"]);
    repo.write("a.txt", "two\n");
    repo.write("fresh.txt", "two\n");
    repo.remove("sub-two");
    repo.git(&["add", "-A"]);
    repo.write("a.txt", "three\n");
    repo.write("sub/in.txt", "2\n");
    repo.git(&["add", "sub"]);
    repo.write("sub/new.txt", "2\n");
    let cached = "M\ta.txt\nA\tfresh.txt\nD\tsub-two/out.txt\n";
    let mut snapshots = repo.open_at("sub");
    assert!(snapshots.before(&message()).unwrap().changed);
    assert_eq!(repo.git(&["diff", "--cached", "--name-status"]), cached);
    assert_eq!(
        repo.status(),
        "MM a.txt\nA  fresh.txt\nD  sub-two/out.txt\n"
    );
    assert_eq!(
        repo.files(),
        ["a.txt", "sub-two/out.txt", "sub/in.txt", "sub/new.txt"]
    );
    repo.write("sub/in.txt", "3\n");
    assert!(
        snapshots
            .after_task(&paths_of(&["in.txt"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(repo.git(&["diff", "--cached", "--name-status"]), cached);
    assert_eq!(repo.git(&["show", ":a.txt"]), "two\n");
    assert_eq!(repo.committed("a.txt"), "one\n");
}

#[test]
fn a_submodule_keeps_its_gitlink() {
    let (inner, repo) = (Repo::new(), Repo::new());
    repo.git(&[
        "submodule",
        "--quiet",
        "add",
        inner.top().to_str().unwrap(),
        "lib/sub",
    ]);
    assert!(repo.before().changed, "the staged submodule");
    let link = repo.git(&["ls-tree", "HEAD", "lib/sub"]);
    assert!(link.starts_with("160000 commit"), "{link}");
    repo.write("lib/sub/a.txt", "changed\n");
    repo.write("lib/sub/new.txt", "new\n");
    assert!(!repo.before().changed);
    let state = repo.after(&["lib/sub/new.txt"]);
    assert!(!state.changed);
    assert_eq!(state.skipped[0].why, SkipReason::NestedRepository);
    assert!(!repo.after(&["lib", "lib/sub"]).changed);
    let (sub, name) = (
        repo.at("lib/sub"),
        ["-c", "user.name=x", "-c", "user.email=y"],
    );
    assert!(git_in(&sub, &[&name[..], &["commit", "-qam", "inner"]].concat()).0);
    assert!(!repo.before().changed);
    repo.write("lib/beside.txt", "new\n");
    assert!(repo.before().changed);
    assert_eq!(repo.git(&["ls-tree", "HEAD", "lib/sub"]), link);
    assert!(!repo.open_at("lib").before(&message()).unwrap().changed);
    repo.remove("lib/sub");
    assert!(!repo.before().changed);
    assert_eq!(repo.git(&["ls-tree", "HEAD", "lib/sub"]), link);
}

#[test]
fn a_nested_repository_is_skipped_and_named() {
    let repo = Repo::new();
    repo.write("deep/nested/file.txt", "x");
    repo.write("deep/beside.txt", "x");
    assert!(git_in(&repo.at("deep/nested"), &["init", "-q"]).0);
    let nested = |path: &str| Skipped {
        path: path.into(),
        why: SkipReason::NestedRepository,
    };
    let state = repo.before();
    assert_eq!(state.skipped, [nested("deep/nested/")]);
    assert_eq!(repo.files(), ["a.txt", "deep/beside.txt"]);
    let state = repo.after(&["deep/nested/file.txt"]);
    assert_eq!(
        (state.changed, state.skipped),
        (false, vec![nested("deep/nested/file.txt")])
    );
    let state = repo.after(&["deep"]);
    assert_eq!(
        (state.changed, state.skipped),
        (false, vec![nested("deep/nested/")])
    );
    let told = nested("n").to_string();
    assert_eq!(
        told,
        "`n` was not saved: it belongs to a git repository of its own"
    );
}

#[test]
fn content_that_a_filter_would_change_is_not_committed_raw() {
    let repo = Repo::new();
    symlink("a.txt", repo.at("link.big")).unwrap();
    let attributes = "*.big filter=lfs diff=lfs -text\n*.key filter=crypt\n*.free filter=unset\n*.u16 working-tree-encoding=UTF-16\n";
    repo.write(".gitattributes", attributes);
    repo.write("old.big", "pointer");
    repo.write("gone.big", "pointer");
    assert_eq!(repo.before().skipped.len(), 2);
    repo.git(&["-c", "filter.lfs.clean=sed s/^/ptr-/", "add", "-A", "*.big"]);
    assert!(
        repo.before().changed,
        "what git has cleaned and the user staged"
    );
    assert_eq!(repo.committed("old.big"), "ptr-pointer");
    repo.git(&["config", "filter.crypt.clean", "rot13"]);
    repo.write("old.big", "large content");
    repo.write("new.big", "large content");
    repo.write("my.key", "secret");
    repo.write("my.u16", "x\0");
    repo.write("my.free", "as it is");
    repo.remove("gone.big");
    let state = repo.before();
    let names: Vec<_> = state
        .skipped
        .iter()
        .map(|one| one.path.to_str().unwrap())
        .collect();
    assert_eq!(names, ["my.key", "my.u16", "new.big", "old.big"]);
    assert_eq!(state.skipped[0].why, SkipReason::Filter("crypt".into()));
    assert_eq!(state.skipped[1].why, SkipReason::Encoding("UTF-16".into()));
    assert_eq!(
        repo.files(),
        [".gitattributes", "a.txt", "link.big", "my.free", "old.big"]
    );
    assert_eq!(repo.committed("old.big"), "ptr-pointer");
    let state = repo.after(&["old.big"]);
    assert_eq!((state.changed, state.skipped.len()), (false, 1));
}

#[test]
fn a_sparse_checkout_deletes_nothing() {
    let repo = Repo::new();
    repo.write("in/x", "1");
    repo.write("out/x", "1");
    repo.write("out/y", "1");
    repo.before();
    repo.git(&["sparse-checkout", "set", "--no-sparse-index", "in"]);
    assert!(!repo.at("out").exists());
    let mut snapshots = repo.open();
    assert!(!snapshots.before(&message()).unwrap().changed);
    repo.write("in/x", "2");
    assert!(snapshots.before(&message()).unwrap().changed);
    assert!(
        !snapshots
            .after_task(&paths_of(&["out", "out/y"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(repo.files(), ["a.txt", "in/x", "out/x", "out/y"]);
    repo.write("out/x", "2");
    assert!(snapshots.before(&message()).unwrap().changed);
    assert_eq!(repo.committed("out/x"), "2");
    repo.write("out/x", "3");
    assert!(
        snapshots
            .after_task(&paths_of(&["out/x"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(repo.files(), ["a.txt", "in/x", "out/x", "out/y"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn what_the_user_hides_from_git_stays_hidden() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repo = Repo::new();
        repo.git(&["update-index", flag, "a.txt"]);
        repo.write("a.txt", "my own settings\n");
        assert!(!repo.before().changed);
        let state = repo.after(&["a.txt"]);
        assert_eq!(
            (state.changed, &state.skipped[0].why),
            (false, &SkipReason::KeptByUser)
        );
        repo.write("b.txt", "b");
        assert!(repo.before().changed);
        repo.remove("a.txt");
        assert!(!repo.before().changed);
        assert_eq!(
            (repo.committed("a.txt"), repo.status()),
            ("one\n".into(), String::new())
        );
    }
}

#[test]
fn what_is_announced_and_cannot_be_saved_is_not_saved_empty() {
    let repo = Repo::new();
    repo.write(".gitattributes", "*.big filter=lfs\n");
    repo.write("one.big", "large\n");
    repo.git(&["add", "-N", "one.big"]);
    repo.before();
    assert_eq!(repo.files(), [".gitattributes", "a.txt"]);
    assert_eq!(repo.status(), " A one.big\n");
    assert!(!repo.before().changed);
}

/// They hold the same text, and come and go with the editor.
#[test]
fn what_an_editor_keeps_beside_a_never_file_is_not_saved() {
    let repo = Repo::new();
    let (first, of) = (repo.head(), ["notes.md", "sub/notes.md"]);
    let vim = [".notes.md.swp", ".notes.md.swo"];
    let others = [
        ".notes.md.kate-swp",
        ".#notes.md",
        "#notes.md#",
        "notes.md~",
    ];
    for name in [&vim[..], &others, &["notes.md"]].concat() {
        repo.write(name, "x\n");
        repo.write(format!("sub/{name}"), "x\n");
    }
    repo.open_without(&of).before(&message()).unwrap();
    assert_eq!(repo.head(), first);

    // Those of other files are files as any.
    repo.open_without(&of[..1]).before(&message()).unwrap();
    let saved = repo.git(&["ls-tree", "-r", "--name-only", "HEAD", "sub/"]);
    assert_eq!(saved.lines().count(), 7, "{saved}");
    assert_eq!(repo.git(&["ls-files", "*notes.md*", ":!sub"]), "");
}
