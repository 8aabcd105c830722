//! Finds a text byte for byte, without tiers, and replaces it in every place.

use std::borrow::Cow;
use std::ops::Range;

use super::lines::{cuts_word, ending_at, is_start, terminator};
use super::occurrences::Occurrences;
use crate::reply::text::{Form, Text};

/// Every place where a text starts in a file, overlapping ones included.
pub fn places<'a>(file: &'a [u8], text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    Occurrences::new(file, text, 0)
}

/// The file with another text in every place that has this one, and how many places there are. They do not overlap.
///
/// In block form a text is its lines without the end of the last one, in the file's line ends; it cuts no word, so that
/// `count` is not found in `counter`; and lines that are replaced by none go with their line end.
pub fn replace_all(file: &[u8], search: Text<'_>, replace: Text<'_>) -> (Vec<u8>, usize) {
    let newline = ending_at(file, 0);
    let (search_text, replace_text) = (fitted(search, newline), fitted(replace, newline));
    let needle = search_text.as_bytes();
    let is_block = search.form == Form::Block;
    let (mut out, mut copied, mut count) = (Vec::with_capacity(file.len()), 0, 0);
    for start in places(file, needle) {
        let place = start..start + needle.len();
        if start < copied || is_block && (cuts_word(file, start) || cuts_word(file, place.end)) {
            continue;
        }
        let place = if replace_text.is_empty() && is_block {
            with_line_end(file, place)
        } else {
            place
        };
        out.extend_from_slice(&file[copied..place.start]);
        out.extend_from_slice(replace_text.as_bytes());
        copied = place.end;
        count += 1;
    }
    out.extend_from_slice(&file[copied..]);
    (out, count)
}

/// A text as it stands in a file with such line ends.
fn fitted<'t>(text: Text<'t>, newline: &str) -> Cow<'t, str> {
    match text.form {
        Form::Inline => text.text.into(),
        Form::Block => {
            let lines = text.text.strip_suffix('\n').unwrap_or(text.text);
            match newline {
                "\n" => lines.into(),
                newline => lines.replace('\n', newline).into(),
            }
        }
    }
}

/// A place with the line end behind it, where it is whole lines.
fn with_line_end(file: &[u8], place: Range<usize>) -> Range<usize> {
    if !is_start(file, place.start) {
        return place;
    }
    place.start..place.end + terminator(&file[place.end..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replaced(file: &str, search: Text<'_>, replace: Text<'_>) -> (String, usize) {
        let (bytes, count) = replace_all(file.as_bytes(), search, replace);
        (String::from_utf8(bytes).expect("text"), count)
    }

    #[test]
    fn inline_is_any_place_and_block_cuts_no_word() {
        let (search, replace) = (Text::inline("count"), Text::inline("n"));
        let file = "count counter\ncount\n";
        assert_eq!(
            replaced(file, search, replace),
            ("n ner\nn\n".to_owned(), 3)
        );
        let (search, replace) = (Text::block("count\n"), Text::block("n\n"));
        assert_eq!(
            replaced(file, search, replace),
            ("n counter\nn\n".to_owned(), 2)
        );
    }

    #[test]
    fn places_do_not_overlap() {
        let replace = Text::inline("b");
        assert_eq!(
            replaced("aaaa", Text::inline("aa"), replace),
            ("bb".to_owned(), 2)
        );
    }

    #[test]
    fn lines_take_the_line_ends_of_the_file_and_go_with_theirs() {
        let (two, three) = (Text::block("a\nb\n"), Text::block("c\nd\ne\n"));
        assert_eq!(
            replaced("x\r\na\r\nb\r\n", two, three),
            ("x\r\nc\r\nd\r\ne\r\n".to_owned(), 1)
        );
        assert_eq!(
            replaced("x\r\na\r\nb\r\nx a", two, Text::block("")),
            ("x\r\nx a".to_owned(), 1)
        );
    }

    proptest! {
        #[test]
        fn inline_is_what_the_standard_library_replaces(
            file in "[ab\n]{0,30}", search in "[ab\n]{1,4}", replace in "[abc\n]{0,4}",
        ) {
            let (text, count) = replaced(&file, Text::inline(&search), Text::inline(&replace));
            prop_assert_eq!(text, file.replace(&search, &replace));
            prop_assert_eq!(count, file.matches(&search).count());
        }
    }
}
