//! What names stand for in a script: variables, aliases, and what functions are called with. It follows no order: each value
//! that a name is given anywhere counts everywhere.

use std::collections::HashMap;

use super::command::{joined, program};
use super::shell::{Node, ShellScript, Word};

/// The most values of one name that are looked at.
const MOST: usize = 8;

/// Programs whose arguments are assignments.
const DECLARE: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];

/// ShellValues by their names: `$x`, or `x` for an alias.
pub(super) struct ShellValues(HashMap<String, Vec<String>>);

impl ShellValues {
    pub(super) fn of(script: &mut ShellScript) -> Self {
        let mut values = Self(HashMap::new());
        for text in std::mem::take(&mut script.assigned) {
            values.add("$", &text);
        }
        for node in &script.nodes {
            let arguments = node.words.get(1..).unwrap_or_default();
            let texts = || arguments.iter().map(|word| word.text.as_str());
            match program(&node.words) {
                "alias" => texts().for_each(|text| values.add("", text)),
                name if DECLARE.contains(&name) => texts().for_each(|text| values.add("$", text)),
                name if script.functions.contains(name) => {
                    let all = joined(arguments);
                    let first = texts().next().unwrap_or_default();
                    for given in [format!("@={all}"), format!("*={all}"), format!("1={first}")] {
                        values.add("$", &given);
                    }
                }
                _ => {}
            }
        }
        values
    }

    fn add(&mut self, sign: &str, assignment: &str) {
        if let Some((name, value)) = assignment.split_once('=') {
            let values = self.0.entry(format!("{sign}{name}")).or_default();
            if values.len() < MOST {
                values.push(value.to_owned());
            }
        }
    }

    /// Returns the command that an alias makes of this one.
    pub(super) fn aliased(&self, node: &Node) -> Option<String> {
        let (first, rest) = node.words.split_first()?;
        let value = self.0.get(&first.text).filter(|_| node.level == 0)?;
        Some(format!("{} {}", value.first()?, joined(rest)))
    }

    /// A command as it is written, and as it is with each value of the variables that are words of it.
    pub(super) fn forms(&self, words: &[Word]) -> Vec<Vec<Word>> {
        let values = |word: &Word| {
            let name = (!word.fixed).then(|| word.text.replace(['{', '}'], ""));
            self.0.get(&name?)
        };
        let most = words.iter().filter_map(values).map(Vec::len).max();
        let expanded = |word: &Word, at: usize| {
            let Some(values) = values(word) else {
                return vec![word.clone()];
            };
            let words = values[at.min(values.len() - 1)].split_whitespace();
            let words = words.map(|text| Word::new(text, !text.contains('$'), word.place));
            words.collect()
        };
        let form = |at| words.iter().flat_map(|word| expanded(word, at)).collect();
        let forms = (0..most.unwrap_or_default()).map(form);
        std::iter::once(words.to_vec()).chain(forms).collect()
    }
}
