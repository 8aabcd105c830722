//! The settings of a listener: its watching, its reports and its memory. Values only.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::{bytes, written};
use crate::text::{duration, size};

/// The watching of the notes, and the name of the output file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchSettings {
    #[serde(deserialize_with = "quiet")]
    pub debounce: Duration,
    pub poll: Every,
    #[serde(deserialize_with = "bare")]
    pub output_file: String,
}

/// The time between two looks; `None` for never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Every(pub Option<Duration>);

impl Every {
    /// Its form, for messages.
    pub const FORM: &str = "`off`, or a time such as `1s`";

    /// Reads `off` or a time.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "off" => Some(Self(None)),
            time => duration::parse(time).map(|time| Self(Some(time))),
        }
    }
}

impl<'de> Deserialize<'de> for Every {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        written(from, Self::parse, Self::FORM)
    }
}

/// The use of the clipboard: results are copied to it, and replies may be taken from it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClipboardSettings {
    pub enabled: bool,
    pub watch: bool,
    pub changes: bool,
    /// The size of the whole text at most, in bytes.
    #[serde(deserialize_with = "packet")]
    pub limit: usize,
}

/// The desktop notifications about batches that ended.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifySettings {
    pub enabled: bool,
}

/// The memory of batches that are no longer in any notes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerSettings {
    pub days: u32,
    /// In bytes.
    #[serde(deserialize_with = "bytes")]
    pub size: u64,
}

/// The log of clada's own work.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogSettings {
    pub level: LogLevel,
    pub format: Format,
}

/// The level of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// As much as fits where it goes to.
    #[default]
    Auto,
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    /// Its name, as it is written in the settings; `None` for what depends on where it goes to.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Off => Some("off"),
            Self::Error => Some("error"),
            Self::Warn => Some("warn"),
            Self::Info => Some("info"),
            Self::Debug => Some("debug"),
            Self::Trace => Some("trace"),
        }
    }
}

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    #[default]
    Text,
    Json,
}

/// Returns true if a name has no folder, so that it names a file beside another.
pub fn is_bare(name: &str) -> bool {
    let path = Path::new(name);
    path.file_name() == Some(path.as_os_str()) && !name.contains('\0')
}

fn quiet<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let range = Duration::from_millis(10)..=Duration::from_secs(60);
    let parse = |text: &str| duration::parse(text).filter(|time| range.contains(time));
    written(from, parse, "a time from `10ms` to `60s`")
}

fn packet<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    // With less there is no room for results; X11 gives its readers no more than 16 MiB at once.
    let range = 1000..=8_000_000;
    let parse = |text: &str| {
        let bytes = usize::try_from(size::parse(text)?).ok()?;
        Some(bytes).filter(|bytes| range.contains(bytes))
    };
    written(from, parse, "a size from `1 KB` to `8 MB`, such as `60 KB`")
}

fn bare<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let parse = |name: &str| is_bare(name).then(|| name.to_owned());
    written(
        from,
        parse,
        "a file name without a folder, such as `results.txt`",
    )
}
