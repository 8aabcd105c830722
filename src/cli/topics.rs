//! The pages of the manual, from `docs/`, and the commands that each is about.

/// A page of the manual.
#[derive(Debug)]
pub struct Topic {
    /// The word after `clada help`.
    pub name: &'static str,
    /// The subject of the page; the README's list of pages says the same.
    pub about: &'static str,
    /// The commands that the page is about.
    pub(super) commands: &'static [&'static str],
    /// The page in Markdown.
    pub page: &'static str,
}

/// The topics with the pages of the same names, and the commands that they are about.
macro_rules! topics {
    ($($name:literal: $about:literal => $commands:expr,)*) => {
        &[$(Topic {
            name: $name,
            about: $about,
            commands: &$commands,
            page: include_str!(concat!("../../docs/", $name, ".md")),
        }),*]
    };
}

/// All pages, as one would read them.
pub const TOPICS: &[Topic] = topics! {
    "guide": "your first week: set-up, editor, the daily round" => ["init"],
    "chats": "ChatGPT, Claude, Gemini and others: what to copy and paste" => ["instructions", "context", "outline"],
    "runs": "what runs when you save, and what does not" => ["watch", "log", "retry"],
    "git": "commits, undo, older states, squash" => ["undo", "redo", "step-back", "step-forward", "diff", "squash"],
    "commands": "what commands may do, and the fence around them" => ["approve", "tail"],
    "settings": "the settings, and which ones need your trust" => ["config", "trust"],
    "background": "many projects, as a service" => ["add", "remove", "list", "daemon", "service", "status"],
    "copied-replies": "two acts a round: copy the reply, paste the results" => ["pause", "resume"],
    "clipboard": "what is copied, also over SSH and in tmux" => ["copy"],
    "cml": "the language of replies" => ["run", "check"],
    "dialects": "diffs, patches and other formats that also work" => [],
    "troubleshooting": "symptoms, causes, fixes" => ["doctor"],
    "command-line": "every command and flag" => [],
    "architecture": "how clada works inside" => [],
};

/// The page of this name.
pub fn find(name: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.name == name)
}

/// The page about a command.
pub(super) fn of_command(command: &str) -> Option<&'static str> {
    let mut topics = TOPICS.iter();
    let topic = topics.find(|topic| topic.commands.contains(&command));
    topic.map(|topic| topic.name)
}
