//! What the first clada's listener was pinned to: its notes, and what it made of them.

use super::{NOTES, Notes, OUTPUT, listen, save, wait_for_results};
use crate::harness::{Project, wait_until};

/// What a listener makes of notes, in which `ROOT` is the project: the results, and the output file behind its first line.
/// `last` is in the last line of the results that tells of a block.
fn made_of(body: &str, last: &str) -> (Project, Vec<String>, String) {
    let project = Project::new();
    let root = project.root().display().to_string();
    let listener = listen(&project);
    let body = body.replace("ROOT", &root);
    save(&project, &body);
    let notes = wait_for_results(&project, last);
    assert_eq!(notes.body, body);
    let output = || project.read(OUTPUT);
    wait_until(
        || project.exists(OUTPUT) && output().ends_with("=== END ===\n"),
        output,
    );
    // Where commands cannot be fenced in.
    let is_of_system = |line: &str| line.starts_with("⚠ exec is not fenced");
    let lines = notes.tasks().into_iter().filter(|line| !is_of_system(line));
    let results = lines.map(|line| line.replace(&root, "ROOT")).collect();
    let text = output().replace(&root, "ROOT");
    let text = text.lines().filter(|line| !is_of_system(line));
    let text: String = text.map(|line| format!("{line}\n")).collect();
    drop(listener);
    let at = text.find("=== CLADA RESULTS ===").expect("results");
    (project, results, text[at..].to_owned())
}

#[test]
fn a_file_is_written_and_the_notes_stay_below_the_results() {
    let notes = "# My Document\n\nSome content here.\n\n```sh sham\n#!SHAM [@three-char-SHA-256: abc]\n\
                 action = \"file_write\"\npath = \"ROOT/output.txt\"\ncontent = \"Hello from listener!\"\n\
                 #!END_SHAM_abc\n```\n";
    let (project, results, output) = made_of(notes, "abc ");
    assert_eq!(
        results,
        ["abc ✅ file_write ROOT/output.txt", "read as SHAM"]
    );
    assert_eq!(
        output,
        "=== CLADA RESULTS ===\nabc ✅ file_write ROOT/output.txt\nread as SHAM\n=== END ===\n\n\
         === OUTPUTS ===\n=== END ===\n"
    );
    assert_eq!(project.read("output.txt"), "Hello from listener!");
}

#[test]
fn several_blocks_have_a_line_each_and_what_they_wrote_is_in_the_output_file() {
    let notes = "```sh sham\n#!SHAM [@three-char-SHA-256: wr1]\naction = \"file_write\"\npath = \"ROOT/file1.txt\"\n\
                 content = \"First file\"\n#!END_SHAM_wr1\n```\n\n```sh sham\n#!SHAM [@three-char-SHA-256: rd1]\n\
                 action = \"file_read\"\npath = \"ROOT/missing.txt\"\n#!END_SHAM_rd1\n```\n\n```sh sham\n\
                 #!SHAM [@three-char-SHA-256: ex1]\naction = \"exec\"\nlang = \"bash\"\n\
                 code = \"echo 'Hello world'\"\n#!END_SHAM_ex1\n```\n";
    let (_project, results, output) = made_of(notes, "ex1 ✅");
    let lines = [
        "wr1 ✅ file_write ROOT/file1.txt",
        "rd1 ❌ file_read ROOT/missing.txt - File not found",
        "ex1 ✅ exec bash",
        "read as SHAM",
    ];
    assert_eq!(results, lines);
    assert_eq!(
        output,
        format!(
            "=== CLADA RESULTS ===\n{}\n=== END ===\n\n=== OUTPUTS ===\n\n[ex1] exec bash:\nstdout:\nHello world\n\
             === END ===\n",
            lines.join("\n")
        )
    );
}

#[test]
fn a_block_with_an_error_is_not_run() {
    let notes = "```sh sham\n#!SHAM [@three-char-SHA-256: bad]\naction = \"file_write\"\npath = \"ROOT/test.txt\"\n\
                 content = \"missing closing quote\n#!END_SHAM_bad\n```\n";
    let (project, results, _) = made_of(notes, "bad ❌");
    let line = "bad ❌ file_write ERROR: Unclosed quoted string (line 2)";
    assert_eq!(results, [line, "read as SHAM"]);
    assert!(!project.exists("test.txt"));
}

/// Nobody meant a block, and the prose behind its header is none of its mistakes.
#[test]
fn a_header_in_prose_says_how_it_is_ended_and_little_more() {
    let prose: String = (1..60)
        .map(|n| format!("In step {n}, x{n} = {n}.\nAnd so on.\n"))
        .collect();
    let notes =
        format!("A block begins with\n#!SHAM [@three-char-SHA-256: abc]\nand so on.\n{prose}");
    let (project, results, _) = made_of(&notes, "abc ❌");
    assert!(Notes::parse(&project.read(NOTES)).is_some());
    assert_eq!(
        results,
        [
            "abc ❌ -          ERROR: 120 syntax errors (line 2)",
            "                    - Block 'abc' not closed before EOF: end it with `#!END_SHAM_abc` alone on its line, \
             or leave the header out",
            "                    - Invalid line format in block 'abc': not a valid key-value assignment or empty line \
             (60 occurrences)",
            "                    - Value must be a quoted string or heredoc (59 occurrences)",
        ]
    );
}
