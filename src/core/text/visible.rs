//! Text with what cannot be seen written out, so that nothing of it hides. Changes nothing else.

use std::borrow::Cow;
use std::fmt::Write;

/// A text in which control characters stand as `\x1b`, and those that show nothing or change the order of others as
/// `\u{202e}`. What is written out cannot be told from the same characters typed out; that is for people to see, not to read
/// back.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Writing to a string cannot fail.
        let _ = match c {
            c if !is_hidden(c) => write!(shown, "{c}"),
            c if (c as u32) < 0x100 => write!(shown, "\\x{:02x}", c as u32),
            c => write!(shown, "\\u{{{:x}}}", c as u32),
        };
    }
    shown.into()
}

/// Control characters, marks of direction, spaces of no width, tags, selectors and other letters that are not drawn, and blanks
/// that look like something else.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, shown) in [
            ("rm -rf ü 日本 👍", "rm -rf ü 日本 👍"),
            ("a\u{1b}[2Jb\r\t", "a\\x1b[2Jb\\x0d\\x09"),
            (
                "a\u{202e}b\u{200b}\u{feff}",
                "a\\u{202e}b\\u{200b}\\u{feff}",
            ),
            ("\u{e0041}\u{9b}", "\\u{e0041}\\x9b"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
