//! Errors that few machines can provoke, in the words that a person reads.

use std::io;
use std::time::Duration;

use clada::git::undo::UndoError;
use clada::git::{
    Beginner, ExcludeError, LeftOff, OffReason, Operation, SkipReason, Skipped, SnapshotError,
};
use clada::settings::SettingsError;
use clada::settings::registry::RegistryError;
use clada::world::clipboard::ClipboardError;
use clada::world::ledger::LedgerError;
use clada::world::lock::LockError;
use clada::world::note_file::{NoteError, ReplaceStep};
use clada::world::ownership::NotOwn;
use clada::world::programs::NoProgram;
use clada::world::sandbox::SandboxError;
use clada::world::service::ServiceError;
use clada::world::shell::ShellError;
use clada::world::state::StateError;
use clada::world::watch::WatchError;
use clada::world::workspace::{FsError, RootMoved};

fn denied() -> io::Error {
    io::Error::other("denied")
}

fn check<E: std::fmt::Display>(cases: impl IntoIterator<Item = (E, &'static str)>) {
    for (error, expected) in cases {
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn of_settings() {
    check([
        (
            SettingsError::Read {
                path: "/s".into(),
                error: denied(),
            },
            "cannot read the settings `/s`: denied: make it a text file that this user can read",
        ),
        (
            SettingsError::Keep {
                path: "/s".into(),
                error: denied(),
            },
            "cannot save what you trust in `/s`: denied: make its folder writable for this user",
        ),
        (
            SettingsError::Shared {
                path: "/s".into(),
                doubt: NotOwn::Group(4_000_000_000),
                remedy: "chmod go-w /s".to_owned(),
            },
            "`/s` is writable by the group with the number 4000000000, so clada does not use it: run `chmod go-w /s`",
        ),
    ]);
    check([
        (
            RegistryError::Read {
                path: "/w".into(),
                error: denied(),
            },
            "cannot read the list of watched files `/w`: denied: make it a text file that this user can read",
        ),
        (
            RegistryError::Shared {
                path: "/w".into(),
                doubt: NotOwn::All,
                remedy: "chmod go-w /w".to_owned(),
            },
            "`/w` is writable by all users, so clada does not use the list of watched files: run `chmod go-w /w`",
        ),
        (
            RegistryError::Write {
                path: "/w".into(),
                error: denied(),
            },
            "cannot write the list of watched files `/w`: denied: the list is unchanged; check the folder's permissions and \
             disk space",
        ),
    ]);
}

#[test]
fn of_undo() {
    check([
        (
            UndoError::Ambiguous(
                "2026".to_owned(),
                vec!["20260101".to_owned(), "20260102".to_owned()],
            ),
            "`2026` matches several batches: 20260101, 20260102. Give more of the id",
        ),
        (
            UndoError::Elsewhere("20260101".to_owned(), "/p/sub".into()),
            "`20260101` ran in `/p/sub`, and its changes to untracked files are saved there, so nothing was done: run this \
             there, or with `--root /p/sub`",
        ),
        (
            UndoError::NotSaved(vec!["a".into()]),
            "git cannot save `a` as it is now, so nothing was done: move it away, then try again",
        ),
        (
            UndoError::Halfway {
                why: Box::new(UndoError::NoOlder),
                left: vec!["a".into()],
            },
            "no older state exists here. clada could not restore `a`: see `git status` and `git diff`; the last commit has \
             the earlier content",
        ),
        (
            UndoError::Edited(vec!["a".into()]),
            "`a` changed after the older state was shown, so nothing was done: undo those edits and try again, or keep all \
             files as they are with `clada step-forward --stay`",
        ),
    ]);
}

#[test]
fn of_the_clipboard() {
    let cause = || "denied".to_owned();
    check([
        (
            ClipboardError::NoDisplay { looked: true },
            "no display (DISPLAY and WAYLAND_DISPLAY are not set, and no desktop of yours is running)",
        ),
        (
            ClipboardError::Unreachable { cause: cause() },
            "display not reachable (denied)",
        ),
        (
            ClipboardError::Refused { cause: cause() },
            "display refused the text (denied)",
        ),
        (
            ClipboardError::NoAnswer {
                patience: Duration::from_millis(7),
            },
            "display did not answer within 7 ms",
        ),
        (ClipboardError::Overtaken, "a newer text replaced it"),
        (
            ClipboardError::NotWatched,
            "the clipboard was not watched all the time since",
        ),
        (
            ClipboardError::CopiedSince,
            "something else was copied since",
        ),
        (
            ClipboardError::Unwatchable { cause: cause() },
            "the clipboard cannot be watched (denied)",
        ),
        (
            ClipboardError::TooLong { bytes: 9, most: 8 },
            "the text has 9 bytes, and the clipboard takes 8: shorten it",
        ),
        (
            ClipboardError::Terminal { cause: cause() },
            "the terminal did not accept it (denied)",
        ),
        (
            ClipboardError::NoOwner { cause: cause() },
            "cannot start a process for it (denied)",
        ),
        (
            ClipboardError::NoThread { cause: cause() },
            "cannot start a thread for it (denied)",
        ),
    ]);
}

#[test]
fn of_the_state() {
    check([
        (
            LedgerError::Io {
                path: "/l".into(),
                error: denied(),
            },
            "cannot use `/l` for the ledger: denied: make it and its folder readable and writable for this user",
        ),
        (
            LedgerError::Denied("/l".into()),
            "cannot open or write the ledger `/l`: make it and its folder readable and writable for this user",
        ),
        (
            LedgerError::Twice("batch 7".to_owned()),
            "batch 7 has already started, perhaps in another clada: it does not run again",
        ),
        (
            LedgerError::Taken("/n.md".into()),
            "the ledger already has a history of `/n.md`, which that of another file cannot replace",
        ),
        (
            LedgerError::Sqlite {
                path: "/l".into(),
                error: rusqlite::Error::InvalidQuery,
            },
            "cannot use the ledger `/l`: Query is not read-only: check the disk, then try again",
        ),
    ]);
    check([(
        LockError::Io {
            path: "/l".to_owned(),
            error: denied(),
        },
        "cannot use the lock in /l: denied: make it readable and writable for this user",
    )]);
    check([(
        StateError::Io {
            path: "/s".into(),
            error: denied(),
        },
        "cannot make clada's state folder `/s` private: denied",
    )]);
}

#[test]
fn of_the_notes() {
    let path = || "/n.md".into();
    check([
        (
            NoteError::NotAFile {
                path: path(),
                kind: "a symbolic link since clada started to watch it",
            },
            "`/n.md` is a symbolic link since clada started to watch it: give clada a plain text file to watch",
        ),
        (
            NoteError::Unsteady { path: path() },
            "`/n.md` changed each time clada read it: clada reads it again when it stops changing",
        ),
        (
            NoteError::Gone { path: path() },
            "`/n.md` no longer exists, so the results are not in it: save it again to continue",
        ),
        (
            NoteError::Busy { path: path() },
            "`/n.md` was saved again and again while clada wrote: the results wait for the next save",
        ),
        (
            NoteError::HardLinked {
                path: path(),
                links: 2,
                why: "cannot be locked here, so clada cannot write it safely",
            },
            "`/n.md` has 2 hard links and cannot be locked here, so clada cannot write it safely: watch it through a \
             symbolic link instead",
        ),
        (
            NoteError::Kept {
                saved: vec!["/.clada-saved-1".into()],
                cause: Box::new(NoteError::Gone { path: path() }),
            },
            "`/n.md` no longer exists, so the results are not in it: save it again to continue; a save that came in \
             meanwhile is in `/.clada-saved-1`: compare it with your notes file",
        ),
        (
            NoteError::NotWritable {
                path: path(),
                cause: io::ErrorKind::ReadOnlyFilesystem.into(),
            },
            "cannot write `/n.md`: read-only filesystem or storage medium: mount its file system for writing to get the \
             results into it",
        ),
    ]);
    for (step, expected) in [
        (
            ReplaceStep::Store,
            "clada cannot store the new text: denied: check its disk",
        ),
        (
            ReplaceStep::Exchange,
            "clada cannot exchange it with a new file: denied: let this user rename files in its folder",
        ),
    ] {
        let (path, cause) = (path(), denied());
        let said = NoteError::CannotReplace { path, step, cause }.to_string();
        let expected = format!("cannot replace `/n.md`: {expected}; the file is unchanged");
        assert_eq!(said, expected);
    }
}

#[test]
fn of_watching() {
    check([
        (
            WatchError::NoDirectory { path: "/d".into() },
            "the directory `/d` does not exist: create it, or give another file to watch",
        ),
        (
            WatchError::NotADirectory { path: "/d".into() },
            "`/d` is not a directory: give another file to watch",
        ),
        (
            WatchError::Scarce {
                why: "denied".to_owned(),
            },
            "cannot watch any file now: denied",
        ),
        (
            WatchError::Other {
                path: "/d".into(),
                cause: notify::Error::generic("denied"),
            },
            "cannot watch `/d`: denied: `--poll 1s` may work",
        ),
    ]);
}

#[test]
fn of_programs_and_commands() {
    check([
        (
            NoProgram::None("git".to_owned()),
            "`git` is not in PATH: install it",
        ),
        (
            NoProgram::AtRisk {
                name: "git".to_owned(),
                folder: "bin".into(),
                why: "which PATH names without its full path".to_owned(),
            },
            "`git` is only in `bin`, which PATH names without its full path: clada does not run it there; install it for the \
             whole system",
        ),
    ]);
    check([(
        SandboxError::Prepare("denied".to_owned()),
        "cannot set up the fence around exec: denied (`exec.sandbox = \"off\"` runs it without one)",
    )]);
    check([
        (
            ShellError::NoDirectory,
            "the project folder no longer exists: put it back",
        ),
        (
            ShellError::Nul,
            "the script contains a NUL character: remove it",
        ),
        (
            ShellError::Start(denied()),
            "cannot start the shell or program for it: denied",
        ),
        (ShellError::Read(denied()), "cannot read its output: denied"),
        (
            ShellError::Spool(denied()),
            "cannot put its output, or a long script, into a temporary file: denied",
        ),
        (
            ShellError::Wait(denied()),
            "cannot wait for its end: denied",
        ),
    ]);
}

#[test]
fn of_the_service() {
    let git = || NoProgram::None("systemctl".to_owned());
    check([
        (
            ServiceError::NoManager("systemctl"),
            "this system has no `systemctl` to keep clada running: start `clada daemon` yourself, in tmux or with `nohup`, \
             or by `@reboot` in `crontab -e`",
        ),
        (
            ServiceError::NotRun(git()),
            "cannot ask the service manager: `systemctl` is not in PATH: install it",
        ),
        (
            ServiceError::NoSession("denied".to_owned()),
            "cannot reach your systemd (denied): log in as this user directly, not through `su` or `sudo`; on a machine \
             without logins, first run `sudo loginctl enable-linger USER`",
        ),
        (
            ServiceError::Failed {
                command: "systemctl".to_owned(),
                said: "it gave no reason".to_owned(),
            },
            "`systemctl` failed: it gave no reason; `clada service logs` shows what clada printed",
        ),
        (
            ServiceError::TooLong {
                command: "systemctl".to_owned(),
                limit: Duration::from_secs(7),
            },
            "`systemctl` did not finish within 7 s: look at `clada service status`, then try again",
        ),
        (
            ServiceError::Program {
                path: "/c".into(),
                why: "its path is not plain text",
            },
            "`/c` cannot be a service: its path is not plain text; install clada elsewhere",
        ),
    ]);
}

#[test]
fn of_the_project_folder() {
    check([(
        RootMoved::Gone("/p".into(), denied()),
        "cannot reach the project folder `/p` (denied): put it back",
    )]);
    let name = || "a".to_owned();
    check([
        (
            FsError::HoldsProtected(name()),
            "`a` contains a file that belongs to clada itself (notes file, output file, settings or state): name its other \
             files one by one",
        ),
        (
            FsError::ReadOnly(name()),
            "`a` is not writable: change its mode with an exec task first",
        ),
        (FsError::Exists(name()), "`a` already exists"),
        (
            FsError::OtherFileSystem { path: name() },
            "`a` and its destination are on different file systems: use an exec task with mv",
        ),
    ]);
}

#[test]
fn of_git() {
    let git = || git2::Error::from_str("denied");
    check([
        (
            SnapshotError::Unreadable {
                path: "/a".into(),
                cause: Box::new(denied()),
            },
            "cannot read `/a`, so nothing was committed: denied. Make it readable or ignore it in .gitignore",
        ),
        (
            SnapshotError::NoFolder("/a".into(), denied()),
            "cannot open `/a`: denied. Check that the folder exists",
        ),
        (
            SnapshotError::OwnIndex("/a".into(), denied()),
            "cannot create clada's own index `/a`: denied. Check that the git directory is writable",
        ),
        (
            SnapshotError::OutsideRoot("/a".into()),
            "`/a` is not a path in the project folder: name one that is, without `..`",
        ),
        (
            SnapshotError::Unconfirmed("/p/.git".into()),
            "`/p/.git` leads to a git directory that does not name this folder in return, so nothing is saved there. If you \
             did that, run `git config core.worktree \"$PWD\"` here, or `git worktree repair` for a linked work tree. \
             Otherwise restore git's own (`--no-git` works without git)",
        ),
        (
            SnapshotError::NothingSaved,
            "clada has saved nothing here yet",
        ),
        (
            SnapshotError::HeadMoved,
            "another program moved the branch meanwhile: try again when it has finished",
        ),
        (
            SnapshotError::NoGit(denied()),
            "cannot start git, which signs and runs hooks: denied. Install it, or set `git.sign` and `git.hooks` to false",
        ),
        (
            SnapshotError::NoProgram(NoProgram::None("git".to_owned())),
            "clada needs git for signatures and hooks: `git` is not in PATH: install it, or set `git.sign` and `git.hooks` \
             to false",
        ),
        (
            SnapshotError::LosesSignatures(2),
            "2 signed commit(s) would lose the signature: choose fewer commits (`-n`, `--since`), or accept that with \
             `--force`",
        ),
        (
            SnapshotError::Git(git()),
            "git could not save the state: denied. `git status` may show more",
        ),
    ]);
    for (operation, expected) in [
        (
            Operation::Revert,
            "a revert is in progress: if you began it, finish or abort it (`git status` says how); otherwise run `git revert \
             --abort`, then try again",
        ),
        (
            Operation::CherryPick,
            "a cherry-pick is in progress: if you began it, finish or abort it (`git status` says how); otherwise run `git \
             cherry-pick --abort`, then try again",
        ),
        (
            Operation::Merge,
            "a merge is in progress: if you began it, finish or abort it (`git status` says how); otherwise run `git merge \
             --abort`, then try again",
        ),
        (
            Operation::ApplyMailbox,
            "a `git am` is in progress: if you began it, finish or abort it (`git status` says how); otherwise run `git am \
             --abort`, then try again",
        ),
    ] {
        let error = SnapshotError::Busy(operation, Beginner::Unknown);
        assert_eq!(error.to_string(), expected);
    }
    check([(
        ExcludeError::Link("/e".into()),
        "`/e` is a symbolic link, and clada follows none in a git directory",
    )]);
}

#[test]
fn of_files_that_are_not_saved() {
    let skipped = |why| Skipped {
        path: "a".into(),
        why,
    };
    check([
        (
            skipped(SkipReason::Encoding("UTF-16".to_owned())),
            "`a` was not saved: git would convert it from `UTF-16`",
        ),
        (
            skipped(SkipReason::KeptByUser),
            "`a` was not saved: it is marked assume-unchanged or skip-worktree",
        ),
        (
            skipped(SkipReason::Unreadable("denied".to_owned())),
            "`a` was not saved: it could not be read (denied)",
        ),
        (
            skipped(SkipReason::Name),
            "`a` was not saved: git refuses its name, which is `.git` on some systems",
        ),
    ]);
    let left_off = |why| LeftOff {
        path: "a".into(),
        why,
    };
    check([
        (
            left_off(OffReason::Staged),
            "a (was untracked, and a command staged it)",
        ),
        (
            left_off(OffReason::Lost),
            "a (no snapshot has its previous content)",
        ),
        (
            left_off(OffReason::Notes),
            "a (clada's own file, and a command staged it)",
        ),
    ]);
}
