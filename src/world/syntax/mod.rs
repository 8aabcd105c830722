//! Owns the parsing of code: a process of its own does it, so that a fault in a grammar's C code, or a text that takes too long,
//! costs that process and nothing else. It is started at the first text, and ended with [`Syntax::rest`].

#[cfg(feature = "parsers")]
#[cfg_attr(
    not(feature = "grammars"),
    allow(dead_code, reason = "no language needs all of it")
)]
mod grammar;
mod markdown;
mod parser;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::code::{CodeLanguage, FileSummary, Outline, ParsedFile};
use crate::text::size;
use crate::world::locked::locked;
use crate::world::process;

pub use parser::{NAME as PARSER, serve};

use parser::{Parser, ParserAnswer};

/// The largest text that is parsed, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;

/// The reason why the definitions of a text are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    #[error("this clada was built without the grammar of {}", .0.name())]
    NotBuilt(CodeLanguage),
    #[error("it has {}, and only files up to {} are parsed", size::show(*.0 as u64), size::show(LARGEST as u64))]
    TooLarge(usize),
    #[error("it takes too long to parse")]
    TooSlow,
    #[error("its grammar fails on it ({0})")]
    Failed(String),
    #[error("the process that parses cannot be started ({0})")]
    NoProcess(String),
}

/// Parses code in a process of its own. Clones share it.
#[derive(Debug, Clone)]
pub struct Syntax {
    program: PathBuf,
    parser: Arc<Mutex<Option<Parser>>>,
}

impl Syntax {
    /// Parses with this program, which is clada.
    pub fn with(program: PathBuf) -> Self {
        Self {
            program,
            parser: Arc::default(),
        }
    }

    /// Parses with the program that runs.
    pub fn of_this_program() -> Self {
        Self::with(process::this_program())
    }

    /// Returns the definitions in a text.
    ///
    /// # Errors
    /// Where they cannot be told.
    pub fn outline(&self, language: CodeLanguage, text: &str) -> Result<Outline, CodeError> {
        self.parse(language, text).map(|parsed| parsed.outline)
    }

    /// Returns the definitions in a text and the names that it uses.
    ///
    /// # Errors
    /// Where they cannot be told.
    pub fn parse(&self, language: CodeLanguage, text: &str) -> Result<ParsedFile, CodeError> {
        match self.ask(language, text, false)? {
            ParserAnswer::Parsed(parsed) => Ok(parsed),
            other => Err(other.error()),
        }
    }

    /// Returns the summary of a text: much less than all that its definitions say.
    ///
    /// # Errors
    /// Where it cannot be told.
    pub fn summary(&self, language: CodeLanguage, text: &str) -> Result<FileSummary, CodeError> {
        match self.ask(language, text, true)? {
            ParserAnswer::Summed(summary) => Ok(summary),
            other => Err(other.error()),
        }
    }

    /// Has the process parse a text. It is ended where it gives no answer.
    fn ask(
        &self,
        language: CodeLanguage,
        text: &str,
        wants_summary: bool,
    ) -> Result<ParserAnswer, CodeError> {
        if !is_built(language) {
            return Err(CodeError::NotBuilt(language));
        }
        if text.len() > LARGEST {
            return Err(CodeError::TooLarge(text.len()));
        }
        let mut known = locked(&self.parser);
        let started = known
            .take()
            .map_or_else(|| Parser::start(&self.program), Ok);
        let mut parser = started.map_err(|error| CodeError::NoProcess(error.to_string()))?;
        let answer = parser.ask(language, text, wants_summary)?;
        *known = Some(parser);
        Ok(answer)
    }

    /// Ends the process that parses, if there is one. The next text starts another.
    pub fn rest(&self) {
        *locked(&self.parser) = None;
    }
}

/// True if the grammar of a language was built in.
pub fn is_built(language: CodeLanguage) -> bool {
    if language == CodeLanguage::Markdown {
        return true;
    }
    #[cfg(feature = "parsers")]
    return grammar::is_built(language);
    #[cfg(not(feature = "parsers"))]
    return false;
}

/// Parses in this process: for the one that does nothing else, and for tests.
///
/// # Errors
/// Where the definitions cannot be told.
pub fn parse_here(language: CodeLanguage, text: &str) -> Result<ParsedFile, CodeError> {
    if language == CodeLanguage::Markdown {
        return Ok(markdown::parse(text));
    }
    #[cfg(feature = "parsers")]
    return grammar::parse(language, text);
    #[cfg(not(feature = "parsers"))]
    return Err(CodeError::NotBuilt(language));
}
