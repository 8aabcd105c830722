//! clada is killed while it saves: the repository stays sound, nothing in the work tree or of the history is lost, and the
//! next batch puts right what was left half done.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::judge::Judge;
use crate::chance::Chance;
use crate::harness::Project;

/// Git's locks are files, and outlive whoever made them; the user is told to delete them.
const LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "refs/heads/main.lock"];

const TASKS: usize = 8;

/// A batch that overwrites, makes, moves and deletes files.
fn reply(round: usize) -> String {
    let task = |number: usize| match number % 4 {
        0 => format!("<path>fixed{number}.txt</path><c>overwrite</c>\n<x>\n{round}\n</x>"),
        1 => format!("<path>new/{round}/{number}.txt</path><c>overwrite</c>\n<x>\n{round}\n</x>"),
        2 => format!(
            "<path>new/{round}/{}.txt</path><c>move</c><x>moved/{round}.{number}.txt</x>",
            number - 1
        ),
        _ => format!(
            "<path>moved/{}.{}.txt</path><c>delete</c>",
            round.max(1) - 1,
            number - 1
        ),
    };
    let tasks = (0..TASKS).map(|number| format!("<task>\n{}\n</task>\n", task(number)));
    format!("<tasks>\n{}</tasks>\n", tasks.collect::<String>())
}

/// The files of the work tree.
fn files(project: &Project) -> BTreeMap<String, Vec<u8>> {
    let listed = project.git(["ls-files", "-co"]);
    let there = listed.lines().filter(|name| project.exists(name));
    there
        .map(|name| (name.to_owned(), fs::read(project.path(name)).expect("read")))
        .collect()
}

/// Runs a batch; so long, or to its end.
fn run(project: &Project, reply: &str, until: Option<Duration>) -> Duration {
    let mut clada = project.command(env!("CARGO_BIN_EXE_clada"));
    clada.arg("run").stdin(Stdio::piped());
    clada.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = clada.spawn().expect("start");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(reply.as_bytes()).expect("reply");
    drop(stdin);
    if let Some(until) = until {
        sleep(until.saturating_sub(start.elapsed()));
        let _ = child.kill();
    }
    child.wait().expect("end");
    start.elapsed()
}

#[test]
fn a_kill_in_a_batch_loses_nothing_and_the_next_puts_git_right() {
    let project = Project::with_git();
    let judge = Judge::new(&project);
    let mut chance = Chance::new();
    project
        .write("a.txt", "one\n")
        .write("user.txt", "0")
        .commits();
    let whole = run(&project, &reply(0), None);
    let (mut behind, mut locked) = (0, 0);
    for round in 1..25 {
        project.write("user.txt", round.to_string());
        let old = project.git(["rev-parse", "HEAD"]);
        let moment = chance.below(whole.as_micros() as u64 * 5 / 4);
        run(&project, &reply(round), Some(Duration::from_micros(moment)));

        judge.finds_it_sound();
        project.git(["merge-base", "--is-ancestor", old.trim_end(), "HEAD"]);
        for lock in LOCKS {
            locked += usize::from(fs::remove_file(project.path(".git").join(lock)).is_ok());
        }
        let left = files(&project);
        behind += usize::from(!project.git(["diff", "--cached", "--name-only"]).is_empty());

        let next = "<task><path>next.txt</path><c>overwrite</c><x>next</x></task>\n";
        let next = next.replace("<x>next", &format!("<x>next {round}"));
        let ran = project.clada_with(["run"], &next).exits(0);
        let mut there = files(&project);
        there.remove("next.txt");
        let left: BTreeMap<_, _> = left
            .into_iter()
            .filter(|(name, _)| name != "next.txt")
            .collect();
        assert!(there == left, "round {round}: {left:#?} {}", ran.out);
        // What a killed command made is the user's to add.
        let status = project.git(["status", "--porcelain", "-uno"]);
        assert_eq!(status, "", "{}", ran.out);
        judge.finds_it_sound();
    }
    eprintln!("index behind HEAD {behind} times, locks left {locked} times");
}

/// As a kill between the commit and the index leaves it.
#[test]
fn an_index_behind_head_is_put_right_by_the_next_batch() {
    let project = Project::with_git();
    let judge = Judge::new(&project);
    for path in ["changed.txt", "deleted.txt", "moved.txt", "left.txt"] {
        project.write(path, "old\n");
    }
    project.git(["add", "-A"]);
    project.git(["commit", "-qm", "first"]);
    let index = fs::read(project.path(".git/index")).expect("read");
    let reply = "<tasks>
<task><path>changed.txt</path><c>overwrite</c><x>new</x></task>
<task><path>deleted.txt</path><c>delete</c></task>
<task><path>moved.txt</path><c>move</c><x>sub/moved.txt</x></task>
<task><path>made.txt</path><c>overwrite</c><x>new</x></task>
</tasks>
";
    project.clada_with(["run"], reply).exits(0);
    let head = project.git(["rev-parse", "HEAD"]);
    fs::write(project.path(".git/index"), index).expect("write");
    fs::write(project.path(".git/index.clada-unsettled"), "").expect("write");

    // A batch that changes nothing makes no commit either.
    let ran = project.clada_with(["run"], "<task><c>exec</c><x>true</x></task>\n");
    assert_eq!(project.git(["rev-parse", "HEAD"]), head, "{}", ran.out);
    assert_eq!(project.git(["status", "--porcelain"]), "", "{}", ran.out);
    judge.begin();
    assert_eq!(judge.tree_of("HEAD"), judge.tree());
    judge.finds_it_sound();
}
