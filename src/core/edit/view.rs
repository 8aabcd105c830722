//! Shows a file as one tier sees it: without what the tier ignores, and with a way back from each place to the file.

use std::borrow::Cow;
use std::ops::Range;

use super::Tier;
use super::lines;

/// A file, or a search text, with everything removed or made plain that its tier ignores.
pub(super) struct View<'f> {
    bytes: Cow<'f, [u8]>,
    /// In order, without gaps in the view. A map entry for each byte was rejected: it is eight times the file.
    runs: Vec<ViewRun>,
}

/// A stretch of the view that stands in the file in one piece.
#[derive(Default)]
struct ViewRun {
    view: usize,
    file: usize,
    /// 0 where the bytes are the file's own; else the length in the file of the one thing that the whole run stands
    /// for (a CRLF, an ellipsis), inside of which no match can start or end.
    whole: usize,
}

impl<'f> View<'f> {
    /// The text as a tier sees it, or nothing if the tier reads characters and the text is not UTF-8.
    pub(super) fn new(text: &'f [u8], tier: Tier) -> Option<Self> {
        Some(match tier {
            Tier::Exact => Self {
                bytes: Cow::Borrowed(text),
                runs: vec![ViewRun::default()],
            },
            Tier::LineEndings => Self::of_lines(text, |_| 0),
            Tier::Indentation => Self::of_lines(text, lines::indentation_width),
            Tier::Whitespace => Self::of_chars(std::str::from_utf8(text).ok()?, |c| {
                is_white_space(c).then_some("")
            }),
            Tier::Typography | Tier::Copying | Tier::Elision => {
                Self::of_chars(std::str::from_utf8(text).ok()?, plain)
            }
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place in the file where a match starts that starts here in the view.
    pub(super) fn start_in_file(&self, at: usize) -> Option<usize> {
        let run = self.run_of(at)?;
        match run.whole {
            0 => Some(run.file + (at - run.view)),
            _ => (at == run.view).then_some(run.file),
        }
    }

    /// The place in the file where a match ends that ends here in the view: behind the last thing matched, before
    /// anything that is left out.
    pub(super) fn end_in_file(&self, at: usize) -> Option<usize> {
        let run = self.run_of(at.checked_sub(1)?)?;
        match run.whole {
            0 => Some(run.file + (at - run.view)),
            whole => {
                let ends_here = at == self.bytes.len() || self.run_of(at)?.view == at;
                ends_here.then_some(run.file + whole)
            }
        }
    }

    /// The first place in the view that stands at or after this one in the file.
    pub(super) fn at_or_after(&self, in_file: usize) -> usize {
        let index = self.runs.partition_point(|run| run.file < in_file);
        let end = self
            .runs
            .get(index)
            .map_or(self.bytes.len(), |run| run.view);
        match index.checked_sub(1).map(|before| &self.runs[before]) {
            Some(run) if run.whole == 0 => end.min(run.view + (in_file - run.file)),
            _ => end,
        }
    }

    fn run_of(&self, at: usize) -> Option<&ViewRun> {
        let index = self.runs.partition_point(|run| run.view <= at);
        self.runs.get(index.checked_sub(1)?)
    }

    /// Each line without the white space at its end and without its first `indentation(line)` bytes, and each
    /// newline as LF.
    fn of_lines(text: &'f [u8], indentation: fn(&[u8]) -> usize) -> Self {
        let mut view = ViewBuilder::of(text);
        let mut next = 0;
        for content in lines::contents(text) {
            view.newline(next..content.start);
            let line = &text[content.clone()];
            let width = line.len() - blanks_at_end(line);
            let indentation = indentation(line).min(width);
            view.keep(content.start + indentation..content.start + width);
            next = content.end;
        }
        view.newline(next..text.len());
        view.done()
    }

    /// Each character as `plain` gives it: `None` for the character itself.
    fn of_chars(text: &'f str, plain: fn(char) -> Option<&'static str>) -> Self {
        let mut view = ViewBuilder::of(text.as_bytes());
        for (at, c) in text.char_indices() {
            match plain(c) {
                None => view.keep(at..at + c.len_utf8()),
                Some(plain) => view.stand_in(plain, at..at + c.len_utf8()),
            }
        }
        view.done()
    }
}

/// White space as the white-space tier removes it. The kinds that forbid a break look like a space but were typed, or
/// put there by a word processor, as something else: they are left to the typography tier.
pub(super) fn is_white_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{A0}' | '\u{2007}' | '\u{202F}')
}

/// True for a character that the typography tier leaves out: white space, and what has no width.
pub(super) fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' | '\u{AD}'
        )
}

/// A space or a tab: what indents a line and what may stray at its end.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

/// The number of spaces and tabs that a line ends with.
pub(super) fn blanks_at_end(line: &[u8]) -> usize {
    let blank = line.iter().rev().take_while(|b| matches!(b, b' ' | b'\t'));
    blank.count()
}

/// A character in plain typography: `""` for one that is invisible, `None` for one that is plain already.
pub(super) fn plain(c: char) -> Option<&'static str> {
    match c {
        '\u{2018}'..='\u{201B}' => Some("'"),
        '\u{201C}'..='\u{201F}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{2026}' => Some("..."),
        c => is_invisible(c).then_some(""),
    }
}

/// A view that is being made of a text.
struct ViewBuilder<'f> {
    text: &'f [u8],
    bytes: Vec<u8>,
    runs: Vec<ViewRun>,
}

impl<'f> ViewBuilder<'f> {
    fn of(text: &'f [u8]) -> Self {
        Self {
            text,
            bytes: Vec::with_capacity(text.len()),
            runs: Vec::new(),
        }
    }

    fn keep(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let view = self.bytes.len();
        let goes_on = |run: &ViewRun| run.whole == 0 && run.file + (view - run.view) == range.start;
        let goes_on = self.runs.last().is_some_and(goes_on);
        if !goes_on {
            self.runs.push(ViewRun {
                view,
                file: range.start,
                whole: 0,
            });
        }
        self.bytes.extend_from_slice(&self.text[range]);
    }

    fn stand_in(&mut self, plain: &str, range: Range<usize>) {
        if plain.is_empty() {
            return;
        }
        self.runs.push(ViewRun {
            view: self.bytes.len(),
            file: range.start,
            whole: range.len(),
        });
        self.bytes.extend_from_slice(plain.as_bytes());
    }

    fn newline(&mut self, range: Range<usize>) {
        match range.len() {
            2 => self.stand_in("\n", range),
            _ => self.keep(range),
        }
    }

    fn done(self) -> View<'f> {
        View {
            bytes: Cow::Owned(self.bytes),
            runs: self.runs,
        }
    }
}
