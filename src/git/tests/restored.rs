//! What commits hold is read back as git would check it out.

use std::ffi::OsStr;

use super::*;
use crate::world::file_or_link::FileOrLink;

fn file(bytes: impl AsRef<[u8]>, runs: bool) -> Option<FileOrLink> {
    let bytes = bytes.as_ref().to_vec();
    Some(FileOrLink::File { bytes, runs })
}

fn changes(repo: &Snapshots, from: Option<&str>, to: &str) -> Vec<(PathBuf, ChangeKind)> {
    let changes = repo.store.changes(from, Some(to)).unwrap();
    changes
        .into_iter()
        .map(|one| (one.path, ChangeKind::of(one.held[0], one.held[1])))
        .collect()
}

#[test]
fn files_links_and_modes() {
    let repo = Repo::new();
    let odd = Path::new(OsStr::from_bytes(b"d/od\nd \xff*"));
    repo.write(odd, "odd\n");
    repo.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(repo.at("run.sh"), Permissions::from_mode(0o755)).unwrap();
    symlink("/nowhere", repo.at("link")).unwrap();
    let first = repo.head();
    let saved = repo.before().commit.unwrap();
    let snapshots = repo.open();
    let expected = [odd, Path::new("link"), Path::new("run.sh")];
    let added = expected.map(|path| (path.to_path_buf(), ChangeKind::Added));
    assert_eq!(changes(&snapshots, Some(&first), &saved), added);
    let all = changes(&snapshots, None, &saved);
    assert_eq!(all.len(), 4, "{all:?}");
    let paths = expected.map(Path::to_path_buf);
    let entries = snapshots.store.entries(Some(&saved), &paths).unwrap();
    let link = Some(FileOrLink::Link("/nowhere".into()));
    assert_eq!(
        entries,
        [file("odd\n", false), link, file("#!/bin/sh\n", true)]
    );
    assert_eq!(
        snapshots.store.entries(Some(&first), &paths).unwrap(),
        [None, None, None]
    );
    assert_eq!(snapshots.store.entry(None, odd).unwrap(), None);
    assert_eq!(
        snapshots.store.entry(Some(&saved), Path::new("d")).unwrap(),
        None
    );
    for path in &paths {
        assert!(
            snapshots.store.is_now(Some(&saved), path).unwrap(),
            "{path:?}"
        );
        assert!(
            !snapshots.store.is_now(Some(&first), path).unwrap(),
            "{path:?}"
        );
    }
    fs::set_permissions(repo.at("run.sh"), Permissions::from_mode(0o644)).unwrap();
    assert!(
        !snapshots
            .store
            .is_now(Some(&saved), Path::new("run.sh"))
            .unwrap()
    );
    repo.remove("link");
    assert!(
        snapshots
            .store
            .is_now(Some(&first), Path::new("link"))
            .unwrap()
    );
    repo.write("link", "/nowhere");
    assert!(
        !snapshots
            .store
            .is_now(Some(&saved), Path::new("link"))
            .unwrap()
    );
    assert!(
        snapshots
            .store
            .is_now(Some(&first), Path::new("d"))
            .unwrap()
    );
}

#[test]
fn line_ends_are_those_of_the_work_tree() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write(".gitattributes", "*.sh eol=lf\n*.bin binary\n");
    repo.write("a.txt", "one\r\ntwo\r\n");
    repo.write("b.sh", "one\n");
    repo.write("c.bin", "one\n\0");
    let saved = repo.before().commit.unwrap();
    assert_eq!(repo.git(&["show", "HEAD:a.txt"]), "one\ntwo\n");
    let snapshots = repo.open();
    let paths = paths_of(&["a.txt", "b.sh", "c.bin"]);
    let expected = ["one\r\ntwo\r\n", "one\n", "one\n\0"].map(|text| file(text, false));
    assert_eq!(
        snapshots.store.entries(Some(&saved), &paths).unwrap(),
        expected
    );
    for path in &paths {
        assert!(
            snapshots.store.is_now(Some(&saved), path).unwrap(),
            "{path:?}"
        );
    }
    assert_eq!(repo.status(), "");
}

#[test]
fn below_the_root_only_and_nothing_that_is_never_saved() {
    let repo = Repo::new();
    let first = repo.head();
    for path in ["sub/a", "sub/notes.md", "sub/.clada-x", "other"] {
        repo.write(path, "x\n");
    }
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "all"]);
    let never = [repo.at("sub/notes.md")];
    let snapshots = open(&repo.at("sub"), &never).unwrap().unwrap();
    let expected = [("a".into(), ChangeKind::Added)];
    assert_eq!(changes(&snapshots, Some(&first), &repo.head()), expected);
    assert!(
        snapshots
            .store
            .is_now(Some(&repo.head()), Path::new("a"))
            .unwrap()
    );
}

#[test]
fn a_linked_work_tree_and_a_private_repository() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    let beside = TempDir::new().unwrap();
    let work = beside.path().join("work");
    repo.git(&["worktree", "add", "-q", work.to_str().unwrap()]);
    let linked = open(&work, &[]).unwrap().unwrap();
    let at = Path::new("a.txt");
    assert_eq!(
        linked.store.entry(Some(&repo.head()), at).unwrap(),
        file("one\r\n", false)
    );
    assert!(linked.store.is_now(Some(&repo.head()), at).unwrap());

    let plain = TempDir::new().unwrap();
    let options = Options {
        private: beside.path().join("private"),
        private_limit: 10,
        ..options()
    };
    fs::write(plain.path().join("mixed"), "a\r\nb\n").unwrap();
    let mut private = open_as(plain.path(), &[], &options).unwrap().unwrap();
    let saved = private.before(&message()).unwrap().commit.unwrap();
    let at = Path::new("mixed");
    assert_eq!(
        private.store.entry(Some(&saved), at).unwrap(),
        file("a\r\nb\n", false)
    );
    assert!(private.store.is_now(Some(&saved), at).unwrap());
}
