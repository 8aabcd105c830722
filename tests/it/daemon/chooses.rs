//! Edits whose place the user chooses: the boxes below a failed one, the ticks that count, and those that do not.

use super::{NOTES, OUTPUT, exec_task, lines, listen, save, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

const APP: &str = "def load(path):\n    name = clean(path)\n    return open(name)\n\ndef save(path):\n    name = clean(path)\n    return write(name)\n";

/// A project with a text that stands in two places.
fn project() -> Project {
    let project = Project::new();
    project.write("app.py", APP);
    project
}

/// A task that makes the name tidy, wherever that is.
const TIDY: &str = "<task><path>app.py</path><c>edit</c><search>name = clean(path)</search><replace>name = tidy(path)</replace></task>\n";

fn reply(tasks: &str) -> String {
    format!("Here it is:\n<tasks>\n{tasks}</tasks>\nThat is all.\n")
}

/// Ticks boxes.
fn tick<const N: usize>(project: &Project, boxes: [&str; N]) {
    let mut text = project.read(NOTES);
    for label in boxes {
        let open = format!("     - [ ] {label}");
        assert!(text.contains(&open), "{open:?} in {text}");
        text = text.replacen(&open, &format!("     - [x] {label}"), 1);
    }
    save_by_rename(&project.path(NOTES), text);
}

/// The file with the name made tidy in the second function.
fn saved_tidy() -> String {
    let (load, save) = APP.split_once("\n\n").expect("two functions");
    format!("{load}\n\n{}", save.replace("clean", "tidy"))
}

const LOAD: &str = "line 2, in `load`";
const SAVE: &str = "line 6, in `save`";
const FOUND_TWICE: &str = "edit app.py - search text found 2 times (line 2, in `load`; line 6, in `save`): include more of the text around it so that it matches once, name the definition in the path (`app.py@@load`), or use `replace-all` if all are meant";

fn boxes() -> [String; 2] {
    [LOAD, SAVE].map(|label| format!("     - [ ] {label}"))
}

#[test]
fn a_tick_says_which_place_is_meant() {
    let project = project();
    let _watching = listen(&project);
    let one = exec_task("echo one >> runs.txt");
    let body = reply(&format!("{one}{TIDY}{one}"));
    save(&project, &body);
    let notes = wait_for_results(&project, "3 ✅");
    let [load, saved] = boxes();
    assert_eq!(
        notes.results,
        [
            "1 ✅ exec echo one >> runs.txt",
            &format!("2 ❌ {FOUND_TWICE}"),
            &load,
            &saved,
            "3 ✅ exec echo one >> runs.txt",
        ]
    );
    let output = project.read(OUTPUT);
    assert!(
        output.contains(
            "the user can also choose the place with a tick in the notes file: lines 2, 6 of the file as it is now."
        ),
        "{output}"
    );
    tick(&project, [SAVE]);
    let notes = wait_for_results(&project, "2 ✅");
    assert_eq!(
        notes.results,
        [
            "1 ⏭ exec echo one >> runs.txt - not run again",
            "2 ✅ edit app.py - at line 6, which the user chose",
            "3 ⏭ exec echo one >> runs.txt - not run again",
        ]
    );
    assert_eq!(project.read("app.py"), saved_tidy());
    assert_eq!(notes.body, body);
    // It counts as done.
    let said = project.clada(["retry", "--no-clipboard"]).exits(0).out;
    assert!(said.starts_with("nothing to retry"), "{said}");
}

#[test]
fn the_terminal_shows_the_boxes_before_how_the_copying_went() {
    let project = project();
    let watching = project.watch([]);
    save(&project, &reply(TIDY));
    let said = || watching.said();
    let is_over = || said().lines().any(|line| line.contains("lipboard"));
    wait_until(is_over, said);
    let said = said();
    let lines: Vec<&str> = said.lines().collect();
    let [load, saved] = boxes();
    let at = lines.iter().position(|line| *line == load);
    let at = at.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(lines[at + 1], saved);
    let after = &lines[at + 2..];
    assert!(
        after.last().is_some_and(|last| last.contains("lipboard")),
        "{said}"
    );
    assert!(!lines[..at].concat().contains("lipboard"), "{said}");
    // The folder is no repository, and clada said so when it began.
    let begins = lines.iter().position(|line| line.starts_with("watching "));
    let next = begins.map(|begins| lines[begins + 1]);
    assert_eq!(
        next,
        Some("no git repository here: clada keeps private snapshots, so `clada undo` works")
    );
}

#[test]
fn a_choice_is_saved_in_git_and_done_once() {
    let project = Project::with_git();
    project.write("app.py", APP);
    let watching = project.watch(["--no-clipboard"]);
    save(&project, &reply(TIDY));
    let old = wait_for_results(&project, "1 ❌");
    let before = project.read(NOTES);
    tick(&project, [SAVE]);
    let notes = wait_for_results(&project, "1 ✅");
    assert!(
        notes.results.concat().contains("💚 git"),
        "{:?}",
        notes.results
    );
    assert!(project.git(["show", "--stat"]).contains("app.py"));
    // The editor's undo brings back the boxes: the other one does nothing any more.
    save_by_rename(
        &project.path(NOTES),
        before.replace(&boxes()[0], "     - [x] line 2, in `load`"),
    );
    let notes = wait_for_results(
        &project,
        "a tick in older results is ignored: tick what is offered now",
    );
    assert!(
        !notes.all().concat().contains("[ ] line"),
        "{:?}",
        notes.all()
    );
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read("app.py"), saved_tidy());
    assert_eq!(old.body, notes.body);
    // And a reply in which another task is repaired leaves it alone.
    let more = exec_task("echo more >> runs.txt");
    save(&project, &reply(&format!("{TIDY}{more}")));
    let notes = wait_for_results(&project, "2 ✅");
    assert!(
        notes.results[0].starts_with("1 ⏭ edit app.py - done before"),
        "{:?}",
        notes.results
    );
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn two_ticks_for_one_task_carry_out_neither() {
    let project = project();
    let _watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    tick(&project, [LOAD, SAVE]);
    let notes = wait_for_results(
        &project,
        "several places are ticked for one edit, so nothing was done: tick only one",
    );
    let [load, saved] = boxes();
    assert_eq!(
        notes.all()[2..],
        [format!("1 ❌ {FOUND_TWICE}"), load, saved],
    );
    assert_eq!(project.read("app.py"), APP);
    tick(&project, [SAVE]);
    wait_for_results(&project, "1 ✅");
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn ticks_for_two_tasks_carry_out_both() {
    let project = project();
    project.write("other.py", APP);
    let _watching = listen(&project);
    let other = TIDY.replace("app.py", "other.py");
    let body = reply(&format!("{TIDY}{other}"));
    save(&project, &body);
    let notes = wait_for_results(&project, "2 ❌");
    assert_eq!(notes.results.len(), 6, "{:?}", notes.results);
    let text = project
        .read(NOTES)
        .replace(&boxes()[1], &format!("     - [x] {SAVE}"));
    save_by_rename(&project.path(NOTES), text);
    wait_until(
        || project.read("app.py") == saved_tidy() && project.read("other.py") == saved_tidy(),
        || project.read(NOTES),
    );
    wait_for_results(&project, "edit other.py - at line 6");
    // Both are known to be done.
    save(
        &project,
        &body
            .replace("That is", &format!("{}That is", ""))
            .replace("</tasks>", &format!("{}</tasks>", exec_task("true"))),
    );
    let notes = wait_for_results(&project, "3 ✅");
    let done = notes
        .results
        .iter()
        .filter(|line| line.contains("done before"));
    assert_eq!(done.count(), 2, "{:?}", notes.results);
}

/// The boxes of a block.
fn boxes_in(results: &[String]) -> usize {
    results.iter().filter(|line| line.contains("- [")).count()
}

/// An edit that would match once more after it was carried out.
fn grows(path: &str) -> String {
    format!(
        "<task>\n<path>{path}</path>\n<c>edit</c>\n<search>\nx\n</search>\n<replace>\nx\ny\n</replace>\n</task>\n"
    )
}

#[test]
fn two_edits_ticked_in_one_save_are_each_done_once() {
    let project = Project::new();
    for path in ["a.txt", "b.txt"] {
        project.write(path, "x\n\nx\n");
    }
    let watching = listen(&project);
    save(&project, &reply(&["a.txt", "b.txt"].map(grows).concat()));
    wait_for_results(&project, "2 ❌");
    let offered = project.read(NOTES);
    let ticked = offered.replace("- [ ] line 1", "- [x] line 1");
    assert_eq!(ticked.matches("[x]").count(), 2, "{ticked}");
    save_by_rename(&project.path(NOTES), ticked);
    let notes = wait_for_results(&project, "4 ✅");
    assert_eq!(boxes_in(&notes.results), 0, "{:?}", notes.results);
    let done = || ["a.txt", "b.txt"].map(|path| project.read(path));
    assert_eq!(done(), ["x\ny\n\nx\n", "x\ny\n\nx\n"]);
    // Neither the boxes of before nor a retry does one of them again.
    save_by_rename(
        &project.path(NOTES),
        offered.replace("- [ ] line 3", "- [x] line 3"),
    );
    wait_for_results(&project, "a tick in older results is ignored");
    let said = project.clada(["retry", "--no-clipboard"]).exits(0).out;
    assert!(said.starts_with("nothing to retry"), "{said}");
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(done(), ["x\ny\n\nx\n", "x\ny\n\nx\n"]);
}

#[test]
fn what_two_ticks_leave_open_is_offered_once() {
    let project = Project::new();
    for path in ["a.txt", "b.txt", "c.txt"] {
        project.write(path, "x\n\nx\n");
    }
    let _watching = listen(&project);
    let tasks = ["a.txt", "b.txt", "c.txt"].map(grows).concat();
    save(&project, &reply(&tasks));
    wait_for_results(&project, "3 ❌");
    // The first cannot be carried out any more; the third is not ticked.
    project.write("a.txt", "x\n1\n2\n3\nx\n");
    let ticked = project
        .read(NOTES)
        .replacen("- [ ] line 1", "- [x] line 1", 2);
    save_by_rename(&project.path(NOTES), ticked);
    let notes = wait_for_results(&project, "5 ✅");
    assert_eq!(boxes_in(&notes.results), 4, "{:?}", notes.results);
    let ticked = project.read(NOTES).replace("- [ ] line 1", "- [x] line 1");
    save_by_rename(&project.path(NOTES), ticked);
    let notes = wait_for_results(&project, "6 ✅");
    assert_eq!(boxes_in(&notes.results), 0, "{:?}", notes.results);
    assert_eq!(project.read("a.txt"), "x\ny\n1\n2\n3\nx\n");
    assert_eq!(project.read("b.txt"), "x\ny\n\nx\n");
    assert_eq!(project.read("c.txt"), "x\ny\n\nx\n");
}

#[test]
fn what_is_left_to_choose_is_offered_again() {
    let project = project();
    project.write("other.py", APP);
    let _watching = listen(&project);
    let other = TIDY.replace("app.py", "other.py");
    save(&project, &reply(&format!("{TIDY}{other}")));
    wait_for_results(&project, "2 ❌");
    tick(&project, [SAVE]);
    let notes = wait_for_results(&project, "1 ✅");
    let [load, saved] = boxes();
    assert_eq!(
        notes.results[1..],
        ["2 ⏭ edit other.py - not run again".to_owned(), load, saved]
    );
    tick(&project, [SAVE]);
    wait_for_results(&project, "2 ✅");
    assert_eq!(project.read("app.py"), saved_tidy());
    assert_eq!(project.read("other.py"), saved_tidy());
}

#[test]
fn a_place_that_has_changed_since_is_not_edited() {
    let project = project();
    let _watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    // Another place is on that line now.
    let now = format!("def first(path):\n    x = 1\n    y = 2\n    z = 3\n\n{APP}");
    project.write("app.py", &now);
    assert_eq!(now.lines().nth(6), APP.lines().nth(1));
    let other = now
        .replace("z = 3", "name = clean(path)")
        .replace("return write", "write");
    project.write("app.py", &other);
    tick(&project, [SAVE]);
    let notes = wait_for_results(
        &project,
        "has changed, so nothing was done: check the file and tick again below, or edit by hand",
    );
    assert_eq!(project.read("app.py"), other);
    let output = project.read(OUTPUT);
    assert!(
        output.contains(&format!("=== START FILE: app.py ===\n{other}")),
        "{output}"
    );
    // It can be chosen anew.
    assert_eq!(
        notes.results[1..],
        [
            "     - [ ] line 4, in `first`",
            "     - [ ] line 7, in `load`",
            "     - [ ] line 11, in `save`",
        ]
    );
    tick(&project, ["line 11, in `save`"]);
    wait_for_results(&project, "1 ✅ edit app.py - at line 11");
}

#[test]
fn a_place_that_is_gone_says_what_to_do() {
    let project = project();
    let _watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    let (load, _) = APP.split_once("\n\n").expect("two functions");
    project.write("app.py", load);
    tick(&project, [SAVE]);
    let notes = wait_for_results(
        &project,
        "its text is now only at line 2. Check the file and run `clada retry` to apply it there",
    );
    assert_eq!(boxes_in(&notes.results), 0, "{:?}", notes.results);
    let output = project.read(OUTPUT);
    assert!(
        output.contains(&format!("=== START FILE: app.py ===\n{load}")),
        "{output}"
    );
    assert_eq!(project.read("app.py"), load);
    project.clada(["retry"]).exits(0);
    wait_for_results(&project, "1 ✅");
    assert_eq!(project.read("app.py"), load.replace("clean", "tidy"));
}

#[test]
fn a_place_that_a_later_task_moved_is_offered_where_it_is() {
    let project = project();
    let _watching = listen(&project);
    let add = "<task><path>app.py</path><c>edit</c><search>def load(path):</search><replace># new\n# lines\ndef load(path):</replace></task>\n";
    save(&project, &reply(&format!("{TIDY}{add}")));
    wait_for_results(&project, "2 ✅");
    let output = project.read(OUTPUT);
    assert!(
        output.contains("notes file: lines 4, 8 of the file as it is now."),
        "{output}"
    );
    let label = "line 8, in `save`";
    tick(&project, [label]);
    wait_for_results(&project, "1 ✅ edit app.py - at line 8");
    assert_eq!(
        project.read("app.py"),
        format!("# new\n# lines\n{}", saved_tidy())
    );
}

#[test]
fn an_atomic_batch_and_six_places_offer_nothing() {
    let project = project();
    project.write("six.txt", "a\n".repeat(6));
    let _watching = listen(&project);
    let six =
        "<task><path>six.txt</path><c>edit</c><search>a</search><replace>b</replace></task>\n";
    save(&project, &reply(six));
    let notes = wait_for_results(&project, "found 6 times");
    assert!(
        !notes.results.concat().contains("[ ]"),
        "{:?}",
        notes.results
    );
    save(
        &project,
        &format!("<tasks atomic=\"yes\">\n{TIDY}</tasks>\n"),
    );
    let notes = wait_for_results(&project, "found 2 times");
    assert!(
        !notes.results.concat().contains("[ ]"),
        "{:?}",
        notes.results
    );
}

#[test]
fn a_choice_outlives_a_restart() {
    let project = project();
    let watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    drop(watching);
    let _watching = listen(&project);
    tick(&project, [SAVE]);
    wait_for_results(&project, "1 ✅");
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn another_line_in_what_stays_can_be_accepted() {
    let project = Project::new();
    let file = |read: &str| {
        format!(
            "def load(path):\n    data = {read}(path)\n    check(data, strict=True)\n    return data\n"
        )
    };
    project.write("io.py", file("read"));
    let _watching = listen(&project);
    let lines = |read: &str| {
        format!("def load(path):\n    data = {read}(path)\n    check(data)\n    return data\n")
    };
    let body = reply(&format!(
        "<task>\n<path>io.py</path>\n<c>edit</c>\n<search>\n{}</search>\n<replace>\n{}</replace>\n</task>\n",
        lines("read"),
        lines("read_all")
    ));
    save(&project, &body);
    let notes = wait_for_results(&project, "1 ❌ edit io.py - search text not found");
    let label = "lines 1-4, where line 3 is another (see the full output)";
    assert_eq!(notes.results[1..], [format!("     - [ ] {label}")]);
    let output = project.read(OUTPUT);
    let says = "line 3\n  search:     check(data)\n  file:       check(data, strict=True)\n";
    assert!(output.contains(says), "{output}");
    tick(&project, [label]);
    wait_for_results(
        &project,
        "1 ✅ edit io.py - at line 1, which the user chose",
    );
    assert_eq!(project.read("io.py"), file("read_all"));
}

#[test]
fn a_tick_that_comes_with_other_changes_does_not_count() {
    let project = project();
    let watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    let text = project.read(NOTES);
    let ticked = text.replace(&boxes()[1], &format!("     - [x] {SAVE}"));
    save_by_rename(&project.path(NOTES), format!("{ticked}more prose\n"));
    wait_for_results(&project, "a tick is ignored if other text changes with it");
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read("app.py"), APP);
    tick(&project, [SAVE]);
    wait_for_results(&project, "1 ✅");
}

#[test]
fn a_tick_in_results_that_are_there_twice_does_not_count() {
    let project = project();
    let watching = listen(&project);
    save(&project, &reply(TIDY));
    let body = wait_for_results(&project, "1 ❌").body;
    let text = project.read(NOTES);
    let end = text.find("Here it is").expect("the reply");
    let ticked = text[..end].replace(&boxes()[1], &format!("     - [x] {SAVE}"));
    save_by_rename(&project.path(NOTES), ticked + &text);
    let notes = wait_for_results(&project, "the results are in the notes file twice");
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read("app.py"), APP);
    assert_eq!(notes.body, body);
    tick(&project, [SAVE]);
    wait_for_results(&project, "1 ✅");
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn a_tick_that_a_command_made_does_not_count() {
    let project = project();
    let watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    let _two = project.watch(["--no-git", "--no-clipboard", "two.md"]);
    let forge = "sed -i 's/\\[ \\] line 6/[x] line 6/' clada.md; sleep 1; echo forged >> runs.txt";
    save_by_rename(&project.path("two.md"), super::exec(forge));
    wait_for_results(&project, "a tick made while a command");
    wait_until(
        || lines(&project, "runs.txt") == ["forged"],
        || project.read("two.md"),
    );
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read("app.py"), APP);
}

#[test]
fn what_a_secret_file_says_is_not_in_the_boxes() {
    let project = Project::new();
    let text = "A (\n  X=1\n)\nB (\n  X=1\n)\n";
    project.write(".env", text);
    project.write("k.txt", format!("{text}-----BEGIN PRIVATE KEY-----\n"));
    let _watching = listen(&project);
    let edit = |path| {
        format!(
            "<task><path>{path}</path><c>edit</c><search>X=1</search><replace>X=2</replace></task>\n"
        )
    };
    save(&project, &reply(&[".env", "k.txt"].map(edit).concat()));
    let notes = wait_for_results(&project, "2 ❌");
    let boxes = ["     - [ ] line 2", "     - [ ] line 5"];
    assert_eq!(notes.results[1..3], boxes);
    assert_eq!(notes.results[4..6], boxes);
}

#[test]
fn a_single_run_offers_no_choice() {
    let project = project();
    let ended = project
        .clada_with(["run", "--no-git"], &reply(TIDY))
        .exits(1);
    assert_eq!(ended.results(), format!("1 ❌ {FOUND_TWICE}\n"));
    assert!(!ended.out.contains("the user can choose"), "{}", ended.out);
}

#[test]
fn chosen_from_the_terminal() {
    let project = project();
    let _watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    let status = project.clada(["status"]).exits(0).out;
    assert!(
        status.contains("    waiting for your tick: an edit (choose a line)\n"),
        "{status}"
    );
    let wrong = project.clada(["retry", "--at", "5"]).exits(1);
    assert!(
        wrong.err.contains(
            "no edit of the last batch can be applied at line 5: choose one of lines 2, 6 of app.py"
        ),
        "{}",
        wrong.err
    );
    let asked = project.clada(["retry", "--at", "6"]).exits(0).out;
    assert!(asked.contains("1 task of"), "{asked}");
    wait_for_results(
        &project,
        "1 ✅ edit app.py - at line 6, which the user chose",
    );
    assert_eq!(project.read("app.py"), saved_tidy());
    let over = project.clada(["retry", "--at", "2"]).exits(1);
    assert!(
        over.err.contains("no edit in it offers a choice of lines"),
        "{}",
        over.err
    );
}

#[test]
fn chosen_where_nobody_watches() {
    let project = project();
    let watching = listen(&project);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    drop(watching);
    let wrong = project
        .clada(["retry", "--at", "1", "--no-clipboard"])
        .exits(1);
    assert!(
        wrong.err.contains("choose one of lines 2, 6 of app.py"),
        "{}",
        wrong.err
    );
    project
        .clada(["retry", "--at", "6", "--no-git", "--no-clipboard"])
        .exits(0);
    wait_for_results(&project, "1 ✅");
    assert_eq!(project.read("app.py"), saved_tidy());
    // The box of before is spent.
    let over = project
        .clada(["retry", "--at", "2", "--no-clipboard"])
        .exits(1);
    assert!(over.err.contains("no edit in it offers"), "{}", over.err);
}

#[test]
fn a_line_that_two_edits_could_be_at_is_asked_about() {
    let project = project();
    project.write("other.py", APP);
    let watching = listen(&project);
    let other = TIDY.replace("app.py", "other.py");
    save(&project, &reply(&format!("{TIDY}{other}")));
    wait_for_results(&project, "2 ❌");
    drop(watching);
    let wrong = project
        .clada(["retry", "--at", "6", "--no-clipboard"])
        .exits(1);
    assert!(
        wrong.err.contains(
            "several edits can (lines 2, 6 of app.py; lines 2, 6 of other.py), so tick one in the notes file"
        ),
        "{}",
        wrong.err
    );
    assert_eq!(project.read("app.py"), APP);
}

#[test]
fn places_are_offered_anew_where_clada_ended_before_it_could() {
    let project = project();
    let watching = listen(&project);
    let waits = "touch began; sleep 60";
    save(&project, &reply(&format!("{TIDY}{}", exec_task(waits))));
    wait_until(|| project.exists("began"), || project.read(NOTES));
    drop(watching);
    let _watching = listen(&project);
    let notes = wait_for_results(&project, "2 ⚠");
    assert_eq!(notes.results[1..3], boxes(), "{:?}", notes.results);
    tick(&project, [SAVE]);
    wait_for_results(&project, "1 ✅ edit app.py - at line 6");
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn a_choice_that_cannot_begin_waits_and_is_the_only_one() {
    let project = Project::with_git();
    project.write("app.py", APP);
    project.git(["add", "."]);
    project.git(["commit", "-q", "-m", "first"]);
    let _watching = project.watch(["--no-clipboard"]);
    save(&project, &reply(TIDY));
    wait_for_results(&project, "1 ❌");
    let offered = project.read(NOTES);
    let head = project.git(["rev-parse", "HEAD"]);
    project.write(".git/MERGE_HEAD", head);
    tick(&project, [SAVE]);
    let notes = wait_for_results(&project, "1 ⏹ edit app.py");
    assert!(
        !notes.results.concat().contains("[ ]"),
        "{:?}",
        notes.results
    );
    // Undo in the editor brings the boxes back, and the other one is ticked.
    let other = offered.replace(&boxes()[0], &format!("     - [x] {LOAD}"));
    save_by_rename(&project.path(NOTES), other);
    wait_for_results(&project, "a tick in older results is ignored");
    std::fs::remove_file(project.path(".git/MERGE_HEAD")).expect("remove");
    wait_for_results(&project, "1 ✅ edit app.py - at line 6");
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn a_tick_in_results_that_are_just_replaced_does_not_count() {
    let project = project();
    let watching = listen(&project);
    let body = reply(TIDY);
    save(&project, &body);
    wait_for_results(&project, "1 ❌");
    let waits = "touch began; until test -e go; do sleep 0.01; done";
    save(&project, &format!("{body}more\n{}", super::exec(waits)));
    wait_until(|| project.exists("began"), || project.read(NOTES));
    tick(&project, [SAVE]);
    project.write("go", "");
    let notes = wait_for_results(&project, "a tick in older results is ignored");
    for it in boxes() {
        assert!(notes.all().contains(&it), "{:?}", notes.all());
    }
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read("app.py"), APP);
    tick(&project, [SAVE]);
    wait_for_results(&project, "1 ✅ edit app.py - at line 6");
    assert_eq!(project.read("app.py"), saved_tidy());
}

#[test]
fn an_atomic_batch_offers_nothing_where_an_exec_made_it_fail() {
    let project = Project::with_git();
    project.write("a.txt", "x\n").commits();
    let _watching = project.watch(["--no-clipboard"]);
    let twice = exec_task("cat a.txt a.txt > b.txt; mv b.txt a.txt");
    let edit = "<task><path>a.txt</path><c>edit</c><search>x</search><replace>y</replace></task>\n";
    save(
        &project,
        &format!("<tasks atomic=\"yes\">\n{twice}{edit}</tasks>\n"),
    );
    let notes = wait_for_results(&project, "2 ❌ edit a.txt - search text found 2 times");
    assert!(
        !notes.results.concat().contains("[ ]"),
        "{:?}",
        notes.results
    );
}

#[test]
fn an_edit_that_is_done_is_not_offered() {
    let project = project();
    project.write("grows.txt", "x\n");
    let _watching = listen(&project);
    let grows = "<task>\n<path>grows.txt</path>\n<c>edit</c>\n<search>\nx\n</search>\n<replace>\nx\nx\n</replace>\n</task>\n";
    save(&project, &reply(&format!("{grows}{TIDY}")));
    wait_for_results(&project, "2 ❌");
    tick(&project, [SAVE]);
    let notes = wait_for_results(&project, "2 ✅");
    assert_eq!(
        notes.results,
        [
            "1 ⏭ edit grows.txt - not run again",
            "2 ✅ edit app.py - at line 6, which the user chose",
        ]
    );
}
