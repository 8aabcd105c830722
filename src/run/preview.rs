//! A dry run: what each task would do, and to which text.

use super::due::Due;
use super::{Part, Progress, Runner, Surroundings, hooks, not_due, total};
use crate::reply::task::Action;
use crate::report::Report;
use crate::report::outcome::Section;
use crate::run::context;
use crate::run::files;
use crate::run::progress::{Ended, Run};
use crate::world::workspace::Preview;

impl Runner {
    /// Does everything but change things: the outcome of each task, with what it would change.
    pub fn preview(&mut self, part: &Part<'_>, around: &Surroundings<'_>) -> Report {
        let mut silent = |_: Progress<'_>| {};
        let total = total(std::slice::from_ref(part));
        let mut run = Run::new(
            total,
            around,
            &mut silent,
            (&self.rules.mask, self.with_params),
        );
        run.reads(part.text);
        let mut files = Preview::new(&self.disk);
        let mut hooked = false;
        for (batch, plan) in part.batches() {
            run.dialect = batch.dialect;
            let scene = (files.clone(), None, self.git.is_some());
            let due = self.due(batch, plan);
            if let Some(problem) = batch.state.problem() {
                run.problem(problem);
            } else if let Some((index, why)) = self.hindrance(batch, &due, scene, &mut run) {
                run.hindered(batch, index, why);
                continue;
            }
            hooked |= hooks::are_due(batch, &due);
            for (task, due) in batch.tasks.iter().zip(&due) {
                run.number += 1;
                let ended = match &task.action {
                    Err(problem) => run.misread(problem),
                    Ok(_) if *due != Due::Run => not_due(due),
                    Ok(Action::Exec { script, .. }) => Ended {
                        message: Some("would run".to_owned()),
                        sections: vec![Section::Text(script.text().into_owned())],
                        ..Ended::done()
                    },
                    Ok(Action::Context(task)) => {
                        match context::perform(task, &files, &self.context, true) {
                            Ok(done) => done.into(),
                            Err(failure) => failure.into(),
                        }
                    }
                    Ok(action) => match files::perform(action, &mut files, true) {
                        Ok(mut done) => {
                            if action.changes() {
                                done.data["diff"] = done.diff.as_str().into();
                                let diff = std::mem::take(&mut done.diff);
                                done.sections.push(Section::Text(diff));
                            }
                            done.into()
                        }
                        Err(failure) => failure.into(),
                    },
                };
                let outcome = run.outcome(task, ended);
                run.finished_with_warnings(task, outcome);
            }
        }
        if hooked {
            self.hooks_would_run(&mut run);
        }
        let mut report = run.finish().report;
        report.git = Some("this was a dry run: nothing was changed".to_owned());
        report
    }
}
