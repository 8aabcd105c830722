//! What of git directories is granted, kept and judged, by files that say so.

use super::below::LookLimits;
use super::*;
use std::os::unix::fs::symlink;
use std::time::Duration;

/// A folder with a repository `main` in it, and a home.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        for name in ["objects", "refs", "hooks"] {
            fs::create_dir_all(ground.at("main/.git").join(name)).unwrap();
        }
        ground.put("main/.git/HEAD", "ref: refs/heads/main\n");
        ground.put("main/.git/config", "");
        fs::create_dir(ground.at("home")).unwrap();
        ground
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    /// A linked work tree as git makes it.
    fn link(&self, tree: &str, name: &str) {
        let own = format!("main/.git/worktrees/{name}");
        let at = |name: &str| self.at(name).display().to_string();
        self.put(&format!("{tree}/.git"), &format!("gitdir: {}\n", at(&own)));
        self.put(&format!("{own}/commondir"), "../..\n");
        let dot_git = at(&format!("{tree}/.git"));
        self.put(&format!("{own}/gitdir"), &format!("{dot_git}\n"));
    }

    fn granted(&self, root: &str) -> Vec<PathBuf> {
        let root = self.at(root);
        git_dirs(&root, std::slice::from_ref(&root))
    }
}

#[test]
fn what_a_script_can_write_grants_nothing() {
    let ground = Ground::new();
    let home = ground.at("home").display().to_string();
    let main = ground.at("main/.git").display().to_string();
    for (git, commondir) in [("gitdir: own\n", &home), ("gitdir: own\n", &main)] {
        ground.put("plain/.git", git);
        ground.put("plain/own/commondir", commondir);
        ground.put("plain/own/config", "[core]\nworktree = ..\n");
        assert_eq!(ground.granted("plain"), [] as [PathBuf; 0]);
        let back = ground.at("plain/.git").display().to_string();
        ground.put("plain/own/gitdir", &back);
        assert_eq!(ground.granted("plain"), [] as [PathBuf; 0]);
    }
    // The place above is not believed either: the root may be named so that it is one of a git directory's.
    fs::create_dir_all(ground.at("home/objects")).unwrap();
    fs::create_dir_all(ground.at("home/refs")).unwrap();
    ground.put("home/HEAD", "");
    ground.put("home/worktrees/tree/.git", "gitdir: .\n");
    let back = ground.at("home/worktrees/tree/.git").display().to_string();
    ground.put("home/worktrees/tree/gitdir", &back);
    assert_eq!(ground.granted("home/worktrees/tree"), [] as [PathBuf; 0]);

    fs::remove_file(ground.at("plain/.git")).unwrap();
    symlink(ground.at("main/.git"), ground.at("plain/.git")).unwrap();
    assert_eq!(ground.granted("plain"), [] as [PathBuf; 0]);
}

#[test]
fn the_git_directory_of_a_linked_work_tree_is_granted_to_it_alone() {
    let ground = Ground::new();
    ground.link("linked", "w");
    let granted = [ground.at("main/.git/worktrees/w"), ground.at("main/.git")];
    assert_eq!(ground.granted("linked"), granted);
    // Not where it says, but where it is.
    ground.put(
        "main/.git/worktrees/w/commondir",
        &ground.at("home").display().to_string(),
    );
    assert_eq!(ground.granted("linked"), granted);
    fs::create_dir(ground.at("linked/sub")).unwrap();
    assert_eq!(ground.granted("linked/sub"), granted);

    let pointer = fs::read_to_string(ground.at("linked/.git")).unwrap();
    ground.put("thief/.git", &pointer);
    assert_eq!(ground.granted("thief"), [] as [PathBuf; 0]);

    // One that lies in the root, which becomes a link to the root: what it was granted is not granted to all of that.
    ground.link("plain/inner", "inner");
    let pointer = fs::read_to_string(ground.at("plain/inner/.git")).unwrap();
    fs::remove_dir_all(ground.at("plain/inner")).unwrap();
    symlink(".", ground.at("plain/inner")).unwrap();
    ground.put("plain/.git", &pointer);
    assert_eq!(ground.granted("plain"), [] as [PathBuf; 0]);
}

#[test]
fn a_repository_above_and_a_submodule_are_granted() {
    let ground = Ground::new();
    fs::create_dir(ground.at("main/sub")).unwrap();
    assert_eq!(ground.granted("main/sub"), [ground.at("main/.git")]);
    assert_eq!(
        ground.granted("main"),
        [] as [PathBuf; 0],
        "it is in the root"
    );
    let trees = [ground.at("main"), ground.at("main/sub")];
    assert_eq!(git_dirs(&ground.at("main/sub"), &trees), [] as [PathBuf; 0]);

    ground.put("main/m/.git", "gitdir: ../.git/modules/m\n");
    ground.put(
        "main/.git/modules/m/config",
        "[core]\n\tworktree = ../../../m\n",
    );
    assert_eq!(ground.granted("main/m"), [ground.at("main/.git/modules/m")]);
    ground.put("main/thief/.git", "gitdir: ../.git/modules/m\n");
    assert_eq!(ground.granted("main/thief"), [] as [PathBuf; 0]);
}

#[test]
fn all_that_git_runs_by_is_guarded() {
    let ground = Ground::new();
    ground.link("linked", "w");
    fs::create_dir(ground.at("main/sub")).unwrap();
    ground.put("main/.git/modules/a/b/HEAD", "");
    fs::create_dir(ground.at("main/.git/rebase-merge")).unwrap();
    ground.put("main/.git/worktrees/gone/gitdir", "/nowhere/.git\n");
    let found = guarded(&ground.at("main"));
    for name in [
        "hooks",
        "config",
        "config.worktree",
        "commondir",
        "info/attributes",
        "objects/info/alternates",
        "rebase-merge",
        "modules/a/b/hooks",
        "worktrees/w/commondir",
        "worktrees/w/gitdir",
    ] {
        let path = ground.at("main/.git").join(name);
        assert!(found.contains(&path), "{name}: {found:?}");
    }
    for name in ["rebase-apply", "worktrees/gone/gitdir", "objects", "HEAD"] {
        let path = ground.at("main/.git").join(name);
        assert!(!found.contains(&path), "{name}: {found:?}");
    }
    assert_eq!(guarded(&ground.at("main/sub")), found);
    let found = guarded(&ground.at("linked"));
    for name in [
        "linked/.git",
        "main/.git/hooks",
        "main/.git/worktrees/w/gitdir",
    ] {
        assert!(found.contains(&ground.at(name)), "{name}: {found:?}");
    }
}

fn is_tools(folder: &Path) -> bool {
    folder.ends_with("tools")
}

#[test]
fn repositories_in_a_project_are_found_and_what_they_could_run() {
    let ground = Ground::new();
    for place in ["lib/x", "tools/y", "deep/a/b/c"] {
        ground.put(
            &format!("main/{place}/.git/config"),
            "[core]\nbare = false\n",
        );
    }
    symlink(ground.at("home"), ground.at("main/link")).unwrap();
    ground.put("home/.git/config", "");
    let repositories = Repositories::of(&ground.at("main"), is_tools);
    let below = ["deep/a/b/c", "lib/x"].map(|place| ground.at("main").join(place).join(".git"));
    assert_eq!(repositories.below(), below);
    assert_eq!(
        guards_of(&repositories.below()),
        below.clone().map(|dir| dir.join("config"))
    );

    repositories.look();
    assert_eq!(repositories.planted(), Planted::default());
    ground.put("main/lib/x/.git/config", "[core]\nfsmonitor = ./evil\n");
    ground.put("main/new/.git/config", "[include]\npath = x\n");
    ground.put("main/bare/config", "[alias]\nst = !x\n");
    ground.put("main/bare/HEAD", "");
    for name in ["objects", "refs"] {
        fs::create_dir(ground.at("main/bare").join(name)).unwrap();
    }
    let said = || {
        let dangers = repositories.planted().dangers.into_iter();
        let said = dangers.map(|danger| {
            let path = danger
                .path
                .strip_prefix(ground.at("main"))
                .unwrap()
                .display()
                .to_string();
            format!("{path}: {}", danger.what)
        });
        said.collect::<Vec<_>>()
    };
    assert_eq!(
        said(),
        [
            "bare/config: `alias.st` could run `!x`",
            "lib/x/.git/config: `core.fsmonitor` could run `./evil`",
            "new/.git/config: `include.path` could run `x`",
        ]
    );
    assert_eq!(said(), [] as [&str; 0], "once");
    ground.put("main/lib/x/.git/config", "[core]\nfsmonitor = ./other\n");
    assert_eq!(
        said(),
        ["lib/x/.git/config: `core.fsmonitor` could run `./other`"]
    );
    fs::remove_file(ground.at("main/new/.git/config")).unwrap();
    fs::create_dir(ground.at("main/new/.git/config")).unwrap();
    ground.put("main/lib/x/.git/worktrees/w/commondir", "/other");
    assert_eq!(
        said(),
        [
            "lib/x/.git/worktrees/w/commondir: it leads to `/other`, another repository",
            "new/.git/config: clada cannot read it, but git may",
        ]
    );
}

/// Of the limits, time is not one that a test can hold to.
const FEW: LookLimits = LookLimits {
    folders: 10,
    entries: 100,
    time: Duration::from_secs(3600),
};

#[test]
fn more_folders_than_are_looked_into_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let repositories = Repositories::within(FEW, dir.path(), is_tools);
    let folders = |numbers: std::ops::Range<usize>| {
        for number in numbers {
            fs::create_dir(dir.path().join(number.to_string())).unwrap();
        }
    };
    // The project is one, too.
    folders(0..9);
    assert!(!repositories.planted().is_cut);
    folders(9..10);
    assert!(repositories.planted().is_cut);
    assert!(!repositories.planted().is_cut, "once");
    assert!(repositories.is_cut());
}

#[test]
fn more_files_than_are_looked_at_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let repositories = Repositories::within(FEW, dir.path(), is_tools);
    for number in 0..101 {
        fs::write(dir.path().join(number.to_string()), "").unwrap();
    }
    assert!(!repositories.planted().is_cut, "all of them were seen");
    fs::create_dir(dir.path().join("folder")).unwrap();
    assert!(repositories.planted().is_cut);
}

#[test]
fn a_look_that_takes_too_long_is_not_said_of_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let no_time = LookLimits {
        time: Duration::ZERO,
        ..FEW
    };
    let repositories = Repositories::within(no_time, dir.path(), is_tools);
    assert!(repositories.is_cut());
    assert!(!repositories.planted().is_cut);
}

#[test]
fn repositories_in_the_index_are_read_in_every_version() {
    let dir = tempfile::tempdir().unwrap();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words);
        assert!(
            git.current_dir(dir.path()).status().unwrap().success(),
            "{words:?}"
        );
    };
    let index = dir.path().join(".git/index");
    git(&["init", "-q"]);
    assert_eq!(index::gitlinks(&index), [] as [PathBuf; 0]);
    for name in ["a", "lib/aa", "lib/b", "z"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("file"), "").unwrap();
    }
    for name in ["lib/aa", "z"] {
        git(&["-C", name, "init", "-q"]);
        git(&["-C", name, "commit", "-q", "--allow-empty", "-m", "x"]);
    }
    git(&["-c", "advice.addEmbeddedRepo=false", "add", "-A"]);
    for version in ["2", "3", "4"] {
        git(&["update-index", "--index-version", version]);
        // Only what needs it makes version 3.
        fs::write(dir.path().join("new"), "").unwrap();
        git(&["add", "-N", "new"]);
        assert_eq!(
            index::gitlinks(&index),
            ["lib/aa", "z"].map(PathBuf::from),
            "{version}"
        );
    }
    let bytes = fs::read(&index).unwrap();
    for length in 0..bytes.len() {
        fs::write(&index, &bytes[..length]).unwrap();
        index::gitlinks(&index);
    }
}
