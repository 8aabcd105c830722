//! The sentences about problems in a reply: place, cause and next step, for an LLM that must repair it in one go.

mod choice;

use super::edit::{Cause as EditCause, Doubt, EditError, Part};
use super::task::{Cause, Command, Lines, Problem};

pub use choice::{choice, choices, chosen, moved_choice};

/// How many errors of a block a sentence names.
const SAID: usize = 10;

/// A problem in one line, without its place.
pub fn problem(problem: &Problem, lines: &mut Lines<'_>) -> String {
    match &problem.cause {
        Cause::Unclosed { element: "tasks", .. } => {
            "`<tasks>` is not closed, so nothing in it was run: end it with `</tasks>` on a line of its own".to_owned()
        }
        Cause::Unclosed {
            element,
            cdata,
            swallowed,
        } => {
            let mut text = format!("`<{element}>` is not closed, so no task of this batch was run: ");
            if matches!(*element, "i" | "path" | "c") {
                text += &format!("write `</{element}>` before the next element");
            } else {
                let cdata = if *cdata { "`]]>` and " } else { "" };
                text += &format!(
                    "put {cdata}`</{element}>` at its end, alone on a line with nothing behind it"
                );
            }
            if !swallowed.is_empty() {
                let places: Vec<String> = swallowed.iter().map(|at| lines.of(*at).to_string()).collect();
                text += &format!("; it swallowed the `<tasks>` on line {}", places.join(", "));
            }
            text
        }
        Cause::TaskCutOff { tasks_end } => format!(
            "`<task>` is not closed before the `</tasks>` on line {}, so no task of this batch was run: write `</task>`",
            lines.of(*tasks_end)
        ),
        Cause::TaskInTask { open } => format!(
            "`<task>` inside the `<task>` of line {}, so no task of this batch was run: close that one with `</task>` \
             first; to quote CML, put it into a payload whose tags stand alone on their lines",
            lines.of(*open)
        ),
        Cause::BatchInBatch { next } => format!(
            "`<tasks>` is not closed before the next `<tasks>` on line {}, so nothing in it was run: end it with `</tasks>`",
            lines.of(*next)
        ),
        Cause::StrayClose { element } => format!(
            "`</{element}>` closes nothing, so no task of this batch was run: either its opening tag is damaged (it must \
             be on one line, with its quotes closed), or a payload holds a line that is its own closing tag and was cut \
             short there: put such a payload between `<![CDATA[` and `]]>`"
        ),
        Cause::TooManyUnknown => {
            "too many unknown elements that are never closed, so no task of this batch was run: only `<i>`, `<path>`, \
             `<c>`, `<x>`, `<search>`, `<search-head>`, `<search-tail>` and `<replace>` may stand in a task"
                .to_owned()
        }
        Cause::UnknownElement { name, nearest } => format!(
            "unknown element `<{name}>`: {}",
            match nearest {
                Some(nearest) => format!("did you mean `<{nearest}>`?"),
                None => "a task has `<i>`, `<path>`, `<c>`, `<x>`, `<search>`, `<search-head>`, `<search-tail>` and \
                         `<replace>` only"
                    .to_owned(),
            }
        ),
        Cause::Duplicate { element, first } => format!(
            "second `<{element}>` in one task (the first is on line {}): write one task for each",
            lines.of(*first)
        ),
        Cause::UnknownCommand { name, nearest } => format!(
            "unknown command `{}`: {}",
            short(name),
            match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("it is one of {}", names(Command::USUAL.iter().map(|command| command.name()))),
            }
        ),
        Cause::Missing { element: "c", .. } => {
            format!("`<c>` is missing: name the command, one of {}", names(Command::USUAL.iter().map(|command| command.name())))
        }
        Cause::Missing { element, command } => format!(
            "`<{element}>` is missing{}",
            command.map(|command| format!(": {}", needs(command))).unwrap_or_default()
        ),
        Cause::Empty { element } => format!("`<{element}>` is empty: fill it in, or leave the task out"),
        Cause::MixedEdit => "`<search>` together with `<search-head>` or `<search-tail>`: use a task for each".to_owned(),
        Cause::UnevenPairs { searches, replaces } => format!(
            "{searches} `<search>` and {replaces} `<replace>`: every `<search>` needs one `<replace>`, an empty one to \
             remove the text"
        ),
        Cause::BadAttribute { element, name, value, expected } => {
            format!("`{name}=\"{}\"` on `<{element}>`: the value must be {expected}", short(value))
        }
        Cause::MissingOption { name, form } => {
            format!("`{name}=\"…\"` on `<c>` is missing: write {form}")
        }
        Cause::Block(errors) => {
            let mut said: Vec<&str> = errors.iter().take(SAID).map(|error| error.message.as_str()).collect();
            said.dedup();
            let more = if errors.len() > SAID { "; …" } else { "" };
            said.join("; ") + more
        }
        Cause::Said(said) => said.clone(),
        Cause::NotEnded { dialect, end } => format!(
            "this was read as {}, and is not ended, so nothing in it was done: end it with `{end}` on a line of its own",
            dialect.title()
        ),
        Cause::ModeIgnored { mode } => {
            format!("the file's mode {} is not set: use an exec task with `chmod`", short(mode))
        }
        Cause::UnreadableAttributes { element, text } => format!(
            "the attributes `{}` of `<{element}>` cannot be read: write each once, as name=\"value\"",
            short(text)
        ),
        Cause::HoldsTaskEnd { element } => format!(
            "`<{element}>` holds a `</task>` that began outside it: if a `</{element}>` was forgotten, the tasks behind it \
             were taken for its content"
        ),
        Cause::UnknownAttribute { element, name } => format!("attribute `{}` of `<{element}>` is ignored", short(name)),
        Cause::Unused { element, command } => format!("`<{element}>` is not used by {}", command.name()),
        Cause::LooksEscaped { element } => format!(
            "`<{element}>` looks escaped (`&lt;`): it was taken as it stands; payloads are raw, write `<`, `>` and `&` \
             as they are"
        ),
        Cause::EscapedBatch => {
            "the tags arrived as `&lt;tasks&gt;`, damaged in copying, and nothing was run: put the whole `<tasks>` \
             element into a Markdown fence of six back-ticks and copy it with the fence's copy button"
                .to_owned()
        }
        Cause::LooseTags {
            element,
            closing,
            count,
        } => format!(
            "`<{}{element}>` stands outside any `<task>`{}: was a `<task>` or `<tasks>` tag lost in copying, or does text follow one on its line?",
            if *closing { "/" } else { "" },
            if *count > 1 { format!(" ({count} such tags)") } else { String::new() }
        ),
        Cause::OffNeverEnds { word, hidden } => {
            let word = if word.is_empty() { String::new() } else { format!(" {word}") };
            format!(
                "`<!-- clada:off{word} -->` is never ended by `<!-- clada:on{word} -->` and hides the `<tasks>` on line {}",
                lines.of(*hidden)
            )
        }
    }
}

/// What a command needs.
fn needs(command: Command) -> &'static str {
    match command {
        Command::Edit => {
            "edit needs `<path>`, `<search>` and `<replace>`, or `<search-head>`, `<search-tail>` and `<replace>`"
        }
        Command::Overwrite => "overwrite needs `<path>` and `<x>` with the whole content",
        Command::Append => {
            "append needs `<path>` and `<x>` with what is to stand at the end of the file"
        }
        Command::ReplaceAll => "replace-all needs `<path>`, `<search>` and `<replace>`",
        Command::ReplaceLines => {
            "replace-lines needs `<path>`, `<c lines=\"12-40\">replace-lines</c>` and `<x>` with what comes in their place"
        }
        Command::Move => "move needs `<path>` and `<x>` with the destination",
        Command::Delete => "delete needs `<path>`",
        Command::MakeFolder => "mkdir needs `<path>`",
        Command::RemoveFolder => "rmdir needs `<path>`",
        Command::Read => "read needs `<path>`, one for each file",
        Command::Grep => "grep needs `<x>` with a regular expression",
        Command::Glob => "glob needs `<x>` with a pattern, such as `src/**/*.rs`",
        Command::Exec => "exec needs `<x>` with the script",
        Command::ContextAdd => "context-add needs `<path>`, one for each file",
        Command::ContextRemove => "context-remove needs `<path>`, one for each file",
        Command::List
        | Command::ContextList
        | Command::ContextPrune
        | Command::ContextClear
        | Command::Undo
        | Command::Squash
        | Command::StepBack
        | Command::StepForward => "it needs nothing",
    }
}

/// Why an edit failed whose text is in an earlier state of the file; `until` says which commit took it away. `pairs` is
/// how many the task has.
pub fn stale_edit(error: &EditError, pairs: usize, until: &str) -> String {
    let what = part(error, pairs);
    format!(
        "{what} not found: it was there until {until}. The file has changed since: edit what is there now"
    )
}

/// What was looked for.
fn part(error: &EditError, pairs: usize) -> String {
    let what = match error.part {
        Part::Search => "search text",
        Part::Head => "search-head",
        Part::Tail => "search-tail",
        Part::Hunk => "hunk",
    };
    if pairs > 1 {
        format!("{what} {} of {pairs}", error.pair)
    } else {
        what.to_owned()
    }
}

/// Why an edit failed, in one line. `pairs` is how many the task has.
pub fn edit_error(error: &EditError, pairs: usize) -> String {
    let what = part(error, pairs);
    let after_head = if error.part == Part::Tail {
        " after the head"
    } else {
        ""
    };
    let undone = match error.part {
        _ if pairs == 1 => "",
        Part::Hunk => "; no hunk of this file was applied",
        _ => "; no pair of this task was applied",
    };
    match &error.cause {
        EditCause::Blank => {
            format!("{what} is blank: give it text that is in the file exactly once")
        }
        EditCause::NotFound {
            applied_at: Some(line),
            ..
        } => {
            format!(
                "{what} not found{after_head}, but the replacement is already there (line {line}): perhaps it was applied before; then leave this task out{undone}"
            )
        }
        EditCause::NotFound { not_utf8, .. } => format!(
            "{what} not found{after_head}: {} must match the file exactly, character by character{}{undone}",
            if error.part == Part::Hunk {
                "its context and removed lines"
            } else {
                "it"
            },
            if *not_utf8 {
                " (the file is not UTF-8, so differences in white space were not tried)"
            } else {
                ""
            }
        ),
        EditCause::Ambiguous { lines, .. } => format!(
            "{what} found {}: include more of the text around it so that it matches once{undone}",
            times(lines, after_head)
        ),
        EditCause::Unclear { line, at, doubt } => {
            let why = match doubt {
                Doubt::Indentation => "how deep it is indented cannot be told".to_owned(),
                Doubt::Moved => "it is indented as the file is, and the search text is not".to_owned(),
                Doubt::WhiteSpace => {
                    "its white space differs from both the search text and the file".to_owned()
                }
                Doubt::Character(c) => {
                    format!("`{c}` stands for two different characters of the file there")
                }
                Doubt::HalfDamaged => {
                    "the search text was damaged in copying as a whole, the replacement only in part"
                        .to_owned()
                }
            };
            format!(
                "{what} found at line {at}, but not exactly, and line {line} of the replacement cannot be carried over: \
                 {why}; copy the lines to replace from the file as they are{undone}"
            )
        }
        EditCause::NothingChanges { at } => format!(
            "{what} found at line {at}, and the file would stay as it is: it holds what the replacement says, but for \
             white space or typography; to change those, copy the search text from the file as it is{undone}"
        ),
        EditCause::LeftOut { line } => format!(
            "line {line} of <replace> stands for text that is left out: write that text, or edit with search-head and \
             search-tail; `elision=\"text\"` on `<replace>` says that the line is meant{undone}"
        ),
        EditCause::ElisionsDiffer => format!(
            "{what} and its replacement do not leave out the same text: write the same `...` lines in both, in the same \
             order{undone}"
        ),
        EditCause::NoContext => format!(
            "{what} has no line that could be looked for: give it lines of the file above and below as context{undone}"
        ),
        EditCause::NoAnchor { text } => format!(
            "{what} is to be below `{}`, and no line behind the hunk before it has that: copy a line of the file behind \
             `@@`{undone}",
            short(text)
        ),
        EditCause::ManyAnchors { text, lines } => format!(
            "{what} is to be below `{}`, which was found {}: name a line that is there once{undone}",
            short(text),
            times(lines, "")
        ),
        EditCause::NotAtEnd { line } => format!(
            "{what} is to be at the end of the file, but is at line {line}: leave that out, or give the last lines{undone}"
        ),
        EditCause::OutOfOrder { line } => format!(
            "{what} not found behind the hunk before it, but above (line {line}): put the hunks in the order of the \
             file{undone}"
        ),
    }
}

/// How often something was found, and where.
fn times(lines: &[usize], where_at: &str) -> String {
    let shown: Vec<String> = lines.iter().take(10).map(ToString::to_string).collect();
    let (least, more) = match lines.len() > shown.len() {
        true => ("at least ", ", …"),
        false => ("", ""),
    };
    let (count, shown) = (lines.len(), shown.join(", "));
    format!("{least}{count} times{where_at} (lines {shown}{more})")
}

/// So many tasks.
pub fn tasks(count: usize) -> String {
    match count {
        1 => "1 task".to_owned(),
        count => format!("{count} tasks"),
    }
}

fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Somebody's text inside a sentence: the start of its first line.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 60 {
        line.to_owned()
    } else {
        line.chars().take(60).chain(['…']).collect()
    }
}
