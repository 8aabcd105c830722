//! A pattern of the policy: what it may look like, and which command's words it matches. It never splits a script.

use std::sync::OnceLock;

use globset::{GlobBuilder, GlobMatcher};

use super::command;
use super::shell::Word;

/// A pattern that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "pattern `{pattern}`: {cause}; write it as you would type the command, such as `git push`, `rm -rf !target` or `curl | sh`"
)]
pub struct PatternError {
    pub pattern: String,
    pub cause: String,
}

/// One pattern: the commands of a pipeline, of which most patterns have one.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) stages: Vec<Stage>,
}

/// What one command must look like.
#[derive(Debug)]
pub(super) struct Stage {
    program: Glob,
    /// Only options may stand before this argument, and their values.
    verb: Option<Glob>,
    needs: Vec<Need>,
    /// At least one argument that is no option must match none of these.
    except: Vec<Glob>,
}

#[derive(Debug)]
enum Need {
    /// Short options, in any spelling.
    Letters(String),
    Word(Glob),
}

/// Programs whose first argument that is no option says what they do, so that `git stash push` is no `git push`.
const WITH_VERBS: &str = "cargo docker gem gh git kubectl npm pnpm podman twine yarn";

/// As many letters behind a `-` are a word (`find -delete`), fewer are short options (`rm -rf`).
const LONG: usize = 5;

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is empty, a part of it has no program, or a word is no glob.
    pub(super) fn parse(text: &str) -> Result<Self, PatternError> {
        let stages: Result<Vec<Stage>, String> = text.split('|').map(Stage::parse).collect();
        match stages {
            Ok(stages) => Ok(Self {
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                stages,
            }),
            Err(_) if text.trim().is_empty() => Err("it is empty".to_owned()),
            Err(cause) => Err(cause),
        }
        .map_err(|cause| PatternError {
            pattern: text.to_owned(),
            cause,
        })
    }
}

impl Stage {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let program = words.next().ok_or("no command on one side of a `|`")?;
        if program.starts_with(['-', '!']) {
            return Err(format!("`{program}` is not the name of a program"));
        }
        let mut stage = Self {
            program: Glob::new(program)?,
            verb: None,
            needs: Vec::new(),
            except: Vec::new(),
        };
        let has_verb = WITH_VERBS.split(' ').any(|it| it == program);
        for word in words {
            if let Some(except) = word.strip_prefix('!') {
                if except.is_empty() {
                    return Err("no name after a `!`".to_owned());
                }
                stage.except.push(Glob::new(without_ends(except))?);
            } else if let Some(letters) = cluster(word).filter(|it| it.len() < LONG) {
                stage.needs.push(Need::Letters(letters.to_owned()));
            } else if has_verb && stage.verb.is_none() && !word.starts_with('-') {
                stage.verb = Some(Glob::new(word)?);
            } else {
                stage.needs.push(Need::Word(Glob::new(word)?));
            }
        }
        Ok(stage)
    }

    /// Whether a command with this first word may match.
    pub(super) fn is_program(&self, words: &[Word]) -> bool {
        let Some(first) = words.first() else {
            return false;
        };
        let name = if self.program.word.contains('/') {
            first.text.as_str()
        } else {
            command::program(words)
        };
        self.program.matches(name)
    }

    /// Whether shells are among what it means.
    pub(super) fn is_shell(&self) -> bool {
        self.program.matches("sh")
    }

    /// Whether a command of these words is meant.
    pub(super) fn matches(&self, words: &[Word]) -> bool {
        if !self.is_program(words) {
            return false;
        }
        let arguments = &words[1..];
        let options = arguments.iter().position(|word| word.text == "--");
        let options = &arguments[..options.unwrap_or(arguments.len())];
        self.verb
            .as_ref()
            .is_none_or(|verb| is_verb(verb, arguments))
            && self.needs.iter().all(|need| match need {
                Need::Letters(letters) => letters.chars().all(|letter| has(options, letter)),
                Need::Word(glob) => arguments.iter().any(|word| glob.matches(&word.text)),
            })
            && (self.except.is_empty() || self.is_outside(arguments, options.len()))
    }

    /// Whether an argument that is no option is none of the exceptions.
    fn is_outside(&self, arguments: &[Word], options: usize) -> bool {
        let (before, after) = arguments.split_at(options);
        before
            .iter()
            .filter(|word| !word.text.starts_with('-'))
            .chain(after.iter().skip(1))
            .any(|word| !self.is_excepted(word))
    }

    fn is_excepted(&self, word: &Word) -> bool {
        let is_one = |text: &str| self.except.iter().any(|glob| glob.matches(text));
        let path = without_ends(&word.text);
        if !word.fixed || path.split('/').any(|part| part == "..") {
            return false;
        }
        // Of `target/{a,b}` only what comes before the braces is certain.
        let certain = match path.find('{') {
            Some(brace) => path[..brace].rsplit_once('/').map_or("", |(all, _)| all),
            None if is_one(path) => return true,
            None => path,
        };
        certain.split('/').any(is_one)
    }
}

/// Whether an argument matches before which there are only options and what may be their values.
fn is_verb(verb: &Glob, arguments: &[Word]) -> bool {
    let mut after_option = false;
    for word in arguments {
        let is_option = word.text.starts_with(['-', '+']);
        if !is_option && verb.matches(&word.text) {
            return true;
        }
        if !is_option && !after_option {
            return false;
        }
        after_option = is_option;
    }
    false
}

fn has(options: &[Word], letter: char) -> bool {
    let same = |other: char| other == letter || letter == 'r' && other == 'R';
    let long = match letter {
        'r' | 'R' => "--recursive",
        'f' => "--force",
        _ => "",
    };
    let mut texts = options.iter().map(|word| word.text.as_str());
    // A long option may be shortened.
    texts.any(|text| {
        cluster(text).is_some_and(|it| it.chars().any(same))
            || text.len() > 3 && long.starts_with(text)
    })
}

/// The letters of `-rf`.
fn cluster(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    let all = !letters.is_empty() && letters.chars().all(|c| c.is_ascii_alphanumeric());
    all.then_some(letters)
}

/// A path without a leading `./` and a trailing `/`.
pub(super) fn without_ends(path: &str) -> &str {
    let path = path.strip_prefix("./").unwrap_or(path);
    match path.trim_end_matches('/') {
        "" => path,
        path => path,
    }
}

/// A word of a pattern.
#[derive(Debug)]
struct Glob {
    word: String,
    /// Compiled only when a word is compared with it, as that takes long.
    glob: Option<(globset::Glob, OnceLock<GlobMatcher>)>,
}

impl Glob {
    fn new(word: &str) -> Result<Self, String> {
        let is_glob = word.contains(['*', '?', '[', '{', '\\']);
        let glob = is_glob.then(|| GlobBuilder::new(word).build()).transpose();
        let glob =
            glob.map_err(|error| format!("`{word}` is not a valid glob: {}", error.kind()))?;
        Ok(Self {
            word: word.to_owned(),
            glob: glob.map(|glob| (glob, OnceLock::new())),
        })
    }

    fn matches(&self, text: &str) -> bool {
        let Some((glob, matcher)) = &self.glob else {
            return self.word == text;
        };
        let matcher = matcher.get_or_init(|| glob.compile_matcher());
        matcher.is_match(text)
    }
}
