//! What is the user's own stays off the branch, and an undo brings it back.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use super::store::{delete, exec, in_store, is_sound, move_to, overwrite, reply, run, saved};
use crate::daemon::{NOTES, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

const KEY: &str =
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n";

/// Two tracked files, and beside them all that a person has in a folder without a `.gitignore`.
fn beginner() -> Project {
    let project = Project::with_git();
    project.write("a.txt", "a\n").write("src/main.py", "main\n");
    project.commits();
    project
        .write(".env", "SECRET=of-the-user\n")
        .write("id_rsa", KEY)
        .write("deploy", KEY)
        .write("draft.md", "a draft of the user\n")
        .write("src/new.py", "new code of the user\n")
        .write("node_modules/left-pad/index.js", "module of a tool\n")
        .write("venv/pyvenv.cfg", "home = /usr\n")
        .write("video.mp4", vec![7; 6 << 20]);
    project
}

/// All files but those in folders of tools, by path.
fn files(project: &Project) -> BTreeMap<String, Vec<u8>> {
    let list = "find . -name .git -prune -o -name node_modules -prune -o -type f -print";
    let list = project.command("sh").args(["-c", list]).output().unwrap();
    let paths = String::from_utf8(list.stdout).unwrap();
    let read = |path: &str| std::fs::read(project.path(path)).unwrap();
    let files = paths.lines().map(|path| (path.to_owned(), read(path)));
    files.collect()
}

/// No object of the repository holds one of these texts, on a ref or not.
#[track_caller]
fn nothing_of(project: &Project, texts: &[&str]) {
    let script = "git cat-file --batch-all-objects --batch --buffer";
    let all = project.command("sh").args(["-c", script]).output().unwrap();
    let all = String::from_utf8_lossy(&all.stdout).into_owned();
    for text in texts {
        assert!(!all.contains(text), "{text}");
    }
}

#[test]
fn twenty_batches_in_a_repository_without_a_gitignore() {
    let project = beginner();
    let private = [
        "of-the-user",
        "b3BlbnNzaC1rZXk",
        "a draft of the user",
        "new code of the user",
        "module of a tool",
        "home = /usr",
        "\u{7}\u{7}\u{7}",
    ];
    let before = files(&project);
    let scripts = [
        "echo made > made.txt",
        "rm draft.md; echo more >> a.txt",
        "cp .env backup.txt; cp id_rsa key.txt",
        "mv src/new.py src/renamed.py",
        "git add -A",
        "echo KEY=1 > .env.local; cp .env.local plain.txt",
        "mkdir -p web/node_modules/x; echo x > web/node_modules/x/index.js; echo y > web/index.js",
        "rm -rf node_modules/left-pad; head -c 6000000 /dev/zero > large.bin",
        "git add -A; rm video.mp4 deploy",
        "git stash -u -q; git stash pop -q",
    ];
    for (number, script) in scripts.iter().enumerate() {
        run(&project, &[exec(script)]).exits(0);
        let task = overwrite(&format!("by-task-{number}.txt"), "by a task");
        run(&project, &[task, overwrite("a.txt", &number.to_string())]).exits(0);
    }
    // `git stash -u` itself has made objects of all that is untracked.
    project.git(["reflog", "expire", "--expire=now", "--all"]);
    project.git(["gc", "-q", "--prune=now"]);
    nothing_of(&project, &private);
    let after = files(&project);
    let kept = project.git(["ls-files"]);
    assert_eq!(
        kept.lines()
            .filter(|path| !path.contains("by-task"))
            .collect::<Vec<_>>(),
        ["a.txt", "made.txt", "src/main.py", "web/index.js"]
    );
    for _ in 0..20 {
        let undone = project.clada(["undo"]);
        if undone.code != Some(0) {
            assert!(undone.err.contains("nothing to undo"), "{}", undone.err);
            break;
        }
    }
    assert!(files(&project) == before, "{:?}", files(&project).keys());
    nothing_of(&project, &private);
    project.clada(["step-back", "3"]).exits(0);
    project.clada(["step-forward", "--end"]).exits(0);
    assert!(files(&project) == before);
    while project.clada(["redo"]).code == Some(0) {}
    assert!(files(&project) == after, "{:?}", files(&project).keys());
    project.clada(["step-back"]).exits(0);
    project.clada(["step-forward", "--end"]).exits(0);
    project.clada(["squash"]).exits(0);
    nothing_of(&project, &private);
    assert!(files(&project) == after);
    is_sound(&project);
}

#[test]
fn what_is_saved_and_what_is_not_is_said() {
    let project = beginner();
    project.write("src/main.py", "staged\n");
    project.git(["add", "src/main.py"]);
    project.write("a.txt", "changed\n");
    project.write("src/main.py", "staged\nand more\n");
    let script = "echo KEY=1 > .env.local; mkdir -p dist; cp -r node_modules dist/; \
                  head -c 6000000 /dev/zero > large.bin";
    let results = run(&project, &[exec(script)]).exits(0).results();
    let log = project.git(["log", "--format=%h %s", "-2"]);
    let commits: Vec<&str> = log.lines().map(|line| &line[..7]).collect();
    let says = format!(
        "💚 saved your work: 1 staged file ({}), 2 files ({})\n💚 git {} (nothing changed)\n",
        commits[1], commits[0], commits[0]
    );
    assert!(results.contains(&says), "{results}");
    assert!(
        log.lines().nth(1).unwrap().ends_with(" (staged) 💚clada"),
        "{log}"
    );
    assert!(
        results.contains(
            "⚠ not committed: .env.local (looks like a secret), dist/node_modules/ (a tool's folder), \
             large.bin (larger than 5 MiB)\n"
        ) || results.contains(
            "⚠ not committed: .env.local (looks like a secret), large.bin (larger than 5 MiB), \
             dist/node_modules/ (a tool's folder)\n"
        ),
        "{results}"
    );
    let again = run(&project, &[exec("true")]).exits(0).results();
    assert!(
        !again.contains("not committed") && !again.contains("saved your work"),
        "{again}"
    );
}

#[test]
fn a_tools_folder_that_was_told_of_stays_off_though_a_later_command_stages_it() {
    let project = beginner();
    let makes = exec("mkdir -p lib/node_modules/y; echo made > lib/node_modules/y/index.js");
    let stages = exec("echo new > new.txt; git add -A lib new.txt");
    let results = run(&project, &[makes, stages]).exits(0).results();
    assert!(
        results.contains("lib/node_modules/ (a tool's folder)"),
        "{results}"
    );
    let saved = project.git(["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(saved.contains("new.txt"), "{saved}");
    assert!(!saved.contains("lib/"), "{saved}");
    assert!(project.exists("lib/node_modules/y/index.js"));
}

#[test]
fn a_name_that_git_refuses_keeps_nothing_else_from_a_commit() {
    let project = beginner();
    let makes = exec("mkdir git~1; echo hi > git~1/x; echo new > new.txt; echo other > a.txt");
    let results = run(&project, &[makes]).exits(0).results();
    assert!(
        results.contains("`git~1/x` was not saved: git refuses its name"),
        "{results}"
    );
    assert_eq!(project.git(["show", "HEAD:new.txt"]), "new\n");
    assert_eq!(project.git(["show", "HEAD:a.txt"]), "other\n");
    project.clada(["undo"]).exits(0);
    assert!(!project.exists("new.txt") && project.exists("git~1/x"));
    assert_ne!(project.read("a.txt"), "other\n");
}

#[test]
fn all_of_it_is_committed_for_those_who_want_that_but_secrets() {
    let project = beginner();
    project.configure("[git]\nuntracked = \"commit\"\n");
    let ended = run(&project, &[overwrite("b.txt", "b")]).exits(0);
    let results = ended.results();
    assert!(
        results.contains("💚 saved your work: 5 files ("),
        "{results}"
    );
    let tracked = project.git(["ls-files"]);
    for path in [
        "draft.md",
        "src/new.py",
        "video.mp4",
        "node_modules/left-pad/index.js",
    ] {
        assert!(tracked.lines().any(|line| line == path), "{path}");
    }
    nothing_of(&project, &["of-the-user", "b3BlbnNzaC1rZXk"]);
    assert_eq!(
        project.git(["status", "--porcelain"]),
        "?? .env\n?? deploy\n?? id_rsa\n"
    );
    // A file task on one that stays off is undone all the same.
    run(&project, &[overwrite(".env", "theirs")]).exits(0);
    project.clada(["undo"]).exits(0);
    assert_eq!(project.read(".env"), "SECRET=of-the-user\n");
}

#[test]
fn a_file_task_names_what_it_changes_and_nothing_else() {
    for whole in [false, true] {
        let project = beginner();
        if whole {
            project.configure("[git]\ncommit = \"batch\"\n");
        }
        let tasks = [
            overwrite("draft.md", "by a task"),
            exec("echo formatted >> draft.md; echo also >> src/new.py"),
            overwrite("draft.md", "by a task once more"),
            overwrite("src/new.py", "by a task too"),
            overwrite(".env", "SECRET=of-a-task"),
            move_to("src", "lib"),
        ];
        let before = files(&project);
        let results = run(&project, &tasks).exits(0).results();
        assert!(
            results.contains("⚠ not committed: .env (looks like a secret)"),
            "{results}"
        );
        let tracked = project.git(["ls-files"]);
        let expected = match whole {
            false => "a.txt\ndraft.md\nlib/main.py\nlib/new.py\n",
            // All that counts is the end.
            true => "a.txt\ndraft.md\nlib/main.py\nlib/new.py\n",
        };
        assert_eq!(tracked, expected);
        let private = [
            "of-the-user",
            "of-a-task",
            "a draft of the user",
            "new code of the user",
        ];
        nothing_of(&project, &private);
        let after = files(&project);
        for _ in 0..2 {
            project.clada(["undo"]).exits(0);
            assert!(files(&project) == before);
            assert_eq!(project.git(["ls-files"]), "a.txt\nsrc/main.py\n");
            project.clada(["redo"]).exits(0);
            assert!(files(&project) == after);
            assert_eq!(project.git(["ls-files"]), expected);
        }
        nothing_of(&project, &private);
        is_sound(&project);
    }
}

#[test]
fn an_undo_leaves_alone_what_was_only_moved_and_never_saved() {
    let project = Project::begun();
    project.write(".gitignore", "ignored.txt\n").commits();
    project.write("ignored.txt", "the only copy of it\n");
    run(
        &project,
        &[exec("mv ignored.txt elsewhere.txt; echo x > x")],
    )
    .exits(0);
    project.clada(["undo"]).exits(0);
    assert!(!project.exists("x"));
    assert_eq!(project.read("elsewhere.txt"), "the only copy of it\n");
    assert_eq!(project.git(["ls-files"]), ".gitignore\na.txt\n");

    // Nor what was too much to be saved when the batch began.
    let project = Project::begun();
    project.configure("[git]\nprivate_limit = 3\n");
    for number in 0..5 {
        project.write(
            &format!("drafts/{number}"),
            format!("draft number {number}\n"),
        );
    }
    let before = files(&project);
    let said = run(
        &project,
        &[exec("mv drafts kept; rm kept/0 kept/1; echo x > x")],
    )
    .exits(0)
    .results();
    assert!(
        said.contains("⚠ undo will not bring back untracked files: there are 5, more than 3 (`git.private_limit`)"),
        "{said}"
    );
    project.clada(["undo"]).exits(0);
    assert!(!project.exists("x"));
    for number in 2..5 {
        let (was, is) = (format!("./drafts/{number}"), format!("kept/{number}"));
        assert_eq!(
            Some(project.read(&is).into_bytes()),
            before.get(&was).cloned()
        );
    }
    assert_eq!(project.git(["ls-files"]), "a.txt\n");
}

#[test]
fn what_no_snapshot_can_hold_is_asked_about_first() {
    let project = Project::begun();
    project.configure("[git]\nprivate_file = '1 KiB'\n");
    project.write("big.bin", "x".repeat(5000));
    project.write("small.txt", "small\n");
    let _watching = project.watch(["--no-clipboard"]);
    let tasks = [
        delete("small.txt"),
        delete("big.bin"),
        overwrite("b.txt", "b"),
    ];
    save_by_rename(&project.path(NOTES), reply(&tasks));
    let asks = "2 ⏸ delete big.bin - undo will not bring back `big.bin`: ";
    let notes = wait_for_results(&project, asks);
    assert!(
        project.exists("big.bin") && !project.exists("small.txt"),
        "{:?}",
        notes.results
    );
    let ticked = project.read(NOTES).replacen("- [ ]", "- [x]", 1);
    save_by_rename(&project.path(NOTES), ticked);
    wait_until(|| !project.exists("big.bin"), || project.read(NOTES));
    wait_for_results(&project, "⚠ undo will not bring back `big.bin`: ");
    // An edit leaves most of it: that is only said.
    project.write("big.txt", "line\n".repeat(1000) + "last\n");
    let edit = "<task>\n<path>big.txt</path>\n<c>edit</c>\n<search>\nlast\n</search>\n<replace>\nend\n</replace>\n</task>\n";
    let results = run(&project, &[edit.to_owned()]).exits(0).results();
    assert!(
        results.contains("⚠ undo will not bring back `big.txt`"),
        "{results}"
    );
}

#[test]
fn untracked_files_are_added_where_the_user_ticks_that_and_offered_once() {
    let project = Project::with_git();
    project
        .write("one.py", "1\n")
        .write("two.py", "2\n")
        .write("three.py", "3\n")
        .write(".env", "SECRET=of-the-user\n")
        .write("video.mp4", vec![7; 6 << 20]);
    let _watching = project.watch(["--no-clipboard"]);
    let offer = "3 files are not in git - [ ] add and commit them";
    save_by_rename(&project.path(NOTES), reply(&[overwrite("b.txt", "b")]));
    wait_for_results(&project, offer);
    assert_eq!(project.git(["ls-files"]), "b.txt\n");
    // A tick that comes with other text may be a quotation.
    let forged = project.read(NOTES).replace("- [ ] add", "- [x] add") + "more text\n";
    save_by_rename(&project.path(NOTES), forged);
    wait_for_results(
        &project,
        "⚠ a tick is ignored if other text changes with it",
    );
    assert_eq!(project.git(["ls-files"]), "b.txt\n");

    let project = Project::with_git();
    project
        .write("one.py", "1\n")
        .write("two.py", "2\n")
        .write("three.py", "3\n");
    project.write(".env", "SECRET=of-the-user\n");
    let _watching = project.watch(["--no-clipboard"]);
    save_by_rename(&project.path(NOTES), reply(&[overwrite("b.txt", "b")]));
    wait_for_results(&project, offer);
    let ticked = project.read(NOTES).replace("- [ ] add", "- [x] add");
    save_by_rename(&project.path(NOTES), ticked);
    wait_for_results(&project, "💚 added 3 files to git (");
    assert_eq!(
        project.git(["ls-files"]),
        "b.txt\none.py\nthree.py\ntwo.py\n"
    );
    assert_eq!(
        project.subjects("HEAD")[0],
        "Add 3 files that git did not track 💚clada"
    );
    // Offered once.
    for number in 0..9 {
        project.write(&format!("more/{number}"), "x\n");
    }
    let text = format!("next\n{}", reply(&[overwrite("c.txt", "c")]));
    save_by_rename(&project.path(NOTES), text);
    let notes = wait_for_results(&project, "✅ overwrite c.txt");
    assert!(
        !notes.results.iter().any(|line| line.contains("not in git")),
        "{:?}",
        notes.results
    );
    // An undo takes the reply back, and not what the user had added.
    project.clada(["undo", "2"]).exits(0);
    assert_eq!(project.git(["ls-files"]), "one.py\nthree.py\ntwo.py\n");
}

#[test]
fn the_reply_that_is_run_is_in_no_commit() {
    let project = Project::begun();
    project.configure("[git]\nuntracked = \"commit\"\n");
    project.write("reply.md", reply(&[exec("git add -A; echo x > x")]));
    project.clada(["run", "reply.md"]).exits(0);
    assert_eq!(
        project.git(["ls-files"]),
        "a.txt\nreply.md\nx\n",
        "in the index"
    );
    let committed = project.git(["ls-tree", "--name-only", "HEAD"]);
    assert_eq!(committed, "a.txt\nx\n");
}

#[test]
fn an_untracked_file_that_a_batch_takes_away_and_makes_again_comes_back() {
    let again = |first: String, last: &[String]| {
        let project = beginner();
        let before = files(&project);
        let mut tasks = vec![first, exec("echo SECRET=made > .env")];
        tasks.extend_from_slice(last);
        approved(&project, &tasks);
        let after = files(&project);
        for _ in 0..2 {
            project.clada(["undo"]).exits(0);
            assert_eq!(files(&project), before);
            project.clada(["redo"]).exits(0);
            assert_eq!(files(&project), after);
        }
        nothing_of(&project, &["of-the-user", "SECRET=made"]);
    };
    again(exec("mv .env kept.env"), &[]);
    again(exec("rm .env"), &[]);
    again(
        move_to("draft.md", "moved.md"),
        &[exec("echo new > draft.md")],
    );
    again(
        exec("mv .env kept.env"),
        &[exec("rm .env"), exec("echo SECRET=made twice > .env")],
    );
    again(
        exec("rm draft.md"),
        &[exec("echo new > draft.md"), overwrite("draft.md", "newest")],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_in_nobodys_way() {
    let project = Project::begun();
    if !project.write_unreadable("closed.txt") {
        return;
    }
    let ended = run(&project, &[overwrite("b.txt", "b")]).exits(0);
    assert!(saved(&ended).starts_with("💚 git "), "{}", ended.results());
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(project.path("closed.txt"), open).unwrap();
    run(&project, &[overwrite("b.txt", "c")]).exits(0);
    assert!(in_store(&project, ["ls-tree", "-r", "--name-only", "HEAD"]).contains("closed.txt"));
}

/// Runs a reply of these tasks, whatever they ask.
fn approved(project: &Project, tasks: &[String]) -> crate::harness::Ended {
    let args = ["run", "--approve", "--sandbox", "off"];
    project.clada_with(args, &reply(tasks)).exits(0)
}

/// A batch of one command, which is undone: the files are as before.
#[track_caller]
fn comes_back(project: &Project, script: &str) {
    let before = files(project);
    approved(project, &[exec(script)]);
    project.clada(["undo"]).exits(0);
    let (is, was) = (files(project), before);
    let differs = |path: &&String| is.get(*path) != was.get(*path);
    let wrong: Vec<&String> = is.keys().chain(was.keys()).filter(differs).collect();
    assert!(wrong.is_empty(), "{script}: {wrong:?}");
}

#[test]
fn links_and_folders_in_each_others_places_come_back() {
    let project = Project::begun();
    project
        .write("dat/u", "untracked\n")
        .write("u1", "untracked too\n");
    comes_back(&project, "mv dat dat2; ln -s dat2 dat");
    comes_back(&project, "rm u1; mkdir u1; echo in > u1/in");
    comes_back(&project, "rm -r dat; echo file > dat");
    project.write("src/a", "a\n").commits();
    project.write("src/u", "untracked\n");
    comes_back(&project, "mv src lib; ln -s lib src");
    is_sound(&project);
}

/// What git left out when a batch began stays off the branch, and is not taken away by an undo.
#[test]
fn what_was_ignored_or_in_another_repository_stays_off_though_the_rules_change() {
    let project = Project::begun();
    project
        .write(".gitignore", "config.local\nbuild\n")
        .commits();
    project
        .write("config.local", "ignored\n")
        .write("build/x", "built\n");
    project
        .write("inner/f", "inner\n")
        .write("node_modules/x/a.js", "module\n");
    let inner = project.path("inner").display().to_string();
    project.git(["-C", &inner, "init", "-q"]);
    project.git([
        "-C",
        &inner,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    let kept = [".gitignore", "a.txt"].map(str::to_owned);
    let tracked = |project: &Project| {
        let list = project.git(["ls-files"]);
        let mut list: Vec<String> = list.lines().map(str::to_owned).collect();
        list.retain(|path| path != "x");
        list
    };
    let reply = overwrite(".gitignore", "nothing");
    run(&project, &[reply, exec("echo x > x")]).exits(0);
    assert_eq!(tracked(&project), kept);
    project.clada(["undo"]).exits(0);
    for script in [
        "echo nothing > .gitignore; echo x > x",
        "git add -f config.local build; echo x > x",
        "mv inner/f f; echo x > x",
        "git add -A; echo x > x",
        "rm -rf inner/.git; echo x > x",
        "mv node_modules old; echo x > x",
        "mv build out; echo x > x",
    ] {
        approved(&project, &[exec(script)]);
        assert_eq!(tracked(&project), kept, "{script}");
        project.clada(["undo"]).exits(0);
        assert!(!project.exists("x"), "{script}");
    }
    for (path, content) in [
        ("config.local", "ignored\n"),
        ("out/x", "built\n"),
        ("f", "inner\n"),
        ("old/x/a.js", "module\n"),
    ] {
        assert_eq!(project.read(path), content, "an undo takes nothing away");
    }
}

#[test]
fn notes_that_a_command_moves_or_copies_are_in_no_commit() {
    let project = Project::begun();
    project.write("other.md", "notes of another clada\n");
    let mut other = project.command(env!("CARGO_BIN_EXE_clada"));
    other.args(["watch", "other.md", "--no-clipboard"]);
    let other = crate::harness::Watching::start(other);
    wait_until(|| other.said().contains("watching"), || other.said());
    other.stop(rustix::process::Signal::TERM);
    run(
        &project,
        &[exec(
            "cp other.md copy.md; mv other.md moved.md; echo x > x",
        )],
    )
    .exits(0);
    assert_eq!(project.git(["ls-files"]), "a.txt\nx\n");
    project.clada(["undo"]).exits(0);
    assert_eq!(project.read("moved.md"), "notes of another clada\n");
}

#[test]
fn what_is_too_large_for_a_snapshot_is_moved_only_when_asked_and_never_taken_away() {
    let project = Project::begun();
    project.configure("[git]\nprivate_file = '1 KiB'\n");
    let big = "line\n".repeat(1000) + "last\n";
    project.write("big.txt", &big);
    let moves = reply(&[move_to("big.txt", "data.txt")]);
    project.clada_with(["run"], &moves).exits(1);
    assert!(project.exists("big.txt"));
    project.clada_with(["run", "--approve"], &moves).exits(0);
    assert_eq!(project.git(["ls-files"]), "a.txt\n");
    project.clada(["undo"]);
    assert_eq!(project.read("data.txt"), big);
    let append = "<task>\n<path>data.txt</path>\n<c>append</c>\n<x>\nmore\n</x>\n</task>\n";
    let results = run(&project, &[append.to_owned(), overwrite("x", "x")])
        .exits(0)
        .results();
    assert!(
        results.contains("⚠ not committed: data.txt (no snapshot has its previous content)"),
        "{results}"
    );
    project.clada(["undo"]).exits(0);
    assert!(!project.exists("x"));
    assert_eq!(project.read("data.txt"), big + "more\n");
}

#[test]
fn a_copy_of_a_secret_is_known_again_in_a_batch_that_is_one_commit() {
    let project = Project::begun();
    project.configure("[git]\ncommit = \"batch\"\n");
    project.write(".env", "SECRET=of-the-user\n");
    run(&project, &[exec("cp .env c; echo x > x"), exec("true")]).exits(0);
    assert_eq!(project.git(["ls-files"]), "a.txt\nx\n");
}

#[test]
fn what_a_command_took_out_of_the_index_is_in_it_again() {
    let project = Project::begun();
    for script in [
        "git rm -q --cached a.txt",
        "git rm -q --cached a.txt; echo a.txt > .gitignore; echo more >> a.txt",
    ] {
        approved(&project, &[exec(script)]);
        project.clada(["undo"]).exits(0);
        assert_eq!(project.git(["ls-files"]), "a.txt\n", "{script}");
        assert_eq!(project.read("a.txt"), "one\n");
        assert_eq!(project.git(["status", "--porcelain"]), "");
    }
}

#[test]
fn a_batch_whose_command_moved_the_branch_is_not_undone_by_halves() {
    for script in [
        "git checkout -q --orphan z",
        "git reset -q --hard HEAD~1; echo x > x",
    ] {
        let project = Project::begun();
        project.write("b.txt", "b\n").commits();
        let before = project.id("HEAD");
        approved(&project, &[exec(script)]);
        let there = files(&project);
        let said = project.clada(["undo"]).exits(1).err;
        let says = format!(
            "` moved the branch, so nothing was done: `git diff {0}` shows what differs from before, `git restore --source={0} PATH` restores a file",
            &before[..7]
        );
        assert!(said.contains(&says), "{said}");
        assert!(files(&project) == there);
    }
}

#[test]
fn a_batch_is_undone_where_it_ran() {
    let project = Project::begun();
    project.write("sub/u", "untracked\n");
    let ran = reply(&[exec("rm u; echo b > b")]);
    project.clada_with(["run", "--root", "sub"], &ran).exits(0);
    let said = project.clada(["undo"]).exits(1).err;
    assert!(said.contains("--root ") && said.contains("/sub`"), "{said}");
    assert!(project.exists("sub/b"));
    project.clada(["undo", "--root", "sub"]).exits(0);
    assert_eq!(project.read("sub/u"), "untracked\n");
    assert!(!project.exists("sub/b"));

    // And the other way round.
    let ran = reply(&[exec("rm sub/u; echo c > sub/c")]);
    project.clada_with(["run"], &ran).exits(0);
    project.clada(["undo", "--root", "sub"]).exits(1);
    project.clada(["undo"]).exits(0);
    assert_eq!(project.read("sub/u"), "untracked\n");
}
