//! Source code as an outline: its definitions, the addresses that name them, and the text that shows them. Reads no file
//! and parses nothing; that is the business of `world/syntax`.

pub mod address;
pub mod graph;
mod language;
mod shown;
mod summary;

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use address::{Address, AddressError, FoundPlace, MARK};
pub use language::CodeLanguage;
pub use shown::OutlineStyle;
pub use summary::FileSummary;

/// The most definitions of a file that are known, and the most that one may be in.
pub const MOST_DEFINITIONS: usize = 20_000;
pub const DEEPEST: usize = 64;

/// The definitions of one file, as its grammar finds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    pub language: CodeLanguage,
    /// The number of lines of the file.
    pub lines: usize,
    /// The lines at which its text does not parse, counted from 1: the first few of them.
    pub errors: Vec<usize>,
    /// The number of all places that do not parse.
    pub error_count: usize,
    /// The strings that go over several lines, in bytes: no line in them may be indented anew.
    #[serde(default)]
    pub verbatim: Vec<Range<usize>>,
    /// In the order of the text, each behind the one that it is in.
    pub definitions: Vec<Definition>,
    /// The file has more definitions, or deeper ones, than are known.
    pub is_cut: bool,
}

/// A definition, or a section of a document, or a key of a data file. All ranges are bytes of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The one that it is in, by its place in the outline.
    pub parent: Option<usize>,
    /// The word that the language writes before the name, such as `fn` or `class`; empty where there is none.
    pub keyword: String,
    /// The name that an address uses: `draw`, `impl Shape for Widget`, `## Setup`. It holds the mark where it also says what it
    /// belongs to: `Widget@@draw` for what C++ writes as `Widget::draw` outside its class.
    pub name: String,
    /// Its place among those with the same names, from 1; `None` where it is the only one, or before [`Outline::numbered`].
    pub number: Option<usize>,
    /// Other names that an address may use for it, such as `Setup` for `## Setup`.
    pub aliases: Vec<String>,
    /// The type that it adds to, such as `Widget` for `impl Shape for Widget`: it names this one where no other has that name.
    pub adds_to: Option<String>,
    /// The doc comments, attributes and decorators above it, in the order of the text.
    pub lead: Vec<LeadPart>,
    /// Its first byte behind the lead, and the one behind its last.
    pub span: Range<usize>,
    /// The part that an outline leaves out; `None` where it has none. Braces are in it.
    pub body: Option<Range<usize>>,
    /// The place where a text is appended to it: behind its last statement, member or line; `None` where nothing can be.
    pub inside_end: Option<usize>,
    /// Its text up to the body, with one blank for each white space.
    pub header: String,
    /// Its first line, counted from 1, without the lead; and its last, which is among them.
    pub first_line: usize,
    pub last_line: usize,
    /// The line on which its header ends.
    pub header_line: usize,
    /// It is in a function: an outline leaves it out.
    pub is_local: bool,
    /// Other files cannot use it.
    pub is_private: bool,
    /// It is a test, or holds tests.
    pub is_test: bool,
    /// A part of it does not parse, so where it ends is not sure.
    pub has_error: bool,
}

/// A part of what stands above a definition and belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadPart {
    pub kind: LeadKind,
    pub span: Range<usize>,
}

/// The kind of a part above a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LeadKind {
    Comment,
    /// An attribute, annotation or decorator.
    Attribute,
}

/// All that the context needs to know of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParsedFile {
    pub outline: Outline,
    /// The names that it uses, and how often; those that it defines are counted where they are used.
    pub references: Vec<(String, u32)>,
}

impl Definition {
    /// Its first byte with the lead.
    pub fn start(&self) -> usize {
        self.lead
            .first()
            .map_or(self.span.start, |part| part.span.start)
    }

    /// The last part of its name, by which other code calls it: `draw` of `Widget@@draw`.
    pub fn last_name(&self) -> &str {
        self.name.rsplit(MARK).next().unwrap_or(&self.name).trim()
    }

    /// True where this is one of its names.
    pub fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|it| it == name)
    }
}

impl Outline {
    /// Numbers the definitions whose names lead to several.
    ///
    /// A definition can be inside another by its name only, so the names make a tree of their own.
    pub fn numbered(mut self) -> Self {
        let mut places: HashMap<(usize, &str), usize> = HashMap::new();
        let mut bearers: Vec<Vec<usize>> = vec![Vec::new()];
        let mut insides: Vec<usize> = Vec::with_capacity(self.definitions.len());
        for (at, definition) in self.definitions.iter().enumerate() {
            let mut place = definition.parent.map_or(0, |outer| insides[outer]);
            for part in definition.name.split(MARK) {
                place = *places.entry((place, part.trim())).or_insert(bearers.len());
                if place == bearers.len() {
                    bearers.push(Vec::new());
                }
            }
            bearers[place].push(at);
            // What is in the second of a name has that number before it already.
            if bearers[place].len() > 1 {
                place = bearers.len();
                bearers.push(Vec::new());
            }
            insides.push(place);
        }
        for same in bearers.into_iter().filter(|same| same.len() > 1) {
            for (before, at) in same.into_iter().enumerate() {
                self.definitions[at].number = Some(before + 1);
            }
        }
        self
    }

    /// The definitions that a definition is in, the outermost first, and itself.
    pub fn chain(&self, at: usize) -> Vec<usize> {
        let mut chain: Vec<usize> =
            std::iter::successors(Some(at), |at| self.definitions[*at].parent).collect();
        chain.reverse();
        chain
    }

    /// The bytes of a definition with its lead; whole lines, where nothing else stands on these but a mark that ends or
    /// separates it.
    pub fn scope(&self, at: usize, text: &[u8]) -> Range<usize> {
        let definition = &self.definitions[at];
        let (start, end) = (definition.start(), definition.span.end.min(text.len()));
        let line_start = memchr::memrchr(b'\n', &text[..start]).map_or(0, |at| at + 1);
        let is_blank = |part: &[u8]| part.iter().all(u8::is_ascii_whitespace);
        let start = if is_blank(&text[line_start..start]) {
            line_start
        } else {
            start
        };
        let line_end = memchr::memchr(b'\n', &text[end..]).map_or(text.len(), |at| end + at + 1);
        let rest = &text[end..line_end];
        let rest = rest
            .strip_prefix(b";")
            .or_else(|| rest.strip_prefix(b","))
            .unwrap_or(rest);
        if is_blank(rest) && (end == 0 || text.get(end - 1) != Some(&b'\n')) {
            return start..line_end;
        }
        start..end
    }

    /// The outline of one definition: itself and what is in it.
    pub fn part(&self, at: usize) -> Self {
        let mut places = vec![None; self.definitions.len()];
        let mut definitions = Vec::new();
        for inner in at..self.definitions.len() {
            let parent = self.definitions[inner]
                .parent
                .and_then(|outer| places[outer]);
            if inner != at && parent.is_none() {
                continue;
            }
            places[inner] = Some(definitions.len());
            let definition = self.definitions[inner].clone();
            definitions.push(Definition {
                parent,
                ..definition
            });
        }
        Self {
            definitions,
            ..self.clone()
        }
    }

    /// The innermost definition that holds a line, counted from 1; the lead of one counts as it.
    pub fn at_line(&self, line: usize, text: &[u8]) -> Option<usize> {
        let start = match line.checked_sub(2) {
            None => 0,
            Some(before) => memchr::memchr_iter(b'\n', text).nth(before)? + 1,
        };
        let rest = &text[start..];
        let blank = rest
            .iter()
            .take_while(|byte| **byte == b' ' || **byte == b'\t')
            .count();
        let at = start + blank;
        let holds = |definition: &Definition| definition.start() <= at && at < definition.span.end;
        self.definitions.iter().rposition(holds)
    }

    /// The name of a definition with those that it is in, as its language writes that: `Widget::draw`.
    pub fn full_name(&self, at: usize) -> String {
        let name = |at: usize| {
            let definition = &self.definitions[at];
            let name = definition.adds_to.as_ref().unwrap_or(&definition.name);
            name.replace(MARK, self.language.separator())
        };
        if self.language == CodeLanguage::Markdown {
            return name(at);
        }
        let names: Vec<String> = self.chain(at).into_iter().map(name).collect();
        names.join(self.language.separator())
    }
}

/// A text with one blank for each white space.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
