//! The walk over a tree: makes definitions of its nodes, with what belongs to each. Never recurses, so no depth of a text can end
//! the stack.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::super::CodeError;
use super::source::{LONGEST_HEADER, Source};
use super::{ExportedNames, FoundDefinition, FoundKind, Grammar, SyntaxNode, one_line, text_of};
use crate::code::{
    CodeLanguage, DEEPEST, Definition, LeadKind, LeadPart, MOST_DEFINITIONS, Outline, ParsedFile,
};

/// The longest time that one text may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most places that do not parse which are named.
const MOST_ERRORS: usize = 20;
/// The longest name that counts as a reference, in bytes.
const LONGEST_NAME: usize = 100;
/// The levels of a data file's keys that an outline shows. Where that makes more lines than these, it shows one level.
const SHOWN_KEYS: usize = 2;
const MOST_SHOWN: usize = 300;

thread_local! {
    // The parser of the text before.
    static PARSER: Cell<Option<Parser>> = const { Cell::new(None) };
}

/// Finds the definitions in a text, and the names that it uses.
///
/// # Errors
/// Where that takes too long, or the grammar is for another version of the parser.
pub(super) fn parse(
    language: CodeLanguage,
    grammar: &Grammar,
    text: &str,
) -> Result<ParsedFile, CodeError> {
    let tree = tree(grammar, text)?;
    let mut walk = Walk {
        source: Source::new(language, grammar, text),
        root: tree.root_node(),
        exported: OnceCell::new(),
        outline: Outline {
            language,
            lines: text.lines().count(),
            errors: Vec::new(),
            error_count: 0,
            verbatim: Vec::new(),
            definitions: Vec::new(),
            is_cut: false,
        },
        names: HashMap::new(),
    };
    walk.all(&tree);
    walk.shorten();
    let mut references: Vec<(String, u32)> = walk.used().collect();
    references.sort_unstable();
    Ok(ParsedFile {
        outline: walk.outline.numbered(),
        references,
    })
}

fn tree(grammar: &Grammar, text: &str) -> Result<Tree, CodeError> {
    // A new one has to make room for all that it keeps.
    let mut parser = PARSER.take().unwrap_or_default();
    let set = parser.set_language(&(grammar.language)());
    set.map_err(|error| CodeError::Failed(error.to_string()))?;
    let until = Instant::now() + PATIENCE;
    let mut goes_on = |_: &ParseState| {
        if Instant::now() < until {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut goes_on);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    let tree = tree.ok_or(CodeError::TooSlow)?;
    PARSER.set(Some(parser));
    Ok(tree)
}

/// The state of a walk.
struct Walk<'t> {
    source: Source<'t>,
    root: Node<'t>,
    exported: OnceCell<ExportedNames>,
    outline: Outline,
    names: HashMap<&'t str, u32>,
}

/// The state of the walk among the children of a node.
#[derive(Default)]
struct WalkLevel<'t> {
    /// The definition that they are in.
    outer: Option<usize>,
    /// They are in a function.
    is_local: bool,
    /// Comments and attributes that stand before the next of them.
    lead: Vec<LeadPart>,
    /// The last of them that says something of all behind it.
    section: Option<&'t str>,
    /// The nodes around them that belong to a definition among them.
    wrappers: Vec<Node<'t>>,
    /// The definitions around them.
    depth: usize,
}

/// The result of reading a node.
enum Read<'t> {
    /// It is a definition: the level of its children.
    Definition(WalkLevel<'t>),
    /// It says something of all behind it.
    Section,
    /// All that is in it is local.
    Aside,
    /// It is none, so what stands above it may belong to its first child.
    Other(Vec<LeadPart>),
}

impl<'t> Walk<'t> {
    fn all(&mut self, tree: &'t Tree) {
        let mut cursor = tree.walk();
        let mut levels = vec![WalkLevel::default()];
        loop {
            let node = cursor.node();
            let level = self.visit(node, levels.last_mut());
            if let Some(level) = level
                && cursor.goto_first_child()
            {
                levels.push(level);
                continue;
            }
            while !cursor.goto_next_sibling() {
                let done = levels.pop();
                if !cursor.goto_parent() {
                    return;
                }
                if let (Some(done), Some(level)) = (done, levels.last_mut())
                    && level.lead.is_empty()
                {
                    // Where no brace ends a node, the comment above the next one may be the last of its own.
                    let column = cursor.node().start_position().column;
                    level.lead = done.lead;
                    level.lead.retain(|part| {
                        part.kind == LeadKind::Comment
                            && self.source.column(part.span.start) <= column
                    });
                }
            }
        }
    }

    /// Hides the keys that are in others, where an outline of all would be long.
    fn shorten(&mut self) {
        let keys = &mut self.outline.definitions;
        let shown = keys.iter().filter(|key| !key.is_local).count();
        if self.outline.language.is_data() && shown > MOST_SHOWN {
            for key in keys.iter_mut().filter(|key| key.parent.is_some()) {
                key.is_local = true;
            }
        }
    }

    /// Takes a node in. Returns the level of its children, unless these say nothing.
    fn visit(
        &mut self,
        node: Node<'t>,
        level: Option<&mut WalkLevel<'t>>,
    ) -> Option<WalkLevel<'t>> {
        let level = level?;
        if node.is_error() || node.is_missing() {
            self.note_error(node);
        }
        if !node.is_named() {
            return None;
        }
        let kind = self.source.kinds.get(node);
        if kind.is_string {
            self.note_string(node);
        }
        if kind.is_name {
            let name = self.source.slice(&node.byte_range());
            if (2..=LONGEST_NAME).contains(&name.len()) {
                *self.names.entry(name).or_default() += 1;
            }
        }
        let inside = WalkLevel {
            outer: level.outer,
            is_local: level.is_local,
            depth: level.depth,
            section: level.section,
            ..WalkLevel::default()
        };
        if let Some(part) = self.source.lead_part(node) {
            self.source.add_lead(&mut level.lead, part);
            return (!kind.is_comment).then_some(inside);
        }
        let lead = if level.wrappers.is_empty() {
            std::mem::take(&mut level.lead)
        } else {
            level.lead.clone()
        };
        if kind.is_wrapper {
            let wrappers = level.wrappers.iter().copied().chain([node]).collect();
            return Some(WalkLevel {
                lead,
                wrappers,
                ..inside
            });
        }
        let found = self.read(node, level, lead);
        match found {
            Read::Definition(inside) => Some(inside),
            Read::Section => {
                level.section = Some(text_of(self.source.text, node));
                Some(inside)
            }
            Read::Aside => Some(WalkLevel {
                is_local: true,
                ..inside
            }),
            Read::Other(lead) => {
                let first = node.named_child(0).filter(|_| !lead.is_empty());
                let starts = first.is_some_and(|it| it.start_byte() == node.start_byte());
                Some(WalkLevel {
                    lead: if starts { lead } else { Vec::new() },
                    ..inside
                })
            }
        }
    }

    /// Makes a definition of a node, where it is one.
    fn read(&mut self, node: Node<'t>, level: &WalkLevel<'t>, above: Vec<LeadPart>) -> Read<'t> {
        let outermost = level.wrappers.first().copied().unwrap_or(node);
        let source = &self.source;
        let own_lead = || {
            let mut lead = above.clone();
            lead.extend(source.leading_attributes(node));
            source.keep_own(&mut lead, outermost.start_byte());
            lead
        };
        let attributes = || {
            let lead = own_lead().into_iter();
            let attributes = lead.filter(|part| part.kind == LeadKind::Attribute);
            attributes
                .map(|part| source.slice(&part.span).to_owned())
                .collect()
        };
        let found = (self.source.grammar.read)(&SyntaxNode {
            node,
            text: self.source.text,
            attributes: &attributes,
            wrappers: level.wrappers.clone(),
            section: level.section,
            outer: level.outer.map(|at| &self.outline.definitions[at]),
            is_local: level.is_local,
            root: self.root,
            exported: &self.exported,
        });
        let Some(found) = found else {
            return Read::Other(above);
        };
        let kind = found.kind;
        match kind {
            FoundKind::Section => return Read::Section,
            FoundKind::Aside => return Read::Aside,
            FoundKind::Value if level.is_local => return Read::Other(Vec::new()),
            // Nobody asks for such a name; a text that does not parse may have one.
            _ if !(1..=LONGEST_HEADER).contains(&found.name.trim().len()) => {
                return Read::Other(Vec::new());
            }
            _ => {}
        }
        if level.depth >= DEEPEST || self.outline.definitions.len() >= MOST_DEFINITIONS {
            self.outline.is_cut = true;
            return Read::Other(Vec::new());
        }
        let lead = own_lead();
        let definition = self.definition(node, outermost, level, lead, found);
        let is_line = definition.first_line == definition.last_line;
        self.end_before(definition.start(), level.outer);
        self.outline.definitions.push(definition);
        let depth = level.depth + 1;
        Read::Definition(WalkLevel {
            outer: Some(self.outline.definitions.len() - 1),
            is_local: level.is_local
                || kind == FoundKind::Function
                || kind == FoundKind::Key && (is_line || depth >= SHOWN_KEYS),
            depth,
            ..WalkLevel::default()
        })
    }

    /// Ends the definitions before one where its lead starts: without a brace at their end, its comment seemed to be theirs.
    fn end_before(&mut self, start: usize, outer: Option<usize>) {
        let mut last = self.outline.definitions.len().checked_sub(1);
        while let Some(at) = last.filter(|at| Some(*at) != outer) {
            let before = &self.outline.definitions[at];
            last = before.parent;
            if before.span.end <= start {
                continue;
            }
            let end = self.source.trimmed(start);
            let last_line = self.source.line(end.saturating_sub(1));
            let before = &mut self.outline.definitions[at];
            before.span.end = end;
            before.last_line = last_line;
            let body = before.body.take().filter(|body| body.start < end);
            before.body = body.map(|body| body.start..body.end.min(end));
            before.inside_end = before.inside_end.map(|inside| inside.min(end));
        }
    }

    fn definition(
        &self,
        node: Node<'t>,
        outermost: Node<'t>,
        level: &WalkLevel<'t>,
        lead: Vec<LeadPart>,
        found: FoundDefinition,
    ) -> Definition {
        let source = &self.source;
        let behind_lead = lead.last().map_or(0, |part| part.span.end);
        let start = source.skip_blank(behind_lead.max(outermost.start_byte()));
        let end = start.max(source.end_without_tail(outermost, start, found.body.as_ref()));
        let body = found.body.map(|body| body.start..body.end.min(end));
        let body = body.filter(|body| start <= body.start && body.start <= body.end);
        let header_end = body.as_ref().map_or(end, |body| body.start);
        let mut header = found.header.unwrap_or_else(|| {
            // A value that is told in whole may go on for long.
            let is_whole = body.is_some() || found.kind == FoundKind::Function;
            let line_of = (!is_whole).then_some(node.start_byte());
            source.header(outermost, start..header_end, line_of)
        });
        if !found.group.is_empty() {
            header = format!("{} {header}", found.group);
        }
        let inside_end = found.inside_end.or_else(|| {
            let body = body.as_ref().filter(|_| !found.is_closed)?;
            source.inside_end(node, body)
        });
        let lead = lead.into_iter().map(|part| source.meant(part)).collect();
        Definition {
            parent: level.outer,
            keyword: found.keyword.to_owned(),
            name: one_line(&found.name),
            number: None,
            aliases: found.aliases.iter().map(|it| one_line(it)).collect(),
            adds_to: found.adds_to,
            inside_end: inside_end.map(|inside| inside.min(end)),
            first_line: source.line(start),
            last_line: source.line(end.saturating_sub(1).max(start)),
            header_line: source.line(source.trimmed(header_end).saturating_sub(1).max(start)),
            header,
            lead,
            span: start..end,
            body,
            is_local: level.is_local,
            is_private: found.is_private,
            is_test: found.is_test,
            has_error: node.has_error(),
        }
    }

    /// Notes a string that goes over several lines. One that says what a definition does, as Python has it, is indented with that.
    fn note_string(&mut self, node: Node<'t>) {
        let range = node.byte_range();
        let known = self.outline.verbatim.last();
        if self.outline.language == CodeLanguage::Yaml
            || node.start_position().row == node.end_position().row
            || known.is_some_and(|known| range.end <= known.end)
        {
            return;
        }
        let around = node.parent();
        let is_inside = around.is_some_and(|outer| self.source.kinds.get(outer).is_string);
        if is_inside || is_stripped_heredoc(self.source.slice(&range)) {
            return;
        }
        let is_said = around.is_some_and(|outer| outer.kind() == "expression_statement");
        if !(is_said && self.outline.language == CodeLanguage::Python) {
            self.outline.verbatim.push(range);
        }
    }

    fn note_error(&mut self, node: Node<'_>) {
        self.outline.error_count += 1;
        let line = node.start_position().row + 1;
        if self.outline.errors.len() < MOST_ERRORS && self.outline.errors.last() != Some(&line) {
            self.outline.errors.push(line);
        }
    }

    /// The names that are used: each definition names itself once.
    fn used(&self) -> impl Iterator<Item = (String, u32)> {
        let mut names = self.names.clone();
        for definition in &self.outline.definitions {
            if let Some(count) = names.get_mut(definition.last_name()) {
                *count = count.saturating_sub(1);
            }
        }
        names
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.to_owned(), count))
    }
}

/// True for a here-document of which bash takes the tabs away at the beginning of each line, where its end stands behind blanks. It
/// was written with tabs, then, and a chat page made blanks of them: they are indentation like any other.
fn is_stripped_heredoc(text: &str) -> bool {
    let end = text.lines().next_back().unwrap_or_default();
    text.starts_with("<<-")
        && end.starts_with([' ', '\t'])
        && end.trim_start_matches('\t').starts_with(' ')
}
