//! `clada pause` and `clada resume`: pause the watching of the clipboard, and end the pause.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::terminal;
use crate::clock;
use crate::cmd;
use crate::error::Error;
use crate::settings::Settings;
use crate::settings::places::Folders;
use crate::world::pause::Pause;

/// Said where the settings do not turn the watching on.
const OFF: &str = "the clipboard is watched only if you set `clipboard.watch = true` in your settings, or with `clada watch \
     --from-clipboard`";

/// The longest pause that ends by itself.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Pauses it for a time, or until the user ends the pause.
///
/// # Errors
/// Where the pause cannot be kept, or a task calls this.
pub fn main(time: Option<Duration>) -> Result<ExitCode, Error> {
    cmd::for_the_user("pause")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let now = clock::now_ms();
    let own = Pause::read(&folders.state, now)?;
    // A pause that clada made is not shortened by chance.
    let own = own.filter(|pause| pause.until_ms.is_none());
    let said = if let Some(why) = own.and_then(|pause| pause.why) {
        format!("already paused until you run `clada resume`: {why}")
    } else {
        let until_ms = time.filter(|time| *time <= LONGEST).map(|time| {
            let ms = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
            now.saturating_add(ms)
        });
        let pause = Pause {
            since_ms: now,
            until_ms,
            why: None,
        };
        pause.begin(&folders.state)?;
        match until_ms.map(|until| clock::when(until.div_euclid(1000))) {
            Some(until) => format!(
                "paused: clada takes no reply from the clipboard until {until}; `clada resume` ends the pause"
            ),
            None => "paused: clada takes no reply from the clipboard until you run `clada resume`"
                .to_owned(),
        }
    };
    tell(&said, &folders)
}

/// Ends the pause.
///
/// # Errors
/// Where that cannot be done, or a task calls this.
pub fn resume() -> Result<ExitCode, Error> {
    cmd::for_the_user("resume")?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let was = Pause::read(&folders.state, clock::now_ms())?;
    // Also the file of one that is over.
    Pause::end(&folders.state)?;
    let said = match was {
        Some(pause) => {
            let since = clock::when(pause.since_ms.div_euclid(1000));
            let why = pause.why.map(|why| format!(", because {why}"));
            let why = why.unwrap_or_default();
            format!("resumed: the watching of the clipboard was paused since {since}{why}")
        }
        None => "nothing was paused".to_owned(),
    };
    tell(&said, &folders)
}

/// Prints what was done, and how the watching is turned on where the settings do not.
fn tell(said: &str, folders: &Folders) -> Result<ExitCode, Error> {
    let mut out = terminal::stdout();
    writeln!(out, "{said}")?;
    if Settings::of_user(folders).is_ok_and(|settings| !settings.clipboard.watch) {
        writeln!(out, "{OFF}")?;
    }
    Ok(ExitCode::SUCCESS)
}
