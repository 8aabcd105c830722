//! One text of a packet, which can be cut to the room that there is: at lines, and the middle before the ends. Where
//! something is left out, a line says how much and how to get it.

use std::borrow::Cow;

use memchr::memchr_iter;

use super::frame::{unframed, unframed_file};
use super::{EDGE, cut_text, fenced, one_line};
use crate::text::hidden::written_out;
use crate::text::size::grouped;

/// About as long as the line that says what is left out.
const HINT: usize = 200;
/// In the place of the rest of a line.
const MORE: &str = "…";

/// The source of a text, which decides how to get more of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExcerptSource {
    /// A file, from the line with this number on; nothing where its lines are not as they are in the file.
    File(Option<usize>),
    Command,
    /// Text from clada itself, or what it found.
    Said,
    /// The outputs of older results. They had their form already.
    Earlier,
}

/// The facts about a packet that all its texts need.
#[derive(Clone, Copy)]
pub(super) struct PacketContext<'a> {
    /// The word that fences what would be read as a task.
    pub(super) fence: &'a str,
    /// The file that has all of it.
    pub(super) whole: &'a str,
}

/// A text, up to its first and its last 25 KB.
pub(super) struct Excerpt {
    source: ExcerptSource,
    /// The lines around it.
    before: String,
    after: String,
    ends: CutText,
    /// The whole with what is around it, where it is here.
    all: Option<String>,
}

/// The start and the end of a text.
#[derive(Default)]
pub(super) struct CutText {
    pub(super) head: String,
    /// The amount that is left out between the two.
    pub(super) omitted: Omitted,
    pub(super) tail: String,
}

impl CutText {
    /// The first and the last 25 KB of a text, each in its form.
    fn of(text: &str, form: impl Fn(&str) -> String) -> Self {
        let cut = cut_text(text, EDGE);
        Self {
            head: form(&cut.head),
            omitted: Omitted::of(&text[cut.head.len()..text.len() - cut.tail.len()]),
            tail: form(&cut.tail),
        }
    }

    fn is_whole(&self) -> bool {
        self.omitted.bytes == 0 && self.tail.is_empty()
    }
}

/// The amount of text that is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Omitted {
    pub(super) bytes: u64,
    /// In line ends.
    pub(super) lines: u64,
}

impl Omitted {
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
            source: ExcerptSource::Said,
            before: String::new(),
            after: String::new(),
            ends: CutText {
                head: text.clone(),
                ..CutText::default()
            },
            all: Some(text),
        }
    }

    /// Makes an excerpt of text from clada itself, or of what it found.
    pub(super) fn said(text: &str, context: PacketContext<'_>) -> Self {
        let ends = CutText::of(text, |text| unframed(&written_out(text)).into_owned());
        Self::of(ExcerptSource::Said, <[String; 2]>::default(), ends, context)
    }

    /// The outputs of older results.
    pub(super) fn earlier(text: &str, context: PacketContext<'_>) -> Self {
        let ends = CutText::of(text, str::to_owned);
        let frame = <[String; 2]>::default();
        Self::of(ExcerptSource::Earlier, frame, ends, context)
    }

    /// An output of a command: what was kept of it.
    pub(super) fn output(name: &str, ends: CutText, context: PacketContext<'_>) -> Self {
        let ends = CutText {
            head: unframed(&ends.head).into_owned(),
            tail: unframed(&ends.tail).into_owned(),
            ..ends
        };
        let frame = [format!("{name}:\n"), String::new()];
        Self::of(ExcerptSource::Command, frame, ends, context)
    }

    /// A file, or lines of it from a number on.
    pub(super) fn file(
        name: &str,
        content: &str,
        first: Option<usize>,
        context: PacketContext<'_>,
    ) -> Self {
        let raw = CutText::of(content, str::to_owned);
        let (head, tail) = (InFile::of(&raw.head), InFile::of(&raw.tail));
        let frame = file_lines(name, head.said(Some(&tail)));
        let ends = CutText {
            head: match content {
                "" => "[empty file]\n".to_owned(),
                _ => head.text,
            },
            tail: tail.text,
            ..raw
        };
        Self::of(ExcerptSource::File(first), frame, ends, context)
    }

    fn of(
        source: ExcerptSource,
        [before, after]: [String; 2],
        ends: CutText,
        context: PacketContext<'_>,
    ) -> Self {
        let all = ends.is_whole().then(|| {
            let text = match source {
                // Its fences are in it.
                ExcerptSource::Earlier => ends.head.clone(),
                _ => fenced(&ends.head, context.fence),
            };
            format!("{before}{text}{after}")
        });
        Self {
            source,
            before,
            after,
            ends,
            all,
        }
    }

    /// Returns its whole text, unless something is left out.
    pub(super) fn all(&self) -> Option<&str> {
        self.all.as_deref()
    }

    /// Returns the room that it could use, in bytes.
    pub(super) fn need(&self) -> usize {
        match &self.all {
            Some(all) => all.len(),
            None => {
                let ends = self.ends.head.len() + self.ends.tail.len();
                self.before.len() + ends + self.after.len() + HINT
            }
        }
    }

    /// Cuts it to the room that there is, in bytes.
    pub(super) fn cut(&self, room: usize, context: PacketContext<'_>) -> String {
        if let Some(all) = self.all.as_ref().filter(|all| all.len() <= room) {
            return all.clone();
        }
        let all = self.left_out("", "");
        let most = Omitted {
            lines: all.lines.max(2),
            ..all
        };
        let hint = self.hint(&most, all.lines, context.whole);
        let fixed = self.before.len() + self.after.len() + hint.len() + 2 * MORE.len() + 2;
        let marks = fenced("clada:o", context.fence).len();
        let cuts = [fixed, fixed + marks].map(|fixed| room.saturating_sub(fixed) / 2);
        let texts = cuts.iter().map(|each| self.cut_to(*each, context));
        let fits = texts.chain([hint]).find(|text| text.len() <= room);
        fits.unwrap_or_default()
    }

    /// So many bytes of its start and of its end, at most.
    fn cut_to(&self, each: usize, context: PacketContext<'_>) -> String {
        let end = if self.ends.is_whole() {
            &self.ends.head
        } else {
            &self.ends.tail
        };
        let head = start_of(&self.ends.head, each);
        let tail = end_of(end, each);
        let left = self.left_out(head, tail);
        let hint = self.hint(&left, line_ends(head), context.whole);
        let is_cut = !head.is_empty() && !head.ends_with('\n');
        let after_head = if is_cut { "…\n" } else { "" };
        let is_cut = !tail.is_empty() && !end[..end.len() - tail.len()].ends_with('\n');
        let before_tail = if is_cut { MORE } else { "" };
        let text = format!("{head}{after_head}{hint}{before_tail}{tail}");
        let text = fenced(&text, context.fence);
        format!("{}{text}{}", self.before, self.after)
    }

    /// Returns the amount that is neither in this start nor in this end of it.
    fn left_out(&self, head: &str, tail: &str) -> Omitted {
        let all = [
            Omitted::of(&self.ends.head),
            self.ends.omitted,
            Omitted::of(&self.ends.tail),
        ];
        let kept = Omitted::of(head).bytes + Omitted::of(tail).bytes;
        let kept_lines = line_ends(head) + line_ends(tail);
        Omitted {
            bytes: all.iter().map(|left| left.bytes).sum::<u64>() - kept,
            lines: all.iter().map(|left| left.lines).sum::<u64>() - kept_lines,
        }
    }

    /// The line that says what is left out behind so many lines.
    fn hint(&self, left: &Omitted, before: u64, whole: &str) -> String {
        let much = match self.source {
            // They were cut before, and the line that counted that may be left out with them.
            ExcerptSource::Earlier => "a part is".to_owned(),
            _ => amount(left),
        };
        let how = match self.source {
            ExcerptSource::File(Some(first)) => {
                let first = first as u64 + before;
                let last = first + left.lines.max(1) - 1;
                format!(": read them with lines=\"{first}-{last}\"")
            }
            ExcerptSource::File(None) => ": read a part of it with lines=\"…\"".to_owned(),
            ExcerptSource::Command => format!(
                ", all of it is in {whole}: to see more, rerun it with `| grep WORD`, `| head` or `| tail`"
            ),
            ExcerptSource::Said => format!(", all of it is in {whole}: ask for less at once"),
            ExcerptSource::Earlier => format!(", all of it is in {whole}"),
        };
        format!("{MORE} {much} left out here{how} {MORE}\n")
    }
}

/// Says how much is left out.
fn amount(left: &Omitted) -> String {
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

/// A text for the lines of a file, and what was done to it.
pub(super) struct InFile {
    pub(super) text: String,
    /// The number of lines that are indented.
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

    /// Says what was done to it, and to a part of the same file behind it.
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
        if said.is_empty() {
            String::new()
        } else {
            format!("(in this file, {})\n", said.join(", and "))
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

/// Counts the line ends in a text.
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

/// The last lines of a text that fit; or a part of its last one, if that is too long.
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
