//! Outputs that come faster than anybody reads, in the output file of a listener.
//!
//! How much of one is shown as it comes depends on how fast this machine is just now; what the file holds in the end does not.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use rustix::process::Signal;

use super::{NOTES, OUTPUT, exec, exec_task, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

/// Some 31 MB.
const LAST: usize = 4_000_000;

/// The line above results that were not read yet.
const TITLE: &str = "\n--- 10:32:40 ---\n";

fn numbers(last: usize) -> String {
    (1..=last).map(|number| format!("{number}\n")).collect()
}

/// The outputs in the output file, without the random words and the blanks in the lines around long ones.
fn outputs(project: &Project) -> String {
    let text = project.read(OUTPUT);
    let (_, outputs) = text.split_once("\n=== OUTPUTS ===\n").expect("outputs");
    let lines = outputs.split_inclusive('\n');
    let lines = lines.map(|line| match line.strip_prefix("<!-- clada:") {
        Some(switch) => &switch[..switch.find(' ').expect("a word")],
        None => line,
    });
    lines.collect()
}

#[test]
fn all_of_each_is_in_the_file() {
    let project = Project::new();
    project.configure("[exec]\ntimeout = '5m'\n");
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    let one = format!(
        "echo early; echo before >&2; seq {LAST}; printf '=== END ===\\n1 ✅ exec\\nlast'; echo behind >&2"
    );
    let two = "seq 99999; exit 7";
    let three = "echo small";
    // Their results are shown below those of the next reply.
    let tasks = [&*one, two, three].map(exec_task).concat();
    save_by_rename(
        &project.path(NOTES),
        format!("<tasks keep-going=\"true\">\n{tasks}</tasks>\n"),
    );
    wait_for_results(&project, "3 ✅");
    let (numbers, fewer) = (numbers(LAST), numbers(99_999));
    let first = format!(
        "\n[1] exec {one}:\nstdout:\noffearly\n{numbers}  === END ===\n  1 ✅ exec\nlast\nonstderr:\nbefore\nbehind\n"
    );
    let rest = format!(
        "\n[2] exec {two} (failed):\nstdout:\noff{fewer}on\n[3] exec echo small:\nstdout:\nsmall\n=== END ===\n"
    );
    let found = outputs(&project);
    assert!(found == first.clone() + &rest, "{} bytes", found.len());
    let inode = |name| fs::metadata(project.path(name)).expect("metadata").ino();
    let file = inode(OUTPUT);

    // What was not read yet stands below what is new.
    let mut earlier = first + &rest;
    for (script, said) in [
        ("echo one".to_owned(), "one\n".to_owned()),
        (format!("seq {LAST}"), format!("off{numbers}on")),
    ] {
        save_by_rename(&project.path(NOTES), exec(&script));
        wait_for_results(&project, &format!("1 ✅ exec {script}"));
        let own = format!("\n[1] exec {script}:\nstdout:\n{said}");
        let found = outputs(&project);
        assert!(found.starts_with(&own), "{} bytes", found.len());
        let (time, below) = found[own.len()..].split_at(TITLE.len());
        assert!(
            time.starts_with("\n--- ") && time.ends_with(" ---\n"),
            "{time}"
        );
        assert!(below == earlier, "{} bytes", below.len());
        earlier = found;
    }
    assert_eq!(inode(OUTPUT), file, "`tail -f` goes on following it");
    drop(watching);
}

#[test]
fn what_comes_behind_one_is_seen_at_once() {
    let project = Project::new();
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    let script = format!("seq {LAST}; echo slow; until [ -e go ]; do sleep 0.01; done; echo end");
    save_by_rename(&project.path(NOTES), exec(&script));
    let ends_with = |end: &str| {
        let mut file = File::open(project.path(OUTPUT)).ok()?;
        file.seek(SeekFrom::End(-(end.len() as i64))).ok()?;
        let mut last = String::new();
        file.read_to_string(&mut last).ok()?;
        Some(last == end)
    };
    let is_there = || ends_with("\nslow\n") == Some(true);
    wait_until(is_there, || watching.said());
    project.write("go", "");
    wait_for_results(&project, "1 ✅");
    let numbers = numbers(LAST);
    let expected = format!("\n[1] exec {script}:\nstdout:\noff{numbers}slow\nend\non=== END ===\n");
    assert!(outputs(&project) == expected);
}

#[test]
fn clada_is_killed_in_one() {
    let project = Project::new();
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    save_by_rename(
        &project.path(NOTES),
        exec(&format!("seq {LAST}; sleep 300")),
    );
    let has_begun = || fs::metadata(project.path(OUTPUT)).is_ok_and(|file| file.len() > 15_000_000);
    wait_until(has_begun, || watching.said());
    watching.stop(Signal::KILL);
    let _watching = project.watch(["--no-git", "--no-clipboard"]);
    wait_for_results(&project, "1 ⚠");
    let text = project.read(OUTPUT);
    let numbers = text.lines().filter_map(|line| line.parse().ok());
    let numbers: Vec<usize> = numbers.collect();
    assert!(numbers.len() > 50_000, "{}", numbers.len());
    // The first may be cut through. And where it was killed while the output moved to its place, 4 KB are missing in the middle.
    let falls = numbers.windows(2).filter(|pair| pair[0] > pair[1]);
    assert!(falls.count() <= 3, "the numbers are in order");
}
