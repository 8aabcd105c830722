//! The definitions of Python.

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, children, one_line};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_python::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |_| false,
    attributes: &["decorator"],
    wrappers: &["decorated_definition", "expression_statement"],
    names: &["identifier"],
    read,
};

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "function_definition" => {
            let name = at.field("name")?;
            let found = FoundDefinition {
                keyword: "def",
                is_test: name.starts_with("test_") || name == "test",
                ..block(at, FoundKind::Function)
            };
            named(found, vec![name])
        }
        "class_definition" => {
            let name = at.field("name")?;
            let found = FoundDefinition {
                keyword: "class",
                is_test: is_test_class(at, &name),
                ..block(at, FoundKind::Container)
            };
            named(found, vec![name])
        }
        "type_alias_statement" => {
            let left = at.field("left")?;
            let name = left.split('[').next().unwrap_or(&left).trim().to_owned();
            let value = at.node.child_by_field_name("right")?;
            let found = FoundDefinition {
                keyword: "type",
                body: at.unless_short(value),
                is_closed: true,
                ..FoundDefinition::of(FoundKind::Value)
            };
            named(found, vec![name])
        }
        "assignment" => assignment(at),
        _ => None,
    }
}

fn named(found: FoundDefinition, names: Vec<String>) -> Option<FoundDefinition> {
    let is_own = |name: &String| name.starts_with('_') && !name.ends_with("__");
    FoundDefinition {
        is_private: names.iter().all(is_own),
        ..found
    }
    .named(names)
}

/// A function or class: its body begins behind the colon, as a comment may stand before the first statement.
fn block(at: &SyntaxNode<'_>, kind: FoundKind) -> FoundDefinition {
    let body = at.node.child_by_field_name("body").and_then(|block| {
        let colon = std::iter::successors(block.prev_sibling(), Node::prev_sibling)
            .find(|node| node.kind() == ":")?;
        Some((colon, block))
    });
    let Some((colon, block)) = body else {
        return FoundDefinition::of(kind);
    };
    let has_lines = block.start_position().row > colon.start_position().row;
    FoundDefinition {
        body: Some(colon.end_byte()..block.end_byte()),
        // A line below `def f(): return 1` would not be in it.
        inside_end: has_lines.then(|| {
            let end = block.end_byte();
            at.text[..end].trim_ascii_end().len()
        }),
        is_closed: true,
        ..FoundDefinition::of(kind)
    }
}

/// A class of tests, as unittest and pytest know them.
fn is_test_class(at: &SyntaxNode<'_>, name: &str) -> bool {
    if at
        .field("superclasses")
        .is_some_and(|of| of.contains("TestCase"))
    {
        return true;
    }
    let has_tests = |body: Node<'_>| {
        children(body).into_iter().any(|member| {
            let member = member.child_by_field_name("definition").unwrap_or(member);
            let name = member.child_by_field_name("name");
            member.kind() == "function_definition"
                && name.is_some_and(|name| at.text_of(name).starts_with("test"))
        })
    };
    name.starts_with("Test") && at.node.child_by_field_name("body").is_some_and(has_tests)
}

/// A variable of a module or class: all that one statement sets.
fn assignment(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    if at.is_local || !is_of_module_or_class(at) {
        return None;
    }
    let mut names = Vec::new();
    let mut value = at.node;
    while value.kind() == "assignment" {
        let left = value.child_by_field_name("left")?;
        let parts = match left.kind() {
            "identifier" => vec![left],
            "pattern_list" | "tuple_pattern" => children(left),
            _ => Vec::new(),
        };
        let parts = parts.into_iter().filter(|it| it.kind() == "identifier");
        names.extend(parts.map(|name| one_line(at.text_of(name))));
        match value.child_by_field_name("right") {
            Some(right) => value = right,
            None => break,
        }
    }
    let is_list = matches!(value.kind(), "list" | "dictionary" | "set" | "tuple");
    let found = FoundDefinition {
        body: at
            .unless_short(value)
            .filter(|_| value.kind() != "assignment"),
        is_closed: !is_list,
        ..FoundDefinition::of(FoundKind::Value)
    };
    named(found, names)
}

/// True for a statement of a module or class, or in an `if` or `try` of one, but not where a file runs as a program.
fn is_of_module_or_class(at: &SyntaxNode<'_>) -> bool {
    let statement = at.wrappers.last();
    let mut around = statement.and_then(|statement| statement.parent());
    while let Some(node) = around {
        match node.kind() {
            "module" | "class_definition" => return true,
            "if_statement" => {
                let condition = node.child_by_field_name("condition");
                if condition.is_some_and(|it| at.text_of(it).contains("__name__")) {
                    return false;
                }
            }
            "block" | "elif_clause" | "else_clause" | "try_statement" | "except_clause"
            | "finally_clause" => {}
            _ => return false,
        }
        around = node.parent();
    }
    false
}
