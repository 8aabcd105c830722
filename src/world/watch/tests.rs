//! Checks each way of saving on real files and directories, and when to look. Never runs outside tests.

use super::*;
use std::fs::{self, File};
use std::io::Write;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(10);

/// A watched directory with `notes.md` in it.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let place = Place { root };
        fs::create_dir(place.directory()).unwrap();
        fs::write(place.notes(), "text").unwrap();
        place
    }
    fn directory(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("d")
    }
    fn path(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }
    fn notes(&self) -> PathBuf {
        self.path("notes.md")
    }
    fn watch(&self) -> Watcher {
        Watcher::start(&Hub::default(), &[self.notes()], WatchMode::Events).unwrap()
    }
}

/// Waits for this signal; those that a save may give before it are passed over.
async fn expect(watcher: &mut Watcher, signal: Signal) {
    let found = async { while watcher.next().await != signal {} };
    timeout(LONG, found)
        .await
        .unwrap_or_else(|_| panic!("no {signal:?}"));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn every_way_to_save_is_seen_to_be_over() {
    type Save = fn(&Place);
    let saves: [(&str, Save); 6] = [
        ("in place", |place| {
            fs::write(place.notes(), "in place").unwrap()
        }),
        ("rename", |place| {
            fs::write(place.path("new"), "renamed").unwrap();
            fs::rename(place.path("new"), place.notes()).unwrap();
        }),
        ("sed", |place| {
            let done = std::process::Command::new("sed")
                .args(["-i", "s/e/i/"])
                .arg(place.notes())
                .status();
            assert!(done.unwrap().success());
        }),
        ("deleted and made again", |place| {
            fs::remove_file(place.notes()).unwrap();
            fs::write(place.notes(), "again").unwrap();
        }),
        ("backup", |place| {
            fs::rename(place.notes(), place.path("notes.md~")).unwrap();
            fs::write(place.notes(), "vim").unwrap();
            fs::remove_file(place.path("notes.md~")).unwrap();
        }),
        ("exchange", |place| {
            fs::write(place.path(".new"), "exchanged").unwrap();
            let cwd = rustix::fs::CWD;
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(cwd, place.path(".new"), cwd, place.notes(), flags).unwrap();
            fs::remove_file(place.path(".new")).unwrap();
        }),
    ];
    let place = Place::new();
    let mut watcher = place.watch();
    // Each twice: a watch that went deaf by the first would not see the second.
    for (name, save) in saves.iter().flat_map(|save| [save, save]) {
        save(&place);
        let seen = timeout(LONG, expect(&mut watcher, Signal::Over)).await;
        assert!(seen.is_ok(), "{name}");
        // What else the same save gives belongs to it; the next begins with an empty mailbox.
        while timeout(Duration::from_millis(20), watcher.next())
            .await
            .is_ok()
        {}
    }
}

#[tokio::test]
async fn a_file_that_stays_open_is_changing_and_over_when_closed() {
    let place = Place::new();
    let mut watcher = place.watch();
    let mut file = File::create(place.notes()).unwrap();
    expect(&mut watcher, Signal::Changing).await;
    file.write_all(b"half").unwrap();
    expect(&mut watcher, Signal::Changing).await;
    drop(file);
    if cfg!(target_os = "linux") {
        expect(&mut watcher, Signal::Over).await;
    }
}

#[tokio::test]
async fn deleted_is_a_change() {
    let place = Place::new();
    let mut watcher = place.watch();
    fs::remove_file(place.notes()).unwrap();
    expect(&mut watcher, Signal::Changing).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_target_of_a_link_and_the_link_are_watched() {
    let place = Place::new();
    let link = place.directory().parent().unwrap().join("link.md");
    std::os::unix::fs::symlink(place.notes(), &link).unwrap();
    let mut watcher = Watcher::start(
        &Hub::default(),
        &[place.notes(), link.clone()],
        WatchMode::Events,
    )
    .unwrap();
    fs::write(&link, "through the link").unwrap();
    expect(&mut watcher, Signal::Over).await;
    while timeout(Duration::from_millis(20), watcher.next())
        .await
        .is_ok()
    {}
    fs::remove_file(&link).unwrap();
    expect(&mut watcher, Signal::Changing).await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn other_files_and_reading_give_no_signal() {
    let place = Place::new();
    let mut watcher = place.watch();
    for number in 0..100 {
        let other = place.path(&format!("other{number}"));
        fs::write(&other, "x").unwrap();
        fs::rename(&other, place.path("notes.md.swp")).unwrap();
        fs::read(place.notes()).unwrap();
        drop(File::open(place.notes()).unwrap());
    }
    fs::read_dir(place.directory()).unwrap().count();
    // Events come in order, so when this one is here, those before it have been judged.
    fs::rename(place.directory(), place.directory().with_extension("away")).unwrap();
    assert_eq!(timeout(LONG, watcher.next()).await.unwrap(), Signal::Lost);
    assert_eq!(watcher.subscriber.mailbox.take(), None);
}

#[tokio::test]
async fn a_directory_that_went_is_waited_for() {
    let place = Place::new();
    let mut watcher = place.watch();
    for away in [true, false] {
        match away {
            true => {
                fs::rename(place.directory(), place.directory().with_extension("away")).unwrap()
            }
            false => fs::remove_dir_all(place.directory()).unwrap(),
        }
        expect(&mut watcher, Signal::Lost).await;
        // That the file went too may still be said; then there is nothing more.
        while timeout(Duration::from_millis(50), watcher.next())
            .await
            .is_ok()
        {}
        fs::create_dir(place.directory()).unwrap();
        expect(&mut watcher, Signal::Changing).await;
        fs::write(place.notes(), "back").unwrap();
        expect(
            &mut watcher,
            if cfg!(target_os = "linux") {
                Signal::Over
            } else {
                Signal::Changing
            },
        )
        .await;
        while timeout(Duration::from_millis(20), watcher.next())
            .await
            .is_ok()
        {}
    }
}

/// Nothing tells of it but an event from where the directory is now.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn another_name_further_up_is_noticed_at_the_next_event() {
    let place = Place::new();
    let upper = place.directory().join("upper");
    let notes = upper.join("lower/notes.md");
    fs::create_dir_all(upper.join("lower")).unwrap();
    let mut watcher = Watcher::start(
        &Hub::default(),
        std::slice::from_ref(&notes),
        WatchMode::Events,
    )
    .unwrap();
    let away = upper.with_extension("away");
    fs::rename(&upper, &away).unwrap();
    fs::write(away.join("lower/notes.md"), "away").unwrap();
    expect(&mut watcher, Signal::Lost).await;
    fs::create_dir_all(upper.join("lower")).unwrap();
    expect(&mut watcher, Signal::Changing).await;
    fs::write(&notes, "in the new one").unwrap();
    expect(&mut watcher, Signal::Over).await;
}

#[tokio::test]
async fn polling_sees_each_save() {
    let place = Place::new();
    let every = Duration::from_millis(50);
    let later = place.path("later.md");
    let mut watcher = Watcher::start(
        &Hub::default(),
        &[place.notes(), later.clone()],
        WatchMode::Poll { every },
    )
    .unwrap();
    for text in ["one", "two", "two!"] {
        fs::write(place.notes(), text).unwrap();
        expect(&mut watcher, Signal::Changing).await;
    }
    fs::remove_file(place.notes()).unwrap();
    expect(&mut watcher, Signal::Changing).await;
    fs::write(place.notes(), "again").unwrap();
    expect(&mut watcher, Signal::Changing).await;
    fs::write(&later, "made after the start").unwrap();
    expect(&mut watcher, Signal::Changing).await;
}

#[test]
fn a_directory_that_is_none_is_said_to_be() {
    let place = Place::new();
    let start =
        |path: &str| Watcher::start(&Hub::default(), &[place.path(path)], WatchMode::Events);
    assert!(matches!(
        start("missing/notes.md"),
        Err(WatchError::NoDirectory { .. })
    ));
    assert!(matches!(
        start("notes.md/notes.md"),
        Err(WatchError::NotADirectory { .. })
    ));
}

#[test]
fn missed_events_are_a_reason_to_look() {
    let event = Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
    let (hub, place) = (Hub::default(), Place::new());
    let watcher = Watcher::start(&hub, &[place.notes()], WatchMode::Events).unwrap();
    tell(&mut hub.told(), &event);
    assert_eq!(watcher.subscriber.mailbox.take(), Some(Signal::Lost));
}

#[test]
fn a_file_grows_while_nothing_else_happens() {
    let event = |kind, name: &str| Event::new(kind).add_path(Path::new("/d").join(name));
    let written = EventKind::Modify(ModifyKind::Data(notify::event::DataChange::Any));
    let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
    let mut growth = Growth::default();
    let events = [
        (written, "output", false),
        (written, "output", true),
        (written, "output", true),
        (written, "other", false),
        (written, "output", false),
        (closed, "output", false),
        (closed, "output", false),
        (written, "output", false),
        (written, "output", true),
    ];
    for (at, (kind, name, goes_on)) in events.into_iter().enumerate() {
        assert_eq!(growth.goes_on(event(kind, name)), goes_on, "{at}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_save_is_seen_while_another_file_grows() {
    let place = Place::new();
    let watcher = place.watch();
    let mailbox = &watcher.subscriber.mailbox;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let order = std::sync::atomic::Ordering::Relaxed;
    let save = |_| {
        std::thread::sleep(Duration::from_millis(5));
        fs::write(place.path("swp"), "text").unwrap();
        fs::rename(place.path("swp"), place.notes()).unwrap();
        let saved = Instant::now();
        let mut is_seen = false;
        while !is_seen && saved.elapsed() < LONG {
            is_seen = mailbox.take() == Some(Signal::Over);
            std::thread::yield_now();
        }
        is_seen
    };
    let mut other = File::create(place.path("output")).unwrap();
    let all_are_seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(order) {
                other.write_all(b"x").unwrap();
            }
        });
        let all_are_seen = (0..20).all(save);
        is_over.store(true, order);
        all_are_seen
    });
    assert!(all_are_seen);
    assert_eq!(mailbox.take(), None);
}

#[test]
fn limits_name_what_to_raise() {
    let path = PathBuf::from("/d");
    let watches = explain(
        path.clone(),
        notify::Error::new(notify::ErrorKind::MaxFilesWatch),
    );
    assert!(watches.to_string().contains("fs.inotify.max_user_watches"));
    let many = io::Error::from_raw_os_error(libc::EMFILE);
    let watchers = explain(path, notify::Error::io(many));
    assert!(
        watchers
            .to_string()
            .contains("fs.inotify.max_user_instances")
    );
}

#[test]
fn settles_at_once_later_or_at_the_latest() {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let mut settle = Settle::new(Settle::QUIET);
    assert_eq!(settle.due(), None);

    settle.on(Signal::Changing, at(0));
    assert_eq!(settle.due(), Some(at(100)));
    settle.on(Signal::Over, at(3));
    assert_eq!(settle.due(), Some(at(3)));
    settle.on(Signal::Changing, at(4));
    assert_eq!(settle.due(), Some(at(4)));
    settle.looked(Some(true), at(4));
    assert_eq!(settle.due(), None);

    // Closed, but somebody has it open, or that cannot be told.
    for no_writer in [Some(false), None] {
        settle.on(Signal::Over, at(10));
        settle.looked(no_writer, at(11));
        assert_eq!(settle.due(), Some(at(110)));
        settle.looked(no_writer, at(110));
        assert_eq!(settle.due(), None);
    }

    for millis in (0..3000).step_by(50) {
        settle.on(Signal::Changing, at(millis));
    }
    assert_eq!(settle.due(), Some(at(2000)));
    settle.looked(Some(false), at(3000));
    assert_eq!(settle.due(), None);
    assert_eq!(Settle::new(Duration::ZERO).quiet, Duration::from_millis(10));
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn one_hub_serves_many_and_each_is_told_of_its_own_only() {
    let (hub, here, there) = (Hub::default(), Place::new(), Place::new());
    let start = |path: PathBuf| Watcher::start(&hub, &[path], WatchMode::Events).unwrap();
    let mut notes = start(here.notes());
    let mut others = start(here.path("others.md"));
    let elsewhere = start(there.notes());
    fs::write(here.notes(), "text").unwrap();
    expect(&mut notes, Signal::Over).await;
    assert_eq!(others.subscriber.mailbox.take(), None);
    assert_eq!(elsewhere.subscriber.mailbox.take(), None);

    // Who goes takes nothing from those who stay.
    drop(notes);
    fs::write(here.path("others.md"), "text").unwrap();
    expect(&mut others, Signal::Over).await;

    // All who wait for a directory have it back when it comes back.
    let mut notes = start(here.notes());
    fs::rename(here.directory(), here.root.path().join("away")).unwrap();
    expect(&mut notes, Signal::Lost).await;
    expect(&mut others, Signal::Lost).await;
    fs::create_dir(here.directory()).unwrap();
    expect(&mut notes, Signal::Changing).await;
    expect(&mut others, Signal::Changing).await;
    for (watcher, name) in [(&mut notes, "notes.md"), (&mut others, "others.md")] {
        fs::write(here.path(name), "text").unwrap();
        expect(watcher, Signal::Over).await;
    }
    drop((notes, others));
    let left: Vec<_> = hub.told().keys().cloned().collect();
    assert_eq!(left, [there.directory()]);
}
