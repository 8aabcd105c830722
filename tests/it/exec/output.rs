//! What a command has written: whole in the output file, its ends in JSON, as plain text in both, and never without limit.

use std::fmt::Write as _;

use super::{clada, reply, run};
use crate::daemon::{NOTES, OUTPUT, exec, wait_for_results};
use crate::harness::{Ended, Project, save_by_rename};

/// How much of each end is shown where not all of it is.
const EDGE: usize = 25 * 1024;

fn json_of(project: &Project, script: &str) -> String {
    let run = clada(project, &["run", "--no-git", "--json"], &[]);
    let run = Ended::of(run, &reply(&[script])).exits(0).json();
    let out = &run["results"][0]["data"]["stdout"];
    out.as_str().expect("stdout").to_owned()
}

/// What the output file has of the stdout of its only task.
fn in_the_file(project: &Project) -> String {
    let file = project.read(OUTPUT);
    let (_, out) = file.split_once("\nstdout:\n").expect("stdout");
    let out = out.strip_suffix("=== END ===\n").expect("the end");
    // A long one is fenced, a short one only where there is need.
    let fenced = out.strip_prefix("<!-- clada:off ").map(|out| {
        let (_, out) = out.split_once("-->\n").expect("a fence");
        &out[..out.rfind("<!-- clada:on ").expect("its end")]
    });
    fenced.unwrap_or(out).to_owned()
}

#[test]
fn of_many_lines_the_file_has_all_and_json_both_ends() {
    let project = Project::new();
    let mut lines = String::new();
    for number in 1..=52_000 {
        writeln!(lines, "{number}").unwrap();
    }
    assert!(lines.len() > 300_000);
    let out = json_of(&project, "seq 52000");
    let left_out = lines.len() - 2 * EDGE;
    let expect = format!(
        "{}\n… {left_out} bytes left out here, all of it is in the output of `clada run` without `--json` …\n{}",
        &lines[..EDGE],
        &lines[lines.len() - EDGE..]
    );
    assert!(out == expect, "{} bytes: {}…", out.len(), &out[..99]);
    // As it says.
    let all = run(&project, &[], &["seq 52000"]).exits(0);
    assert!(all.out.contains(&lines));

    let _watching = project.watch(["--no-git", "--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec("seq 52000"));
    wait_for_results(&project, "1 ✅ exec seq 52000");
    assert!(in_the_file(&project) == lines);
}

#[test]
fn characters_are_not_cut() {
    let project = Project::new();
    // Neither edge is a multiple of three.
    let out = json_of(
        &project,
        "printf x; for i in {1..20000}; do printf 日; done",
    );
    let (head, rest) = out.split_once("\n… ").expect("a cut");
    let (told, tail) = rest.split_once(" …\n").expect("its end");
    let left_out: usize = told.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(head.len() + left_out + tail.len(), 60_001);
    for end in [head, tail] {
        assert!((EDGE - 2..=EDGE).contains(&end.len()), "{}", end.len());
        let others = end.trim_matches('日');
        assert!(others.is_empty() || others.starts_with('x'), "{others:?}");
    }
}

#[test]
fn what_is_meant_for_a_terminal_becomes_plain_text() {
    let project = Project::new();
    let script = r"
printf '\033[1;31mred\033[0m and \033[38;5;208morange\033[m\n'
printf '\033]0;a title\007behind the title\n'
printf '\033]8;;https://example.org\033\\a link\033]8;;\033\\\n'
for part in 10 55 100; do printf '\r\033[K%3d %% done' $part; done; printf '\n'
printf 'invalid \377\376 bytes, a NUL\000, a bell\007\n'
printf 'DOS\r\n\tand no end of line'
";
    let expect = "red and orange\nbehind the title\na link\n100 % done\n\
                  invalid \u{fffd}\u{fffd} bytes, a NUL, a bell\nDOS\n\tand no end of line";
    assert_eq!(json_of(&project, script), expect);
    let ended = run(&project, &[], &[script]).exits(0);
    for line in expect.lines() {
        assert!(
            ended.err.contains(&format!("  │ {line}\n")),
            "{}",
            ended.err
        );
    }
    let _watching = project.watch(["--no-git", "--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec(script));
    wait_for_results(&project, "1 ✅ exec printf");
    assert_eq!(in_the_file(&project), format!("{expect}\n"));
}

#[test]
fn who_never_stops_writing_is_ended_and_what_was_within_the_limit_is_there() {
    let project = Project::new();
    project.configure("[limits]\noutput = '1 MiB'\n");
    let _watching = project.watch(["--no-git", "--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec("echo $$ > pid; yes"));
    let notes = wait_for_results(&project, "1 ❌");
    assert_eq!(
        notes.results[..1],
        [
            "1 ❌ exec echo $$ > pid; yes - stopped at 1 MiB of output (`limits.output`): write it to a file instead"
        ]
    );
    let out = in_the_file(&project);
    assert_eq!(out.len(), 1024 * 1024);
    assert!(out == "y\n".repeat(512 * 1024));
    super::all_over(&project, &["pid"]);
    // Both streams together. The script stands twice in what is printed.
    let script = "head -c 700000 /dev/zero | tr '\\0' Q; head -c 700000 /dev/zero | tr '\\0' Q >&2";
    let ended = run(&project, &[], &[script]).exits(1);
    assert!(ended.results().contains("stopped at 1 MiB of output"));
    assert_eq!(ended.out.matches('Q').count(), 1024 * 1024 + 4);
}
