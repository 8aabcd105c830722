//! `clada context`: prints the files that a chat works with as one text to paste, and changes the set.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::cli::terminal;
use crate::cli::{ContextArgs, ContextChange};
use crate::cmd::clipboard;
use crate::cmd::notes::NotesWithRoot;
use crate::error::Error;
use crate::git;
use crate::listener::project::{self, SeenProject};
use crate::reply::context::ContextLevel;
use crate::reply::task::ContextTask;
use crate::report;
use crate::report::context::{ContextBlock, ShortenedFile, parts};
use crate::report::outcome::Section;
use crate::report::outcome::{Outcome, Status};
use crate::run;
use crate::run::context::budget::{self, BudgetWish};
use crate::run::context::{self, CodeSources, LoadedSet};
use crate::settings::places::{self, Folders};
use crate::start;
use crate::text::mask::Mask;
use crate::text::paths;
use crate::text::size::grouped;
use crate::text::tokens;
use crate::world::chat::ChatStore;
use crate::world::context::ContextStore;
use crate::world::workspace::{Disk, ProjectFiles};

/// Prints, copies or changes the set.
///
/// # Errors
/// Where the root, the notes file, the settings or the set cannot be used, and for a part that the text does not have.
pub fn main(args: &ContextArgs) -> Result<ExitCode, Error> {
    let folders = Folders::of_user().ok_or(Error::NoHome)?;
    let (file, root) = (args.file.as_deref(), args.root.as_deref());
    let NotesWithRoot { file: notes, root } = NotesWithRoot::find(&folders, file, root)?;
    let (given, root) = root;
    let store = store(&folders, &root, &notes);
    let mut own = start::watched_in(&folders, &root);
    own.extend([start::canonical(&notes), root.join(places::OUTPUT)]);
    let seen = project::seen((&given, &root), &folders, &own)?;
    let SeenProject {
        disk,
        settings,
        mask,
    } = seen;
    if let Some(change) = &args.change {
        return perform(args, change, &disk, &store);
    }
    let sources = CodeSources::new(&disk, &store, &mask);
    let set = context::load(&store.read()?, &sources);
    let chosen = Shown::of(args, &set, &sources, &root)?;
    let code = chosen.show(args, &set)?;
    sources.finish();
    if settings.clipboard.changes {
        remember(&chat(&folders, &root, &notes), &chosen.blocks, &disk, &mask);
    }
    Ok(code)
}

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
    let tasks = tasks(change, disk);
    // All of them are added, or none.
    let tries = tasks.iter().map(|task| (task, true));
    let tries = tries.filter(|_| tasks.len() > 1);
    for (task, dry) in tries.chain(tasks.iter().map(|task| (task, false))) {
        last = context::perform(task, disk, store, dry);
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
        ContextChange::Add { paths, level } => {
            let add = |path: &'c String| {
                let (path, lines) = with_lines(path, disk);
                ContextTask::Add {
                    paths: vec![path.into()],
                    lines: lines.map(Into::into),
                    level: *level,
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
    let are_lines = |text: &str| {
        let has_digit = text.contains(|c: char| c.is_ascii_digit());
        has_digit
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || "-, ".contains(c))
    };
    match path.rsplit_once(':') {
        Some((file, lines)) if are_lines(lines) && !is_there() => (file, Some(lines)),
        _ => (path, None),
    }
}

/// The text that is shown, or the part of it that was asked for.
struct Shown {
    blocks: Vec<ContextBlock>,
    text: String,
    /// In words: how much it is.
    said: String,
    tokens: usize,
    /// Its number and that of all parts.
    part: Option<[usize; 2]>,
    left_out: Vec<ShortenedFile>,
}

impl Shown {
    /// Makes the text.
    fn of(
        args: &ContextArgs,
        set: &LoadedSet,
        sources: &CodeSources<'_>,
        root: &Path,
    ) -> Result<Self, Error> {
        let mut shown = match args.budget {
            Some(budget) => Self::within(budget, args, set, sources, root)?,
            None => {
                let blocks = set.blocks(sources);
                Self {
                    text: report::context::text(&blocks),
                    blocks,
                    said: set.amount.text(),
                    tokens: set.amount.tokens,
                    part: None,
                    left_out: Vec::new(),
                }
            }
        };
        if let Some((part, size)) = args.part.zip(args.of) {
            shown.cut(part as usize, size, sources)?;
        }
        Ok(shown)
    }

    fn within(
        budget: usize,
        args: &ContextArgs,
        set: &LoadedSet,
        sources: &CodeSources<'_>,
        root: &Path,
    ) -> Result<Self, Error> {
        let wish = BudgetWish {
            tokens: budget,
            wanted: args.wanted.as_deref().unwrap_or_default(),
        };
        let made = budget::within(wish, set, &git::recent(root), sources);
        let made = made.map_err(|failed| Error::NoContext(failed.said().to_owned()))?;
        if made.blocks.is_empty() {
            return Err(Error::SmallBudget(budget));
        }
        let left = match made.left_out.len() {
            0 => String::new(),
            count => format!(", {} left out or shortened", grouped(count as u64)),
        };
        let of = grouped(budget as u64);
        Ok(Self {
            text: report::context::text(&made.blocks),
            blocks: made.blocks,
            said: format!("{} of {of}{left}", tokens::show(made.tokens)),
            tokens: made.tokens,
            part: None,
            left_out: made.left_out,
        })
    }

    /// Takes a part of the text in its place.
    fn cut(&mut self, part: usize, size: usize, sources: &CodeSources<'_>) -> Result<(), Error> {
        if size < parts::LEAST {
            return Err(Error::SmallPart(parts::LEAST));
        }
        let blocks = std::mem::take(&mut self.blocks);
        let mut cut = parts::divided(blocks, size, &mut |text| sources.tokens(text));
        let of = cut.len();
        if part > of {
            return Err(Error::NoPart { part, of });
        }
        self.blocks = cut.swap_remove(part - 1);
        self.text = parts::framed(&report::context::text(&self.blocks), part, of);
        self.tokens = sources.tokens(&self.text);
        self.part = Some([part, of]);
        self.said = format!("part {part} of {of}, {}", tokens::show(self.tokens));
        Ok(())
    }

    /// Prints or copies it.
    fn show(&self, args: &ContextArgs, set: &LoadedSet) -> Result<ExitCode, Error> {
        let mut code = ExitCode::SUCCESS;
        let missing = set.missing().map(|missing| format!("⚠ {missing}\n"));
        let mut said: String = missing.collect();
        let is_empty = set.entries.is_empty() && args.budget.is_none();
        said += &if is_empty {
            "the context is empty: add a file with `clada context add PATH`\n".to_owned()
        } else {
            format!("{}\n", self.said)
        };
        if args.json {
            terminal::print_json(&self.data(args, set))?;
        } else if !args.copy {
            terminal::stdout_to_the_byte().write_all(self.text.as_bytes())?;
        }
        if args.copy && !is_empty {
            let (how, ended) = clipboard::copied(self.text.clone(), "");
            said += &format!("{how}\n");
            code = ended;
            if let Some([part, of]) = self.part.filter(|[part, of]| part < of) {
                let next = next_part(args, part + 1);
                said += &format!("{} more to copy: `{next}`\n", parts_of(of - part));
            }
        }
        terminal::stderr().write_all(said.as_bytes())?;
        Ok(code)
    }

    fn data(&self, args: &ContextArgs, set: &LoadedSet) -> Value {
        let mut data = json!({
            "files": set.data(),
            "lines": set.amount.lines,
            "size": set.amount.bytes,
            "tokens": self.tokens,
            "text": self.text,
        });
        if let Some([part, of]) = self.part {
            data["part"] = part.into();
            data["parts"] = of.into();
        }
        if let Some(budget) = args.budget {
            data["budget"] = budget.into();
            let left_out = self.left_out.iter().map(|left| {
                let costs = left.costs.iter();
                let costs: Map<String, Value> = costs
                    .map(|(level, cost)| (level.word().to_owned(), (*cost).into()))
                    .collect();
                json!({
                    "path": left.name,
                    "shown": left.shown.map(ContextLevel::word),
                    "tokens": costs,
                })
            });
            data["leftOut"] = left_out.collect();
        }
        data
    }
}

fn parts_of(count: usize) -> String {
    match count {
        1 => "1 part".to_owned(),
        _ => format!("{count} parts"),
    }
}

/// The command line that copies another part of the same text.
fn next_part(args: &ContextArgs, part: usize) -> String {
    let mut line = "clada context".to_owned();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            line += &format!(" {name}{}", paths::quoted(Path::new(&value)));
        }
    };
    let text = |path: &PathBuf| path.display().to_string();
    add("", args.file.as_ref().map(text));
    add("--root ", args.root.as_ref().map(text));
    add("--budget ", args.budget.map(|budget| budget.to_string()));
    add("--for ", args.wanted.clone());
    add("--copy --part ", Some(part.to_string()));
    add("--of ", args.of.map(|of| of.to_string()));
    line
}

/// Records what the chat was given in full, so that clada can report later what has changed.
fn remember(store: &ChatStore, blocks: &[ContextBlock], disk: &Disk, mask: &Mask) {
    let mut shown: BTreeMap<&str, Vec<Range<usize>>> = BTreeMap::new();
    for block in blocks {
        if let ContextBlock::File(file) = block
            && let Some(lines) = &file.lines
        {
            shown.entry(&file.path).or_default().push(lines.clone());
        }
    }
    if !shown.is_empty() {
        run::show(store, shown.into_iter(), disk, mask);
    }
}
