//! The list of watched files: what is put in, taken out and written by hand.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    folders: Folders,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("temp dir");
        let folders = Folders {
            home: "/h".into(),
            ..Folders::below(dir.path())
        };
        Self { dir, folders }
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(&self.folders.config).expect("folder");
        fs::write(Registry::path(&self.folders), text).expect("write");
    }

    fn read(&self) -> String {
        fs::read_to_string(Registry::path(&self.folders)).expect("read")
    }

    fn load(&self) -> Registry {
        Registry::load(&self.folders).expect("load")
    }

    fn add(&self, file: &str, root: &str) -> Added {
        let add = async { Registry::add(&self.folders, &entry(file, root), &mut |_| ()).await };
        run(add).expect("add")
    }

    fn remove(&self, file: &str) -> Result<PathBuf, RegistryError> {
        run(async { Registry::remove(&self.folders, Path::new(file), &mut |_| ()).await })
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .enable_time()
        .build()
        .expect("runtime")
        .block_on(work)
}

fn entry(file: &str, root: &str) -> WatchedFile {
    WatchedFile {
        shared: false,
        file: file.into(),
        root: root.into(),
    }
}

#[test]
fn what_is_put_in_is_in_and_what_is_taken_out_is_not() {
    let place = Place::new();
    assert_eq!(place.load(), Registry::default());
    assert_eq!(place.add("/a/clada.md", "/a"), Added::New);
    assert_eq!(place.add("/b/n.md", "/c"), Added::New);
    assert_eq!(place.add("/b/n.md", "/c"), Added::Already);
    let was = Some("/c".into());
    assert_eq!(place.add("/b/n.md", "/b"), Added::Instead(was));
    let expected = "\
        [[watch]]\nfile = \"/a/clada.md\"\nroot = \"/a\"\n\n\
        [[watch]]\nfile = \"/b/n.md\"\nroot = \"/b\"\n";
    assert_eq!(place.read(), format!("{HEAD}{expected}"));
    assert_eq!(
        place.remove("/a/clada.md").expect("in"),
        Path::new("/a/clada.md")
    );
    assert!(matches!(
        place.remove("/a/clada.md"),
        Err(RegistryError::Unknown(_))
    ));
    assert_eq!(place.load().entries, [entry("/b/n.md", "/b")]);
    place.remove("/b/n.md").expect("in");
    assert_eq!(place.read(), HEAD);
    assert_eq!(place.add("/a/clada.md", "/a"), Added::New);
    let first = &expected[..expected.find("\n\n").expect("two") + 1];
    assert_eq!(place.read(), format!("{HEAD}{first}"));
}

#[test]
fn what_the_user_wrote_stays() {
    let place = Place::new();
    let text = "\
        # mine\n\n# the first\n[[watch]]\nfile = '/a' # here\n\n\
        # the second\n[[watch]]\nfile = '/b'\nroot = '/r'\n# the end\n";
    place.write(text);
    place.add("/b", "/s");
    let changed = text.replace("'/r'", "\"/s\"");
    assert_eq!(place.read(), changed);
    place.remove("/a").expect("in");
    let (_, second) = changed.split_once("# the second").expect("second");
    assert_eq!(place.read(), format!("# mine\n\n# the second{second}"));
    place.remove("/b").expect("in");
    assert_eq!(place.read(), "# mine\n\n# the end\n");
}

#[test]
fn what_is_wrong_costs_one_entry_and_is_told_with_its_place() {
    let place = Place::new();
    place.write(
        "[[watch]]\nfile = '~/n.md'\n[[watch]]\nfile = 'n.md'\n[[watch]]\nroot = '/'\n[[watch]]\nfile = 7\n\
         [[watch]]\nfile = '/f'\nroof = '/'\n[[watch]]\nfile = '/f'\nroot = '/'\n[[watch]]\nfile = '/f'\n\
         [wach]\n",
    );
    let Registry { entries, wrong } = place.load();
    assert_eq!(entries, [entry("/h/n.md", "/h"), entry("/f", "/")]);
    let list = format!("`{}`, ", Registry::path(&place.folders).display());
    let wrong: Vec<&str> = wrong
        .iter()
        .map(|wrong| wrong.strip_prefix(&list).expect("the list's path"))
        .collect();
    assert_eq!(
        wrong,
        [
            "line 17, column 2: unknown key `wach`: write each file as `[[watch]]`",
            "line 4, column 8: `n.md` is not an absolute path: write `file = \"/…\"`",
            "line 5, column 1: `file` is missing: write `file = \"/…\"`",
            "line 8, column 8: `file` is not a string: write `file = \"/…\"`",
            "line 11, column 1: unknown key `roof`: did you mean `root`?",
            "line 15, column 1: `/f` is already in the list: remove one of the two",
        ]
    );
    place.write("watch = 7\n");
    assert!(
        place.load().wrong[0].contains(
            "line 1, column 1: write each file as `[[watch]]` with `file = \"/…\"` below"
        )
    );
    place.write("[[watch]\n");
    let error = Registry::load(&place.folders)
        .expect_err("no TOML")
        .to_string();
    assert!(error.contains("line 1, column "), "{error}");
    let add = async { Registry::add(&place.folders, &entry("/a", "/"), &mut |_| ()).await };
    assert!(matches!(run(add), Err(RegistryError::Wrong { .. })));
    assert_eq!(place.read(), "[[watch]\n");
}

#[test]
fn a_file_is_known_by_each_of_its_names_and_when_it_is_gone() {
    let place = Place::new();
    let name = |name: &str| {
        let folder = place.dir.path().canonicalize().expect("folder");
        folder.join(name).to_str().expect("UTF-8").to_owned()
    };
    fs::create_dir(name("real")).expect("folder");
    std::os::unix::fs::symlink(name("real"), name("link")).expect("link");
    std::os::unix::fs::symlink(name("real/n.md"), name("notes")).expect("link");
    place.add(&name("link/n.md"), "/");
    assert_eq!(place.add(&name("real/n.md"), "/"), Added::Already);
    assert_eq!(place.add(&name("notes"), "/"), Added::Already);
    fs::remove_dir(name("real")).expect("remove");
    assert_eq!(place.add(&name("link/n.md"), "/"), Added::Already);
    place.remove(&name("link/n.md")).expect("in");
}

#[test]
fn a_link_to_the_list_stays_one() {
    let place = Place::new();
    place.write("");
    let kept = place.dir.path().join("kept.toml");
    let path = Registry::path(&place.folders);
    fs::rename(&path, &kept).expect("move");
    std::os::unix::fs::symlink(&kept, &path).expect("link");
    place.add("/a", "/");
    assert!(path.is_symlink());
    assert!(
        fs::read_to_string(kept)
            .expect("read")
            .contains("file = \"/a\"")
    );
}

#[test]
fn of_many_at_once_none_is_lost() {
    let place = Place::new();
    std::thread::scope(|threads| {
        for n in 0..8 {
            let place = &place;
            threads.spawn(move || place.add(&format!("/{n}"), "/"));
        }
    });
    let mut files: Vec<PathBuf> = place.load().entries.into_iter().map(|e| e.file).collect();
    files.sort();
    let all: Vec<PathBuf> = (0..8).map(|n| format!("/{n}").into()).collect();
    assert_eq!(files, all);
}

#[test]
fn what_is_wrong_in_the_list_is_said_with_the_next_step() {
    let place = Place::new();
    place.add("/a/clada.md", "/a");
    assert!(place.read().starts_with(
        "# The notes files that `clada daemon` watches. Edit this list here, or with `clada add` and `clada remove`.\n\n"
    ));
    place.write("[[watch]]\nfile = '/a'\nshared = 7\n");
    let wrong = place.load().wrong;
    assert!(
        wrong[0].ends_with("line 3, column 10: `shared` must be `true` or `false`"),
        "{wrong:?}"
    );
    place.write("watch = 1\n");
    let add = |entry: WatchedFile| {
        let add = async { Registry::add(&place.folders, &entry, &mut |_| ()).await };
        run(add).expect_err("no list").to_string()
    };
    let said = add(entry("/b", "/"));
    assert!(
        said.starts_with("the list of watched files `")
            && said
                .ends_with("` is invalid: `watch` must be written as `[[watch]]`: fix that file"),
        "{said}"
    );
    let said = add(WatchedFile {
        file: OsStr::from_bytes(b"/\xff").into(),
        ..entry("/", "/")
    });
    assert!(
        said.starts_with("the name `/")
            && said.ends_with(
                "` is not UTF-8, so it cannot be in the list of watched files: rename it"
            ),
        "{said}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is put in and taken out, the list is what a plain one would be, and no comment of the user is lost.
    #[test]
    fn the_list_is_a_list(steps in prop::collection::vec((any::<bool>(), "/[a-c\"\\\\ é\n]", "/[x-z']"), 0..12)) {
        let place = Place::new();
        place.write("# mine\n\n");
        let mut model: Vec<WatchedFile> = Vec::new();
        for (adds, file, root) in &steps {
            let there = model.iter().position(|entry| entry.file == Path::new(file));
            match (adds, there) {
                (true, Some(at)) => {
                    place.add(file, root);
                    model[at].root = root.into();
                }
                (true, None) => {
                    prop_assert_eq!(place.add(file, root), Added::New);
                    model.push(entry(file, root));
                }
                (false, Some(at)) => {
                    prop_assert!(place.remove(file).is_ok());
                    model.remove(at);
                }
                (false, None) => prop_assert!(place.remove(file).is_err()),
            }
            let loaded = place.load();
            prop_assert_eq!(&loaded.entries, &model);
            prop_assert!(loaded.wrong.is_empty() && place.read().starts_with("# mine\n\n"));
        }
    }
}
