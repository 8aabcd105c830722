//! The help of single commands, and the values that shells complete.

use crate::harness::Project;

/// The long flags in the help of a command, but for `--help`.
fn flags(help: &str) -> Vec<&str> {
    let words = help
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .map(|word| word.trim_end_matches([',', '.']));
    words.filter(|word| *word != "--help").collect()
}

#[test]
fn a_retry_has_no_flags_that_do_nothing_there() {
    let project = Project::new();
    let usual = [
        "--root",
        "--no-clipboard",
        "--notify",
        "--allow-shared",
        "--no-git",
        "--exec-timeout",
        "--sandbox",
        "--output-file",
        "--log-format",
    ];
    for (command, own) in [("approve", &[][..]), ("retry", &["--at", "--all"])] {
        let help = project.clada([command, "--help"]).exits(0).out;
        let options = help.split_once("Options:").expect("options").1;
        let options = options.split("Examples:").next().expect("options");
        let mut expected: Vec<&str> = usual.iter().chain(own).copied().collect();
        let mut found = flags(options);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{help}");
        for flag in [
            "--debounce=20",
            "--poll=1s",
            "--run-existing",
            "--ledger-days=3",
        ] {
            let refused = project.clada([command, flag]).exits(2).err;
            assert!(refused.contains("unexpected argument"), "{refused}");
        }
    }
}

#[test]
fn the_whole_help_says_how_to_go_on() {
    let project = Project::new();
    let help = project.clada(["--help"]).exits(0).out;
    for part in [
        "Usage: clada [FILE] [OPTIONS]   watch a notes file, as `clada watch` does\n       clada COMMAND\n",
        " create clada.toml and clada.md in this folder\n",
        " print the text to paste into a new chat\n",
        " show what a reply would change\n",
        " copy the files that the chat works with\n",
        "Options: those of `clada watch`, and -h, --help, -V, --version.\n\
         `clada help COMMAND` explains a command, `clada help TOPIC` prints a page.\n\n\
         Exit status: 0 all done, 1 something failed, 2 wrong usage.\n\
         CLADA_LOG=debug logs to stderr what clada does and why.\n",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let taught = project
        .clada(["instructions", "--actions", "read"])
        .exits(0)
        .out;
    assert!(
        taught.contains("\nMore, in short\n\n``````xml\n<tasks key=\""),
        "{taught}"
    );
    let refused = project.clada(["instructions", "--dialect", "aider", "--actions", "read"]);
    assert_eq!(
        refused.exits(2).err,
        "clada: `--actions` works with cml, nesl and sham only: leave it out, as the text for aider always lists everything\n"
    );
}

/// What commands print where nothing is there yet.
#[test]
fn commands_with_nothing_to_do_say_what_to_do() {
    let project = Project::new();
    let said = project.clada(["context"]).exits(0).err;
    assert_eq!(
        said,
        "the context is empty: add a file with `clada context add PATH`\n"
    );
    let said = project.clada(["copy"]).exits(1).err;
    assert!(
        said.ends_with(
            "` have been copied yet: give the path of the notes file that clada watches\n"
        ),
        "{said}"
    );
}

#[test]
fn values_are_listed_and_a_wrong_one_says_what_is_right() {
    let project = Project::new();
    let help = project.clada(["instructions", "--help"]).exits(0).out;
    assert!(
        help.contains("[possible values: cml, sham, nesl, replacer, aider, codex, diff]"),
        "{help}"
    );
    let help = project.clada(["run", "--help"]).exits(0).out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("[possible values: workspace, read-only, off]"),
        "{help}"
    );
    assert!(help.contains("[possible values: text, json]"), "{help}");
    for (args, right) in [
        (
            ["instructions", "--dialect", "adier"],
            "did you mean aider?",
        ),
        (
            ["run", "--sandbox", "of"],
            "it must be workspace, read-only or off",
        ),
        (["status", "--log-format", "xml"], "it must be text or json"),
        (["log", "-n", "0"], "it must be at least 1"),
        (["log", "-n", "few"], "it must be a whole number from 1"),
        (["undo", "0", "--dry-run"], "it must be at least 1"),
        (["squash", "-n", "0"], "it must be at least 1"),
        (
            ["run", "--exec-timeout", "soon"],
            "it must be a number above 0",
        ),
    ] {
        let said = project.clada(args).exits(2).err;
        assert!(said.contains(right), "{args:?}: {said}");
    }
}

#[test]
fn the_help_of_completions_says_where_each_goes_and_how_it_gets_active() {
    let project = Project::new();
    let help = project.clada(["completions", "--help"]).exits(0).out;
    for words in [
        "bash > ~/.local/share/bash-completion/completions/clada",
        "bash with the package bash-completion: active in new shells",
        "zsh > ~/.zfunc/_clada",
        "put `fpath+=(~/.zfunc)` before `compinit` in ~/.zshrc",
        "fish > ~/.config/fish/completions/clada.fish",
        "elvish > ~/.config/elvish/clada.elv",
        "into ~/.config/elvish/rc.elv",
        "powershell > ~/.config/powershell/clada.ps1",
        "the file that $PROFILE names",
    ] {
        assert!(help.contains(words), "{words}: {help}");
    }
}
