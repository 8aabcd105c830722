//! The text of a file as its grammar sees it: its lines, what stands above a definition, and the line that shows one.

use std::ops::Range;

use tree_sitter::Node;

use super::kinds::NodeKinds;
use super::{Grammar, inside_end, one_line};
use crate::code::{CodeLanguage, LeadKind, LeadPart};

/// The longest header, in bytes.
pub(super) const LONGEST_HEADER: usize = 1000;

/// The beginnings of comments in Go that its compiler reads.
const GO_DIRECTIVES: [&str; 3] = ["//go:", "//export ", "//line "];
/// The beginnings of comments that tools read, without the mark that makes them comments.
const DIRECTIVES: [&str; 26] = [
    "@formatter:",
    "@phpstan-",
    "@ts-",
    "NOLINT",
    "ReSharper ",
    "biome-ignore",
    "c8 ignore",
    "clang-format",
    "eslint-",
    "fmt: ",
    "istanbul ignore",
    "isort:",
    "lint:",
    "mypy:",
    "noinspection ",
    "nolint",
    "noqa",
    "phpcs:",
    "prettier-ignore",
    "pylint:",
    "pyright:",
    "rubocop:",
    "ruff:",
    "shellcheck ",
    "type: ignore",
    "v8 ignore",
];

/// A text, its lines, and the grammar of its language.
pub(super) struct Source<'t> {
    pub grammar: &'t Grammar,
    pub kinds: &'static NodeKinds,
    pub text: &'t [u8],
    code: &'t str,
    /// Of each line but the first.
    line_starts: Vec<usize>,
}

impl<'t> Source<'t> {
    pub(super) fn new(language: CodeLanguage, grammar: &'t Grammar, text: &'t str) -> Self {
        Self {
            grammar,
            kinds: NodeKinds::of(language, grammar),
            text: text.as_bytes(),
            code: text,
            line_starts: memchr::memchr_iter(b'\n', text.as_bytes())
                .map(|at| at + 1)
                .collect(),
        }
    }

    /// The text up to the body in one line, without its comments; only up to the end of one of its lines, where that is given by a
    /// place in it.
    pub(super) fn header(
        &self,
        node: Node<'t>,
        range: Range<usize>,
        line_of: Option<usize>,
    ) -> String {
        let end = line_of
            .map(|at| at.clamp(range.start, range.end))
            .and_then(|at| Some(at + memchr::memchr(b'\n', &self.text[at..range.end])?));
        let range = range.start..end.unwrap_or(range.end);
        let mut text = String::with_capacity(range.len());
        let mut at = range.start;
        for comment in self.comments_in(node, &range) {
            text += self.slice(&(at..comment.start.max(at)));
            at = comment.end.min(range.end).max(at);
        }
        text += self.slice(&(at..range.end));
        let mut header = one_line(&text);
        for (spread, close) in [("( ", "("), (", )", ")"), (" )", ")")] {
            header = header.replace(spread, close);
        }
        if header.len() > LONGEST_HEADER {
            header.truncate(header.floor_char_boundary(LONGEST_HEADER));
        }
        let bare = header
            .trim_end_matches([' ', '=', ':', '{', ';', '('])
            .len();
        header.truncate(bare);
        header
    }

    /// The comments of a node that are in a range.
    fn comments_in(&self, node: Node<'t>, range: &Range<usize>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut cursor = node.walk();
        loop {
            let at = cursor.node();
            let is_in = at.start_byte() < range.end && range.start < at.end_byte();
            if is_in && self.kinds.get(at).is_comment {
                found.push(at.start_byte()..self.trimmed(at.end_byte()));
            } else if is_in && cursor.goto_first_child() {
                continue;
            }
            while cursor.node().end_byte() >= range.end || !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return found;
                }
            }
        }
    }

    /// The place behind the last thing in a body that a mark ends; or the end of one that has no such mark.
    pub(super) fn inside_end(&self, node: Node<'t>, body: &Range<usize>) -> Option<usize> {
        let of_body = node.descendant_for_byte_range(body.start, body.end)?;
        Some(body.start.max(inside_end(self.text, of_body)?))
    }

    /// A comment or an attribute that starts its line.
    pub(super) fn lead_part(&self, node: Node<'_>) -> Option<LeadPart> {
        let kind = self.kinds.get(node);
        let kind = if kind.is_comment {
            LeadKind::Comment
        } else if kind.is_attribute {
            LeadKind::Attribute
        } else {
            return None;
        };
        let range = node.byte_range();
        let end = self.trimmed(range.end).max(range.start);
        Some(LeadPart {
            kind,
            span: range.start..end,
        })
    }

    /// A part above a definition, as an attribute where it is a comment that a tool reads as one.
    pub(super) fn meant(&self, part: LeadPart) -> LeadPart {
        let text = self.slice(&part.span);
        let said = text.trim_start_matches(['/', '#', '*', ' ', '\t']);
        let is_directive = GO_DIRECTIVES.iter().any(|word| text.starts_with(word))
            || DIRECTIVES.iter().any(|word| said.starts_with(word));
        let kind = match part.kind {
            LeadKind::Comment if is_directive => LeadKind::Attribute,
            kind => kind,
        };
        LeadPart { kind, ..part }
    }

    /// Adds a part to those that stand before a definition. What is above a blank line belongs to none, nor does a comment
    /// behind something else.
    pub(super) fn add_lead(&self, lead: &mut Vec<LeadPart>, part: LeadPart) {
        // The line that names the interpreter belongs to nothing.
        if part.span.start == 0 && self.text.starts_with(b"#!") {
            return;
        }
        let line_start = part.span.start - self.column(part.span.start);
        let starts_line = self.text[line_start..part.span.start]
            .trim_ascii()
            .is_empty();
        let before = lead.last();
        let is_apart =
            before.is_some_and(|before| self.has_blank_line(before.span.end..part.span.start));
        match part.kind {
            // It is about what it stands behind.
            LeadKind::Comment
                if !starts_line && before.is_none_or(|it| it.kind == LeadKind::Comment) =>
            {
                lead.clear();
                return;
            }
            LeadKind::Comment if is_apart => lead.retain(|part| part.kind == LeadKind::Attribute),
            LeadKind::Attribute
                if is_apart && before.is_some_and(|it| it.kind == LeadKind::Comment) =>
            {
                lead.clear()
            }
            _ => {}
        }
        lead.push(part);
    }

    /// The attributes at the start of a node.
    pub(super) fn leading_attributes(&self, node: Node<'t>) -> Vec<LeadPart> {
        let mut at = node;
        for _ in 0..2 {
            let Some(first) = at.child(0) else { break };
            // Most nodes begin with none, and a cursor is dear.
            if !self.kinds.get(first).is_attribute {
                at = first;
                continue;
            }
            let mut cursor = at.walk();
            let parts = at.children(&mut cursor).map_while(|child| {
                let part = self.lead_part(child);
                part.filter(|it| it.kind == LeadKind::Attribute)
            });
            return parts.collect();
        }
        Vec::new()
    }

    /// Keeps of what stands before a definition, or at its start, the parts that belong to it. One behind another word of it, such
    /// as in `export @sealed class`, does not stand before it.
    pub(super) fn keep_own(&self, lead: &mut Vec<LeadPart>, start: usize) {
        let mut end = start;
        let leading = lead.iter().take_while(|part| {
            let leads =
                part.span.start < start || self.text[end..part.span.start].trim_ascii().is_empty();
            end = end.max(part.span.end);
            leads
        });
        let count = leading.count();
        lead.truncate(count);
        let first = self.first_of_lead(lead, start);
        lead.drain(..first);
    }

    /// The first part of what stands before a definition that belongs to it.
    fn first_of_lead(&self, lead: &[LeadPart], start: usize) -> usize {
        let mut has_doc = false;
        let mut below = start;
        for (at, part) in lead.iter().enumerate().rev() {
            let is_doc = (self.grammar.is_doc)(self.slice(&part.span));
            let is_own = match part.kind {
                LeadKind::Attribute => true,
                LeadKind::Comment if has_doc && !is_doc => false,
                LeadKind::Comment => below <= part.span.end || self.is_beside(part.span.end..below),
            };
            if !is_own {
                return at + 1;
            }
            has_doc |= part.kind == LeadKind::Comment && is_doc;
            below = part.span.start;
        }
        0
    }

    /// The end of a text that ends there, without the white space before that.
    pub(super) fn trimmed(&self, end: usize) -> usize {
        self.text[..end].trim_ascii_end().len()
    }

    /// The end of a definition, without a comment behind it on its line. Some grammars count that as a part of it.
    ///
    /// A comment in its body stays, as in the last line of a function in Python, unless all of it is on that line.
    pub(super) fn end_without_tail(
        &self,
        node: Node<'t>,
        start: usize,
        body: Option<&Range<usize>>,
    ) -> usize {
        let end = self.trimmed(node.end_byte());
        let last = end.checked_sub(1).filter(|last| *last > start);
        let last = last.and_then(|last| node.descendant_for_byte_range(last, last));
        let is_comment = |it: &Node<'t>| self.kinds.get(*it).is_comment;
        let Some(comment) = last.filter(is_comment) else {
            return end;
        };
        let before = self.trimmed(comment.start_byte()).max(start + 1);
        let line = self.line(before - 1);
        let is_outside = body.is_none_or(|body| {
            let is_closed =
                b"{([".contains(&self.text[body.start]) && b"})]".contains(&self.text[before - 1]);
            body.end <= comment.start_byte() || is_closed
        });
        if line == self.line(comment.start_byte()) && (is_outside || line == self.line(start)) {
            return before;
        }
        end
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &'t str {
        self.code.get(range.clone()).unwrap_or_default()
    }

    pub(super) fn skip_blank(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        at + rest.len() - rest.trim_ascii_start().len()
    }

    /// True if nothing is between two things, not even a blank line.
    fn is_beside(&self, between: Range<usize>) -> bool {
        let is_blank = |part: &[u8]| part.trim_ascii().is_empty();
        !self.has_blank_line(between.clone()) && self.text.get(between).is_some_and(is_blank)
    }

    fn has_blank_line(&self, range: Range<usize>) -> bool {
        self.text
            .get(range)
            .is_some_and(|part| memchr::memchr_iter(b'\n', part).count() > 1)
    }

    /// The line of an offset, counted from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at) + 1
    }

    /// The number of bytes before an offset in its line.
    pub(super) fn column(&self, at: usize) -> usize {
        let before = self.line(at).checked_sub(2);
        at - before.map_or(0, |before| self.line_starts[before])
    }
}
