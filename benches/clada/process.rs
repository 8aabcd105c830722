//! Figures of whole processes: from the start of the program to its end.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use clada::world::sandbox::{self, Fence, Level};
use clada::world::shell::{self, Script};

use crate::project::{CLADA, Project, whole};
use crate::table::{Pair, Row, ms, paired};

pub(crate) fn start(print: &mut dyn FnMut(Row)) {
    let project = Project::new();
    let reply = project.path("reply.md");
    fs::write(&reply, "").expect("write");
    let version = || {
        let mut command = project.command(CLADA);
        command.arg("--version");
        command
    };
    let limit = Duration::from_millis(2);
    let pair = against(150, version, || project.command("/bin/true"));
    print(row("clada --version", "true", &pair, Some(limit)));
    let pair = against(150, || project.run(&reply), || project.command("/bin/true"));
    print(row("clada run, empty reply", "true", &pair, Some(limit)));
}

pub(crate) fn exec(print: &mut dyn FnMut(Row)) {
    let project = Project::new();
    let reply = project.path("reply.md");
    fs::write(&reply, "<task><c>exec</c><x>true</x></task>\n").expect("write");
    let bash = || {
        let mut command = project.command("/bin/bash");
        command.args(["-c", "true"]);
        command
    };
    let pair = against(100, || project.run(&reply), bash);
    print(row("of `true`, whole process", "bash -c true", &pair, None));
}

/// The time that the fence adds to a command, in a repository, where it also guards what git would run: in this process, as in
/// a listener, and in a whole one, which first finds out what the system gives.
pub(crate) fn fence(print: &mut dyn FnMut(Row)) {
    let limit = Duration::from_millis(3);
    let project = Project::with_git();
    let root = project.root();
    let fence = |level| Fence {
        level,
        temp: sandbox::temp_dirs(),
        guarded: sandbox::guarded(&root),
        ..Fence::nothing(&root)
    };
    let (fenced, off) = (fence(Level::Workspace), fence(Level::Off));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let env: Vec<_> = std::env::vars_os().collect();
    let run = |fence: &Fence| {
        let script = Script {
            text: ":",
            dir: &root,
            timeout: Duration::from_secs(60),
            lang: None,
            version: None,
            env: &env,
            fence: Some(fence),
            mask: None,
            output_limit: u64::MAX,
        };
        let ran = runtime.block_on(shell::run(&script, std::future::pending(), &mut ()));
        assert_eq!(ran.expect("it runs").ending, shell::Ending::Exited(0));
    };
    let timed = |fence| {
        let start = Instant::now();
        run(fence);
        start.elapsed()
    };
    let pair = paired(300, || timed(&fenced), || timed(&off));
    let more = pair.ours.saturating_sub(pair.theirs);
    print(Row {
        goal: Some((format!("+ {} ms", limit.as_millis()), more < limit)),
        ..row(
            "around `:`, in a listener",
            "the same, fence off",
            &pair,
            None,
        )
    });

    let reply = project.path("reply.md");
    fs::write(&reply, "<task><c>exec</c><x>true</x></task>\n").expect("write");
    let run = |level| {
        let mut command = project.run(&reply);
        command.args(["--sandbox", level]);
        command
    };
    let pair = against(100, || run("workspace"), || run("off"));
    print(row(
        "around `true`, whole process",
        "--sandbox off",
        &pair,
        None,
    ));
}

/// Replies with more tasks than anybody reads.
pub(crate) fn many_tasks(print: &mut dyn FnMut(Row)) {
    type Task = fn(usize) -> String;
    let kinds: [(&str, usize, f64, Task); 5] = [
        ("10,000 overwrites, saved in git", 10_000, 10.0, |at| {
            let (folder, text) = (at % 100, at);
            format!("<path>f/{folder}/{at}.txt</path><c>overwrite</c><x>{text}</x>")
        }),
        (
            "10,000 edits of one file, saved in git",
            10_000,
            10.0,
            |at| {
                let next = at + 1;
                format!(
                    "<path>a.txt</path><c>edit</c><search>n{at};</search><replace>n{next};</replace>"
                )
            },
        ),
        ("10,000 reads", 10_000, 10.0, |_| {
            "<path>a.txt</path><c>read</c>".to_owned()
        }),
        ("10,000 failing edits", 10_000, 10.0, |at| {
            format!("<path>a.txt</path><c>edit</c><search>no {at}</search><replace>x</replace>")
        }),
        ("100,000 empty tasks", 100_000, 5.0, |_| String::new()),
    ];
    for (what, count, limit, task) in kinds {
        let project = Project::with_git();
        fs::write(project.path("root/a.txt"), "n0;\n").expect("write");
        let tasks: String = (0..count)
            .map(|at| format!("<task>{}</task>\n", task(at)))
            .collect();
        let reply = project.path("reply.md");
        fs::write(&reply, format!("<tasks>\n{tasks}</tasks>\n")).expect("write");
        let mut run = project.run(&reply);
        let clock = Instant::now();
        run.output().expect("clada");
        let took = clock.elapsed();
        print(Row {
            what: what.to_owned(),
            ours: ms(took),
            baseline: ("none", "-".to_owned()),
            ratio: f64::NAN,
            goal: Some((format!("< {limit} s"), took.as_secs_f64() < limit)),
        });
    }
}

/// Whole runs of two programs in turn. Making a command ready is not measured.
pub(crate) fn against(
    rounds: usize,
    ours: impl Fn() -> Command,
    theirs: impl Fn() -> Command,
) -> Pair {
    paired(rounds, || whole(ours()), || whole(theirs()))
}

pub(crate) fn row(what: &str, baseline: &'static str, pair: &Pair, limit: Option<Duration>) -> Row {
    Row {
        what: what.to_owned(),
        ours: ms(pair.ours),
        baseline: (baseline, ms(pair.theirs)),
        ratio: pair.ratio,
        goal: limit.map(|limit| (format!("< {} ms", limit.as_millis()), pair.ours < limit)),
    }
}
