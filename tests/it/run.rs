//! `clada run` over the cases in `test-data/run`: files and a reply in, results and files out.

use serde_json::Value;

use crate::cases::{self, Case, Verdict};
use crate::harness::{Project, installed};

#[test]
fn cases_of_run() {
    cases::run("run", check);
}

/// The same with replies of the first clada, and what it said of them.
#[test]
fn cases_of_originals() {
    cases::run("originals", check);
}

/// The same with settings.
#[test]
fn cases_of_settings() {
    cases::run("settings", check);
}

/// True if all grammars and the vocabulary of tokens were built in. Cases with the flag `whole` at their reply are for such a
/// build.
pub(crate) const IS_WHOLE: bool = cfg!(all(feature = "grammars", feature = "tokens"));

/// The project that a case begins with.
fn project(case: &Case) -> Project {
    let project = if case.one("no-git").is_some() {
        Project::new()
    } else {
        Project::with_git()
    };
    for file in case.all("file") {
        project.write(&file.arg, file.text());
    }
    if let Some(settings) = case.one("settings") {
        project.configure(&settings.string());
    }
    if let Some(setup) = case.one("setup") {
        let done = project
            .command("sh")
            .arg("-ec")
            .arg(setup.string())
            .status()
            .expect("sh");
        assert!(done.success(), "setup of {}", case.name);
    }
    project
}

fn check(case: &Case, verdict: &mut Verdict) {
    if !IS_WHOLE && case.all("reply").any(|reply| reply.has("whole")) {
        return;
    }
    let mut replies = case.all("reply").map(|reply| reply.string());
    if replies.any(|reply| reply.contains("lang = \"python\"")) && !installed("python3") {
        return;
    }
    if let Some(expected) = case.one("json") {
        check_json(case, expected, verdict);
    }
    let project = project(case);
    // `ROOT` in a reply stands for where the project happens to be, `UNROOTED` for that without its leading slash.
    let root = project.root().display().to_string();
    let unrooted = root.trim_start_matches('/').to_owned();
    let reply = case
        .one("reply")
        .expect("a `reply` block")
        .string()
        .replace("UNROOTED", &unrooted)
        .replace("ROOT", &root);
    let dry = case
        .one("flags")
        .is_some_and(|flags| flags.string().contains("--dry-run"));
    let before = dry.then(|| everything(&project));
    let run = if dry {
        project.clada_with(["run", "--dry-run"], &reply)
    } else {
        project.clada_with(["run"], &reply)
    };
    if before.is_some_and(|before| before != everything(&project)) {
        verdict.wrong("a dry run changed something");
    }
    let plain = |text: &str| {
        timeless(&wordless(
            &text.replace(&root, "ROOT").replace(&unrooted, "UNROOTED"),
        ))
    };
    if let Some(expected) = case.one("results") {
        // These differ from run to run, and from system to system.
        let same =
            |line: &&str| !line.starts_with("💚 git") && !line.starts_with("⚠ exec is not fenced");
        let results = plain(&run.results());
        let lines: String = results
            .lines()
            .filter(same)
            .map(|line| format!("{line}\n"))
            .collect();
        verdict.expect(expected, lines.as_bytes());
    }
    if let Some(expected) = case.one("outputs") {
        let (_, outputs) = run.out.split_once("=== OUTPUTS ===\n").expect("outputs");
        verdict.expect(
            expected,
            plain(outputs.strip_suffix("=== END ===\n").expect("end")).as_bytes(),
        );
    }
    for after in case.all("after") {
        let got = std::fs::read(project.path(&after.arg))
            .unwrap_or_else(|error| error.to_string().into_bytes());
        verdict.expect(after, &got);
    }
    for gone in case.all("gone").filter(|gone| project.exists(&gone.arg)) {
        verdict.wrong(format!("{} should be gone", gone.arg));
    }
    if let Some(tree) = case.one("tree") {
        let all = project
            .command("sh")
            .arg("-c")
            .arg("find . -path ./.git -prune -o -type f -print | sort")
            .output();
        verdict.expect(tree, &all.expect("find").stdout);
    }
    let failed = run.out.contains('❌') || run.out.contains('⏹');
    if run.code != Some(i32::from(failed)) {
        verdict.wrong(format!(
            "exit status {:?}\n{}{}",
            run.code, run.out, run.err
        ));
    }
    if !case
        .blocks
        .iter()
        .any(|block| block.kind == "no-git" || block.kind == "unborn")
        && !dry
    {
        project.git(["fsck", "--strict"]);
    }
}

/// What `clada run --json` says of the reply, compared as a value.
fn check_json(case: &Case, expected: &cases::Block, verdict: &mut Verdict) {
    let project = project(case);
    let root = project.root().display().to_string();
    let reply = case.one("reply").expect("a `reply` block").string();
    let run = project.clada_with(["run", "--json"], &reply.replace("ROOT", &root));
    let mut said: Value = serde_json::from_str(&run.out.replace(&root, "ROOT")).expect("JSON");
    // Where commands cannot be fenced in.
    if let Some(said) = said.as_object_mut() {
        said.remove("notices");
    }
    let is_so: Value = serde_json::from_str(&expected.string()).expect("JSON");
    if said != is_so {
        verdict.expect(expected, format!("{said:#}\n").as_bytes());
    }
    if run.code != Some(i32::from(said["success"] != true)) {
        verdict.wrong(format!("exit status {:?}", run.code));
    }
}

/// All names, kinds, modes and contents of a project, `.git` and the home included.
fn everything(project: &Project) -> Vec<u8> {
    let all = project
        .command("sh")
        .arg("-c")
        .arg("cd .. && find . -printf '%p %y %m %i %T@\\n' | sort && find . -type f -exec cat {} +")
        .output();
    all.expect("find").stdout
}

/// A text with the words replaced that fence what would be read as a batch.
fn wordless(text: &str) -> String {
    let is_switch = |line: &str| line.starts_with("<!-- clada:");
    let line = |line: &str| match line.rsplit_once(' ') {
        Some((switch, "-->")) if is_switch(line) => {
            let (switch, _) = switch.rsplit_once(' ').unwrap_or((switch, ""));
            format!("{switch} WORD -->\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// A text with its times replaced, `(2.4 s)` by `(T)`.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('(') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let inside = rest
            .find(" s)")
            .filter(|end| rest[..*end].parse::<f64>().is_ok());
        if let Some(end) = inside {
            out.push_str("T)");
            rest = &rest[end + 3..];
        }
    }
    out + rest
}
