//! The command line: structs and help only.

mod document;
mod help;
pub mod pages;
pub mod topics;

pub use document::Face;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::settings::{Every, Format, Sandbox, is_bare};
use crate::lang::dialect::Dialect;
use crate::lang::{duration, lessons};
use crate::world::clipboard;
use crate::world::note_file::Lead;

/// Carries out what an LLM's chat reply asks for when you save it in a notes file
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub listen: Listen,
    /// The form of the log on stderr: text or json
    #[arg(long, global = true, value_name = "FORMAT", value_parser = log_format)]
    pub log_format: Option<Format>,
}

impl Cli {
    /// Reads this process's command line; wrong use ends it with status 2.
    pub fn read() -> Self {
        let mut whole = Self::definition();
        let line = help_first(&whole);
        let matches = whole
            .try_get_matches_from_mut(line)
            .unwrap_or_else(|error| error.exit());
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut whole).exit())
    }

    /// The long help of a command, by its name and that of its part; of no name, the help of the whole program.
    pub fn help_of(words: &[&str]) -> clap::Error {
        let line = [&["clada"], words, &["--help"]].concat();
        let mut whole = Self::definition();
        match whole.try_get_matches_from_mut(line) {
            Err(help) => help,
            Ok(_) => whole.error(clap::error::ErrorKind::UnknownArgument, "no such help"),
        }
    }

    /// Tells if a command has this name.
    pub fn has_command(name: &str) -> bool {
        Self::command().find_subcommand(name).is_some()
    }

    /// The names of the commands that the help shows.
    pub fn commands() -> Vec<String> {
        let whole = Self::command();
        let shown = whole
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        shown.map(|command| command.get_name().to_owned()).collect()
    }

    /// The whole program with its help.
    pub fn definition() -> clap::Command {
        help::with_help(Self::command())
    }
}

impl Cli {
    /// A command for which what stands in the place of the notes file may be meant; no such file is there.
    pub fn misspelt(&self) -> Option<(String, String)> {
        let given = self.listen.watch.file.as_ref()?;
        let name = given.to_str().filter(|_| !given.exists())?;
        let known = Self::command();
        let names = known.get_subcommands().map(clap::Command::get_name);
        let near = names.filter(|known| strsim::osa_distance(known, name) <= 2);
        let nearest = near.min_by_key(|known| strsim::osa_distance(known, name))?;
        Some((name.to_owned(), nearest.to_owned()))
    }
}

#[derive(Debug, Subcommand)]
#[command(args_conflicts_with_subcommands = true)]
pub enum Command {
    /// Watch a notes file and carry out each reply that is saved in it
    ///
    /// A bare `clada` does this too.
    Watch(Listen),
    /// Carry out one reply, once
    Run(Run),
    /// Tell what is wrong with a reply; carry out nothing
    ///
    /// Each problem is told with its line, cause and next step.
    Check(Check),
    /// Tell what ran, newest first
    Log(Log),
    /// Run again what failed or did not run in the last batch
    ///
    /// With `--at` it carries out an edit of that batch which failed, at the place that you choose; a tick in the results
    /// does it too.
    Retry(Retry),
    /// Run the commands that wait for your word
    ///
    /// They are those that `exec.ask` names; a tick in the results says it too.
    Approve(Watch),
    /// Have what clada.toml says of commands hold from now on
    ///
    /// It is shown, so that you see what you trust.
    Trust(Trust),
    /// Take back what batches did, as a new commit
    Undo(Undo),
    /// Do again what was undone, as a new commit
    Redo(Redo),
    /// Show an older state, for looking
    ///
    /// `clada step-forward` brings back what was there.
    StepBack(StepBack),
    /// Show a newer state again, or what was there before step-back
    StepForward(StepForward),
    /// Show what a batch changed, as git does
    Diff(Diff),
    /// Make one commit of several that clada made in a row
    ///
    /// Those of yours stay as they are.
    Squash(Squash),
    /// Print the files that the chat works with, or choose them
    Context(Context),
    /// Watch all files of your list in one process, as a service does
    Daemon(Daemon),
    /// Tell what the cladas that run are doing, and what they did last
    Status(Status),
    /// Print the settings that hold here, and where each comes from
    Config(Config),
    /// Copy the last results of a notes file once more
    Copy(Copy),
    /// What clada starts to have a text on the clipboard
    #[command(name = clipboard::OWNER, hide = true)]
    ClipboardOwner(ClipboardOwner),
    /// Tell what works here and what does not, and what to do
    Doctor(Doctor),
    /// Show what commands write, as they do, and the results
    Tail(Tail),
    /// Have the daemon run in the background, from login on
    #[command(subcommand)]
    Service(Service),
    /// Print the text that teaches an LLM to write tasks
    ///
    /// Paste it into the chat once. A new chat begins with it: what an earlier one saw of the project's files is forgotten.
    Instructions(Instructions),
    /// Make clada.toml and clada.md in a project
    ///
    /// Nothing that is there is overwritten. On a terminal it asks whether git is to ignore the notes, and whether `clada
    /// daemon` is to watch them.
    Init(Init),
    /// Have `clada daemon` watch a notes file
    Add(Add),
    /// Have `clada daemon` watch a notes file no more
    Remove(Remove),
    /// Show which notes files `clada daemon` watches
    List(List),
    /// Print what your shell needs to complete clada's commands
    Completions(Completions),
    /// Print the manual, or put all its pages into a folder
    ///
    /// `clada man | man -l -` shows it.
    Man(Man),
    /// Print the help of a command, or a page of the manual
    Help(HelpOn),
}

#[derive(Debug, Args)]
pub struct HelpOn {
    /// A command, or a topic; nothing for the list of both
    #[arg(value_name = "COMMAND|TOPIC")]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Init {
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Register it with the background service without asking
    #[arg(long)]
    pub service: bool,
    /// Add the notes and output file to .git/info/exclude without asking, so that git ignores them
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Add {
    /// The notes file; created if it is missing
    pub file: PathBuf,
    /// The project folder: no file task can leave it [default: the file's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Go on where another user has the notes or the project folder, or may write them
    #[arg(long)]
    pub allow_shared: bool,
}

#[derive(Debug, Args)]
pub struct Remove {
    /// The notes file, which may be gone
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct List {
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// Which shell
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The folder of manuals, which gets all pages in man1 and man7
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Retry {
    #[command(flatten)]
    pub watch: Watch,
    /// Carry out the failed edit at this line, which its results offer
    #[arg(long, value_name = "LINE")]
    pub at: Option<usize>,
}

#[derive(Debug, Args)]
pub struct Listen {
    #[command(flatten)]
    pub watch: Watch,
    /// Add the notes and output file to .git/info/exclude without asking, so that git ignores them
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Watch {
    /// The notes file; watching creates it if it is missing [default: clada.md in the project folder]
    pub file: Option<PathBuf>,
    /// The project folder: no file task can leave it [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// How long the file must be quiet where a save is not visibly over, in milliseconds [default: watch.debounce]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub debounce: Option<u64>,
    /// Look every so often, for file systems that report no changes; or off [default: watch.poll]
    #[arg(long, value_name = "TIME", value_parser = every)]
    pub poll: Option<Every>,
    /// Do not copy results to the clipboard [default: clipboard.enabled]
    #[arg(long)]
    pub no_clipboard: bool,
    /// Tell the desktop of each finished batch, in a notification
    #[arg(long)]
    pub notify: bool,
    /// It is the daemon that watches.
    #[arg(skip)]
    pub is_service: bool,
    /// How the name of the notes led to them when they were watched before.
    #[arg(skip)]
    pub led: Option<Lead>,
    /// Go on where another user has the notes or the project folder, or may write them
    #[arg(long)]
    pub allow_shared: bool,
    /// Do not save the state in git before and after
    #[arg(long)]
    pub no_git: bool,
    /// Run what is in the file when clada sees it for the first time
    #[arg(long)]
    pub run_existing: bool,
    #[command(flatten)]
    pub exec: Exec,
    /// How long the log tells of batches that are in no notes any more [default: ledger.days]
    #[arg(long, value_name = "DAYS")]
    pub ledger_days: Option<u32>,
    /// How large the ledger may grow before the oldest of them are forgotten, in MiB [default: ledger.size]
    #[arg(long, value_name = "MIB")]
    pub ledger_size: Option<u32>,
    /// The file with the full output, beside the notes file [default: watch.output_file]
    #[arg(long, value_name = "NAME", value_parser = bare)]
    pub output_file: Option<String>,
}

impl Watch {
    /// To watch a file as it is watched where nothing is said of how.
    pub fn of(file: &Path, root: &Path) -> Self {
        /// What clap reads a command line into.
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            watch: Watch,
        }
        let line = [OsStr::new("watch"), OsStr::new("--root"), root.as_os_str()];
        let Line { watch } = Line::parse_from(line);
        Self {
            file: Some(file.to_owned()),
            ..watch
        }
    }
}

/// How all files of the list are watched.
#[derive(Debug, Args)]
pub struct Daemon {
    /// Do not copy results to the clipboard
    #[arg(long)]
    pub no_clipboard: bool,
    /// Go on where another user has the notes or a project folder of the list, or may write them
    #[arg(long)]
    pub allow_shared: bool,
}

#[derive(Debug, Args)]
pub struct Status {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Run {
    /// The reply; `-` or nothing for standard input
    pub file: Option<PathBuf>,
    /// The project folder: no file task can leave it [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Do not save the state in git before and after
    #[arg(long)]
    pub no_git: bool,
    /// The commits' subject, where a `<tasks>` has no `message` of its own [default: its tasks' `<i>`, else the time]
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    #[command(flatten)]
    pub exec: Exec,
    /// Run also commands that clada would ask about
    #[arg(long)]
    pub approve: bool,
    /// Do everything but change things: show what each task would change
    #[arg(long)]
    pub dry_run: bool,
    /// Go on where another user has the project folder, or may write it
    #[arg(long)]
    pub allow_shared: bool,
}

/// What holds for commands instead of what the settings say.
#[derive(Debug, Clone, Args)]
pub struct Exec {
    /// How long a command may take, unless its task says otherwise [default: exec.timeout]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub exec_timeout: Option<Duration>,
    /// How far commands are fenced in: workspace, read-only or off [default: exec.sandbox]
    #[arg(long, value_name = "LEVEL", value_parser = sandbox)]
    pub sandbox: Option<Sandbox>,
}

#[derive(Debug, Args)]
pub struct Check {
    /// The reply; `-` or nothing for standard input
    pub file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct Context {
    /// The notes file whose set it is [default: the one watched for the project folder, else its clada.md]
    pub file: Option<PathBuf>,
    /// The project folder [default: the one that the notes file is watched for, else this folder]
    #[arg(long, value_name = "DIR", global = true)]
    pub root: Option<PathBuf>,
    /// Put it onto the clipboard instead of printing it
    #[arg(long)]
    pub copy: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    pub change: Option<ContextChange>,
}

#[derive(Debug, Subcommand)]
pub enum ContextChange {
    /// Put files in, or some lines of them; relative to the project folder
    Add {
        /// Files of the project; with lines, as in src/lib.rs:1-80, only those
        #[arg(value_name = "PATH[:LINES]", required = true)]
        paths: Vec<String>,
    },
    /// Take files out
    Remove {
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<String>,
    },
    /// Show which files are in it, and how large they are
    List,
    /// Take out what is not there any more
    Prune,
    /// Take out all of it
    Clear,
}

#[derive(Debug, Subcommand)]
pub enum Service {
    /// Start clada now and with each login; also after clada was moved
    Install,
    /// End it, and leave nothing of the service behind
    Uninstall,
    /// Start it
    Start,
    /// End it until the next login
    Stop,
    /// End it and start it again: after an upgrade
    Restart,
    /// Tell how it does
    Status,
    /// Show what it said
    Logs {
        /// Show also what comes, until Ctrl-C
        #[arg(short, long)]
        follow: bool,
        /// How many lines
        #[arg(short, long, value_name = "N", default_value = "50")]
        number: usize,
    },
}

#[derive(Debug, Args)]
pub struct Copy {
    /// Those of this batch, by its number, its id or its beginning (see clada log) [default: the last ones]
    pub batch: Option<String>,
    /// Print them, and leave the clipboard alone
    #[arg(long)]
    pub print: bool,
    /// The notes file whose results they are [default: the one watched for the project folder, else its clada.md]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ClipboardOwner {
    /// Until something else is copied
    #[arg(long = clipboard::OWNER_STAYS)]
    pub stays: bool,
}

#[derive(Debug, Args)]
pub struct Instructions {
    /// The notes file whose chat begins anew [default: the one watched for this folder, else its clada.md]
    pub file: Option<PathBuf>,
    /// The language to teach: cml, nesl, sham, replacer, aider, codex or diff
    #[arg(long, value_name = "NAME", default_value = "cml", value_parser = dialect)]
    pub dialect: Dialect,
    /// Of cml, nesl and sham: the actions to list, such as read,grep [default: in cml the usual ones, else all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = action)]
    pub actions: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Log {
    /// A batch of these notes, by its number or id: with --output only
    #[arg(requires = "output")]
    pub batch: Option<String>,
    /// Print what the LLM was given after that batch, as `clada copy --print BATCH` does
    #[arg(long, requires = "batch", conflicts_with = "json")]
    pub output: bool,
    /// How many batches to show
    #[arg(short, long, value_name = "N", default_value = "10")]
    pub number: usize,
    /// Only those of this notes file, by its path or, if it is watched, by its name
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Only those of this project: of all notes files that are watched for it
    #[arg(long, conflicts_with = "file")]
    pub here: bool,
    /// The project folder of `--here` [default: the one that this folder is in]
    #[arg(long, value_name = "DIR", requires = "here")]
    pub root: Option<PathBuf>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// Without a choice: those on top of your newest commit.
#[derive(Debug, Args)]
pub struct Squash {
    /// Those of this batch, by the beginning of its id (`clada log` shows it)
    #[arg(long, value_name = "ID", group = "choice")]
    pub batch: Option<String>,
    /// Those after a revision or a time: `HEAD~5`, `main`, `2h`, `3d`, `10:30`, `2026-11-20`
    #[arg(long, value_name = "REF|TIME", group = "choice")]
    pub since: Option<String>,
    /// Those whose message has this text
    #[arg(long, value_name = "TEXT", group = "choice")]
    pub containing: Option<String>,
    /// The newest N of them
    #[arg(short, value_name = "N", group = "choice")]
    pub number: Option<usize>,
    /// What the new commit says first [default: what all of them say, or how many they are]
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Show which commits would become one, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also commits that are pushed, and though signatures are lost
    #[arg(long)]
    pub force: bool,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Trust {
    #[command(flatten)]
    pub root: Root,
    /// Go on where another user has the project folder or its settings, or may write them
    #[arg(long)]
    pub allow_shared: bool,
}

#[derive(Debug, Args)]
pub struct Root {
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Doctor {
    /// The notes file to look at [default: the one watched for the project folder, else its clada.md]
    pub file: Option<PathBuf>,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Config {
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Tail {
    /// The notes file whose output it is [default: the one watched for the project folder, else its clada.md]
    pub file: Option<PathBuf>,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Undo {
    /// How many batches, or the id of one or its beginning (see clada log) [default: 1]
    #[arg(value_name = "N|BATCH", value_parser = which)]
    pub which: Option<Which>,
    #[command(flatten)]
    pub back: Back,
}

#[derive(Debug, Args)]
pub struct Redo {
    /// How many
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub number: u16,
    #[command(flatten)]
    pub back: Back,
}

/// How something is taken back.
#[derive(Debug, Args)]
pub struct Back {
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Keep what has changed since, and merge it with what is taken back
    #[arg(long)]
    pub keep: bool,
    /// Tell what would be done; change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// So many, or one by its id.
#[derive(Debug, Clone)]
pub enum Which {
    Last(usize),
    Named(String),
}

#[derive(Debug, Args)]
pub struct StepBack {
    /// How many states
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub number: u16,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct StepForward {
    /// How many states
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub number: u16,
    /// At once to what was there before
    #[arg(long)]
    pub end: bool,
    /// End looking and keep what is there now
    #[arg(long, conflicts_with = "end")]
    pub stay: bool,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Diff {
    /// The id of a batch or its beginning (see clada log) [default: the newest]
    #[arg(value_name = "BATCH")]
    pub batch: Option<String>,
    /// Only how much changed in which file
    #[arg(long)]
    pub stat: bool,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// This process's command line, in which `clada service help` is `clada help service`.
fn help_first(whole: &clap::Command) -> Vec<OsString> {
    let mut line: Vec<OsString> = std::env::args_os().collect();
    if let [_, group, help, ..] = line.as_slice()
        && help == "help"
        && whole
            .find_subcommand(group)
            .is_some_and(clap::Command::has_subcommands)
    {
        line.swap(1, 2);
    }
    line
}

/// A short number is how many; ids begin with a date.
fn which(text: &str) -> Result<Which, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) if text.len() <= 4 => Ok(Which::Last(number)),
        _ => Ok(Which::Named(text.to_owned())),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text).ok_or_else(|| format!("it must be {}", duration::FORM))
}

fn every(text: &str) -> Result<Every, String> {
    Every::parse(text).ok_or_else(|| format!("it must be {}", Every::FORM))
}

fn bare(name: &str) -> Result<String, String> {
    let refused = "it must be a bare file name: the output file is beside the watched file";
    match is_bare(name) {
        true => Ok(name.to_owned()),
        false => Err(refused.to_owned()),
    }
}

fn dialect(text: &str) -> Result<Dialect, String> {
    let names = Dialect::ALL.map(Dialect::name);
    let nearest = names
        .iter()
        .min_by_key(|name| strsim::osa_distance(name, text));
    let unknown = || format!("did you mean {}?", nearest.unwrap_or(&"cml"));
    Dialect::parse(&text.to_ascii_lowercase()).ok_or_else(unknown)
}

fn action(text: &str) -> Result<String, String> {
    let name = text.trim();
    lessons::command(name).map(|_| name.to_owned())
}

fn log_format(text: &str) -> Result<Format, String> {
    Format::parse(text).ok_or_else(|| "it must be text or json".to_owned())
}

fn sandbox(text: &str) -> Result<Sandbox, String> {
    Sandbox::parse(text).ok_or_else(|| "it must be workspace, read-only or off".to_owned())
}
