//! The command line of `run` and `check`: exit statuses, `--json`, and input that is none.

use std::fs::create_dir;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Ended, Project, skip};

const GOOD: &str = "<task>\n<path>a.txt</path>\n<c>overwrite</c>\n<x>\na\n</x>\n</task>\n";
const FAILING: &str = "<task>\n<path>missing</path>\n<c>delete</c>\n</task>\n";

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn exit_statuses() {
    let project = Project::new();
    project.clada_with(["run"], GOOD).exits(0);
    project.clada_with(["run"], FAILING).exits(1);
    project
        .clada_with(["run"], &format!("{GOOD}{FAILING}"))
        .exits(1);
    project.clada_with(["run"], "<tasks>\n<task>\n").exits(1);
    project.clada_with(["run", "--dry-run"], FAILING).exits(1);
    project.clada_with(["run", "--dry-run"], GOOD).exits(0);
    project.clada_with(["check"], GOOD).exits(0);
    project.clada_with(["check"], FAILING).exits(0);
    project.clada_with(["check"], "<tasks>\n<task>\n").exits(1);
    project.clada(["run", "--no-such-option"]).exits(2);
    project.clada(["run", "--exec-timeout", "soon"]).exits(2);
}

#[test]
fn an_exec_has_the_limit_that_is_given() {
    let project = Project::new();
    let start = Instant::now();
    let run = project
        .clada_with(
            ["run", "--exec-timeout", "200ms"],
            "<task>\n<c>exec</c>\n<x>sleep 30</x>\n</task>",
        )
        .exits(1);
    assert!(run.out.contains("time limit of 0.2 s"), "{}", run.out);
    assert!(start.elapsed() < Duration::from_secs(15));
}

/// `clada check clada.md | head -1` ended with `Broken pipe (os error 32)`.
#[test]
fn a_reader_that_exits_is_no_error() {
    let project = Project::with_git();
    project.write("reply.md", GOOD);
    project.clada(["run", "reply.md"]).exits(0);
    for args in [
        "check reply.md",
        "check --json reply.md",
        "config",
        "copy --print",
        "diff",
        "doctor",
        "help git",
        "init",
        "instructions",
        "list",
        "log",
        "log --json",
        "man",
        "run reply.md",
        "run --json reply.md",
        "squash --dry-run",
        "status",
        "undo --dry-run",
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args.split(' ')).stdin(Stdio::null());
        let ended = command.stdout(writer).stderr(Stdio::piped()).output();
        let said = ended.expect("clada runs").stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(
            !said.contains("roken pipe") && !said.contains("panicked"),
            "{args}: {said}"
        );
    }
}

#[test]
fn json_of_a_run() {
    let project = Project::with_git();
    project.write("f.txt", "one\n");
    let reply = format!(
        "<tasks>\n{GOOD}{FAILING}\
         <task>\n<path>f.txt</path>\n<c>edit</c>\n<search>\none\n</search>\n<replace>\ntwo\n</replace>\n</task>\n\
         <task>\n<path>f.txt</path>\n<c>edit</c>\n<search>\nthree\n</search>\n<replace>\nfour\n</replace>\n</task>\n\
         <task>\n<path>f.txt</path>\n<c>edti</c>\n</task>\n\
         <task>\n<c>exec</c>\n<x mode=\"fast\">echo out; echo err >&2; exit 3</x>\n</task>\n</tasks>\n\
         <tasks>\n<task>\n"
    );
    let run = project.clada_with(["run", "--json"], &reply).exits(1);
    assert_eq!(run.err, "");
    let run = run.json();
    assert_eq!(
        keys(&run),
        [
            "success",
            "totalBlocks",
            "executedActions",
            "results",
            "parseErrors"
        ]
    );
    assert_eq!(run["success"], false);
    assert_eq!(run["totalBlocks"], 6);
    assert_eq!(run["executedActions"], 5);
    let results = run["results"].as_array().expect("results");
    assert_eq!(
        keys(&results[0]),
        ["seq", "blockId", "action", "params", "success", "data"]
    );
    assert_eq!(
        results[0],
        json!({
            "seq": 1, "blockId": "1", "action": "overwrite", "params": { "path": "a.txt", "content": "a\n" },
            "success": true, "data": { "path": "a.txt", "bytesWritten": 2 },
        })
    );
    assert_eq!(
        results[1],
        json!({
            "seq": 2, "blockId": "2", "action": "delete", "params": { "path": "missing" }, "success": false,
            "error": "file not found: `missing`",
        })
    );
    assert_eq!(results[2]["params"]["search"], "one\n");
    assert_eq!(results[2]["data"]["tier"], "exact");
    assert_eq!(results[2]["data"]["lines"], json!([1]));
    let details = results[3]["data"]["details"].as_str().expect("details");
    assert!(
        details.contains("=== START FILE: f.txt ===\ntwo\n"),
        "{details}"
    );
    assert_eq!(results[4]["blockId"], "6");
    assert_eq!(results[4]["seq"], 5);
    assert_eq!(
        results[4]["data"],
        json!({ "stdout": "out\n", "stderr": "err\n", "exit_code": 3 })
    );
    let errors = run["parseErrors"].as_array().expect("errors");
    let types: Vec<&str> = errors
        .iter()
        .filter_map(|e| e["errorType"].as_str())
        .collect();
    assert_eq!(types, ["validation", "warning", "syntax"]);
    for error in errors {
        assert!(
            error["message"].is_string() && error["blockStartLine"].is_u64(),
            "{error}"
        );
    }
    assert_eq!(errors[0]["blockId"], "5");
    assert_eq!(errors[2]["blockId"], "unknown");
}

#[test]
fn json_of_a_dry_run_has_the_diffs() {
    let project = Project::new();
    let run = project
        .clada_with(["run", "--dry-run", "--json"], GOOD)
        .exits(0);
    let run = run.json();
    assert_eq!(run["success"], true);
    assert_eq!(
        run["results"][0]["data"]["diff"],
        "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n"
    );
    assert!(!project.exists("a.txt"));
}

#[test]
fn json_of_nothing() {
    let project = Project::new();
    let nothing = json!({
        "success": true, "totalBlocks": 0, "executedActions": 0, "results": [], "parseErrors": [],
    });
    assert_eq!(
        project.clada_with(["run", "--json"], "").exits(0).json(),
        nothing
    );
    let check = project.clada_with(["check", "--json"], "prose").exits(0);
    let nothing = json!({
        "tasks": [], "blocks": [], "errors": [], "totalBlocks": 0, "parseErrors": [],
    });
    assert_eq!(check.json(), nothing);
}

/// Fails as wrong use, in one line that holds these words.
#[track_caller]
fn refused(run: Ended, words: &[&str]) {
    let run = run.exits(2);
    assert_eq!(run.out, "");
    assert!(
        run.err.starts_with("clada: ") && run.err.trim_end().lines().count() == 1,
        "{}",
        run.err
    );
    for word in words {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
}

#[test]
fn a_root_that_is_none() {
    let project = Project::new();
    project.write("file", "x");
    refused(
        project.clada_with(["run", "--root", "missing"], GOOD),
        &["`missing`", "No such file"],
    );
    refused(
        project.clada_with(["run", "--root", "file"], GOOD),
        &["`file`", "not a directory"],
    );
    let locked = project.path("locked");
    create_dir(&locked).expect("mkdir");
    let mode = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&locked, mode).expect("chmod");
    };
    mode(0o000);
    // Root may read it all the same.
    if std::fs::read_dir(&locked).is_err() {
        refused(
            project.clada_with(["run", "--root", "locked"], GOOD),
            &["`locked`", "Permission denied"],
        );
    }
    mode(0o755);
}

#[test]
fn a_reply_that_is_none() {
    let project = Project::new();
    project
        .write("latin1", b"ol\xe9\n")
        .write("utf16", b"\xff\xfe<\0t\0");
    for verb in ["run", "check"] {
        refused(
            project.clada([verb, "missing"]),
            &["`missing`", "No such file"],
        );
        refused(project.clada([verb, "."]), &["`.`", "directory"]);
        refused(
            project.clada([verb, "latin1"]),
            &["`latin1` is not UTF-8 text (byte 2): save it as UTF-8"],
        );
        refused(project.clada([verb, "utf16"]), &["`utf16`", "not UTF-8"]);
        let mut piped = project.command(env!("CARGO_BIN_EXE_clada"));
        let latin1 = std::fs::File::open(project.path("latin1")).expect("open");
        let piped = piped.arg(verb).stdin(latin1).output().expect("clada");
        let why = "`standard input` is not UTF-8 text (byte 2): save it as UTF-8";
        refused(Ended::new(piped), &[why]);
    }
}

#[test]
fn replies_with_nothing_to_do() {
    let project = Project::new();
    for reply in [
        "",
        "\n",
        "prose\n",
        "\u{feff}",
        "a\0b\n",
        "<tasks>\n</tasks>\n",
    ] {
        let run = project.clada_with(["run", "-"], reply).exits(0);
        assert!(
            run.out.starts_with("no task found: paste what `clada instructions` prints into your chat, so that the LLM writes tasks"),
            "{reply:?}: {}",
            run.out
        );
        assert_eq!(
            project.clada_with(["check", "-"], reply).exits(0).out,
            "0 tasks, 0 problems\n"
        );
    }
}

#[test]
fn nul_characters_are_errors_of_their_tasks() {
    let project = Project::new();
    let reply = "<task>\n<path>a\0b</path>\n<c>delete</c>\n</task>\n\
                 <task>\n<path>n.txt</path>\n<c>overwrite</c>\n<x>\na\0b\n</x>\n</task>\n\
                 <task>\n<c>exec</c>\n<x>echo a\0b</x>\n</task>\n\
                 <task>\n<path>n.txt</path>\n<c>move</c>\n<x>m\0</x>\n</task>\n";
    let run = project.clada_with(["run"], reply).exits(1);
    let results = run.results();
    let lines: Vec<&str> = results.lines().collect();
    assert!(
        lines[0].starts_with("1 ❌ delete a b - a path cannot hold a NUL"),
        "{results}"
    );
    assert!(lines[1].starts_with("2 ✅ overwrite n.txt"), "{results}");
    assert!(lines[2].starts_with("3 ❌ exec echo a b - "), "{results}");
    assert!(
        lines[3].starts_with("4 ❌ move n.txt → m  - ") || lines[3].contains("NUL"),
        "{results}"
    );
    assert_eq!(project.read("n.txt"), "a\0b\n");
}

#[test]
fn a_large_reply_is_read() {
    let project = Project::new();
    let mut reply = "a line of prose with a < b and c & d, as people write it\n".repeat(3_700_000);
    reply.push_str(GOOD);
    assert!(reply.len() > 200_000_000);
    project.write("reply", &reply);
    // Reading that costs more than its length would not end.
    project.clada(["run", "reply"]).exits(0);
    assert_eq!(project.read("a.txt"), "a\n");
}

/// In a container the session's leader, and a parent, may live outside, where they have no number.
#[test]
fn in_a_container_without_a_session_of_its_own() {
    let project = Project::new();
    let contained = |program: &str| {
        let mut command = project.command("unshare");
        command.args([
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
            program,
        ]);
        command
    };
    let can = contained("true").output();
    if !can.is_ok_and(|output| output.status.success()) {
        skip("no container can be made here");
        return;
    }
    let script = "sleep 300 & setsid sleep 300 & echo done";
    project.write(
        "reply.md",
        format!("<task>\n<c>exec</c>\n<x>{script}</x>\n</task>\n"),
    );
    let mut clada = contained(env!("CARGO_BIN_EXE_clada"));
    let run = Ended::new(clada.args(["run", "reply.md"]).output().expect("unshare")).exits(0);
    assert!(run.out.contains("2 processes"), "{}", run.out);
}

#[test]
fn a_misspelt_command_is_no_notes_file() {
    let project = Project::new();
    for (given, meant) in [
        ("aprove", "approve"),
        ("docter", "doctor"),
        ("lgo", "log"),
        ("settings", "help settings"),
    ] {
        let said = project.clada([given]).exits(2).err;
        assert!(
            said.contains(&format!("`{given}` is neither a command nor a file: did you mean `clada {meant}`? (`clada watch {given}` creates the file)")),
            "{said}"
        );
        assert!(!project.exists(given));
    }
}

#[test]
fn a_check_lists_the_tasks_with_their_lines() {
    let project = Project::new();
    let wrong = "<task>\n<path>b.txt</path>\n<c>overwrite</c>\n</task>\n";
    let reply = format!("prose\n{GOOD}{FAILING}more\n{wrong}");
    let checked = project.clada_with(["check"], &reply).exits(1);
    let lines: Vec<&str> = checked.out.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "1 overwrite a.txt (lines 2-8)",
            "2 delete missing (lines 9-12)",
            "3 overwrite (lines 14-17)",
        ],
        "{}",
        checked.out
    );
    assert!(lines[3].starts_with("line 1"), "{}", checked.out);
    assert_eq!(lines.last(), Some(&"3 tasks, 1 problem"));
    let json = project.clada_with(["check", "--json"], &reply).json();
    assert_eq!(
        json["tasks"][1],
        json!({ "number": 2, "command": "delete", "target": "missing", "firstLine": 9, "lastLine": 12 })
    );
}

#[test]
fn check_says_whose_key_a_reply_has() {
    let project = Project::new();
    project.write("clada.md", "");
    let taught = project.clada(["instructions"]).exits(0).out;
    let start = taught.find("key=\"").expect("a key") + "key=\"".len();
    let key = &taught[start..start + 5];
    let other = if key == "aaaaa" { "bbbbb" } else { "aaaaa" };
    let batch = |key: &str| {
        let task = "<task><path>a</path><c>delete</c></task>\n";
        format!("<tasks key=\"{key}\">\n{task}</tasks>\n")
    };
    let (own, notes) = (batch(key), project.path("clada.md").display().to_string());
    let lone = "<task><path>b</path><c>delete</c></task>\n";
    let ignored = ", so clada ignores this reply on the clipboard";
    let example = format!(
        "<tasks key=\"{key}\">\n<task><path>src/dead.py</path><c>delete</c></task>\n</tasks>\n"
    );
    for (reply, known, word, said) in [
        (
            own.clone(),
            Some(key),
            "counts",
            format!("key {key}: this reply counts from the clipboard for {notes}"),
        ),
        (
            batch(other),
            Some(other),
            "unknown-key",
            format!(
                "key {other}: no notes file has this key{ignored}: run `clada instructions` for the key of this folder"
            ),
        ),
        (
            format!("```xml\n{own}"),
            Some(key),
            "cut-off",
            format!("key {key}: this reply is cut off{ignored}: copy it again"),
        ),
        (
            format!("```xml\n{own}{}", batch(other)),
            None,
            "cut-off",
            format!("this reply is cut off{ignored}: copy it again"),
        ),
        (
            format!("{own}{}", batch(other)),
            None,
            "mixed",
            format!("the batches have several keys{ignored}: copy one reply at a time"),
        ),
        (
            format!("{own}{lone}"),
            None,
            "no-key",
            format!(
                "a batch has no key{ignored}: `clada instructions` prints where the key belongs"
            ),
        ),
        (
            example,
            None,
            "example",
            format!("these are the examples of the instructions{ignored}"),
        ),
    ] {
        let checked = project.clada_with(["check"], &reply).exits(0).out;
        assert_eq!(checked.lines().last(), Some(&*said), "{reply}");
        let json = project
            .clada_with(["check", "--json"], &reply)
            .exits(0)
            .json();
        assert_eq!(
            (&json["key"], &json["clipboard"]),
            (&json!(known), &json!(word))
        );
    }
    // Who never heard of keys reads nothing of them.
    let checked = project.clada_with(["check"], lone).exits(0).out;
    assert_eq!(checked.lines().last(), Some("1 task, 0 problems"));
    let json = project
        .clada_with(["check", "--json"], lone)
        .exits(0)
        .json();
    assert_eq!(
        (&json["key"], &json["clipboard"]),
        (&json!(null), &json!("no-key"))
    );
}
