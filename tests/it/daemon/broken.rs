//! Replies that are broken or cut off: they spoil no other, and the chat is told what to repair in words of its own.

use super::{NOTES, exec, exec_task, listen, ran, record, reply, save, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

/// A reply whose script has no end.
const LONE: &str = "A reply:\n<tasks>\n<task>\n<path>src/utils.py</path>\n<c>overwrite</c>\n<x>\nprint(1)\n</task>\n</tasks>\nDone.\n";

/// A reply of three tasks: as far as it came, cut off in the third, and whole.
fn long() -> (String, String) {
    let task = |word: &str| exec_task(&record(word));
    let start = format!("<tasks>\n{}{}", task("one"), task("two"));
    let cut = format!("Long:\n{start}<task>\n<c>exec</c>\n<x>\necho thr");
    (cut, format!("{start}{}</tasks>\n", task("three")))
}

/// The notes, with the box of the whole tasks ticked.
fn ticked(project: &Project) -> String {
    let text = project.read(NOTES);
    text.replace("- [ ] run them", "- [x] run them")
}

#[test]
fn replies_around_a_broken_one_run() {
    let project = Project::new();
    let watching = listen(&project);
    save(&project, LONE);
    let notes = wait_for_results(&project, "has no `</x>`");
    assert_eq!(
        notes.results,
        [
            "❌ task 1 (overwrite src/utils.py) has no `</x>`, so no task of this batch was run: put `</x>` after the \
          content of `<x>`, alone on a line (line 6)"
        ]
    );
    save(&project, &format!("{LONE}{}", reply("below")));
    wait_until(
        || ran(&project) == ["below"],
        || format!("{:?}", ran(&project)),
    );
    wait_for_results(&project, "1 ✅");
    save(
        &project,
        &format!("{}{LONE}{}", reply("above"), reply("below")),
    );
    wait_until(
        || ran(&project) == ["below", "above"],
        || format!("{:?}", ran(&project)),
    );
    wait_for_results(&project, "echo above");
    watching.stop(rustix::process::Signal::TERM);

    // A restart makes no difference.
    let watching = listen(&project);
    save(
        &project,
        &format!(
            "{}{LONE}{}{}",
            reply("above"),
            reply("below"),
            reply("later")
        ),
    );
    wait_for_results(&project, "echo later");
    // The broken one goes, and nothing else happens.
    save(
        &project,
        &format!("{}{}{}", reply("above"), reply("below"), reply("later")),
    );
    watching.until_it_looked(&project.path(NOTES));
    save(
        &project,
        &format!(
            "{}{}{}{}",
            reply("above"),
            reply("below"),
            reply("later"),
            reply("last")
        ),
    );
    wait_for_results(&project, "echo last");
    assert_eq!(ran(&project), ["below", "above", "later", "last"]);
    assert!(!project.exists("src/utils.py"));
    drop(watching);
}

#[test]
fn what_a_broken_reply_hides_at_first_sight_does_not_run_when_it_goes() {
    let project = Project::new();
    project.write(NOTES, format!("{LONE}{}", reply("old")));
    let watching = listen(&project);
    let notes = wait_for_results(&project, "before clada began to watch");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    save(&project, &reply("old"));
    watching.until_it_looked(&project.path(NOTES));
    save(&project, &format!("{}{}", reply("old"), reply("new")));
    wait_for_results(&project, "echo new");
    assert_eq!(ran(&project), ["new"]);
}

#[test]
fn a_reply_that_was_cut_off_is_never_joined_with_its_rest() {
    let project = Project::new();
    let _watching = listen(&project);
    let (cut, _) = long();
    save(&project, &cut);
    let notes = wait_for_results(&project, "✂");
    assert_eq!(
        notes.results,
        [
            "✂ the reply ends in task 3 (exec): 2 whole tasks before it - [ ] run them",
            "❌ the reply ends in task 3 (exec), so nothing in it was run: send it again, in several replies if it \
             was long; parts are never joined (line 17)"
        ]
    );
    save(
        &project,
        &format!("{cut}\nee >> runs.txt\n</x>\n</task>\n</tasks>\n"),
    );
    let notes = wait_for_results(
        &project,
        "made of a cut-off reply and the text pasted after it: not run, as the parts may not fit; paste the whole reply",
    );
    assert!(
        notes.results[0].ends_with("- [ ] run them"),
        "{:?}",
        notes.results
    );
    assert_eq!(ran(&project), [""; 0]);
}

#[test]
fn the_whole_reply_completes_what_was_run_of_one_that_was_cut_off() {
    let project = Project::new();
    let _watching = listen(&project);
    let (cut, whole) = long();
    save(&project, &cut);
    wait_for_results(&project, "✂");
    save_by_rename(&project.path(NOTES), ticked(&project));
    wait_for_results(&project, "2 ✅");
    assert_eq!(ran(&project), ["one", "two"]);
    save(&project, &format!("{cut}\n\nThe whole:\n{whole}Ready.\n"));
    let notes = wait_for_results(&project, "3 ✅");
    assert!(notes.results[0].starts_with("1 ⏭"), "{:?}", notes.results);
    assert_eq!(ran(&project), ["one", "two", "three"]);
    // The same once more is a reply of its own.
    save(
        &project,
        &format!("{cut}\n\nThe whole:\n{whole}Ready.\nAgain:\n{whole}So.\n"),
    );
    wait_until(
        || ran(&project).len() == 6,
        || format!("{:?}", ran(&project)),
    );
}

#[test]
fn a_tick_that_comes_with_other_changes_runs_nothing() {
    let project = Project::new();
    let _watching = listen(&project);
    let (cut, whole) = long();
    save(&project, &cut);
    wait_for_results(&project, "✂");
    let ticked = ticked(&project) + &format!("\n\nThe whole:\n{whole}Ready.\n");
    save_by_rename(&project.path(NOTES), ticked);
    wait_for_results(&project, "a tick is ignored if other text changes with it");
    wait_for_results(&project, "3 ✅");
    assert_eq!(ran(&project), ["one", "two", "three"]);
}

#[test]
fn a_reply_does_not_overtake_one_that_waits() {
    let project = Project::new();
    let _watching = listen(&project);
    // Text to come could close this one otherwise.
    let waits = reply("first")
        .replace("</x>\n</task>", "</x></task>")
        .replace("\n</x>", "</x>");
    save(&project, &(waits + &reply("second")));
    wait_for_results(&project, "2 ✅");
    assert_eq!(ran(&project), ["first", "second"]);
}

#[test]
fn what_is_quoted_does_not_run_when_a_tag_around_it_is_lost() {
    let project = Project::new();
    let _watching = listen(&project);
    let page = format!(
        "A page:\n<tasks>\n<task>\n<path>page.md</path>\n<c>overwrite</c>\n<x>\n{}</x>\n</task>\n</tasks>\nDone.\n",
        exec(&record("quoted"))
    );
    save(&project, &page);
    wait_for_results(&project, "1 ✅ overwrite page.md");
    let lost = page.replacen("<x>\n", "", 1);
    save(&project, &lost);
    wait_for_results(&project, "task 1 (overwrite page.md) has no `</task>`");
    save(&project, &format!("{lost}{}", reply("next")));
    wait_for_results(&project, "echo next");
    assert_eq!(ran(&project), ["next"]);
}
