//! The file commands beside edit, overwrite, move and delete, with the real binary: sizes, undo, what is copied and what
//! `--json` says.

use clada::reply::task::{Action, Payload, Replacement};
use clada::report::Report;
use clada::report::fault::{Fault, Sought};
use clada::report::outcome::{Outcome, Section, Status};
use clada::run::files;
use clada::text::lines::LineError;
use clada::world::workspace::Disk;
use serde_json::Value;

use crate::harness::{Ended, Project, skip};

fn task(path: &str, command: &str, rest: &str) -> String {
    format!("<task><path>{path}</path><c>{command}</c>{rest}</task>\n")
}

fn json(project: &Project, reply: &str) -> Value {
    let run = project.clada_with(["run", "--json"], reply);
    serde_json::from_str(&run.out).expect("JSON")
}

#[test]
fn a_file_larger_than_the_limit_is_not_read_nor_written() {
    let project = Project::with_git();
    project.configure("[limits]\nmax_file_size = '1 KiB'\n");
    let large = "x\n".repeat(1000);
    project.write("large.txt", &large).write("small.txt", "x\n");
    let long = "y".repeat(1020);
    let said = "no task reads or writes more than 1 KiB (`limits.max_file_size`): use an exec task";
    for (task, has) in [
        (task("large.txt", "read", ""), "`large.txt` has 2.0 KiB"),
        (
            task("large.txt", "append", "<x>y</x>"),
            "`large.txt` has 2.0 KiB",
        ),
        (
            task(
                "large.txt",
                "edit",
                "<search>x</search><replace>y</replace>",
            ),
            "`large.txt` has 2.0 KiB",
        ),
        (
            task(
                "large.txt",
                "replace-all",
                "<search>x</search><replace>y</replace>",
            ),
            "`large.txt` has 2.0 KiB",
        ),
        (
            task("small.txt", "append", &format!("<x>{long}yy\n</x>")),
            "`small.txt` would have 1.0 KiB",
        ),
        (
            task("new.txt", "overwrite", &format!("<x>{long}yyyyy\n</x>")),
            "`new.txt` would have 1.0 KiB",
        ),
    ] {
        for run in [
            project.clada_with(["run"], &task),
            project.clada_with(["run", "--dry-run"], &task),
        ] {
            assert!(
                run.out.contains(has) && run.out.contains(said),
                "{task}\n{}",
                run.out
            );
        }
    }
    assert_eq!(project.read("large.txt"), large);
    assert!(!project.exists("new.txt"));
    // What is there may be replaced by less.
    let run = project.clada_with(["run"], &task("large.txt", "overwrite", "<x>small</x>"));
    assert_eq!(
        (run.code, project.read("large.txt").as_str()),
        (Some(0), "small")
    );
    let undone = project.clada_with(["undo"], "");
    assert_eq!((undone.code, project.read("large.txt")), (Some(0), large));
}

#[test]
fn undo_takes_back_what_was_appended_and_replaced_everywhere() {
    let project = Project::with_git();
    project.write("a.txt", "one\n").write("b.txt", "one one\n");
    let reply = [
        "<tasks>\n".to_owned(),
        task("a.txt", "append", "<x>two\n</x>"),
        task(
            "a.txt</path><path>b.txt",
            "replace-all",
            "<search>one</search><replace>1</replace>",
        ),
        task("b.txt", "replace-lines", "<x lines=\"1\">2</x>"),
        task("new.txt", "append", "<x>two\n</x>"),
        task("folder/deep", "mkdir", ""),
        "</tasks>\n".to_owned(),
    ];
    let run = project.clada_with(["run"], &reply.concat());
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert_eq!(project.read("a.txt"), "1\ntwo\n");
    assert_eq!(project.read("b.txt"), "2\n");
    let undone = project.clada_with(["undo"], "");
    assert_eq!(undone.code, Some(0), "{}{}", undone.out, undone.err);
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(project.read("b.txt"), "one one\n");
    assert!(!project.exists("new.txt"));
    // Git knows no empty folder, so it is not its business to take one away.
    assert!(project.exists("folder/deep"));
}

#[test]
fn what_git_ignores_can_be_undone_too() {
    let project = Project::with_git();
    project
        .write(".gitignore", "*.log\n")
        .write("a.log", "one\n")
        .write("b.log", "one\n");
    let reply = task(
        "a.log</path><path>b.log",
        "replace-all",
        "<search>one</search><replace>1</replace>",
    );
    let run = project.clada_with(["run"], &reply);
    assert_eq!((run.code, project.read("b.log").as_str()), (Some(0), "1\n"));
    project.clada_with(["undo"], "");
    assert_eq!(
        (project.read("a.log"), project.read("b.log")),
        ("one\n".into(), "one\n".into())
    );
}

#[test]
fn a_batch_that_only_reads_commits_nothing() {
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    let commits = || project.git(["rev-list", "--all", "--count"]);
    let before = commits();
    let run = project.clada_with(["run"], &task("a.txt", "read", ""));
    assert_eq!((run.code, commits()), (Some(0), before));
    assert!(!run.out.contains("git"), "{}", run.out);
}

#[test]
fn more_files_than_anybody_means_are_refused_at_once() {
    let project = Project::new();
    // Twenty times as many as are allowed.
    let paths = "none.txt\n".repeat(20_000);
    for task in [
        task(&paths, "read", ""),
        task(
            &paths,
            "replace-all",
            "<search>a</search><replace>b</replace>",
        ),
    ] {
        let run = project.clada_with(["run"], &task);
        let said = "20000 files in one task, but at most 1000 are allowed: write several tasks";
        assert!(run.out.contains(said), "{}", run.out);
    }
}

#[test]
fn data_of_each_command() {
    let project = Project::with_git();
    let long = "0123456789abcdef\n".repeat(5000);
    project
        .write("a.txt", "one\ntwo\n")
        .write("b.txt", "one\n")
        .write("long.txt", &long);
    let reply = [
        "<tasks>\n".to_owned(),
        task("a.txt", "read", ""),
        task("a.txt</path><path>none.txt", "read", ""),
        task("a.txt", "append", "<x>é</x>"),
        task(
            "a.txt",
            "replace-all",
            "<search>o</search><replace>0</replace>",
        ),
        task(
            "a.txt</path><path>b.txt",
            "replace-all",
            "<search>n</search><replace>N</replace>",
        ),
        task("a.txt", "replace-lines", "<x lines=\"1-2\">x</x>"),
        task("folder", "mkdir", ""),
        task("folder", "rmdir", ""),
        task("a.txt", "replace-lines", "<x lines=\"9\">x</x>"),
        task("long.txt", "read", ""),
        "</tasks>\n".to_owned(),
    ];
    let ran = json(&project, &reply.concat());
    let data: Vec<&Value> = ran["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|it| &it["data"])
        .collect();
    let expected: [Value; 8] = [
        serde_json::json!({ "path": "a.txt", "content": "one\ntwo\n" }),
        serde_json::json!({
            "paths": ["a.txt"], "content": ["one\ntwo\n"],
            "failed": [{ "path": "none.txt", "error": "file not found: `none.txt`" }],
        }),
        serde_json::json!({ "path": "a.txt", "bytesWritten": 2 }),
        serde_json::json!({ "path": "a.txt", "replacements": 2 }),
        serde_json::json!({
            "replacements": 2,
            "files": [{ "path": "a.txt", "replacements": 1 }, { "path": "b.txt", "replacements": 1 }],
        }),
        serde_json::json!({ "path": "a.txt", "lines_replaced": 2 }),
        serde_json::json!({ "path": "folder", "created": true }),
        serde_json::json!({ "path": "folder" }),
    ];
    for (index, expected) in expected.iter().enumerate() {
        assert_eq!(data[index], expected, "task {}", index + 1);
    }
    assert_eq!(data[8], &Value::Null);
    let content = data[9]["content"].as_str().expect("content");
    assert!(content.len() < 52_000 && content.starts_with("0123") && content.ends_with("cdef\n"));
    assert!(content.contains("bytes left out here"), "{}", content.len());
}

/// The report of a run that has read these files, a task for each list.
fn report_of(tasks: &[&[(&str, &str)]]) -> Report {
    let outcome = |(number, files): (usize, &&[(&str, &str)])| Outcome {
        number: number + 1,
        command: "read".to_owned(),
        target: "files".to_owned(),
        // Failed ones come first in the clipboard.
        status: match number {
            0 => Status::Done,
            _ => Status::Failed,
        },
        sections: files
            .iter()
            .map(|(name, content)| Section::File {
                name: (*name).to_owned(),
                content: (*content).to_owned(),
                at: None,
            })
            .collect(),
        ..Outcome::default()
    };
    Report {
        outcomes: tasks.iter().enumerate().map(outcome).collect(),
        ..Report::default()
    }
}

fn output(report: &mut Report) -> String {
    let mut out = Vec::new();
    report.write_output(None, &mut out).expect("output");
    String::from_utf8(out).expect("text")
}

#[test]
fn what_is_read_is_copied_up_to_50_kb_for_each_task_and_whole_in_the_output_file() {
    let long = "0123456789abcdef\n".repeat(5000);
    let mut report = report_of(&[&[("long.txt", &long), ("short.txt", "short\n")]]);
    let packet = report.packet(&[], 60_000, "the file").expect("text");
    let copied = packet.text;
    assert!(copied.len() < 52_000, "{}", copied.len());
    assert!(copied.contains(" left out here: read a part of it with lines="));
    let end = "\n=== END FILE: long.txt ===\n\n=== START FILE: short.txt ===\nshort\n";
    assert!(copied.contains(end));
    assert!(output(&mut report).contains(&long));
}

#[test]
fn a_file_that_is_shown_twice_is_there_once_in_whatever_order() {
    let (a, other) = (("a.txt", "one\n"), ("a.txt", "two\n"));
    let mut report = report_of(&[&[a], &[a, other]]);
    let written = output(&mut report);
    assert_eq!(written.matches("one\n").count(), 1, "{written}");
    assert!(written.contains(
        "[2] read files (failed):\n=== FILE: a.txt: as shown under [1] ===\n\n=== START"
    ));
    let packet = report.packet(&[], 60_000, "the file").expect("text");
    let copied = packet.text;
    assert_eq!(copied.matches("one\n").count(), 1, "{copied}");
    assert!(
        copied.contains("[1] read files:\n=== FILE: a.txt: as shown under [2] ===\n"),
        "{copied}"
    );
}

/// What a command makes of a file; else why not, and what it shows.
fn done_to(content: &[u8], action: &Action<'_>) -> Result<Vec<u8>, (Fault, String, String)> {
    let project = Project::new();
    let path = project.path("a.txt");
    std::fs::write(&path, content).expect("write");
    let mut disk = Disk::open(&project.root(), None, Vec::new()).expect("disk");
    let outcome = files::perform(action, &mut disk);
    let now = std::fs::read(path).expect("read");
    if outcome.status == Status::Done {
        return Ok(now);
    }
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(now, content, "a failed task leaves no trace");
    let shown = outcome.sections.iter().map(|section| match section {
        Section::File { content: text, .. } | Section::Text(text) => text.as_str(),
        Section::Stream(..) => "",
    });
    let shown = shown.collect();
    Err((outcome.fault, outcome.message.expect("a message"), shown))
}

fn literal(search: &'static str, replace: &'static str) -> Action<'static> {
    let (search, replace) = (search.into(), replace.into());
    of_change(Replacement::Literal { search, replace })
}

fn range(beginning: &'static str, end: &'static str) -> Action<'static> {
    of_change(Replacement::LiteralRange {
        beginning: beginning.into(),
        end: end.into(),
        replace: "new".into(),
    })
}

fn of_change(change: Replacement<'static>) -> Action<'static> {
    Action::Edit {
        path: "a.txt".into(),
        change,
        to: None,
    }
}

fn fault_of(content: &str, action: &Action<'_>) -> Fault {
    done_to(content.as_bytes(), action)
        .expect_err("a failure")
        .0
}

#[test]
fn a_literal_text_is_replaced_byte_for_byte() {
    let text = |content: &[u8], action| String::from_utf8(done_to(content, &action).expect("done"));
    for (content, action, after) in [
        (&b"a.b axb"[..], literal("a.b", "$1\\n"), "$1\\n axb"),
        (b"x\r\ny\r\n", literal("x\r\n", "z\n"), "z\ny\r\n"),
        (b"  count = 10", literal("t = 1", ""), "  coun0"),
        (b"one two", literal(" ", "\n\n"), "one\n\ntwo"),
        (b"end a end b end", range("a", "b"), "end new end"),
        (b"e b x e", range("b", "e"), "e new"),
        (b"ab", range("a", "b"), "new"),
    ] {
        assert_eq!(text(content, action).as_deref(), Ok(after));
    }
    let binary = done_to(b"\xff\0one", &literal("one", "two")).expect("done");
    assert_eq!(binary, b"\xff\0two");
}

#[test]
fn a_literal_text_is_there_once_or_nothing_is_done() {
    use Sought::{Beginning, End, Text};
    for (content, action, fault) in [
        ("one", literal("", "x"), Fault::Empty(Text)),
        ("one", literal("One", "x"), Fault::NotFound(Text)),
        ("x\r\ny", literal("x\ny", "x"), Fault::NotFound(Text)),
        ("one one", literal("one", "x"), Fault::Times(Text, 2)),
        // Overlapping ones are places too.
        ("aaa", literal("aa", "x"), Fault::Times(Text, 2)),
        ("a b", range("", ""), Fault::Empty(Beginning)),
        ("a b", range("a", ""), Fault::Empty(End)),
        ("a b", range("x", "b"), Fault::NotFound(Beginning)),
        ("a a b", range("a", "b"), Fault::Times(Beginning, 2)),
        ("b a", range("a", "b"), Fault::NotFound(End)),
        ("a b b", range("a", "b"), Fault::Times(End, 2)),
        ("x y x", range("x", "x"), Fault::Times(Beginning, 2)),
    ] {
        assert_eq!(fault_of(content, &action), fault, "{content}");
    }
    let empty = done_to(b"", &literal("", "x")).expect_err("a failure");
    assert_eq!(empty.2, "", "the file was not looked at");
    let missing = done_to(b"one\n", &literal("two", "x")).expect_err("a failure");
    assert_eq!(missing.2, "one\n");
    let key = done_to(b"-----BEGIN PRIVATE KEY-----\n", &literal("two", "x"));
    assert_eq!(
        key.expect_err("a failure").2,
        "a.txt looks like a secret, so its content is not shown.\n"
    );
    // No better a place for a mistake than a file that is not there.
    let mut elsewhere = literal("", "x");
    if let Action::Edit { path, .. } = &mut elsewhere {
        *path = "none.txt".into();
    }
    assert_eq!(fault_of("", &elsewhere), Fault::Empty(Text));
    if let Action::Edit { change, .. } = &mut elsewhere {
        *change = Replacement::Literal {
            search: "x".into(),
            replace: "y".into(),
        };
    }
    assert_eq!(fault_of("", &elsewhere), Fault::Missing);
}

/// What is said of a task that cannot be done.
fn said_of(content: &[u8], action: &Action<'_>) -> String {
    done_to(content, action).expect_err("a failure").1
}

#[test]
fn a_task_that_cannot_be_done_says_why_and_what_to_do() {
    let lines = |lines: &'static str| Action::ReplaceLines {
        path: "a.txt".into(),
        lines: lines.into(),
        content: Payload::inline("x"),
    };
    let none = Action::Read {
        paths: Vec::new(),
        lines: None,
        numbers: None,
        is_lenient: false,
    };
    for (action, said) in [
        (
            literal("", "x"),
            "the search text is empty: write text that is in the file",
        ),
        (
            range("x", "b"),
            "the beginning not found: it must match the file exactly, character by character",
        ),
        (
            range("b", "a"),
            "the end not found after the beginning: it must match the file exactly, character by character",
        ),
        (
            lines("x"),
            "`x` is not a line or a range: write one, such as `12` or `12-40`",
        ),
        (
            lines("3-1"),
            "`3-1` ends before it begins: write the smaller number first",
        ),
        (none, "this task has no path: name the files"),
    ] {
        assert_eq!(said_of(b"a b", &action), said);
    }
}

#[test]
fn only_an_edit_can_be_carried_out_at_a_line() {
    let project = Project::new();
    project.write("a.txt", "one\none\n");
    let mut disk = Disk::open(&project.root(), None, Vec::new()).expect("disk");
    let edit = of_change(Replacement::Pairs(vec![(
        Payload::inline("one"),
        Payload::inline("two"),
    )]));
    let (choices, _) = files::choices(&edit, &disk);
    let folder = Action::MakeFolder { path: "b".into() };
    let outcome = files::edit_at(&folder, &choices[0].spot, &mut disk);
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(
        outcome.said(),
        "only an edit of one place in a file can be carried out at a chosen line"
    );
}

#[test]
fn more_text_than_a_task_shows_is_left_to_the_next() {
    let project = Project::new();
    for name in ["a.txt", "b.txt"] {
        project.write(name, "x".repeat(33 * 1024 * 1024));
    }
    let mut disk = Disk::open(&project.root(), None, Vec::new()).expect("disk");
    let read = Action::Read {
        paths: vec!["a.txt".into(), "b.txt".into()],
        lines: None,
        numbers: None,
        is_lenient: false,
    };
    let outcome = files::perform(&read, &mut disk);
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(
        outcome.said(),
        "1 of 2 files could not be read: `b.txt` and the files before it exceed 64 MiB: read it in a task of its own"
    );
}

#[test]
fn a_long_run_of_one_letter_is_counted_in_no_time() {
    let content = "a".repeat(1 << 20);
    let search = "a".repeat(1 << 19);
    let action = of_change(Replacement::Literal {
        search: search.clone().into(),
        replace: "".into(),
    });
    let times = (1 << 19) + 1;
    assert_eq!(
        done_to(content.as_bytes(), &action)
            .expect_err("a failure")
            .0,
        Fault::Times(Sought::Text, times)
    );
    let all = Action::ReplaceAll {
        paths: vec!["a.txt".into()],
        search: Payload::inline(search),
        replace: Payload::inline("b"),
        count: None,
    };
    assert_eq!(done_to(content.as_bytes(), &all), Ok(b"bb".to_vec()));
}

#[test]
fn text_in_the_place_of_lines_joins_all_by_lf() {
    let action = |lines: &'static str, content: &'static str| Action::ReplaceLines {
        path: "a.txt".into(),
        lines: lines.into(),
        content: Payload::inline(content),
    };
    for (content, action, after) in [
        ("1\r\n2\r\n3\r\n", action("2", "x"), "1\nx\n3\n"),
        ("1\n2\n3", action("3", "x\ny"), "1\n2\nx\ny"),
        ("1\n2\n", action("1-2", ""), "\n"),
        ("1\r2\n\n", action("2", "x"), "1\nx\n\n"),
    ] {
        let done = done_to(content.as_bytes(), &action).expect("done");
        assert_eq!(String::from_utf8_lossy(&done), after);
    }
    for (content, lines, fault) in [
        ("", "0", Fault::TooFewLines(0)),
        ("1\n", "0", Fault::Lines(LineError::Invalid)),
        ("1\n", "1-2-3", Fault::Lines(LineError::Invalid)),
        ("1\n", "2-1", Fault::Lines(LineError::Reversed)),
        ("1\n", "2", Fault::TooFewLines(1)),
    ] {
        assert_eq!(fault_of(content, &action(lines, "x")), fault, "{lines}");
    }
}

#[test]
fn only_what_is_said_to_be_there_is_taken() {
    let project = Project::new();
    project
        .write("a.txt", "a")
        .write("dir/b.txt", "b")
        .write("c.txt", "c");
    let mut disk = Disk::open(&project.root(), None, Vec::new()).expect("disk");
    let mut fault = |action: &Action<'_>| {
        let outcome = files::perform(action, &mut disk);
        assert_eq!(outcome.status, Status::Failed);
        outcome.fault
    };
    let only_new = Action::Overwrite {
        path: "a.txt".into(),
        content: Payload::inline("x"),
        final_newline: true,
        only_new: true,
    };
    assert_eq!(fault(&only_new), Fault::Exists);
    let move_to = |path: &'static str, to: &'static str| Action::Move {
        path: path.into(),
        to: to.into(),
        overwrite: true,
        exact: true,
    };
    assert_eq!(fault(&move_to("a.txt", "dir")), Fault::IsFolder);
    assert_eq!(fault(&move_to("none", "x")), Fault::Missing);
    let delete = Action::Delete {
        path: "dir".into(),
        only_file: true,
        held: Vec::new(),
    };
    assert_eq!(fault(&delete), Fault::IsFolder);
    assert_eq!(project.read("a.txt") + &project.read("dir/b.txt"), "ab");
    let done = files::perform(&move_to("a.txt", "c.txt"), &mut disk);
    assert_eq!(done.status, Status::Done);
    assert_eq!(done.data["overwrote"], true);
    assert_eq!(project.read("c.txt"), "a");
}

/// As with git and vim. Who may do more with it than before is nobody.
#[test]
fn a_file_of_a_group_that_the_user_is_not_in_gets_the_users_own() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let project = Project::new();
    for (name, mode) in [("a.txt", 0o640), ("b.txt", 0o2646), ("c.txt", 0o664)] {
        project.write(name, "one\n");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(project.path(name), mode).expect("chmod");
    }
    let Some(clada) = project.as_user() else {
        return;
    };
    if chown(project.path("a.txt"), None, Some(0)).is_err() {
        skip("only root can give a file to a group that the user is not in");
        return;
    }
    let run = |tasks: &str| {
        let mut command = clada();
        command.args(["run", "--no-git"]);
        Ended::of(command, &format!("<tasks>\n{tasks}</tasks>\n"))
    };
    let edit = "<search>one</search><replace>two</replace>";
    chown(project.path("b.txt"), None, Some(0)).expect("chown");
    let done = run(&(task("a.txt", "edit", edit) + &task("b.txt", "overwrite", "<x>two</x>")));
    let said = done.exits(0).results();
    let groups = std::fs::read_to_string("/etc/group").expect("groups");
    let name = |id: u32| {
        let line = groups
            .lines()
            .find(|line| line.split(':').nth(2) == Some(&id.to_string()));
        line.and_then(|line| line.split(':').next())
            .map_or(id.to_string(), str::to_owned)
    };
    let told = format!("its group is now {}, was root", name(65534));
    for line in ["1 ✅ edit a.txt", "2 ✅ overwrite b.txt"] {
        assert!(said.contains(&format!("{line} - {told}\n")), "{said}");
    }
    let found = |name: &str| {
        let found = project.path(name).metadata().expect("metadata");
        (found.uid(), found.gid(), found.mode() & 0o7777)
    };
    assert_eq!(found("a.txt"), (65534, 65534, 0o640));
    // The group could not do what all others could, and is one of them now.
    assert_eq!(found("b.txt"), (65534, 65534, 0o644));
    // A group that the user is in stays, and nothing is said of it.
    let said = run(&task("a.txt", "append", "<x>three</x>"))
        .exits(0)
        .results();
    assert!(!said.contains("group"), "{said}");

    for name in ["a.txt", "c.txt"] {
        chown(project.path(name), None, Some(0)).expect("chown");
    }
    let both = "<path>a.txt</path><path>c.txt</path>";
    let all = "<search>t</search><replace>T</replace>";
    let said = run(&format!("<task>{both}<c>replace-all</c>{all}</task>\n"));
    let said = said.results();
    // It is in one of them only.
    assert!(said.contains(&told), "{said}");
    for name in ["a.txt", "c.txt"] {
        chown(project.path(name), None, Some(0)).expect("chown");
    }
    let all = "<search>o</search><replace>O</replace>";
    let said = run(&format!("<task>{both}<c>replace-all</c>{all}</task>\n"));
    let said = said.results();
    let told = format!(
        "; the group of `a.txt` is now {}, was root (and 1 more)",
        name(65534)
    );
    assert!(said.contains(&told), "{said}");
    project.write("c.txt", "one\n");

    // Somebody else's file, also one that everybody may write, is not taken over.
    chown(project.path("c.txt"), Some(0), Some(0)).expect("chown");
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(project.path("c.txt"), open).expect("chmod");
    let refused = run(&task("c.txt", "edit", edit)).exits(1).results();
    let why = "cannot keep the owner and attributes of `c.txt`: Operation not permitted (os error 1): use an exec task";
    assert!(refused.contains(why), "{refused}");
    assert_eq!(project.read("c.txt"), "one\n");
}
