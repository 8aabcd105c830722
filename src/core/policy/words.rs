//! Splits a text that is no shell script, or none that can be read, into words by statement. It knows no language: what
//! stands in a comment or a string counts.

use super::shell::Word;

/// The words of one statement, in the parts that a `|` makes.
pub(super) type Statement = Vec<Vec<Word>>;

/// The statements of a text. One ends with its line, unless parentheses or brackets are open.
pub(super) fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut statement: Statement = vec![Vec::new()];
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length > 0 {
            if let Some(part) = statement.last_mut() {
                // The full stop of a sentence.
                let text = rest[..length].trim_end_matches('.');
                part.push(Word::new(text, true, part.len()));
            }
            rest = &rest[length..];
            continue;
        }
        let continued = rest.starts_with("\\\n");
        rest = &rest[c.len_utf8()..];
        match c {
            '(' | '[' | '{' => open.push(c),
            ')' | ']' | '}' => {
                open.pop();
            }
            '\\' if continued => rest = &rest[1..],
            '|' => statement.push(Vec::new()),
            '\n' if matches!(open.last(), Some('(' | '[')) => {}
            '\n' | ';' | '&' => found.push(std::mem::replace(&mut statement, vec![Vec::new()])),
            _ => {}
        }
    }
    found.push(statement);
    found.retain(|statement| statement.iter().any(|part| !part.is_empty()));
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_-./".contains(c)
}
