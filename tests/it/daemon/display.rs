//! The real clipboard, read back by another program.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use super::{NOTES, OUTPUT, exec, wait_for_results};
use crate::harness::{Project, installed, save_by_rename};

/// An X server without a screen. Ended when dropped.
pub(crate) struct Xvfb {
    server: Child,
    name: String,
}

impl Xvfb {
    /// `None`, and a line that says so, where there is none; in CI there must be one.
    pub(crate) fn start() -> Option<Self> {
        Self::start_as("")
    }

    /// A name that no other test gets when it asks for any that is free. Each number is for one test.
    pub(crate) fn own_name(number: u32) -> String {
        format!(":{}", 1000 + (std::process::id() % 6_000) * 8 + number % 8)
    }

    /// One of this name.
    pub(crate) fn start_as(name: &str) -> Option<Self> {
        if !installed("Xvfb") || !installed("xclip") {
            return None;
        }
        let script = "exec Xvfb $1 -displayfd 3 -screen 0 1280x900x24 -nolisten tcp -noreset 3>&1 >/dev/null 2>&1";
        let mut server = Command::new("sh")
            .args(["-c", script, "sh", name])
            .stdout(Stdio::piped())
            .spawn()
            .expect("Xvfb");
        let mut number = String::new();
        BufReader::new(server.stdout.take().expect("stdout"))
            .read_line(&mut number)
            .expect("display");
        let name = format!(":{}", number.trim());
        assert!(name.len() > 1, "Xvfb does not start");
        Some(Self { server, name })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.server);
        rustix::process::kill_process(pid, signal).expect("kill");
    }

    pub(crate) fn clipboard(&self, project: &Project) -> String {
        let mut xclip = project.command("xclip");
        xclip
            .env("DISPLAY", &self.name)
            .args(["-selection", "clipboard", "-o"]);
        let mut child = xclip
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("xclip");
        let mut text = String::new();
        child
            .stdout
            .take()
            .expect("stdout")
            .read_to_string(&mut text)
            .expect("UTF-8");
        child.wait().expect("xclip");
        text
    }
}

impl Drop for Xvfb {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn the_clipboard_has_what_the_llm_needs_next() {
    let Some(display) = Xvfb::start() else { return };
    let project = Project::with_git().on_display(display.name());
    let watching = project.watch([]);
    save_by_rename(
        &project.path(NOTES),
        exec("echo fine") + &exec("echo ‘wrong’ >&2; exit 1"),
    );
    let notes = wait_for_results(&project, "2 ❌");
    assert!(
        notes.status.starts_with("📋 Copied to clipboard at "),
        "{}",
        notes.status
    );
    assert_eq!(
        project.read(OUTPUT).lines().next(),
        Some(notes.status.as_str())
    );
    let results = notes.results.join("\n");
    let block = format!("=== CLADA RESULTS ===\n{results}\n=== END ===\n");
    let (fine, wrong) = ("[1] exec echo fine:\nstdout:\nfine\n", "stderr:\n‘wrong’\n");
    let copied = display.clipboard(&project);
    // Failed tasks come first.
    let title = "[2] exec echo ‘wrong’ >&2; exit 1 (failed):\n";
    assert_eq!(
        copied,
        format!("{block}\n=== OUTPUTS ===\n\n{title}{wrong}\n{fine}=== END ===\n")
    );

    // Prose, and half a paste, leave it as it is.
    let half = exec("echo half");
    save_by_rename(
        &project.path(NOTES),
        project.read(NOTES) + "prose\n" + half.trim_end_matches("</x>\n</task>\n</tasks>\n"),
    );
    let notes = wait_for_results(&project, "the reply ends in task 1");
    // As long as the results could not be read, the line above them stays with them.
    assert_eq!(notes.status.is_empty(), notes.earlier.is_empty());
    assert_eq!(display.clipboard(&project), copied);

    // What nothing can be made of is for the LLM.
    save_by_rename(&project.path(NOTES), "<tasks>\n<task>\n</tasks>\n");
    let notes = wait_for_results(&project, "❌ task 1 has no `</task>`");
    assert!(notes.status.starts_with("📋"), "{}", notes.status);
    assert!(
        display
            .clipboard(&project)
            .contains("❌ task 1 has no `</task>`")
    );
    drop(watching);
}

#[test]
fn long_output_is_cut_for_the_clipboard_only() {
    const SIZE: usize = 300_000;
    let Some(display) = Xvfb::start() else { return };
    let project = Project::with_git().on_display(display.name());
    let _watching = project.watch([]);
    // Two bytes a character, so that a cut may fall into one; and escape sequences, which go nowhere.
    let script = format!(
        "printf '\\033[31mstart\\n'; head -c {SIZE} /dev/zero | sed 's/\\x00/é/g'; printf '\\nend\\n'"
    );
    save_by_rename(&project.path(NOTES), exec(&script) + &exec("echo small"));
    wait_for_results(&project, "2 ✅");
    let output = project.read(OUTPUT);
    assert_eq!(
        output.matches('é').count(),
        SIZE + script.matches('é').count() * 2,
        "all of it is in the file"
    );
    assert!(output.contains("\nstart\n") && !output.contains('\u{1b}'));
    let copied = display.clipboard(&project);
    let (head, tail) = copied.split_once("… ").expect("a cut");
    assert!(
        tail.contains(&format!(
            " KB left out here, all of it is in {OUTPUT}: to see more, rerun it with"
        )),
        "{:?}",
        &tail[..99]
    );
    assert!(head.contains("\nstart\né") && tail.contains("é\nend\n") && tail.contains("\nsmall\n"));
    assert!((50_000..53_000).contains(&copied.len()), "{}", copied.len());
}

#[test]
fn the_clipboard_never_gets_more_than_its_limit() {
    let Some(display) = Xvfb::start() else { return };
    let project = Project::new().on_display(display.name());
    let _watching = project.watch(["--no-git"]);
    let task = "<task><c>exec</c><x>head -c 60000 /dev/zero | tr '\\0' x</x></task>\n";
    save_by_rename(
        &project.path(NOTES),
        format!("<tasks>\n{}</tasks>\n", task.repeat(175)),
    );
    let notes = wait_for_results(&project, "175 ✅");
    assert!(notes.status.starts_with("📋"), "{}", notes.status);
    let copied = display.clipboard(&project);
    let size = copied.len();
    assert!((58_000..=60_000).contains(&size), "{size}");
    let said = format!(
        "more tasks are only in {OUTPUT}: run fewer tasks with long output …\n=== END ===\n"
    );
    assert!(copied.ends_with(&said), "{:?}", &copied[size - 199..]);

    // The settings give it another one, from the next run on.
    project.write("clada.toml", "[clipboard]\nlimit = '5 KB'\n");
    save_by_rename(&project.path(NOTES), exec("seq 9999"));
    wait_for_results(&project, "1 ✅");
    let copied = display.clipboard(&project);
    let size = copied.len();
    assert!((4_800..=5_000).contains(&size), "{size}");
    assert!(copied.contains("\n9999\n"), "{copied}");
}

#[test]
fn a_display_that_is_not_there() {
    let project = Project::with_git().on_display(":4711");
    let _watching = project.watch([]);
    save_by_rename(&project.path(NOTES), exec("echo one"));
    let notes = wait_for_results(&project, "1 ✅");
    assert!(
        notes.status.contains(" - display not reachable"),
        "{}",
        notes.status
    );
}
