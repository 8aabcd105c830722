//! The commands that replies may use at all. Knows the names that each has in any dialect.

use serde::Deserialize;

use crate::reply::action::{Action, Command};
use crate::reply::dialects::nesl::schemas::SCHEMAS;
use crate::text::mask::matches;
use crate::text::names::nearest_name;

/// A name, or several by `*` and `?`, as the settings have it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ActionPattern(String);

/// A name that no action has.
#[derive(Debug, thiserror::Error)]
#[error("unknown action `{name}`: did you mean `{nearest}`?")]
pub struct UnknownAction {
    name: String,
    nearest: &'static str,
}

impl TryFrom<String> for ActionPattern {
    type Error = UnknownAction;

    fn try_from(name: String) -> Result<Self, UnknownAction> {
        let mut commands = Command::all();
        let pattern = Self(name);
        if commands.any(|command| pattern.names(command)) {
            return Ok(pattern);
        }
        let Self(name) = pattern;
        let known = Command::all().flat_map(names);
        let nearest = nearest_name(&name, known).unwrap_or_default();
        Err(UnknownAction { name, nearest })
    }
}

impl ActionPattern {
    /// Returns true if a command has this name, in whichever dialect.
    fn names(&self, command: Command) -> bool {
        let text = self.0.replace('-', "_");
        names(command).any(|name| matches(&text, &name.replace('-', "_")))
    }
}

/// Lists the names of a command, those in SHAM and NESL too.
fn names(command: Command) -> impl Iterator<Item = &'static str> {
    let actions = SCHEMAS
        .iter()
        .filter(move |schema| schema.command == command);
    let of_blocks = actions.flat_map(|schema| schema.names);
    command.names().iter().chain(of_blocks).copied()
}

/// The rules for the commands that replies may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actions {
    /// The commands that may not be used, with the setting that says so.
    refused: Vec<(Command, String)>,
}

impl Actions {
    /// Returns the rules of these patterns.
    pub fn new(allow: &[ActionPattern], deny: &[ActionPattern]) -> Self {
        let refused = Command::all().filter_map(|command| {
            let why = match deny.iter().find(|pattern| pattern.names(command)) {
                Some(ActionPattern(text)) => format!("`{text}` in `actions.deny`"),
                None if allow.iter().any(|pattern| pattern.names(command)) => return None,
                None => "`actions.allow` does not name it".to_owned(),
            };
            Some((command, why))
        });
        Self {
            refused: refused.collect(),
        }
    }

    /// Returns the reason why an action may not be done, with the next step; `None` where it may.
    pub fn refuses(&self, action: &Action<'_>) -> Option<String> {
        // An edit may be a move too.
        let moves = matches!(action, Action::Edit { to: Some(_), .. }).then_some(Command::Move);
        let commands = std::iter::once(action.command()).chain(moves);
        let mut refused = commands
            .filter_map(|command| self.refused.iter().find(|(refused, _)| *refused == command));
        let (command, why) = refused.next()?;
        Some(format!(
            "`{}` is not allowed here ({why}): do it another way, or leave it to the user",
            command.name()
        ))
    }
}
