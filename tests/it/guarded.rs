//! What a hostile reply leaves behind for clada itself, which works outside the fence, and what is made of that.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::Project;

const WRITE: &str = "<tasks message=\"x; touch planted\">\n<task><path>a.txt</path><c>overwrite</c><x>a</x></task>\n</tasks>\n";

/// A repository with a commit, and a folder outside it.
fn project() -> Project {
    let project = Project::with_git();
    project.write("first.txt", "1");
    project.git(["add", "."]);
    project.git(["commit", "-q", "-m", "first"]);
    fs::create_dir(project.home().join("outside")).unwrap();
    project
}

/// Puts a link to a copy outside in the place of what is in the git directory.
fn divert(project: &Project, name: &str) {
    let (place, outside) = (
        project.path(".git").join(name),
        project.home().join("outside"),
    );
    let copy = outside.join("copy");
    let cp = project
        .command("cp")
        .arg("-r")
        .args([&place, &copy])
        .status();
    assert!(cp.unwrap().success());
    let rm = project.command("rm").arg("-r").arg(&place).status();
    assert!(rm.unwrap().success());
    symlink(&copy, &place).unwrap();
}

/// Everything in a folder, with its contents.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn git_saves_nothing_through_links() {
    let names = [
        "logs/HEAD",
        "logs/refs/heads/main",
        "logs",
        "refs/heads/main",
        "refs/heads",
        "objects",
        "index",
    ];
    for name in names {
        let project = project();
        divert(&project, name);
        let outside = project.home().join("outside");
        let before = contents(&outside);
        let ended = project.clada_with(["run"], WRITE).exits(1);
        let results = ended.results();
        let said = format!(".git/{name}` leads elsewhere or is no file");
        assert!(results.contains(&said), "{name}: {results}");
        assert_eq!(contents(&outside), before, "{name}");
        assert!(!project.exists("a.txt"), "{name}");
    }
}

#[test]
fn git_does_not_wait_for_a_pipe() {
    for name in ["logs/HEAD", "index", "packed-refs"] {
        let project = project();
        let place = project.path(".git").join(name);
        let _ = fs::remove_file(&place);
        assert!(
            project
                .command("mkfifo")
                .arg(&place)
                .status()
                .unwrap()
                .success()
        );
        let results = project.clada_with(["run"], WRITE).exits(1).results();
        assert!(results.contains("git: "), "{name}: {results}");
    }
}

#[test]
fn git_saves_nothing_into_another_repository() {
    for by in [".git", ".git/commondir"] {
        let (project, other) = (project(), project());
        let victim = other.path(".git");
        if by == ".git" {
            fs::remove_dir_all(project.path(".git")).unwrap();
            project.write(".git", format!("gitdir: {}\n", victim.display()));
        } else {
            project.write(by, format!("{}\n", victim.display()));
        }
        let before = contents(&victim);
        let results = project.clada_with(["run"], WRITE).exits(1).results();
        assert!(results.contains("leads elsewhere"), "{by}: {results}");
        assert_eq!(contents(&victim), before, "{by}");
    }
}
