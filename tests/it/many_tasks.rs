//! Replies with more tasks than anybody reads: twice as many cost about twice as much, and are taken back as one.

use std::fmt::Write as _;

use crate::harness::{Ended, Project};

fn reply(count: usize, task: &dyn Fn(usize) -> String) -> String {
    let mut text = "<tasks>\n".to_owned();
    for number in 0..count {
        let _ = write!(text, "{}", task(number));
    }
    text + "</tasks>\n"
}

fn overwrite(number: usize) -> String {
    format!(
        "<task>\n<i>why {number}</i>\n<path>f/{}/{number}.txt</path>\n<c>overwrite</c>\n<x>\n{number}\n</x>\n</task>\n",
        number % 20
    )
}

fn edit(number: usize) -> String {
    format!(
        "<task>\n<path>a.txt</path>\n<c>edit</c>\n<search>\nvalue {number}\n</search>\n<replace>\nvalue {}\n</replace>\n</task>\n",
        number + 1
    )
}

/// The seconds that a processor works for a run.
fn seconds(count: usize, args: &str, task: &dyn Fn(usize) -> String) -> f64 {
    let project = Project::with_git();
    project.write("a.txt", "value 0\n").commits();
    let args = if args == "whole" {
        project.configure("[git]\ncommit = 'batch'\n");
        ""
    } else {
        args
    };
    let script = format!("TIMEFORMAT='%U %S'; time \"$0\" run {args} - >/dev/null 2>&1",);
    let mut command = project.command("bash");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_clada")]);
    let ended = Ended::of(command, &reply(count, task));
    let both = ended
        .err
        .split_whitespace()
        .map(|time| time.parse::<f64>().expect("a time"));
    both.sum()
}

#[test]
fn four_times_as_many_tasks_cost_about_four_times_as_much() {
    let failing = |_: usize| edit(1_000_000);
    let broken =
        |_: usize| "<task>\n<path>a.txt</path>\n<c>edit</c>\n<search>\nx\n</task>\n".to_owned();
    let empty = |_: usize| "<task></task>\n".to_owned();
    let read = |_: usize| "<task>\n<path>a.txt</path>\n<c>read</c>\n</task>\n".to_owned();
    type Task<'t> = &'t dyn Fn(usize) -> String;
    let kinds: [(&str, usize, &str, Task<'_>); 8] = [
        ("overwrites in one commit", 100, "whole", &overwrite),
        ("overwrites", 300, "", &overwrite),
        ("overwrites without git", 500, "--no-git", &overwrite),
        ("edits", 300, "", &edit),
        ("failing edits", 500, "--no-git", &failing),
        ("broken tasks", 2000, "--no-git", &broken),
        ("empty tasks", 1000, "--no-git", &empty),
        ("reads", 1000, "--no-git", &read),
    ];
    let mut wrong = String::new();
    for (kind, count, args, task) in kinds {
        // What grows with the square of it costs sixteen times as much, in each round. Short runs come first: where a busy
        // machine takes the processor away, the long one may seem to cost more than it does.
        let (mut some, mut many) = (f64::MAX, f64::MAX);
        let is_much = (0..4).all(|round| {
            let times = if round == 0 { 1 } else { 4 };
            let four = (0..times).map(|_| seconds(count, args, task));
            some = some.min(four.sum::<f64>() / f64::from(times));
            many = many.min(seconds(4 * count, args, task));
            many > 8.0 * some + 0.3
        });
        if is_much {
            let _ = writeln!(
                wrong,
                "{kind}: {count} take {some} s, {} take {many} s",
                4 * count
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn many_tasks_share_commits_and_are_taken_back_as_one() {
    let project = Project::with_git();
    project.write("a.txt", "value 0\n").commits();
    let before = project.git(["rev-parse", "HEAD^{tree}"]);
    let tasks = |number: usize| {
        match number {
        250 => "<task>\n<c>exec</c>\n<x>\ncat f/*/*.txt | wc -l > count.txt; git status --porcelain > status.txt\n</x>\n</task>\n".to_owned(),
        // What an earlier task of the same commit has written is no other's.
        _ if number % 50 == 49 => overwrite(number - 1) + "<task>\n<path>f/8/48.txt</path>\n<c>delete</c>\n</task>\n" + &overwrite(48),
        _ => overwrite(number),
    }
    };
    project.clada_with(["run"], &reply(600, &tasks)).exits(0);
    let commits = project.git(["rev-list", "--count", "HEAD"]);
    let commits: usize = commits.trim().parse().expect("a number");
    assert!((150..=210).contains(&commits), "{commits}");
    assert_eq!(project.git(["show", "HEAD:f/18/598.txt"]), "598\n");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    // A command finds all that came before it saved.
    assert_eq!(project.read("status.txt"), "?? count.txt\n?? status.txt\n");
    project.clada(["undo"]).exits(0);
    assert_eq!(project.git(["rev-parse", "HEAD^{tree}"]), before);
    project.clada(["redo"]).exits(0);
    assert!(project.exists("f/18/598.txt"));
}
