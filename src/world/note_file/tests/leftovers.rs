//! Checks what becomes of the files that a killed write-back left, with files made for it and with real kills. Never runs outside tests.

#[cfg(target_os = "linux")]
use super::race::Way;
use super::*;

/// All lines of the user's, whatever results are above them.
fn is_in(notes: &str) -> impl FnMut(&str) -> bool {
    let lines = |text: &str| {
        let text = text.split_once("results\n").map_or(text, |(_, body)| body);
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let there = lines(notes);
    move |text| lines(text).iter().all(|line| there.contains(line))
}

/// Waits for the processes that other tests start: until it runs its program, each has all open that was open here.
fn wait_until_closed(path: &Path) {
    let until = Instant::now() + Duration::from_secs(10);
    let file = fs::File::open(path).unwrap();
    while lease::no_writer(&file) == Some(false) {
        assert!(Instant::now() < until, "{} stays open", path.display());
    }
}

#[test]
fn a_text_that_is_in_the_notes_is_removed_and_another_is_kept_and_told() {
    let place = Place::new();
    let note = place.note("results\none\ntwo\n");
    for (name, text) in [
        ("before", "one\n"),
        ("result", "results\none\ntwo\n"),
        ("empty0", ""),
        ("save00", "one\ntwo\nthree\n"),
        ("notutf", "one\n\u{fffd}"),
    ] {
        let path = place.path(&format!(".clada-tmp-notes.md-{name}"));
        let bytes = text.replace('\u{fffd}', "\0");
        fs::write(&path, bytes).unwrap();
        wait_until_closed(&path);
    }
    let mut kept = note.leftovers(&mut is_in(&place.read()));
    kept.sort_by_key(|path| fs::metadata(path).unwrap().len());
    let texts: Vec<_> = kept
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(texts, ["one\n\0", "one\ntwo\nthree\n"]);
    let mut names = place.names();
    assert_eq!(names.pop().as_deref(), Some("notes.md"));
    assert_eq!(names.len(), 2);
    assert!(
        names
            .iter()
            .all(|name| name.starts_with(".clada-saved-notes.md-")),
        "{names:?}"
    );
    // They were told of, and are no leftovers any more.
    assert_eq!(note.leftovers(&mut |_| true), [] as [PathBuf; 0]);
    assert_eq!(place.names().len(), 3);
}

#[test]
fn what_is_not_surely_of_these_notes_is_left_alone() {
    let place = Place::new();
    let note = place.note("text");
    let others = [
        ".clada-tmp-notes.md-",
        ".clada-tmp-notes.md-12345",
        ".clada-tmp-notes.md-1234567",
        ".clada-tmp-notes.md-123.56",
        // Of the notes `notes.md-old`.
        ".clada-tmp-notes.md-old-123456",
        ".clada-tmp-other.md-123456",
        ".clada-saved-notes.md-123456",
    ];
    for name in others {
        fs::write(place.path(name), "text").unwrap();
    }
    symlink("notes.md", place.path(".clada-tmp-notes.md-symlin")).unwrap();
    fs::create_dir(place.path(".clada-tmp-notes.md-folder")).unwrap();
    let foreign = place.path(".clada-tmp-notes.md-strang");
    fs::write(&foreign, "text").unwrap();
    if std::os::unix::fs::chown(&foreign, Some(4712), None).is_err() {
        skipped("only root can give files away");
        fs::remove_file(foreign).unwrap();
    }
    let before = place.names();
    assert_eq!(note.leftovers(&mut |_| true), [] as [PathBuf; 0]);
    assert_eq!(note.leftovers(&mut |_| false), [] as [PathBuf; 0]);
    assert_eq!(place.names(), before);
    // Where the notes are that user's too, it came from their place.
    if std::os::unix::fs::chown(note.path(), Some(4712), None).is_ok() {
        assert_eq!(note.leftovers(&mut |_| true), [] as [PathBuf; 0]);
        assert_eq!(place.names().len(), before.len() - 1);
    }
}

/// An editor that was writing in place when clada was killed, and still is.
#[test]
#[cfg(target_os = "linux")]
fn what_somebody_still_writes_is_kept() {
    let place = Place::new();
    let note = place.note("text");
    let left = place.path(".clada-tmp-notes.md-123456");
    fs::write(&left, "text").unwrap();
    let mut writer = OpenOptions::new().append(true).open(&left).unwrap();
    let kept = note.leftovers(&mut |_| true);
    writer.write_all(b" and more").unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "text and more");
}

/// The crash between two steps where names cannot be exchanged: the notes have two names, and could not be exchanged any more.
#[test]
fn a_second_name_of_the_notes_is_taken_away() {
    let place = Place::new();
    let note = place.note("text");
    fs::hard_link(note.path(), place.path(".clada-tmp-notes.md-123456")).unwrap();
    assert_eq!(
        note.leftovers(&mut |text| text == "text"),
        [] as [PathBuf; 0]
    );
    assert_eq!(fs::metadata(note.path()).unwrap().nlink(), 1);
    assert_eq!(place.names(), ["notes.md"]);
}

/// An editor saves line after line while somebody writes results on top, who is killed at any moment. The last save is in the
/// notes then, or in what is told of.
#[test]
#[cfg(target_os = "linux")]
fn a_kill_loses_no_save() {
    let place = Place::new();
    let note = place.note("");
    let mut text = String::new();
    for round in 0..40 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "world::note_file::tests::leftovers::write_results_until_killed",
                "--ignored",
            ])
            .current_dir(place.directory.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_millis(15 + round);
        let mut saves = 0;
        while Instant::now() < until || saves == 0 {
            text += &format!("line {round}.{saves}\n");
            saves += 1;
            if round % 2 == 0 {
                Way::Rename.save(note.path(), &text);
            } else {
                Way::InPlace.save(note.path(), &text);
            }
            sleep(Duration::from_micros(round * 97 % 3000));
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let kept = note.leftovers(&mut is_in(&place.read()));
        let mut texts = kept.iter().map(|path| fs::read_to_string(path).unwrap());
        assert!(
            is_in(&place.read())(&text) || texts.any(|kept| is_in(&kept)(&text)),
            "{text:?} is neither in {:?} nor in one of {kept:?}",
            place.read()
        );
        for path in kept {
            fs::remove_file(path).unwrap();
        }
        assert_eq!(place.names(), ["notes.md"]);
    }
}

#[test]
#[ignore = "is the process that the test above kills"]
fn write_results_until_killed() {
    let note = NoteFile::new(Path::new("notes.md"), LIMIT).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let mut round = 0;
    while note.path().exists() && Instant::now() < until {
        round += 1;
        let mut on_top = |text: &str| {
            let body = text.split_once("results\n").map_or(text, |(_, body)| body);
            format!("{round} results\n{body}")
        };
        note.write_back("", &mut on_top).unwrap();
    }
}
