//! A pattern of the policy: what it may look like, and which command's words it matches. It never splits a script.

use std::sync::OnceLock;

use globset::{Glob, GlobMatcher};

use super::command;
use super::shell::Word;

/// A pattern that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "pattern `{pattern}`: {cause}; write it as you would type the command, such as `git push`, `rm -rf !target` or `curl | sh`"
)]
pub struct PatternError {
    pub pattern: String,
    pub cause: PatternCause,
}

/// The reason why a pattern means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternCause {
    #[error("it is empty")]
    Empty,
    #[error("no command on one side of a `|`")]
    NoCommand,
    #[error("`{0}` is not the name of a program")]
    NoProgram(String),
    #[error("no name after a `!`")]
    NoName,
    #[error("`{word}` is not a valid glob: {kind}")]
    Glob {
        word: String,
        kind: globset::ErrorKind,
    },
}

/// One pattern: the commands of a pipeline, of which most patterns have one.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    pub(super) stages: Vec<Stage>,
}

/// The words that one command must have.
#[derive(Debug)]
pub(super) struct Stage {
    program: WordGlob,
    /// Only options may stand before this argument, and their values.
    verb: Option<WordGlob>,
    needs: Vec<Need>,
    /// At least one argument that is no option must match none of these.
    except: Vec<WordGlob>,
}

#[derive(Debug)]
enum Need {
    /// Short options, in any spelling.
    Letters(String),
    Word(WordGlob),
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
        let error = |cause| PatternError {
            pattern: text.to_owned(),
            cause,
        };
        if text.trim().is_empty() {
            return Err(error(PatternCause::Empty));
        }
        let stages: Result<_, _> = text.split('|').map(Stage::parse).collect();
        Ok(Self {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            stages: stages.map_err(error)?,
        })
    }
}

impl Stage {
    fn parse(text: &str) -> Result<Self, PatternCause> {
        let mut words = text.split_whitespace();
        let program = words.next().ok_or(PatternCause::NoCommand)?;
        if program.starts_with(['-', '!']) {
            return Err(PatternCause::NoProgram(program.to_owned()));
        }
        let mut stage = Self {
            program: WordGlob::new(program)?,
            verb: None,
            needs: Vec::new(),
            except: Vec::new(),
        };
        let has_verb = WITH_VERBS.split(' ').any(|it| it == program);
        for word in words {
            if let Some(except) = word.strip_prefix('!') {
                if except.is_empty() {
                    return Err(PatternCause::NoName);
                }
                stage.except.push(WordGlob::new(without_ends(except))?);
            } else if let Some(letters) = cluster(word).filter(|it| it.len() < LONG) {
                stage.needs.push(Need::Letters(letters.to_owned()));
            } else if has_verb && stage.verb.is_none() && !word.starts_with('-') {
                stage.verb = Some(WordGlob::new(word)?);
            } else {
                stage.needs.push(Need::Word(WordGlob::new(word)?));
            }
        }
        Ok(stage)
    }

    /// Returns true if a command with this first word may match.
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

    /// Returns true if it means shells too.
    pub(super) fn is_shell(&self) -> bool {
        self.program.matches("sh")
    }

    /// Returns true if a command of these words is meant.
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

    /// Returns true if an argument that is no option is none of the exceptions.
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

/// Returns true if an argument matches that only options, and what may be their values, stand before.
fn is_verb(verb: &WordGlob, arguments: &[Word]) -> bool {
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
struct WordGlob {
    word: String,
    /// Compiled only when a word is compared with it, as that takes long.
    glob: Option<(Glob, OnceLock<GlobMatcher>)>,
}

impl WordGlob {
    fn new(word: &str) -> Result<Self, PatternCause> {
        let is_glob = word.contains(['*', '?', '[', '{', '\\']);
        let glob = is_glob.then(|| Glob::new(word)).transpose();
        let glob = glob.map_err(|error| PatternCause::Glob {
            word: word.to_owned(),
            kind: error.kind().clone(),
        })?;
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
