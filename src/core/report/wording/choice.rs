//! The words about the places that the user may choose for an edit: the boxes, the full output, and the result of a choice.

use super::short;
use crate::edit::{Choice, Tier};

/// The most lines that are named as different.
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

/// Tells in the full output which places the user may choose.
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

/// Says that an edit was carried out at a line that the user chose.
pub fn chosen(line: usize, tier: Tier) -> String {
    match tier {
        Tier::Exact => format!("at line {line}, which the user chose"),
        tier => format!(
            "at line {line}, which the user chose; matched by {}",
            tier.name()
        ),
    }
}

/// Says why an edit was not carried out at a line that the user chose, and the next step: there are places to choose from, or
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{self, Edit};
    use crate::reply::text::Text;

    /// Lines of a file, and where a text without some of them may be meant.
    fn places(file: &str, search: &str, replace: &str) -> Vec<Choice> {
        let edit = Edit::Pairs(vec![(Text::block(search), Text::block(replace))]);
        edit::choices(file.as_bytes(), &edit)
    }

    fn twice() -> Vec<Choice> {
        places(
            "def load():\n    x\ndef save():\n    x\n",
            "    x\n",
            "    y\n",
        )
    }

    /// Nine lines, some of which the search text has otherwise.
    fn others(differ: &[usize]) -> Choice {
        let line = |number: usize| format!("line number {number}\n");
        let file: String = (1..=12).map(line).collect();
        let searched = |last: &str| {
            let lines = (1..=11).map(|number| {
                if differ.contains(&number) {
                    format!("another {number}\n")
                } else {
                    line(number)
                }
            });
            lines.collect::<String>() + last
        };
        let (search, replace) = (searched(&line(12)), searched("new\n"));
        let mut found = places(&file, &search, &replace);
        found.pop().expect("a place")
    }

    #[test]
    fn a_box_names_its_place() {
        assert_eq!(choice(&twice()[1], true), "line 4, in `def save():`");
        assert_eq!(choice(&twice()[1], false), "line 4");
        for (differ, shows, said) in [
            (
                &[3][..],
                true,
                "lines 1-12, where line 3 is another (see the full output)",
            ),
            (&[3, 5], false, "lines 1-12, where lines 3 and 5 are others"),
            (
                &[3, 5, 6, 8, 9],
                false,
                "lines 1-12, where 5 lines are others",
            ),
        ] {
            assert_eq!(choice(&others(differ), shows), said);
        }
    }

    #[test]
    fn the_full_output_says_that_the_user_may_choose() {
        assert_eq!(
            choices(&twice(), true),
            "the user can also choose the place with a tick in the notes file: lines 2, 4 of the file as it is now. Send the \
             edit again only if you know which one is meant.\n"
        );
        assert_eq!(
            choices(&twice()[..1], true),
            "the user can apply it at line 2 of the file as it is now, with a tick in the notes file.\n"
        );
        assert_eq!(
            choices(&[others(&[5])], true),
            "the user can apply it at lines 1-12 of the file as it is now, with a tick in the notes file: the replacement \
             keeps all lines that differ there.\nline 5\n  search: another 5\n  file:   line number 5\n"
        );
    }

    #[test]
    fn what_became_of_a_choice() {
        assert_eq!(chosen(4, Tier::Exact), "at line 4, which the user chose");
        assert_eq!(
            chosen(4, Tier::Indentation),
            "at line 4, which the user chose; matched by indentation"
        );
        let moved = "the place that was offered at line 4 has changed, so nothing was done: ";
        for (may_choose, only, said) in [
            (
                true,
                None,
                "check the file and tick again below, or edit by hand",
            ),
            (
                false,
                Some(9),
                "its text is now only at line 9. Check the file and run `clada retry` to apply it there, or edit by hand",
            ),
            (
                false,
                None,
                "check the file and edit by hand, or ask for the edit again",
            ),
        ] {
            assert_eq!(moved_choice(4, may_choose, only), format!("{moved}{said}"));
        }
    }
}
