//! The definitions of TOML: its tables, and the keys in them.

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, one_line, unquoted};
use crate::code::MARK;

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_toml_ng::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &[],
    wrappers: &[],
    names: &[],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let is_table = match at.node.kind() {
        "pair" => false,
        "table" | "table_array_element" => true,
        "array" => return Some(FoundDefinition::of(FoundKind::Aside)),
        _ => return None,
    };
    let is_key =
        |child: &Node<'_>| matches!(child.kind(), "bare_key" | "quoted_key" | "dotted_key");
    let key = at.node.named_child(0).filter(is_key)?;
    let parts = parts(at, key);
    let name = match parts.as_slice() {
        [part] => part.clone(),
        _ => one_line(at.text_of(key)),
    };
    let mut found = FoundDefinition {
        kind: FoundKind::Key,
        ..FoundDefinition::default()
    };
    if parts.len() > 1 {
        found.aliases.push(parts.join(MARK));
    }
    if is_table {
        let head_end = head_end(at, key)?;
        found
            .aliases
            .push(one_line(at.slice(at.node.start_byte()..head_end)));
        found.body = Some(head_end..at.end());
        found.inside_end = Some(at.end());
    } else {
        let value = at.node.named_children(&mut at.node.walk()).nth(1)?;
        let holds = matches!(value.kind(), "array" | "inline_table");
        found.body = Some(value.byte_range()).filter(|range| at.is_spread(range));
        found.inside_end = at.inside_end(value).filter(|_| holds);
    }
    found.name = name;
    Some(found)
}

/// The parts of a key, without quotes: two of `a."b.c"`.
fn parts(at: &SyntaxNode<'_>, key: Node<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    let mut left = key;
    // The grammar nests them: all but the last are the first child.
    while left.kind() == "dotted_key" {
        let mut cursor = left.walk();
        let mut children = left.named_children(&mut cursor);
        let (Some(first), Some(last)) = (children.next(), children.next()) else {
            break;
        };
        parts.push(unquoted(at.text_of(last)));
        left = first;
    }
    parts.push(unquoted(at.text_of(left)));
    parts.reverse();
    parts
}

/// The end of the line that opens a table.
fn head_end(at: &SyntaxNode<'_>, key: Node<'_>) -> Option<usize> {
    let mut cursor = at.node.walk();
    let mut behind = at
        .node
        .children(&mut cursor)
        .filter(|child| child.start_byte() >= key.end_byte());
    behind
        .find(|child| matches!(child.kind(), "]" | "]]"))
        .map(|child| child.end_byte())
}
