//! One text of a packet, which can be cut to the room that there is: at lines, and the middle before the ends. Where
//! something is left out, a line says how much and how to get it.

use std::borrow::Cow;

use memchr::memchr_iter;

use super::frame::{unframed, unframed_file};
use super::{EDGE, fenced, one_line};
use crate::text::hidden::written_out;

/// About as long as the line that says what is left out.
const HINT: usize = 200;
/// In the place of the rest of a line.
const MORE: &str = "…";

/// Where a text comes from, which says how to get more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A file, from the line with this number on; nothing where its lines are not as they are in the file.
    File(Option<usize>),
    Command,
    /// What clada says, or found.
    Said,
    /// The outputs of older results. They had their form already.
    Earlier,
}

/// What all texts of a packet need to know.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The word that fences what would be read as a task.
    pub(super) fence: &'a str,
    /// The file that has all of it.
    pub(super) whole: &'a str,
}

/// A text, up to its first and its last 25 KB.
pub(super) struct Excerpt {
    source: Source,
    /// The lines around it.
    before: String,
    after: String,
    head: String,
    /// What is not here between the two.
    left: Left,
    tail: String,
    /// The whole with what is around it, where it is here.
    all: Option<String>,
}

/// How much is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) bytes: u64,
    /// In line ends.
    pub(super) lines: u64,
}

impl Left {
    fn of(text: &str) -> Self {
        Self {
            bytes: text.len() as u64,
            lines: line_ends(text),
        }
    }
}

impl Excerpt {
    /// Lines that have their form already, and are not cut in a useful way.
    pub(super) fn line(text: String) -> Self {
        Self {
            source: Source::Said,
            before: String::new(),
            after: String::new(),
            head: text.clone(),
            left: Left::default(),
            tail: String::new(),
            all: Some(text),
        }
    }

    /// What clada says or found.
    pub(super) fn said(text: &str, around: Around<'_>) -> Self {
        let (head, left, tail) = ends(text);
        let form = |text: &str| unframed(&written_out(text)).into_owned();
        let tail = form(tail);
        Self::of(
            Source::Said,
            [String::new(), String::new()],
            (form(head), left, tail),
            around,
        )
    }

    /// The outputs of older results.
    pub(super) fn earlier(text: &str, around: Around<'_>) -> Self {
        let (head, left, tail) = ends(text);
        let texts = (head.to_owned(), left, tail.to_owned());
        Self::of(
            Source::Earlier,
            [String::new(), String::new()],
            texts,
            around,
        )
    }

    /// An output of a command: what was kept of it.
    pub(super) fn output(
        name: &str,
        (head, left, tail): (&str, Left, &str),
        around: Around<'_>,
    ) -> Self {
        let texts = (
            unframed(head).into_owned(),
            left,
            unframed(tail).into_owned(),
        );
        let before = [format!("{name}:\n"), String::new()];
        Self::of(Source::Command, before, texts, around)
    }

    /// A file, or lines of it from a number on.
    pub(super) fn file(
        name: &str,
        content: &str,
        first: Option<usize>,
        around: Around<'_>,
    ) -> Self {
        let (head, left, tail) = ends(content);
        let form = InFile::of(head);
        let behind = InFile::of(tail);
        let [before, after] = file_lines(name, form.said(Some(&behind)));
        let head = match content {
            "" => "[empty file]\n".to_owned(),
            _ => form.text,
        };
        Self::of(
            Source::File(first),
            [before, after],
            (head, left, behind.text),
            around,
        )
    }

    fn of(
        source: Source,
        [before, after]: [String; 2],
        (head, left, tail): (String, Left, String),
        around: Around<'_>,
    ) -> Self {
        let is_whole = left.bytes == 0 && tail.is_empty();
        let all = is_whole.then(|| {
            let text = match source {
                // Its fences are in it.
                Source::Earlier => head.clone(),
                _ => fenced(&head, around.fence),
            };
            format!("{before}{text}{after}")
        });
        Self {
            source,
            before,
            after,
            head,
            left,
            tail,
            all,
        }
    }

    /// Its whole text, if it is here.
    pub(super) fn all(&self) -> Option<&str> {
        self.all.as_deref()
    }

    /// How much room it could use.
    pub(super) fn need(&self) -> usize {
        match &self.all {
            Some(all) => all.len(),
            None => self.before.len() + self.head.len() + self.tail.len() + self.after.len() + HINT,
        }
    }

    /// As much of it as there is room for, in bytes.
    pub(super) fn cut(&self, room: usize, around: Around<'_>) -> String {
        if let Some(all) = self.all.as_ref().filter(|all| all.len() <= room) {
            return all.clone();
        }
        let all = self.left_out("", "");
        let most = Left {
            lines: all.lines.max(2),
            ..all
        };
        let hint = self.hint(&most, all.lines, around.whole);
        let fixed = self.before.len() + self.after.len() + hint.len() + 2 * MORE.len() + 2;
        let marks = fenced("clada:o", around.fence).len();
        let cuts = [fixed, fixed + marks].map(|fixed| room.saturating_sub(fixed) / 2);
        let texts = cuts.iter().map(|each| self.cut_to(*each, around));
        let fits = texts.chain([hint]).find(|text| text.len() <= room);
        fits.unwrap_or_default()
    }

    /// So many bytes of its start and of its end, at most.
    fn cut_to(&self, each: usize, around: Around<'_>) -> String {
        let end = match self.left.bytes == 0 && self.tail.is_empty() {
            true => &self.head,
            false => &self.tail,
        };
        let head = start_of(&self.head, each);
        let tail = end_of(end, each);
        let left = self.left_out(head, tail);
        let hint = self.hint(&left, line_ends(head), around.whole);
        let is_cut = !head.is_empty() && !head.ends_with('\n');
        let after_head = if is_cut { "…\n" } else { "" };
        let is_cut = !tail.is_empty() && !end[..end.len() - tail.len()].ends_with('\n');
        let before_tail = if is_cut { MORE } else { "" };
        let text = format!("{head}{after_head}{hint}{before_tail}{tail}");
        let text = fenced(&text, around.fence);
        format!("{}{text}{}", self.before, self.after)
    }

    /// What is neither in this start nor in this end of it.
    fn left_out(&self, head: &str, tail: &str) -> Left {
        let all = [Left::of(&self.head), self.left, Left::of(&self.tail)];
        let kept = Left::of(head).bytes + Left::of(tail).bytes;
        let kept_lines = line_ends(head) + line_ends(tail);
        Left {
            bytes: all.iter().map(|left| left.bytes).sum::<u64>() - kept,
            lines: all.iter().map(|left| left.lines).sum::<u64>() - kept_lines,
        }
    }

    /// The line that says what is left out behind so many lines.
    fn hint(&self, left: &Left, before: u64, whole: &str) -> String {
        let much = amount(left);
        let how = match self.source {
            Source::File(Some(first)) => {
                let first = first as u64 + before;
                let last = first + left.lines.max(1) - 1;
                format!(": read them with lines=\"{first}-{last}\"")
            }
            Source::File(None) => ": read a part of it with lines=\"…\"".to_owned(),
            Source::Command => format!(
                ", all of it is in {whole}: to see more, rerun it with `| grep WORD`, `| head` or `| tail`"
            ),
            Source::Said => format!(", all of it is in {whole}: ask for less at once"),
            Source::Earlier => format!(", all of it is in {whole}"),
        };
        format!("{MORE} {much} left out here{how} {MORE}\n")
    }
}

/// How much is left out, in words.
fn amount(left: &Left) -> String {
    let size = kilobytes(left.bytes);
    match left.lines {
        0 => size,
        1 => format!("1 line ({size})"),
        lines => format!("{} lines ({size})", grouped(lines)),
    }
}

/// A size in round numbers: `812 bytes`, `34 KB`.
pub(super) fn kilobytes(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        _ => format!("{} KB", grouped((bytes + 500) / 1000)),
    }
}

/// A number with commas.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text for the lines of a file, and what was done to it.
pub(super) struct InFile {
    pub(super) text: String,
    /// How many lines are indented.
    indented: usize,
    /// Characters are written out that the file has as such.
    has_hidden: bool,
}

impl InFile {
    pub(super) fn of(content: &str) -> Self {
        // Windows' mark of a text is no part of it.
        let content = content.strip_prefix('\u{feff}').unwrap_or(content);
        let clean = written_out(content);
        // A CRLF that is shown as LF is no news.
        let is_clean = matches!(clean, Cow::Borrowed(_));
        let has_hidden = !is_clean && clean != content.replace("\r\n", "\n");
        let (text, indented) = unframed_file(&clean);
        Self {
            indented,
            has_hidden,
            text: text.into_owned(),
        }
    }

    /// What is to be said of it, and of a part of the same file behind it.
    pub(super) fn said(&self, behind: Option<&Self>) -> String {
        let lines = match self.indented + behind.map_or(0, |it| it.indented) {
            0 => None,
            1 => Some("1 line that looks like one of clada's is indented by two spaces".to_owned()),
            lines => Some(format!(
                "{lines} lines that look like clada's are indented by two spaces"
            )),
        };
        let has_hidden = self.has_hidden || behind.is_some_and(|it| it.has_hidden);
        let hidden = has_hidden
            .then(|| "invisible characters are written as `\\x1b` or `\\u{202e}`".to_owned());
        let said: Vec<String> = lines.into_iter().chain(hidden).collect();
        match said.is_empty() {
            true => String::new(),
            false => format!("(in this file, {})\n", said.join(", and ")),
        }
    }
}

/// The lines before and after a file, of which this is said.
pub(super) fn file_lines(name: &str, said: String) -> [String; 2] {
    let name = one_line(name);
    [
        format!("{said}=== START FILE: {name} ===\n"),
        format!("=== END FILE: {name} ===\n"),
    ]
}

/// The first and the last 25 KB of a text, and what is between them.
fn ends(text: &str) -> (&str, Left, &str) {
    if text.len() <= 2 * EDGE {
        return (text, Left::default(), "");
    }
    let head = text.floor_char_boundary(EDGE);
    let tail = text.ceil_char_boundary(text.len() - EDGE);
    (&text[..head], Left::of(&text[head..tail]), &text[tail..])
}

/// How many lines end in a text.
pub(super) fn line_ends(text: &str) -> u64 {
    memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// The first lines of a text that fit; or a part of its first one, where that is too long.
fn start_of(text: &str, most: usize) -> &str {
    let fits = &text[..text.floor_char_boundary(most)];
    match fits.rfind('\n') {
        Some(newline) if newline + 1 >= fits.len() / 2 => &fits[..=newline],
        _ => fits,
    }
}

/// The same of the last lines.
fn end_of(text: &str, most: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(most));
    let fits = &text[from..];
    if text[..from].ends_with('\n') {
        return fits;
    }
    match fits.find('\n') {
        Some(newline) if newline < fits.len() / 2 => &fits[newline + 1..],
        _ => fits,
    }
}
