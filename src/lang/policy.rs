//! The policy over exec scripts: which are refused, and which are asked for first. That over commands is in `actions`, that
//! over paths in `paths`.
//!
//! This is a courtesy and no fence. It reads a script as the shell does, but knows neither what a variable holds nor what a
//! file that is run says: who wants to get round it can. What a script may touch is the sandbox's business, never its.
//!
//! # Patterns
//!
//! A pattern is a command as a user would type it:
//!
//! | pattern | matches a command … |
//! | --- | --- |
//! | `sudo` | of that name, whatever its folder and its arguments; also one that another runs (`env`, `xargs`, `bash -c`, …) |
//! | `git reset --hard` | whose arguments have these words among them, at any place; words are globs. For git and the like the first word is what they do, so that `git stash push` is no `git push` |
//! | `rm -rf` | that has these options, in any spelling: `-fr`, `-r -f`, `--recursive --force` |
//! | `rm -rf !target !/tmp/*` | with at least one argument that is none of these: neither the whole path nor a part of it. Nobody knows what a variable or a path with `..` is, so they are none |
//! | `curl \| sh` | in a pipeline behind the other, or that runs its output: `sh -c "$(curl …)"`, `bash <(curl …)` |

pub mod actions;
mod command;
pub mod paths;
mod pattern;
pub mod secrets;
mod shell;
mod words;

pub use pattern::PatternError;

use command::{Interpreter, Source};
use pattern::{Pattern, Stage};
use shell::{Node, Script, Via, Word};
use words::Statement;

use super::language::Language;

/// How deep programs given as text (`bash -c "eval '…'"`) are read.
const LEVELS: usize = 8;
/// How much of a command is shown, in characters.
const SHOWN: usize = 80;

/// Which scripts are refused, and which are asked for first.
#[derive(Debug)]
pub struct Policy {
    deny: Vec<Pattern>,
    ask: Vec<Pattern>,
}

/// What is to become of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'p> {
    Allowed,
    /// `command` is the one that matched, as one line, shortened.
    Ask {
        pattern: &'p str,
        command: String,
    },
    /// The same, and no question.
    Denied {
        pattern: &'p str,
        command: String,
    },
}

impl Policy {
    /// The policy of these patterns.
    ///
    /// # Errors
    /// The first pattern that means nothing.
    pub fn new(deny: &[String], ask: &[String]) -> Result<Self, PatternError> {
        let parse = |patterns: &[String]| -> Result<Vec<Pattern>, PatternError> {
            patterns.iter().map(|text| Pattern::parse(text)).collect()
        };
        Ok(Self {
            deny: parse(deny)?,
            ask: parse(ask)?,
        })
    }

    /// Judges a script: what is refused goes before what is asked for.
    pub fn judge(&self, script: &str, lang: Language) -> Verdict<'_> {
        let read = Read::new(script, lang);
        let find = |patterns: &'_ [Pattern]| {
            let mut found = patterns.iter().enumerate();
            found.find_map(|(at, pattern)| Some((at, read.find(pattern)?)))
        };
        if let Some((at, command)) = find(&self.deny) {
            let pattern = &self.deny[at].text;
            return Verdict::Denied { pattern, command };
        }
        if let Some((at, command)) = find(&self.ask) {
            let pattern = &self.ask[at].text;
            return Verdict::Ask { pattern, command };
        }
        Verdict::Allowed
    }
}

/// A script as it is judged.
struct Read {
    nodes: Vec<Node>,
    /// Of each node, its command and those that it is given to run.
    commands: Vec<Vec<Vec<Word>>>,
    /// What is no shell script, or could not be read as one.
    statements: Vec<Statement>,
}

/// What reaches a node from those that matched the pattern so far.
#[derive(Clone, Default)]
struct Arrived {
    /// The last of them.
    from: Option<usize>,
    as_input: bool,
    in_words: Vec<usize>,
}

impl Read {
    fn new(script: &str, lang: Language) -> Self {
        let mut read = Self {
            nodes: Vec::new(),
            commands: Vec::new(),
            statements: Vec::new(),
        };
        if lang.is_shell() {
            read.shell(script);
        } else {
            read.statements = words::statements(script);
        }
        read
    }

    /// Reads a shell script, and the programs in it that are given as text.
    fn shell(&mut self, text: &str) {
        let mut script = Script::default();
        shell::read(text, None, &mut script);
        let mut at = 0;
        while at < script.nodes.len() {
            let commands = command::all(&script.nodes[at]);
            for words in &commands {
                let Some(interpreter) = Interpreter::of(words) else {
                    continue;
                };
                let program = match interpreter.source {
                    Source::Text(range) => command::joined(words.get(range).unwrap_or_default()),
                    Source::Stdin => std::mem::take(&mut script.nodes[at].stdin),
                    Source::Word(_) => continue,
                };
                self.program(&program, interpreter.is_shell, at, &mut script);
            }
            let next = script.nodes[at].feeds.map(|next| &script.nodes[next]);
            if let (Some(text), Some(next)) = (command::printed(&script.nodes[at]), next)
                && let Some(is_shell) = reads_program(next)
            {
                self.program(&text, is_shell, at, &mut script);
            }
            self.commands.push(commands);
            at += 1;
        }
        for text in &script.unread {
            self.statements.extend(words::statements(text));
        }
        self.nodes = script.nodes;
    }

    fn program(&mut self, text: &str, is_shell: bool, at: usize, script: &mut Script) {
        if is_shell && script.nodes[at].level < LEVELS {
            shell::read(text, Some(at), script);
        } else {
            self.statements.extend(words::statements(text));
        }
    }

    /// The first command that the pattern means, in one line.
    fn find(&self, pattern: &Pattern) -> Option<String> {
        self.in_commands(pattern)
            .or_else(|| self.in_statements(pattern))
    }

    fn in_commands(&self, pattern: &Pattern) -> Option<String> {
        let [first, more @ ..] = &pattern.stages[..] else {
            return None;
        };
        let matching = |stage: &Stage, node: usize| {
            let mut commands = self.commands[node].iter();
            commands.position(|words| stage.matches(words))
        };
        let mut lines: Vec<(usize, String)> = Vec::new();
        for node in 0..self.nodes.len() {
            if let Some(at) = matching(first, node) {
                let line = line(&self.commands[node][at]);
                if more.is_empty() {
                    return Some(line);
                }
                lines.push((node, line));
            }
        }
        for stage in more {
            if lines.is_empty() {
                return None;
            }
            let arrived = self.flow(&lines);
            let mut reached = Vec::new();
            for (node, arrived) in arrived.iter().enumerate() {
                if let Some(from) = arrived.from
                    && let Some(at) = matching(stage, node)
                    && takes(&self.commands[node][at], arrived)
                {
                    let right = line(&self.commands[node][at]);
                    reached.push((node, shown(&format!("{} | {right}", lines[from].1))));
                }
            }
            lines = reached;
        }
        lines.into_iter().next().map(|(_, line)| line)
    }

    /// Where the output of these nodes goes: along pipelines, out of groups and substitutions, and through whatever it
    /// meets.
    fn flow(&self, from: &[(usize, String)]) -> Vec<Arrived> {
        let mut arrived = vec![Arrived::default(); self.nodes.len()];
        let mut seen = vec![false; self.nodes.len()];
        for (number, (node, _)) in from.iter().enumerate() {
            let mut at = *node;
            while !std::mem::replace(&mut seen[at], true) {
                let node = &self.nodes[at];
                if let Some(next) = node.feeds {
                    let is_group = self.nodes[next].words.is_empty();
                    let end = if is_group {
                        self.nodes[next].end
                    } else {
                        next + 1
                    };
                    for inside in &mut arrived[next..end] {
                        inside.from = Some(number);
                        inside.as_input = true;
                    }
                    at = next;
                } else if let Some((parent, via)) = node.parent {
                    match via {
                        Via::Nowhere => break,
                        Via::Inside => {}
                        Via::Input => arrived[parent].as_input = true,
                        Via::Word(place) => arrived[parent].in_words.push(place),
                    }
                    if via != Via::Inside {
                        arrived[parent].from = Some(number);
                    }
                    at = parent;
                } else {
                    break;
                }
            }
        }
        arrived
    }

    fn in_statements(&self, pattern: &Pattern) -> Option<String> {
        let mut statements = self.statements.iter();
        statements.find_map(|statement| in_statement(statement, &pattern.stages))
    }
}

/// Whether a command takes what arrives as what it is to run, if it runs anything.
fn takes(words: &[Word], arrived: &Arrived) -> bool {
    match Interpreter::of(words).map(|interpreter| interpreter.source) {
        None => true,
        Some(Source::Stdin) => arrived.as_input,
        Some(source) => arrived.in_words.iter().any(|place| {
            let words = match &source {
                Source::Text(range) => words.get(range.clone()).unwrap_or_default(),
                Source::Word(at) => words.get(*at..*at + 1).unwrap_or_default(),
                Source::Stdin => &[],
            };
            words.iter().any(|word| word.place == *place)
        }),
    }
}

/// Whether a command runs what it is sent, and if so whether that is a shell script.
fn reads_program(node: &Node) -> Option<bool> {
    command::all(node)
        .iter()
        .filter_map(|words| Interpreter::of(words))
        .find(|interpreter| interpreter.source == Source::Stdin)
        .map(|interpreter| interpreter.is_shell)
}

/// The first stage anywhere in a part of the statement, each other one at the start of a later part.
fn in_statement(statement: &Statement, stages: &[Stage]) -> Option<String> {
    let [first, more @ ..] = stages else {
        return None;
    };
    let mut parts = statement.iter();
    let found = parts.find_map(|part| {
        let heads = || (0..part.len()).filter(|at| first.is_program(&part[*at..]));
        let ends = heads().skip(1).chain([part.len()]);
        let mut commands = heads().zip(ends).map(|(start, end)| &part[start..end]);
        commands.find(|words| first.matches(words))
    })?;
    let mut line = line(found);
    for stage in more {
        let right = parts.find(|part| stage.matches(part))?;
        line = shown(&format!("{line} | {}", self::line(right)));
    }
    Some(line)
}

/// A command in one line.
fn line(words: &[Word]) -> String {
    shown(&command::joined(words))
}

/// A text as one line of limited length.
fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => text[..end].to_owned() + "…",
        None => text,
    }
}
