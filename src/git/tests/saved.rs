//! What is saved, and that it is what git would save.

use std::ffi::OsStr;

use super::*;

#[test]
fn everything_under_the_root_is_saved() {
    let repo = Repo::new();
    repo.write("gone.txt", "x");
    repo.write("dir/gone.txt", "x");
    repo.before();
    repo.write("a.txt", "two\n");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.write("deep/er/new.txt", "new\n");
    repo.remove("gone.txt");
    repo.remove("dir");
    fs::create_dir(repo.at("empty")).unwrap();
    let state = repo.before();
    assert_eq!(state.commit.as_deref(), Some(&*repo.head()));
    assert!(state.changed && state.skipped.is_empty());
    assert_eq!(repo.files(), ["a.txt", "deep/er/new.txt", "staged.txt"]);
    assert_eq!(repo.committed("a.txt"), "two\n");
    assert_eq!(repo.status(), "");
    let stat = |commit| repo.git(&["show", "--stat", "--format=", commit]);
    assert!(stat("HEAD").contains("4 files changed"), "{}", stat("HEAD"));
    assert!(
        stat("HEAD^").contains("staged.txt | 1 +"),
        "{}",
        stat("HEAD^")
    );
}

#[test]
fn a_clean_tree_is_left_alone() {
    let repo = Repo::new();
    let (trace, modified) = (
        repo.trace(),
        repo.at(".git/index").metadata().unwrap().modified(),
    );
    let objects = repo.git(&["count-objects"]);
    let state = repo.before();
    assert_eq!((state.commit, state.changed), (Some(repo.head()), false));
    assert_eq!(repo.trace(), trace);
    assert_eq!(repo.git(&["count-objects"]), objects);
    assert_eq!(
        repo.at(".git/index")
            .metadata()
            .unwrap()
            .modified()
            .unwrap(),
        modified.unwrap()
    );
}

#[test]
fn what_was_staged_and_then_undone_on_disk_is_two_commits_as_with_git() {
    let repo = Repo::new();
    repo.write("a.txt", "two\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "one\n");
    assert!(repo.before().changed);
    assert_eq!((repo.status(), repo.commits()), (String::new(), 3));
    assert_eq!(repo.git(&["show", "HEAD^:a.txt"]), "two\n");
    assert_eq!(repo.committed("a.txt"), "one\n");
}

#[test]
fn an_announced_empty_file_is_saved() {
    let repo = Repo::new();
    repo.write("empty.txt", "");
    repo.git(&["add", "-N", "empty.txt"]);
    assert!(repo.before().changed);
    assert_eq!(repo.files(), ["a.txt", "empty.txt"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn ignored_files_are_not_saved_unless_tracked() {
    let repo = Repo::new();
    repo.write("tracked.log", "1");
    repo.git(&["add", "tracked.log"]);
    repo.write(".gitignore", "*.log\nout/\n");
    repo.before();
    repo.write("tracked.log", "2");
    repo.write("other.log", "2");
    repo.write("out/x", "2");
    assert!(repo.before().changed);
    assert_eq!(repo.files(), [".gitignore", "a.txt", "tracked.log"]);
    assert_eq!(repo.committed("tracked.log"), "2");

    repo.write("tracked.log", "3");
    assert!(repo.after(&["tracked.log"]).changed);
    assert!(!repo.after(&["other.log", "out/x", "out"]).changed);
    assert_eq!(repo.status(), "");
}

#[test]
fn modes_and_links_are_saved_as_such() {
    let repo = Repo::new();
    fs::set_permissions(repo.at("a.txt"), Permissions::from_mode(0o755)).unwrap();
    repo.write("dir/b.txt", "b");
    symlink("a.txt", repo.at("to-file")).unwrap();
    symlink("dir", repo.at("to-dir")).unwrap();
    symlink("/nowhere", repo.at("dangling")).unwrap();
    repo.before();
    let tree = repo.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "HEAD"]);
    assert_eq!(
        tree,
        "100755 a.txt\n120000 dangling\n100644 dir/b.txt\n120000 to-dir\n120000 to-file\n"
    );
    assert_eq!(repo.committed("to-dir"), "dir");
    assert_eq!(repo.status(), "");

    fs::set_permissions(repo.at("a.txt"), Permissions::from_mode(0o644)).unwrap();
    assert!(repo.after(&["a.txt"]).changed);
    assert_eq!(repo.status(), "");
}

#[test]
fn files_and_folders_take_each_others_place() {
    let repo = Repo::new();
    for save in [Repo::before, |repo: &Repo| repo.after(&["x"])] {
        for _ in 0..2 {
            repo.write("x/y/z", "z");
            repo.write("x/w", "w");
            assert!(save(&repo).changed);
            assert_eq!(repo.files(), ["a.txt", "x/w", "x/y/z"]);
            assert_eq!(repo.status(), "");
            repo.remove("x");
            repo.write("x", "file");
            assert!(save(&repo).changed);
            assert_eq!(repo.files(), ["a.txt", "x"]);
            repo.remove("x");
            repo.write("x/y/z", "z");
            assert!(save(&repo).changed);
            assert_eq!(repo.files(), ["a.txt", "x/y/z"]);
            repo.remove("x");
            symlink(".", repo.at("x")).unwrap();
            assert!(save(&repo).changed);
            assert_eq!(
                (repo.files(), repo.committed("x")),
                (vec!["a.txt".into(), "x".into()], ".".into())
            );
            assert_eq!(repo.status(), "");
            repo.remove("x");
        }
        assert!(save(&repo).changed);
    }
}

#[test]
fn a_link_to_a_twin_does_not_keep_the_files_of_the_folder_it_replaced() {
    let repo = Repo::new();
    repo.write("old/f", "f");
    repo.before();
    fs::rename(repo.at("old"), repo.at("new")).unwrap();
    symlink("new", repo.at("old")).unwrap();
    repo.before();
    assert_eq!(repo.files(), ["a.txt", "new/f", "old"]);
    assert_eq!(repo.status(), "");
}

#[test]
fn any_file_name_will_do() {
    let names = [
        "with space",
        "-dash",
        "ünïcode 💚",
        "new\nline",
        "tab\t\"quote\"",
        "*",
        "[x]",
        "!not",
        "#hash",
        "back\\slash",
        "  ",
        ":(glob)x",
    ];
    for root in names {
        let repo = Repo::new();
        let latin = Path::new(root).join(OsStr::from_bytes(b"caf\xe9"));
        repo.write(Path::new(root).join("tracked"), "1");
        repo.write("other/file", "untouched");
        let mut snapshots = repo.open_at(root);
        assert!(snapshots.before(&message()).unwrap().changed, "{root:?}");
        assert_eq!(repo.status(), "?? other/\n", "{root:?}");
        for name in names {
            repo.write(Path::new(root).join(name), name);
        }
        repo.write(&latin, "latin");
        assert!(
            snapshots
                .after_task(&paths_of(&names), &message())
                .unwrap()
                .changed
        );
        assert!(
            snapshots.before(&message()).unwrap().changed,
            "the latin one is left"
        );
        assert_eq!(repo.status(), "?? other/\n", "{root:?}");
        assert_eq!(repo.files().len(), names.len() + 3, "{:?}", repo.files());
        fs::remove_dir_all(repo.at(root)).unwrap();
        fs::create_dir(repo.at(root)).unwrap();
        assert!(snapshots.after_all(&message()).unwrap().changed);
        assert_eq!(repo.files(), ["a.txt"]);
    }
}

#[test]
fn two_thousand_deletions_are_one_save() {
    let repo = Repo::new();
    for n in 0..2000 {
        repo.write(format!("many/{}/{n}", n % 7), n.to_string());
    }
    repo.before();
    repo.remove("many");
    let mut snapshots = repo.open();
    assert!(
        snapshots
            .after_task(&paths_of(&["many"]), &message())
            .unwrap()
            .changed
    );
    assert_eq!(
        (repo.files(), repo.status()),
        (vec!["a.txt".into()], String::new())
    );
    repo.remove("a.txt");
    assert!(snapshots.after_all(&message()).unwrap().changed);
    assert_eq!((repo.files(), repo.status()), (vec![], String::new()));
}

#[test]
fn line_ends_are_converted_as_git_does() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write(".gitattributes", "*.bat text eol=crlf\n*.bin -text\n");
    repo.before();
    for name in ["auto.txt", "dos.bat", "raw.bin"] {
        repo.write(name, "1\r\n2\r\n");
    }
    repo.after(&["auto.txt", "dos.bat", "raw.bin"]);
    assert_eq!(repo.committed("auto.txt"), "1\n2\n");
    assert_eq!(repo.committed("dos.bat"), "1\n2\n");
    assert_eq!(repo.committed("raw.bin"), "1\r\n2\r\n");
    assert_eq!(repo.status(), "");
}

#[test]
fn edits_of_the_same_size_in_the_same_moment_are_seen() {
    let repo = Repo::new();
    let mut snapshots = repo.open();
    for n in 10..60 {
        repo.write("a.txt", n.to_string());
        assert!(snapshots.before(&message()).unwrap().changed, "{n}");
        assert_eq!(repo.committed("a.txt"), n.to_string());
    }
}

/// Random changes; the tree must be the one that `git add -A` makes of them.
#[test]
fn the_tree_is_the_one_that_git_would_write() {
    let repo = Repo::new();
    let mut snapshots = repo.open();
    let mut random = 7_u64;
    let mut below = |n: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) % n
    };
    for round in 0..60 {
        let mut touched = Vec::new();
        for _ in 0..=below(4) {
            let path = ["d", "e", "d/e", "d/f", "d/e/g", "h"][usize::try_from(below(6)).unwrap()];
            let at = repo.at(path);
            if at.symlink_metadata().is_ok() && below(2) == 0 {
                repo.remove(path);
            } else if at.parent().unwrap().is_dir() && !at.is_dir() {
                match below(4) {
                    0 => fs::create_dir_all(&at).unwrap_or_default(),
                    1 => symlink("a.txt", &at).unwrap_or_default(),
                    _ => repo.write(path, round.to_string()),
                }
            }
            touched.push(path);
        }
        touched.push("a.txt"); // What is written through the links.
        let copy = repo.at(".git/index.copy");
        fs::copy(repo.at(".git/index"), &copy).unwrap();
        // By the index's age git knows which entries it must look into.
        let written = repo.at(".git/index").metadata().unwrap().modified();
        let copied = fs::File::options().append(true).open(&copy).unwrap();
        copied.set_modified(written.unwrap()).unwrap();
        match round % 2 {
            0 => snapshots.before(&message()).unwrap(),
            _ => snapshots
                .after_task(&paths_of(&touched), &message())
                .unwrap(),
        };
        assert_eq!(repo.status(), "", "round {round}: {touched:?}");
        let judge = "alias.judge=!GIT_INDEX_FILE=.git/index.copy; export GIT_INDEX_FILE; \
                     git add -A && git write-tree";
        let judge = repo.git(&["-c", judge, "judge"]);
        let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
        assert_eq!(tree, judge, "round {round}: {touched:?}");
    }
    assert!(repo.commits() > 30);
}

#[test]
fn a_rule_that_is_no_longer_there_holds_for_nothing() {
    let repo = Repo::new();
    repo.write(".gitattributes", "* text\n");
    repo.before();
    repo.write(".gitattributes", "# none\r\n");
    repo.write("!first.txt", "one\r\n");
    repo.write("b/.gitattributes", "* text\n");
    repo.write("b/!first.txt", "one\r\n");
    repo.before();
    assert_eq!(repo.status(), "");
    assert_eq!(repo.committed(".gitattributes"), "# none\r\n");
    assert_eq!(repo.committed("!first.txt"), "one\r\n");
    assert_eq!(repo.committed("b/!first.txt"), "one\n");
}

#[test]
fn line_ends_are_converted_in_the_place_of_a_link() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    symlink("a.txt", repo.at("link")).unwrap();
    repo.before();
    repo.remove("link");
    repo.write("link", "one\r\n");
    repo.before();
    assert_eq!(repo.committed("link"), "one\n");
    assert_eq!(repo.status(), "");
}
