//! What a scan found, as text: for the cases of every dialect.

use std::fmt::Write as _;

use clada::reply::dialect::Dialect;
use clada::reply::scan::{alone, scan};
use clada::reply::task::{
    Action, Batch, BatchState, ContextTask, LineNumbers, Payload, Replacement, Task,
};
use clada::reply::text::Form;
use clada::report::wording;

use proptest::prelude::*;

use crate::{blocks, cases, cml, nesl, patch};

proptest! {
    /// What is remembered of a batch is all that it takes to run it again.
    #[test]
    fn a_batch_is_the_same_by_itself(
        text in prop_oneof![
            cml::text(),
            nesl::text(),
            blocks::text(),
            proptest::collection::vec(patch::piece(), 0..30).prop_map(|pieces| pieces.concat()),
        ],
    ) {
        assert_same_by_themselves(&text);
    }
}

/// A hunk of more lines than its header says is read up to the end of its fence.
#[test]
fn a_fenced_diff_is_the_same_by_itself() {
    let hunk = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n-d\n";
    for indent in ["", "  "] {
        let diff = format!("```diff\n--- a/x\n+++ b/x\n{hunk}```\n");
        let text: String = diff
            .lines()
            .map(|line| format!("{indent}{line}\n"))
            .collect();
        assert!(scan(&text).batches[0].tasks[0].action.is_ok(), "{text}");
        assert_same_by_themselves(&text);
    }
}

fn assert_same_by_themselves(text: &str) {
    let tasks = |batch: &Batch<'_>| -> Vec<_> {
        let tasks = batch.tasks.iter();
        let said = tasks.map(|task| {
            let (command, target) = (task.command_name().to_owned(), task.target().into_owned());
            (command, target, task.action.is_ok())
        });
        said.collect()
    };
    for batch in scan(text).batches {
        // A block without an end that another dialect's block cut off can be read where it stands only.
        let is_cut_off = batch.tasks.last().is_none_or(|task| task.action.is_err());
        if batch.state.problem().is_some() || is_cut_off {
            continue;
        }
        let text = alone(text, &batch);
        let read = scan(&text).batches.first().map(tasks);
        assert_eq!(read, Some(tasks(&batch)), "{text:?}");
    }
}

/// Checks the cases of a dialect, each a `reply` and what the scan reads in it.
pub(crate) fn check(folder: &str) {
    cases::run(folder, |case, verdict| {
        let reply = case.one("reply").expect("a `reply` block").string();
        let expected = case.one("scan").expect("a `scan` block");
        verdict.expect(expected, describe(&reply).as_bytes());
    });
}

/// What a scan found, a line a batch, a task, a problem.
pub(crate) fn describe(text: &str) -> String {
    let found = scan(text);
    let mut lines = LineNumbers::new(text);
    let mut out = String::new();
    for problem in &found.problems {
        let said = wording::problem(problem);
        let _ = writeln!(out, "line {}: {said}", lines.of(problem.at));
    }
    for batch in &found.batches {
        describe_batch(batch, &mut lines, &mut out);
    }
    out
}

fn describe_batch(batch: &Batch<'_>, lines: &mut LineNumbers<'_>, out: &mut String) {
    let state = match &batch.state {
        BatchState::Complete => "complete",
        BatchState::Provisional => "provisional",
        BatchState::Open(_) => "open",
        BatchState::Broken(_) => "broken",
    };
    let _ = write!(out, "batch line {} {state}", lines.of(batch.span.start));
    if batch.dialect != Dialect::Cml {
        let _ = write!(out, " {}", batch.dialect.name());
    }
    if batch.atomic {
        out.push_str(" atomic");
    }
    if let Some(message) = &batch.message {
        let _ = write!(out, " {message:?}");
    }
    out.push('\n');
    if let Some(problem) = batch.state.problem() {
        let said = wording::problem(problem);
        let _ = writeln!(out, "  line {}: {said}", lines.of(problem.at));
    }
    for task in &batch.tasks {
        describe_task(task, lines, out);
    }
}

pub(crate) fn describe_task(task: &Task<'_>, lines: &mut LineNumbers<'_>, out: &mut String) {
    let _ = write!(out, "  line {}: ", lines.of(task.span.start));
    let text = |payload: &Payload<'_>| {
        let form = if payload.form == Form::Inline {
            "inline "
        } else {
            ""
        };
        format!("{form}{:?}", payload.text())
    };
    if let Some(call) = &task.call {
        let _ = write!(out, "[{}] {} {}: ", call.id, call.name, call.params());
    }
    let _ = match &task.action {
        Err(problem) => {
            let said = wording::problem(problem);
            write!(out, "error line {}: {said}", lines.of(problem.at))
        }
        Ok(action) => write!(out, "{}", describe_action(action, &text)),
    };
    if !task.why.is_empty() {
        let _ = write!(out, " ({})", task.why);
    }
    out.push('\n');
    for warning in &task.warnings {
        let said = wording::problem(warning);
        let _ = writeln!(out, "    warning line {}: {said}", lines.of(warning.at));
    }
}

fn describe_action(action: &Action<'_>, text: &dyn Fn(&Payload<'_>) -> String) -> String {
    let name = |name: &str, value: Option<String>| match value {
        Some(value) => format!(" {name}={value:?}"),
        None => String::new(),
    };
    let flag = |name: &str, is: bool| match is {
        true => format!(" {name}"),
        false => String::new(),
    };
    let owned = |value: &Option<std::borrow::Cow<'_, str>>| value.as_deref().map(str::to_owned);
    match action {
        Action::Edit { path, change, to } => {
            let to = name("to", owned(to));
            format!("edit {path}{to}{}", describe_change(change, text))
        }
        Action::Overwrite {
            path,
            content,
            final_newline,
            only_new,
        } => {
            let (bare, new) = (
                flag("no-newline", !final_newline),
                flag("only-new", *only_new),
            );
            format!("overwrite {path} {}{bare}{new}", text(content))
        }
        Action::Append {
            path,
            content,
            final_newline,
        } => {
            let bare = flag("no-newline", !final_newline);
            format!("append {path} {}{bare}", text(content))
        }
        Action::ReplaceAll {
            paths,
            search,
            replace,
            count,
        } => {
            let count = name("count", count.map(|count| count.to_string()));
            let paths = paths.join(" ");
            format!(
                "replace-all {paths} {} => {}{count}",
                text(search),
                text(replace)
            )
        }
        Action::ReplaceLines {
            path,
            lines,
            content,
        } => format!("replace-lines {path}:{lines} {}", text(content)),
        Action::Move {
            path,
            to,
            overwrite,
            exact,
        } => format!(
            "move {path} -> {to}{}{}",
            flag("overwrite", *overwrite),
            flag("exact", *exact)
        ),
        Action::Delete {
            path, only_file, ..
        } => {
            format!("delete {path}{}", flag("only-file", *only_file))
        }
        Action::MakeFolder { path } => format!("mkdir {path}"),
        Action::RemoveFolder { path } => format!("rmdir {path}"),
        Action::Read {
            paths,
            lines,
            numbers,
            ..
        } => format!(
            "read {}{}{}",
            paths.join(" "),
            name("lines", owned(lines)),
            name("numbers", owned(numbers))
        ),
        Action::Outline { paths, only_public } => {
            format!(
                "outline {}{}",
                paths.join(" "),
                flag("public", *only_public)
            )
        }
        Action::List { path } => format!("ls{}", name("path", owned(path))),
        Action::Grep {
            pattern,
            path,
            include,
            ignore_case,
        } => format!(
            "grep {pattern:?}{}{}{}",
            name("path", owned(path)),
            name("include", owned(include)),
            flag("ignore-case", *ignore_case)
        ),
        Action::Glob { pattern, path } => {
            format!("glob {pattern:?}{}", name("path", owned(path)))
        }
        Action::Exec {
            script,
            timeout,
            lang,
            version,
            cwd,
            quiet,
        } => {
            let lang = lang.map_or(String::new(), |lang| format!(" lang={}", lang.name()));
            format!(
                "exec {} {timeout:?}{lang}{}{}{}",
                text(script),
                name("version", version.clone()),
                name("cwd", cwd.clone()),
                flag("quiet", *quiet)
            )
        }
        Action::Context(task) => match task {
            ContextTask::Add { paths, lines, .. } => {
                format!(
                    "context-add {}{}",
                    paths.join(" "),
                    name("lines", owned(lines))
                )
            }
            ContextTask::Remove { paths } => format!("context-remove {}", paths.join(" ")),
            ContextTask::List => "context-list".to_owned(),
            ContextTask::Prune => "context-prune".to_owned(),
            ContextTask::Clear => "context-clear".to_owned(),
        },
        Action::ForUser(command) => format!("for the user: {}", command.name()),
    }
}

fn describe_change(change: &Replacement<'_>, text: &dyn Fn(&Payload<'_>) -> String) -> String {
    match change {
        Replacement::Pairs(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(s, r)| format!(" {} => {}", text(s), text(r)));
            pairs.collect()
        }
        Replacement::Stretch {
            head,
            tail,
            replace,
        } => format!(" {} .. {} => {}", text(head), text(tail), text(replace)),
        Replacement::Literal { search, replace } => format!(" literal {search:?} => {replace:?}"),
        Replacement::LiteralRange {
            beginning,
            end,
            replace,
        } => format!(" literal {beginning:?} .. {end:?} => {replace:?}"),
        Replacement::Hunks(hunks) => {
            let hunks = hunks.iter().map(|hunk| {
                let line = hunk
                    .line
                    .map_or(String::new(), |line| format!(" line {line}"));
                let below = match hunk.below.as_slice() {
                    [] => String::new(),
                    below => format!(" below {below:?}"),
                };
                let end = if hunk.at_end { " at end" } else { "" };
                format!(
                    "\n    hunk{line}{below}{end}{} {:?}",
                    match hunk.final_newline {
                        Some(true) => " newline",
                        Some(false) => " no-newline",
                        None => "",
                    },
                    hunk.lines
                        .iter()
                        .map(|(sign, line)| format!("{}{line}", sign.text()))
                        .collect::<Vec<_>>()
                )
            });
            hunks.collect()
        }
    }
}
