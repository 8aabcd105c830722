//! The states that git saved in a run, and the lines that tell of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::git::{self, LeftOff, SaveOutcome, Skipped, UsersWork};
use crate::reply::record::Commits;
use crate::report::Report;

/// The number of files named that were not saved.
const NAMED: usize = 5;

/// The account of what git saved in a run.
#[derive(Default)]
pub(super) struct SavedStates {
    /// They are in a private repository.
    pub(super) private: bool,
    /// The reason why the state is not saved, though it should be.
    pub(super) unsaved: Option<String>,
    /// The first and the last commit, in all and of the batch that runs.
    of_run: Option<Commits>,
    of_batch: Option<Commits>,
    /// Files that were not saved.
    skipped: Vec<Skipped>,
    /// The user's own work that was committed.
    work: Vec<UsersWork>,
    /// Files that are not on the branch.
    left_off: Vec<LeftOff>,
    left_off_paths: BTreeSet<PathBuf>,
}

impl SavedStates {
    pub(super) fn add(&mut self, state: SaveOutcome) {
        let commit = state.commit.unwrap_or_default();
        for commits in [&mut self.of_run, &mut self.of_batch] {
            let commits = commits.get_or_insert_with(|| Commits {
                before: commit.clone(),
                after: String::new(),
                private: self.private,
            });
            commits.after.clone_from(&commit);
        }
        self.work.extend(state.work);
        for left in state.left_off {
            if self.left_off_paths.insert(left.path.clone()) {
                self.left_off.push(left);
            }
        }
        for skipped in state.skipped {
            if !self.skipped.contains(&skipped) {
                self.skipped.push(skipped);
            }
        }
    }

    /// The commits before and after the batch that runs.
    pub(super) fn take_commits(&mut self) -> Option<Commits> {
        self.of_batch.take()
    }

    /// Adds to the report what was saved, and what was not.
    pub(super) fn tell(self, report: &mut Report) {
        let skipped = self.skipped.iter().take(NAMED);
        let skipped = skipped.map(|skipped| format!("⚠ git: {skipped}"));
        report.notices.extend(skipped);
        let more = self.skipped.len().saturating_sub(NAMED);
        if more > 0 {
            let said = format!("⚠ git: not saved either: {more} more");
            report.notices.push(said);
        }
        report.notices.extend(not_committed(&self.left_off));
        report.notices.extend(saved_work(&self.work));
        report.git = self.of_run.as_ref().map(git_line);
        let unsaved = self
            .unsaved
            .map(|why| format!("⚠ the state was not saved: {why}"));
        if report.git.is_some() {
            report.notices.extend(unsaved);
        } else if !report.outcomes.is_empty() {
            report.git = unsaved;
        }
    }
}

/// The line that names the files that are not on the branch.
fn not_committed(left: &[LeftOff]) -> Option<String> {
    let shown = left.iter().take(NAMED).map(LeftOff::to_string);
    let shown: Vec<String> = shown.collect();
    let more = match left.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!left.is_empty()).then(|| format!("⚠ not committed: {}{more}", shown.join(", ")))
}

/// The line that tells of the user's own work that was committed.
pub fn saved_work(work: &[UsersWork]) -> Option<String> {
    // A submodule is none.
    let parts = work.iter().filter(|work| work.files > 0).map(|work| {
        let staged = if work.staged { "staged " } else { "" };
        let files = if work.files == 1 { "file" } else { "files" };
        let commit = git::short(&work.commit);
        format!("{} {staged}{files} ({commit})", work.files)
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("💚 saved your work: {}", parts.join(", ")))
}

/// The line that names the saved states; an empty name is a repository without a commit.
pub fn git_line(commits: &Commits) -> String {
    let short = |commit| match commit {
        "" => "(empty)",
        commit => git::short(commit),
    };
    let (first, last) = (commits.before.as_str(), commits.after.as_str());
    let what = if commits.private { "snapshot" } else { "git" };
    if first == last {
        format!("💚 {what} {} (nothing changed)", short(first))
    } else {
        format!("💚 {what} {} → {}", short(first), short(last))
    }
}
