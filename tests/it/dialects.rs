//! The `dialects` that are read: by `run`, `check` and a listener, and what becomes of old text when they change.

use crate::harness::{Project, save_by_rename, wait_until};

const REPLY: &str = "<task><c>overwrite</c><path>a.txt</path><x>a</x></task>\n";

#[test]
fn what_is_switched_off_is_text() {
    let project = Project::new();
    project.write("clada.toml", "dialects = ['nesl']\n");
    let ended = project.clada_with(["run"], REPLY).exits(0);
    assert!(ended.out.starts_with("no task found"), "{}", ended.out);
    let checked = project.clada_with(["check"], REPLY).exits(0);
    assert_eq!(checked.out, "0 tasks, 0 problems\n");
    assert!(!project.exists("a.txt"));
    project.write("clada.toml", "dialects = ['cml']\n");
    project.clada_with(["run"], REPLY).exits(0);
    assert!(project.exists("a.txt"));
}

#[test]
fn an_unknown_one_is_an_error_with_the_nearest() {
    let project = Project::new();
    project.write("clada.toml", "dialects = [\n  'cml',\n  'nessl',\n]\n");
    // What only looks goes on with those that are usual.
    let ended = project.clada_with(["check"], REPLY).exits(0);
    let refused = project.clada_with(["run"], REPLY).exits(2);
    assert!(refused.err.contains("`nessl`"), "{}", refused.err);
    assert!(
        ended.err.contains(
            "clada.toml`, line 1, column 12: unknown dialect `nessl`: did you mean `nesl`?"
        ),
        "{}",
        ended.err
    );
}

#[test]
fn what_was_there_when_one_is_switched_on_is_offered() {
    let project = Project::new();
    project.write("clada.toml", "dialects = ['nesl']\n");
    project.write("clada.md", format!("Old:\n{REPLY}"));
    let watching = project.watch([]);
    assert_eq!(watching.stop(rustix::process::Signal::INT), Some(0));
    assert!(!project.read("clada.md").contains("=== END"));
    project.write("clada.toml", "dialects = ['nesl', 'cml']\n");
    let watching = project.watch([]);
    let notes = project.path("clada.md");
    let said = || project.read("clada.md");
    save_by_rename(&notes, format!("Old:\n{REPLY}And more.\n"));
    wait_until(|| said().contains("=== END"), said);
    assert!(
        said().contains("⏸ 1 task was not run: `dialects` in the settings changed since the last save - [ ] run it\n"),
        "{}",
        said()
    );
    assert!(!project.exists("a.txt"));
    let text = said();
    save_by_rename(
        &notes,
        format!("{text}\n{}", REPLY.replace("a.txt", "b.txt")),
    );
    wait_until(|| project.exists("b.txt"), said);
    assert!(!project.exists("a.txt"));
    drop(watching);
}
