//! Reads a shell script into its commands, as far as a policy must know them. It runs and expands nothing, and what it
//! cannot read it hands back as text.
//!
//! The published readers of shell scripts were tried first: `brush-parser` overflows its stack on deep nesting and allocates
//! without end on seven bytes, `tree-sitter-bash` is still busy with a megabyte of `)` or of a pipeline after eight seconds;
//! and this text comes from a model. So: one pass, recursion only into substitutions and bounded there, and no tree, only
//! what runs and where its output goes.

mod word;

use std::collections::HashSet;

use word::WordText;

/// The depth to which substitutions may nest.
const DEPTH: usize = 32;
/// The depth to which `(`, `{`, `if`, loops and `case` may nest.
const GROUPS: usize = 200;

/// The commands that a script runs.
#[derive(Debug, Default)]
pub(super) struct ShellScript {
    /// Commands and groups, in the order in which they begin.
    pub(super) nodes: Vec<Node>,
    /// The parts that could not be read.
    pub(super) unread: Vec<String>,
    /// The names of functions.
    pub(super) functions: HashSet<String>,
    /// Assignments, as they stand there without their quotes.
    pub(super) assigned: Vec<String>,
}

/// A simple command; or a group such as `( … )` or a loop, which has no words.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// The program and its arguments, without leading assignments and redirections.
    pub(super) words: Vec<Word>,
    /// Here-documents and here-strings.
    pub(super) stdin: String,
    /// Files that its output goes into.
    pub(super) writes: Vec<String>,
    /// The next in its pipeline.
    pub(super) feeds: Option<usize>,
    /// The node that it is in, to which its output goes if it feeds nothing.
    pub(super) parent: Option<(usize, Via)>,
    /// The first node behind it that is not inside it.
    pub(super) end: usize,
    /// The number of programs given as text (`bash -c '…'`) that it is inside of.
    pub(super) level: usize,
}

/// The way in which a node is inside another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Via {
    /// A member of a group.
    Inside,
    /// In a substitution in that word.
    Word(usize),
    /// In a substitution that is its standard input.
    Input,
    /// Its output goes into a variable, a file name or the like.
    Nowhere,
}

/// One word, its quotes removed.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    /// Nothing in it is expanded: it is what it says.
    pub(super) fixed: bool,
    /// Its number among the words of its command, as written.
    pub(super) place: usize,
}

/// Reads a script, or a program given as text inside the node `parent`, into `out`.
pub(super) fn read(source: &str, parent: Option<usize>, out: &mut ShellScript) {
    let level = parent.map_or(0, |at| out.nodes[at].level + 1);
    let parent = parent.map(|at| (at, Via::Inside));
    let mut reader = ShellReader::new(source.as_bytes(), out, 0, level);
    reader.list(parent, false);
    reader.finish();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Paren,
    Brace,
    If,
    Loop,
    Case,
}

struct HereDoc {
    node: usize,
    end: Vec<u8>,
    tabs: bool,
    quoted: bool,
}

/// A list of commands that is being read: what is open, and the element whose pipeline may go on.
struct OpenList {
    start: usize,
    owner: Option<(usize, Via)>,
    open: Vec<(GroupKind, usize)>,
    last: Option<usize>,
    pipe: Option<usize>,
}

impl OpenList {
    fn parent(&self) -> Option<(usize, Via)> {
        let group = self.open.last().map(|(_, node)| (*node, Via::Inside));
        group.or(self.owner)
    }

    fn next_command(&mut self) {
        self.last = None;
        self.pipe = None;
    }
}

struct ShellReader<'s, 'o> {
    source: &'s [u8],
    at: usize,
    out: &'o mut ShellScript,
    depth: usize,
    level: usize,
    here: Vec<HereDoc>,
    /// From here on the script is not understood.
    lost: Option<usize>,
}

impl<'s, 'o> ShellReader<'s, 'o> {
    fn new(source: &'s [u8], out: &'o mut ShellScript, depth: usize, level: usize) -> Self {
        Self {
            source,
            at: 0,
            out,
            depth,
            level,
            here: Vec::new(),
            lost: None,
        }
    }

    fn finish(self) {
        if let Some(lost) = self.lost {
            let text = String::from_utf8_lossy(&self.source[lost..]);
            self.out.unread.push(text.into_owned());
        }
    }

    /// Gives up: all that is open ends here, and what began at `from` is handed back as text.
    fn lose(&mut self, from: usize) {
        self.lost = Some(self.lost.map_or(from, |lost| lost.min(from)));
        self.at = self.source.len();
        self.here.clear();
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    fn starts(&self, text: &str) -> bool {
        self.source[self.at..].starts_with(text.as_bytes())
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.starts(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// White space within a line, continued lines, and a comment.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.starts("\\\n") => self.at += 2,
                Some(b'\\') if self.starts("\\\r\n") => self.at += 3,
                Some(b'#') => {
                    let rest = &self.source[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn blank_lines(&mut self) {
        self.blanks();
        while self.peek() == Some(b'\n') {
            self.newline();
            self.blanks();
        }
    }

    /// The end of a line, and the here-documents that begin behind it.
    fn newline(&mut self) {
        self.at += 1;
        for doc in std::mem::take(&mut self.here) {
            let start = self.at;
            let mut end = start;
            while self.at < self.source.len() {
                let rest = &self.source[self.at..];
                let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let line = rest[..length]
                    .strip_suffix(b"\r")
                    .unwrap_or(&rest[..length]);
                let tabs = line.iter().take_while(|c| doc.tabs && **c == b'\t').count();
                self.at = (self.at + length + 1).min(self.source.len());
                if line[tabs..] == doc.end {
                    break;
                }
                end = self.at;
            }
            let body = &self.source[start..end];
            self.out.nodes[doc.node].stdin += &String::from_utf8_lossy(body);
            if !doc.quoted {
                let mut inner = ShellReader::new(body, self.out, self.depth + 1, self.level);
                if inner.depth > DEPTH {
                    inner.lose(0);
                }
                inner.quoted(&mut WordText::default(), None, doc.node, Via::Input);
                inner.finish();
            }
        }
    }

    fn node(&mut self, parent: Option<(usize, Via)>) -> usize {
        let node = self.out.nodes.len();
        self.out.nodes.push(Node {
            parent,
            end: node + 1,
            level: self.level,
            ..Node::default()
        });
        node
    }

    /// Begins a command or a group, which the command before it in the pipeline feeds.
    fn element(&mut self, place: &mut OpenList) -> usize {
        let node = self.node(place.parent());
        if let Some(before) = place.pipe.take() {
            self.out.nodes[before].feeds = Some(node);
        }
        node
    }

    fn open(&mut self, kind: GroupKind, place: &mut OpenList) -> usize {
        let node = self.element(place);
        place.open.push((kind, node));
        place.next_command();
        if place.open.len() > GROUPS {
            self.lose(self.at);
        }
        node
    }

    /// Ends the innermost group of that kind, and whatever is open inside it.
    fn close(&mut self, kind: GroupKind, place: &mut OpenList) -> bool {
        let Some(at) = place.open.iter().rposition(|(open, _)| *open == kind) else {
            return false;
        };
        let (_, node) = place.open[at];
        place.open.truncate(at);
        place.next_command();
        self.end(node);
        place.last = Some(node);
        true
    }

    fn end(&mut self, node: usize) {
        self.out.nodes[node].end = self.out.nodes.len();
    }

    /// Commands, up to the end of the text or, inside parentheses, behind the `)` that closes them.
    fn list(&mut self, owner: Option<(usize, Via)>, in_parens: bool) {
        let mut place = OpenList {
            start: self.at,
            owner,
            open: Vec::new(),
            last: None,
            pipe: None,
        };
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                if in_parens || !place.open.is_empty() {
                    self.lose(place.start);
                }
                return;
            };
            match c {
                b'\n' => {
                    self.newline();
                    place.last = None;
                }
                b';' => self.semicolon(&mut place),
                b'&' if !self.starts("&>") => {
                    self.at += 1;
                    let _ = self.eat("&");
                    place.next_command();
                }
                b'|' => {
                    self.at += 1;
                    if self.eat("|") {
                        place.next_command();
                    } else {
                        let _ = self.eat("&");
                        place.pipe = place.last.take();
                    }
                }
                b')' => {
                    self.at += 1;
                    if !self.close(GroupKind::Paren, &mut place) {
                        if !in_parens {
                            self.lose(place.start);
                        }
                        return;
                    }
                }
                b'(' => self.parenthesis(&mut place),
                _ if self.keyword(&mut place) => {}
                _ => {
                    // Behind a group only its redirections can follow.
                    let node = match place.last {
                        Some(group) => group,
                        None => self.element(&mut place),
                    };
                    let is_function = self.command(node);
                    self.end(node);
                    place.last = Some(node).filter(|_| !is_function);
                }
            }
        }
    }

    /// Arithmetic, or the beginning of a group.
    fn parenthesis(&mut self, place: &mut OpenList) {
        match self.arithmetic_end(self.at) {
            Some(end) => {
                let node = self.element(place);
                self.arithmetic(end, node);
                place.last = Some(node);
            }
            // What is unfinished has been given up, to its end.
            None if self.lost.is_some() => {}
            None => {
                self.at += 1;
                self.open(GroupKind::Paren, place);
            }
        }
    }

    /// The end of a statement, or of a branch of `case`.
    fn semicolon(&mut self, place: &mut OpenList) {
        self.at += 1;
        place.next_command();
        if matches!(self.peek(), Some(b';' | b'&')) {
            self.at += 1;
            let _ = self.eat("&");
            self.case_patterns(place);
        }
    }

    /// The reserved word that is here, if there is one, and what belongs to it.
    fn keyword(&mut self, place: &mut OpenList) -> bool {
        let rest = &self.source[self.at..];
        let is_end = |c: &u8| b" \t\r\n;&|()<>\\".contains(c);
        // The longest reserved word has eight letters.
        let length = rest.iter().take(9).position(is_end).unwrap_or(rest.len());
        let at = self.at;
        let mut closed = true;
        let Some(word) = rest.get(..length) else {
            return false;
        };
        self.at += length;
        match word {
            b"then" | b"elif" | b"else" | b"do" | b"!" | b"coproc" => place.last = None,
            b"time" => {
                place.last = None;
                self.blanks();
                let _ = self.eat("-p");
                if self.peek() == Some(b'-') {
                    // The program of that name.
                    self.at = at;
                    return false;
                }
            }
            b"if" => _ = self.open(GroupKind::If, place),
            b"fi" => closed = self.close(GroupKind::If, place),
            b"while" | b"until" => _ = self.open(GroupKind::Loop, place),
            b"for" | b"select" => {
                let node = self.open(GroupKind::Loop, place);
                self.loop_head(node);
            }
            b"done" => closed = self.close(GroupKind::Loop, place),
            b"case" => {
                let node = self.open(GroupKind::Case, place);
                self.blanks();
                self.word(node, Via::Nowhere);
                self.blank_lines();
                if !self.eat("in") {
                    self.lose(at);
                }
                self.case_patterns(place);
            }
            b"esac" => closed = self.close(GroupKind::Case, place),
            b"{" => _ = self.open(GroupKind::Brace, place),
            b"}" => closed = self.close(GroupKind::Brace, place),
            b"function" => {
                self.blanks();
                let node = self.node(place.parent());
                let name = self.word(node, Via::Nowhere).text();
                self.out.functions.insert(name);
                self.blanks();
                self.empty_parens();
            }
            b"[[" => {
                let node = self.element(place);
                self.test(node);
                place.last = Some(node);
            }
            _ => {
                self.at = at;
                return false;
            }
        }
        if !closed {
            self.lose(place.start);
        }
        true
    }

    /// `x in a b c`, or `((…))`.
    fn loop_head(&mut self, node: usize) {
        self.blanks();
        if let Some(end) = self.arithmetic_end(self.at) {
            self.arithmetic(end, node);
            return;
        }
        self.word(node, Via::Nowhere);
        self.blank_lines();
        if self.starts("in") && !self.starts("in=") {
            self.at += 2;
            self.words_to(node, |c| b"\n;&|)".contains(&c));
        }
    }

    /// The patterns of the next branch, up to their `)`; or the `esac`.
    fn case_patterns(&mut self, place: &mut OpenList) {
        let start = self.at;
        let Some((GroupKind::Case, node)) = place.open.last().copied() else {
            return self.lose(place.start);
        };
        self.blank_lines();
        if self.starts("esac") {
            return;
        }
        let _ = self.eat("(");
        loop {
            self.words_to(node, |c| b"\n;&|)".contains(&c));
            if self.eat(")") {
                return;
            }
            if !self.eat("|") {
                return self.lose(start);
            }
        }
    }

    /// Words that run nothing by themselves, up to such a character or the end.
    fn words_to(&mut self, node: usize, is_end: impl Fn(u8) -> bool) {
        loop {
            self.blanks();
            match self.peek() {
                None => return,
                Some(c) if is_end(c) => return,
                Some(_) => {
                    let at = self.at;
                    self.word(node, Via::Nowhere);
                    self.at += usize::from(self.at == at);
                }
            }
        }
    }

    /// The inside of `[[ … ]]`.
    fn test(&mut self, node: usize) {
        let start = self.at;
        while !self.eat("]]") {
            if self.peek().is_none() {
                return self.lose(start);
            }
            let at = self.at;
            self.word(node, Via::Nowhere);
            self.at += usize::from(self.at == at);
            self.blank_lines();
        }
    }

    /// Reads words and redirections up to the end of the command. Returns true if it was the head of a function instead.
    fn command(&mut self, node: usize) -> bool {
        loop {
            self.blanks();
            let rest = &self.source[self.at..];
            let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
            match rest.first() {
                None | Some(b'\n' | b';' | b'|' | b')') => return false,
                Some(b'&') if !self.starts("&>") => return false,
                Some(b'(') => {
                    if self.out.nodes[node].words.len() == 1 && self.empty_parens() {
                        let name = self.out.nodes[node].words.drain(..).map(|word| word.text);
                        self.out.functions.extend(name);
                        return true;
                    }
                    self.lose(self.at);
                }
                Some(b'<' | b'>') if rest.get(1) == Some(&b'(') => self.argument(node),
                Some(b'<' | b'>' | b'&') => self.redirection(node),
                _ if matches!(rest.get(digits), Some(b'<' | b'>')) => {
                    self.at += digits;
                    self.redirection(node);
                }
                _ if self.out.nodes[node].words.is_empty() && is_assignment(rest) => {
                    let text = self.word(node, Via::Nowhere).text();
                    self.out.assigned.push(text);
                }
                _ => self.argument(node),
            }
        }
    }

    fn argument(&mut self, node: usize) {
        let place = self.out.nodes[node].words.len();
        let word = self.word(node, Via::Word(place));
        self.out.nodes[node].words.push(Word {
            text: word.text(),
            fixed: !word.expands,
            place,
        });
    }

    fn empty_parens(&mut self) -> bool {
        let at = self.at;
        if self.eat("(") {
            self.blanks();
            if self.eat(")") {
                return true;
            }
        }
        self.at = at;
        false
    }

    fn redirection(&mut self, node: usize) {
        if self.eat("<<<") {
            self.blanks();
            let text = self.word(node, Via::Input).text();
            self.out.nodes[node].stdin += &text;
            return;
        }
        if self.eat("<<") {
            let tabs = self.eat("-");
            self.blanks();
            let word = self.word(node, Via::Nowhere);
            self.here.push(HereDoc {
                node,
                end: word.bytes,
                tabs,
                quoted: word.quoted,
            });
            return;
        }
        let via = if self.peek() == Some(b'<') {
            Via::Input
        } else {
            Via::Nowhere
        };
        while matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) && !self.starts("<(") {
            self.at += 1;
        }
        self.blanks();
        let file = self.word(node, via).text();
        if via == Via::Nowhere {
            self.out.nodes[node].writes.push(file);
        }
    }
}

/// Returns true if `x=`, `x+=` or `x[…]=` is here.
fn is_assignment(rest: &[u8]) -> bool {
    let is_name = |c: &&u8| c.is_ascii_alphanumeric() || **c == b'_';
    let name = rest.iter().take_while(is_name).count();
    if name == 0 || rest[0].is_ascii_digit() {
        return false;
    }
    let mut rest = &rest[name..];
    if rest.first() == Some(&b'[') {
        let is_end = |c: &u8| b"] \t\n".contains(c);
        let end = rest.iter().position(is_end).unwrap_or(rest.len());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    rest.starts_with(b"=") || rest.starts_with(b"+=")
}
