//! The offer to make git ignore the notes file and the output file. Asks once for each repository.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch as channel};

use crate::cli::terminal;
use crate::error::Error;
use crate::git::{ExcludeError, SeenByGit, seen_by_git};
use crate::settings::places::Folders;
use crate::start::runtime;
use crate::text::hex::hex;
use crate::world::tty;

/// The way in which the user can accept the offer.
pub(crate) struct ExcludeOffer<'o> {
    /// `--yes` was given.
    pub(crate) yes: bool,
    /// The command that does it.
    pub(crate) command: &'o str,
    /// Becomes true when clada has to exit.
    pub(crate) stop: &'o channel::Receiver<bool>,
}

/// The result of an offer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ExcludeAnswer {
    /// Nothing is left to do: git ignores the files, or the user declined or cannot be asked.
    Settled,
    /// The user accepted, and it failed.
    Failed,
    /// clada has to exit.
    Stopped,
}

/// Offers it for those of these files that git shows.
///
/// # Errors
/// Where the terminal cannot be written.
pub(crate) fn offer(
    folders: &Folders,
    files: &[PathBuf],
    offer: &ExcludeOffer<'_>,
) -> Result<ExcludeAnswer, Error> {
    let mut answer = ExcludeAnswer::Settled;
    for shown in seen_by_git(files) {
        let [declined, told] = answers(folders, &shown.git_dir);
        let names = names(&shown);
        let command = offer.command;
        if !offer.yes {
            if declined.exists() {
                continue;
            }
            if !tty::can_ask() {
                if !told.exists() {
                    say(&format!(
                        "git shows {names} as untracked: run `{command}` to make git ignore them"
                    ))?;
                    keep(&told);
                }
                continue;
            }
            let question = format!("Make git ignore {names} (in .git/info/exclude)?");
            match ask(&question, OnEnter::Yes, offer.stop)? {
                Some(true) => {}
                Some(false) => {
                    say(&format!("not changed; run `{command}` to do it later"))?;
                    keep(&declined);
                    continue;
                }
                None => return Ok(ExcludeAnswer::Stopped),
            }
        }
        match shown.exclude() {
            Ok(()) => say(&format!("git now ignores {names}"))?,
            Err(why) => {
                say(&failed(&shown, &why))?;
                keep(&declined);
                answer = ExcludeAnswer::Failed;
            }
        }
    }
    Ok(answer)
}

fn names(shown: &SeenByGit) -> String {
    let names = shown.names.iter().map(|name| name.display().to_string());
    names.collect::<Vec<_>>().join(" and ")
}

/// Explains why git still shows them, and what the user can do.
fn failed(shown: &SeenByGit, why: &ExcludeError) -> String {
    let mut text = format!(
        "⚠ git still shows {}: {why}. Add these lines there by hand, or to .gitignore:",
        names(shown)
    );
    for pattern in shown.patterns() {
        text += &format!("\n{}", String::from_utf8_lossy(&pattern));
    }
    text
}

/// The answer that Enter alone gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnEnter {
    Yes,
    No,
}

/// Asks on the terminal; `None` where clada is stopped before the answer.
pub(crate) fn ask(
    question: &str,
    on_enter: OnEnter,
    stop: &channel::Receiver<bool>,
) -> Result<Option<bool>, Error> {
    let choice = match on_enter {
        OnEnter::Yes => "[Y/n]",
        OnEnter::No => "[y/N]",
    };
    let mut out = terminal::stdout();
    write!(out, "{question} {choice} ")?;
    out.flush()?;
    drop(out);
    let (send, answered) = oneshot::channel();
    // Reading blocks until a line arrives.
    std::thread::Builder::new().spawn(move || {
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer);
        let _ = send.send(read.map(|length| (length, answer)));
    })?;
    let mut stop = stop.clone();
    let answer = runtime()?.block_on(async {
        tokio::select! {
            answer = answered => answer.ok(),
            Ok(_) = stop.wait_for(|stop| *stop) => None,
        }
    });
    let Some(answer) = answer else {
        say("")?;
        return Ok(None);
    };
    let (length, answer) = answer?;
    let answer = answer.trim().to_ascii_lowercase();
    Ok(Some(match answer.as_str() {
        "" => length > 0 && on_enter == OnEnter::Yes,
        answer => ["y", "yes"].contains(&answer),
    }))
}

/// Prints a line.
pub(super) fn say(line: &str) -> Result<(), Error> {
    Ok(writeln!(terminal::stdout(), "{line}")?)
}

/// The files in clada's state that keep the answer for a repository: the user declined, or it failed; and the command was
/// printed where nobody could be asked.
fn answers(folders: &Folders, git_dir: &Path) -> [PathBuf; 2] {
    let hash = Sha256::digest(git_dir.as_os_str().as_encoded_bytes());
    let name = hex(&hash[..12]);
    let folder = folders.state.join("excludes");
    ["declined", "told"].map(|what| folder.join(format!("{name}-{what}")))
}

/// Keeps an answer. Where that fails, clada asks again.
fn keep(answer: &Path) {
    let folder = answer.parent().map_or(Ok(()), std::fs::create_dir_all);
    let _ = folder.and_then(|()| std::fs::write(answer, ""));
}
