//! The index file as real git writes it: read by clada itself as libgit2 reads it, or not at all.

use git2::{Index, IndexEntry};

use super::*;
use crate::git::entries::IndexContent;
use crate::git::recorded::KnownEntries;
use crate::git::walk::{Doubts, IndexWalk};

impl Repo {
    fn index_file(&self) -> Vec<u8> {
        fs::read(self.at(".git/index")).unwrap()
    }

    /// Asserts that clada reads the index as libgit2 does; returns its version.
    fn assert_read_alike(&self) -> u32 {
        let index = Index::open(&self.at(".git/index")).unwrap();
        let content = IndexContent::of(&self.index_file()).unwrap();
        let theirs: Vec<IndexEntry> = index.iter().collect();
        assert_eq!(told(&content.entries), told(&theirs));
        assert!(self.index_file().ends_with(&content.checksum));
        for folder in ["", "sub", "sub/deep", "su", "nothing"].map(Path::new) {
            let content = IndexContent::of(&self.index_file()).unwrap();
            let ours = KnownEntries::among(content.entries, folder);
            let theirs = KnownEntries::of(&index, folder);
            assert_eq!(told(ours.entries()), told(theirs.entries()), "{folder:?}");
        }
        index.version()
    }

    /// Entries of all kinds, of which one is at a name of so many bytes.
    fn with_many_kinds(longest: usize) -> Self {
        let repo = Self::new();
        for name in [
            "sub.txt",
            "sub-a",
            "sub/x",
            "sub/deep/y",
            "sub/deep/z",
            "sub0",
            "é",
        ] {
            repo.write(name, name);
        }
        for number in 0..300 {
            repo.write(format!("many/{}/{number}", number % 7), "many");
        }
        repo.write("run", "run");
        fs::set_permissions(repo.at("run"), Permissions::from_mode(0o755)).unwrap();
        symlink("run", repo.at("link")).unwrap();
        for length in 1..=30 {
            repo.write(format!("length/{}", "n".repeat(length)), "");
        }
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "all"]);
        let head = repo.head();
        repo.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            "160000",
            &head,
            "module",
        ]);
        let blob = repo.git(&["rev-parse", "HEAD:a.txt"]);
        let long = format!("{:l<1$}", "long/".repeat(longest / 5 - 1), longest);
        let blob = blob.trim_end();
        repo.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            "100644",
            blob,
            &long,
        ]);
        repo
    }
}

fn told(entries: &[IndexEntry]) -> Vec<String> {
    entries.iter().map(|entry| format!("{entry:?}")).collect()
}

/// The compared: whether the walk went ahead, and its doubts, those of the slower way beside them.
fn doubts_of(snapshots: &Snapshots) -> (bool, [Vec<PathBuf>; 2], [Vec<PathBuf>; 2]) {
    let store = &snapshots.store;
    let config = store.repo.config().unwrap().snapshot().unwrap();
    let walk = IndexWalk::by(&config, &store.top, store.index_file());
    let (index, ahead) = store.index_and_ahead(&walk).unwrap();
    let slow = walk.doubts(&KnownEntries::of(&index, &store.root));
    let is_ahead = ahead.is_some();
    let fast = ahead.map_or_else(Doubts::default, |ahead| ahead.doubts);
    let sorted = |doubts: Doubts| {
        [doubts.tracked, doubts.others].map(|mut paths| {
            paths.sort();
            paths
        })
    };
    (is_ahead, sorted(fast), sorted(slow))
}

#[test]
fn plain_index_files_are_read_as_libgit2_reads_them() {
    for longest in [4094, 4095] {
        let repo = Repo::with_many_kinds(longest);
        assert_eq!(repo.assert_read_alike(), 2);
        repo.git(&["update-index", "--index-version", "4"]);
        assert_eq!(repo.assert_read_alike(), 4);
        repo.git(&["update-index", "--index-version", "2"]);
        repo.git(&["update-index", "--assume-unchanged", "run"]);
        assert_eq!(repo.assert_read_alike(), 2);
        repo.write("sub/new", "new");
        repo.git(&["add", "-N", "sub/new"]);
        assert_eq!(repo.assert_read_alike(), 3);
        repo.git(&["update-index", "--skip-worktree", "sub/x", "sub/new"]);
        assert_eq!(repo.assert_read_alike(), 3);
        repo.git(&["update-index", "--force-untracked-cache"]);
        repo.status();
        assert!(memchr::memmem::find(&repo.index_file(), b"UNTR").is_some());
        repo.assert_read_alike();
        for (name, value) in [
            ("index.threads", "2"),
            ("index.recordOffsetTable", "true"),
            ("index.recordEndOfIndexEntries", "true"),
        ] {
            repo.git(&["config", name, value]);
        }
        for version in ["3", "4"] {
            repo.git(&["update-index", "--index-version", version]);
            repo.git(&["update-index", "--force-write-index"]);
            assert!(memchr::memmem::find(&repo.index_file(), b"EOIE").is_some());
            assert!(memchr::memmem::find(&repo.index_file(), b"IEOT").is_some());
            assert_eq!(repo.assert_read_alike().to_string(), version);
        }
    }
}

#[test]
fn an_index_without_entries_is_read() {
    let repo = Repo::new();
    repo.git(&["rm", "-q", "--cached", "a.txt"]);
    assert_eq!(repo.assert_read_alike(), 2);
    repo.git(&["add", "a.txt"]);
}

#[test]
fn an_index_file_that_is_not_plain_is_left_to_libgit2() {
    let repo = Repo::conflicting();
    let plain = repo.index_file();
    assert!(IndexContent::of(&plain).is_some());
    assert!(!repo.try_git(&["merge", "-q", "side"]).0);
    assert!(IndexContent::of(&repo.index_file()).is_none(), "unmerged");
    repo.git(&["merge", "--abort"]);
    // What the merge has resolved is remembered in an extension.
    assert!(!repo.try_git(&["merge", "-q", "side"]).0);
    repo.git(&["add", "a.txt"]);
    assert!(memchr::memmem::find(&repo.index_file(), b"REUC").is_some());
    repo.assert_read_alike();
    repo.git(&["reset", "-q", "--hard"]);

    repo.git(&["update-index", "--split-index"]);
    assert!(IndexContent::of(&repo.index_file()).is_none(), "split");
    repo.git(&["update-index", "--no-split-index"]);

    for name in ["in/a", "out/a", "out/b"] {
        repo.write(name, name);
    }
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "folders"]);
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert!(IndexContent::of(&repo.index_file()).is_none(), "sparse");

    let with = |at: usize, bytes: &[u8]| {
        let mut file = plain.clone();
        file.splice(at..at + bytes.len(), bytes.iter().copied());
        IndexContent::of(&file).is_some()
    };
    assert!(with(0, b"DIRC"));
    assert!(!with(0, b"DIRD"));
    assert!(!with(4, &5_u32.to_be_bytes()), "another version");
    assert!(!with(8, &2_u32.to_be_bytes()), "fewer entries than it says");
    assert!(
        !with(8, &u32::MAX.to_be_bytes()),
        "fewer entries than it says"
    );
    let mode = 12 + 24;
    assert!(!with(mode, &0o040_000_u32.to_be_bytes()), "a folder");
    assert!(!with(mode, &0o100_664_u32.to_be_bytes()), "an unknown mode");
    let flags = 12 + 60;
    assert!(!with(flags, &(1_u16 << 14 | 5).to_be_bytes()), "extended");
    assert!(!with(flags, &(1_u16 << 12 | 5).to_be_bytes()), "a stage");
    assert!(!with(flags, &4_u16.to_be_bytes()), "another length");
    assert!(!with(flags + 2, b"\0"), "no name");
    let padding = flags + 2 + 5;
    assert!(!with(padding + 1, b"x"), "no padding");
    let mut file = plain.clone();
    let end = file.len() - 20;
    file.splice(end..end, *b"XTRA\0\0\0\0");
    assert!(IndexContent::of(&file).is_none(), "an unknown extension");
    file.splice(end..end + 4, *b"TREE");
    assert!(IndexContent::of(&file).is_some());
    file.splice(end..end + 4, *b"link");
    assert!(IndexContent::of(&file).is_none(), "what must be known");
    for length in 0..32 {
        assert!(IndexContent::of(&plain[..length]).is_none(), "{length}");
    }
}

#[test]
fn entries_out_of_order_or_twice_are_left_to_libgit2() {
    let repo = Repo::new();
    repo.write("b.txt", "b");
    repo.git(&["add", "b.txt"]);
    let mut file = repo.index_file();
    assert!(IndexContent::of(&file).is_some());
    let names = [b"a.txt", b"b.txt"].map(|name| memchr::memmem::find(&file, name).unwrap());
    file[names[1]] = b'a';
    assert!(IndexContent::of(&file).is_none());
    file[names[0]] = b'c';
    assert!(IndexContent::of(&file).is_none());
}

#[test]
fn a_walk_beside_the_reading_of_the_index_has_the_same_doubts() {
    let repo = Repo::with_many_kinds(100);
    repo.write("sub/x", "changed");
    repo.write("sub/untracked", "new");
    repo.remove("sub/deep");
    repo.remove("many/3/3");
    repo.git(&["update-index", "--assume-unchanged", "sub-a"]);
    repo.git(&["update-index", "--skip-worktree", "sub0"]);
    repo.write("sub-a", "kept");
    repo.write("sub0", "kept");
    for version in ["2", "4"] {
        repo.git(&["update-index", "--index-version", version]);
        for root in ["", "sub", "many"] {
            let snapshots = repo.open_at(root);
            for _ in 0..2 {
                let (is_ahead, fast, slow) = doubts_of(&snapshots);
                assert!(is_ahead);
                assert_eq!(fast, slow, "{root}");
                assert!(root == "many" || fast[0].contains(&"sub/x".into()));
            }
        }
    }
    // Each file may have been written after the index.
    let index = fs::File::options().write(true).open(repo.at(".git/index"));
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    index.unwrap().set_modified(long_ago).unwrap();
    let (is_ahead, fast, slow) = doubts_of(&repo.open());
    assert!(is_ahead);
    assert_eq!(fast, slow);
    assert!(fast[0].contains(&"run".into()));
}

#[test]
fn a_walk_beside_the_reading_of_another_index_counts_for_nothing() {
    let repo = Repo::new();
    repo.write("b.txt", "b");
    let snapshots = repo.open();
    let store = &snapshots.store;
    let config = store.repo.config().unwrap().snapshot().unwrap();
    let before = || IndexWalk::by(&config, &store.top, store.index_file());
    let early = before();
    repo.git(&["add", "b.txt"]);
    assert!(store.index_and_ahead(&early).unwrap().1.is_none());
    let known = store.index_and_ahead(&before()).unwrap().1.unwrap().known;
    assert_eq!(known.entries().len(), 2);
}

#[test]
fn a_change_is_saved_with_each_kind_of_index() {
    let kinds: [&[&str]; 6] = [
        &["update-index", "--index-version", "2"],
        &["update-index", "--index-version", "4"],
        &["update-index", "--force-untracked-cache"],
        &["config", "index.skipHash", "true"],
        &["config", "index.recordOffsetTable", "true"],
        &["config", "core.ignoreCase", "true"],
    ];
    for kind in kinds {
        let repo = Repo::new();
        repo.write("sub/b.txt", "b");
        repo.git(kind);
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-qm", "sub"]);
        let mut snapshots = repo.open();
        for (step, text) in ["one", "two", "tri"].into_iter().enumerate() {
            // Of the same length, and written in the moment in which the index was.
            repo.write("sub/b.txt", text);
            assert!(
                snapshots.before(&message()).unwrap().changed,
                "{kind:?}, {step}"
            );
            assert_eq!(repo.committed("sub/b.txt"), text);
            assert!(!snapshots.after_all(&message()).unwrap().changed);
            assert_eq!(repo.status(), "", "{kind:?}");
        }
    }
}
