//! Reads a shell script into its commands, as far as a policy must know them. It runs and expands nothing, and what it
//! cannot read it hands back as text.
//!
//! The published readers of shell scripts were tried first: one overflows its stack on deep nesting and allocates without
//! end on seven bytes, another takes gigabytes for a long pipeline, and this text comes from a model. So: one pass,
//! recursion only into substitutions and bounded there, and no tree, only what runs and where its output goes.

/// How deep substitutions may nest.
const DEPTH: usize = 32;
/// How deep `(`, `{`, `if`, loops and `case` may nest.
const GROUPS: usize = 200;

/// What a script runs.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Commands and groups, in the order in which they begin.
    pub(super) nodes: Vec<Node>,
    /// What could not be read.
    pub(super) unread: Vec<String>,
}

/// A simple command; or a group such as `( … )` or a loop, which has no words.
#[derive(Debug)]
pub(super) struct Node {
    /// The program and its arguments, without leading assignments and redirections.
    pub(super) words: Vec<Word>,
    /// Here-documents and here-strings.
    pub(super) stdin: String,
    /// The next in its pipeline.
    pub(super) feeds: Option<usize>,
    /// Where it stands, and so where its output goes if it feeds nothing.
    pub(super) parent: Option<(usize, Via)>,
    /// The first node behind it that is not inside it.
    pub(super) end: usize,
    /// How many programs given as text (`bash -c '…'`) it is inside of.
    pub(super) level: usize,
}

/// How a node is inside another.
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
    /// Which word of its command it is, as written.
    pub(super) place: usize,
}

/// Reads a script, or a program given as text inside the node `parent`, into `out`.
pub(super) fn read(source: &str, parent: Option<usize>, out: &mut Script) {
    let level = parent.map_or(0, |at| out.nodes[at].level + 1);
    let parent = parent.map(|at| (at, Via::Inside));
    let mut reader = Reader::new(source.as_bytes(), out, 0, level);
    reader.list(parent, false);
    reader.finish();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
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

/// Where a list of commands is: what is open, and the element whose pipeline may go on.
struct Place {
    owner: Option<(usize, Via)>,
    open: Vec<(Kind, usize)>,
    last: Option<usize>,
    pipe: Option<usize>,
}

impl Place {
    fn parent(&self) -> Option<(usize, Via)> {
        let group = self.open.last().map(|(_, node)| (*node, Via::Inside));
        group.or(self.owner)
    }

    fn next_command(&mut self) {
        self.last = None;
        self.pipe = None;
    }
}

struct Reader<'s, 'o> {
    source: &'s [u8],
    at: usize,
    out: &'o mut Script,
    depth: usize,
    level: usize,
    here: Vec<HereDoc>,
    /// From here on the script is not understood.
    lost: Option<usize>,
}

impl<'s, 'o> Reader<'s, 'o> {
    fn new(source: &'s [u8], out: &'o mut Script, depth: usize, level: usize) -> Self {
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
                let mut inner = Reader::new(body, self.out, self.depth + 1, self.level);
                if inner.depth > DEPTH {
                    inner.lose(0);
                }
                inner.quoted(&mut Text::default(), None, doc.node, Via::Input);
                inner.finish();
            }
        }
    }

    fn node(&mut self, parent: Option<(usize, Via)>) -> usize {
        self.out.nodes.push(Node {
            words: Vec::new(),
            stdin: String::new(),
            feeds: None,
            parent,
            end: 0,
            level: self.level,
        });
        let node = self.out.nodes.len() - 1;
        self.out.nodes[node].end = node + 1;
        node
    }

    /// Begins a command or a group, which the command before it in the pipeline feeds.
    fn element(&mut self, place: &mut Place) -> usize {
        let node = self.node(place.parent());
        if let Some(before) = place.pipe.take() {
            self.out.nodes[before].feeds = Some(node);
        }
        node
    }

    fn open(&mut self, kind: Kind, place: &mut Place) {
        let node = self.element(place);
        place.open.push((kind, node));
        place.next_command();
        if place.open.len() > GROUPS {
            self.lose(self.at);
        }
    }

    /// Ends the innermost group of that kind, and whatever is open inside it.
    fn close(&mut self, kind: Kind, place: &mut Place) -> bool {
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
        let start = self.at;
        let mut place = Place {
            owner,
            open: Vec::new(),
            last: None,
            pipe: None,
        };
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                if in_parens || !place.open.is_empty() {
                    self.lose(start);
                }
                return;
            };
            let at = self.at;
            match c {
                b'\n' => {
                    self.newline();
                    place.last = None;
                }
                b';' => {
                    self.at += 1;
                    place.next_command();
                    if matches!(self.peek(), Some(b';' | b'&')) {
                        self.at += 1;
                        let _ = self.eat("&");
                        self.case_patterns(&mut place);
                    }
                }
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
                    if !self.close(Kind::Paren, &mut place) {
                        if !in_parens {
                            self.lose(at);
                        }
                        return;
                    }
                }
                b'(' => match self.arithmetic_end(at) {
                    Some(end) => {
                        let node = self.element(&mut place);
                        self.arithmetic(end, node);
                        place.last = Some(node);
                    }
                    // What is unfinished has been given up, to its end.
                    None if self.lost.is_some() => {}
                    None => {
                        self.at += 1;
                        self.open(Kind::Paren, &mut place);
                    }
                },
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

    /// The reserved word that is here, if there is one, and what belongs to it.
    fn keyword(&mut self, place: &mut Place) -> bool {
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
            b"if" => self.open(Kind::If, place),
            b"fi" => closed = self.close(Kind::If, place),
            b"while" | b"until" => self.open(Kind::Loop, place),
            b"for" | b"select" => {
                self.open(Kind::Loop, place);
                self.loop_head(place);
            }
            b"done" => closed = self.close(Kind::Loop, place),
            b"case" => {
                self.open(Kind::Case, place);
                let Some((_, node)) = place.open.last().copied() else {
                    return true;
                };
                self.blanks();
                self.word(node, Via::Nowhere);
                self.blank_lines();
                if !self.eat("in") {
                    self.lose(at);
                }
                self.case_patterns(place);
            }
            b"esac" => closed = self.close(Kind::Case, place),
            b"{" => self.open(Kind::Brace, place),
            b"}" => closed = self.close(Kind::Brace, place),
            b"function" => {
                self.blanks();
                let node = self.node(place.parent());
                self.word(node, Via::Nowhere);
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
            self.lose(at);
        }
        true
    }

    /// `x in a b c`, or `((…))`.
    fn loop_head(&mut self, place: &Place) {
        let Some((_, node)) = place.open.last().copied() else {
            return;
        };
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
    fn case_patterns(&mut self, place: &mut Place) {
        let start = self.at;
        let Some((Kind::Case, node)) = place.open.last().copied() else {
            return self.lose(start);
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
                    if self.at == at {
                        self.at += 1;
                    }
                }
            }
        }
    }

    /// The inside of `[[ … ]]`.
    fn test(&mut self, node: usize) {
        let start = self.at;
        loop {
            self.blank_lines();
            if self.eat("]]") {
                return;
            }
            if self.peek().is_none() {
                return self.lose(start);
            }
            let at = self.at;
            self.word(node, Via::Nowhere);
            if self.at == at {
                self.at += 1;
            }
        }
    }

    /// Words and redirections up to the end of the command. Whether it was the head of a function instead.
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
                        self.out.nodes[node].words.clear();
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
                    self.word(node, Via::Nowhere);
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
        self.word(node, via);
    }

    /// One word. Its substitutions are inside `node`, as `via` says.
    fn word(&mut self, node: usize, via: Via) -> Text {
        let mut text = Text::default();
        while let Some(c) = self.peek() {
            let at = self.at;
            match c {
                b'\\' if self.starts("\\\n") => self.at += 2,
                b'\\' => {
                    text.quoted = true;
                    text.bytes.extend(self.source.get(at + 1));
                    self.at = (at + 2).min(self.source.len());
                }
                b'\'' => self.single(&mut text),
                b'"' => {
                    text.quoted = true;
                    self.at += 1;
                    self.quoted(&mut text, Some(b'"'), node, via);
                }
                b'$' => self.dollar(&mut text, false, node, via),
                b'`' => self.backticks(&mut text, node, via),
                b'<' | b'>' if self.source.get(at + 1) == Some(&b'(') => {
                    self.at += 1;
                    self.substitution(&mut text, node, via);
                }
                b'(' if text.bytes.last() == Some(&b'=') => self.array(node),
                // Patterns of bash such as `!(a|b)`.
                b'(' if text.bytes.last().is_some_and(|c| b"?*+@!".contains(c)) => {
                    self.extended_glob(&mut text);
                }
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => {
                    break;
                }
                _ => {
                    text.bytes.push(c);
                    self.at += 1;
                }
            }
        }
        text
    }

    fn single(&mut self, text: &mut Text) {
        let start = self.at;
        let rest = &self.source[start + 1..];
        text.quoted = true;
        match memchr::memchr(b'\'', rest) {
            Some(end) => {
                text.bytes.extend(&rest[..end]);
                self.at += end + 2;
            }
            None => self.lose(start),
        }
    }

    /// Text in which only `\`, `$` and back-ticks are special, up to and with `end`.
    fn quoted(&mut self, text: &mut Text, end: Option<u8>, node: usize, via: Via) {
        let start = self.at;
        loop {
            match self.peek() {
                None => {
                    if end.is_some() {
                        self.lose(start);
                    }
                    return;
                }
                c if c == end => {
                    self.at += 1;
                    return;
                }
                Some(b'\\') => {
                    let next = self.source.get(self.at + 1).copied();
                    self.at = (self.at + 2).min(self.source.len());
                    match next {
                        Some(b'\n') => {}
                        Some(c @ (b'$' | b'`' | b'"' | b'\\')) => text.bytes.push(c),
                        next => text.bytes.extend([b'\\'].into_iter().chain(next)),
                    }
                }
                Some(b'$') => self.dollar(text, true, node, via),
                Some(b'`') => self.backticks(text, node, via),
                Some(c) => {
                    text.bytes.push(c);
                    self.at += 1;
                }
            }
        }
    }

    fn dollar(&mut self, text: &mut Text, in_quotes: bool, node: usize, via: Via) {
        let start = self.at;
        match self.source.get(start + 1) {
            Some(b'(') => {
                self.at += 1;
                match self.arithmetic_end(start + 1) {
                    Some(end) => {
                        self.arithmetic(end, node);
                        text.expands = true;
                        text.bytes.extend("$((…))".as_bytes());
                    }
                    None => self.substitution(text, node, via),
                }
            }
            Some(b'{') => self.parameter(text, in_quotes, node),
            Some(b'\'') if !in_quotes => self.escaped(text),
            Some(b'"') if !in_quotes => self.at += 1,
            Some(c) if c.is_ascii_alphanumeric() || b"_@*#?$!-".contains(c) => {
                let rest = &self.source[start + 2..];
                let is_name = |c: &&u8| c.is_ascii_alphanumeric() || **c == b'_';
                let more = rest.iter().take_while(is_name).count();
                let more = if c.is_ascii_alphabetic() || *c == b'_' {
                    more
                } else {
                    0
                };
                self.at += 2 + more;
                text.expands = true;
                text.bytes.extend(&self.source[start..self.at]);
            }
            _ => {
                self.at += 1;
                text.bytes.push(b'$');
            }
        }
    }

    /// Goes one substitution deeper, or gives up.
    fn deeper(&mut self, from: usize, read: impl FnOnce(&mut Self)) {
        if self.depth == DEPTH {
            return self.lose(from);
        }
        self.depth += 1;
        read(self);
        self.depth -= 1;
    }

    /// `( … )` of a substitution.
    fn substitution(&mut self, text: &mut Text, node: usize, via: Via) {
        let start = self.at;
        if self.peek() != Some(b'(') {
            // The end of arithmetic was looked for and there is none.
            return self.lose(start.min(self.source.len()));
        }
        self.at += 1;
        text.expands = true;
        // What is inside stands as commands of its own: a program given as text must not read it again.
        text.bytes.extend("$(…)".as_bytes());
        self.deeper(start, |inner| inner.list(Some((node, via)), true));
    }

    fn backticks(&mut self, text: &mut Text, node: usize, via: Via) {
        let start = self.at;
        let mut script = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                None => return self.lose(start),
                Some(b'`') => break,
                Some(b'\\') => {
                    let next = self.source.get(self.at + 1).copied();
                    if !matches!(next, Some(b'`' | b'\\' | b'$')) {
                        script.push(b'\\');
                    }
                    script.extend(next);
                    self.at = (self.at + 2).min(self.source.len());
                }
                Some(c) => {
                    script.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        text.expands = true;
        text.bytes.extend("$(…)".as_bytes());
        self.deeper(start, |outer| {
            let mut inner = Reader::new(&script, outer.out, outer.depth, outer.level);
            inner.list(Some((node, via)), false);
            inner.finish();
        });
    }

    /// `${…}`.
    fn parameter(&mut self, text: &mut Text, in_quotes: bool, node: usize) {
        let start = self.at;
        let mut skipped = Text::default();
        self.at += 2;
        self.deeper(start, |inner| {
            loop {
                match inner.peek() {
                    None => return inner.lose(start),
                    Some(b'}') => break,
                    Some(b'\\') => inner.at = (inner.at + 2).min(inner.source.len()),
                    Some(b'\'') if !in_quotes => inner.single(&mut skipped),
                    Some(b'"') => {
                        inner.at += 1;
                        inner.quoted(&mut skipped, Some(b'"'), node, Via::Nowhere);
                    }
                    Some(b'$') => inner.dollar(&mut skipped, in_quotes, node, Via::Nowhere),
                    Some(b'`') => inner.backticks(&mut skipped, node, Via::Nowhere),
                    Some(_) => inner.at += 1,
                }
            }
            inner.at += 1;
        });
        text.expands = true;
        if skipped.expands {
            text.bytes.extend("${…}".as_bytes());
        } else {
            text.bytes.extend(&self.source[start..self.at]);
        }
    }

    /// `$'…'`.
    fn escaped(&mut self, text: &mut Text) {
        let start = self.at;
        text.quoted = true;
        self.at += 2;
        loop {
            let Some(c) = self.peek() else {
                return self.lose(start);
            };
            self.at += 1;
            match c {
                b'\'' => return,
                b'\\' => {
                    let rest = &self.source[self.at..];
                    let (byte, used) = escape(rest);
                    text.bytes.extend(byte);
                    self.at += used;
                }
                c => text.bytes.push(c),
            }
        }
    }

    fn array(&mut self, node: usize) {
        let start = self.at;
        self.at += 1;
        self.deeper(start, |inner| {
            loop {
                inner.words_to(node, |c| b"\n)".contains(&c));
                match inner.peek() {
                    Some(b'\n') => inner.newline(),
                    Some(_) => break inner.at += 1,
                    None => break inner.lose(start),
                }
            }
        });
    }

    fn extended_glob(&mut self, text: &mut Text) {
        let start = self.at;
        let mut open = 0;
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                text.bytes.extend(&self.source[start..self.at]);
                return;
            }
        }
        self.lose(start);
    }

    /// Where the `((` here ends, behind its `))`; none where it is two parentheses of commands. Unfinished, all is lost.
    fn arithmetic_end(&mut self, from: usize) -> Option<usize> {
        if !self.source[from.min(self.source.len())..].starts_with(b"((") {
            return None;
        }
        let mut open = 0_usize;
        let mut at = from;
        while let Some(c) = self.source.get(at) {
            at += 1;
            match c {
                b'(' => open += 1,
                b')' if open == 2 => {
                    return (self.source.get(at) == Some(&b')')).then_some(at + 1);
                }
                b')' => open -= 1,
                b'\\' => at += 1,
                b'\'' | b'"' => {
                    let rest = self.source.get(at..).unwrap_or_default();
                    at += memchr::memchr(*c, rest).unwrap_or(rest.len()) + 1;
                }
                _ => {}
            }
        }
        self.lose(from);
        None
    }

    fn arithmetic(&mut self, end: usize, node: usize) {
        let start = self.at;
        let mut skipped = Text::default();
        self.deeper(start, |inner| {
            while inner.at < end {
                match inner.peek() {
                    None => return,
                    Some(b'$') => inner.dollar(&mut skipped, true, node, Via::Nowhere),
                    Some(b'`') => inner.backticks(&mut skipped, node, Via::Nowhere),
                    Some(_) => inner.at += 1,
                }
            }
        });
    }
}

/// A word as it is being read.
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    expands: bool,
    quoted: bool,
}

impl Text {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Whether `x=`, `x+=` or `x[…]=` is here.
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

/// The byte that stands for what follows a `\` in `$'…'`, and how much of it that is.
fn escape(rest: &[u8]) -> (Option<u8>, usize) {
    let number = |digits: &[u8], radix| {
        let digits = std::str::from_utf8(digits).ok()?;
        u8::from_str_radix(digits, radix).ok()
    };
    let count = |from: usize, most: usize, radix: u32| {
        let digits = rest.iter().skip(from).take(most);
        let is_digit = |c: &&u8| char::from(**c).is_digit(radix);
        digits.take_while(is_digit).count()
    };
    match rest.first() {
        None => (None, 0),
        Some(b'n') => (Some(b'\n'), 1),
        Some(b't') => (Some(b'\t'), 1),
        Some(b'x') => {
            let digits = count(1, 2, 16);
            (number(&rest[1..=digits], 16), 1 + digits)
        }
        Some(b'0'..=b'7') => {
            let digits = count(0, 3, 8);
            (number(&rest[..digits], 8), digits)
        }
        Some(c) => (Some(*c), 1),
    }
}
