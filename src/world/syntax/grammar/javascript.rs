//! The definitions of JavaScript and TypeScript, with and without JSX.

use std::collections::HashSet;

use tree_sitter::Node;

use super::{
    ExportedNames, FoundDefinition, FoundKind, Grammar, SyntaxNode, child, children, one_line,
    text_of, unquoted,
};
use crate::code::MARK;

#[cfg(feature = "grammar-javascript")]
pub(super) const JAVASCRIPT: Grammar = Grammar {
    language: || tree_sitter_javascript::LANGUAGE.into(),
    ..SHARED
};

#[cfg(feature = "grammar-typescript")]
pub(super) const TYPESCRIPT: Grammar = Grammar {
    language: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
    ..SHARED
};

#[cfg(feature = "grammar-typescript")]
pub(super) const TSX: Grammar = Grammar {
    language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    ..SHARED
};

/// All but the grammar itself. JavaScript has nodes that TypeScript has too, with the same names.
const SHARED: Grammar = Grammar {
    #[cfg(feature = "grammar-typescript")]
    language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
    #[cfg(not(feature = "grammar-typescript"))]
    language: || tree_sitter_javascript::LANGUAGE.into(),
    comments: &["comment", "html_comment"],
    is_doc: |text| text.starts_with("/**"),
    attributes: &["decorator"],
    wrappers: &[
        "export_statement",
        "ambient_declaration",
        "expression_statement",
    ],
    names: &[
        "identifier",
        "type_identifier",
        "property_identifier",
        "private_property_identifier",
        "shorthand_property_identifier",
    ],
    read,
};

/// The functions whose calls are tests, and those whose calls hold tests.
const TESTS: [&str; 2] = ["it", "test"];
const SUITES: [&str; 3] = ["describe", "context", "suite"];

/// The functions that a whole file is given to.
const LOADERS: [&str; 5] = ["define", "require", "jQuery", "$", "$(document).ready"];

/// The most calls that a function is looked for in: `memo(forwardRef(() => …))` has two.
const MOST_CALLS: usize = 6;

fn read(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let keyword = match at.node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            "function"
        }
        "class_declaration" | "abstract_class_declaration" => "class",
        "interface_declaration" => "interface",
        "enum_declaration" => "enum",
        "internal_module" => "namespace",
        "module" => "module",
        "type_alias_declaration" => return type_alias(at),
        "lexical_declaration" | "variable_declaration" => return variable(at),
        "assignment_expression" => return assignment(at),
        "method_definition" | "method_signature" | "abstract_method_signature" => {
            return method(at);
        }
        "field_definition" | "public_field_definition" | "property_signature" => return field(at),
        "pair" => return pair(at),
        "class_static_block" => return Some(FoundDefinition::of(FoundKind::Aside)),
        _ => return expression(at),
    };
    let name = unquoted(&at.field("name")?);
    let kind = if keyword == "function" {
        FoundKind::Function
    } else {
        FoundKind::Container
    };
    FoundDefinition {
        keyword,
        body: at.range("body"),
        is_private: is_private(at, std::slice::from_ref(&name)),
        ..FoundDefinition::of(kind)
    }
    .named(with_default(at, name))
}

/// The name of what is exported, and that which `export default` gives it.
fn with_default(at: &SyntaxNode<'_>, name: String) -> Vec<String> {
    let is_default = at
        .wrappers
        .last()
        .is_some_and(|it| child(*it, "default").is_some());
    std::iter::once(name)
        .chain(is_default.then(|| "default".to_owned()))
        .collect()
}

/// True for what others cannot use: in a file that exports anything, what it does not; in a namespace, the same.
fn is_private(at: &SyntaxNode<'_>, names: &[String]) -> bool {
    let is_exported = |it: &Node<'_>| it.kind() == "export_statement";
    if at.is_local || at.wrappers.iter().any(is_exported) {
        return false;
    }
    match at.outer {
        Some(outer) => {
            let is_declared = outer.header.split(' ').any(|word| word == "declare");
            ["namespace", "module"].contains(&outer.keyword.as_str()) && !is_declared
        }
        None => {
            let exported = at.exported.get_or_init(|| exported(at.root, at.text));
            let lacks = |all: &HashSet<String>| !names.iter().any(|name| all.contains(name));
            exported.as_ref().is_some_and(lacks) && !is_global(at)
        }
    }
}

/// True for what stands in `declare global { … }`.
fn is_global(at: &SyntaxNode<'_>) -> bool {
    let outermost = at.wrappers.first().copied().unwrap_or(at.node);
    let around = outermost.parent().and_then(|block| block.parent());
    around.is_some_and(|it| it.kind() == "ambient_declaration")
}

/// The names that the statements of a file export, apart from those that are exported where they are defined.
fn exported(root: Node<'_>, text: &[u8]) -> ExportedNames {
    let mut names = HashSet::new();
    let mut exports = false;
    let mut add = |node: Node<'_>| {
        if matches!(node.kind(), "identifier" | "shorthand_property_identifier") {
            names.insert(text_of(text, node).to_owned());
        }
    };
    for statement in children(root) {
        if statement.kind() == "export_statement" {
            exports = true;
            children(statement).into_iter().for_each(&mut add);
            let listed = child(statement, "export_clause").map_or(Vec::new(), children);
            let listed = listed
                .into_iter()
                .filter_map(|it| it.child_by_field_name("name"));
            listed.for_each(&mut add);
            continue;
        }
        let Some(set) = child(statement, "assignment_expression") else {
            continue;
        };
        let (Some(left), Some(right)) = (
            set.child_by_field_name("left"),
            set.child_by_field_name("right"),
        ) else {
            continue;
        };
        let left = text_of(text, left);
        if left.starts_with("exports.") || left.starts_with("module.exports") {
            exports = true;
            add(right);
            if right.kind() == "object" {
                for member in children(right) {
                    add(member.child_by_field_name("value").unwrap_or(member));
                }
            }
        }
    }
    exports.then_some(names)
}

fn type_alias(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let name = at.field("name")?;
    let value = at.node.child_by_field_name("value")?;
    FoundDefinition {
        keyword: "type",
        body: at.unless_short(value),
        is_closed: value.kind() != "object_type",
        is_private: is_private(at, std::slice::from_ref(&name)),
        ..FoundDefinition::of(FoundKind::Container)
    }
    .named([name])
}

/// All that one `const`, `let` or `var` declares.
fn variable(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let declarators: Vec<Node<'_>> = children(at.node)
        .into_iter()
        .filter(|child| child.kind() == "variable_declarator")
        .collect();
    let patterns = declarators
        .iter()
        .filter_map(|it| it.child_by_field_name("name"));
    let names: Vec<String> = patterns.flat_map(|it| names_of(at, it)).collect();
    let value = declarators
        .first()
        .filter(|_| declarators.len() == 1)
        .and_then(|it| it.child_by_field_name("value"));
    let found = if holds_values(at) {
        value.map_or_else(
            || Some(FoundDefinition::of(FoundKind::Value)),
            |value| meaning(at, value),
        )
    } else {
        value.and_then(|value| local_function(at, value))
    };
    FoundDefinition {
        keyword: match at.node.child(0).map(|it| it.kind()) {
            Some("let") => "let",
            Some("var") => "var",
            _ => "const",
        },
        is_private: is_private(at, &names),
        ..found?
    }
    .named(names)
}

/// The names in what stands left of `=`.
fn names_of(at: &SyntaxNode<'_>, pattern: Node<'_>) -> Vec<String> {
    let name = |node: Node<'_>| one_line(at.text_of(node));
    if pattern.kind() == "identifier" {
        return vec![name(pattern)];
    }
    let parts = children(pattern).into_iter();
    let parts = parts.filter_map(|part| std::iter::successors(Some(part), part_of_pattern).last());
    let is_name = |it: &Node<'_>| {
        ["identifier", "shorthand_property_identifier_pattern"].contains(&it.kind())
    };
    parts.filter(is_name).map(name).collect()
}

/// The part of a pattern that holds the name.
fn part_of_pattern<'t>(part: &Node<'t>) -> Option<Node<'t>> {
    match part.kind() {
        "pair_pattern" => part.child_by_field_name("value"),
        "object_assignment_pattern" | "assignment_pattern" => part.child_by_field_name("left"),
        "rest_pattern" => part.named_child(0),
        _ => None,
    }
}

/// True where a variable is one of the file, of a namespace, or of a function around the whole file.
fn holds_values(at: &SyntaxNode<'_>) -> bool {
    let outermost = at.wrappers.first().copied().unwrap_or(at.node);
    let Some(around) = outermost.parent().filter(|_| !at.is_local) else {
        return false;
    };
    around.kind() == "program"
        || around.kind() == "statement_block"
            && around.parent().is_some_and(|it| {
                ["internal_module", "module", "ambient_declaration"].contains(&it.kind())
                    || is_around_file(at, it)
            })
}

/// True for the function of `(function () { … })()`.
fn is_called_at_once(node: Node<'_>) -> bool {
    let mut callee = node;
    let mut around = node.parent();
    while let Some(parenthesized) = around.filter(|it| it.kind() == "parenthesized_expression") {
        callee = parenthesized;
        around = parenthesized.parent();
    }
    around.is_some_and(|it| it.child_by_field_name("function") == Some(callee))
}

/// True for a function that is only there to hold the code of a file: it is called at once, or given to what is, or to a loader.
fn is_around_file(at: &SyntaxNode<'_>, node: Node<'_>) -> bool {
    let call = node
        .parent()
        .filter(|it| it.kind() == "arguments")
        .and_then(|arguments| arguments.parent());
    let callee = call.and_then(|call| call.child_by_field_name("function"));
    is_called_at_once(node)
        || callee.is_some_and(|callee| {
            is_function_expression(&callee) || LOADERS.contains(&at.text_of(callee))
        })
}

/// A function or class that a variable in a function holds: `const save = useCallback(() => { … })` too, but not the result of a
/// method that takes one.
fn local_function(at: &SyntaxNode<'_>, value: Node<'_>) -> Option<FoundDefinition> {
    let callee = value.child_by_field_name("function");
    let is_plain = callee.is_none_or(|it| it.kind() == "identifier");
    let found = meaning(at, value).filter(|_| is_plain)?;
    let is_class = value.kind() == "class";
    (is_class || found.kind == FoundKind::Function).then_some(found)
}

/// The definition that a value makes of the name that it gets; `None` where that is only another name for something.
fn meaning(at: &SyntaxNode<'_>, value: Node<'_>) -> Option<FoundDefinition> {
    let text = at.text_of(value);
    if text.starts_with("require(") {
        return None;
    }
    let long = |kind, is_closed| FoundDefinition {
        body: at.unless_short(value),
        is_closed,
        ..FoundDefinition::of(kind)
    };
    let is_list = ["object", "array"].contains(&value.kind());
    let Some(made) = made_of(value, MOST_CALLS) else {
        return Some(long(FoundKind::Value, !is_list));
    };
    let open = |kind, body: Node<'_>| FoundDefinition {
        body: Some(body.byte_range()),
        ..FoundDefinition::of(kind)
    };
    Some(match made.kind() {
        "object" if has_functions(made, MOST_CALLS) => open(FoundKind::Container, made),
        "object" => long(FoundKind::Value, !is_list),
        "class" => open(FoundKind::Container, made.child_by_field_name("body")?),
        _ => match made.child_by_field_name("body")? {
            body if body.kind() == "statement_block" => open(FoundKind::Function, body),
            body => FoundDefinition {
                body: at.unless_short(body),
                is_closed: true,
                ..FoundDefinition::of(FoundKind::Function)
            },
        },
    })
}

/// True for `function () { … }`, in parentheses or not.
fn is_function_expression(node: &Node<'_>) -> bool {
    ["parenthesized_expression", "function_expression"].contains(&node.kind())
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "generator_function"
    )
}

/// The function, class or object that a value is, or that a call makes it of.
fn made_of(value: Node<'_>, calls: usize) -> Option<Node<'_>> {
    let calls = calls.checked_sub(1)?;
    match value.kind() {
        // `(id) => (dispatch) => { … }` is the inner one, with two lists of parameters.
        "arrow_function" => value
            .child_by_field_name("body")
            .filter(|body| body.kind() == "arrow_function")
            .map_or(Some(value), |inner| made_of(inner, calls).or(Some(value))),
        "function_expression" | "generator_function" | "class" | "object" => Some(value),
        "parenthesized_expression"
        | "as_expression"
        | "satisfies_expression"
        | "non_null_expression" => made_of(value.named_child(0)?, calls),
        "call_expression" => {
            let given = value
                .child_by_field_name("arguments")
                .map_or(Vec::new(), children);
            let called = value.child_by_field_name("function");
            let called = called.filter(is_function_expression);
            given
                .into_iter()
                .chain(called)
                .find_map(|part| made_of(part, calls))
        }
        _ => None,
    }
}

/// True for an object with a method, or with an object that has one.
fn has_functions(object: Node<'_>, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    children(object).into_iter().any(|member| {
        let made = member
            .child_by_field_name("value")
            .and_then(|value| made_of(value, MOST_CALLS));
        member.kind() == "method_definition"
            || made.is_some_and(|it| {
                is_function(it) || it.kind() == "object" && has_functions(it, depth)
            })
    })
}

/// `exports.draw = …`, `Widget.prototype.draw = …` and the like.
fn assignment(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let left = at.node.child_by_field_name("left")?;
    let right = at.node.child_by_field_name("right")?;
    if !holds_values(at) || left.kind() != "member_expression" {
        return None;
    }
    let of = one_line(at.text_of(left.child_by_field_name("object")?));
    let name = one_line(at.text_of(left.child_by_field_name("property")?));
    let written = one_line(at.text_of(left));
    let found = meaning(at, right)?;
    let is_code = found.kind != FoundKind::Value;
    let names = if written == "module.exports" {
        let own = right.child_by_field_name("name");
        let own = own.filter(|_| is_code).map(|own| one_line(at.text_of(own)));
        own.into_iter().chain([written]).collect()
    } else if of == "exports" || of == "module.exports" {
        vec![name, written]
    } else {
        let of = of.strip_suffix(".prototype").unwrap_or(&of);
        let is_name = of.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c));
        (is_code && is_name).then(|| vec![format!("{of}{MARK}{name}"), written])?
    };
    let is_other_name =
        |value: Node<'_>| ["identifier", "member_expression"].contains(&value.kind());
    let only_lists = right.kind() == "object"
        && !is_code
        && children(right).into_iter().all(|member| {
            let value = member.child_by_field_name("value");
            value.is_none_or(is_other_name)
        });
    if is_other_name(right) || only_lists {
        return None;
    }
    found.named(names)
}

/// True for a member of the object or type that is the body of the definition around it.
fn is_in_body(at: &SyntaxNode<'_>) -> bool {
    let around = at.node.parent().map(|around| around.byte_range());
    at.outer.is_some_and(|outer| outer.body == around)
}

/// A method of a class, interface or object.
fn method(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let is_member = match at.parent_kind() {
        "object" => at.is_local || is_in_body(at),
        "object_type" => is_in_body(at),
        _ => true,
    };
    if !is_member {
        return Some(FoundDefinition::of(FoundKind::Aside));
    }
    let name = unquoted(&at.field("name")?);
    let is = |word: &str| at.child(word).is_some();
    FoundDefinition {
        keyword: match (is("get"), is("set")) {
            (true, _) => "get",
            (_, true) => "set",
            _ => "",
        },
        body: at.range("body"),
        is_private: is_private_member(at, &name),
        ..FoundDefinition::of(FoundKind::Function)
    }
    .named([name])
}

fn is_private_member(at: &SyntaxNode<'_>, name: &str) -> bool {
    let access = at.child("accessibility_modifier");
    name.starts_with('#') || access.is_some_and(|it| at.text_of(it) == "private")
}

/// A field of a class, interface or type.
fn field(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    if at.parent_kind() == "object_type" && !is_in_body(at) {
        return None;
    }
    let name = at.field("name").or_else(|| at.field("property"))?;
    let name = unquoted(&name);
    let value = at.node.child_by_field_name("value");
    let of_type = || {
        let of = at.node.child_by_field_name("type");
        FoundDefinition {
            body: of
                .filter(|_| at.node.kind() == "property_signature")
                .and_then(|of| at.unless_short(of)),
            is_closed: true,
            ..FoundDefinition::of(FoundKind::Value)
        }
    };
    let found = value.map_or_else(|| Some(of_type()), |value| meaning(at, value))?;
    FoundDefinition {
        is_private: is_private_member(at, &name),
        ..found
    }
    .named([name])
}

/// A function of an object, or an object with functions.
fn pair(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let found = meaning(at, at.node.child_by_field_name("value")?)?;
    let fits = match found.kind {
        FoundKind::Function => at.is_local || is_in_body(at),
        FoundKind::Container => is_in_body(at),
        _ => false,
    };
    fits.then_some(found)?.named([unquoted(&at.field("key")?)])
}

/// An expression that is a definition by where it stands, or a function without a name.
fn expression(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    if at.node.kind() == "call_expression"
        && let Some(found) = test(at)
    {
        return Some(found);
    }
    let wrapper = at.wrappers.last();
    let is_default = wrapper.is_some_and(|it| it.child_by_field_name("value") == Some(at.node));
    if is_default && at.node.kind() != "identifier" {
        let name = at.field("name");
        return meaning(at, at.node)?.named(name.into_iter().chain(["default".into()]));
    }
    let is_class = at.node.kind() == "class";
    if !is_class && !is_function(at.node) {
        return None;
    }
    let body = at.range("body");
    if body.is_some() && at.outer.is_some_and(|outer| outer.body == body) {
        return None;
    }
    if !at.is_local && is_around_file(at, at.node) {
        return None;
    }
    let name = at.field("name").filter(|_| is_class);
    let Some(name) = name else {
        return Some(FoundDefinition::of(FoundKind::Aside));
    };
    FoundDefinition {
        keyword: "class",
        body,
        ..FoundDefinition::default()
    }
    .named([name])
}

/// `describe("a parser", () => { … })` and what it holds, named by its words.
fn test(at: &SyntaxNode<'_>) -> Option<FoundDefinition> {
    let is_statement = |it: &Node<'_>| it.kind() == "expression_statement";
    at.wrappers.last().filter(|it| is_statement(it))?;
    let callee = at.field("function")?;
    let callee = callee.split(['.', '(', '`']).next()?;
    let keyword = TESTS.into_iter().chain(SUITES).find(|it| *it == callee)?;
    let given = children(at.node.child_by_field_name("arguments")?);
    let words = given.first()?;
    let is_text = ["string", "template_string"].contains(&words.kind());
    let function = given.iter().find(|it| is_function(**it))?;
    let kind = if SUITES.contains(&keyword) {
        FoundKind::Container
    } else {
        FoundKind::Function
    };
    let found = FoundDefinition {
        keyword,
        body: Some(function.child_by_field_name("body")?.byte_range()),
        is_test: true,
        ..FoundDefinition::of(kind)
    };
    is_text
        .then_some(found)?
        .named([unquoted(at.text_of(*words))])
}
