//! Figures of whole processes: from the start of the program to its end.

use std::fmt::Write;
use std::fs;
use std::path::Path;
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
        let ran = runtime.block_on(shell::run(&script, std::future::pending(), &mut |_, _| {}));
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

/// One edit in the middle of a file of 10 MB.
pub(crate) fn edit_one(print: &mut dyn FnMut(Row)) {
    let project = Project::new();
    let reply = project.path("reply.md");
    let (original, file) = (project.path("original.txt"), project.path("root/large.txt"));
    let mut text = String::new();
    let mut number = 0;
    while text.len() < 10_000_000 {
        number += 1;
        let _ = writeln!(
            text,
            "    line {number} of the file, not much unlike its neighbours;"
        );
    }
    fs::write(&original, &text).expect("write");
    let line = |number| format!("    line {number} of the file, not much unlike its neighbours;\n");
    let middle = number / 2;
    let searched = (middle..middle + 3).map(line).collect::<String>();
    let replaced = searched.replace(&format!("line {middle} of"), "the middle of");
    fs::write(
        &reply,
        format!(
            "<task><path>large.txt</path><c>edit</c>\n<search>\n{searched}</search>\n<replace>\n{replaced}</replace>\n</task>\n"
        ),
    )
    .expect("write");

    let fresh = || fs::copy(&original, &file).map(drop).expect("copy");
    let ours = || {
        fresh();
        project.run(&reply)
    };
    let copy = || {
        fresh();
        let mut command = project.command("/bin/cp");
        command.args(["large.txt", "copy.txt"]);
        let _ = fs::remove_file(project.path("root/copy.txt"));
        command
    };
    let sed = || {
        fresh();
        let mut command = project.command("/bin/sed");
        command.args([
            "-i",
            &format!("{middle}s/line {middle} of/the middle of/"),
            "large.txt",
        ]);
        command
    };
    let limit = Duration::from_millis(20);
    let pair = against(21, ours, copy);
    print(row(
        "of 10 MB, whole process",
        "cp of the file",
        &pair,
        Some(limit),
    ));
    let pair = against(21, ours, sed);
    print(row(
        "of 10 MB, whole process",
        "sed -i, the same edit",
        &pair,
        Some(limit),
    ));
    whole(ours());
    assert!(fs::read_to_string(&file).expect("read") == text.replacen(&searched, &replaced, 1));
}

/// 200 edits in 200 files, and the same changes as a patch.
pub(crate) fn edit_many(print: &mut dyn FnMut(Row)) {
    const FILES: usize = 200;
    let project = Project::new();
    let (reply, patch) = (project.path("reply.md"), project.path("changes.patch"));
    let name = |file: usize| format!("part{}/file{file}.rs", file % 20);
    let line =
        |file: usize, line: usize| format!("    let value_{line} = compute(file_{file}, {line});");
    let all = |file| {
        (1..=100)
            .map(|number| line(file, number) + "\n")
            .collect::<String>()
    };
    let new = "    let value = once(more);";

    let (mut tasks, mut hunks) = (String::new(), String::new());
    for file in 0..FILES {
        let (name, at) = (name(file), 20 + file % 60);
        let lines = |from, to, mark: &str| {
            (from..to)
                .map(|number| format!("{mark}{}\n", line(file, number)))
                .collect::<String>()
        };
        let (before, after) = (lines(at - 3, at, ""), lines(at + 1, at + 4, ""));
        let (old, before_in_patch, after_in_patch) = (
            line(file, at),
            lines(at - 3, at, " "),
            lines(at + 1, at + 4, " "),
        );
        let _ = write!(
            tasks,
            "<task>\n<path>{name}</path>\n<c>edit</c>\n<search>\n{before}{old}\n{after}</search>\n\
             <replace>\n{before}{new}\n{after}</replace>\n</task>\n"
        );
        let _ = write!(
            hunks,
            "--- a/{name}\n+++ b/{name}\n@@ -{0},7 +{0},7 @@\n{before_in_patch}-{old}\n+{new}\n{after_in_patch}",
            at - 3
        );
    }
    fs::write(&reply, format!("<tasks>\n{tasks}</tasks>\n")).expect("write");
    fs::write(&patch, hunks).expect("write");

    let root = project.root();
    let fresh = || {
        let _ = fs::remove_dir_all(&root);
        for file in 0..FILES {
            let path = root.join(name(file));
            fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
            fs::write(path, all(file)).expect("write");
        }
    };
    let ours = || {
        fresh();
        project.run(&reply)
    };
    let theirs = || {
        fresh();
        let mut command = project.command("/usr/bin/patch");
        command.args(["-p1", "-s", "-i"]).arg(&patch);
        command
    };
    let tree = |command: Command| {
        whole(command);
        (0..FILES)
            .map(|file| read(&root.join(name(file))))
            .collect::<String>()
    };
    assert!(
        tree(ours()) == tree(theirs()),
        "both make the same of the files"
    );

    let pair = against(21, ours, theirs);
    print(Row {
        goal: Some(("ratio 1".to_owned(), pair.ratio <= 1.0)),
        ..row("one in each, whole process", "patch", &pair, None)
    });
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

/// Whole runs of two programs in turn. Making a command ready is not measured.
fn against(rounds: usize, ours: impl Fn() -> Command, theirs: impl Fn() -> Command) -> Pair {
    paired(rounds, || whole(ours()), || whole(theirs()))
}

fn row(what: &str, baseline: &'static str, pair: &Pair, limit: Option<Duration>) -> Row {
    Row {
        what: what.to_owned(),
        ours: ms(pair.ours),
        baseline: (baseline, ms(pair.theirs)),
        ratio: pair.ratio,
        goal: limit.map(|limit| (format!("< {} ms", limit.as_millis()), pair.ours < limit)),
    }
}
