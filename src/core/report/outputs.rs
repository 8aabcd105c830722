//! The outputs of tasks and hooks: in full for the output file, and each thing once for the packet.

use std::io;

use super::excerpt::{CutText, Excerpt, InFile, Omitted, PacketContext, file_lines, line_ends};
use super::frame::{Unframing, unframed};
use super::once::{Once, Row};
use super::{EDGE, Hooked, MESSAGE, clipped, fenced, one_line};
use crate::report::nesl::names_its_files;
use crate::report::outcome::{Outcome, OutputWriter, Section, Spooled, Status, Stretch};
use crate::text::hidden::written_out;

/// The most room in a packet for one task or hook, in bytes.
pub(super) const PART: usize = 2 * EDGE;

/// The output of a task or a hook, with its title.
pub(super) struct TitledOutput<'p> {
    title: String,
    /// Its name in the title.
    label: String,
    /// Blank ends of what a command wrote are left away.
    trims: bool,
    sections: &'p mut Vec<Section>,
}

/// Returns the outputs of hooks and tasks, in this order of tasks.
pub(super) fn parts<'p>(
    outcomes: Vec<&'p mut Outcome>,
    hooks: impl IntoIterator<Item = &'p mut Hooked>,
) -> Vec<TitledOutput<'p>> {
    let (before, after): (Vec<_>, Vec<_>) =
        hooks.into_iter().partition(|hook| hook.when == "before");
    let of_hook = |hook: &'p mut Hooked| TitledOutput {
        title: hook.title(),
        label: format!("{} hook", hook.when),
        trims: false,
        sections: &mut hook.sections,
    };
    let of_task = |outcome: &'p mut Outcome| TitledOutput {
        title: title(outcome),
        label: outcome.label().into_owned(),
        trims: has_words(outcome),
        sections: &mut outcome.sections,
    };
    let before = before.into_iter().map(of_hook);
    let tasks = outcomes.into_iter().map(of_task);
    let all = before.chain(tasks).chain(after.into_iter().map(of_hook));
    all.filter(TitledOutput::shows_anything).collect()
}

/// True if its dialect is SHAM or NESL, which have their own words and forms for results.
fn has_words(outcome: &Outcome) -> bool {
    outcome.id.is_some()
}

fn title(outcome: &Outcome) -> String {
    let target = if has_words(outcome) && names_its_files(&outcome.command) {
        String::new()
    } else {
        one_line(&outcome.target)
    };
    let what = [&one_line(&outcome.command), &target];
    let what: Vec<&str> = what
        .into_iter()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect();
    let failed = match outcome.status {
        _ if has_words(outcome) => "",
        Status::Asks => " (waiting for approval)",
        status if status.is_good() => "",
        _ => " (failed)",
    };
    format!("\n[{}] {}{failed}:\n", outcome.label(), what.join(" "))
}

impl TitledOutput<'_> {
    fn shows_anything(&self) -> bool {
        self.sections.iter().any(|section| section.size() > 0)
    }

    /// The line above it, for the packet.
    pub(super) fn title(&self) -> String {
        if self.title.chars().count() <= MESSAGE {
            self.title.clone()
        } else {
            format!("\n{}:\n", clipped(&self.title))
        }
    }

    /// All of it, but for files that another task has shown already.
    pub(super) fn write(
        &mut self,
        once: &mut Once,
        fence: &str,
        to: &mut dyn OutputWriter,
    ) -> io::Result<()> {
        to.write_all(self.title.as_bytes())?;
        let mut is_next = false;
        for section in self.sections.iter_mut() {
            let is_file = matches!(section, Section::File { .. });
            let after_file = std::mem::replace(&mut is_next, is_file);
            match section {
                Section::Text(text) => to.write_all(said(text, fence).as_bytes())?,
                Section::File { name, content, .. } => {
                    let by = once.whole(&format!("{name}\n{content}"), &self.label);
                    let part = match by.filter(|by| *by != self.label) {
                        Some(by) => copied(name, shown_by(&by, "")),
                        None => file(name, content, fence),
                    };
                    if after_file {
                        writeln!(to)?;
                    }
                    to.write_all(part.as_bytes())?;
                }
                Section::Stream(_, spool) if spool.size() == 0 => {}
                Section::Stream(name, spool) => {
                    writeln!(to, "{name}:")?;
                    let whole = spool.cut(EDGE)?;
                    if whole.left_out == 0 {
                        let text = ended(&whole.head, self.trims);
                        to.write_all(fenced(&unframed(text), fence).as_bytes())?;
                    } else {
                        // Too long to be looked through once more: fenced in any case.
                        let (opening, closing) = (format!("<!-- clada:off {fence}"), " -->\n");
                        let follows = match spool.place() {
                            Some(text) => to.follow_with(&opening, closing, text)?,
                            None => None,
                        };
                        if follows.is_none() {
                            write!(to, "{opening}{closing}")?;
                            let mut lines = Unframing::new(&mut *to);
                            spool.copy_to(&mut lines)?;
                            lines.finish()?;
                        }
                        if !whole.tail.ends_with('\n') {
                            writeln!(to)?;
                        }
                        writeln!(to, "<!-- clada:on {fence} -->")?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the texts for a packet. Text that the packet shows already is left out.
    pub(super) fn excerpts(
        &mut self,
        once: &mut Once,
        context: PacketContext<'_>,
    ) -> io::Result<Vec<Excerpt>> {
        let mut excerpts = Vec::new();
        let (label, trims) = (&self.label, self.trims);
        let mut is_next = false;
        for section in self
            .sections
            .iter_mut()
            .filter(|section| section.size() > 0)
        {
            let is_file = matches!(section, Section::File { .. });
            let after_file = std::mem::replace(&mut is_next, is_file);
            match section {
                Section::Text(text) => excerpts.push(match once.text(text, label) {
                    Some(by) => Excerpt::line(format!("({})\n", shown_by(&by, label))),
                    None => Excerpt::said(text, context),
                }),
                Section::File { name, content, at } => {
                    let rows = match at {
                        Some(at) => {
                            of_rows(once.file(at, content, label), name, at, label, context)
                        }
                        None => vec![match once.whole(&file(name, content, ""), label) {
                            Some(by) => Excerpt::line(copied(name, shown_by(&by, label))),
                            None => Excerpt::file(name, content, None, context),
                        }],
                    };
                    if after_file {
                        excerpts.push(Excerpt::line("\n".to_owned()));
                    }
                    excerpts.extend(rows);
                }
                Section::Stream(name, spool) => {
                    excerpts.push(of_output(name, &mut **spool, trims, once, label, context)?);
                }
            }
        }
        Ok(excerpts)
    }
}

/// A text as it is shown.
pub(super) fn said(text: &str, fence: &str) -> String {
    fenced(&unframed(&written_out(text)), fence)
}

/// An output of a command.
fn of_output(
    name: &str,
    spool: &mut dyn Spooled,
    trims: bool,
    once: &mut Once,
    label: &str,
    context: PacketContext<'_>,
) -> io::Result<Excerpt> {
    let cut = spool.cut(EDGE)?;
    if cut.left_out == 0 {
        let text = ended(&cut.head, trims);
        return Ok(match once.text(text, label) {
            Some(by) => Excerpt::line(format!("{name}:\n({})\n", shown_by(&by, label))),
            None => {
                let ends = CutText {
                    head: text.to_owned(),
                    ..CutText::default()
                };
                Excerpt::output(name, ends, context)
            }
        });
    }
    let ends = [&cut.head, &cut.tail].map(|text| line_ends(text));
    let ends = CutText {
        tail: ended(&cut.tail, trims).to_owned(),
        head: cut.head,
        omitted: Omitted {
            bytes: cut.left_out,
            lines: spool.lines().saturating_sub(ends.iter().sum()),
        },
    };
    Ok(Excerpt::output(name, ends, context))
}

/// The rows of a file, each with its own name unless one is all of it.
fn of_rows(
    rows: Vec<Row<'_>>,
    name: &str,
    at: &Stretch,
    label: &str,
    context: PacketContext<'_>,
) -> Vec<Excerpt> {
    let is_one = rows.len() == 1;
    let named = |first: usize, count: usize| match (is_one, count) {
        (true, _) => name.to_owned(),
        (_, 1) => format!("{} (line {first} of {})", at.path, at.of),
        _ => format!(
            "{} (lines {first}-{} of {})",
            at.path,
            first + count - 1,
            at.of
        ),
    };
    let excerpt = |row: Row<'_>| match row {
        Row::New { first, text } => {
            let name = named(first, text.split_inclusive('\n').count());
            Excerpt::file(&name, text, Some(first), context)
        }
        Row::Shown { lines, by, there } => {
            let name = named(lines.start, lines.len());
            let by = shown_by(&by, label);
            Excerpt::line(if there == lines.start {
                copied(&name, by)
            } else {
                copied(
                    &name,
                    format!("lines {there}-{} {by}", there + lines.len() - 1),
                )
            })
        }
    };
    rows.into_iter().map(excerpt).collect()
}

/// The place of something that is not shown once more by a task.
fn shown_by(by: &str, label: &str) -> String {
    if by == label {
        "as shown above".to_owned()
    } else {
        format!("as shown under [{by}]")
    }
}

impl Section {
    fn size(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            // An empty one is shown too.
            Self::File { content, .. } => content.len().max(1) as u64,
            Self::Stream(_, spool) => spool.size(),
        }
    }
}

/// A text up to its last character that is not blank, where that is asked for.
fn ended(text: &str, trims: bool) -> &str {
    if trims { text.trim_end() } else { text }
}

/// A file between the lines that say which it is, fenced where the scanner would find something in it.
pub fn file(name: &str, content: &str, fence: &str) -> String {
    let form = InFile::of(match content {
        "" => "[empty file]\n",
        content => content,
    });
    let [before, after] = file_lines(name, form.said(None));
    format!("{before}{}{after}", fenced(&form.text, fence))
}

/// In the place of a file that another task shows.
fn copied(name: &str, by: String) -> String {
    format!("=== FILE: {}: {by} ===\n", one_line(name))
}
