//! The settings of what replies may ask for, and of the user's own commands around it. Values only.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::time;
use crate::policy::actions::ActionPattern;
use crate::policy::hook;
use crate::policy::paths::{Access, PathList, PathPattern};

/// The commands that replies may use.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActionSettings {
    pub allow: Vec<ActionPattern>,
    pub deny: Vec<ActionPattern>,
}

/// The paths that their tasks may read and change.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathSettings {
    pub allow: Vec<PathPattern>,
    pub deny: Vec<PathPattern>,
    pub read: PathLists,
    pub write: PathLists,
}

/// The rules for one kind of access.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathLists {
    pub allow: Vec<PathPattern>,
    pub deny: Vec<PathPattern>,
}

impl PathSettings {
    /// Its lists, with their names.
    pub fn lists(&self) -> [PathList<'_>; 6] {
        let list = |setting, of, allows, patterns| PathList {
            setting,
            of,
            allows,
            patterns,
        };
        let (read, write) = (Some(Access::Read), Some(Access::Write));
        [
            list("paths.allow", None, true, &self.allow),
            list("paths.deny", None, false, &self.deny),
            list("paths.read.allow", read, true, &self.read.allow),
            list("paths.read.deny", read, false, &self.read.deny),
            list("paths.write.allow", write, true, &self.write.allow),
            list("paths.write.deny", write, false, &self.write.deny),
        ]
    }
}

/// The user's own commands around each batch.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HookSettings {
    pub before: Vec<Hook>,
    pub after: Vec<Hook>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    #[serde(deserialize_with = "command")]
    pub run: String,
    #[serde(default)]
    pub continue_on_error: bool,
    #[serde(default = "hook_time", deserialize_with = "time")]
    pub timeout: Duration,
    /// The folder to run it in, from the root.
    #[serde(default)]
    pub cwd: Option<String>,
}

/// The error of a text that cannot be the name of a variable.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` cannot be a variable: use letters, digits and `_`, and begin with neither a digit nor `CLADA`"
)]
pub struct VarNameError(String);

/// The name of a variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct VarName(pub String);

impl TryFrom<String> for VarName {
    type Error = VarNameError;

    fn try_from(name: String) -> Result<Self, VarNameError> {
        if hook::is_name(&name) && !name.starts_with("CLADA") {
            return Ok(Self(name));
        }
        Err(VarNameError(name))
    }
}

fn hook_time() -> Duration {
    Duration::from_secs(60)
}

fn command<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.trim().is_empty() || text.contains('\0') {
        return Err(serde::de::Error::custom(
            "`run` must be a command, such as `make format`",
        ));
    }
    Ok(text)
}
