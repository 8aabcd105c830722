//! Every message of the program in one list, read from the source: where it is, when it is said, what it says, and what to do
//! next. Each is short, and some case quotes it.
//!
//! `cargo test --test it messages_list -- --nocapture` prints the list.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::sync::OnceLock;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::cases;
use crate::docs::{LONGEST, long_sentences};
use crate::tidy;

/// The shortest fragment that tells one message from another, in characters.
const FRAGMENT: usize = 9;

/// Words over which readers stumbled, and the usual ones.
const WORDS_OF_OLD: &[(&str, &str)] = &[
    (" mend", "fix"),
    ("take back", "revert"),
    ("taken back", "reverted"),
    ("takes back", "reverts"),
    ("of before", "previous"),
    ("passed over", "skipped"),
    (" told of", "reported"),
    ("tell how it does", "show its state"),
    ("onto the clipboard", "to the clipboard"),
    ("the cladas", "running clada processes"),
    (" goes on", "continues"),
    (" go on ", "continue"),
    ("somebody", "another user"),
    (" nobody", "no one"),
    ("no more ", "no longer"),
    (" any more", "any longer"),
    (", else ", "otherwise"),
    ("does not count", "is ignored"),
    (" hold from", "apply from"),
    ("wait for your word", "wait for your approval"),
];

/// A message that no case quotes, and why.
#[derive(Debug)]
struct Without {
    /// The file, or how its path begins.
    file: &'static str,
    /// A part of the message; of all where it is empty.
    text: &'static str,
    #[expect(dead_code, reason = "it is for the reader, and shown by Debug")]
    why: &'static str,
}

impl Without {
    fn is(&self, message: &Message) -> bool {
        message.file.starts_with(self.file) && message.text.contains(self.text)
    }
}

// What a message without a case would need.
const LOG: &str = "a line of the log about a failure that a full disk or a broken system makes";
const KILL: &str = "a clada that is killed at the right system call";
const SYSTEM: &str = "a system, a kernel or a desktop that the test machine is not";
const NO_MESSAGE: &str = "no message: what a program, a protocol or a file of a machine says";
const PART: &str = "a verb or a name in another message";

/// The messages that nothing can provoke in a test, and strings that are none.
const WITHOUT_CASE: &[Without] = &[
    Without {
        file: "src/listener/intake.rs",
        text: "",
        why: "the log of clada's own work, and what a state folder that cannot be used leads to",
    },
    Without {
        file: "src/world/syntax/grammar/source.rs",
        text: "",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/listener/inbox.rs",
        text: "cannot ",
        why: "a file in the state folder cannot be read or written",
    },
    Without {
        file: "src/cli/mod.rs",
        text: "no such help",
        why: "clap answers each `--help` with help",
    },
    Without {
        file: "src/cli/mod.rs",
        text: "Keep a text on the clipboard",
        why: "the help of a hidden command",
    },
    Without {
        file: "src/cli/mod.rs",
        text: "Keep it until something else",
        why: "the help of a hidden command",
    },
    Without {
        file: "src/run/mod.rs",
        text: "nothing was added",
        why: "git or the folder went away between the offer and its tick",
    },
    Without {
        file: "src/run/atomic.rs",
        text: "is no longer in the private snapshots",
        why: "the snapshots lost a file while a batch ran",
    },
    Without {
        file: "src/run/atomic.rs",
        text: "is not valid UTF-8",
        why: "git saves such names, and folders with them are not planned by name",
    },
    Without {
        file: "src/run/atomic.rs",
        text: "otherwise the next run reverts",
        why: "clada's own file could not be removed",
    },
    Without {
        file: "src/run/atomic.rs",
        text: "the last saved state is unknown",
        why: "no save before a task leaves it unknown",
    },
    Without {
        file: "src/run/atomic.rs",
        text: "was restored from git",
        why: "git lost the bytes that were kept in it",
    },
    Without {
        file: "src/world/syntax/",
        text: "this clada was built without the grammar",
        why: "the tests are built with all grammars",
    },
    Without {
        file: "src/world/syntax/parser.rs",
        text: "",
        why: "said as that its process ended",
    },
    Without {
        file: "src/cli/mod.rs",
        text: "Tell another clada process what is defined in code",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/run/files/outlined.rs",
        text: "there was no time for all files",
        why: "a walk takes half a minute only on a slow disk",
    },
    Without {
        file: "src/world/code_cache.rs",
        text: "",
        why: LOG,
    },
    Without {
        file: "src/error.rs",
        text: "the context cannot be made: ",
        why: "the project folder goes away while it is looked at",
    },
    Without {
        file: "src/run/changes.rs",
        text: "what the chat knows of files",
        why: "for the log",
    },
    Without {
        file: "src/run/guarded.rs",
        text: "compared with the last save",
        why: "for the log",
    },
    Without {
        file: "src/run/hooks.rs",
        text: "what the hooks changed",
        why: "git fails after hooks as after tasks, which have a case",
    },
    Without {
        file: "src/run/saving.rs",
        text: "the index was not updated",
        why: "git's index cannot be written right after a commit",
    },
    Without {
        file: "src/run/saving.rs",
        text: "what several tasks did",
        why: "git fails after several tasks as after one, which has a case",
    },
    Without {
        file: "src/run/task.rs",
        text: "a bug in clada",
        why: "a panic",
    },
    Without {
        file: "src/cmd/clipboard.rs",
        text: "sent to the terminal's clipboard",
        why: "only a terminal that takes OSC 52 shows it",
    },
    Without {
        file: "src/supervisor/mod.rs",
        text: "noticed late",
        why: "the system has no watches left at the start",
    },
    Without {
        file: "src/cmd/doctor/mod.rs",
        text: "too many folders",
        why: "a project with more folders than clada looks through",
    },
    Without {
        file: "src/cmd/doctor/desk.rs",
        text: "",
        why: "displays that hang, and those of Wayland",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "--poll 1s",
        why: "part of these",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "VirtualBox",
        why: "a name of a file system",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "free some",
        why: "a disk that is nearly full",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "free space",
        why: "a disk that is full, or cannot be asked",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "is in no folder",
        why: "every file is in one",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "raise the limit",
        why: "the limits of the system",
    },
    Without {
        file: "src/cmd/doctor/files.rs",
        text: "{POLL}",
        why: "a network, or a system without inotify",
    },
    Without {
        file: "src/cmd/instructions.rs",
        text: "no new chat",
        why: "in the log only, where the state cannot be written",
    },
    Without {
        file: "src/cmd/instructions.rs",
        text: "the text has no key",
        why: "in the log only, where the state cannot be written",
    },
    Without {
        file: "src/cmd/log.rs",
        text: "cannot read which",
        why: "in the log only, where a repository cannot be read",
    },
    Without {
        file: "src/clock.rs",
        text: "at an unknown time",
        why: "a time that no calendar has",
    },
    Without {
        file: "src/listener/project.rs",
        text: "no longer at",
        why: "a folder that is moved between two system calls",
    },
    Without {
        file: "src/cmd/service.rs",
        text: "cannot show the log",
        why: "the program is gone between two system calls",
    },
    Without {
        file: "src/cmd/status.rs",
        text: "",
        why: "another version, or a place without sockets",
    },
    Without {
        file: "src/listener/opening.rs",
        text: "what the chat knows",
        why: "in the log only, where the state cannot be written",
    },
    Without {
        file: "src/listener/opening.rs",
        text: "the key of the chat",
        why: "in the log only, where the state cannot be written",
    },
    Without {
        file: "src/listener/claim.rs",
        text: "will not find",
        why: "in the log only, where the state cannot be written",
    },
    Without {
        file: "src/cmd/watched.rs",
        text: "waiting for another",
        why: "two that change the list in the same millisecond",
    },
    Without {
        file: "src/cmd/watched.rs",
        text: "will not find",
        why: "in the log only, where the state cannot be written",
    },
    Without {
        file: "src/novelty/cut_off.rs",
        text: "the whole tasks of",
        why: "part of what is hashed",
    },
    Without {
        file: "src/error.rs",
        text: "fix that first",
        why: "an undo whose repair fails",
    },
    Without {
        file: "src/error.rs",
        text: "no home folder",
        why: "a user whom the system does not know",
    },
    Without {
        file: "src/run/exec/mod.rs",
        text: "(`exec.processes`)",
        why: "only where the system has no limit of its own",
    },
    Without {
        file: "src/run/exec/mod.rs",
        text: "could not be killed",
        why: "a process that survives SIGKILL",
    },
    Without {
        file: "src/run/files/find.rs",
        text: "before everything was searched",
        why: "after 30 seconds",
    },
    Without {
        file: "src/run/files/edited.rs",
        text: "but not edited",
        why: "the file system fails between two renames",
    },
    Without {
        file: "src/reply/dialects/aider.rs",
        text: "file path",
        why: "a label that is read",
    },
    Without {
        file: "src/reply/dialects/diff/header.rs",
        text: "dissimilarity index",
        why: "a word that is read",
    },
    Without {
        file: "src/reply/dialects/diff/header.rs",
        text: "rename ",
        why: "a word that is read",
    },
    Without {
        file: "src/edit/elision.rs",
        text: "previous code",
        why: "words that are read",
    },
    Without {
        file: "src/policy/command.rs",
        text: "",
        why: "names of programs and options",
    },
    Without {
        file: "src/world/sandbox/git/config.rs",
        text: "",
        why: "names of git's settings",
    },
    Without {
        file: "src/policy/pattern.rs",
        text: "cargo docker",
        why: "names of programs",
    },
    Without {
        file: "src/policy/secrets.rs",
        text: "PRIVATE KEY",
        why: "what a key looks like",
    },
    Without {
        file: "src/report/repair.rs",
        text: "(end of the file)",
        why: "the nearest place is never behind the file's last line",
    },
    Without {
        file: "src/report/frame.rs",
        text: "=== ",
        why: "what a line of the frame looks like in lower case",
    },
    Without {
        file: "src/report/wording/mod.rs",
        text: "it needs nothing",
        why: "such a command misses nothing",
    },
    Without {
        file: "src/report/wording/structure.rs",
        text: "`<tasks>` has no `</tasks>`",
        why: "such a reply is told as one that was cut off",
    },
    Without {
        file: "src/settings/mod.rs",
        text: "cannot set `clipboard.watch` in",
        why: "no settings are known in which no way to write it fits",
    },
    Without {
        file: "src/settings/effective.rs",
        text: "(does not exist)",
        why: "the words are too few to look for: the cases of `config` show them",
    },
    Without {
        file: "src/settings/file.rs",
        text: "unknown ",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/listener/board.rs",
        text: "will get no answer",
        why: "in the log only, in a place without sockets",
    },
    Without {
        file: "src/listener/books.rs",
        text: "cannot mark the run as over",
        why: LOG,
    },
    Without {
        file: "src/listener/books.rs",
        text: "the ledger does not know this batch",
        why: "a ledger that loses a batch between two requests",
    },
    Without {
        file: "src/listener/choices.rs",
        text: "choose the place",
        why: "a tick that is ignored, three seconds after its results were written",
    },
    Without {
        file: "src/listener/commands.rs",
        text: "cannot settle a lock",
        why: LOG,
    },
    Without {
        file: "src/listener/delivery.rs",
        text: "cannot keep the packet",
        why: LOG,
    },
    Without {
        file: "src/listener/delivery.rs",
        text: "cannot set the output file aside",
        why: LOG,
    },
    Without {
        file: "src/listener/delivery.rs",
        text: "cannot write the results into",
        why: LOG,
    },
    Without {
        file: "src/listener/delivery.rs",
        text: "cannot show the run",
        why: LOG,
    },
    Without {
        file: "src/listener/delivery.rs",
        text: "the results are only in",
        why: "a ledger that cannot be written at the end of a run that it was written for",
    },
    Without {
        file: "src/listener/memory.rs",
        text: "cannot read the state",
        why: LOG,
    },
    Without {
        file: "src/listener/notices.rs",
        text: "cannot read from the ledger what was ticked",
        why: "a ledger that loses a text between two requests",
    },
    Without {
        file: "src/listener/recovery.rs",
        text: "before it could report",
        why: KILL,
    },
    Without {
        file: "src/listener/recovery.rs",
        text: "clada stopped while it wrote",
        why: KILL,
    },
    Without {
        file: "src/listener/runs.rs",
        text: "saving the state before the batch",
        why: "a repository that takes two seconds to look at",
    },
    Without {
        file: "src/listener/runs.rs",
        text: "the log lacks part",
        why: "a ledger that cannot be written in the middle of a run",
    },
    Without {
        file: "src/listener/runs.rs",
        text: "cannot check for other runs",
        why: "no open file at the moment at which a lock is opened",
    },
    Without {
        file: "src/listener/runs.rs",
        text: "cannot show the run",
        why: LOG,
    },
    Without {
        file: "src/listener/unread.rs",
        text: "cannot read the unread",
        why: LOG,
    },
    Without {
        file: "src/world/clipboard/owner.rs",
        text: "",
        why: KILL,
    },
    Without {
        file: "src/world/clipboard/watching/mac.rs",
        text: "",
        why: SYSTEM,
    },
    Without {
        file: "src/world/clipboard/watching/mod.rs",
        text: "has no XFIXES",
        why: SYSTEM,
    },
    Without {
        file: "src/world/clipboard/trial.rs",
        text: "",
        why: SYSTEM,
    },
    Without {
        file: "src/world/desktop/",
        text: "",
        why: LOG,
    },
    Without {
        file: "src/world/ledger/batches.rs",
        text: "what was ticked",
        why: PART,
    },
    Without {
        file: "src/world/ledger/",
        text: "WHERE ",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/world/lock/mod.rs",
        text: "cannot write what the lock is held for",
        why: LOG,
    },
    Without {
        file: "src/world/login_env/mod.rs",
        text: "/usr/bin/env",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/world/login_env/mod.rs",
        text: "could not be waited for",
        why: KILL,
    },
    Without {
        file: "src/world/programs.rs",
        text: "which clada cannot check",
        why: "a folder of PATH whose disk is broken",
    },
    Without {
        file: "src/world/sandbox/mod.rs",
        text: "off",
        why: SYSTEM,
    },
    Without {
        file: "src/world/sandbox/denial.rs",
        text: "",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/world/sandbox/git/danger.rs",
        text: "it is not a file that git can read",
        why: "a device in the place of `.git`",
    },
    Without {
        file: "src/world/sandbox/linux",
        text: "",
        why: SYSTEM,
    },
    Without {
        file: "src/world/sandbox/macos.rs",
        text: "",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/world/scarce.rs",
        text: "files may be open at a time",
        why: "a limit so low that the test program cannot run",
    },
    Without {
        file: "src/world/service/launchd.rs",
        text: "(never exited)",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/world/service/supervisor.rs",
        text: "",
        why: LOG,
    },
    Without {
        file: "src/world/service/systemd.rs",
        text: "/bin/sh -c",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/world/shell/mod.rs",
        text: "cannot raise the limit",
        why: LOG,
    },
    Without {
        file: "src/world/shell/family.rs",
        text: "",
        why: KILL,
    },
    Without {
        file: "src/world/shell/group.rs",
        text: "",
        why: KILL,
    },
    Without {
        file: "src/world/shell/keeper.rs",
        text: "",
        why: KILL,
    },
    Without {
        file: "src/git/error.rs",
        text: "un",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/git/looking.rs",
        text: "clada: looking",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/git/save.rs",
        text: "commit (initial)",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/git/private.rs",
        text: "* -text",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/git/program.rs",
        text: "it printed no commit id",
        why: "a git that breaks its promises",
    },
    Without {
        file: "src/git/program.rs",
        text: "it wrote too much",
        why: "a hook that writes for a minute",
    },
    Without {
        file: "src/git/program.rs",
        text: "after 60 seconds",
        why: "a hook that takes a minute",
    },
    Without {
        file: "src/git/relief.rs",
        text: "git pipes",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/git/stage.rs",
        text: "invalid path",
        why: NO_MESSAGE,
    },
    Without {
        file: "src/git/target.rs",
        text: "its branch no longer exists",
        why: "the log of a ref, which nobody reads",
    },
    Without {
        file: "src/git/untracked.rs",
        text: "Add 1 file",
        why: "one of many is added in the tests",
    },
    Without {
        file: "src/world/socket.rs",
        text: "cannot answer a status request",
        why: LOG,
    },
    Without {
        file: "src/world/workspace/disk.rs",
        text: "folder",
        why: PART,
    },
    Without {
        file: "src/world/workspace/removal.rs",
        text: "read the folder",
        why: PART,
    },
    Without {
        file: "src/world/workspace/tree.rs",
        text: "read the folder",
        why: PART,
    },
];

/// A string of the source that a person or an LLM reads.
struct Message {
    file: String,
    line: usize,
    /// The variant or function that says it.
    by: String,
    /// What the source says of that.
    when: String,
    text: String,
}

impl Message {
    /// What is always in it, in the order of the text: all between its placeholders.
    fn fragments(&self) -> Vec<String> {
        let text = self.text.replace("{{", "\u{1}").replace("}}", "\u{2}");
        let mut found = Vec::new();
        let mut rest = text.as_str();
        loop {
            let (fixed, behind) = rest.split_once('{').unwrap_or((rest, ""));
            found.push(plain(&fixed.replace('\u{1}', "{").replace('\u{2}', "}")));
            match behind.split_once('}') {
                Some((_, next)) => rest = next,
                None => return found,
            }
        }
    }
}

/// White space as one space: cases wrap and indent.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Collects the strings of a file.
struct Reader<'f> {
    file: &'f str,
    /// Tests are read for what they quote, the program for what it says.
    tests: bool,
    /// Whether doc comments of fields and variants are shown, as those of the command line are in its help.
    is_help: bool,
    by: Vec<(String, String)>,
    found: Vec<Message>,
    quoted: Vec<String>,
}

impl Reader<'_> {
    fn literal(&mut self, literal: &syn::LitStr) {
        let text = literal.value();
        if self.tests {
            self.quoted.push(text);
        } else if is_message(&text) {
            let (by, when) = self.by.last().cloned().unwrap_or_default();
            self.found.push(Message {
                file: self.file.to_owned(),
                line: literal.span().start().line,
                by,
                when,
                text: plain(&text),
            });
        }
    }

    /// Doc comments that are help texts.
    fn help(&mut self, attributes: &[syn::Attribute]) {
        let is_skipped = |attribute: &syn::Attribute| matches!(&attribute.meta, syn::Meta::List(list) if list.path.is_ident("arg") && list.tokens.to_string() == "skip");
        if attributes.iter().any(is_skipped) {
            return;
        }
        for attribute in attributes {
            if self.is_help
                && let syn::Meta::NameValue(pair) = &attribute.meta
                && attribute.path().is_ident("doc")
            {
                self.visit_expr(&pair.value);
            }
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.literal(&text);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    fn inside(&mut self, name: String, attributes: &[syn::Attribute], go: impl FnOnce(&mut Self)) {
        if is_for_tests(attributes) && !self.tests {
            let known = std::mem::take(&mut self.found);
            self.tests = true;
            go(self);
            self.tests = false;
            self.found = known;
            return;
        }
        self.by.push((name, said(attributes)));
        go(self);
        self.by.pop();
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let is = |name| attribute.path().is_ident(name);
        if let syn::Meta::List(list) = &attribute.meta
            && (is("error") || is("arg") || is("command"))
        {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.literal(literal);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        let developers = [
            "assert",
            "debug_assert",
            "unreachable",
            "panic",
            "include_str",
        ];
        if self.tests || !developers.iter().any(|name| called.path.is_ident(name)) {
            self.tokens(called.tokens.clone());
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if self.tests || call.method != "expect" {
            visit::visit_expr_method_call(self, call);
        } else {
            self.visit_expr(&call.receiver);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.inside(item.ident.to_string(), &item.attrs, |reader| {
            visit::visit_item_mod(reader, item)
        });
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        let name = item.sig.ident.to_string();
        self.inside(name, &item.attrs, |reader| {
            visit::visit_item_fn(reader, item)
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let name = item.sig.ident.to_string();
        self.inside(name, &item.attrs, |reader| {
            visit::visit_impl_item_fn(reader, item)
        });
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let name = item.ident.to_string();
        self.inside(name, &item.attrs, |reader| {
            visit::visit_item_const(reader, item)
        });
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let name = item.ident.to_string();
        self.inside(name, &item.attrs, |reader| {
            visit::visit_item_struct(reader, item)
        });
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.help(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, item: &'ast syn::Variant) {
        self.help(&item.attrs);
        let name = item.ident.to_string();
        self.inside(name, &item.attrs, |reader| {
            visit::visit_variant(reader, item)
        });
    }
}

/// What its doc comment says first.
fn said(attributes: &[syn::Attribute]) -> String {
    let mut said = String::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && attribute.path().is_ident("doc")
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(text) = &literal.lit
        {
            let text = text.value();
            if text.trim().is_empty() {
                break;
            }
            said.push_str(&text);
        }
    }
    plain(&said)
}

/// Whether it is there in tests, or on macOS, only.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::List(list) if attribute.path().is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition == "target_os = \"macos\""
        }
        _ => attribute.path().is_ident("test"),
    })
}

/// Whether a string is words for a reader: two of them at least, and nothing for a machine.
fn is_message(text: &str) -> bool {
    let machines = [
        "SELECT ",
        " FROM ",
        "INSERT ",
        "CREATE TABLE",
        "UPDATE ",
        "PRAGMA ",
    ];
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.len() >= 2 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'\'')
    };
    let words = text.split_whitespace().filter(is_word).count();
    words >= 2 && text.trim().contains(' ') && !machines.iter().any(|word| text.contains(word))
}

/// All messages of the program, and everything that tests quote.
fn source() -> &'static (Vec<Message>, String) {
    static SOURCE: OnceLock<(Vec<Message>, String)> = OnceLock::new();
    SOURCE.get_or_init(read)
}

fn read() -> (Vec<Message>, String) {
    let (mut messages, mut quoted) = (Vec::new(), Vec::new());
    let below = |folder: &str, sources: BTreeMap<String, String>| {
        let named = |(name, text)| (format!("{folder}/{name}"), text);
        sources.into_iter().map(named).collect::<Vec<_>>()
    };
    let tests = below("tests", tidy::test_sources());
    for (name, text) in below("src", tidy::sources()).into_iter().chain(tests) {
        // The exceptions below name messages, and are no cases of them.
        if name == file!() {
            continue;
        }
        let parsed = syn::parse_file(&text).expect("Rust");
        let mut reader = Reader {
            file: &name,
            tests: name.starts_with("tests/") || tidy::is_test(&name),
            is_help: name == "src/cli/mod.rs",
            by: Vec::new(),
            found: Vec::new(),
            quoted: Vec::new(),
        };
        reader.visit_file(&parsed);
        messages.append(&mut reader.found);
        quoted.append(&mut reader.quoted);
    }
    let root = cases::root();
    let mut pages = cases::markdown_files(&root.join("test-data"));
    pages.push(root.join("docs/command-line.md"));
    let pages = pages
        .iter()
        .map(|path| fs::read_to_string(path).expect("a page"));
    quoted.extend(pages);
    let quoted: Vec<String> = quoted.iter().map(|text| plain(text)).collect();
    (messages, quoted.join("\n"))
}

/// The list as a person reads it: a message, who says it when, and what to do next.
fn list(messages: &[Message]) -> String {
    let mut list = String::new();
    for message in messages {
        let Message {
            file,
            line,
            by,
            when,
            text,
        } = message;
        let _ = writeln!(list, "{text}\n    {file}:{line} {by}: {when}");
        if let Some((_, step)) = text.rsplit_once(": ") {
            let _ = writeln!(list, "    next: {step}");
        }
    }
    list
}

#[test]
fn no_sentence_of_a_message_is_long() {
    let (messages, _) = source();
    let mut long = String::new();
    for message in messages {
        for (words, sentence) in long_sentences(&message.text) {
            let _ = writeln!(
                long,
                "{}:{}: {words} words: {sentence}",
                message.file, message.line
            );
        }
    }
    assert!(long.is_empty(), "more than {LONGEST} words:\n{long}");
}

#[test]
fn messages_use_the_words_of_the_house() {
    let (messages, _) = source();
    let mut found = String::new();
    for message in messages {
        let text = format!(" {} ", message.text.to_lowercase());
        for (odd, usual) in WORDS_OF_OLD {
            if text.contains(odd) {
                let _ = writeln!(
                    found,
                    "{}:{}: `{}`, say `{usual}`: {}",
                    message.file,
                    message.line,
                    odd.trim(),
                    message.text
                );
            }
        }
    }
    assert!(
        found.is_empty(),
        "words that a reader stumbles over:\n{found}"
    );
}

#[test]
#[expect(clippy::print_stdout, reason = "the list is for whoever asks for it")]
fn every_message_has_a_case() {
    let (messages, quoted) = source();
    println!("{}", list(messages));
    let mut used = HashSet::new();
    let mut missing: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for message in messages {
        let fragments = message.fragments();
        let longest = fragments.iter().max_by_key(|text| text.len());
        let Some(longest) = longest.filter(|text| text.chars().count() >= FRAGMENT) else {
            continue;
        };
        if quoted.contains(longest.as_str()) {
            continue;
        }
        match WITHOUT_CASE.iter().position(|without| without.is(message)) {
            Some(at) => {
                used.insert(at);
            }
            None => {
                let line = format!("  {} {}: {}", message.line, message.by, message.text);
                missing.entry(&message.file).or_default().push(line);
            }
        }
    }
    let needless: Vec<&Without> = (0..)
        .zip(WITHOUT_CASE)
        .filter(|(at, _)| !used.contains(at))
        .map(|(_, without)| without)
        .collect();
    let count: usize = missing.values().map(Vec::len).sum();
    let shown: Vec<String> = missing
        .iter()
        .map(|(file, lines)| format!("{file}\n{}", lines.join("\n")))
        .collect();
    assert!(
        count == 0,
        "no case or test quotes these {count} messages:\n{}",
        shown.join("\n")
    );
    assert!(needless.is_empty(), "these have cases: {needless:?}");
}
