//! `clada help`: of commands, and the pages of the manual as they are printed.

use clada::cli::topics::TOPICS;

use crate::docs::title_of;

use crate::harness::{Ended, Project, installed};

/// The widest that a page becomes.
const WIDEST: usize = 100;
/// What code has before it.
const CODE: &str = "      ";

#[test]
fn every_topic_prints_its_page() {
    let project = Project::new();
    for topic in TOPICS {
        let page = project.clada(["help", topic.name]).exits(0).out;
        assert_eq!(page.lines().next(), Some(title_of(topic)));
        let wrong = |line: &&str| {
            let is_code = line.starts_with(CODE);
            let has_markup = ["](", "<!-- run"].iter().any(|mark| line.contains(mark));
            !is_code && (has_markup || line.chars().count() > WIDEST)
        };
        let wrong: Vec<&str> = page.lines().filter(wrong).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", topic.name);
        // No character of it had to be written out.
        let written_out = |text: &str| text.matches("\\u{").count();
        assert_eq!(
            written_out(&page),
            written_out(topic.page),
            "{}",
            topic.name
        );
    }
}

#[test]
fn help_of_a_command_is_what_its_flag_prints() {
    let project = Project::new();
    let out = |ended: Ended| ended.exits(0).out;
    let undo = out(project.clada(["help", "undo"]));
    assert_eq!(undo, out(project.clada(["undo", "--help"])));
    assert!(undo.ends_with("See also: `clada help git`\n"), "{undo}");
    let install = out(project.clada(["help", "service", "install"]));
    assert_eq!(
        install,
        out(project.clada(["service", "install", "--help"]))
    );
    assert_eq!(install, out(project.clada(["service", "help", "install"])));
    let all = out(project.clada(["help"]));
    assert_eq!(all, out(project.clada(["--help"])));
    for topic in TOPICS {
        let line = format!("\n  {:<15}  {}\n", topic.name, topic.about);
        assert!(all.contains(&line), "{line} in {all}");
    }
}

#[test]
fn a_word_that_is_neither_command_nor_topic() {
    let project = Project::new();
    let wrong = project.clada(["help", "gti"]).exits(2);
    assert_eq!(wrong.out, "");
    assert!(
        wrong.err.contains("did you mean `clada help git`?"),
        "{}",
        wrong.err
    );
    let wrong = project.clada(["help", "squahs"]).exits(2).err;
    assert!(
        wrong.contains("did you mean `clada help squash`?"),
        "{wrong}"
    );
    let wrong = project.clada(["help", "weather"]).exits(2).err;
    let says = "no help on `weather`: name a command or one of these topics: guide, ";
    assert!(wrong.contains(says), "{wrong}");
    for topic in TOPICS {
        assert!(wrong.contains(topic.name), "{}: {wrong}", topic.name);
    }
    project.clada(["help", "git", "squash"]).exits(2);
    project.clada(["help", "service", "weather"]).exits(2);
}

/// No page is the help of a command.
#[test]
fn no_topic_is_a_command() {
    let commands = clada::cli::Cli::commands();
    for topic in TOPICS {
        assert!(
            !commands.iter().any(|command| command == topic.name),
            "{}",
            topic.name
        );
    }
}

#[test]
fn a_reader_may_stop_reading() {
    let project = Project::new();
    let mut bash = project.command("bash");
    let clada = env!("CARGO_BIN_EXE_clada");
    let script =
        "for n in $(seq 20); do \"$0\" help command-line | head -n 1; echo ${PIPESTATUS[0]}; done";
    bash.args(["-c", script, clada]);
    let ended = Ended::of(bash, "").exits(0);
    assert_eq!(
        (ended.out, ended.err),
        ("Command line\n0\n".repeat(20), String::new())
    );
}

#[test]
fn a_terminal_shows_headings_in_bold_and_text_in_its_width() {
    if !installed("script") {
        return;
    }
    let project = Project::new();
    let shown = |setup: &str| {
        let mut script = project.command("script");
        let clada = env!("CARGO_BIN_EXE_clada");
        let line = format!("stty cols 50; {setup} {clada} help git");
        script
            .env("TERM", "xterm")
            .args(["-qec", &line, "/dev/null"]);
        Ended::of(script, "").exits(0).out.replace('\r', "")
    };
    let page = shown("");
    let words: Vec<&str> = TOPICS
        .iter()
        .filter(|topic| topic.name == "git")
        .flat_map(|topic| title_of(topic).split(' '))
        .collect();
    let bold: Vec<String> = words
        .iter()
        .map(|word| format!("\u{1b}[1m{word}\u{1b}[22m"))
        .collect();
    assert!(page.starts_with(&bold.join(" ")), "{page}");
    let plain = shown("NO_COLOR=1");
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let wide = |line: &&str| line.chars().count() > 50 && !line.starts_with(CODE);
    let wide: Vec<&str> = plain.lines().filter(wide).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
