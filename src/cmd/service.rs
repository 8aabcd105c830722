//! `clada service`: makes the user's service manager keep `clada daemon` running, and shows its state.

use std::fs::Metadata;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli;
use crate::cli::terminal;
use crate::cmd;
use crate::error::Error;
use crate::listener::rules;
use crate::settings::places::Folders;
use crate::start;
use crate::world::login_env::LoginEnv;
use crate::world::programs;
use crate::world::service::{Order, Runs, Service, ServiceError, ServiceState};

/// The time in which the login shell must print its environment.
const PATIENCE: Duration = Duration::from_secs(10);

/// The variables that determine where clada's own files are: the service uses the same files as this process.
const OF_PLACES: &[&str] = &["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];

/// Carries out an order to the service. `status` fails if the service does not run.
///
/// # Errors
/// Where the service manager cannot be reached or refuses, and where a command that clada runs calls this.
pub fn main(what: &cli::ServiceVerb) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    rules::avoid_known(&folders);
    let service = of_user(&folders);
    let runtime = start::runtime()?;
    match what {
        cli::ServiceVerb::Status => return tell(&runtime.block_on(service.state())?),
        cli::ServiceVerb::Logs { follow, number } => return logs(&service, *number, *follow),
        _ => cmd::for_the_user("service")?,
    }
    let order = |order| runtime.block_on(service.order(order));
    match what {
        cli::ServiceVerb::Install => {
            // Without a service manager, no file is written.
            runtime.block_on(service.state())?;
            let env = runtime.block_on(environment());
            service.write(&program()?, &env)?;
            order(Order::Install)?;
            installed(&service)?;
        }
        cli::ServiceVerb::Uninstall => uninstall(&service, order)?,
        cli::ServiceVerb::Start => order(Order::Start)?,
        cli::ServiceVerb::Stop => order(Order::Stop)?,
        _ => order(Order::Restart)?,
    }
    match what {
        cli::ServiceVerb::Start | cli::ServiceVerb::Restart => {
            tell(&runtime.block_on(service.state())?)
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Installs and starts the service where it does not run, or would not start at the next login. A file from a package does
/// neither.
///
/// # Errors
/// Where the service manager does not answer, or the service cannot be installed.
pub(super) fn ensure(folders: &Folders) -> Result<(), Error> {
    rules::avoid_known(folders);
    let state = start::runtime()?.block_on(of_user(folders).state())?;
    if state.is_up() && state.at_login != Some(false) {
        Ok(())
    } else {
        main(&cli::ServiceVerb::Install).map(drop)
    }
}

pub(super) fn of_user(folders: &Folders) -> Service {
    Service::of_user(&folders.services, &folders.home, folders.runtime.clone())
}

fn installed(service: &Service) -> io::Result<()> {
    let file = service.file();
    let mut out = terminal::stdout();
    writeln!(
        out,
        "clada now runs in the background, and starts at each login"
    )?;
    writeln!(out, "service file: {}", file.display())?;
    if cfg!(target_os = "linux") {
        writeln!(
            out,
            "it stops when you log out everywhere; to keep it running, from the start of the machine on, run `loginctl enable-linger`"
        )?;
    }
    Ok(())
}

/// Removes the service. Its files are removed even if the manager cannot be reached, as they would start it again.
fn uninstall(
    service: &Service,
    order: impl Fn(Order) -> Result<(), ServiceError>,
) -> Result<(), Error> {
    let removed = order(Order::Remove);
    let found = service.erase()?;
    match removed {
        Ok(()) => order(Order::Forget)?,
        Err(ServiceError::NotInstalled) if found => {}
        Err(error) => return Err(error.into()),
    }
    let said = "removed the service; your settings, notes files and log stay";
    Ok(writeln!(terminal::stdout(), "{said}")?)
}

fn tell(state: &ServiceState) -> Result<ExitCode, Error> {
    let mut out = terminal::stdout();
    if !state.is_installed {
        let next = "install it with `clada service install`";
        writeln!(out, "not installed: {next}")?;
        return Ok(ExitCode::FAILURE);
    }
    let runs = match &state.runs {
        Runs::Yes => "running",
        Runs::Starts => "starting",
        Runs::Reloads => "reloading the settings",
        Runs::Ends => "stopping",
        Runs::No => "stopped: start it with `clada service start`",
        Runs::Failed(why) => {
            let next = "read `clada service logs`, then try `clada service start`";
            &format!("failed ({why}): {next}")
        }
    };
    let pid = state.pid.map(|pid| format!(" (process {pid})"));
    write!(out, "{runs}{}", pid.unwrap_or_default())?;
    for (before, said) in [(" since ", &state.since), (": ", &state.said)] {
        if !said.is_empty() && state.pid.is_some() {
            write!(out, "{before}{said}")?;
        }
    }
    writeln!(out)?;
    match state.at_login {
        Some(true) => writeln!(out, "starts at each login")?,
        Some(false) => writeln!(out, "does not start at login: run `clada service install`")?,
        None => {}
    }
    if state.restarts > 0 {
        let times = match state.restarts {
            1 => "once".to_owned(),
            many => format!("{many} times"),
        };
        writeln!(
            out,
            "restarted {times} after a failure: read `clada service logs`"
        )?;
    }
    if state.pid.is_some_and(is_another_program) {
        writeln!(
            out,
            "it runs another program than this one, perhaps from before an upgrade: run `clada service restart`, or \
             `clada service install` to use this one"
        )?;
    }
    Ok(ExitCode::from(u8::from(!state.is_up())))
}

fn logs(service: &Service, lines: usize, follow: bool) -> Result<ExitCode, Error> {
    let mut command = service.logs(lines, follow).map_err(io::Error::other)?;
    let status = command.status().map_err(|error| {
        let name = command.get_program().to_string_lossy();
        io::Error::other(format!("cannot show the log with `{name}`: {error}"))
    })?;
    Ok(ExitCode::from(u8::from(!status.success())))
}

/// Returns the environment of the service, so that it finds programs even if the login shell does not answer later.
async fn environment() -> Vec<(&'static str, String)> {
    let own = |name: &str| std::env::var(name).ok();
    let login = LoginEnv::of_new_login(PATIENCE).await.ok();
    let of_login = login.as_ref().and_then(|env| {
        let mut vars = env.vars().iter();
        let (_, path) = vars.find(|(name, _)| name == "PATH")?;
        path.to_str().map(str::to_owned)
    });
    let places = OF_PLACES.iter().map(|name| (*name, own(name)));
    let path = [("PATH", of_login.or_else(|| own("PATH")))];
    let vars = path.into_iter().chain(places);
    vars.filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// Returns the path of this program as it was called, or as a shell finds it, so that the service starts an upgrade too. The
/// system's own answer has all links followed, for example into a folder of this version.
pub(super) fn program() -> io::Result<PathBuf> {
    let exact = own_program()?;
    let called = std::env::args_os().next().map(PathBuf::from);
    let called = called.filter(|path| path.components().nth(1).is_some());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("clada"));
    let mut known = called.into_iter().chain(found);
    let is_same = |path: &PathBuf| path.canonicalize().is_ok_and(|path| path == exact);
    // A command could point an unsafe link to another program before the next login.
    let same = known.find(|path| {
        is_same(path) && std::path::absolute(path).is_ok_and(|path| programs::is_safe(&path))
    });
    std::path::absolute(same.unwrap_or(exact))
}

/// Returns the path of this program. Linux adds a word to it after the file was replaced.
fn own_program() -> io::Result<PathBuf> {
    let path = std::env::current_exe()?;
    let put = path
        .to_str()
        .and_then(|path| path.strip_suffix(" (deleted)"));
    Ok(match put {
        Some(put) if !path.exists() => PathBuf::from(put),
        _ => path,
    })
}

/// Returns whether a process runs another program file than this one; false where that is unknown.
fn is_another_program(pid: u32) -> bool {
    let file = |path: &Path| path.metadata().ok();
    let own = own_program().ok().and_then(|path| file(&path));
    let its = file(&PathBuf::from(format!("/proc/{pid}/exe")));
    let id = |meta: Metadata| (meta.dev(), meta.ino());
    own.zip(its).is_some_and(|(own, its)| id(own) != id(its))
}
