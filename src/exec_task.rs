//! What exec means: a script run to its end, or to one of its limits, and what is said of that. Knows no other command.

use std::cell::Cell;
use std::future::pending;

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::lang::outcome::{Section, Status};
use crate::lang::{duration, report};
use crate::world::shell::{self, Captured, Ending, Script, Stream};

/// What a stopped run says of its tasks.
pub const STOPPED: &str = "clada was stopped";

/// What came of a script.
#[derive(Debug)]
pub struct Executed {
    pub status: Status,
    /// Nothing where there is nothing to say.
    pub message: Option<String>,
    pub data: Value,
    /// All that it wrote.
    pub sections: Vec<Section>,
}

/// Runs a script until it ends, writes more than `limit` bytes, or `stop` becomes true. `on_output` gets what it writes,
/// as it comes.
pub async fn perform(
    script: &Script<'_>,
    mut stop: watch::Receiver<bool>,
    limit: u64,
    on_output: &mut dyn FnMut(Stream, &[u8]),
) -> Executed {
    let (written, too_much) = (Cell::new(0), Notify::new());
    let stopped = async {
        if stop.wait_for(|stop| *stop).await.is_err() {
            // Nobody is left who could stop it.
            pending::<()>().await;
        }
    };
    let cancelled = async {
        tokio::select! {
            () = too_much.notified() => {}
            () = stopped => {}
        }
    };
    let mut counted = |stream, bytes: &[u8]| {
        written.set(written.get() + bytes.len() as u64);
        if written.get() > limit {
            too_much.notify_one();
        }
        on_output(stream, bytes);
    };
    match shell::run(script, cancelled, &mut counted).await {
        Ok(ran) => told(ran, (written.get() > limit).then_some(limit)),
        Err(error) => {
            let message = Some(error.to_string());
            Executed {
                status: Status::Failed,
                message,
                data: Value::Null,
                sections: Vec::new(),
            }
        }
    }
}

fn told(mut ran: shell::Ran, passed: Option<u64>) -> Executed {
    let took = duration::show(ran.elapsed);
    let (status, ending) = match (&ran.ending, passed) {
        (Ending::Cancelled, Some(limit)) => {
            let what = format!(
                "ended at {} MiB of output: send it to a file instead",
                limit / (1024 * 1024)
            );
            (Status::Failed, Some(what))
        }
        (Ending::Cancelled, None) => (Status::Interrupted, Some(format!("{STOPPED} ({took})"))),
        (Ending::Exited(0), _) => (Status::Done, None),
        (Ending::Exited(code), _) => (Status::Failed, Some(format!("exit code {code} ({took})"))),
        (Ending::Signalled(signal), _) => (
            Status::Failed,
            Some(format!(
                "killed by {} ({took})",
                shell::signal_name(*signal)
            )),
        ),
        (Ending::TimedOut(limit), _) => {
            let limit = duration::show(*limit);
            (
                Status::Failed,
                Some(format!(
                    "ended at its time limit of {limit} (`<x timeout=\"…\">` sets another)"
                )),
            )
        }
    };
    let left = match ran.left_running {
        0 => None,
        1 => Some("ended a process that it left running".to_owned()),
        n => Some(format!("ended {n} processes that it left running")),
    };
    let text = |captured: &mut Captured| report::for_json(captured).unwrap_or_default();
    let mut data = json!({ "stdout": text(&mut ran.stdout), "stderr": text(&mut ran.stderr) });
    match ran.ending {
        Ending::Exited(code) => data["exit_code"] = code.into(),
        Ending::Signalled(signal) => data["signal"] = shell::signal_name(signal).into(),
        Ending::TimedOut(_) | Ending::Cancelled => {}
    }
    let said: Vec<String> = ending.into_iter().chain(left).collect();
    Executed {
        status,
        message: (!said.is_empty()).then(|| said.join("; ")),
        data,
        sections: vec![
            Section::Stream("stdout", Box::new(ran.stdout)),
            Section::Stream("stderr", Box::new(ran.stderr)),
        ],
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;

    async fn executed(text: &str, limit: u64) -> (Executed, u64) {
        let script = Script {
            text,
            dir: Path::new("/"),
            timeout: Duration::from_secs(30),
            fence: None,
        };
        let (_keep, stop) = watch::channel(false);
        let mut written = 0;
        let done = perform(&script, stop, limit, &mut |_, bytes| {
            written += bytes.len() as u64
        })
        .await;
        (done, written)
    }

    #[tokio::test]
    async fn endless_output_ends_at_the_limit() {
        let (done, written) = executed("yes", 3 * 1024 * 1024).await;
        assert_eq!(done.status, Status::Failed);
        assert_eq!(
            done.message.as_deref(),
            Some("ended at 3 MiB of output: send it to a file instead")
        );
        assert!(written > 3 * 1024 * 1024);
    }

    #[tokio::test]
    async fn stopping_is_no_failure_of_the_script() {
        let script = Script {
            text: "sleep 30",
            dir: Path::new("/"),
            timeout: Duration::from_secs(30),
            fence: None,
        };
        let (stop, stopped) = watch::channel(false);
        let on_time = async {
            tokio::task::yield_now().await;
            stop.send_replace(true);
            pending::<()>().await;
        };
        let mut nothing = |_: Stream, _: &[u8]| {};
        let done = tokio::select! {
            done = perform(&script, stopped, 1024, &mut nothing) => done,
            () = on_time => unreachable!(),
        };
        assert_eq!(done.status, Status::Interrupted);
    }

    #[tokio::test]
    async fn without_anybody_to_stop_it_a_script_runs_to_its_end() {
        let script = Script {
            text: "echo done",
            dir: Path::new("/"),
            timeout: Duration::from_secs(30),
            fence: None,
        };
        let (stop, stopped) = watch::channel(false);
        drop(stop);
        let done = perform(&script, stopped, 1024, &mut |_, _| {}).await;
        assert_eq!((done.status, done.message), (Status::Done, None));
    }
}
