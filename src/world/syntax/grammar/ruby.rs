//! The definitions of Ruby.

use std::ops::Range;

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, last_child, one_line};
use crate::code::MARK;

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_ruby::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &[],
    wrappers: &[],
    names: &["identifier", "constant"],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "module" => module(at, "module"),
        "class" => module(at, "class"),
        "singleton_class" => Some(FoundDefinition {
            name: "class << self".to_owned(),
            body: body(at, at.node),
            inside_end: inside_end(at, at.node),
            ..FoundDefinition::default()
        }),
        "method" | "singleton_method" if is_of_call(at) => None,
        "method" | "singleton_method" => method(at, at.node),
        "assignment" => constant(at),
        "call" => call(at),
        "identifier" if is_section(at.text_of(at.node)) => {
            Some(FoundDefinition::of(FoundKind::Section))
        }
        _ => None,
    }
}

fn is_section(word: &str) -> bool {
    matches!(word, "private" | "protected" | "public" | "module_function")
}

/// A module or a class; `class Cart::Item` is one inside another by its name.
fn module(at: &SyntaxNode<'_>, keyword: &'static str) -> Option<FoundDefinition> {
    let written = at.field("name")?;
    let name = inside(&written);
    let base = at.field("superclass").unwrap_or_default();
    Some(FoundDefinition {
        keyword,
        aliases: (name != written).then_some(written).into_iter().collect(),
        name,
        body: body(at, at.node),
        inside_end: inside_end(at, at.node),
        is_test: base.contains("TestCase") || base.contains("Test::") || base.ends_with("::Test"),
        ..FoundDefinition::default()
    })
}

/// A name that says what it is in, as an address does.
fn inside(written: &str) -> String {
    written.trim_start_matches("::").replace("::", MARK)
}

/// A method. That of `def self.build` also has the name without `self`.
fn method(at: &SyntaxNode<'_>, node: Node<'_>) -> Option<FoundDefinition> {
    let bare = one_line(at.text_of(node.child_by_field_name("name")?));
    let object = node.child_by_field_name("object");
    let name = object.map(|object| format!("{}.{bare}", at.text_of(object)));
    Some(FoundDefinition {
        keyword: "def",
        is_private: name.is_none() && at.section == Some("private"),
        is_test: bare.starts_with("test_"),
        aliases: name.iter().map(|_| bare.clone()).collect(),
        name: name.unwrap_or(bare),
        body: body(at, node),
        inside_end: inside_end(at, node),
        kind: FoundKind::Function,
        ..FoundDefinition::default()
    })
}

/// True of the method in `private def one`, which the call defines.
fn is_of_call(at: &SyntaxNode<'_>) -> bool {
    at.outer.is_some_and(|outer| {
        outer.keyword == "def"
            && outer.span.end == at.node.end_byte()
            && outer.span.start < at.node.start_byte()
    })
}

fn constant(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let left = at.node.child_by_field_name("left")?;
    if left.kind() != "constant" && left.kind() != "scope_resolution" {
        return None;
    }
    let right = at.node.child_by_field_name("right");
    let block = right.and_then(|right| right.child_by_field_name("block"));
    let block = block.map(|block| block.byte_range());
    let written = at.field("left")?;
    let name = inside(&written);
    Some(FoundDefinition {
        aliases: (name != written).then_some(written).into_iter().collect(),
        name,
        body: block
            .filter(|range| at.is_spread(range))
            .or_else(|| at.unless_short(right?)),
        kind: FoundKind::Value,
        ..FoundDefinition::default()
    })
}

/// `attr_reader :a, :b`, which has both names, or a method with a word before it.
fn call(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    if at.node.child_by_field_name("receiver").is_some() {
        return None;
    }
    let word = at.field("method")?;
    let arguments = at.node.child_by_field_name("arguments")?;
    let mut cursor = arguments.walk();
    let all: Vec<Node<'_>> = arguments.named_children(&mut cursor).collect();
    match word.as_str() {
        "attr_reader" | "attr_writer" | "attr_accessor" => {
            let names = all
                .iter()
                .map(|it| at.text_of(*it).trim_start_matches(':').to_owned());
            let mut names = names.filter(|name| !name.is_empty());
            Some(FoundDefinition {
                name: names.next()?,
                aliases: names.collect(),
                kind: FoundKind::Value,
                is_private: at.section == Some("private"),
                ..FoundDefinition::default()
            })
        }
        _ => {
            let [only] = all.as_slice() else {
                return None;
            };
            if !matches!(only.kind(), "method" | "singleton_method") {
                return None;
            }
            let found = method(at, *only)?;
            Some(FoundDefinition {
                is_private: word.starts_with("private") || found.is_private && !is_section(&word),
                ..found
            })
        }
    }
}

/// The text behind the name, parameters and superclass of a node, up to its `end`.
fn body(at: &SyntaxNode<'_>, node: Node<'_>) -> Option<Range<usize>> {
    let Some(end) = inside_end(at, node) else {
        // `def one = 1` is told in whole, unless it is long.
        let body = node.child_by_field_name("body")?.byte_range();
        return Some(body).filter(|range| at.is_spread(range));
    };
    let head = ["superclass", "parameters", "name", "value"]
        .iter()
        .find_map(|field| node.child_by_field_name(field))?;
    let start = head.end_byte();
    (start < end).then_some(start..end)
}

/// The place before the `end` of a node; `None` where it has none.
fn inside_end(at: &SyntaxNode<'_>, node: Node<'_>) -> Option<usize> {
    let last = last_child(node)?;
    if last.kind() != "end" {
        return None;
    }
    at.inside_end(node)
}
