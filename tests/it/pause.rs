//! `clada pause` and `clada resume`.

use std::fs;
use std::path::PathBuf;

use crate::harness::{Ended, Project, wait_until};

const UNTIL_RESUME: &str =
    "paused: clada takes no reply from the clipboard until you run `clada resume`\n";
const OFF: &str = "the clipboard is watched only if you set `clipboard.watch = true` in your settings, or with `clada watch --from-clipboard`\n";

fn file(project: &Project) -> PathBuf {
    project.state_folder().join("pause.json")
}

#[test]
fn a_pause_lasts_until_resume() {
    let project = Project::new();
    project.configure("[clipboard]\nwatch = true\n");
    let say = |words: &str| {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(words.split(' '));
        Ended::of(command, "").exits(0).out
    };
    assert_eq!(say("resume"), "nothing was paused\n");
    assert_eq!(say("pause"), UNTIL_RESUME);
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(file(&project)).expect("file")).expect("JSON");
    assert_eq!(kept["until_ms"], serde_json::Value::Null);
    let said = say("resume");
    assert!(
        said.starts_with("resumed: the watching of the clipboard was paused since "),
        "{said}"
    );
    assert!(!file(&project).exists());
    let said = say("pause 30m");
    let said = said.strip_prefix("paused: clada takes no reply from the clipboard until ");
    let until = said.and_then(|said| said.strip_suffix("; `clada resume` ends the pause\n"));
    assert!(until.is_some_and(|until| until.contains(':')), "{said:?}");
    // Another one takes its place.
    assert_eq!(say("pause"), UNTIL_RESUME);
    // One that is over.
    say("pause 1ms");
    wait_until(
        || say("resume") == "nothing was paused\n",
        || "the end of a pause".to_owned(),
    );
    assert!(!file(&project).exists());
    // No end that a clock could tell.
    assert_eq!(say("pause 9999999999h"), UNTIL_RESUME);
}

#[test]
fn a_pause_that_clada_made_stays_until_resume() {
    let project = Project::new();
    project.configure("[clipboard]\nwatch = true\n");
    project.clada(["pause"]).exits(0);
    let own = "{\"since_ms\": 1000, \"until_ms\": null, \"why\": \"ten texts came\"}";
    fs::write(file(&project), own).expect("write");
    let said = project.clada(["pause", "1ms"]).exits(0).out;
    assert_eq!(
        said,
        "already paused until you run `clada resume`: ten texts came\n"
    );
    let said = project.clada(["resume"]).exits(0).out;
    assert_eq!(
        said,
        "resumed: the watching of the clipboard was paused since 1970-01-01 00:00, because ten texts came\n"
    );
}

#[test]
fn where_nothing_watches_the_clipboard_they_say_how_it_is_turned_on() {
    let project = Project::new();
    assert_eq!(
        project.clada(["pause"]).exits(0).out,
        format!("{UNTIL_RESUME}{OFF}")
    );
    let said = project.clada(["resume"]).exits(0).out;
    assert!(said.ends_with(OFF), "{said}");
    project.configure("[clipboard]\nwatch = true\n");
    assert_eq!(project.clada(["pause"]).exits(0).out, UNTIL_RESUME);
}

#[test]
fn wrong_words_are_refused() {
    let project = Project::new();
    let wrong = project.clada(["pause", "soon"]).exits(2).err;
    assert!(
        wrong.contains("it must be a number above 0 with ms, s, m or h, such as `90s`"),
        "{wrong}"
    );
    for command in ["pause", "resume"] {
        let mut inside = project.command(env!("CARGO_BIN_EXE_clada"));
        inside.arg(command).env("CLADA", "1");
        let refused = Ended::of(inside, "").exits(2).err;
        let said = format!("only you can run `clada {command}`");
        assert!(refused.contains(&said), "{refused}");
    }
    assert!(!file(&project).exists());
}
