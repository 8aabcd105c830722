//! The form of results: the block on top of the notes, the full output, the clipboard's text, JSON. Decides nothing.

mod below;
pub mod chat;
pub mod context;
mod earlier;
mod excerpt;
pub mod failed_edit;
pub mod fault;
mod frame;
pub mod nesl;
mod once;
pub mod outcome;
mod outputs;
mod packet;
pub mod repair;
mod section;
mod summary;
pub mod wording;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::reply::dialect::Dialect;
use crate::reply::note::END;
use crate::reply::question::parted;
use crate::reply::record::Offer;
use crate::reply::scan::scan;
use crate::reply::task::{BlockError, Cause, LineNumbers, Problem};
use crate::report::outcome::{Afresh, Cut, OfferedPlace, Outcome, Section, Spooled, Status};
use crate::text::hidden::written_out;
use frame::{CHANGED, unframed};
use outputs::parts;

pub use below::outputs_line;
pub use earlier::Earlier;
pub use frame::{LiveLines, Unframing, last_part};
pub use outputs::file;
pub use packet::{Packet, packet_size};

/// The name of the place that has the whole of a text which `--json` cuts.
const FOR_JSON: &str = "the output of `clada run` without `--json`";
/// The part of a long text that is kept at each end, in bytes.
const EDGE: usize = 25 * 1024;
/// The most problems that a block shows.
const PROBLEMS: usize = 50;
/// The same for a block that never ends.
const UNENDED: usize = 3;
/// The longest message in a line of the block, in characters.
const MESSAGE: usize = 400;
/// The longest part of a target before a message, in characters.
const BRIEF: usize = 200;

/// The results of a run.
#[derive(Debug, Default)]
pub struct Report {
    pub outcomes: Vec<Outcome>,
    /// The results of the user's own commands around batches.
    pub hooks: Vec<Hooked>,
    /// Problems of the reply outside any task that ran.
    pub problems: Vec<ParseError>,
    /// The things that the user can ask for by a tick.
    pub offers: Vec<Offered>,
    /// Edits of earlier results whose place the user has still to choose.
    pub open: Vec<OpenEdit>,
    /// The reason why a tick of the user does not count.
    pub void: Option<String>,
    /// Lines that are no problem of a task: why nothing could run, what was not saved.
    pub notices: Vec<String>,
    /// A line about what git did.
    pub git: Option<String>,
    /// The number of tasks in the reply.
    pub total: usize,
    /// A word that no output can know, for fencing what would be read as a task if it were pasted.
    pub fence: String,
    /// Lines that tell what has changed since the chat saw it; never in the notes.
    pub changes: String,
    /// The whole commands of earlier questions that are asked again here, for the output file.
    pub asked: Vec<String>,
}

/// The result of a hook.
#[derive(Debug)]
pub struct Hooked {
    /// `before` or `after`.
    pub when: &'static str,
    pub command: String,
    pub failed: bool,
    /// A failure of it is one of the run.
    pub counts: bool,
    pub message: Option<String>,
    /// Its output on stderr.
    pub errors: String,
    /// Its output.
    pub sections: Vec<Section>,
}

impl Hooked {
    /// Returns its line in the block, if it has a message.
    fn line(&self) -> Option<String> {
        let mark = if self.failed && self.counts {
            "❌"
        } else {
            "⚠"
        };
        let message = self.message.as_ref()?;
        Some(format!(
            "{mark} the {} hook `{}`: {message}",
            self.when,
            brief(&self.command)
        ))
    }

    fn title(&self) -> String {
        let failed = if self.failed { " (failed)" } else { "" };
        format!(
            "\n[{} hook] {}{failed}:\n",
            self.when,
            one_line(&self.command)
        )
    }

    /// Describes its failure, for `--json`.
    fn error(&self) -> String {
        let message = self.message.as_deref().unwrap_or("failed");
        match self.errors.as_str() {
            "" => format!("{}: {message}", self.command),
            errors => format!("{}: {message}: {errors}", self.command),
        }
    }
}

/// Tasks that were not run, with the reason and the effect of a tick.
#[derive(Debug)]
pub struct Offered {
    /// One line; behind that the commands that it lets through, each on a line of its own.
    pub why: String,
    /// Two words behind the box.
    pub action: &'static str,
    pub offer: Offer,
}

/// An edit that no task of this report is, whose place the user has still to choose.
#[derive(Debug)]
pub struct OpenEdit {
    pub why: String,
    pub places: Vec<OfferedPlace>,
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
    /// The line that would end a block of SHAM or NESL that never ends.
    #[serde(skip)]
    pub end: Option<String>,
    pub block_start_line: usize,
    /// The block of SHAM or NESL, under the name that its dialect has for that.
    #[serde(flatten)]
    pub content: Option<BlockContent>,
}

/// The text of a block.
#[derive(Debug, Clone, Serialize)]
pub enum BlockContent {
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
    pub fn of(problem: &Problem, lines: &mut LineNumbers<'_>) -> Vec<Self> {
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
            message: wording::problem(problem),
            end: None,
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
            end: error.end.clone(),
            block_start_line: line,
            content: Some(match error.dialect {
                Dialect::Sham => BlockContent::Sham(content),
                _ => BlockContent::Nesl(content),
            }),
        }
    }
}

impl Report {
    /// True if everything that was asked for was done.
    pub fn success(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.status.is_good())
            && self
                .problems
                .iter()
                .all(|problem| problem.error_type == "warning")
            && !self.hooks.iter().any(|hook| hook.failed && hook.counts)
    }

    /// True if a hook kept a batch from running.
    pub fn is_stopped(&self) -> bool {
        let mut hooks = self.hooks.iter();
        hooks.any(|hook| hook.when == "before" && hook.failed && hook.counts)
    }

    /// True if there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.void.is_none() && self.is_bare()
    }

    fn is_bare(&self) -> bool {
        self.outcomes.is_empty()
            && self.hooks.is_empty()
            && self.problems.is_empty()
            && self.offers.is_empty()
            && self.open.is_empty()
            && self.notices.is_empty()
    }

    /// Tells if there is nothing to tell but why ticks do not count.
    pub fn is_passing(&self) -> bool {
        self.void.is_some() && self.is_bare()
    }

    /// Adds what came of a run: its tasks are numbered on from those that are told of already.
    pub fn take(&mut self, run: Self) {
        let told = self.outcomes.len();
        self.outcomes.extend(run.outcomes);
        for outcome in &mut self.outcomes[told..] {
            outcome.number += told;
        }
        self.hooks.extend(run.hooks);
        self.problems.splice(0..0, run.problems);
        self.offers.extend(run.offers);
        self.open.extend(run.open);
        self.notices.extend(run.notices);
        self.void = self.void.take().or(run.void);
        self.asked.extend(run.asked);
        self.changes += &run.changes;
        (self.git, self.total, self.fence) = (run.git, self.total + run.total, run.fence);
    }

    /// The lines of the block that can be ticked, counted from the one that begins the results.
    pub fn offer_lines(&self) -> Vec<(usize, Offer)> {
        let lines = (1..).zip(self.offering_lines());
        let offered = lines.filter_map(|(at, line)| Some((at, line.offer?)));
        offered.collect()
    }

    /// The lines of the block about tasks and what the user can ask for: all that can be ticked are among them.
    fn offering_lines(&self) -> Vec<OfferingLine> {
        let mut lines = Vec::new();
        for outcome in self.outcomes.iter().filter(|outcome| !is_grouped(outcome)) {
            lines.push(OfferingLine {
                text: outcome_line(outcome),
                offer: outcome.offer.clone(),
            });
            lines.extend(commands(asked(outcome)));
            lines.extend(boxes(&outcome.places));
        }
        for offered in &self.offers {
            let why = clipped(parted(&offered.why).0);
            lines.push(OfferingLine {
                text: format!("{why} - [ ] {}", offered.action),
                offer: Some(offered.offer.clone()),
            });
            lines.extend(commands(&offered.why));
        }
        for open in &self.open {
            lines.push(OfferingLine {
                text: clipped(&open.why),
                offer: None,
            });
            lines.extend(boxes(&open.places));
        }
        lines
    }

    /// Tells if a task waits for approval.
    pub fn asks(&self) -> bool {
        let mut offers = self.offer_lines().into_iter();
        offers.any(|(_, offer)| offer.approves && !offer.adds())
    }

    /// The results block: the status line, if there is one, and the lines between the markers.
    pub fn block(&self, status: Option<&str>) -> String {
        self.block_above(status, &[])
    }

    /// The lines between the markers of its block.
    pub fn lines(&self) -> String {
        let lines = self.offering_lines().into_iter();
        let mut text: String = lines.map(|line| line.text + "\n").collect();
        text += &self.problem_lines();
        let hooks: Vec<String> = self.hooks.iter().filter_map(Hooked::line).collect();
        let (read_as, notices) = (
            read_as(&self.outcomes),
            self.void.iter().chain(&self.notices),
        );
        for line in read_as.iter().chain(&hooks).chain(notices).chain(&self.git) {
            text += &clipped(line);
            text.push('\n');
        }
        text
    }

    /// The lines about problems that are none of a task.
    fn problem_lines(&self) -> String {
        let mut text = String::new();
        let errors = self.parse_errors();
        let groups = BlockErrors::of(&errors);
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
                "{mark} {} (line {})\n",
                clipped(&problem.message),
                problem.block_start_line
            );
        }
        if more > 0 {
            text += &format!("and {more} more\n");
        }
        text
    }

    /// The part that tells what has changed since the chat saw it; nothing where nothing has.
    pub fn changed(&self) -> String {
        match self.changes.as_str() {
            "" => String::new(),
            changes => {
                let changes = written_out(changes);
                format!("\n{CHANGED}\n{}", fenced(&unframed(&changes), &self.fence))
            }
        }
    }

    /// Writes the full output: the block, and all that each task has to show.
    ///
    /// # Errors
    /// Where it cannot be written, or a command's output not be read again.
    pub fn write_output(&mut self, status: Option<&str>, to: &mut dyn Write) -> io::Result<()> {
        let (block, changed) = (self.block(status), self.changed());
        write!(to, "{block}{changed}{}", outputs_line())?;
        self.write_parts(&mut Afresh(to))?;
        writeln!(to, "{END}")
    }

    /// Counts the blocks of SHAM and NESL that never end: they are not among the tasks.
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
        let executed = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.misread.is_none());
        let results: Vec<JsonResult<'_>> = (1..)
            .zip(executed)
            .map(|(seq, outcome)| JsonResult::of(seq, outcome))
            .collect();
        let mut run = serde_json::json!({
            "success": self.success(),
            "totalBlocks": self.total + self.unended(),
            "executedActions": results.len(),
            "results": results,
            "parseErrors": self.parse_errors(),
        });
        let failed = |when: &str| {
            let hooks = self.hooks.iter();
            let failed = hooks.filter(|hook| hook.when == when && hook.failed);
            failed.map(Hooked::error).collect::<Vec<_>>()
        };
        if self.hooks.iter().any(|hook| hook.failed) {
            run["hookErrors"] =
                serde_json::json!({ "before": failed("before"), "after": failed("after") });
        }
        if self.is_stopped() {
            run["fatalError"] = "Before hooks failed - aborting execution".into();
            let is_not_run = |outcome: &Outcome| outcome.status == Status::NotRun;
            if self.outcomes.iter().all(is_not_run) {
                run["totalBlocks"] = 0.into();
                run["executedActions"] = 0.into();
                run["results"] = Value::Array(Vec::new());
            }
        }
        if !self.notices.is_empty() {
            run["notices"] = self.notices.clone().into();
        }
        run
    }

    /// Returns the errors of the reply, for `--json`.
    fn parse_errors(&self) -> Vec<ParseError> {
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
                    end: None,
                    block_start_line: misread.line,
                    content: None,
                });
            }
            Some(errors)
        });
        let problems = self.problems.iter().cloned();
        let mut parse_errors: Vec<ParseError> = misread.flatten().chain(problems).collect();
        // Errors in the form of blocks come first, in the order of the text.
        parse_errors.sort_by_key(|error| {
            if error.content.is_some() && error.error_type == "syntax" {
                error.block_start_line
            } else {
                usize::MAX
            }
        });
        parse_errors
    }
}

/// The result of a task, for `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonResult<'o> {
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

impl<'o> JsonResult<'o> {
    fn of(seq: usize, outcome: &'o Outcome) -> Self {
        let message = outcome.message.as_deref();
        let error = outcome.error.as_deref();
        let error = error.or(message.filter(|_| outcome.id.is_none()));
        Self {
            seq,
            block_id: outcome.label(),
            action: &outcome.command,
            params: &outcome.params,
            success: outcome.status.is_good(),
            error: error.filter(|_| !outcome.status.is_good()),
            data: &outcome.data,
        }
    }
}

/// Returns a line for each dialect but CML, with its tasks unless all are in that dialect.
fn read_as(outcomes: &[Outcome]) -> Vec<String> {
    let others = Dialect::ALL
        .into_iter()
        .filter(|dialect| *dialect != Dialect::Cml);
    let told = others.filter_map(|dialect| {
        let of_it = outcomes.iter().filter(|outcome| outcome.dialect == dialect);
        let labels: Vec<_> = of_it.map(Outcome::label).collect();
        match labels.len() {
            0 => None,
            all if all == outcomes.len() => Some(format!("read as {}", dialect.title())),
            _ => Some(format!(
                "read as {}: {}",
                dialect.title(),
                labels.join(", ")
            )),
        }
    });
    told.collect()
}

/// A line of the block, and what a tick in its box asks for.
struct OfferingLine {
    text: String,
    offer: Option<Offer>,
}

/// The errors of a block.
struct BlockErrors<'r> {
    id: &'r str,
    line: usize,
    action: &'r str,
    messages: Vec<&'r String>,
    /// That it never ends, and what would end it.
    end: Option<(&'r String, &'r String)>,
}

impl<'r> BlockErrors<'r> {
    /// Groups the errors in blocks of SHAM and NESL by their ids, in the order of the errors.
    fn of(errors: &'r [ParseError]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        let mut places = HashMap::new();
        for error in errors.iter().filter(|error| error.content.is_some()) {
            let place = *places.entry(&error.block_id).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Self {
                    id: &error.block_id,
                    line: error.block_start_line,
                    action: error.action.as_deref().unwrap_or("-"),
                    messages: Vec::new(),
                    end: None,
                });
            }
            let group = &mut groups[place];
            match &error.end {
                Some(end) if group.end.is_none() => group.end = Some((&error.message, end)),
                _ => group.messages.push(&error.message),
            }
        }
        groups
    }

    /// A line for the block and, where there are several errors, one for each message.
    fn lines(&self) -> String {
        let said = match (self.messages.as_slice(), self.end) {
            ([message], None) => Some(clipped(message)),
            ([], Some((message, _))) => Some(clipped(message)),
            _ => None,
        };
        let errors = self.messages.len() + usize::from(self.end.is_some());
        let all = || format!("{errors} syntax errors");
        let mut text = format!(
            "{} ❌ {:<10} ERROR: {} (line {})\n",
            self.id,
            brief(&one_line(self.action)),
            said.clone().unwrap_or_else(all),
            self.line
        );
        if said.is_some() {
            return text;
        }
        let shown = match self.end {
            // What is in it may be anything: the rest of the reply.
            Some((message, end)) => {
                let next = format!("{message}: end it with {end}, or leave the header out");
                text += &format!("{:20}- {}\n", "", clipped(&next));
                UNENDED
            }
            None => PROBLEMS,
        };
        let mut counts: Vec<(&String, usize)> = Vec::new();
        let mut places = HashMap::new();
        for message in &self.messages {
            let place = *places.entry(message).or_insert(counts.len());
            match counts.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => counts.push((message, 1)),
            }
        }
        let more = counts.len().saturating_sub(shown);
        for (message, count) in counts.into_iter().take(shown) {
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

/// True if a task stands among the errors of its dialect, and has no line of its own.
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
        line += match outcome.status {
            Status::Asks => parted(message).0,
            _ => message,
        };
    }
    let tick = match &outcome.offer {
        Some(Offer { approves: true, .. }) => " - [ ] run it",
        Some(_) => " - [ ] run again",
        None => "",
    };
    clipped(&line) + tick
}

/// Returns the text of a question with its commands; empty if the outcome is no question.
fn asked(outcome: &Outcome) -> &str {
    let said = outcome.message.as_deref();
    said.filter(|_| outcome.status == Status::Asks)
        .unwrap_or_default()
}

/// The lines below a question: what a tick lets through. No box of theirs can be ticked.
fn commands(said: &str) -> impl Iterator<Item = OfferingLine> {
    let lines = parted(said).1.into_iter();
    lines.map(|line| OfferingLine {
        text: format!("     {}", clipped(&line).replace("- [", "-[")),
        offer: None,
    })
}

/// The lines below a task of which the user can tick one. The last box of a line is clada's: another one, which comes from a
/// file, must not look like it.
fn boxes(places: &[OfferedPlace]) -> impl Iterator<Item = OfferingLine> {
    places.iter().map(|place| OfferingLine {
        text: format!("     - [ ] {}", clipped(&place.label).replace("- [", "-[")),
        offer: Some(place.offer.clone()),
    })
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
    Ok(cut_out(&spool.cut(EDGE)?, FOR_JSON))
}

/// A text for `--json`: its first and last 25 KB.
pub fn text_for_json(text: &str) -> String {
    cut_out(&cut_text(text, EDGE), FOR_JSON)
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
    clip(text, BRIEF)
}

/// A text, or the first `most` characters of a longer one.
fn clip(text: &str, most: usize) -> Cow<'_, str> {
    // No text has more characters than bytes.
    if text.len() <= most {
        return text.into();
    }
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// A text as one line that cannot break the block: blanks in the place of line ends and control characters, and what else cannot
/// be seen written out.
pub fn one_line(text: &str) -> String {
    let text = text.trim();
    if is_plain_line(text.as_bytes()) {
        return text.to_owned();
    }
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let line = squeezed(&text.replace(breaks, " "));
    match written_out(&line) {
        Cow::Borrowed(_) => line,
        Cow::Owned(line) => line,
    }
}

/// True if every byte of a text is printed, and no two blanks stand side by side. It looks at all of it, as the compiler then
/// takes many bytes at once.
fn is_plain_line(text: &[u8]) -> bool {
    let behind = text.get(1..).unwrap_or_default();
    let is_printed = text
        .iter()
        .fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    let pairs = text.iter().zip(behind);
    let has_stretch = pairs.fold(false, |any, (a, b)| any | (*a == b' ') & (*b == b' '));
    is_printed && !has_stretch
}

/// A line without its long stretches of blanks, which would push the rest out of sight.
fn squeezed(line: &str) -> String {
    const LONG: usize = 8;
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(char::is_whitespace) {
        let (before, blanks) = rest.split_at(start);
        let end = blanks.find(|c: char| !c.is_whitespace());
        let (blanks, after) = blanks.split_at(end.unwrap_or(blanks.len()));
        out += before;
        out += if blanks.chars().count() > LONG {
            " "
        } else {
            blanks
        };
        rest = after;
    }
    out + rest
}

fn clipped(text: &str) -> String {
    let line = one_line(text);
    match clip(&line, MESSAGE) {
        Cow::Borrowed(_) => line,
        Cow::Owned(clipped) => clipped,
    }
}
