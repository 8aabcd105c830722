//! `clada diff`: shows what a batch changed by the user's git, with its pager and colours; as plain text where git is missing.
//! Changes nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use crate::cli::DiffArgs;
use crate::cli::terminal;
use crate::cmd::history::ProjectHistory;
use crate::error::Error;
use crate::git::Store;
use crate::git::undo::{self, BatchCommits};
use crate::text::hidden::in_colour;
use crate::world::programs::Programs;

/// The id of git's empty tree.
const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Shows it.
///
/// # Errors
/// Where there is no such batch, or git's history cannot be read.
pub fn main(args: &DiffArgs) -> Result<ExitCode, Error> {
    let history = ProjectHistory::open(args.root.as_deref(), false)?;
    let stores = history.snapshots.stores();
    let groups = undo::newest(&stores, args.batch.as_deref())?;
    let mut code = ExitCode::SUCCESS;
    for group in groups.iter().rev() {
        // What git did not track before is new to it, and in the snapshots it is what was changed.
        let mut shown = BTreeSet::new();
        for (at, store) in stores.iter().enumerate().rev() {
            if let Some((before, after)) = ends(group, at) {
                code = show(store, before, after, args.stat, &shown)?;
                let changes = store.changes(before, Some(after))?;
                shown.extend(changes.into_iter().map(|change| change.path));
            }
        }
    }
    Ok(code)
}

/// Returns the commits between which a batch is in a store.
fn ends(group: &BatchCommits, store: usize) -> Option<(Option<&str>, &str)> {
    let commits = group.commits.iter().filter(|(at, _)| *at == store);
    let commits: Vec<_> = commits.map(|(_, saved)| saved).collect();
    let (newest, oldest) = (commits.first()?, commits.last()?);
    Some((oldest.parent.as_deref(), &newest.commit))
}

/// Shows what differs between two commits, except the paths (relative to the root) that were already shown.
fn show(
    store: &Store,
    before: Option<&str>,
    after: &str,
    stat: bool,
    shown: &BTreeSet<PathBuf>,
) -> Result<ExitCode, Error> {
    let (git_dir, top, root) = store.places();
    let _relieved = store.relieved();
    let screen = std::io::stdout()
        .is_terminal()
        .then(|| ByPager::of(top))
        .transpose()?;
    let mut command = match Programs::of_process().command("git") {
        Ok(command) => command,
        Err(why) => {
            if why.is_risk() {
                writeln!(std::io::stderr(), "clada: {why}")?;
            }
            return plain(store, before, after, shown);
        }
    };
    command
        .current_dir(top)
        .arg("--git-dir")
        .arg(git_dir)
        .arg("--work-tree")
        .arg(top)
        .args(["diff", "--no-ext-diff"])
        .args(screen.as_ref().map(|screen| screen.colour))
        .args(stat.then_some("--stat"))
        .args([before.unwrap_or(EMPTY), after, "--"]);
    let named = |how: &str, path: &Path| {
        let mut named = OsString::from(how);
        named.push(root.join(path));
        named
    };
    if !root.as_os_str().is_empty() {
        command.arg(named(":(literal)", Path::new("")));
    }
    let hidden = shown
        .iter()
        .map(|path| named(":(exclude,top,literal)", path));
    command.args(hidden);
    let ended = match screen {
        Some(screen) => screen.show(command),
        None => command.status(),
    };
    match ended {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) if error.kind() == ErrorKind::NotFound => plain(store, before, after, shown),
        Err(error) => Err(error.into()),
    }
}

/// Shows the difference without git.
fn plain(
    store: &Store,
    before: Option<&str>,
    after: &str,
    shown: &BTreeSet<PathBuf>,
) -> Result<ExitCode, Error> {
    let text = store.patch(before, after, shown)?;
    terminal::stdout_to_the_byte().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A terminal that shows git's output with the user's pager and colours. Invisible characters and terminal escapes in files are
/// written out.
struct ByPager {
    colour: &'static str,
    pager: String,
}

impl ByPager {
    /// Reads what the user's git uses in a folder. Without git, none of it is needed.
    fn of(folder: &Path) -> std::io::Result<Self> {
        let said = |args: &[&str]| {
            let Ok(mut git) = Programs::of_process().command("git") else {
                return Ok(String::new());
            };
            let said = git
                .current_dir(folder)
                .args(args)
                .stderr(Stdio::null())
                .output()?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&said.stdout).trim().to_owned())
        };
        let is_coloured = said(&["config", "--get-colorbool", "color.diff", "true"])? == "true";
        Ok(Self {
            colour: if is_coloured {
                "--color=always"
            } else {
                "--color=never"
            },
            pager: said(&["var", "GIT_PAGER"])?,
        })
    }

    fn show(&self, mut git: Command) -> std::io::Result<ExitStatus> {
        let mut git = git.stdout(Stdio::piped()).spawn()?;
        let mut pager = match self.pager.as_str() {
            "" | "cat" => None,
            pager => Some(paging(pager)?),
        };
        let mut is_read = true;
        if let Some(mut lines) = git.stdout.take().map(BufReader::new) {
            let mut line = Vec::new();
            while is_read && lines.read_until(b'\n', &mut line)? > 0 {
                let text = in_colour(&String::from_utf8_lossy(&line));
                let written = match pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
                    Some(to) => to.write_all(text.as_bytes()),
                    None => std::io::stdout().write_all(text.as_bytes()),
                };
                // The pager was closed.
                is_read = written.is_ok();
                line.clear();
            }
        }
        let ended = git.wait()?;
        match pager {
            Some(mut pager) => {
                drop(pager.stdin.take());
                let paged = pager.wait()?;
                Ok(if is_read { ended } else { paged })
            }
            None => Ok(ended),
        }
    }
}

/// Starts a pager as git does.
fn paging(pager: &str) -> std::io::Result<Child> {
    let shell = Programs::of_process().command("sh");
    let mut command = shell.map_err(std::io::Error::other)?;
    command.args(["-c", pager]).stdin(Stdio::piped());
    for (name, usual) in [("LESS", "FRX"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            command.env(name, usual);
        }
    }
    command.spawn()
}
