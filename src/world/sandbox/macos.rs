//! The fence on macOS: `sandbox-exec` around the shell. Never run where this was written; its profile is tested as text.
//!
//! The system is asked once whether it takes such a profile: Apple documents none, and a fenced process may be refused another.

use std::path::{Path, PathBuf};

use super::held;

/// The devices that programs write to.
const DEVICES: &str = r##"(literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/tty") (literal "/dev/ptmx") (literal "/dev/dtracehelper") (subpath "/dev/fd") (regex #"^/dev/ttys[0-9]+$")"##;

/// The ways to have something done outside by a process that is not fenced in: opening a file or program by the desktop,
/// telling an application what to do, giving launchd a job, and another name for a file outside.
const ESCAPES: &str =
    "(deny lsopen)\n(deny appleevent-send)\n(deny job-creation)\n(deny file-link)\n";

/// The profile for these trees and guarded paths. What comes last wins.
fn profile(trees: &[PathBuf], guards: &[PathBuf], network: bool) -> String {
    let mut profile = format!(
        "(version 1)\n(allow default)\n(deny signal)\n(allow signal (target same-sandbox))\n{ESCAPES}(deny file-write*)\n(allow file-write* {DEVICES})\n"
    );
    for tree in trees {
        profile += &format!("(allow file-write* file-link (subpath {}))\n", quoted(tree));
    }
    for guard in guards {
        for dir in held(guard, trees) {
            profile += &format!("(deny file-write-unlink (literal {}))\n", quoted(dir));
        }
        profile += &format!("(deny file-write* file-link (subpath {}))\n", quoted(guard));
    }
    if !network {
        profile += "(deny network*)\n(allow network* (local unix-socket) (remote unix-socket))\n";
    }
    profile
}

fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(target_os = "macos")]
pub(in crate::world) use here::Prepared;
#[cfg(target_os = "macos")]
pub(super) use here::{prepare, stay_alone, support};

#[cfg(target_os = "macos")]
mod here {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use super::super::{self as sandbox, Fence, SandboxError, Support, resolved};
    use super::profile;

    const PROGRAM: &str = "/usr/bin/sandbox-exec";

    #[derive(Debug)]
    pub(in crate::world) struct Prepared {
        /// The words that the command line of the shell is to begin with.
        pub(in crate::world) prefix: [String; 3],
    }

    pub(in super::super) fn prepare(
        fence: &Fence,
        _: &Path,
    ) -> Result<Option<Prepared>, SandboxError> {
        if sandbox::support().by.is_none() {
            return Ok(None);
        }
        let trees = fence.trees();
        // Here what does not exist yet can be guarded too.
        let mut guards = fence.guards(&trees);
        guards.extend(resolved(fence.guarded.iter()));
        let profile = profile(&trees, &guards, fence.network);
        let prefix = [PROGRAM.to_owned(), "-p".to_owned(), profile];
        Ok(Some(Prepared { prefix }))
    }

    /// A process on macOS cannot fence itself in by what Apple documents: it is bounded by being one of its own.
    pub(in super::super) fn stay_alone() -> Result<(), SandboxError> {
        Ok(())
    }

    pub(in super::super) fn support() -> Support {
        let lack = lack();
        let works = lack.is_none();
        Support {
            by: works.then(|| "sandbox-exec".to_owned()),
            network: works,
            guards: works,
            alone: false,
            lacks: lack.into_iter().collect(),
        }
    }

    /// Runs a program that does nothing behind a profile with every rule that there may be. Returns why it did not run.
    fn lack() -> Option<String> {
        let all = [PathBuf::from("/private/tmp"), "/private/tmp/clada".into()];
        let profile = profile(&all[..1], &all[1..], false);
        let mut command = Command::new(PROGRAM);
        command.args(["-p", &profile, "/usr/bin/true"]);
        match command.stdin(Stdio::null()).output() {
            Ok(ended) if ended.status.success() => None,
            Ok(ended) => {
                let said = String::from_utf8_lossy(&ended.stderr);
                let said = said.lines().next().unwrap_or("it gave no reason");
                Some(format!("{PROGRAM} refuses clada's rules ({said})"))
            }
            Err(error) => Some(format!("{PROGRAM} cannot be started ({error})")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_allows_the_trees_and_then_denies_what_is_guarded() {
        let trees = ["/private/tmp", "/p/a \"b\"", "/p/a"].map(PathBuf::from);
        let guards = ["/p/a/.git/hooks", "/p/a/clada.toml"].map(PathBuf::from);
        let text = profile(&trees, &guards, true);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        let order = [
            "(allow default)",
            "(deny file-link)\n",
            "(deny file-write*)\n",
            r#"(literal "/dev/null")"#,
            r#"(allow file-write* file-link (subpath "/private/tmp"))"#,
            r#"(allow file-write* file-link (subpath "/p/a \"b\""))"#,
            r#"(deny file-write-unlink (literal "/p/a/.git"))"#,
            r#"(deny file-write* file-link (subpath "/p/a/.git/hooks"))"#,
            r#"(deny file-write* file-link (subpath "/p/a/clada.toml"))"#,
        ];
        assert!(order.map(place).is_sorted(), "{text}");
        assert!(!text.contains("network"));
    }

    #[test]
    fn without_network_sockets_on_disk_are_left() {
        let text = profile(&[], &[], false);
        assert!(text.ends_with(
            "(deny network*)\n(allow network* (local unix-socket) (remote unix-socket))\n"
        ));
    }
}
