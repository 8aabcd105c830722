//! The definitions of C and C++, whose grammars name most nodes alike.

use std::ops::Range;

use tree_sitter::Node;

use super::{FoundDefinition, FoundKind, Grammar, SyntaxNode, one_line};
use crate::code::{Definition, MARK};

#[cfg(feature = "grammar-c")]
pub(super) const C: Grammar = Grammar {
    language: || tree_sitter_c::LANGUAGE.into(),
    comments: &["comment"],
    is_doc,
    attributes: &["attribute_declaration", "attribute_specifier"],
    wrappers: &["linkage_specification"],
    names: &["identifier", "type_identifier", "field_identifier"],
    read,
};

#[cfg(feature = "grammar-cpp")]
pub(super) const CPP: Grammar = Grammar {
    language: || tree_sitter_cpp::LANGUAGE.into(),
    comments: &["comment"],
    is_doc,
    attributes: &["attribute_declaration", "attribute_specifier"],
    wrappers: &["template_declaration", "linkage_specification"],
    names: &[
        "identifier",
        "type_identifier",
        "field_identifier",
        "namespace_identifier",
    ],
    read,
};

/// A name as a definition gives it.
#[derive(Default)]
struct GivenName {
    /// With the mark between its parts.
    name: String,
    /// Other ways to write it.
    aliases: Vec<String>,
    is_function: bool,
}

fn is_doc(text: &str) -> bool {
    ["///", "/**", "//!", "/*!"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    match at.node.kind() {
        "function_definition" => function(at),
        "declaration" | "field_declaration" => declaration(at),
        "struct_specifier" => type_with_body(at, "struct"),
        "union_specifier" => type_with_body(at, "union"),
        "enum_specifier" => type_with_body(at, "enum"),
        "class_specifier" => type_with_body(at, "class"),
        "type_definition" => typedef(at),
        "alias_declaration" => named(at, "using"),
        "concept_definition" => named(at, "concept"),
        "namespace_definition" => namespace(at),
        "preproc_def" => macro_of(at, "name"),
        "preproc_function_def" => macro_of(at, "parameters"),
        "access_specifier" => Some(FoundDefinition::of(FoundKind::Section)),
        // A friend is defined elsewhere.
        "friend_declaration" => Some(FoundDefinition::of(FoundKind::Aside)),
        _ => None,
    }
}

fn function(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let given = declared(at, at.node.child_by_field_name("declarator")?)?;
    let body = at.node.child_by_field_name("body");
    let mut cursor = at.node.walk();
    // Neither the list of initial values nor a comment is of use in an outline.
    let behind = body.map(|body| {
        at.node
            .named_children(&mut cursor)
            .take_while(|child| {
                child.start_byte() < body.start_byte() && child.kind() != "field_initializer_list"
            })
            .filter(|child| child.kind() != "comment")
            .last()
            .map_or(body.start_byte(), |child| child.end_byte())
    });
    Some(FoundDefinition {
        name: given.name,
        aliases: given.aliases,
        body: behind
            .zip(body)
            .map(|(behind, body)| behind..body.end_byte()),
        inside_end: body.and_then(|body| at.inside_end(body)),
        kind: FoundKind::Function,
        is_private: is_private(at),
        ..FoundDefinition::default()
    })
}

/// A prototype, or variables: the first of them gives the name. A member of a class counts if it is a function.
fn declaration(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let mut cursor = at.node.walk();
    let all: Vec<Node<'_>> = at
        .node
        .children_by_field_name("declarator", &mut cursor)
        .collect();
    let mut names = all.iter().filter_map(|it| declared(at, *it));
    let given = names.next()?;
    let is_member = at.node.kind() == "field_declaration";
    if is_member && !given.is_function || given.is_function && is_in_function(at) {
        return None;
    }
    let kind = if given.is_function {
        FoundKind::Function
    } else {
        FoundKind::Value
    };
    let others = names.map(|it| it.name);
    let value = all[0].child_by_field_name("value");
    let of_type = body_of_type(at).filter(|_| value.is_none());
    Some(FoundDefinition {
        name: given.name,
        aliases: given.aliases.into_iter().chain(others).collect(),
        header: of_type.clone().map(|body| around(at, body)),
        body: of_type.or(value.and_then(|value| at.unless_short(value))),
        kind,
        is_private: is_private(at),
        ..FoundDefinition::default()
    })
}

/// A type that is defined here; one that is only named is none.
fn type_with_body(at: &SyntaxNode<'_>, keyword: &'static str) -> Option<FoundDefinition> {
    let body = at.range("body")?;
    // A type and the `typedef` around it are one.
    let is_of_outer =
        |outer: &Definition| outer.keyword == "typedef" && outer.body.as_ref() == Some(&body);
    if at.outer.is_some_and(is_of_outer) {
        return None;
    }
    let given = match at.node.child_by_field_name("name") {
        Some(name) => given(at, name),
        // The constants of an enum are of use without a name for it.
        None if keyword == "enum" => GivenName {
            name: keyword.to_owned(),
            ..GivenName::default()
        },
        None => return None,
    };
    Some(FoundDefinition {
        keyword,
        name: given.name,
        aliases: given.aliases,
        body: Some(body),
        is_private: is_private(at),
        ..FoundDefinition::default()
    })
}

/// `typedef struct node { … } node_t;`, which is `node_t` and `struct node` too.
fn typedef(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let mut cursor = at.node.walk();
    let declarators = at.node.children_by_field_name("declarator", &mut cursor);
    let mut names = declarators.filter_map(|it| declared(at, it));
    let name = names.next()?.name;
    let mut aliases: Vec<String> = names.map(|it| it.name).collect();
    let body = body_of_type(at);
    if body.is_some()
        && let Some(of) = at.node.child_by_field_name("type")
        && let Some(tag) = of.child_by_field_name("name")
    {
        let tag = one_line(at.text_of(tag));
        let keyword = of.kind().trim_end_matches("_specifier");
        aliases.push(format!("{keyword} {tag}"));
        if tag != name {
            aliases.push(tag);
        }
    }
    Some(FoundDefinition {
        keyword: "typedef",
        name,
        aliases,
        header: body.clone().map(|body| around(at, body)),
        body,
        kind: FoundKind::Container,
        is_private: is_private(at),
        ..FoundDefinition::default()
    })
}

/// A definition whose name is in a field of its own.
fn named(at: &SyntaxNode<'_>, keyword: &'static str) -> Option<FoundDefinition> {
    Some(FoundDefinition {
        keyword,
        name: at.field("name")?,
        kind: FoundKind::Value,
        is_private: is_private(at),
        ..FoundDefinition::default()
    })
}

/// A namespace. What is in one without a name is of its file only.
fn namespace(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let keyword = "namespace";
    let name = at.field("name");
    let is_private = name.is_none();
    let written = name.unwrap_or_else(|| keyword.to_owned());
    let name = written.replace("::", MARK);
    Some(FoundDefinition {
        keyword: if is_private { "" } else { keyword },
        aliases: (name != written).then_some(written).into_iter().collect(),
        name,
        body: at.range("body"),
        is_private,
        ..FoundDefinition::default()
    })
}

/// A macro, but for the one that guards a header.
fn macro_of(at: &SyntaxNode<'_>, head: &str) -> Option<FoundDefinition> {
    let name = at.field("name")?;
    let value = at.range("value");
    let bare = name.trim_end_matches('_').to_uppercase();
    let is_guard = ["_H", "_HH", "_HPP", "_HXX", "_INCLUDED"]
        .iter()
        .any(|end| bare.ends_with(end));
    if value.is_none() && is_guard {
        return None;
    }
    let head_end = at.range(head)?.end;
    Some(FoundDefinition {
        keyword: "#define",
        name,
        body: value
            .map(|value| head_end..at.end().min(value.end))
            .filter(|range| at.is_spread(range)),
        kind: FoundKind::Value,
        ..FoundDefinition::default()
    })
}

/// The name that a declarator gives, through its pointers, arrays and brackets.
fn declared(at: &SyntaxNode<'_>, declarator: Node<'_>) -> Option<GivenName> {
    let mut node = declarator;
    let mut is_function = false;
    loop {
        match node.kind() {
            // `int (*draw)(int)` is no function.
            "pointer_declarator" | "reference_declarator" => is_function = false,
            "function_declarator" => is_function = true,
            "init_declarator"
            | "array_declarator"
            | "parenthesized_declarator"
            | "attributed_declarator" => {}
            _ => break,
        }
        let inner = node.child_by_field_name("declarator");
        let inner = inner.or_else(|| {
            let mut cursor = node.walk();
            node.named_children(&mut cursor)
                .find(|child| child.kind() != "comment" && child.kind() != "ms_call_modifier")
        });
        node = inner?;
    }
    let is_name = matches!(
        node.kind(),
        "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "operator_cast"
            | "template_function"
            | "primitive_type"
    );
    is_name.then(|| GivenName {
        is_function: is_function || holds_cast(node),
        ..given(at, node)
    })
}

/// True if a name ends in `operator bool()`, which holds its parameters.
fn holds_cast(name: Node<'_>) -> bool {
    let mut node = name;
    while let Some(inner) = node
        .child_by_field_name("name")
        .filter(|_| node.kind() == "qualified_identifier")
    {
        node = inner;
    }
    node.kind() == "operator_cast"
}

/// The name that a node is: of `a::Widget<T>::draw` the three parts, without parameters.
fn given(at: &SyntaxNode<'_>, name: Node<'_>) -> GivenName {
    let mut parts = Vec::new();
    let mut node = name;
    while node.kind() == "qualified_identifier" {
        if let Some(scope) = node.child_by_field_name("scope") {
            parts.push(plain(at, scope));
        }
        match node.child_by_field_name("name") {
            Some(inner) => node = inner,
            None => break,
        }
    }
    let last = match node.kind() {
        "operator_cast" => {
            let of = node.child_by_field_name("type");
            format!("operator {}", of.map_or("", |of| at.text_of(of)))
        }
        _ => one_line(at.text_of(node)),
    };
    let mut aliases = Vec::new();
    let bare = plain(at, node);
    if bare != last && node.kind().starts_with("template_") {
        aliases.push([&parts[..], &[bare]].concat().join(MARK));
    }
    parts.push(last);
    if parts.len() > 1 {
        aliases.push(parts.join("::"));
    }
    GivenName {
        name: parts.join(MARK),
        aliases,
        is_function: false,
    }
}

/// The text of a name without its parameters.
fn plain(at: &SyntaxNode<'_>, name: Node<'_>) -> String {
    let bare = name
        .child_by_field_name("name")
        .filter(|_| name.kind().starts_with("template_"));
    one_line(at.text_of(bare.unwrap_or(name)))
}

/// True if a node is in a function: what looks like a prototype there is mostly a variable.
fn is_in_function(at: &SyntaxNode<'_>) -> bool {
    let holds = ["class", "struct", "union", "namespace", "typedef"];
    at.outer
        .is_some_and(|outer| !holds.contains(&outer.keyword.as_str()) && outer.name != "namespace")
}

/// The braces of the type that a declaration defines by the way.
fn body_of_type(at: &SyntaxNode<'_>) -> Option<Range<usize>> {
    let of = at.node.child_by_field_name("type")?;
    Some(of.child_by_field_name("body")?.byte_range())
}

/// The text of a node around its braces, as what is behind these names it.
fn around(at: &SyntaxNode<'_>, body: Range<usize>) -> String {
    let before = at.slice(at.node.start_byte()..body.start).trim_end();
    let behind = at.slice(body.end..at.node.end_byte());
    let behind = behind.trim_end_matches(';').trim();
    one_line(&format!("{before} {{…}} {behind}"))
}

/// True if other files cannot use it.
fn is_private(at: &SyntaxNode<'_>) -> bool {
    let is_static = || {
        let mut cursor = at.node.walk();
        at.node
            .children(&mut cursor)
            .any(|child| child.kind() == "storage_class_specifier" && at.text_of(child) == "static")
    };
    match at.outer.map(|outer| outer.keyword.as_str()) {
        Some("class") => at.section.is_none_or(|section| section == "private"),
        Some("struct" | "union" | "typedef") => at.section == Some("private"),
        _ => is_static(),
    }
}
