//! clada is killed while it takes a copied reply: nothing runs twice, and nothing that it took is lost.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use super::{Desk, keyed, ran};
use crate::chance::Chance;
use crate::daemon::{NOTES, exec, wait_for_results};
use crate::harness::wait_until;

/// The number of kills; `KILLS` sets another.
const KILLS: usize = 6;
/// The longest time from a copy to the kill.
const LATEST: Duration = Duration::from_millis(60);

#[test]
fn killed_at_any_moment_a_copied_reply_runs_once_or_is_copied_again() {
    let Some(desk) = Desk::new() else { return };
    desk.project.configure("[git]\nenabled = false\n");
    let kills = std::env::var("KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let key = desk.key();
    let mut chance = Chance::new();
    let mut watching = desk.watch();
    let (mut taken, mut again) = (0, 0);
    for round in 0..kills {
        let word = format!("w{round}");
        let reply = keyed(
            &key,
            &format!("{word}:\n{}", exec(&format!("echo {word} >> runs.txt"))),
        );
        let times = || ran(&desk.project).iter().filter(|it| **it == word).count();
        desk.copy(&reply);
        sleep(Duration::from_micros(
            chance.below(LATEST.as_micros() as u64),
        ));
        assert_eq!(watching.stop(Signal::KILL), None);
        watching = desk.watch();
        watching.until_it_rests();
        let notes = desk.project.read(NOTES);
        if notes.contains(&word) {
            // Taken before the kill: it ran, or its results say that nobody knows.
            taken += 1;
            let is_told = || times() == 1 || desk.project.read(NOTES).contains("interrupted");
            wait_until(is_told, || desk.project.read(NOTES));
        } else {
            // It never came so far.
            assert_eq!(times(), 0);
            again += 1;
            desk.copy_to(&watching, &format!("before {word}"));
            desk.copy(&reply);
            wait_until(|| times() == 1, || watching.said());
        }
        watching.until_it_rests();
        assert!(times() <= 1, "{word} ran twice");
        desk.project.write(NOTES, "");
        watching.until_it_looked(&desk.project.path(NOTES));
    }
    eprintln!("{kills} kills: {taken} taken before, {again} copied again");
    let mut all = ran(&desk.project);
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}

/// Nobody knows what was copied while clada was gone.
#[test]
fn after_a_restart_results_wait() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let script = "until [ -e go ]; do sleep 0.01; done; echo late >> runs.txt";
    desk.copy(&keyed(&desk.key(), &exec(script)));
    watching.wait_for("echo late");
    assert_eq!(watching.stop(Signal::KILL), None);
    std::fs::write(desk.project.path("go"), "").unwrap();
    desk.copy("my own");
    let watching = desk.watch();
    let notes = wait_for_results(&desk.project, "interrupted");
    let status = &notes.status;
    assert!(status.starts_with("📋 Not copied at "), "{status}");
    let why = "clada was restarted after you copied the reply; `clada copy` copies the results";
    assert!(status.ends_with(why), "{status}");
    watching.until_it_rests();
    assert_eq!(desk.clipboard(), "my own");
}

/// A reply that was taken waits for notes that are gone for a while.
#[test]
fn notes_that_are_gone_get_the_reply_when_they_are_back() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    std::fs::rename(desk.project.path(NOTES), desk.project.path("away")).unwrap();
    let reply = desk.reply("one");
    desk.copy(&reply);
    watching.wait_for(
        "a copied reply is not in the notes yet: the notes file does not exist: waiting for it",
    );
    assert_eq!(ran(&desk.project), [""; 0]);
    watching.until_it_rests();
    let said = watching.said();
    assert_eq!(
        said.matches("a copied reply is not in").count(),
        1,
        "{said}"
    );
    std::fs::rename(desk.project.path("away"), desk.project.path(NOTES)).unwrap();
    let notes = wait_for_results(&desk.project, "echo one");
    assert!(notes.body.ends_with(&reply), "{}", notes.body);
}
