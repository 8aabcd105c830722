//! The results of an action in the words of SHAM and NESL, which are those of the original tools: errors, data and the line in
//! the results.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::reply::action::Action;
use crate::reply::dialects::nesl::schemas::{Schema, schema};
use crate::reply::dialects::nesl::values;
use crate::reply::task::Call;
use crate::report::fault::{Fault, Sought};
use crate::report::outcome::{Outcome, Status};
use crate::text::lines::LineError;

/// Puts the result of an action into the words of its block's dialect.
pub fn tell(call: &Call<'_>, action: &Action<'_>, outcome: &mut Outcome) {
    match outcome.status {
        Status::Done => {
            outcome.message.take_if(|_| !says_more(action));
            outcome.data = data(call, action, outcome.data.take());
        }
        Status::Failed if outcome.fault == Fault::Exit => {
            outcome.message = Some(last_words(outcome));
        }
        Status::Failed => fail(call, action, outcome),
        status => outcome.error = outcome.message.clone().filter(|_| !status.is_good()),
    }
}

/// True if the results have a message for an action that went well. The original tools have one only for commands.
fn says_more(action: &Action<'_>) -> bool {
    matches!(
        action,
        Action::Exec { .. }
            | Action::MakeFolder { .. }
            | Action::RemoveFolder { .. }
            | Action::Outline { .. }
            | Action::List { .. }
            | Action::Grep { .. }
            | Action::Glob { .. }
            | Action::Context(_)
            | Action::ForUser(_)
    )
}

/// True if the output of an action names its files, so that the title above it need not.
pub fn names_its_files(action: &str) -> bool {
    let name = schema(action).map(Schema::name);
    matches!(name, Some("file_read_numbered" | "files_read"))
}

/// Returns the data of an action that went well, with the paths that the reply gave.
fn data(call: &Call<'_>, action: &Action<'_>, known: Value) -> Value {
    let path = || call.text("path").unwrap_or_default();
    let mut data = match action {
        Action::Overwrite { .. } | Action::Append { .. } => {
            json!({ "path": path(), "bytesWritten": known["bytesWritten"] })
        }
        Action::Delete { .. } => json!({ "path": path() }),
        Action::Move { path, to, .. } => {
            let mut data = json!({ "old_path": path, "new_path": to });
            if known["overwrote"] == true {
                data["overwrote"] = true.into();
            }
            data
        }
        Action::Edit { .. } => json!({ "path": path(), "replacements": known["replacements"] }),
        Action::ReplaceAll { .. } if call.text("path").is_some() => {
            json!({ "path": path(), "replacements": known["replacements"] })
        }
        Action::ReplaceLines { .. } => {
            json!({ "path": path(), "lines_replaced": known["lines_replaced"] })
        }
        Action::Read { .. } => match call.text("paths") {
            None => json!({ "path": path(), "content": content(&known).first() }),
            Some(paths) => {
                let paths: Vec<&str> = values::lines(paths).collect();
                json!({ "paths": paths, "content": content(&known) })
            }
        },
        _ => {
            let mut known = known.clone();
            if let (Some(value), Some(path)) = (known.get_mut("path"), call.text("path")) {
                *value = path.into();
            }
            known
        }
    };
    if let (Some(diff), Value::Object(data)) = (known.get("diff"), &mut data) {
        data.insert("diff".to_owned(), diff.clone());
    }
    data
}

/// Returns the content that was read: of one file, or of each of several.
fn content(known: &Value) -> Vec<&Value> {
    match &known["content"] {
        Value::Array(all) => all.iter().collect(),
        Value::Null => Vec::new(),
        one => vec![one],
    }
}

/// Returns the last line of a failed command's errors, and what clada adds to that.
fn last_words(outcome: &Outcome) -> String {
    let said = outcome.said();
    let (ending, more) = said.split_once("; ").unwrap_or((said, ""));
    let stderr = outcome.data["stderr"].as_str().unwrap_or_default();
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let last = match last {
        Some(line) => line.to_owned(),
        None => match &outcome.data["exit_code"] {
            Value::Null => ending.to_owned(),
            code => format!("exit code {code}"),
        },
    };
    match more {
        "" => last,
        more => format!("{last}; {more}"),
    }
}

fn fail(call: &Call<'_>, action: &Action<'_>, outcome: &mut Outcome) {
    let fault = &outcome.fault;
    let (message, error) = match words(call, action, fault) {
        Some(said) => (summary(fault, &said), said),
        // The original tools have no words for it.
        None => {
            let message = outcome.message.take().unwrap_or_default();
            let error = format!("{}: {message}", call.name);
            (message, error)
        }
    };
    outcome.data = kept(call, action, &outcome.fault, outcome.data.take());
    (outcome.message, outcome.error) = (Some(message), Some(error));
}

/// Returns the data of an action that failed: the output of a command, and the lines that a file has.
fn kept(call: &Call<'_>, action: &Action<'_>, fault: &Fault, known: Value) -> Value {
    match (action, fault) {
        (Action::Exec { .. }, _) => known,
        (Action::Read { .. }, Fault::TooFewLines(_)) => data(call, action, known),
        _ => Value::Null,
    }
}

/// An error in short: without the action's name, and without what is quoted in it.
fn summary(fault: &Fault, error: &str) -> String {
    if error.contains(NO_ENTRY) {
        return "File not found".to_owned();
    }
    let system = system(fault).filter(|_| *fault != Fault::Missing);
    let error = system.as_deref().unwrap_or(error);
    let (_, text) = error.split_once(": ").unwrap_or(("", error));
    let text = text.split(['\'', '(']).next().unwrap_or_default();
    text.trim().to_owned()
}

const NO_ENTRY: &str = "no such file or directory";

/// Says why an action failed, in the original tools' words.
fn words(call: &Call<'_>, action: &Action<'_>, fault: &Fault) -> Option<String> {
    if let Some(error) = system(fault) {
        return Some(system_words(call, action, fault, error));
    }
    if let Action::Read { paths, .. } | Action::ReplaceAll { paths, .. } = action
        && paths.is_empty()
    {
        return Some(format!("{}: No paths provided", call.name));
    }
    let lines = call.text("lines").unwrap_or_default();
    let said = match fault {
        Fault::Empty(sought) => format!("{} cannot be empty", param(*sought)),
        Fault::NotFound(Sought::End) => {
            "old_text_end not found after old_text_beginning".to_owned()
        }
        Fault::NotFound(sought) => format!("{} not found in file", param(*sought)),
        Fault::Times(Sought::End, times) => format!(
            "old_text_end appears {times} times after old_text_beginning, must appear exactly once"
        ),
        Fault::Times(sought, times) => {
            format!(
                "{} appears {times} times, must appear exactly once",
                param(*sought)
            )
        }
        Fault::Count { wanted, found } => {
            format!("expected {wanted} occurrences but found {found}")
        }
        Fault::Lines(LineError::Invalid) => format!("Invalid line specification '{lines}'"),
        Fault::Lines(LineError::Reversed) => {
            format!("Invalid line range '{lines}' (start must be <= end)")
        }
        Fault::TooFewLines(count) => match action {
            Action::ReplaceLines { .. } => {
                format!("Line range {lines} is out of bounds (file has {count} lines)")
            }
            _ => format!("Requested lines {lines} but file only has {count} lines"),
        },
        Fault::Unread(files) => {
            let each = files.iter().map(|(path, fault)| match system(fault) {
                Some(error) => format!("\n  {path}: {error}, {} '{path}'", operation(action)),
                None => format!("\n  {path}: it cannot be shown"),
            });
            let each: String = each.collect();
            format!("Failed to read {} file(s):{each}", files.len())
        }
        Fault::TimedOut(limit) => {
            format!("Process timeout after {}s (TIMEOUT)", limit.as_secs_f64())
        }
        Fault::NoProgram(program) => format!("{program} not found in PATH (ENOENT)"),
        Fault::NoFolder => {
            let folder = call.text("cwd").unwrap_or_default();
            format!("Working directory does not exist '{folder}' (ENOENT)")
        }
        _ => return None,
    };
    Some(format!("{}: {said}", call.name))
}

/// Adds to an error of the system the operation and the paths.
fn system_words(
    call: &Call<'_>,
    action: &Action<'_>,
    fault: &Fault,
    error: Cow<'static, str>,
) -> String {
    let path = call.text("path").or(call.text("base_path"));
    match (action, fault) {
        (Action::Move { path, .. }, Fault::Missing) => {
            format!("{}: Source file not found '{path}' (ENOENT)", call.name)
        }
        (Action::Move { path, to, .. }, _) => format!("{error}, rename '{path}' -> '{to}'"),
        (_, Fault::System { .. }) => error.into_owned(),
        _ => {
            let path = path.unwrap_or_default();
            format!("{error}, {} '{path}'", operation(action))
        }
    }
}

/// An error of the system, as the originals' platform says it.
fn system(fault: &Fault) -> Option<Cow<'static, str>> {
    let said = match fault {
        Fault::Missing => "ENOENT: no such file or directory",
        Fault::Exists => "EEXIST: file already exists",
        Fault::IsFolder => "EISDIR: illegal operation on a directory",
        Fault::NotAFolder => "ENOTDIR: not a directory",
        Fault::NotEmpty => "ENOTEMPTY: directory not empty",
        Fault::Denied => "EACCES: permission denied",
        Fault::System { code, text } => return Some(format!("{code}: {text}").into()),
        _ => return None,
    };
    Some(said.into())
}

/// Returns the name that the platform gives to the operation in which an action fails.
fn operation(action: &Action<'_>) -> &'static str {
    match action {
        Action::Delete { .. } => "unlink",
        Action::MakeFolder { .. } => "mkdir",
        Action::RemoveFolder { .. } => "rmdir",
        Action::List { .. } => "scandir",
        _ => "open",
    }
}

fn param(sought: Sought) -> &'static str {
    match sought {
        Sought::Text => "old_text",
        Sought::Beginning => "old_text_beginning",
        Sought::End => "old_text_end",
    }
}
