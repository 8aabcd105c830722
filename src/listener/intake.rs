//! Takes in what is copied while clada watches the clipboard: finds the notes file whose key a reply carries, and puts the
//! reply into its inbox. Says why a text with tasks is not taken. Runs nothing.
//!
//! Any page or program can set the clipboard, and an old reply can come back in it. So a reply counts only with the key of a notes
//! file that this process watches, and only if the ledger knows none of its batches.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock;
use crate::listener::board::{Board, RefusedText, TakenReply};
use crate::listener::inbox::Inbox;
use crate::listener::last_notes::Hash;
use crate::listener::notices::{self, CopyRefusal};
use crate::novelty::batch_key;
use crate::reply::chat_key::ChatKey;
use crate::reply::copied_reply::{CopiedReply, judge};
use crate::reply::dialect::Dialects;
use crate::reply::scan::{alone, dedented, scan_for};
use crate::reply::task::Scan;
use crate::settings::Settings;
use crate::settings::places::{self, Folders};
use crate::world::chat_keys::ChatKeys;
use crate::world::clipboard::{Clipboard, ClipboardNews, CopiedText, CopyId};
use crate::world::desktop::{Desktop, Notice};
use crate::world::ledger::{KnownBatch, Ledger, LedgerError};
use crate::world::lock::Lock;
use crate::world::locked::locked;
use crate::world::once_a_while;
use crate::world::pause::Pause;

/// The most news that wait while a text is looked at; further ones are dropped.
const WAITING: usize = 16;
/// The time within which the same reply is no event: clipboard managers set texts again.
const SAME: Duration = Duration::from_secs(10);
/// The number of texts with keys of nobody's within a time that ends the watching.
const STRANGERS: (usize, Duration) = (10, Duration::from_secs(60));
/// The least time between two notifications about texts without the key.
const TOLD: Duration = Duration::from_secs(60);

/// The intake of one process. Clones are the same one.
#[derive(Clone)]
pub struct Intake {
    clipboard: Arc<Clipboard>,
    board: Board,
    watched: Arc<Mutex<Watched>>,
    place: Arc<OnceLock<IntakePlace>>,
}

/// The place of an intake in its process, once it may watch.
#[derive(Clone)]
struct IntakePlace {
    folders: Folders,
    /// The listeners tell the person at the terminal what is not taken.
    tells: bool,
}

/// The files whose replies count here, by their paths.
#[derive(Default)]
struct Watched {
    inboxes: HashMap<PathBuf, Arc<Inbox>>,
    is_on: bool,
}

impl Intake {
    pub(super) fn new(clipboard: Arc<Clipboard>, board: Board) -> Self {
        Self {
            clipboard,
            board,
            watched: Arc::default(),
            place: Arc::default(),
        }
    }

    /// Lets this process watch the clipboard. With `tells`, the listeners tell at the terminal what is not taken.
    pub(crate) fn open(&self, folders: &Folders, tells: bool) {
        let folders = folders.clone();
        let _ = self.place.set(IntakePlace { folders, tells });
    }

    /// Takes replies for a file from now on.
    pub(super) fn add(&self, file: &Path, inbox: Arc<Inbox>) {
        locked(&self.watched).inboxes.insert(file.to_owned(), inbox);
    }

    /// Takes no more replies for a file.
    pub(super) fn remove(&self, file: &Path) {
        locked(&self.watched).inboxes.remove(file);
    }

    /// Watches the clipboard from now on, or no more, where this process may.
    pub(crate) fn watch(&self, is_on: bool) {
        let Some(place) = self.place.get() else {
            return;
        };
        if std::mem::replace(&mut locked(&self.watched).is_on, is_on) == is_on {
            return;
        }
        self.board.watch_clipboard(is_on);
        if !is_on {
            self.clipboard.watch(None);
            return;
        }
        let (news, heard) = sync_channel(WAITING);
        let mut gate = Gate {
            board: self.board.clone(),
            watched: Arc::clone(&self.watched),
            place: place.clone(),
            taken: VecDeque::new(),
            strangers: VecDeque::new(),
            blind: String::new(),
        };
        let started = thread::Builder::new()
            .name("copied".to_owned())
            .spawn(move || gate.hear_all(&heard));
        if let Err(error) = started {
            tracing::warn!(%error, "cannot start the thread that watches the clipboard");
            return;
        }
        let tell = move |told| {
            if news.try_send(told).is_err() {
                tracing::debug!("a copied text was skipped");
            }
        };
        self.clipboard.watch(Some(Box::new(tell)));
    }
}

/// The state of the thread that looks at copied texts. It does not have the clipboard, which ends with its process.
struct Gate {
    board: Board,
    watched: Arc<Mutex<Watched>>,
    place: IntakePlace,
    /// The replies that were taken, each with its time.
    taken: VecDeque<(Instant, Hash)>,
    /// The times of texts with keys of nobody's.
    strangers: VecDeque<Instant>,
    /// The last reason why the clipboard cannot be watched.
    blind: String,
}

/// A reply for a notes file that is watched here.
struct Addressed {
    file: PathBuf,
    inbox: Arc<Inbox>,
    tasks: usize,
}

impl Gate {
    fn inboxes(&self) -> Vec<(PathBuf, Arc<Inbox>)> {
        let watched = locked(&self.watched);
        let inboxes = watched.inboxes.iter();
        inboxes
            .map(|(file, inbox)| (file.clone(), Arc::clone(inbox)))
            .collect()
    }

    fn hear_all(&mut self, heard: &Receiver<ClipboardNews>) {
        for news in heard {
            match news {
                ClipboardNews::Watching(way) => {
                    self.blind.clear();
                    tracing::info!(%way, "watching the clipboard");
                    self.tell(&notices::watching(&way));
                    self.board.clipboard(|watched| {
                        (watched.way, watched.trouble) = (Some(way), None);
                    });
                }
                ClipboardNews::Blind(error) => self.cannot_watch(&error.to_string()),
                ClipboardNews::Copied(copied) => {
                    self.take(copied);
                    tracing::debug!("looked at a copied text");
                }
            }
        }
    }

    fn cannot_watch(&mut self, why: &str) {
        if self.blind == why {
            return;
        }
        why.clone_into(&mut self.blind);
        tracing::warn!(why, "cannot watch the clipboard");
        self.tell(&notices::blind(why));
        self.board.clipboard(|watched| {
            (watched.way, watched.trouble) = (None, Some(why.to_owned()));
        });
    }

    /// Tells something at the terminal.
    fn tell(&self, news: &str) {
        if self.place.tells {
            for (_, inbox) in self.inboxes() {
                inbox.tell(news.to_owned());
            }
        }
    }

    /// Looks at a copied text, and takes it if it counts. What does not is not kept, and nobody is told what it says.
    fn take(&mut self, copied: CopiedText) {
        let now_ms = clock::now_ms();
        match Pause::read(&self.place.folders.state, now_ms) {
            Ok(None) => {}
            Ok(Some(_)) => return,
            Err(error) => return tracing::error!(%error, "cannot read whether watching is paused"),
        }
        let CopiedText { text, copy } = copied;
        // Some programs end a text with one.
        let text = text.trim_end_matches('\0').replace("\r\n", "\n");
        // Such a text would make the notes unreadable.
        if text.contains('\0') {
            return;
        }
        if self.is_taken(&text) {
            return;
        }
        match self.find(&text) {
            Found::Nothing => {}
            Found::Refused(refusal, file) => self.refuse(&refusal, file),
            Found::For(addressed) => {
                if let Some(refusal) = self.admit(&addressed, text, copy) {
                    self.refuse(&refusal, Some(addressed.file));
                }
            }
        }
    }

    /// Returns true if this very reply was taken just now.
    fn is_taken(&mut self, text: &str) -> bool {
        while self
            .taken
            .pop_front_if(|(at, _)| at.elapsed() >= SAME)
            .is_some()
        {}
        let own = Hash::of(text);
        self.taken.iter().any(|(_, taken)| *taken == own)
    }

    /// Finds the notes file that a text is for, or the reason why it is for none. The dialects that count depend on the file.
    fn find(&mut self, text: &str) -> Found {
        let all = self.inboxes();
        let mut by_dialects: HashMap<Dialects, Vec<&(PathBuf, Arc<Inbox>)>> = HashMap::new();
        for watched in &all {
            let same = by_dialects.entry(watched.1.dialects()).or_default();
            same.push(watched);
        }
        let mut worst = (CopiedReply::Prose, KeyOwner::Nobody);
        for (dialects, inboxes) in by_dialects {
            let reply = judge(text, &scan_for(text, dialects));
            let owner = match reply {
                CopiedReply::Keyed { key, .. } | CopiedReply::CutOff { key: Some(key), .. } => {
                    self.owner(key)
                }
                _ => KeyOwner::Nobody,
            };
            let is_owner = |file: &Path| matches!(&owner, KeyOwner::Notes(own) if own == file);
            let found = inboxes.into_iter().find(|(file, _)| is_owner(file));
            match (found, reply) {
                (Some((file, inbox)), CopiedReply::Keyed { tasks, .. }) => {
                    return Found::For(Addressed {
                        file: file.clone(),
                        inbox: Arc::clone(inbox),
                        tasks,
                    });
                }
                (Some((file, _)), _) => {
                    return Found::Refused(CopyRefusal::CutOff, Some(file.clone()));
                }
                // It is for a file whose dialects are others.
                (None, _) if all.iter().any(|(file, _)| is_owner(file)) => {}
                (None, reply) if rank(reply) > rank(worst.0) => worst = (reply, owner),
                (None, _) => {}
            }
        }
        self.not_ours(worst.0, worst.1)
    }

    /// Finds the reason why a text that is for no file of this process is not taken.
    fn not_ours(&mut self, reply: CopiedReply, owner: KeyOwner) -> Found {
        let refusal = match (reply, owner) {
            (CopiedReply::Prose | CopiedReply::Example, _) => return Found::Nothing,
            (CopiedReply::CutOff { key: None, tasks } | CopiedReply::Unkeyed { tasks }, _) => {
                CopyRefusal::NoKey { tasks }
            }
            (CopiedReply::Mixed { tasks }, _) => CopyRefusal::SeveralKeys { tasks },
            (CopiedReply::CutOff { tasks, .. } | CopiedReply::Keyed { tasks, .. }, owner) => {
                match owner {
                    // That one acts, and speaks.
                    KeyOwner::Notes(file) if self.is_watched(&file) => return Found::Nothing,
                    KeyOwner::Nobody => self.count_stranger(),
                    _ => {}
                }
                CopyRefusal::OtherKey { tasks }
            }
        };
        Found::Refused(refusal, None)
    }

    fn owner(&self, key: ChatKey) -> KeyOwner {
        match ChatKeys::new(self.place.folders.chat_keys()).notes_of(key) {
            Ok(Some(file)) => KeyOwner::Notes(file),
            Ok(None) => KeyOwner::Nobody,
            Err(error) => {
                tracing::error!(%error, "cannot read the keys");
                KeyOwner::Unknown
            }
        }
    }

    /// Returns true if some clada of this user watches a notes file.
    fn is_watched(&self, file: &Path) -> bool {
        let locks = self.place.folders.locks();
        let watched = Lock::held(&locks, &places::WATCHED_LOCKS[..1]);
        watched.iter().any(|watched| watched == file)
    }

    /// Counts a text with a key of nobody's, and ends the watching where they are too many.
    fn count_stranger(&mut self) {
        let (most, time) = STRANGERS;
        while self
            .strangers
            .pop_front_if(|at| at.elapsed() >= time)
            .is_some()
        {}
        self.strangers.push_back(Instant::now());
        if self.strangers.len() < most {
            return;
        }
        self.strangers.clear();
        let pause = Pause {
            since_ms: clock::now_ms(),
            until_ms: None,
            why: Some(notices::STRANGERS.to_owned()),
        };
        if let Err(error) = pause.begin(&self.place.folders.state) {
            tracing::error!(%error, "cannot pause the watching of the clipboard");
            return;
        }
        tracing::warn!("{}", notices::STRANGERS);
        self.tell(notices::STRANGERS);
        let (title, body) = notices::strangers();
        self.show(title, body, None);
    }

    /// Takes a reply, unless it ran already. Returns the reason why not, if that is to be said.
    fn admit(&mut self, to: &Addressed, text: String, copy: CopyId) -> Option<CopyRefusal> {
        let scan = scan_for(&text, to.inbox.dialects());
        let batches = scan.batches.iter();
        let mut batches = batches.map(|batch| &text[batch.span.clone()]);
        if batches.any(|batch| to.inbox.holds(batch)) {
            return None;
        }
        match self.known(&text, &scan) {
            Ok(None) => {}
            Ok(Some((known, _))) if known.began_ms.is_some() && known.ended_ms.is_none() => {
                return None;
            }
            Ok(Some((batch, is_all))) => return Some(CopyRefusal::Known { batch, is_all }),
            Err(error) => return Some(CopyRefusal::NoLedger(error.to_string())),
        }
        drop(scan);
        let own = Hash::of(&text);
        if let Err(error) = to.inbox.put(text, copy) {
            return Some(CopyRefusal::NotKept(error.to_string()));
        }
        tracing::info!(file = %to.file.display(), tasks = to.tasks, "took a copied reply");
        self.taken.push_back((Instant::now(), own));
        let taken = TakenReply {
            at: clock::now_ms().div_euclid(1000),
            file: to.file.clone(),
            tasks: to.tasks,
        };
        self.board.clipboard(|watched| watched.taken = Some(taken));
        None
    }

    /// Returns a batch of a text that the ledger knows, of whichever file, and whether it knows all of them.
    fn known(
        &self,
        text: &str,
        scan: &Scan<'_>,
    ) -> Result<Option<(KnownBatch, bool)>, LedgerError> {
        let Some(ledger) = Ledger::read(&self.place.folders.state)? else {
            return Ok(None);
        };
        let seed = ledger.seed();
        let indented = ledger.indented()?;
        let mut known = Vec::new();
        for batch in &scan.batches {
            let plain = seed.key(&dedented(&alone(text, batch)));
            let mut found = ledger.batch_with(batch_key(seed, text, batch))?;
            if found.is_none() {
                found = ledger.batch_with(plain)?;
            }
            if found.is_none() {
                let mut same = indented.iter();
                let same = same.find(|(text, _)| seed.key(&dedented(text)) == plain);
                found = same.map(|(_, batch)| batch.clone());
            }
            known.extend(found);
        }
        let all = known.len() == scan.batches.len();
        Ok(known.pop().map(|batch| (batch, all)))
    }

    /// Tells why a text is not taken, of a file of this process where it has its key. About others' texts it is told once a minute, by
    /// one of this user's cladas.
    fn refuse(&self, refusal: &CopyRefusal, file: Option<PathBuf>) {
        let inboxes = self.inboxes();
        let only = match &inboxes[..] {
            [(only, _)] => Some(only.clone()),
            _ => None,
        };
        let about = file.clone().or(only);
        let (title, body) = refusal.said(about.as_deref());
        let refused = RefusedText {
            at: clock::now_ms().div_euclid(1000),
            why: title.clone(),
        };
        self.board
            .clipboard(|watched| watched.refused = Some(refused));
        tracing::info!("did not take a copied text: {title}");
        let is_due = || {
            let due =
                once_a_while::is_due(&self.place.folders.state, "refused", TOLD, clock::now_ms());
            due.unwrap_or_else(|error| {
                tracing::error!(%error, "cannot note a notification");
                false
            })
        };
        if file.is_some() || is_due() {
            self.tell(&format!("{title}: {body}"));
            self.show(title, body, about);
        }
    }

    /// Shows a notification, unless the user wants none.
    fn show(&self, title: String, body: String, opens: Option<PathBuf>) {
        let settings = Settings::of_user(&self.place.folders);
        if settings.is_ok_and(|settings| !settings.notify.enabled) {
            return;
        }
        Desktop::of_process().tell(Notice { title, body, opens });
    }
}

/// The notes file that a text is for.
enum Found {
    /// There is nothing to be done or said.
    Nothing,
    /// It is not taken; the file whose key it has, if any.
    Refused(CopyRefusal, Option<PathBuf>),
    For(Addressed),
}

/// Returns how much there is to say of a text that was read so: in other dialects it may be read otherwise.
fn rank(reply: CopiedReply) -> u8 {
    match reply {
        CopiedReply::Prose => 0,
        CopiedReply::Example => 1,
        CopiedReply::Unkeyed { .. } | CopiedReply::CutOff { key: None, .. } => 2,
        CopiedReply::Mixed { .. } => 3,
        CopiedReply::CutOff { .. } | CopiedReply::Keyed { .. } => 4,
    }
}

/// The owner of a key.
enum KeyOwner {
    /// This notes file of this user.
    Notes(PathBuf),
    Nobody,
    /// The keys cannot be read.
    Unknown,
}
