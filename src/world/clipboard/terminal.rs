//! Owns the way onto the clipboard through the terminal that the user sits at: the sequence OSC 52. Nothing answers to it, so
//! where it may be lost for sure, it is not sent.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Stdio;

use super::display::{EnvMap, var};
use super::program;
use crate::world::programs::Programs;

/// The most bytes that every terminal takes, by the widest-known limit of 100,000 bytes for the whole sequence.
pub(super) const MOST: usize = 74_994;

/// Terminals that take it unless their user has forbidden it, by the beginning of TERM; as their manuals say. Those of VTE do
/// not, xterm only where it is told to, and a console of Linux has no clipboard.
const NAMES: [&str; 6] = [
    "xterm-kitty",
    "foot",
    "alacritty",
    "wezterm",
    "xterm-ghostty",
    "ghostty",
];
/// The variables of such terminals that call themselves xterm.
const SET: [&str; 5] = [
    "KITTY_WINDOW_ID",
    "ALACRITTY_WINDOW_ID",
    "WEZTERM_PANE",
    "GHOSTTY_RESOURCES_DIR",
    "WT_SESSION",
];

/// The places that the sequence is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalRoute {
    /// To what clada runs in.
    inner: bool,
    /// Through that tmux to the terminal around it.
    outer: bool,
}

/// A tmux that lets the sequence through nowhere: its `set-clipboard`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Closed(pub(super) String);

/// Tells if the terminal of this environment, which is one of this machine, may take it.
pub(super) fn may_take(vars: &EnvMap) -> bool {
    if var(vars, "TMUX").is_some() {
        return true;
    }
    let term = var(vars, "TERM").map(|term| term.to_string_lossy());
    let term = term.unwrap_or_default();
    // In these the variables are those of the terminal around it.
    let is_other = ["linux", "dumb", "screen"]
        .iter()
        .any(|name| term.starts_with(name));
    let is_set = |name: &&str| var(vars, name).is_some();
    let is_named = NAMES.iter().any(|name| term.starts_with(name));
    !is_other && !is_set(&"STY") && (is_named || SET.iter().any(is_set))
}

/// The route that is open in this environment. A tmux takes the sequence for itself if its `set-clipboard` is on, and passes it
/// on if `allow-passthrough` is, or in a version from before that option.
pub(super) fn route(vars: &EnvMap, programs: &Programs) -> Result<TerminalRoute, Closed> {
    let is_tmux = var(vars, "TMUX").is_some();
    let said = is_tmux.then(|| ask_tmux(vars, programs)).flatten();
    match said {
        Some(said) => route_of(&said),
        // A tmux that does not answer takes one or the other.
        None => Ok(TerminalRoute {
            inner: true,
            outer: is_tmux,
        }),
    }
}

/// The values that a tmux is asked for, between bars.
const QUESTION: &str = "#{set-clipboard}|#{allow-passthrough}|#{client_termname}";

/// The route that an answer to [`QUESTION`] leaves open.
fn route_of(said: &str) -> Result<TerminalRoute, Closed> {
    let mut said = said.trim_end().split('|');
    let mut next = || said.next().unwrap_or_default();
    let (clipboard, passes, around) = (next(), next(), next());
    let route = TerminalRoute {
        inner: clipboard == "on",
        outer: ["", "1", "on", "all"].contains(&passes) && around != "linux",
    };
    if route.inner || route.outer {
        Ok(route)
    } else {
        Err(Closed(clipboard.to_owned()))
    }
}

fn ask_tmux(vars: &EnvMap, programs: &Programs) -> Option<String> {
    let mut tmux = programs.command_in("tmux", vars).ok()?;
    tmux.args(["display-message", "-p"]);
    if let Some(pane) = var(vars, "TMUX_PANE") {
        tmux.arg("-t").arg(pane);
    }
    tmux.arg(QUESTION)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut tmux = tmux.spawn().ok()?;
    if !program::succeeds(&mut tmux).ok()? {
        return None;
    }
    let mut said = String::new();
    tmux.stdout.take()?.read_to_string(&mut said).ok()?;
    Some(said)
}

/// Writes it at once, so that it does not get mixed up with what is shown meanwhile.
pub(super) fn write(text: &str, terminal: &Path, route: TerminalRoute) -> io::Result<()> {
    let plain = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    let mut all = String::new();
    if route.inner {
        all += &plain;
    }
    if route.outer {
        let doubled = plain.replace('\x1b', "\x1b\x1b");
        all += &format!("\x1bPtmux;{doubled}\x1b\\");
    }
    let mut terminal = OpenOptions::new().write(true).open(terminal)?;
    terminal.write_all(all.as_bytes())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            text.push(if digit <= three.len() {
                char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_as_in_rfc_4648() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}🌍?", "w7/wn4yNPw=="),
        ];
        for (text, coded) in vectors {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn tmux_gets_it_for_itself_and_for_the_terminal_around() {
        let plain = "\x1b]52;c;Zg==\x07";
        let wrapped = format!("\x1bPtmux;\x1b{plain}\x1b\\");
        for (inner, outer, expected) in [
            (true, false, plain.to_owned()),
            (false, true, wrapped.clone()),
            (true, true, format!("{plain}{wrapped}")),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            write("f", file.path(), TerminalRoute { inner, outer }).unwrap();
            assert_eq!(std::fs::read_to_string(file.path()).unwrap(), expected);
        }
    }

    #[test]
    fn what_tmux_says_is_obeyed() {
        let way = |inner, outer| Ok(TerminalRoute { inner, outer });
        let closed = |value: &str| Err(Closed(value.to_owned()));
        for (said, expected) in [
            ("on|0|xterm\n", way(true, false)),
            ("on|1|xterm\n", way(true, true)),
            ("external|0|xterm\n", closed("external")),
            ("external|1|xterm\n", way(false, true)),
            ("off|all|foot\n", way(false, true)),
            ("off|off|foot\n", closed("off")),
            // Before 3.3 all was passed on. A console of Linux takes nothing.
            ("external||xterm\n", way(false, true)),
            ("external|1|linux\n", closed("external")),
            ("on|1|linux\n", way(true, false)),
        ] {
            assert_eq!(route_of(said), expected, "{said:?}");
        }
    }

    #[test]
    fn terminals_that_take_it_are_known() {
        let may = |vars: &[(&str, &str)]| {
            let vars = vars.iter().map(|(name, value)| (name.into(), value.into()));
            may_take(&vars.collect())
        };
        assert!(may(&[("TERM", "xterm-kitty")]));
        assert!(may(&[("TERM", "foot-extra")]));
        assert!(may(&[("TERM", "xterm-256color"), ("WEZTERM_PANE", "0")]));
        assert!(may(&[
            ("TERM", "screen-256color"),
            ("TMUX", "/tmp/tmux,1,0")
        ]));
        for others in [
            &[][..],
            &[("TERM", "linux")],
            &[("TERM", "linux"), ("KITTY_WINDOW_ID", "1")],
            &[("TERM", "xterm-256color")],
            &[("TERM", "xterm-kitty"), ("STY", "1.pts-0")],
            &[("TERM", "screen"), ("KITTY_WINDOW_ID", "1")],
        ] {
            assert!(!may(others), "{others:?}");
        }
    }
}
