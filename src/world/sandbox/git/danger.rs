//! Judges a git directory: what could run, or lead elsewhere, when the user calls git there. Reads only plain files of some
//! size, and changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{config, directories, first_line, gitlink, is_git_dir, modules, text};
use crate::report::{brief, one_line};
use crate::world::sandbox::guard::Print;
use crate::world::sandbox::real;

/// Something in a git directory that could run a program, or lead git elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Danger {
    /// The file or link that it is in.
    pub path: PathBuf,
    /// In words that go on after a colon; one line.
    pub what: String,
    /// The text by which it is known again.
    mark: String,
}

/// The most hooks that are looked at in one repository.
const HOOKS: usize = 200;

/// The longest name or value that is shown, in characters.
const SHOWN: usize = 80;

/// Finds what a `.git` (or the git directory itself) holds that could run, seen from the project at `root`, which is canonical.
pub(super) fn judge(place: &Path, root: &Path) -> BTreeSet<Danger> {
    let mut search = DangerSearch {
        root,
        found: BTreeSet::new(),
    };
    search.place(place);
    search.found
}

struct DangerSearch<'r> {
    root: &'r Path,
    found: BTreeSet<Danger>,
}

impl DangerSearch<'_> {
    fn place(&mut self, place: &Path) {
        let Ok(meta) = fs::symlink_metadata(place) else {
            return;
        };
        if meta.is_dir() {
            self.directory(place);
            for dir in modules(&place.join("modules")) {
                self.directory(&dir);
            }
            self.worktrees(place);
        } else if meta.is_symlink() {
            self.link(place);
        } else if meta.is_file() {
            self.file(place);
        } else {
            self.add(place, "it is not a file that git can read", String::new());
        }
    }

    fn link(&mut self, place: &Path) {
        let target = fs::read_link(place).unwrap_or_default();
        let what = format!("it is a link to `{}`", shown(&target.to_string_lossy()));
        self.add(place, &what, target.to_string_lossy().into_owned());
    }

    /// A `.git` file.
    fn file(&mut self, place: &Path) {
        let Some(own) = gitlink(place) else {
            return;
        };
        // Whoever wrote that may have written what confirms it, so it is looked at like any.
        if own.starts_with(self.root) || directories(place, &[]).is_some() {
            return self.directory(&own);
        }
        let own = own.to_string_lossy().into_owned();
        let what = format!("it leads to `{}`, outside the project", shown(&own));
        self.add(place, &what, own);
    }

    /// One git directory, without those in it.
    fn directory(&mut self, dir: &Path) {
        for name in ["config", "config.worktree"] {
            self.config(&dir.join(name), dir);
        }
        self.hooks(&dir.join("hooks"));
        for name in ["commondir", "objects/info/alternates"] {
            self.elsewhere(&dir.join(name), dir);
        }
        self.steps(&dir.join("rebase-merge/git-rebase-todo"));
    }

    fn config(&mut self, path: &Path, dir: &Path) {
        let Ok(meta) = fs::symlink_metadata(path) else {
            return;
        };
        if meta.is_symlink() {
            self.link(path);
        }
        let Some(text) = text(&real(path)) else {
            let print = format!("{:?}", Print::of(&meta));
            return self.add(path, "clada cannot read it, but git may", print);
        };
        for line in config::lines(&text) {
            let (name, value) = (line.name(), shown(&line.value));
            let name = shown(&name);
            if line.runs() {
                let what = format!("`{name}` could run `{value}`");
                self.add(path, &what, line.value.clone());
            } else if line.of("core", "worktree").is_some()
                && !self.is_inside(&dir.join(&line.value))
            {
                let what = format!("`{name}` leads to `{value}`, outside the project");
                self.add(path, &what, line.value.clone());
            }
        }
    }

    fn hooks(&mut self, dir: &Path) {
        if fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_symlink()) {
            self.link(dir);
        }
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        for path in entries.take(HOOKS).map(|entry| entry.path()) {
            let Ok(meta) = fs::metadata(&path) else {
                continue;
            };
            let is_sample = path.extension().is_some_and(|end| end == "sample");
            if meta.is_file() && !is_sample && meta.permissions().mode() & 0o111 != 0 {
                let print = format!("{:?}", Print::of(&meta));
                self.add(&path, "git could run this hook", print);
            }
        }
    }

    /// Files that name other directories to take things from.
    fn elsewhere(&mut self, path: &Path, dir: &Path) {
        if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink()) {
            return self.link(path);
        }
        // Objects are named from their own folder, work trees from the git directory.
        let base = path.ancestors().find(|base| base.ends_with("objects"));
        let base = base.unwrap_or(dir);
        for line in text(path).unwrap_or_default().lines() {
            if !line.starts_with('#') && !self.is_inside(&base.join(line.trim())) {
                let what = format!("it leads to `{}`, outside the project", shown(line));
                self.add(path, &what, line.to_owned());
            }
        }
    }

    /// The steps of a rebase.
    fn steps(&mut self, path: &Path) {
        for line in text(path).unwrap_or_default().lines() {
            let step = line.trim_start();
            let run = ["exec ", "x ", "exec\t", "x\t"];
            if let Some(command) = run.iter().find_map(|word| step.strip_prefix(word)) {
                let command = shown(command.trim());
                let what = format!("`git rebase --continue` would run `{command}`");
                self.add(path, &what, line.to_owned());
            }
        }
    }

    /// Judges the work trees that are linked to a repository: each has to lead back to it.
    fn worktrees(&mut self, common: &Path) {
        let dirs = fs::read_dir(common.join("worktrees")).into_iter().flatten();
        for dir in dirs.flatten().take(HOOKS).map(|entry| entry.path()) {
            self.config(&dir.join("config.worktree"), &dir);
            self.steps(&dir.join("rebase-merge/git-rebase-todo"));
            let path = dir.join("commondir");
            if fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let named = first_line(&path).unwrap_or_default();
            if real(&dir.join(&named)) != real(common) {
                let what = format!("it leads to `{}`, another repository", shown(&named));
                self.add(&path, &what, named);
            }
        }
    }

    /// Tells that a path leads to something in the project, or in its repository above.
    fn is_inside(&self, path: &Path) -> bool {
        let path = real(path);
        let is_own = || {
            let above = self.root.ancestors().skip(1);
            let mut dirs = above.filter(|dir| is_git_dir(&dir.join(".git")));
            dirs.next().is_some_and(|top| path.starts_with(top))
        };
        path.starts_with(self.root) || is_own()
    }

    fn add(&mut self, path: &Path, what: &str, mark: String) {
        self.found.insert(Danger {
            path: path.to_owned(),
            what: what.to_owned(),
            mark,
        });
    }
}

/// A text of somebody else's in one line, between back-ticks.
fn shown(text: &str) -> String {
    let text = one_line(&brief(text)).replace('`', "'");
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
