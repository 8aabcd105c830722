//! The states that a repository can be in: what clada does in each, and what `git status` says then.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::store::{
    delete, exec, in_store, is_sound, move_to, overwrite, run, saved, stored, stores,
};
use crate::harness::{Project, skip};

fn status(project: &Project) -> String {
    project.git(["status", "--porcelain"])
}

/// A repository with a commit that holds `a.txt`.
fn repository() -> Project {
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "first"]);
    project
}

/// What the private snapshots had of a file, newest first.
fn versions(project: &Project, path: &str) -> Vec<String> {
    let commits = in_store(project, ["log", "--format=%H", "--", path]);
    let show = |commit: &str| {
        let files = in_store(project, ["ls-tree", "-r", "--name-only", commit]);
        match files.lines().any(|file| file == path) {
            true => in_store(project, ["show", &format!("{commit}:{path}")]),
            false => "(none)".to_owned(),
        }
    };
    commits.lines().map(show).collect()
}

#[test]
fn ignored_files_are_kept_aside() {
    let project = repository();
    project
        .write(".gitignore", "*.env\nbuild/\n")
        .write("x.env", "old\n");
    project.write("build/a", "a\n").write("build/sub/b", "b\n");
    let tasks = [
        overwrite("x.env", "new"),
        overwrite("y.env", "y"),
        delete("build"),
        overwrite("a.txt", "two"),
    ];
    let ended = run(&project, &tasks).exits(0);
    assert!(saved(&ended).starts_with("💚 git "));
    assert!(!ended.results().contains("undo"), "{}", ended.results());
    assert_eq!(versions(&project, "x.env"), ["new\n", "old\n"]);
    assert_eq!(versions(&project, "y.env"), ["y\n"]);
    assert_eq!(versions(&project, "build/sub/b"), ["(none)", "b\n"]);
    let untracked = ".gitignore";
    assert_eq!(
        stored(&project),
        [untracked, "x.env", "y.env"],
        "and nothing else"
    );
    let ids = |log: String| {
        log.lines()
            .map(str::to_owned)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let format = "--format=%(trailers:key=Clada-Batch,valueonly,separator=)";
    let both = ids(in_store(&project, ["log", format]));
    assert_eq!(
        both,
        ids(project.git(["log", format, "HEAD~1..HEAD"])),
        "of one batch"
    );
    let steps = in_store(
        &project,
        [
            "log",
            "--reverse",
            "--format=%(trailers:key=Clada-Step,valueonly,separator=)",
        ],
    );
    assert_eq!(
        steps.lines().collect::<Vec<_>>(),
        ["before", "before", "task", "task", "before", "task"]
    );
    assert_eq!(status(&project), "?? .gitignore\n");
    is_sound(&project);

    // What the user made of it since is there too.
    project.write("x.env", "mine\n");
    run(&project, &[delete("x.env")]).exits(0);
    assert_eq!(
        versions(&project, "x.env"),
        ["(none)", "mine\n", "new\n", "old\n"]
    );
    assert_eq!(in_store(&project, ["status", "--porcelain", "-uno"]), "");
    is_sound(&project);
}

#[test]
fn too_much_to_be_kept_aside_is_said() {
    let project = repository();
    project.configure("[git]\nprivate_limit = 0\n");
    project
        .write(".gitignore", "ignored\n")
        .write("ignored", "x");
    project.commits();
    let said = run(&project, &[delete("ignored")]).exits(1).results();
    assert!(
        said.contains(
            "undo will not bring back `ignored`: git does not save it, and `git.private_limit` is 0"
        ),
        "{said}"
    );
    let project = repository();
    project.configure("[git]\nprivate_file = '1 KiB'\n");
    project.write(".gitignore", "build/\n");
    project
        .write("build/a", "x".repeat(600))
        .write("build/b", "x".repeat(600));
    project.commits();
    let said = run(&project, &[delete("build")]).exits(1).results();
    assert!(said.contains("⏸ delete build - undo will"), "{said}");
    let reply = super::store::reply(&[delete("build")]);
    let approved = project.clada_with(["run", "--approve"], &reply);
    let said = approved.exits(0).results();
    assert!(
        said.contains("⚠ undo will not bring back `build`: what git does not save there is more than 1 KiB (`git.private_file`)"),
        "{said}"
    );
    assert!(stores(&project).is_empty() && !project.exists("build"));
    assert_eq!(status(&project), "");
}

#[test]
fn files_of_a_filter_are_pointers_in_git_and_themselves_aside() {
    let project = repository();
    // As LFS: git has a pointer, the work tree the content.
    project.program("clean", "printf 'pointer of %s bytes' $(wc -c)");
    project.program("smudge", "cat > /dev/null; echo content");
    project.git(["config", "filter.big.clean", "clean"]);
    project.git(["config", "filter.big.smudge", "smudge"]);
    project.write(".gitattributes", "*.big filter=big\n");
    project.write("x.big", "content\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "big"]);
    let ended = run(
        &project,
        &[overwrite("x.big", "other content"), overwrite("y.big", "y")],
    )
    .exits(0);
    assert!(
        !ended.results().contains("was not saved"),
        "it was: {}",
        ended.results()
    );
    assert_eq!(project.git(["show", "HEAD:x.big"]), "pointer of 8 bytes");
    assert_eq!(
        status(&project),
        " M x.big\n?? y.big\n",
        "git's own filter is for the user to run"
    );
    assert_eq!(
        versions(&project, "x.big"),
        ["other content\n", "content\n"]
    );
    assert_eq!(versions(&project, "y.big"), ["y\n"]);
    // What a command changed is not.
    let said = run(&project, &[exec("echo more >> x.big")])
        .exits(0)
        .results();
    assert!(
        said.contains("`x.big` was not saved: its git filter `big` would have to run"),
        "{said}"
    );
    is_sound(&project);
}

#[test]
fn what_the_user_hides_is_kept_aside() {
    let project = repository();
    project.write("b.txt", "b\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "b"]);
    project.git(["update-index", "--assume-unchanged", "a.txt"]);
    project.git(["update-index", "--skip-worktree", "b.txt"]);
    project.write("a.txt", "local\n");
    run(
        &project,
        &[overwrite("a.txt", "new"), overwrite("b.txt", "new")],
    )
    .exits(0);
    assert_eq!(versions(&project, "a.txt"), ["new\n", "local\n"]);
    assert_eq!(versions(&project, "b.txt"), ["new\n", "b\n"]);
    assert_eq!(project.git(["show", "HEAD:a.txt"]), "one\n");
    assert_eq!(project.git(["ls-files", "-v"]), "h a.txt\nS b.txt\n");
    assert_eq!(status(&project), "");
    is_sound(&project);
}

#[test]
fn files_of_a_repository_inside_are_kept_aside() {
    let project = repository();
    let inner = project.path("inner").display().to_string();
    project.write("inner/x", "old\n");
    project.git(["-C", &inner, "init", "-q", "-b", "main"]);
    let before = status(&project);
    let said = run(
        &project,
        &[overwrite("inner/x", "new"), move_to("inner/x", "x")],
    )
    .exits(0)
    .results();
    assert!(!said.contains("undo"), "{said}");
    assert_eq!(versions(&project, "inner/x"), ["(none)", "new\n", "old\n"]);
    assert_eq!(status(&project), before);
    assert_eq!(project.git(["ls-files"]), "a.txt\nx\n");
    is_sound(&project);
}

#[test]
fn a_subfolder_keeps_to_itself_also_aside() {
    let project = repository();
    project
        .write(".gitignore", "*.env\n")
        .write("sub/x.env", "old\n")
        .write("sub/a.txt", "a\n");
    project.write("beside.txt", "beside\n");
    let root = project.path("sub").display().to_string();
    let reply = super::store::reply(&[overwrite("x.env", "new"), overwrite("a.txt", "b")]);
    project
        .clada_with(["run", "--root", &root], &reply)
        .exits(0);
    assert_eq!(versions(&project, "x.env"), ["new\n", "old\n"]);
    assert_eq!(status(&project), "?? .gitignore\n?? beside.txt\n");
    is_sound(&project);
}

/// The folder of a bare repository and its work trees: it is in none of them.
#[test]
fn work_trees_beside_their_repository() {
    let project = Project::new();
    project.git(["init", "-q", "--bare", "-b", "main", ".bare"]);
    project.write(".git", "gitdir: ./.bare\n");
    let help = project
        .command("git")
        .args(["worktree", "add", "-h"])
        .output()
        .unwrap();
    if !String::from_utf8_lossy(&[help.stdout, help.stderr].concat()).contains("--orphan") {
        return skip("this git makes no work tree without a commit");
    }
    project.git(["worktree", "add", "-q", "--orphan", "-b", "main", "main"]);
    let root = project.path("main").display().to_string();
    let reply = super::store::reply(&[overwrite("a.txt", "one")]);
    let ended = project
        .clada_with(["run", "--root", &root], &reply)
        .exits(0);
    assert!(saved(&ended).starts_with("💚 git "));
    assert_eq!(project.git(["-C", &root, "status", "--porcelain"]), "");
    assert!(stores(&project).is_empty(), "nothing is untracked");

    let ended = run(&project, &[overwrite("notes.txt", "one")]).exits(0);
    assert!(saved(&ended).starts_with("💚 snapshot "));
    assert_eq!(stored(&project), ["notes.txt"], "neither .bare nor main");
    let inside = project.path(".bare").display().to_string();
    let ended = project
        .clada_with(["run", "--root", &inside], &reply)
        .exits(0);
    assert!(
        ended
            .results()
            .contains("` is inside a git directory: run clada in the work tree"),
        "{}",
        ended.results()
    );
    project.git(["-C", &root, "fsck", "--strict"]);
}

/// Makes a conflict of two branches, by a command that stops at it.
fn in_conflict(begin: [&str; 2]) -> Project {
    let project = repository();
    project.git(["checkout", "-qb", "other"]);
    project.write("a.txt", "other\n");
    project.git(["commit", "-qam", "other"]);
    project.git(["checkout", "-q", "main"]);
    project.write("a.txt", "main\n");
    project.git(["commit", "-qam", "main"]);
    let output = project.command("git").args(begin).output().unwrap();
    assert!(!output.status.success());
    project
}

#[test]
fn nothing_runs_in_the_middle_of_something_and_the_doctor_says_so() {
    for (begin, name) in [
        (["merge", "other"], "a merge is in progress"),
        (["rebase", "other"], "a rebase is in progress"),
        (["cherry-pick", "other"], "a cherry-pick is in progress"),
    ] {
        let project = in_conflict(begin);
        let before = (status(&project), project.git(["rev-parse", "HEAD"]));
        let said = run(&project, &[overwrite("b.txt", "x")]).exits(1).results();
        assert!(
            said.starts_with(&format!("1 ⏹ overwrite b.txt - git: {name}")),
            "{said}"
        );
        assert_eq!(
            (status(&project), project.git(["rev-parse", "HEAD"])),
            before
        );
        let said = project.clada(["doctor"]).exits(1).out;
        assert!(
            said.contains(&format!("❌ git: nothing runs until this is fixed: {name}")),
            "{said}"
        );
        project.git(["reset", "-q", "--hard"]);
        let [what, _] = begin;
        if what == "rebase" {
            project.git(["rebase", "--abort"]);
        }
        run(&project, &[overwrite("b.txt", "x")]).exits(0);
        assert_eq!(status(&project), "");
        is_sound(&project);
    }
}

#[test]
fn the_doctor_tells_of_git() {
    let says = |project: &Project, code, text: &str| {
        let said = project.clada(["doctor"]).exits(code).out;
        let line = said.lines().find(|line| line.contains(" git: "));
        assert!(
            line.is_some_and(|line| line.contains(text)),
            "{text}: {said}"
        );
    };
    let plain = Project::new();
    says(
        &plain,
        0,
        "✅ git: no repository here: clada keeps private snapshots in ",
    );
    assert!(stores(&plain).is_empty(), "it makes none");
    plain.configure("[git]\nprivate_limit = 0\n");
    says(
        &plain,
        0,
        "⚠ git: clada saves no states: no git repository here",
    );
    plain.configure("[git]\nenabled = false\n");
    says(
        &plain,
        0,
        "⚠ git: `git.enabled` is false: clada saves no states, and nothing can be undone",
    );
    let said = plain.clada(["undo"]).exits(1).err;
    assert!(
        said.ends_with("` has no history: set `git.enabled = true` if the settings turn it off, or make a repository with `git init`\n"),
        "{said}"
    );

    let project = repository();
    let top = project.root().display().to_string();
    says(
        &project,
        0,
        &format!("✅ git: repository {top}, branch `main`"),
    );
    project.configure("[git]\ntarget = 'side'\n");
    says(&project, 0, "branch `main`; commits go to refs/clada/main");
    assert!(!project.exists(".git/clada-index"));
    project.configure("");
    project.git(["checkout", "-q", "--detach"]);
    says(
        &project,
        0,
        ", no branch (HEAD is detached): create one with `git switch -c NAME`, to keep what clada commits",
    );
    project.configure("[git]\ntarget = 'side'\n");
    says(
        &project,
        0,
        ", no branch (HEAD is detached); commits go to ",
    );
    project.configure("");
    project.write(".git/index.lock", "");
    says(&project, 1, "another git process holds ");
    fs::remove_file(project.path(".git/index.lock")).unwrap();

    let sha256 = Project::new();
    sha256.git(["init", "-q", "--object-format=sha256"]);
    says(
        &sha256,
        1,
        "this repository uses a feature that clada cannot write (",
    );
    let said = run(&sha256, &[overwrite("a.txt", "x")]).exits(1).results();
    assert!(said.contains("set `git.enabled = false` for it"), "{said}");
}

#[test]
fn settings_hold_from_the_next_run_on() {
    use crate::daemon::{NOTES, exec, wait_for_results};
    use crate::harness::save_by_rename;
    let project = repository();
    project.write("runs.txt", "").commits();
    let _watching = project.watch(["--no-clipboard"]);
    let run = |word: &str, wait: &str| {
        let task = exec(&format!("echo {word} >> runs.txt"));
        save_by_rename(&project.path(NOTES), format!("{word}:\n{task}"));
        wait_for_results(&project, wait)
    };
    project.configure("[git]\nenabled = false\n");
    let notes = run("one", "1 ✅ exec echo one");
    assert!(
        !notes.results.iter().any(|line| line.contains("💚")),
        "{:?}",
        notes.results
    );
    project.configure("[git]\ntarget = 'side'\n");
    let notes = run("two", "1 ✅ exec echo two");
    assert!(
        notes.results.iter().any(|line| line.contains("💚 git")),
        "{:?}",
        notes.results
    );
    assert_eq!(project.git(["rev-list", "--count", "HEAD"]), "2\n");
    assert_eq!(
        project.git(["show", "refs/clada/main:runs.txt"]),
        "one\ntwo\n"
    );
    assert!(
        !project
            .git(["ls-tree", "-r", "refs/clada/main"])
            .contains(NOTES)
    );
}

#[test]
fn a_linked_work_tree_has_its_own_branch() {
    let project = repository();
    project.git(["worktree", "add", "-q", "side", "-b", "beside"]);
    project.write(".gitignore", "side/\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "ignore"]);
    let main = project.git(["rev-parse", "main"]);
    let root = project.path("side").display().to_string();
    let reply = super::store::reply(&[overwrite("a.txt", "two"), delete("a.txt")]);
    project
        .clada_with(["run", "--root", &root], &reply)
        .exits(0);
    assert_eq!(project.git(["rev-parse", "main"]), main);
    assert_eq!(project.git(["rev-list", "--count", "beside"]), "3\n");
    assert_eq!(project.git(["-C", &root, "status", "--porcelain"]), "");
    assert_eq!(status(&project), "");
    is_sound(&project);
}

#[test]
fn a_submodule_keeps_its_commit_and_a_task_in_it_is_kept_aside() {
    let project = repository();
    let other = repository();
    let url = other.root().display().to_string();
    project.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &url,
        "sub",
    ]);
    project.git(["commit", "-qm", "sub"]);
    run(
        &project,
        &[overwrite("sub/a.txt", "two"), overwrite("b.txt", "b")],
    )
    .exits(0);
    assert_eq!(status(&project), " M sub\n");
    assert_eq!(versions(&project, "sub/a.txt"), ["two\n", "one\n"]);
    assert_eq!(project.git(["show", "--name-only", "--format="]), "b.txt\n");
    is_sound(&project);
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    let project = repository();
    project.write("in/1", "1\n").write("out/1", "1\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "folders"]);
    project.git(["sparse-checkout", "set", "--cone", "in"]);
    run(&project, &[overwrite("in/1", "2"), exec("echo 3 > in/3")]).exits(0);
    assert_eq!(
        project.git(["ls-tree", "-r", "--name-only", "HEAD"]),
        "a.txt\nin/1\nin/3\nout/1\n"
    );
    assert_eq!(status(&project), "");
    // A task may reach outside, as may the user.
    run(&project, &[overwrite("out/2", "2")]).exits(0);
    assert_eq!(
        project.git(["ls-tree", "-r", "--name-only", "HEAD", "out"]),
        "out/1\nout/2\n"
    );
    assert_eq!(status(&project), "");
    is_sound(&project);
}

#[test]
fn line_ends_modes_and_links_are_as_git_has_them() {
    let project = repository();
    project.git(["config", "core.autocrlf", "true"]);
    let script =
        "printf 'a\\r\\nb\\r\\n' > crlf.txt; echo x > run.sh; chmod +x run.sh; ln -s a.txt link";
    run(&project, &[exec(script)]).exits(0);
    assert_eq!(project.git(["show", "HEAD:crlf.txt"]), "a\nb\n");
    let modes = project.git(["ls-tree", "--format=%(objectmode) %(path)", "HEAD"]);
    assert_eq!(
        modes,
        "100644 a.txt\n100644 crlf.txt\n120000 link\n100755 run.sh\n"
    );
    assert_eq!(status(&project), "");
    run(
        &project,
        &[
            overwrite("run.sh", "y"),
            exec("chmod -x run.sh"),
            delete("link"),
        ],
    )
    .exits(0);
    let modes = project.git(["log", "--format=", "--summary", "-2"]);
    assert!(
        modes.contains("mode change 100755 => 100644 run.sh"),
        "{modes}"
    );
    assert!(modes.contains("delete mode 120000 link"), "{modes}");
    assert_eq!(status(&project), "");
    is_sound(&project);
}

#[test]
fn a_head_without_a_commit_and_one_without_a_branch() {
    let project = Project::with_git();
    let ended = run(&project, &[exec("true")]).exits(0);
    assert_eq!(saved(&ended), "💚 git (empty) (nothing changed)");
    run(&project, &[overwrite("a.txt", "one")]).exits(0);
    assert_eq!(project.git(["rev-list", "--count", "main"]), "1\n");

    project.git(["checkout", "-q", "--detach"]);
    run(&project, &[overwrite("a.txt", "two")]).exits(0);
    assert_eq!(project.git(["rev-list", "--count", "main"]), "1\n");
    assert_eq!(project.git(["rev-list", "--count", "HEAD"]), "2\n");
    assert_eq!(status(&project), "");
    let ended = run(&project, &[overwrite("a.txt", "two")]).exits(0);
    assert!(
        saved(&ended).ends_with(" (nothing changed)"),
        "{}",
        saved(&ended)
    );
    is_sound(&project);
}

#[test]
fn what_is_staged_is_in_the_commit_before() {
    let project = repository();
    project
        .write("staged.txt", "s\n")
        .write("untracked.txt", "u\n");
    project.git(["add", "staged.txt"]);
    project.git(["rm", "-q", "--cached", "a.txt"]);
    run(&project, &[overwrite("b.txt", "b")]).exits(0);
    let before = project.git(["show", "--name-status", "--format=", "HEAD~1"]);
    assert_eq!(before, "D\ta.txt\nA\tstaged.txt\n");
    assert_eq!(status(&project), "?? a.txt\n?? untracked.txt\n");
    is_sound(&project);
}

/// An editor's git looks at the index now and then.
#[test]
fn a_lock_is_waited_for_and_one_that_stays_is_named() {
    use std::time::Duration;
    let project = repository();
    let lock = project.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let said = run(&project, &[overwrite("b.txt", "x")]).exits(1).results();
    assert!(
        said.starts_with("1 ⏹ overwrite b.txt - git: another git process holds "),
        "{said}"
    );
    let next =
        "index.lock`: wait until it ends (or delete that file if none is running), then try again";
    assert!(said.contains(next), "{said}");
    assert!(lock.exists(), "it is not clada's to take off");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Whether clada comes before or after that, it must succeed.
            std::thread::sleep(Duration::from_millis(100));
            fs::remove_file(&lock).unwrap();
        });
        run(&project, &[overwrite("b.txt", "x")]).exits(0);
    });
    assert_eq!(status(&project), "");
    is_sound(&project);
}

#[test]
fn a_bisect_and_unresolved_conflicts_are_left_alone() {
    let project = repository();
    project.write("a.txt", "two\n");
    project.git(["commit", "-qam", "second"]);
    project.git(["bisect", "start", "HEAD", "HEAD~1"]);
    let said = run(&project, &[overwrite("b.txt", "x")]).exits(1).results();
    assert!(said.contains("a bisect is in progress"), "{said}");
    project.git(["bisect", "reset"]);
    project.git(["checkout", "-qb", "other", "HEAD~1"]);
    project.write("a.txt", "other\n");
    project.git(["stash", "-q"]);
    project.git(["checkout", "-q", "main"]);
    let pop = project
        .command("git")
        .args(["stash", "pop"])
        .output()
        .unwrap();
    assert!(!pop.status.success());
    let before = status(&project);
    let said = run(&project, &[overwrite("b.txt", "x")]).exits(1).results();
    assert!(
        said.contains(
            "unresolved conflicts in `a.txt`: resolve and `git add` them, then try again"
        ),
        "{said}"
    );
    assert_eq!(status(&project), before);
    is_sound(&project);
}

#[test]
fn a_repository_of_somebody_else_needs_the_users_word() {
    let project = repository();
    let chown = |id| {
        let give = |path| std::os::unix::fs::chown(path, Some(id), None);
        give(project.root()).and(give(project.path(".git")))
    };
    if chown(4242).is_err() {
        return; // Only root can give files away.
    }
    let allowed = ["run", "--allow-shared"];
    let said = project
        .clada_with(allowed, &exec("true"))
        .exits(1)
        .results();
    assert!(
        said.contains("` belongs to another user: if you trust it, run `git config --global --add safe.directory TOP`, where TOP is its top folder"),
        "{said}"
    );
    let top = project.root().display().to_string();
    project.git(["config", "--global", "--add", "safe.directory", &top]);
    project.clada_with(allowed, &exec("true")).exits(0);
    chown(0).unwrap();
    is_sound(&project);
}

#[test]
fn an_unreadable_file_stops_the_batch_and_is_named() {
    let project = repository();
    project.write("closed.txt", "before\n");
    project.git(["add", "closed.txt"]);
    project.git(["commit", "-qm", "closed"]);
    if !project.write_unreadable("closed.txt") {
        return;
    }
    let said = run(&project, &[overwrite("b.txt", "x")]).exits(1).results();
    assert!(
        said.contains("cannot read `closed.txt`, so nothing was committed"),
        "{said}"
    );
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(project.path("closed.txt"), open).unwrap();
    run(&project, &[overwrite("b.txt", "x")]).exits(0);
    assert_eq!(status(&project), "");
    is_sound(&project);
}

#[test]
fn what_git_leaves_out_is_undone_and_done_again() {
    let project = repository();
    project
        .write(".gitignore", "*.env\nbuild/\n")
        .write("x.env", "old\r\n")
        .write("build/a", "a\n");
    project.write(".gitattributes", "* text=auto\n").commits();
    let tasks = [
        overwrite("x.env", "new"),
        overwrite("y.env", "y"),
        delete("build"),
        overwrite("a.txt", "two"),
    ];
    run(&project, &tasks).exits(0);
    let said = project.clada(["undo"]).exits(0).out;
    let files = ["a.txt", "x.env", "build/a"].map(|name| project.read(name));
    assert_eq!(files, ["one\n", "old\r\n", "a\n"], "{said}");
    assert!(!project.exists("y.env"), "{said}");
    assert_eq!(status(&project), "");
    let said = project.clada(["redo"]).exits(0).out;
    let files = ["a.txt", "x.env", "y.env"].map(|name| project.read(name));
    assert_eq!(files, ["two\n", "new\n", "y\n"], "{said}");
    assert!(!project.exists("build/a"), "{said}");
    // The user's own change is not lost.
    project.write("x.env", "mine\n");
    project.clada(["undo"]).exits(1);
    assert_eq!(project.read("x.env"), "mine\n");
    is_sound(&project);
}
