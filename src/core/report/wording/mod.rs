//! The sentences about problems in a reply: cause and next step, for an LLM that must repair it in one go. It never saw
//! the notes, so they name no line of these.

mod choice;
mod structure;

use super::clip;
use super::repair::{EditMiss, LineNames, MissReason, SearchedPart};
use crate::edit::habit::Habit;
use crate::edit::{Adapted, Doubt, EditCause, EditError, EditPart, Indented, Tier};
use crate::reply::task::{Cause, Command, Problem};

pub use choice::{choice, choices, chosen, moved_choice};

/// The most errors of a block that a sentence names.
const SAID: usize = 10;
/// The most places of a text whose definitions a sentence names.
const NAMED: usize = 5;
/// The most failed pairs of an edit that a sentence names.
const MISSES: usize = 4;

/// A problem in one line, without its place.
pub fn problem(problem: &Problem) -> String {
    match &problem.cause {
        Cause::Unclosed { .. }
        | Cause::CutOff { .. }
        | Cause::TaskCutOff { .. }
        | Cause::TaskInTask { .. }
        | Cause::BatchInBatch { .. }
        | Cause::StrayClose { .. }
        | Cause::TooManyUnknown { .. } => structure::problem(&problem.cause),
        Cause::UnknownElement { name, nearest } => format!(
            "unknown element `<{name}>`: {}",
            match nearest {
                Some(nearest) => format!("did you mean `<{nearest}>`?"),
                None => "a task may only have `<i>`, `<path>`, `<c>`, `<x>`, `<search>`, `<search-head>`, \
                         `<search-tail>` and `<replace>`"
                    .to_owned(),
            }
        ),
        Cause::Duplicate { element } => {
            format!("second `<{element}>` in one task: write one task for each")
        }
        Cause::UnknownCommand { name, nearest } => format!(
            "unknown command `{}`: {}",
            short(name),
            match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("it is one of {}", names(Command::usual().map(|command| command.name()))),
            }
        ),
        Cause::Missing { element: "c", command: Some(command) } => {
            format!("`<c>` is missing: write `<c>{}</c>`", command.name())
        }
        Cause::Missing { element: "c", command: None } => {
            format!("`<c>` is missing: name the command, one of {}", names(Command::usual().map(|command| command.name())))
        }
        Cause::Missing { element, command } => format!(
            "`<{element}>` is missing{}",
            command.map(|command| format!(": {}", needs(command))).unwrap_or_default()
        ),
        Cause::Several(problems) => several(problems),
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
            "this was read as {} but has no end, so nothing in it was done: end it with `{end}` on a line of its own",
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
            "`<{element}>` holds a `</task>` whose `<task>` is outside it: if a `</{element}>` is missing, add it, \
             since the tasks after it became its content"
        ),
        Cause::UnknownAttribute { element, name } => format!("attribute `{}` of `<{element}>` is ignored", short(name)),
        Cause::Unused { element, command } => format!("`<{element}>` is not used by {}", command.name()),
        Cause::LooksEscaped { element } => format!(
            "`<{element}>` looks escaped (`&lt;`): payloads are raw, so write `<`, `>` and `&` as they are"
        ),
        Cause::EscapedBatch => {
            "the tags arrived as `&lt;tasks&gt;`, damaged in copying, so nothing was run: put `<tasks>` into a \
             Markdown fence of six back-ticks and use the fence's copy button"
                .to_owned()
        }
        Cause::LooseTags {
            element,
            closing,
            count,
        } => format!(
            "`<{}{element}>` is outside any `<task>`{}: check whether a `<task>` or `<tasks>` tag was lost in \
            copying, or has text after it on its line",
            if *closing { "/" } else { "" },
            if *count > 1 { format!(" ({count} such tags)") } else { String::new() }
        ),
        Cause::OffNeverEnds { word } => {
            let word = if word.is_empty() { String::new() } else { format!(" {word}") };
            format!(
                "`<!-- clada:off{word} -->` has no `<!-- clada:on{word} -->`, so everything after it is ignored: add \
                that line"
            )
        }
    }
}

/// Says everything that is wrong with a task.
fn several(problems: &[Problem]) -> String {
    let missing = |problem: &Problem| match &problem.cause {
        Cause::Missing {
            element,
            command: Some(command),
        } if *element != "c" => Some((*element, *command)),
        _ => None,
    };
    let mut all: Vec<(&str, Command)> = problems.iter().filter_map(missing).collect();
    all.sort_by_key(|(element, _)| *element != "path");
    let mut said: Vec<String> = Vec::new();
    for each in problems {
        let text = match missing(each) {
            Some((_, command)) if all.len() > 1 => {
                let elements = all.iter().map(|(element, _)| format!("`<{element}>`"));
                let elements: Vec<String> = elements.collect();
                format!("{} are missing: {}", elements.join(" and "), needs(command))
            }
            _ => problem(each),
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.join("; ")
}

/// Says what a command needs.
fn needs(command: Command) -> &'static str {
    match command {
        Command::Edit => {
            "edit needs `<path>`, `<search>` and `<replace>`, or `<search-head>`, `<search-tail>` and `<replace>`"
        }
        Command::Overwrite => "overwrite needs `<path>` and `<x>` with the whole content",
        Command::Append => {
            "append needs `<path>` and `<x>` with the text to add at the end of the file"
        }
        Command::ReplaceAll => "replace-all needs `<path>`, `<search>` and `<replace>`",
        Command::ReplaceLines => {
            "replace-lines needs `<path>`, `<c lines=\"12-40\">replace-lines</c>` and `<x>` with the new lines"
        }
        Command::Move => "move needs `<path>` and `<x>` with the destination",
        Command::Delete => "delete needs `<path>`",
        Command::MakeFolder => "mkdir needs `<path>`",
        Command::RemoveFolder => "rmdir needs `<path>`",
        Command::Read => "read needs `<path>`, one for each file",
        Command::Outline => "outline needs `<path>`, one for each file or folder",
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

/// Names the text that was looked for.
pub fn part(error: &EditError, pairs: usize) -> String {
    let what = part_name(error.part);
    if pairs > 1 {
        format!("{what} {} of {pairs}", error.pair)
    } else {
        what.to_owned()
    }
}

/// Says why a line of a replacement cannot be written.
fn unclear(doubt: Doubt) -> String {
    match doubt {
        Doubt::Indentation => "its indentation is unclear".to_owned(),
        Doubt::Moved => {
            "its indentation differs from the search text, so it is unclear whether the lines should move".to_owned()
        }
        Doubt::WhiteSpace => "its white space differs from the search text and from the file".to_owned(),
        Doubt::Character(c) => format!("`{c}` may be intended, or a result of copying"),
        Doubt::HalfDamaged => {
            "it has only some of the line numbers, fences, entities or escapes that the search text has"
                .to_owned()
        }
    }
}

/// Names the real paths, if they differ from those in the reply.
pub fn taken(real: &[String]) -> String {
    let path = match real {
        [_] => "path",
        _ => "paths",
    };
    let shown = names(real.iter().take(SAID).map(String::as_str));
    let more = if real.len() > SAID { ", …" } else { "" };
    format!("{path} taken as {shown}{more}")
}

/// Says how an edit was done whose search text differs from the file.
pub fn matched(tier: Tier, adapted: Adapted) -> String {
    let how = match (adapted.indentation, adapted.characters) {
        (Some(Indented::WithTabs), _) => "; written with tabs",
        (Some(Indented::WithSpaces), _) => "; written with spaces",
        (Some(Indented::AsThere), _) => "; indented like the lines there",
        (None, true) => "; written with the file's own characters",
        (None, false) => "",
    };
    format!("matched by {}{how}", tier.name())
}

/// Says why an edit failed, in one line. `pairs` is the number of pairs in the task.
pub fn failed_edit(misses: &[EditMiss], pairs: usize) -> String {
    let mut groups: Vec<FailedPairs> = Vec::new();
    for miss in misses.iter().take(MISSES) {
        let (fact, step) = told(miss, pairs);
        let what = part(&miss.error, pairs);
        let rest = fact.strip_prefix(&what).map(str::to_owned);
        let is_same = |group: &&mut FailedPairs| {
            rest.is_some() && group.part == miss.error.part && group.rest == rest
        };
        match groups
            .iter_mut()
            .filter(|group| group.step == step)
            .find(is_same)
        {
            Some(group) => group.pairs.push(miss.error.pair),
            None => groups.push(FailedPairs {
                part: miss.error.part,
                pairs: vec![miss.error.pair],
                fact,
                rest,
                step,
            }),
        }
    }
    let mut said: Vec<String> = Vec::new();
    let mut steps: Vec<&str> = Vec::new();
    for group in &groups {
        if steps.contains(&group.step.as_str()) {
            continue;
        }
        steps.push(&group.step);
        let same = groups.iter().filter(|other| other.step == group.step);
        let facts: Vec<String> = same.map(|group| group.told(pairs)).collect();
        said.push(format!("{}: {}", facts.join(", "), group.step));
    }
    match misses.len().saturating_sub(MISSES) {
        0 => {}
        1 => said.push("1 more fails".to_owned()),
        more => said.push(format!("{more} more fail")),
    }
    match misses.first() {
        Some(miss) if pairs > 1 => said.push(match miss.error.part {
            EditPart::Hunk => "no hunk of this file was applied".to_owned(),
            _ => "no pair of this task was applied".to_owned(),
        }),
        _ => {}
    }
    said.join("; ")
}

/// Pairs of an edit that fail for the same reason.
struct FailedPairs {
    part: EditPart,
    pairs: Vec<usize>,
    /// The sentence about the first of them.
    fact: String,
    /// The same without the name of the text, if it begins with that.
    rest: Option<String>,
    step: String,
}

impl FailedPairs {
    fn told(&self, pairs: usize) -> String {
        match (self.pairs.as_slice(), &self.rest) {
            ([_, _, ..], Some(rest)) => {
                let numbers: Vec<String> = self.pairs.iter().map(ToString::to_string).collect();
                format!(
                    "{}s {} of {pairs}{rest}",
                    part_name(self.part),
                    numbers.join(", ")
                )
            }
            _ => self.fact.clone(),
        }
    }
}

/// Says what is wrong with a text of an edit, and the next step.
fn told(miss: &EditMiss, pairs: usize) -> (String, String) {
    let error = &miss.error;
    let what = part(error, pairs);
    let after_head = if error.part == EditPart::Tail {
        " after the head"
    } else {
        ""
    };
    let it = match error.part {
        _ if pairs <= 1 => "task",
        EditPart::Hunk => "hunk",
        EditPart::Search | EditPart::Head | EditPart::Tail => "pair",
    };
    let at = |line: usize| line_at(line, &miss.within);
    match &error.cause {
        EditCause::Blank => (
            format!("{what} is blank"),
            "write text that is in the file exactly once".to_owned(),
        ),
        EditCause::NotFound {
            applied_at: Some(line),
            ..
        } => (
            format!(
                "{what} not found{after_head}, but the replacement is already there ({})",
                at(*line)
            ),
            format!("perhaps it was already applied; if so, leave this {it} out"),
        ),
        EditCause::NotFound { not_utf8, .. } => {
            let mut fact = format!("{what} not found{after_head}");
            if let Some(part) = &miss.part {
                fact += &searched(part);
                let (first, last) = part.lines;
                let begins = part.elsewhere.iter().find(|line| (first..=last).contains(*line));
                if let Some(line) = begins {
                    return (
                        format!("{fact}: it begins at line {line}, but continues behind the end"),
                        "leave out what stands there, or name the file alone".to_owned(),
                    );
                }
                if !part.elsewhere.is_empty() {
                    let places: Vec<String> = part.elsewhere.iter().map(|line| at(*line)).collect();
                    return (
                        format!("{fact}, but outside of it at {}", places.join("; ")),
                        "correct the address, or name the file alone".to_owned(),
                    );
                }
            }
            let step = match &miss.why {
                Some(MissReason::Stale { until }) if pairs > 1 => {
                    return (
                        format!("{fact} (it was there until {until})"),
                        "the file has changed since, so edit what is there now".to_owned(),
                    );
                }
                Some(why) => because(why),
                None => format!(
                    "{} must match the file exactly, character by character{}",
                    if error.part == EditPart::Hunk {
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
            };
            (fact, step)
        }
        EditCause::Ambiguous { lines, .. } => {
            let part = miss.part.as_ref().map(searched).unwrap_or_default();
            let more = "include more of the text around it so that it matches once";
            let name = apart(lines, &miss.within);
            let name = name.map(|address| format!(", name the definition in the path (`{address}`)"));
            (
                format!("{what} found {}", times(lines, &(after_head.to_owned() + &part), &miss.within)),
                match error.part {
                    EditPart::Search => format!(
                        "{more}{}, or use `replace-all` if all are meant",
                        name.unwrap_or_default()
                    ),
                    _ => more.to_owned(),
                },
            )
        }
        EditCause::Unclear { line, at: found, doubt } => (
            format!(
                "{what} found at {}, but not exactly, and line {line} of the replacement cannot be adapted",
                at(*found)
            ),
            format!("{}. Write both texts exactly as they are in the file", unclear(*doubt)),
        ),
        EditCause::NothingChanges { at: found } => (
            format!("{what} found at {}, and the file would stay as it is", at(*found)),
            "the replacement is the same as the search text or the text in the file. To change white space or quotes, copy \
             the search text exactly from the file"
                .to_owned(),
        ),
        EditCause::LeftOut { line } => (
            match pairs {
                1 => format!("line {line} of <replace> stands for text that is left out"),
                _ => format!("line {line} of <replace> {} stands for text that is left out", error.pair),
            },
            "write that text, or edit with search-head and search-tail. If the line itself is meant, write `<replace \
             elision=\"text\">`"
                .to_owned(),
        ),
        EditCause::ElisionsDiffer => (
            format!("{what} and its replacement leave out different text"),
            "write the same `...` lines in both, in the same order, or use search-head and search-tail".to_owned(),
        ),
        EditCause::NoContext => (
            format!("{what} has no line to search for"),
            "add lines from the file before and after the change as context".to_owned(),
        ),
        EditCause::NoAnchor { text } => (
            format!(
                "{what} should follow `{}`, but no line after the previous hunk has that",
                short(text)
            ),
            "copy a line from the file after `@@`".to_owned(),
        ),
        EditCause::ManyAnchors { text, lines } => (
            format!(
                "{what} should follow `{}`, which was found {}",
                short(text),
                times(lines, "", &miss.within)
            ),
            "write a line that occurs once".to_owned(),
        ),
        EditCause::NotAtEnd { line } => (
            format!("{what} should be at the end of the file, but is at {}", at(*line)),
            "leave out the end-of-file mark, or write the file's last lines".to_owned(),
        ),
        EditCause::OutOfOrder { line } => (
            format!("{what} not found after the previous hunk, but before it ({})", at(*line)),
            "put the hunks in the order of the file".to_owned(),
        ),
    }
}

fn part_name(part: EditPart) -> &'static str {
    match part {
        EditPart::Search => "search text",
        EditPart::Head => "search-head",
        EditPart::Tail => "search-tail",
        EditPart::Hunk => "hunk",
    }
}

/// Says why a text is not in a file, with the next step.
fn because(why: &MissReason) -> String {
    match why {
        MissReason::Stale { until } => {
            format!("it was there until {until}. The file has changed since: edit what is there now")
        }
        MissReason::TakenAway => {
            "it is in the file, but the pairs before it change it: search for the text that they leave"
                .to_owned()
        }
        MissReason::Habit(Habit::LeftOut { line }) => format!(
            "line {line} of it stands for text that is left out: write that text, or use search-head and search-tail"
        ),
        MissReason::Habit(Habit::DiffMarks) => {
            "its lines begin with the `+` or `-` of a diff: copy the lines from the file, without such marks".to_owned()
        }
        MissReason::Habit(Habit::LineNumbers) => {
            "its lines begin with line numbers: copy the lines without them".to_owned()
        }
        MissReason::Habit(Habit::Escaped { escape, means }) => {
            format!("it has `{escape}`, but the file has none: payloads are raw, so write {means} as it is")
        }
    }
}

/// A line, with the definition that it is in.
fn line_at(line: usize, within: &LineNames) -> String {
    match within.get(&line) {
        Some(name) => format!("line {line}, in `{}`", short(&name.full)),
        None => format!("line {line}"),
    }
}

/// Says which part of a file was searched.
fn searched(part: &SearchedPart) -> String {
    let (first, last) = part.lines;
    let lines = if first == last {
        format!("line {first}")
    } else {
        format!("lines {first}-{last}")
    };
    format!(" in `{}` ({lines})", short(&part.name))
}

/// The address that tells the first of these lines from the others; `None` where two of them are in one definition.
fn apart<'n>(lines: &[usize], within: &'n LineNames) -> Option<&'n str> {
    let names = lines
        .iter()
        .map(|line| Some(within.get(line)?.address.as_str()));
    let names: Vec<&str> = names.collect::<Option<_>>()?;
    let is_once = |name: &&str| names.iter().filter(|other| *other == name).count() == 1;
    names.first().copied().filter(|_| names.iter().all(is_once))
}

/// Says how often something was found, and on which lines, with the definitions that these are in.
fn times(lines: &[usize], where_at: &str, within: &LineNames) -> String {
    let name = |line: &usize| within.get(line);
    let first = lines.first().and_then(name);
    let is_one = lines.iter().all(|line| name(line) == first);
    if !is_one && lines.len() <= NAMED {
        let places: Vec<String> = lines.iter().map(|line| line_at(*line, within)).collect();
        return format!("{} times{where_at} ({})", lines.len(), places.join("; "));
    }
    let shown: Vec<String> = lines.iter().take(10).map(ToString::to_string).collect();
    let (least, more) = if lines.len() > shown.len() {
        ("at least ", ", …")
    } else {
        ("", "")
    };
    let (count, shown) = (lines.len(), shown.join(", "));
    let name = first.filter(|_| is_one);
    let name = name.map_or(String::new(), |name| {
        format!(", in `{}`", short(&name.full))
    });
    format!("{least}{count} times{where_at} (lines {shown}{more}{name})")
}

/// So many tasks.
pub fn tasks(count: usize) -> String {
    match count {
        1 => "1 task".to_owned(),
        count => format!("{count} tasks"),
    }
}

fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut all = String::new();
    for name in names {
        all += if all.is_empty() { "`" } else { ", `" };
        all += name;
        all += "`";
    }
    all
}

/// Shortens a quoted text to the start of its first line.
fn short(text: &str) -> String {
    clip(text.lines().next().unwrap_or_default(), 60).into_owned()
}
