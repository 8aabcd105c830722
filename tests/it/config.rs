//! The settings over the cases in `test-data/config`: files in; what holds and where it comes from, or what is wrong, out.

use std::fs;

use clada::config::Folders;
use clada::config::settings::{Effective, Settings};
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
        let loaded = Effective::load(&self.folders, &self.top.path().join("project"));
        loaded.map_err(|error| self.unplaced(&error.to_string()))
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
    let said = project.clada(["config", "--root", "sub"]).exits(2).err;
    assert!(
        said.contains(
            "sub/clada.toml`, line 1, column 2: unknown key `wacth`: did you mean `watch`?"
        ),
        "{said}"
    );
}
