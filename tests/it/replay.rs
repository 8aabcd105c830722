//! Turns this repository's own history into replies, a hunk an edit, a new file an overwrite, and carries them out: every
//! tree must come out to the byte.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use clada::code::CodeLanguage;
use clada::reply::scan::scan;
use clada::reply::task::{Action, Replacement};
use clada::world::syntax;

use crate::cases;
use crate::harness::{Project, skip};

#[test]
fn the_history_of_this_repository() {
    let commits = git(&["rev-list", "--first-parent", "--reverse", "HEAD"]);
    let Some(commits) = commits else {
        skip("these sources are in no git repository");
        return;
    };
    let project = Project::new();
    let mut before = BTreeMap::new();
    let mut others_before: Vec<String> = Vec::new();
    let mut blobs = Blobs::start();
    for commit in commits.lines() {
        let (after, others) = files(commit, &mut blobs);
        let reply = reply(&before, &after);
        if !reply.is_empty() {
            let run = project.clada_with(["run", "--no-git", "-"], &reply);
            assert_eq!(run.code, Some(0), "{commit}\n{}\n{}", run.out, run.err);
        }
        // No reply can hold what is no text.
        for path in others_before {
            let _ = std::fs::remove_file(project.path(&path));
        }
        for (path, bytes) in &others {
            project.write(path, bytes);
        }
        others_before = others.into_keys().collect();
        let tree = git(&["rev-parse", &format!("{commit}^{{tree}}")]).expect("tree");
        assert_eq!(written_tree(&project), tree, "{commit}\n{reply}");
        before = after;
    }
    assert!(!before.is_empty(), "an empty history");
}

/// The same for the last commits, where each edit names the definition that it is in and no more text than is unique there.
/// `COMMITS=500` goes back further.
#[test]
fn the_last_commits_by_addresses() {
    let most = std::env::var("COMMITS").map_or(10, |most| most.parse().expect("a number"));
    let commits = git(&["rev-list", "--first-parent", &format!("-{most}"), "HEAD"]);
    let Some(commits) = commits else {
        skip("these sources are in no git repository");
        return;
    };
    let mut blobs = Blobs::start();
    let mut commits = commits.lines().rev();
    let (mut before, _) = files(commits.next().expect("a commit"), &mut blobs);
    let project = Project::new();
    for (path, (_, text)) in &before {
        project.write(path, text);
    }
    let mut addressed = AddressedEdits::default();
    for commit in commits {
        let (after, _) = files(commit, &mut blobs);
        let tasks = addressed.tasks(&before, &after);
        if !tasks.is_empty() {
            let reply = format!("<tasks>\n{tasks}</tasks>\n");
            let run = project.clada_with(["run", "--no-git", "-"], &reply);
            assert_eq!(run.code, Some(0), "{commit}\n{}\n{}", run.out, run.err);
        }
        for (path, (_, text)) in &after {
            if before.contains_key(path) {
                assert_eq!(&project.read(path), text, "{commit} {path}");
            } else {
                project.write(path, text);
            }
        }
        before = after;
    }
    eprintln!("{addressed:?}");
    assert!(addressed.shorter <= addressed.with_address);
}

/// Counts the edits of a replay.
#[derive(Debug, Default)]
struct AddressedEdits {
    with_address: usize,
    /// Those whose search text would be in the file several times.
    shorter: usize,
    without: usize,
}

impl AddressedEdits {
    /// The tasks that lead from one tree to the next, for the files that are in both.
    fn tasks(&mut self, before: &Texts, after: &Texts) -> String {
        let mut tasks = String::new();
        for (path, (_, new)) in after {
            let Some((_, old)) = before.get(path).filter(|(_, old)| old != new) else {
                continue;
            };
            let edits = self.edits(path, old, new);
            match edits.filter(|_| old.ends_with('\n') == new.ends_with('\n')) {
                Some(edits) => tasks += &edits,
                None => overwrite(path, new, &mut tasks),
            }
        }
        tasks
    }

    /// A task for each hunk; nothing where one cannot be written.
    fn edits(&mut self, path: &str, old: &str, new: &str) -> Option<String> {
        let mut now: Vec<&str> = old.lines().collect();
        let new_lines: Vec<&str> = new.lines().collect();
        let diff = similar::capture_diff_slices(similar::Algorithm::Myers, &now, &new_lines);
        let text = |lines: &[&str]| {
            lines
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        let (mut tasks, mut moved) = (String::new(), 0_isize);
        for hunk in diff {
            let (tag, from, to) = hunk.as_tag_tuple();
            if tag == similar::DiffTag::Equal {
                continue;
            }
            let start = from.start.strict_add_signed(moved);
            let end = start + from.len();
            let found = address(path, &text(&now), start, end);
            let (address, within) = found.unwrap_or((path.to_owned(), 0..now.len()));
            let part = &now[within.clone()];
            let (above, below) = unique(part, start - within.start, end - within.start)?;
            let (above, below) = (above + within.start, below + within.start);
            if address == path {
                self.without += 1;
            } else {
                self.with_address += 1;
                let stretch = &now[above..below];
                let windows = now.windows(stretch.len());
                self.shorter += usize::from(windows.filter(|it| *it == stretch).count() > 1);
            }
            let lines = &new_lines[to.clone()];
            let replacement = [&now[above..start], lines, &now[end..below]].concat();
            let search = payload("search", "", &text(&now[above..below]))?;
            let replace = payload("replace", "", &text(&replacement))?;
            let _ = writeln!(
                tasks,
                "<task>\n<path>{address}</path>\n<c>edit</c>\n{search}{replace}</task>"
            );
            now.splice(start..end, lines.iter().copied());
            moved += isize::try_from(to.len()).expect("length")
                - isize::try_from(from.len()).expect("length");
        }
        Some(tasks)
    }
}

/// The address of the innermost definition that holds these lines, and its own; nothing where there is none of whole lines.
fn address(path: &str, text: &str, start: usize, end: usize) -> Option<(String, Range<usize>)> {
    let language = CodeLanguage::of(path, text).filter(|it| syntax::is_built(*it))?;
    let outline = syntax::parse_here(language, text).ok()?.outline;
    let line = |at: usize| text[..at].matches('\n').count();
    let all = (0..outline.definitions.len()).rev();
    let mut all = all.map(|at| (at, outline.scope(at, text.as_bytes())));
    let is_whole = |scope: &Range<usize>| {
        let ends = |at: usize| text[..at].is_empty() || text[..at].ends_with('\n');
        ends(scope.start) && ends(scope.end)
    };
    let (at, scope) = all.find(|(_, scope)| {
        is_whole(scope)
            && line(scope.start) <= start
            && end <= line(scope.end)
            && start < line(scope.end)
    })?;
    let names = outline.names(at);
    assert_eq!(outline.find(&names), Ok(at), "{path}@@{names}");
    // What XML would read as something else is not written in this test.
    let is_plain =
        |c: char| !matches!(c, '<' | '&' | '`' | '*' | '"' | '\'' | '\n') && !c.is_control();
    let names = Some(names).filter(|names| names.chars().all(is_plain) && names.trim() == names)?;
    Some((
        format!("{path}@@{names}"),
        line(scope.start)..line(scope.end),
    ))
}

/// The blobs of this repository, each read once and by one git: the commits share most of their files, and a git for each
/// file of each commit would be most of the work.
struct Blobs {
    git: Child,
    answers: BufReader<ChildStdout>,
    /// By their ids.
    known: HashMap<String, Vec<u8>>,
}

impl Blobs {
    fn start() -> Self {
        let mut git = Command::new("git")
            .arg("-C")
            .arg(cases::root())
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git");
        Self {
            answers: BufReader::new(git.stdout.take().expect("stdout")),
            git,
            known: HashMap::new(),
        }
    }

    fn get(&mut self, id: &str) -> &[u8] {
        if !self.known.contains_key(id) {
            let bytes = self.read(id);
            self.known.insert(id.to_owned(), bytes);
        }
        &self.known[id]
    }

    fn read(&mut self, id: &str) -> Vec<u8> {
        let asked = self.git.stdin.as_mut().expect("stdin");
        writeln!(asked, "{id}").expect("git reads");
        // `ID blob LENGTH`, the bytes and a newline.
        let mut about = String::new();
        self.answers.read_line(&mut about).expect("an answer");
        let length = about.trim_end().strip_prefix(&format!("{id} blob "));
        let length: usize = length.and_then(|it| it.parse().ok()).expect("a blob");
        let mut bytes = vec![0; length + 1];
        self.answers.read_exact(&mut bytes).expect("the blob");
        assert_eq!(bytes.pop(), Some(b'\n'), "{about}");
        bytes
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // Without input it ends.
        drop(self.git.stdin.take());
        let _ = self.git.wait();
    }
}

/// What git prints in this repository.
fn git(args: &[&str]) -> Option<String> {
    git_bytes(args).map(|bytes| String::from_utf8(bytes).expect("UTF-8"))
}

/// The bytes that git prints in this repository; nothing where it fails.
pub(crate) fn git_bytes(args: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(cases::root())
        .args(args)
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

/// Text files with their modes, by their paths.
type Texts = BTreeMap<String, (String, String)>;

/// The text files of a commit, and the others.
fn files(commit: &str, blobs: &mut Blobs) -> (Texts, BTreeMap<String, Vec<u8>>) {
    let list = git(&["ls-tree", "-r", "-z", commit]).expect("ls-tree");
    let (mut texts, mut others) = (BTreeMap::new(), BTreeMap::new());
    for entry in list.split_terminator('\0') {
        let (about, path) = entry.split_once('\t').expect("entry");
        let mut words = about.split(' ');
        let (mode, id) = (words.next().expect("mode"), words.nth(1).expect("id"));
        match String::from_utf8(blobs.get(id).to_owned()) {
            // The ends of a reply's lines are those of the notes.
            Ok(text) if text.contains('\r') => {
                drop(others.insert(path.to_owned(), text.into_bytes()));
            }
            Ok(text) => drop(texts.insert(path.to_owned(), (mode.to_owned(), text))),
            Err(error) => drop(others.insert(path.to_owned(), error.into_bytes())),
        }
    }
    (texts, others)
}

/// The reply that leads from one tree to the next.
fn reply(before: &Texts, after: &Texts) -> String {
    let mut tasks = String::new();
    for path in before.keys().filter(|path| !after.contains_key(*path)) {
        // What moved is moved.
        let new = after
            .iter()
            .find(|(new, file)| !before.contains_key(*new) && **file == before[path]);
        match new {
            Some((new, _))
                if before
                    .values()
                    .filter(|file| **file == before[path])
                    .count()
                    == 1 =>
            {
                let _ = writeln!(
                    tasks,
                    "<task>\n<path>{path}</path>\n<c>move</c>\n<x>{new}</x>\n</task>"
                );
            }
            _ => {
                let _ = writeln!(tasks, "<task>\n<path>{path}</path>\n<c>delete</c>\n</task>");
            }
        }
    }
    for (path, (mode, text)) in after {
        let old = before.get(path);
        match old {
            Some((_, old)) if old == text => {}
            Some((_, old)) if old.ends_with('\n') == text.ends_with('\n') => {
                edit(path, old, text, &mut tasks)
            }
            None if before
                .values()
                .filter(|file| **file == (mode.clone(), text.clone()))
                .count()
                == 1
                && tasks.contains(&format!("<x>{path}</x>")) =>
            {
                continue;
            }
            _ => overwrite(path, text, &mut tasks),
        }
        if old.map_or("100644", |(mode, _)| mode) != mode {
            let bits = if mode == "100755" { "+x" } else { "-x" };
            let _ = writeln!(
                tasks,
                "<task>\n<c>exec</c>\n<x>chmod {bits} '{path}'</x>\n</task>"
            );
        }
    }
    if tasks.is_empty() {
        tasks
    } else {
        format!("<tasks>\n{tasks}</tasks>\n")
    }
}

fn overwrite(path: &str, text: &str, tasks: &mut String) {
    let start = format!("<task>\n<path>{path}</path>\n<c>overwrite</c>\n");
    let (flag, lines) = match text.strip_suffix('\n') {
        Some(_) => ("", text.to_owned()),
        None if text.is_empty() => ("", String::new()),
        None => (" eof=\"no-newline\"", format!("{text}\n")),
    };
    if let Some(payload) = payload("x", flag, &lines) {
        let _ = writeln!(tasks, "{start}{payload}</task>");
        return;
    }
    // The text holds what would end an `<x>` in every form, but another element can hold it.
    let replace =
        payload("replace", "", &lines).expect("a text that one of the two elements can hold");
    let _ = writeln!(
        tasks,
        "{start}<x{flag}>\nplaceholder\n</x>\n</task>\n\
         <task>\n<path>{path}</path>\n<c>edit</c>\n<search>\nplaceholder\n</search>\n{replace}</task>"
    );
}

/// One pair for each hunk, with as much around it as makes it unique.
fn edit(path: &str, old: &str, new: &str, tasks: &mut String) {
    let mut now: Vec<&str> = old.lines().collect();
    let new_lines: Vec<&str> = new.lines().collect();
    let diff = similar::capture_diff_slices(similar::Algorithm::Myers, &now, &new_lines);
    let mut pairs = String::new();
    let mut moved: isize = 0;
    for hunk in diff {
        let (tag, from, to) = hunk.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            continue;
        }
        let start = from.start.strict_add_signed(moved);
        let end = start + from.len();
        let Some((above, below)) = unique(&now, start, end) else {
            return overwrite(path, new, tasks);
        };
        let text = |parts: [&[&str]; 3]| {
            parts
                .concat()
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        let search = payload(
            "search",
            "",
            &text([&now[above..start], &now[start..end], &now[end..below]]),
        );
        let replace = payload(
            "replace",
            "",
            &text([&now[above..start], &new_lines[to.clone()], &now[end..below]]),
        );
        let (Some(search), Some(replace)) = (search, replace) else {
            return overwrite(path, new, tasks);
        };
        pairs += &search;
        pairs += &replace;
        now.splice(start..end, new_lines[to.clone()].iter().copied());
        moved += isize::try_from(to.len()).expect("length")
            - isize::try_from(from.len()).expect("length");
    }
    let _ = writeln!(
        tasks,
        "<task>\n<path>{path}</path>\n<c>edit</c>\n{pairs}</task>"
    );
}

/// The smallest stretch around these lines that stands once in the file and is not blank.
fn unique(lines: &[&str], start: usize, end: usize) -> Option<(usize, usize)> {
    (0..=lines.len()).find_map(|more| {
        let (above, below) = (start.saturating_sub(more), (end + more).min(lines.len()));
        let stretch = &lines[above..below];
        let blank = stretch.iter().all(|line| line.trim().is_empty());
        // At the end of a part, the line end before a blank line is there without it.
        let end = stretch.strip_suffix(&[""]);
        let is_at_end = end.is_some_and(|end| lines.ends_with(end) && below < lines.len());
        let once = !blank
            && !is_at_end
            && lines
                .windows(stretch.len())
                .filter(|window| *window == stretch)
                .count()
                == 1;
        once.then_some((above, below))
    })
}

/// A payload element that holds these lines, if there is a way to write it.
pub(crate) fn payload(name: &str, flag: &str, lines: &str) -> Option<String> {
    // Lines of dots in the history are text.
    let flag = match name {
        "search" => flag.to_owned(),
        _ => format!("{flag} elision=\"text\""),
    };
    let plain = format!("<{name}{flag}>\n{lines}</{name}>\n");
    let cdata = format!("<{name}{flag}>\n<![CDATA[\n{lines}]]>\n</{name}>\n");
    [plain, cdata]
        .into_iter()
        .find(|written| read_back(name, written).as_deref() == Some(lines))
}

/// What an element holds as the scanner reads it.
fn read_back(name: &str, written: &str) -> Option<String> {
    let rest = match name {
        "x" => "<c>overwrite</c>\n",
        "search" => "<c>edit</c>\n<replace/>\n",
        _ => "<c>edit</c>\n<search>s</search>\n",
    };
    let text = format!("<tasks>\n<task>\n<path>p</path>\n{rest}{written}</task>\n</tasks>\n");
    let found = scan(&text);
    match found.batches.first()?.tasks.first()?.action.as_ref().ok()? {
        Action::Overwrite { content, .. } => Some(content.text().into_owned()),
        Action::Edit {
            change: Replacement::Pairs(pairs),
            ..
        } => {
            let (search, replace) = pairs.first()?;
            Some(
                if name == "search" {
                    search.text()
                } else {
                    replace.text()
                }
                .into_owned(),
            )
        }
        _ => None,
    }
}

/// The tree that git makes of the project, without touching this repository.
fn written_tree(project: &Project) -> String {
    let objects: PathBuf = project.home().join("objects");
    std::fs::create_dir_all(&objects).expect("mkdir");
    let git_dir = git(&["rev-parse", "--absolute-git-dir"]).expect("git dir");
    let common =
        git(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).expect("git dir");
    let run = |args: &[&str]| {
        let output = project
            .command("git")
            .args([
                "-c",
                "core.autocrlf=false",
                "-c",
                "core.excludesFile=/dev/null",
            ])
            .arg(format!("--git-dir={}", git_dir.trim()))
            .arg(format!("--work-tree={}", project.root().display()))
            .args(args)
            .env("GIT_INDEX_FILE", project.home().join("index"))
            .env("GIT_OBJECT_DIRECTORY", &objects)
            .env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                format!("{}/objects", common.trim()),
            )
            .output()
            .expect("git");
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    run(&["add", "-A", "-f", "."]);
    run(&["write-tree"])
}
