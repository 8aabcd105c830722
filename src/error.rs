//! What ends the process: wrong use, or a tool that is broken. A task's failure is never one of these.

use std::io;
use std::path::PathBuf;

use crate::config::registry::RegistryError;
use crate::config::settings::SettingsError;
use crate::undo::UndoError;
use crate::world::ledger::LedgerError;
use crate::world::lock::LockError;
use crate::world::note_file::NoteError;
use crate::world::ownership::NotOwn;
use crate::world::scarce;
use crate::world::service::ServiceError;
use crate::world::snapshot::SnapshotError;
use crate::world::state::StateError;
use crate::world::watch::WatchError;

/// Why clada cannot do what it was called for.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the project folder `{}` cannot be used: {error}", path.display())]
    Root { path: PathBuf, error: io::Error },
    #[error("cannot read `{}`: {error}", path.display())]
    Reply { path: PathBuf, error: io::Error },
    #[error("there is no notes file `{}`: name the one that clada watches", .0.display())]
    NoNotes(PathBuf),
    #[error("{files} are {of}: name the one that you mean by its path")]
    WhichNotes { files: String, of: String },
    #[error("no results of `{}` have been copied yet: name the notes file that clada watches", .0.display())]
    NothingToCopy(PathBuf),
    #[error(
        "no batch `{batch}` ran for `{}`: `clada log` shows the batches with their numbers and ids, and `--file FILE` names \
         other notes", notes.display()
    )]
    NoBatch { batch: String, notes: PathBuf },
    #[error(
        "the ids of several batches begin with `{0}`: give more of the one that you mean, as `clada log` shows it"
    )]
    SeveralBatches(String),
    #[error("batch `{0}` has no results yet: try again when they are there")]
    NotTold(String),
    #[error(
        "the results of batch `{0}` are not kept any more: the last 20 of each notes file are; `clada log` shows what its \
         tasks came to"
    )]
    Forgotten(String),
    #[error("`{path}` is not UTF-8 text (byte {at}): save it as UTF-8")]
    NotText { path: String, at: usize },
    #[error("this user has no home folder, so clada has no place for its state: set HOME")]
    NoHome,
    #[error("`{}` is the watched file: give the output file another name", .0.display())]
    OutputIsNotes(PathBuf),
    #[error("`{}` is watched already: {error}", path.display())]
    Watched { path: PathBuf, error: LockError },
    #[error("the daemon runs already: {0}")]
    DaemonRuns(LockError),
    #[error(
        "no clada has ever watched `{}`, so nothing of it can run: name a notes file that `clada list` or `clada log` shows, or \
         watch this one (`clada watch FILE`)", .0.display()
    )]
    NeverWatched(PathBuf),
    #[error("the last batch still runs: try again when its results are there")]
    StillRuns,
    #[error("no edit of the last batch can be carried out at line {line}: {possible}")]
    NoPlace { line: usize, possible: String },
    #[error(
        "there is neither a command nor a file `{given}`: did you mean `clada {nearest}`? (`clada watch {given}` makes the file)"
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
    #[error("`clada {0}` is for the user: a command that clada runs cannot do it")]
    ForTheUser(&'static str),
    #[error("`--actions` is for cml, nesl and sham: the text of {0} has all that it can do")]
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
        "nothing is saved in git for `{}`, so there is no history: it is turned off in the settings, or there is no \
         repository", .0.display()
    )]
    NoHistory(PathBuf),
    #[error(
        "{0}: mend that first, as it may be about where git keeps the saved states; nothing was changed"
    )]
    LostGit(SettingsError),
    #[error("{0}. Mend that first; until then nothing is changed here")]
    CutShort(String),
    #[error("git: {0}")]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Service(#[from] ServiceError),
    #[error(
        "`{}` {doubt}: what it says may not be yours, so clada does not act on it. `{remedy}` makes it yours alone; \
         `--allow-shared` allows it", path.display()
    )]
    Shared {
        path: PathBuf,
        doubt: NotOwn,
        remedy: String,
    },
    #[error(
        "`{}` is a symbolic link to `{}`, out of the project folder, and it may have come with the project: name it if that \
         is meant (`clada watch {named}`), else put a file in its place", link.display(), path.display()
    )]
    LeadsOut {
        link: PathBuf,
        /// As a shell takes it.
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

impl Error {
    /// The exit status: 1 where this machine cannot do what it was rightly asked for, 2 where clada should be called another way.
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
            | Self::NoPlace { .. }
            | Self::StillRuns => 1,
            Self::Io(error) if scarce::remedy(error).is_some() => 1,
            _ => 2,
        }
    }
}
