//! Commands that wait until the user says that they may run: the question in the results, the answers that count, and
//! those that do not.

use super::{NOTES, Notes, exec, exec_task, listen, ran, save, wait_for_results};
use crate::harness::{Project, save_by_rename, wait_until};

/// A project whose user wants to be asked about `deploy`.
fn project() -> Project {
    let project = Project::new();
    project.configure("[exec]\nask = ['deploy']\ndeny = ['destroy']\n");
    for name in ["deploy", "destroy"] {
        project.program(name, &format!("echo {name} $1 >> runs.txt"));
    }
    project
}

/// Ticks the box of this line.
fn tick(project: &Project, line: &str) {
    let text = project.read(NOTES);
    let open = format!("{line} - [ ] run it");
    assert!(text.contains(&open), "{open:?} in {text}");
    let ticked = text.replacen(&open, &format!("{line} - [x] run it"), 1);
    save_by_rename(&project.path(NOTES), ticked);
}

/// The question that begins so, without its box.
#[track_caller]
fn question<'n>(notes: &'n Notes, start: &str) -> &'n str {
    let mut lines = notes.results.iter().chain(&notes.earlier);
    let line = lines.find_map(|line| {
        let line = line.strip_suffix(" - [ ] run it")?;
        line.contains(start).then_some(line)
    });
    line.unwrap_or_else(|| panic!("{start} in {:?}", notes.all()))
}

/// Has clada ask whether `deploy now` may run.
fn ask(project: &Project) {
    save(project, &exec("deploy now"));
    wait_for_results(project, "1 ⏸ exec deploy now");
}

#[test]
fn a_command_waits_for_a_tick() {
    let project = project();
    let _watching = listen(&project);
    let scripts = ["echo one >> runs.txt", "deploy now", "echo two >> runs.txt"];
    let body = format!("<tasks>\n{}</tasks>\n", scripts.map(exec_task).concat());
    save(&project, &body);
    let notes = wait_for_results(&project, "2 ⏸");
    assert_eq!(
        notes.results,
        [
            "1 ✅ exec echo one >> runs.txt",
            "2 ⏸ exec deploy now - [ ] run it",
            "3 ✅ exec echo two >> runs.txt",
        ]
    );
    assert_eq!(ran(&project), ["one", "two"]);
    tick(&project, "2 ⏸ exec deploy now");
    let notes = wait_for_results(&project, "2 ✅ exec deploy now");
    assert_eq!(
        notes.results,
        [
            "1 ⏭ exec echo one >> runs.txt - not run again",
            "2 ✅ exec deploy now",
            "3 ⏭ exec echo two >> runs.txt - not run again",
        ]
    );
    assert_eq!(ran(&project), ["one", "two", "deploy now"]);
    // The question is answered.
    save(
        &project,
        &(notes.body + "and\n" + &exec("echo three >> runs.txt")),
    );
    let notes = wait_for_results(&project, "1 ✅ exec echo three");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    assert_eq!(ran(&project).last().map(String::as_str), Some("three"));
}

#[test]
fn a_command_that_was_not_ticked_still_waits() {
    let project = project();
    let watching = listen(&project);
    let scripts = [
        "deploy one",
        "deploy two; echo two",
        "echo three\ndeploy three",
    ];
    let body = format!("<tasks>\n{}</tasks>\n", scripts.map(exec_task).concat());
    save(&project, &body);
    wait_for_results(&project, "3 ⏸");
    watching.wait_for("(to approve: tick the box in the notes file, or run `clada approve`)");
    tick(&project, "1 ⏸ exec deploy one");
    let three = "⏸ exec echo three … - needs approval for `deploy three` - [ ] run it";
    let notes = wait_for_results(&project, "1 ✅ exec deploy one");
    assert_eq!(
        notes.results,
        [
            "1 ✅ exec deploy one",
            "2 ⏸ exec deploy two; echo two - [ ] run it",
            &format!("3 {three}"),
        ]
    );
    assert!(
        project
            .read(super::OUTPUT)
            .contains("the script:\necho three\n")
    );
    let log = project.clada(["log"]).exits(0).out;
    assert!(!log.contains("not run again"), "{log}");
    // Each is asked once, also below the results of another reply.
    let more = exec("echo more >> runs.txt");
    save(&project, &format!("{}more\n{more}", notes.body));
    let notes = wait_for_results(&project, "1 ✅ exec echo more");
    let boxes = notes.all().iter().filter(|it| it.contains("[ ]")).count();
    assert_eq!(boxes, 2, "{:?}", notes.all());
    let asked = project.clada(["approve"]).exits(0).out;
    assert!(asked.starts_with("2 tasks of "), "{asked}");
    let notes = wait_for_results(&project, "3 ✅ exec echo three");
    assert_eq!(
        notes.results,
        [
            "1 ⏭ exec deploy one - not run again",
            "2 ✅ exec deploy two; echo two",
            "3 ✅ exec echo three …",
        ]
    );
    assert!(!notes.all().concat().contains("[ ]"), "{:?}", notes.all());
}

#[test]
fn blocks_of_sham_wait_for_a_tick_too() {
    let project = project();
    let _watching = listen(&project);
    let block = |id: &str, script: &str| {
        format!(
            "#!SHAM [@three-char-SHA-256: {id}]\naction = \"exec\"\nlang = \"bash\"\ncode = \"{script}\"\n#!END_SHAM_{id}\n"
        )
    };
    let blocks = [
        block("aaa", "echo one >> runs.txt"),
        block("bbb", "deploy now"),
        block("ccc", "echo two >> runs.txt"),
    ];
    save(&project, &blocks.concat());
    let notes = wait_for_results(&project, "bbb ⏸");
    assert_eq!(
        notes.results,
        [
            "aaa ✅ exec bash",
            "bbb ⏸ exec bash - needs approval for `deploy now` - [ ] run it",
            "ccc ✅ exec bash",
            "read as SHAM",
        ]
    );
    tick(
        &project,
        "bbb ⏸ exec bash - needs approval for `deploy now`",
    );
    let notes = wait_for_results(&project, "bbb ✅");
    assert_eq!(
        notes.results,
        [
            "aaa ⏭ exec bash - not run again",
            "bbb ✅ exec bash",
            "ccc ⏭ exec bash - not run again",
            "read as SHAM",
        ]
    );
    assert_eq!(ran(&project), ["one", "two", "deploy now"]);
}

#[test]
fn a_command_that_stands_further_down_in_its_script_is_named() {
    let project = project();
    let _watching = listen(&project);
    save(&project, &exec("echo begin\ndeploy now && echo done"));
    let notes = wait_for_results(&project, "1 ⏸");
    assert_eq!(
        notes.results,
        ["1 ⏸ exec echo begin … - needs approval for `deploy now` - [ ] run it"]
    );
    assert_eq!(ran(&project), [""; 0]);
}

#[test]
fn a_question_stays_until_it_is_answered_or_its_reply_is_gone() {
    let project = project();
    let watching = listen(&project);
    save(&project, &exec("deploy one"));
    wait_for_results(&project, "1 ⏸ exec deploy one");
    let body = Notes::of(&project).body;
    save(
        &project,
        &(body + "more\n" + &exec("echo two >> runs.txt; deploy two")),
    );
    let notes = wait_for_results(&project, "1 ⏸ exec echo two");
    let two = "1 ⏸ exec echo two >> runs.txt; deploy two - [ ] run it";
    assert_eq!(notes.results[0], two);
    // One line each: where the first results could not be read yet, it is the one that they have.
    let one = question(&notes, "⏸ exec deploy one").to_owned();
    let boxes = notes.all().iter().filter(|it| it.contains("[ ]")).count();
    assert_eq!(boxes, 2, "{:?}", notes.all());
    drop(watching);

    let _watching = listen(&project);
    tick(&project, &one);
    wait_for_results(&project, "1 ✅ exec deploy one");
    assert_eq!(ran(&project), ["deploy one"]);
    // The other question is still there; it goes with its text.
    let notes = Notes::of(&project);
    question(&notes, "⏸ exec echo two");
    save(&project, &exec("echo three >> runs.txt"));
    let notes = wait_for_results(&project, "1 ✅ exec echo three");
    assert!(!notes.all().concat().contains("[ ]"), "{:?}", notes.all());
}

#[test]
fn a_tick_that_a_command_made_does_not_count() {
    let project = project();
    let watching = listen(&project);
    ask(&project);
    let body = Notes::of(&project).body;
    // It also waits until clada shows that it runs, and ticks what is there then.
    let forge = "sed -i 's/\\[ \\] run/[x] run/' clada.md; touch began\n\
                 until grep -q 'running since' clada.md || test -e go; do sleep 0.01; done\n\
                 sed -i 's/\\[ \\] run/[x] run/' clada.md; echo forged >> runs.txt";
    save(&project, &(body + "more\n" + &exec(forge)));
    wait_until(|| ran(&project) == ["forged"], || project.read(NOTES));
    wait_for_results(&project, "1 ✅ exec sed");
    // The forged ticks may be answered by then, or by results of their own that come right after.
    watching.until_it_looked(&project.path(NOTES));
    let notes = Notes::of(&project);
    let question = question(&notes, "⏸ exec deploy now");
    assert_eq!(ran(&project), ["forged"]);
    // The user's own does.
    tick(&project, question);
    wait_for_results(&project, "1 ✅ exec deploy now");
    assert_eq!(ran(&project), ["forged", "deploy now"]);
}

#[test]
fn a_tick_that_a_command_of_another_file_made_does_not_count() {
    let project = project();
    let _one = listen(&project);
    ask(&project);
    let _two = project.watch(["--no-git", "--no-clipboard", "two.md"]);
    // The exec still runs when the other clada looks, or has just ended.
    for hold in ["sleep 1", "true"] {
        let forge =
            format!("sed -i 's/\\[ \\] run/[x] run/' clada.md; {hold}; echo forged >> runs.txt");
        save_by_rename(&project.path("two.md"), exec(&forge));
        let notes = wait_for_results(
            &project,
            "a tick made while a command or a hook runs is ignored",
        );
        question(&notes, "⏸ exec deploy now");
        wait_until(
            || project.read("two.md").contains("1 ✅"),
            || project.read("two.md"),
        );
        assert_eq!(ran(&project).last().map(String::as_str), Some("forged"));
        // The next one finds another block.
        let body = Notes::of(&project).body;
        save(
            &project,
            &format!(
                "{body}{hold}\n{}",
                exec(&format!("echo {hold} >> runs.txt"))
            ),
        );
        wait_for_results(&project, "1 ✅ exec echo");
    }
    assert!(!ran(&project).contains(&"deploy now".to_owned()));
}

#[test]
fn approved_from_the_terminal() {
    let project = project();
    let said = project.clada(["approve", "--no-clipboard"]).exits(0).out;
    assert!(said.starts_with("no command waits for approval"), "{said}");
    let watching = listen(&project);
    save(&project, &exec("deploy one"));
    wait_for_results(&project, "1 ⏸");
    let asked = project.clada(["approve"]).exits(0).out;
    assert!(asked.contains("1 task of"), "{asked}");
    wait_for_results(&project, "1 ✅ exec deploy one");
    let body = Notes::of(&project).body;
    save(&project, &(body + "more\n" + &exec("deploy two")));
    wait_for_results(&project, "1 ⏸ exec deploy two");
    drop(watching);
    project
        .clada(["approve", "--no-git", "--no-clipboard"])
        .exits(0);
    wait_for_results(&project, "1 ✅ exec deploy two");
    assert_eq!(ran(&project), ["deploy one", "deploy two"]);
    let said = project.clada(["approve", "--no-clipboard"]).exits(0).out;
    assert!(said.starts_with("no command waits for approval"), "{said}");
}

#[test]
fn a_command_cannot_approve_or_trust() {
    let project = project();
    let _watching = listen(&project);
    let clada = env!("CARGO_BIN_EXE_clada");
    let script = format!("{clada} approve 2>&1; {clada} trust 2>&1; {clada} retry 2>&1");
    save(&project, &exec(&script));
    wait_for_results(&project, "1 ❌");
    let output = project.read(super::OUTPUT);
    for command in ["approve", "trust", "retry"] {
        assert!(
            output.contains(&format!("only you can run `clada {command}`, not a command that clada runs: run it in a terminal")),
            "{output}"
        );
    }
}

#[test]
fn what_is_denied_does_not_run() {
    let project = project();
    let _watching = listen(&project);
    let body = format!(
        "<tasks>\n{}{}</tasks>\n",
        exec_task("true && destroy all"),
        exec_task("deploy x")
    );
    save(&project, &body);
    let notes = wait_for_results(&project, "1 ❌");
    assert_eq!(
        notes.results,
        [
            "1 ❌ exec true && destroy all - `destroy all` is denied here (`destroy` in `exec.deny`): do it another way, or leave it to the user",
            "2 ⏸ exec deploy x - [ ] run it",
        ]
    );
    assert_eq!(ran(&project), [""; 0]);
}

#[test]
fn exec_can_be_switched_off() {
    let project = Project::new();
    project.configure("[exec]\nenabled = false\n");
    let reply = format!(
        "<tasks>\n{}<task><path>a.txt</path><c>overwrite</c><x>a</x></task>\n</tasks>\n",
        exec_task("touch b.txt")
    );
    let ended = project.clada_with(["run", "--no-git"], &reply).exits(1);
    assert_eq!(
        ended.results(),
        "1 ❌ exec touch b.txt - commands are switched off here (`exec.enabled`): leave them to the user\n\
         2 ✅ overwrite a.txt\n"
    );
    assert!(!project.exists("b.txt"));
}

#[test]
fn a_single_run_asks_too() {
    let project = project();
    let reply = exec("deploy now");
    let ended = project.clada_with(["run", "--no-git"], &reply).exits(1);
    assert_eq!(
        ended.results(),
        "1 ⏸ exec deploy now - needs approval: run it with `clada run --approve`\n"
    );
    let ended = project
        .clada_with(["run", "--no-git", "--dry-run"], &reply)
        .exits(1);
    assert!(
        ended.results().starts_with("1 ⏸ exec deploy now"),
        "{}",
        ended.out
    );
    assert_eq!(ran(&project), [""; 0]);
    project
        .clada_with(["run", "--no-git", "--approve"], &reply)
        .exits(0);
    assert_eq!(ran(&project), ["deploy now"]);
    project
        .clada_with(["run", "--no-git", "--approve"], &exec("destroy"))
        .exits(1);
    assert_eq!(ran(&project), ["deploy now"]);
}

#[test]
fn what_a_project_says_of_commands_waits_for_trust() {
    let project = project();
    project.write("clada.toml", "[exec]\nask = []\n");
    let watching = listen(&project);
    watching.wait_for("`exec.ask` in clada.toml is not trusted");
    save(&project, &exec("deploy one"));
    let notes = wait_for_results(&project, "1 ⏸ exec deploy one");
    assert!(
        notes
            .results
            .iter()
            .any(|line| line.contains("(`clada trust` changes that)")),
        "{:?}",
        notes.results
    );
    let said = project.clada(["trust"]).exits(0).out;
    assert!(said.contains("ask = []"), "{said}");
    // In force with the next run; told only when it changes.
    save(&project, &exec("deploy two"));
    let notes = wait_for_results(&project, "1 ✅ exec deploy two");
    assert_eq!(notes.results.len(), 1, "{:?}", notes.results);
    // A broken one leaves what was.
    project.write("clada.toml", "[exec]\nask = 'deploy'\n");
    let notes = wait_for_results(&project, "the previous settings stay in effect");
    save(&project, &exec("deploy three"));
    wait_for_results(&project, "1 ✅ exec deploy three");
    let said = notes.results.last().expect("a line");
    assert!(
        said.contains("clada.toml`, line 2, column 7: ")
            && said.contains("the previous settings stay in effect"),
        "{said}"
    );
    assert_eq!(ran(&project), ["deploy two", "deploy three"]);
}

#[test]
fn a_tick_in_a_block_that_a_reply_quotes_does_not_count() {
    for keeps in [true, false] {
        for prose in ["", "As you see:\n\n"] {
            let project = project();
            let watching = listen(&project);
            save(&project, &exec("deploy now"));
            wait_for_results(&project, "1 ⏸ exec deploy now");
            let text = project.read(NOTES);
            let block = text.split_once("=== END ===").expect("a block").0.trim();
            let quoted = block.replace("[ ] run it", "[x] run it");
            let below = if keeps { &text } else { "" };
            let pasted = format!("{prose}{quoted}\n=== END ===\n\nAll is well.\n{below}");
            save_by_rename(&project.path(NOTES), pasted);
            let says = if keeps {
                "the results are in the notes file twice"
            } else {
                "a tick is ignored if other text changes with it"
            };
            let notes = wait_for_results(&project, says);
            watching.until_it_looked(&project.path(NOTES));
            assert_eq!(ran(&project), [""; 0]);
            if keeps {
                tick(&project, question(&notes, "⏸ exec deploy now"));
                wait_for_results(&project, "1 ✅ exec deploy now");
                assert_eq!(ran(&project), ["deploy now"]);
            }
        }
    }
}

#[test]
fn no_tick_counts_where_the_results_are_there_twice() {
    let project = project();
    let watching = listen(&project);
    ask(&project);
    let text = project.read(NOTES);
    let (block, body) = text.split_once("=== END ===\n\n").expect("a block");
    let ticked = block.replace("[ ] run it", "[x] run it");
    // A reply that quotes the results and nothing else, pasted on top.
    save_by_rename(
        &project.path(NOTES),
        format!("{ticked}=== END ===\n\n{text}"),
    );
    let notes = wait_for_results(
        &project,
        "ticks are ignored while the results are in the notes file twice, as a reply may quote them: remove the copy, if it is still there, and tick again",
    );
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project), [""; 0]);
    assert_eq!(notes.body, body);
    tick(&project, question(&notes, "⏸ exec deploy now"));
    wait_for_results(&project, "1 ✅ exec deploy now");
    assert_eq!(ran(&project), ["deploy now"]);
}

#[test]
fn a_tick_that_a_command_of_a_single_run_made_does_not_count() {
    let project = project();
    let watching = listen(&project);
    ask(&project);
    let forge = "sed -i 's/\\[ \\] run/[x] run/' clada.md";
    project
        .clada_with(["run", "--no-git"], &exec(forge))
        .exits(0);
    wait_for_results(&project, "a tick made while a command");
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project), [""; 0]);
}

#[test]
fn an_approval_from_the_terminal_counts_while_another_command_runs() {
    let project = project();
    let one = listen(&project);
    ask(&project);
    let _two = project.watch(["--no-git", "--no-clipboard", "two.md"]);
    let long = "touch began; until test -e end; do sleep 0.01; done";
    save_by_rename(&project.path("two.md"), exec(long));
    wait_until(|| project.exists("began"), || project.read("two.md"));
    project.clada(["approve"]).exits(0);
    one.wait_for("waiting for the run of another clada");
    project.write("end", "");
    wait_for_results(&project, "1 ✅ exec deploy now");
    assert_eq!(ran(&project), ["deploy now"]);
}

#[test]
fn a_question_names_the_command_that_a_long_line_hides() {
    let project = project();
    let _watching = listen(&project);
    let body = exec(&format!("echo {}; deploy now", "a".repeat(600)));
    save(&project, &body);
    let says = "a… - needs approval for `deploy now`";
    wait_for_results(&project, says);
    save(&project, &(body + "more\n" + &exec("echo one")));
    let notes = wait_for_results(&project, "1 ✅ exec echo one");
    question(&notes, says);
}

#[test]
fn an_atomic_batch_holds_no_command_that_asks_either() {
    let project = project();
    let write = "<task><path>a.txt</path><c>overwrite</c><x>a</x></task>\n";
    let reply = format!(
        "<tasks atomic=\"yes\">\n{write}{}</tasks>\n",
        exec_task("deploy now")
    );
    let ended = project.clada_with(["run", "--no-git"], &reply).exits(1);
    let results = ended.results();
    assert!(
        results.contains("2 ⏹ exec deploy now - an atomic batch with an exec needs git"),
        "{results}"
    );
    assert!(!project.exists("a.txt"));
}

#[test]
fn a_retry_asks_no_question_twice() {
    let project = project();
    let watching = listen(&project);
    let body = format!(
        "<tasks>\n{}{}</tasks>\n",
        exec_task("deploy now"),
        exec_task("false")
    );
    save(&project, &body);
    wait_for_results(&project, "1 ⏸ exec deploy now");
    drop(watching);
    for _ in 0..3 {
        project
            .clada(["retry", "--no-git", "--no-clipboard"])
            .exits(1);
        let results = Notes::of(&project).all();
        let asked = results.iter().filter(|line| line.contains("- [ ] run it"));
        assert_eq!(asked.count(), 1, "{results:?}");
    }
    project
        .clada(["approve", "--no-git", "--no-clipboard"])
        .exits(0);
    assert_eq!(ran(&project), ["deploy now"]);
}

#[test]
fn a_command_that_is_approved_twice_runs_once() {
    let project = Project::with_git();
    project.configure("[exec]\nask = ['deploy']\n");
    project.program("deploy", "echo deploy $1 >> runs.txt");
    project.write("first.txt", "1");
    project.git(["add", "."]);
    project.git(["commit", "-q", "-m", "first"]);
    let watching = project.watch(["--no-clipboard"]);
    ask(&project);
    let question = project.read(NOTES);
    let head = project.git(["rev-parse", "HEAD"]);
    project.write(".git/MERGE_HEAD", head);
    tick(&project, "1 ⏸ exec deploy now");
    let notes = wait_for_results(&project, "1 ⏹ exec deploy now");
    // What is answered is not asked any more.
    assert!(
        !notes.results.concat().contains("[ ]"),
        "{:?}",
        notes.results
    );
    project.clada(["approve"]).exits(0);
    watching.until_it_saw(&project.path(NOTES));
    std::fs::remove_file(project.path(".git/MERGE_HEAD")).expect("remove");
    wait_for_results(&project, "1 ✅ exec deploy now");
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project), ["deploy now"]);
    save_by_rename(&project.path(NOTES), question.replace("[ ] run", "[x] run"));
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(&project), ["deploy now"]);
}
