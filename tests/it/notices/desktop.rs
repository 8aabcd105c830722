//! A message bus, and a desktop on it that only takes notes, and presses buttons.

use std::io::{BufRead, BufReader};
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
        let mut daemon = Command::new("dbus-daemon");
        daemon.args(["--session", "--nofork", "--nopidfile", "--print-address"]);
        let mut daemon = daemon.stdout(Stdio::piped()).spawn().expect("dbus-daemon");
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().expect("stdout"))
            .read_line(&mut address)
            .expect("address");
        let address = address.trim().to_owned();
        Some(Self { daemon, address })
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Calls a method of the bus itself.
fn ask<R: ReadAll>(channel: &Channel, method: &str, args: impl AppendAll) -> R {
    let call = Message::call_with_args(BUS, "/org/freedesktop/DBus", BUS, method, args);
    let answer = channel.send_with_reply_and_block(call, LIMIT);
    answer.expect(method).read_all().expect(method)
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
    let mut channel = Channel::open_private(&bus.address).expect("a connection");
    channel.register().expect("Hello");
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
                    let answer = answer(&call, &told, has_buttons);
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
fn answer(call: &Message, told: &Mutex<Told>, has_buttons: bool) -> Message {
    let answer = call.method_return();
    match call.member().as_deref() {
        Some("GetCapabilities") => {
            let actions = has_buttons.then_some("actions");
            let all = ["body", "body-markup"].into_iter().chain(actions);
            answer.append1(all.collect::<Vec<_>>())
        }
        Some("CloseNotification") => {
            let id = call.read1().expect("an id");
            told.lock().expect("lock").closed.push(id);
            answer
        }
        Some("Notify") => answer.append1(told.lock().expect("lock").note(call)),
        _ => default_reply(call).expect("a call"),
    }
}

impl Desktop {
    /// Tells everybody that somebody clicked on a notification.
    pub(super) fn click(&self, id: u32, action: &str) {
        let click = Message::new_signal(OBJECT, NOTIFICATIONS, "ActionInvoked");
        let click = click.expect("valid names").append2(id, action);
        self.channel.send(click).expect("memory");
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
