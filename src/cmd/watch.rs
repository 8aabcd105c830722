//! `clada watch`: watches a notes file until it is stopped.

use std::cell::RefCell;
use std::io::{Stdout, stdout};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::cli::Listen;
use crate::cli::terminal::Terminal;
use crate::cmd::exclude::{self, ExcludeAnswer, ExcludeOffer};
use crate::error::Error;
use crate::listener::board::{Board, ProcessKind};
use crate::listener::{
    Begin, Claim, Flags, Listener, News, Observer, Parting, ProcessShared, Site,
};
use crate::reply::note::RESULTS;
use crate::settings::Settings;
use crate::settings::places::NOTES;
use crate::start;
use crate::text::paths;
use crate::world::ledger::Ledger;
use crate::world::note_file::NoteError;
use crate::world::scarce;

/// The pause until clada retries a notes file behind a link that it cannot watch.
const AGAIN: Duration = Duration::from_secs(1);

/// The line that the terminal shows below results in which a command waits for approval.
const HOW_TO_APPROVE: &str =
    "  (to approve: tick the box in the notes file, or run `clada approve`)";

/// The terminal, which the observers of all listeners write to.
type SharedTerminal = Rc<RefCell<Terminal<Stdout>>>;

/// Watches.
///
/// # Errors
/// Where the file cannot be watched, or another clada process watches it.
pub fn main(args: &Listen) -> Result<ExitCode, Error> {
    let Listen { watch: args, yes } = args;
    let mut flags = args.flags();
    let site = || {
        let (given, root) = start::find_root(args.root.as_deref())?;
        Site::new(given, root, args.file.clone())
    };
    let shared = ProcessShared::start(start::stop_signal()?);
    let mut claim = take(&flags, site()?, &shared)?;
    let terminal: SharedTerminal = Rc::new(RefCell::new(Terminal::new(stdout())));
    if let Some(shortfall) = scarce::shortfall() {
        terminal.borrow_mut().trouble(&shortfall);
    }
    if let Begin::Made(_) = claim.begin {
        let made = claim.note.path().display();
        terminal.borrow_mut().line(&format!("created {made}"));
    }
    if offer_to_exclude(&claim, *yes, &shared.stop)? == ExcludeAnswer::Stopped {
        return Ok(ExitCode::SUCCESS);
    }
    let board = shared.board.clone();
    let _socket = board.serve(&claim.site.folders, ProcessKind::Watch);
    shared.intake.open(&claim.site.folders, true);
    start::runtime()?.block_on(async {
        loop {
            match listen(&flags, &mut claim, &shared, &board, &terminal).await {
                Ok(Parting::Done) => return Ok(ExitCode::SUCCESS),
                Ok(Parting::Moved) => {}
                Err(error) if flags.led.is_some() => {
                    terminal.borrow_mut().trouble(&error.to_string());
                }
                Err(error) => return Err(error),
            }
            board.remove(claim.note.path());
            flags.led = Some(claim.note.lead().clone());
            // The replies that are already in the other file were not asked for.
            flags.run_existing = false;
            let told = claim.told.clone();
            // Its locks are released before others are taken.
            drop(claim);
            let take = || take_readable(&flags, site()?, &shared);
            match take_when_possible(take, &shared.stop, &terminal).await {
                Some(other) => claim = other,
                None => return Ok(ExitCode::SUCCESS),
            }
            claim.told = told;
        }
    })
}

/// Claims the notes file for this process.
fn take(flags: &Flags, site: Site, shared: &ProcessShared) -> Result<Claim, Error> {
    let ledger = Ledger::open(&site.folders.state)?;
    let settings = [Settings::user_file(&site.folders)];
    Claim::take(flags, site, shared, &settings, &ledger, true)
}

/// Claims a notes file that is a regular file, or does not exist yet.
fn take_readable(flags: &Flags, site: Site, shared: &ProcessShared) -> Result<Claim, Error> {
    let claim = take(flags, site, shared)?;
    match claim.note.read() {
        Err(error @ NoteError::NotAFile { .. }) => Err(error.into()),
        _ => Ok(claim),
    }
}

/// Claims the notes file that a link leads to now, as soon as that is possible; `None` if clada is stopped first.
async fn take_when_possible(
    take: impl Fn() -> Result<Claim, Error>,
    stop: &watch::Receiver<bool>,
    terminal: &SharedTerminal,
) -> Option<Claim> {
    let mut stop = stop.clone();
    let mut said = String::new();
    while !*stop.borrow() {
        match take() {
            Ok(claim) => return Some(claim),
            Err(error) => {
                let why = format!("{error}; clada retries until it works");
                if why != said {
                    terminal.borrow_mut().trouble(&why);
                    said = why;
                }
            }
        }
        let _ = timeout(AGAIN, stop.wait_for(|stop| *stop)).await;
    }
    None
}

/// Watches the notes file until its name leads to another one.
async fn listen(
    flags: &Flags,
    claim: &mut Claim,
    shared: &ProcessShared,
    board: &Board,
    terminal: &SharedTerminal,
) -> Result<Parting, Error> {
    let ledger = Ledger::open(&claim.site.folders.state)?;
    let (board, terminal) = (board.clone(), Rc::clone(terminal));
    let (file, root) = (claim.note.path().to_owned(), claim.site.root.clone());
    let observer = Observer::new(move |news| {
        board.hear(&file, &root, &news);
        show(&mut terminal.borrow_mut(), &news);
    });
    let begin = claim.begin;
    let mut listener = Listener::open(flags, claim, ledger, shared, observer).await?;
    Ok(listener.listen(begin, shared.stop.clone(), None).await)
}

/// Offers to make git ignore the notes file, under each of its names, and the output file.
fn offer_to_exclude(
    claim: &Claim,
    yes: bool,
    stop: &watch::Receiver<bool>,
) -> Result<ExcludeAnswer, Error> {
    let site = &claim.site;
    let named = std::path::absolute(&site.file)?;
    let command = if named == site.root.join(NOTES) {
        "clada init --yes".to_owned()
    } else {
        let elsewhere = named.parent() != Some(site.root.as_path());
        let root = elsewhere.then(|| format!(" --root {}", paths::quoted(&site.given_root)));
        let root = root.unwrap_or_default();
        format!("clada watch --yes{root} {}", paths::quoted(&site.file))
    };
    let files = [named, claim.note.path().to_owned(), claim.output.clone()];
    let offer = ExcludeOffer {
        yes,
        command: &command,
        stop,
    };
    exclude::offer(&site.folders, &files, &offer)
}

/// Returns an observer that shows the news in this terminal.
pub(super) fn shown_here() -> Observer {
    let mut terminal = Terminal::new(stdout());
    Observer::new(move |news| show(&mut terminal, &news))
}

fn show(terminal: &mut Terminal<Stdout>, news: &News<'_>) {
    match news {
        News::Watching(path) => terminal.line(&format!("watching {}", path.display())),
        News::Progress(progress) => terminal.progress(progress),
        News::Note(note) => terminal.line(note),
        News::Waits(_) => {}
        News::Trouble(trouble) => terminal.trouble(trouble),
        News::Results { block, asks } => {
            // The tasks were shown as they ended; the block's other lines are new.
            let new = |line: &&str| {
                !line.starts_with("===") && !line.starts_with(|c: char| c.is_ascii_digit())
            };
            let (status, results) = block.split_once(RESULTS).unwrap_or(("", block));
            let hint = asks.then_some(HOW_TO_APPROVE);
            // Boxes belong below their tasks, so how the copying went comes last.
            let lines = results.lines().chain(hint).chain(status.lines());
            for line in lines.filter(|line| !line.is_empty()).filter(new) {
                terminal.line(line);
            }
        }
    }
}
