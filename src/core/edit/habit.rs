//! Names the habits of models that keep a search text from being found, seen from it and the file. Undoes none of them.

use std::collections::HashSet;

use super::elision::elision;

/// A habit that keeps a search text from being found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Habit {
    /// This line of it, from 1, stands for text that is left out.
    LeftOut { line: usize },
    /// Its lines begin with the marks of a diff.
    DiffMarks,
    /// Its lines begin with their numbers.
    LineNumbers,
    /// It has what stands for another text in a language that the file has none of.
    Escaped {
        escape: &'static str,
        means: &'static str,
    },
}

/// Escapes, and what they stand for in a sentence.
const ESCAPES: [(&str, &str); 7] = [
    ("&lt;", "`<`"),
    ("&gt;", "`>`"),
    ("&amp;", "`&`"),
    ("&quot;", "`\"`"),
    ("\\\"", "`\"`"),
    ("\\n", "a line break"),
    ("\\t", "a tab"),
];

/// Returns the habit that keeps a search text from being found in a file, if it is a known one.
pub fn habit(search: &str, file: &str) -> Option<Habit> {
    let there: HashSet<&str> = file.lines().map(str::trim).collect();
    let is_new = |line: &str| !there.contains(line.trim());
    let left_out = |line: &str| elision(line).is_some() && is_new(line);
    if let Some(index) = search.lines().position(left_out) {
        return Some(Habit::LeftOut { line: index + 1 });
    }
    let lines: Vec<&str> = search
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    // A line that is there as it stands is no line with something before it.
    let stands_without = |bare: &dyn Fn(&str) -> Option<String>| {
        let all: Option<Vec<String>> = lines.iter().map(|line| bare(line)).collect();
        let is_there = |(bare, line): (&String, &&str)| {
            let bare = bare.trim();
            !bare.is_empty() && there.contains(bare) && is_new(line)
        };
        all.is_some_and(|all| all.iter().zip(&lines).any(is_there))
    };
    let is_marked = lines.iter().any(|line| line.starts_with(['+', '-']));
    if is_marked && stands_without(&|line| unmarked(line).map(str::to_owned)) {
        return Some(Habit::DiffMarks);
    }
    if stands_without(&|line| unnumbered(line).map(str::to_owned)) {
        return Some(Habit::LineNumbers);
    }
    let (escape, means) = ESCAPES
        .into_iter()
        .find(|(escape, _)| search.contains(escape) && !file.contains(escape))?;
    Some(Habit::Escaped { escape, means })
}

/// A line of a diff without its mark; the line that heads a hunk has nothing else.
fn unmarked(line: &str) -> Option<&str> {
    if line.starts_with("@@") {
        return Some("");
    }
    line.strip_prefix(['+', '-', ' '])
}

/// A line without the number before it.
fn unnumbered(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == line.len() {
        return None;
    }
    rest.strip_prefix('\t')
        .or_else(|| rest.trim_start().strip_prefix(['|', ':', '→']))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "fn a() {\n    b(\"x\" < y);\n}\n- an item\n3: three\n";

    #[test]
    fn known_habits() {
        let escaped = |escape, means| Some(Habit::Escaped { escape, means });
        for (search, expected) in [
            ("fn a() {\n    ...\n}\n", Some(Habit::LeftOut { line: 2 })),
            (
                "fn a() {\n    // ... existing code\n",
                Some(Habit::LeftOut { line: 2 }),
            ),
            (
                " fn a() {\n-    b(\"x\" < y);\n+    c();\n",
                Some(Habit::DiffMarks),
            ),
            ("@@ -1,2 +1,2 @@\n-fn a() {\n", Some(Habit::DiffMarks)),
            (
                "1: fn a() {\n2:     b(\"x\" < y);\n",
                Some(Habit::LineNumbers),
            ),
            ("  1 | fn a() {\n", Some(Habit::LineNumbers)),
            ("1\tfn a() {\n", Some(Habit::LineNumbers)),
            ("    b(\"x\" &lt; y);\n", escaped("&lt;", "`<`")),
            ("    b(\\\"x\\\" < y);\n", escaped("\\\"", "`\"`")),
            ("fn a() {\\n    b", escaped("\\n", "a line break")),
        ] {
            assert_eq!(habit(search, FILE), expected, "{search:?}");
        }
    }

    #[test]
    fn other_text_is_just_another() {
        for search in [
            "fn c() {\n",
            "- an item\n- another\n",
            "3: three\n4: four\n",
            "-5 + 3\n",
            "12: nothing of the file\n",
        ] {
            assert_eq!(habit(search, FILE), None, "{search:?}");
        }
        assert_eq!(habit("a\\nc", "a\\nb"), None);
        assert_eq!(habit("a\n...\nc", "a\n...\nb\n"), None);
    }
}
