//! What has changed since the chat saw it, as the packet and the output file tell it: with a real listener and real files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clada::report::Report;
use rustix::process::Signal;

use crate::daemon::{NOTES, Notes, OUTPUT, exec};
use crate::harness::{Project, Watching, save_by_rename, wait_until};

const HEAD: &str = "=== CHANGED SINCE YOU SAW IT ===\n";

/// A chat: replies that are saved one below the other.
struct Talk<'p> {
    project: &'p Project,
    notes: &'static str,
    output: &'static str,
    body: String,
    replies: usize,
    watching: Option<Watching>,
}

impl<'p> Talk<'p> {
    fn new(project: &'p Project) -> Self {
        Self::of(project, NOTES, OUTPUT)
    }

    fn of(project: &'p Project, notes: &'static str, output: &'static str) -> Self {
        let mut talk = Self {
            project,
            notes,
            output,
            body: String::new(),
            replies: 0,
            watching: None,
        };
        talk.listen();
        talk
    }

    fn listen(&mut self) {
        let args = [self.notes, "--no-git", "--no-clipboard"];
        self.watching = Some(self.project.watch(args));
    }

    fn again(&mut self) {
        let watching = self.watching.take().expect("a listener");
        assert_eq!(watching.stop(Signal::TERM), Some(0));
        self.listen();
    }

    /// Has tasks carried out, and waits for their results; the output file.
    #[track_caller]
    fn output(&mut self, tasks: &str) -> String {
        self.replies += 1;
        self.body += &format!("reply {}:\n<tasks>\n{tasks}</tasks>\n", self.replies);
        // Without the results of before: those that come are these.
        save_by_rename(&self.project.path(self.notes), &self.body);
        let results = || {
            let text = fs::read_to_string(self.project.path(self.notes)).unwrap_or_default();
            let notes = Notes::parse(&text)?;
            let is_over = !notes.results.iter().any(|line| line.starts_with('⏳'));
            is_over.then_some(text)
        };
        let said = || {
            self.watching
                .as_ref()
                .map(Watching::said)
                .unwrap_or_default()
        };
        wait_until(|| results().is_some(), || format!("results: {}", said()));
        let notes = results().expect("results");
        assert!(!notes.contains(HEAD), "never in the notes: {notes}");
        self.project.read(self.output)
    }

    /// The same; what is told of changes.
    #[track_caller]
    fn changes(&mut self, tasks: &str) -> String {
        let output = self.output(tasks);
        let Some((results, rest)) = output.split_once(HEAD) else {
            return String::new();
        };
        assert!(results.ends_with("=== END ===\n\n"), "{output}");
        let (changes, _) = rest.split_once("\n=== OUTPUTS ===\n").expect("outputs");
        changes.to_owned()
    }
}

fn edit(path: &str, search: &str, replace: &str) -> String {
    format!(
        "<task>\n<path>{path}</path>\n<c>edit</c>\n<search>\n{search}\n</search>\n<replace>\n{replace}\n</replace>\n</task>\n"
    )
}

fn read(path: &str, lines: &str) -> String {
    format!("<task><c lines=\"{lines}\">read</c><path>{path}</path></task>\n")
}

fn run(script: &str) -> String {
    let reply = exec(script);
    let inside = reply.strip_prefix("<tasks>\n").expect("tasks");
    inside.strip_suffix("</tasks>\n").expect("tasks").to_owned()
}

fn numbered(count: usize) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

/// Has the user change a file as most editors do.
fn save(project: &Project, name: &str, text: &str) {
    save_by_rename(&project.path(name), text);
}

/// All files under a folder.
fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(|path| {
            let inside = if path.is_dir() {
                all(&path)
            } else {
                Vec::new()
            };
            inside.into_iter().chain([path])
        })
        .collect()
}

fn kept(project: &Project) -> Vec<PathBuf> {
    let folders = all(&project.home()).into_iter();
    let folders: Vec<PathBuf> = folders.filter(|path| path.ends_with("chats")).collect();
    folders.iter().flat_map(|folder| all(folder)).collect()
}

#[test]
fn what_a_formatter_does_to_an_edited_file_is_told_as_a_diff_in_three_packets() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\nthree\nfour\n");
    let mut talk = Talk::new(&project);
    let tasks = edit("a.txt", "two", "TWO") + &run("sed -i s/three/3/ a.txt");
    let diff = "a.txt, changed by a command or a hook (- as you saw it, + as it is now):\n@@ -1,4 +1,4 @@\n one\n TWO\n-three\n+3\n four\n";
    assert_eq!(talk.changes(&tasks), diff);
    for _ in 0..2 {
        assert_eq!(talk.changes(&run("true")), diff);
    }
    assert_eq!(talk.changes(&run("true")), "");
    // One more change is one more thing to tell, until the chat works on the file.
    let told = talk.changes(&run("sed -i s/3/drei/ a.txt"));
    assert!(
        told.contains("-3\n+drei\n") && !told.contains("three"),
        "{told}"
    );
    assert_eq!(talk.changes(&edit("a.txt", "four", "4")), "");
    assert_eq!(talk.changes(&run("true")), "");
}

#[test]
fn what_a_hook_does_is_told() {
    let project = Project::new();
    project.configure("[[hooks.after]]\nrun = 'sed -i s/x=1/x\\ =\\ 1/ a.py b.py'\n");
    project.write("a.py", "x=1\ny\n");
    project.write("b.py", "x=1\n");
    let mut talk = Talk::new(&project);
    let told = talk.changes(&edit("a.py", "y", "z"));
    assert!(
        told.contains("a.py, changed by a command or a hook (- as you saw it, + as it is now):\n@@ -1,2 +1,2 @@\n-x=1\n+x = 1\n z\n"),
        "{told}"
    );
    assert!(!told.contains("b.py"), "the chat never saw it: {told}");
}

#[test]
fn what_the_user_does_is_told_by_lines_until_the_chat_reads_the_file() {
    let project = Project::new();
    let text = numbered(80);
    project.write("src/app.py", &text);
    let mut talk = Talk::new(&project);
    assert_eq!(talk.changes(&read("src/app.py", "1-")), "");
    let changed = text.replace("line 4", "secret 4").replace("line 8\n", "");
    save(&project, "src/app.py", &changed);
    let told = "src/app.py: lines 4, 8, 39-48, not by you; read it before you edit it\n";
    assert_eq!(talk.changes(&run("true")), told);
    // It is kept over a start.
    talk.again();
    assert_eq!(talk.changes(&run("true")), told);
    assert_eq!(talk.changes(&read("src/app.py", "1-")), "");
    assert_eq!(talk.changes(&run("true")), "");
    // What is changed back is not changed.
    save(&project, "src/app.py", &text);
    assert!(talk.changes(&run("true")).contains("not by you"));
    save(&project, "src/app.py", &changed);
    assert_eq!(talk.changes(&run("true")), "");
}

#[test]
fn of_several_changes_only_the_last_is_named() {
    let project = Project::new();
    let text = numbered(80);
    project.write("a.txt", &text);
    let mut talk = Talk::new(&project);
    assert_eq!(talk.changes(&read("a.txt", "1-")), "");
    save(&project, "a.txt", &text.replace("line 4\n", "secret\n"));
    assert_eq!(
        talk.changes(&run("sed -i 's/line 60/line sixty/' a.txt")),
        "a.txt: changed more than once, last by a command or a hook; read it before you edit it\n"
    );
}

#[test]
fn what_the_chat_did_not_see_of_a_file_is_not_told() {
    let project = Project::new();
    let text = numbered(80);
    project.write("a.txt", &text);
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "10-20"));
    save(
        &project,
        "a.txt",
        &text.replace("line 60\n", "sixty\n").replace("line 2\n", ""),
    );
    assert_eq!(talk.changes(&run("true")), "");
    // The lines that it saw are now one further up.
    save(
        &project,
        "a.txt",
        &project.read("a.txt").replace("line 15\n", "fifteen\n"),
    );
    let told = "a.txt: line 14, not by you; read it before you edit it\n";
    assert_eq!(talk.changes(&run("true")), told);
}

/// What was never told is told once, where the chat writes in the file without having read it.
#[test]
fn an_edit_of_a_file_that_others_changed_tells_it_once() {
    let project = Project::new();
    let text = numbered(80);
    project.write("a.txt", &text);
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    save(&project, "a.txt", &text.replace("line 60\n", "sixty\n"));
    let told = "a.txt: line 61, not by you; read it before you edit it\n";
    assert_eq!(
        talk.changes(&edit("a.txt", "line 2", "two\nand a half")),
        told
    );
    assert_eq!(talk.changes(&run("true")), "");
}

#[test]
fn a_failed_edit_that_shows_the_file_is_told_of_once() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\nthree\n");
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    save(&project, "a.txt", "one\n2\nthree\n");
    let output = talk.output(&edit("a.txt", "two", "TWO"));
    assert!(
        output.contains("=== START FILE: a.txt ===\none\n2\n"),
        "{output}"
    );
    assert!(!output.contains(HEAD), "{output}");
    assert_eq!(talk.changes(&run("true")), "");
    // The same in an atomic batch, none of which is carried out.
    save(&project, "a.txt", "one\nzwei\nthree\n");
    talk.body += "atomic:\n<tasks atomic=\"yes\">\n";
    talk.body += &(edit("a.txt", "2", "TWO") + "</tasks>\n");
    let output = talk.output(&run("true"));
    assert!(
        output.contains("=== START FILE: a.txt ===\none\nzwei\n"),
        "{output}"
    );
    assert!(!output.contains(HEAD), "{output}");
}

/// A file that holds what looks like tasks, or colours a terminal, can be told of without harm.
#[test]
fn what_is_told_is_no_reply() {
    let project = Project::new();
    let tasks = exec("echo ran >> runs.txt");
    project.write("a.md", format!("one\n{tasks}"));
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.md", "1-"));
    let told = talk.changes(&run("sed -i 's/one/\\x1b[31mtwo/' a.md"));
    assert!(told.contains("+\\x1b[31mtwo\n <tasks>\n"), "{told:?}");
    assert!(told.starts_with("<!-- clada:off "), "{told}");
}

/// What the chat wrote is its own, also where clada is killed while a command runs.
#[test]
fn a_killed_listener_knows_what_the_chat_wrote() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\n");
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    let tasks = edit("a.txt", "two", "zwei") + &run("touch begun; sleep 100");
    talk.body += &format!("killed:\n<tasks>\n{tasks}</tasks>\n");
    save(&project, NOTES, &talk.body);
    wait_until(|| project.exists("begun"), || "the command".to_owned());
    let watching = talk.watching.take().expect("a listener");
    assert_eq!(watching.stop(Signal::KILL), None);
    talk.listen();
    assert_eq!(talk.changes(&run("true")), "");
}

#[test]
fn notes_that_are_renamed_keep_their_chat() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\n");
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    let taught = project.clada(["instructions", NOTES]).exits(0).out;
    talk.changes(&read("a.txt", "1-"));
    let watching = talk.watching.take().expect("a listener");
    assert_eq!(watching.stop(Signal::TERM), Some(0));
    fs::rename(project.path(NOTES), project.path("my.md")).expect("rename");
    save(&project, "a.txt", "one\n2\n");
    talk.notes = "my.md";
    talk.listen();
    let told = "a.txt: line 2, not by you; read it before you edit it\n";
    assert_eq!(talk.changes(&run("true")), told);
    // So they keep its key.
    assert_eq!(
        project.clada(["instructions", "my.md"]).exits(0).out,
        taught
    );
}

#[test]
fn a_file_that_is_deleted_or_moved_is_said_to_be() {
    let project = Project::new();
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        project.write(name, format!("{name}\n{}", numbered(9)));
    }
    let mut talk = Talk::new(&project);
    let reads = ["a.txt", "b.txt", "c.txt", "d.txt"].map(|name| read(name, "1-"));
    talk.changes(&reads.concat());
    fs::remove_file(project.path("a.txt")).expect("remove");
    fs::create_dir(project.path("old")).expect("mkdir");
    fs::rename(project.path("b.txt"), project.path("old/b.txt")).expect("rename");
    let told = talk.changes(&run("mv c.txt old/c.txt; rm d.txt"));
    assert_eq!(
        told,
        "a.txt: deleted, not by you\n\
         d.txt: deleted, by a command or a hook\n\
         b.txt: moved to old/b.txt, not by you\n\
         c.txt: moved to old/c.txt, by a command or a hook\n"
    );
    // What the chat itself moves and deletes is no news, and it goes on knowing what it moved.
    let tasks = "<task><c>move</c><path>old</path><x>new</x></task>\n<task><c>delete</c><path>new/c.txt</path></task>\n";
    assert!(!talk.changes(tasks).contains("new/c.txt"));
    save(&project, "new/b.txt", "other\n");
    assert!(
        talk.changes(&run("true"))
            .contains("new/b.txt: line 1, not by you")
    );
}

#[test]
fn nothing_of_a_secret_is_told_or_kept() {
    let project = Project::new();
    project.configure("[exec]\nenv = { MY_TOKEN = 'swordfish99' }\n[paths.read]\ndeny = ['private/**', '**/.env']\n");
    project.write("conf.txt", "token swordfish99\nport 1\n");
    project.write(".env", "KEY=hunter2222\n");
    project.write("private/a.txt", "innermost\n");
    let mut talk = Talk::new(&project);
    let tasks = read("conf.txt", "1-")
        + &edit(".env", "KEY=hunter2222", "KEY=hunter3333")
        + &edit("private/a.txt", "innermost", "innermost too")
        + &run(
            "sed -i 's/port 1/port 2/' conf.txt; echo KEY=hunter4444 > .env; echo innermost three > private/a.txt",
        );
    let told = talk.changes(&tasks);
    assert_eq!(
        told,
        "conf.txt: changed, by a command or a hook; read it before you edit it\n"
    );
    for path in kept(&project).into_iter().filter(|path| path.is_file()) {
        let text = fs::read_to_string(&path).expect("text");
        for secret in ["swordfish99", "hunter", "innermost", "port"] {
            assert!(!text.contains(secret), "{secret} in {}", path.display());
        }
    }
    // What may not be read any more is not told of any more, and forgotten.
    project.write("open.txt", "open\n");
    talk.changes(&read("open.txt", "1-"));
    project.configure("[paths.read]\ndeny = ['**/open.txt', '**/conf.txt']\n");
    save(&project, "open.txt", "shut\n");
    assert_eq!(talk.changes(&run("true")), "");
}

#[test]
fn what_is_kept_is_the_users_alone() {
    let project = Project::new();
    project.write("a.txt", "a\n");
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    let kept = kept(&project);
    let files = kept.iter().filter(|path| path.is_file()).count();
    assert_eq!(files, 2, "a list and a text: {kept:?}");
    for path in kept {
        let mode = fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn it_can_be_turned_off() {
    let project = Project::new();
    project.write("a.txt", "a\n");
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    project.configure("[clipboard]\nchanges = false\n");
    assert_eq!(talk.changes(&run("echo b >> a.txt")), "");
    assert!(kept(&project).is_empty(), "{:?}", kept(&project));
    let shown = project.clada(["config"]).exits(0).out;
    assert!(shown.contains("changes = false"), "{shown}");
}

#[test]
fn instructions_begin_a_new_chat() {
    let project = Project::new();
    project.write("a.txt", "a\n");
    let mut talk = Talk::new(&project);
    for args in [&["instructions"][..], &["instructions", NOTES]] {
        talk.changes(&read("a.txt", "1-"));
        save(&project, "a.txt", &format!("{}b\n", project.read("a.txt")));
        assert!(talk.changes(&run("true")).contains("a.txt: line"));
        match args {
            [one] => drop(project.clada([*one]).exits(0)),
            [one, file] => drop(project.clada([*one, *file]).exits(0)),
            _ => unreachable!(),
        }
        assert_eq!(talk.changes(&run("true")), "");
    }
    project.clada(["instructions", "none.md"]).exits(2);
    assert!(!project.exists("none.md"));
}

#[test]
fn what_the_chat_was_given_as_context_counts() {
    let project = Project::new();
    project.write("a.txt", numbered(30));
    project.write("b.txt", numbered(30));
    let mut talk = Talk::new(&project);
    project
        .clada(["context", "add", "a.txt", "b.txt:3-5"])
        .exits(0);
    project.clada(["context"]).exits(0);
    save(&project, "a.txt", &numbered(29));
    save(
        &project,
        "b.txt",
        &numbered(30)
            .replace("line 4\n", "four\n")
            .replace("line 9\n", ""),
    );
    assert_eq!(
        talk.changes(&run("true")),
        "a.txt: line 29, not by you; read it before you edit it\n\
         b.txt: line 4, not by you; read it before you edit it\n"
    );
}

/// What is told is bounded, and what is left out is told later.
#[test]
fn a_checkout_of_many_files_is_told_in_short() {
    let project = Project::with_git();
    let name = |number: usize| format!("f{number:03}.txt");
    for number in 0..500 {
        project.write(&name(number), format!("{number}\n{}", numbered(5)));
    }
    project.commits();
    project.git(["checkout", "-q", "-b", "other"]);
    for number in 0..500 {
        project.write(&name(number), format!("{number}\n{}", numbered(4)));
    }
    project.commits();
    project.git(["checkout", "-q", "main"]);
    let mut talk = Talk::new(&project);
    let paths: String = (0..500)
        .map(|number| format!("<path>{}</path>", name(number)))
        .collect();
    talk.changes(&format!("<task><c>read</c>{paths}</task>\n"));
    project.git(["checkout", "-q", "other"]);
    let told = talk.changes(&run("true"));
    assert_eq!(told.lines().count(), 51, "{told}");
    assert!(
        told.ends_with("and 150 more files: read a file before you edit it\n"),
        "{told}"
    );
    // A command's work, too: 200 lines of diffs, and 50 names.
    let told = talk.changes(&run("sed -i 's/line/LINE/' f4*.txt"));
    assert!(told.lines().count() <= 251, "{}", told.lines().count());
}

#[test]
fn a_long_diff_is_cut() {
    let project = Project::new();
    project.write("a.txt", numbered(300));
    let mut talk = Talk::new(&project);
    talk.changes(&read("a.txt", "1-"));
    let told = talk.changes(&run("sed -i s/line/LINE/ a.txt"));
    assert_eq!(told.lines().count(), 60, "{told}");
    assert!(
        told.contains("more lines of this diff; read it before you edit it\n"),
        "{told}"
    );
}

#[test]
fn each_chat_knows_what_it_was_shown() {
    let project = Project::new();
    project.write("a.txt", "one\ntwo\n");
    let mut one = Talk::new(&project);
    let mut other = Talk::of(&project, "b.md", ".clada-output-latest.b.md.txt");
    one.changes(&read("a.txt", "1-"));
    assert_eq!(other.changes(&edit("a.txt", "two", "zwei")), "");
    let told = "a.txt: line 2, not by you; read it before you edit it\n";
    assert_eq!(one.changes(&run("true")), told);
    assert_eq!(other.changes(&run("true")), "");
}

/// What is taken back is as the chat knew it before.
#[test]
fn an_atomic_batch_that_is_taken_back_has_changed_nothing() {
    let project = Project::with_git();
    project.write("a.txt", "one\ntwo\n").commits();
    let mut talk = Talk {
        project: &project,
        notes: NOTES,
        output: OUTPUT,
        body: String::new(),
        replies: 0,
        watching: Some(project.watch(["--no-clipboard"])),
    };
    talk.changes(&read("a.txt", "1-"));
    talk.body += "atomic:\n<tasks atomic=\"yes\">\n";
    talk.body += &(edit("a.txt", "two", "zwei") + &run("exit 3") + "</tasks>\n");
    let output = talk.output(&run("true"));
    assert!(output.contains("reverted"), "{output}");
    assert!(!output.contains(HEAD), "{output}");
}

#[test]
fn the_lines_of_an_edit_that_did_not_match_exactly_are_shown() {
    let project = Project::new();
    project.write("a.py", "def f():\n        one()\n        two()\n\nend\n");
    let mut talk = Talk::new(&project);
    let exact = talk.output(&edit("a.py", "end", "the end"));
    assert!(!exact.contains("START FILE"), "{exact}");
    let output = talk.output(&edit(
        "a.py",
        "    one()\n    two()",
        "    one()\n    three()",
    ));
    assert!(
        output.contains("=== START FILE: a.py (lines 1-5 of 5) ===\ndef f():\n        one()\n        three()\n\nthe end\n"),
        "{output}"
    );
}

#[test]
fn it_is_in_the_packet_and_never_in_the_notes() {
    let mut report = Report {
        changes: "a.txt: line 2, not by you; read it before you edit it\n".to_owned(),
        ..Report::default()
    };
    let packet = report
        .packet(&[], 60_000, "output.txt")
        .expect("a packet")
        .text;
    assert!(packet.contains(&format!("{HEAD}a.txt: line 2")), "{packet}");
    assert!(!report.block(None).contains("a.txt"));
}
