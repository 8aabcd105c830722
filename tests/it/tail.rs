//! `clada tail` beside a real listener.

use rustix::process::Signal;

use crate::daemon::{NOTES, OUTPUT, exec, wait_for_results};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

fn tail(project: &Project, args: &[&str]) -> Watching {
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.arg("tail").args(args);
    Watching::start(command)
}

#[test]
fn output_is_shown_as_it_is_written_and_then_the_results() {
    let project = Project::with_git();
    let tail = tail(&project, &[]);
    tail.wait_for("no clada process is watching ");
    let listener = project.watch(["--no-clipboard"]);
    tail.wait_for(&format!("clada (process {}) is watching ", listener.pid()));
    let script = "echo first; until [ -e go ]; do sleep 0.01; done; printf last";
    save_by_rename(&project.path(NOTES), exec(script));
    tail.wait_for("first");
    assert!(
        !tail.said().contains("=== CLADA RESULTS ==="),
        "{}",
        tail.said()
    );
    project.write("go", "");
    tail.wait_for("last\n");
    tail.wait_for("1 ✅ exec echo first");
    tail.wait_for("=== END ===");
    wait_for_results(&project, "✅");

    save_by_rename(
        &project.path(NOTES),
        format!("another:\n{}", exec("echo second; exit 7")),
    );
    let results = || tail.said().matches("=== CLADA RESULTS ===").count() == 2;
    wait_until(results, || tail.said());
    tail.wait_for("exit code 7");
    // The listener's end is not its own.
    assert_eq!(listener.stop(Signal::INT), Some(0));
    wait_until(
        || tail.said().matches("no clada process is watching ").count() == 2,
        || tail.said(),
    );
    assert_eq!(tail.stop(Signal::INT), Some(0));
}

#[test]
fn the_last_results_come_first_and_each_file_has_its_own() {
    let project = Project::with_git();
    let results = |text: &str| {
        format!(
            "=== CLADA RESULTS ===\n{text}\n=== END ===\n\n=== OUTPUTS ===\nlong\n=== END ===\n"
        )
    };
    project.write(OUTPUT, results("1 ✅ exec old"));
    let of_default = tail(&project, &[]);
    // What it says of the listener is written beside, perhaps between these lines.
    of_default.wait_for("1 ✅ exec old\n");
    of_default.wait_for("=== END ===\n");
    assert!(!of_default.said().contains("long"), "{}", of_default.said());

    let _first = project.watch(["--no-clipboard"]);
    let _other = project.watch(["other.md", "--no-clipboard"]);
    let of_other = tail(&project, &["other.md"]);
    of_other.wait_for("is watching ");
    save_by_rename(&project.path("other.md"), exec("echo of the other"));
    of_other.wait_for("1 ✅ exec echo of the other");
    save_by_rename(&project.path(NOTES), exec("echo of the first"));
    of_default.wait_for("1 ✅ exec echo of the first");
    assert!(
        !of_default.said().contains("of the other"),
        "{}",
        of_default.said()
    );
    assert!(
        !of_other.said().contains("of the first"),
        "{}",
        of_other.said()
    );
    for tail in [of_default, of_other] {
        assert_eq!(tail.stop(Signal::TERM), Some(0));
    }
}

/// A process of another program that began later than one of clada's, as after a crash and a new start of the system.
#[cfg(target_os = "linux")]
fn stranger(than: u32) -> std::process::Child {
    let began = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
        let (_, fields) = stat.rsplit_once(") ").expect("a name");
        fields.split(' ').nth(19).expect("a start").to_owned()
    };
    let before = began(than);
    loop {
        let mut sleep = std::process::Command::new("sleep");
        let mut child = sleep.arg("600").spawn().expect("sleep");
        if began(child.id()) != before {
            return child;
        }
        child.kill().expect("kill");
        child.wait().expect("wait");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_got_the_number_of_a_killed_clada_is_not_taken_for_it() {
    let project = Project::new();
    let listener = project.watch(["--no-clipboard", "--no-git"]);
    let pid = listener.pid();
    save_by_rename(&project.path(NOTES), exec("sleep 600"));
    wait_for_results(&project, "⏳ running");
    let state = project.state_folder();
    let files = |folder: &str| -> Vec<_> {
        let entries = std::fs::read_dir(state.join(folder)).expect("folder");
        entries.map(|entry| entry.expect("entry").path()).collect()
    };
    let number = |pid: u32| format!("{pid:<10}");
    let with_number = |from: u32, to: u32| {
        for lock in files("locks") {
            let text = std::fs::read_to_string(&lock).expect("lock");
            std::fs::write(&lock, text.replace(&number(from), &number(to))).expect("write");
        }
    };
    let mut stranger = stranger(pid);
    let others = |project: &Project| {
        let said = project.clada(["doctor"]).out;
        let line = said.lines().find(|line| line.contains(" other cladas: "));
        line.expect("other cladas").to_owned()
    };

    // A clada of an older version has left no more than its number.
    let new: Vec<_> = files("locks")
        .into_iter()
        .map(|lock| (std::fs::read_to_string(&lock).expect("lock"), lock))
        .collect();
    for (text, lock) in &new {
        let (old, _) = text.split_once('\0').expect("a start");
        std::fs::write(lock, old).expect("write");
    }
    assert!(others(&project).contains(&format!("process {pid} watches")));
    for (text, lock) in &new {
        std::fs::write(lock, text).expect("write");
    }
    assert!(others(&project).contains(&format!("process {pid} watches")));

    listener.stop(Signal::KILL);
    with_number(pid, stranger.id());
    let [socket] = &files("run")[..] else {
        panic!("one socket");
    };
    let left = socket.with_file_name(format!("{}.sock", stranger.id()));
    std::fs::rename(socket, &left).expect("rename");

    assert!(
        others(&project).ends_with(": no other clada process is running"),
        "{}",
        others(&project)
    );
    let status = project.clada(["status"]).exits(1);
    assert!(
        status.out.starts_with("no clada process is running: start watching this folder with `clada`, or all files in your list with `clada service start`"),
        "{}",
        status.out
    );
    assert!(!left.exists());
    let log = project.clada(["log"]).exits(0).out;
    assert!(log.contains("interrupted"), "{log}");
    let tail = tail(&project, &[]);
    tail.wait_for("no clada process is watching ");
    assert!(!tail.said().contains("(process"), "{}", tail.said());
    // The next one can watch, and is told from the stranger.
    let next = project.watch(["--no-clipboard", "--no-git"]);
    tail.wait_for(&format!("clada (process {}) is watching ", next.pid()));
    assert_eq!(stranger.try_wait().expect("look"), None);
    stranger.kill().expect("kill");
    stranger.wait().expect("wait");
}
