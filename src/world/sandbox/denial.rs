//! Tells from a failed script's output whether the fence stopped it, and which setting allows it. Never guesses: with
//! another likely cause it is silent.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::process::geteuid;

use super::{Fence, Level, is_in, real, resolved, support};

/// The words of programs and libraries for a refusal, in lower case.
const REFUSALS: [&str; 7] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "device or resource busy",
    "eacces",
    "eperm",
    "erofs",
];

/// The number of lines above a refusal that are searched for the path: cargo names it first, and its cause below.
const ABOVE: usize = 3;

/// Says what the fence had to do with the failure of a script whose output ends so. Silent if it ran without a fence. `dir` is
/// where it ran, `missing` what could not be allowed when it began ([`Fence::missing`]).
pub fn denied(fence: &Fence, dir: &Path, missing: &[PathBuf], output_tail: &str) -> Option<String> {
    if fence.level == Level::Off || support().by.is_none() {
        return None;
    }
    let lines: Vec<&str> = output_tail.lines().collect();
    // What came last ended the script.
    (0..lines.len()).rev().find_map(|number| {
        let line = lines[number].to_lowercase();
        if is_sudo(&line) {
            return Some(
                "no_new_privs: exec cannot become another user (`exec.sandbox = \"off\"` allows it)"
                    .to_owned(),
            );
        }
        let is_refusal = is_refusal(&line);
        let above = &lines[number.saturating_sub(ABOVE)..=number];
        if !fence.network && support().network && is_connection(&line, is_refusal, above) {
            return Some("exec has no network (`exec.network = \"on\"` allows it)".to_owned());
        }
        if !is_refusal {
            return None;
        }
        above
            .iter()
            .rev()
            .find_map(|line| at_path(fence, dir, missing, line))
    })
}

/// Says what the fence had to do with git's settings that a script which succeeded could not save, by its stderr. It ran in
/// `dir`.
pub fn unsaved_setting(fence: &Fence, dir: &Path, stderr: &str) -> Option<String> {
    const FAILURES: [&str; 2] = [
        "error: could not write config file ",
        "error: could not lock config file ",
    ];
    if fence.level == Level::Off || !support().guards {
        return None;
    }
    let guards = resolved(fence.guarded.iter());
    stderr.lines().find_map(|line| {
        let mut failures = FAILURES.iter();
        let rest = failures.find_map(|failure| line.strip_prefix(failure))?;
        let (name, why) = rest.rsplit_once(": ")?;
        // git names it as seen from the top of the repository.
        let is_guarded = |base: &Path| is_in(&real(&base.join(name)), &guards);
        (is_refusal(&why.to_lowercase()) && (is_guarded(dir) || is_guarded(&fence.root))).then(|| {
            format!(
                "⚠ exec may not change `{name}`, so git saved no setting there (such as the upstream of `git push -u`): run it \
                 again in your own terminal"
            )
        })
    })
}

/// True if a text in small letters says that something was refused.
fn is_refusal(text: &str) -> bool {
    REFUSALS.iter().any(|refusal| text.contains(refusal))
}

fn is_sudo(line: &str) -> bool {
    line.contains("no new privileges")
        || line.starts_with("sudo:")
            && ["must be owned by uid 0", "effective uid is not 0"]
                .iter()
                .any(|part| line.contains(part))
}

/// Tells if a line tells of a connection that the fence refused. curl and git do not give the reason.
fn is_connection(line: &str, is_refusal: bool, above: &[&str]) -> bool {
    const GIVEN_UP: [&str; 10] = [
        "failed to connect to",
        "could not connect to server",
        "couldn't connect to server",
        "network is unreachable",
        "connection refused",
        "could not resolve",
        "name resolution",
        "name or service not known",
        "eai_again",
        "lookup address",
    ];
    const CALLS: [&str; 4] = ["connect", "bind", "listen", "dial tcp"];
    let names_call = |line: &&str| {
        let line = line.to_lowercase();
        CALLS.iter().any(|call| line.contains(call))
    };
    // A path on the line is the better explanation.
    let is_call = is_refusal && !line.contains(" '/") && above.iter().any(names_call);
    is_call || GIVEN_UP.iter().any(|part| line.contains(part))
}

/// Explains the first path on a line that the fence refused.
fn at_path(fence: &Fence, dir: &Path, missing: &[PathBuf], line: &str) -> Option<String> {
    let guards = resolved(fence.guarded.iter());
    let trees = fence.trees();
    let mut missing = resolved(missing.iter());
    let is_below = |path: &Path, tree: &PathBuf| tree != path && path.starts_with(tree);
    missing.retain(|path| !trees.iter().any(|tree| is_below(path, tree)));
    names(line).into_iter().find_map(|name| {
        let path = real(&dir.join(name));
        if is_in(&path, &guards) {
            return support().guards.then(|| {
                format!("exec may not change `{name}` (change it yourself, or allow it with `exec.sandbox = \"off\"`)")
            });
        }
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return None;
        }
        if let Some(tree) = missing.iter().find(|tree| path.starts_with(tree)) {
            return could_write(&path).then(|| not_there(tree, &path, line));
        }
        if is_in(&path, &trees) || !name.contains('/') || !could_write(&path) {
            return None;
        }
        let remedy = if fence.level == Level::ReadOnly {
            "`exec.sandbox = \"workspace\"` allows the project"
        } else {
            "`exec.write` in clada.toml allows more"
        };
        Some(format!("exec may not write `{}` ({remedy})", path.display()))
    })
}

/// Explains a path in a tree that may be written, and was not there. Commands cannot make that either.
fn not_there(tree: &Path, path: &Path, line: &str) -> String {
    let line = line.to_lowercase();
    // Some of them are files.
    let is_dir = path != tree || ["mkdir", "director"].iter().any(|word| line.contains(word));
    let (is_made, tree) = (is_dir && made(tree), tree.display());
    if is_made {
        return format!(
            "exec may write `{tree}`, but it did not exist: clada has created it, so run this again"
        );
    }
    let make = if is_dir { "mkdir -p" } else { "touch" };
    format!(
        "exec may write `{tree}`, but it did not exist when this began: create it outside exec (`{make} {tree}`)"
    )
}

/// Makes a folder that the settings name, where it was missed. Nobody else may have a say in where that is: the folder that it
/// is made in is the user's own, and there is no link on the way to it. (What is in a tree that commands write is not missing.)
fn made(tree: &Path) -> bool {
    let Some(above) = tree.ancestors().skip(1).find(|above| above.exists()) else {
        return false;
    };
    let is_own = above.symlink_metadata().is_ok_and(|found| {
        found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
    });
    let has_no_link = above.canonicalize().is_ok_and(|real| real == above);
    is_own
        && has_no_link
        && DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(tree)
            .is_ok()
}

/// Lists what on a line could be a path: what is quoted, what stands between colons, and single words.
fn names(line: &str) -> Vec<&str> {
    let quoted = line.split(['\'', '"', '`', '‘', '’']).skip(1).step_by(2);
    let between = line.split(": ").map(str::trim);
    let words = line
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| ",;:()[]'\"`‘’".contains(c)));
    let mut names: Vec<&str> = quoted.chain(between).chain(words).collect();
    names.retain(|name| !name.is_empty() && !name.contains('\0'));
    names
}

/// Tells if the user could write there without a fence: the path, or where it would be made.
fn could_write(path: &Path) -> bool {
    let existing = path.ancestors().find(|path| path.exists());
    existing.is_some_and(|path| access(path, Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// A project inside a directory of its own, and no other directory that may be written.
    fn project() -> (tempfile::TempDir, Fence) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        let fence = Fence {
            guarded: vec![root.join(".git/hooks"), root.join("clada.toml")],
            ..Fence::nothing(&root)
        };
        (dir, fence)
    }

    #[test]
    fn a_path_outside_is_named_with_the_setting() {
        let (dir, fence) = project();
        let outside = dir.path().canonicalize().unwrap().join("x");
        let path = outside.display();
        let expect = support().by.as_ref().map(|_| {
            format!("exec may not write `{path}` (`exec.write` in clada.toml allows more)")
        });
        for tail in [
            format!("bash: line 1: {path}: Permission denied"),
            "bash: line 1: ../x: Permission denied".to_owned(),
            format!("touch: cannot touch '{path}': Permission denied"),
            format!("mkdir: cannot create directory ‘{path}’: Permission denied\n"),
            format!("PermissionError: [Errno 13] Permission denied: '{path}'"),
            format!("Error: EACCES: permission denied, open '{path}'\n    at open"),
            format!(
                "error: failed to create directory `{path}`\n\nCaused by:\n  Permission denied (os error 13)"
            ),
            format!(
                "ok\nmv: cannot move 'a' to '{path}': Permission denied\nmake: *** [all] Error 1"
            ),
        ] {
            assert_eq!(denied(&fence, &fence.root, &[], &tail), expect, "{tail}");
        }
    }

    #[test]
    fn what_could_not_be_allowed_as_it_was_not_there_is_called_so() {
        let (dir, mut fence) = project();
        let top = dir.path().canonicalize().unwrap();
        let at = |name: &str| top.join(name);
        fs::create_dir(at("there")).unwrap();
        fence.writable = ["cache", "lock", "there", "there/new"].map(at).into();
        let missing = fence.missing();
        if cfg!(target_os = "linux") {
            assert_eq!(missing, [at("cache"), at("lock")]);
        }
        // Who makes it meanwhile changes nothing for what runs.
        fs::create_dir(at("cache")).unwrap();
        let shown = top.display();
        for (tail, make) in [
            (
                format!("mkdir: cannot create directory ‘{shown}/cache’: Permission denied"),
                "mkdir -p",
            ),
            (
                format!("Error: EACCES: permission denied, open '{shown}/cache/a/b'"),
                "mkdir -p",
            ),
            (
                format!(
                    "error: failed to open: {shown}/lock\n\nCaused by:\n  Permission denied (os error 13)"
                ),
                "touch",
            ),
        ] {
            let name = if make == "touch" { "lock" } else { "cache" };
            let expect = (support().by.is_some() && !missing.is_empty()).then(|| {
                if make == "touch" {
                    format!(
                        "exec may write `{shown}/lock`, but it did not exist when this began: create it outside exec (`touch {shown}/lock`)"
                    )
                } else {
                    format!(
                        "exec may write `{shown}/{name}`, but it did not exist: clada has created it, so run this again"
                    )
                }
            });
            assert_eq!(
                denied(&fence, &fence.root, &missing, &tail),
                expect,
                "{tail}"
            );
        }
        // Where others may write, or a link leads, clada makes nothing.
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&top, open).unwrap();
        fs::remove_dir(at("cache")).unwrap();
        let tail = format!("mkdir: cannot create directory ‘{shown}/cache’: Permission denied");
        let said = denied(&fence, &fence.root, &missing, &tail);
        assert!(said.is_none_or(|said| said.contains("create it outside exec")));
        assert!(!at("cache").exists());
        let tail = format!("bash: line 1: {shown}/there/new: Permission denied");
        assert_eq!(denied(&fence, &fence.root, &missing, &tail), None);
        fence.level = Level::Off;
        assert_eq!(fence.missing(), [] as [PathBuf; 0]);
    }

    #[test]
    fn what_is_protected_is_called_so() {
        let (_dir, fence) = project();
        for tail in [
            "bash: line 1: .git/hooks/pre-commit: Read-only file system",
            "mv: cannot move 'x' to 'clada.toml': Device or resource busy",
        ] {
            let said = denied(&fence, &fence.root, &[], tail);
            let is_said = said.is_some_and(|said| said.contains("exec may not change"));
            assert_eq!(is_said, support().guards, "{tail}");
        }
    }

    #[test]
    fn a_setting_that_git_could_not_save_is_told_of_a_protected_file_only() {
        let (dir, mut fence) = project();
        fence.guarded.push(fence.root.join(".git/config"));
        let below = fence.root.join("src");
        let busy = "To ../origin\nerror: could not write config file .git/config: Device or resource busy\n";
        let lock =
            "error: could not lock config file .git/config: Read-only file system".to_owned();
        let expect = support().guards.then(|| {
            "⚠ exec may not change `.git/config`, so git saved no setting there (such as the upstream of `git push -u`): run it \
             again in your own terminal"
                .to_owned()
        });
        assert_eq!(unsaved_setting(&fence, &fence.root, busy), expect);
        assert_eq!(unsaved_setting(&fence, &below, &lock), expect);
        let other = dir.path().join("other/.git/config");
        for stderr in [
            "error: could not lock config file .git/config: File exists".to_owned(),
            format!(
                "error: could not write config file {}: Permission denied",
                other.display()
            ),
            "warning: .git/config: Device or resource busy".to_owned(),
        ] {
            assert_eq!(
                unsaved_setting(&fence, &fence.root, &stderr),
                None,
                "{stderr}"
            );
        }
        fence.level = Level::Off;
        assert_eq!(unsaved_setting(&fence, &fence.root, busy), None);
    }

    #[test]
    fn sudo_and_connections() {
        let (_dir, mut fence) = project();
        let fenced = support().by.is_some();
        let sudo = "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.";
        let said = denied(&fence, &fence.root, &[], sudo)
            .is_some_and(|said| {
                said == "no_new_privs: exec cannot become another user (`exec.sandbox = \"off\"` allows it)"
            });
        assert_eq!(said, fenced);
        for tail in [
            "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Could not connect to server",
            "Error: connect EACCES 127.0.0.1:443",
            "dial tcp 127.0.0.1:443: connect: permission denied",
            "    s.connect(('127.0.0.1', 9))\nPermissionError: [Errno 13] Permission denied",
        ] {
            fence.network = false;
            let said = denied(&fence, &fence.root, &[], tail)
                .is_some_and(|said| said.contains("`exec.network"));
            assert_eq!(said, support().network, "{tail}");
            fence.network = true;
            assert_eq!(denied(&fence, &fence.root, &[], tail), None, "{tail}");
        }
    }

    #[test]
    fn other_causes_are_passed_over() {
        let (_dir, mut fence) = project();
        fence.network = false;
        for tail in [
            "",
            "error: test failed",
            "git@host: Permission denied (publickey).",
            "bash: line 1: ./run.sh: Permission denied",
            "rm: cannot remove 'x/y': Device or resource busy",
            "cat: /proc/1/mem: Permission denied",
            "kill: (1) - Operation not permitted",
        ] {
            assert_eq!(denied(&fence, &fence.root, &[], tail), None, "{tail}");
        }
        fence.level = Level::Off;
        let tail = "sudo: The \"no new privileges\" flag is set";
        assert_eq!(denied(&fence, &fence.root, &[], tail), None);
    }
}
