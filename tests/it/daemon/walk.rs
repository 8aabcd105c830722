//! Random walks of a person with five chats: replies whole, broken, cut off, sent again, repeated, quoted, typed in pieces,
//! at the same time and with kills in between. Each whole task runs once for each time that it was pasted, and each result
//! is in a packet.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use rustix::process::Signal;

use super::{END, exec_task, listed, record};
use crate::chance::Chance;
use crate::harness::{Project, Watching, save_by_rename, wait_until};

const FILES: usize = 5;

/// One chat: its notes as the person has them, without the results.
#[derive(Default)]
struct Chat {
    pieces: Vec<String>,
    /// Whole replies of which the beginning was pasted.
    cut: Vec<String>,
}

struct Walk {
    project: Project,
    daemon: Option<Watching>,
    chance: Chance,
    chats: Vec<Chat>,
    /// How often each word is to be recorded.
    due: BTreeMap<String, usize>,
    repeated: HashSet<String>,
    words: usize,
    kills: usize,
}

impl Walk {
    fn new(chance: Chance) -> Self {
        let project = Project::new();
        let names: Vec<String> = (0..FILES).map(|chat| format!("chat{chat}")).collect();
        listed(
            &project,
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        for name in &names {
            project.write(&format!("{name}/clada.md"), "notes\n");
        }
        let chat = || Chat {
            pieces: vec!["notes\n".to_owned()],
            ..Chat::default()
        };
        let mut walk = Self {
            project,
            daemon: None,
            chance,
            chats: (0..FILES).map(|_| chat()).collect(),
            due: BTreeMap::new(),
            repeated: HashSet::new(),
            words: 0,
            kills: 0,
        };
        walk.start();
        // From then on it is on the disk that each was seen: else a kill makes the next look the first.
        for chat in 0..FILES {
            walk.whole(chat);
            walk.settle(chat);
        }
        walk
    }

    fn start(&mut self) {
        let mut command = self.project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["daemon", "--no-clipboard"]);
        command.env("CLADA_LOG", "info");
        let daemon = Watching::logged(command);
        daemon.wait_for("watching files=");
        self.daemon = Some(daemon);
    }

    fn notes(&self, chat: usize) -> PathBuf {
        self.project.path(&format!("chat{chat}/clada.md"))
    }

    fn text(&self, chat: usize) -> String {
        fs::read_to_string(self.notes(chat)).unwrap_or_default()
    }

    /// Saves what the person has, below the results that are there.
    fn save(&mut self, chat: usize) {
        let body = self.chats[chat].pieces.concat();
        let text = self.text(chat);
        let block = text
            .find(END)
            .filter(|_| text.lines().nth(1) == Some("=== CLADA RESULTS ==="));
        let text = format!("{}{body}", block.map_or("", |end| &text[..end + END.len()]));
        match self.chance.one_in(2) {
            true => save_by_rename(&self.notes(chat), text),
            false => fs::write(self.notes(chat), text).expect("write"),
        }
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("word{:03}", self.words)
    }

    /// A task that records a word of its own, once.
    fn task(&mut self) -> String {
        let word = self.word();
        let task = exec_task(&record(&word));
        self.due.insert(word, 1);
        task
    }

    fn in_prose(&mut self, text: &str) -> String {
        let word = self.word();
        format!("Reply {word}:\n{text}That was {word}.\n")
    }

    fn insert(&mut self, chat: usize, piece: String) -> usize {
        let places = self.chats[chat].pieces.len() as u64 + 1;
        let at = usize::try_from(self.chance.below(places)).expect("small");
        self.chats[chat].pieces.insert(at, piece);
        at
    }

    fn wait_for(&self, chat: usize, said: &str) {
        wait_until(
            || self.text(chat).contains(said),
            || format!("{said:?} in {}", self.text(chat)),
        );
    }

    /// Waits until all that was pasted so far has come to its end: what is broken may keep what comes with it.
    fn settle(&self, chat: usize) {
        let text = self.chats[chat].pieces.concat();
        for (word, due) in &self.due {
            let task = record(word);
            if text.contains(&task) && !self.chats[chat].cut.iter().any(|cut| cut.contains(&task)) {
                self.wait_for_word(word, *due);
            }
        }
    }

    fn wait_for_word(&self, word: &str, due: usize) {
        let is_over = || {
            let recorded = self.recorded(word);
            recorded == due || recorded < due && self.interrupted().contains(word)
        };
        wait_until(is_over, || {
            let chats = (0..FILES).map(|chat| self.text(chat));
            let chat: String = chats.filter(|text| text.contains(word)).collect();
            let said = self.daemon.as_ref().map(Watching::said);
            let recorded = self.recorded(word);
            format!(
                "{word}: {recorded} of {due} in {chat}\n{}",
                said.unwrap_or_default()
            )
        });
    }

    fn whole(&mut self, chat: usize) {
        let task = self.task();
        let piece = self.in_prose(&format!("<tasks>\n{task}</tasks>\n"));
        self.insert(chat, piece);
        self.save(chat);
    }

    /// A reply without the end of its script, which may quote another.
    fn broken(&mut self, chat: usize) {
        self.settle(chat);
        let name = self.word();
        let quoted = match self.chance.one_in(2) {
            true => format!("<tasks>\n{}</tasks>\n", exec_task(&record(&self.word()))),
            false => "text\n".to_owned(),
        };
        let reply = format!(
            "<tasks>\n<task>\n<path>{name}.md</path>\n<c>overwrite</c>\n<x>\n{quoted}</task>\n</tasks>\n"
        );
        let piece = self.in_prose(&reply);
        self.insert(chat, piece);
        self.save(chat);
        self.wait_for(chat, &format!("task 1 (overwrite {name}.md) has no `</x>`"));
    }

    /// The beginning of a reply, whose whole tasks may be run.
    fn cut(&mut self, chat: usize) {
        self.settle(chat);
        let (first, last, name) = (self.task(), self.task(), self.word());
        let start =
            format!("<tasks>\n{first}<task>\n<path>{name}</path>\n<c>overwrite</c>\n<x>\nlong");
        self.chats[chat]
            .cut
            .push(format!("{start}er\n</x>\n</task>\n{last}</tasks>\n"));
        let piece = format!("Reply {name}:\n{start}\n");
        self.chats[chat].pieces.push(piece);
        self.save(chat);
        let offered =
            format!("✂ the reply ends in task 2 (overwrite {name}): 1 whole task before it");
        self.wait_for(chat, &offered);
        if self.chance.one_in(2) {
            let box_of = format!("{offered} - [ ] run it");
            // While a command of another chat runs, no tick counts, and the box is offered again.
            let is_run = || {
                let text = self.text(chat);
                if text.contains(&box_of) {
                    let ticked = text.replace(&box_of, &box_of.replace("[ ]", "[x]"));
                    save_by_rename(&self.notes(chat), ticked);
                }
                text.contains("✅ exec")
            };
            wait_until(is_run, || format!("a run in {}", self.text(chat)));
        }
    }

    fn complete(&mut self, chat: usize) {
        let Some(whole) = self.chats[chat].cut.pop() else {
            return;
        };
        let piece = self.in_prose(&whole);
        self.insert(chat, piece);
        self.save(chat);
    }

    fn repeat(&mut self, chat: usize) {
        let pieces = &self.chats[chat].pieces;
        let is_whole = |piece: &&String| {
            piece.matches("<task>").count() == 1 && piece.contains("</tasks>\nThat")
        };
        let whole: Vec<String> = pieces.iter().filter(is_whole).cloned().collect();
        let recorded = |piece: &String| {
            self.due
                .keys()
                .find(|word| piece.contains(&record(word)))
                .cloned()
        };
        let Some((piece, word)) = whole
            .iter()
            .find_map(|it| Some((it.clone(), recorded(it)?)))
        else {
            return;
        };
        *self.due.get_mut(&word).expect("due") += 1;
        self.repeated.insert(word);
        self.insert(chat, piece);
        self.save(chat);
    }

    fn typed(&mut self, chat: usize) {
        let task = self.task();
        let piece = self.in_prose(&format!("<tasks>\n{task}</tasks>\n"));
        let at = self.insert(chat, String::new());
        for part in [3, 4, 5] {
            let lines = piece.split_inclusive('\n').take(part);
            self.chats[chat].pieces[at] = lines.collect();
            self.save(chat);
            // An editor that saves as one types takes its time.
            std::thread::sleep(std::time::Duration::from_millis(150));
        }
        self.chats[chat].pieces[at] = piece;
        self.save(chat);
    }

    fn kill(&mut self) {
        self.kills += 1;
        let daemon = self.daemon.take().expect("a daemon");
        daemon.stop(Signal::KILL);
        self.start();
    }

    fn step(&mut self) {
        let chat = usize::try_from(self.chance.below(FILES as u64)).expect("small");
        match self.chance.below(16) {
            0..=6 => self.whole(chat),
            7 => self.broken(chat),
            8 => self.cut(chat),
            9 | 10 => self.complete(chat),
            11 | 12 => self.repeat(chat),
            13 => self.typed(chat),
            14 => self.kill(),
            _ => std::thread::sleep(std::time::Duration::from_millis(self.chance.below(2_500))),
        }
    }

    /// How often a word was recorded.
    fn recorded(&self, word: &str) -> usize {
        let runs = |chat| {
            let runs = self.project.path(&format!("chat{chat}/runs.txt"));
            fs::read_to_string(runs).unwrap_or_default()
        };
        let all = (0..FILES).map(|chat| runs(chat).lines().filter(|line| *line == word).count());
        all.sum()
    }

    /// The words of tasks that a kill interrupted, or kept from running.
    fn interrupted(&self) -> String {
        let log = self.project.clada(["log", "-n", "1000", "--json"]).json();
        let batches = log.as_array().cloned().unwrap_or_default();
        let tasks = batches
            .iter()
            .flat_map(|batch| batch["tasks"].as_array().cloned());
        let tasks = tasks
            .flatten()
            .filter(|task| task["status"] != "done" && task["status"] != "skipped");
        tasks.map(|task| task["target"].to_string()).collect()
    }

    fn packets(&self) -> Vec<String> {
        let folder = self.project.state_folder().join("packets");
        let folders = fs::read_dir(folder).expect("packets").flatten();
        let files =
            folders.flat_map(|folder| fs::read_dir(folder.path()).expect("packets").flatten());
        let texts = files.filter(|file| file.path().extension().is_some_and(|it| it == "txt"));
        texts
            .map(|file| fs::read_to_string(file.path()).expect("a packet"))
            .collect()
    }

    fn check(&self) {
        let daemon = self.daemon.as_ref().expect("a daemon");
        // What a cut reply still lacks was not asked for.
        let cut: String = self
            .chats
            .iter()
            .flat_map(|chat| &chat.cut)
            .cloned()
            .collect();
        for (word, due) in &self.due {
            if cut.contains(&record(word)) {
                assert!(self.recorded(word) <= *due, "{word}");
                continue;
            }
            self.wait_for_word(word, *due);
        }
        // Nothing runs once more, and nothing that was only quoted.
        for chat in 0..FILES {
            // A daemon that was started again looks at notes that it knows only when something happens to them.
            let notes = fs::File::options().write(true).open(self.notes(chat));
            let touched = notes.and_then(|notes| notes.set_modified(SystemTime::now()));
            touched.expect("a new time");
            daemon.until_it_looked(&self.notes(chat));
        }
        for word in (1..=self.words).map(|word| format!("word{word:03}")) {
            let due = self.due.get(&word).copied().unwrap_or_default();
            assert!(
                self.recorded(&word) <= due,
                "{word} ran too often\n{}",
                daemon.said()
            );
        }
        let packets = self.packets();
        for word in self.due.keys().filter(|word| self.recorded(word) > 0) {
            let holds = |packet: &String| packet.contains(&record(word));
            assert!(packets.iter().any(holds), "{word} is in no packet");
        }
        for packet in &packets {
            let mut lines = HashSet::new();
            let is_once = |word: &String| !self.repeated.contains(word);
            let words: Vec<&String> = self.due.keys().filter(|word| is_once(word)).collect();
            let told = packet
                .lines()
                .filter(|line| words.iter().any(|word| line.contains(word.as_str())));
            for line in told {
                assert!(lines.insert(line), "{line:?} is twice in {packet}");
            }
        }
    }
}

#[test]
fn each_whole_task_runs_once_and_each_result_is_in_a_packet() {
    let mut walk = Walk::new(Chance::new());
    for _ in 0..30 {
        walk.step();
    }
    walk.check();
}
