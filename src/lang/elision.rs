//! Lines that stand for text which is left out: `...`, `// ... existing code ...`, `# rest of the function unchanged`.
//! Says what a line looks like, and never whether it is meant so.

/// How a line stands for text that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elision {
    /// Dots alone, which can be text as well: the body of a function in Python.
    Bare,
    /// Dots behind a comment mark, or words that say it.
    Said,
}

/// What a comment begins with; the longer of two that begin alike comes first.
const MARKS: [&str; 8] = ["{/*", "<!--", "//", "/*", "--", "#", ";", "%"];
/// What a comment ends in.
const ENDS: [&str; 3] = ["*/}", "*/", "-->"];
const DOTS: [&str; 2] = ["...", "…"];
/// What models write in place of what they leave out.
const LEFT_OUT: [&str; 8] = [
    "existing code",
    "rest of",
    "unchanged",
    "remaining",
    "same as before",
    "omitted",
    "other code",
    "previous code",
];
/// The other words of a comment that says nothing else.
const BESIDE: [&str; 52] = [
    "a",
    "above",
    "all",
    "and",
    "are",
    "as",
    "at",
    "before",
    "below",
    "body",
    "brevity",
    "class",
    "code",
    "content",
    "contents",
    "entire",
    "existing",
    "file",
    "files",
    "for",
    "from",
    "function",
    "functions",
    "goes",
    "here",
    "implementation",
    "import",
    "imports",
    "in",
    "is",
    "it",
    "keep",
    "lines",
    "logic",
    "method",
    "methods",
    "module",
    "of",
    "original",
    "other",
    "previous",
    "remain",
    "remains",
    "rest",
    "same",
    "script",
    "section",
    "stays",
    "tests",
    "the",
    "this",
    "was",
];
/// Longer text with dots beside it and no comment mark is prose.
const SHORT: usize = 40;

/// Returns how a line stands for text that is left out; `None` for any other line.
pub(crate) fn elision(line: &str) -> Option<Elision> {
    let line = Line::of(line);
    match line.dots {
        true if line.words.is_empty() && line.is_comment => Some(Elision::Said),
        true if line.words.is_empty() => Some(Elision::Bare),
        dots => {
            let says_so = match line.is_comment {
                true => dots && line.says_it() || line.begins_with_it(),
                false => dots && line.says_it() && line.words.chars().count() < SHORT,
            };
            says_so.then_some(Elision::Said)
        }
    }
}

/// Whether the words of a line make it plain that it stands for text which is left out, also where it is in no edit. A
/// comment without dots may say nothing else: `// remaining bytes` is about bytes.
pub(crate) fn is_plain(line: &str) -> bool {
    let parts = Line::of(line);
    let only = |word: &str| LEFT_OUT.contains(&word) || BESIDE.contains(&word);
    let mut words = parts.words.split(|c: char| !c.is_alphanumeric());
    elision(line) == Some(Elision::Said)
        && !parts.words.is_empty()
        && (parts.dots || words.all(|word| word.is_empty() || only(word)))
}

/// A line without what is around its words.
struct Line {
    is_comment: bool,
    /// Dots stand before the words or behind them.
    dots: bool,
    /// In lower case.
    words: String,
}

impl Line {
    fn of(line: &str) -> Self {
        let (is_comment, rest) = without_first(line.trim(), &MARKS);
        let (_, rest) = without_last(rest, &ENDS);
        let (before, rest) = without_first(rest, &DOTS);
        let (behind, rest) = without_last(rest, &DOTS);
        Self {
            is_comment,
            dots: before || behind,
            words: rest.to_lowercase(),
        }
    }

    fn says_it(&self) -> bool {
        LEFT_OUT.iter().any(|said| {
            let mut places = self.words.match_indices(said);
            places.any(|(at, _)| !self.words[..at].ends_with(char::is_alphanumeric))
        })
    }

    fn begins_with_it(&self) -> bool {
        let words = self.words.trim_start_matches(['(', '[']);
        let words = words.strip_prefix("the ").unwrap_or(words);
        LEFT_OUT.iter().any(|said| words.starts_with(said))
    }
}

fn without_first<'l>(text: &'l str, first: &[&str]) -> (bool, &'l str) {
    let rest = first.iter().find_map(|first| text.strip_prefix(first));
    (rest.is_some(), rest.unwrap_or(text).trim_start())
}

fn without_last<'l>(text: &'l str, last: &[&str]) -> (bool, &'l str) {
    let rest = last.iter().find_map(|last| text.strip_suffix(last));
    (rest.is_some(), rest.unwrap_or(text).trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_alone_are_bare() {
        for line in ["...", "  …", "\t...  ", "......", "... ...", "...\r"] {
            assert_eq!(elision(line), Some(Elision::Bare), "{line:?}");
        }
    }

    #[test]
    fn a_comment_or_words_say_that_text_is_left_out() {
        let lines = [
            "# ...",
            "    // …",
            "/* ... */",
            "<!-- ... -->",
            "{/* ... existing code ... */}",
            "// ... existing code ...",
            "# ... rest of the function",
            "... rest of the function ...",
            "... unchanged",
            "-- Rest of the query",
            "// existing code",
            "# The rest of the file is unchanged",
            "; ... the other code as it was",
            "% omitted",
            "// remaining bytes",
        ];
        for line in lines {
            assert_eq!(elision(line), Some(Elision::Said), "{line:?}");
        }
    }

    #[test]
    fn other_lines_say_nothing_of_the_kind() {
        let lines = [
            "",
            "   ",
            "....",
            "#",
            "*/",
            "print(...)",
            "let [first, ...rest] = all;",
            "rest of the function",
            "unchanged",
            "# wait for more ...",
            "// in the interest of speed ...",
            "# keeps what is unchanged",
            "... which is why the rest of this long sentence of prose is text",
            "def f(): ...",
        ];
        for line in lines {
            assert_eq!(elision(line), None, "{line:?}");
        }
    }

    #[test]
    fn words_make_it_plain_where_there_are_dots_or_nothing_else_is_said() {
        for plain in [
            "// ... existing code ...",
            "# rest of the file unchanged",
            "    # (unchanged)",
            "<!-- same as before -->",
            "... rest of the function ...",
            "// ... remaining imports",
        ] {
            assert!(is_plain(plain), "{plain:?}");
        }
        for text in [
            "...",
            "# ...",
            "// remaining bytes",
            "# rest of the arguments of the command",
            "unchanged = True",
        ] {
            assert!(!is_plain(text), "{text:?}");
        }
    }
}
