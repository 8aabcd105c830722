//! The log of what clada does and why, on stderr: whether it is on, its format, and its level. It has the contents of replies
//! at level `trace` only, and never results, which go to the notes file.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::fs::fstat;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use crate::settings::{Format, LogSettings, by_name};

/// The variable with the level: `debug`, or levels of parts of clada as in `warn,clada::listener=debug`.
const LEVEL: &str = "CLADA_LOG";
/// The variable with the format, which a flag overrides.
const FORMAT: &str = "CLADA_LOG_FORMAT";
/// The variable in which systemd gives the journal's stream: device and inode.
const JOURNAL: &str = "JOURNAL_STREAM";

/// The reason why levels are not taken.
#[derive(Debug, thiserror::Error)]
enum WrongLevels {
    #[error("there is no level \"{0}\"")]
    NoLevel(String),
    #[error("{0}")]
    NoFilter(#[from] ParseError),
}

/// Starts the log as the flag and the environment say, or the settings. Returns a warning for values that do not exist.
///
/// Without a level, a terminal gets no log, as it shows what happens anyway; the journal, JSON and a service get level `info`.
/// Text goes to `stderr`.
pub fn start<W: io::Write + 'static>(
    flag: Option<Format>,
    settings: Option<LogSettings>,
    is_service: bool,
    stderr: fn() -> W,
) -> Option<String> {
    let settings = settings.unwrap_or_default();
    let said = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let form = said(FORMAT);
    let known = form.as_deref().map(by_name);
    let format = flag.or(known.flatten()).unwrap_or(settings.format);
    let journal = to_journal();
    let usual = match settings.level.name() {
        Some(level) => level,
        None if is_service || journal || format == Format::Json => "info",
        None => "off",
    };
    let level = said(LEVEL);
    let asked = level.as_deref().map(filter_of);
    let wrong = match (known, &asked) {
        (Some(None), _) if flag.is_none() => Some(format!(
            "{FORMAT} is \"{}\": set it to text or json",
            form.unwrap_or_default()
        )),
        (_, Some(Err(error))) => Some(format!(
            "{LEVEL} is \"{}\" ({error}): set it to error, warn, info, debug or trace",
            level.unwrap_or_default()
        )),
        _ => None,
    };
    let filter = asked.and_then(Result::ok);
    let filter = filter.unwrap_or_else(|| EnvFilter::new(usual));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Where stderr no longer exists, as after its terminal was closed, an error message about it would panic.
        .log_internal_errors(false)
        .with_writer(stderr);
    match format {
        // Its escapes are those of JSON.
        Format::Json => log
            .with_writer(std::io::stderr)
            .json()
            .flatten_event(true)
            .init(),
        _ if journal => log.event_format(JournalFormat).init(),
        _ => log.init(),
    }
    wrong
}

/// Reads levels. A filter takes any word for a part of the program; only parts of clada are meant without a level.
fn filter_of(text: &str) -> Result<EnvFilter, WrongLevels> {
    let is_known = |word: &&str| {
        word.contains(['=', '['])
            || word.starts_with("clada")
            || LevelFilter::from_str(word).is_ok()
    };
    let mut words = text.split(',').map(str::trim);
    match words.find(|word| !is_known(word)) {
        Some(word) => Err(WrongLevels::NoLevel(word.to_owned())),
        None => Ok(EnvFilter::try_new(text)?),
    }
}

/// Formats one of clada's own lines for stderr; for the journal with the priority in front.
pub fn line(level: Level, text: &str) -> String {
    if to_journal() {
        format!("<{}>{text}\n", priority(level))
    } else {
        format!("{text}\n")
    }
}

/// Returns whether stderr leads to systemd's journal. A program started from a service has the variable too, but may have
/// another stderr.
fn to_journal() -> bool {
    let same = || {
        let said = std::env::var(JOURNAL).ok()?;
        let stderr = fstat(std::io::stderr()).ok()?;
        Some(said == format!("{}:{}", stderr.st_dev, stderr.st_ino))
    };
    same().unwrap_or(false)
}

/// Lines for the journal: without the time, which it adds, and with the priority in front.
struct JournalFormat;

impl<S, N> FormatEvent<S, N> for JournalFormat
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = format!("{}: ", event.metadata().target());
        let scope = context.event_scope().into_iter();
        for span in scope.flat_map(|scope| scope.from_root()) {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                text += &format!("{fields} ");
            }
        }
        context.format_fields(Writer::new(&mut text), event)?;
        let priority = priority(*event.metadata().level());
        // The journal takes each line as a message.
        text.lines()
            .try_for_each(|line| writeln!(to, "<{priority}>{line}"))
    }
}

/// As in syslog.
fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}
