//! Carries over what is written in places that begin or end inside a line of the file.

use super::{Carried, Matched, Unclear, carry};
use crate::edit::{Adapted, view};

/// Carries over what makes `replacement` of `search`, which was found inside lines of the file. White space around the
/// two is the file's where they have the same.
///
/// # Errors
/// Where the text that is to be written cannot be told.
pub(in crate::edit) fn carry_inside(
    place: &Matched<'_>,
    search: &str,
    replacement: &str,
) -> Result<Carried, Unclear> {
    let file = place.file;
    let mut range = place.range.clone();
    let [searched, new, there] = [search, replacement, place.text()].map(Core::of);
    if new.text.chars().all(view::is_invisible) {
        return Ok(Carried {
            range,
            text: String::new(),
            adapted: Adapted::default(),
        });
    }
    let start = range.start + there.before.len();
    let inner = Matched {
        range: start..start + there.text.len(),
        is_inside: true,
        ..place.clone()
    };
    let lines: Vec<&str> = searched.text.split('\n').collect();
    let replacement: Vec<&str> = new.text.split('\n').collect();
    let carried = carry(&inner, &lines, &replacement, None)?;
    let is_blank = |at: usize| matches!(file.get(at), Some(b' ' | b'\t'));
    let before = if searched.before == new.before {
        there.before
    } else {
        while !searched.before.is_empty() && range.start > 0 && is_blank(range.start - 1) {
            range.start -= 1;
        }
        new.before
    };
    let after = if searched.after == new.after {
        there.after
    } else {
        while !searched.after.is_empty() && is_blank(range.end) {
            range.end += 1;
        }
        new.after
    };
    Ok(Carried {
        range,
        text: [before, &carried.text, after].concat(),
        adapted: carried.adapted,
    })
}

/// A text without the white space around it.
struct Core<'t> {
    before: &'t str,
    text: &'t str,
    after: &'t str,
}

impl<'t> Core<'t> {
    fn of(text: &'t str) -> Self {
        let core = text.trim();
        let start = text.len() - text.trim_start().len();
        let (before, rest) = text.split_at(start);
        Self {
            before,
            text: core,
            after: &rest[core.len()..],
        }
    }
}
