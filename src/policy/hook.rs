//! The commands of hooks, and how the values of variables get into them. Runs nothing.
//!
//! A value never becomes a part of the script: what stands in its place names a variable of the environment, in the quotes
//! that this needs there. So no value can be taken for a command, whatever it holds.

/// What stands open around a place of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `"`
    Double,
    /// `'`
    Single,
    /// `$'`
    Ansi,
    /// `(`, with or without a `$`
    Paren,
    /// `#`
    Comment,
}

/// Whether a text can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A command for a shell in which each `${name}` is the value of a variable, as part of one word. `named` says what the
/// variable is called in the environment, or why it cannot be had.
///
/// # Errors
/// Where it cannot be had, or not at that place.
pub fn interpolated(
    command: &str,
    named: impl Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut script = String::with_capacity(command.len());
    let mut open = Vec::new();
    let mut in_ticks = false;
    // The body of a here-document has rules of its own.
    let mut behind = false;
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        let inside = open.last().copied();
        if let Some(after) = rest.strip_prefix("\\${") {
            script += "${";
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("${")
            && inside != Some(Open::Comment)
        {
            let name = after.split_once('}').map(|(name, _)| name);
            let name = name.filter(|name| is_name(name)).ok_or_else(|| {
                let start: String = rest.chars().take(20).collect();
                format!("`{start}` is not a variable such as `${{success}}`: write `\\${{` for the shell's own")
            })?;
            let var = named(name)?;
            if in_ticks || behind {
                let place = if in_ticks {
                    "in back-ticks"
                } else {
                    "after a `<<`"
                };
                return Err(format!(
                    "`${{{name}}}` cannot be used {place}: use `${var}` from the environment there"
                ));
            }
            script += &match inside {
                Some(Open::Double) => format!("${{{var}}}"),
                Some(Open::Single) => format!("'\"${{{var}}}\"'"),
                Some(Open::Ansi) => format!("'\"${{{var}}}\"$'"),
                Some(Open::Paren | Open::Comment) | None => format!("\"${{{var}}}\""),
            };
            rest = &after[name.len() + 1..];
            continue;
        }
        let taken = match (inside, c) {
            (Some(Open::Single), '\'') | (Some(Open::Ansi), '\'') | (Some(Open::Comment), '\n') => {
                open.pop();
                1
            }
            (Some(Open::Single | Open::Comment), _) => c.len_utf8(),
            // The next character means nothing.
            (_, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (Some(Open::Ansi), _) => c.len_utf8(),
            (_, '`') => {
                in_ticks = !in_ticks;
                1
            }
            (_, '$') if rest.starts_with("$(") => {
                open.push(Open::Paren);
                2
            }
            (Some(Open::Double), '"') => {
                open.pop();
                1
            }
            (Some(Open::Double), _) => c.len_utf8(),
            (_, '$') if rest.starts_with("$'") => {
                open.push(Open::Ansi);
                2
            }
            (_, '\'') => {
                open.push(Open::Single);
                1
            }
            (_, '"') => {
                open.push(Open::Double);
                1
            }
            (_, '(') => {
                open.push(Open::Paren);
                1
            }
            (Some(Open::Paren), ')') => {
                open.pop();
                1
            }
            (_, '#') if begins_word(&script) => {
                open.push(Open::Comment);
                1
            }
            (_, '<') if rest.starts_with("<<<") => 3,
            (_, '<') if rest.starts_with("<<") => {
                behind = true;
                2
            }
            _ => c.len_utf8(),
        };
        script += &rest[..taken];
        rest = &rest[taken..];
    }
    Ok(script)
}

/// Whether what comes behind this part of a script begins a word.
fn begins_word(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || ";&|()<>`".contains(c))
}
