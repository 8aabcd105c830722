//! Owns the sockets by which running cladas are asked what they do: one for each process, in a folder that only this user
//! can enter. A question is a line, an answer is all that follows. Knows neither of them.

use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream as Asking};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::world::attendant::attend;
use crate::world::state;

/// The longest wait of either side for the other's next word.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest question, in bytes.
const QUESTION: u64 = 16 * 1024;
/// The extension of a socket's name; before it is the process id.
const EXTENSION: &str = "sock";
/// The pause after a question that could not be answered.
const PAUSE: Duration = Duration::from_millis(50);

/// Answers for as long as it lives.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    served: Option<AbortHandle>,
}

impl Socket {
    /// Answers questions from now on, in the first of these folders where that can be. `answer` must not block.
    ///
    /// # Errors
    /// Where it can be in none.
    pub fn serve(
        folders: &[PathBuf],
        answer: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let mut bound = Err(io::ErrorKind::NotFound.into());
        for folder in folders {
            bound = bind(folder);
            if bound.is_ok() {
                break;
            }
        }
        let (listener, path) = bound?;
        listener.set_nonblocking(true)?;
        let served = attend(move || {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            Ok(async move {
                loop {
                    let answered = match listener.accept().await {
                        Ok((stream, _)) => reply(stream, &answer).await,
                        Err(error) => Err(error),
                    };
                    if let Err(error) = answered {
                        tracing::debug!(%error, "cannot answer a status request");
                        // Without an open file to be had this would be so again at once.
                        sleep(PAUSE).await;
                    }
                }
            })
        });
        // The name goes with it where nobody answers.
        let mut socket = Self { path, served: None };
        socket.served = Some(served?);
        Ok(socket)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(served) = &self.served {
            served.abort();
        }
        let _ = fs::remove_file(&self.path);
    }
}

fn bind(folder: &Path) -> io::Result<(UnixListener, PathBuf)> {
    state::make(folder)?;
    // Whatever it was before: who gets in could be asked in this one's place.
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    let path = folder.join(format!("{}.{EXTENSION}", std::process::id()));
    // It has its name only when it answers: who asks before would take it for one that is left over.
    let new = path.with_extension("new");
    // Of a process that had this id before.
    let _ = fs::remove_file(&new);
    let listener = UnixListener::bind(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    fs::rename(new, &path)?;
    Ok((listener, path))
}

/// Answers one question. Who asks and then says nothing holds up the others for a moment only.
async fn reply(
    mut stream: UnixStream,
    answer: &(impl Fn(&str) -> String + Sync),
) -> io::Result<()> {
    let answered = async {
        let (asks, mut hears) = stream.split();
        let mut question = String::new();
        BufReader::new(asks.take(QUESTION))
            .read_line(&mut question)
            .await?;
        hears
            .write_all(answer(question.trim_end()).as_bytes())
            .await
    };
    timeout(PATIENCE, answered).await?
}

/// Asks all running clada processes of this user; returns the answers with their process ids. Removes sockets that nobody
/// answers.
pub fn ask(folders: &[PathBuf], question: &str) -> Vec<(u32, io::Result<String>)> {
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let paths = entries.flatten().flatten().map(|entry| entry.path());
    let mut answers: Vec<_> = paths
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let pid = name.strip_suffix(EXTENSION)?.strip_suffix('.')?;
            let pid = pid.parse().ok()?;
            match put(&path, question) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    let _ = fs::remove_file(&path);
                    None
                }
                answer => Some((pid, answer)),
            }
        })
        .collect();
    answers.sort_by_key(|(pid, _)| *pid);
    answers
}

fn put(path: &Path, question: &str) -> io::Result<String> {
    let mut stream = Asking::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    writeln!(stream, "{question}")?;
    let mut answer = String::new();
    match stream.read_to_string(&mut answer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let why = format!("it has not answered for {} seconds", PATIENCE.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        }
        read => read.map(|_| answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_answers_and_who_is_gone_is_forgotten() {
        let dir = tempfile::tempdir().expect("temp dir");
        // A folder that cannot be is passed over.
        let file = dir.path().join("file");
        fs::write(&file, "").expect("write");
        let folders = [file.join("none"), dir.path().join("run")];
        let dead = dir.path().join("run/1.sock");
        let socket =
            Socket::serve(&folders, |question| format!("to {question}: yes")).expect("serve");
        drop(UnixListener::bind(&dead).expect("bind"));
        let hung = UnixListener::bind(dir.path().join("run/2.sock")).expect("bind");
        let mode = |path: &Path| fs::metadata(path).expect("meta").permissions().mode() & 0o777;
        assert_eq!((mode(&folders[1]), mode(&socket.path)), (0o700, 0o600));

        let answers = ask(&folders, "status");
        let answers: Vec<_> = answers
            .iter()
            .map(|(pid, answer)| (*pid, answer.as_deref().map_err(|error| error.to_string())))
            .collect();
        let said = Err("it has not answered for 2 seconds".to_owned());
        let own = (std::process::id(), Ok("to status: yes"));
        assert_eq!(answers, [(2, said), own]);
        assert!(!dead.exists());
        drop((socket, hung));
        // A program that another test starts has them too, until it runs.
        let is_gone = || ask(&folders, "status").is_empty();
        assert!((0..10).any(|_| is_gone()));
    }
}
