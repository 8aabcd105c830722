//! A message bus, and a desktop on it that only takes notes, and presses buttons.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dbus::arg::{AppendAll, PropMap, ReadAll};
use dbus::channel::{Channel, default_reply};
use dbus::{Message, MessageType};

use crate::harness::installed;

/// The name of a bus on itself, and that of its interface.
const BUS: &str = "org.freedesktop.DBus";
/// The name of a desktop on its bus, and that of its interface.
const NOTIFICATIONS: &str = "org.freedesktop.Notifications";
const OBJECT: &str = "/org/freedesktop/Notifications";
/// The limit of a call, long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(20);

/// A message bus. Ended when dropped.
pub(crate) struct Bus {
    daemon: Child,
    pub(crate) address: String,
}

impl Bus {
    /// `None`, and a line that says so, where there is none; in CI there must be one.
    pub(crate) fn start() -> Option<Self> {
        if !installed("dbus-daemon") {
            return None;
        }
        Some(Self::run(&[]))
    }

    /// As [`Self::start`], with its socket at this path.
    pub(super) fn start_at(socket: &Path) -> Option<Self> {
        if !installed("dbus-daemon") {
            return None;
        }
        // What was killed has left it behind.
        let _ = std::fs::remove_file(socket);
        let address = format!("--address=unix:path={}", socket.display());
        Some(Self::run(&[address]))
    }

    fn run(args: &[String]) -> Self {
        let mut daemon = Command::new("dbus-daemon");
        daemon.args(["--session", "--nofork", "--nopidfile", "--print-address"]);
        daemon.args(args);
        let mut daemon = daemon.stdout(Stdio::piped()).spawn().expect("dbus-daemon");
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().expect("stdout"))
            .read_line(&mut address)
            .expect("address");
        let address = address.trim().to_owned();
        Self { daemon, address }
    }

    /// A connection of the test.
    fn connect(&self) -> Channel {
        let mut channel = Channel::open_private(&self.address).expect("a connection");
        channel.register().expect("Hello");
        channel
    }

    /// The number of connections that a process has to it.
    pub(super) fn connections_of(&self, pid: u32) -> usize {
        let channel = self.connect();
        let (names,): (Vec<String>,) = ask(&channel, "ListNames", ());
        let is_of = |name: &&String| {
            let owner = call_bus(&channel, "GetConnectionUnixProcessID", (name.as_str(),));
            // It may have ended meanwhile.
            owner.is_ok_and(|owner| owner.read1() == Ok(pid))
        };
        let connections = names.iter().filter(|name| name.starts_with(':'));
        connections.filter(is_of).count()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Calls a method of the bus itself.
fn call_bus(channel: &Channel, method: &str, args: impl AppendAll) -> dbus::Result<Message> {
    let call = Message::call_with_args(BUS, "/org/freedesktop/DBus", BUS, method, args);
    channel.send_with_reply_and_block(call, LIMIT)
}

/// As [`call_bus`], where nothing can go wrong.
fn ask<R: ReadAll>(channel: &Channel, method: &str, args: impl AppendAll) -> R {
    let answer = call_bus(channel, method, args).expect(method);
    answer.read_all().expect(method)
}

/// A notification as the desktop got it.
#[derive(Clone)]
pub(super) struct Shown {
    title: String,
    body: String,
    pub(super) actions: Vec<String>,
}

/// The notifications so far, the first with the id 1, and the ids of those that were closed.
#[derive(Default)]
pub(crate) struct Told {
    pub(super) shown: Vec<Shown>,
    pub(super) closed: Vec<u32>,
    /// An action that is clicked on as soon as a notification is shown.
    pub(super) clicked_at_once: Option<&'static str>,
}

impl Told {
    pub(crate) fn texts(&self) -> Vec<(String, String)> {
        let texts = self.shown.iter();
        texts
            .map(|it| (it.title.clone(), it.body.clone()))
            .collect()
    }

    /// Takes note of a notification, and returns its id.
    fn note(&mut self, call: &Message) -> u32 {
        type Notify = (
            String,
            u32,
            String,
            String,
            String,
            Vec<String>,
            PropMap,
            i32,
        );
        let notification: Notify = call.read_all().expect("a notification");
        let (app, replaces, icon, title, body, actions, hints, timeout) = notification;
        assert_eq!(
            (app, replaces, icon),
            ("clada".to_owned(), 0, String::new())
        );
        assert_eq!((hints.len(), timeout), (0, -1));
        self.shown.push(Shown {
            title,
            body,
            actions,
        });
        u32::try_from(self.shown.len()).expect("a number")
    }
}

/// A desktop. It is gone when dropped.
pub(crate) struct Desktop {
    channel: Arc<Channel>,
    ends: Arc<AtomicBool>,
    answers: Option<JoinHandle<()>>,
}

/// A desktop with or without buttons, and what it is told.
pub(crate) fn desktop(bus: &Bus, has_buttons: bool) -> (Desktop, Arc<Mutex<Told>>) {
    let channel = bus.connect();
    let (owns,): (u32,) = ask(&channel, "RequestName", (NOTIFICATIONS, 0_u32));
    assert_eq!(owns, 1, "there is another desktop");
    let channel = Arc::new(channel);
    let told = Arc::<Mutex<Told>>::default();
    let ends = Arc::<AtomicBool>::default();
    let answers = {
        let (channel, told, ends) = (Arc::clone(&channel), Arc::clone(&told), Arc::clone(&ends));
        thread::spawn(move || {
            // It looks up now and then: the clicks of other threads are sent only between two waits.
            let waits = Duration::from_millis(10);
            while !ends.load(Ordering::SeqCst)
                && let Ok(message) = channel.blocking_pop_message(waits)
            {
                if let Some(call) = message.filter(|it| it.msg_type() == MessageType::MethodCall) {
                    let answer = answer(&channel, &call, &told, has_buttons);
                    channel.send(answer).expect("memory");
                }
            }
        })
    };
    let desktop = Desktop {
        channel,
        ends,
        answers: Some(answers),
    };
    (desktop, told)
}

/// Does what a call asks for.
fn answer(channel: &Channel, call: &Message, told: &Mutex<Told>, has_buttons: bool) -> Message {
    let answer = call.method_return();
    match call.member().as_deref() {
        Some("GetCapabilities") => {
            let actions = has_buttons.then_some("actions");
            let all = ["body", "body-markup"].into_iter().chain(actions);
            // More than is read at once.
            let more = std::iter::repeat_n("x-of-some-vendor", 1000);
            answer.append1(more.chain(all).collect::<Vec<_>>())
        }
        Some("CloseNotification") => {
            let id = call.read1().expect("an id");
            told.lock().expect("lock").closed.push(id);
            answer
        }
        Some("Notify") => {
            let mut told = told.lock().expect("lock");
            let id = told.note(call);
            if let Some(action) = told.clicked_at_once {
                channel.send(clicked(id, action)).expect("memory");
            }
            answer.append1(id)
        }
        _ => default_reply(call).expect("a call"),
    }
}

fn signal(name: &str) -> Message {
    Message::new_signal(OBJECT, NOTIFICATIONS, name).expect("valid names")
}

fn clicked(id: u32, action: &str) -> Message {
    signal("ActionInvoked").append2(id, action)
}

impl Desktop {
    /// Tells everybody that somebody clicked on a notification.
    pub(super) fn click(&self, id: u32, action: &str) {
        self.channel.send(clicked(id, action)).expect("memory");
    }

    /// Tells everybody that somebody closed a notification.
    pub(super) fn dismiss(&self, id: u32) {
        let by_user = 2_u32;
        let closed = signal("NotificationClosed").append2(id, by_user);
        self.channel.send(closed).expect("memory");
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        if let Some(answers) = self.answers.take() {
            // One that panicked has said so.
            let _ = answers.join();
        }
    }
}
