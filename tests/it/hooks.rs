//! Hooks: what git has of them, what `--json` says, when they are tried again, and that no value is taken for a command.

use std::process::Command;

use clada::policy::hook::{VariableError, interpolated};
use proptest::prelude::*;

use crate::harness::{Project, results, save_by_rename, wait_until};

const REPLY: &str = "<task><c>overwrite</c><path>a.txt</path><x>a</x></task>\n";

#[test]
fn what_they_change_is_saved_before_and_with_the_batch() {
    let project = Project::with_git();
    project.configure(
        "[[hooks.before]]\nrun = 'echo formatted >b.txt'\n[[hooks.after]]\nrun = 'echo built >c.txt'\n",
    );
    project.write("b.txt", "committed\n").commits();
    project.write("b.txt", "mine\n");
    project.clada_with(["run"], REPLY).exits(0);
    let log = project.git(["log", "--format=%b", "--reverse", "--name-only", "HEAD~4.."]);
    let words: Vec<&str> = log
        .lines()
        .filter(|line| {
            line.ends_with(".txt") || line.starts_with("Clada-Step") || line.starts_with("  ")
        })
        .collect();
    assert_eq!(
        words,
        [
            "  overwrite a.txt",
            "Clada-Step: before",
            "b.txt",
            "  hooks before: echo formatted >b.txt",
            "Clada-Step: before",
            "b.txt",
            "  overwrite a.txt",
            "Clada-Step: task",
            "a.txt",
            "  hooks after: echo built >c.txt",
            "Clada-Step: task",
            "c.txt",
        ]
    );
    assert_eq!(project.git(["show", "HEAD~3:b.txt"]), "mine\n");
    // What the batch and its after hook did is undone together; what was formatted before it is not the batch's.
    project.clada(["undo"]).exits(0);
    assert!(!project.exists("a.txt") && !project.exists("c.txt"));
    assert_eq!(project.read("b.txt"), "formatted\n");
}

#[test]
fn as_json_a_hook_that_fails_before_is_fatal() {
    let project = Project::new();
    project.configure("[[hooks.before]]\nrun = 'echo red >&2; exit 3'\n");
    let json = project.clada_with(["run", "--json"], REPLY).exits(1).json();
    assert_eq!(
        json["fatalError"],
        "Before hooks failed - aborting execution"
    );
    assert_eq!(
        (&json["totalBlocks"], &json["success"]),
        (&0.into(), &false.into())
    );
    assert_eq!(json["results"], serde_json::json!([]));
    let before = json["hookErrors"]["before"][0].as_str().expect("an error");
    assert!(
        before.starts_with("echo red >&2; exit 3: exit code 3 (") && before.ends_with(": red"),
        "{before}"
    );
    assert_eq!(json["hookErrors"]["after"], serde_json::json!([]));
    assert!(!project.exists("a.txt"));

    project.configure("[[hooks.after]]\nrun = 'exit 3'\n");
    let json = project.clada_with(["run", "--json"], REPLY).exits(1).json();
    assert_eq!(
        (
            &json["totalBlocks"],
            &json["success"],
            json.get("fatalError")
        ),
        (&1.into(), &false.into(), None)
    );
    assert_eq!(json["results"][0]["success"], true);
    assert_eq!(
        json["hookErrors"]["after"].as_array().map(Vec::len),
        Some(1)
    );
}

#[test]
fn git_refuses_before_a_hook_runs() {
    let project = Project::with_git();
    project.write("a", "1\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "one"]);
    project.configure("[[hooks.before]]\nrun = 'echo ran >>log'\n");
    project.write(".git/MERGE_HEAD", project.git(["rev-parse", "HEAD"]));
    let ended = project.clada_with(["run"], REPLY).exits(1);
    assert!(ended.results().contains("⏹"), "{}", ended.out);
    assert!(!project.exists("log"));
}

#[test]
fn a_batch_that_a_hook_kept_from_running_is_new_at_the_next_save() {
    let project = Project::with_git();
    project.configure("[[hooks.before]]\nrun = 'echo tried >>log; test -e ready'\n");
    project.write("clada.md", "");
    let watching = project.watch([]);
    let notes = project.path("clada.md");
    save_by_rename(&notes, REPLY);
    let said = || project.read("clada.md");
    wait_until(|| said().contains("=== END"), said);
    assert!(
        results(&said()).contains("1 ⏹ overwrite a.txt - the before hook"),
        "{}",
        said()
    );
    // Nothing but a save has it tried again so soon.
    assert_eq!(project.read("log"), "tried\n");
    project.write("ready", "");
    let text = said();
    save_by_rename(&notes, text.replace(REPLY, &format!("Now.\n{REPLY}")));
    wait_until(|| said().contains("1 ✅ overwrite a.txt"), said);
    assert_eq!(project.read("a.txt"), "a");
    assert_eq!(project.read("log"), "tried\ntried\n");
    drop(watching);
}

/// Pieces of scripts, with what each prints of a value.
const PLACES: [(&str, &str, &str); 7] = [
    ("printf '<%s>' ${v}\n", "<", ">"),
    ("printf '<%s>' a${v}b\n", "<a", "b>"),
    ("printf '<%s>' \"a ${v} b\"\n", "<a ", " b>"),
    ("printf '<%s>' 'a ${v} b'\n", "<a ", " b>"),
    ("printf '<%s>' \"$(printf '%s' \"${v}\"x)\"\n", "<", "x>"),
    (
        "printf '<%s>' \"$(printf '%s' ${v}x)\" # it's ${not}\n",
        "<",
        "x>",
    ),
    (
        "(printf '<%s>' $'\\'a'\\\"${v}\\'\\\"\"'\")\n",
        "<'a\"",
        "'\"'>",
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_value_is_part_of_one_word_wherever_it_stands(
        value in "[-a-z '\"$`\\\\(){};|&<>*?!#~\n\t=é]{0,24}x",
        places in prop::collection::vec(0..PLACES.len(), 1..6),
    ) {
        let script: String = places.iter().map(|place| PLACES[*place].0).collect();
        let script = interpolated(&script, |name| match name {
            "v" => Ok("VALUE".to_owned()),
            other => Err(VariableError::NoValue(other.to_owned())),
        });
        let script = script.expect("a script");
        let ran = Command::new("bash").arg("-c").arg(&script).env("VALUE", &value).output().expect("bash");
        let expected: String = places
            .iter()
            .map(|place| format!("{}{value}{}", PLACES[*place].1, PLACES[*place].2))
            .collect();
        prop_assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{}", script);
    }

    #[test]
    fn any_command_is_read(command in "[a-z${}()'\"`\\\\<#\n ]{0,60}") {
        let _ = interpolated(&command, |name| Ok(name.to_owned()));
    }
}

#[test]
fn a_value_that_is_too_long_is_not_passed() {
    let project = Project::new();
    let long = "x".repeat(100 * 1024 + 1);
    project.configure(&format!(
        "[vars]\nx = '{long}'\n[[hooks.after]]\nrun = 'echo ${{x}}'\n"
    ));
    let results = project.clada_with(["run"], REPLY).exits(1).results();
    assert!(
        results.contains("`${x}` is too long for a variable (102401 bytes)"),
        "{results}"
    );
}

#[test]
fn where_no_quotes_help_a_variable_is_refused() {
    let named = |name: &str| match name {
        "v" => Ok("CLADA_V".to_owned()),
        other => Err(VariableError::NoValue(format!("no `{other}`"))),
    };
    for (command, expected) in [
        (
            "echo `echo ${v}`",
            "`${v}` cannot be used in back-ticks: use `$CLADA_V` from the environment there",
        ),
        (
            "cat <<E\n${v}\nE",
            "`${v}` cannot be used after a `<<`: use `$CLADA_V` from the environment there",
        ),
        ("echo ${w}", "no `w`"),
        (
            "echo ${v:-x}",
            "`${v:-x}` is not a variable such as `${success}`: write `\\${` for the shell's own",
        ),
        (
            "echo ${v",
            "`${v` is not a variable such as `${success}`: write `\\${` for the shell's own",
        ),
    ] {
        let refused = interpolated(command, named).map_err(|error| error.to_string());
        assert_eq!(refused, Err(expected.to_owned()));
    }
    assert_eq!(
        interpolated("echo \\${v:-x} $v", named),
        Ok("echo ${v:-x} $v".to_owned())
    );
    assert_eq!(
        interpolated("cat <<<${v}", named),
        Ok("cat <<<\"${CLADA_V}\"".to_owned())
    );
}
