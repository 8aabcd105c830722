//! The sentences about batches whose parts have no clear start or end.

use crate::reply::task::{Cause, Within};

/// A structural problem of a batch, in one line.
pub(super) fn problem(cause: &Cause) -> String {
    match cause {
        Cause::CutOff { within, .. } => format!(
            "{}, so nothing in it was run: send it again, in several replies if it was long; parts are never joined",
            within.end()
        ),
        Cause::Unclosed {
            element: "tasks",
            within,
            ..
        } => format!(
            "`<tasks>` has no `</tasks>`, so nothing in it was run: put `</tasks>` {}, on a line of its own",
            within.behind_whole()
        ),
        Cause::Unclosed {
            element: "task",
            within,
            ..
        }
        | Cause::TaskCutOff { within }
        | Cause::TaskInTask { within } => format!(
            "{} has no `</task>`, so no task of this batch was run: put `</task>` {}{}",
            within.open(),
            within.behind_last(),
            match cause {
                Cause::TaskInTask { .. } =>
                    "; to quote CML, put it into a payload whose tags are alone on their lines",
                _ => "",
            }
        ),
        Cause::Unclosed {
            element: element @ ("i" | "path" | "c"),
            within,
            ..
        } => format!(
            "{} has no `</{element}>`, so no task of this batch was run: write `</{element}>` before the next element",
            within.open()
        ),
        Cause::Unclosed {
            element,
            cdata,
            within,
        } => format!(
            "{} has no `</{element}>`, so no task of this batch was run: put {}`</{element}>` after the content of \
             `<{element}>`, alone on a line",
            within.open(),
            if *cdata { "`]]>` and " } else { "" }
        ),
        Cause::BatchInBatch { within } => format!(
            "another `<tasks>` begins before this one is closed, so nothing in it was run: put `</tasks>` {}",
            within.behind_whole()
        ),
        Cause::StrayClose { element, within } => format!(
            "`</{element}>` {} closes nothing, so no task of this batch was run. If its opening tag is damaged, write \
             it on one line, with its quotes closed. If a payload holds this line as text, put the payload between \
             `<![CDATA[` and `]]>`",
            within.near("in", "before the first task")
        ),
        Cause::TooManyUnknown { within } => format!(
            "{} has too many unknown elements that are never closed, so no task of this batch was run. A task may \
             only have `<i>`, `<path>`, `<c>`, `<x>`, `<search>`, `<search-head>`, `<search-tail>` and `<replace>`",
            within.open()
        ),
        // The others are no problems of a structure.
        _ => String::new(),
    }
}

impl Within {
    /// `task 2 (edit src/utils.py)`.
    pub fn open(&self) -> String {
        let name = super::short(&self.name);
        if name.is_empty() {
            format!("task {}", self.task)
        } else {
            format!("task {} ({name})", self.task)
        }
    }

    /// Says where a reply ends that was cut off.
    pub fn end(&self) -> String {
        if self.is_open {
            format!("the reply ends in {}", self.open())
        } else if self.task > 0 {
            format!(
                "the reply ends after task {}, without `</tasks>`",
                self.task
            )
        } else {
            "the reply ends after its `<tasks>`".to_owned()
        }
    }

    fn behind_last(&self) -> String {
        self.last.map_or("at its end".to_owned(), |last| {
            format!("after its `</{last}>`")
        })
    }

    fn behind_whole(&self) -> String {
        self.near("after", "at its end")
    }

    /// The place next to this task, or to the one before; `otherwise` if there is none.
    fn near(&self, preposition: &str, otherwise: &str) -> String {
        if self.is_open {
            format!("{preposition} {}", self.open())
        } else if self.task > 0 {
            format!("after task {}", self.task)
        } else {
            otherwise.to_owned()
        }
    }
}
