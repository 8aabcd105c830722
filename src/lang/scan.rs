//! Finds the batches in a text, in one pass over it. What stands in a batch is `cml`'s business.
//!
//! A batch opens at a `<tasks>` or `<task>` that is first on its line (or directly follows another tag) and is itself
//! followed by nothing or another tag on that line. Between `<!-- clada:off -->` and `<!-- clada:on -->` nothing is
//! looked at; a word in both (`clada:off k3v9`) pairs them.
//!
//! Everything else is prose and passes at the speed of `memchr`; line numbers are not counted here for that reason.

use memchr::{memchr2, memmem};

use super::cml;
use super::payload::Ends;
use super::tag::{
    Kind, Name, Tag, follows, line_start, next_line, openings, opens, rest_is_blank, skip_blanks,
    starts_line,
};
use super::task::{Cause, Problem, Scan};

/// Reads a text. Never fails: what cannot be read is a problem of a batch, a task or the text.
pub fn scan(text: &str) -> Scan<'_> {
    let bytes = text.as_bytes();
    let mut found = Scan::default();
    let mut ends = Ends::new(text);
    let mut loose = Loose::default();
    let mut escaped_batch_open = false;
    let mut at = 0;
    let mut last_tag_end = usize::MAX;
    while let Some(next) = memchr2(b'<', b'&', &bytes[at..]) {
        at += next;
        if !follows(bytes, at, last_tag_end) {
            at += 1;
            continue;
        }
        if bytes[at] == b'&' {
            escaped_batch(text, at, &mut escaped_batch_open, &mut found.problems);
            at += 1;
            continue;
        }
        if let Some(off) = Switch::at(text, at, "off") {
            match off.end(text) {
                Some(end) => at = end,
                None => {
                    found.problems.extend(off.hides(text));
                    break;
                }
            }
            continue;
        }
        let Some(tag) = Tag::at(text, at) else {
            at += 1;
            continue;
        };
        at = tag.end;
        match tag.name {
            Some(Name::Tasks | Name::Task) if tag.kind == Kind::Open && opens(text, &tag) => {
                let read = cml::read(text, &tag, &mut ends);
                at = read.resume;
                last_tag_end = read.resume;
                found.batches.push(read.batch);
            }
            Some(name) if tag.alone(text) => loose.add(name, &tag),
            _ => {}
        }
    }
    found.problems.extend(loose.hint());
    found.problems.sort_by_key(|problem| problem.at);
    found
}

/// A batch whose tags were escaped in copying is reported at its first tag.
fn escaped_batch(text: &str, at: usize, open: &mut bool, problems: &mut Vec<Problem>) {
    let starts = |with: &str| {
        text.as_bytes()[at..]
            .get(..with.len())
            .is_some_and(|s| s.eq_ignore_ascii_case(with.as_bytes()))
    };
    if starts("&lt;/tasks&gt;") {
        *open = false;
    } else if starts("&lt;tasks") || !*open && starts("&lt;task&gt;") {
        *open = starts("&lt;tasks");
        problems.push(Problem {
            at,
            cause: Cause::EscapedBatch,
        });
    }
}

/// Element tags alone on their lines outside any batch: a sign that `<task>` was lost in copying.
///
/// `<i>` alone is no sign: HTML has it too.
#[derive(Default)]
struct Loose {
    first: Option<(usize, Name, bool)>,
    count: usize,
    any_but_i: bool,
}

impl Loose {
    fn add(&mut self, name: Name, tag: &Tag<'_>) {
        self.first
            .get_or_insert((tag.at, name, tag.kind == Kind::Close));
        self.count += 1;
        self.any_but_i |= name != Name::I;
    }

    fn hint(&self) -> Option<Problem> {
        let (at, name, closing) = self.first.filter(|_| self.any_but_i)?;
        Some(Problem {
            at,
            cause: Cause::LooseTags {
                element: name.text(),
                closing,
                count: self.count,
            },
        })
    }
}

/// A `<!-- clada:off WORD -->` or `on`, alone on its line.
struct Switch<'t> {
    word: &'t str,
    at: usize,
    next_line: usize,
}

impl<'t> Switch<'t> {
    fn at(text: &'t str, at: usize, which: &str) -> Option<Self> {
        let rest = text[at..].strip_prefix("<!--")?;
        let inside = &rest[..rest
            .find(['\n', '>'])
            .filter(|end| rest[..*end].ends_with("--"))?
            - 2];
        let word = inside.trim().strip_prefix("clada:")?.strip_prefix(which)?;
        if !(word.is_empty() || word.starts_with([' ', '\t'])) || !starts_line(text.as_bytes(), at)
        {
            return None;
        }
        let end = at + "<!--".len() + inside.len() + "-->".len();
        rest_is_blank(text.as_bytes(), end).then(|| Self {
            word: word.trim(),
            at,
            next_line: next_line(text.as_bytes(), end),
        })
    }

    /// The offset behind the line of the `on` that ends this `off`.
    fn end(&self, text: &'t str) -> Option<usize> {
        let bytes = text.as_bytes();
        memmem::find_iter(&bytes[self.next_line..], b"clada:on").find_map(|at| {
            let line = line_start(bytes, self.next_line + at);
            let on = Switch::at(text, skip_blanks(bytes, line), "on")?;
            (on.word == self.word).then_some(on.next_line)
        })
    }

    fn hides(&self, text: &str) -> Option<Problem> {
        let hidden = *openings(text, self.next_line, text.len()).first()?;
        Some(Problem {
            at: self.at,
            cause: Cause::OffNeverEnds {
                word: self.word.to_owned(),
                hidden,
            },
        })
    }
}
