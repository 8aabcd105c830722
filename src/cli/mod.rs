//! The command line: structs and help only.

mod document;
mod help;
pub mod pages;
pub mod terminal;
pub mod topics;

pub use document::{Face, lines};

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use crate::listener::Flags;
use crate::listener::rules::RunFlags;
use crate::reply::context::ContextLevel;
use crate::reply::dialect::Dialect;
use crate::reply::lessons;
use crate::settings::{Every, Format, Sandbox, by_name, is_bare};
use crate::text::duration;
use crate::text::names::{nearest_name, typos};
use crate::text::tokens;
use crate::world::{clipboard, syntax};

/// Carries out what an LLM's chat reply asks for when you save it in a notes file
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Verb>,
    #[command(flatten)]
    pub listen: Listen,
    /// The format of the log on stderr
    #[arg(long, global = true, value_name = "FORMAT", value_parser = named(["text", "json"], log_format))]
    pub log_format: Option<Format>,
}

impl Cli {
    /// Reads this process's command line; wrong use ends it with status 2.
    pub fn read() -> Self {
        let mut plain = Self::command();
        let line = help_first(&plain);
        // Only what is shown needs the help, and making that took a tenth of the time of a run with nothing to do.
        let matches = match plain.try_get_matches_from_mut(&line) {
            Err(version) if version.kind() == ErrorKind::DisplayVersion => version.exit(),
            Err(_) => Self::definition().get_matches_from(line),
            Ok(matches) => matches,
        };
        let wrong = |error: clap::Error| error.format(&mut Self::definition()).exit();
        Self::from_arg_matches(&matches).unwrap_or_else(wrong)
    }

    /// The long help of a command, by its name and that of its part; of no name, the help of the whole program.
    pub fn help_of(words: &[&str]) -> clap::Error {
        let line = [&["clada"], words, &["--help"]].concat();
        let mut whole = Self::definition();
        match whole.try_get_matches_from_mut(line) {
            Err(help) => help,
            Ok(_) => whole.error(ErrorKind::UnknownArgument, "no such help"),
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
    /// The missing notes file that was given, and the command or page that was probably meant instead.
    pub fn misspelt(&self) -> Option<(String, String)> {
        let given = self.listen.watch.file.as_ref()?;
        let name = given.to_str().filter(|_| !given.exists())?;
        if topics::find(name).is_some() {
            return Some((name.to_owned(), format!("help {name}")));
        }
        let known = Self::command();
        let names = known.get_subcommands().map(clap::Command::get_name);
        let near = names.filter(|known| typos(known, name) <= 2);
        let nearest = nearest_name(name, near)?;
        Some((name.to_owned(), nearest.to_owned()))
    }
}

#[derive(Debug, Subcommand)]
#[command(args_conflicts_with_subcommands = true)]
pub enum Verb {
    /// Watch a notes file and carry out each reply saved in it
    ///
    /// `clada` without a command does the same.
    Watch(Listen),
    /// Carry out one reply once
    Run(RunArgs),
    /// List the tasks and problems of a reply, and carry out nothing
    ///
    /// Each problem is shown with its line, its cause and the next step. If the reply has the key of a chat, the last line
    /// says whose it is.
    Check {
        /// The file with the reply; `-` or nothing reads standard input
        file: Option<PathBuf>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show what ran, newest first
    Log(LogArgs),
    /// Retry the tasks of the last batch that failed or did not run
    ///
    /// With `--at`, apply a failed edit of that batch at the line you choose. Ticking a box in the results does the same.
    /// With `--all`, run all tasks again, also those that succeeded.
    Retry(RetryArgs),
    /// Run the commands that wait for your approval
    ///
    /// These are the commands that match `exec.ask`. Ticking their boxes in the results does the same.
    Approve(Again),
    /// Trust the settings in a project's clada.toml, so that they apply
    ///
    /// clada prints what you trust. Later changes of the file need your trust again.
    Trust {
        /// The project folder [default: this folder]
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Continue even if other users own or can write to the project folder or its clada.toml
        #[arg(long)]
        allow_shared: bool,
    },
    /// Revert the latest batch, or others, in a new commit
    Undo(UndoArgs),
    /// Reapply what the last undo reverted, in a new commit
    Redo(RedoArgs),
    /// Show an older state of the files, to look at it
    ///
    /// `clada step-forward --end` returns to the present.
    StepBack(StepBackArgs),
    /// Show a newer state of the files, or return to the present
    StepForward(StepForwardArgs),
    /// Show what a batch changed, with `git diff`
    Diff(DiffArgs),
    /// Squash consecutive commits that clada made into one
    ///
    /// Your own commits keep their content and message.
    Squash(SquashArgs),
    /// Print the files that the chat works with, or change the set
    Context(ContextArgs),
    /// List the definitions in files, with their lines
    Outline(OutlineArgs),
    /// Watch all notes files in your list, in one process
    Daemon {
        /// Do not copy results to the clipboard
        #[arg(long)]
        no_clipboard: bool,
        /// Continue even if other users own or can write to a notes file or project folder in the list
        #[arg(long)]
        allow_shared: bool,
    },
    /// Show what the running clada processes are doing and did last
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the current settings and where each comes from
    Config {
        /// The project folder [default: this folder]
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Pause the watching of the clipboard, in all clada processes
    ///
    /// Saved replies still run. The pause ends after TIME, or with `clada resume`.
    Pause {
        /// How long, such as 30m or 2h [default: until you run `clada resume`]
        #[arg(value_parser = time)]
        time: Option<Duration>,
    },
    /// Resume the watching of the clipboard
    ///
    /// What is on the clipboard by then is nothing new.
    Resume,
    /// Copy the last results of a notes file again
    Copy(CopyArgs),
    /// Keep a text on the clipboard, for another clada process
    #[command(name = clipboard::OWNER, hide = true)]
    ClipboardOwner {
        /// Keep it until something else is copied
        #[arg(long = clipboard::OWNER_STAYS)]
        stays: bool,
    },
    /// Tell another clada process what is defined in code
    #[command(name = syntax::PARSER, hide = true)]
    CodeParser,
    /// Check what works here, and show how to fix what does not
    Doctor(DoctorArgs),
    /// Follow the output of commands and the results
    Tail {
        /// The notes file to follow [default: the one watched for the project folder, or its clada.md]
        file: Option<PathBuf>,
        /// The project folder [default: this folder]
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
    },
    /// Run the daemon in the background, from login on
    #[command(subcommand)]
    Service(ServiceVerb),
    /// Print or copy the text that teaches an LLM to write tasks
    ///
    /// Paste it into each new chat once. clada then assumes that the chat has seen none of the project's files.
    Instructions(InstructionsArgs),
    /// Create clada.toml and clada.md in a project
    ///
    /// Existing files are kept. On a terminal, clada asks whether git should ignore the notes file, whether `clada daemon`
    /// should watch it, and whether to watch the clipboard for replies.
    Init(InitArgs),
    /// Add a notes file to the list that `clada daemon` watches
    Add(AddArgs),
    /// Remove a notes file from the list that `clada daemon` watches
    Remove {
        /// The notes file, which need not exist
        file: PathBuf,
    },
    /// Print the list of notes files that `clada daemon` watches
    List {
        /// Print one JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print the completion script for your shell
    Completions {
        /// The shell to complete in
        shell: Shell,
    },
    /// Print the manual, or write all its pages into a folder
    ///
    /// `clada man | man -l -` displays it.
    Man {
        /// The folder of manuals to write all pages into, in man1 and man7
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Print the help of a command, or a page of the manual
    Help {
        /// A command, or a topic; nothing for the list of both
        #[arg(value_name = "COMMAND|TOPIC")]
        words: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Watch the notes file in the background, without asking
    #[arg(long)]
    pub service: bool,
    /// Watch the clipboard for replies, without asking: set `clipboard.watch = true` in your settings
    #[arg(long)]
    pub clipboard: bool,
    /// Make git ignore the notes file and the output file (in .git/info/exclude), without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct AddArgs {
    /// The notes file; created if it does not exist
    pub file: PathBuf,
    /// The project folder: no file task can leave it [default: the file's folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Continue even if other users own or can write to the notes file or the project folder
    #[arg(long)]
    pub allow_shared: bool,
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    #[command(flatten)]
    pub again: Again,
    /// Apply the failed edit at this line, one of those that its results offer
    #[arg(long, value_name = "LINE", conflicts_with = "all")]
    pub at: Option<usize>,
    /// Run all tasks of a batch again, given by its number or id or the start of its id (see `clada log`); without BATCH, all
    /// tasks of the last run
    #[arg(long, value_name = "BATCH")]
    pub all: Option<Option<String>>,
}

/// Tasks of the last batch that are run once more, and how they run where no other clada process watches the file.
#[derive(Debug, Clone, Args)]
pub struct Again {
    /// The notes file [default: the one watched for the project folder, or its clada.md]
    pub file: Option<PathBuf>,
    /// The project folder: no file task can leave it [default: the one that the notes file is watched for, or this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    #[command(flatten)]
    pub carrying: Carrying,
}

/// How a listener carries out tasks, whether it stays or runs only some once more.
#[derive(Debug, Clone, Args)]
pub struct Carrying {
    /// Do not copy results to the clipboard [default: clipboard.enabled]
    #[arg(long)]
    pub no_clipboard: bool,
    /// Show a desktop notification for each finished batch
    #[arg(long)]
    pub notify: bool,
    /// Continue even if other users own or can write to the notes file or the project folder
    #[arg(long)]
    pub allow_shared: bool,
    /// Do not save the state in git before and after
    #[arg(long)]
    pub no_git: bool,
    #[command(flatten)]
    pub exec: ExecLimits,
    /// The name of the file with the full output, next to the notes file [default: watch.output_file]
    #[arg(long, value_name = "NAME", value_parser = bare)]
    pub output_file: Option<String>,
}

impl Carrying {
    /// Returns the flags of the listener.
    pub fn flags(&self) -> Flags {
        Flags {
            run: self.exec.flags(self.no_git),
            output_file: self.output_file.clone(),
            no_clipboard: self.no_clipboard,
            notify: self.notify,
            allow_shared: self.allow_shared,
            ..Flags::default()
        }
    }
}

#[derive(Debug, Args)]
pub struct Listen {
    #[command(flatten)]
    pub watch: Watch,
    /// Make git ignore the notes file and the output file (in .git/info/exclude), without asking
    #[arg(long)]
    pub yes: bool,
}

#[derive(Debug, Clone, Args)]
pub struct Watch {
    /// The notes file; created if it does not exist [default: clada.md in the project folder]
    pub file: Option<PathBuf>,
    /// The project folder: no file task can leave it [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// How long to wait for further changes after a save, in milliseconds [default: watch.debounce]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub debounce: Option<u64>,
    /// How often to look for changes on file systems that report none, or off [default: watch.poll]
    #[arg(long, value_name = "TIME", value_parser = every)]
    pub poll: Option<Every>,
    #[command(flatten)]
    pub carrying: Carrying,
    /// Carry out copied replies that carry this chat's key, without a paste [default: clipboard.watch]
    #[arg(long)]
    pub from_clipboard: bool,
    /// Run the replies that are in the file when clada sees it for the first time
    #[arg(long)]
    pub run_existing: bool,
    /// How long the log keeps batches that are no longer in any notes file [default: ledger.days]
    #[arg(long, value_name = "DAYS")]
    pub ledger_days: Option<u32>,
    /// How large the ledger may grow before clada forgets the oldest of them, in MiB [default: ledger.size]
    #[arg(long, value_name = "MIB")]
    pub ledger_size: Option<u32>,
}

impl Watch {
    /// Returns the flags of the listener.
    pub fn flags(&self) -> Flags {
        Flags {
            debounce: self.debounce.map(Duration::from_millis),
            poll: self.poll,
            run_existing: self.run_existing,
            from_clipboard: self.from_clipboard,
            ledger_days: self.ledger_days,
            ledger_size: self.ledger_size,
            ..self.carrying.flags()
        }
    }
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// The file with the reply; `-` or nothing reads standard input
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
    /// The subject of the commits of each `<tasks>` without a `message` [default: its tasks' `<i>`, or the time]
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    #[command(flatten)]
    pub exec: ExecLimits,
    /// Also run the commands that would wait for your approval
    #[arg(long)]
    pub approve: bool,
    /// Show what each task would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Continue even if other users own or can write to the project folder
    #[arg(long)]
    pub allow_shared: bool,
}

/// Limits for commands, which override the settings.
#[derive(Debug, Clone, Args)]
pub struct ExecLimits {
    /// How long a command may take, unless its task sets another time limit [default: exec.timeout]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub exec_timeout: Option<Duration>,
    /// How far commands are confined [default: exec.sandbox]
    #[arg(long, value_name = "LEVEL", value_parser = named(["workspace", "read-only", "off"], sandbox))]
    pub sandbox: Option<Sandbox>,
}

impl ExecLimits {
    /// Returns the flags of a run.
    pub fn flags(&self, no_git: bool) -> RunFlags {
        RunFlags {
            timeout: self.exec_timeout,
            sandbox: self.sandbox,
            no_git,
            ..RunFlags::default()
        }
    }
}

#[derive(Debug, Args)]
pub struct OutlineArgs {
    /// Files and folders, relative to the project folder [default: all of it]
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Leave out tests, and what other files cannot use
    #[arg(long)]
    pub public: bool,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct ContextArgs {
    /// The notes file that the set belongs to [default: the one watched for the project folder, or its clada.md]
    pub file: Option<PathBuf>,
    /// The project folder [default: the one that the notes file is watched for, or this folder]
    #[arg(long, value_name = "DIR", global = true)]
    pub root: Option<PathBuf>,
    /// Print one text of at most so many tokens, such as 60k: the project's tree, the set, and outlines of related files
    #[arg(long, value_name = "TOKENS", value_parser = token_count)]
    pub budget: Option<usize>,
    /// The words on what you want to do: files and definitions with these names count as related
    #[arg(long = "for", value_name = "TEXT", requires = "budget")]
    pub wanted: Option<String>,
    /// Print only this part of the text, from 1, for chats that take less at once
    #[arg(long, value_name = "N", requires = "of", value_parser = clap::value_parser!(u32).range(1..))]
    pub part: Option<u32>,
    /// The size of a part in tokens, such as 20k
    #[arg(long, value_name = "TOKENS", requires = "part", value_parser = token_count)]
    pub of: Option<usize>,
    /// Copy the text to the clipboard instead of printing it
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
    /// Add files, folders or parts of files to the set
    ///
    /// A folder or a glob stays one: what is in it is looked up each time. Files that git ignores are left out.
    Add {
        /// Files, folders, globs such as `src/**/*.rs`, lines such as `src/lib.rs:1-80`, or definitions such as
        /// `src/lib.rs@@Widget@@draw`
        #[arg(value_name = "PATH[:LINES|@@NAMES]", required = true)]
        paths: Vec<String>,
        /// The part that the chat sees: full (all of it), outline (its definitions) or name [default: full]
        #[arg(long = "as", value_name = "LEVEL", value_parser = named(ContextLevel::ALL.map(ContextLevel::word), context_level))]
        level: Option<ContextLevel>,
    },
    /// Remove files, folders or definitions from the set
    Remove {
        /// The entries, as they were added
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<String>,
    },
    /// List the set with sizes, tokens and levels
    List,
    /// Remove the files, lines and definitions that no longer exist from the set
    Prune,
    /// Remove all files from the set
    Clear,
}

#[derive(Debug, Subcommand)]
pub enum ServiceVerb {
    /// Start clada now and at each login; run it again after moving the program
    Install,
    /// Stop clada and remove the service
    Uninstall,
    /// Start the service
    Start,
    /// Stop the service until the next login
    Stop,
    /// Restart the service, for example after an upgrade
    Restart,
    /// Show whether the service runs
    Status,
    /// Show the log of the service
    Logs {
        /// Follow the log until Ctrl-C
        #[arg(short, long)]
        follow: bool,
        /// How many lines to show
        #[arg(short, long, value_name = "N", default_value = "50")]
        number: usize,
    },
}

#[derive(Debug, Args)]
pub struct CopyArgs {
    /// The number or id of a batch, or the start of its id (see `clada log`) [default: the last one]
    pub batch: Option<String>,
    /// Print the results instead of copying them
    #[arg(long)]
    pub print: bool,
    /// The notes file [default: the one watched for the project folder, or its clada.md]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct InstructionsArgs {
    /// The notes file of the new chat [default: the one watched for this folder, or its clada.md]
    pub file: Option<PathBuf>,
    /// Copy the text to the clipboard instead of printing it
    #[arg(long)]
    pub copy: bool,
    /// Make another key for the notes file, so that copied replies with the previous one no longer count
    #[arg(long)]
    pub new_key: bool,
    /// The language to teach
    #[arg(long, value_name = "NAME", default_value = "cml", value_parser = named(Dialect::ALL.map(Dialect::name), dialect))]
    pub dialect: Dialect,
    /// The actions to list, such as read,grep; only for cml, nesl and sham [default: the usual ones in cml, all in the others]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    #[arg(value_parser = named(actions(), action))]
    pub actions: Vec<String>,
}

#[derive(Debug, Args)]
pub struct LogArgs {
    /// The number or id of a batch; only with --output
    #[arg(requires = "output")]
    pub batch: Option<String>,
    /// Print what was copied for the LLM after that batch, as `clada copy --print BATCH` does
    #[arg(long, requires = "batch", conflicts_with = "json")]
    pub output: bool,
    /// How many batches to show
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = how_many)]
    pub number: usize,
    /// Show only batches of this notes file; a watched file can be given by its name alone
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Show only batches of this project
    #[arg(long, conflicts_with = "file")]
    pub here: bool,
    /// The project folder for --here [default: the one that this folder is in]
    #[arg(long, value_name = "DIR", requires = "here")]
    pub root: Option<PathBuf>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// The commits that become one: without a choice, all that follow your latest commit.
#[derive(Debug, Args)]
pub struct SquashArgs {
    /// Squash the commits of this batch, given by its id or the start of it (see `clada log`)
    #[arg(long, value_name = "ID", group = "choice")]
    pub batch: Option<String>,
    /// Squash the commits after a revision or a time: `HEAD~5`, `main`, `2h`, `3d`, `10:30`, `2026-11-20`
    #[arg(long, value_name = "REF|TIME", group = "choice")]
    pub since: Option<String>,
    /// Squash the commits whose message contains this text
    #[arg(long, value_name = "TEXT", group = "choice")]
    pub containing: Option<String>,
    /// Squash the latest N commits that clada made
    #[arg(short, value_name = "N", group = "choice", value_parser = how_many)]
    pub number: Option<usize>,
    /// The subject of the new commit [default: their subjects joined, such as `Add login; Fix test (+2 more)`]
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,
    /// Show which commits would be squashed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Also squash pushed commits, and commits whose signatures are lost by it
    #[arg(long)]
    pub force: bool,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The notes file to check [default: the one watched for the project folder, or its clada.md]
    pub file: Option<PathBuf>,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UndoArgs {
    /// How many batches to revert, or the id of one or the start of it (see `clada log`) [default: 1]
    #[arg(value_name = "N|BATCH", value_parser = which)]
    pub which: Option<UndoneBatches>,
    #[command(flatten)]
    pub back: Back,
}

#[derive(Debug, Args)]
pub struct RedoArgs {
    /// How many undos to reapply
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub number: u16,
    #[command(flatten)]
    pub back: Back,
}

/// The flags for reverting batches.
#[derive(Debug, Args)]
pub struct Back {
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Keep changes made since, and merge them
    #[arg(long)]
    pub keep: bool,
    /// Show what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// The batches to undo: the last N, or one by its id.
#[derive(Debug, Clone)]
pub enum UndoneBatches {
    Last(usize),
    Named(String),
}

#[derive(Debug, Args)]
pub struct StepBackArgs {
    /// How many states to go back
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub number: u16,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct StepForwardArgs {
    /// How many states to go forward
    #[arg(value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    pub number: u16,
    /// Return to the present at once
    #[arg(long)]
    pub end: bool,
    /// Continue from the state that is shown now
    #[arg(long, conflicts_with = "end")]
    pub stay: bool,
    /// The project folder [default: this folder]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The id of a batch or the start of it (see `clada log`) [default: the latest]
    #[arg(value_name = "BATCH")]
    pub batch: Option<String>,
    /// Show only how much changed in each file
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

/// The reason why clap refuses a value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BadValue(Cow<'static, str>);

impl<T: Into<Cow<'static, str>>> From<T> for BadValue {
    fn from(why: T) -> Self {
        Self(why.into())
    }
}

const AT_LEAST_ONE: &str = "it must be at least 1";

/// Reads a number of batches, or an id: ids begin with a date, so they are longer than any sensible number.
fn which(text: &str) -> Result<UndoneBatches, BadValue> {
    match text.parse() {
        Ok(0) => Err(AT_LEAST_ONE.into()),
        Ok(number) if text.len() <= 4 => Ok(UndoneBatches::Last(number)),
        _ => Ok(UndoneBatches::Named(text.to_owned())),
    }
}

/// Reads how many commits or batches are meant.
fn how_many(text: &str) -> Result<usize, BadValue> {
    match text.parse() {
        Ok(0) => Err(AT_LEAST_ONE.into()),
        Ok(number) => Ok(number),
        Err(_) => Err("it must be a whole number from 1".into()),
    }
}

fn time(text: &str) -> Result<Duration, BadValue> {
    duration::parse(text).ok_or_else(|| format!("it must be {}", duration::FORM).into())
}

fn token_count(text: &str) -> Result<usize, BadValue> {
    tokens::parse(text).ok_or_else(|| format!("it must be {}", tokens::FORM).into())
}

fn context_level(text: &str) -> Result<ContextLevel, BadValue> {
    ContextLevel::parse(text).ok_or_else(|| "it must be full, outline or name".into())
}

fn every(text: &str) -> Result<Every, BadValue> {
    Every::parse(text).ok_or_else(|| format!("it must be {}", Every::FORM).into())
}

fn bare(name: &str) -> Result<String, BadValue> {
    let refused =
        "it must be a file name without a folder: the output file is next to the notes file";
    if is_bare(name) {
        Ok(name.to_owned())
    } else {
        Err(refused.into())
    }
}

/// A parser of values with these names, which shells complete.
#[derive(Clone)]
struct Named<T> {
    names: Vec<&'static str>,
    parse: fn(&str) -> Result<T, BadValue>,
}

fn named<T>(
    names: impl IntoIterator<Item = &'static str>,
    parse: fn(&str) -> Result<T, BadValue>,
) -> Named<T> {
    let names = names.into_iter().collect();
    Named { names, parse }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = self.names.iter().copied();
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

fn dialect(text: &str) -> Result<Dialect, BadValue> {
    let names = Dialect::ALL.map(Dialect::name);
    let nearest = nearest_name(text, names);
    let unknown = || format!("did you mean {}?", nearest.unwrap_or("cml")).into();
    Dialect::parse(&text.to_ascii_lowercase()).ok_or_else(unknown)
}

/// All names that [`action`] knows.
fn actions() -> impl Iterator<Item = &'static str> {
    let all = crate::reply::task::Command::all();
    all.flat_map(|command| {
        let taught = lessons::lesson(command).map(|_| command.name());
        let actions = lessons::actions(command).flat_map(|action| action.names);
        taught.into_iter().chain(actions.copied())
    })
}

fn action(text: &str) -> Result<String, BadValue> {
    let name = text.trim();
    lessons::command(name).map_err(|why| why.to_string())?;
    Ok(name.to_owned())
}

fn log_format(text: &str) -> Result<Format, BadValue> {
    by_name(text).ok_or("it must be text or json".into())
}

fn sandbox(text: &str) -> Result<Sandbox, BadValue> {
    by_name(text).ok_or("it must be workspace, read-only or off".into())
}
