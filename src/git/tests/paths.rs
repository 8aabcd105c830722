//! After a task only its paths count, wherever they lead.

use super::*;

#[test]
fn after_a_task_only_its_paths_count() {
    let repo = Repo::new();
    repo.write("moved/in/x", "x");
    repo.write("del/x", "x");
    repo.before();
    repo.write("staged.txt", "user");
    repo.git(&["add", "staged.txt"]);
    repo.write("other.txt", "user");
    let user = "A  staged.txt\n?? other.txt\n";
    let mut snapshots = repo.open();
    let mut after = |paths: &[&str]| {
        snapshots
            .after_task(&paths_of(paths), &message())
            .unwrap()
            .changed
    };

    assert!(!after(&["a.txt", "not/there", "moved"]));
    repo.write("new/file.txt", "1");
    assert!(after(&["new/file.txt"]));
    repo.write("new/file.txt", "2");
    assert!(after(&["./new/file.txt"]));
    fs::rename(repo.at("moved"), repo.at("there")).unwrap();
    assert!(after(&["moved", "there"]));
    repo.remove("del");
    assert!(after(&["del/x"]));
    repo.write("a.txt", "one\n");
    assert!(!after(&["a.txt"]), "the same content");
    assert_eq!(repo.files(), ["a.txt", "new/file.txt", "there/in/x"]);
    assert_eq!(repo.status(), user);
    assert_eq!(
        repo.git(&["diff", "--cached", "--name-only"]),
        "staged.txt\n"
    );
}

#[test]
fn a_file_changed_through_links_is_saved_where_it_is() {
    let repo = Repo::new();
    repo.write("real/f", "1");
    symlink("real", repo.at("way")).unwrap();
    symlink("a.txt", repo.at("alias")).unwrap();
    let outside = TempDir::new().unwrap();
    symlink(outside.path(), repo.at("away")).unwrap();
    repo.before();
    repo.write("way/f", "2");
    repo.write("alias", "two\n");
    repo.write("away/f", "2");
    assert!(repo.after(&["way/f", "alias", "away/f"]).changed);
    assert_eq!(
        (repo.committed("real/f"), repo.committed("a.txt")),
        ("2".into(), "two\n".into())
    );
    assert_eq!(repo.files(), ["a.txt", "alias", "away", "real/f", "way"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn a_folder_may_stand_where_a_file_was() {
    let repo = Repo::new();
    repo.remove("a.txt");
    repo.write("a.txt/b/c", "c");
    assert!(repo.after(&["a.txt/b/c"]).changed);
    assert_eq!(
        (repo.files(), repo.status()),
        (vec!["a.txt/b/c".into()], String::new())
    );
}

#[test]
fn a_path_that_leads_out_of_the_root_is_refused() {
    let repo = Repo::new();
    for path in ["../x", "/etc/passwd", "x/../../y", "nul\0"] {
        let error = repo
            .open()
            .after_task(&paths_of(&[path]), &message())
            .unwrap_err();
        assert!(matches!(error, SnapshotError::OutsideRoot(_)), "{error}");
    }
}

#[test]
fn the_root_itself_may_be_the_path() {
    let repo = Repo::new();
    repo.write("sub/x", "1");
    repo.write("y", "1");
    let mut snapshots = repo.open_at("sub");
    assert!(
        snapshots
            .after_task(&paths_of(&["."]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(repo.files(), ["a.txt", "sub/x"]);
    assert!(repo.after(&[""]).changed);
    assert_eq!(repo.files(), ["a.txt", "sub/x", "y"]);
    assert!(!repo.after(&[".git", ".git/config"]).changed);
}
