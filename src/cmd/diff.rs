//! `clada diff`: what a batch changed, shown by the user's git with its pager and colours; as plain text where there is no
//! git. Changes nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::cli::Diff;
use crate::cmd::history::History;
use crate::error::Error;
use crate::undo::{self, Group};
use crate::world::programs::Programs;
use crate::world::snapshot::Snapshots;

/// What git calls the tree with nothing in it.
const EMPTY: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Shows it.
///
/// # Errors
/// Where there is no such batch, or git's history cannot be read.
pub fn main(args: &Diff) -> Result<ExitCode, Error> {
    let history = History::open(args.root.as_deref(), false)?;
    let stores = undo::stores(&history.snapshots);
    let groups = undo::newest(&stores, args.batch.as_deref())?;
    let mut code = ExitCode::SUCCESS;
    for group in groups.iter().rev() {
        // What git did not track before is new to it, and in the snapshots it is what was changed.
        let mut shown = BTreeSet::new();
        for (at, store) in stores.iter().enumerate().rev() {
            if let Some((before, after)) = ends(group, at) {
                code = show(store, (before, after), args.stat, &shown)?;
                let changes = store.changes(before, Some(after))?;
                shown.extend(changes.into_iter().map(|change| change.path));
            }
        }
    }
    Ok(code)
}

/// The commits between which a batch is in a store.
fn ends(group: &Group, store: usize) -> Option<(Option<&str>, &str)> {
    let commits = group.commits.iter().filter(|(at, _)| *at == store);
    let commits: Vec<_> = commits.map(|(_, saved)| saved).collect();
    let (newest, oldest) = (commits.first()?, commits.last()?);
    Some((oldest.parent.as_deref(), &newest.commit))
}

/// Shows what differs between two commits, but for the paths (relative to the root) that are shown already.
fn show(
    store: &Snapshots,
    (before, after): (Option<&str>, &str),
    stat: bool,
    shown: &BTreeSet<PathBuf>,
) -> Result<ExitCode, Error> {
    let (git_dir, top, root) = store.places();
    let mut command = match Programs::of_process().command("git") {
        Ok(command) => command,
        Err(why) => {
            if why.is_risk() {
                writeln!(std::io::stderr(), "clada: {why}")?;
            }
            return plain(store, (before, after), shown);
        }
    };
    command
        .current_dir(top)
        .arg("--git-dir")
        .arg(git_dir)
        .arg("--work-tree")
        .arg(top)
        .arg("diff")
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
    match command.status() {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) if error.kind() == ErrorKind::NotFound => plain(store, (before, after), shown),
        Err(error) => Err(error.into()),
    }
}

/// Shows it without git.
fn plain(
    store: &Snapshots,
    (before, after): (Option<&str>, &str),
    shown: &BTreeSet<PathBuf>,
) -> Result<ExitCode, Error> {
    let text = store.patch(before, after, shown)?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
