//! What holds for any text: it is scanned without a panic, and what is found lies in order inside it.

use clada::reply::dialect::{Dialect, Dialects};
use clada::reply::scan::scan_for;
use clada::report::wording;

/// Scans a text for some dialects.
pub fn scan(data: &[u8], dialects: &[Dialect]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let found = scan_for(text, dialects.iter().copied().collect::<Dialects>());
    let mut end = 0;
    for batch in &found.batches {
        assert!(dialects.contains(&batch.dialect));
        assert!(batch.span.start >= end && batch.span.end <= text.len());
        assert!(text.is_char_boundary(batch.span.start) && text.is_char_boundary(batch.span.end));
        end = batch.span.end;
        for task in &batch.tasks {
            assert!(batch.span.start <= task.span.start && task.span.end <= batch.span.end);
            match &task.action {
                Ok(action) => drop((action.target(), action.params())),
                Err(problem) => drop(wording::problem(problem)),
            }
        }
    }
    for problem in &found.problems {
        assert!(problem.at <= text.len());
        wording::problem(problem);
    }
}
