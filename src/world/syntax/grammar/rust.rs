//! The definitions of Rust.

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, one_line};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_rust::LANGUAGE.into(),
    comments: &["line_comment", "block_comment"],
    is_doc: |text| text.starts_with("///") || text.starts_with("/**"),
    attributes: &["attribute_item"],
    wrappers: &[],
    names: &["identifier", "type_identifier", "field_identifier"],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let keyword = match at.node.kind() {
        "function_item" | "function_signature_item" => "fn",
        "struct_item" => "struct",
        "enum_item" => "enum",
        "union_item" => "union",
        "trait_item" => "trait",
        "type_item" | "associated_type" => "type",
        "mod_item" => "mod",
        "const_item" => "const",
        "static_item" => "static",
        "macro_definition" => "macro_rules!",
        "impl_item" => return implementation(at),
        _ => return None,
    };
    let kind = match keyword {
        "fn" => FoundKind::Function,
        "const" | "static" => FoundKind::Value,
        _ => FoundKind::Container,
    };
    let of_trait = |name: &str| name.starts_with("trait ") || name.contains(" for ");
    let in_trait = at
        .outer
        .is_some_and(|outer| outer.keyword == "trait" || of_trait(&outer.name));
    let is_exported = keyword == "macro_rules!"
        && (at.attributes)()
            .iter()
            .any(|it| it.contains("macro_export"));
    let is_public = at.child("visibility_modifier").is_some() || in_trait || is_exported;
    Some(FoundDefinition {
        keyword,
        name: at.field("name")?,
        body: match at.node.child_by_field_name("value") {
            Some(value) => at.unless_short(value),
            None => at.range("body").or_else(|| macro_body(at)),
        },
        kind,
        is_private: !is_public,
        is_test: is_test(at),
        ..FoundDefinition::default()
    })
}

/// `impl Shape for Widget<T>`, which also has the name without its parameters, and adds to `Widget`.
fn implementation(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let of = at.field("type")?;
    let made = at.field("trait");
    let name = |of: &str, made: Option<&str>| match made {
        Some(made) => format!("impl {made} for {of}"),
        None => format!("impl {of}"),
    };
    let full = name(&of, made.as_deref());
    let plain = name(plain(&of), made.as_deref().map(plain));
    let of_header = at.field("type_parameters");
    let of_header = of_header.map(|names| full.replacen("impl", &format!("impl{names}"), 1));
    let others = [plain].into_iter().chain(of_header);
    Some(FoundDefinition {
        aliases: others.filter(|other| *other != full).collect(),
        name: full,
        adds_to: Some(last_name(&of)),
        body: at.range("body"),
        is_test: is_test(at),
        ..FoundDefinition::default()
    })
}

/// A type without its parameters.
fn plain(of: &str) -> &str {
    of.split('<').next().unwrap_or(of).trim()
}

/// The last name of a path, without its parameters.
fn last_name(of: &str) -> String {
    let plain = plain(of.trim_start_matches(['&', '*', '(']));
    one_line(plain.rsplit("::").next().unwrap_or(plain))
}

/// The rules of a macro.
fn macro_body(at: &SyntaxNode<'_>) -> Option<std::ops::Range<usize>> {
    if at.node.kind() != "macro_definition" {
        return None;
    }
    let name = at.range("name")?;
    Some(name.end..at.node.end_byte())
}

fn is_test(at: &SyntaxNode<'_>) -> bool {
    let words = |text: &str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "test")
    };
    (at.attributes)()
        .iter()
        .any(|attribute| words(attribute) && !attribute.contains("not(test)"))
}
