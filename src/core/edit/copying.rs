//! Undoes what a page or a habit does to a payload as a whole: a Markdown fence around it, line numbers before every
//! line, entities, JSON escapes. Says what the text was before, never whether the file has it.

use crate::reply::dialects::block::is_fence;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    Fence,
    Numbers,
    Entities,
    Escapes,
}

const DAMAGES: [Damage; 4] = [
    Damage::Fence,
    Damage::Numbers,
    Damage::Entities,
    Damage::Escapes,
];

/// Texts as they may have been before they were damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Undone {
    pub(super) searches: Vec<String>,
    /// Nothing where the replacement is damaged in part.
    pub(super) replacement: Option<String>,
    /// The number that stood before the first line of the first search text.
    pub(super) number: Option<usize>,
    /// A fence was around the search texts, and none or another around the replacement.
    pub(super) is_fenced_alone: bool,
}

/// The texts that search texts and their replacement may have been, with the fewest kinds of damage first. All kinds are undone in
/// every search text; a replacement that shows no sign of one is not damaged by it.
pub(super) fn undone(searches: &[&str], replacement: &str) -> Vec<Undone> {
    let mut sets: Vec<u32> = (1..1 << DAMAGES.len()).collect();
    sets.sort_by_key(|set| set.count_ones());
    let undo = |set: &u32| {
        let damages = (0..).zip(DAMAGES).filter(|(bit, _)| set & 1 << bit != 0);
        undo(damages.map(|(_, damage)| damage), searches, replacement)
    };
    sets.iter().filter_map(undo).collect()
}

fn undo(
    damages: impl Iterator<Item = Damage>,
    searches: &[&str],
    replacement: &str,
) -> Option<Undone> {
    let mut undone = Undone {
        searches: searches.iter().map(|text| (*text).to_owned()).collect(),
        replacement: Some(replacement.to_owned()),
        number: None,
        is_fenced_alone: false,
    };
    for damage in damages {
        if damage == Damage::Numbers {
            undone.number = first_number(&undone.searches[0]);
        }
        let was = undone.searches.clone();
        for search in &mut undone.searches {
            *search = damage.undo(search)?;
        }
        undone.replacement = undone.replacement.and_then(|text| {
            let is_alike = was.iter().any(|search| damage.is_alike(search, &text));
            let bare = damage.undo(&text);
            let is_own = bare.is_none() || was.iter().all(|search| first(search) != first(&text));
            undone.is_fenced_alone |= damage == Damage::Fence && is_own;
            match bare {
                Some(undone) => is_alike.then_some(undone),
                None => (!damage.is_seen_in(&text)).then_some(text),
            }
        });
    }
    Some(undone)
}

fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

impl Damage {
    /// The text without the damage; nothing where it has none of the kind as a whole.
    fn undo(self, text: &str) -> Option<String> {
        let (body, end) = match text.strip_suffix('\n') {
            Some(body) => (body, "\n"),
            None => (text, ""),
        };
        let body = match self {
            Self::Fence => without_fence(body)?,
            Self::Numbers => without_numbers(body)?,
            Self::Entities => without_entities(body)?,
            Self::Escapes => without_escapes(body)?,
        };
        Some(body + end)
    }

    /// Returns whether a replacement is damaged in the same way as a search text, both as a whole.
    fn is_alike(self, search: &str, replacement: &str) -> bool {
        match self {
            // What is between may be numbers and marks of its own.
            Self::Numbers => {
                let mark = |text: &str| {
                    let marks = text
                        .lines()
                        .filter_map(|line| Some(numbered(line)?.mark.to_owned()));
                    marks.into_iter().find(|mark| !mark.is_empty())
                };
                let marks = mark(search).zip(mark(replacement));
                first_number(search) == first_number(replacement)
                    && marks.is_none_or(|(one, other)| one == other)
            }
            Self::Fence => true,
            // A string that was copied out of another has all of its escapes twice.
            Self::Escapes => ["\\n", "\\t"]
                .iter()
                .all(|escape| search.contains(escape) || !replacement.contains(escape)),
            // What is an entity when it is undone was escaped twice, and so would its replacement be.
            Self::Entities => {
                let undone = self.undo(search).unwrap_or_default();
                let is_twice = ENTITIES.iter().any(|(entity, _)| undone.contains(entity));
                !is_twice || replacement.contains("&amp;")
            }
        }
    }

    /// Returns whether anything in a text that is not damaged as a whole may be damage of the kind.
    fn is_seen_in(self, text: &str) -> bool {
        match self {
            Self::Fence => {
                let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                let (first, last) = (lines.next(), lines.next_back());
                first.into_iter().chain(last).any(is_fence)
            }
            Self::Numbers => text
                .lines()
                .any(|line| !line.trim().is_empty() && numbered(line).is_some()),
            Self::Entities => ENTITIES.iter().any(|(entity, _)| text.contains(entity)),
            // Several lines, and quotes without a backslash, were never in a string of JSON.
            Self::Escapes => {
                let body = text.strip_suffix('\n').unwrap_or(text);
                let bare = body.replace("\\\"", "");
                let has_quotes = bare.len() < body.len();
                !bare.contains('"') && (has_quotes || body.contains('\\') && !body.contains('\n'))
            }
        }
    }
}

fn without_fence(body: &str) -> Option<String> {
    let (first, rest) = body.split_once('\n')?;
    let (inner, last) = rest.rsplit_once('\n')?;
    let [opening, closing] = [first, last].map(str::trim);
    let [info, end] = [opening, closing].map(|line| line.trim_start_matches(['`', '~']));
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | '#');
    let opens = is_fence(opening) && info.chars().all(is_word);
    let closes = is_fence(closing) && end.is_empty();
    (opens && closes).then(|| inner.to_owned())
}

/// A line that begins with its number.
struct NumberedLine<'t> {
    number: usize,
    /// The text between the number and the line's own; `""` for an empty line, which may have lost the end of it.
    mark: &'t str,
    text: &'t str,
}

fn numbered(line: &str) -> Option<NumberedLine<'_>> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = line[..line.len() - rest.len()].parse().ok()?;
    for mark in [": ", " | ", "\t", "\u{2192}"] {
        if let Some(text) = rest.strip_prefix(mark) {
            return Some(NumberedLine { number, mark, text });
        }
    }
    // The blank behind the mark of an empty line is easily lost.
    matches!(rest.trim_end(), "" | ":" | " |").then_some(NumberedLine {
        number,
        mark: "",
        text: "",
    })
}

fn first_number(text: &str) -> Option<usize> {
    numbered(text.lines().next()?).map(|line| line.number)
}

fn without_numbers(body: &str) -> Option<String> {
    let lines = body.split('\n').map(numbered);
    let lines = lines.collect::<Option<Vec<NumberedLine<'_>>>>()?;
    let mut marks = lines.iter().map(|line| line.mark);
    let mark = marks.clone().find(|mark| !mark.is_empty());
    let is_one_mark = marks.all(|own| own.is_empty() || Some(own) == mark);
    let mut pairs = lines.windows(2);
    let is_counted = pairs.all(|pair| pair[0].number.checked_add(1) == Some(pair[1].number));
    let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
    (is_one_mark && is_counted).then(|| texts.join("\n"))
}

const ENTITIES: [(&str, char); 5] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&quot;", '"'),
    ("&#39;", '\''),
    ("&amp;", '&'),
];

fn without_entities(body: &str) -> Option<String> {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find(['<', '>', '&']) {
        let mut entities = ENTITIES.iter();
        // A bare one would have been escaped with the others.
        let (entity, c) = entities.find(|(entity, _)| rest[at..].starts_with(entity))?;
        text += &rest[..at];
        text.push(*c);
        rest = &rest[at + entity.len()..];
    }
    (rest.len() < body.len()).then(|| text + rest)
}

fn without_escapes(body: &str) -> Option<String> {
    if body.contains('\n') {
        return without_escaped_quotes(body);
    }
    let mut text = String::with_capacity(body.len());
    let mut is_escaped = false;
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match (c, chars.peek()) {
            // A bare quote would have been escaped with the others.
            ('"', _) => return None,
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some(c @ ('"' | '\\'))) => *c,
            _ => {
                text.push(c);
                continue;
            }
        };
        chars.next();
        text.push(escaped);
        is_escaped = true;
    }
    is_escaped.then_some(text)
}

/// Lines in which every quote is escaped, and nothing else is.
fn without_escaped_quotes(body: &str) -> Option<String> {
    let text = body.replace("\\\"", "\"");
    let quotes = text.matches('"').count();
    let is_all = quotes > 0 && body.matches("\\\"").count() == quotes;
    (is_all && !text.contains('\\')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(search: &str, replacement: &str) -> Option<(String, Option<String>)> {
        let mut all = undone(&[search], replacement).into_iter();
        all.next()
            .map(|mut undone| (undone.searches.remove(0), undone.replacement))
    }

    #[test]
    fn what_is_damaged_as_a_whole_is_undone_in_both() {
        for (search, replacement, (was, new)) in [
            ("```rs\na\n```\n", "```\nb\n```\n", ("a\n", Some("b\n"))),
            ("9: a\n10: b\n", "9: a\n10:\n", ("a\nb\n", Some("a\n\n"))),
            ("7 | a\n", "b\n", ("a\n", Some("b\n"))),
            ("a &lt; b\n", "a &lt;= b\n", ("a < b\n", Some("a <= b\n"))),
            ("a\\n\\\"b\\\"", "c", ("a\n\"b\"", Some("c"))),
        ] {
            let expected = Some((was.to_owned(), new.map(str::to_owned)));
            assert_eq!(first(search, replacement), expected, "{search}");
        }
    }

    #[test]
    fn a_replacement_damaged_in_part_is_none() {
        assert_eq!(
            first("1: a\n2: b\n", "1: a\nx\n2: b\n"),
            Some(("a\nb\n".to_owned(), None))
        );
        assert_eq!(
            first("a &lt; b\n", "a < &amp;\n"),
            Some(("a < b\n".to_owned(), None))
        );
    }

    #[test]
    fn what_only_looks_damaged_is_not_undone() {
        for search in [
            "1: a\n3: b\n",
            "1: a\n2 | b\n",
            "a &lt; b < c\n",
            "a \"b\" \\n",
            "```\na\n",
        ] {
            assert_eq!(first(search, ""), None, "{search}");
        }
    }
}
