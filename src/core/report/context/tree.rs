//! The project's folders and files as a tree of names, shortened where there is no room for all of them.

use std::collections::{BTreeMap, HashSet};

use crate::report::one_line;
use crate::text::size::grouped;

/// No more files of one folder are named.
const FILES: usize = 100;

/// A file of the tree.
#[derive(Debug, Clone, Copy)]
pub struct TreeFile<'t> {
    pub path: &'t str,
    /// A folder is opened before another as deep in the tree where something in it has more weight.
    pub weight: f64,
}

/// A folder with all that is in it.
#[derive(Default)]
struct TreeFolder<'t> {
    folders: BTreeMap<&'t str, TreeFolder<'t>>,
    files: Vec<&'t str>,
    /// The number of files in it and below.
    count: usize,
    weight: f64,
}

/// Returns the largest tree of these files that costs no more than this; nothing where none is so small.
pub fn tree(files: &[TreeFile<'_>], most: usize, cost: &mut dyn FnMut(&str) -> usize) -> String {
    let mut root = TreeFolder::default();
    for file in files {
        root.add(file.path, file.weight);
    }
    root.sort();
    let mut order = Vec::new();
    root.folders_below("", 0, &mut order);
    order.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        (one.depth.cmp(&other.depth))
            .then(by_weight)
            .then(one.path.cmp(&other.path))
    });
    let shown = |count: usize| {
        let open: HashSet<&str> = order[..count].iter().map(|it| it.path.as_str()).collect();
        let mut text = String::new();
        root.show("", 0, &open, &mut text);
        text
    };
    // The number of folders that are open: the more, the longer is the text.
    let (mut fits, mut too_many) = (None, order.len() + 1);
    let mut next = order.len();
    loop {
        let text = shown(next);
        if cost(&text) <= most {
            fits = Some((next, text));
        } else {
            too_many = next;
        }
        let least = fits.as_ref().map_or(0, |(count, _)| count + 1);
        if least >= too_many {
            break;
        }
        next = least + (too_many - least) / 2;
    }
    if let Some((_, text)) = fits {
        return text;
    }
    let short = format!("{}\n", counted(root.count));
    if cost(&short) <= most {
        short
    } else {
        String::new()
    }
}

/// A folder that can be opened.
struct ClosedFolder {
    path: String,
    depth: usize,
    weight: f64,
}

impl<'t> TreeFolder<'t> {
    fn add(&mut self, path: &'t str, weight: f64) {
        self.count += 1;
        self.weight = self.weight.max(weight);
        match path.split_once('/') {
            Some((folder, rest)) => self.folders.entry(folder).or_default().add(rest, weight),
            None => self.files.push(path),
        }
    }

    fn sort(&mut self) {
        self.files.sort_unstable();
        self.folders.values_mut().for_each(Self::sort);
    }

    fn folders_below(&self, path: &str, depth: usize, all: &mut Vec<ClosedFolder>) {
        for (name, folder) in &self.folders {
            let path = format!("{path}{name}/");
            folder.folders_below(&path, depth + 1, all);
            all.push(ClosedFolder {
                path,
                depth,
                weight: folder.weight,
            });
        }
    }

    fn show(&self, path: &str, depth: usize, open: &HashSet<&str>, text: &mut String) {
        let indent = "  ".repeat(depth);
        for (name, folder) in &self.folders {
            let path = format!("{path}{name}/");
            let name = one_line(name);
            if open.contains(path.as_str()) {
                *text += &format!("{indent}{name}/\n");
                folder.show(&path, depth + 1, open, text);
            } else {
                *text += &format!("{indent}{name}/ ({})\n", counted(folder.count));
            }
        }
        for file in self.files.iter().take(FILES) {
            *text += &format!("{indent}{}\n", one_line(file));
        }
        if self.files.len() > FILES {
            let more = grouped((self.files.len() - FILES) as u64);
            *text += &format!("{indent}and {more} more files\n");
        }
    }
}

fn counted(files: usize) -> String {
    match files {
        1 => "1 file".to_owned(),
        _ => format!("{} files", grouped(files as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&'static str], heavy: &str, most: usize) -> String {
        let files = paths.iter().map(|path| TreeFile {
            path,
            weight: if *path == heavy { 1.0 } else { 0.0 },
        });
        let files: Vec<TreeFile<'_>> = files.collect();
        tree(&files, most, &mut |text| text.lines().count())
    }

    const PATHS: [&str; 6] = [
        "src/main.rs",
        "src/cli/help.rs",
        "src/cli/args.rs",
        "docs/guide.md",
        "Cargo.toml",
        "src/git/mod.rs",
    ];

    #[test]
    fn all_of_it_where_there_is_room() {
        let all = "docs/\n  guide.md\nsrc/\n  cli/\n    args.rs\n    help.rs\n  git/\n    mod.rs\n  main.rs\nCargo.toml\n";
        assert_eq!(of(&PATHS, "", 100), all);
        assert_eq!(of(&PATHS, "", 10), all);
        assert_eq!(of(&[], "", 100), "");
    }

    #[test]
    fn folders_are_closed_the_deepest_and_lightest_first() {
        assert_eq!(
            of(&PATHS, "src/git/mod.rs", 9),
            "docs/\n  guide.md\nsrc/\n  cli/ (2 files)\n  git/\n    mod.rs\n  main.rs\nCargo.toml\n"
        );
        assert_eq!(
            of(&PATHS, "src/git/mod.rs", 6),
            "docs/ (1 file)\nsrc/\n  cli/ (2 files)\n  git/ (1 file)\n  main.rs\nCargo.toml\n"
        );
        assert_eq!(
            of(&PATHS, "", 3),
            "docs/ (1 file)\nsrc/ (4 files)\nCargo.toml\n"
        );
        assert_eq!(of(&PATHS, "", 2), "6 files\n");
        assert_eq!(of(&PATHS, "", 0), "");
    }

    #[test]
    fn a_folder_with_too_many_files_is_cut() {
        let paths: Vec<String> = (0..1200).map(|at| format!("f{at:04}")).collect();
        let files: Vec<TreeFile<'_>> = paths
            .iter()
            .map(|path| TreeFile { path, weight: 0.0 })
            .collect();
        let text = tree(&files, 1000, &mut |text| text.lines().count());
        assert!(text.ends_with("f0099\nand 1,100 more files\n"), "{text}");
    }
}
