//! The settings over the cases in `test-data/config`: files in; what holds and where it comes from, or what is wrong, out.

use std::fs;

use clada::settings::places::Folders;
use clada::settings::{Effective, Settings};
use tempfile::TempDir;

use crate::cases::{self, Case, Verdict};
use crate::harness::Project;

#[test]
fn cases_of_config() {
    cases::run("config", check);
}

/// A folder for the user's files, and one for a project.
struct Place {
    top: TempDir,
    folders: Folders,
}

impl Place {
    fn new() -> Self {
        let top = tempfile::tempdir().expect("temp dir");
        for name in ["project", "config"] {
            fs::create_dir(top.path().join(name)).expect("mkdir");
        }
        let folders = Folders {
            home: top.path().join("home"),
            state: top.path().join("state"),
            config: top.path().join("config"),
            services: top.path().join("services"),
            runtime: None,
        };
        Self { top, folders }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.top.path().join(name), text).expect("write");
    }

    fn load(&self) -> Result<Effective, String> {
        let (effective, wrong) = Effective::load(&self.folders, &self.top.path().join("project"));
        match wrong.as_slice() {
            [] => Ok(effective),
            wrong => {
                let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
                Err(self.unplaced(&wrong.join("\n")))
            }
        }
    }

    /// A text with short names of its files.
    fn unplaced(&self, text: &str) -> String {
        let mut files = vec![
            ("config/config.toml".to_owned(), "USER"),
            ("project/clada.toml".to_owned(), "PROJECT"),
        ];
        for entry in fs::read_dir(self.top.path().join("state/trusted"))
            .into_iter()
            .flatten()
        {
            let name = entry.expect("entry").file_name();
            files.push((format!("state/trusted/{}", name.display()), "TRUSTED"));
        }
        let top = self.top.path().display();
        files.iter().fold(text.to_owned(), |text, (file, short)| {
            text.replace(&format!("{top}/{file}"), short)
        })
    }
}

fn check(case: &Case, verdict: &mut Verdict) {
    let place = Place::new();
    if let Some(trusted) = case.one("trusted") {
        place.write("project/clada.toml", &trusted.string());
        let root = place.top.path().join("project");
        Settings::trust(&place.folders, &root).expect("trust");
    }
    for (kind, file) in [
        ("user", "config/config.toml"),
        ("project", "project/clada.toml"),
    ] {
        if let Some(text) = case.one(kind) {
            place.write(file, &text.string());
        }
    }
    match (place.load(), case.one("holds"), case.one("error")) {
        (Ok(effective), Some(expected), None) => {
            let said = without_defaults(&place.unplaced(&effective.to_toml()));
            verdict.expect(expected, said.as_bytes());
        }
        (Err(error), None, Some(expected)) => {
            verdict.expect(expected, format!("{error}\n").as_bytes());
        }
        (Ok(_), ..) => verdict.wrong("nothing is wrong with it"),
        (Err(error), ..) => verdict.wrong(error),
    }
}

/// What is printed, but the head, defaults, and sections that have nothing else.
fn without_defaults(text: &str) -> String {
    let body = text.lines().skip_while(|line| line.starts_with("# "));
    let mut kept: Vec<&str> = Vec::new();
    let mut in_default = false;
    for line in body {
        in_default |= line.ends_with("= [  # default");
        let is_default = in_default || line.ends_with("  # default");
        in_default &= line != "]";
        if is_default {
            continue;
        }
        let is_head = |line: &str| line.is_empty() || line.starts_with('[');
        if line.is_empty() {
            while kept.last().is_some_and(|line| is_head(line)) {
                kept.pop();
            }
        }
        kept.push(line);
    }
    while kept
        .last()
        .is_some_and(|line| line.is_empty() || line.starts_with('['))
    {
        kept.pop();
    }
    let kept = kept.join("\n");
    format!("{}\n", kept.trim_start_matches('\n'))
}

/// All of it, defaults and all, is a file of settings with the same meaning.
#[test]
fn what_is_printed_can_be_pasted() {
    let place = Place::new();
    let user = "[exec]\nwrite = ['~/a \"b\"']\n[exec.env]\n'a b' = 'x'\nC = false\n[vars]\nV = \"'\\n\\t\"\n\
                [[hooks.after]]\nrun = '''\necho \"${V}\"\n'''\n[limits]\noutput = '5 MiB'\n";
    place.write("config/config.toml", user);
    let root = place.top.path().join("project");
    let load = || {
        let loaded = Settings::load(&place.folders, &root).expect("load");
        loaded.settings
    };
    let before = load();
    let printed = place.load().expect("settings").to_toml();
    place.write("config/config.toml", &printed);
    assert_eq!(load(), before, "{printed}");
    let again = place.load().expect("settings").to_toml();
    assert!(!again.contains("# default"), "{again}");
}

#[test]
fn clada_config_prints_what_holds() {
    let project = Project::new();
    project.configure("[exec]\ntimeout = '30m'\n");
    project.write(
        "clada.toml",
        "[exec]\nsandbox = 'off'\n[notify]\nenabled = false\n",
    );
    let said = project.clada(["config"]).exits(0).out;
    let root = project.root();
    let toml = root.join("clada.toml");
    for expected in [
        "timeout = \"30m\"  # ",
        "config.toml:2\n",
        "sandbox = \"workspace\"  # default\n",
        &format!("# The project's: {}\n", toml.display()),
        &format!("enabled = false  # {}:4\n", toml.display()),
        &format!("#   exec.sandbox = \"off\"  # {}:2\n", toml.display()),
    ] {
        assert!(said.contains(expected), "{expected:?} in {said}");
    }
    let json = project.clada(["config", "--json"]).exits(0).json();
    let timeout = &json["settings"]["exec.timeout"];
    assert_eq!(
        (&timeout["value"], &timeout["from"]),
        (&"30m".into(), &"user".into())
    );
    assert_eq!(timeout["line"], 2);
    assert_eq!(json["settings"]["exec.sandbox"]["from"], "default");
    assert_eq!(json["untrusted"]["exec.sandbox"]["value"], "off");
    // From elsewhere, and broken.
    project.write("sub/clada.toml", "[wacth]\n");
    let said = project.clada(["config", "--root", "sub"]).exits(0).err;
    assert!(
        said.contains(
            "sub/clada.toml`, line 1, column 2: unknown key `wacth`: did you mean `watch`?"
        ),
        "{said}"
    );
}

/// What changes nothing, or takes something back, goes on with what can be read.
#[test]
fn a_wrong_setting_keeps_nobody_from_looking_and_taking_back() {
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "mine"]);
    let edit = "<tasks><task><path>a.txt</path><c>overwrite</c><x>two\n</x></task></tasks>";
    project.clada_with(["run"], edit).exits(0);
    for (broken, place) in [
        ("[exec]\ntimeout = 5m\n", "line 2, column 11"),
        ("[wacth]\n", "line 1, column 2"),
        ("[exec]\nask = 'x'\n[git]\ntarget = 7\n", "line 2, column 7"),
    ] {
        project.write("clada.toml", broken);
        project.git(["add", "."]);
        project.git(["commit", "-qm", "settings"]);
        let toml = project.path("clada.toml");
        let told = format!("`{}`, {place}: ", toml.display());
        let told_in = |said: &str| {
            let lines = said.lines().filter(|line| line.contains(&told));
            assert_eq!(lines.count(), 1, "{said}");
            assert!(said.contains("; the other settings apply"), "{said}");
        };
        told_in(&project.clada(["undo"]).exits(0).err);
        assert_eq!(project.read("a.txt"), "one\n");
        told_in(&project.clada(["redo"]).exits(0).err);
        assert_eq!(project.read("a.txt").trim_end(), "two");
        let diff = project.clada(["diff"]).exits(0);
        told_in(&diff.err);
        assert!(diff.out.contains("+two"), "{}", diff.out);
        told_in(&project.clada(["step-back"]).exits(0).err);
        told_in(&project.clada(["step-forward", "--end"]).exits(0).err);
        told_in(&project.clada(["squash", "--dry-run"]).exits(0).err);
        told_in(&project.clada(["config"]).exits(0).err);
        told_in(&project.clada_with(["check"], edit).exits(0).err);
        assert_eq!(project.clada(["log"]).exits(0).err, "");
        assert_eq!(project.clada(["status"]).exits(1).err, "");
        let doctor = project.clada(["doctor"]).exits(1).out;
        assert!(doctor.contains(&format!("❌ settings: {told}")), "{doctor}");
        assert!(doctor.contains("✅ git: repository"), "{doctor}");
        // What carries out a reply does not begin.
        project.clada_with(["run"], edit).exits(2);
    }
}

#[test]
fn where_states_are_saved_is_not_guessed() {
    let project = Project::with_git();
    project.write("a.txt", "one\n");
    project.git(["add", "."]);
    project.git(["commit", "-qm", "mine"]);
    let side = "[git]\ntarget = 'side'\n";
    project.configure(side);
    let edit = "<tasks><task><path>a.txt</path><c>overwrite</c><x>two\n</x></task></tasks>";
    project.clada_with(["run"], edit).exits(0);
    let head = project.git(["rev-parse", "HEAD"]);
    for broken in [
        "[git]\ntarget = 'sied'\n",
        "[git]\ntarget = side\n",
        "[git\ntarget = 'side'\n",
        "[gti]\ntarget = 'side'\n",
    ] {
        project.configure(broken);
        for command in ["undo", "redo", "diff", "step-back", "squash"] {
            let refused = project.clada([command]).exits(2).err;
            assert!(refused.contains("config.toml`, line "), "{refused}");
            assert!(
                refused.ends_with("; nothing was changed, because this may be about where the states are saved: fix the settings first\n"),
                "{refused}"
            );
        }
        assert!(
            !project
                .clada(["doctor"])
                .exits(1)
                .out
                .contains("commits go to refs/clada/")
        );
    }
    // Where that section is right, it holds.
    project.configure(&format!("[exec]\ntimeout = 5m\n{side}"));
    let undone = project.clada(["undo"]).exits(0);
    assert!(
        undone.err.contains("config.toml`, line 2"),
        "{}",
        undone.err
    );
    assert_eq!(project.read("a.txt"), "one\n");
    assert_eq!(project.git(["rev-parse", "HEAD"]), head);
    assert!(
        project
            .clada(["doctor"])
            .exits(1)
            .out
            .contains("commits go to refs/clada/")
    );
}

#[test]
fn trust_says_what_it_trusts_and_why_it_has_nothing_to() {
    let project = Project::new();
    let trust = || project.clada(["trust"]).exits(0).out;
    let root = project
        .root()
        .canonicalize()
        .expect("root")
        .join("clada.toml");
    let root = root.display();
    assert_eq!(
        trust(),
        format!("nothing to trust: {root} does not exist; create it with `clada init`\n")
    );
    project.write("clada.toml", "[watch]\ndebounce = \"50ms\"\n");
    let nothing = trust();
    assert!(
        nothing.starts_with(&format!(
            "nothing to trust: {root} sets nothing in [exec], [git],"
        )),
        "{nothing}"
    );
    let settings = "[exec]\ntimeout = \"5m\"\n";
    project.write("clada.toml", settings);
    assert_eq!(
        trust(),
        format!("trusted: these settings in {root} now apply\n\n{settings}")
    );
    assert_eq!(
        trust(),
        format!("already trusted: these settings in {root} apply\n\n{settings}")
    );
    project.write("clada.toml", "");
    let withdrawn = trust();
    let before = "the settings that you trusted before no longer apply: ";
    assert!(
        withdrawn.starts_with(&format!("{before}{root} sets nothing in [exec]")),
        "{withdrawn}"
    );
    project.write("clada.toml", settings);
    trust();
    fs::remove_file(project.path("clada.toml")).expect("remove");
    assert_eq!(trust(), format!("{before}{root} does not exist\n"));
}
