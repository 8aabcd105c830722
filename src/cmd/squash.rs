//! `clada squash`: squashes consecutive commits that clada made into one. Reads and changes no file of the project.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::SquashArgs;
use crate::cli::terminal;
use crate::clock;
use crate::cmd;
use crate::cmd::history::ProjectHistory;
use crate::error::Error;
use crate::git::{Moved, Pushed, SquashGroup, SquashRange, SquashRequest, Squashed, short};
use crate::text::paths;

/// Squashes the chosen commits, and prints how to go back. Fails where all of them are pushed.
///
/// # Errors
/// Where no repository exists or it cannot be written now, where the choice matches nothing, and where a task calls this.
pub fn main(args: &SquashArgs) -> Result<ExitCode, Error> {
    cmd::for_the_user("squash")?;
    let ask = SquashRequest {
        range: range(args),
        message: args.message.clone(),
        force: args.force,
        dry_run: args.dry_run,
        id: clock::run_id(),
        time: clock::date_time(),
    };
    let history = ProjectHistory::open(args.root.as_deref(), true)?;
    let done = history.snapshots.squash(&ask)?;
    write!(terminal::stdout(), "{}", told(&done, args))?;
    let is_kept = done.groups.is_empty() && done.pushed.is_some();
    Ok(ExitCode::from(u8::from(is_kept)))
}

fn range(args: &SquashArgs) -> SquashRange {
    match args {
        SquashArgs {
            batch: Some(id), ..
        } => SquashRange::Batch(id.clone()),
        SquashArgs {
            containing: Some(text),
            ..
        } => SquashRange::Containing(text.clone()),
        SquashArgs {
            number: Some(most), ..
        } => SquashRange::Newest(*most),
        SquashArgs {
            since: Some(since), ..
        } => match clock::moment(since) {
            Some(moment) => SquashRange::Since(moment.as_second()),
            None => SquashRange::After(since.clone()),
        },
        _ => SquashRange::Top,
    }
}

fn told(done: &Squashed, args: &SquashArgs) -> String {
    let mut text = String::new();
    if done.groups.is_empty() {
        text += match done.pushed {
            None => "nothing to squash: clada made no two consecutive commits here\n",
            Some(_) => "nothing was squashed\n",
        };
    }
    for group in &done.groups {
        text += &group_text(group, args.dry_run);
    }
    if done.again > 0 && !done.groups.is_empty() {
        let count = done.again;
        let what = if args.dry_run {
            "would be rewritten"
        } else {
            "rewritten"
        };
        let _ = writeln!(
            text,
            "{count} later commit{} {what}: same content, author and times, new id",
            plural(count)
        );
    }
    if done.unsigned > 0 {
        let count = done.unsigned;
        let _ = writeln!(text, "{count} commit{} no longer signed", plural(count));
    }
    if let Some(pushed) = &done.pushed {
        text += &pushed_text(pushed, args.force);
    }
    if !done.left.is_empty() && !done.groups.is_empty() {
        let _ = writeln!(
            text,
            "these still point to the old commits: {}",
            done.left.join(", ")
        );
    }
    match &done.moved {
        Some(moved) => {
            let _ = writeln!(text, "{} → {}", short(&moved.old), short(&moved.new));
            let _ = writeln!(
                text,
                "to go back, before anything else is committed: `{}`",
                back(moved, args.root.as_deref())
            );
        }
        None if args.dry_run && !done.groups.is_empty() => {
            text += "this was a dry run: nothing was changed\n";
        }
        None => {}
    }
    text
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn pushed_text(pushed: &Pushed, force: bool) -> String {
    let (count, refs) = (pushed.count, pushed.refs.join(", "));
    let are = if count == 1 { "is" } else { "are" };
    let what = match (force, count) {
        (true, _) => "so push with `git push --force-with-lease` now",
        (false, 1) => "and stays as it is (`--force` would squash it too)",
        (false, _) => "and stay as they are (`--force` would squash them too)",
    };
    format!("{count} of clada's commits {are} on {refs}, {what}\n")
}

fn group_text(group: &SquashGroup, dry_run: bool) -> String {
    let count = group.commits.len();
    let mut text = match &group.commit {
        Some(commit) => format!("{count} commits became {}:\n", short(commit)),
        None => format!("{count} commits would become one:\n"),
    };
    for saved in group.commits.iter().filter(|_| dry_run) {
        let _ = writeln!(text, "  {} {}", short(&saved.commit), saved.message.subject);
    }
    if dry_run {
        text += "with this message:\n";
    }
    for line in group.message.lines() {
        text += format!("  {line}").trim_end();
        text.push('\n');
    }
    text
}

/// Returns the git command that goes back.
fn back(moved: &Moved, root: Option<&Path>) -> String {
    let quoted = paths::quoted;
    let old = &moved.old;
    let within = match (&moved.git_dir, root) {
        (Some(path), _) => format!(" --git-dir={}", quoted(path)),
        (None, Some(root)) => format!(" -C {}", quoted(root)),
        (None, None) => String::new(),
    };
    match &moved.by_name {
        Some(name) => format!("git{within} update-ref {name} {old}"),
        None => format!("git{within} reset --soft {old}"),
    }
}
