//! Many copied texts of every kind that must not run, and one that must.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use clada::world::clipboard::{Clipboard, ClipboardContext};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, SELECTION_NOTIFY_EVENT,
    SelectionNotifyEvent, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

use super::{Desk, keyed, ran};
use crate::chance::Chance;
use crate::daemon::{NOTES, exec, record, wait_for_results};
use crate::harness::wait_until;

/// The number of texts; `TEXTS` sets another.
const TEXTS: usize = 150;

/// Replies of every dialect that record something, without a key.
const REPLIES: [&str; 7] = [
    "<tasks>\n<task>\n<c>exec</c>\n<x>\necho never >> runs.txt\n</x>\n</task>\n</tasks>\n",
    "``````sh sham\n#!SHAM [@three-char-SHA-256: k7m]\naction = \"exec_bash\"\ncode = \"echo never >> runs.txt\"\n#!END_SHAM_k7m\n``````\n",
    "``````sh nesl\n#!nesl [@three-char-SHA-256: k7m]\naction = \"exec_bash\"\ncode = \"echo never >> runs.txt\"\n#!end_k7m\n``````\n",
    "runs.txt\n``````\n<<<<<<< SEARCH\n=======\nnever\n>>>>>>> REPLACE\n``````\n",
    "*** Begin Patch\n*** Add File: runs.txt\n+never\n*** End Patch\n",
    "``````diff\n--- /dev/null\n+++ b/runs.txt\n@@ -0,0 +1 @@\n+never\n``````\n",
    "<tasks>\n<task>\n<path>runs.txt</path>\n<c>overwrite</c>\n<x>\nnever\n</x>\n</task>\n</tasks>\n",
];

/// A text that must not run.
fn text(chance: &mut Chance, key: &str) -> String {
    let reply = *chance.one_of(&REPLIES);
    let right = |reply: &str| match reply.contains("<tasks>") {
        true => keyed(key, reply),
        false => format!("clada: {key}\n{reply}"),
    };
    let others = ["zzzz2", "K7M2X", "", "k7m2", "aaaaaa", "1l0oi"];
    match chance.below(9) {
        0 => reply.to_owned(),
        1 => keyed(chance.one_of::<&str>(&others), reply),
        2 => format!("clada: {}\n{reply}", chance.one_of::<&str>(&others)),
        // Cut off anywhere before its last line.
        3 | 4 => {
            let whole = right(reply);
            let last = whole.trim_end().rfind('\n').unwrap_or(0);
            let cut = whole.floor_char_boundary(chance.below(last as u64 + 1) as usize);
            whole[..cut].to_owned()
        }
        // Quoted.
        5 => {
            let lines = right(reply);
            lines.lines().map(|line| format!("> {line}\n")).collect()
        }
        6 => format!("<!-- clada:off -->\n{}<!-- clada:on -->\n", right(reply)),
        // One of two has no key, or another.
        7 => format!("{}\nand\n\n{}", right(reply), keyed("zzzz2", REPLIES[0])),
        _ => format!("{}\nand\n\n{}", right(reply), REPLIES[0]),
    }
}

#[test]
fn nothing_runs_but_what_has_the_key() {
    let Some(desk) = Desk::new() else { return };
    desk.project.configure(
        "dialects = [\"cml\", \"sham\", \"nesl\", \"replacer\", \"aider\", \"codex\", \"diff\"]\n",
    );
    let watching = desk.watch();
    let key = desk.key();
    let path = std::env::var_os("PATH").unwrap();
    let vars = [("DISPLAY", desk.display.name().into()), ("PATH", path)];
    let copier = Clipboard::start(ClipboardContext {
        program: env!("CARGO_BIN_EXE_clada").into(),
        vars: vars.map(|(name, value)| (name.into(), value)).into(),
        terminal: None,
        is_remote: false,
        stays: false,
    });
    let many = std::env::var("TEXTS").map_or(TEXTS, |many| many.parse().unwrap());
    let mut chance = Chance::new();
    for number in 0..many {
        // Too many unknown keys would end the watching.
        if number % 5 == 0 {
            let _ = desk.project.clada(["resume"]);
        }
        let text = format!("number {number}\n\n{}", text(&mut chance, &key));
        copier
            .copy(text, crate::harness::LIMIT)
            .expect("a text on the clipboard");
        watching.until_it_heard(number + 1);
        assert_eq!(ran(&desk.project), [""; 0]);
    }
    let huge = keyed(&key, &exec(&record("never"))) + &"x".repeat(9_000_000);
    copier.copy(huge, crate::harness::LIMIT).expect("a text");
    let _ = desk.project.clada(["resume"]);
    desk.copy(&desk.reply("right"));
    wait_for_results(&desk.project, "echo right");
    assert_eq!(ran(&desk.project), ["right"]);
    let notes = desk.project.read(NOTES);
    assert!(!notes.contains("never"), "{notes}");
}

/// What a password manager copies is not read, whatever it says.
#[test]
fn what_is_marked_as_secret_is_not_read() {
    let Some(desk) = Desk::new() else { return };
    let watching = desk.watch();
    let asked = PasswordManager::owns(desk.display.name(), desk.reply("secret"));
    // It notes what it is asked for, until somebody else copies something.
    wait_until(|| asked.has_answered(), || "a question".to_owned());
    desk.copy(&desk.reply("right"));
    wait_for_results(&desk.project, "echo right");
    assert_eq!(asked.questions(), ["TARGETS"]);
    assert_eq!(watching.copies_heard(), 1);
    assert_eq!(ran(&desk.project), ["right"]);
}

/// An owner of the clipboard that marks its text as secret.
struct PasswordManager {
    asked: Arc<Mutex<Vec<String>>>,
    thread: JoinHandle<()>,
}

impl PasswordManager {
    /// Owns the clipboard of a display when this returns.
    fn owns(display: &str, text: String) -> Self {
        let (x11, screen) = x11rb::connect(Some(display)).unwrap();
        let root = x11.setup().roots[screen].root;
        let window = x11.generate_id().unwrap();
        let aux = CreateWindowAux::new();
        let class = WindowClass::INPUT_OUTPUT;
        x11.create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &aux)
            .unwrap();
        let atom = |name: &str| {
            let asked = x11.intern_atom(false, name.as_bytes()).unwrap();
            asked.reply().unwrap().atom
        };
        let names = ["TARGETS", "UTF8_STRING", "x-kde-passwordManagerHint"];
        let [targets, utf8, hint] = names.map(atom);
        x11.set_selection_owner(window, atom("CLIPBOARD"), x11rb::CURRENT_TIME)
            .unwrap();
        x11.sync().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let notes = Arc::clone(&asked);
        let thread = std::thread::spawn(move || {
            loop {
                let event = match x11.wait_for_event().unwrap() {
                    Event::SelectionRequest(event) => event,
                    // Somebody else copied something.
                    Event::SelectionClear(_) => return,
                    _ => continue,
                };
                let name = x11.get_atom_name(event.target).unwrap().reply().unwrap();
                let (to, property) = (event.requestor, event.property);
                let mode = PropMode::REPLACE;
                if event.target == targets {
                    let all = [targets, utf8, hint];
                    x11.change_property32(mode, to, property, AtomEnum::ATOM, &all)
                } else {
                    x11.change_property8(mode, to, property, utf8, text.as_bytes())
                }
                .unwrap();
                let done = SelectionNotifyEvent {
                    response_type: SELECTION_NOTIFY_EVENT,
                    sequence: 0,
                    time: event.time,
                    requestor: to,
                    selection: event.selection,
                    target: event.target,
                    property,
                };
                x11.send_event(false, to, EventMask::NO_EVENT, done)
                    .unwrap();
                x11.flush().unwrap();
                let name = String::from_utf8(name.name).unwrap();
                notes.lock().unwrap().push(name);
            }
        });
        Self { asked, thread }
    }

    fn has_answered(&self) -> bool {
        !self.asked.lock().unwrap().is_empty()
    }

    /// What it was asked for, once somebody else has copied something.
    fn questions(self) -> Vec<String> {
        self.thread.join().unwrap();
        let asked = self.asked.lock().unwrap();
        asked.clone()
    }
}
