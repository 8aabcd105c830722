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
pub mod hook;
pub mod paths;
mod pattern;
pub mod secrets;
mod shell;
mod values;
mod words;

pub use pattern::PatternError;

use std::collections::{HashMap, HashSet};

use command::{Interpreter, ProgramSource, base};
use pattern::{Pattern, Stage, without_ends};
use shell::{Node, ShellScript, Via, Word};
use values::ShellValues;
use words::Statement;

use crate::text::language::Language;

/// The depth to which programs given as text (`bash -c "eval '…'"`) are read.
const LEVELS: usize = 8;

/// The scripts that are refused, and those that are asked for first.
#[derive(Debug)]
pub struct Policy {
    deny: Vec<Pattern>,
    ask: Vec<Pattern>,
}

/// The decision about a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict<'p> {
    Allowed,
    /// The commands that are asked for, in the order of the script.
    Ask(Vec<Match<'p>>),
    /// The command for which the script is refused, without a question.
    Denied(Match<'p>),
}

/// A command of a script that a pattern means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match<'p> {
    pub pattern: &'p str,
    /// The whole command, in one line.
    pub command: String,
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
        let read = ReadScript::new(script, lang);
        if let Some(denied) = read.find(&self.deny).into_iter().next() {
            return Verdict::Denied(denied);
        }
        match read.find(&self.ask) {
            asked if asked.is_empty() => Verdict::Allowed,
            asked => Verdict::Ask(asked),
        }
    }
}

/// A script as it is judged.
struct ReadScript {
    nodes: Vec<Node>,
    /// The commands of each node: its own and those that it is given to run.
    commands: Vec<Vec<Vec<Word>>>,
    /// The statements of text that is no shell script, or could not be read as one.
    statements: Vec<Statement>,
}

/// The output that reaches a node from those that matched the pattern so far.
#[derive(Clone, Default)]
struct Arrived {
    /// The last of them.
    from: Option<usize>,
    as_input: bool,
    in_words: Vec<usize>,
}

impl ReadScript {
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
        let mut script = ShellScript::default();
        shell::read(text, None, &mut script);
        let values = ShellValues::of(&mut script);
        let mut at = 0;
        while at < script.nodes.len() {
            if let Some(text) = values.aliased(&script.nodes[at]) {
                self.program(&text, true, at, &mut script);
            }
            let commands = command::all(values.forms(&script.nodes[at].words));
            for words in &commands {
                let Some(interpreter) = Interpreter::of(words) else {
                    continue;
                };
                let program = match interpreter.source {
                    ProgramSource::Text(range) => {
                        command::joined(words.get(range).unwrap_or_default())
                    }
                    ProgramSource::Stdin => std::mem::take(&mut script.nodes[at].stdin),
                    ProgramSource::Word(_) => continue,
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

    fn program(&mut self, text: &str, is_shell: bool, at: usize, script: &mut ShellScript) {
        if is_shell && script.nodes[at].level < LEVELS {
            shell::read(text, Some(at), script);
        } else {
            self.statements.extend(words::statements(text));
        }
    }

    /// The commands that patterns mean, each once, in the order of the script.
    fn find<'p>(&self, patterns: &'p [Pattern]) -> Vec<Match<'p>> {
        let mut found: Vec<(usize, Match<'p>)> = Vec::new();
        for pattern in patterns {
            let in_statements = self.statements.iter().enumerate();
            let in_statements = in_statements.filter_map(|(at, statement)| {
                let line = in_statement(statement, &pattern.stages)?;
                Some((self.nodes.len() + at, line))
            });
            let all = self.in_commands(pattern).into_iter().chain(in_statements);
            let pattern = &pattern.text;
            found.extend(all.map(|(at, command)| (at, Match { pattern, command })));
        }
        found.sort_by_key(|(at, _)| *at);
        let mut said = HashSet::new();
        found.retain(|(_, found)| said.insert(found.command.clone()));
        found.into_iter().map(|(_, found)| found).collect()
    }

    /// The nodes that a pattern means, each with its line.
    fn in_commands(&self, pattern: &Pattern) -> Vec<(usize, String)> {
        let [first, more @ ..] = &pattern.stages[..] else {
            return Vec::new();
        };
        let nodes = 0..self.nodes.len();
        let matching = |stage: &Stage, node: usize, does: &dyn Fn(&[Word]) -> bool| {
            let mut commands = self.commands[node].iter();
            let words = commands.find(|words| stage.matches(words) && does(words))?;
            Some(self.line(node, words))
        };
        let first = |node| Some((node, matching(first, node, &|_| true)?));
        let mut found: Vec<_> = nodes.clone().filter_map(first).collect();
        for stage in more {
            if found.is_empty() {
                break;
            }
            let (arrived, files) = (self.flow(&found), self.files(&found));
            let reached = |node: usize| {
                let (from, line) = match arrived[node].from {
                    Some(from) => (from, matching(stage, node, &|it| takes(it, &arrived[node]))),
                    None => (0, None),
                };
                let by_pipe = line.map(|line| format!("{} | {line}", found[from].1));
                let by_file = || {
                    let run = |words: &Vec<Word>| files.get(ran(words, stage)?).copied();
                    let from = self.commands[node].iter().find_map(run)?;
                    let line = self.line(node, &self.nodes[node].words);
                    (found[from].0 < node).then(|| format!("{}; {line}", found[from].1))
                };
                Some((node, by_pipe.or_else(by_file)?))
            };
            found = nodes.clone().filter_map(reached).collect();
        }
        found
    }

    /// A command of a node in one line: as it stands there, and if that does not say it, what it is.
    fn line(&self, node: usize, words: &[Word]) -> String {
        let (whole, own) = (line(&self.nodes[node].words), line(words));
        if whole.contains(own.trim_end_matches(" …")) {
            whole
        } else {
            format!("{whole} ({own})")
        }
    }

    /// The names of files that these nodes may write, each with its place among them.
    fn files(&self, from: &[(usize, String)]) -> HashMap<&str, usize> {
        let mut files = HashMap::new();
        for (number, (node, _)) in from.iter().enumerate() {
            let node = &self.nodes[*node];
            let words = node.words.iter().skip(1).map(|word| word.text.as_str());
            for name in words.chain(node.writes.iter().map(String::as_str)) {
                let name = name.strip_prefix("-o").unwrap_or(name);
                let name = name.rsplit_once("://").map_or(name, |(_, url)| base(url));
                files.entry(without_ends(name)).or_insert(number);
            }
        }
        files
    }

    /// Follows the output of these nodes: along pipelines, out of groups and substitutions, and through whatever it
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
                    let group = self.nodes[next].end;
                    let end = if is_group { group } else { next + 1 };
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
}

/// The file that a command runs, where an interpreter that a stage means is to run it or it runs by itself.
fn ran<'w>(words: &'w [Word], stage: &Stage) -> Option<&'w str> {
    let file = match Interpreter::of(words) {
        Some(it) => match it.source {
            ProgramSource::Word(at) if stage.matches(words) => words.get(at)?,
            _ => return None,
        },
        None => words.first().filter(|_| stage.is_shell())?,
    };
    Some(without_ends(&file.text))
}

/// Returns true if a command takes what arrives as what it is to run, if it runs anything.
fn takes(words: &[Word], arrived: &Arrived) -> bool {
    let is_in = |range| {
        let words: &[Word] = words.get(range).unwrap_or_default();
        words
            .iter()
            .any(|word| arrived.in_words.contains(&word.place))
    };
    match Interpreter::of(words).map(|interpreter| interpreter.source) {
        None => true,
        Some(ProgramSource::Stdin) => arrived.as_input,
        Some(ProgramSource::Text(range)) => is_in(range),
        Some(ProgramSource::Word(at)) => is_in(at..at + 1),
    }
}

/// Returns true if a command runs what it is sent as a shell script, false if as another program, and `None` if it does not
/// run it.
fn reads_program(node: &Node) -> Option<bool> {
    command::all(vec![node.words.clone()])
        .iter()
        .filter_map(|words| Interpreter::of(words))
        .find(|interpreter| interpreter.source == ProgramSource::Stdin)
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
        line = format!("{line} | {}", self::line(right));
    }
    Some(line)
}

/// A command in one line.
fn line(words: &[Word]) -> String {
    let text = command::joined(words);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
