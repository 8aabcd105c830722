//! The documents say what is true: each page of `docs/` is followed as a reader would. The README's tutorial is followed in
//! `first_day.rs`.

mod alike;
mod command_line;
mod follow;
mod page;
mod prose;

pub(crate) use prose::{LONGEST, long_sentences};

use clada::cli::topics::Topic;

use crate::cases;

/// The pages for those who make clada, or try it where no test runs. They are no topics of the help.
const FOR_BUILDERS: [&str; 2] = ["macos", "releasing"];

fn readme() -> String {
    std::fs::read_to_string(cases::root().join("README.md")).expect("README")
}

/// The fenced blocks of a section: language and text.
pub(crate) fn blocks(heading: &str) -> Vec<(String, String)> {
    let readme = readme();
    let section = readme
        .split(&format!("## {heading}\n"))
        .nth(1)
        .expect("section");
    let mut found = Vec::new();
    let mut lines = section.lines().take_while(|line| !line.starts_with("## "));
    while let Some(line) = lines.next() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        if ticks >= 3 && ticks < line.len() {
            let fence = &line[..ticks];
            let text: String = lines
                .by_ref()
                .take_while(|line| *line != fence)
                .map(|line| format!("{line}\n"))
                .collect();
            found.push((line[ticks..].to_owned(), text));
        }
    }
    found
}

/// The heading of a page of the manual.
pub(crate) fn title_of(topic: &Topic) -> &str {
    let first = topic.page.lines().next().expect("a line");
    first.strip_prefix("# ").expect("a heading")
}

/// Commits' names stand for any.
pub(crate) fn without_commits(text: &str) -> String {
    let is_commit = |word: &str| word.len() == 7 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let line = |line: &str| {
        line.split(' ')
            .map(|word| if is_commit(word) { "COMMIT" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

#[test]
fn ci_finds_the_readmes_test_command() {
    let start = blocks("Start");
    let command = start
        .iter()
        .flat_map(|(_, text)| text.lines())
        .find(|line| line.starts_with("cargo test"));
    assert!(command.is_some(), "the README's start lacks the tests");
    let ci = std::fs::read_to_string(cases::root().join(".ci/run")).expect(".ci/run");
    assert!(
        ci.contains("README.md")
            && ci.contains("clippy --all-targets -- -D warnings")
            && ci.contains("fmt --check")
    );
}

/// The page about commands says of each attempt to get out of the fence what the tests find.
#[test]
#[cfg(target_os = "linux")]
fn the_table_of_attempts_is_that_of_the_tests() {
    use crate::sandbox::{ATTEMPTS, HEAD};

    let page = std::fs::read_to_string(cases::root().join("docs/commands.md"));
    let page = page.expect("the page");
    let table = page.split_once(HEAD).expect("the table").1;
    let rows: Vec<&str> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .collect();
    let row = |attempt: &crate::sandbox::Attempt| {
        let [namespaces, landlock, neither] = attempt.held;
        let name = attempt.name;
        format!("| {name} | {namespaces} | {landlock} | {neither} |")
    };
    let expected: Vec<String> = ATTEMPTS.iter().map(row).collect();
    assert_eq!(rows, expected);
}
