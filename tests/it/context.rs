//! The context set: which files a chat works with, from replies and from the command line.

use clada::text::tokens::TokenCounter;

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
    assert_eq!(shown.err, "2 files, 3 lines, 13 B, ≈ 5 tokens\n");
    let said = run(&project, ["<c>context-remove</c><path>b.txt</path>"]);
    assert!(
        said.contains("now 1 file, 3 lines, 13 B, ≈ 5 tokens"),
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
    assert_eq!(add.out, "now 2 files, 4 lines, 10 B, ≈ 8 tokens\n");
    let list = project.clada(["context", "list"]).exits(0);
    assert_eq!(
        list.out,
        "        6       ≈ 6 full    a.txt:1,4-5\n        4       ≈ 2 full    odd:2\n2 files, 4 lines, 10 B, ≈ 8 tokens\n"
    );
    let json = project.clada(["context", "list", "--json"]).exits(0).json();
    assert_eq!(
        json,
        serde_json::json!([
            { "path": "a.txt", "lines": "1,4-5", "level": "full", "size": 6, "tokens": 6 },
            { "path": "odd:2", "level": "full", "size": 4, "tokens": 2 }
        ])
    );
    let text = project.clada(["context"]).exits(0).out;
    assert!(
        text.contains("=== START FILE: a.txt (lines 4-5) ===\n4\n5\n=== END"),
        "{text}"
    );
    let json = project.clada(["context", "--json"]).exits(0).json();
    assert_eq!(json["tokens"], 8);
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
        listed("one.md").starts_with("        6       ≈ 3 full    a.txt\n"),
        "{}",
        listed("one.md")
    );
    assert!(listed("notes/two.md").starts_with("        6       ≈ 3 full    b.txt\n"));
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
        "1 ✅ context-add a.txt - now 1 file, 1 line, 4 B, ≈ 2 tokens",
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
        "2 files, 4 lines, 8 B, ≈ 8 tokens\n",
    ] {
        assert!(shown.err.contains(said), "{said} in {}", shown.err);
    }
    let pruned = run(&project, ["<c>context-prune</c>"]);
    assert!(pruned.contains("; removed: `gone.txt`"), "{pruned}");
    assert!(!project.clada(["context"]).exits(0).err.contains("gone.txt"));
}

#[test]
fn lines_are_named_as_the_list_shows_them() {
    let project = Project::new();
    project.write("a.txt", "1\n2\n3\n4\n");
    project.clada(["context", "add", "a.txt:4,1-2"]).exits(0);
    let list = project.clada(["context", "list"]).exits(0).out;
    assert!(list.contains(" full    a.txt:1-2,4\n"), "{list}");
    for (lines, said) in [
        (
            "1-",
            "`1-` is not a line or a range: write `12` or `12-40`\n",
        ),
        (
            "3-2",
            "`3-2` ends before it begins: write the smaller number first\n",
        ),
        ("5", "`a.txt` ends at line 4, but 5 was asked for: "),
    ] {
        let failed = project
            .clada(["context", "add", &format!("a.txt:{lines}")])
            .exits(1);
        assert!(failed.err.contains(said), "{}", failed.err);
    }
    let removed = project.clada(["context", "remove", "a.txt:1-2,4"]).exits(0);
    assert!(removed.out == "now empty\n", "{}", removed.out);
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
        said.contains(": use `context-clear` (`clada context clear`) to start a new set"),
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

/// A small program: `app` uses `draw`, which uses `paint`; `other` has nothing to do with them.
fn program() -> Project {
    let project = Project::with_git();
    project.write("src/app.rs", APP);
    project.write("src/draw.rs", DRAW);
    project.write(
        "src/paint.rs",
        "pub fn paint_the_line(width: usize) -> usize {\n    let double = width * 2;\n    \
         let triple = width + double;\n    double.max(triple).min(width * width)\n}\n",
    );
    project.write(
        "src/other.rs",
        "pub struct Unrelated {\n    name: String,\n    size: usize,\n    count: usize,\n    \
         others: Vec<String>,\n}\n",
    );
    project.write("docs/guide.txt", "A guide.\n");
    project.write(".gitignore", "ignored.rs\n");
    project.write("src/ignored.rs", "pub fn is_ignored() {}\n");
    project.commits();
    project
}

const APP: &str = "use crate::draw::Widget;\n\npub fn run_the_app() {\n    let widget = Widget::default();\n    \
                   widget.draw_all();\n}\n";
const DRAW: &str = "#[derive(Default)]\npub struct Widget;\n\nimpl Widget {\n    /// Draws.\n    pub fn draw_all(&self) {\n        \
                    crate::paint::paint_the_line(4);\n    }\n}\n\npub fn draw_twice() {}\n";

/// A folder stays one, a glob too; a definition is found by its names, and lines move with it.
#[test]
fn a_set_has_folders_globs_and_definitions() {
    let project = program();
    project
        .clada(["context", "add", "src", "--as", "outline"])
        .exits(0);
    project
        .clada([
            "context",
            "add",
            "docs/*.txt",
            "src/draw.rs@@Widget@@draw_all",
        ])
        .exits(0);
    let listed = || project.clada(["context", "list"]).exits(0).out;
    let list = listed();
    for line in [
        " outline src (4 files)\n",
        " full    docs/*.txt (1 file)\n",
        " full    src/draw.rs@@Widget@@draw_all\n",
    ] {
        assert!(list.contains(line), "{line} in {list}");
    }
    let text = project.clada(["context"]).exits(0).out;
    for part in [
        "=== START FILE: src/app.rs (outline) ===\n3-6  pub fn run_the_app() // 3 lines\n=== END",
        "=== START FILE: docs/guide.txt ===\nA guide.\n=== END",
        "=== START FILE: src/draw.rs (Widget@@draw_all, lines 5-8) ===\n    /// Draws.\n    pub fn draw_all(&self) {\n",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("is_ignored"), "{text}");
    // What is new in the folder is in the set.
    project.write("src/more.rs", "pub fn one_more() {}\n");
    project.write("src/draw.rs", format!("// One line more.\n{DRAW}"));
    assert!(listed().contains(" src (5 files)\n"));
    let text = project.clada(["context"]).exits(0).out;
    assert!(
        text.contains("one_more") && text.contains("draw_all, lines 6-9"),
        "{text}"
    );
    // A file of its own has the level of its own.
    project.clada(["context", "add", "src/other.rs"]).exits(0);
    let text = project.clada(["context"]).exits(0).out;
    assert!(
        text.contains("START FILE: src/other.rs ===\npub struct Unrelated {"),
        "{text}"
    );
    assert_eq!(text.matches("src/other.rs").count(), 2, "{text}");
    project
        .clada(["context", "add", "src/other.rs", "--as", "name"])
        .exits(0);
    let text = project.clada(["context"]).exits(0).out;
    assert!(
        text.contains("=== FILES BY NAME ===\nsrc/other.rs (≈ 27 tokens)\n=== END"),
        "{text}"
    );
    let removed = project
        .clada([
            "context",
            "remove",
            "src",
            "docs/*.txt",
            "src/draw.rs@@Widget@@draw_all",
        ])
        .exits(0);
    assert!(removed.out.starts_with("now 1 file, "), "{}", removed.out);
}

#[test]
fn what_cannot_be_put_in_says_why_and_what_to_do() {
    let project = program();
    project.write("twice.rs", "fn new() {}\nfn new() {}\n");
    project.write("empty/image.bin", [0xff, 0xfe]);
    project.write("huge.rs", "// a line\n".repeat(500_000));
    for (args, said) in [
        (
            &["src/draw.rs@@Widget@@draw_al"][..],
            "`src/draw.rs` has no `draw_al` in `Widget`: did you mean `src/draw.rs@@Widget@@draw_all` (line 6)?",
        ),
        (
            &["src/draw.rs@@zzzzzzzz"],
            "`src/draw.rs` has no `zzzzzzzz`: name one of its definitions, which `outline` lists",
        ),
        (
            &["twice.rs@@new"],
            "`new` may be 2 definitions in `twice.rs`: write `twice.rs@@new#1` (line 1), `twice.rs@@new#2` (line",
        ),
        (
            &["src/draw.rs@@"],
            "nothing stands behind a `@@` of `src/draw.rs@@`: write the name of a definition there",
        ),
        (
            &["docs/guide.txt@@A"],
            "clada knows no definitions in the language of `docs/guide.txt`: name lines of it",
        ),
        (
            &["huge.rs@@a"],
            "the definitions of `huge.rs` are not known: it has 4.8 MiB, and only files up to 4 MiB are parsed; name lines of it",
        ),
        (&["src/none.rs@@A"], "file not found: `src/none.rs`"),
        (
            &["empty"],
            "`empty` has no text file that may be shown and that git does not ignore: name others",
        ),
        (&["*.none"], "`*.none` has no text file"),
        // Nor is what stands before it added.
        (
            &["src/app.rs", "src/none.rs"],
            "file not found: `src/none.rs`",
        ),
        (
            &["src/app.rs:1-2", "--as", "outline"],
            "lines have no outline: leave out either the lines or the level",
        ),
        (
            &["src:1-2"],
            "`src` is not one file, so it has no lines: name them with a file",
        ),
        (
            &["src", "--as", "whole"],
            "it must be full, outline or name",
        ),
    ] {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["context", "add"]).args(args);
        let output = command.output().expect("clada");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && err.contains(said),
            "{args:?}: {err}"
        );
    }
    assert_eq!(project.clada(["context", "list"]).exits(0).out, "empty\n");
}

/// Its own settings may show it to a reply, but the context goes to the chat unasked.
#[test]
fn what_looks_like_a_secret_is_never_in_the_context() {
    let project = Project::new();
    project.write(".env", "TOKEN=hidden\n");
    project.configure("[paths.read]\ndeny = [\"other\"]\n");
    let added = project.clada(["context", "add", ".env"]).exits(1);
    let said = "`.env` looks like a secret, so its content is not shown: continue without it";
    assert!(added.err.contains(said), "{}", added.err);
}

#[test]
fn a_related_file_that_is_shorter_than_its_outline_is_there_in_full() {
    let project = Project::with_git();
    project.write("a.py", "from b import one, two\n\none()\ntwo()\n");
    project.write("b.py", "one = 1\ntwo = 2\n");
    project.write(
        "c.py",
        "def long():\n".to_owned() + &"    one()\n".repeat(40),
    );
    project.commits();
    project.clada(["context", "add", "a.py"]).exits(0);
    let text = project.clada(["context", "--budget", "2k"]).exits(0).out;
    let whole = "=== START FILE: b.py ===\none = 1\ntwo = 2\n=== END FILE: b.py ===\n";
    assert!(text.contains(whole), "{text}");
    assert!(
        text.contains("=== START FILE: c.py (outline) ==="),
        "{text}"
    );
}

#[test]
fn a_file_without_an_outline_is_only_named_and_says_so() {
    let project = program();
    let remark = |args: [&str; 5], said: &str| {
        project.clada(args).exits(0);
        let shown = project.clada(["context"]).exits(0);
        assert!(shown.err.contains(said), "{}", shown.err);
        project.clada(["context", "clear"]).exits(0);
    };
    remark(
        ["context", "add", "docs/guide.txt", "--as", "outline"],
        "⚠ `docs/guide.txt`: no outline of it is known, so only its name is shown\n",
    );
    remark(
        ["context", "add", "docs", "--as", "outline"],
        "⚠ `docs`: no outline of 1 file is known, so only its name is shown\n",
    );
    project.write("docs/more.txt", "More.\n");
    remark(
        ["context", "add", "docs", "--as", "outline"],
        "⚠ `docs`: no outline of 2 files is known, so only their names are shown\n",
    );
}

/// The order of the outlines in a text.
fn outlines(text: &str) -> Vec<&str> {
    let heads = text
        .lines()
        .filter_map(|line| line.strip_prefix("=== START FILE: "));
    heads
        .filter_map(|head| head.strip_suffix(" (outline) ==="))
        .collect()
}

#[test]
fn a_budget_shows_the_tree_the_set_and_what_that_refers_to() {
    let project = program();
    project.clada(["context", "add", "src/app.rs"]).exits(0);
    let shown = project.clada(["context", "--budget", "2k"]).exits(0);
    let text = &shown.out;
    assert!(
        text.starts_with("=== PROJECT ===\ndocs/\n  guide.txt\nsrc/\n  app.rs\n  draw.rs\n  other.rs\n  paint.rs\n.gitignore\n=== END PROJECT ===\n"),
        "{text}"
    );
    assert!(text.contains(APP), "{text}");
    assert_eq!(
        outlines(text),
        ["src/draw.rs", "src/paint.rs", "src/other.rs"]
    );
    assert!(
        !text.contains("is_ignored") && !text.contains("LEFT OUT"),
        "{text}"
    );
    assert!(shown.err.contains(" tokens of 2,000\n"), "{}", shown.err);
    // The words count, and also a file that nothing refers to.
    let wanted = project
        .clada(["context", "--budget", "2k", "--for", "rename Unrelated"])
        .exits(0);
    assert_eq!(outlines(&wanted.out)[..2], ["src/other.rs", "src/draw.rs"]);
    project.clada(["context", "clear"]).exits(0);
    let alone = project.clada(["context", "--budget", "2k"]).exits(0);
    assert_eq!(outlines(&alone.out).len(), 4);
}

#[test]
fn what_does_not_fit_is_lowered_and_named_with_its_cost() {
    let project = program();
    let long = "    let value = compute(12, 34);\n".repeat(200);
    project.write(
        "src/long.rs",
        format!("pub fn long_function() {{\n{long}}}\n"),
    );
    project
        .clada(["context", "add", "src/app.rs", "src/long.rs"])
        .exits(0);
    let shown = project
        .clada(["context", "--budget", "700", "--json"])
        .exits(0)
        .json();
    let text = shown["text"].as_str().expect("a text");
    assert!(text.contains(APP) && !text.contains("let value"), "{text}");
    assert!(text.contains("=== START FILE: src/long.rs (outline) ===\n1-202  pub fn long_function() // 201 lines\n"), "{text}");
    assert!(
        text.contains("\nThese did not fit, with what each would cost."),
        "{text}"
    );
    assert!(
        text.contains("\nsrc/long.rs: as outline (full ≈ "),
        "{text}"
    );
    let left = &shown["leftOut"][0];
    assert_eq!(left["path"], "src/long.rs");
    assert_eq!(left["shown"], "outline");
    assert!(left["tokens"]["full"].as_u64() > Some(1000), "{left}");
    assert_eq!(shown["budget"], 700);
    let said = project.clada(["context", "--budget", "700"]).exits(0).err;
    assert!(
        said.contains(" tokens of 700, 1 left out or shortened\n"),
        "{said}"
    );
}

/// The same from a reply, in two dialects.
#[test]
fn a_reply_names_folders_and_levels() {
    let project = program();
    let said = run(
        &project,
        [
            "<path>src</path><c level=\"outline\">context-add</c>",
            "<path>src/draw.rs@@Widget@@draw_all</path><c>context-add</c>",
            "<path>docs</path><c level=\"names\">context-add</c>",
        ],
    );
    assert!(
        said.contains("1 ✅ context-add src - now 4 files, "),
        "{said}"
    );
    assert!(
        said.contains("2 ✅ context-add src/draw.rs@@Widget@@draw_all - now 5 files, "),
        "{said}"
    );
    assert!(
        said.contains("the value must be one of `full`, `outline`, `name`"),
        "{said}"
    );
    let nesl = |level: &str| {
        format!(
            "#!nesl [@three-char-SHA-256: aaa]\naction = \"context_add\"\npath = \"{}/docs\"\nlevel = \"{level}\"\n#!end_aaa\n",
            project.root().display()
        )
    };
    let said = project.clada_with(["run"], &nesl("all")).results();
    assert!(
        said.contains("Invalid enum value: all. Allowed: full, outline, name"),
        "{said}"
    );
    project.clada_with(["run"], &nesl("name")).exits(0);
    let list = project.clada(["context", "list"]).exits(0).out;
    for line in [" outline src (4 files)\n", " name    docs (1 file)\n"] {
        assert!(list.contains(line), "{line} in {list}");
    }
}

/// Whatever the budget, and with a vocabulary or without: it is never exceeded, and the same call gives the same text.
#[test]
fn no_budget_is_exceeded_and_the_text_is_the_same() {
    let project = program();
    project
        .clada(["context", "add", "src/app.rs", "docs", "src/draw.rs"])
        .exits(0);
    for budget in ["40", "80", "120", "160", "200", "300", "500", "1M"] {
        let run = || project.clada(["context", "--budget", budget]).exits(0).out;
        let text = run();
        let most = clada::text::tokens::parse(budget).expect("a number");
        let tokens = TokenCounter::default().count(&text);
        assert!(tokens <= most && !text.is_empty(), "{tokens} of {budget}");
        assert_eq!(text, run());
    }
    let small = project.clada(["context", "--budget", "3"]).exits(2);
    assert!(
        small
            .err
            .contains("nothing fits into ≈ 3 tokens: give a larger `--budget`"),
        "{}",
        small.err
    );
    let none = project.clada(["context", "--budget", "0"]).exits(2);
    assert!(
        none.err
            .contains("it must be a number of tokens, such as `60000` or `60k`"),
        "{}",
        none.err
    );
    let unlike = project.clada(["context", "--for", "x"]).exits(2);
    assert!(unlike.err.contains("--budget"), "{}", unlike.err);
}

/// Nothing of a file that may not be shown is in the text: not its definitions, not its secrets.
#[test]
fn what_may_not_be_shown_is_in_no_map() {
    let project = program();
    project.configure("[paths.read]\ndeny = [\"src/hidden.rs\"]\n");
    project.write("src/hidden.rs", "pub fn hidden_by_policy() {}\n");
    project.write(
        "src/key.rs",
        "// key\n/*\n-----BEGIN RSA PRIVATE KEY-----\n*/\npub fn beside_a_key() {}\n",
    );
    project.write("secrets.rs", "pub fn named_as_secret() {}\n");
    project.write("clada.md", "notes_are_own\n");
    project.write(
        "src/token.rs",
        "pub const TOKEN: &str = \"ghp_0123456789abcdef\";\n",
    );
    project.clada(["context", "add", "src"]).exits(0);
    for args in [&["context"][..], &["context", "--budget", "9k"]] {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args).env("GH_TOKEN", "ghp_0123456789abcdef");
        let output = command.output().expect("clada");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("[masked: GH_TOKEN]"), "{text}");
        for hidden in [
            "hidden",
            "beside_a_key",
            "named_as_secret",
            "notes_are_own",
            "0123456789",
        ] {
            assert!(!text.contains(hidden), "{hidden} in {text}");
        }
    }
    let added = project.clada(["context", "add", "src/hidden.rs"]).exits(1);
    assert!(added.err.contains("`src/hidden.rs`"), "{}", added.err);
}

/// The folder of the cache.
fn cache(project: &Project) -> std::path::PathBuf {
    let mut entries = std::fs::read_dir(project.state_folder().join("code")).expect("a cache");
    entries.next().expect("a file").expect("an entry").path()
}

#[test]
fn a_cache_is_never_wrong_and_never_in_the_way() {
    let project = program();
    let run = || project.clada(["context", "--budget", "2k"]).exits(0).out;
    let text = run();
    let path = cache(&project);
    assert_eq!(run(), text);
    let whole = std::fs::read(&path).expect("the cache");
    for bytes in [&b""[..], b"nonsense", &whole[..whole.len() / 2]] {
        std::fs::write(&path, bytes).expect("write");
        assert_eq!(run(), text);
    }
    std::fs::remove_file(&path).expect("remove");
    std::fs::create_dir(&path).expect("a folder in its place");
    assert_eq!(run(), text);
    std::fs::remove_dir(&path).expect("remove");
    run();
    project.write("src/paint.rs", "pub fn paint_another() {}\n");
    let changed = run();
    assert!(
        changed.contains("paint_another") && !changed.contains("fn paint_the_line"),
        "{changed}"
    );
    std::fs::remove_file(project.path("src/paint.rs")).expect("remove");
    assert!(!run().contains("paint_another"));
}

#[test]
fn a_text_comes_in_parts_that_say_which_they_are() {
    let project = program();
    let lines: String = (0..900)
        .map(|at| format!("the line {at} of it\n"))
        .collect();
    project.write("docs/long.txt", &lines);
    project.clada(["context", "add", "docs", "src"]).exits(0);
    let part = |part: &str| {
        project
            .clada(["context", "--part", part, "--of", "2k"])
            .exits(0)
    };
    let first = part("1");
    assert!(first.err.starts_with("part 1 of 4, ≈ "), "{}", first.err);
    let texts = ["1", "2", "3", "4"].map(|number| part(number).out);
    for (at, text) in texts.iter().enumerate() {
        assert!(TokenCounter::default().count(text) <= 2000);
        let said = match at {
            3 => "(part 4 of 4, the last: this is all, so you can begin)\n".to_owned(),
            at => format!(
                "(part {} of 4: more comes, so answer only `ok` and wait for the last part)\n",
                at + 1
            ),
        };
        assert!(text.starts_with(&said), "{text}");
    }
    let all = texts.concat();
    assert!(
        lines
            .lines()
            .all(|line| all.contains(&format!("\n{line}\n")))
    );
    let none = project
        .clada(["context", "--part", "5", "--of", "2k"])
        .exits(2);
    assert!(
        none.err.contains(
            "there is no part 5, as the text has 4: give a number up to that with `--part`"
        ),
        "{}",
        none.err
    );
    let small = project
        .clada(["context", "--part", "1", "--of", "100"])
        .exits(2);
    assert!(
        small
            .err
            .contains("a part of the context has at least 500 tokens: give more with `--of`"),
        "{}",
        small.err
    );
    project.clada(["context", "--part", "1"]).exits(2);
    let json = project
        .clada(["context", "--part", "2", "--of", "2k", "--json"])
        .exits(0)
        .json();
    assert_eq!((&json["part"], &json["parts"]), (&2.into(), &4.into()));
}

#[test]
fn a_copied_part_names_the_command_for_the_next() {
    let Some(display) = Xvfb::start() else {
        return;
    };
    let project = program().on_display(display.name());
    project.write("docs/long.txt", "a line of it\n".repeat(900));
    project.clada(["context", "add", "docs"]).exits(0);
    let copied = project
        .clada([
            "context", "--copy", "--part", "1", "--of", "3k", "--budget", "90k", "--for", "a b",
        ])
        .exits(0);
    assert!(
        copied.err.ends_with(
            "1 part more to copy: `clada context --budget 90000 --for 'a b' --copy --part 2 --of 3000`\n"
        ),
        "{}",
        copied.err
    );
    assert!(
        display
            .clipboard(&project)
            .starts_with("(part 1 of 2: more comes")
    );
}

/// Only what was given in full is known to the chat.
#[test]
fn an_outline_does_not_count_as_seen() {
    let project = program();
    project
        .clada(["context", "add", "src/app.rs", "src/paint.rs:1"])
        .exits(0);
    project
        .clada(["context", "add", "src/draw.rs", "--as", "outline"])
        .exits(0);
    project.clada(["context", "--budget", "3k"]).exits(0);
    let find = project
        .command("sh")
        .args(["-c", "cat \"$HOME\"/.local/state/clada/chats/*/files.json"])
        .output()
        .expect("cat");
    let seen = String::from_utf8(find.stdout).expect("text");
    assert!(
        seen.contains("src/app.rs") && seen.contains("src/paint.rs"),
        "{seen}"
    );
    assert!(
        !seen.contains("src/draw.rs") && !seen.contains("src/other.rs"),
        "{seen}"
    );
}
