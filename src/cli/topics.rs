//! The pages of the manual, from `docs/`, and the commands that each is about.

use super::document::layout;
use super::document::{self, Passage, Span};

/// A page of the manual.
#[derive(Debug)]
pub struct Topic {
    /// The word after `clada help`.
    pub name: &'static str,
    /// The subject of the page; the README's list of pages says the same.
    pub about: &'static str,
    /// The page in Markdown.
    pub page: &'static str,
}

/// The topics with the pages of the same names.
macro_rules! topics {
    ($($name:literal: $about:literal,)*) => {
        &[$(Topic {
            name: $name,
            about: $about,
            page: include_str!(concat!("../../docs/", $name, ".md")),
        }),*]
    };
}

/// All pages, as one would read them.
pub const TOPICS: &[Topic] = topics! {
    "guide": "your first week: set-up, editor, the daily round",
    "chats": "ChatGPT, Claude, Gemini and others: what to copy and paste",
    "runs": "what runs when you save, and what does not",
    "git": "commits, undo, older states, squash",
    "commands": "what commands may do, and the fence around them",
    "settings": "the settings, and which ones need your trust",
    "background": "many projects, as a service",
    "clipboard": "what is copied, also over SSH and in tmux",
    "cml": "the language of replies",
    "dialects": "diffs, patches and other formats that also work",
    "troubleshooting": "symptoms, causes, fixes",
    "command-line": "every command and flag",
    "architecture": "how clada works inside",
};

/// The commands that a page is about.
const ABOUT: [(&str, &[&str]); 10] = [
    ("guide", &["init"]),
    ("chats", &["instructions", "context"]),
    ("runs", &["watch", "log", "retry"]),
    (
        "git",
        &[
            "undo",
            "redo",
            "step-back",
            "step-forward",
            "diff",
            "squash",
        ],
    ),
    ("commands", &["approve", "tail"]),
    ("settings", &["config", "trust"]),
    (
        "background",
        &["add", "remove", "list", "daemon", "service", "status"],
    ),
    ("clipboard", &["copy"]),
    ("cml", &["run", "check"]),
    ("troubleshooting", &["doctor"]),
];

/// The page of this name.
pub fn find(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// The page about a command.
pub(super) fn of_command(command: &str) -> Option<&'static str> {
    let page = ABOUT.iter().find(|(_, about)| about.contains(&command));
    page.map(|(page, _)| *page)
}

impl Topic {
    /// The page in lines of at most a width; only code may be longer.
    pub fn lines(&self, width: usize) -> Vec<Vec<Span>> {
        layout::lines(&self.passages(), width)
    }

    /// The commands that the page is about.
    pub(super) fn commands(&self) -> &'static [&'static str] {
        let about = ABOUT.iter().find(|(page, _)| *page == self.name);
        about.map_or(&[], |(_, commands)| *commands)
    }

    pub(super) fn passages(&self) -> Vec<Passage> {
        document::parse(self.page)
    }
}
