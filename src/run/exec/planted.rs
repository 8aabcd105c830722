//! Says which files a command changed that run later: git's hooks and settings, and clada's. Looks at nothing itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::report::one_line;
use crate::world::sandbox::{Danger, Planted};

/// The most that is told of one command, and of one file.
const TOLD: usize = 5;
const OF_ONE: usize = 3;

/// Folders of which one word is enough.
const WHOLE: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];

/// One sentence for each path, those first that could run something.
pub(super) fn told(root: &Path, changed: Vec<PathBuf>, planted: Planted) -> Vec<String> {
    let mut dangers: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for Danger { path, what, .. } in planted.dangers {
        dangers.entry(whole(path)).or_default().push(what);
    }
    let changed: BTreeSet<PathBuf> = changed.into_iter().map(whole).collect();
    let harmless: Vec<PathBuf> = changed
        .into_iter()
        .filter(|path| !dangers.contains_key(path))
        .collect();
    let total = dangers.len() + harmless.len();
    let shown = |path: &Path| one_line(&path.strip_prefix(root).unwrap_or(path).to_string_lossy());
    let could_run = dangers.iter().map(|(path, what)| {
        let more = what.len().saturating_sub(OF_ONE);
        let more = if more == 0 {
            String::new()
        } else {
            format!(", and {more} more")
        };
        let what = what[..what.len().min(OF_ONE)].join(", ");
        format!(
            "⚠ {} was created or changed while this ran: {what}{more}; check it before you use git there",
            shown(path)
        )
    });
    let harmless = harmless.iter().map(|path| {
        let is_git = path.components().any(|part| part.as_os_str() == ".git");
        let before_what = if is_git { " before you use git" } else { "" };
        format!(
            "⚠ {} was changed while this ran: check it{before_what}",
            shown(path)
        )
    });
    let mut told: Vec<String> = could_run.chain(harmless).take(TOLD).collect();
    if total > TOLD {
        told.push(format!(
            "⚠ and {} more: check them before you use git",
            total - TOLD
        ));
    }
    if planted.is_cut {
        told.push(
            "⚠ this created more folders than clada checks: look for new git repositories in them before you use git \
            there"
                .to_owned(),
        );
    }
    told
}

/// The folder that a path is in, where one word for it is enough.
fn whole(path: PathBuf) -> PathBuf {
    let is_whole = |dir: &&Path| WHOLE.iter().any(|name| dir.ends_with(name));
    let dir = path.ancestors().find(is_whole).map(Path::to_owned);
    dir.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_files_the_first_are_told() {
        let changed = (1..=7).map(|n| PathBuf::from(format!("/p/{n}"))).collect();
        let planted = Planted {
            is_cut: true,
            ..Planted::default()
        };
        let said = told(Path::new("/p"), changed, planted);
        assert_eq!(said[0], "⚠ 1 was changed while this ran: check it");
        assert_eq!(
            said[TOLD..],
            [
                "⚠ and 2 more: check them before you use git",
                "⚠ this created more folders than clada checks: look for new git repositories in them before you use git there"
            ]
        );
    }
}
