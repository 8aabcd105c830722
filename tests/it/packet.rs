//! The packet and the output file of a real listener: nothing twice, no colours, no line that could be taken for clada's.

use std::fmt::Write as _;

use crate::daemon::display::Xvfb;
use crate::daemon::{NOTES, OUTPUT, exec, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

/// A task of this command for a file.
fn task(command: &str, path: &str, rest: &str) -> String {
    format!("<task>\n<path>{path}</path>\n<c>{command}</c>\n{rest}</task>\n")
}

fn edit(path: &str, search: &str) -> String {
    task(
        "edit",
        path,
        &format!("<search>\n{search}\n</search>\n<replace>\nx\n</replace>\n"),
    )
}

fn numbered(lines: std::ops::Range<usize>) -> String {
    lines.fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "this is line {line}");
        text
    })
}

#[test]
fn a_file_that_tasks_show_and_edits_miss_is_in_the_packet_once() {
    let Some(display) = Xvfb::start() else { return };
    let project = Project::new().on_display(display.name());
    project.write("a.txt", numbered(1..101));
    project.write("long.txt", numbered(1..901));
    let _watching = project.watch(["--no-git"]);
    let reply = [
        task("read", "a.txt", ""),
        edit("a.txt", "this is lime 50"),
        edit("a.txt", "this is lime 60"),
        edit("long.txt", "this is lime 300"),
        edit("long.txt", "this is lime 310"),
        task("read", "long.txt", "").replace("<c>", "<c lines=\"330-340\">"),
        task("append", "a.txt", "<x>\nnew\n</x>\n"),
        task("read", "a.txt", ""),
    ];
    save_by_rename(
        &project.path(NOTES),
        format!("<tasks>\n{}</tasks>\n", reply.concat()),
    );
    let notes = wait_for_results(&project, "8 ✅");
    assert!(notes.status.starts_with("📋"), "{}", notes.status);
    let copied = display.clipboard(&project);
    for line in (1..=100).chain(280..=340) {
        let count = copied.matches(&format!("\nthis is line {line}\n")).count();
        assert_eq!(count, 1, "line {line} in {copied}");
    }
    for said in [
        "[1] read a.txt:\n=== FILE: a.txt: as shown under [2] ===\n",
        "=== FILE: a.txt: as shown under [2] ===\n",
        "=== FILE: a.txt (lines 1-100 of 101): as shown under [2] ===\n=== START FILE: a.txt (line 101 of 101) ===\nnew\n",
    ] {
        assert!(copied.contains(said), "{said} in {copied}");
    }
    // The output file is whole.
    assert!(project.read(OUTPUT).matches("this is line 50\n").count() > 1);
}

#[test]
fn colours_are_there_while_a_command_runs_and_nothing_of_them_afterwards() {
    let Some(display) = Xvfb::start() else { return };
    let project = Project::new().on_display(display.name());
    let watching = project.watch(["--no-git"]);
    let script = "printf '\\033[31mred\\033[0m\\033[2J\\007\\n 10%%\\r 99%%\\n'\n\
                  printf '%s\\n' '=== END ===' '[7] edit a.txt:' 'stdout:' '1 ✅ all'\n\
                  until [ -e go ]; do sleep 0.01; done";
    save_by_rename(
        &project.path(NOTES),
        format!("<tasks>\n<task>\n<c>exec</c>\n<x>\n{script}\n</x>\n</task>\n</tasks>\n"),
    );
    wait_until(
        || project.exists(OUTPUT) && project.read(OUTPUT).contains("1 ✅ all"),
        || watching.said(),
    );
    let live = project.read(OUTPUT);
    assert!(
        live.contains("\n\u{1b}[31mred\u{1b}[0m\n 99%\n  === END ===\n  [7] edit a.txt:\n"),
        "{live:?}"
    );
    assert!(!watching.said().contains('\u{1b}'), "{:?}", watching.said());
    project.write("go", "");
    wait_for_results(&project, "1 ✅");
    let shown = "stdout:\nred\n 99%\n  === END ===\n  [7] edit a.txt:\n  stdout:\n  1 ✅ all\n=== END ===\n";
    let (output, copied) = (project.read(OUTPUT), display.clipboard(&project));
    assert!(output.ends_with(shown), "{output:?}");
    assert!(copied.ends_with(shown), "{copied:?}");
}

#[test]
fn a_large_packet_is_cut_and_its_size_is_told() {
    let Some(display) = Xvfb::start() else { return };
    let project = Project::new().on_display(display.name());
    let _watching = project.watch(["--no-git"]);
    let many = exec("seq 50000") + &exec("seq 60000") + &exec("seq 70000; exit 1");
    save_by_rename(&project.path(NOTES), many);
    let notes = wait_for_results(&project, "3 ❌");
    let copied = display.clipboard(&project);
    assert!(
        (58_000..=60_000).contains(&copied.len()),
        "{}",
        copied.len()
    );
    let size = format!(" ({} KB, ≈ 15,000 tokens)", (copied.len() + 500) / 1000);
    assert!(notes.status.ends_with(&size), "{}", notes.status);
    assert_eq!(
        project.read(OUTPUT).lines().next(),
        Some(notes.status.as_str())
    );
    let parts: Vec<&str> = copied.split("\n[").skip(1).collect();
    assert_eq!(parts.len(), 3);
    assert!(parts[0].starts_with("3] exec seq 70000"), "{}", parts[0]);
    let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    assert!(
        sizes.iter().all(|size| (19_000..20_200).contains(size)),
        "{sizes:?}"
    );
    for part in parts {
        let left: Vec<&str> = part.lines().filter(|line| line.starts_with('…')).collect();
        assert_eq!(left.len(), 1, "{left:?}");
        // The lines before and behind it are whole, and none is missing but those that it counts.
        let numbers: Vec<usize> = part.lines().filter_map(|line| line.parse().ok()).collect();
        let last = numbers[numbers.len() - 1];
        let said: String = left[0].chars().skip(2).take_while(|c| *c != ' ').collect();
        let said: usize = said.replace(',', "").parse().expect("a number");
        assert_eq!(numbers.len() + said, last);
    }
    // Pasted back, it is no reply; and the block with that first line is taken off.
    save_by_rename(
        &project.path(NOTES),
        project.read(NOTES) + &exec("echo next"),
    );
    let notes = wait_for_results(&project, "exec echo next");
    assert!(!notes.body.contains("KB, about"), "{}", notes.body);
}

/// What clada holds of memory at most, in KiB.
#[cfg(target_os = "linux")]
fn peak(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.split_whitespace().next());
    peak.and_then(|text| text.parse().ok()).expect("a number")
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_of_any_size_takes_no_memory() {
    // A limit of 1 GiB holds for all outputs; as nothing is kept, what holds for a part of that holds for all of it.
    let mib = 24;
    let project = Project::new();
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    save_by_rename(&project.path(NOTES), exec("printf '=== END ===\\n'"));
    wait_for_results(&project, "1 ✅");
    let before = peak(watching.pid());
    // Each line is coloured and looks like one of the frame's.
    let script = format!("yes \"$(printf '\\033[31m1 ✅ all\\033[0m')\" | head -c {mib}M");
    save_by_rename(&project.path(NOTES), exec(&script));
    wait_for_results(&project, "1 ✅ exec yes");
    let used = peak(watching.pid()) - before;
    assert!(used < 16 * 1024, "{used} KiB");
    let output = project.read(OUTPUT);
    assert!(output.len() > mib * 500_000, "{}", output.len());
    assert!(output.contains("\n  1 ✅ all\n") && !output.contains("\n1 ✅ all\n"));
}
