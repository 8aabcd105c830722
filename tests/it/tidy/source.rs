//! A source file as the rules see it: parsed, without its tests.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// A file below `src`, as the rules see it.
pub(super) struct Source {
    /// Its path below `src`.
    pub(super) name: String,
    /// The modules that its code is in: `crate`, then one for each folder and the file.
    pub(super) module: Vec<String>,
    pub(super) text: String,
    /// The paths that its code names, from `crate` or an outside crate on, each with its line.
    pub(super) paths: Vec<(Vec<String>, usize)>,
    pub(super) items: Items,
    /// The lines with code.
    pub(super) code: usize,
}

/// The items of a file that a rule may be about. Each has its line.
#[derive(Default)]
pub(super) struct Items {
    pub(super) types: Vec<(String, usize)>,
    /// The first line of each doc comment.
    pub(super) docs: Vec<(String, usize)>,
    /// Each `match` with an arm for `true` or `false`.
    pub(super) matches_on_bool: Vec<usize>,
    /// Each `Result<_, String>`.
    pub(super) text_errors: Vec<usize>,
    /// Each function with how many lines it has.
    pub(super) functions: Vec<(String, usize, usize)>,
    /// Each parameter that is taken apart as a tuple.
    pub(super) tuples: Vec<usize>,
    /// The lines that only tests have.
    tests: Vec<RangeInclusive<usize>>,
}

impl Source {
    pub(super) fn new(name: &str, text: &str) -> Self {
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut items = Items::default();
        items.visit_file(&parsed);
        let tokens: TokenStream = text.parse().expect("tokens");
        let module = module(name);
        let mut walk = Walk {
            tests: &items.tests,
            module: module.clone(),
            paths: Vec::new(),
            lines: BTreeSet::new(),
        };
        walk.stream(tokens, None);
        Self {
            name: name.to_owned(),
            text: text.to_owned(),
            paths: walk.paths,
            code: walk.lines.len(),
            module,
            items,
        }
    }
}

fn module(name: &str) -> Vec<String> {
    let name = name.strip_suffix(".rs").expect("a source file");
    let below = name
        .split('/')
        .filter(|part| !["lib", "mod"].contains(part));
    std::iter::once("crate")
        .chain(below)
        .map(str::to_owned)
        .collect()
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        attribute.path().is_ident("cfg") && list.tokens.to_string() == "test"
    })
}

impl Items {
    fn doc(&mut self, attributes: &[syn::Attribute]) {
        let doc = attributes.iter().find_map(|attribute| {
            let syn::Meta::NameValue(pair) = &attribute.meta else {
                return None;
            };
            let syn::Expr::Lit(literal) = &pair.value else {
                return None;
            };
            let syn::Lit::Str(text) = &literal.lit else {
                return None;
            };
            let line = attribute.span().start().line;
            let is_outer = matches!(attribute.style, syn::AttrStyle::Outer);
            (pair.path.is_ident("doc") && is_outer).then(|| (text.value().trim().to_owned(), line))
        });
        self.docs.extend(doc);
    }

    fn named(&mut self, name: &syn::Ident) {
        self.types
            .push((name.to_string(), name.span().start().line));
    }

    fn function(&mut self, signature: &syn::Signature, whole: proc_macro2::Span) {
        let (first, last) = (signature.span().start().line, whole.end().line);
        self.functions
            .push((signature.ident.to_string(), first, last + 1 - first));
        for parameter in &signature.inputs {
            if let syn::FnArg::Typed(typed) = parameter
                && let syn::Pat::Tuple(tuple) = &*typed.pat
            {
                self.tuples.push(tuple.span().start().line);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Items {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Const(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Macro(item) => &item.attrs,
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Trait(item) => &item.attrs,
            syn::Item::Type(item) => &item.attrs,
            syn::Item::Union(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if is_for_tests(attributes) {
            let span = item.span();
            self.tests.push(span.start().line..=span.end().line);
            return;
        }
        self.doc(attributes);
        match item {
            syn::Item::Enum(item) => self.named(&item.ident),
            syn::Item::Struct(item) => self.named(&item.ident),
            syn::Item::Trait(item) => self.named(&item.ident),
            syn::Item::Type(item) => self.named(&item.ident),
            syn::Item::Union(item) => self.named(&item.ident),
            syn::Item::Fn(item) => self.function(&item.sig, item.span()),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_for_tests(&item.attrs) {
            let span = item.span();
            self.tests.push(span.start().line..=span.end().line);
            return;
        }
        self.doc(&item.attrs);
        self.function(&item.sig, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.doc(&item.attrs);
        self.function(&item.sig, item.span());
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.doc(&item.attrs);
        visit::visit_impl_item_const(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.doc(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.doc(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        let is_bool = |pattern: &syn::Pat| matches!(pattern, syn::Pat::Lit(literal) if matches!(literal.lit, syn::Lit::Bool(_)));
        if matched.arms.iter().any(|arm| is_bool(&arm.pat)) {
            self.matches_on_bool.push(matched.span().start().line);
        }
        visit::visit_expr_match(self, matched);
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "Result"
            && let syn::PathArguments::AngleBracketed(given) = &segment.arguments
            && let Some(syn::GenericArgument::Type(syn::Type::Path(error))) =
                given.args.iter().nth(1)
            && error.path.is_ident("String")
        {
            self.text_errors.push(segment.span().start().line);
        }
        visit::visit_path_segment(self, segment);
    }
}

/// Finds the paths in tokens, those in macros too.
struct Walk<'s> {
    tests: &'s [RangeInclusive<usize>],
    module: Vec<String>,
    paths: Vec<(Vec<String>, usize)>,
    lines: BTreeSet<usize>,
}

impl Walk<'_> {
    /// Walks tokens. In a group behind `a::` the names in it go on from `a`.
    fn stream(&mut self, tokens: TokenStream, prefix: Option<&[String]>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        let mut at = 0;
        while at < tokens.len() {
            let line = tokens[at].span().start().line;
            if self.tests.iter().any(|lines| lines.contains(&line)) {
                at += 1;
                continue;
            }
            let last = tokens[at].span().end().line;
            let is_doc = matches!(&tokens[at], TokenTree::Punct(punct) if punct.as_char() == '#')
                && tokens.get(at + 1).is_some_and(is_doc_comment);
            if is_doc {
                at += 2;
                continue;
            }
            match &tokens[at] {
                TokenTree::Ident(word) if word == "mod" && self.enters(&tokens[at + 1..]) => {
                    at += 3;
                }
                TokenTree::Ident(first) => {
                    self.lines.insert(line);
                    let mut path = prefix.map(<[String]>::to_vec).unwrap_or_default();
                    path.push(first.to_string());
                    at += 1;
                    while is_colon(at) && is_colon(at + 1) {
                        at += 2;
                        match tokens.get(at) {
                            Some(TokenTree::Ident(next)) => path.push(next.to_string()),
                            Some(TokenTree::Group(group))
                                if group.delimiter() == Delimiter::Brace =>
                            {
                                self.stream(group.stream(), Some(&path));
                            }
                            _ => break,
                        }
                        at += 1;
                    }
                    if path.len() > 1 {
                        self.paths.push((self.absolute(path), line));
                    }
                }
                TokenTree::Group(group) => {
                    self.lines.extend([line, last]);
                    self.stream(group.stream(), None);
                    at += 1;
                }
                _ => {
                    self.lines.extend(line..=last);
                    at += 1;
                }
            }
        }
    }

    /// Walks a module that has its code in braces behind its name. False if this is none.
    fn enters(&mut self, tokens: &[TokenTree]) -> bool {
        let [TokenTree::Ident(name), TokenTree::Group(code), ..] = tokens else {
            return false;
        };
        self.module.push(name.to_string());
        self.stream(code.stream(), None);
        self.module.pop();
        true
    }

    /// Returns a path from `crate` on where it is told from this module.
    fn absolute(&self, path: Vec<String>) -> Vec<String> {
        let up = path.iter().take_while(|part| *part == "super").count();
        if up == 0 || up >= self.module.len() {
            return path;
        }
        let base = &self.module[..self.module.len() - up];
        base.iter().chain(&path[up..]).cloned().collect()
    }
}

fn is_doc_comment(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else {
        return false;
    };
    let mut inside = group.stream().into_iter();
    matches!(inside.next(), Some(TokenTree::Ident(name)) if name == "doc")
}
