//! The definitions of Java.

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, child, children, one_line};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_java::LANGUAGE.into(),
    comments: &["line_comment", "block_comment"],
    is_doc: |text| text.starts_with("/**") || text.starts_with("///"),
    attributes: &["annotation", "marker_annotation"],
    wrappers: &[],
    names: &["identifier", "type_identifier"],
    read,
};

/// The annotations of methods that a test framework runs.
const TESTS: [&str; 5] = [
    "Test",
    "ParameterizedTest",
    "RepeatedTest",
    "TestFactory",
    "TestTemplate",
];

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let keyword = match at.node.kind() {
        "class_declaration" => "class",
        "interface_declaration" => "interface",
        "enum_declaration" => "enum",
        "record_declaration" => "record",
        "annotation_type_declaration" => "@interface",
        "module_declaration" => "module",
        "enum_constant" => return constant(at),
        "method_declaration"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "annotation_type_element_declaration" => return method(at),
        "field_declaration" | "constant_declaration" => return field(at),
        "object_creation_expression" => {
            child(at.node, "class_body")?;
            return Some(FoundDefinition::of(FoundKind::Aside));
        }
        "lambda_expression" | "static_initializer" => {
            return Some(FoundDefinition::of(FoundKind::Aside));
        }
        _ => return None,
    };
    FoundDefinition {
        keyword,
        body: at.range("body"),
        is_private: is_private(at.node),
        is_test: holds_tests(at),
        ..FoundDefinition::default()
    }
    .named([at.field("name")?])
}

fn is_private(node: Node<'_>) -> bool {
    child(node, "modifiers").is_some_and(|it| child(it, "private").is_some())
}

fn is_test(at: &SyntaxNode<'_>, method: Node<'_>) -> bool {
    let Some(modifiers) = child(method, "modifiers") else {
        return false;
    };
    children(modifiers).into_iter().any(|annotation| {
        let name = annotation.child_by_field_name("name");
        let name = name.map_or("", |name| at.text_of(name));
        TESTS.contains(&name.rsplit('.').next().unwrap_or(name))
    })
}

/// True for a class with a method that is a test, and for one of JUnit 3.
fn holds_tests(at: &SyntaxNode<'_>) -> bool {
    let of = at.field("superclass").unwrap_or_default();
    let members = at
        .node
        .child_by_field_name("body")
        .map_or(Vec::new(), children);
    of.ends_with("TestCase") || members.into_iter().any(|member| is_test(at, member))
}

/// A value of an `enum` that has members of its own.
fn constant(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    FoundDefinition {
        body: Some(at.range("body")?),
        ..FoundDefinition::default()
    }
    .named([at.field("name")?])
}

fn method(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    FoundDefinition {
        body: at.range("body"),
        is_private: is_private(at.node),
        is_test: is_test(at, at.node),
        ..FoundDefinition::of(FoundKind::Function)
    }
    .named([at.field("name")?])
}

/// All that one declaration of fields or constants names.
fn field(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let mut cursor = at.node.walk();
    let declarators: Vec<Node<'_>> = at
        .node
        .children_by_field_name("declarator", &mut cursor)
        .collect();
    let names = declarators
        .iter()
        .filter_map(|it| it.child_by_field_name("name"));
    let names = names.map(|name| one_line(at.text_of(name)));
    let value = declarators
        .first()
        .filter(|_| declarators.len() == 1)
        .and_then(|it| it.child_by_field_name("value"));
    FoundDefinition {
        body: value.and_then(|value| at.unless_short(value)),
        is_closed: value.is_some_and(|value| value.kind() != "array_initializer"),
        is_private: is_private(at.node),
        ..FoundDefinition::of(FoundKind::Value)
    }
    .named(names)
}
