//! Reads git's configuration as git does, to find what it would have git run. Never follows an include, and writes nothing.

use std::iter::Peekable;
use std::str::Chars;

/// A line of a configuration: `section.subsection.key`, the section and the key in small letters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigLine {
    section: String,
    subsection: String,
    key: String,
    pub(super) value: String,
}

/// Sections, and their keys whose values git runs. `*` is any key.
const RUN: [(&str, &str); 31] = [
    ("alias", "*"),
    ("browser", "cmd path"),
    (
        "core",
        "alternaterefscommand askpass editor fsmonitor gitproxy hookspath pager sshcommand",
    ),
    ("credential", "helper"),
    ("diff", "command external textconv"),
    ("difftool", "cmd path"),
    ("filter", "clean process smudge"),
    ("gpg", "defaultkeycommand program"),
    ("guitool", "cmd"),
    ("hook", "command"),
    ("imap", "tunnel"),
    ("include", "path"),
    ("includeif", "path"),
    ("init", "templatedir"),
    ("instaweb", "browser httpd"),
    ("interactive", "difffilter"),
    ("man", "cmd path viewer"),
    ("merge", "driver"),
    ("mergetool", "cmd path"),
    ("pager", "*"),
    ("protocol", "allow"),
    ("receive", "procreceiverefs"),
    ("remote", "receivepack uploadpack vcs"),
    ("sendemail", "cccmd headercmd sendmailcmd smtpserver tocmd"),
    ("sequence", "editor"),
    ("submodule", "update"),
    ("tar", "command"),
    ("trailer", "cmd command"),
    ("uploadpack", "packobjectshook"),
    ("url", "insteadof pushinsteadof"),
    ("web", "browser"),
];

/// The words for true and false, which name no program.
const BOOLEANS: [&str; 8] = ["true", "yes", "on", "1", "false", "no", "off", "0"];

/// The values that `git lfs install` writes, which name no program of the repository's.
const LFS: [&str; 3] = [
    "git-lfs clean -- %f",
    "git-lfs smudge -- %f",
    "git-lfs filter-process",
];

impl ConfigLine {
    /// The value, if it is that of this key.
    pub(super) fn of(&self, section: &str, key: &str) -> Option<&str> {
        let is_it = self.section == section && self.subsection.is_empty() && self.key == key;
        is_it.then_some(self.value.as_str())
    }

    /// The key as git names it.
    pub(super) fn name(&self) -> String {
        let subsection = match self.subsection.as_str() {
            "" => String::new(),
            name => format!("{name}."),
        };
        format!("{}.{subsection}{}", self.section, self.key)
    }

    /// Tells that git would run the value, or take programs from where it leads.
    pub(super) fn runs(&self) -> bool {
        let keys = RUN.iter().find(|(section, _)| *section == self.section);
        let is_named =
            keys.is_some_and(|(_, keys)| keys.split(' ').any(|key| key == "*" || key == self.key));
        let value = self.value.trim();
        let is_boolean = || BOOLEANS.contains(&value.to_lowercase().as_str());
        is_named
            && !value.is_empty()
            && match self.section.as_str() {
                // It could also set what is run, as in `-c core.pager=x log`.
                "alias" => value.starts_with(['!', '-']),
                "submodule" => value.starts_with('!'),
                // Git's own watcher, or none.
                "core" if self.key == "fsmonitor" => !is_boolean(),
                "pager" => !is_boolean(),
                "filter" => !LFS.contains(&value),
                "protocol" => self.subsection == "ext" || self.subsection.is_empty(),
                // Only such an address is a command.
                "url" => self.subsection.contains("ext::"),
                _ => true,
            }
    }
}

/// Reads all lines, up to the first that git does not understand: there it gives up, and runs nothing.
pub(super) fn lines(text: &str) -> Vec<ConfigLine> {
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let mut reader = ConfigReader {
        chars: text.chars().peekable(),
    };
    let (mut section, mut subsection) = (String::new(), String::new());
    let mut lines = Vec::new();
    while let Some(next) = reader.chars.next() {
        match next {
            '#' | ';' => reader.skip_line(),
            '[' => match reader.header() {
                Some(header) => (section, subsection) = header,
                None => break,
            },
            next if next.is_whitespace() => {}
            next if next.is_ascii_alphabetic() => {
                let key = reader.key(next);
                let Some(value) = reader.value() else { break };
                lines.push(ConfigLine {
                    section: section.clone(),
                    subsection: subsection.clone(),
                    key,
                    value,
                });
            }
            _ => break,
        }
    }
    lines
}

struct ConfigReader<'t> {
    chars: Peekable<Chars<'t>>,
}

impl ConfigReader<'_> {
    fn skip_line(&mut self) {
        while self.chars.next().is_some_and(|next| next != '\n') {}
    }

    fn skip_blanks(&mut self) {
        let is_blank = |next: &char| matches!(next, ' ' | '\t');
        while self.chars.next_if(is_blank).is_some() {}
    }

    /// The rest of `[section "subsection"]`, or of `[section.subsection]`.
    fn header(&mut self) -> Option<(String, String)> {
        let mut section = String::new();
        loop {
            match self.chars.next()? {
                ']' => {
                    let (first, rest) = section.split_once('.').unwrap_or((&section, ""));
                    return Some((first.to_owned(), rest.to_owned()));
                }
                '\n' => return None,
                next if next.is_whitespace() => break,
                next => section.extend(next.to_lowercase()),
            }
        }
        self.skip_blanks();
        self.chars.next_if_eq(&'"')?;
        let mut subsection = String::new();
        loop {
            match self.chars.next()? {
                '"' => break,
                '\\' => subsection.push(self.chars.next().filter(|next| *next != '\n')?),
                '\n' => return None,
                next => subsection.push(next),
            }
        }
        self.chars.next_if_eq(&']')?;
        Some((section, subsection))
    }

    fn key(&mut self, first: char) -> String {
        let mut key = first.to_lowercase().to_string();
        let is_more = |next: &char| next.is_ascii_alphanumeric() || *next == '-';
        while let Some(next) = self.chars.next_if(is_more) {
            key.extend(next.to_lowercase());
        }
        key
    }

    /// The rest of a line behind its key, and those that it goes on in. A key alone is true.
    fn value(&mut self) -> Option<String> {
        self.skip_blanks();
        match self.chars.next() {
            None | Some('\n') => return Some("true".to_owned()),
            Some('=') => {}
            Some(_) => return None,
        }
        let (mut value, mut is_quoted, mut kept) = (String::new(), false, 0);
        loop {
            match self.chars.next() {
                None | Some('\n') if is_quoted => return None,
                None | Some('\n') => break,
                Some('#' | ';') if !is_quoted => {
                    self.skip_line();
                    break;
                }
                Some('"') => {
                    is_quoted = !is_quoted;
                    kept = value.len();
                }
                Some('\\') => {
                    match self.chars.next()? {
                        '\n' => continue,
                        'n' => value.push('\n'),
                        't' => value.push('\t'),
                        'b' => value.push('\u{8}'),
                        next @ ('"' | '\\') => value.push(next),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some(next) if next.is_whitespace() && !is_quoted => {
                    if !value.is_empty() {
                        value.push(next);
                    }
                }
                Some(next) => {
                    value.push(next);
                    kept = value.len();
                }
            }
        }
        value.truncate(kept);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, String)> {
        let lines = lines(text);
        let found = lines.iter().map(|line| (line.name(), line.value.clone()));
        found.collect()
    }

    #[test]
    fn a_configuration_is_read_as_git_reads_it() {
        let text = "\u{feff}# a [core] comment\n[Core] fsMonitor = ./evil  ; end\n\tbare\n[alias \"a\\\"B\"]\n x = \"!sh; -c\" 'y' \\\n  z\r\n[diff.Old]textconv=t\n";
        let line = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found(text),
            [
                line("core.fsmonitor", "./evil"),
                line("core.bare", "true"),
                line("alias.a\"B.x", "!sh; -c 'y'   z"),
                line("diff.old.textconv", "t"),
            ]
        );
        assert_eq!(found("[core]\na = 1\n!\nb = 2"), [line("core.a", "1")]);
        assert_eq!(found("[core\nfsmonitor = x"), []);
        assert_eq!(found("[alias \"a\\\nb\"]\nx = !y"), []);
    }

    #[test]
    fn what_git_would_run_is_known() {
        let runs = |text: &str| lines(text).iter().any(ConfigLine::runs);
        for text in [
            "[core]fsmonitor=./evil",
            "[CORE]\nsshCommand = evil",
            "[core]hooksPath=x",
            "[alias]\nst = !evil",
            "[alias]\nst = -c core.pager=evil log",
            "[filter \"x\"]\nclean = evil",
            "[diff \"x\"]\ntextconv = evil",
            "[diff]\nexternal = evil",
            "[merge \"x\"]\ndriver = evil",
            "[credential \"https://example.org\"]\nhelper = !evil",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[include]\npath = x",
            "[gpg \"ssh\"]\nprogram = evil",
            "[submodule \"x\"]\nupdate = !evil",
            "[sequence]\neditor = evil",
            "[uploadpack]\npackObjectsHook = evil",
        ] {
            assert!(runs(text), "{text}");
        }
        for text in [
            "[core]\nbare = false\nfsmonitor = true\npager =\n",
            "[alias]\nst = status",
            "[remote \"origin\"]\nurl = x\nfetch = +refs/heads/*:refs/remotes/origin/*",
            "[branch \"main\"]\nmerge = refs/heads/main",
            "[filter \"lfs\"]\nclean = git-lfs clean -- %f",
            "[submodule \"x\"]\nactive = true\nupdate = rebase",
            "[merge]\nconflictStyle = diff3",
        ] {
            assert!(!runs(text), "{text}");
        }
    }
}
