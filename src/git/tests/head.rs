//! Where the commits go, from no commit at all to a linked work tree.

use std::time::Duration;

use super::*;

#[test]
fn the_first_commit_may_be_ours() {
    let repo = Repo::unborn();
    let nothing = SaveOutcome {
        commit: None,
        changed: false,
        work: vec![],
        skipped: vec![],
        left_off: vec![],
        hook: None,
    };
    assert_eq!(repo.before(), nothing);
    fs::create_dir(repo.at("empty")).unwrap();
    assert_eq!(repo.after(&["empty"]), nothing);
    repo.write("sub/b.txt", "b");
    assert!(repo.after(&["sub/b.txt"]).changed);
    assert_eq!(
        (repo.files(), repo.status()),
        (vec!["sub/b.txt".into()], String::new())
    );
    assert_eq!(repo.git(&["branch", "--show-current"]), "main\n");

    let empty = Repo::unborn();
    empty.git(&["commit", "-qm", "nothing yet", "--allow-empty"]);
    assert!(!empty.before().changed);

    repo.git(&["checkout", "-q", "--orphan", "fresh"]);
    assert!(repo.before().changed);
    assert_eq!(
        (repo.files(), repo.commits()),
        (vec!["sub/b.txt".into()], 1)
    );
}

#[test]
fn a_detached_head_moves_alone() {
    let repo = Repo::new();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.write("a.txt", "two\n");
    assert!(repo.before().changed);
    assert_eq!(repo.git(&["rev-list", "--count", "main..HEAD"]), "1\n");
    assert_eq!(repo.status(), "");
}

#[test]
fn a_linked_work_tree_has_its_own_branch() {
    let repo = Repo::new();
    let (linked, main) = (TempDir::new().unwrap(), repo.head());
    let path = linked.path().join("tree");
    repo.git(&[
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        path.to_str().unwrap(),
    ]);
    let mut snapshots = open(&path, &[]).unwrap().unwrap();
    fs::write(path.join("new.txt"), "new").unwrap();
    assert!(snapshots.before(&message()).unwrap().changed);
    fs::write(path.join("new.txt"), "newer").unwrap();
    assert!(
        snapshots
            .after_task(&paths_of(&["new.txt"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(
        git_in(&path, &["status", "--porcelain"]),
        (true, String::new())
    );
    assert_eq!(repo.git(&["rev-list", "--count", "main..side"]), "2\n");
    assert_eq!((repo.head(), repo.status()), (main, String::new()));
    let lock = repo.at(".git/worktrees/tree/index.lock");
    fs::write(&lock, "").unwrap();
    snapshots.store.locks.longest = Duration::ZERO;
    let error = snapshots.before(&message()).unwrap_err();
    assert!(matches!(error, SnapshotError::Locked(path) if path == lock));
}

#[test]
fn only_work_trees_are_opened() {
    let (plain, repo, bare) = (
        TempDir::new().unwrap(),
        Repo::new(),
        TempDir::new().unwrap(),
    );
    assert!(git_in(bare.path(), &["init", "-q", "--bare"]).0);
    for root in [
        plain.path(),
        bare.path(),
        &repo.at(".git"),
        &repo.at(".git/refs"),
    ] {
        assert!(open(root, &[]).unwrap().is_none(), "{}", root.display());
    }
    repo.write("sub/deep/x", "");
    assert_eq!(repo.open_at("sub/deep").store.root, Path::new("sub/deep"));
    let link = plain.path().join("link");
    symlink(repo.at("sub"), &link).unwrap();
    assert_eq!(
        open(&link, &[]).unwrap().unwrap().store.root,
        Path::new("sub")
    );
    assert!(open(&repo.at("missing"), &[]).is_err());
}

#[test]
fn it_can_go_to_another_thread() {
    fn goes<T: Send>() {}
    goes::<Snapshots>();
}
