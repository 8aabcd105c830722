//! What the user, another git or a crash does between the steps of a save.

use std::time::Duration;

use super::*;

#[test]
fn commits_and_staging_between_the_calls_are_seen() {
    let repo = Repo::new();
    let mut snapshots = repo.open();
    for n in 0..5 {
        repo.write("a.txt", format!("user {n}\n"));
        repo.git(&["commit", "-qam", "user"]);
        repo.write("staged.txt", format!("{n}"));
        repo.git(&["add", "staged.txt"]);
        repo.write("task.txt", format!("{n}"));
        assert!(
            snapshots
                .after_task(&paths_of(&["task.txt"]), &message())
                .unwrap()
                .changed
        );
        assert_eq!(
            repo.git(&["diff", "--cached", "--name-only"]),
            "staged.txt\n"
        );
        assert!(snapshots.before(&message()).unwrap().changed);
        assert_eq!(repo.status(), "");
    }
    repo.remove(".git/index");
    assert!(!snapshots.before(&message()).unwrap().changed);
    assert_eq!(repo.status(), "");
}

#[test]
fn an_index_that_changed_between_two_looks_at_everything_is_read_anew() {
    let repo = Repo::new();
    let mut snapshots = repo.open();
    assert!(!snapshots.before(&message()).unwrap().changed);
    repo.git(&["rm", "-q", "--cached", "a.txt"]);
    assert!(!snapshots.after_all(&message()).unwrap().changed);
    assert_eq!(repo.status(), "");
}

#[test]
fn a_git_add_in_the_middle_of_a_save_survives() {
    let repo = Repo::new();
    repo.write("sub/task.txt", "task");
    repo.write("other.txt", "user");
    let mut snapshots = repo.open_at("sub");
    let prepared = snapshots.prepare_all();
    repo.git(&["add", "other.txt"]);
    assert!(
        snapshots
            .store
            .conclude(prepared, &message())
            .unwrap()
            .changed
    );
    assert_eq!(repo.status(), "A  other.txt\n");
    assert!(!snapshots.before(&message()).unwrap().changed);
}

#[test]
fn a_commit_in_the_middle_of_a_save_is_not_lost() {
    let repo = Repo::new();
    repo.write("task.txt", "task");
    let mut snapshots = repo.open();
    let prepared = snapshots.prepare_all();
    repo.write("a.txt", "user\n");
    repo.git(&["commit", "-qm", "user", "a.txt"]);
    let error = snapshots.store.conclude(prepared, &message()).unwrap_err();
    assert!(matches!(error, SnapshotError::HeadMoved), "{error}");
    assert_eq!((repo.commits(), repo.status()), (2, "?? task.txt\n".into()));

    // The same between the look at HEAD and the commit itself.
    let tree = snapshots
        .store
        .repo
        .head()
        .unwrap()
        .peel_to_tree()
        .unwrap()
        .id();
    let parent = snapshots
        .store
        .repo
        .revparse_single("HEAD~1")
        .unwrap()
        .peel_to_commit()
        .unwrap();
    let error = snapshots
        .store
        .commit(Some(parent.id()), tree, &message())
        .unwrap_err();
    assert!(matches!(error, SnapshotError::HeadMoved), "{error}");
    let error = snapshots.store.commit(None, tree, &message()).unwrap_err();
    assert!(matches!(error, SnapshotError::HeadMoved), "{error}");
    drop(parent);

    assert!(snapshots.before(&message()).unwrap().changed);
    assert_eq!(repo.committed("a.txt"), "user\n");
    assert_eq!((repo.commits(), repo.status()), (3, String::new()));
}

#[test]
fn a_merge_that_begins_in_the_middle_of_a_save_is_left_alone() {
    for (theirs, staged) in [("a.txt", false), ("b.txt", false), ("b.txt", true)] {
        let repo = Repo::new();
        repo.git(&["checkout", "-qb", "side"]);
        repo.write(theirs, "side\n");
        repo.git(&["add", theirs]);
        repo.git(&["commit", "-qm", "side"]);
        repo.git(&["checkout", "-q", "main"]);
        repo.write("a.txt", "main\n");
        repo.git(&["commit", "-qam", "main"]);
        repo.write("task.txt", "task");
        let mut snapshots = repo.open();
        let mut prepared = snapshots.prepare_all();
        if staged {
            prepared.gathered.staged.clear(); // As if the user had staged it all.
        }
        repo.try_git(&["merge", "--no-commit", "side"]);
        let trace = repo.trace();
        let error = snapshots.store.conclude(prepared, &message()).unwrap_err();
        assert!(matches!(error, SnapshotError::Busy(Operation::Merge, _)));
        assert_eq!(repo.trace(), trace);
    }
}

#[test]
fn a_lock_taken_in_the_middle_of_a_save_moves_nothing() {
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    let mut snapshots = repo.open();
    snapshots.store.locks.longest = Duration::from_millis(60);
    let prepared = snapshots.prepare_all();
    let lock = repo.at(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let trace = repo.trace();
    let error = snapshots.store.conclude(prepared, &message()).unwrap_err();
    assert!(
        matches!(&error, SnapshotError::Locked(path) if *path == lock),
        "{error}"
    );
    assert_eq!(repo.trace(), trace);
    fs::remove_file(lock).unwrap();
    assert!(snapshots.before(&message()).unwrap().changed);
}

/// Killed after the objects, and after the index: git finds nothing wrong, and the next save completes it.
#[test]
fn a_save_that_was_cut_off_leaves_changes_staged_at_most() {
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    repo.write("new.txt", "new\n");
    let trace = repo.trace();
    drop(repo.open().prepare_all());
    assert_eq!(repo.trace(), trace);
    assert_eq!(repo.status(), " M a.txt\n?? new.txt\n");

    let mut snapshots = repo.open();
    let prepared = snapshots.prepare_all();
    snapshots
        .store
        .write_index(&prepared.gathered.staged)
        .unwrap();
    drop(snapshots);
    assert_eq!(repo.status(), "M  a.txt\nA  new.txt\n");
    repo.git(&["fsck", "--strict"]);
    assert!(repo.before().changed);
    assert_eq!((repo.status(), repo.commits()), (String::new(), 2));
}

#[test]
fn a_save_that_failed_leaves_nothing_behind_for_the_next() {
    let repo = Repo::new();
    let mut snapshots = repo.open();
    repo.write("b.txt", "given up");
    drop(snapshots.prepare_all());
    repo.remove("b.txt");
    repo.write("c.txt", "c");
    assert!(
        snapshots
            .after_task(&paths_of(&["c.txt"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(
        (repo.files(), repo.status()),
        (vec!["a.txt".into(), "c.txt".into()], String::new())
    );
}

/// What is squashed was read before; the branch is moved only if it is still there.
#[test]
fn a_branch_that_somebody_else_moved_is_left_there() {
    for detached in [false, true] {
        let repo = Repo::new();
        if detached {
            repo.git(&["checkout", "-q", "--detach"]);
        }
        let snapshots = repo.open();
        let read = Oid::from_str(&repo.head()).unwrap();
        repo.git(&["commit", "-qm", "meanwhile", "--allow-empty"]);
        let now = repo.head();
        let moved = snapshots.store.advance(Some(read), read, "too late");
        assert!(matches!(moved, Err(SnapshotError::HeadMoved)));
        assert_eq!(repo.head(), now);
    }
}
