//! Checks that no save of an editor is lost that meets a write-back. Only Linux has the leases by which none is.

use std::sync::mpsc;

use super::*;

/// An editor's way to save.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Rename,
    InPlace,
    InPieces(Duration),
    Backup,
}

impl Way {
    pub(super) fn save(self, path: &Path, text: &str) {
        let beside = path.with_extension("editor");
        match self {
            Way::Rename => {
                fs::write(&beside, text).unwrap();
                fs::rename(&beside, path).unwrap();
            }
            Way::InPlace => fs::write(path, text).unwrap(),
            Way::InPieces(pause) => {
                let mut file = File::create(path).unwrap();
                sleep(pause);
                file.write_all(text.as_bytes()).unwrap();
            }
            Way::Backup => {
                fs::rename(path, &beside).unwrap();
                fs::write(path, text).unwrap();
                fs::remove_file(&beside).unwrap();
            }
        }
    }
}

/// Each round: an editor saves one line more and a write-back puts a counter on top, at the same time, with changing delays. After
/// both, the file must hold every line, in order. Returns the rounds, and in how many of them the write-back saw the save.
fn race(way: Way, hard_link: bool, lasting: Duration) -> (u64, u64) {
    let place = Place::new();
    let note = place.note("");
    let link = tempfile::tempdir_in(place.directory.path().parent().unwrap()).unwrap();
    if hard_link {
        fs::hard_link(note.path(), link.path().join("link.md")).unwrap();
    }
    let body = |text: &str| {
        text.split_once("=\n")
            .map_or(text, |(_, body)| body)
            .to_owned()
    };
    let (mut rounds, mut merged) = (0, 0);
    let mut lines = String::new();
    let until = Instant::now() + lasting;
    std::thread::scope(|scope| {
        // In here, so that a failure, which drops them, ends the editor too.
        let (start, started) = mpsc::sync_channel::<u64>(0);
        let (end, ended) = mpsc::sync_channel::<()>(0);
        let path = note.path();
        scope.spawn(move || {
            let mut lines = String::new();
            for round in started {
                // From before the first reading until after the removal of the old inode, which takes some milliseconds.
                let delay = Duration::from_micros(round * 37 % 8000);
                let begin = Instant::now();
                while begin.elapsed() < delay {
                    std::hint::spin_loop();
                }
                lines += &format!("line {round}\n");
                way.save(path, &lines);
                end.send(()).unwrap();
            }
        });
        while Instant::now() < until {
            rounds += 1;
            start.send(rounds).unwrap();
            let mut merge = |text: &str| format!("{rounds}=\n{}", body(text));
            let done = note.write_back(&lines, &mut merge).unwrap();
            ended.recv().unwrap();
            lines += &format!("line {rounds}\n");
            let there = body(&place.read());
            assert_eq!(
                there, lines,
                "{way:?}, round {rounds}, wrote {:?}",
                done.text
            );
            assert_eq!(done.saved, Vec::<PathBuf>::new());
            merged += u64::from(body(&done.text) == lines);
        }
    });
    assert_eq!(place.names(), ["notes.md"]);
    (rounds, merged)
}

const WAYS: [Way; 5] = [
    Way::Rename,
    Way::InPlace,
    Way::InPieces(Duration::from_micros(500)),
    Way::InPieces(Duration::from_millis(5)),
    Way::Backup,
];

#[test]
fn no_save_is_lost_in_a_race() {
    for way in WAYS {
        race(way, false, Duration::from_millis(600));
    }
    race(Way::InPlace, true, Duration::from_millis(600));
    race(
        Way::InPieces(Duration::from_micros(500)),
        true,
        Duration::from_millis(600),
    );
}

/// `cargo test --lib no_save_is_lost_in_a_long_race -- --ignored --nocapture`
#[test]
#[ignore = "takes five minutes"]
#[expect(clippy::print_stdout, reason = "its figures are what it is run for")]
fn no_save_is_lost_in_a_long_race() {
    for way in WAYS {
        let (rounds, merged) = race(way, false, Duration::from_secs(60));
        println!(
            "{way:?}: {rounds} saves, {merged} of them merged by the write-back they met, none lost"
        );
    }
}
