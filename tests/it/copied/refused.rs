//! Copied texts with tasks that do not run: each is told of, and none is kept.

use super::{Desk, key, keyed, ran, reply};
use crate::daemon::{NOTES, exec, record, wait_for_results};
use crate::harness::{Project, wait_until};

#[test]
fn a_reply_without_the_key_of_its_chat_is_told_of_and_does_not_run() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let key = desk.key();
    let two = reply("one") + &reply("two");
    let paste = format!("to run them, paste them into {NOTES}");
    for (text, said) in [
        (
            two.clone(),
            "2 tasks on the clipboard without this chat's key",
        ),
        (
            keyed(&key, &reply("one")) + &keyed("zzzz2", &reply("two")),
            "2 tasks on the clipboard with several keys",
        ),
        (
            keyed("zzzz2", &two),
            "2 tasks on the clipboard with another chat's key",
        ),
    ] {
        // No more than one notification a minute is for these.
        let kept = desk.project.state_folder().join("refused.time");
        let _ = std::fs::remove_file(kept);
        desk.copy_to(&watching, &text);
        watching.wait_for(&format!("{said}: {paste}"));
        assert_eq!(desk.status()["refused"]["why"], said);
        assert_eq!(desk.clipboard(), text);
    }
    let before = watching.said();
    desk.copy_to(&watching, &reply("three"));
    desk.copy(&desk.reply("right"));
    wait_for_results(&desk.project, "echo right");
    assert!(!watching.said()[before.len()..].contains("without this chat's key"));
    assert_eq!(ran(&desk.project), ["right"]);
    let notes = desk.project.read(NOTES);
    assert!(
        !notes.contains("three") && !notes.contains("zzzz2"),
        "{notes}"
    );
}

#[test]
fn a_reply_that_is_cut_off_is_told_of_and_does_not_run() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let whole = desk.reply("one");
    let cut = whole.split("</x>").next().unwrap();
    desk.copy(cut);
    watching.wait_for(&format!(
        "{NOTES}: the copied reply is cut off: nothing of it ran: copy the whole reply, or paste it into {NOTES}"
    ));
    // Whole, it counts.
    desk.copy(&whole);
    wait_for_results(&desk.project, "echo one");
    assert_eq!(ran(&desk.project), ["one"]);
}

#[test]
fn the_instructions_do_not_run_whatever_part_of_them_is_copied() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let text = desk.project.clada(["instructions"]).exits(0).out;
    let (_, example) = text.split_once("``````xml\n").unwrap();
    let (example, _) = example.split_once("``````").unwrap();
    assert!(example.starts_with("<tasks key="), "{example}");
    for part in [text.as_str(), example] {
        desk.copy_to(&watching, part);
    }
    desk.copy(&desk.reply("right"));
    wait_for_results(&desk.project, "echo right");
    let body = desk.project.read(NOTES);
    assert!(!body.contains("src/new/module.py"), "{body}");
}

#[test]
fn what_ran_when_it_was_pasted_and_is_forgotten_does_not_run() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.project.watch(["--from-clipboard", "--ledger-days=0"]);
    watching.wait_for("watching the clipboard (");
    let old = desk.reply("old");
    desk.project.write(NOTES, &old);
    wait_for_results(&desk.project, "echo old");
    desk.project.write(NOTES, "");
    watching.until_it_looked(&desk.project.path(NOTES));
    desk.copy(&old);
    watching.wait_for("this reply ran at ");
    assert_eq!(ran(&desk.project), ["old"]);
}

/// One button of a page copies the message with the indentation of its list, another the block without.
#[test]
fn indented_or_not_a_reply_runs_once() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let block = |word: &str| keyed(&desk.key(), &exec(&record(word)));
    let message = |word: &str| {
        let lines = format!("``````xml\n{}``````\n", block(word));
        let lines = lines.lines().map(|line| format!("   {line}\n"));
        format!("1. Do this:\n\n{}", lines.collect::<String>())
    };
    for (word, copies) in [
        ("one", [block("one"), message("one")]),
        ("two", [message("two"), block("two")]),
    ] {
        desk.copy_to(&watching, &copies[0]);
        wait_for_results(&desk.project, &format!("echo {word}"));
        desk.copy_to(&watching, &copies[1]);
        let why = || desk.status()["refused"]["why"].to_string();
        wait_until(|| why().contains("this reply ran at "), why);
    }
    // Part of it is new.
    desk.copy_to(&watching, &(block("two") + "\nand\n\n" + &block("three")));
    watching.wait_for("clada.md: a part of this reply is not new: nothing of it ran now");
    assert_eq!(ran(&desk.project), ["one", "two"]);
}

#[test]
fn what_was_seen_and_never_ran_is_for_the_person_to_tick() {
    let Some(desk) = Desk::new() else { return };
    let old = desk.reply("old");
    desk.project.write(NOTES, &old);
    let watching = desk.watch();
    wait_for_results(&desk.project, "before clada began to watch");
    desk.copy(&old);
    watching.wait_for(&format!(
        "{NOTES}: this reply is known, and nothing of it ran: to run it, tick its box in {NOTES}, or paste it there again"
    ));
    assert_eq!(ran(&desk.project), [""; 0]);
}

#[test]
fn many_unknown_keys_end_the_watching() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    for number in 0..10 {
        let stranger = reply(&format!("stranger{number}"));
        desk.copy_to(&watching, &keyed("zzzz2", &stranger));
    }
    let why = "10 texts with unknown keys were copied within a minute";
    watching.wait_for(why);
    desk.copy_to(&watching, &desk.reply("paused"));
    let said = desk.project.clada(["status"]).exits(0).out;
    assert!(said.contains(why), "{said}");
    desk.project.clada(["resume"]).exits(0);
    desk.copy(&desk.reply("right"));
    wait_for_results(&desk.project, "echo right");
    assert_eq!(ran(&desk.project), ["right"]);
}

#[test]
fn without_the_setting_nothing_is_watched() {
    let Some(desk) = Desk::new() else { return };
    desk.project.configure("");
    let watching = desk.project.watch([]);
    desk.copy(&desk.reply("never"));
    desk.project.write(NOTES, exec(&record("pasted")));
    wait_for_results(&desk.project, "echo pasted");
    watching.until_it_rests();
    assert_eq!(watching.copies_heard(), 0);
    assert!(desk.status().is_null());
    assert_eq!(ran(&desk.project), ["pasted"]);
    // The setting can change while it watches.
    desk.project.configure("[clipboard]\nwatch = true\n");
    watching.wait_for("watching the clipboard (X11, ");
    desk.copy(&desk.reply("copied"));
    wait_for_results(&desk.project, "echo copied");
}

/// Nobody but its own clada says something about a reply.
#[test]
fn of_two_cladas_one_acts_and_one_speaks() {
    let Some(desk) = Desk::new() else { return };
    let one = desk.watch();
    std::fs::create_dir(desk.project.path("other")).unwrap();
    let two = desk
        .project
        .watch(["--from-clipboard", "--root=other", "other/notes.md"]);
    two.wait_for("watching the clipboard (");
    let its = key(&desk.project, &["other/notes.md"]);
    desk.copy(&keyed(&its, &exec(&record("other"))));
    let other = desk.project.path("other/runs.txt");
    wait_until(|| other.exists(), || two.said());
    // Its results would take the place of the next copy before it saw that.
    two.wait_for("Copied to clipboard");
    one.until_it_heard(1);
    desk.copy(&reply("nobody"));
    one.until_it_heard(2);
    two.until_it_heard(2);
    let told = |said: &str| said.matches("without this chat's key").count();
    wait_until(
        || told(&one.said()) + told(&two.said()) > 0,
        || one.said() + &two.said(),
    );
    desk.copy(&desk.reply("one"));
    wait_for_results(&desk.project, "echo one");
    two.until_it_heard(3);
    assert_eq!(told(&one.said()) + told(&two.said()), 1);
    assert_eq!(ran(&desk.project), ["one"]);
    assert_eq!(std::fs::read_to_string(other).unwrap(), "other\n");
}

#[test]
fn nothing_of_a_refused_text_is_kept_or_logged() {
    let Some(desk) = Desk::new() else { return };
    let mut command = desk.project.command(env!("CARGO_BIN_EXE_clada"));
    command
        .args(["watch", "--from-clipboard"])
        .env("CLADA_LOG", "trace");
    let watching = crate::harness::Watching::logged(command);
    watching.wait_for("watching the clipboard (");
    for text in [
        "my xylophone-secret password".to_owned(),
        reply("xylophone-secret"),
        keyed("zzzz2", &reply("xylophone-secret")),
        desk.reply("xylophone-secret").replace("</tasks>", ""),
    ] {
        desk.copy_to(&watching, &text);
    }
    let state = desk.project.home();
    let found = Project::command(&desk.project, "grep")
        .args(["-r", "-a", "-l", "xylophone"])
        .arg(&state)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    assert!(!desk.project.read(NOTES).contains("xylophone"));
    watching.signal(rustix::process::Signal::INT);
    let (_, said) = watching.end();
    assert!(!said.contains("xylophone"), "{said}");
}
