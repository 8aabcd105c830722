//! The offer to have git leave out the notes and output file. Asks once for each repository; what to write there, `world` knows.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tokio::sync::{oneshot, watch as channel};

use super::runtime;
use crate::config::Folders;
use crate::error::Error;
use crate::lang::hex::hex;
use crate::terminal;
use crate::world::snapshot::{ExcludeError, SeenByGit, seen_by_git};
use crate::world::tty;

/// How the user says that it is wanted.
pub(super) struct Offer<'o> {
    /// It was said beforehand, by `--yes`.
    pub(super) yes: bool,
    /// The command that does it.
    pub(super) command: &'o str,
    /// Becomes true when clada is to end.
    pub(super) stop: &'o channel::Receiver<bool>,
}

/// What came of an offer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing is left to do: it is done, or not wanted, or cannot be asked.
    Settled,
    /// It was wanted, and failed.
    Failed,
    /// clada is to end.
    Stopped,
}

/// Offers it for those of these files that git shows.
///
/// # Errors
/// Where the terminal cannot be written.
pub(super) fn offer(
    folders: &Folders,
    files: &[PathBuf],
    offer: &Offer<'_>,
) -> Result<Answer, Error> {
    let mut answer = Answer::Settled;
    for shown in seen_by_git(files) {
        let memory = Memory::of(folders, shown.git_dir());
        let names = names(&shown);
        let command = offer.command;
        if !offer.yes {
            if memory.has(DECLINED) {
                continue;
            }
            if !tty::can_ask() {
                if !memory.has(TOLD) {
                    say(&format!(
                        "git shows {names} as untracked: `{command}` adds them to .git/info/exclude"
                    ))?;
                    memory.keep(TOLD);
                }
                continue;
            }
            let question =
                format!("Add {names} to .git/info/exclude, so that git ignores them? [Y/n] ");
            match ask(&question, offer.stop)? {
                Some(true) => {}
                Some(false) => {
                    say(&format!("not added; `{command}` does it later"))?;
                    memory.keep(DECLINED);
                    continue;
                }
                None => return Ok(Answer::Stopped),
            }
        }
        match shown.exclude() {
            Ok(()) => say(&format!("git ignores {names} from now on"))?,
            Err(why) => {
                say(&failed(&shown, &why))?;
                memory.keep(DECLINED);
                answer = Answer::Failed;
            }
        }
    }
    Ok(answer)
}

fn names(shown: &SeenByGit) -> String {
    let names: Vec<String> = shown
        .names()
        .iter()
        .map(|name| name.display().to_string())
        .collect();
    names.join(" and ")
}

/// Why git goes on showing them, and what the user can do.
fn failed(shown: &SeenByGit, why: &ExcludeError) -> String {
    let mut text = format!(
        "⚠ git goes on showing {}: {why}. Add these lines there by hand, or to .gitignore:",
        names(shown)
    );
    for pattern in shown.patterns() {
        text += &format!("\n{}", String::from_utf8_lossy(&pattern));
    }
    text
}

/// Asks on the terminal; `None` where clada is stopped before there is an answer.
pub(super) fn ask(question: &str, stop: &channel::Receiver<bool>) -> Result<Option<bool>, Error> {
    let mut out = terminal::stdout();
    write!(out, "{question}")?;
    out.flush()?;
    drop(out);
    let (send, answered) = oneshot::channel();
    // It waits for a line for as long as there is none.
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
    Ok(Some(
        length > 0 && ["", "y", "yes"].contains(&answer.as_str()),
    ))
}

fn say(line: &str) -> Result<(), Error> {
    Ok(writeln!(terminal::stdout(), "{line}")?)
}

/// The user does not want it, or it cannot be done.
const DECLINED: &str = "declined";
/// Where nobody could be asked it was said how.
const TOLD: &str = "told";

/// What is remembered of a repository, in clada's state.
struct Memory {
    folder: PathBuf,
    name: String,
}

impl Memory {
    fn of(folders: &Folders, git_dir: &Path) -> Self {
        let hash = Sha256::digest(git_dir.as_os_str().as_encoded_bytes());
        Self {
            folder: folders.state.join("excludes"),
            name: hex(&hash[..12]),
        }
    }

    fn place(&self, what: &str) -> PathBuf {
        self.folder.join(format!("{}-{what}", self.name))
    }

    fn has(&self, what: &str) -> bool {
        self.place(what).exists()
    }

    /// Where it cannot be kept, it is asked again.
    fn keep(&self, what: &str) {
        let _ = std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(self.place(what), ""));
    }
}
