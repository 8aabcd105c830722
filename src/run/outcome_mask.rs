//! Completes the outcome of a task for the results, and takes out of it what nobody may see.

use std::borrow::Cow;

use serde_json::Value;

use crate::reply::dialect::Dialect;
use crate::reply::task::{Action, Task};
use crate::report::nesl;
use crate::report::outcome::{Outcome, Section};
use crate::text::mask::Mask;

/// The rules by which outcomes are completed.
pub(super) struct OutcomeMask {
    pub(super) mask: Mask,
    /// Outcomes carry the parameters that the reply gave.
    pub(super) with_params: bool,
}

impl OutcomeMask {
    pub(super) fn text(&self, text: String) -> String {
        match self.mask.text(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        }
    }

    /// Says which task an outcome belongs to, in the words of its dialect, and masks all of it.
    pub(super) fn complete(
        &self,
        mut outcome: Outcome,
        task: &Task<'_>,
        number: usize,
        dialect: Dialect,
    ) -> Outcome {
        let params = match (&task.action, &task.call) {
            (Ok(_), Some(call)) if self.with_params => call.params(),
            (Ok(action), None) if self.with_params => action.params(),
            _ => Value::Null,
        };
        if let (Some(call), Ok(action)) = (&task.call, &task.action) {
            nesl::tell(call, action, &mut outcome);
        }
        let is_silent = matches!(&task.action, Ok(Action::Exec { quiet: true, .. }));
        let sections = if is_silent && outcome.status.is_good() {
            Vec::new()
        } else {
            outcome.sections
        };
        Outcome {
            number,
            id: task.call.as_ref().map(|call| call.id.to_owned()),
            dialect,
            command: task.command_name().to_owned(),
            target: self.text(task.target().into_owned()),
            message: outcome.message.map(|text| self.text(text)),
            error: outcome.error.map(|text| self.text(text)),
            sections: sections.into_iter().map(|it| self.section(it)).collect(),
            params: self.mask.value(params),
            data: self.mask.value(outcome.data),
            ..outcome
        }
    }

    fn section(&self, section: Section) -> Section {
        match section {
            Section::Text(shown) => Section::Text(self.text(shown)),
            Section::File { name, content, at } => {
                let lines = content.lines().count();
                let content = self.text(content);
                Section::File {
                    name: self.text(name),
                    // What is taken out may be more than one line.
                    at: at.filter(|_| content.lines().count() == lines),
                    content,
                }
            }
            // Masked as it came.
            stream @ Section::Stream(..) => stream,
        }
    }
}
