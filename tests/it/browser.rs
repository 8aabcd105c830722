//! The whole way round, by the keys that a person presses: a reply is copied from a chat page in a browser, pasted into the
//! notes in an editor, and what came of it is pasted into the page's text area.

#![cfg(target_os = "linux")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};

use crate::daemon::display::Xvfb;
use crate::daemon::{NOTES, wait_for_results};
use crate::harness::{Project, installed, wait_until};

const PAGE: &str = include_str!("browser.html");

/// In the middle of the page's reply, of its copy button, and of its text area.
const REPLY: [&str; 2] = ["200", "300"];
const COPY: [&str; 2] = ["200", "457"];
const MESSAGE: [&str; 2] = ["200", "700"];

/// One that half works, and one that repairs it. What is easily spoilt on the way is in the payload.
const REPLIES: [&str; 2] = [
    "Let us begin – it is <easy>:\n\n<tasks>\n\
     <task>\n<path>greet.sh</path>\n<c>overwrite</c>\n<x>\n\
     if true; then\n\techo \"‘Hällo’ & <$((6 * 7))>  😀\"  \nfi\n\
     </x>\n</task>\n\
     <task><c>exec</c><x>sh greet.sh</x></task>\n\
     <task>\n<path>greet.sh</path>\n<c>edit</c>\n<search>goodbye</search>\n<replace>hello</replace>\n</task>\n\
     </tasks>\nThat is all.",
    "I see:\n<tasks>\n\
     <task>\n<path>greet.sh</path>\n<c>edit</c>\n<search>Hällo</search>\n<replace>Hello</replace>\n</task>\n\
     <task><c>exec</c><x>sh greet.sh again</x></task>\n\
     </tasks>",
];

#[test]
fn a_chat_in_a_browser_goes_on_by_copy_and_paste() {
    let programs = ["chromium", "mousepad", "xdotool"];
    if !programs.into_iter().all(installed) {
        return;
    }
    let Some(display) = Xvfb::start() else { return };
    let project = Project::with_git().on_display(display.name());
    project.write(NOTES, "my notes\n");
    let _watching = project.watch([]);
    let chat = Chat::start(REPLIES.map(str::to_owned).to_vec());
    let page = Page::open(&project, &chat);

    let expected = [
        ("3 ❌ edit greet.sh - ", "stdout:\n‘Hällo’ & <42>  😀\n"),
        (
            "2 ✅ exec sh greet.sh again",
            "stdout:\n‘Hello’ & <42>  😀\n",
        ),
    ];
    for (reply, (last, said)) in REPLIES.into_iter().zip(expected) {
        let copied = || {
            page.window.focus();
            page.window.click(REPLY);
            page.window.keys(&["ctrl+c"]);
            display.clipboard(&project) == reply
        };
        wait_until(copied, || {
            format!("{reply:?} in {:?}", display.clipboard(&project))
        });

        let editor = Window::open(&project, &["mousepad", "--disable-server", NOTES]);
        wait_until(|| editor.name().contains(NOTES), || editor.name());
        editor.focus();
        editor.keys(&["ctrl+End", "ctrl+v"]);
        // It asks the browser for the text, and shows a star when that is there.
        wait_until(|| editor.name().starts_with('*'), || editor.name());
        editor.keys(&["ctrl+s"]);
        let notes = wait_for_results(&project, last);
        assert!(notes.body.starts_with("my notes\n") && notes.body.contains(reply));
        assert!(notes.status.starts_with("📋"), "{}", notes.status);
        drop(editor);

        let results = display.clipboard(&project);
        page.paste(&chat, &results);
        page.send();
        wait_until(|| chat.last() == results, || chat.last());
        for has in [last, said] {
            assert!(results.contains(has), "{has:?} in {results}");
        }
    }
    assert_eq!(
        project.read("greet.sh"),
        "if true; then\n\techo \"‘Hello’ & <$((6 * 7))>  😀\"  \nfi\n"
    );
}

/// The page, in a browser.
pub(crate) struct Page<'p> {
    window: Window<'p>,
}

impl<'p> Page<'p> {
    pub(crate) fn open(project: &'p Project, chat: &Chat) -> Self {
        let window = Window::open(
            project,
            &[
                "chromium",
                &format!("--app=http://{}/", chat.address),
                &format!("--user-data-dir={}/chromium", project.home().display()),
                "--window-position=640,0",
                "--window-size=640,900",
                // As root, and where there is little shared memory.
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--disable-quic",
                "--disable-sync",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--no-default-browser-check",
                "--password-store=basic",
            ],
        );
        let page = Self { window };
        // It is there before it takes clicks and keys.
        let takes_keys = || {
            page.window.focus();
            page.window.click(MESSAGE);
            page.window.keys(&["x"]);
            !chat.draft().is_empty()
        };
        wait_until(takes_keys, || "the page to take keys".to_owned());
        page
    }

    /// Returns true if the reply after so many others is in the page.
    pub(crate) fn shows(&self, before: usize) -> bool {
        self.window.name().trim() == format!("chat {}", before + 1)
    }

    /// Presses the copy button once.
    pub(crate) fn press_copy(&self) {
        self.window.focus();
        self.window.click(COPY);
    }

    /// Pastes into the text area, until that has this text.
    pub(crate) fn paste(&self, chat: &Chat, text: &str) {
        let pasted = || {
            self.window.focus();
            self.window.click(MESSAGE);
            self.window.keys(&["ctrl+a", "ctrl+v"]);
            chat.draft() == text
        };
        wait_until(pasted, || format!("{text:?} in {:?}", chat.draft()));
    }

    pub(crate) fn send(&self) {
        self.window.keys(&["Return"]);
    }
}

/// What is behind the page: it answers each message with the next reply, and knows what stands in the text area.
pub(crate) struct Chat {
    address: String,
    talk: Arc<Mutex<Talk>>,
}

#[derive(Default)]
struct Talk {
    replies: Vec<String>,
    draft: String,
    /// The first is the empty one with which a page begins.
    messages: Vec<String>,
}

impl Chat {
    pub(crate) fn start(replies: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("address").to_string();
        let talk = Talk {
            replies,
            ..Talk::default()
        };
        let talk = Arc::new(Mutex::new(talk));
        let known = Arc::clone(&talk);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let talk = Arc::clone(&known);
                // A browser opens more connections than it uses.
                std::thread::spawn(move || answer(&stream, &talk));
            }
        });
        Self { address, talk }
    }

    pub(crate) fn draft(&self) -> String {
        self.talk.lock().expect("lock").draft.clone()
    }

    pub(crate) fn last(&self) -> String {
        let talk = self.talk.lock().expect("lock");
        talk.messages.last().cloned().unwrap_or_default()
    }
}

/// Answers one request.
fn answer(mut stream: &TcpStream, talk: &Mutex<Talk>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().expect("a length");
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).expect("UTF-8");
    let mut talk = talk.lock().expect("lock");
    let answer = match request.split(' ').nth(1) {
        Some("/") => PAGE.to_owned(),
        Some("/draft") => {
            talk.draft = body;
            String::new()
        }
        Some("/send") => {
            talk.messages.push(body);
            let next = talk.replies.get(talk.messages.len() - 1);
            next.cloned().unwrap_or_default()
        }
        _ => String::new(),
    };
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
        answer.len()
    )
}

/// A program with one window. Ended when dropped.
struct Window<'p> {
    project: &'p Project,
    program: Child,
    id: String,
}

impl<'p> Window<'p> {
    /// Starts a program and waits for its window.
    fn open(project: &'p Project, command: &[&str]) -> Self {
        let program = project
            .command(command[0])
            .args(&command[1..])
            .env("LC_ALL", "C.UTF-8")
            .env("GSETTINGS_BACKEND", "memory")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut window = Self {
            project,
            program: program.expect("start"),
            id: String::new(),
        };
        let search = ["search", "--onlyvisible", "--class", command[0]];
        let mut found = String::new();
        let shown = || {
            found = window.xdotool(&search);
            !found.is_empty()
        };
        wait_until(shown, || format!("a window of {command:?}"));
        window.id = found.lines().next().expect("a line").to_owned();
        window
    }

    /// Has what is typed come here.
    fn focus(&self) {
        let focused = || {
            self.xdotool(&["windowfocus", &self.id]);
            self.xdotool(&["getwindowfocus"]).trim() == self.id
        };
        wait_until(focused, || format!("the focus on {:?}", self.name()));
    }

    fn keys(&self, keys: &[&str]) {
        self.xdotool(&[&["key"], keys].concat());
    }

    fn click(&self, at: [&str; 2]) {
        let there = [
            "mousemove",
            "--window",
            &self.id,
            at[0],
            at[1],
            "click",
            "1",
        ];
        self.xdotool(&there);
    }

    fn name(&self) -> String {
        self.xdotool(&["getwindowname", &self.id])
    }

    /// What it prints; nothing where it fails, as for a window that is not there yet.
    fn xdotool(&self, args: &[&str]) -> String {
        let output = self.project.command("xdotool").args(args).output();
        String::from_utf8(output.expect("xdotool").stdout).expect("UTF-8")
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        // So that a browser takes its own processes with it.
        let _ = kill_process(Pid::from_child(&self.program), Signal::TERM);
        let _ = self.program.wait();
    }
}
