//! `clada tail`: follows the output file of a listener. Changes nothing.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::terminal;
use crate::cmd::notes::{NotesWithRoot, of_root};
use crate::error::Error;
use crate::settings::places::{self, Folders};
use crate::start;
use crate::text::plain::{Plain, plain};
use crate::world::lock::Lock;
use crate::world::output_file::{Follower, Piece};
use crate::world::watch::{Hub, WatchMode, Watcher};

/// The interval at which clada checks which process watches the file, and whether the output has changed.
const AGAIN: Duration = Duration::from_secs(1);

/// Follows the output until it is stopped.
///
/// # Errors
/// Where the output file cannot be read.
pub fn main(file: Option<&Path>, root: Option<&Path>) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let notes = NotesWithRoot::find(&folders, file, root)?;
    let root = file.is_none().then_some(notes.root.1);
    let notes = start::canonical(&notes.file);
    start::runtime()?.block_on(follow(notes, root.as_deref(), &folders))?;
    Ok(ExitCode::SUCCESS)
}

/// Follows the output of a notes file. With a root, follows the file that is watched for it, which may change.
async fn follow(mut notes: PathBuf, root: Option<&Path>, folders: &Folders) -> Result<(), Error> {
    let mut stop = start::stop_signal()?;
    let mut was = None;
    let locks = folders.locks();
    let (path, _) = output(&notes, &locks);
    let mut shown = FollowedOutput::new(path);
    loop {
        let (mut path, mut pid) = output(&notes, &locks);
        if pid.is_none()
            && let Some(root) = root
            && let Ok(chosen) = of_root(folders, root)
        {
            notes = start::canonical(&chosen.file);
            (path, pid) = output(&notes, &locks);
        }
        let is = (notes.clone(), pid);
        if was.as_ref() != Some(&is) {
            was = Some(is);
            let notes = notes.display();
            let said = match pid {
                Some(pid) => format!("clada (process {pid}) is watching {notes}"),
                None => format!("no clada process is watching {notes}: waiting for one"),
            };
            writeln!(terminal::stderr(), "{said}")?;
        }
        if path != shown.follower.path() {
            shown = FollowedOutput::new(path);
        }
        let asked = tokio::time::sleep(AGAIN);
        tokio::pin!(asked);
        loop {
            match shown.all() {
                // The reader of this output has exited.
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                shown => shown?,
            }
            let changed = async {
                match &mut shown.watcher {
                    Some(watcher) => watcher.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
                () = &mut asked => break,
                _ = changed => {}
            }
        }
    }
}

/// Returns the output file of a notes file, and the process that watches it, if one does. A second watched file in a folder has
/// an output file of its own.
fn output(notes: &Path, locks: &Path) -> (PathBuf, Option<i32>) {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let end = |path: &Path| format!(".{}.txt", name(path));
    let watched = Lock::holders(locks, &["file"]);
    let pid = watched
        .iter()
        .find(|(_, path)| path == notes)
        .map(|(pid, _)| *pid);
    let beside = |(of, path): &(i32, PathBuf)| Some(*of) == pid && path.parent() == notes.parent();
    let outputs = Lock::holders(locks, &["output"]).into_iter().filter(beside);
    let outputs: Vec<PathBuf> = outputs.map(|(_, path)| path).collect();
    let own = outputs
        .iter()
        .find(|path| name(path).ends_with(&end(notes)));
    let is_others = |path: &&PathBuf| {
        watched
            .iter()
            .any(|(_, other)| other != notes && name(path).ends_with(&end(other)))
    };
    let held = own.or_else(|| outputs.iter().find(|path| !is_others(path)));
    let found = held.cloned().unwrap_or_else(|| {
        let stem = places::OUTPUT
            .strip_suffix(".txt")
            .unwrap_or(places::OUTPUT);
        let own = notes.with_file_name(format!("{stem}{}", end(notes)));
        if own.exists() {
            own
        } else {
            notes.with_file_name(places::OUTPUT)
        }
    });
    (found, pid)
}

/// The output on the terminal.
struct FollowedOutput {
    follower: Follower,
    /// `None` where events cannot be had: then the file is checked regularly.
    watcher: Option<Watcher>,
    plain: Plain,
}

impl FollowedOutput {
    /// Starts with this output file.
    fn new(path: PathBuf) -> Self {
        Self {
            watcher: Watcher::start(
                &Hub::default(),
                std::slice::from_ref(&path),
                WatchMode::Events,
            )
            .ok(),
            follower: Follower::new(path),
            plain: Plain::default(),
        }
    }

    fn all(&mut self) -> Result<(), Error> {
        let mut out = terminal::stdout();
        loop {
            let piece = self.follower.read().map_err(|error| Error::Reply {
                path: self.follower.path().to_owned(),
                error,
            })?;
            let mut text = Vec::new();
            match piece {
                None => return Ok(out.flush()?),
                Some(Piece::Live(bytes)) => self.plain.push(&bytes, &mut text),
                Some(Piece::Results(results)) => {
                    self.plain.finish(&mut text);
                    if !text.is_empty() {
                        text.push(b'\n');
                    }
                    text.extend(plain(results.as_bytes()).into_bytes());
                }
            }
            out.write_all(&text)?;
        }
    }
}
