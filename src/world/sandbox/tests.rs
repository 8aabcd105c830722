//! What is asked of the system, without asking it. What it then holds is tested with real scripts elsewhere.

use super::*;
use std::fs;

#[test]
fn parents_are_held_below_what_may_be_written() {
    let trees = ["/p", "/t"].map(PathBuf::from);
    let held = |path: &'static str| held(Path::new(path), &trees).collect::<Vec<_>>();
    assert_eq!(held("/p/.git/config"), [Path::new("/p/.git")]);
    assert_eq!(
        held("/p/.config/clada/config.toml"),
        ["/p/.config/clada", "/p/.config"].map(Path::new)
    );
    assert_eq!(held("/p/clada.toml"), [] as [&Path; 0]);
    assert_eq!(held("/h/.config/clada"), [] as [&Path; 0]);
}

#[test]
fn off_is_no_fence() {
    let fence = Fence {
        level: Level::Off,
        network: false,
        temp: temp_dirs(),
        ..Fence::nothing(Path::new("/"))
    };
    assert!(fence.ready(Path::new("/")).unwrap().is_none());
}

#[test]
fn what_is_missing_stands_in_one_line() {
    let line = support().to_string();
    assert!(
        line.starts_with("exec is ") && !line.contains('\n'),
        "{line}"
    );
    let none = Support {
        by: None,
        lacks: vec!["no Landlock".to_owned(), "other".to_owned()],
        ..support().clone()
    };
    assert_eq!(
        none.to_string(),
        "exec is not fenced in: no Landlock; other"
    );
}

#[test]
fn a_git_directory_is_found_from_below_and_believed_only_if_it_is_ours() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
    let put = |name: &str, text: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), text).unwrap();
    };
    fs::create_dir_all(at("none")).unwrap();
    assert_eq!(
        (git_dirs(&at("none")), guarded(&at("none"))),
        (vec![], vec![])
    );

    put("main/.git/config", "");
    put("main/.git/modules/a/b/HEAD", "");
    put("main/sub/x", "");
    assert_eq!(git_dirs(&at("main/sub")), [at("main/.git")]);
    let found = guarded(&at("main/sub"));
    for name in [
        "hooks",
        "config",
        "commondir",
        "config.worktree",
        "modules/a/b/hooks",
    ] {
        assert!(
            found.contains(&at("main/.git").join(name)),
            "{name}: {found:?}"
        );
    }

    // A linked work tree.
    put(
        "linked/.git",
        &format!("gitdir: {}\n", at("main/.git/worktrees/w").display()),
    );
    put("main/.git/worktrees/w/commondir", "../..\n");
    put(
        "main/.git/worktrees/w/gitdir",
        &format!("{}\n", at("linked/.git").display()),
    );
    assert_eq!(
        git_dirs(&at("linked")),
        [at("main/.git/worktrees/w"), at("main/.git")]
    );
    let found = guarded(&at("linked"));
    for name in [
        "linked/.git",
        "main/.git/hooks",
        "main/.git/worktrees/w/commondir",
    ] {
        assert!(found.contains(&at(name)), "{name}: {found:?}");
    }

    // A submodule.
    put("main/m/.git", "gitdir: ../.git/modules/m\n");
    put(
        "main/.git/modules/m/config",
        "[core]\n\tworktree = ../../../m\n",
    );
    assert_eq!(git_dirs(&at("main/m")), [at("main/.git/modules/m")]);

    // Another's repository.
    put(
        "thief/.git",
        &format!("gitdir: {}\n", at("main/.git").display()),
    );
    assert_eq!(git_dirs(&at("thief")), [] as [PathBuf; 0]);
    put(
        "thief/.git",
        &format!("gitdir: {}\n", at("main/.git/worktrees/w").display()),
    );
    assert_eq!(git_dirs(&at("thief")), [] as [PathBuf; 0]);
}
