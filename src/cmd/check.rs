//! `clada check`: reads a reply and tells its problems; carries out nothing.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::Check;
use crate::cmd::{self, read_reply};
use crate::config::Folders;
use crate::config::settings::Settings;
use crate::error::Error;
use crate::lang::report::{self, ParseError};
use crate::lang::scan::scan_for;
use crate::lang::task::{Lines, Scan};

/// Checks one reply. Succeeds if it has no error; warnings are told only.
///
/// # Errors
/// Where it or the settings cannot be read.
pub fn main(args: &Check) -> Result<ExitCode, Error> {
    let text = read_reply(args.file.as_deref())?;
    let (_, root) = cmd::find_root(None)?;
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let dialects = Settings::load(&folders, &root)?.settings.dialects;
    let found = scan_for(&text, dialects.into_iter().collect());
    let tasks: usize = found.batches.iter().map(|batch| batch.tasks.len()).sum();
    let problems = problems(&text, &found);
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(
            out,
            "{:#}",
            json!({ "totalBlocks": tasks, "parseErrors": problems })
        )?;
    } else {
        for problem in &problems {
            let task = if problem.block_id == "unknown" {
                String::new()
            } else {
                format!("task {}: ", problem.block_id)
            };
            let warning = if problem.error_type == "warning" {
                "warning: "
            } else {
                ""
            };
            writeln!(
                out,
                "line {}: {task}{warning}{}",
                problem.block_start_line,
                report::one_line(&problem.message)
            )?;
        }
        let (tasks, problems) = (count(tasks, "task"), count(problems.len(), "problem"));
        writeln!(out, "{tasks}, {problems}")?;
    }
    let failed = problems
        .iter()
        .any(|problem| problem.error_type != "warning");
    Ok(ExitCode::from(u8::from(failed)))
}

/// All problems of a text, in its order.
fn problems(text: &str, found: &Scan<'_>) -> Vec<ParseError> {
    let mut lines = Lines::new(text);
    let mut all: Vec<ParseError> = found
        .problems
        .iter()
        .map(|problem| ParseError::of(problem, &mut lines))
        .collect();
    let mut number = 0;
    for batch in &found.batches {
        all.extend(
            batch
                .state
                .problem()
                .map(|problem| ParseError::of(problem, &mut lines)),
        );
        for task in &batch.tasks {
            number += 1;
            for problem in task.action.as_ref().err().into_iter().chain(&task.warnings) {
                let mut error = ParseError::of(problem, &mut lines);
                error.block_id = number.to_string();
                error.action = task.command.map(|command| command.name().to_owned());
                if error.error_type == "syntax" {
                    error.error_type = "validation";
                }
                all.push(error);
            }
        }
    }
    all.sort_by_key(|problem| problem.block_start_line);
    all
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
