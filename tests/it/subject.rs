//! The words of commits' subjects, over the cases of `test-data/subject`.

use clada::git::subject;

use crate::cases;

#[test]
fn cases() {
    cases::run("subject", |case, verdict| {
        let lines = |kind| case.one(kind).map(cases::Block::string).unwrap_or_default();
        let (reasons, subjects) = (lines("reasons"), lines("subjects"));
        let got = [
            ("subject", subject::joined(reasons.lines())),
            ("summed", subject::summed(subjects.lines())),
            ("batch", subject::of_batch(subjects.lines())),
        ];
        let mut is_checked = false;
        for (kind, mut got) in got {
            let Some(block) = case.one(kind) else {
                continue;
            };
            is_checked = true;
            if !got.is_empty() {
                got.push('\n');
            }
            verdict.expect(block, got.as_bytes());
        }
        if !is_checked {
            verdict.wrong("it expects nothing");
        }
    });
}
