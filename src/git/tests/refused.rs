//! A save that is not possible says why and has changed nothing.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn nothing_is_saved_in_the_middle_of_something() {
    for (command, operation) in [
        (["merge", "side"], Operation::Merge),
        (["rebase", "side"], Operation::Rebase),
        (["cherry-pick", "side"], Operation::CherryPick),
        (["revert", "HEAD~1"], Operation::Revert),
    ] {
        let repo = Repo::conflicting();
        assert!(!repo.try_git(&command).0);
        let error = repo.refused();
        assert!(
            matches!(error, SnapshotError::Busy(o, _) if o == operation),
            "{error}"
        );
        repo.git(&["add", "-A"]); // Resolved and not yet ended.
        let error = repo.refused();
        assert!(
            matches!(error, SnapshotError::Busy(o, _) if o == operation),
            "{error}"
        );
    }
    let repo = Repo::conflicting();
    repo.git(&["bisect", "start", "HEAD", "HEAD~1"]);
    assert_eq!(
        repo.refused().to_string(),
        "a bisect is in progress: if you began it, finish or abort it (`git status` says how); otherwise run `git bisect reset`, then try again"
    );
    repo.git(&["bisect", "reset"]);
    repo.write("a.txt", "stashed\n");
    repo.git(&["stash", "-q"]);
    repo.write("a.txt", "other\n");
    repo.git(&["commit", "-qam", "other"]);
    assert!(!repo.try_git(&["stash", "pop"]).0);
    let error = repo.refused();
    assert!(
        matches!(&error, SnapshotError::Conflicts(paths) if *paths == paths_of(&["a.txt"])),
        "{error}"
    );
    assert!(
        repo.open()
            .after_task(&paths_of(&["b.txt"]), &message())
            .is_err()
    );
}

#[test]
fn a_lock_is_waited_for_and_then_named() {
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    for (name, lock) in [
        ("index", ".git/index.lock"),
        ("main", ".git/refs/heads/main.lock"),
    ] {
        let lock = repo.at(lock);
        fs::write(&lock, "").unwrap();
        let mut snapshots = repo.open();
        snapshots.store.locks.longest = Duration::from_millis(60);
        let head = repo.head();
        let error = snapshots.before(&message()).unwrap_err();
        assert!(
            matches!(&error, SnapshotError::Locked(path) if *path == lock),
            "{name}: {error}"
        );
        assert_eq!(repo.head(), head);

        snapshots.store.locks.longest = Duration::from_secs(20);
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            fs::remove_file(lock).unwrap();
        });
        assert!(snapshots.before(&message()).unwrap().changed, "{name}");
        opener.join().unwrap();
        assert_eq!(repo.status(), "");
        repo.write("a.txt", "three\n");
    }
}

#[test]
fn a_lock_is_hardly_waited_for_once_clada_is_to_stop() {
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    fs::write(repo.at(".git/index.lock"), "").unwrap();
    let (stop, stopped) = watch::channel(false);
    let mut snapshots = Snapshots::open(&repo.top(), &[], &options(), &stopped)
        .unwrap()
        .unwrap();
    snapshots.store.locks.longest = Duration::from_secs(60);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            stop.send_replace(true);
        });
        for _ in 0..20 {
            let error = snapshots.before(&message()).unwrap_err();
            assert!(matches!(error, SnapshotError::Locked(_)), "{error}");
        }
    });
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
    fs::remove_file(repo.at(".git/index.lock")).unwrap();
    assert!(snapshots.before(&message()).unwrap().changed);
}

#[test]
fn repositories_that_libgit2_cannot_read_are_named() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let folder = tempfile::tempdir().unwrap();
        if !git_in(folder.path(), &["init", "-q", format]).0 {
            continue; // An older git, which has no such repositories.
        }
        let repo = Repo::init(&[format]);
        let error = open(&repo.top(), &[]).err().unwrap();
        assert!(matches!(error, SnapshotError::Unsupported(_)), "{error}");
    }
    for command in [
        &["update-index", "--split-index"][..],
        &["sparse-checkout", "set", "--cone", "--sparse-index", "x"],
    ] {
        let repo = Repo::new();
        repo.write("x/1", "");
        repo.write("y/1", "");
        repo.before();
        repo.git(command);
        let error = repo.refused();
        assert!(matches!(error, SnapshotError::Unsupported(_)), "{error}");
    }
}

#[test]
fn somebody_elses_repository_is_refused() {
    let repo = Repo::new();
    let other = |path: PathBuf| std::os::unix::fs::chown(path, Some(4242), None);
    if other(repo.top()).and(other(repo.at(".git"))).is_err() {
        return; // Only root can give files away.
    }
    let error = open(&repo.top(), &[]).err().unwrap();
    assert!(matches!(error, SnapshotError::NotOwned(_)), "{error}");
    for path in [repo.top(), repo.at(".git")] {
        std::os::unix::fs::chown(path, Some(0), None).unwrap();
    }
}

#[test]
fn a_file_that_cannot_be_saved_is_named() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "input"]);
    repo.git(&["config", "core.safecrlf", "true"]);
    repo.write("mixed.txt", "1\r\n2\n");
    let error = repo.refused();
    assert!(
        matches!(&error, SnapshotError::Unreadable { path, .. } if path == Path::new("mixed.txt")),
        "{error}"
    );
    repo.remove("mixed.txt");
    assert!(!repo.before().changed);

    repo.write("closed.txt", "x");
    repo.write("dir/tracked.txt", "x");
    repo.write("dir/zclosed.txt", "1");
    repo.git(&["add", "dir"]);
    repo.git(&["commit", "-qm", "dir"]);
    fs::set_permissions(repo.at("closed.txt"), Permissions::from_mode(0o000)).unwrap();
    if fs::read(repo.at("closed.txt")).is_ok() {
        return; // Root reads everything.
    }
    assert!(repo.refused().to_string().contains("`closed.txt`"));
    repo.remove("closed.txt");
    repo.write("dir/zclosed.txt", "2");
    fs::set_permissions(repo.at("dir/zclosed.txt"), Permissions::from_mode(0o000)).unwrap();
    let error = repo.refused().to_string();
    assert!(error.contains("dir/zclosed.txt"), "{error}");
    fs::set_permissions(repo.at("dir/zclosed.txt"), Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(repo.at("dir"), Permissions::from_mode(0o000)).unwrap();
    let error = repo.refused();
    fs::set_permissions(repo.at("dir"), Permissions::from_mode(0o755)).unwrap();
    assert!(
        error.to_string().contains("`dir/tracked.txt`"),
        "not a deletion: {error}"
    );
}

/// A checkout is going on, whoever's index is written.
#[test]
fn the_users_lock_counts_beside_the_branch_too() {
    let repo = Repo::new();
    let lock = repo.at(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let options = Options {
        target: CommitTarget::Side,
        ..options()
    };
    let mut snapshots = open_as(&repo.top(), &[], &options).unwrap().unwrap();
    snapshots.store.locks.longest = Duration::ZERO;
    let error = snapshots.before(&message()).unwrap_err();
    assert!(matches!(error, SnapshotError::Locked(path) if path == lock));
}
