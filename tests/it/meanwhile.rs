//! Another program changes files while a batch runs: nothing that clada has not saved is overwritten or taken away. And
//! batches that are one commit.

use std::thread;

use crate::harness::{Ended, Project, wait_until};

const REFUSED: &str =
    "` after this batch began, so nothing was overwritten: read it again and write a new task";

fn task(command: &str, path: &str, x: &str) -> String {
    let x = match x {
        "" => String::new(),
        x => format!("<x>\n{x}\n</x>\n"),
    };
    format!("<task>\n<path>{path}</path>\n<c>{command}</c>\n{x}</task>\n")
}

/// A reply whose first task is a command after which clada has looked at everything, and cannot commit until the lock on
/// the branch is taken away.
fn held(tasks: &str) -> String {
    let script = "echo made > made\ntouch .git/refs/heads/main.lock";
    format!("<tasks>\n<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n{tasks}</tasks>\n")
}

/// Runs such a reply, and does something else between the look and the commit.
fn run_with(project: &Project, reply: &str, meanwhile: impl FnOnce() + Send) -> Ended {
    thread::scope(|scope| {
        scope.spawn(|| {
            // The index is written behind the look and ahead of the commit.
            let looked = || project.git(["ls-files", "made"]) == "made\n";
            wait_until(looked, || "the index to have `made`".to_owned());
            meanwhile();
            std::fs::remove_file(project.path(".git/refs/heads/main.lock")).expect("the lock");
        });
        project.clada_with(["run"], reply)
    })
}

fn project() -> Project {
    let project = Project::with_git();
    project.write("a.txt", "a\n").write("b.txt", "b\n");
    project.write("d/in.txt", "in\n").write("e/in.txt", "in\n");
    project.write(".gitignore", "ignored\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "first"]);
    project
}

#[test]
fn nothing_that_was_not_saved_is_overwritten_or_taken_away() {
    let project = project();
    let tasks = [
        task("overwrite", "a.txt", "ours"),
        task("delete", "b.txt", ""),
        task("delete", "d", ""),
        task("move", "e", "f"),
        task("move", "made", "g.txt").replace("<x>", "<x overwrite=\"yes\">"),
    ];
    let ended = run_with(&project, &held(&tasks.concat()), || {
        for theirs in ["a.txt", "b.txt", "d/in.txt", "e/new.txt", "g.txt"] {
            project.write(theirs, "theirs\n");
        }
    });
    let results = ended.exits(1).results();
    assert_eq!(results.matches(REFUSED).count(), 5, "{results}");
    for inside in ["d/in.txt", "e/new.txt"] {
        assert!(
            results.contains(&format!("`{inside}{REFUSED}")),
            "{results}"
        );
    }
    for theirs in ["a.txt", "b.txt", "d/in.txt", "e/new.txt", "g.txt"] {
        assert_eq!(project.read(theirs), "theirs\n");
    }
    assert_eq!(project.read("made"), "made\n");
    assert_eq!(
        project.git(["status", "--porcelain", "a.txt"]),
        " M a.txt\n"
    );
    project.git(["fsck", "--strict"]);
}

#[test]
fn an_edit_goes_on_what_is_there_and_the_ignored_is_nobodys() {
    let project = project();
    project.write("ignored", "old\n");
    let edit = "<task>\n<path>a.txt</path>\n<c>edit</c>\n<search>\na\n</search>\n\
                <replace>\nA\n</replace>\n</task>\n";
    let tasks = [edit.to_owned(), task("overwrite", "ignored", "ours")];
    let ended = run_with(&project, &held(&tasks.concat()), || {
        project
            .write("a.txt", "above\na\n")
            .write("ignored", "theirs\n");
    });
    ended.exits(0);
    assert_eq!(project.read("a.txt"), "above\nA\n");
    assert_eq!(project.read("ignored"), "ours\n");
}

/// Without a command between, each look goes on top of the one before.
#[test]
fn a_batch_of_one_commit_knows_what_it_moved() {
    let project = project();
    project.configure("[git]\ncommit = \"batch\"\n");
    let tasks = [
        task("overwrite", "a.txt", "one"),
        task("move", "a.txt", "h/a.txt"),
        task("overwrite", "h/a.txt", "two"),
        task("move", "h", "i"),
        task("overwrite", "i/a.txt", "three"),
        task("delete", "i", ""),
    ];
    let reply = format!("<tasks message=\"all\">\n{}</tasks>\n", tasks.concat());
    project.clada_with(["run"], &reply).exits(0);
    assert!(!project.exists("h") && !project.exists("i"));
}

#[test]
fn a_batch_may_overwrite_its_own_work() {
    let script = "echo formatted > a.txt; echo x > d/x; echo new > ignored";
    let exec = format!("<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n");
    let tasks = [
        task("overwrite", "a.txt", "one"),
        task("overwrite", "a.txt", "two"),
        task("move", "a.txt", "h/a.txt"),
        task("overwrite", "h/a.txt", "three"),
        exec,
        task("overwrite", "a.txt", "four"),
        task("delete", "d", ""),
        task("move", "h", "i"),
        task("delete", "i/a.txt", ""),
        task("delete", "ignored", ""),
    ];
    for whole in [false, true] {
        let project = project();
        if whole {
            project.configure("[git]\ncommit = \"batch\"\n");
        }
        project.write("b.txt", "of the user\n");
        let reply = format!("<tasks message=\"all\">\n{}</tasks>\n", tasks.concat());
        project.clada_with(["run"], &reply).exits(0);
        assert_eq!(project.git(["status", "--porcelain"]), "");
        assert_eq!(project.read("a.txt"), "four\n");
        assert!(!project.exists("d") && !project.exists("i/a.txt"));
        project.git(["fsck", "--strict"]);
        let commits = project.git(["log", "--format=%s"]);
        if whole {
            // What the user had changed, and the batch.
            assert_eq!(commits, "all 💚clada\nbefore: all 💚clada\nfirst\n");
            let body = project.git(["log", "-1", "--format=%b"]);
            let (said, _) = body.split_once("\n\n").expect("trailers");
            // And the time.
            assert_eq!(said.lines().count(), tasks.len() + 1, "{body}");
            assert!(body.contains("\nClada-Step: task"), "{body}");
        }
    }
}

#[test]
fn a_whole_batch_that_is_cut_short_is_saved_by_the_next() {
    let project = project();
    project.configure("[git]\ncommit = \"batch\"\n");
    let exec = "<task>\n<c>exec</c>\n<x>\ntouch go; sleep 300\n</x>\n</task>\n";
    let tasks = [task("overwrite", "a.txt", "ours"), exec.to_owned()].concat();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    project.write("reply.md", format!("<tasks>\n{tasks}</tasks>\n"));
    let running = crate::harness::Watching::start({
        command.args(["run", "reply.md"]);
        command
    });
    wait_until(|| project.exists("go"), || running.said());
    running.stop(rustix::process::Signal::KILL);
    assert_eq!(
        project.git(["status", "--porcelain", "a.txt"]),
        " M a.txt\n"
    );
    let next = format!("<tasks>\n{}</tasks>\n", task("delete", "b.txt", ""));
    project.clada_with(["run"], &next).exits(0);
    assert_eq!(project.git(["show", "HEAD~1:a.txt"]), "ours\n");
    assert_eq!(
        project.git(["status", "--porcelain"]),
        "?? go\n?? reply.md\n"
    );
}
