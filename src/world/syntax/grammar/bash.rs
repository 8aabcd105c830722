//! The definitions of shell scripts: their functions.

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_bash::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &[],
    wrappers: &[],
    names: &["word", "variable_name"],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    if at.node.kind() != "function_definition" {
        return None;
    }
    Some(FoundDefinition {
        keyword: "function",
        name: at.field("name")?,
        body: at.range("body"),
        kind: FoundKind::Function,
        ..FoundDefinition::default()
    })
}
