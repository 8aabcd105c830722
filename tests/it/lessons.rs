//! The teaching texts: they never run, their examples do, and they tell of every command.

use clada::reply::chat_key::ChatKey;
use clada::reply::copied_reply::{CopiedReply, judge};
use clada::reply::dialect::Dialect;
use clada::reply::lessons;
use clada::reply::scan::scan;
use clada::reply::task::{BatchState, Command, Task};
use clada::reply::teaching;

use crate::harness::{Ended, Project};

/// The commands that a reply may ask for.
fn commands() -> impl Iterator<Item = Command> {
    let all = Command::all();
    all.filter(|command| command.typed().is_none())
}

fn names() -> Vec<String> {
    commands()
        .map(|command| command.name().to_owned())
        .collect()
}

/// A text without what keeps it from running.
fn open(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("clada:o"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn no_text_ever_runs() {
    for dialect in Dialect::ALL {
        let (all, none, key) = (names(), Vec::new(), Some(ChatKey::from_random(7)));
        for (actions, key) in [(&none, None), (&all, None), (&none, key), (&all, key)] {
            let text = teaching::text(dialect, actions, key);
            let found = scan(&text);
            assert!(
                found.batches.is_empty() && found.problems.is_empty(),
                "{}",
                dialect.name()
            );
        }
    }
}

#[test]
fn texts_are_short() {
    for dialect in Dialect::ALL {
        let limit = match dialect {
            Dialect::Cml => 599,
            Dialect::Sham | Dialect::Nesl => 900,
            _ => 400,
        };
        let key = Some(ChatKey::from_random(7));
        let words = teaching::text(dialect, &[], key).split_whitespace().count();
        assert!(words <= limit, "{} has {words} words", dialect.name());
    }
}

/// What the replies of a trial got wrong again and again is told.
#[test]
fn texts_tell_of_the_usual_mistakes() {
    for dialect in Dialect::ALL {
        let text = teaching::text(dialect, &[], None);
        let tells = |what: &str| assert!(text.contains(what), "{}: {what}", dialect.name());
        tells(match dialect {
            Dialect::Codex | Dialect::Diff => "as they are now",
            _ => "as it is now",
        });
        tells("newest text in this chat is the truth");
        match dialect {
            Dialect::Cml => {
                for what in [
                    "never shortened with `...`",
                    "a pipe hides a failure",
                    "`replace-all`",
                    "`append`",
                    "matched by",
                    "`git checkout HASH -- path`",
                    "`<!-- clada:off -->`",
                ] {
                    tells(what);
                }
            }
            Dialect::Sham | Dialect::Nesl => tells("a pipe hides a failure"),
            _ => tells("matched by"),
        }
    }
}

/// A project in which all examples can be carried out.
fn sample() -> Project {
    let project = Project::with_git();
    project
        .write(
            "src/app.py",
            "def short():\n    return old_name(1)\n\nDEBUG = True\n\ndef long_function(\n    x,\n):\n    pass\n    # end of long_function\n",
        )
        .write("src/dead.py", "dead = True\n")
        .write("docs/old.md", "old title\n");
    project
}

/// The examples of a text are read without a fault and do what they say.
fn works(dialect: Dialect) {
    let project = sample();
    let args = ["instructions", "--dialect", dialect.name()];
    let text = open(&project.clada(args).exits(0).out).replace("python -m pytest -q", "true");
    let found = scan(&text);
    assert!(!found.batches.is_empty() && found.problems.is_empty());
    for batch in &found.batches {
        assert_eq!(batch.dialect, dialect);
        assert_eq!(batch.state, BatchState::Complete);
        assert!(
            batch
                .tasks
                .iter()
                .all(|task| task.action.is_ok() && task.warnings.is_empty())
        );
    }
    let run = project.clada_with(["run"], &text);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(project.read("src/new/module.py").len() > 10);
    assert!(!project.read("src/app.py").contains("old_name"));
}

#[test]
fn examples_of_cml_work() {
    works(Dialect::Cml);
}

#[test]
fn examples_of_replacer_work() {
    works(Dialect::Replacer);
}

#[test]
fn examples_of_aider_work() {
    works(Dialect::Aider);
}

#[test]
fn examples_of_nesl_and_sham_work() {
    works(Dialect::Nesl);
    works(Dialect::Sham);
}

#[test]
fn examples_of_patches_work() {
    works(Dialect::Codex);
    works(Dialect::Diff);
}

/// With its further commands, CML's text shows all that a reply may ask for, and an example of each.
#[test]
fn cml_has_an_example_of_each_command() {
    let text = open(&teaching::text(Dialect::Cml, &names(), None));
    let more = "\nMore, in short\n\n``````xml\n<tasks>\n<task>";
    assert!(text.contains(more), "{text}");
    let found = scan(&text);
    let [usual, more] = found.batches.as_slice() else {
        panic!("{} batches", found.batches.len());
    };
    let is_right = |task: &Task<'_>| task.action.is_ok() && task.warnings.is_empty();
    assert!(usual.tasks.iter().chain(&more.tasks).all(is_right));
    let kinds = |tasks: &[Task<'_>]| -> Vec<Option<Command>> {
        tasks.iter().map(|task| task.command).collect()
    };
    assert_eq!(kinds(&more.tasks), commands().map(Some).collect::<Vec<_>>());
    use Command::{Delete, Edit, Exec, Move, Overwrite};
    assert_eq!(
        kinds(&usual.tasks),
        [Overwrite, Edit, Edit, Move, Delete, Exec].map(Some)
    );
    let named = |name: &str| teaching::text(Dialect::Cml, &[], None).contains(&format!("`{name}`"));
    assert!(["read", "ls", "grep", "glob"].into_iter().all(named));
}

#[test]
fn the_actions_that_are_asked_for_are_listed() {
    let project = Project::new();
    let listed = |dialect: &str, actions: &str| -> Vec<String> {
        let args = ["instructions", "--dialect", dialect, "--actions", actions];
        let text = project.clada(args).exits(0).out;
        let lines = text.lines().filter_map(|line| line.strip_prefix("- `"));
        let names = lines.filter_map(|line| line.split('`').next());
        names.map(str::to_owned).collect()
    };
    let of_nesl = listed("nesl", "read, FILE_write,grep");
    assert!(
        of_nesl.ends_with(
            &[
                "file_write",
                "file_read",
                "file_read_numbered",
                "files_read",
                "grep"
            ]
            .map(str::to_owned)
        )
    );
    assert!(!of_nesl.contains(&"exec".to_owned()));
    assert_eq!(of_nesl, listed("sham", "grep,overwrite,read"));
    let verb_first = "Read_File,write_FILE,read_file_numbered,read_files,grep";
    assert_eq!(of_nesl, listed("nesl", verb_first));
    assert!(listed("cml", "file_read,ls").ends_with(&["read", "ls"].map(str::to_owned)));
}

#[test]
fn without_a_choice_the_whole_text_is_printed() {
    let project = Project::new();
    let text = project.clada(["instructions"]).exits(0).out;
    assert_eq!(text, teaching::text(Dialect::Cml, &[], Some(key_of(&text))));
    assert!(text.contains("It ends after 10 minutes, or after"));
    project.configure("exec.timeout = '90s'\n");
    let other = project.clada(["instructions"]).exits(0).out;
    assert_eq!(other, text.replace("10 minutes", "90 seconds"));
    let text = project
        .clada(["instructions", "--dialect", "nesl"])
        .exits(0)
        .out;
    for action in commands().flat_map(lessons::actions) {
        assert!(
            text.contains(&format!("- `{}`", action.name())),
            "{}",
            action.name()
        );
    }
    // Its paths are absolute, so they are those of this folder.
    let root = project.root().display().to_string();
    assert!(text.contains(&root) && !text.contains("/path/to/project"));
}

/// What the list of a dialect says of each command or action.
fn says(dialect: Dialect) -> Vec<String> {
    let text = teaching::text(dialect, &names(), None);
    let lines = text.lines().filter(|line| line.starts_with("- `"));
    let said = lines.filter_map(|line| {
        let (_, said) = line.strip_prefix("- `")?.split_once('`')?;
        Some(match said.split_once(": ") {
            Some((params, said)) if params.is_empty() || params.ends_with(')') => said.to_owned(),
            _ => said.trim().to_owned(),
        })
    });
    said.collect()
}

#[track_caller]
fn ends_with(said: &[String], expected: &[&str]) {
    assert_eq!(said[said.len().saturating_sub(expected.len())..], *expected);
}

#[test]
fn the_list_of_cml_says_what_each_command_does() {
    let expected = [
        "replaces text that occurs exactly once",
        "creates the file, or replaces its whole content",
        "adds `<x>` at the end of the file; in block form, as lines of its own",
        "replaces exactly this text everywhere; `count` is the expected number of places",
        "replaces these lines with `<x>`",
        "moves or renames; replaces a file only with `<x overwrite=\"yes\">`",
        "deletes a file, or a folder with all its content",
        "creates a folder and its parents",
        "removes an empty folder",
        "shows a file, or several with a `<path>` for each; `lines` and `numbered` are optional",
        "lists the definitions of files and folders with their lines; `public` is optional",
        "lists a folder; without a `<path>`, the project folder",
        "finds lines by a regular expression in a file or folder; only `<x>` is required",
        "finds files by their names; `<path>` is optional",
        "runs a bash script, or one in `lang`: python, javascript or ruby; `output=\"no\"` if its output is not needed",
        "adds files, lines of one, folders or globs to the set that I give to each chat; `level=\"outline\"` for the definitions only, `name` for the path",
        "removes files from that set",
        "lists that set",
        "removes files that no longer exist from that set",
        "empties that set",
    ];
    ends_with(&says(Dialect::Cml), &expected);
}

#[test]
fn the_list_of_nesl_says_what_each_action_does() {
    let expected = [
        "replaces text that occurs exactly once",
        "replaces everything from one text to the other, both included; each occurs exactly once",
        "creates the file and its folders, or replaces its whole content",
        "adds the content at the end of the file, without a newline before it",
        "replaces the text everywhere; `count` is the expected number of places",
        "does the same in several files",
        "replaces lines by their numbers: `lines = \"12-40\"`",
        "moves or renames a file; an existing one is replaced",
        "deletes a file",
        "creates a folder and its parents",
        "removes an empty folder",
        "shows a file",
        "shows a file, or some lines of it, with their numbers",
        "shows several files",
        "lists the definitions of a file or folder with their lines",
        "lists a folder",
        "finds lines by a regular expression; `include = \"*.py\"` searches only such files",
        "finds files by their names: `pattern = \"**/*.py\"`",
        "runs a script; `lang` is bash, python or javascript",
        "adds a file, or lines of it, or a folder, to the set that I give to each chat; `level` is full, outline or name",
        "removes a file from that set",
        "lists that set",
        "removes files that no longer exist from that set",
        "empties that set",
    ];
    ends_with(&says(Dialect::Nesl), &expected);
}

#[test]
fn wrong_names_are_told_with_the_nearest() {
    let project = Project::new();
    for (dialect, actions, said) in [
        ("cml", "raed", "unknown action: did you mean `read`?"),
        ("nesl", "read,file_wirte", "did you mean `file_write`"),
        ("nesl", "raed_file", "did you mean `read_file`"),
        ("cml", "undo", "only you can do that, with `clada undo`"),
        ("shma", "read", "did you mean sham"),
        ("aidr", "read", "did you mean aider"),
        (
            "aider",
            "read",
            "`--actions` works with cml, nesl and sham only",
        ),
    ] {
        let args = ["instructions", "--dialect", dialect, "--actions", actions];
        let err = project.clada(args).exits(2).err;
        assert!(err.contains(said), "{err}");
    }
}

/// The key that a text teaches.
fn key_of(text: &str) -> ChatKey {
    let start = ["\n<tasks key=\"", "\nclada: "]
        .into_iter()
        .find_map(|start| {
            let at = text.find(start)?;
            Some(at + start.len())
        });
    let start = start.unwrap_or_else(|| panic!("no key in {text}"));
    text[start..start + 5].parse().expect("a key")
}

/// Each notes file has a key, which every dialect teaches in its example and in one rule.
#[test]
fn the_key_of_the_notes_file_is_taught() {
    let project = Project::with_git();
    // There is no notes file yet, but where it will be is known.
    let taught = |args: &[&str]| {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.arg("instructions").args(args);
        Ended::of(command, "").exits(0).out
    };
    let key = key_of(&taught(&[]));
    for dialect in Dialect::ALL {
        let text = taught(&["--dialect", dialect.name()]);
        assert_eq!(key_of(&text), key, "{text}");
        let rule = match dialect {
            Dialect::Cml => format!("- Write `key=\"{key}\"` in each `<tasks>`.\n"),
            _ => format!(
                "- Put the line `clada: {key}` right above your first block, in each reply.\n"
            ),
        };
        assert!(text.contains(&format!("\nRules\n{rule}")), "{text}");
        assert_eq!(text.matches(&key.to_string()).count(), 2, "{text}");
        let reply = open(&text)
            .replace("src/", "lib/")
            .replace("pytest", "test");
        let judged = judge(&reply, &scan(&reply));
        assert!(
            matches!(judged, CopiedReply::Keyed { key: of, .. } if of == key),
            "{judged:?}"
        );
    }
    project.write("clada.md", "").write("other.md", "");
    assert_eq!(key_of(&taught(&["clada.md"])), key);
    let other = key_of(&taught(&["other.md"]));
    assert_ne!(other, key);
    let new = key_of(&taught(&["--new-key"]));
    assert!(new != key && new != other);
    assert_eq!(key_of(&taught(&[])), new);
    assert_eq!(key_of(&taught(&["other.md"])), other);
}

#[test]
fn without_a_known_notes_file_there_is_no_key() {
    let project = Project::new();
    let unkeyed = teaching::text(Dialect::Cml, &[], None);
    let missing = project.clada(["instructions", "none.md"]).exits(2);
    assert_eq!(missing.out, unkeyed);
    let refused = project
        .clada(["instructions", "--new-key", "none.md"])
        .exits(2);
    assert!(
        refused.err.contains("none.md") && refused.out.is_empty(),
        "{}",
        refused.err
    );
    // A command in a reply learns no key.
    let within = |args: &[&str]| {
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(args).env("CLADA", "1");
        Ended::of(command, "")
    };
    assert_eq!(within(&["instructions"]).exits(0).out, unkeyed);
    let refused = within(&["instructions", "--new-key"]).exits(2);
    let said = "only you can run `clada instructions --new-key`, not a command that clada runs";
    assert!(
        refused.err.contains(said) && refused.out.is_empty(),
        "{}",
        refused.err
    );
    assert!(!project.state_folder().join("keys").exists());
}
