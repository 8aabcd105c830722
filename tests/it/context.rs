//! The context set: which files a chat works with, from replies and from the command line.

use crate::daemon::display::Xvfb;
use crate::harness::{Project, Watching, wait_until};

/// Carries out tasks, each the inside of a `<task>`; the lines of the results.
fn run<const N: usize>(project: &Project, tasks: [&str; N]) -> String {
    let tasks = tasks.map(|task| format!("<task>{task}</task>\n")).concat();
    let run = project.clada_with(["run"], &format!("<tasks>\n{tasks}</tasks>"));
    run.results()
}

#[test]
fn what_a_reply_puts_in_is_there_for_the_next_and_to_paste() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\nthree");
    project.write("b.txt", "");
    run(
        &project,
        ["<c>context-add</c><path>a.txt</path><path>b.txt</path>"],
    );
    let shown = project.clada(["context"]).exits(0);
    let text = "=== START FILE: a.txt ===\none\ntwo\nthree\n=== END FILE: a.txt ===\n\n\
                === START FILE: b.txt ===\n[empty file]\n=== END FILE: b.txt ===\n";
    assert_eq!(shown.out, text);
    assert_eq!(shown.err, "2 files, 3 lines, 13 B, about 4 tokens\n");
    let said = run(&project, ["<c>context-remove</c><path>b.txt</path>"]);
    assert!(
        said.contains("now 1 file, 3 lines, 13 B, about 4 tokens"),
        "{said}"
    );
}

#[test]
fn the_user_changes_it_too() {
    let project = Project::new();
    project.write("a.txt", "1\n2\n3\n4\n5\n");
    project.write("odd:2", "odd\n");
    let add = project
        .clada(["context", "add", "a.txt:4-5", "a.txt:1", "odd:2"])
        .exits(0);
    assert_eq!(add.out, "now 2 files, 4 lines, 10 B, about 3 tokens\n");
    let list = project.clada(["context", "list"]).exits(0);
    assert_eq!(
        list.out,
        "        6 a.txt:1,4-5\n        4 odd:2\n2 files, 4 lines, 10 B, about 3 tokens\n"
    );
    let json = project.clada(["context", "list", "--json"]).exits(0).json();
    assert_eq!(
        json,
        serde_json::json!([{ "path": "a.txt", "lines": "1,4-5", "size": 6 }, { "path": "odd:2", "size": 4 }])
    );
    let text = project.clada(["context"]).exits(0).out;
    assert!(
        text.contains("=== START FILE: a.txt (lines 4-5) ===\n4\n5\n=== END"),
        "{text}"
    );
    let json = project.clada(["context", "--json"]).exits(0).json();
    assert_eq!(json["tokens"], 3);
    assert_eq!(json["text"], text);
    project.clada(["context", "add", "c.txt"]).exits(1);
    project.clada(["context", "add", "a.txt:6"]).exits(1);
    project.clada(["context", "add", "../c.txt"]).exits(1);
    project.clada(["context", "add"]).exits(2);
    project.clada(["context", "remove", "a.txt"]).exits(0);
    assert_eq!(
        project.clada(["context", "clear"]).exits(0).out,
        "now empty\n"
    );
    let none = project.clada(["context"]).exits(0);
    assert_eq!(none.out, "");
    assert!(none.err.contains("the context is empty"), "{}", none.err);
}

/// Each notes file has a set of its own, whichever way it is named; so has each root.
#[test]
fn two_notes_files_have_two_sets() {
    let project = Project::new();
    for file in ["a.txt", "b.txt", "notes/one.md", "notes/two.md", "clada.md"] {
        project.write(file, format!("{file}\n"));
    }
    std::os::unix::fs::symlink("notes/one.md", project.path("one.md")).expect("link");
    project
        .clada(["context", "notes/one.md", "add", "a.txt"])
        .exits(0);
    project
        .clada(["context", "notes/two.md", "add", "b.txt"])
        .exits(0);
    let listed = |file| project.clada(["context", file, "list"]).exits(0).out;
    assert!(
        listed("one.md").starts_with("        6 a.txt\n"),
        "{}",
        listed("one.md")
    );
    assert!(listed("notes/two.md").starts_with("        6 b.txt\n"));
    assert_eq!(listed("clada.md"), "empty\n");
    let other_root = project
        .clada(["context", "one.md", "--root", "notes", "list"])
        .exits(0);
    assert_eq!(other_root.out, "empty\n");
    project.clada(["context", "none.md"]).exits(2);
}

#[test]
fn a_listener_keeps_the_set_of_its_notes() {
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    project.write("my.md", "");
    let saw = |watching: &Watching, text: &str, expected: &str| {
        project.write("my.md", text);
        wait_until(
            || project.read("my.md").contains(expected),
            || project.read("my.md") + &watching.said(),
        );
    };
    let watching = project.watch(["my.md", "--no-clipboard"]);
    saw(
        &watching,
        "<tasks><task><c>context-add</c><path>a.txt</path></task></tasks>\n",
        "1 ✅ context-add a.txt - now 1 file, 1 line, 4 B, about 1 token",
    );
    assert_eq!(watching.stop(rustix::process::Signal::TERM), Some(0));
    let shown = project.clada(["context", "my.md"]).exits(0);
    assert!(shown.out.contains("START FILE: a.txt"), "{}", shown.out);
    // Where there are no others, these are meant.
    assert_eq!(project.clada(["context"]).exits(0).out, shown.out);
    project.write("clada.md", "");
    assert_eq!(project.clada(["context"]).exits(0).out, "");
    let watching = project.watch(["my.md", "--no-clipboard"]);
    saw(
        &watching,
        "<tasks><task><c>context-list</c></task></tasks>\n",
        "1 ✅ context-list - 1 file",
    );
}

#[test]
fn notes_that_are_renamed_keep_their_set() {
    let project = Project::new();
    project.write("a.txt", "one\n");
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    let said = || project.read("clada.md");
    project.write(
        "clada.md",
        "<task><c>context-add</c><path>a.txt</path></task>\n",
    );
    wait_until(|| said().contains("1 ✅"), said);
    drop(watching);
    std::fs::rename(project.path("clada.md"), project.path("notes.md")).expect("rename");
    drop(project.watch(["--no-git", "--no-clipboard", "notes.md"]));
    let list = project.clada(["context", "notes.md", "list"]).exits(0);
    assert!(list.out.contains("a.txt"), "{}", list.out);
}

#[test]
fn what_changed_since_is_named_and_not_fatal() {
    let project = Project::new();
    for file in ["gone.txt", "short.txt", "key.txt", "same.txt"] {
        project.write(file, "1\n2\n3\n");
    }
    project
        .clada([
            "context",
            "add",
            "gone.txt",
            "short.txt:2-3",
            "key.txt",
            "same.txt",
        ])
        .exits(0);
    std::fs::remove_file(project.path("gone.txt")).expect("remove");
    project.write("short.txt", "1\n2\n");
    project.write("key.txt", "-----BEGIN PRIVATE KEY-----\nx\n");
    let shown = project.clada(["context"]).exits(0);
    let text = "=== START FILE: short.txt (lines 2-3) ===\n2\n=== END FILE: short.txt (lines 2-3) ===\n\n\
                === START FILE: same.txt ===\n1\n2\n3\n=== END FILE: same.txt ===\n";
    assert_eq!(shown.out, text);
    for said in [
        "⚠ `gone.txt`: no longer exists\n",
        "⚠ `short.txt`: ends at line 2, but 2-3 was asked for\n",
        "⚠ `key.txt`: `key.txt` holds a private key",
        "2 files, 4 lines, 8 B, about 2 tokens\n",
    ] {
        assert!(shown.err.contains(said), "{said} in {}", shown.err);
    }
    let pruned = run(&project, ["<c>context-prune</c>"]);
    assert!(pruned.contains("; removed: `gone.txt`"), "{pruned}");
    assert!(!project.clada(["context"]).exits(0).err.contains("gone.txt"));
}

/// What would be carried out if it were pasted into the notes is fenced.
#[test]
fn a_file_with_tasks_in_it_is_fenced() {
    let project = Project::new();
    let task = "<tasks>\n<task><c>exec</c><x>true</x></task>\n</tasks>\n";
    project.write("reply.md", task);
    project.clada(["context", "add", "reply.md"]).exits(0);
    let text = project.clada(["context"]).exits(0).out;
    assert!(text.contains(task), "{text}");
    let found = clada::reply::scan::scan(&text);
    assert!(
        found.batches.is_empty() && found.problems.is_empty(),
        "{text}"
    );
}

#[test]
fn nothing_is_lost_where_many_change_it_at_once() {
    let project = Project::new();
    let names: Vec<String> = (0..8).map(|at| format!("{at}.txt")).collect();
    for name in &names {
        project.write(name, "x\n");
    }
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| project.clada(["context", "add", name]).exits(0));
        }
    });
    let list = project.clada(["context", "list", "--json"]).exits(0).json();
    assert_eq!(list.as_array().map(Vec::len), Some(8));
}

/// A set that cannot be read is no reason to do anything by halves, and can be begun anew.
#[test]
fn a_damaged_set_is_named_and_can_be_cleared() {
    let project = Project::new();
    project.write("a.txt", "x\n");
    project.clada(["context", "add", "a.txt"]).exits(0);
    let find = project
        .command("sh")
        .arg("-c")
        .arg("f=$(find \"$HOME\" -path '*context/*.json'); echo '{' > \"$f\"; basename \"$f\"")
        .output()
        .expect("find");
    let name = String::from_utf8(find.stdout).expect("name");
    let said = run(&project, ["<c>context-add</c><path>a.txt</path>"]);
    assert!(said.contains("❌") && said.contains(name.trim()), "{said}");
    assert!(
        said.contains(": use `context-clear` to start a new set"),
        "{said}"
    );
    assert!(
        project
            .clada(["context"])
            .exits(2)
            .err
            .contains(name.trim())
    );
    project.clada(["context", "clear"]).exits(0);
    assert_eq!(project.clada(["context", "list"]).exits(0).out, "empty\n");
}

#[test]
fn a_dry_run_and_a_refused_batch_change_nothing() {
    let project = Project::with_git();
    project.write("a.txt", "x\n");
    let add = "<task><c>context-add</c><path>a.txt</path></task>";
    let dry = project.clada_with(["run", "--dry-run"], &format!("<tasks>{add}</tasks>"));
    assert!(dry.exits(0).out.contains("now 1 file"));
    let refused =
        format!("<tasks atomic=\"yes\">{add}<task><path>b.txt</path><c>delete</c></task></tasks>");
    project.clada_with(["run"], &refused).exits(1);
    assert_eq!(project.clada(["context", "list"]).exits(0).out, "empty\n");
    let made = format!(
        "<tasks atomic=\"yes\"><task><path>n.txt</path><c>write</c><x>x</x></task>{}</tasks>",
        add.replace("a.txt", "n.txt")
    );
    project.clada_with(["run"], &made).exits(0);
    assert!(
        project
            .clada(["context", "list"])
            .exits(0)
            .out
            .contains("n.txt")
    );
}

#[test]
fn it_goes_onto_the_clipboard() {
    let Some(display) = Xvfb::start() else {
        return;
    };
    let project = Project::new().on_display(display.name());
    project.write("a.txt", "one\n");
    project.clada(["context", "add", "a.txt"]).exits(0);
    let copied = project.clada(["context", "--copy"]).exits(0);
    assert!(
        copied.err.ends_with("\ncopied to the clipboard\n"),
        "{}",
        copied.err
    );
    // It is there though clada has ended.
    assert_eq!(
        display.clipboard(&project),
        "=== START FILE: a.txt ===\none\n=== END FILE: a.txt ===\n"
    );

    let text = project.clada(["instructions"]).exits(0).out;
    let copied = project.clada(["instructions", "--copy"]).exits(0);
    assert_eq!(
        (&*copied.out, &*copied.err),
        ("", "copied to the clipboard\n")
    );
    assert_eq!(display.clipboard(&project), text);
}

#[test]
fn without_a_display_copying_fails_and_says_so() {
    if cfg!(target_os = "macos") {
        return;
    }
    let project = Project::new();
    project.write("a.txt", "one\n");
    project.clada(["context", "add", "a.txt"]).exits(0);
    let copied = project.clada(["context", "--copy"]).exits(1);
    assert!(
        copied
            .err
            .contains("❌ not copied to the clipboard: no display"),
        "{}",
        copied.err
    );
    let copied = project.clada(["instructions", "--copy"]).exits(1).err;
    assert!(
        copied.starts_with("❌ not copied to the clipboard: no display")
            && copied.ends_with("; print the text with `clada instructions`\n"),
        "{copied}"
    );
}
