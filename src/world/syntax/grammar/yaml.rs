//! The definitions of YAML: the keys of its mappings, but for those in braces.

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, unquoted};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_yaml::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &[],
    wrappers: &[],
    names: &[],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "block_mapping_pair" => {}
        "block_sequence" => return Some(FoundDefinition::of(FoundKind::Aside)),
        _ => return None,
    }
    // The last of it is the key; an anchor may be before.
    let key = at.node.child_by_field_name("key")?;
    let last = u32::try_from(key.named_child_count()).ok()?.checked_sub(1);
    let key = last.and_then(|last| key.named_child(last)).unwrap_or(key);
    let end = at.end();
    let first_line = at.node.start_byte()
        + at.slice(at.node.start_byte()..end)
            .lines()
            .next()
            .map_or(0, |line| line.trim_end().len());
    let is_block = at
        .node
        .child_by_field_name("value")
        .is_some_and(|value| value.kind() == "block_node");
    Some(FoundDefinition {
        name: unquoted(at.text_of(key)),
        body: (first_line < end).then_some(first_line..end),
        inside_end: is_block.then_some(end),
        kind: FoundKind::Key,
        ..FoundDefinition::default()
    })
}
