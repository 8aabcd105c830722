//! The checks of files: the notes file, whether saves are noticed, disk space, the ledger, and other clada processes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access, statvfs};

use super::CheckResult;
use crate::clock;
use crate::settings::places::{self, Folders};
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::{NoteFile, NoteReading};
use crate::world::watch::{Hub, Signal, WatchMode, Watcher};

/// The time in which a save must be noticed.
const PATIENCE: Duration = Duration::from_secs(5);
/// The free space in bytes that is low, and that is too low for anything to work.
const LITTLE: u64 = 256 * 1024 * 1024;
const NONE: u64 = 4 * 1024 * 1024;
/// The next step where saves are not noticed.
const POLL: &str = "start clada with `--poll 1s`";

/// Checks the notes file itself.
pub(super) fn notes(file: &Path) -> CheckResult {
    let reading = NoteFile::new(file, places::NOTES_LIMIT)
        .and_then(|note| note.read().map(|reading| (note, reading)));
    let (note, text) = match reading {
        Err(error) => return CheckResult::Wrong(error.to_string()),
        Ok((note, NoteReading::Missing)) => {
            let path = note.path().display();
            return CheckResult::Fine(format!(
                "`{path}` does not exist yet: create it with `clada watch`"
            ));
        }
        Ok((note, NoteReading::Text { text, .. })) => (note, text),
    };
    let path = note.path();
    let (size, limit) = (text.len() as u64, places::NOTES_LIMIT);
    if let Some(system) = network(path) {
        return CheckResult::Less(format!(
            "`{}` is on {system}, where clada does not notice saves of other machines: {POLL}",
            path.display()
        ));
    }
    if size > limit / 2 {
        return CheckResult::Less(format!(
            "`{}` has {} of at most {} MiB: move old replies into another file",
            path.display(),
            mib(size),
            mib(limit)
        ));
    }
    CheckResult::Fine(format!("`{}`, {size} bytes of text", path.display()))
}

/// Returns the name of the file system, if other machines share it.
#[cfg(target_os = "linux")]
fn network(path: &Path) -> Option<&'static str> {
    // From the system's header `linux/magic.h` and, for the last ones, their own sources.
    const SHARED: [(u32, &str); 9] = [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB"),
        (0x0102_1997, "9p"),
        (0x00c3_6400, "Ceph"),
        (0x5346_414f, "AFS"),
        (0x7375_7245, "Coda"),
        (0x786f_4256, "a VirtualBox share"),
    ];
    let found = rustix::fs::statfs(path).ok()?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "32 bits say which it is"
    )]
    let kind = found.f_type as u32;
    let name = SHARED.iter().find(|(magic, _)| *magic == kind);
    name.map(|(_, name)| *name)
}

#[cfg(not(target_os = "linux"))]
fn network(_path: &Path) -> Option<&'static str> {
    None
}

/// Checks whether clada notices a save next to the notes file.
pub(super) async fn watching(file: &Path) -> CheckResult {
    let folder = match NoteFile::new(file, places::NOTES_LIMIT) {
        Ok(note) => note.path().parent().map(Path::to_owned),
        Err(error) => return CheckResult::Wrong(error.to_string()),
    };
    let Some(folder) = folder else {
        return CheckResult::Wrong(
            "the notes file is in no folder: give the path of a file".to_owned(),
        );
    };
    let probe = Probe(folder.join(format!(".clada-probe-{}", clock::word())));
    let mut watcher = match Watcher::start(
        &Hub::default(),
        std::slice::from_ref(&probe.0),
        WatchMode::Events,
    ) {
        Ok(watcher) => watcher,
        Err(error) => return CheckResult::Wrong(error.to_string()),
    };
    if let Err(error) = probe.save() {
        return CheckResult::Wrong(format!(
            "clada cannot write to `{}`, so results cannot be written either ({error}): make it writable for this user",
            folder.display()
        ));
    }
    let noticed = async { while watcher.next().await == Signal::Lost {} };
    match tokio::time::timeout(PATIENCE, noticed).await {
        Ok(()) => CheckResult::Fine(format!("clada notices saves in `{}`", folder.display())),
        Err(_) => CheckResult::Wrong(format!(
            "clada does not notice saves in `{}`, as its file system does not report them: {POLL}",
            folder.display()
        )),
    }
}

/// A file that is deleted when this is dropped.
struct Probe(PathBuf);

impl Probe {
    fn save(&self) -> std::io::Result<()> {
        let mut new = OpenOptions::new();
        new.write(true)
            .create_new(true)
            .open(&self.0)?
            .write_all(b"clada doctor\n")
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Checks how many files the system allows to watch, and how many of them this user watches.
#[cfg(target_os = "linux")]
pub(super) fn limits() -> CheckResult {
    let limit = |what: &str| {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{what}")).ok()?;
        text.trim().parse::<usize>().ok()
    };
    let names = ["max_user_watches", "max_user_instances"];
    let [Some(watches), Some(instances)] = names.map(limit) else {
        return CheckResult::Less(format!("the limits of inotify cannot be read: {POLL}"));
    };
    let (watched, watchers) = watched();
    let said =
        format!("{watched} of {watches} watches and {watchers} of {instances} watchers are in use");
    let is_short = |used: usize, limit: usize| used + 8 > limit || used > limit / 10 * 9;
    let short = match (is_short(watched, watches), is_short(watchers, instances)) {
        (false, false) => return CheckResult::Fine(said),
        (true, _) => (names[0], watches),
        (false, true) => (names[1], instances),
    };
    CheckResult::Less(format!(
        "{said}: raise the limit with `sudo sysctl fs.inotify.{}={}`, and permanently in /etc/sysctl.d",
        short.0,
        short.1.max(64) * 4
    ))
}

/// Counts the watches and watchers of the processes that this user may inspect.
#[cfg(target_os = "linux")]
fn watched() -> (usize, usize) {
    let (mut watches, mut watchers) = (0, 0);
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten();
    for process in entries(Path::new("/proc")) {
        for open in entries(&process.path().join("fd")) {
            let leads_to = fs::read_link(open.path()).unwrap_or_default();
            if leads_to != Path::new("anon_inode:inotify") {
                continue;
            }
            watchers += 1;
            let info = process.path().join("fdinfo").join(open.file_name());
            let info = fs::read_to_string(info).unwrap_or_default();
            watches += info
                .lines()
                .filter(|line| line.starts_with("inotify "))
                .count();
        }
    }
    (watches, watchers)
}

/// Checks the free space where clada writes.
pub(super) fn room(folders: &Folders, root: &Path) -> CheckResult {
    let mut least: Option<(u64, &Path)> = None;
    for folder in [folders.state.as_path(), root] {
        let there = folder.ancestors().find(|folder| folder.exists());
        let Some(Ok(found)) = there.map(statvfs) else {
            continue;
        };
        let free = found.f_bavail.saturating_mul(found.f_frsize);
        if least.is_none_or(|(least, _)| free < least) {
            least = Some((free, folder));
        }
    }
    let Some((free, folder)) = least else {
        return CheckResult::Less("the free space cannot be read here".to_owned());
    };
    let said = format!("{} MiB free for `{}`", mib(free), folder.display());
    match free {
        ..NONE => CheckResult::Wrong(format!(
            "{said}, too little for anything to run: free some space"
        )),
        NONE..LITTLE => CheckResult::Less(format!("{said}: free some space soon")),
        _ => CheckResult::Fine(said),
    }
}

/// Checks the ledger.
pub(super) fn ledger(folders: &Folders) -> CheckResult {
    let there = folders.state.ancestors().find(|folder| folder.exists());
    if let Some(folder) = there
        && let Err(error) = access(folder, Access::WRITE_OK | Access::EXEC_OK)
    {
        return CheckResult::Wrong(format!(
            "clada cannot write to `{}` ({error}), so nothing runs: make it writable for this user, or set HOME to another folder",
            folder.display()
        ));
    }
    match Ledger::read(&folders.state) {
        Ok(None) => CheckResult::Fine("nothing has run yet".to_owned()),
        Ok(Some(ledger)) => match ledger.check() {
            Ok(()) => CheckResult::Fine(format!("intact, in `{}`", folders.state.display())),
            Err(error) => CheckResult::Wrong(error.to_string()),
        },
        Err(error) => CheckResult::Wrong(error.to_string()),
    }
}

/// Lists which process watches which file.
pub(super) fn others(folders: &Folders) -> CheckResult {
    let mut holders = Lock::holders(&folders.locks(), &places::WATCHED_LOCKS[..1]);
    holders.sort();
    if holders.is_empty() {
        return CheckResult::Fine("no other clada process is running".to_owned());
    }
    let each = holders
        .iter()
        .map(|(pid, path)| format!("process {pid} watches `{}`", path.display()));
    CheckResult::Fine(each.collect::<Vec<_>>().join("; "))
}

/// Checks whether macOS lets clada read the folders that it protects.
#[cfg(target_os = "macos")]
pub(super) fn permission(folders: &Folders) -> CheckResult {
    let names = ["Documents", "Desktop", "Downloads"];
    let is_closed = |name: &&str| {
        let read = fs::read_dir(folders.home.join(name));
        read.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
    };
    let closed: Vec<&str> = names.into_iter().filter(|name| is_closed(name)).collect();
    if closed.is_empty() {
        return CheckResult::Fine("clada can read Documents, Desktop and Downloads".to_owned());
    }
    CheckResult::Less(format!(
        "clada cannot read {}: allow it in System Settings, Privacy & Security, Files and Folders",
        closed.join(", ")
    ))
}

fn mib(bytes: u64) -> u64 {
    bytes / 1024 / 1024
}
