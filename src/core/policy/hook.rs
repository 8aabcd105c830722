//! The commands of hooks, and how the values of variables get into them. Runs nothing.
//!
//! A value never becomes a part of the script: what stands in its place names a variable of the environment, in the quotes
//! that this needs there. So no value can be taken for a command, whatever it holds.

/// Returns true if a text can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The reason why a variable cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    #[error("`{0}` is not a variable such as `${{success}}`: write `\\${{` for the shell's own")]
    NoName(String),
    #[error("`${{{name}}}` cannot be used {place}: use `${var}` from the environment there")]
    Place {
        name: String,
        place: &'static str,
        var: String,
    },
    /// There is none of that name, or it has no value; in words.
    #[error("{0}")]
    NoValue(String),
}

/// A script as it is being read.
#[derive(Default)]
struct HookScript {
    /// The quotes, parentheses and comments that are open, each by its first sign: `"`, `'`, `$'`, `(`, `$(` or `#`.
    open: Vec<&'static str>,
    in_ticks: bool,
    /// The body of a here-document has rules of its own.
    is_behind_here_document: bool,
}

/// Returns a command for a shell in which each `${name}` is the value of a variable, as part of one word. `named` returns the
/// name of the variable in the environment, or the reason why it cannot be had.
///
/// # Errors
/// Where it cannot be had, or not at that place.
pub fn interpolated(
    command: &str,
    named: impl Fn(&str) -> Result<String, VariableError>,
) -> Result<String, VariableError> {
    let mut script = String::with_capacity(command.len());
    let mut read = HookScript::default();
    let mut rest = command;
    while let Some(c) = rest.chars().next() {
        let is_comment = read.open.last() == Some(&"#");
        if let Some(after) = rest.strip_prefix("\\${") {
            script += "${";
            rest = after;
        } else if let Some(after) = rest.strip_prefix("${").filter(|_| !is_comment) {
            let name = after.split_once('}').map(|(name, _)| name);
            let name = name
                .filter(|name| is_name(name))
                .ok_or_else(|| VariableError::NoName(rest.chars().take(20).collect()))?;
            script += &read.value(name, &named(name)?)?;
            rest = &after[name.len() + 1..];
        } else {
            let length = read.pass(c, rest, begins_word(&script));
            script += &rest[..length];
            rest = &rest[length..];
        }
    }
    Ok(script)
}

impl HookScript {
    /// Returns the text that stands for the value of a variable at this place.
    fn value(&self, name: &str, var: &str) -> Result<String, VariableError> {
        let place = if self.in_ticks {
            "in back-ticks"
        } else if self.is_behind_here_document {
            "after a `<<`"
        } else {
            return Ok(match self.open.last() {
                Some(&"\"") => format!("${{{var}}}"),
                Some(&"'") => format!("'\"${{{var}}}\"'"),
                Some(&"$'") => format!("'\"${{{var}}}\"$'"),
                _ => format!("\"${{{var}}}\""),
            });
        };
        Err(VariableError::Place {
            name: name.to_owned(),
            place,
            var: var.to_owned(),
        })
    }

    /// Goes over the next part of the script, which begins with `c`, and returns its length.
    fn pass(&mut self, c: char, rest: &str, begins_word: bool) -> usize {
        let inside = self.open.last().copied();
        let opened = match (inside, c) {
            (Some("'" | "$'"), '\'')
            | (Some("\""), '"')
            | (Some("#"), '\n')
            | (Some("(" | "$("), ')') => {
                self.open.pop();
                return 1;
            }
            (Some("'" | "#"), _) => return c.len_utf8(),
            // The next character means nothing.
            (_, '\\') => return 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (Some("$'"), _) => return c.len_utf8(),
            (_, '`') => {
                self.in_ticks = !self.in_ticks;
                return 1;
            }
            (_, '$') if rest.starts_with("$(") => "$(",
            (Some("\""), _) => return c.len_utf8(),
            (_, '$') if rest.starts_with("$'") => "$'",
            (_, '\'') => "'",
            (_, '"') => "\"",
            (_, '(') => "(",
            (_, '#') if begins_word => "#",
            (_, '<') if rest.starts_with("<<<") => return 3,
            (_, '<') if rest.starts_with("<<") => {
                self.is_behind_here_document = true;
                return 2;
            }
            _ => return c.len_utf8(),
        };
        self.open.push(opened);
        opened.len()
    }
}

/// Returns true if what comes behind this part of a script begins a word.
fn begins_word(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || ";&|()<>`".contains(c))
}
