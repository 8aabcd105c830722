//! The text that launchd is given, and the reading of its answers.

use std::path::Path;

use super::{ManagerCall, Order, Runs, ServiceState, words};

pub(super) const PROGRAM: &str = "launchctl";
pub(super) const FILE: &str = "clada.plist";

/// As it is shipped, with what differs between at signs.
const TEMPLATE: &str = include_str!("../../../launchd/clada.plist");

/// The agent that starts this program, and has its output in a file. Of the variables, those that it has a place for.
pub(super) fn agent(program: &str, env: &[(&str, String)], log: &Path) -> String {
    let value = |name: &str| match name {
        "PROGRAM" => program.to_owned(),
        "LOG" => log.to_string_lossy().into_owned(),
        name => {
            let set = env.iter().find(|(known, _)| *known == name);
            set.map(|(_, value)| value.clone()).unwrap_or_default()
        }
    };
    let parts = TEMPLATE.split('@').enumerate();
    parts
        .map(|(at, part)| match at % 2 {
            0 => part.to_owned(),
            _ => escaped(&value(part)),
        })
        .collect()
}

/// As XML has it, which has no control characters at all.
fn escaped(text: &str) -> String {
    let mut xml = String::new();
    for c in text.chars() {
        match c {
            '&' => xml += "&amp;",
            '<' => xml += "&lt;",
            '>' => xml += "&gt;",
            '\t' | '\n' | '\r' => xml += &format!("&#{};", u32::from(c)),
            c if c.is_control() => xml.push('\u{fffd}'),
            c => xml.push(c),
        }
    }
    xml
}

fn target(user: u32) -> String {
    format!("gui/{user}/clada")
}

pub(super) fn steps(order: Order, user: u32, file: &Path) -> Vec<ManagerCall> {
    let (domain, target, file) = (format!("gui/{user}"), target(user), file.to_string_lossy());
    let out = || (words(["bootout", &target]), false);
    let loaded = |must| (words(["bootstrap", &domain, &file]), must);
    // It fails where that is so already.
    let enabled = || (words(["enable", &target]), false);
    match order {
        Order::Install => vec![out(), enabled(), loaded(true)],
        // Told only to end, it would begin again with the next login.
        Order::Remove | Order::Stop => vec![out()],
        Order::Forget => Vec::new(),
        Order::Start => vec![
            enabled(),
            loaded(false),
            (words(["kickstart", &target]), true),
        ],
        Order::Restart => vec![
            enabled(),
            loaded(false),
            (words(["kickstart", "-k", &target]), true),
        ],
    }
}

pub(super) fn question(user: u32) -> Vec<String> {
    words(["print", &target(user)])
}

/// Reads the state of the service from what launchd prints of the agent: nothing where it has none.
pub(super) fn state(printed: Option<&str>, is_installed: bool) -> ServiceState {
    let get = |name| {
        let lines = printed.unwrap_or_default().lines();
        let mut pairs = lines.filter_map(|line| line.trim().split_once(" = "));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    let failed = get("last exit code").filter(|code| !matches!(*code, "0" | "(never exited)"));
    ServiceState {
        is_installed,
        runs: match (get("state"), failed) {
            (Some("running"), _) => Runs::Yes,
            (_, Some(code)) => Runs::Failed(format!("it exited with code {code}")),
            _ => Runs::No,
        },
        pid: get("pid").and_then(|pid| pid.parse().ok()),
        ..ServiceState::default()
    }
}

pub(super) fn logs(log: &Path, lines: usize, follow: bool) -> (&'static str, Vec<String>) {
    let mut args = words(["-n", &lines.to_string()]);
    args.extend(follow.then(|| "-F".to_owned()));
    args.push(log.to_string_lossy().into_owned());
    ("tail", args)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any text comes out of the file as it went in.
    #[test]
    fn the_agent_is_read_as_it_was_meant() {
        let program = "/Users/Ann & Bob/<\"new\">/@LOG@/clä'da";
        let path = "/a:/b ]]> &amp; $x %h\\";
        let log = "/Users/Ann & Bob/Library/Logs/clada.log";
        let text = agent(program, &[("PATH", path.to_owned())], Path::new(log));
        let read = plist::Value::from_reader_xml(text.as_bytes()).unwrap();
        let agent = read.as_dictionary().unwrap();
        let text = |name| agent.get(name).and_then(plist::Value::as_string);
        let mut expected = agent.clone();
        let arguments = [program, "daemon"].map(|word| plist::Value::String(word.to_owned()));
        expected.insert(
            "ProgramArguments".to_owned(),
            plist::Value::Array(arguments.into()),
        );
        assert_eq!(*agent, expected);
        let env = agent["EnvironmentVariables"].as_dictionary().unwrap();
        assert_eq!(env["PATH"].as_string(), Some(path));
        assert_eq!(env["CLADA_SERVICE_LOG"].as_string(), Some(log));
        assert_eq!(text("StandardOutPath"), Some(log));
        assert_eq!(text("StandardErrorPath"), Some(log));
        assert_eq!(text("Label"), Some("clada"));
        assert_eq!(agent["RunAtLoad"].as_boolean(), Some(true));
        let keep = agent["KeepAlive"].as_dictionary().unwrap();
        assert_eq!(keep["SuccessfulExit"].as_boolean(), Some(false));
        // launchd passes over keys that it does not know.
        let known = [
            "EnvironmentVariables",
            "ExitTimeOut",
            "KeepAlive",
            "Label",
            "ProcessType",
            "ProgramArguments",
            "RunAtLoad",
            "StandardErrorPath",
            "StandardOutPath",
            "ThrottleInterval",
        ];
        let mut keys: Vec<&str> = agent.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, known);
    }

    #[test]
    fn orders_are_given_in_turn() {
        let of = |order| {
            let steps = steps(order, 501, Path::new("/A/clada.plist"));
            let line = |(args, must): &ManagerCall| args.join(" ") + if *must { "" } else { " ?" };
            steps.iter().map(line).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            of(Order::Install),
            "bootout gui/501/clada ?; enable gui/501/clada ?; bootstrap gui/501 /A/clada.plist"
        );
        assert_eq!(
            of(Order::Restart),
            "enable gui/501/clada ?; bootstrap gui/501 /A/clada.plist ?; kickstart -k gui/501/clada"
        );
        assert_eq!(of(Order::Stop), "bootout gui/501/clada ?");
    }

    #[test]
    fn states_are_told() {
        let printed = "gui/501/clada = {\n\tactive count = 1\n\tstate = running\n\n\tpid = 71\n}\n";
        let running = state(Some(printed), true);
        assert_eq!((running.runs, running.pid), (Runs::Yes, Some(71)));
        let ended = state(Some("\tstate = not running\n\tlast exit code = 1\n"), true);
        let why = "it exited with code 1".to_owned();
        assert_eq!(ended.runs, Runs::Failed(why));
        assert_eq!(state(None, true).runs, Runs::No);
        assert!(!state(None, false).is_installed);
    }
}
