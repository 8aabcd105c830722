//! Owns the environment as the user's login shell has it. Never decides what a script gets of it, and changes no environment.
//!
//! What a service manager starts has a bare PATH. As editors do, clada then has the user's shell start once as a login
//! shell, and takes what its start-up files have made. Those files can do anything: print, ask, loop, exit, start another
//! shell. So the environment is read between two marks that nobody can guess, with nothing to answer from, and for a
//! limited time.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, getuid, kill_process, kill_process_group, setsid};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout, timeout_at};

use crate::clock;
use crate::world::programs::{self, Programs};

/// Start-up files that print more than this are given up.
const MOST: usize = 16 * 1024 * 1024;

/// The time that the shell may go on once it has printed its environment, before it is ended.
const FAREWELL: Duration = Duration::from_millis(500);

/// Start-up files may look for it to leave out what is for people; and a process that has it came from there.
const SIGN: &str = "CLADA_LOGIN_ENV";

/// The variables of the shell that was asked.
const OF_THE_SHELL: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_", SIGN];

/// The variables of a service manager for its own child.
const OF_THE_MANAGER: &[&str] = &[
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "MAINPID",
    "SYSTEMD_EXEC_PID",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
    "CLADA_SERVICE_LOG",
];

/// The beginnings of such variables.
const OF_THE_MANAGER_STARTS: &[&str] = &["LISTEN_", "XPC_"];

/// The variables of the session that clada runs in: where clada knows it, start-up files do not know better.
const OF_THE_SESSION: &[&str] = &[
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
];

/// The variables that a login sets before any start-up file.
const OF_A_LOGIN: &[&str] = &["HOME", "USER", "LOGNAME", "SHELL", "LANG"];

/// The PATH that a login sets.
const FIRST_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A whole environment.
pub type EnvVars = Vec<(OsString, OsString)>;

/// An environment for the user's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginEnv {
    vars: EnvVars,
}

/// The error of a login shell that told no environment: what was tried, and how each ended.
#[derive(Debug, thiserror::Error)]
#[error(
    "the login shell printed no environment ({tried}), so commands get clada's own: fix the shell's start-up files, or \
     start clada from a terminal"
)]
pub struct LoginEnvError {
    tried: String,
}

impl LoginEnv {
    /// Asks the user's login shell: `$SHELL`, else the one in the password file, else `/bin/sh`.
    ///
    /// It is asked as an interactive login shell, and if that gives nothing within `patience`, once more as a login shell
    /// that is not interactive, so this may take twice that. At the limit, and when this is dropped, the shell and all
    /// that it has started is ended. What start-up files have started in the background, as an `ssh-agent`, stays where
    /// the environment was told.
    ///
    /// Poll it on a thread that lives as long as the process: with that the shell ends.
    ///
    /// # Errors
    ///
    /// Where neither way gave an environment; then use [`LoginEnv::own`].
    pub async fn capture(patience: Duration) -> Result<Self, LoginEnvError> {
        let (mut vars, programs): (EnvVars, _) = (env::vars_os().collect(), Programs::of_process());
        let path = vars.iter_mut().find(|(name, _)| name == "PATH");
        path.into_iter()
            .for_each(|(_, path)| *path = programs.path());
        let mut told = ask(&shell(), vars, patience).await?;
        told.add_to_path(&programs.left_out());
        Ok(told)
    }

    /// Asks for the environment of a new login: nothing that only this process was given is in it.
    ///
    /// # Errors
    ///
    /// As [`LoginEnv::capture`].
    pub async fn of_new_login(patience: Duration) -> Result<Self, LoginEnvError> {
        let vars = env::vars_os().filter(|(name, _)| OF_A_LOGIN.iter().any(|of| name == of));
        let path = ("PATH".into(), FIRST_PATH.into());
        ask(&shell(), vars.chain([path]).collect(), patience).await
    }

    /// Returns the environment of this process, without what the service manager told it.
    pub fn own() -> Self {
        let vars = env::vars_os().filter(|(name, _)| !is_of_manager(name));
        Self {
            vars: vars.collect(),
        }
    }

    /// Puts folders in front of the PATH that start-up files were not to find programs in: commands may.
    fn add_to_path(&mut self, folders: &[PathBuf]) {
        let path = self.vars.iter_mut().find(|(name, _)| name == "PATH");
        let Some((_, path)) = path else { return };
        let there: Vec<PathBuf> = env::split_paths(path).collect();
        let missing = folders.iter().filter(|folder| !there.contains(folder));
        if let Ok(all) = env::join_paths(missing.chain(&there)) {
            *path = all;
        }
    }

    /// The variables, by name.
    pub fn vars(&self) -> &[(OsString, OsString)] {
        &self.vars
    }
}

/// Returns true if this process was started without the environment of a login: by systemd or launchd, and not from a terminal.
pub fn is_needed() -> bool {
    // A desktop is started by systemd too, and what it told that is inherited by all terminals.
    let is_terminal = std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal()
        || std::fs::File::open("/dev/tty").is_ok();
    !is_terminal && is_from_manager(&|name| env::var_os(name), &Parent::get())
}

/// The user's shell, if nobody else can put another program in its place.
fn shell() -> PathBuf {
    let of_user = [env::var_os("SHELL").map(PathBuf::from), passwd_shell()];
    let mut shells = of_user.into_iter().flatten();
    let shell = shells.find(|shell| shell.is_file() && programs::is_safe(shell));
    shell.unwrap_or_else(|| "/bin/sh".into())
}

/// The process that started this one.
#[derive(Debug, Default)]
struct Parent {
    is_first: bool,
    /// Nothing where the system does not say.
    name: String,
}

impl Parent {
    fn get() -> Self {
        let Some(parent) = getppid() else {
            return Self::default();
        };
        let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
        Self {
            is_first: parent == Pid::INIT,
            name: name.trim_end().to_owned(),
        }
    }
}

fn is_from_manager(var: &dyn Fn(&str) -> Option<OsString>, parent: &Parent) -> bool {
    // In a terminal of macOS it is 0.
    let xpc = var("XPC_SERVICE_NAME").is_some_and(|name| name != "0");
    var("INVOCATION_ID").is_some()
        || var("NOTIFY_SOCKET").is_some()
        || parent.name == "systemd"
        || (parent.is_first && xpc)
}

/// Asks a shell that is started in the environment `own`, in one way and then in another.
async fn ask(shell: &Path, own: EnvVars, patience: Duration) -> Result<LoginEnv, LoginEnvError> {
    let name = shell.file_name().unwrap_or(shell.as_os_str());
    // These take `-l` alone only; a dash before their name means the same.
    let is_csh = matches!(name.as_bytes(), b"csh" | b"tcsh");
    let ways: [&[&str]; 2] = if is_csh {
        [&["-i", "-c"], &["-c"]]
    } else {
        [&["-l", "-i", "-c"], &["-l", "-c"]]
    };
    let home = own.iter().find(|(name, _)| name == "HOME");
    let home = home
        .map(|(_, home)| Path::new(home))
        .filter(|home| home.is_dir());
    let mut tried = Vec::new();
    for way in ways {
        let mut command = Command::new(shell);
        if is_csh {
            let mut login = OsString::from("-");
            login.push(name);
            command.arg0(login);
        }
        command
            .args(way)
            // Where a login begins, and not in a project whose files have a say in some start-up files.
            .current_dir(home.unwrap_or(Path::new("/")))
            .env_clear()
            .envs(own.iter().map(|(name, value)| (name, value)));
        match told(command, patience).await {
            Ok(theirs) => {
                return Ok(LoginEnv {
                    vars: merged(theirs, &own),
                });
            }
            Err(cause) => tried.push(format!("`{} {}` {cause}", shell.display(), way.join(" "))),
        }
    }
    let tried = tried.join("; ");
    Err(LoginEnvError { tried })
}

/// Makes a shell print its environment; the error says how it ended.
async fn told(mut command: Command, patience: Duration) -> Result<EnvVars, NotTold> {
    let word = format!("clada{}", clock::word());
    let (begin, end) = (format!("{word}-begin"), format!("{word}-end"));
    // In words that all shells read alike. None of them is the shell's own, which may be an alias or a function.
    let text = format!("/usr/bin/env echo {begin}; /usr/bin/env -0; /usr/bin/env echo {end}");
    command
        .arg(text)
        .env(SIGN, &word)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if !command.as_std().get_envs().any(|(name, _)| name == "TERM") {
        // fish and many a start-up file complain without.
        command.env("TERM", "dumb");
    }
    in_own_session(&mut command);

    let deadline = Instant::now() + patience;
    let mut child = command.spawn().map_err(NotTold::NotStarted)?;
    let stdout = child.stdout.take();
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    // Declared after `child`, so dropped before it, while nobody has reaped the shell and its number is still its own.
    let mut tree = LoginShell {
        shell: id.expect("a child that has not been waited for has a number"),
        sign: format!("{SIGN}={word}"),
        is_kept: false,
    };
    let found = match timeout_at(deadline, between(stdout, &begin, &end)).await {
        Ok(Some(bytes)) => records(&bytes),
        Ok(None) => return Err(ended(&mut child, deadline, patience).await),
        Err(_) => return Err(NotTold::TooLong(patience)),
    };
    // It has nothing left to do but its farewell, which nobody needs.
    if timeout(FAREWELL, child.wait()).await.is_err() {
        let _ = kill_process_group(tree.shell, Signal::KILL);
    }
    tree.is_kept = true;
    Ok(found)
}

/// Says how a shell ended that has closed its output without telling anything.
async fn ended(child: &mut Child, deadline: Instant, patience: Duration) -> NotTold {
    match timeout_at(deadline, child.wait()).await {
        Ok(Ok(status)) => NotTold::Ended(status),
        Ok(Err(error)) => NotTold::NotWaitedFor(error),
        Err(_) => NotTold::TooLong(patience),
    }
}

/// The reason why a shell told no environment.
#[derive(Debug, thiserror::Error)]
enum NotTold {
    #[error("was not started: {0}")]
    NotStarted(std::io::Error),
    #[error("could not be waited for: {0}")]
    NotWaitedFor(std::io::Error),
    #[error("printed none within {} s", .0.as_secs_f64())]
    TooLong(Duration),
    #[error("{} before it printed one", end_of(.0))]
    Ended(ExitStatus),
}

fn end_of(status: &ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exited with code {code}"),
        None => "was killed by a signal".to_owned(),
    }
}

/// Reads what a process writes between two lines. `None` where the output ends, or becomes too much, before that has come.
async fn between(stdout: Option<ChildStdout>, begin: &str, end: &str) -> Option<Vec<u8>> {
    let (begin, end) = (format!("{begin}\n"), format!("\0{end}"));
    let mut stdout = stdout?;
    let mut bytes = Vec::new();
    let mut from = 0;
    while bytes.len() < MOST {
        bytes.reserve(64 * 1024);
        if stdout.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(at) = memchr::memmem::find(&bytes[from..], end.as_bytes()) {
            let told = &bytes[..from + at];
            let start = memchr::memmem::rfind(told, begin.as_bytes())? + begin.len();
            return Some(told[start..].to_vec());
        }
        from = bytes.len().saturating_sub(end.len());
    }
    None
}

/// Reads the variables from what `env -0` prints.
fn records(bytes: &[u8]) -> EnvVars {
    let variable = |record: &[u8]| {
        let at = memchr::memchr(b'=', record).filter(|at| *at > 0)?;
        let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((part(&record[..at]), part(&record[at + 1..])))
    };
    bytes
        .split(|byte| *byte == 0)
        .filter_map(variable)
        .collect()
}

/// The login shell's environment with what clada knows better.
fn merged(theirs: EnvVars, own: &EnvVars) -> EnvVars {
    let of_session = |name: &OsStr| OF_THE_SESSION.iter().any(|known| name == *known);
    let is_own = |name: &OsStr| own.iter().any(|(known, _)| known == name);
    let mut vars: EnvVars = theirs
        .into_iter()
        .filter(|(name, _)| {
            let is_shells = OF_THE_SHELL.iter().any(|known| name == known);
            let is_known_better = of_session(name) && is_own(name);
            !(is_shells || is_of_manager(name) || is_known_better)
        })
        .collect();
    vars.extend(own.iter().filter(|(name, _)| of_session(name)).cloned());
    vars.sort();
    vars
}

fn is_of_manager(name: &OsStr) -> bool {
    let starts = |start: &&str| name.as_bytes().starts_with(start.as_bytes());
    OF_THE_MANAGER.iter().any(|known| name == *known) || OF_THE_MANAGER_STARTS.iter().any(starts)
}

/// The shell that the password file, or what stands for it, names for this user.
#[expect(unsafe_code, reason = "nothing else asks directories of users as well")]
fn passwd_shell() -> Option<PathBuf> {
    let mut buffer = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: all zeros is a valid `passwd`, whose fields are numbers and pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are to values that outlive the call, and the length is that of the buffer.
    let error = unsafe {
        libc::getpwuid_r(
            getuid().as_raw(),
            &mut entry,
            buffer.as_mut_ptr(),
            buffer.len(),
            &mut found,
        )
    };
    if error != 0 || found.is_null() || entry.pw_shell.is_null() {
        return None;
    }
    // SAFETY: an entry was found, so this is a string in the buffer, which is still there.
    let shell = unsafe { std::ffi::CStr::from_ptr(entry.pw_shell) };
    Some(PathBuf::from(OsStr::from_bytes(shell.to_bytes())))
}

/// Makes the child the leader of its own session, without a terminal to ask on, and lets it die with clada.
#[expect(
    unsafe_code,
    reason = "pre_exec is the only way to act between fork and exec"
)]
fn in_own_session(command: &mut Command) {
    let prepare = || {
        setsid()?;
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(prepare) };
}

/// A shell and what its start-up files have started. It is ended when this is dropped, unless it is to be kept.
struct LoginShell {
    shell: Pid,
    /// In the environment of all of it.
    sign: String,
    is_kept: bool,
}

impl LoginShell {
    /// Finds the processes outside of the shell's process group, which job control and daemons leave. Only Linux tells.
    fn others(&self) -> Vec<Pid> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids =
            entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        pids.filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|variable| variable == self.sign.as_bytes())
        })
        .collect()
    }
}

impl Drop for LoginShell {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = kill_process_group(self.shell, Signal::KILL);
        // One that was looked at may have started another meanwhile; the bound is for one that always does.
        for _ in 0..16 {
            let others = self.others().into_iter();
            let killed = others.filter(|pid| kill_process(*pid, Signal::KILL).is_ok());
            if killed.count() == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
