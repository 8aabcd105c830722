//! Figures of replies that are only copied: how long it takes until their results are on the clipboard.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clada::world::clipboard::{Clipboard, ClipboardContext};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xfixes::{ConnectionExt as _, SelectionEventMask};
use x11rb::protocol::xproto::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

use crate::project::{CLADA, Project, Watch, task, whole};
use crate::table::{Row, ms, paired};

/// How much longer it may take than `clada run` of the same reply.
const LONGER: Duration = Duration::from_millis(30);

/// From the copying of a reply to its results on the clipboard, beside `clada run` of the same reply.
pub(crate) fn round(print: &mut dyn FnMut(Row)) {
    let Some(desk) = Desk::start() else {
        println!("copied reply: there is no Xvfb to measure it on");
        return;
    };
    let desk = RefCell::new(desk);
    let ours = || desk.borrow_mut().copies();
    let theirs = || desk.borrow_mut().runs();
    let pair = paired(20, ours, theirs);
    let longer = pair.ours.saturating_sub(pair.theirs);
    print(Row {
        what: "to its results on the clipboard".to_owned(),
        ours: ms(pair.ours),
        baseline: ("clada run of the same reply", ms(pair.theirs)),
        ratio: pair.ratio,
        goal: Some(("+ 30 ms".to_owned(), longer <= LONGER)),
    });
}

/// An X server, a clada that takes copied replies there, and somebody who copies them.
struct Desk {
    clada: Watch,
    project: Project,
    copier: Clipboard,
    changes: RustConnection,
    key: String,
    replies: usize,
    server: Child,
}

impl Desk {
    fn start() -> Option<Self> {
        let script = "exec Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp -noreset 3>&1 >/dev/null 2>&1";
        let mut server = Command::new("sh");
        server.args(["-c", script]).stdout(Stdio::piped());
        let mut server = server.spawn().ok()?;
        let mut number = String::new();
        BufReader::new(server.stdout.take()?)
            .read_line(&mut number)
            .ok()?;
        let name = format!(":{}", number.trim());
        let (changes, screen) = x11rb::connect(Some(&name)).ok()?;
        let project = Project::with_git();
        let mut command = project.command(CLADA);
        command
            .args(["watch", "--from-clipboard"])
            .env("DISPLAY", &name);
        let clada = Watch::start(&mut command);
        let mut instructions = project.command(CLADA);
        instructions.arg("instructions").stdout(Stdio::piped());
        let said = instructions.output().expect("clada").stdout;
        let said = String::from_utf8(said).expect("UTF-8");
        let (_, key) = said.split_once("<tasks key=\"").expect("a key");
        let key = key[..5].to_owned();
        let vars = [("DISPLAY", name.as_str()), ("PATH", "/usr/bin:/bin")];
        let copier = Clipboard::start(ClipboardContext {
            program: CLADA.into(),
            vars: vars.map(|(name, value)| (name.into(), value.into())).into(),
            terminal: None,
            is_remote: false,
            stays: false,
        });
        let root = changes.setup().roots[screen].root;
        let clipboard = changes
            .intern_atom(false, b"CLIPBOARD")
            .ok()?
            .reply()
            .ok()?;
        changes.xfixes_query_version(5, 0).ok()?.reply().ok()?;
        let mask = SelectionEventMask::SET_SELECTION_OWNER;
        changes
            .xfixes_select_selection_input(root, clipboard.atom, mask)
            .ok()?
            .check()
            .ok()?;
        let mut desk = Self {
            clada,
            project,
            copier,
            changes,
            key,
            replies: 0,
            server,
        };
        // Until it watches the clipboard.
        std::thread::sleep(Duration::from_secs(1));
        desk.copies();
        Some(desk)
    }

    fn reply(&mut self) -> String {
        self.replies += 1;
        let mut reply = String::new();
        let _ = write!(
            reply,
            "Reply {0}:\n\n<tasks key=\"{1}\">\n{2}</tasks>\n\nThat was it.\n",
            self.replies,
            self.key,
            task(&format!("echo {}", self.replies))
        );
        reply
    }

    /// Copies a reply, and waits for the results.
    fn copies(&mut self) -> Duration {
        let reply = self.reply();
        let clock = Instant::now();
        self.copier
            .copy(reply, Duration::from_secs(20))
            .expect("a copied reply");
        for _ in 0..2 {
            self.changed();
        }
        clock.elapsed()
    }

    /// Waits until somebody else owns the clipboard.
    fn changed(&self) {
        while !matches!(
            self.changes.wait_for_event().expect("an X server"),
            Event::XfixesSelectionNotify(_)
        ) {}
    }

    fn runs(&mut self) -> Duration {
        let path = self.project.path("reply.md");
        std::fs::write(&path, self.reply()).expect("write");
        let mut command = self.project.command(CLADA);
        command.arg("run").arg(&path);
        whole(command)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.clada.0.kill();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
