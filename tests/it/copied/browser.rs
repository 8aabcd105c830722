//! Two acts a round, by the keys and the mouse of a person who looks at nothing but the chat's page: its copy button, and a
//! paste into its text area.

use crate::browser::{Chat, Page};
use crate::harness::{installed, wait_until};
use crate::notices::{Bus, desktop};
use crate::screenshot;

use super::{Desk, keyed, ran, reply};

/// The number of rounds; `ROUNDS` sets another.
const ROUNDS: usize = 10;

/// The first reply, which the README shows.
const FIRST: &str = "I'll write the script and try it.\n\n<tasks>\n\
     <task>\n<path>greet.sh</path>\n<c>overwrite</c>\n<x>\necho \"Hello, $1\"\n</x>\n</task>\n\
     <task><c>exec</c><x>sh greet.sh Ada</x></task>\n\
     </tasks>\n";

#[test]
fn a_chat_goes_on_by_its_copy_button_and_paste() {
    if !["chromium", "xdotool"].into_iter().all(installed) {
        return;
    }
    let (Some(desk), Some(bus)) = (Desk::new(), Bus::start()) else {
        return;
    };
    let (_desktop, told) = desktop(&bus, true);
    let rounds = std::env::var("ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let watching = desk.watch_on(&bus.address);
    let key = desk.key();
    let word = |round: usize| format!("round{round}");
    let others = (1..rounds).map(|round| keyed(&key, &reply(&word(round))));
    let replies: Vec<String> = std::iter::once(keyed(&key, FIRST)).chain(others).collect();
    let chat = Chat::start(replies.clone());
    let page = Page::open(&desk.project, &chat);
    for (round, reply) in replies.iter().enumerate() {
        wait_until(
            || page.shows(round),
            || format!("reply {round} in the page"),
        );
        page.press_copy();
        let said = if round == 0 {
            "Hello, Ada".to_owned()
        } else {
            word(round)
        };
        let is_done = || {
            let on_clipboard = desk.clipboard();
            on_clipboard.contains("=== CLADA RESULTS ===") && on_clipboard.contains(&said)
        };
        wait_until(is_done, || watching.said());
        let is_told = || told.lock().unwrap().texts().len() > round;
        wait_until(is_told, || watching.said());
        let results = desk.clipboard();
        page.paste(&chat, &results);
        page.send();
        wait_until(|| chat.last() == results, || chat.last());
        let (title, body) = told.lock().unwrap().texts()[round].clone();
        assert!(
            body.starts_with("the results are on your clipboard"),
            "{body}"
        );
        if round == 0 {
            assert_eq!(title, "clada.md: 2 done");
            let reply = reply.replace(&key, "k7m2x") + "\n[ Copy ]  <- click";
            let lines = |text: &str| text.lines().map(str::to_owned).collect();
            let windows = [
                ("1. The chat: press its copy button", lines(&reply)),
                ("The desktop", lines(&format!("{title}\n{body}"))),
                ("2. The chat: paste, and send", lines(results.trim_end())),
            ];
            screenshot::check("two-acts.svg", 80, &windows);
        } else {
            assert_eq!(title, "clada.md: 1 done");
        }
    }
    let all: Vec<String> = (1..rounds).map(word).collect();
    assert_eq!(ran(&desk.project), all);
}
