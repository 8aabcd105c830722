//! Reads a shell script into its commands, as far as a policy must know them. It runs and expands nothing, and what it
//! cannot read it hands back as text.
//!
//! The published readers of shell scripts were tried first: `brush-parser` overflows its stack on deep nesting and allocates
//! without end on seven bytes, `tree-sitter-bash` is still busy with a megabyte of `)` or of a pipeline after eight seconds;
//! and this text comes from a model. So: one pass, with bounded recursion, and no tree, only what runs and where its output
//! goes.

mod word;

use std::collections::HashSet;

use word::WordText;

/// The depth to which groups, loops and substitutions may nest.
const DEPTH: usize = 64;

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
    pub(super) parent: Option<Place>,
    /// The first node behind it that is not inside it.
    pub(super) end: usize,
    /// The number of programs given as text (`bash -c '…'`) that it is inside of.
    pub(super) level: usize,
}

/// A node, and the way in which something is inside it.
pub(super) type Place = (usize, Via);

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

impl Word {
    pub(super) fn new(text: &str, fixed: bool, place: usize) -> Self {
        let text = text.to_owned();
        Self { text, fixed, place }
    }
}

/// Reads a script, or a program given as text inside the node `parent`, into `out`.
pub(super) fn read(source: &str, parent: Option<usize>, out: &mut ShellScript) {
    let level = parent.map_or(0, |at| out.nodes[at].level + 1);
    let parent = parent.map(|at| (at, Via::Inside));
    let mut reader = ShellReader {
        source: b"",
        at: 0,
        out,
        depth: 0,
        level,
        here: Vec::new(),
        lost: None,
    };
    reader.script(source.as_bytes(), parent);
}

/// A here-document whose text is still to come.
struct HereDoc {
    node: usize,
    end: WordText,
    tabs: bool,
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

impl<'s> ShellReader<'s, '_> {
    /// Reads another text as a part of this script.
    fn inner(&mut self, source: &[u8], read: impl FnOnce(&mut ShellReader<'_, '_>)) {
        self.deeper(|outer| {
            let mut inner = ShellReader {
                source,
                at: 0,
                out: outer.out,
                depth: outer.depth,
                level: outer.level,
                here: Vec::new(),
                lost: None,
            };
            read(&mut inner);
            if let Some(lost) = inner.lost {
                let text = String::from_utf8_lossy(&source[lost..]);
                inner.out.unread.push(text.into_owned());
            }
        });
    }

    /// Goes one level deeper, or gives up.
    fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        if self.depth == DEPTH {
            return self.lose(self.at);
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
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
                Some(b'\\') if self.eat("\\\n") || self.eat("\\\r\n") => {}
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
        while self.eat("\n") {
            self.here_documents();
            self.blanks();
        }
    }

    /// The here-documents that begin behind the end of a line.
    fn here_documents(&mut self) {
        for doc in std::mem::take(&mut self.here) {
            let start = self.at;
            let mut end = start;
            for line in self.source[start..].split_inclusive(|c| *c == b'\n') {
                self.at += line.len();
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                let tabs = line.iter().take_while(|c| doc.tabs && **c == b'\t').count();
                if line[tabs..] == doc.end.bytes {
                    break;
                }
                end = self.at;
            }
            let body = &self.source[start..end];
            self.out.nodes[doc.node].stdin += &String::from_utf8_lossy(body);
            if !doc.end.quoted {
                self.expansions(body, (doc.node, Via::Input));
            }
        }
    }

    /// A command or a group inside `parent`, which `before` feeds.
    fn node(&mut self, parent: Option<Place>, before: Option<usize>) -> usize {
        let node = self.out.nodes.len();
        self.out.nodes.push(Node {
            parent,
            level: self.level,
            ..Node::default()
        });
        if let Some(before) = before {
            self.out.nodes[before].feeds = Some(node);
        }
        node
    }

    /// The operator or the word that is here, as far as it could be a reserved one.
    fn sign(&self) -> &'s [u8] {
        const SIGNS: [&str; 12] = [
            "&>", "&&", "||", "|&", ";;", ";&", "&", "|", ";", "\n", "(", ")",
        ];
        let rest = &self.source[self.at..];
        let is_end = |c: &u8| b" \t\r\n;&|()<>\\".contains(c);
        let sign = SIGNS.iter().find(|sign| self.starts(sign));
        let length = sign.map(|sign| sign.len());
        // The longest reserved word has eight letters.
        let length = length.or_else(|| rest.iter().take(9).position(is_end));
        &rest[..length.unwrap_or(rest.len())]
    }

    /// All commands of another text, inside `parent`.
    fn script(&mut self, source: &[u8], parent: Option<Place>) {
        self.inner(source, |inner| {
            inner.list(parent);
            if inner.peek().is_some() {
                inner.lose(0);
            }
        });
    }

    /// Commands inside `parent`, up to a sign or word that ends a group or the branch of a `case`.
    fn list(&mut self, parent: Option<Place>) {
        // The group that redirections here belong to, and the command whose output goes to the next one.
        let (mut last, mut pipe) = (None, None);
        self.deeper(|inner| {
            loop {
                inner.blanks();
                let sign = inner.sign();
                match sign {
                    b"" if inner.peek().is_none() => return,
                    b")" | b"}" | b"fi" | b"done" | b"esac" | b";;" | b";&" => return,
                    b"\n" => {
                        inner.blank_lines();
                        last = None;
                    }
                    b";" | b"&" | b"&&" | b"||" => {
                        inner.at += sign.len();
                        (last, pipe) = (None, None);
                    }
                    b"|" | b"|&" => {
                        inner.at += sign.len();
                        pipe = last.take();
                    }
                    b"then" | b"elif" | b"else" | b"do" | b"!" | b"coproc" | b"time"
                        if !inner.is_program(sign) =>
                    {
                        inner.at += sign.len();
                        last = None;
                    }
                    _ => {
                        // Behind a group only its redirections can follow.
                        let node = last.unwrap_or_else(|| inner.node(parent, pipe.take()));
                        let is_function = inner.part(sign, node);
                        inner.out.nodes[node].end = inner.out.nodes.len();
                        last = Some(node).filter(|_| !is_function);
                    }
                }
            }
        });
    }

    /// The rest of a group that began at `start`, up to its end.
    fn group(&mut self, start: usize, parent: Place, end: &str) {
        self.list(Some(parent));
        if !self.eat(end) {
            self.lose(start);
        }
    }

    /// Returns true for `time` with options, as the program of that name has them.
    fn is_program(&self, sign: &[u8]) -> bool {
        let behind = self.source[self.at + sign.len()..].trim_ascii_start();
        sign == b"time" && behind.starts_with(b"-")
    }

    /// A command or a group, which begins with this sign. Returns true if it was the head of a function instead.
    fn part(&mut self, sign: &[u8], node: usize) -> bool {
        let start = self.at;
        self.at += sign.len();
        let end = match sign {
            b"(" => match self.arithmetic_end(start) {
                Some(end) => {
                    self.arithmetic(end, node);
                    return false;
                }
                None => ")",
            },
            b"{" => "}",
            b"if" => "fi",
            b"while" | b"until" => "done",
            b"for" | b"select" => {
                self.loop_head(node);
                "done"
            }
            b"case" => {
                self.case(node);
                "esac"
            }
            b"[[" => {
                self.words_to(node, b"]");
                self.eat("]]");
                return false;
            }
            b"function" => {
                self.blanks();
                let name = self.word((node, Via::Nowhere)).text();
                self.out.functions.insert(name);
                self.blanks();
                self.empty_parens();
                return true;
            }
            _ => {
                self.at = start;
                return self.command(node);
            }
        };
        self.group(start, (node, Via::Inside), end);
        false
    }

    /// `x in a b c`. What is in `((…))` is read as the first command of the loop.
    fn loop_head(&mut self, node: usize) {
        self.blanks();
        if self.peek() == Some(b'(') {
            return;
        }
        self.word((node, Via::Nowhere));
        self.blank_lines();
        if self.eat("in") {
            self.words_to(node, b"\n;");
        }
    }

    /// All branches of a `case`, up to the `esac`.
    fn case(&mut self, node: usize) {
        let start = self.at;
        self.blanks();
        self.word((node, Via::Nowhere));
        self.blank_lines();
        if !self.eat("in") {
            return self.lose(start);
        }
        loop {
            self.blank_lines();
            if self.starts("esac") || self.peek().is_none() {
                return;
            }
            self.eat("(");
            self.words_to(node, b")");
            self.eat(")");
            self.list(Some((node, Via::Inside)));
            while self.eat(";") || self.eat("&") {}
        }
    }

    /// Words that run nothing by themselves, up to one that begins with such a character.
    fn words_to(&mut self, node: usize, ends: &[u8]) {
        let start = self.at;
        loop {
            self.blanks();
            match self.peek() {
                None => return self.lose(start),
                Some(c) if ends.contains(&c) => return,
                Some(b'\n') => self.blank_lines(),
                Some(_) => {
                    let at = self.at;
                    self.word((node, Via::Nowhere));
                    self.at += usize::from(self.at == at);
                }
            }
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
                    let text = self.word((node, Via::Nowhere)).text();
                    self.out.assigned.push(text);
                }
                _ => self.argument(node),
            }
        }
    }

    fn argument(&mut self, node: usize) {
        let place = self.out.nodes[node].words.len();
        let word = self.word((node, Via::Word(place)));
        let word = Word::new(&word.text(), !word.expands, place);
        self.out.nodes[node].words.push(word);
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
            let text = self.word((node, Via::Input)).text();
            self.out.nodes[node].stdin += &text;
            return;
        }
        if self.eat("<<") {
            let tabs = self.eat("-");
            self.blanks();
            let word = self.word((node, Via::Nowhere));
            self.here.push(HereDoc {
                node,
                end: word,
                tabs,
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
        let file = self.word((node, via)).text();
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
