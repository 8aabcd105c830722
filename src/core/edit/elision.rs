//! Recognizes lines that stand for text which is left out: `...`, `// ... existing code ...`, `# rest of the function
//! unchanged`. Says what a line looks like, and never whether it is meant so.

/// The way in which a line stands for text that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elision {
    /// Dots alone, which can be text as well: the body of a function in Python.
    Bare,
    /// Dots behind a comment mark, or words that say it.
    Said,
}

/// The words by which a line outside any edit plainly stands for text that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plainness {
    /// Words that say it, with dots beside them.
    WithDots,
    /// Words alone, which can be a heading or a remark as well.
    WordsAlone,
}

/// The beginnings of comments; the longer of two that begin alike comes first.
const MARKS: [&str; 8] = ["{/*", "<!--", "//", "/*", "--", "#", ";", "%"];
/// The ends of comments.
const ENDS: [&str; 3] = ["*/}", "*/", "-->"];
const DOTS: [&str; 2] = ["...", "…"];
/// The words that models write in place of text they leave out.
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
const BESIDE: &str = "a|above|all|and|are|as|at|before|below|body|brevity|class|code|component|components|config|content|\
    contents|document|elements|entire|existing|file|files|for|from|function|functions|goes|here|\
    implementation|import|imports|in|is|it|keep|lines|logic|method|methods|module|of|original|other|page|\
    previous|remain|remains|rest|same|script|section|stays|styles|table|template|tests|text|the|this|\
    types|was";
/// Those of these words of which a comment that begins with dots must have one.
const TOLD: &str = "existing|omitted|original|other|previous|remain|remaining|rest|same|unchanged";
/// The brackets that stand around words in place of a comment mark.
const BRACKETS: [(&str, &str); 2] = [("(", ")"), ("[", "]")];
/// Longer text with dots beside it and no comment mark is prose.
const SHORT: usize = 40;

/// Returns how a line stands for text that is left out; `None` for any other line.
pub fn elision(line: &str) -> Option<Elision> {
    if !is_suspect(line.trim()) {
        return None;
    }
    let line = Remark::of(line);
    let says_so = if line.dots && line.words.is_empty() {
        if !line.is_comment {
            return Some(Elision::Bare);
        }
        true
    } else if line.is_comment {
        line.dots && line.says_it() || line.begins_with_it()
    } else {
        line.dots && line.says_it() && line.words.chars().count() < SHORT
    };
    says_so.then_some(Elision::Said)
}

/// Returns how plainly the words of a line say that it stands for text which is left out, also where it is in no edit.
/// A comment without dots may say nothing else: `// remaining bytes` is about bytes.
pub fn plain(line: &str) -> Option<Plainness> {
    let text = line.trim();
    if !is_suspect(text) {
        return None;
    }
    let bracketed = BRACKETS.iter().find_map(|(before, behind)| {
        let inner = text.strip_prefix(before)?.strip_suffix(behind)?;
        Some((*before, inner))
    });
    let parts = Remark::of(bracketed.map_or(text, |(_, inner)| inner));
    if parts.words.is_empty() {
        return None;
    }
    if parts.dots {
        let is_short = bracketed.is_some() || parts.words.chars().count() < SHORT;
        let says_so = if parts.is_comment {
            parts.says_it() || parts.leads && parts.is_of_known_words() && parts.tells()
        } else {
            parts.says_it() && is_short && !parts.is_spread
        };
        return says_so.then_some(Plainness::WithDots);
    }
    let is_apart = match bracketed {
        // `[unchanged]` can be the head of a section, `(unchanged)` a remark.
        Some((before, inner)) => before == "(" && inner.contains(' '),
        None => parts.is_comment,
    };
    let says_so = is_apart && parts.begins_with_it() && parts.is_of_known_words();
    says_so.then_some(Plainness::WordsAlone)
}

/// Tells by its ends if a line may have a comment mark, brackets or dots. Most lines of code have none: to look for each of them in every
/// line took a fifteenth of the time of 1,000 new files.
fn is_suspect(text: &str) -> bool {
    text.starts_with(['(', '[', '{', '<', '/', '-', '#', ';', '%', '.', '…'])
        || text.ends_with(['.', '…', '/', '}', '>'])
}

/// A line without what is around its words.
struct Remark {
    is_comment: bool,
    /// Dots stand before the words or behind them.
    dots: bool,
    /// They stand before them.
    leads: bool,
    /// They stand directly before a name, as in `...rest`.
    is_spread: bool,
    /// In lower case.
    words: String,
}

impl Remark {
    fn of(line: &str) -> Self {
        let (is_comment, rest) = without_first(line.trim(), &MARKS);
        let (_, rest) = without_last(rest, &ENDS);
        let is_spread = rest
            .strip_prefix("...")
            .is_some_and(|name| name.starts_with(char::is_alphanumeric));
        let (before, rest) = without_first(rest, &DOTS);
        let (behind, rest) = without_last(rest, &DOTS);
        Self {
            is_comment,
            dots: before || behind,
            leads: before,
            is_spread,
            words: rest.to_lowercase(),
        }
    }

    fn says_it(&self) -> bool {
        LEFT_OUT.iter().any(|said| {
            let mut places = self.words.match_indices(said);
            places.any(|(at, _)| !self.words[..at].ends_with(char::is_alphanumeric))
        })
    }

    /// Its words are all of those that such lines are made of.
    fn is_of_known_words(&self) -> bool {
        let only = |word: &str| LEFT_OUT.contains(&word) || is_among(BESIDE, word);
        self.each_word().all(only)
    }

    fn tells(&self) -> bool {
        self.each_word().any(|word| is_among(TOLD, word))
    }

    fn each_word(&self) -> impl Iterator<Item = &str> {
        let words = self.words.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty())
    }

    fn begins_with_it(&self) -> bool {
        let words = self.words.trim_start_matches(['(', '[']);
        let words = words.strip_prefix("the ").unwrap_or(words);
        LEFT_OUT.iter().any(|said| words.starts_with(said))
    }
}

/// Returns whether a word is one of those in a list with `|` between them.
fn is_among(list: &str, word: &str) -> bool {
    list.split('|').any(|listed| listed == word)
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
    fn every_mark_makes_a_line_suspect() {
        let before = BRACKETS.iter().map(|(before, _)| before);
        for first in before.chain(&MARKS).chain(&DOTS) {
            assert!(is_suspect(&format!("{first} words")), "{first}");
        }
        for last in ENDS.iter().chain(&DOTS) {
            assert!(is_suspect(&format!("words {last}")), "{last}");
        }
    }

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
        for line in [
            "// ... existing code ...",
            "<!-- ... existing content ... -->",
            "[... existing code ...]",
            "// ... other functions ...",
            "... rest of the function ...",
            "// ... remaining imports",
        ] {
            assert_eq!(plain(line), Some(Plainness::WithDots), "{line:?}");
        }
        for line in [
            "# rest of the file unchanged",
            "    # (unchanged)",
            "<!-- same as before -->",
            "{/* rest of component */}",
            "(rest of the file unchanged)",
            "<!-- rest of the page -->",
        ] {
            assert_eq!(plain(line), Some(Plainness::WordsAlone), "{line:?}");
        }
        for text in [
            "...",
            "# ...",
            "// remaining bytes",
            "# rest of the arguments of the command",
            "# import the original module...",
            "// ... all imports ...",
            "[unchanged]",
            "(unchanged)",
            "[...rest]",
            "[...existing, ...remaining]",
            "...remaining,",
            "unchanged = True",
        ] {
            assert_eq!(plain(text), None, "{text:?}");
        }
    }
}
