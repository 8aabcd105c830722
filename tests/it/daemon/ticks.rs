//! Ticks that are not the person's: what a reply, a command, a hook or a process that lives on can write into the notes.
//! Each is tried with the real program, and none may have anything run.

use std::fs;

#[cfg(target_os = "linux")]
use rustix::process::{Pid, Signal, kill_process};

use super::{END, NOTES, Notes, exec, exec_task, listen, ran, save, wait_for_results};
#[cfg(target_os = "linux")]
use crate::harness::runs;
use crate::harness::{Project, Watching, save_by_rename, wait_until};

const CHANGED: &str = "a tick is ignored if other text changes with it, as a reply may quote one: tick it again and change nothing else";
const RAN: &str = "a tick made while a command or a hook runs is ignored: tick it again, or run `clada approve` or `clada retry`";

/// A project whose user wants to be asked about `deploy`.
fn project() -> Project {
    let project = Project::new();
    project.configure("[exec]\nask = ['deploy']\n");
    project.program("deploy", "echo deploy $1 >> runs.txt");
    project
}

/// What a reply can quote: the results as the chat got them, with each box ticked.
fn quoted(project: &Project) -> String {
    let text = project.read(NOTES);
    let (block, _) = text.split_once(END).expect("a block");
    let (_, packet) = block.split_once('\n').expect("a line above it");
    format!("{}{END}", packet.replace("- [ ] ", "- [x] "))
}

/// A script that ticks each box in the notes.
const TICK: &str = "sed -i 's/- \\[ \\] /- [x] /' clada.md";

/// Ticks each box of the notes, as the person does.
fn tick(project: &Project) {
    let text = project.read(NOTES);
    assert!(text.contains("- [ ] "), "{text}");
    save_by_rename(&project.path(NOTES), text.replace("- [ ] ", "- [x] "));
}

/// Whether a box of the results is ticked.
#[cfg(target_os = "linux")]
fn is_ticked(project: &Project) -> bool {
    let notes = Notes::parse(&project.read(NOTES));
    notes.is_some_and(|notes| notes.all().iter().any(|line| line.contains("- [x] run")))
}

/// The offers of each kind: what has them made, what is done when one counts.
fn offers() -> [(Project, String, &'static str); 3] {
    let asks = project();
    let place = Project::new();
    place.write("a.txt", "x\n\nx\n");
    let again = Project::new();
    let edit =
        "<task><path>a.txt</path><c>edit</c><search>x</search><replace>runs.txt</replace></task>\n";
    again.write(NOTES, exec("echo old >> runs.txt"));
    [
        (asks, exec("deploy now"), "1 ⏸"),
        (place, format!("<tasks>\n{edit}</tasks>\n"), "1 ❌"),
        (again, exec("echo old >> runs.txt"), "before clada began"),
    ]
}

/// Listens, and waits until the offer of a body is there. Notes that are there already are not saved once more: that could take
/// the offer away again.
#[track_caller]
fn offered(project: &Project, body: &str, says: &str) -> Watching {
    let is_there = project.exists(NOTES);
    let watching = listen(project);
    if !is_there {
        save(project, body);
    }
    wait_for_results(project, says);
    watching
}

/// Nothing was done by a tick.
#[track_caller]
fn assert_untouched(project: &Project, watching: &Watching) {
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(ran(project), [""; 0]);
    if project.exists("a.txt") {
        assert_eq!(project.read("a.txt"), "x\n\nx\n");
    }
}

/// The old block is gone, and a reply that quotes it is all that is pasted: first in two saves, then in one.
#[test]
fn a_quoted_block_in_the_place_of_the_old_one_ticks_nothing() {
    for saves in [2, 1] {
        for (project, body, says) in offers() {
            let watching = offered(&project, &body, says);
            let quoted = quoted(&project);
            if saves == 2 {
                save_by_rename(&project.path(NOTES), &body);
                watching.until_it_looked(&project.path(NOTES));
            }
            save_by_rename(&project.path(NOTES), format!("{quoted}{body}"));
            wait_for_results(&project, CHANGED);
            assert_untouched(&project, &watching);
            let is_offered = Notes::of(&project).all().concat().contains("- [ ] ");
            assert!(is_offered, "{}", project.read(NOTES));
        }
    }
}

/// The editor's undo, or a sync, brings back results that are not the newest any more.
#[test]
fn older_results_tick_nothing() {
    for (project, body, says) in offers() {
        let watching = offered(&project, &body, says);
        let old = project.read(NOTES);
        let (block, _) = old.split_once(END).expect("a block");
        let more = format!("{body}more\n{}", exec("true"));
        save(&project, &more);
        wait_for_results(&project, "1 ✅ exec true");
        let ticked = block.replace("- [ ] ", "- [x] ");
        save_by_rename(&project.path(NOTES), format!("{ticked}{END}{more}"));
        wait_for_results(&project, "a tick in older results is ignored");
        assert_untouched(&project, &watching);
        let is_offered = Notes::of(&project).all().concat().contains("- [ ] ");
        assert!(is_offered, "{}", project.read(NOTES));
    }
}

/// Whatever is offered, a command that ticks it while it runs does not get it.
#[test]
fn a_command_ticks_nothing_of_any_kind() {
    for (project, body, says) in offers() {
        let watching = offered(&project, &body, says);
        let forge = exec(&format!("{TICK}; touch forged"));
        save(&project, &format!("{body}more\n{forge}"));
        let shows = |text: &str| {
            let notes = Notes::parse(&project.read(NOTES));
            notes.is_some_and(|notes| notes.all().concat().contains(text))
        };
        // A warning about the tick may stand above them by now.
        wait_until(|| shows("1 ✅ exec sed"), || project.read(NOTES));
        assert_untouched(&project, &watching);
        wait_until(|| shows("- [ ] "), || project.read(NOTES));
    }
}

/// The user's own hook runs a Makefile that came out of a reply; it runs again each time the batch is tried.
#[test]
fn a_hook_ticks_nothing() {
    let project = Project::new();
    project.configure("[exec]\nask = ['deploy']\n[[hooks.before]]\nrun = 'sh ./format'\n");
    project.program("deploy", "echo deploy $1 >> runs.txt");
    project.write("format", "");
    let watching = listen(&project);
    save(&project, &exec("deploy now"));
    wait_for_results(&project, "1 ⏸ exec deploy now");
    let format =
        format!("test -e refuse || exit 0\ntest -e forge && {TICK} && touch forged\nexit 1\n");
    project.write("format", format).write("refuse", "");
    let body = Notes::of(&project).body;
    let write = "<tasks><task><path>a.txt</path><c>overwrite</c><x>x\n\nx\n</x></task></tasks>\n";
    let body = format!("{body}more\n{write}");
    save(&project, &body);
    wait_for_results(&project, "1 ⏹ overwrite a.txt");
    // It is tried again with the next save, and nothing new is to be told then.
    project.write("forge", "");
    save(&project, &format!("{body}prose\n"));
    wait_until(|| project.exists("forged"), || project.read(NOTES));
    wait_for_results(&project, RAN);
    fs::remove_file(project.path("refuse")).expect("remove");
    save(&project, &format!("{body}prose\nmore prose\n"));
    wait_for_results(&project, "1 ✅ overwrite a.txt");
    assert_untouched(&project, &watching);
    tick(&project);
    wait_for_results(&project, "1 ✅ exec deploy now");
}

/// A clada that asks whether a command may run, and runs another one, whose processes cannot be ended now: clada was killed, and
/// what is to end them does not go on. The command strikes when there is a file of that name.
#[cfg(target_os = "linux")]
fn cut_off(strike: &str) -> (Project, Pid) {
    let project = project();
    let watching = listen(&project);
    save(&project, &exec("deploy now"));
    wait_for_results(&project, "1 ⏸ exec deploy now");
    let script = format!("touch began; until [ -e strike ]; do sleep 0.01; done; {strike}");
    let body = Notes::of(&project).body;
    save(&project, &format!("{body}more\n{}", exec(&script)));
    wait_until(|| project.exists("began"), || watching.said());
    let children = format!("/proc/{0}/task/{0}/children", watching.pid());
    let children = std::fs::read_to_string(children).expect("children");
    let first = children.split_whitespace().next().expect("a first process");
    let first = Pid::from_raw(first.parse().expect("a number")).expect("a number");
    kill_process(first, Signal::STOP).expect("it stops");
    watching.stop(Signal::KILL);
    (project, first)
}

/// As long as something of a command lives, no tick counts: not its own, nor the person's.
#[test]
#[cfg(target_os = "linux")]
fn what_outlives_a_kill_ticks_nothing() {
    let (project, first) = cut_off(&format!("{TICK}; touch struck; sleep 60"));
    let again = listen(&project);
    wait_for_results(&project, "clada stopped during");
    project.write("strike", "");
    wait_until(|| project.exists("struck"), || again.said());
    let notes = wait_for_results(
        &project,
        "ticks are ignored while processes that commands left behind are running: ",
    );
    let said = notes.results.concat();
    assert!(said.contains("what a killed clada started"), "{said}");
    assert_untouched(&project, &again);
    tick(&project);
    again.until_it_looked(&project.path(NOTES));
    assert_untouched(&project, &again);
    kill_process(first, Signal::CONT).expect("it goes on");
    wait_until(|| !runs(&first.to_string()), || "its end".to_owned());
    drop(again);
    let _watching = listen(&project);
    wait_until(|| !is_ticked(&project), || project.read(NOTES));
    // A tick that comes while clada still looks at what was left behind is ignored, and offered again.
    let ran = || {
        let text = project.read(NOTES);
        if text.contains("- [ ] run it") {
            let ticked = text.replace("- [ ] run it", "- [x] run it");
            save_by_rename(&project.path(NOTES), ticked);
        }
        text.contains("✅ exec deploy now")
    };
    wait_until(ran, || project.read(NOTES));
}

/// It ticks, and ends before clada looks.
#[test]
#[cfg(target_os = "linux")]
fn what_outlives_a_kill_and_ends_at_once_ticks_nothing() {
    let (project, first) = cut_off(&format!("touch struck; exec {TICK}"));
    let again = listen(&project);
    wait_for_results(&project, "clada stopped during");
    project.write("strike", "");
    wait_until(|| project.exists("struck"), || again.said());
    kill_process(first, Signal::CONT).expect("it goes on");
    wait_until(|| !runs(&first.to_string()), || again.said());
    wait_until(|| !is_ticked(&project), || again.said());
    assert_untouched(&project, &again);
}

/// One tick asks for several commands, and nothing of them is hidden.
#[test]
fn every_command_that_asks_is_shown() {
    let project = project();
    let _watching = listen(&project);
    let script = format!(
        "true\ndeploy one{}&& deploy two\ndeploy th\u{202e}ree \u{200b}{}\n",
        " ".repeat(300),
        "x".repeat(300)
    );
    save(&project, &exec(&script));
    let notes = wait_for_results(&project, "1 ⏸");
    let cut = "x".repeat(200 - "deploy th\\u{202e}ree \\u{200b}".len());
    assert_eq!(
        notes.results,
        [
            "1 ⏸ exec true … - needs approval for these 3 commands - [ ] run it".to_owned(),
            "     deploy one".to_owned(),
            "     deploy two".to_owned(),
            format!("     deploy th\\u{{202e}}ree \\u{{200b}}{cut}… (100 more characters)")
                .replace("100", &(300 - cut.len()).to_string()),
        ]
    );
    let output = project.read(super::OUTPUT);
    assert!(output.contains(&"x".repeat(300)), "{output}");
    // The question stays, as a whole, when other results come.
    let body = notes.body;
    super::wait_to_read(&project.path(NOTES));
    save(&project, &format!("{body}more\n{}", exec("true")));
    let again = wait_for_results(&project, "1 ✅ exec true");
    assert!(
        again.results[1].contains("needs approval for these 3 commands"),
        "{:?}",
        again.results
    );
    assert_eq!(again.results[2..5], notes.results[1..]);
    let output = project.read(super::OUTPUT);
    assert!(output.contains(&"x".repeat(300)), "{output}");
    tick(&project);
    wait_for_results(&project, "1 ✅ exec true …");
    assert_eq!(ran(&project)[..2], ["deploy one", "deploy two"]);
}

#[test]
fn more_than_five_say_where_they_are() {
    let project = project();
    let _watching = listen(&project);
    let script: String = (1..=9).map(|n| format!("deploy {n}\n")).collect();
    let body = format!(
        "<tasks>\n{}{}</tasks>\n",
        exec_task(&script),
        exec_task("deploy a")
    );
    save(&project, &body);
    let notes = wait_for_results(&project, "1 ⏸");
    assert_eq!(
        notes.results,
        [
            "1 ⏸ exec deploy 1 … - needs approval for these 9 commands - [ ] run it",
            "     deploy 1",
            "     deploy 2",
            "     deploy 3",
            "     deploy 4",
            "     and 5 more: see all of them, and the whole script, in the full output",
            "2 ⏸ exec deploy a - [ ] run it",
        ]
    );
    let output = project.read(super::OUTPUT);
    let outputs = output.split_once("=== OUTPUTS ===").expect("outputs").1;
    assert!(outputs.contains("deploy 9\n"), "{output}");
    // Its own box is meant, whatever stands above it.
    let text = project
        .read(NOTES)
        .replace("deploy a - [ ] run it", "deploy a - [x] run it");
    save_by_rename(&project.path(NOTES), text);
    wait_until(|| ran(&project) == ["deploy a"], || project.read(NOTES));
}

/// Blanks push what asks off the line.
#[test]
fn a_line_that_hides_something_is_shown_below() {
    let project = project();
    let script = format!("true{};deploy x", " ".repeat(150));
    let ended = project
        .clada_with(["run", "--no-git", "--dry-run"], &exec(&script))
        .exits(1);
    assert!(
        ended
            .results()
            .contains(" - needs approval for `deploy x`:"),
        "{}",
        ended.out
    );
    let ended = project.clada_with(["check"], &exec(&script)).exits(0);
    assert!(
        ended.out.contains(" - needs approval for `deploy x`\n"),
        "{}",
        ended.out
    );
}
