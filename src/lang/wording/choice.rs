//! The words about the places that the user may choose for an edit: the boxes, the full output, and what came of a choice.

use super::short;
use crate::lang::edit::{Choice, Tier};

/// How many lines that differ are named.
const OTHERS: usize = 4;

/// A place that the user may choose for an edit; its text only where `shows` says that it may be shown.
pub fn choice(choice: &Choice, shows: bool) -> String {
    let lines: Vec<usize> = choice.others.iter().map(|other| other.line).collect();
    let others = match lines.as_slice() {
        [] => {
            let within = choice.within.as_deref().filter(|_| shows);
            let within = within.map(|line| format!(", in `{}`", short(line)));
            return format!("line {}{}", choice.first, within.unwrap_or_default());
        }
        [line] => format!("line {line} is another"),
        [some @ .., last] if some.len() < OTHERS => {
            let some: Vec<String> = some.iter().map(ToString::to_string).collect();
            format!("lines {} and {last} are others", some.join(", "))
        }
        many => format!("{} lines are others", many.len()),
    };
    let see = if shows { " (see the full output)" } else { "" };
    format!(
        "lines {}-{}, where {others}{see}",
        choice.first, choice.last
    )
}

/// What the full output says of the places that the user may choose.
pub fn choices(choices: &[Choice], shows: bool) -> String {
    let lines = choices.iter().map(|choice| choice.first.to_string());
    let lines = lines.collect::<Vec<_>>().join(", ");
    let [
        Choice {
            first,
            last,
            others,
            ..
        },
    ] = choices
    else {
        return format!(
            "the user can also choose the place with a tick in the notes file: lines {lines} of the file as it is \
             now. Send the edit again only if you know which one is meant.\n"
        );
    };
    if others.is_empty() {
        return format!(
            "the user can apply it at line {first} of the file as it is now, with a tick in the notes file.\n"
        );
    }
    let mut text = format!(
        "the user can apply it at lines {first}-{last} of the file as it is now, with a tick in the notes file: the \
         replacement keeps all lines that differ there.\n"
    );
    for other in others.iter().filter(|_| shows) {
        let (searched, there) = (short(&other.searched), short(&other.there));
        text += &format!(
            "line {}\n  search: {searched}\n  file:   {there}\n",
            other.line
        );
    }
    text
}

/// What is said of an edit that was carried out at a line that the user chose.
pub fn chosen(line: usize, tier: Tier) -> String {
    match tier {
        Tier::Exact => format!("at line {line}, which the user chose"),
        tier => format!(
            "at line {line}, which the user chose; matched by {}",
            tier.name()
        ),
    }
}

/// Why an edit was not carried out at a line that the user chose, and what to do now: there are places to choose from, or
/// its text is found only at one line.
pub fn moved_choice(line: usize, may_choose: bool, only: Option<usize>) -> String {
    let next = match only {
        _ if may_choose => "check the file and tick again below, or edit by hand".to_owned(),
        Some(only) => format!(
            "its text is now only at line {only}. Check the file and run `clada retry` to apply it there, or edit by \
             hand"
        ),
        None => "check the file and edit by hand, or ask for the edit again".to_owned(),
    };
    format!("the place that was offered at line {line} has changed, so nothing was done: {next}")
}
