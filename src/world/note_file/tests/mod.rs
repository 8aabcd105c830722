//! Checks that reading refuses what it must and that writing loses nothing, with real files and racing editors. Never runs outside tests.

mod kept;
mod leftovers;
#[cfg(target_os = "linux")]
mod race;

use super::*;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::Instant;

const LIMIT: u64 = 1 << 20;

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        Place { directory }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }
    fn note(&self, text: &str) -> NoteFile {
        fs::write(self.path("notes.md"), text).unwrap();
        NoteFile::new(&self.path("notes.md"), LIMIT).unwrap()
    }
    fn read(&self) -> String {
        fs::read_to_string(self.path("notes.md")).unwrap()
    }
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn text(reading: NoteReading) -> String {
    match reading {
        NoteReading::Text { text, .. } => text,
        NoteReading::Missing => panic!("missing"),
    }
}

fn results(text: &str) -> String {
    format!(
        "results\n{}",
        text.strip_prefix("results\n").unwrap_or(text)
    )
}

#[test]
fn reads_text_and_says_that_nobody_writes() {
    let place = Place::new();
    let note = place.note("hello 🌍\r\n");
    let NoteReading::Text {
        text,
        no_writer,
        changed_ms,
    } = note.read().unwrap()
    else {
        panic!("missing")
    };
    let found = fs::metadata(note.path()).unwrap().modified().unwrap();
    let modified = found.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(changed_ms >= i64::try_from(modified.as_millis()).unwrap());
    assert_eq!(text, "hello 🌍\r\n");
    if cfg!(target_os = "linux") {
        assert_eq!(no_writer, Some(true));
        let _writer = OpenOptions::new().append(true).open(note.path()).unwrap();
        assert!(matches!(
            note.read().unwrap(),
            NoteReading::Text {
                no_writer: Some(false),
                ..
            }
        ));
    }
}

#[test]
fn refuses_what_is_not_a_text_file() {
    let place = Place::new();
    let note = place.note("");
    assert_eq!(text(note.read().unwrap()), "");
    fs::write(note.path(), b"a\0b").unwrap();
    assert!(matches!(
        note.read(),
        Err(NoteError::NotText {
            what: NotText::Nul,
            offset: 1,
            ..
        })
    ));
    fs::write(note.path(), b"ab\xff").unwrap();
    assert!(matches!(
        note.read(),
        Err(NoteError::NotText {
            what: NotText::NotUtf8,
            offset: 2,
            ..
        })
    ));
    fs::write(note.path(), vec![b'x'; LIMIT as usize + 1]).unwrap();
    assert!(matches!(note.read(), Err(NoteError::TooLarge { .. })));
    fs::write(note.path(), vec![b'x'; LIMIT as usize]).unwrap();
    assert_eq!(text(note.read().unwrap()).len() as u64, LIMIT);
    fs::remove_file(note.path()).unwrap();
    assert_eq!(note.read().unwrap(), NoteReading::Missing);
    fs::create_dir(note.path()).unwrap();
    assert!(matches!(
        note.read(),
        Err(NoteError::NotAFile {
            kind: "a directory",
            ..
        })
    ));
    fs::remove_dir(note.path()).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(note.path())
            .status()
            .unwrap()
            .success()
    );
    assert!(matches!(
        note.read(),
        Err(NoteError::NotAFile { kind: "a fifo", .. })
    ));
    assert!(
        note.write_back("", &mut |_| panic!("nothing to merge"))
            .is_err()
    );
}

#[test]
fn a_symbolic_link_is_known_by_what_it_leads_to() {
    let place = Place::new();
    let note = place.note("text");
    symlink("notes.md", place.path("two.md")).unwrap();
    symlink(place.path("two.md"), place.path("one.md")).unwrap();
    let linked = NoteFile::new(&place.path("one.md"), LIMIT).unwrap();
    assert_eq!(linked.path(), note.path());
    assert_eq!(
        linked.places(),
        [
            place.path("notes.md"),
            place.path("one.md"),
            place.path("two.md")
        ]
    );
    linked.write_back("text", &mut results).unwrap();
    assert!(
        fs::symlink_metadata(place.path("one.md"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(place.read(), "results\ntext");

    symlink("later/../later.md", place.path("dangling.md")).unwrap();
    let dangling = NoteFile::new(&place.path("dangling.md"), LIMIT).unwrap();
    assert_eq!(dangling.path().file_name().unwrap(), "later.md");
    assert_eq!(dangling.read().unwrap(), NoteReading::Missing);

    symlink("circle.md", place.path("circle.md")).unwrap();
    assert!(matches!(
        NoteFile::new(&place.path("circle.md"), LIMIT),
        Err(NoteError::Unreadable { .. })
    ));
}

#[test]
fn writes_on_top_and_leaves_nothing_beside() {
    for exchange in [true, false] {
        let place = Place::new();
        let mut note = place.note("text");
        note.exchange = exchange;
        fs::set_permissions(note.path(), fs::Permissions::from_mode(0o640)).unwrap();
        let done = note.write_back("text", &mut results).unwrap();
        assert_eq!(
            done,
            WriteBack {
                text: "results\ntext".into(),
                others: false,
                saved: vec![]
            }
        );
        assert_eq!(place.read(), "results\ntext");
        assert_eq!(fs::metadata(note.path()).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(place.names(), ["notes.md"]);
    }
}

#[test]
fn an_unchanged_text_is_not_written() {
    let place = Place::new();
    let note = place.note("text");
    let inode = fs::metadata(note.path()).unwrap().ino();
    note.write_back("text", &mut str::to_owned).unwrap();
    assert_eq!(fs::metadata(note.path()).unwrap().ino(), inode);
}

#[test]
fn a_save_before_the_exchange_is_merged() {
    type Save = fn(&Path, &Path);
    let saves: [Save; 3] = [
        |path, _| fs::write(path, "newer").unwrap(),
        |path, beside| {
            fs::write(beside, "newer").unwrap();
            fs::rename(beside, path).unwrap();
        },
        |path, beside| {
            fs::rename(path, beside).unwrap();
            std::thread::spawn({
                let (path, beside) = (path.to_owned(), beside.to_owned());
                move || {
                    sleep(Duration::from_millis(20));
                    fs::write(path, "newer").unwrap();
                    fs::remove_file(beside).unwrap();
                }
            });
        },
    ];
    for (save, exchange) in saves.iter().flat_map(|save| [(save, true), (save, false)]) {
        let place = Place::new();
        let mut note = place.note("text");
        note.exchange = exchange;
        let mut calls = 0;
        let mut merge = |text: &str| {
            calls += 1;
            if calls == 1 {
                save(note.path(), &place.path("beside"));
            }
            results(text)
        };
        // Only the exchange finds a file that was renamed into place; in steps this is found as well, as both are after the save.
        let done = note.write_back("text", &mut merge).unwrap();
        assert_eq!(
            done,
            WriteBack {
                text: "results\nnewer".into(),
                others: true,
                saved: vec![]
            }
        );
        assert_eq!(place.read(), "results\nnewer");
        assert_eq!(place.names(), ["notes.md"]);
    }
}

#[test]
fn who_still_writes_into_the_old_inode_is_waited_for() {
    let place = Place::new();
    let note = place.note("text");
    let mut writer = None;
    let mut merge = |text: &str| {
        if writer.is_none() {
            let path = note.path().to_owned();
            let (open, opened) = std::sync::mpsc::channel();
            writer = Some(std::thread::spawn(move || {
                let mut file = File::create(path).unwrap();
                open.send(()).unwrap();
                sleep(Duration::from_millis(100));
                file.write_all(b"slowly").unwrap();
            }));
            opened.recv().unwrap();
        }
        results(text)
    };
    let done = note.write_back("text", &mut merge).unwrap();
    writer.unwrap().join().unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(done.text, "results\nslowly");
        assert_eq!(place.read(), "results\nslowly");
    }
}

#[test]
fn a_save_that_never_saw_the_one_before_does_not_hide_it() {
    let place = Place::new();
    let note = place.note("text");
    let mut calls = 0;
    let mut merge = |text: &str| {
        calls += 1;
        match calls {
            1 => fs::write(note.path(), "text\nfirst").unwrap(),
            2 => fs::write(note.path(), "text\nsecond").unwrap(),
            _ => {}
        }
        results(text)
    };
    let done = note.write_back("text", &mut merge).unwrap();
    assert_eq!(place.read(), "results\ntext\nsecond");
    assert_eq!(done.saved.len(), 1);
    assert_eq!(fs::read_to_string(&done.saved[0]).unwrap(), "text\nfirst");
}

#[test]
fn a_save_that_is_not_text_goes_back_to_its_place() {
    let place = Place::new();
    let note = place.note("text");
    let mut merge = |text: &str| {
        fs::write(note.path(), b"\xff").unwrap();
        results(text)
    };
    let failed = note.write_back("text", &mut merge);
    assert!(
        matches!(failed, Err(NoteError::NotText { .. })),
        "{failed:?}"
    );
    assert_eq!(fs::read(note.path()).unwrap(), b"\xff");
    assert_eq!(place.names(), ["notes.md"]);
}

#[test]
fn a_file_deleted_meanwhile_stays_deleted() {
    let place = Place::new();
    let note = place.note("text");
    let mut merge = |text: &str| {
        fs::remove_file(note.path()).unwrap();
        results(text)
    };
    assert!(matches!(
        note.write_back("text", &mut merge),
        Err(NoteError::Gone { .. })
    ));
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn hard_links_stay_one_file() {
    let place = Place::new();
    let note = place.note("text");
    fs::hard_link(note.path(), place.path("other.md")).unwrap();
    let done = note.write_back("text", &mut results);
    if cfg!(target_os = "linux") {
        assert_eq!(done.unwrap().text, "results\ntext");
        assert_eq!(
            fs::read_to_string(place.path("other.md")).unwrap(),
            "results\ntext"
        );
        assert_eq!(fs::metadata(note.path()).unwrap().nlink(), 2);
        assert_eq!(place.names(), ["notes.md", "other.md"]);
    } else {
        assert!(matches!(done, Err(NoteError::HardLinked { .. })));
    }
}

/// Between creating a file and being counted among its writers an editor may have to wait for its turn.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_somebody_is_about_to_write_first_is_waited_for() {
    use std::os::fd::AsRawFd;
    let is_merged = || {
        let place = Place::new();
        let note = place.note("");
        let created = File::open(note.path()).unwrap();
        let inode = created.metadata().unwrap().ino();
        let path = place.path("notes.md");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while fs::metadata(&path).unwrap().ino() == inode {
                    std::hint::spin_loop();
                }
                sleep(Duration::from_millis(30));
                fs::write(format!("/proc/self/fd/{}", created.as_raw_fd()), "late\n").unwrap();
            });
            let mut merge = |text: &str| format!("=\n{text}");
            note.write_back("", &mut merge).unwrap();
        });
        place.read() == "=\nlate\n"
    };
    // A busy machine may make it wait for longer than anybody does here.
    assert!((0..5).any(|_| is_merged()));
}
