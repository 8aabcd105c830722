//! The definitions of Go.

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, child, children, one_line};
use crate::code::MARK;

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_go::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &[],
    wrappers: &[],
    names: &[
        "identifier",
        "type_identifier",
        "field_identifier",
        "package_identifier",
    ],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "function_declaration" => function(at),
        "method_declaration" => method(at),
        "method_elem" => {
            let name = at.field("name")?;
            FoundDefinition {
                is_private: is_private(&name),
                ..FoundDefinition::of(FoundKind::Function)
            }
            .named([name])
        }
        "type_declaration" | "const_declaration" | "var_declaration" => {
            let specs = children(at.node);
            let mut specs = specs.into_iter().filter(|it| it.kind() != "comment");
            let spec = specs.next()?;
            let is_alone = child(at.node, "(").is_none() && spec.kind() != "var_spec_list";
            is_alone.then(|| specified(at, spec))?
        }
        "type_spec" | "type_alias" | "const_spec" | "var_spec" => grouped(at),
        "short_var_declaration" => closure(at),
        "func_literal" => Some(FoundDefinition::of(FoundKind::Aside)),
        _ => None,
    }
}

fn is_private(name: &str) -> bool {
    !name.chars().next().is_some_and(char::is_uppercase)
}

fn function(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = at.field("name")?;
    FoundDefinition {
        keyword: "func",
        body: at.range("body"),
        is_private: is_private(&name),
        is_test: is_test(at, &name),
        ..FoundDefinition::of(FoundKind::Function)
    }
    .named([name])
}

/// A function that `go test` runs.
fn is_test(at: &SyntaxNode<'_>, name: &str) -> bool {
    let parameters = at.field("parameters").unwrap_or_default();
    let takes = |what: &str| parameters.contains(what);
    [
        ("Test", takes("*testing.T") || takes("*testing.M")),
        ("Benchmark", takes("*testing.B")),
        ("Fuzz", takes("*testing.F")),
        ("Example", parameters == "()"),
    ]
    .into_iter()
    .any(|(start, fits)| {
        let rest = name.strip_prefix(start);
        // `Testify` is not a test.
        fits && rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
    })
}

/// `func (w *Widget) Draw()`, which an address names as if it stood in its type.
fn method(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = at.field("name")?;
    let receiver = at.node.child_by_field_name("receiver")?;
    let receiver = child(receiver, "parameter_declaration")?.child_by_field_name("type")?;
    let of = at.text_of(receiver).trim_start_matches(['*', '(', ' ']);
    let of = one_line(of.split(['[', ')']).next().unwrap_or(of));
    FoundDefinition {
        keyword: "func",
        body: at.range("body"),
        is_private: is_private(&name) || is_private(&of),
        ..FoundDefinition::of(FoundKind::Function)
    }
    .named([format!("{of}{MARK}{name}")])
}

/// A line of a group such as `const ( … )`.
fn grouped(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let group = at.node.parent()?;
    child(group, "(")?;
    let found = specified(at, at.node)?;
    Some(FoundDefinition {
        group: found.keyword,
        ..found
    })
}

/// The names that a type, constant or variable declares, with its value.
fn specified(at: &SyntaxNode<'_>, spec: Node<'_>) -> Option<FoundDefinition> {
    let is_type = matches!(spec.kind(), "type_spec" | "type_alias");
    let mut cursor = spec.walk();
    let names = spec.children_by_field_name("name", &mut cursor);
    let names = names.filter(|name| name.is_named());
    let names: Vec<String> = names.map(|name| one_line(at.text_of(name))).collect();
    // `var _ Shape = Widget{}` only checks a type.
    if names.iter().all(|name| name == "_") {
        return None;
    }
    let value = spec.child_by_field_name(if is_type { "type" } else { "value" });
    let found = match value {
        Some(value) if is_type => type_value(at, value),
        Some(value) => variable_value(at, value),
        None => FoundDefinition::of(FoundKind::Value),
    };
    FoundDefinition {
        keyword: match spec.kind() {
            "const_spec" => "const",
            "var_spec" => "var",
            _ => "type",
        },
        is_private: names.iter().all(|name| is_private(name)),
        ..found
    }
    .named(names)
}

fn type_value(at: &SyntaxNode<'_>, value: Node<'_>) -> FoundDefinition {
    let body = match value.kind() {
        "struct_type" => child(value, "field_declaration_list").map(|fields| fields.byte_range()),
        "interface_type" => child(value, "{").map(|open| open.start_byte()..value.end_byte()),
        _ => at.unless_short(value),
    };
    FoundDefinition {
        body,
        is_closed: !matches!(value.kind(), "struct_type" | "interface_type"),
        ..FoundDefinition::of(FoundKind::Container)
    }
}

fn variable_value(at: &SyntaxNode<'_>, values: Node<'_>) -> FoundDefinition {
    let only = values
        .named_child(0)
        .filter(|_| values.named_child_count() == 1);
    let body_of = |kind: &str| {
        let value = only.filter(|value| value.kind() == kind)?;
        value.child_by_field_name("body")
    };
    if let Some(body) = body_of("func_literal") {
        return FoundDefinition {
            body: Some(body.byte_range()),
            ..FoundDefinition::of(FoundKind::Function)
        };
    }
    let elements = body_of("composite_literal");
    let body = at.unless_short(values);
    FoundDefinition {
        body: body.map(|body| elements.map_or(body, |elements| elements.byte_range())),
        is_closed: elements.is_none(),
        ..FoundDefinition::of(FoundKind::Value)
    }
}

/// `inner := func() { … }` in a function.
fn closure(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let value = at.node.child_by_field_name("right")?;
    let name = at.field("left")?;
    let found = variable_value(at, value);
    let is_one = found.kind == FoundKind::Function && !name.contains(',');
    is_one.then_some(found)?.named([name])
}
