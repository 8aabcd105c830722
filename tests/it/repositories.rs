//! What commands do to git repositories: at the root, above and below it. They open no way out of the fence, and nothing that
//! runs at the user's next git command comes unsaid.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use clada::git;
use clada::world::sandbox::{Repositories, support};

use crate::harness::{Ended, Project, skip};

fn exec(script: &str) -> String {
    format!("<tasks><task><c>exec</c><x>\n{script}\n</x></task></tasks>\n")
}

fn overwrite(path: &str, text: &str) -> String {
    format!("<tasks><task><path>{path}</path><c>overwrite</c><x>\n{text}\n</x></task></tasks>\n")
}

fn run(project: &Project, script: &str) -> Ended {
    project.clada_with(["run"], &exec(script))
}

fn repository() -> Project {
    let project = Project::with_git();
    project.write("a.txt", "one\n").commits();
    project
}

/// All branches of a repository that nobody is to commit to.
fn heads(git_dir: &Path, project: &Project) -> String {
    let dir = git_dir.display().to_string();
    project.git(["--git-dir", &dir, "for-each-ref"])
}

#[test]
fn nothing_in_the_project_widens_the_fence() {
    if support().by.is_none() {
        skip("there is no fence here");
        return;
    }
    let Some(project) = Project::apart() else {
        return;
    };
    let home = project.home().canonicalize().unwrap();
    let home = home.display();
    for forged in [
        format!(
            "mkdir own; echo 'gitdir: own' >.git; echo {home} >own/commondir; printf '[core]\\nworktree = ..\\n' >own/config"
        ),
        format!(
            "mkdir -p own/worktrees/w; echo 'gitdir: own/worktrees/w' >.git; echo {home} >own/worktrees/w/commondir; echo $PWD/.git >own/worktrees/w/gitdir"
        ),
        format!("ln -s {home} .git"),
        format!("git init -q . && echo {home} >.git/commondir"),
    ] {
        let run = |script: &str| project.clada_with(["run", "--no-git"], &exec(script));
        run(&forged).exits(0);
        run(&format!("echo x >>{home}/.profile")).exits(1);
        assert!(!project.home().join(".profile").exists(), "{forged}");
        let git = project.path(".git");
        if git.is_dir() && !git.is_symlink() {
            fs::remove_dir_all(git).unwrap();
        } else {
            fs::remove_file(git).unwrap();
        }
        let _ = fs::remove_dir_all(project.path("own"));
    }
}

/// A linked work tree of the user's goes on working.
#[test]
fn commands_commit_in_a_linked_work_tree() {
    let Some(project) = Project::apart() else {
        return;
    };
    let main = project.home().join("main").display().to_string();
    let linked = project.home().join("linked");
    let root = linked.display().to_string();
    fs::create_dir(&main).unwrap();
    project.git(["-C", &main, "init", "-q", "-b", "main"]);
    project.git(["-C", &main, "commit", "-q", "--allow-empty", "-m", "first"]);
    project.git(["-C", &main, "worktree", "add", "-q", &root]);
    let reply = exec("echo x >x && git add x && git commit -q -m second");
    let ended = project.clada_with(["run", "--root", &root], &reply);
    assert!(!ended.exits(0).results().contains('⚠'));
    assert_eq!(
        project.git(["-C", &root, "show", "-s", "--format=%s"]),
        "second\n"
    );
}

#[test]
fn what_could_run_at_the_next_git_command_is_told() {
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().display();
    let init = "git init -q lib/x";
    for (script, expect) in [
        (
            format!("{init} && git -C lib/x config core.fsmonitor ./evil"),
            "⚠ lib/x/.git/config was created or changed while this ran: `core.fsmonitor` could run `./evil`; check \
             it before you use git there".to_owned(),
        ),
        (
            format!("{init} && echo '#!/bin/sh' >lib/x/.git/hooks/post-index-change && chmod +x lib/x/.git/hooks/post-index-change"),
            "⚠ lib/x/.git/hooks/post-index-change was created or changed while this ran: git could run this hook".to_owned(),
        ),
        (
            "git init -q --bare lib/x && git -C lib/x config core.sshCommand evil".to_owned(),
            "⚠ lib/x/config was created or changed while this ran: `core.sshcommand` could run `evil`".to_owned(),
        ),
        (
            format!("mkdir lib && echo 'gitdir: {elsewhere}' >lib/.git"),
            format!("⚠ lib/.git was created or changed while this ran: it leads to `{elsewhere}`, outside the project"),
        ),
        (
            format!("mkdir lib && ln -s {elsewhere} lib/.git"),
            format!("it is a link to `{elsewhere}`"),
        ),
        (
            format!("{init} && mkdir lib/x/.git/rebase-merge && echo 'exec evil' >lib/x/.git/rebase-merge/git-rebase-todo"),
            "`git rebase --continue` would run `evil`".to_owned(),
        ),
        (
            format!("{init} && echo {elsewhere} >lib/x/.git/commondir"),
            format!("⚠ lib/x/.git/commondir was created or changed while this ran: it leads to `{elsewhere}`"),
        ),
        (
            format!("{init} && git -C lib/x config core.worktree {elsewhere}"),
            format!("`core.worktree` leads to `{elsewhere}`, outside the project"),
        ),
        (
            format!("{init} && git -C lib/x config alias.st '!evil' && printf 'Signature: 8a477f597d28d172789f06886806bc55' >lib/CACHEDIR.TAG"),
            "`alias.st` could run `!evil`".to_owned(),
        ),
        (
            // Where nothing is looked for, but git status goes there by itself.
            "git init -q node_modules/x && cd node_modules/x && git commit -q --allow-empty -m x && git config core.fsmonitor evil
            cd ../.. && git add -f node_modules/x 2>/dev/null && git update-index --index-version 4".to_owned(),
            "⚠ node_modules/x/.git/config was created or changed while this ran: `core.fsmonitor` could run `evil`".to_owned(),
        ),
    ] {
        let project = repository();
        let said = run(&project, &script).exits(0).results();
        assert!(said.contains(&expect), "{script}: {said}");
        let said = run(&project, "true").exits(0).results();
        assert!(!said.contains('⚠'), "once: {said}");
    }
}

#[test]
fn what_is_told_is_one_line_without_control_characters() {
    let project = repository();
    let script = "git init -q $'lib\\e[31m\\nx' && git -C lib*x config core.pager $'\\e]52;c;eA==\\a`evil`\\nmore'";
    let said = run(&project, script).exits(0);
    let line = said.results();
    let line = line.lines().find(|line| line.contains("core.pager"));
    let line = line.unwrap_or_else(|| panic!("{}", said.out));
    assert!(
        line.starts_with("1 ✅") && line.contains("'evil' more`"),
        "{line}"
    );
    assert!(!said.out.contains(['\u{1b}', '\u{7}']), "{}", said.out);
}

#[test]
fn what_runs_nothing_is_not_told() {
    for script in [
        "git init -q lib/x && git -C lib/x config user.name x && git -C lib/x commit -q --allow-empty -m x",
        "git clone -q . copy && git clone -q --bare . bare.git && git -C copy fetch -q",
        "git worktree add -q wt && git -C wt commit -q --allow-empty -m x",
        "git -c protocol.file.allow=always submodule --quiet add ./. sub",
        "git init -q lib/x && cd lib/x && touch y && git add y && git stash -q || true",
        "git gc -q && git tag v1 && git switch -q -c topic && git switch -q main",
    ] {
        let project = repository();
        let said = run(&project, script).exits(0).results();
        assert!(!said.contains("created or changed"), "{script}: {said}");
    }
}

/// Where mounts can be had; elsewhere it is told.
#[test]
fn repositories_below_are_kept_from_commands() {
    let project = repository();
    let inner = project.path("lib/x").display().to_string();
    project.write("lib/x/y.txt", "y\n");
    project.git(["-C", &inner, "init", "-q", "-b", "main"]);
    project.git(["-C", &inner, "add", "y.txt"]);
    project.git(["-C", &inner, "commit", "-qm", "first"]);
    let code = if support().guards { 1 } else { 0 };
    for script in [
        "git -C lib/x config core.fsmonitor evil",
        "echo '#!/bin/sh' >lib/x/.git/hooks/pre-commit && chmod +x lib/x/.git/hooks/pre-commit",
    ] {
        let said = run(&project, script).exits(code).results();
        assert_eq!(
            said.contains("created or changed"),
            !support().guards,
            "{said}"
        );
    }
    let work = "cd lib/x && echo z >>y.txt && git commit -qam second && git switch -q -c other && git gc -q";
    let said = run(&project, work).exits(0).results();
    assert!(!said.contains("while this ran"), "{said}");
    // What git ignores can be made again, and so be removed.
    project
        .write(".gitignore", "build/\n")
        .write("build/z", "")
        .commits();
    let built = project.path("build/x").display().to_string();
    project.git(["init", "-q", &built]);
    run(&project, "rm -rf build").exits(0);
    assert!(!project.exists("build"));
}

#[test]
fn clada_commits_to_no_repository_that_a_command_put_in_the_place_of_git() {
    let other = repository();
    let theirs = other.path(".git");
    let bare = other.path("set.git");
    other.git(["clone", "-q", "--bare", ".", "set.git"]);
    other.git(["--git-dir", "set.git", "config", "core.bare", "false"]);
    let before = (heads(&theirs, &other), heads(&bare, &other));
    let named = |path: &Path| format!("gitdir: {}\n", path.display());
    for make in [
        |git: &Path, theirs: &Path, _: &Path, _: String| symlink(theirs, git),
        |git: &Path, _: &Path, bare: &Path, _: String| symlink(bare, git),
        |git: &Path, theirs: &Path, _: &Path, _: String| {
            fs::write(git, format!("gitdir: {}\n", theirs.display()))
        },
        |git: &Path, _: &Path, _: &Path, line: String| fs::write(git, line),
    ] {
        let project = Project::new();
        make(&project.path(".git"), &theirs, &bare, named(&bare)).unwrap();
        for reply in [overwrite("b.txt", "x"), exec("touch b.txt")] {
            let said = project.clada_with(["run"], &reply).exits(1).results();
            assert!(said.contains(".git` leads "), "{said}");
            assert!(!project.exists("b.txt"));
        }
        let said = project.clada(["doctor"]).exits(1).out;
        assert!(
            said.contains("❌ git: nothing runs until this is fixed"),
            "{said}"
        );
        assert_eq!((heads(&theirs, &other), heads(&bare, &other)), before);
        project
            .clada_with(["run", "--no-git"], &overwrite("b.txt", "x"))
            .exits(0);
    }
}

/// As `git init --separate-git-dir` leaves it; the message says how clada comes to believe it.
#[test]
fn a_git_directory_of_the_users_that_is_set_apart_is_used_once_it_names_its_work_tree() {
    let project = Project::new();
    let apart = project.home().join("apart").display().to_string();
    project.git(["init", "-q", "-b", "main", "--separate-git-dir", &apart]);
    let said = project
        .clada_with(["run"], &overwrite("a.txt", "x"))
        .exits(1)
        .results();
    assert!(
        said.contains("does not name this folder in return"),
        "{said}"
    );
    let root = project.root().display().to_string();
    project.git(["config", "core.worktree", &root]);
    project
        .clada_with(["run"], &overwrite("a.txt", "x"))
        .exits(0);
    assert_eq!(project.git(["ls-files"]), "a.txt\n");
}

#[test]
fn clada_writes_through_nothing_in_a_git_directory() {
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = elsewhere.path().display();
    for name in ["objects", "refs", "heads"] {
        fs::create_dir(elsewhere.path().join(name)).unwrap();
    }
    fs::write(elsewhere.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let held = || {
        let mut names: Vec<_> = fs::read_dir(elsewhere.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        let inside = ["objects", "refs", "heads"]
            .map(|name| fs::read_dir(elsewhere.path().join(name)).unwrap().count());
        (names, inside)
    };
    let before = held();
    for script in [
        format!("echo {dir} >.git/commondir"),
        format!(
            "for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do [ -e .git/objects/$i$j ] || ln -s {dir} .git/objects/$i$j; done; done"
        ),
        format!("git config -f .git/config core.worktree {dir}"),
        "rm .git/config && mkfifo .git/config".to_owned(),
        "mkfifo .git/objects/info/alternates".to_owned(),
        "mkfifo .git/commondir".to_owned(),
    ] {
        let project = repository();
        let done = project
            .command("sh")
            .args(["-c", &script])
            .status()
            .unwrap();
        assert!(done.success(), "{script}");
        let said = project.clada_with(["run"], &overwrite("b.txt", "x"));
        let is_elsewhere = script.contains("core.worktree");
        let said = said.exits(if is_elsewhere { 0 } else { 1 }).results();
        assert_eq!(
            said.contains("leads elsewhere or is not a file"),
            !is_elsewhere,
            "{script}: {said}"
        );
        assert_eq!(held(), before, "{script}");
    }
}

/// Nothing waits, nothing runs, and nothing is written outside by looking at a repository below.
#[test]
fn odd_repositories_below_hold_up_no_save() {
    let project = repository();
    let script = "for i in 1 2 3; do git init -q r$i; done
        git -C r3 config core.fsmonitor 'touch ../ran; false'
        rm r1/.git/HEAD r2/.git/config && mkfifo r1/.git/HEAD r2/.git/config r3/.git/commondir; mkdir r4; mkfifo r4/.git; echo 'gitdir: /dev/zero' >a.git
        mkdir r5; echo 'gitdir: ../r5/.git' >r5/.git; ln -s .git r5/x";
    run(&project, script).exits(0);
    let said = run(&project, "touch b.txt").exits(0).results();
    assert!(said.contains("💚"), "{said}");
    assert!(!project.exists("ran"));
}

#[test]
fn a_rebase_that_a_command_began_is_not_to_be_continued() {
    let project = repository();
    let forge = "mkdir .git/rebase-merge && cd .git/rebase-merge && echo 'exec touch ../../ran' >git-rebase-todo &&
        echo refs/heads/main >head-name && git rev-parse HEAD >onto && cp onto orig-head && touch interactive";
    let said = run(&project, forge).results();
    let expect = "a rebase is in progress that a command began. Do not continue it, as its steps can run programs: abort it with `git rebase --abort`";
    assert!(said.contains(expect), "{said}");
    assert!(
        said.contains("⚠ .git/rebase-merge was created or changed while this ran: `git rebase --continue` would run `touch ../../ran`"),
        "{said}"
    );
    // Also for the next clada.
    let said = project
        .clada_with(["run"], &overwrite("b.txt", "x"))
        .exits(1)
        .results();
    assert!(said.contains(expect) && !said.contains("finish"), "{said}");
    assert!(project.clada(["doctor"]).exits(1).out.contains(expect));
    project.git(["rebase", "--abort"]);
    project
        .clada_with(["run"], &overwrite("b.txt", "x"))
        .exits(0);
    assert!(!project.exists("ran"));

    // The user's own is another one.
    project.git(["checkout", "-qb", "other", "HEAD~1"]);
    project.write("b.txt", "other\n").commits();
    let rebase = project
        .command("git")
        .args(["rebase", "main"])
        .output()
        .unwrap();
    assert!(!rebase.status.success());
    let said = project
        .clada_with(["run"], &overwrite("c.txt", "x"))
        .exits(1)
        .results();
    assert!(
        said.contains("a rebase is in progress: if you began it, finish or abort it"),
        "{said}"
    );
}

/// Figures, for a look by hand: `cargo test --release --test it looking_for_repositories -- --ignored --nocapture`.
#[test]
#[ignore = "it measures"]
fn looking_for_repositories_costs() {
    let dir = tempfile::tempdir().unwrap();
    for folder in 0..500 {
        let folder = dir.path().join(format!("{}/{folder}", folder % 20));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..10 {
            fs::write(folder.join(file.to_string()), "").unwrap();
        }
    }
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..50 {
        let start = Instant::now();
        let repositories = Repositories::of(dir.path(), git::has_tool_name);
        times[0].push(start.elapsed());
        let start = Instant::now();
        repositories.look();
        times[1].push(start.elapsed());
        let start = Instant::now();
        repositories.planted();
        times[2].push(start.elapsed());
    }
    for (name, times) in ["first", "before", "after"].iter().zip(&mut times) {
        times.sort();
        eprintln!("{name}: best {:?}, median {:?}", times[0], times[25]);
    }
}

/// git ends with 0 although it could not save which branch is the upstream.
#[test]
fn a_push_that_could_not_set_the_upstream_says_so() {
    let project = repository();
    project.git(["init", "-q", "--bare", "../origin.git"]);
    project.git(["remote", "add", "origin", "../origin.git"]);
    project.configure("[exec]\nask = []\nwrite = ['~']\n");
    let push = exec("git push -q -u origin main");
    let said = project
        .clada_with(["run", "--approve"], &push)
        .exits(0)
        .results();
    let warned = said.contains(
        "1 ✅ exec git push -q -u origin main - ⚠ exec may not change `.git/config`, so git saved no setting there (such as \
         the upstream of `git push -u`): run it again in your own terminal",
    );
    assert_eq!(warned, support().guards, "{said}");
    let again = exec("git push -q origin main");
    let said = project
        .clada_with(["run", "--approve"], &again)
        .exits(0)
        .results();
    assert!(!said.contains('⚠'), "{said}");
}
