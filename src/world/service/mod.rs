//! Owns clada's place among the services of this user: its file there, and the orders that the system's service manager is
//! given. Never decides what a person is told of them.

mod launchd;
pub mod supervisor;
mod systemd;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::getuid;
use tempfile::NamedTempFile;
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use crate::world::programs::{NoProgram, Programs};

/// The longest time that the manager may take to answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The longest time that it may take to carry out an order: a service has its own time to begin and to end.
const ORDER: Duration = Duration::from_secs(120);

/// The pause between two questions whether an agent is gone.
const ASKED_AGAIN: Duration = Duration::from_millis(100);

/// clada as a service.
#[derive(Debug)]
pub struct Service {
    manager: Manager,
    /// The folder in which the manager looks for this user's services.
    folder: PathBuf,
    /// The file to which launchd writes what clada prints.
    log: PathBuf,
    /// The folder of the session's sockets, by which systemd is reached.
    runtime: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
enum Manager {
    Systemd,
    Launchd,
}

/// The orders that the manager can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Take in the file, start with each login, and start now, anew if it runs.
    Install,
    /// End, and start no more.
    Remove,
    /// Forget the file, which is gone.
    Forget,
    Start,
    Stop,
    Restart,
}

/// The state of clada as a service.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ServiceState {
    pub is_installed: bool,
    pub runs: Runs,
    /// The process, where there is one.
    pub pid: Option<u32>,
    /// The last status that it reported.
    pub said: String,
    /// Since when that is so, as the manager puts it.
    pub since: String,
    /// The number of times that the manager started it again by itself.
    pub restarts: u32,
    /// True if it starts with each login; `None` where the manager does not say.
    pub at_login: Option<bool>,
}

impl ServiceState {
    /// Returns true if it runs, or is about to.
    pub fn is_up(&self) -> bool {
        matches!(self.runs, Runs::Yes | Runs::Starts | Runs::Reloads)
    }
}

/// The stages of a service.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// It was not started, or was told to end.
    #[default]
    No,
    Starts,
    Yes,
    Reloads,
    Ends,
    /// It ended though nobody told it to, in words.
    Failed(String),
}

/// The reason why something cannot be done with the service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error(
        "this system has no `{0}` to keep clada running: start `clada daemon` yourself, in tmux or with `nohup`, or by \
         `@reboot` in `crontab -e`"
    )]
    NoManager(&'static str),
    #[error("cannot ask the service manager: {0}")]
    NotRun(NoProgram),
    #[error(
        "cannot reach your systemd ({0}): log in as this user directly, not through `su` or `sudo`; on a machine \
         without logins, first run `sudo loginctl enable-linger USER`"
    )]
    NoSession(String),
    #[error("`{command}` failed: {said}; `clada service logs` shows what clada printed")]
    Failed { command: String, said: String },
    #[error("`{command}` did not finish within {} s: look at `clada service status`, then try again", limit.as_secs())]
    TooLong { command: String, limit: Duration },
    #[error("clada is not installed as a service: run `clada service install`")]
    NotInstalled,
    #[error("`{}` cannot be a service: {why}; install clada elsewhere", path.display())]
    Program { path: PathBuf, why: &'static str },
    #[error("`{}`: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
}

/// The arguments of one call of a manager's program, and true if its failure ends the order.
type ManagerCall = (Vec<String>, bool);

impl Service {
    /// Returns the service of this user, whose services are in `folder`, and the sessions' sockets in `runtime`.
    pub fn of_user(folder: &Path, home: &Path, runtime: Option<PathBuf>) -> Self {
        let manager = if cfg!(target_os = "macos") {
            Manager::Launchd
        } else {
            Manager::Systemd
        };
        Self {
            manager,
            folder: folder.to_owned(),
            log: home.join("Library/Logs/clada.log"),
            runtime,
        }
    }

    /// Returns the file that the manager reads.
    pub fn file(&self) -> PathBuf {
        self.folder.join(match self.manager {
            Manager::Systemd => systemd::FILE,
            Manager::Launchd => launchd::FILE,
        })
    }

    /// Writes the file that starts this program in an environment with these variables, whole or not at all.
    ///
    /// # Errors
    /// Where the program cannot be named there, and where nothing can be written.
    pub fn write(&self, program: &Path, env: &[(&str, String)]) -> Result<(), ServiceError> {
        let name = program
            .to_str()
            .filter(|name| !name.contains(char::is_control));
        let name = name.ok_or(ServiceError::Program {
            path: program.to_owned(),
            why: "its path is not plain text",
        })?;
        let text = match self.manager {
            Manager::Systemd => systemd::unit(name, env),
            Manager::Launchd => launchd::agent(name, env, &self.log),
        };
        let path = self.file();
        self.put(&path, &text)
            .map_err(|error| ServiceError::File { path, error })
    }

    fn put(&self, path: &Path, text: &str) -> io::Result<()> {
        if let (Manager::Launchd, Some(logs)) = (self.manager, self.log.parent()) {
            std::fs::create_dir_all(logs)?;
        }
        std::fs::create_dir_all(&self.folder)?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// Removes the file and all that the manager keeps beside it; whether anything was there.
    ///
    /// # Errors
    /// Where something of it cannot be removed.
    pub fn erase(&self) -> Result<bool, ServiceError> {
        let files = match self.manager {
            Manager::Systemd => systemd::leftovers(&self.folder),
            Manager::Launchd => vec![supervisor::old_log(&self.log), self.log.clone()],
        };
        let mut found = false;
        // The file last: what is left after a failure still shows.
        for path in files.into_iter().chain([self.file()]) {
            let removed = match path.symlink_metadata() {
                Ok(meta) if meta.is_dir() => std::fs::remove_dir_all(&path),
                Ok(_) => std::fs::remove_file(&path),
                Err(error) => Err(error),
            };
            match removed {
                Ok(()) => found = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ServiceError::File { path, error }),
            }
        }
        if let Manager::Systemd = self.manager {
            systemd::remove_empty(&self.folder);
        }
        Ok(found)
    }

    /// Asks the manager for the state of the service.
    ///
    /// # Errors
    /// Where the manager cannot be asked.
    pub async fn state(&self) -> Result<ServiceState, ServiceError> {
        let args = match self.manager {
            Manager::Systemd => systemd::question(),
            Manager::Launchd => launchd::question(getuid().as_raw()),
        };
        let (command, output) = self.call(&args, ANSWER).await?;
        let out = String::from_utf8_lossy(&output.stdout);
        match self.manager {
            Manager::Systemd if output.status.success() => Ok(systemd::state(&out)),
            Manager::Systemd => Err(ServiceError::NoSession(said(&output, command))),
            Manager::Launchd => Ok(launchd::state(
                output.status.success().then_some(&*out),
                self.file().exists(),
            )),
        }
    }

    /// Gives the manager an order.
    ///
    /// # Errors
    /// Where it cannot, or does not within two minutes.
    pub async fn order(&self, order: Order) -> Result<(), ServiceError> {
        let is_new = matches!(order, Order::Install | Order::Forget);
        // It also tells what is wrong in general better than an order would.
        if !self.state().await?.is_installed && !is_new {
            return Err(ServiceError::NotInstalled);
        }
        let steps = match self.manager {
            Manager::Systemd => systemd::steps(order),
            Manager::Launchd => launchd::steps(order, getuid().as_raw(), &self.file()),
        };
        for (args, must) in steps {
            let (command, output) = self.call(&args, ORDER).await?;
            if args.iter().any(|arg| arg == "bootout") {
                self.until_forgotten().await?;
            }
            if must && !output.status.success() {
                let said = said(&output, String::from("it gave no reason"));
                return Err(ServiceError::Failed { command, said });
            }
        }
        Ok(())
    }

    /// Waits until launchd has no agent of this name: it ends one in its own time, and refuses a new one until then.
    async fn until_forgotten(&self) -> Result<(), ServiceError> {
        let until = Instant::now() + ORDER;
        let question = launchd::question(getuid().as_raw());
        while self.call(&question, ANSWER).await?.1.status.success() && Instant::now() < until {
            sleep(ASKED_AGAIN).await;
        }
        Ok(())
    }

    /// The program that shows what clada said, the last lines of it, and with `follow` what comes.
    ///
    /// # Errors
    /// Where there is none, or none that is run.
    pub fn logs(&self, lines: usize, follow: bool) -> Result<std::process::Command, NoProgram> {
        let (program, args) = match self.manager {
            Manager::Systemd => systemd::logs(lines, follow),
            Manager::Launchd => launchd::logs(&self.log, lines, follow),
        };
        let mut command = Programs::of_process().command(program)?;
        command.args(args);
        Ok(command)
    }

    /// Runs the manager's program to its end; with how it was called.
    async fn call(
        &self,
        args: &[String],
        limit: Duration,
    ) -> Result<(String, Output), ServiceError> {
        let program = match self.manager {
            Manager::Systemd => systemd::PROGRAM,
            Manager::Launchd => launchd::PROGRAM,
        };
        let found = Programs::of_process().command(program);
        let found = found.map_err(|why| match why {
            NoProgram::AtRisk { .. } => ServiceError::NotRun(why),
            NoProgram::None(_) => ServiceError::NoManager(program),
        });
        let runtime = self.runtime.iter();
        let mut called = Command::from(found?);
        called
            .args(args)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .env("LC_ALL", "C")
            .envs(runtime.map(|folder| ("XDG_RUNTIME_DIR", folder)));
        let command = format!("{program} {}", args.join(" "));
        let Ok(output) = timeout(limit, called.output()).await else {
            return Err(ServiceError::TooLong { command, limit });
        };
        match output {
            Ok(output) => Ok((command, output)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ServiceError::NoManager(program))
            }
            Err(error) => {
                let said = error.to_string();
                Err(ServiceError::Failed { command, said })
            }
        }
    }
}

/// Returns the first line that a failed program printed.
fn said(output: &Output, otherwise: String) -> String {
    let text = [&output.stderr, &output.stdout].map(|bytes| String::from_utf8_lossy(bytes));
    let mut lines = text.iter().flat_map(|text| text.lines().map(str::trim));
    let first = lines.find(|line| !line.is_empty());
    first.map_or(otherwise, |line| line.trim_end_matches('.').to_owned())
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}
