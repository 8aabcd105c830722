//! The errors that end the process: wrong usage, or a broken tool. A task's failure is never one of these.

use std::io;
use std::path::PathBuf;

use crate::git::SnapshotError;
use crate::git::undo::UndoError;
use crate::settings::SettingsError;
use crate::settings::registry::RegistryError;
use crate::text::tokens;
use crate::world::ledger::LedgerError;
use crate::world::lock::LockError;
use crate::world::note_file::NoteError;
use crate::world::ownership::NotOwn;
use crate::world::scarce;
use crate::world::service::ServiceError;
use crate::world::state::StateError;
use crate::world::watch::WatchError;

/// The reason why clada cannot do what it was called for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the project folder `{}` cannot be used: {error}", path.display())]
    Root { path: PathBuf, error: io::Error },
    #[error("cannot read `{}`: {error}", path.display())]
    Reply { path: PathBuf, error: io::Error },
    #[error("no notes file `{}`: {known}", path.display())]
    NoNotes {
        path: PathBuf,
        /// The next step, with the files that are known.
        known: String,
    },
    #[error("{files} are {of}: give the path of the one you mean")]
    WhichNotes { files: String, of: String },
    #[error("no results of `{}` have been copied yet: give the path of the notes file that clada watches", .0.display())]
    NothingToCopy(PathBuf),
    #[error(
        "no batch `{batch}` ran for `{}`: find its number or id with `clada log`, or choose another notes file with `{choice}`",
        notes.display()
    )]
    NoBatch {
        batch: String,
        notes: PathBuf,
        /// The words of the command line that choose one.
        choice: &'static str,
    },
    #[error(
        "the ids of several batches start with `{0}`: give more of the id, as `clada log` shows it"
    )]
    SeveralBatches(String),
    #[error("the context cannot be made: {0}")]
    NoContext(String),
    #[error("nothing fits into {}: give a larger `--budget`", tokens::show(*.0))]
    SmallBudget(usize),
    #[error("a part of the context has at least {0} tokens: give more with `--of`")]
    SmallPart(usize),
    #[error(
        "there is no part {part}, as the text has {of}: give a number up to that with `--part`"
    )]
    NoPart { part: usize, of: usize },
    #[error("batch `{0}` has no results yet: try again when it has finished")]
    NotTold(String),
    #[error(
        "the results of batch `{0}` are no longer kept, only the last 20 of each notes file: run `clada log` to see how its \
         tasks ended"
    )]
    Forgotten(String),
    #[error(
        "the tasks of batch `{0}` are no longer kept (`ledger.days`): paste the reply again to run them"
    )]
    ForgottenTasks(String),
    #[error("`{path}` is not UTF-8 text (byte {at}): save it as UTF-8")]
    NotText { path: String, at: usize },
    #[error("this user has no home folder for clada's state: set HOME")]
    NoHome,
    #[error("`{}` is the watched file: give the output file another name", .0.display())]
    OutputIsNotes(PathBuf),
    #[error("`{}` is already watched: {error}", path.display())]
    Watched { path: PathBuf, error: LockError },
    #[error(
        "`{}` is already watched by another clada (process {process}): save replies in it, or stop that process first",
        path.display()
    )]
    WatchedByAnother { path: PathBuf, process: String },
    #[error("the daemon is already running: {0}")]
    DaemonRuns(LockError),
    #[error(
        "clada has never watched `{}`, so it has no batch to run: {known}", path.display()
    )]
    NeverWatched {
        path: PathBuf,
        /// The next step, with the files that are known.
        known: String,
    },
    #[error("the last batch is still running: try again when it has finished")]
    StillRuns,
    #[error("no edit of the last batch can be applied at line {line}: {possible}")]
    NoPlace { line: usize, possible: String },
    #[error(
        "`{given}` is neither a command nor a file: did you mean `clada {nearest}`? (`clada watch {given}` creates the file)"
    )]
    NoCommand { given: String, nearest: String },
    #[error(
        "no help on `{given}`: {}",
        match nearest {
            Some(nearest) => format!("did you mean `clada help {nearest}`? (the topics are {topics})"),
            None => format!("name a command or one of these topics: {topics}"),
        }
    )]
    NoHelp {
        given: String,
        nearest: Option<String>,
        topics: String,
    },
    #[error("only you can run `clada {0}`, not a command that clada runs: run it in a terminal")]
    ForTheUser(&'static str),
    #[error(
        "`--actions` works with cml, nesl and sham only: leave it out, as the text for {0} always lists everything"
    )]
    NoActions(&'static str),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error(transparent)]
    Watch(#[from] WatchError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error(
        "`{}` has no history: set `git.enabled = true` if the settings turn it off, or make a repository with `git init`",
        .0.display()
    )]
    NoHistory(PathBuf),
    #[error(
        "{0}; nothing was changed, because this may be about where the states are saved: fix the settings first"
    )]
    LostGit(SettingsError),
    #[error("{0}. Nothing was changed: fix that first")]
    CutShort(String),
    #[error("git: {0}")]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(
        "`{}` {doubt}: make it yours alone with `{remedy}`, or allow it with `--allow-shared`", path.display()
    )]
    Shared {
        path: PathBuf,
        doubt: NotOwn,
        remedy: String,
    },
    #[error(
        "`{}` is a symbolic link out of the project folder to `{}`, perhaps by another author: run `clada watch \
         {named}` if you trust it, or replace it with a file", link.display(), path.display()
    )]
    LeadsOut {
        link: PathBuf,
        /// The link's path, quoted for a shell.
        named: String,
        path: PathBuf,
    },
    #[error("{0}")]
    NotFollowed(String),
    #[error(transparent)]
    State(#[from] StateError),
    #[error("cannot create `{}`: {error}", path.display())]
    Create { path: PathBuf, error: io::Error },
    #[error("{}", scarce::explain(.0))]
    Io(#[from] io::Error),
}

/// The exit status of a process that SIGPIPE kills, as a shell shows it.
const SIGPIPE: u8 = 128 + 13;

impl Error {
    /// Tells that the reader of clada's output has exited, as `head` does.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the exit status: 1 where this machine cannot do it now, 2 where clada was called in a wrong way, and that of a
    /// killed process where nobody reads the output any longer.
    pub fn status(&self) -> u8 {
        use SnapshotError::{NoBatch, NoRevision, SeveralBatches};
        use WatchError::{Other, Scarce, TooManyWatchers, TooManyWatches};
        match self {
            Self::Snapshot(NoBatch(_) | NoRevision(_) | SeveralBatches { .. }) => 2,
            Self::Watch(
                TooManyWatches { .. } | TooManyWatchers { .. } | Scarce { .. } | Other { .. },
            )
            | Self::Ledger(_)
            | Self::Lock(LockError::Io { .. })
            | Self::Registry(RegistryError::Lock(LockError::Io { .. }))
            | Self::Undo(_)
            | Self::Service(_)
            | Self::Snapshot(_)
            | Self::NoHistory(_)
            | Self::CutShort(_)
            | Self::NothingToCopy(_)
            | Self::NotTold(_)
            | Self::Forgotten(_)
            | Self::ForgottenTasks(_)
            | Self::NoPlace { .. }
            | Self::StillRuns => 1,
            _ if self.is_closed_pipe() => SIGPIPE,
            Self::Io(error) if scarce::remedy(error).is_some() => 1,
            _ => 2,
        }
    }
}
