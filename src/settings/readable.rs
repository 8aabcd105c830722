//! Reads what is right in a file of settings in which something is wrong. It is for commands that carry out no reply: a slip of
//! the pen does not keep the user from looking, and from taking back. Whatever listens takes all of a file or nothing.

use crate::text::names::typos;
use toml::{Table, Value};

use super::{Settings, lay_over};

/// The settings of a file that are right, and the names of the others.
#[derive(Debug, Default)]
pub(super) struct Readable {
    pub(super) table: Table,
    /// Sections and keys outside them, as they are written there.
    lost: Vec<String>,
}

impl Readable {
    /// Reads all settings that are right: section by section where the text as a whole is not well-formed, and in a section
    /// key by key.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut whole = Table::new();
        for piece in pieces(text) {
            match toml::from_str::<Table>(piece) {
                Ok(table) => lay_over(&mut whole, table),
                Err(_) => found.lost.extend(names(piece)),
            }
        }
        for (name, value) in whole {
            let parts = match value {
                Value::Table(section) if !section.is_empty() => {
                    let keys = section.into_iter();
                    keys.map(|key| Table::from_iter([key]).into()).collect()
                }
                value => vec![value],
            };
            for part in parts {
                let table = Table::from_iter([(name.clone(), part)]);
                match table.clone().try_into::<Settings>() {
                    Ok(_) => lay_over(&mut found.table, table),
                    Err(_) => found.lost.push(name.clone()),
                }
            }
        }
        found
    }

    /// Tells if something of a section was not read. A section with nearly this name may have been meant for it.
    pub(super) fn has_lost(&self, section: &str) -> bool {
        let is_meant = |name: &String| typos(&name.to_lowercase(), section) <= 1;
        self.lost.iter().any(is_meant)
    }
}

/// The text in pieces of which each may be read by itself: all of it where it is well-formed, else its sections. A text in
/// several lines may hold what looks like the head of one, so where there may be such, nothing is taken apart.
fn pieces(text: &str) -> Vec<&str> {
    let is_whole = toml::from_str::<Table>(text).is_ok();
    if is_whole || ["\"\"\"", "'''"].iter().any(|quotes| text.contains(quotes)) {
        return vec![text];
    }
    let lines = text.split_inclusive('\n');
    let mut at = 0;
    let starts = lines.filter_map(|line| {
        let start = at;
        at += line.len();
        (start > 0 && line.trim_start().starts_with('[')).then_some(start)
    });
    let mut ends: Vec<usize> = starts.collect();
    ends.push(text.len());
    let mut from = 0;
    let cut = |end: usize| {
        let piece = &text[from..end];
        from = end;
        piece
    };
    ends.into_iter().map(cut).collect()
}

/// The sections and keys that a piece may be about: what its lines begin with, where that looks like the head of a section or
/// like a key, and not like a value of a list.
fn names(piece: &str) -> Vec<String> {
    let words = piece.lines().filter_map(|line| {
        let line = line.trim_start();
        let word = line.trim_start_matches(['[', ' ', '\t', '"', '\'']);
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
        let (word, rest) = word.split_at(end.unwrap_or(word.len()));
        let rest = rest.trim_start_matches(['"', '\'']).trim_start();
        let is_name = line.starts_with('[') || rest.starts_with(['.', '=']);
        (!word.is_empty() && is_name).then(|| word.to_owned())
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares what is read, as TOML, and if `[git]` is whole.
    #[track_caller]
    fn check(text: &str, read: &str, git: bool) {
        let found = Readable::of(text);
        assert_eq!(found.table.to_string(), read, "{text}");
        assert_eq!(!found.has_lost("git"), git, "{text}");
    }

    #[test]
    fn what_is_right_is_read() {
        let git = "[git]\ntarget = \"side\"\n";
        check(git, git, true);
        check("", "", true);
        // Wrong values and names, in a text that is well-formed.
        check(&format!("{git}commit = 7\n"), git, false);
        check(&format!("[exec]\ntimeout = 'soon'\n{git}"), git, true);
        check(&format!("debuonce = 1\n[wacth]\n{git}"), git, true);
        check("[gti]\ntarget = 'side'\n", "", false);
        check("git = 7\n", "", false);
        // Not well-formed.
        check(&format!("[exec]\ntimeout = 5m\n{git}"), git, true);
        check(&format!("[exec\ntimeout = '5m'\n{git}"), git, true);
        check(&format!("[exec]\ndeny = ['a',\n{git}"), git, true);
        check(
            "[git]\ntarget = side\n[exec]\ntimeout = '5m'\n",
            "[exec]\ntimeout = \"5m\"\n",
            false,
        );
        check("git.target = side\n", "", false);
        check("[ git\ntarget = 'side'\n", "", false);
        check(&format!("x = \n{git}"), git, true);
        check(
            &format!("[exec]\nask = [\n  'git',\n  'git push',\n{git}"),
            git,
            true,
        );
        check(&format!("\"git\".commit = x\n{git}"), git, false);
        // What is in the text of a hook is no setting.
        let hook = "[[hooks.after]]\nrun = '''\n[git]\ntarget = 'side'\n'''\nx = \n";
        check(hook, "", false);
    }
}
