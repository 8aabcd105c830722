//! What tasks and hooks have to show: in full for the output file, cut for the clipboard.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{EDGE, Hooked, cut_out, cut_text, fenced, one_line};
use crate::lang::nesl::told::names_its_files;
use crate::lang::outcome::{Outcome, Section};

/// What a task or a hook has to show.
pub(super) struct Part<'p> {
    title: String,
    /// Blank ends of what a command wrote are left away.
    trims: bool,
    sections: &'p mut Vec<Section>,
    /// For each section the label of the task that shows the same file with the same content, where one does before it.
    copies: Vec<Option<String>>,
}

/// What there is to show, in this order of tasks.
pub(super) fn parts<'p>(
    outcomes: Vec<&'p mut Outcome>,
    hooks: impl IntoIterator<Item = &'p mut Hooked>,
) -> Vec<Part<'p>> {
    let (before, after): (Vec<_>, Vec<_>) =
        hooks.into_iter().partition(|hook| hook.when == "before");
    let of_hook = |hook: &'p mut Hooked| Part {
        title: hook.title(),
        trims: false,
        copies: vec![None; hook.sections.len()],
        sections: &mut hook.sections,
    };
    let copies = copies(&outcomes);
    let of_task = |(outcome, copies): (&'p mut Outcome, _)| Part {
        title: title(outcome),
        trims: has_words(outcome),
        copies,
        sections: &mut outcome.sections,
    };
    let before = before.into_iter().map(of_hook);
    let tasks = outcomes.into_iter().zip(copies).map(of_task);
    let all = before.chain(tasks).chain(after.into_iter().map(of_hook));
    all.filter(Part::shows_anything).collect()
}

/// Whether its dialect has words of its own for it, and a form for what it shows: SHAM or NESL.
fn has_words(outcome: &Outcome) -> bool {
    outcome.id.is_some()
}

fn title(outcome: &Outcome) -> String {
    let target = match has_words(outcome) && names_its_files(&outcome.command) {
        true => String::new(),
        false => one_line(&outcome.target),
    };
    let what = [outcome.command.as_str(), &target];
    let what: Vec<&str> = what.into_iter().filter(|word| !word.is_empty()).collect();
    let failed = match outcome.status.is_good() || has_words(outcome) {
        true => "",
        false => " (failed)",
    };
    format!("\n[{}] {}{failed}:\n", outcome.label(), what.join(" "))
}

fn copies(outcomes: &[&mut Outcome]) -> Vec<Vec<Option<String>>> {
    let mut first = HashMap::new();
    let mut copies = Vec::with_capacity(outcomes.len());
    for (task, outcome) in outcomes.iter().enumerate() {
        let by = outcome.sections.iter().map(|section| {
            let Section::File { name, content } = section else {
                return None;
            };
            let by = *first.entry((name, content)).or_insert(task);
            (by != task).then(|| outcomes[by].label().into_owned())
        });
        copies.push(by.collect());
    }
    copies
}

impl Part<'_> {
    fn shows_anything(&self) -> bool {
        self.sections.iter().any(|section| section.size() > 0)
    }

    /// All of it.
    pub(super) fn write(&mut self, fence: &str, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(self.title.as_bytes())?;
        let mut is_next = false;
        for (section, copy) in self.sections.iter_mut().zip(&self.copies) {
            let is_file = matches!(section, Section::File { .. });
            let after_file = std::mem::replace(&mut is_next, is_file);
            match section {
                Section::Text(text) => to.write_all(fenced(text, fence).as_bytes())?,
                Section::File { name, content } => {
                    let part = match copy {
                        Some(by) => copied(name, by),
                        None => file(name, &fenced(content, fence)),
                    };
                    to.write_all(apart(after_file, part).as_bytes())?;
                }
                Section::Stream(_, spool) if spool.size() == 0 => {}
                Section::Stream(name, spool) => {
                    writeln!(to, "{name}:")?;
                    let whole = spool.cut(EDGE)?;
                    if whole.left_out == 0 {
                        let text = ended(&whole.head, self.trims);
                        to.write_all(fenced(text, fence).as_bytes())?;
                    } else {
                        // Too long to be looked through once more: fenced in any case.
                        writeln!(to, "<!-- clada:off {fence} -->")?;
                        spool.copy_to(to)?;
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

    /// The first and the last of it; `whole` names the file that has all.
    pub(super) fn cut(&mut self, fence: &str, whole: &str) -> io::Result<String> {
        let mut part = std::mem::take(&mut self.title);
        let sections = self.sections.iter().zip(&self.copies);
        let sizes: Vec<u64> = sections
            .filter(|(_, copy)| copy.is_none())
            .map(|(section, _)| section.size())
            .filter(|size| *size > 0)
            .collect();
        let edge = |size: u64| {
            let others: u64 = sizes.iter().sum::<u64>() - size;
            let budget = (2 * EDGE as u64)
                .saturating_sub(others)
                .max(2 * EDGE as u64 / sizes.len() as u64);
            usize::try_from(budget / 2).unwrap_or(EDGE)
        };
        let mut is_next = false;
        for (section, copy) in self.sections.iter_mut().zip(&self.copies) {
            let is_file = matches!(section, Section::File { .. });
            let after_file = std::mem::replace(&mut is_next, is_file);
            let is_stream = matches!(section, Section::Stream(..));
            let size = section.size();
            if size == 0 {
                continue;
            }
            let cut = match section {
                Section::Text(text) => cut_text(text, edge(size)),
                Section::File { name, content } => {
                    let shown = match copy {
                        Some(by) => copied(name, by),
                        None => {
                            let cut = cut_out(&cut_text(content, edge(size)), whole);
                            file(name, &fenced(&cut, fence))
                        }
                    };
                    part += &apart(after_file, shown);
                    continue;
                }
                Section::Stream(name, spool) => {
                    part += &format!("{name}:\n");
                    spool.cut(edge(size))?
                }
            };
            let text = cut_out(&cut, whole);
            part += &fenced(ended(&text, self.trims && is_stream), fence);
        }
        Ok(part)
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
    match trims {
        true => text.trim_end(),
        false => text,
    }
}

/// A file between the lines that say which it is. `content` ends its last line.
pub(super) fn file(name: &str, content: &str) -> String {
    let content = match content {
        "" => "[empty file]\n",
        content => content,
    };
    let name = one_line(name);
    format!("=== START FILE: {name} ===\n{content}=== END FILE: {name} ===\n")
}

/// In the place of a file that another task shows.
fn copied(name: &str, by: &str) -> String {
    format!("=== FILE: {}: as shown under [{by}] ===\n", one_line(name))
}

/// A file's part, apart from that of a file before it.
fn apart(after_file: bool, part: String) -> String {
    match after_file {
        true => format!("\n{part}"),
        false => part,
    }
}
