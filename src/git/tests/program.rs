//! Hooks, where it matters that the process goes on.

use super::*;

/// A listener tries a refused batch again every few seconds.
#[test]
fn a_hook_is_not_asked_again_and_again_about_the_same() {
    let repo = Repo::new();
    let hook = repo.at(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho ran >> .git/ran\nexit 1\n").unwrap();
    fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
    repo.write("a.txt", "two\n");
    let options = Options {
        hooks: true,
        ..options()
    };
    let refused = || {
        let mut snapshots = open_as(&repo.top(), &[], &options).unwrap().unwrap();
        let why = snapshots.before(&message()).unwrap_err();
        assert!(matches!(why, SnapshotError::Hook(_)), "{why}");
        why.to_string()
    };
    let why = refused();
    assert_eq!(refused(), why);
    assert_eq!(fs::read_to_string(repo.at(".git/ran")).unwrap(), "ran\n");
    repo.write("a.txt", "three\n");
    refused();
    assert_eq!(
        fs::read_to_string(repo.at(".git/ran")).unwrap(),
        "ran\nran\n"
    );
}
