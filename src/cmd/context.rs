//! `clada context`: prints the files that a chat works with as one text to paste, and changes the set.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::terminal;
use crate::cli::{ContextArgs, ContextChange};
use crate::clock;
use crate::cmd::clipboard;
use crate::cmd::notes::NotesWithRoot;
use crate::error::Error;
use crate::listener::project;
use crate::listener::rules::{Login, RuleSource, RunFlags};
use crate::reply::task::ContextTask;
use crate::report;
use crate::report::outcome::Section;
use crate::report::outcome::{Outcome, Status};
use crate::run;
use crate::run::context::{self, LoadedSet};
use crate::settings::Settings;
use crate::settings::places::{self, Folders};
use crate::start;
use crate::text::lines::LineRange;
use crate::world::chat::ChatStore;
use crate::world::context::ContextStore;
use crate::world::workspace::{Disk, ProjectFiles};

/// Prints, copies or changes the set.
///
/// # Errors
/// Where the root, the notes file or the set cannot be used.
pub fn main(args: &ContextArgs) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (file, root) = (args.file.as_deref(), args.root.as_deref());
    let NotesWithRoot { file: notes, root } = NotesWithRoot::find(&folders, file, root)?;
    let (given, root) = root;
    let store = store(&folders, &root, &notes);
    let mut own = start::watched_in(&folders, &root);
    own.extend([start::canonical(&notes), root.join(places::OUTPUT)]);
    let mut disk = project::workspace((&given, &root), &folders, &own)?;
    let settings = Settings::load(&folders, &root);
    disk.limit(settings.map_or(LARGEST, |loaded| loaded.settings.limits.max_file_size));
    match &args.change {
        None => {
            let loaded = context::load(&store.read()?, &disk);
            let code = show(args, &loaded)?;
            remember(&folders, &root, &notes, &loaded, disk);
            Ok(code)
        }
        Some(change) => perform(args, change, &disk, &store),
    }
}

/// The largest file that is read where the settings cannot be, in bytes.
const LARGEST: u64 = 10 * 1024 * 1024;

/// Returns the store of a notes file's set.
pub(crate) fn store(folders: &Folders, root: &Path, notes: &Path) -> ContextStore {
    ContextStore::of(&folders.contexts(), root, &start::canonical(notes))
}

/// Returns the store of what the chat of a notes file knows.
pub(crate) fn chat(folders: &Folders, root: &Path, notes: &Path) -> ChatStore {
    ChatStore::of(&folders.chats(), root, &start::canonical(notes))
}

fn perform(
    args: &ContextArgs,
    change: &ContextChange,
    disk: &Disk,
    store: &ContextStore,
) -> Result<ExitCode, Error> {
    let mut last = Outcome::default();
    for task in tasks(change, disk) {
        last = context::perform(&task, disk, store, false);
        if last.status == Status::Failed {
            let said = format!("clada: {}\n", last.said());
            terminal::stderr().write_all(said.as_bytes())?;
            return Ok(ExitCode::FAILURE);
        }
    }
    let mut out = terminal::stdout();
    if args.json {
        terminal::print_json(&last.data)?;
        return Ok(ExitCode::SUCCESS);
    }
    for section in &last.sections {
        if let Section::Text(text) = section {
            out.write_all(text.as_bytes())?;
        }
    }
    writeln!(out, "{}", last.message.unwrap_or_default())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the tasks that make a change. Each file to add is a task of its own, as it may have lines.
fn tasks<'c>(change: &'c ContextChange, disk: &Disk) -> Vec<ContextTask<'c>> {
    match change {
        ContextChange::Add { paths } => {
            let add = |path: &'c String| {
                let (path, lines) = with_lines(path, disk);
                ContextTask::Add {
                    paths: vec![path.into()],
                    lines: lines.map(Into::into),
                }
            };
            paths.iter().map(add).collect()
        }
        ContextChange::Remove { paths } => vec![ContextTask::Remove {
            paths: paths.iter().map(Into::into).collect(),
        }],
        ContextChange::List => vec![ContextTask::List],
        ContextChange::Prune => vec![ContextTask::Prune],
        ContextChange::Clear => vec![ContextTask::Clear],
    }
}

/// Reads `PATH:LINES`, unless a file has that name.
fn with_lines<'p>(path: &'p str, disk: &Disk) -> (&'p str, Option<&'p str>) {
    let is_there = || {
        let place = disk.parse(path).ok();
        let place = place.and_then(|rel| disk.place(&rel, true).ok());
        place.is_some_and(|place| matches!(disk.kind(&place), Ok(Some(_))))
    };
    match path.rsplit_once(':') {
        Some((file, lines)) if LineRange::parse(lines).is_ok() && !is_there() => {
            (file, Some(lines))
        }
        _ => (path, None),
    }
}

/// Prints or copies all files in the set.
fn show(args: &ContextArgs, loaded: &LoadedSet) -> Result<ExitCode, Error> {
    let text = text(loaded);
    let mut code = ExitCode::SUCCESS;
    let mut said = String::new();
    for missing in loaded.missing() {
        said += &format!("⚠ {missing}\n");
    }
    said += &if loaded.files.is_empty() {
        "the context is empty: add a file with `clada context add PATH`\n".to_owned()
    } else {
        loaded.amount.text() + "\n"
    };
    if args.json {
        let amount = loaded.amount;
        let data = json!({
            "files": loaded.data(),
            "lines": amount.lines,
            "size": amount.bytes,
            "tokens": amount.tokens(),
            "text": text,
        });
        terminal::print_json(&data)?;
    } else if !args.copy {
        terminal::stdout_to_the_byte().write_all(text.as_bytes())?;
    }
    if args.copy && !loaded.files.is_empty() {
        let (how, ended) = clipboard::copied(text, "");
        said += &format!("{how}\n");
        code = ended;
    }
    terminal::stderr().write_all(said.as_bytes())?;
    Ok(code)
}

/// Records what the chat was given, so that clada can report later what has changed. Does nothing where that fails.
fn remember(folders: &Folders, root: &Path, notes: &Path, loaded: &LoadedSet, mut disk: Disk) {
    if loaded.files.is_empty() {
        return;
    }
    let (Ok(settings), Ok(runtime)) = (Settings::load(folders, root), start::runtime()) else {
        return;
    };
    let login = Login::default();
    let flags = RunFlags::default();
    let start = RuleSource::start(folders, root, settings, &flags, &login);
    let Ok(made) = runtime.block_on(start).made else {
        return;
    };
    if !made.setup.changes {
        return;
    }
    disk.obey(made.setup.paths);
    let shown = loaded.files.iter().filter(|file| !file.parts.is_empty());
    let shown = shown.map(|file| {
        let lines: Vec<_> = file.file.lines().map(|it| it.first - 1..it.last).collect();
        let whole = lines.is_empty().then_some(0..usize::MAX);
        (
            file.file.path.as_str(),
            lines.into_iter().chain(whole).collect(),
        )
    });
    let store = chat(folders, root, notes);
    run::show(&store, shown, &disk, &made.setup.rules.mask);
}

/// Joins all files, each between lines with its name.
fn text(loaded: &LoadedSet) -> String {
    let fence = clock::word();
    let parts = loaded.files.iter().flat_map(|file| &file.parts);
    let parts: Vec<String> = parts
        .map(|(name, text)| report::file(name, text, &fence))
        .collect();
    parts.join("\n")
}
