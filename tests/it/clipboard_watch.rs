//! The watching of the clipboard on real displays, where other programs copy.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clada::world::clipboard::{
    Clipboard, ClipboardError, ClipboardNews, Copied, CopiedText, CopyId,
};
use rustix::process::{Pid, Signal, kill_process};
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::{Dispatch, EventQueue, QueueHandle, delegate_noop, event_created_child};
use wayland_protocols_wlr::data_control::v1::client::zwlr_data_control_device_v1::{
    self, ZwlrDataControlDeviceV1,
};
use wayland_protocols_wlr::data_control::v1::client::zwlr_data_control_manager_v1::ZwlrDataControlManagerV1;
use wayland_protocols_wlr::data_control::v1::client::zwlr_data_control_offer_v1::ZwlrDataControlOfferV1;
use wayland_protocols_wlr::data_control::v1::client::zwlr_data_control_source_v1::{
    self, ZwlrDataControlSourceV1,
};
use x11rb::CURRENT_TIME;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ConnectionExt as _, CreateWindowAux, EventMask, PropMode, SelectionNotifyEvent,
    SelectionRequestEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use crate::clipboard::{Sway, around, owners};
use crate::daemon::display::Xvfb;
use crate::harness::{Project, wait_until};

const PATIENCE: Duration = Duration::from_secs(20);
const MIB: usize = 1024 * 1024;

/// A clipboard that is watched.
struct Heard {
    clipboard: Clipboard,
    news: Receiver<ClipboardNews>,
}

impl Heard {
    fn start(vars: &[(&str, &str)]) -> Self {
        let clipboard = Clipboard::start(around(vars));
        let news = watch(&clipboard);
        Self { clipboard, news }
    }

    /// One that watches this display.
    #[track_caller]
    fn on(project: &Project, xvfb: &Xvfb) -> Self {
        let home = project.home().display().to_string();
        let heard = Self::start(&[("HOME", &home), ("DISPLAY", xvfb.name())]);
        assert_eq!(heard.watching(), format!("X11, {}", xvfb.name()));
        heard
    }

    #[track_caller]
    fn next(&self) -> ClipboardNews {
        self.news.recv_timeout(PATIENCE).expect("news")
    }

    #[track_caller]
    fn watching(&self) -> String {
        match self.next() {
            ClipboardNews::Watching(way) => way,
            ClipboardNews::Copied(copied) => panic!("copied {:?}", copied.text),
            ClipboardNews::Blind(why) => panic!("{why}"),
        }
    }

    #[track_caller]
    fn blind(&self) -> ClipboardError {
        match self.next() {
            ClipboardNews::Blind(why) => why,
            ClipboardNews::Copied(copied) => panic!("copied {:?}", copied.text),
            ClipboardNews::Watching(way) => panic!("watching {way}"),
        }
    }

    #[track_caller]
    fn copied(&self) -> CopiedText {
        match self.next() {
            ClipboardNews::Copied(copied) => copied,
            ClipboardNews::Watching(way) => panic!("watching {way}"),
            ClipboardNews::Blind(why) => panic!("{why}"),
        }
    }

    /// Waits for the text to be told next, and returns which copy it is.
    #[track_caller]
    fn hears(&self, text: &str) -> CopyId {
        let copied = self.copied();
        assert!(copied.text == text, "{:.99?}, not {text:.99?}", copied.text);
        copied.copy
    }

    fn copy(&self, text: &str) -> Result<Copied, ClipboardError> {
        self.clipboard.copy(text.to_owned(), PATIENCE)
    }

    fn copy_after(&self, text: &str, after: CopyId) -> Result<Copied, ClipboardError> {
        self.clipboard.copy_after(text.to_owned(), after, PATIENCE)
    }
}

fn watch(clipboard: &Clipboard) -> Receiver<ClipboardNews> {
    let (told, news) = channel();
    clipboard.watch(Some(Box::new(move |news| {
        let _ = told.send(news);
    })));
    news
}

/// Another program copies this to a selection.
fn copies(xvfb: &Xvfb, selection: &str, args: &[&str], content: &[u8]) {
    let (server, _) = x11rb::connect(Some(xvfb.name())).unwrap();
    let name = atom(&server, &selection.to_uppercase());
    let owner = || {
        let owner = server.get_selection_owner(name).unwrap();
        owner.reply().unwrap().owner
    };
    let before = owner();
    let mut xclip = Command::new("xclip");
    xclip.env("DISPLAY", xvfb.name());
    xclip.args(["-i", "-selection", selection]).args(args);
    pours(xclip, content);
    // It ends before the server knows.
    wait_until(
        || ![x11rb::NONE, before].contains(&owner()),
        || "xclip to copy".to_owned(),
    );
}

fn copies_text(xvfb: &Xvfb, text: &str) {
    copies(xvfb, "clipboard", &[], text.as_bytes());
}

fn pours(mut command: Command, content: &[u8]) {
    // It goes on in the background, with what it has open.
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let written = child.stdin.take().unwrap().write_all(content);
    assert!(child.wait().unwrap().success());
    written.unwrap();
}

/// The most memory that the owner of the clipboard ever had, in MiB.
fn most_memory(project: &Project) -> usize {
    let pids = owners(project);
    let status = fs::read_to_string(format!("/proc/{}/status", pids[0])).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1));
    kb.and_then(|kb| kb.parse::<usize>().ok()).unwrap() / 1024
}

/// A program with a selection, which answers as it is told to.
struct Offering {
    server: Arc<RustConnection>,
    window: Window,
    clipboard: Atom,
    text: Arc<Mutex<String>>,
    asked: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Offering {
    /// It offers these kinds of content, and gives the text for each but TARGETS; nothing at all if it is `silent`.
    fn start(xvfb: &Xvfb, kinds: &[&str], silent: bool) -> Self {
        let (server, screen) = x11rb::connect(Some(xvfb.name())).unwrap();
        let root = server.setup().roots[screen].root;
        let window = server.generate_id().unwrap();
        let aux = CreateWindowAux::new();
        let class = WindowClass::INPUT_ONLY;
        server
            .create_window(0, window, root, 0, 0, 1, 1, 0, class, 0, &aux)
            .unwrap();
        let atom = |name: &str| atom(&server, name);
        let kinds: Vec<Atom> = kinds.iter().map(|kind| atom(kind)).collect();
        let (clipboard, targets) = (atom("CLIPBOARD"), atom("TARGETS"));
        let server = Arc::new(server);
        let (text, asked) = (Arc::<Mutex<String>>::default(), Arc::default());
        let is_over = Arc::new(AtomicBool::new(false));
        let mut offering = Self {
            server: Arc::clone(&server),
            window,
            clipboard,
            text: Arc::clone(&text),
            asked: Arc::clone(&asked),
            is_over: Arc::clone(&is_over),
            thread: None,
        };
        let answer = move |event: &SelectionRequestEvent| {
            let name = server.get_atom_name(event.target).unwrap().reply().unwrap();
            let name = String::from_utf8(name.name).unwrap();
            asked.lock().unwrap().push(name);
            if silent {
                return;
            }
            let (to, into) = (event.requestor, event.property);
            if event.target == targets {
                let kind = AtomEnum::ATOM;
                server.change_property32(PropMode::REPLACE, to, into, kind, &kinds)
            } else {
                let text = text.lock().unwrap().clone();
                server.change_property8(PropMode::REPLACE, to, into, event.target, text.as_bytes())
            }
            .unwrap();
            let done = SelectionNotifyEvent {
                response_type: 31,
                sequence: 0,
                time: event.time,
                requestor: to,
                selection: event.selection,
                target: event.target,
                property: into,
            };
            server
                .send_event(false, to, EventMask::NO_EVENT, done)
                .unwrap();
            server.flush().unwrap();
        };
        let server = Arc::clone(&offering.server);
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                match server.poll_for_event() {
                    Ok(Some(Event::SelectionRequest(event))) => answer(&event),
                    Ok(Some(_)) => {}
                    Ok(None) => thread::sleep(Duration::from_millis(1)),
                    Err(_) => return,
                }
            }
        });
        offering.thread = Some(thread);
        offering
    }

    /// Copies this text.
    fn copies(&self, text: &str) {
        text.clone_into(&mut self.text.lock().unwrap());
        self.server
            .set_selection_owner(self.window, self.clipboard, CURRENT_TIME)
            .unwrap();
        self.server.sync().unwrap();
    }

    /// The kinds of content that it was asked for.
    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Offering {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn atom(server: &RustConnection, name: &str) -> Atom {
    let atom = server.intern_atom(false, name.as_bytes()).unwrap();
    atom.reply().unwrap().atom
}

#[test]
fn each_text_that_others_copy_is_told_once() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    copies_text(&xvfb, "there before");
    let heard = Heard::on(&project, &xvfb);
    copies_text(&xvfb, "one");
    let one = heard.hears("one");
    // Within 10 s, and by another program: that is a clipboard manager.
    for _ in 0..3 {
        copies_text(&xvfb, "one");
    }
    copies(&xvfb, "primary", &[], b"only marked");
    copies_text(&xvfb, "two 🌍\n");
    let two = heard.hears("two 🌍\n");
    assert_ne!(one, two);
    let offering = Offering::start(&xvfb, &["TEXT", "STRING"], false);
    offering.copies("caf\u{e9}");
    // It is called a STRING, so it is in Latin-1.
    heard.hears("cafÃ©");
    assert_eq!(offering.asked(), ["TARGETS", "STRING"]);
}

#[test]
fn the_text_that_is_there_at_the_start_is_nothing_new() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let offering = Offering::start(&xvfb, &["UTF8_STRING"], false);
    offering.copies("there before");
    let heard = Heard::on(&project, &xvfb);
    wait_until(
        || offering.asked().len() == 2,
        || "the first read".to_owned(),
    );
    copies_text(&xvfb, "there before");
    copies_text(&xvfb, "new");
    heard.hears("new");
}

#[test]
fn a_text_is_copied_only_if_nothing_was_since() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let heard = Heard::on(&project, &xvfb);
    let refused = Err(ClipboardError::CopiedSince);
    copies_text(&xvfb, "reply");
    let reply = heard.hears("reply");
    // A manager takes it over.
    copies_text(&xvfb, "reply");
    assert_eq!(heard.copy_after("results", reply), Ok(Copied::Kept));
    assert_eq!(xvfb.clipboard(&project), "results");
    // clada's own text is nothing new, also where a manager sets it.
    copies_text(&xvfb, "results");
    assert_eq!(heard.copy_after("more", reply), Ok(Copied::Kept));
    assert_eq!(heard.copy("anything"), Ok(Copied::Kept));
    assert_eq!(heard.copy_after("results", reply), Ok(Copied::Kept));

    copies(&xvfb, "clipboard", &["-t", "image/png"], b"\x89PNG");
    assert_eq!(heard.copy_after("late", reply), refused);
    copies_text(&xvfb, "other");
    let other = heard.hears("other");
    assert_eq!(heard.copy_after("late", reply), refused);
    assert_eq!(xvfb.clipboard(&project), "other");
    assert_eq!(heard.copy_after("right", other), Ok(Copied::Kept));
}

#[test]
fn long_texts_arrive_and_too_long_ones_are_not_read() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let heard = Heard::on(&project, &xvfb);
    let long = "0123456789abcdeä".repeat(5 * MIB / 17);
    copies_text(&xvfb, &long);
    let copy = heard.hears(&long);
    for size in [9 * MIB, 100 * MIB] {
        copies_text(&xvfb, &"x".repeat(size));
        assert_eq!(
            heard.copy_after("results", copy),
            Err(ClipboardError::CopiedSince)
        );
    }
    let offering = Offering::start(&xvfb, &["UTF8_STRING"], false);
    offering.copies(&"x".repeat(9 * MIB));
    copies_text(&xvfb, "short");
    heard.hears("short");
    let most = most_memory(&project);
    assert!(most < 80, "{most} MiB");

    // Its own may be longer.
    let own = "y".repeat(12 * MIB);
    let short = {
        copies_text(&xvfb, "shorter");
        heard.hears("shorter")
    };
    assert_eq!(heard.copy(&own), Ok(Copied::Kept));
    assert_eq!(heard.copy_after("results", short), Ok(Copied::Kept));
}

#[test]
fn secrets_are_not_read() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let heard = Heard::on(&project, &xvfb);
    copies_text(&xvfb, "one");
    let one = heard.hears("one");
    let kinds = ["UTF8_STRING", "x-kde-passwordManagerHint"];
    let secret = Offering::start(&xvfb, &kinds, false);
    secret.copies("password");
    assert_eq!(
        heard.copy_after("results", one),
        Err(ClipboardError::CopiedSince)
    );
    copies_text(&xvfb, "two");
    heard.hears("two");
    assert_eq!(secret.asked(), ["TARGETS"]);
}

#[test]
fn who_never_answers_holds_up_nothing() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let silent = Offering::start(&xvfb, &["UTF8_STRING"], true);
    silent.copies("there before");
    let heard = Heard::on(&project, &xvfb);
    // More than are remembered until they answer.
    for round in 1..=20 {
        wait_until(
            || silent.asked().len() == 2 * round - 1,
            || format!("question {round}"),
        );
        let start = Instant::now();
        copies_text(&xvfb, &format!("text {round}"));
        let copy = heard.hears(&format!("text {round}"));
        assert!(start.elapsed() < Duration::from_millis(900), "it waited");
        silent.copies("");
        wait_until(
            || silent.asked().len() == 2 * round,
            || format!("question {round}"),
        );
        if round % 10 == 0 {
            let start = Instant::now();
            assert_eq!(
                heard.copy_after("results", copy),
                Err(ClipboardError::CopiedSince)
            );
            assert!(start.elapsed() < Duration::from_secs(3));
        }
        silent.copies("");
    }
}

#[test]
fn a_flood_of_texts_holds_up_nothing() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let heard = Heard::on(&project, &xvfb);
    let offering = Arc::new(Offering::start(&xvfb, &["UTF8_STRING"], false));
    for number in 1..=1000 {
        offering.copies(&format!("text {number}"));
    }
    while heard.copied().text != "text 1000" {}

    copies_text(&xvfb, "reply");
    let reply = heard.hears("reply");
    let (is_over, count) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let flood = thread::spawn({
        let (offering, is_over, count) = (offering.clone(), is_over.clone(), count.clone());
        move || {
            while !is_over.load(Ordering::Relaxed) {
                let number = count.fetch_add(1, Ordering::Relaxed);
                offering.copies(&format!("flood {number}"));
            }
        }
    });
    let flows = |from: usize| {
        wait_until(
            || count.load(Ordering::Relaxed) > from + 1000,
            || "the flood".to_owned(),
        );
    };
    flows(0);
    for _ in 0..5 {
        let start = Instant::now();
        assert_eq!(
            heard.copy_after("results", reply),
            Err(ClipboardError::CopiedSince)
        );
        assert_eq!(heard.copy("mine"), Ok(Copied::Kept));
        assert!(start.elapsed() < Duration::from_secs(4));
        flows(count.load(Ordering::Relaxed));
    }
    is_over.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    offering.copies("the last");
    while heard.copied().text != "the last" {}
    let most = most_memory(&project);
    assert!(most < 64, "{most} MiB");
}

#[test]
fn a_display_that_comes_back_is_watched_again() {
    let name = Xvfb::own_name(1);
    let project = Project::new();
    let home = project.home().display().to_string();
    let heard = Heard::start(&[("HOME", &home), ("DISPLAY", &name)]);
    let why = heard.blind();
    assert!(matches!(why, ClipboardError::Unreachable { .. }), "{why}");
    let Some(xvfb) = Xvfb::start_as(&name) else {
        return;
    };
    assert_eq!(heard.watching(), format!("X11, {name}"));
    copies_text(&xvfb, "one");
    let one = heard.hears("one");
    drop(xvfb);
    let why = heard.blind();
    assert!(matches!(why, ClipboardError::Unreachable { .. }), "{why}");
    let xvfb = Xvfb::start_as(&name).unwrap();
    // Why it cannot be reached may change meanwhile.
    while !matches!(heard.next(), ClipboardNews::Watching(_)) {}
    copies_text(&xvfb, "one");
    let again = heard.hears("one");
    assert_eq!(
        heard.copy_after("results", one),
        Err(ClipboardError::NotWatched)
    );
    assert_eq!(heard.copy_after("results", again), Ok(Copied::Kept));
}

#[test]
fn without_a_display_that_is_said() {
    let heard = Heard::start(&[]);
    assert_eq!(heard.blind(), ClipboardError::NoDisplay { looked: false });
}

#[test]
fn an_owner_that_is_killed_is_started_anew() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let heard = Heard::on(&project, &xvfb);
    copies_text(&xvfb, "one");
    let one = heard.hears("one");
    let killed = owners(&project);
    let pid = killed[0].parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    heard.blind();
    assert_eq!(heard.watching(), format!("X11, {}", xvfb.name()));
    assert_eq!(
        heard.copy_after("results", one),
        Err(ClipboardError::NotWatched)
    );
    copies_text(&xvfb, "two");
    heard.hears("two");
    let now = owners(&project);
    assert!(now.len() == 1 && now != killed, "{now:?}");
}

/// Also an owner that has a text already begins to watch, and keeps that text.
#[test]
fn the_watching_ends_and_begins_as_it_is_wanted() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let home = project.home().display().to_string();
    let clipboard = Clipboard::start(around(&[("HOME", &home), ("DISPLAY", xvfb.name())]));
    let copied = clipboard.copy("mine".to_owned(), PATIENCE);
    assert_eq!(copied, Ok(Copied::Kept));
    let owner = owners(&project);
    let news = watch(&clipboard);
    let mut heard = Heard { clipboard, news };
    heard.watching();
    assert_eq!(owners(&project), owner);
    copies_text(&xvfb, "mine");
    copies_text(&xvfb, "one");
    let one = heard.hears("one");

    heard.clipboard.watch(None);
    let offering = Offering::start(&xvfb, &["UTF8_STRING"], false);
    assert_eq!(
        heard.copy_after("results", one),
        Err(ClipboardError::NotWatched)
    );
    offering.copies("unseen");
    assert_eq!(heard.copy("mine"), Ok(Copied::Kept));
    assert_eq!(offering.asked(), [""; 0]);
    assert!(heard.news.recv().is_err(), "nobody tells any more");
    heard.news = watch(&heard.clipboard);
    heard.watching();
    copies_text(&xvfb, "two");
    heard.hears("two");
    assert_eq!(owners(&project), owner);
}

/// The number of times that the threads of a process woke up.
fn wake_ups(pid: &str) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    // One may end between the two.
    let status = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    let counts = status.flat_map(|status| {
        let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
        let counts = lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
        counts.collect::<Vec<_>>()
    });
    counts.sum()
}

/// Waits until a process has slept for two seconds.
#[track_caller]
pub(crate) fn sleeps(pid: &str) {
    let (mut count, mut since) = (wake_ups(pid), Instant::now());
    wait_until(
        || {
            let now = wake_ups(pid);
            if now != count {
                (count, since) = (now, Instant::now());
            }
            since.elapsed() > Duration::from_secs(2)
        },
        || "it to sleep".to_owned(),
    );
}

#[test]
fn who_watches_sleeps() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let heard = Heard::on(&project, &xvfb);
    copies_text(&xvfb, "one");
    heard.hears("one");
    sleeps(&owners(&project)[0]);
}

/// Another program copies this under Wayland.
fn copies_there(sway: &Sway, args: &[&str], content: &[u8]) {
    let mut wl_copy = Command::new("wl-copy");
    wl_copy.envs(sway.vars()).args(args);
    pours(wl_copy, content);
}

#[test]
fn wayland_is_watched_too() {
    let Some(sway) = Sway::start() else { return };
    let project = Project::new();
    let home = project.home().display().to_string();
    let vars = sway.vars();
    copies_there(&sway, &[], b"there before");
    let heard = Heard::start(&[
        ("HOME", &home),
        (vars[0].0, &vars[0].1),
        (vars[1].0, &vars[1].1),
    ]);
    assert_eq!(heard.watching(), format!("Wayland, {}", vars[1].1));
    copies_there(&sway, &["--primary"], b"only marked");
    copies_there(&sway, &[], "reply 🌍".as_bytes());
    let reply = heard.hears("reply 🌍");
    copies_there(&sway, &[], "reply 🌍".as_bytes());
    assert_eq!(heard.copy_after("results", reply), Ok(Copied::Kept));
    sway.shows("results");
    copies_there(&sway, &[], b"results");
    assert_eq!(heard.copy_after("more", reply), Ok(Copied::Kept));
    sway.shows("more");
    copies_there(&sway, &["--type", "image/png"], b"\x89PNG");
    assert_eq!(
        heard.copy_after("late", reply),
        Err(ClipboardError::CopiedSince)
    );
    copies_there(&sway, &["--type", "text/plain"], &vec![b'x'; 5 * MIB]);
    heard.hears(&"x".repeat(5 * MIB));
    for size in [9, 100] {
        copies_there(&sway, &["--type", "text/plain"], &vec![b'x'; size * MIB]);
    }
    copies_there(&sway, &[], b"short");
    heard.hears("short");
    let most = most_memory(&project);
    assert!(most < 80, "{most} MiB");
    sleeps(&owners(&project)[0]);

    let mut doctor = project.command(env!("CARGO_BIN_EXE_clada"));
    let said = doctor.arg("doctor").envs(sway.vars()).output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("✅ clipboard watching: Wayland ("), "{said}");
    sway.shows("short");
    drop(sway);
    let why = heard.blind();
    assert!(matches!(why, ClipboardError::Unreachable { .. }), "{why}");
}

/// A program with a selection under Wayland, which gives nothing of it.
struct Keeping {
    asked: Vec<String>,
    /// They are kept open.
    pipes: Vec<OwnedFd>,
}

impl Keeping {
    /// Copies a text that has these names.
    fn copies(sway: &Sway, names: &[&str]) -> (Self, EventQueue<Self>) {
        let vars = sway.vars();
        let socket = Path::new(&vars[0].1).join(&vars[1].1);
        let server = UnixStream::connect(socket).unwrap();
        let server = wayland_client::Connection::from_socket(server).unwrap();
        let (globals, mut queue) = registry_queue_init::<Self>(&server).unwrap();
        let handle = queue.handle();
        let seat: WlSeat = globals.bind(&handle, 1..=1, ()).unwrap();
        let control: ZwlrDataControlManagerV1 = globals.bind(&handle, 1..=1, ()).unwrap();
        let source = control.create_data_source(&handle, ());
        for name in names {
            source.offer((*name).to_owned());
        }
        let device = control.get_data_device(&seat, &handle, ());
        device.set_selection(Some(&source));
        let mut keeping = Self {
            asked: Vec::new(),
            pipes: Vec::new(),
        };
        queue.roundtrip(&mut keeping).unwrap();
        (keeping, queue)
    }
}

impl Dispatch<ZwlrDataControlSourceV1, ()> for Keeping {
    fn event(
        keeping: &mut Self,
        _: &ZwlrDataControlSourceV1,
        event: zwlr_data_control_source_v1::Event,
        (): &(),
        _: &wayland_client::Connection,
        _: &QueueHandle<Self>,
    ) {
        if let zwlr_data_control_source_v1::Event::Send { mime_type, fd } = event {
            keeping.asked.push(mime_type);
            keeping.pipes.push(fd);
        }
    }
}

impl Dispatch<ZwlrDataControlDeviceV1, ()> for Keeping {
    fn event(
        _: &mut Self,
        _: &ZwlrDataControlDeviceV1,
        _: zwlr_data_control_device_v1::Event,
        (): &(),
        _: &wayland_client::Connection,
        _: &QueueHandle<Self>,
    ) {
    }

    event_created_child!(Keeping, ZwlrDataControlDeviceV1, [
        zwlr_data_control_device_v1::EVT_DATA_OFFER_OPCODE => (ZwlrDataControlOfferV1, ()),
    ]);
}

impl Dispatch<WlRegistry, GlobalListContents> for Keeping {
    fn event(
        _: &mut Self,
        _: &WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &wayland_client::Connection,
        _: &QueueHandle<Self>,
    ) {
    }
}

delegate_noop!(Keeping: ignore WlSeat);
delegate_noop!(Keeping: ignore ZwlrDataControlManagerV1);
delegate_noop!(Keeping: ignore ZwlrDataControlOfferV1);

#[test]
fn who_gives_no_text_holds_up_nothing_on_wayland() {
    let Some(sway) = Sway::start() else { return };
    let vars = sway.vars();
    let heard = Heard::start(&[(vars[0].0, &vars[0].1), (vars[1].0, &vars[1].1)]);
    heard.watching();
    copies_there(&sway, &[], b"one");
    let one = heard.hears("one");
    let names = ["text/plain", "UTF8_STRING"];
    let (mut silent, mut queue) = Keeping::copies(&sway, &names);
    wait_until(
        || {
            queue.roundtrip(&mut silent).unwrap();
            silent.asked == ["UTF8_STRING"]
        },
        || "the question".to_owned(),
    );
    copies_there(&sway, &[], b"two");
    let two = heard.hears("two");
    assert_ne!(one, two);
    let silent = Keeping::copies(&sway, &names);
    let start = Instant::now();
    let late = heard.copy_after("results", two);
    assert_eq!(late, Err(ClipboardError::CopiedSince));
    assert!(start.elapsed() < Duration::from_secs(3));
    drop(silent);

    copies_there(&sway, &[], b"three");
    let three = heard.hears("three");
    let names = ["text/plain", "x-kde-passwordManagerHint"];
    let (mut secret, mut queue) = Keeping::copies(&sway, &names);
    let late = heard.copy_after("results", three);
    assert_eq!(late, Err(ClipboardError::CopiedSince));
    queue.roundtrip(&mut secret).unwrap();
    assert_eq!(secret.asked, [""; 0]);
}

/// A compositor that offers nothing at all, as one does without data control.
fn bare_compositor(folder: &Path) {
    let listener = UnixListener::bind(folder.join("wayland-bare")).unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || while answer_sync(&mut stream).is_ok() {});
        }
    });
}

/// Reads a request, and says that it is done with what came before if that is asked.
fn answer_sync(stream: &mut UnixStream) -> io::Result<()> {
    let mut head = [0; 8];
    stream.read_exact(&mut head)?;
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (object, request) = (word(0), word(4));
    let mut rest = vec![0; (request >> 16) as usize - 8];
    stream.read_exact(&mut rest)?;
    let is_sync = object == 1 && request & 0xffff == 0;
    if is_sync {
        stream.write_all(&rest)?;
        stream.write_all(&(12_u32 << 16).to_ne_bytes())?;
        stream.write_all(&[0; 4])?;
    }
    Ok(())
}

#[test]
fn a_compositor_without_data_control_is_watched_through_x11() {
    let Some(xvfb) = Xvfb::start() else { return };
    let project = Project::new();
    let home = project.home().display().to_string();
    bare_compositor(&project.home());
    let alone = [
        ("HOME", &*home),
        ("XDG_RUNTIME_DIR", &home),
        ("WAYLAND_DISPLAY", "wayland-bare"),
    ];
    let why = Heard::start(&alone).blind().to_string();
    let said = "the clipboard cannot be watched (the compositor has no ext-data-control, as on GNOME under Wayland)";
    assert_eq!(why, said);
    let both = [&alone[..], &[("DISPLAY", xvfb.name())]].concat();
    let heard = Heard::start(&both);
    assert_eq!(heard.watching(), format!("X11, {}", xvfb.name()));
    copies_text(&xvfb, "one");
    let one = heard.hears("one");
    assert_eq!(heard.copy_after("results", one), Ok(Copied::Kept));
    assert_eq!(xvfb.clipboard(&project), "results");

    // The doctor says so too, and reads nothing.
    let offering = Offering::start(&xvfb, &["UTF8_STRING"], false);
    drop(heard);
    let doctor = |vars: &[(&str, &str)]| {
        let mut doctor = project.command(env!("CARGO_BIN_EXE_clada"));
        doctor.arg("doctor").envs(vars.iter().copied());
        let said = String::from_utf8(doctor.output().unwrap().stdout).unwrap();
        let line = said
            .lines()
            .find(|line| line.contains("clipboard watching: "));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    assert_eq!(
        doctor(&alone),
        "⚠ clipboard watching: the compositor has no ext-data-control, so programs without a window cannot watch its \
         clipboard (as on GNOME under Wayland): paste replies into the notes"
    );
    let through = doctor(&both);
    let begin = "✅ clipboard watching: X11 (XFIXES ";
    assert!(through.starts_with(begin), "{through}");
    assert!(through.ends_with("), through Xwayland"), "{through}");
    assert_eq!(offering.asked(), [""; 0]);
}
