//! Scripts in other languages, and in other folders.

use std::fs;

use super::{clada, task};
use crate::harness::{Ended, Project, installed};

fn ran(project: &Project, attributes: &str, script: &str) -> serde_json::Value {
    let run = clada(project, &["run", "--no-git", "--json"], &[]);
    Ended::of(run, &task(attributes, script)).json()["results"][0].take()
}

#[track_caller]
fn error(result: &serde_json::Value) -> &str {
    result["error"]
        .as_str()
        .unwrap_or_else(|| panic!("no error: {result}"))
}

/// For each: where it runs, what it says there, and how it fails.
#[test]
fn each_language_runs_in_its_folder_and_its_exit_code_counts() {
    let project = Project::new();
    project.write("sub/file", "");
    for (lang, program, text, fails) in [
        (
            "bash",
            "bash",
            "echo \"$PWD é ${BASH_VERSION:+ours}\"",
            "exit 7",
        ),
        ("sh", "sh", "echo \"$PWD é ours\"", "exit 7"),
        (
            "python",
            "python3",
            "import os, sys\nif 1 < 2:\n    print(os.getcwd(), 'é', 'ours')",
            "import sys\nsys.exit(7)",
        ),
        (
            "javascript",
            "node",
            "console.log(`${process.cwd()} é ours`)",
            "process.exit(7)",
        ),
        ("ruby", "ruby", "puts \"#{Dir.pwd} é ours\"", "exit 7"),
    ] {
        if !installed(program) {
            continue;
        }
        for (cwd, dir) in [("", project.root()), ("cwd=\"sub\"", project.path("sub"))] {
            let result = ran(&project, &format!("lang=\"{lang}\" {cwd}"), text);
            assert_eq!(result["success"], true, "{lang}: {result}");
            let expect = format!("{} é ours\n", dir.display());
            assert_eq!(result["data"]["stdout"], expect, "{lang}");
        }
        let result = ran(&project, &format!("lang=\"{lang}\""), fails);
        assert_eq!(result["data"]["exit_code"], 7, "{lang}: {result}");
        assert!(
            error(&result).starts_with("exit code 7 ("),
            "{lang}: {result}"
        );
    }
}

/// With stand-ins: which real ones are there differs from machine to machine.
#[test]
fn the_wanted_version_is_taken_and_a_missing_one_is_told() {
    let project = Project::new();
    project.configure(&format!(
        "[exec.env]\nPATH = '{}:/usr/bin:/bin'\n",
        project.home().join("bin").display()
    ));
    for version in ["3.4.1", "3.5.0"] {
        let short = &version[..3];
        project.program(
            &format!("python{short}"),
            &format!("[ \"$1\" = --version ] && echo Python {version} || echo run by {version}"),
        );
    }
    for (version, by) in [("3.4", "3.4.1"), ("3.5", "3.5.0"), ("3.4.1", "3.4.1")] {
        let result = ran(
            &project,
            &format!("lang=\"python\" version=\"{version}\""),
            "print(1)",
        );
        assert_eq!(
            result["data"]["stdout"],
            format!("run by {by}\n"),
            "{result}"
        );
    }
    let result = ran(&project, "lang=\"python\" version=\"3.4.9\"", "print(1)");
    let said = error(&result);
    assert!(
        said.starts_with("no python 3.4.9 in PATH: looked for `python3.4.9`, `python3.4`, ")
            && said.contains("; found `python3.4` 3.4.1, ")
            && said.contains("`python3.5`")
            && said.ends_with("name a version that was found, or leave `version` out"),
        "{said}"
    );
    // None of any version, and nothing runs instead.
    project.configure(&format!(
        "[exec.env]\nPATH = '{}'\n",
        project.home().join("nothing").display()
    ));
    for (attributes, expect) in [
        (
            "lang=\"ruby\"",
            "no ruby in PATH: looked for `ruby`; install it, or write the script in another language",
        ),
        ("", "neither `bash` nor `sh` is in PATH: install one"),
    ] {
        let result = ran(&project, attributes, "exit 0");
        assert_eq!(error(&result), expect);
        assert_eq!(result["success"], false);
    }
}

#[test]
fn a_folder_that_is_none_of_the_project_is_refused() {
    let project = Project::new();
    let outside = project.home().join("outside");
    fs::create_dir(&outside).expect("mkdir");
    project.write("file", "");
    project.write("sub/er/file", "");
    let link = |to: &std::path::Path, name| {
        std::os::unix::fs::symlink(to, project.path(name)).expect("symlink");
    };
    link(&outside, "out");
    link("sub/er".as_ref(), "in");
    let outside = outside.canonicalize().expect("path");
    let outside = outside.to_str().expect("UTF-8");
    for (cwd, expect) in [
        (
            "missing",
            "`cwd=\"missing\"` is not a folder in the project: name an existing one",
        ),
        (
            "file",
            "`cwd=\"file\"` is not a folder in the project: name an existing one",
        ),
        ("../home", "outside"),
        (outside, "outside"),
        ("out", "outside"),
        ("sub/../../home", "outside"),
        ("file/below", ""),
    ] {
        let result = ran(&project, &format!("cwd=\"{cwd}\""), "pwd; touch ran");
        let said = error(&result);
        assert!(said.contains(expect), "{cwd}: {said}");
        assert!(
            result["data"]["stdout"].is_null(),
            "{cwd} has run: {result}"
        );
    }
    assert!(!project.exists("ran") && fs::read_dir(outside).expect("read").next().is_none());
    // A link that stays inside, and a path from the top, are as good as any.
    let root = project.path("sub").display().to_string();
    for (cwd, dir) in [("in", "sub/er"), (&root, "sub"), (".", ""), ("sub/", "sub")] {
        let result = ran(&project, &format!("cwd=\"{cwd}\""), "pwd -P");
        let expect = project.root().join(dir);
        let expect = format!("{}\n", expect.display()).replace("/\n", "\n");
        assert_eq!(result["data"]["stdout"], expect, "{cwd}: {result}");
    }
}
