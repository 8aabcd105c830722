//! The parts that the kinds of nodes play, by their numbers: names are compared once for each language, not for each node.

use std::sync::OnceLock;

use tree_sitter::{Language, Node};

use super::Grammar;
use crate::code::CodeLanguage;

/// The parts that a kind of node plays.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NodeKind {
    pub is_name: bool,
    pub is_comment: bool,
    pub is_attribute: bool,
    pub is_wrapper: bool,
    pub is_string: bool,
}

/// Those of all kinds of a language.
pub(super) struct NodeKinds(Vec<NodeKind>);

/// One for each language, made at its first text.
static KINDS: [OnceLock<NodeKinds>; CodeLanguage::ALL.len()] =
    [const { OnceLock::new() }; CodeLanguage::ALL.len()];

impl NodeKinds {
    /// Returns those of a language.
    pub(super) fn of(language: CodeLanguage, grammar: &Grammar) -> &'static Self {
        let kinds = || Self::new(grammar, &(grammar.language)());
        KINDS[language as usize].get_or_init(kinds)
    }

    fn new(grammar: &Grammar, language: &Language) -> Self {
        let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let kinds = (0..count).map(|id| {
            let kind = language.node_kind_for_id(id).unwrap_or_default();
            let is_named = language.node_kind_is_named(id);
            let is_in = |kinds: &[&str]| is_named && kinds.contains(&kind);
            let words = ["string", "heredoc", "nowdoc"];
            // Strings one behind the other, with code's own line ends between them.
            let are_several = ["concatenated", "chained"]
                .iter()
                .any(|word| kind.starts_with(word));
            NodeKind {
                is_name: is_in(grammar.names),
                is_comment: is_in(grammar.comments),
                is_attribute: is_in(grammar.attributes),
                is_wrapper: is_in(grammar.wrappers),
                is_string: is_named && !are_several && words.iter().any(|word| kind.contains(word)),
            }
        });
        Self(kinds.collect())
    }

    /// The parts that a node plays; none where it does not parse.
    pub(super) fn get(&self, node: Node<'_>) -> NodeKind {
        let known = self.0.get(usize::from(node.kind_id()));
        known.copied().unwrap_or_default()
    }
}
