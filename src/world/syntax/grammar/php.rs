//! The definitions of PHP.

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, one_line};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_php::LANGUAGE_PHP.into(),
    comments: &["comment"],
    is_doc: |text| text.starts_with("/**"),
    attributes: &["attribute_list"],
    wrappers: &[],
    names: &["name"],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let keyword = match at.node.kind() {
        "class_declaration" => "class",
        "interface_declaration" => "interface",
        "trait_declaration" => "trait",
        "enum_declaration" => "enum",
        "enum_case" => "case",
        "namespace_definition" => "namespace",
        "function_definition" | "method_declaration" => "function",
        "const_declaration" => return constants(at),
        "property_declaration" => return properties(at),
        "anonymous_class" | "anonymous_function" | "arrow_function" => {
            return Some(FoundDefinition::of(FoundKind::Aside));
        }
        _ => return None,
    };
    let Some(name) = at.field("name") else {
        // The namespace of all the rest has braces, but no name.
        return (keyword == "namespace").then(|| FoundDefinition {
            name: keyword.to_owned(),
            body: at.range("body"),
            ..FoundDefinition::default()
        });
    };
    let kind = match (keyword, at.range("body")) {
        ("function", _) => FoundKind::Function,
        ("case", _) | ("namespace", None) => FoundKind::Value,
        _ => FoundKind::Container,
    };
    Some(FoundDefinition {
        keyword,
        is_test: is_test(at, keyword, &name),
        name,
        body: at.range("body"),
        kind,
        is_private: is_private(at),
        ..FoundDefinition::default()
    })
}

/// `const A = 1, B = 2;`, which has both names.
fn constants(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = |element: Node<'_>| {
        let mut cursor = element.walk();
        let name = element
            .named_children(&mut cursor)
            .find(|it| it.kind() == "name")?;
        Some(one_line(at.text_of(name)))
    };
    let mut names = elements(at, "const_element").filter_map(name);
    Some(FoundDefinition {
        keyword: "const",
        name: names.next()?,
        aliases: names.collect(),
        ..value(at, "const_element")
    })
}

/// `public int $a, $b;`, whose names are also known without the sign.
fn properties(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = |element: Node<'_>| Some(at.text_of(element.child_by_field_name("name")?));
    let names: Vec<&str> = elements(at, "property_element").filter_map(name).collect();
    let (first, others) = names.split_first()?;
    let bare = names.iter().map(|name| name.trim_start_matches('$'));
    Some(FoundDefinition {
        name: (*first).to_owned(),
        aliases: others
            .iter()
            .copied()
            .chain(bare)
            .map(str::to_owned)
            .collect(),
        ..value(at, "property_element")
    })
}

/// A constant or property: its body is a value on several lines.
fn value(at: &SyntaxNode<'_>, kind: &str) -> FoundDefinition {
    let last = elements(at, kind).next().and_then(|element| {
        let last = u32::try_from(element.named_child_count())
            .ok()?
            .checked_sub(1)?;
        element.named_child(last)
    });
    let hooks = at.child("property_hook_list");
    FoundDefinition {
        body: hooks.or(last).and_then(|value| at.unless_short(value)),
        kind: FoundKind::Value,
        is_private: is_private(at),
        ..FoundDefinition::default()
    }
}

fn elements<'t>(at: &SyntaxNode<'t>, kind: &str) -> impl Iterator<Item = Node<'t>> {
    let mut cursor = at.node.walk();
    let all: Vec<Node<'t>> = at
        .node
        .named_children(&mut cursor)
        .filter(|it| it.kind() == kind)
        .collect();
    all.into_iter()
}

fn is_private(at: &SyntaxNode<'_>) -> bool {
    at.child("visibility_modifier")
        .is_some_and(|it| at.text_of(it) == "private")
}

/// True of a class that extends a `TestCase`, and of its methods that PHPUnit runs.
fn is_test(at: &SyntaxNode<'_>, keyword: &str, name: &str) -> bool {
    let of_case = || {
        at.child("base_clause")
            .is_some_and(|base| at.text_of(base).ends_with("TestCase"))
    };
    let is_marked = || (at.attributes)().iter().any(|it| it.contains("Test"));
    match keyword {
        "class" => of_case(),
        "function" => {
            at.outer.is_some_and(|outer| outer.is_test) && (name.starts_with("test") || is_marked())
        }
        _ => false,
    }
}
