//! Signatures and hooks, by the user's own git.

use std::process::Stdio;

use super::{exec, overwrite};
use crate::harness::{Project, Watching, installed, runs, wait_until};

/// A repository whose user signs by ssh.
fn signing_by_ssh() -> Option<Project> {
    if !installed("ssh-keygen") {
        return None;
    }
    let project = Project::begun();
    let key = project.home().join("key");
    let mut keygen = project.command("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f"]);
    assert!(keygen.arg(&key).status().unwrap().success());
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let allowed = project.home().join("allowed");
    std::fs::write(&allowed, format!("test@example.org {public}")).unwrap();
    let (key, allowed) = (key.display().to_string(), allowed.display().to_string());
    for (name, value) in [
        ("user.name", "Test"),
        ("user.email", "test@example.org"),
        ("gpg.format", "ssh"),
        ("user.signingkey", key.as_str()),
        ("gpg.ssh.allowedSignersFile", allowed.as_str()),
    ] {
        project.git(["config", "--global", name, value]);
    }
    project.configure("[git]\nsign = true\n");
    Some(project)
}

#[test]
fn commits_are_signed_by_ssh() {
    let Some(project) = signing_by_ssh() else {
        return;
    };
    project.write("a.txt", "mine\n");
    project.runs(&(overwrite("b.txt", "b") + &exec("echo c > c.txt")));
    let all = project.git(["log", "--format=%G? %an %s", "HEAD~3..HEAD"]);
    assert_eq!(all.lines().count(), 3, "{all}");
    assert!(all.lines().all(|line| line.starts_with("G Test ")), "{all}");
    let shown = project
        .command("git")
        .args(["log", "-1", "--show-signature"])
        .output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    assert!(shown.contains("Good \"git\" signature"), "{shown}");
    assert_eq!(project.git(["status", "--porcelain"]), "");

    // What is made of them is signed again, and so are those of clada's that have to be made again.
    project.clada(["squash", "--containing", "💚"]).exits(0);
    assert_eq!(project.subjects("HEAD").len(), 2);
    project.git(["verify-commit", "HEAD"]);
    project.is_sound();

    // A signature of the user's cannot be made again.
    project.saved("b1", "One", "e.txt");
    project.saved("b1", "Two", "e.txt");
    project.write("d.txt", "mine\n");
    project.git(["add", "-A"]);
    project.git(["commit", "-qS", "-m", "mine"]);
    let old = project.id("HEAD");
    let said = project.clada(["squash", "-n", "9"]).exits(1).err;
    assert!(said.contains("1 signed commit(s)"), "{said}");
    assert_eq!(project.id("HEAD"), old);
    let said = project.clada(["squash", "-n", "9", "--force"]).exits(0).out;
    assert!(said.contains("1 commit no longer signed"), "{said}");
    assert!(
        !project
            .git(["cat-file", "commit", "HEAD"])
            .contains("gpgsig")
    );
    project.git(["verify-commit", "HEAD~1"]);
    project.is_sound();
}

#[test]
fn commits_are_signed_by_openpgp() {
    if !installed("gpg") {
        return;
    }
    let project = Project::begun();
    let gpg = |args: &[&str]| {
        let ran = project
            .command("gpg")
            .args(args)
            .stderr(Stdio::null())
            .status();
        assert!(ran.unwrap().success(), "{args:?}");
    };
    std::fs::create_dir(project.home().join(".gnupg")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(project.home().join(".gnupg"), mode).unwrap();
    let who = "Ada <ada@example.org>";
    gpg(&[
        "--batch",
        "--passphrase",
        "",
        "--quick-gen-key",
        who,
        "default",
        "default",
        "never",
    ]);
    project.git(["config", "--global", "user.name", "Ada"]);
    project.git(["config", "--global", "user.email", "ada@example.org"]);
    project.configure("[git]\nsign = true\n");
    project.runs(&overwrite("b.txt", "b"));
    project.git(["verify-commit", "HEAD"]);
    project.is_sound();
    let mut kill = project.command("gpgconf");
    assert!(kill.args(["--kill", "all"]).status().unwrap().success());
}

#[test]
fn what_cannot_be_signed_is_not_committed() {
    let Some(project) = Project::begun_apart() else {
        return;
    };
    let head = project.id("HEAD");
    project.program("gpg", "echo no key >&2; exit 3");
    project.configure("[git]\nsign = true\n");
    project.write("a.txt", "mine\n");
    let said = project
        .clada_with(["run"], &overwrite("a.txt", "b"))
        .exits(1)
        .out;
    assert!(
        said.contains("⏹") && said.contains("git could not sign the commit"),
        "{said}"
    );
    let next = ". Make `git commit -S` work in a terminal, or set `git.sign = false`";
    // Of gpg's own words an older git tells nothing.
    let is_told = said.contains("no key") || said.contains("gpg failed to sign the data");
    assert!(is_told && said.contains(next), "{said}");
    assert_eq!(
        (project.read("a.txt").as_str(), project.id("HEAD")),
        ("mine\n", head)
    );
    project.is_sound();
}

#[test]
fn what_waits_for_a_passphrase_ends_with_clada() {
    let Some(project) = Project::begun_apart() else {
        return;
    };
    let pid = project.home().join("pid");
    project.program(
        "gpg",
        &format!(
            "sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait",
            pid.display()
        ),
    );
    project.configure("[git]\nsign = true\n");
    project.write("a.txt", "mine\n");
    let reply = project.home().join("reply.md");
    std::fs::write(&reply, overwrite("a.txt", "b")).unwrap();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("run").arg(&reply);
    let running = Watching::start(command);
    wait_until(|| pid.exists(), || running.said());
    running.signal(rustix::process::Signal::INT);
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("clada killed it, because clada is stopping"),
        "{said}"
    );
    let sleeper = std::fs::read_to_string(pid).unwrap();
    wait_until(|| !runs(&sleeper), || sleeper.clone());
    project.is_sound();
}

/// A repository with hooks that clada runs.
fn hooked(hooks: &[(&str, &str)]) -> Project {
    let project = Project::begun();
    for (name, script) in hooks {
        let log = project.home().join("log");
        let script = format!("echo {name} >> {}\n{script}", log.display());
        project.program(name, &script);
        let to = project.path(".git/hooks").join(name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(project.home().join("bin").join(name), to).unwrap();
    }
    project.configure("[git]\nhooks = true\n");
    project
}

/// The hooks that ran.
fn ran(project: &Project) -> String {
    std::fs::read_to_string(project.home().join("log")).unwrap_or_default()
}

#[test]
fn hooks_see_the_index_as_it_will_be() {
    let hook = "git diff --cached --name-only | tr '\\n' ' ' >> $HOME/log; git diff --name-only >> $HOME/log";
    let project = hooked(&[
        ("pre-commit", hook),
        ("commit-msg", ""),
        ("post-commit", "git status --porcelain >> $HOME/log"),
    ]);
    project.write("a.txt", "mine\n");
    project.runs(&overwrite("b.txt", "b"));
    let one = |file: &str| format!("pre-commit\n{file} commit-msg\npost-commit\n");
    assert_eq!(ran(&project), one("a.txt") + &one("b.txt"));
    assert_eq!(project.git(["status", "--porcelain"]), "");

    // A folder of its own for them; nothing to commit runs none.
    project.git(["config", "core.hooksPath", "none"]);
    let before = ran(&project);
    project.runs(&overwrite("b.txt", "c"));
    project.git(["config", "--unset", "core.hooksPath"]);
    project.runs(&overwrite("b.txt", "c"));
    assert_eq!(ran(&project), before);
    project.configure("");
    project.runs(&overwrite("b.txt", "d"));
    assert_eq!(ran(&project), before);
    project.is_sound();
}

#[test]
fn a_hook_that_refuses_stops_a_batch_before_it_begins() {
    let project = hooked(&[("pre-commit", "echo mend it; exit 1")]);
    project.write("a.txt", "mine\n");
    let index = || std::fs::read(project.path(".git/index")).unwrap();
    let (head, before) = (project.id("HEAD"), index());
    let said = project
        .clada_with(["run"], &overwrite("a.txt", "b"))
        .exits(1)
        .out;
    for part in [
        "⏹",
        "`pre-commit` hook",
        "exit status 1",
        "mend it",
        ". Fix what it reports, or set `git.hooks = false`",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert_eq!(
        (project.read("a.txt").as_str(), project.id("HEAD")),
        ("mine\n", head)
    );
    assert_eq!(index(), before);
    project.is_sound();
}

#[test]
fn a_hook_that_refuses_after_a_task_is_told_of() {
    let project = hooked(&[("pre-commit", "! git diff --cached | grep -q bad")]);
    let reply = overwrite("b.txt", "bad") + &overwrite("c.txt", "good");
    let said = project.clada_with(["run"], &reply).out;
    assert!(
        said.contains("task 1 was not saved") && said.contains("`pre-commit`"),
        "{said}"
    );
    assert_eq!(project.read("b.txt"), "bad\n");
    project.is_sound();
}

#[test]
fn what_a_hook_formats_is_committed_once() {
    let project = hooked(&[(
        "pre-commit",
        "for f in *.txt; do echo formatted >> $f; done; git add -u",
    )]);
    project.write("a.txt", "mine\n");
    project.runs(&overwrite("b.txt", "b"));
    assert_eq!(ran(&project), "pre-commit\npre-commit\n");
    assert_eq!(project.git(["status", "--porcelain"]), " M a.txt\n");
    assert_eq!(project.git(["show", "HEAD:b.txt"]), "b\nformatted\n");
    assert_eq!(project.git(["show", "HEAD~1:a.txt"]), "mine\nformatted\n");
    project.is_sound();
}

#[test]
fn a_message_may_be_changed_as_long_as_clada_finds_its_commits() {
    let project = hooked(&[
        (
            "commit-msg",
            "sed -i '1s/^/JIRA-1 /' $1; echo Change-Id: I1 >> $1",
        ),
        ("post-commit", "echo too late; exit 4"),
    ]);
    let said = project.runs(&overwrite("b.txt", "b")).out;
    assert!(
        said.contains("⚠ git: committed, but the `post-commit` hook: exit status 4"),
        "{said}"
    );
    project.runs(&overwrite("b.txt", "c"));
    let text = project.git(["log", "-1", "--format=%B"]);
    assert!(
        text.starts_with("JIRA-1 ") && text.ends_with("Change-Id: I1\n\n"),
        "{text:?}"
    );
    project.clada(["squash"]).exits(0);
    assert_eq!(project.subjects("HEAD").len(), 2);

    let project = hooked(&[("commit-msg", "echo gone > $1")]);
    let said = project.clada_with(["run"], &overwrite("b.txt", "b")).out;
    assert!(
        said.contains("was not saved")
            && said.contains(
                "the `commit-msg` hook changed the mark at the end of the first line, or the trailers, by which clada finds its commits, so nothing was committed"
            ),
        "{said}"
    );
    assert_eq!(project.subjects("HEAD"), ["first"]);
    project.is_sound();
}

/// A linked work tree has its own index, and the hooks of its repository; so has a root that is a folder of it.
#[test]
fn a_linked_work_tree_has_hooks_too() {
    let project = hooked(&[(
        "pre-commit",
        "git diff --cached --name-only >> $HOME/log; git rev-parse --show-prefix >> $HOME/log",
    )]);
    project.git(["worktree", "add", "-q", "-b", "linked", "../linked"]);
    let linked = project.root().parent().unwrap().join("linked");
    std::fs::create_dir(linked.join("sub")).unwrap();
    let root = linked.join("sub").display().to_string();
    let reply = overwrite("b.txt", "b");
    project
        .clada_with(["run", "--root", &root], &reply)
        .exits(0);
    assert_eq!(ran(&project), "pre-commit\nsub/b.txt\n\n");
    assert_eq!(project.subjects("linked").len(), 2);
    assert_eq!(project.subjects("main").len(), 1);
    let status = project
        .command("git")
        .current_dir(&linked)
        .args(["status", "--porcelain"])
        .output();
    assert_eq!(status.unwrap().stdout, b"");
    project.is_sound();
}
