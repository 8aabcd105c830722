//! Finds the definitions in a text by the grammar of its language. Runs in the process that parses, and nowhere else but in tests.
//!
//! Each language has a file that says which nodes of its grammar are definitions; the walk over the tree is the same for all.

#[cfg(feature = "grammar-bash")]
mod bash;
#[cfg(any(feature = "grammar-c", feature = "grammar-cpp"))]
mod c_family;
#[cfg(feature = "grammar-c-sharp")]
mod csharp;
#[cfg(feature = "grammar-go")]
mod go;
#[cfg(feature = "grammar-java")]
mod java;
#[cfg(any(feature = "grammar-javascript", feature = "grammar-typescript"))]
mod javascript;
#[cfg(feature = "grammar-json")]
mod json;
mod kinds;
#[cfg(feature = "grammar-php")]
mod php;
#[cfg(feature = "grammar-python")]
mod python;
#[cfg(feature = "grammar-ruby")]
mod ruby;
#[cfg(feature = "grammar-rust")]
mod rust;
mod source;
#[cfg(feature = "grammar-toml")]
mod toml;
mod walk;
#[cfg(feature = "grammar-yaml")]
mod yaml;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::{Language, Node};

use super::CodeError;
use crate::code::{CodeLanguage, Definition, ParsedFile, one_line};

/// The knowledge of a language: its grammar, and which nodes are what.
pub(super) struct Grammar {
    pub language: fn() -> Language,
    /// The nodes that are comments.
    pub comments: &'static [&'static str],
    /// Tells a doc comment by its text. Where a language has such, other comments above one are not its own.
    pub is_doc: fn(&str) -> bool,
    /// The nodes before a definition, or at its start, that are attributes, annotations or decorators.
    pub attributes: &'static [&'static str],
    /// The nodes around a definition that belong to it, such as `export`.
    pub wrappers: &'static [&'static str],
    /// The leaves that name something.
    pub names: &'static [&'static str],
    /// Tells what a node defines; `None` where it is no definition.
    pub read: fn(&SyntaxNode<'_>) -> Option<FoundDefinition>,
}

/// The longest value that an outline shows, in bytes.
const LONGEST_VALUE: usize = 60;

/// The names that a file exports; `None` where it exports nothing at all.
type ExportedNames = Option<HashSet<String>>;

/// A node with what is around it.
pub(super) struct SyntaxNode<'t> {
    pub node: Node<'t>,
    pub text: &'t [u8],
    /// Returns the attributes above it and at its start, as they are written: few nodes are asked for them.
    pub attributes: &'t dyn Fn() -> Vec<String>,
    /// The nodes around it that belong to it, the outermost first.
    pub wrappers: Vec<Node<'t>>,
    /// The text of the last node before it that says something of all behind it, such as `private`.
    pub section: Option<&'t str>,
    /// The definition that it is in, if there is one.
    pub outer: Option<&'t Definition>,
    /// It is in a function.
    pub is_local: bool,
    /// The node of the whole file.
    pub root: Node<'t>,
    /// The names that the file exports, once a language has looked for them.
    pub exported: &'t OnceCell<ExportedNames>,
}

/// A definition as the file of a language reads it.
#[derive(Debug, Default)]
pub(super) struct FoundDefinition {
    pub keyword: &'static str,
    pub name: String,
    pub aliases: Vec<String>,
    pub adds_to: Option<String>,
    /// The part that an outline leaves out.
    pub body: Option<Range<usize>>,
    /// The line that an outline shows, where that is not the text up to the body.
    pub header: Option<String>,
    /// The word of the group that it stands in, such as `const`, which its header is to begin with.
    pub group: &'static str,
    /// The place where a text is appended; worked out from the body where this is `None`.
    pub inside_end: Option<usize>,
    /// Nothing can be appended, whatever the body ends with.
    pub is_closed: bool,
    pub kind: FoundKind,
    pub is_private: bool,
    pub is_test: bool,
}

/// The kind of a definition, as far as the walk must know it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundKind {
    /// A type, module, section: what is in it is seen from outside.
    #[default]
    Container,
    /// All that is in it is local.
    Function,
    /// A constant, a variable, a prototype. A local one is no definition.
    Value,
    /// A key of a data file. An outline shows only those that are in few others.
    Key,
    /// No definition, but it says something of all behind it, such as `private:`.
    Section,
    /// No definition, such as a function without a name, and all that is in it is local.
    Aside,
}

impl FoundDefinition {
    /// A definition that nothing is known of but its kind.
    fn of(kind: FoundKind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// The same with these names: the first is the one of it, the others lead to it too.
    fn named(self, names: impl IntoIterator<Item = String>) -> Option<Self> {
        let mut names = names.into_iter();
        Some(Self {
            name: names.next()?,
            aliases: names.collect(),
            ..self
        })
    }
}

/// Finds the definitions in a text, and the names that it uses.
///
/// # Errors
/// Where this program was built without the grammar, or the text takes too long.
pub(super) fn parse(language: CodeLanguage, text: &str) -> Result<ParsedFile, CodeError> {
    let grammar = of(language).ok_or(CodeError::NotBuilt(language))?;
    walk::parse(language, grammar, text)
}

/// True if the grammar of a language was built in.
pub(super) fn is_built(language: CodeLanguage) -> bool {
    of(language).is_some()
}

fn of(language: CodeLanguage) -> Option<&'static Grammar> {
    match language {
        #[cfg(feature = "grammar-rust")]
        CodeLanguage::Rust => Some(&rust::GRAMMAR),
        #[cfg(feature = "grammar-python")]
        CodeLanguage::Python => Some(&python::GRAMMAR),
        #[cfg(feature = "grammar-javascript")]
        CodeLanguage::JavaScript => Some(&javascript::JAVASCRIPT),
        #[cfg(feature = "grammar-typescript")]
        CodeLanguage::TypeScript => Some(&javascript::TYPESCRIPT),
        #[cfg(feature = "grammar-typescript")]
        CodeLanguage::Tsx => Some(&javascript::TSX),
        #[cfg(feature = "grammar-go")]
        CodeLanguage::Go => Some(&go::GRAMMAR),
        #[cfg(feature = "grammar-java")]
        CodeLanguage::Java => Some(&java::GRAMMAR),
        #[cfg(feature = "grammar-c-sharp")]
        CodeLanguage::CSharp => Some(&csharp::GRAMMAR),
        #[cfg(feature = "grammar-c")]
        CodeLanguage::C => Some(&c_family::C),
        #[cfg(feature = "grammar-cpp")]
        CodeLanguage::Cpp => Some(&c_family::CPP),
        #[cfg(feature = "grammar-ruby")]
        CodeLanguage::Ruby => Some(&ruby::GRAMMAR),
        #[cfg(feature = "grammar-php")]
        CodeLanguage::Php => Some(&php::GRAMMAR),
        #[cfg(feature = "grammar-bash")]
        CodeLanguage::Bash => Some(&bash::GRAMMAR),
        #[cfg(feature = "grammar-toml")]
        CodeLanguage::Toml => Some(&self::toml::GRAMMAR),
        #[cfg(feature = "grammar-yaml")]
        CodeLanguage::Yaml => Some(&yaml::GRAMMAR),
        #[cfg(feature = "grammar-json")]
        CodeLanguage::Json => Some(&json::GRAMMAR),
        _ => None,
    }
}

impl<'t> SyntaxNode<'t> {
    /// The text of a node.
    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        text_of(self.text, node)
    }

    /// The text of a field of the node, with one blank for each white space; `None` where it has none.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        let node = self.node.child_by_field_name(name)?;
        Some(one_line(self.text_of(node)))
    }

    /// The bytes of a field of the node.
    pub(super) fn range(&self, name: &str) -> Option<Range<usize>> {
        Some(self.node.child_by_field_name(name)?.byte_range())
    }

    /// The bytes of a field of the node, where they are on several lines.
    pub(super) fn spread(&self, name: &str) -> Option<Range<usize>> {
        self.range(name).filter(|range| self.is_spread(range))
    }

    /// True if these bytes are on several lines.
    pub(super) fn is_spread(&self, range: &Range<usize>) -> bool {
        self.text[range.clone()].trim_ascii_end().contains(&b'\n')
    }

    /// The text between two places.
    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        std::str::from_utf8(&self.text[range]).unwrap_or_default()
    }

    /// The end of the node, without the white space there.
    pub(super) fn end(&self) -> usize {
        self.text[..self.node.end_byte()].trim_ascii_end().len()
    }

    /// The place behind the last thing in a child that a mark ends.
    pub(super) fn inside_end(&self, child: Node<'_>) -> Option<usize> {
        inside_end(self.text, child)
    }

    /// The first child of a kind.
    pub(super) fn child(&self, kind: &str) -> Option<Node<'t>> {
        child(self.node, kind)
    }

    /// The bytes of a value, unless it is so short that an outline shows it.
    pub(super) fn unless_short(&self, value: Node<'_>) -> Option<Range<usize>> {
        let range = value.byte_range();
        (range.len() > LONGEST_VALUE || self.is_spread(&range)).then_some(range)
    }

    /// The kind of the node that it is in; empty for the whole file.
    pub(super) fn parent_kind(&self) -> &'t str {
        match self.node.parent() {
            Some(parent) => parent.kind(),
            None => "",
        }
    }
}

/// The children of a node that have a name in the grammar.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).collect()
}

/// The first child of a kind.
fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor)
        .find(|child| child.kind() == kind)
}

fn text_of<'t>(text: &'t [u8], node: Node<'_>) -> &'t str {
    std::str::from_utf8(&text[node.byte_range()]).unwrap_or_default()
}

/// A name without the quotes around it; with them where nothing is between.
fn unquoted(name: &str) -> String {
    let quotes = ['"', '\'', '`'];
    let bare = quotes.iter().find_map(|quote| {
        let bare = name.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!bare.trim().is_empty()).then_some(bare)
    });
    one_line(bare.unwrap_or(name))
}

fn last_child(node: Node<'_>) -> Option<Node<'_>> {
    node.child(node.child_count().checked_sub(1)?)
}

/// The place behind the last thing in a node that a mark ends; the end of one that has no such mark.
fn inside_end(text: &[u8], node: Node<'_>) -> Option<usize> {
    let last = last_child(node)?;
    let end = if last.is_named() {
        node.end_byte()
    } else {
        last.start_byte()
    };
    Some(text[..end].trim_ascii_end().len())
}
