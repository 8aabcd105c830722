//! Edits as they should be: hunks of this repository's own commits, and of the files in `test-data/damage`.

use clada::reply::text::Text;

use crate::cases::{self, Case};
use crate::replay::git_bytes;

/// A file, and what a reply says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The file's path, and where it is from.
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) search: Payload,
    pub(crate) replace: Payload,
    /// The file with the edit done as it was meant.
    pub(crate) wanted: String,
}

/// A payload, in block form with its last newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payload {
    pub(crate) text: String,
    pub(crate) inline: bool,
}

impl Payload {
    pub(crate) fn block(text: String) -> Self {
        Self {
            text,
            inline: false,
        }
    }

    pub(crate) fn as_text(&self) -> Text<'_> {
        match self.inline {
            true => Text::inline(&self.text),
            false => Text::block(&self.text),
        }
    }

    pub(crate) fn lines(&self) -> Vec<&str> {
        self.text.lines().collect()
    }
}

/// Lines of context around a change, as in a diff.
const CONTEXT: usize = 3;

/// Files beyond this take long in every tier.
const LONGEST: usize = 30_000;

/// One edit for each hunk between two versions of a file whose old lines stand in it once.
pub(crate) fn between(name: &str, before: &str, after: &str) -> Vec<Edit> {
    let readable = |text: &str| text.ends_with('\n') && !text.contains('\r');
    if !readable(before) || !readable(after) || before.len() > LONGEST {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let changes = similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new);
    let hunks = similar::group_diff_ops(changes, CONTEXT);
    hunks
        .iter()
        .filter_map(|hunk| {
            let (first, last) = (hunk.first()?, hunk.last()?);
            let from = first.old_range().start..last.old_range().end;
            let to = first.new_range().start..last.new_range().end;
            let search = &old[from.clone()];
            let once = old.windows(search.len()).filter(|w| w == &search).count() == 1;
            let blank = search.iter().all(|line| line.trim().is_empty());
            (once && !blank).then(|| Edit {
                name: format!("{name}:{}", from.start + 1),
                file: before.to_owned(),
                search: Payload::block(joined(search)),
                replace: Payload::block(joined(&new[to.clone()])),
                wanted: joined(&old[..from.start]) + &joined(&new[to]) + &joined(&old[from.end..]),
            })
        })
        .collect()
}

/// The lines, each with its newline.
pub(crate) fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

/// The edits of a case: `before PATH` and `after`.
pub(crate) fn of_case(case: &Case) -> Vec<Edit> {
    let [before, after] = ["before", "after"].map(|kind| {
        case.one(kind)
            .unwrap_or_else(|| panic!("{}: no `{kind}` block", case.name))
    });
    let found = between(&before.arg, &before.string(), &after.string());
    assert!(!found.is_empty(), "{}: no hunk that stands once", case.name);
    found
}

/// The edits of every case.
pub(crate) fn of_cases() -> Vec<Edit> {
    let files = cases::markdown_files(&cases::root().join("test-data/damage"));
    let cases = files.iter().flat_map(|file| {
        let source = std::fs::read_to_string(file).expect("case file");
        cases::parse(file, &source)
    });
    cases.flat_map(|case| of_case(&case)).collect()
}

/// The last commit whose edits are damaged: what is tried is the same whatever comes after it.
const LAST: &str = "3679e0c";

/// The edits of this repository's commits, of every so many-th file that one changes; none where these sources are in no
/// repository that has them.
pub(crate) fn of_history(every: usize) -> Vec<Edit> {
    let log = [
        "log",
        "--no-merges",
        "--raw",
        "-r",
        "--no-renames",
        "--no-abbrev",
        "--diff-filter=M",
        "--format=%h",
        LAST,
    ];
    let Some(log) = git(&log) else {
        return Vec::new();
    };
    let mut commit = "";
    let mut changed = Vec::new();
    for line in log.lines().filter(|line| !line.is_empty()) {
        // `:100644 100644 OLD NEW M<tab>PATH`
        match line
            .strip_prefix(':')
            .and_then(|rest| rest.split_once('\t'))
        {
            Some((about, path)) => changed.push((commit, path, about)),
            None => commit = line,
        }
    }
    let chosen = changed.into_iter().step_by(every);
    let edits = chosen.flat_map(|(commit, path, about)| {
        let ids: Vec<&str> = about.split(' ').collect();
        match (blob(ids[2]), blob(ids[3])) {
            (Some(before), Some(after)) => between(&format!("{commit} {path}"), &before, &after),
            _ => Vec::new(),
        }
    });
    edits.collect()
}

fn blob(id: &str) -> Option<String> {
    git(&["cat-file", "blob", id])
}

/// What git prints in this repository, if it is text.
fn git(args: &[&str]) -> Option<String> {
    String::from_utf8(git_bytes(args)?).ok()
}
