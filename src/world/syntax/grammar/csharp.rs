//! The definitions of C#.

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, child, children, one_line};

pub(super) const GRAMMAR: Grammar = Grammar {
    language: || tree_sitter_c_sharp::LANGUAGE.into(),
    comments: &["comment"],
    is_doc: |text| text.starts_with("///") || text.starts_with("/**"),
    attributes: &["attribute_list"],
    wrappers: &["global_statement"],
    names: &["identifier"],
    read,
};

/// The attributes of methods and classes that a test framework runs.
const TESTS: [&str; 9] = [
    "Fact",
    "Theory",
    "Test",
    "TestCase",
    "TestCaseSource",
    "TestFixture",
    "TestMethod",
    "DataTestMethod",
    "TestClass",
];

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "namespace_declaration" | "file_scoped_namespace_declaration" => container(at, "namespace"),
        "class_declaration" => container(at, "class"),
        "interface_declaration" => container(at, "interface"),
        "struct_declaration" => container(at, "struct"),
        "record_declaration" => container(at, "record"),
        "enum_declaration" => container(at, "enum"),
        "delegate_declaration" => FoundDefinition {
            keyword: "delegate",
            is_private: is_private(at),
            ..FoundDefinition::of(FoundKind::Function)
        }
        .named([at.field("name")?]),
        "method_declaration"
        | "constructor_declaration"
        | "destructor_declaration"
        | "operator_declaration"
        | "conversion_operator_declaration"
        | "local_function_statement" => method(at),
        "property_declaration" | "indexer_declaration" | "event_declaration" => property(at),
        "field_declaration" | "event_field_declaration" => field(at),
        "lambda_expression" | "anonymous_method_expression" => {
            Some(FoundDefinition::of(FoundKind::Aside))
        }
        _ => None,
    }
}

fn container(at: &SyntaxNode<'_>, keyword: &'static str) -> Option<FoundDefinition> {
    FoundDefinition {
        keyword,
        body: at.range("body"),
        is_private: keyword != "namespace" && is_private(at),
        is_test: holds_tests(at),
        ..FoundDefinition::default()
    }
    .named([at.field("name")?])
}

/// True if nothing lets other files use it. A member of a class is for that class alone where nothing is said, but a type of a
/// namespace is for its whole assembly.
fn is_private(at: &SyntaxNode<'_>) -> bool {
    let modifiers: Vec<&str> = children(at.node)
        .into_iter()
        .filter(|child| child.kind() == "modifier")
        .map(|modifier| at.text_of(modifier))
        .collect();
    let has = |wanted: &[&str]| modifiers.iter().any(|it| wanted.contains(it));
    if has(&["public", "internal", "protected"]) {
        return false;
    }
    let in_class = at
        .outer
        .is_some_and(|outer| ["class", "struct", "record"].contains(&outer.keyword.as_str()));
    let of_interface = at.child("explicit_interface_specifier").is_some();
    has(&["private", "file"]) || in_class && !of_interface
}

fn is_test(at: &SyntaxNode<'_>, node: Node<'_>) -> bool {
    let lists = children(node).into_iter();
    let lists = lists.filter(|child| child.kind() == "attribute_list");
    lists.flat_map(children).any(|attribute| {
        let name = attribute.child_by_field_name("name");
        let name = name.map_or("", |name| at.text_of(name));
        TESTS.contains(&name.rsplit('.').next().unwrap_or(name))
    })
}

/// True for a class that an attribute makes one of tests, and for one with a method that is a test.
fn holds_tests(at: &SyntaxNode<'_>) -> bool {
    let body = at.node.child_by_field_name("body");
    let members = body.map_or(Vec::new(), children).into_iter();
    let mut methods = members.filter(|member| member.kind() == "method_declaration");
    is_test(at, at.node) || methods.any(|method| is_test(at, method))
}

fn method(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = match at.node.kind() {
        "operator_declaration" => format!("operator {}", at.field("operator")?),
        "conversion_operator_declaration" => {
            let explicit = at.child("explicit").is_some();
            let word = if explicit { "explicit" } else { "implicit" };
            format!("{word} operator {}", at.field("type")?)
        }
        "destructor_declaration" => format!("~{}", at.field("name")?),
        _ => of_interface(at, at.field("name")?),
    };
    let body = at.node.child_by_field_name("body");
    FoundDefinition {
        body: body.map(|body| body.byte_range()),
        is_closed: body.is_some_and(|body| body.kind() == "arrow_expression_clause"),
        is_private: is_private(at) && at.node.kind() != "destructor_declaration",
        is_test: is_test(at, at.node),
        ..FoundDefinition::of(FoundKind::Function)
    }
    .named([name])
}

/// The name of a member that is there for one interface only has that before it: `IShape.Draw`.
fn of_interface(at: &SyntaxNode<'_>, name: String) -> String {
    match at.child("explicit_interface_specifier") {
        None => name,
        Some(of) => format!("{}{name}", one_line(at.text_of(of))),
    }
}

/// A property, indexer or event. One on a single line is shown with its accessors.
fn property(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = match at.node.kind() {
        "indexer_declaration" => "this[]".to_owned(),
        _ => at.field("name")?,
    };
    let accessors = at.node.child_by_field_name("accessors");
    let value = at.node.child_by_field_name("value");
    let body = match (accessors, value) {
        (Some(accessors), _) => at.unless_short(accessors),
        (None, value) => value.and_then(|value| at.unless_short(value)),
    };
    FoundDefinition {
        keyword: if at.node.kind() == "event_declaration" {
            "event"
        } else {
            ""
        },
        body,
        is_closed: accessors.is_none(),
        is_private: is_private(at),
        ..FoundDefinition::of(FoundKind::Value)
    }
    .named([of_interface(at, name)])
}

/// All that one declaration of fields or events names.
fn field(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let declaration = at.child("variable_declaration")?;
    let declarators: Vec<Node<'_>> = children(declaration)
        .into_iter()
        .filter(|child| child.kind() == "variable_declarator")
        .collect();
    let names = declarators
        .iter()
        .filter_map(|it| it.child_by_field_name("name"));
    let names = names.map(|name| one_line(at.text_of(name)));
    let only = declarators.first().filter(|_| declarators.len() == 1);
    let value = only.and_then(|only| {
        only.children(&mut only.walk())
            .skip_while(|child| child.kind() != "=")
            .nth(1)
    });
    let elements = value.and_then(|value| child(value, "initializer_expression"));
    let body = value.and_then(|value| at.unless_short(value));
    FoundDefinition {
        keyword: if at.node.kind() == "event_field_declaration" {
            "event"
        } else {
            ""
        },
        body: body.map(|body| elements.map_or(body, |elements| elements.byte_range())),
        is_closed: elements.is_none(),
        is_private: is_private(at),
        ..FoundDefinition::of(FoundKind::Value)
    }
    .named(names)
}
