//! Atomic batches: all of a batch is done, or nothing of its file tasks, whatever comes in between.

use std::thread;

use rustix::process::Signal;

use crate::harness::{Ended, Project, Watching, save_by_rename, wait_until};

fn task(command: &str, path: &str, x: &str) -> String {
    let x = match x {
        "" => String::new(),
        x => format!("<x>\n{x}\n</x>\n"),
    };
    format!("<task>\n<path>{path}</path>\n<c>{command}</c>\n{x}</task>\n")
}

fn exec(script: &str) -> String {
    format!("<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n")
}

fn edit(path: &str, search: &str, replace: &str) -> String {
    format!(
        "<task>\n<path>{path}</path>\n<c>edit</c>\n<search>{search}</search>\n\
         <replace>{replace}</replace>\n</task>\n"
    )
}

fn atomic(tasks: &[String]) -> String {
    format!("<tasks atomic=\"yes\">\n{}</tasks>\n", tasks.concat())
}

/// Files of all kinds, saved and not.
fn project() -> Project {
    let project = Project::with_git();
    project.write("a.txt", "a\n").write("b.sh", "b\n");
    project.write("d/in.txt", "in\n").write("d/deep/x", "x\n");
    project.write("e/in.txt", "in\n");
    project.write(".gitignore", "ignored\n");
    std::os::unix::fs::symlink("a.txt", project.path("link")).expect("link");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(project.path("b.sh"), mode).expect("chmod");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "first"]);
    // The user has begun something: that is what comes back.
    project
        .write("a.txt", "a of the user\n")
        .write("new.txt", "new\n");
    project
}

/// Changes of all kinds.
fn changes() -> Vec<String> {
    vec![
        task("overwrite", "a.txt", "ours"),
        edit("a.txt", "ours", "still ours"),
        task("delete", "b.sh", ""),
        task("delete", "d", ""),
        task("move", "e", "f/g"),
        edit("f/g/in.txt", "in", "inside"),
        task("overwrite", "d/in.txt/was/a/file", "now a folder"),
        task("delete", "link", ""),
        task("move", "new.txt", "made/new.txt"),
        task("overwrite", "made/too.txt", "made"),
    ]
}

/// What is in the project: names, modes and contents.
fn all(project: &Project) -> String {
    let script = "find . -path ./.git -prune -o ! -type d -printf '%p %M %l\\n' | sort; \
                  find . -path ./.git -prune -o -type f -print | sort | xargs -d '\\n' cat";
    let output = project.command("sh").args(["-c", script]).output();
    String::from_utf8(output.expect("sh").stdout).expect("UTF-8")
}

fn run(project: &Project, reply: &str) -> Ended {
    let ended = project.clada_with(["run"], reply);
    project.git(["fsck", "--strict"]);
    assert_eq!(intents(project), 0);
    ended
}

/// How many atomic batches are not over.
fn intents(project: &Project) -> usize {
    let folder = project.state_folder().join("atomic");
    let names = std::fs::read_dir(folder).into_iter().flatten();
    let names = names.map(|entry| entry.expect("entry").file_name());
    names
        .filter(|name| name.to_string_lossy().ends_with(".json"))
        .count()
}

#[test]
fn all_is_one_commit() {
    let project = project();
    let tasks = [changes(), vec![exec("echo made > by-exec")]].concat();
    run(&project, &atomic(&tasks)).exits(0);
    assert_eq!(project.git(["rev-list", "--count", "HEAD"]), "3\n");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert_eq!(project.read("f/g/in.txt"), "inside\n");
    assert_eq!(project.read("by-exec"), "made\n");
}

#[test]
fn an_exec_that_fails_takes_all_back() {
    let project = project();
    let before = all(&project);
    let tasks = [changes(), vec![exec("exit 3"), task("delete", "a.txt", "")]].concat();
    let ended = run(&project, &atomic(&tasks)).exits(1);
    assert_eq!(all(&project), before, "{}", ended.out);
    let results = ended.results();
    for number in 1..=10 {
        let said = format!("\n{number} ❌ ");
        let line = format!("\n{results}");
        let line = line.split_once(&said).expect("failed").1;
        let line = line.lines().next().expect("a line");
        assert!(
            line.ends_with("reverted because task 11 of this atomic batch failed"),
            "{results}"
        );
    }
    assert!(
        results.contains("11 ❌ exec exit 3 - exit code 3"),
        "{results}"
    );
    assert!(
        results.contains("12 ⏹ delete a.txt - task 11 of this atomic batch failed"),
        "{results}"
    );
    // What the user had begun is saved, and nothing else.
    assert_eq!(project.git(["rev-list", "--count", "HEAD"]), "2\n");
    assert_eq!(project.git(["status", "--porcelain"]), "?? new.txt\n");
    // As it was, it can be done once more.
    let tasks = [changes(), vec![exec("true")]].concat();
    run(&project, &atomic(&tasks)).exits(0);
}

#[test]
fn what_an_exec_changed_is_left_and_said() {
    let project = project();
    let tasks = [
        task("overwrite", "a.txt", "ours"),
        exec("echo made > by-exec; echo formatted > e/in.txt; echo more >> d/in.txt"),
        edit("d/in.txt", "more", "much more"),
        task("move", "by-exec", "moved"),
        exec("exit 1"),
        task("overwrite", "e/in.txt", "ours"),
    ];
    // It is there once the first exec has run.
    project.write("by-exec", "before\n");
    project.write("d/in.txt", "in\nmore\n");
    let tasks: Vec<String> = tasks
        .into_iter()
        .map(|task| task.replace("echo more >> d/in.txt", "echo most >> d/in.txt"))
        .collect();
    let ended = run(&project, &atomic(&tasks)).exits(1);
    let results = ended.results();
    assert!(
        results.contains(
            "2 ✅ exec echo made > by-exec; echo formatted > e/in.txt; echo most >> d/in.txt - its changes were not reverted"
        ),
        "{results}"
    );
    assert_eq!(project.read("a.txt"), "a of the user\n", "{results}");
    assert_eq!(project.read("by-exec"), "made\n", "{results}");
    assert_eq!(project.read("e/in.txt"), "formatted\n", "{results}");
    assert_eq!(project.read("d/in.txt"), "in\nmore\nmost\n", "{results}");
    assert!(!project.exists("moved"), "{results}");
    assert_eq!(
        project.git(["status", "--porcelain"]),
        "?? by-exec\n?? new.txt\n",
        "which were untracked before"
    );
    let body = project.git(["log", "-1", "--format=%b"]);
    assert!(
        body.starts_with("  reverted because task 5 failed\n"),
        "{body}"
    );
}

#[test]
fn what_somebody_changed_since_is_left_and_named() {
    let project = project();
    let tasks = [
        task("overwrite", "a.txt", "ours"),
        task("delete", "d/deep/x", ""),
        exec("echo theirs > a.txt; exit 1"),
    ];
    let results = run(&project, &atomic(&tasks)).exits(1).results();
    assert!(
        results.contains(
            "1 ✅ overwrite a.txt - not reverted, although task 3 of this atomic batch failed"
        ),
        "{results}"
    );
    assert!(
        results.contains(
            "⚠ not as before this atomic batch: `a.txt` has changed since and was left as it is"
        ),
        "{results}"
    );
    assert_eq!(project.read("a.txt"), "theirs\n");
    assert_eq!(project.read("d/deep/x"), "x\n");
}

#[test]
fn a_folder_that_is_no_longer_empty_is_left_and_named() {
    let project = project();
    let tasks = [
        task("mkdir", "new", ""),
        exec("echo theirs > new/x; exit 1"),
    ];
    let results = run(&project, &atomic(&tasks)).exits(1).results();
    assert!(
        results.contains("⚠ not as before this atomic batch: `new` was not restored"),
        "{results}"
    );
    assert_eq!(project.read("new/x"), "theirs\n");
}

#[test]
fn what_changed_after_a_kill_is_left_and_named() {
    let project = project();
    let reply = [
        task("overwrite", "a.txt", "ours"),
        task("delete", "d/deep/x", ""),
        exec("touch go; sleep 300"),
    ];
    let file = project.home().join("reply.md");
    std::fs::write(&file, atomic(&reply)).expect("write");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("run").arg(file);
    let running = Watching::start(command);
    wait_until(|| project.exists("go"), || running.said());
    running.stop(Signal::KILL);
    project.write("a.txt", "theirs\n");
    let ended = run(&project, &format!("<tasks>\n{}</tasks>\n", exec("true"))).exits(0);
    let results = ended.results();
    assert!(
        results.contains(
            "⚠ clada exited in the middle of an atomic batch and has now reverted it: 1 file restored; not as before: \
             `a.txt` has changed since and was left as it is"
        ),
        "{results}"
    );
}

#[test]
fn nothing_is_done_that_could_not_be_taken_back() {
    let project = project();
    project.write("ignored", "precious\n");
    let before = all(&project);
    for change in [
        task("overwrite", "ignored", "ours"),
        task("delete", "ignored", ""),
        task("move", "ignored", "elsewhere"),
    ] {
        let tasks = [task("overwrite", "a.txt", "ours"), change, exec("true")];
        let results = run(&project, &atomic(&tasks)).exits(1).results();
        assert!(
            results.contains(
                "`ignored` is not in git in its current state, so an atomic batch with an exec could not restore it: change \
                 it in a `<tasks>` of its own"
            ),
            "{results}"
        );
        assert!(results.contains("1 ⏹ overwrite a.txt"), "{results}");
        assert_eq!(all(&project), before);
    }
    // Without git, there is no way back at all.
    let tasks = [task("overwrite", "a.txt", "ours"), exec("touch ran")];
    let ended = project
        .clada_with(["run", "--no-git"], &atomic(&tasks))
        .exits(1);
    assert!(ended.results().contains("needs git"), "{}", ended.out);
    // A command that asks cannot be waited for.
    let tasks = [task("overwrite", "a.txt", "ours"), exec("git push")];
    let results = run(&project, &atomic(&tasks)).exits(1).results();
    assert!(
        results.contains("an atomic batch cannot wait for that"),
        "{results}"
    );
    assert_eq!(all(&project), before);
    let tasks = [
        task("overwrite", "a.txt", "ours"),
        task("delete", "b.sh", ""),
    ];
    project
        .clada_with(["run", "--no-git"], &atomic(&tasks))
        .exits(0);
}

/// A batch that waits in its exec, started, once that is there.
fn waiting(project: &Project) -> Watching {
    let tasks = [changes(), vec![exec("touch go; sleep 300")]].concat();
    let reply = project.home().join("reply.md");
    std::fs::write(&reply, atomic(&tasks)).expect("write");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("run").arg(reply);
    let running = Watching::start(command);
    wait_until(|| project.exists("go"), || running.said());
    running
}

#[test]
fn a_stop_takes_all_back() {
    let project = project();
    let before = all(&project);
    let running = waiting(&project);
    running.stop(Signal::INT);
    std::fs::remove_file(project.path("go")).expect("go");
    assert_eq!(all(&project), before);
    assert_eq!(intents(&project), 0);
}

#[test]
fn a_kill_is_taken_back_by_the_next_run() {
    let project = project();
    let before = all(&project);
    waiting(&project).stop(Signal::KILL);
    std::fs::remove_file(project.path("go")).expect("go");
    assert_ne!(all(&project), before);
    assert_eq!(intents(&project), 1);
    let ended = run(&project, &format!("<tasks>\n{}</tasks>\n", exec("true"))).exits(0);
    let results = ended.results();
    assert!(
        results.contains("⚠ clada exited in the middle of an atomic batch and has now reverted it"),
        "{results}"
    );
    assert_eq!(all(&project), before);
}

/// Nothing builds on the half of a batch.
#[test]
fn a_kill_is_taken_back_before_anything_is_undone_or_looked_at() {
    for command in ["undo", "step-back", "squash"] {
        let project = project();
        let reply = task("overwrite", "first.txt", "first");
        run(&project, &format!("<tasks>\n{reply}</tasks>\n")).exits(0);
        let before = all(&project);
        waiting(&project).stop(Signal::KILL);
        std::fs::remove_file(project.path("go")).expect("go");
        let folder = project.state_folder().join("atomic");
        let intent = std::fs::read_dir(folder).expect("folder");
        let intent = intent.flatten().next().expect("intent").path();
        let kept = std::fs::read(&intent).expect("read");
        std::fs::write(&intent, "damaged").expect("write");
        let refused = project.clada([command]).exits(1).err;
        let said = format!(
            "⚠ an interrupted atomic batch could not be reverted (`{}`): expected value",
            intent.display()
        );
        assert!(refused.contains(&said), "{refused}");
        let next = [task("overwrite", "a.txt", "next"), exec("true")];
        let results = project
            .clada_with(["run"], &atomic(&next))
            .exits(1)
            .results();
        let said = format!(
            "git: an earlier atomic batch is not reverted yet: delete `{}` to keep its changes",
            intent.display()
        );
        assert!(results.contains(&said), "{results}");
        std::fs::write(&intent, kept).expect("write");

        let ended = project.clada([command]).exits(0);
        assert!(
            ended.err.contains("and has now reverted it"),
            "{}",
            ended.err
        );
        assert_eq!(intents(&project), 0);
        match command {
            "squash" => {}
            "undo" => drop(project.clada(["redo"]).exits(0)),
            _ => drop(project.clada(["step-forward", "--end"]).exits(0)),
        }
        assert_eq!(all(&project), before, "{command}");
    }
}

#[test]
fn a_kill_is_taken_back_by_a_listener_but_for_what_was_changed_since() {
    let project = project();
    waiting(&project).stop(Signal::KILL);
    project.write("a.txt", "changed since\n");
    let notes = project.path("clada.md");
    let listening = project.watch(["--no-clipboard"]);
    let told = || std::fs::read_to_string(&notes).unwrap_or_default();
    wait_until(
        || {
            told().contains("and has now reverted it: 10 files restored; not as before: `a.txt` has changed since")
        },
        || format!("{}{}", told(), listening.said()),
    );
    assert_eq!(project.read("a.txt"), "changed since\n");
    assert_eq!(project.read("d/in.txt"), "in\n");
    assert_eq!(project.read("e/in.txt"), "in\n");
    assert!(!project.exists("f"));
    assert_eq!(intents(&project), 0);
}

/// Killed at any moment, it is all there after the next start, or nothing.
#[test]
fn a_kill_at_any_moment_leaves_all_or_nothing() {
    let project = project();
    project.git(["add", "new.txt"]);
    run(&project, &format!("<tasks>\n{}</tasks>\n", exec("true"))).exits(0);
    project.git(["tag", "start"]);
    let before = all(&project);
    let reply = project.home().join("reply.md");
    let more = vec![
        task("append", "a.txt", "more"),
        task("mkdir", "h/i", ""),
        task("append", "h/i/in.txt", "new"),
    ];
    std::fs::write(&reply, atomic(&[changes(), more].concat())).expect("write");
    let nothing = format!("<tasks>\n{}</tasks>\n", exec("true"));
    let mut done = None;
    let (mut none, mut back, mut whole) = (0, 0, 0);
    for round in 0..40_u64 {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.arg("run").arg(&reply);
        let running = Watching::start(command);
        // From when it is about to begin: that is the stretch that counts.
        let over = || intents(&project) == 1 || running.said().contains("=== END ===");
        wait_until(over, || running.said());
        thread::sleep(std::time::Duration::from_micros(round * 300));
        running.stop(Signal::KILL);
        for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
            let _ = std::fs::remove_file(project.path(".git").join(lock));
        }
        let next = project.clada_with(["run"], &nothing).exits(0);
        back += usize::from(next.out.contains("and has now reverted it"));
        assert_eq!(intents(&project), 0);
        let now = all(&project);
        if now == before {
            none += 1;
        } else {
            assert!(project.exists("f/g/in.txt"), "{now}{}", next.out);
            assert_eq!(done.get_or_insert_with(|| now.clone()), &now);
            whole += 1;
        }
        assert_eq!(project.git(["status", "--porcelain"]), "");
        project.git(["reset", "-q", "--hard", "start"]);
        assert_eq!(all(&project), before);
    }
    eprintln!("nothing {none} times, {back} of these taken back, all {whole} times");
    project.git(["fsck", "--strict"]);
}

/// Waits until the notes say this.
fn wait_for(project: &Project, listening: &Watching, says: &str) -> String {
    let notes = || std::fs::read_to_string(project.path("clada.md")).unwrap_or_default();
    wait_until(
        || notes().contains(says),
        || format!("{says:?} in {}{}", notes(), listening.said()),
    );
    notes()
}

#[test]
fn a_repaired_batch_runs_all_again() {
    let project = project();
    let listening = project.watch(["--no-clipboard"]);
    let batch = |script: &str| {
        let tasks = [
            task("overwrite", "a.txt", "ours"),
            exec("echo ran >> ran"),
            task("delete", "d", ""),
            exec(script),
        ];
        format!("above\n{}below\n", atomic(&tasks))
    };
    save_by_rename(&project.path("clada.md"), batch("exit 1"));
    wait_for(&project, &listening, "3 ❌ delete d - reverted");
    assert_eq!(project.read("a.txt"), "a of the user\n");
    assert!(project.exists("d/in.txt"));
    save_by_rename(&project.path("clada.md"), batch("exit 0"));
    let notes = wait_for(&project, &listening, "4 ✅ exec exit 0");
    for done in ["1 ✅ overwrite a.txt\n", "2 ✅ exec", "3 ✅ delete d\n"] {
        assert!(notes.contains(done), "{notes}");
    }
    assert_eq!(project.read("a.txt"), "ours\n");
    assert_eq!(project.read("ran"), "ran\nran\n");
    assert!(!project.exists("d"));
}

#[test]
fn a_listener_that_is_killed_takes_back_and_offers_the_batch() {
    let project = project();
    let before = all(&project);
    let listening = project.watch(["--no-clipboard"]);
    let tasks = [
        changes(),
        vec![exec("test -e go && exit 0; touch go; sleep 300")],
    ]
    .concat();
    save_by_rename(&project.path("clada.md"), atomic(&tasks));
    wait_until(|| project.exists("go"), || listening.said());
    listening.stop(Signal::KILL);
    let listening = project.watch(["--no-clipboard"]);
    let notes = wait_for(&project, &listening, "and has now reverted it");
    assert!(notes.contains("11 ⚠ exec"), "{notes}");
    let without_own = |all: &str| {
        let own = ["clada.md", ".clada-output", "./go"];
        let names = all.lines().take_while(|line| line.starts_with("./"));
        let names = names.filter(|line| !own.iter().any(|own| line.contains(own)));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_own(&all(&project)), without_own(&before));
    assert_eq!(project.read("a.txt"), "a of the user\n");
    let text = project.read("clada.md");
    save_by_rename(
        &project.path("clada.md"),
        text.replace("- [ ] run again", "- [x] run again"),
    );
    wait_for(&project, &listening, "11 ✅ exec");
    assert_eq!(project.read("f/g/in.txt"), "inside\n");
}

#[test]
fn line_ends_come_back_as_they_were() {
    let project = Project::with_git();
    project.git(["config", "core.autocrlf", "true"]);
    let files = [
        ("lf", "x\ny\n"),
        ("crlf", "x\r\ny\r\n"),
        ("mixed", "x\r\ny\n"),
    ];
    for (name, text) in files {
        project.write(name, text);
    }
    let tasks = [
        task("overwrite", "lf", "ours"),
        task("overwrite", "crlf", "ours"),
        task("delete", "mixed", ""),
        exec("false"),
    ];
    let results = run(&project, &atomic(&tasks)).exits(1).results();
    for (name, text) in files {
        assert_eq!(project.read(name), text, "{results}");
    }
    assert!(!results.contains("not as before"), "{results}");
}
