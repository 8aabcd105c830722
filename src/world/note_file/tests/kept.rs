//! Checks that a write-back changes the text and nothing else, and that where it may not, it says why and what to do. Never races.

use super::*;
use rustix::fs::XattrFlags;
use std::ffi::CString;

/// All that a file has beside its text.
#[derive(Debug, PartialEq)]
struct Shape {
    mode: u32,
    owner: (u32, u32),
    attributes: Vec<(CString, Vec<u8>)>,
}

impl Shape {
    fn of(path: &Path) -> Shape {
        let meta = fs::metadata(path).unwrap();
        let mut list = vec![0; 4096];
        let length = rustix::fs::listxattr(path, &mut list).unwrap();
        let names = list[..length].split_inclusive(|byte| *byte == 0);
        let attributes = names.map(|name| {
            let name = CString::from_vec_with_nul(name.to_owned()).unwrap();
            let mut value = vec![0; 4096];
            let length = rustix::fs::getxattr(path, &name, &mut value).unwrap();
            value.truncate(length);
            (name, value)
        });
        Shape {
            mode: meta.mode() & 0o7777,
            owner: (meta.uid(), meta.gid()),
            attributes: attributes.collect(),
        }
    }
}

#[test]
fn mode_owner_attributes_and_access_list_are_kept() {
    // For the owner, user 4711, the group, the mask and all others.
    const ACCESS_LIST: &[u8] = b"\x02\0\0\0\
        \x01\0\x06\0\xff\xff\xff\xff\x02\0\x06\0\x67\x12\0\0\x04\0\x04\0\xff\xff\xff\xff\
        \x10\0\x06\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";
    for exchange in [true, false] {
        let place = Place::new();
        let mut note = place.note("text");
        note.exchange = exchange;
        fs::set_permissions(note.path(), fs::Permissions::from_mode(0o640)).unwrap();
        for (name, value) in [
            ("user.origin", &b"here"[..]),
            ("system.posix_acl_access", ACCESS_LIST),
        ] {
            let set = rustix::fs::setxattr(note.path(), name, value, XattrFlags::empty());
            match set {
                Ok(()) => {}
                Err(Errno::NOTSUP) => skipped(&format!("no {name} here")),
                Err(error) => panic!("{name}: {error}"),
            }
        }
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(note.path(), Some(4712), Some(4713)).unwrap();
        }
        let before = Shape::of(note.path());
        note.write_back("text", &mut results).unwrap();
        assert_eq!(place.read(), "results\ntext");
        assert_eq!(Shape::of(note.path()), before);
        assert_eq!(place.names(), ["notes.md"]);
    }
}

#[test]
fn every_byte_of_a_text_is_kept() {
    for text in [
        "",
        "\n",
        "no line end",
        "two\r\nlines\r\n",
        "a\rb\n\r\n",
        "\u{feff}first\r\nlast",
        "\u{feff}",
        "🌍\t \u{85}\u{2028}\n\n\n",
    ] {
        for links in [1, 2] {
            let place = Place::new();
            let note = place.note(text);
            if links == 2 {
                fs::hard_link(note.path(), place.path("second.md")).unwrap();
            }
            let done = note.write_back(text, &mut results);
            if links == 2 && !cfg!(target_os = "linux") {
                continue;
            }
            assert!(!done.unwrap().others, "{text:?}");
            assert_eq!(place.read(), format!("results\n{text}"));
        }
    }
}

/// A mark that not even root can write past, taken off when dropped.
struct Marked<'p>(&'p Path);

impl Marked<'_> {
    fn immutable(path: &Path) -> Option<Marked<'_>> {
        chattr("+i", path).then_some(Marked(path))
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        chattr("-i", self.0);
    }
}

fn chattr(change: &str, path: &Path) -> bool {
    let done = Command::new("chattr").arg(change).arg(path).output();
    done.is_ok_and(|done| done.status.success())
}

#[test]
fn what_is_immutable_is_left_alone_and_said_to_be() {
    let place = Place::new();
    let note = place.note("text");
    let Some(marked) = Marked::immutable(note.path()) else {
        return skipped("nothing can be made immutable here");
    };
    let failed = note.write_back("text", &mut results).unwrap_err();
    drop(marked);
    assert_eq!(
        failed.to_string(),
        format!(
            "cannot write `{}`: Operation not permitted (os error 1): remove its immutable flag (`chattr -i`) to get the \
             results into it",
            note.path().display()
        )
    );
    let marked = Marked::immutable(place.directory.path()).unwrap();
    let failed = note.write_back("text", &mut results).unwrap_err();
    drop(marked);
    let said = failed.to_string();
    assert!(
        said.contains("clada cannot create a file beside it: Operation not permitted"),
        "{said}"
    );
    assert_eq!(
        (place.read().as_str(), place.names()),
        ("text", vec!["notes.md".to_owned()])
    );
}

/// Permissions do not bind root, so as root the test runs itself once more as somebody else.
#[test]
fn what_may_not_be_written_is_not_replaced() {
    if again_as_nobody("what_may_not_be_written_is_not_replaced", Path::new("/")) {
        return;
    }
    let place = Place::new();
    let note = place.note("text");
    fs::set_permissions(note.path(), fs::Permissions::from_mode(0o444)).unwrap();
    let failed = note.write_back("text", &mut results).unwrap_err();
    assert!(
        matches!(failed, NoteError::NotWritable { .. }),
        "{failed:?}"
    );
    let said = failed.to_string();
    assert!(
        said.ends_with("make it writable for this user to get the results into it"),
        "{said}"
    );

    fs::set_permissions(note.path(), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let failed = note.write_back("text", &mut results).unwrap_err();
    fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let said = failed.to_string();
    assert!(
        said.contains("clada cannot create a file beside it: Permission denied"),
        "{said}"
    );
    assert!(
        said.ends_with("make its folder writable for this user; the file is unchanged"),
        "{said}"
    );
    assert_eq!(place.read(), "text");

    fs::set_permissions(note.path(), fs::Permissions::from_mode(0o000)).unwrap();
    let failed = note.read().unwrap_err();
    assert!(
        failed
            .to_string()
            .ends_with("make it readable for this user"),
        "{failed}"
    );
}

/// In a folder like `/tmp` that is shared: one's own notes are written, those of somebody else would change hands.
#[test]
fn notes_of_somebody_else_are_left_to_him() {
    const NAME: &str = "notes_of_somebody_else_are_left_to_him";
    let shared = Place::new();
    let (own, others) = (shared.path("own.md"), shared.path("others.md"));
    if rustix::process::geteuid().is_root() {
        for path in [&own, &others] {
            fs::write(path, "text").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
        }
        std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(shared.directory.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(again_as_nobody(NAME, shared.directory.path()));
        assert_eq!(fs::read_to_string(others).unwrap(), "text");
        assert_eq!(shared.names(), ["others.md", "own.md"]);
        return;
    }
    let here = std::env::current_dir().unwrap();
    if !here.join("others.md").exists() {
        return skipped("only root can give files away");
    }
    let note = NoteFile::new(&here.join("own.md"), LIMIT).unwrap();
    note.write_back("text", &mut results).unwrap();
    assert_eq!(fs::read_to_string(note.path()).unwrap(), "results\ntext");
    let note = NoteFile::new(&here.join("others.md"), LIMIT).unwrap();
    let failed = note.write_back("text", &mut results).unwrap_err();
    let said = failed.to_string();
    assert!(
        said.contains("clada cannot keep its owner, mode or attributes: Operation not permitted"),
        "{said}"
    );
    assert!(
        said.contains("give the file to the user that clada runs as"),
        "{said}"
    );
}

const NOBODY: u32 = 65534;

/// Runs a test of this file once more, as nobody and in this folder. False where that is not needed, as nobody here is root.
fn again_as_nobody(name: &str, folder: &Path) -> bool {
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("world::note_file::tests::kept::{name}")]);
    again.uid(NOBODY).gid(NOBODY).current_dir(folder);
    match again.env_remove("TMPDIR").output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && said.contains("1 passed"),
                "{said}"
            );
        }
        Err(error) => {
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            skipped("nobody may not run the tests");
        }
    }
    true
}
