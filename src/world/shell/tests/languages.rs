//! Scripts in other languages, run by the real programs where they are there, and by stand-ins where versions matter.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use tempfile::TempDir;

/// A program to run scripts with, and scripts for it.
struct Sample {
    lang: Language,
    /// Says the number in the module beside it.
    imports: &'static str,
    /// A comment, by its sign.
    comment: &'static str,
    exits: &'static str,
}

const SAMPLES: [Sample; 3] = [
    Sample {
        lang: Language::Python,
        imports: "import beside\nprint(beside.number, 'é')",
        comment: "#",
        exits: "import sys\nsys.exit(7)",
    },
    Sample {
        lang: Language::JavaScript,
        imports: "console.log(require('./beside').number, 'é')",
        comment: "//",
        exits: "process.exit(7)",
    },
    Sample {
        lang: Language::Ruby,
        imports: "require './beside'\nputs \"#{NUMBER} é\"",
        comment: "#",
        exits: "exit 7",
    },
];

impl Sample {
    /// A script below a comment with which it is too long for an argument.
    fn long(&self, text: &str) -> String {
        format!("{} {}\n{text}", self.comment, "x".repeat(200 * 1024))
    }
}

/// The samples whose programs are there.
#[expect(
    clippy::print_stderr,
    reason = "who reads the tests' output should see what was not tried"
)]
fn samples() -> impl Iterator<Item = Sample> {
    SAMPLES.into_iter().filter(|sample| {
        let path = env::var_os("PATH").unwrap();
        let mut names = interpreter::candidates(sample.lang, None).into_iter();
        let is_there = names.any(|candidate| interpreter::find(&candidate.name, &path).is_some());
        if !is_there {
            eprintln!("skipped: nothing here runs {}", sample.lang.name());
        }
        is_there
    })
}

fn beside() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("beside.py"), "number = 41").unwrap();
    fs::write(dir.path().join("beside.js"), "exports.number = 41").unwrap();
    fs::write(dir.path().join("beside.rb"), "NUMBER = 41").unwrap();
    dir
}

fn script<'a>(
    lang: Language,
    text: &'a str,
    dir: &'a Path,
    env: &'a [(OsString, OsString)],
) -> Script<'a> {
    Script {
        text,
        dir,
        lang: Some(lang),
        env,
        ..plain()
    }
}

fn done(script: &Script<'_>) -> Result<ScriptRun, ShellError> {
    wait_for(run(script, pending(), &mut ()))
}

/// What it wrote to stdout; it must have ended well.
#[track_caller]
fn printed(script: &Script<'_>) -> String {
    let ran = done(script).unwrap();
    assert_eq!(ran.ending, Ending::Exited(0), "{}", whole(&ran.stderr));
    whole(&ran.stdout)
}

#[test]
fn imports_are_looked_for_where_the_script_runs() {
    let dir = beside();
    for sample in samples() {
        let long = sample.long(sample.imports);
        for text in [sample.imports, &long] {
            let script = script(sample.lang, text, dir.path(), &OWN);
            assert_eq!(printed(&script), "41 é\n", "{} bytes", text.len());
        }
    }
}

#[test]
fn a_script_needs_no_locale() {
    let dir = beside();
    let mut env = OWN.clone();
    env.retain(|(name, _)| name != "LANG" && !name.to_string_lossy().starts_with("LC_"));
    env.push(("LC_ALL".into(), "C".into()));
    for sample in samples() {
        let script = script(sample.lang, sample.imports, dir.path(), &env);
        assert_eq!(printed(&script), "41 é\n");
    }
}

#[test]
fn a_script_in_any_language_may_begin_with_a_dash() {
    let dir = beside();
    for sample in samples() {
        let text = format!("-1\n{}", sample.imports);
        assert_eq!(
            printed(&script(sample.lang, &text, dir.path(), &OWN)),
            "41 é\n"
        );
    }
    for lang in [Language::Bash, Language::Sh] {
        let text = "-x 2>/dev/null; echo $? $0";
        let expect = format!("127 {}\n", lang.name());
        assert_eq!(printed(&script(lang, text, dir.path(), &OWN)), expect);
    }
}

#[test]
fn the_exit_code_and_a_long_scripts_input_are_the_scripts_own() {
    let dir = beside();
    for sample in samples() {
        let long = sample.long(sample.exits);
        for text in [sample.exits, &long] {
            let ran = done(&script(sample.lang, text, dir.path(), &OWN)).unwrap();
            assert_eq!(ran.ending, Ending::Exited(7), "{}", sample.lang.name());
        }
    }
    if let Some(sample) = samples().find(|sample| sample.lang == Language::Python) {
        let text = sample.long("import sys\nprint(repr(sys.stdin.read()))");
        assert_eq!(
            printed(&script(sample.lang, &text, dir.path(), &OWN)),
            "''\n"
        );
    }
}

#[test]
fn what_python_prints_is_not_lost_at_the_time_limit() {
    let text = "import time\nprint('before')\ntime.sleep(300)";
    for sample in samples().filter(|sample| sample.lang == Language::Python) {
        let mut seen = Vec::new();
        let (up, is_up) = tokio::sync::oneshot::channel::<()>();
        let mut up = Some(up);
        let mut on_output = |_, text: &[u8]| {
            seen.extend_from_slice(text);
            up = None;
        };
        let cancelled = async {
            let _ = is_up.await;
        };
        let script = script(sample.lang, text, Path::new("/"), &OWN);
        let ran = wait_for(run(&script, cancelled, &mut on_output)).unwrap();
        assert_eq!(ran.ending, Ending::Cancelled);
        assert_eq!(seen, b"before\n");
    }
}

/// A folder with stand-ins for programs, each of which says its version, or runs the lines behind that.
struct StandIns {
    dir: TempDir,
    env: Vec<(OsString, OsString)>,
}

impl StandIns {
    fn new(programs: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, version) in programs {
            let file = dir.path().join(name);
            let text = format!(
                "#!/bin/sh\nif [ \"$1\" = --version ]; then {version}; else echo \"${{0##*/}}\"; fi\n"
            );
            // Written by another process: one that this one holds open for writing while another test forks could not
            // be run.
            let mut child = std::process::Command::new("/bin/sh")
                .args(["-c", "cat > \"$0\""])
                .arg(&file)
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            child
                .stdin
                .take()
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
            assert!(child.wait().unwrap().success());
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let env = vec![("PATH".into(), dir.path().into())];
        Self { dir, env }
    }

    /// The program that runs a script, or why there is none.
    fn chosen(&self, lang: Language, version: Option<&str>) -> String {
        let mut script = script(lang, "x", self.dir.path(), &self.env);
        script.version = version;
        match done(&script) {
            Ok(ran) => whole(&ran.stdout).trim_end().to_owned(),
            Err(error) => error.to_string(),
        }
    }
}

#[test]
fn the_program_of_the_wanted_version_is_found() {
    let python = StandIns::new(&[
        ("python", "echo Python 2.7.18 >&2"),
        ("python3", "echo Python 3.11.7"),
        ("python3.9", "echo Python 3.9.2"),
    ]);
    let chosen = |version| python.chosen(Language::Python, version);
    assert_eq!(chosen(None), "python3");
    assert_eq!(chosen(Some("3.11")), "python3");
    assert_eq!(chosen(Some("3.11.7")), "python3");
    assert_eq!(chosen(Some("3.9")), "python3.9");
    assert_eq!(chosen(Some("3.9.2")), "python3.9");
    assert_eq!(chosen(Some("2")), "python");
    assert_eq!(
        chosen(Some("3.1")),
        "no python 3.1 in PATH: looked for `python3.1`, `python3`, `python`; found `python3` 3.11.7, `python` 2.7.18, \
         `python3.9`: name a version that was found, or leave `version` out"
    );
}

#[test]
fn a_missing_program_is_told_with_what_there_is() {
    let some = StandIns::new(&[
        ("python3.12", "echo Python 3.12.1"),
        ("python3-config", "true"),
        ("node", "exit 1"),
        ("sh", "echo none >&2; exit 2"),
    ]);
    assert_eq!(
        some.chosen(Language::Python, None),
        "no python in PATH: looked for `python3`, `python`; found `python3.12`: name a version that was found with \
         `version`"
    );
    assert_eq!(
        some.chosen(Language::JavaScript, Some("20")),
        "no javascript 20 in PATH: looked for `node20`, `node`; found `node`, which prints no version: name a \
         version that was found, or leave `version` out"
    );
    assert_eq!(
        some.chosen(Language::Ruby, None),
        "no ruby in PATH: looked for `ruby`; install it, or write the script in another language"
    );
    assert_eq!(some.chosen(Language::Sh, None), "sh");
    assert_eq!(
        some.chosen(Language::Bash, None),
        "no bash in PATH: looked for `bash`; install it, or write the script in another language"
    );
}

#[test]
fn asking_for_a_version_can_be_cancelled() {
    let slow = StandIns::new(&[("node", "echo $$ > up; while :; do /bin/sleep 1; done")]);
    let up = slow.dir.path().join("up");
    let cancelled = async {
        while fs::read_to_string(&up).unwrap_or_default().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    let mut script = script(Language::JavaScript, "x", slow.dir.path(), &slow.env);
    script.version = Some("20");
    let ran = wait_for(run(&script, cancelled, &mut ())).unwrap();
    assert_eq!(
        (ran.ending, ran.stdout.len()),
        (Ending::Cancelled, 0),
        "it was not started"
    );
    let number = fs::read_to_string(&up).unwrap();
    let pid = Pid::from_raw(number.trim().parse().unwrap()).unwrap();
    assert!(test_kill_process(pid).is_err());
}

#[test]
fn the_environment_is_the_one_that_is_given() {
    let env = vec![
        ("PATH".into(), "/bin:/usr/bin".into()),
        ("ONE".into(), "1".into()),
        ("TERM".into(), "xterm".into()),
    ];
    let text = "echo $ONE $TERM $CLADA ${HOME-none}; echo $PATH";
    let mut script = script(Language::Sh, text, Path::new("/"), &env);
    assert_eq!(printed(&script), "1 dumb 1 none\n/bin:/usr/bin\n");
    script.lang = None;
    assert_eq!(printed(&script), "1 dumb 1 none\n/bin:/usr/bin\n");
}
