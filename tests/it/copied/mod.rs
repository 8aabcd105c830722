//! Replies that are only copied: what clada takes from a real clipboard, what it leaves there, and what it tells.

mod both;
mod browser;
mod kill;
mod refused;
mod texts;

use std::io::Write;
use std::process::{Command, Stdio};

use crate::clipboard::owners;
use crate::clipboard_watch::sleeps;
use crate::daemon::display::Xvfb;
use crate::daemon::{NOTES, Notes, exec, record, wait_for_results};
use crate::harness::{Project, Watching, wait_until};
use crate::notices::{Bus, desktop};

/// A project on a display of its own.
pub(crate) struct Desk {
    pub(crate) project: Project,
    pub(crate) display: Xvfb,
}

impl Desk {
    /// `None`, and a line that says so, where there is no display; in CI there must be one.
    pub(crate) fn new() -> Option<Self> {
        Xvfb::start().map(Self::on)
    }

    fn on(display: Xvfb) -> Self {
        let project = Project::with_git().on_display(display.name());
        Self { project, display }
    }

    /// Starts a clada that takes copied replies. It watches the clipboard when this returns.
    pub(crate) fn watch(&self) -> Watching {
        self.watch_on("")
    }

    /// The same on a desktop with this message bus.
    fn watch_on(&self, bus: &str) -> Watching {
        let mut command = self.project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["watch", "--from-clipboard"]);
        command.env("DBUS_SESSION_BUS_ADDRESS", bus);
        let watching = Watching::logged(command);
        watching.wait_for("watching the clipboard (X11, ");
        watching
    }

    /// Copies a text, as a program does that then stays for it.
    pub(crate) fn copy(&self, text: &str) {
        self.copy_as(None, text.as_bytes());
    }

    /// Copies a text, and waits until clada has looked at it: of texts that follow each other at once it sees the last.
    fn copy_to(&self, watching: &Watching, text: &str) {
        let before = watching.copies_heard();
        self.copy(text);
        watching.until_it_heard(before + 1);
    }

    /// Copies bytes of this type.
    fn copy_as(&self, target: Option<&str>, bytes: &[u8]) {
        let mut xclip = self.project.command("xclip");
        xclip.args(["-selection", "clipboard", "-in"]);
        xclip.args(target.iter().flat_map(|target| ["-target", target]));
        copied_by(xclip, bytes);
    }

    pub(crate) fn clipboard(&self) -> String {
        self.display.clipboard(&self.project)
    }

    /// The key of the project's notes.
    pub(crate) fn key(&self) -> String {
        key(&self.project, &[])
    }

    /// A reply that records this word, with the key of the project's notes.
    pub(crate) fn reply(&self, word: &str) -> String {
        keyed(&self.key(), &reply(word))
    }

    /// What clada's status says of the clipboard.
    fn status(&self) -> serde_json::Value {
        let status = self.project.clada(["status", "--json"]).json();
        status["processes"][0]["watching"].clone()
    }
}

/// Has a program copy what it reads.
fn copied_by(mut program: Command, bytes: &[u8]) {
    let program = program.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut program = program.stderr(Stdio::null()).spawn().expect("a program");
    let mut input = program.stdin.take().expect("stdin");
    input.write_all(bytes).expect("write");
    drop(input);
    assert!(program.wait().expect("wait").success());
}

/// The key that the instructions for a notes file give.
fn key(project: &Project, args: &[&str]) -> String {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("instructions").args(args);
    let said = crate::harness::Ended::of(command, "").exits(0).out;
    let (_, key) = said.split_once("<tasks key=\"").expect("a key");
    key[..5].to_owned()
}

/// A reply that records this word, below a line of prose.
fn reply(word: &str) -> String {
    format!(
        "reply {word}:\n\n``````xml\n{}``````\n\nDone.\n",
        exec(&record(word))
    )
}

/// A reply with this key.
fn keyed(key: &str, reply: &str) -> String {
    reply.replace("<tasks>", &format!("<tasks key=\"{key}\">"))
}

/// What ran, by the words that [`reply`] records.
fn ran(project: &Project) -> Vec<String> {
    crate::daemon::lines(project, "runs.txt")
}

#[test]
fn a_copied_reply_runs_and_its_results_take_its_place() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    for word in ["one", "two", "three"] {
        let reply = desk.reply(word);
        desk.copy(&reply);
        let notes = wait_for_results(&desk.project, &format!("echo {word} >>"));
        assert!(
            notes.body.ends_with(&format!("\n\n{reply}")),
            "{}",
            notes.body
        );
        let status = &notes.status;
        assert!(status.starts_with("📋 Copied to clipboard at "), "{status}");
        // What was on the clipboard counts as read.
        assert_eq!(notes.earlier, [""; 0]);
        let on_clipboard = desk.clipboard();
        assert!(
            on_clipboard.contains(&format!("echo {word} >>")),
            "{on_clipboard}"
        );
        assert!(
            on_clipboard.contains("=== CLADA RESULTS ==="),
            "{on_clipboard}"
        );
    }
    assert_eq!(ran(&desk.project), ["one", "two", "three"]);
    let taken = &desk.status()["taken"];
    assert_eq!(taken["tasks"], 1);
    assert!(taken["file"].as_str().unwrap().ends_with(NOTES), "{taken}");
    let said = desk.project.clada(["status"]).exits(0).out;
    assert!(said.contains("📋 watching the clipboard (X11, "), "{said}");
    assert!(said.contains("last taken "), "{said}");
    let counts = format!("copied replies count with the key {}", desk.key());
    assert!(said.contains(&counts), "{said}");
    watching.until_it_rests();
    let kept = desk.project.state_folder().join("copied");
    assert!(!kept.exists() || kept.read_dir().unwrap().next().is_none());
}

#[test]
fn each_dialect_has_its_way_to_carry_the_key() {
    let Some(desk) = Desk::new() else { return };
    desk.project.configure(
        "dialects = [\"cml\", \"sham\", \"nesl\", \"replacer\", \"aider\", \"codex\", \"diff\"]\n",
    );
    let watching = desk.watch();
    let key = desk.key();
    let replies = [
        (
            "a.txt",
            "aider",
            "a.txt\n``````\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n``````\n",
        ),
        (
            "b.txt",
            "codex",
            "``````\n*** Begin Patch\n*** Add File: b.txt\n+new\n*** End Patch\n``````\n",
        ),
        (
            "c.txt",
            "diff",
            "``````diff\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+new\n``````\n",
        ),
    ];
    for (file, dialect, blocks) in replies {
        desk.copy(&format!(
            "In {dialect}:\n\nclada: {key}\n{blocks}\nThat is all.\n"
        ));
        wait_for_results(&desk.project, file);
        assert_eq!(desk.project.read(file), "new\n");
        // Without its line it does not count.
        let without = blocks.replace(file, "never.txt");
        desk.copy_to(&watching, &format!("In {dialect}:\n\n{without}\n"));
    }
    desk.copy(&desk.reply("last"));
    wait_for_results(&desk.project, "echo last");
    assert!(!desk.project.exists("never.txt"));
}

#[test]
fn a_copied_reply_goes_where_the_person_has_something_else() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    desk.project.write(NOTES, "my own\r\ntext");
    watching.until_it_looked(&desk.project.path(NOTES));
    let reply = desk.reply("one");
    desk.copy(&reply);
    let expected = format!("=== END ===\n\nmy own\ntext\n\n{reply}").replace('\n', "\r\n");
    let is_there = || desk.project.read(NOTES).ends_with(&expected);
    wait_until(is_there, || desk.project.read(NOTES));
}

/// It is copied once more only later than a clipboard manager does that.
#[test]
fn copied_again_it_is_only_told() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let reply = desk.reply("one");
    desk.copy(&reply);
    wait_for_results(&desk.project, "echo one");
    // Within 10 s it is no event, whatever was in between.
    desk.copy_to(&watching, "something else");
    desk.copy_to(&watching, &reply);
    desk.copy(&desk.reply("two"));
    wait_for_results(&desk.project, "echo two");
    assert!(desk.status()["refused"].is_null());
    let id = desk.project.clada(["log", "--json"]).json();
    let again = keyed(
        &desk.key(),
        &format!("In other words:\n{}", exec(&record("one"))),
    );
    desk.copy(&again);
    watching.wait_for("this reply ran at ");
    assert_eq!(desk.clipboard(), again);
    assert_eq!(ran(&desk.project), ["one", "two"]);
    let said = watching.said();
    let (_, rest) = said.split_once("`clada retry --all ").expect("a command");
    let (batch, _) = rest.split_once('`').expect("an end");
    assert!(id.to_string().contains(batch), "{batch} in {id}");
    let why = desk.status()["refused"]["why"].to_string();
    assert!(why.contains("this reply ran at "), "{why}");
    // It is for the person to say so.
    desk.project.clada(["retry", "--all", batch]).exits(0);
    wait_until(|| ran(&desk.project).len() == 3, || watching.said());
}

#[test]
fn results_wait_where_something_else_was_copied() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let others: [(Option<&str>, &[u8]); 2] =
        [(None, b"my own text"), (Some("image/png"), b"\x89PNG")];
    for (word, (target, bytes)) in ["one", "two"].into_iter().zip(others) {
        let go = desk.project.path("go");
        let script = format!(
            "until [ -e go ]; do sleep 0.01; done; rm go; {}",
            record(word)
        );
        desk.copy(&keyed(&desk.key(), &format!("{word}:\n{}", exec(&script))));
        watching.wait_for(&format!("; {}", record(word)));
        desk.copy_as(target, bytes);
        std::fs::write(go, "").unwrap();
        let notes = wait_for_results(&desk.project, "✅ exec until");
        let status = &notes.status;
        assert!(status.starts_with("📋 Not copied at "), "{status}");
        let why = "you copied something else after the reply; `clada copy` copies the results";
        assert!(status.ends_with(why), "{status}");
        if target.is_none() {
            assert_eq!(desk.clipboard(), "my own text");
        }
        let said = desk.project.clada(["copy"]).exits(0);
        assert!(
            desk.clipboard().contains("=== CLADA RESULTS ==="),
            "{}",
            said.err
        );
        wait_until(
            || ran(&desk.project).last().is_some_and(|it| it == word),
            || watching.said(),
        );
        desk.project.write(NOTES, "");
        watching.until_it_looked(&desk.project.path(NOTES));
    }
}

/// As clipboard managers do, and remote desktops.
#[test]
fn a_text_that_is_set_again_is_no_other() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let script = format!("until [ -e go ]; do sleep 0.01; done; {}", record("one"));
    let reply = keyed(&desk.key(), &exec(&script));
    desk.copy(&reply);
    watching.wait_for("until [ -e go ]");
    desk.copy(&reply);
    std::fs::write(desk.project.path("go"), "").unwrap();
    let notes = wait_for_results(&desk.project, "✅ exec until");
    assert!(notes.status.starts_with("📋 Copied"), "{}", notes.status);
    // Nor are clada's own results.
    let results = desk.clipboard();
    desk.copy(&results);
    desk.copy(&desk.reply("two"));
    let notes = wait_for_results(&desk.project, "echo two");
    assert!(notes.status.starts_with("📋 Copied"), "{}", notes.status);
    assert_eq!(ran(&desk.project), ["one", "two"]);
}

#[test]
fn what_was_there_at_the_start_is_nothing_new() {
    let Some(desk) = Desk::new() else { return };
    let reply = desk.reply("old");
    desk.copy(&reply);
    let watching = desk.watch();
    desk.copy(&reply);
    desk.copy(&desk.reply("new"));
    wait_for_results(&desk.project, "echo new");
    assert_eq!(ran(&desk.project), ["new"]);
    drop(watching);
}

#[test]
fn a_pause_ends_the_watching_for_a_while() {
    let Some(desk) = Desk::new() else { return };
    desk.project.clada(["pause"]).exits(0);
    // Also where no clada runs.
    let said = desk.project.clada(["status"]).exits(1).out;
    assert!(
        said.contains("⏸ clipboard watching is paused since "),
        "{said}"
    );
    let watching = desk.watch();
    desk.copy_to(&watching, &desk.reply("paused"));
    let said = desk.project.clada(["status"]).exits(0).out;
    assert!(
        said.contains("⏸ clipboard watching is paused since "),
        "{said}"
    );
    assert!(said.contains("; `clada resume` ends the pause"), "{said}");
    desk.project.clada(["resume"]).exits(0);
    desk.copy(&desk.reply("resumed"));
    wait_for_results(&desk.project, "echo resumed");
    assert_eq!(ran(&desk.project), ["resumed"]);
    desk.project.clada(["pause", "1s"]).exits(0);
    let status = || desk.project.clada(["status", "--json"]).json()["pause"].clone();
    wait_until(|| status().is_null(), || status().to_string());
    desk.copy(&desk.reply("later"));
    wait_for_results(&desk.project, "echo later");
}

#[test]
fn a_new_key_makes_the_old_one_count_no_more() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let old = desk.reply("old");
    let key = desk.key();
    assert_eq!(desk.key(), key);
    desk.project.clada(["instructions", "--new-key"]).exits(0);
    assert_ne!(desk.key(), key);
    desk.copy(&old);
    watching.wait_for("1 task on the clipboard with another chat's key");
    desk.copy(&desk.reply("new"));
    wait_for_results(&desk.project, "echo new");
    assert_eq!(ran(&desk.project), ["new"]);
}

/// Pasted, a key means nothing and does no harm.
#[test]
fn a_pasted_key_means_nothing() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let others = [
        keyed("zzzzz", &reply("one")),
        desk.reply("two"),
        reply("three"),
    ];
    for (reply, word) in others.iter().zip(["one", "two", "three"]) {
        let text = std::fs::read_to_string(desk.project.path(NOTES)).unwrap();
        desk.project.write(NOTES, format!("{text}\n{reply}"));
        let notes = wait_for_results(&desk.project, &format!("echo {word}"));
        assert_eq!(notes.tasks().len(), 1, "{:?}", notes.results);
    }
    // Copied after that, it is known, with whichever key.
    desk.copy(&desk.reply("three"));
    watching.wait_for("this reply ran at ");
    assert_eq!(ran(&desk.project), ["one", "two", "three"]);
}

#[test]
fn a_question_waits_for_its_tick() {
    let (Some(desk), Some(bus)) = (Desk::new(), Bus::start()) else {
        return;
    };
    let (_desktop, told) = desktop(&bus, true);
    let watching = desk.watch_on(&bus.address);
    desk.copy(&keyed(&desk.key(), &exec("git push")));
    let notes = wait_for_results(&desk.project, "⏸ exec git push");
    let results = notes.results.join("\n");
    assert!(results.contains("- [ ] run it"), "{results}");
    let texts = || told.lock().unwrap().texts();
    wait_until(|| !texts().is_empty(), || watching.said());
    let body = "the results are on your clipboard\nexec git push waits for you in the notes";
    let title = "clada.md: 1 waiting for approval";
    assert_eq!(texts(), [(title.to_owned(), body.to_owned())]);
}

/// The person's own words stay, wherever they type.
#[test]
fn an_editor_that_overwrites_a_copied_reply_loses_nothing() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    // Stopped, it finds the reply and the editor's save at once.
    let reply = desk.reply("one");
    watching.signal(rustix::process::Signal::STOP);
    desk.copy(&reply);
    desk.project.write(NOTES, "typed meanwhile\n");
    watching.signal(rustix::process::Signal::CONT);
    let notes = wait_for_results(&desk.project, "echo one");
    assert_eq!(notes.body, format!("typed meanwhile\n\n{reply}"));
    assert_eq!(ran(&desk.project), ["one"]);
}

#[test]
fn a_display_may_come_later_and_come_back() {
    let name = Xvfb::own_name(2);
    let project = Project::with_git().on_display(&name);
    let watching = project.watch(["--from-clipboard"]);
    watching.wait_for("cannot watch the clipboard: ");
    for word in ["one", "two"] {
        let Some(display) = Xvfb::start_as(&name) else {
            return;
        };
        let desk = Desk {
            project: Project::with_git().on_display(&name),
            display,
        };
        let times = if word == "one" { 1 } else { 2 };
        let is_back = || {
            watching
                .said()
                .matches("watching the clipboard (X11, ")
                .count()
                >= times
        };
        wait_until(is_back, || watching.said());
        desk.copy(&keyed(&key(&project, &[]), &reply(word)));
        wait_for_results(&project, &format!("echo {word}"));
    }
    let body = Notes::of(&project).body;
    assert!(
        body.contains("reply one") && body.contains("reply two"),
        "{body}"
    );
}

#[test]
fn nothing_wakes_it_up_while_nothing_is_copied() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    desk.copy(&desk.reply("one"));
    wait_for_results(&desk.project, "echo one");
    sleeps(&watching.pid().to_string());
    for owner in owners(&desk.project) {
        sleeps(&owner);
    }
}

/// What does not end in the notes swallows nothing: the reply then goes on top of it.
#[test]
fn a_copied_reply_is_read_alone() {
    let Some(desk) = Desk::new() else { return };
    let _watching = desk.watch();
    for (word, open) in [
        ("block", "<<<FILE>>>\na.txt\n<<<OVERWRITE>>>\n"),
        ("typed", "<tasks>\n<task>\n<c>exec</c>\n<x>\nmake te"),
        ("off", "<!-- clada:off -->\nquoted\n"),
    ] {
        desk.project.write(NOTES, format!("mine\n\n{open}"));
        let reply = desk.reply(word);
        desk.copy(&reply);
        let notes = wait_for_results(&desk.project, &format!("✅ exec echo {word}"));
        let body = &notes.body;
        assert_eq!(*body, format!("{reply}\nmine\n\n{open}"));
    }
    assert_eq!(ran(&desk.project), ["block", "typed", "off"]);
    assert!(!desk.project.exists("a.txt"));
}

/// Typed, more of its last task could follow, and nothing would run as long as the file changes.
#[test]
fn no_more_of_a_copied_reply_is_waited_for() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let task = "<task><c>exec</c><x>\necho one >> runs.txt\n</x></task>";
    let reply = keyed(&desk.key(), &format!("<tasks>\n{task}\n</tasks>\n"));
    desk.copy(&reply);
    let touch = || {
        let notes = std::fs::File::open(desk.project.path(NOTES)).unwrap();
        notes.set_modified(std::time::SystemTime::now()).unwrap();
    };
    let runs = || {
        touch();
        ran(&desk.project) == ["one"]
    };
    wait_until(runs, || watching.said());
    // A reply that would be read otherwise behind it goes on top.
    let other = keyed(&desk.key(), &exec("cat <<'X' >> runs.txt\ntwo\n</x>\nX"));
    desk.copy(&other);
    let is_there = || desk.project.read(NOTES).contains(&other);
    wait_until(is_there, || desk.project.read(NOTES));
    let notes = desk.project.read(NOTES);
    assert!(notes.find(&other) < notes.find(&reply), "{notes}");
}

/// Nobody knows what was copied on a display that was gone.
#[test]
fn results_wait_where_the_display_went() {
    let name = Xvfb::own_name(3);
    let Some(desk) = Xvfb::start_as(&name).map(Desk::on) else {
        return;
    };
    let watching = desk.watch();
    let script = format!("until [ -e go ]; do sleep 0.01; done; {}", record("one"));
    desk.copy(&keyed(&desk.key(), &exec(&script)));
    watching.wait_for("echo one");
    let Desk { project, display } = desk;
    drop(display);
    let watched = || {
        let status = project.clada(["status", "--json"]).json();
        status["processes"][0]["watching"].clone()
    };
    wait_until(
        || watched()["trouble"].is_string(),
        || watched().to_string(),
    );
    let Some(_back) = Xvfb::start_as(&name) else {
        return;
    };
    wait_until(|| watched()["way"].is_string(), || watched().to_string());
    project.write("go", "");
    let notes = wait_for_results(&project, "✅ exec until");
    let why = "the clipboard was not watched all the time after you copied the reply; `clada copy` copies the results";
    assert!(notes.status.ends_with(why), "{}", notes.status);
}

/// Who is used to pasting does it once too often, while the reply is still on the clipboard.
#[test]
fn what_is_pasted_too_by_habit_waits_for_a_tick() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let script = format!("until [ -e go ]; do sleep 0.01; done; {}", record("one"));
    let reply = keyed(&desk.key(), &exec(&script));
    desk.copy(&reply);
    watching.wait_for("echo one");
    let text = desk.project.read(NOTES);
    desk.project.write(NOTES, format!("{text}\n{reply}"));
    desk.project.write("go", "");
    let same = "⏸ 1 task is the same as in the reply that you copied (ran ";
    let notes = wait_for_results(&desk.project, same);
    watching.until_it_looked(&desk.project.path(NOTES));
    assert_eq!(ran(&desk.project), ["one"]);
    // The person may mean it.
    let ticked = desk
        .project
        .read(NOTES)
        .replacen("- [ ] run again", "- [x] run again", 1);
    assert!(
        notes
            .results
            .join("\n")
            .contains("not run again - [ ] run again")
    );
    desk.project.write(NOTES, ticked);
    wait_until(|| ran(&desk.project) == ["one", "one"], || watching.said());
}

#[test]
fn a_reply_that_would_be_mixed_up_with_the_notes_waits() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    // Below this it would be a part of the block; above it, its payload would go on to the `</x>`.
    let open = "<<<FILE>>>\na.txt\n<<<OVERWRITE>>>\n</x>\n";
    desk.project.write(NOTES, open);
    watching.until_it_saw(&desk.project.path(NOTES));
    let task = "<task><c>exec</c><x>\necho one >> runs.txt\n</x></task>";
    desk.copy(&keyed(&desk.key(), &format!("<tasks>\n{task}\n</tasks>\n")));
    watching.wait_for(
        "a copied reply is not in the notes yet: something in them does not end, and would be mixed up with it; close or \
         delete that",
    );
    assert_eq!(ran(&desk.project), [""; 0]);
    desk.project.write(NOTES, "mine\n");
    wait_for_results(&desk.project, "✅ exec echo one");
    assert_eq!(ran(&desk.project), ["one"]);
}
