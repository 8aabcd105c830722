//! Addresses in all files of `test-data/code`: what is done in a definition stays in it.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use clada::code::{CodeLanguage, Outline};
use clada::edit::{self, Edit, EditedFile};
use clada::reply::text::Text;
use clada::world::syntax;
use proptest::prelude::*;

use crate::harness::Project;
use crate::replay::payload;

/// A file with its definitions.
#[derive(Debug)]
struct CodeFile {
    path: PathBuf,
    text: String,
    outline: Outline,
}

/// The files in the languages that were built in.
fn code() -> Vec<CodeFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test-data/code");
    let mut found = Vec::new();
    for language in fs::read_dir(folder).unwrap() {
        for entry in fs::read_dir(language.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let language = CodeLanguage::of(&path.to_string_lossy(), &text).unwrap();
            if syntax::is_built(language) {
                let outline = syntax::parse_here(language, &text).unwrap().outline;
                found.push(CodeFile {
                    path,
                    text,
                    outline,
                });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty());
    found
}

impl CodeFile {
    fn scope(&self, at: usize) -> Range<usize> {
        self.outline.scope(at, self.text.as_bytes())
    }

    /// A name without what a path in CML cannot have.
    fn address(&self, at: usize) -> Option<String> {
        let names = self.outline.names(at);
        let is_plain =
            |c: char| !matches!(c, '<' | '&' | '`' | '*' | '"' | '\'') && !c.is_control();
        let name = self.path.file_name()?.to_string_lossy();
        (names.chars().all(is_plain) && names.trim() == names).then(|| format!("{name}@@{names}"))
    }
}

thread_local! {
    static CODE: Vec<CodeFile> = code();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever is looked for in a definition, and however it is found, nothing outside of it changes.
    #[test]
    fn an_edit_in_a_definition_changes_nothing_outside(
        file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(), lines in 1..5_usize,
        damage in 0..5, inline: bool, replacement in "[ \t]{0,6}[a-z(){};:#]{0,8}(\n[ ]{0,4}[a-z}]{0,5}\n?){0,2}",
    ) {
        CODE.with(|code| {
            let file = file.get(code);
            if file.outline.definitions.is_empty() {
                return;
            }
            let scope = file.scope(at.index(file.outline.definitions.len()));
            // Mostly lines of the definition, and some that begin before it or end behind it.
            let all: Vec<&str> = file.text.split_inclusive('\n').collect();
            let first = file.text[..scope.start].matches('\n').count();
            let count = file.text[scope.clone()].matches('\n').count() + 2;
            let start = (first + from.index(count)).saturating_sub(1).min(all.len() - 1);
            let search = all[start..(start + lines).min(all.len())].concat();
            let search: String = match damage {
                0 => search.lines().map(|line| line.trim_start().to_owned() + "\n").collect(),
                1 => search.replace("    ", "  "),
                2 => search.replace(['\t', ' '], " "),
                3 => search.trim().to_owned(),
                _ => search,
            };
            let text = |text| if inline { Text::inline(text) } else { Text::block(text) };
            let edit = Edit::Pairs(vec![(text(&search), text(&replacement))]);
            let target = EditedFile::part(file.text.as_bytes(), scope.clone());
            let Ok(edited) = edit::apply(target, &edit) else {
                return;
            };
            let (old, new) = (file.text.as_bytes(), edited.bytes());
            assert!(new.starts_with(&old[..scope.start]), "{search}");
            assert!(new.len() >= scope.start + old.len() - scope.end, "{search}");
            assert!(new.ends_with(&old[scope.end..]), "{search}");
        });
    }
}

/// A definition that is written anew as it is leaves the file as it is; also where a model leaves out its indentation. There
/// it may be refused, but nothing else may come of it.
#[test]
fn a_definition_is_written_as_it_was_read() {
    let project = Project::new();
    let mut written = 0;
    for file in code() {
        let name = file
            .path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        project.write(&name, &file.text);
        for is_bare in [false, true] {
            let mut tasks = String::new();
            for at in (0..file.outline.definitions.len())
                .filter(|at| !file.outline.definitions[*at].has_error)
            {
                let text = file.text[file.scope(at)].trim_end().replace("\r\n", "\n") + "\n";
                let bare = if is_bare {
                    without_indentation(&text)
                } else {
                    Some(text)
                };
                let Some((address, text)) = file.address(at).zip(bare) else {
                    continue;
                };
                if let Some(payload) = payload("x", "", &text) {
                    let _ = writeln!(
                        tasks,
                        "<task>\n<path>{address}</path>\n<c>overwrite</c>\n{payload}</task>"
                    );
                }
            }
            if tasks.is_empty() {
                continue;
            }
            let run = project.clada_with(
                ["run", "--no-git", "-"],
                &format!("<tasks>\n{tasks}</tasks>\n"),
            );
            assert_eq!(project.read(&name), file.text, "{}\n{}", run.out, run.err);
            let failed: Vec<&str> = run
                .out
                .lines()
                .filter(|line| line.contains(" ❌ "))
                .collect();
            assert!(is_bare || failed.is_empty(), "{failed:#?}");
            assert!(
                failed.iter().all(|line| line.contains("is not clear")),
                "{failed:#?}"
            );
            written += run.out.lines().filter(|line| line.contains(" ✅ ")).count();
        }
    }
    assert!(written > 20, "{written}");
}

/// Where not all definitions are known, a name may be that of another one: nothing is done.
#[test]
fn a_name_in_a_file_with_too_many_definitions_is_refused() {
    let project = Project::new();
    let keys: String = (0..20_010).map(|it| format!("key{it} = 1\n")).collect();
    project.write("many.toml", &keys);
    let reply = "<task><path>many.toml@@key5</path><c>edit</c><search>1</search><replace>2</replace></task>";
    let run = project.clada_with(["run", "--no-git", "-"], reply).exits(1);
    let said = "`many.toml` has more definitions than clada reads, so `key5` may be another one: name the file alone";
    assert!(run.out.contains(said), "{}", run.out);
    assert_eq!(project.read("many.toml"), keys);
}

/// A folder whose outlines are too long: the others are named as left out.
#[test]
fn long_outlines_of_a_folder_end() {
    let project = Project::new();
    for file in 0..40 {
        let text: String = (0..400)
            .map(|it| format!("# A heading of the {file}th file, number {it}, is long\n"))
            .collect();
        project.write(&format!("src/{file}.md"), text);
    }
    let run = project.clada(["outline", "src"]).exits(0);
    let said = " more files after 512 KiB: name a smaller folder\n";
    assert!(run.err.contains(said), "{}", run.err);
    assert!(
        (500_000..600_000).contains(&run.out.len()),
        "{}",
        run.out.len()
    );
}

/// A text whose first line begins at the start of its line, and the others as much further left; nothing where it does already,
/// or one of them is not that deep.
fn without_indentation(text: &str) -> Option<String> {
    let depth = text.len() - text.trim_start_matches([' ', '\t']).len();
    let (indent, _) = text.split_at(depth);
    let line = |line: &str| {
        if line.trim().is_empty() {
            Some(line.to_owned())
        } else {
            line.strip_prefix(indent).map(str::to_owned)
        }
    };
    if depth == 0 {
        return None;
    }
    text.split_inclusive('\n').map(line).collect()
}
