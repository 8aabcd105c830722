//! The news that a listener has for the person, and the one who is told: a terminal, a log, the board.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::run::Progress;

/// Something that the person at the terminal is shown.
pub enum News<'n> {
    /// The file is watched from now on.
    Watching(&'n Path),
    Progress(Progress<'n>),
    /// Something to know that is no result.
    Note(&'n str),
    /// The reason why work that was begun waits; nothing when it waits no more. The person was told it already.
    Waits(Option<&'n str>),
    /// Something that clada could not do.
    Trouble(&'n str),
    /// A run is over.
    Results {
        block: &'n str,
        /// A command waits for approval.
        asks: bool,
    },
}

/// The one who is told the news of a listener. Clones are the same one.
#[derive(Clone)]
pub struct Observer(Rc<RefCell<NewsHandler>>);

type NewsHandler = dyn FnMut(News<'_>);

impl Observer {
    /// Makes an observer of a function.
    pub fn new(told: impl FnMut(News<'_>) + 'static) -> Self {
        Self(Rc::new(RefCell::new(told)))
    }

    pub(super) fn tell(&self, news: News<'_>) {
        (self.0.borrow_mut())(news);
    }

    pub(super) fn trouble(&self, what: &str) {
        self.tell(News::Trouble(what));
    }

    /// Tells of saves that came in while clada wrote the notes and are only in these files.
    pub(super) fn lacking(&self, saved: &[PathBuf]) {
        for kept in saved {
            self.trouble(&format!(
                "your notes file lacks a save that came in meanwhile: compare it with {}",
                kept.display()
            ));
        }
    }

    /// Tells a trouble unless it is the one that was `said` last.
    pub(super) fn trouble_once(&self, said: &mut String, what: &str) {
        if said != what {
            what.clone_into(said);
            self.trouble(what);
        }
    }
}
