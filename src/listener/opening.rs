//! Makes a listener from the ledger and the settings, and has it follow the settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Error;
use crate::git::{Survey, survey};
use crate::listener::claim::{Claim, ProcessShared, SettingsNews, shared_settings};
use crate::listener::delivery::Delivery;
use crate::listener::memory::Memory;
use crate::listener::notices::FIXED;
use crate::listener::observer::{News, Observer};
use crate::listener::rules::{self, RuleSource, RunRules};
use crate::listener::site::{Flags, Listening, Site};
use crate::listener::waiting::Pending;
use crate::listener::{Listener, project};
use crate::run::ChatReader;
use crate::run::exec::ExecRules;
use crate::settings::places;
use crate::settings::{LoadedSettings, Settings};
use crate::world::chat::ChatStore;
use crate::world::chat_keys::ChatKeys;
use crate::world::context::ContextStore;
use crate::world::ledger::Ledger;
use crate::world::lock::Lock;
use crate::world::note_file::{NoteError, NoteReading};
use crate::world::packet::Packets;
use crate::world::watch::Settle;

/// The notice about settings that a listener keeps for its whole life.
const LATER: &str = "⚠ `watch.poll` or `watch.output_file` changed: restart clada to apply that";

/// The message of a start where no repository is.
const KEEPS_SNAPSHOTS: &str =
    "no git repository here: clada keeps private snapshots, so `clada undo` works";

/// The settings of a listener.
pub(super) struct ListenerSettings {
    source: RuleSource,
    pub(super) flags: Flags,
    pub(super) news: SettingsNews,
    /// The warnings of the start, until they are shown.
    pub(super) warnings: Vec<String>,
}

impl<'c> Listener<'c> {
    /// Makes a listener from the ledger and the settings. Invalid settings leave the previous ones in effect.
    ///
    /// # Errors
    /// Where the project folder or the ledger cannot be used, or the notes file is not a regular file.
    pub async fn open(
        flags: &Flags,
        claim: &'c mut Claim,
        ledger: Ledger,
        shared: &ProcessShared,
        observer: Observer,
    ) -> Result<Self, Error> {
        let (site, note) = (&claim.site, &claim.note);
        let (folders, root) = (&site.folders, &site.root);
        let text = match note.read() {
            Ok(NoteReading::Text { text, .. }) => Some(text),
            Err(error @ NoteError::NotAFile { .. }) => return Err(error.into()),
            _ => None,
        };
        let own = note.places().into_iter().chain([claim.output.clone()]);
        let own: Vec<PathBuf> = own.collect();
        rules::avoid_known(folders);
        let loaded = Settings::load(folders, root).unwrap_or_else(|_| (*claim.good).clone());
        let start = RuleSource::start(folders, root, loaded, &flags.run, &shared.login).await;
        let source = start.source;
        // Errors are reported at the first read.
        let made = start
            .made
            .or_else(|_| source.made_of((*claim.good).clone()))?;
        let RunRules {
            setup,
            settings,
            notice,
        } = made;
        let listening = flags.listening(&settings);
        claim.good = shared_settings(LoadedSettings {
            settings,
            notice: notice.clone(),
        });
        // The user's services and shells are reported once, at the start.
        let not_logged_in = start.login.and_then(Result::err);
        let not_logged_in = not_logged_in.map(|error| error.to_string());
        let warnings = warnings_at_start(not_logged_in, &setup.rules, &source);
        let roots = (site.given_root.as_path(), root.as_path());
        let context = ContextStore::of(&folders.contexts(), root, note.path());
        let mut runner = project::runner(roots, folders, context, &own, setup)?;
        let locks = folders.locks();
        let others = || Lock::held(&locks, places::WATCHED_LOCKS);
        let limits = listening.retention;
        let (memory, was) = Memory::open(ledger, limits, note.path(), text.as_deref(), &others)?;
        let chat = ChatStore::of(&folders.chats(), root, note.path());
        if let Some(was) = &was {
            take_over(site, was, &runner.context, &chat);
            take_over_key(site, was, note.path());
        }
        runner.reader = Some(ChatReader::new(chat));
        let settle = Settle::new(listening.debounce);
        let delivery = Delivery::new(
            note.clone().hurried_by(shared.stop.clone()),
            &claim.output,
            Packets::of(&folders.packets(), note.path()),
            Arc::clone(&shared.clipboard),
            folders,
            listening,
            observer.clone(),
        );
        Ok(Self {
            claim,
            settings: ListenerSettings {
                source,
                flags: flags.clone(),
                news: SettingsNews {
                    notice,
                    wrong: None,
                },
                warnings,
            },
            runner,
            delivery,
            memory,
            stop: shared.stop.clone(),
            observer,
            pending: Pending::new(settle),
        })
    }

    /// Applies the current settings from now on; invalid settings leave the previous ones in effect.
    pub(super) fn apply_settings(&mut self) {
        let news = &mut self.settings.news;
        let RunRules {
            setup,
            settings,
            notice,
        } = match self.settings.source.setup() {
            Ok(fresh) => fresh,
            Err(error) => {
                news.wrong = Some(format!("⚠ {error}: the previous settings stay in effect"));
                return;
            }
        };
        news.wrong = None;
        self.runner.take(setup);
        let new = self.settings.flags.listening(&settings);
        let Listening { poll, output, .. } = self.delivery.listening.clone();
        let is_later = poll != new.poll || output != new.output;
        news.notice = notice.or(is_later.then(|| LATER.to_owned()));
        self.pending.settle.take(new.debounce);
        self.memory.limits = new.retention;
        self.claim.intake.watch(new.watches);
        self.claim.inbox.set_dialects(self.runner.setup.dialects);
        self.delivery.listening = Listening {
            poll,
            output,
            ..new
        };
    }

    /// True if there is something to tell with the next results that the person does not know.
    pub(super) fn is_untold(&self) -> bool {
        !self.pending.recovered.is_empty() || self.settings.news.wrong != self.claim.told.wrong
    }

    /// Returns what is to be said of invalid settings, or of some that are valid again; once.
    pub(super) fn news_of_wrong(&mut self) -> Option<String> {
        let (news, told) = (&self.settings.news.wrong, &mut self.claim.told.wrong);
        if news == told {
            return None;
        }
        told.clone_from(news);
        Some(news.clone().unwrap_or_else(|| FIXED.to_owned()))
    }

    /// Returns the reason why not all of the settings apply, if the person was told another one.
    pub(super) fn news_of_settings(&mut self) -> Option<String> {
        let (news, told) = (&self.settings.news.notice, &mut self.claim.told.notice);
        if news == told {
            return None;
        }
        told.clone_from(news);
        news.clone()
    }

    /// Tells the person at the first start that states are saved outside any repository of theirs.
    pub(super) fn tell_of_snapshots(&self) {
        let flags = &self.settings.flags;
        // A file that a link leads to now is in the same project.
        if flags.is_service || flags.led.is_some() {
            return;
        }
        let git = self.runner.setup.git.as_ref();
        let survey = git.map(|git| survey(self.runner.disk.path(), &git.options));
        if let Some(Ok(Survey::Private(_))) = survey {
            self.observer.tell(News::Note(KEEPS_SNAPSHOTS));
        }
    }
}

/// Returns the warnings of the start.
fn warnings_at_start(
    not_logged_in: Option<String>,
    rules: &ExecRules,
    source: &RuleSource,
) -> Vec<String> {
    let fence = rules.unfenced().or_else(|| rules.weaker());
    let warnings = not_logged_in.into_iter().chain(fence);
    let warnings = warnings.chain(rules.left_out());
    let warnings = warnings.chain(source.holds_home().map(str::to_owned));
    warnings.collect()
}

/// Takes over what the chat of a notes file worked with and knew while the file had another path.
fn take_over(site: &Site, was: &Path, context: &ContextStore, chat: &ChatStore) {
    let (folders, root) = (&site.folders, &site.root);
    // The next reply can add the files again.
    if let Err(error) = context.take_over(&ContextStore::of(&folders.contexts(), root, was)) {
        tracing::error!(%error, "context");
    }
    if let Err(error) = chat.take_over(&ChatStore::of(&folders.chats(), root, was)) {
        tracing::error!(%error, "what the chat knows of files");
    }
}

/// Takes over the key of a notes file, which its chat goes on to use.
fn take_over_key(site: &Site, was: &Path, now: &Path) {
    let keys = ChatKeys::new(site.folders.chat_keys());
    // A new key can be given to the chat.
    if let Err(error) = keys.take_over(was, now) {
        tracing::error!(%error, "the key of the chat");
    }
}
