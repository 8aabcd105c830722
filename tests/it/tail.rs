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
    tail.wait_for("no clada watches ");
    let listener = project.watch(["--no-clipboard"]);
    tail.wait_for(&format!("clada (process {}) watches ", listener.pid()));
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
        || tail.said().matches("no clada watches ").count() == 2,
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
    of_default.wait_for("1 ✅ exec old\n=== END ===\n");
    assert!(!of_default.said().contains("long"), "{}", of_default.said());

    let _first = project.watch(["--no-clipboard"]);
    let _other = project.watch(["other.md", "--no-clipboard"]);
    let of_other = tail(&project, &["other.md"]);
    of_other.wait_for("watches ");
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
