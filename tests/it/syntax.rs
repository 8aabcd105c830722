//! The process that parses code: what it may do, and what becomes of clada where it hangs, crashes or talks nonsense.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clada::code::CodeLanguage;
use clada::world::syntax::{CodeError, Syntax};

/// clada itself, as a process that parses.
fn real() -> Syntax {
    Syntax::with(env!("CARGO_BIN_EXE_clada").into())
}

/// A program that does something else instead.
fn fake(folder: &Path, script: &str) -> Syntax {
    let program = folder.join("parser");
    fs::write(&program, format!("#!/bin/bash\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    Syntax::with(program)
}

const LANGUAGE: CodeLanguage = CodeLanguage::Markdown;
const TEXT: &str = "# One\n\n## Two\n";

#[test]
fn it_parses_one_text_after_the_other_and_rests() {
    let syntax = real();
    for _ in 0..3 {
        for _ in 0..3 {
            let outline = syntax.outline(LANGUAGE, TEXT).unwrap();
            assert_eq!(outline.definitions.len(), 2);
        }
        syntax.rest();
    }
}

#[test]
fn what_crashes_hangs_or_lies_is_an_error_and_the_next_text_is_parsed() {
    let folder = tempfile::tempdir().unwrap();
    let failed = |script: &str| {
        let error = fake(folder.path(), script)
            .outline(LANGUAGE, TEXT)
            .unwrap_err();
        error.to_string()
    };
    for script in [
        "kill -SEGV $$",
        "exit 0",
        "head -c 4; kill -9 $$",
        "head -c 8; printf x",
    ] {
        assert_eq!(
            failed(script),
            "its grammar fails on it (its process ended)",
            "{script}"
        );
    }
    assert_eq!(failed("yes"), "its grammar fails on it (its process ended)");
    assert_eq!(failed("exec sleep 600"), "it takes too long to parse");
    let missing = Syntax::with(folder.path().join("nothing")).outline(LANGUAGE, TEXT);
    let missing = missing.unwrap_err().to_string();
    let said = "the process that parses cannot be started (No such file or directory (os error 2))";
    assert_eq!(missing, said);
    // The same handle goes on with another process.
    let once = folder.path().join("once");
    let clada = env!("CARGO_BIN_EXE_clada");
    let script = format!(
        "mkdir {} 2> /dev/null && kill -9 $$; exec {clada} \"$@\"",
        once.display()
    );
    let syntax = fake(folder.path(), &script);
    assert!(matches!(
        syntax.outline(LANGUAGE, TEXT),
        Err(CodeError::Failed(_))
    ));
    assert_eq!(syntax.outline(LANGUAGE, TEXT).unwrap().definitions.len(), 2);
}

#[test]
fn what_is_too_large_is_not_parsed() {
    let text = "x".repeat(5 * 1024 * 1024);
    let error = real().outline(LANGUAGE, &text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it has 5 MiB, and only files up to 4 MiB are parsed"
    );
}

/// A text may be made to find a fault in a grammar: who finds one has a process that can do nothing.
#[cfg(target_os = "linux")]
#[test]
fn it_can_open_nothing_start_nothing_and_reach_nobody() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let mut parser = Command::new(env!("CARGO_BIN_EXE_clada"))
        .arg(clada::world::syntax::PARSER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Once it has answered it is fenced in.
    let head =
        serde_json::json!({ "language": LANGUAGE, "size": TEXT.len(), "wants_summary": false });
    let head = serde_json::to_vec(&head).unwrap();
    let mut input = parser.stdin.take().unwrap();
    input.write_all(&(head.len() as u64).to_le_bytes()).unwrap();
    input.write_all(&head).unwrap();
    input.write_all(TEXT.as_bytes()).unwrap();
    let mut size = [0; 8];
    std::io::Read::read_exact(&mut parser.stdout.take().unwrap(), &mut size).unwrap();
    let proc = std::path::PathBuf::from(format!("/proc/{}", parser.id()));
    let status = fs::read_to_string(proc.join("status")).unwrap();
    let limits = fs::read_to_string(proc.join("limits")).unwrap();
    let has = |text: &str, words: &[&str]| {
        let mut lines = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.any(|line| line.starts_with(words))
    };
    assert!(has(&status, &["Seccomp:", "2"]), "{status}");
    assert!(has(&status, &["NoNewPrivs:", "1"]), "{status}");
    assert!(
        has(&limits, &["Max", "address", "space", "4294967296"]),
        "{limits}"
    );
    assert!(
        has(&limits, &["Max", "core", "file", "size", "0"]),
        "{limits}"
    );
    drop(input);
    assert!(parser.wait().unwrap().success());
}
