//! The form of results: the block on top of the notes, the full output, the clipboard's text, JSON. Decides nothing.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::dialect::Dialect;
use super::note::{END, RESULTS};
use super::outcome::{Cut, Outcome, Section, Spooled};
use super::record::Offer;
use super::scan::scan;
use super::task::{BlockError, Cause, Lines, Problem};
use super::wording;

/// A task's share of the clipboard text, in bytes at each end.
const EDGE: usize = 25 * 1024;
/// All of the clipboard text: X11 readers get nothing of more than 16 MiB.
const CLIPBOARD: usize = 8 * 1024 * 1024;
/// How many problems a block shows.
const PROBLEMS: usize = 50;
/// The longest message in a line of the block, in characters.
const MESSAGE: usize = 400;
/// The longest part of a target before a message, in characters.
const BRIEF: usize = 200;

/// What came of a run.
#[derive(Debug, Default)]
pub struct Report {
    pub outcomes: Vec<Outcome>,
    /// Problems of the reply outside any task that ran.
    pub problems: Vec<ParseError>,
    /// What the user can ask for by a tick.
    pub offers: Vec<Offered>,
    /// Lines that are no problem of a task: why nothing could run, what was not saved.
    pub notices: Vec<String>,
    /// What git did, as a line.
    pub git: Option<String>,
    /// How many tasks the reply has.
    pub total: usize,
    /// A word that no output can know, for fencing what would be read as a task if it were pasted.
    pub fence: String,
}

/// What was not run, why, and what a tick does about it.
#[derive(Debug)]
pub struct Offered {
    pub why: String,
    /// Two words behind the box.
    pub action: &'static str,
    pub offer: Offer,
}

/// A problem of the reply.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParseError {
    /// The task's number or the block's id, or `unknown`.
    pub block_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// `syntax`, `validation`, `type` or `warning`.
    pub error_type: &'static str,
    pub message: String,
    pub block_start_line: usize,
    /// The block of SHAM or NESL, under the name that its dialect has for that.
    #[serde(flatten)]
    pub content: Option<Content>,
}

/// The text of a block.
#[derive(Debug, Clone, Serialize)]
pub enum Content {
    #[serde(rename = "shamContent", serialize_with = "as_text")]
    Sham(Arc<str>),
    #[serde(rename = "neslContent", serialize_with = "as_text")]
    Nesl(Arc<str>),
}

fn as_text<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

impl ParseError {
    /// A problem with its line and its words; each error of a block by itself.
    pub fn of(problem: &Problem, lines: &mut Lines<'_>) -> Vec<Self> {
        let line = lines.of(problem.at);
        if let Cause::Block(errors) = &problem.cause {
            return errors
                .iter()
                .map(|error| Self::of_block(error, line))
                .collect();
        }
        vec![Self {
            block_id: "unknown".to_owned(),
            action: None,
            error_type: if problem.cause.is_warning() {
                "warning"
            } else {
                "syntax"
            },
            message: wording::problem(problem, lines),
            block_start_line: line,
            content: None,
        }]
    }

    fn of_block(error: &BlockError, line: usize) -> Self {
        let content = Arc::clone(&error.content);
        Self {
            block_id: error.block_id.clone(),
            action: error.action.clone(),
            error_type: error.error_type,
            message: error.message.clone(),
            block_start_line: line,
            content: Some(match error.dialect {
                Dialect::Sham => Content::Sham(content),
                _ => Content::Nesl(content),
            }),
        }
    }
}

impl Report {
    /// Whether everything that was asked for was done.
    pub fn success(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.status.is_good())
            && self
                .problems
                .iter()
                .all(|problem| problem.error_type == "warning")
    }

    /// Whether there is anything to tell.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
            && self.problems.is_empty()
            && self.offers.is_empty()
            && self.notices.is_empty()
    }

    /// Adds what came of a run: its tasks are numbered on from those that are told of already.
    pub fn take(&mut self, run: Self) {
        let told = self.outcomes.len();
        self.outcomes.extend(run.outcomes);
        for outcome in &mut self.outcomes[told..] {
            outcome.number += told;
        }
        self.problems.splice(0..0, run.problems);
        self.offers.extend(run.offers);
        self.notices.extend(run.notices);
        (self.git, self.total, self.fence) = (run.git, self.total + run.total, run.fence);
    }

    /// The lines of the block that can be ticked, counted from the one that begins the results.
    pub fn offer_lines(&self) -> Vec<(usize, Offer)> {
        let outcomes = self.outcomes.iter().filter(|outcome| !is_grouped(outcome));
        let outcomes = outcomes.map(|outcome| outcome.offer.as_ref());
        let offers = self.offers.iter().map(|offered| Some(&offered.offer));
        let lines = outcomes.chain(offers).enumerate();
        let offered = lines.filter_map(|(line, offer)| Some((line + 1, offer?.clone())));
        offered.collect()
    }

    /// The results block: the status line, where there is one, and the lines between the markers.
    pub fn block(&self, status: Option<&str>) -> String {
        let mut text = status
            .map(|status| one_line(status) + "\n")
            .unwrap_or_default();
        text += RESULTS;
        text.push('\n');
        for outcome in self.outcomes.iter().filter(|outcome| !is_grouped(outcome)) {
            text += &outcome_line(outcome);
            text.push('\n');
        }
        for offered in &self.offers {
            text += &format!("{} - [ ] {}\n", clipped(&offered.why), offered.action);
        }
        let groups = self.groups();
        for group in groups.iter().take(PROBLEMS) {
            text += &group.lines();
        }
        let mut more = groups.len().saturating_sub(PROBLEMS);
        let problems = self
            .problems
            .iter()
            .filter(|problem| problem.content.is_none());
        for (index, problem) in problems.enumerate() {
            if index >= PROBLEMS {
                more += 1;
                continue;
            }
            let mark = if problem.error_type == "warning" {
                "⚠"
            } else {
                "❌"
            };
            text += &format!(
                "{mark} line {}: {}\n",
                problem.block_start_line,
                clipped(&problem.message)
            );
        }
        if more > 0 {
            text += &format!("and {more} more\n");
        }
        for line in self.notices.iter().chain(&self.git) {
            text += &clipped(line);
            text.push('\n');
        }
        text += END;
        text.push('\n');
        text
    }

    /// Writes the full output: the block, and all that each task has to show.
    ///
    /// # Errors
    /// Where it cannot be written, or a command's output not be read again.
    pub fn write_output(&mut self, status: Option<&str>, to: &mut dyn Write) -> io::Result<()> {
        write!(to, "{}\n=== OUTPUTS ===\n", self.block(status))?;
        let outcomes = self.outcomes.iter_mut();
        for outcome in outcomes.filter(|outcome| has_output(outcome)) {
            write_part(outcome, &self.fence, to)?;
        }
        writeln!(to, "{END}")
    }

    /// The clipboard's text: the block, then failed tasks before the others, each part cut to 50 KB. `whole` names the
    /// file that holds all of it.
    ///
    /// # Errors
    /// Where a command's output cannot be read again.
    pub fn clipboard(&mut self, whole: &str) -> io::Result<String> {
        let mut text = format!("{}\n=== OUTPUTS ===\n", self.block(None));
        let mut order: Vec<usize> = (0..self.outcomes.len())
            .filter(|i| has_output(&self.outcomes[*i]))
            .collect();
        order.sort_by_key(|i| self.outcomes[*i].status.is_good());
        let mut left_out = 0;
        for index in order {
            let part = cut_part(&mut self.outcomes[index], &self.fence, whole)?;
            if text.len() + part.len() > CLIPBOARD {
                left_out += 1;
            } else {
                text += &part;
            }
        }
        if left_out > 0 {
            text += &format!("\n… the outputs of {left_out} more tasks are in {whole} …\n");
        }
        text += END;
        text.push('\n');
        Ok(text)
    }

    /// What is wrong with blocks of SHAM and NESL, block by block, in the order of the text.
    fn groups(&self) -> Vec<Group<'_>> {
        let misread = self
            .outcomes
            .iter()
            .filter_map(|outcome| outcome.misread.as_ref());
        let in_outcomes = misread.flat_map(|misread| {
            let errors = misread.errors.iter();
            errors.map(|error| (misread.line, &error.block_id, &error.action, &error.message))
        });
        let problems = self
            .problems
            .iter()
            .filter(|problem| problem.content.is_some());
        let in_problems = problems.map(|error| {
            let line = error.block_start_line;
            (line, &error.block_id, &error.action, &error.message)
        });
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut places = HashMap::new();
        for (line, id, action, message) in in_outcomes.chain(in_problems) {
            let place = *places.entry((id, line)).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Group {
                    id,
                    line,
                    action: action.as_deref().unwrap_or("-"),
                    messages: Vec::new(),
                });
            }
            groups[place].messages.push(message);
        }
        groups.sort_by_key(|group| group.line);
        groups
    }

    /// How many blocks of SHAM and NESL never end: they are none of the tasks.
    fn unended(&self) -> usize {
        let blocks = self
            .problems
            .iter()
            .filter(|problem| problem.content.is_some() && problem.block_id != "unknown");
        let blocks = blocks.map(|problem| (&problem.block_id, problem.block_start_line));
        blocks.collect::<HashSet<_>>().len()
    }

    /// The run as one JSON object.
    pub fn json(&self) -> Value {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry<'o> {
            seq: usize,
            block_id: Cow<'o, str>,
            action: &'o str,
            params: &'o Value,
            success: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'o str>,
            #[serde(skip_serializing_if = "Value::is_null")]
            data: &'o Value,
        }
        let executed = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.misread.is_none());
        let results: Vec<Entry<'_>> = executed
            .enumerate()
            .map(|(index, outcome)| Entry {
                seq: index + 1,
                block_id: outcome.label(),
                action: &outcome.command,
                params: &outcome.params,
                success: outcome.status.is_good(),
                error: outcome
                    .error
                    .as_deref()
                    .or(outcome.message.as_deref().filter(|_| outcome.id.is_none()))
                    .filter(|_| !outcome.status.is_good()),
                data: &outcome.data,
            })
            .collect();
        let misread = self.outcomes.iter().filter_map(|outcome| {
            let misread = outcome.misread.as_ref()?;
            let of_block = |error| ParseError::of_block(error, misread.line);
            let mut errors: Vec<ParseError> = misread.errors.iter().map(of_block).collect();
            if errors.is_empty() {
                errors.push(ParseError {
                    block_id: outcome.label().into_owned(),
                    action: Some(outcome.command.clone()).filter(|command| !command.is_empty()),
                    error_type: "validation",
                    message: outcome.message.clone().unwrap_or_default(),
                    block_start_line: misread.line,
                    content: None,
                });
            }
            Some(errors)
        });
        let mut run = serde_json::json!({
            "success": self.success(),
            "totalBlocks": self.total + self.unended(),
            "executedActions": results.len(),
            "results": results,
            "parseErrors": misread.flatten().chain(self.problems.iter().cloned()).collect::<Vec<_>>(),
        });
        if !self.notices.is_empty() {
            run["notices"] = self.notices.clone().into();
        }
        run
    }
}

/// The errors of a block.
struct Group<'r> {
    id: &'r str,
    line: usize,
    action: &'r str,
    messages: Vec<&'r String>,
}

impl Group<'_> {
    /// A line for the block and, where there are several errors, one for each message.
    fn lines(&self) -> String {
        let said = match self.messages.as_slice() {
            [message] => clipped(message),
            messages => format!("{} syntax errors", messages.len()),
        };
        let mut text = format!(
            "{} ❌ {:<10} ERROR: {said} (line {})\n",
            self.id,
            brief(&one_line(self.action)),
            self.line
        );
        if self.messages.len() == 1 {
            return text;
        }
        let mut counts: Vec<(&String, usize)> = Vec::new();
        let mut places = HashMap::new();
        for message in &self.messages {
            let place = *places.entry(message).or_insert(counts.len());
            match counts.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => counts.push((message, 1)),
            }
        }
        let more = counts.len().saturating_sub(PROBLEMS);
        for (message, count) in counts.into_iter().take(PROBLEMS) {
            let times = match count {
                1 => String::new(),
                count => format!(" ({count} occurrences)"),
            };
            text += &format!("{:20}- {}{times}\n", "", clipped(message));
        }
        if more > 0 {
            text += &format!("{:20}- and {more} more\n", "");
        }
        text
    }
}

/// Whether a task is told of among the errors of its dialect, and has no line of its own.
fn is_grouped(outcome: &Outcome) -> bool {
    let misread = outcome.misread.as_ref();
    misread.is_some_and(|misread| !misread.errors.is_empty())
}

/// A task's line in the block.
pub fn outcome_line(outcome: &Outcome) -> String {
    let target = match &outcome.message {
        Some(_) => brief(&outcome.target),
        None => outcome.target.as_str().into(),
    };
    let what = [outcome.command.as_str(), &target];
    let what: Vec<&str> = what.into_iter().filter(|word| !word.is_empty()).collect();
    let mut line = format!("{} {}", outcome.label(), outcome.status.mark());
    for word in &what {
        line.push(' ');
        line += word;
    }
    if let Some(message) = &outcome.message {
        line += if what.is_empty() { " " } else { " - " };
        line += message;
    }
    let tick = match &outcome.offer {
        Some(Offer { approves: true, .. }) => " - [ ] run it",
        Some(_) => " - [ ] run again",
        None => "",
    };
    clipped(&line) + tick
}

fn has_output(outcome: &Outcome) -> bool {
    outcome.sections.iter().any(|section| match section {
        Section::Text(text) => !text.is_empty(),
        Section::File { .. } => true,
        Section::Stream(_, spool) => spool.size() > 0,
    })
}

fn part_title(outcome: &Outcome) -> String {
    let failed = if outcome.status.is_good() {
        ""
    } else {
        " (failed)"
    };
    format!(
        "\n[{}] {} {}{failed}:\n",
        outcome.label(),
        outcome.command,
        one_line(&outcome.target)
    )
}

fn write_part(outcome: &mut Outcome, fence: &str, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(part_title(outcome).as_bytes())?;
    for section in &mut outcome.sections {
        match section {
            Section::Text(text) => to.write_all(fenced(text, fence).as_bytes())?,
            Section::File { name, content } => {
                to.write_all(file_part(name, &fenced(content, fence)).as_bytes())?;
            }
            Section::Stream(_, spool) if spool.size() == 0 => {}
            Section::Stream(name, spool) => {
                writeln!(to, "{name}:")?;
                let whole = spool.cut(EDGE)?;
                if whole.left_out == 0 {
                    to.write_all(fenced(&whole.head, fence).as_bytes())?;
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

fn cut_part(outcome: &mut Outcome, fence: &str, whole: &str) -> io::Result<String> {
    let mut part = part_title(outcome);
    let sizes: Vec<u64> = outcome
        .sections
        .iter()
        .map(Section::size)
        .filter(|size| *size > 0)
        .collect();
    let edge = |size: u64| {
        let others: u64 = sizes.iter().sum::<u64>() - size;
        let budget = (2 * EDGE as u64)
            .saturating_sub(others)
            .max(2 * EDGE as u64 / sizes.len() as u64);
        usize::try_from(budget / 2).unwrap_or(EDGE)
    };
    for section in &mut outcome.sections {
        let size = section.size();
        if size == 0 {
            continue;
        }
        let cut = match section {
            Section::Text(text) => cut_text(text, edge(size)),
            Section::File { name, content } => {
                let cut = cut_out(&cut_text(content, edge(size)), whole);
                part += &file_part(name, &fenced(&cut, fence));
                continue;
            }
            Section::Stream(name, spool) => {
                part += &format!("{name}:\n");
                spool.cut(edge(size))?
            }
        };
        part += &fenced(&cut_out(&cut, whole), fence);
    }
    Ok(part)
}

/// A file between the lines that say which it is. `content` ends its last line.
fn file_part(name: &str, content: &str) -> String {
    let content = match content {
        "" => "[empty file]\n",
        content => content,
    };
    let name = one_line(name);
    format!("=== START FILE: {name} ===\n{content}=== END FILE: {name} ===\n")
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

/// A cut text with a line where something is left out.
pub fn cut_out(cut: &Cut, whole: &str) -> String {
    match cut.left_out {
        0 => cut.head.clone(),
        bytes => format!(
            "{}\n… {bytes} bytes left out here, all of it is in {whole} …\n{}",
            cut.head, cut.tail
        ),
    }
}

/// The first and the last `edge` bytes of a text, cut at characters.
pub fn cut_text(text: &str, edge: usize) -> Cut {
    if text.len() <= 2 * edge {
        return Cut {
            head: text.to_owned(),
            left_out: 0,
            tail: String::new(),
        };
    }
    let (head, tail) = (
        text.floor_char_boundary(edge),
        text.ceil_char_boundary(text.len() - edge),
    );
    Cut {
        head: text[..head].to_owned(),
        left_out: (tail - head) as u64,
        tail: text[tail..].to_owned(),
    }
}

/// A command's output for `--json`: its first and last 25 KB.
///
/// # Errors
/// Where it cannot be read again.
pub fn for_json(spool: &mut dyn Spooled) -> io::Result<String> {
    let whole = "what `clada run` prints without `--json`";
    Ok(cut_out(&spool.cut(EDGE)?, whole))
}

/// A text that ends its last line, between the marks that keep the scanner out where it would find something in it.
pub fn fenced(text: &str, word: &str) -> String {
    let newline = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let found = scan(text);
    if found.batches.is_empty() && found.problems.is_empty() && !text.contains("clada:o") {
        return format!("{text}{newline}");
    }
    format!("<!-- clada:off {word} -->\n{text}{newline}<!-- clada:on {word} -->\n")
}

/// The start of a text, short enough for something else to follow it in a line.
pub fn brief(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(BRIEF) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// A text as one line that cannot break the block: no line ends, control characters or changes of direction.
pub fn one_line(text: &str) -> String {
    let breaks = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.trim()
        .chars()
        .map(|c| if breaks(c) { ' ' } else { c })
        .collect()
}

fn clipped(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= MESSAGE {
        line
    } else {
        line.chars().take(MESSAGE).chain(['…']).collect()
    }
}
