//! The definitions of JSON: the keys of its objects.

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, one_line, unquoted};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_json::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &[],
    wrappers: &[],
    names: &[],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "pair" => {}
        "array" => return Some(FoundDefinition::of(FoundKind::Aside)),
        _ => return None,
    }
    let value = at.node.child_by_field_name("value")?;
    let holds = matches!(value.kind(), "object" | "array");
    Some(FoundDefinition {
        name: name(&at.field("key")?),
        body: at.spread("value"),
        inside_end: at.inside_end(value).filter(|_| holds),
        kind: FoundKind::Key,
        ..FoundDefinition::default()
    })
}

/// A key as it is meant: `"a\u0062"` is `ab`.
fn name(written: &str) -> String {
    let meant: Option<String> = serde_json::from_str(written).ok();
    let meant = meant.map(|meant| one_line(&meant));
    meant
        .filter(|meant| !meant.is_empty())
        .unwrap_or_else(|| unquoted(written))
}
