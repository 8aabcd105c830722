//! An editor and clada write the same notes at the same time: no line of the editor's is lost, and no task runs twice.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{NOTES, Notes, exec, lines};
use crate::harness::{Project, save_by_rename, wait_until};

/// One save in so many brings a task, whose results clada writes while the saves go on.
const TASK_EVERY: usize = 20;

/// Somebody who saves all the time, in one way after the other, and puts a line at the end each time.
struct Editor<'p> {
    project: &'p Project,
    /// All that it has written. Nobody else adds to it: results are above it.
    body: String,
    /// How often the file was for a moment the one from before the last save.
    looked_again: usize,
}

impl Editor<'_> {
    /// What is in the file, the results too. While clada merges a save into its results the file is, for less than a
    /// millisecond, that from before this save. A person's editor has its own text then, and not that one: so this looks
    /// again until all that it has saved is there. If it does not come back, it is lost.
    fn read(&mut self) -> String {
        let mut text = String::new();
        let mut looks = 0;
        let path = self.project.path(NOTES);
        wait_until(
            || {
                looks += 1;
                text = fs::read_to_string(&path).unwrap_or_default();
                text.ends_with(&self.body)
            },
            || format!("{:?} at the end of the notes", self.body.lines().last()),
        );
        self.looked_again += usize::from(looks > 1);
        text
    }

    fn add(&mut self, number: usize, addition: &str) {
        let text = self.read() + addition;
        self.body += addition;
        let path = self.project.path(NOTES);
        match number % 3 {
            0 => fs::write(path, text).expect("write"),
            1 => save_by_rename(&path, text),
            _ => {
                fs::rename(&path, self.project.path("clada.md~")).expect("rename");
                fs::write(path, text).expect("write");
            }
        }
    }
}

/// What came of a race, beside that nothing was lost.
#[derive(Debug)]
#[expect(dead_code, reason = "it is printed")]
struct Figures {
    saves: usize,
    runs: usize,
    looked_again: usize,
    kept_beside: usize,
    took: Duration,
}

fn race(saves: usize) -> Figures {
    let project = Project::new();
    project.write(NOTES, "notes\n");
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    let start = Instant::now();
    let mut editor = Editor {
        project: &project,
        body: "notes\n".to_owned(),
        looked_again: 0,
    };
    let mut runs = Vec::new();
    for number in 1..=saves {
        let mut addition = format!("line {number}\n");
        if number % TASK_EVERY == 0 {
            addition += &exec(&format!("echo {number} >> runs.txt"));
            runs.push(number.to_string());
        }
        editor.add(number, &addition);
        // From at once to longer than a write-back takes, so that saves meet each step of it.
        if number % 2 == 0 {
            std::thread::sleep(Duration::from_micros(number as u64 * 997 % 8_000));
        }
    }
    // What was written over by a later save were blocks only. This one stays.
    editor.add(0, &exec("echo last >> runs.txt"));
    runs.push("last".to_owned());
    let written = || editor.read().contains("✅ exec echo last >> runs.txt\n");
    wait_until(written, || "the last results".to_owned());
    let took = start.elapsed();
    watching.until_it_looked(&project.path(NOTES));
    let there = Notes::of(&project).body;
    let mut both = there.lines().zip(editor.body.lines());
    assert!(
        there == editor.body,
        "{} bytes for {}, and the first difference is {:?}",
        there.len(),
        editor.body.len(),
        both.find(|(there, saved)| there != saved)
    );
    assert_eq!(lines(&project, "runs.txt"), runs);
    Figures {
        saves,
        runs: runs.len(),
        looked_again: editor.looked_again,
        kept_beside: kept_beside(&project, &editor.body, &watching.said()).len(),
        took,
    }
}

/// The saves that clada kept beside the notes. The lines of each must be in the notes, or the person must have been told.
fn kept_beside(project: &Project, body: &str, said: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.root()).expect("read dir");
    let paths = entries.map(|entry| entry.expect("entry").path());
    let of_clada = |path: &PathBuf| {
        let name = path.file_name().expect("name").to_string_lossy();
        assert!(!name.starts_with(".clada-tmp-"), "{name}");
        name.starts_with(".clada-saved-")
    };
    let kept: Vec<PathBuf> = paths.filter(of_clada).collect();
    for path in &kept {
        let text = fs::read_to_string(path).expect("read");
        let text = Notes::parse(&text).map_or(text, |notes| notes.body);
        let told = said.contains(&path.display().to_string());
        assert!(told || body.starts_with(&text), "{}", path.display());
    }
    kept
}

#[test]
fn no_save_is_lost_while_results_are_written() {
    race(300);
}

/// `cargo test --test it no_save_is_lost_in_a_long_race -- --ignored --nocapture`
#[test]
#[ignore = "takes a quarter of a minute"]
fn no_save_is_lost_in_a_long_race() {
    eprintln!("{:?}", race(5_000));
}
