//! A disk without room: what was there stays whole, and nothing half-made is left.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::daemon::{NOTES, OUTPUT, exec, lines};
use crate::harness::{Project, Watching, skip, wait_until};

/// Mounts a small disk on `small`, and goes there.
const MOUNT: &str = "mkdir small && mount -t tmpfs -o size=512k none small && cd small\n";

/// Runs a script in the root with `clada` as `$CLADA`; in a mount namespace of its own, with a small disk on `small`,
/// where that is `mounted`. `None` where this system does not allow it.
fn sh(project: &Project, mounted: bool, script: &str) -> Option<Output> {
    let mut command = if mounted {
        let mut command = project.command("unshare");
        command.args(["-r", "-m", "bash", "-ec"]);
        if !can_mount(project) {
            return None;
        }
        command
    } else {
        let mut command = project.command("bash");
        command.arg("-ec");
        command
    };
    let prefix = if mounted { MOUNT } else { "" };
    command.arg(format!("{prefix}{script}"));
    command.env("CLADA", env!("CARGO_BIN_EXE_clada"));
    Some(command.stdin(Stdio::null()).output().expect("bash"))
}

fn can_mount(project: &Project) -> bool {
    let mut command = project.command("unshare");
    let script = format!("{MOUNT}cd .. && umount small && rmdir small");
    command.args(["-r", "-m", "bash", "-ec", &script]);
    let can = command.output().is_ok_and(|output| output.status.success());
    if !can {
        skip("no small disk can be mounted here");
    }
    can
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Files of 100 kB and replies that need as much again.
const PREPARE: &str = r#"
seq 20000 > old.txt
cp old.txt ../old.copy
{
  echo '<tasks>'
  printf '<task><path>old.txt</path><c>edit</c>\n<search>\n10000\n</search>\n<replace>\nten thousand\n</replace>\n</task>\n'
  printf '<task><path>old.txt</path><c>overwrite</c>\n<x>\n'; cat old.txt; printf '</x>\n</task>\n'
  printf '<task><path>new/dir/new.txt</path><c>overwrite</c>\n<x>\n'; cat old.txt; printf '</x>\n</task>\n'
  echo '</tasks>'
} > ../reply
"#;

const LOOK: &str = r#"
echo "exit $?"
cmp old.txt ../old.copy && echo whole
find . -mindepth 1 | sort
"#;

#[test]
fn a_full_disk_leaves_the_old_content_whole() {
    let project = Project::new();
    let script = format!(
        "{PREPARE}\ndd if=/dev/zero of=fill bs=4k 2>/dev/null || true\nset +e\n$CLADA run --no-git ../reply\n{LOOK}"
    );
    let Some(output) = sh(&project, true, &script) else {
        return;
    };
    let said = text(&output.stdout);
    for line in [
        "1 ❌ edit old.txt - cannot write `old.txt`: No space left on device (os error 28)",
        "2 ❌ overwrite old.txt - cannot write `old.txt`: No space left on device (os error 28)",
        "3 ❌ overwrite new/dir/new.txt - cannot ",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(
        said.ends_with("exit 1\nwhole\n./fill\n./old.txt\n"),
        "{said}{}",
        text(&output.stderr)
    );
}

/// A clada that watches notes on a small disk which only it has mounted, and where that disk is seen from here.
fn watch_on_a_small_disk(project: &Project) -> Option<(Watching, PathBuf)> {
    if !can_mount(project) {
        return None;
    }
    let clada = env!("CARGO_BIN_EXE_clada");
    let mut command = project.command("unshare");
    // The shell becomes clada, so that its process is the one that is known here.
    let script = format!("{MOUNT}exec {clada} watch --no-git --no-clipboard");
    command.args(["-r", "-m", "bash", "-ec", &script]);
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    let root = PathBuf::from(format!("/proc/{}/root", watching.pid()));
    let small = project.path("small");
    Some((
        watching,
        root.join(small.strip_prefix("/").expect("absolute")),
    ))
}

fn append(path: &Path, text: &str) {
    let file = OpenOptions::new().append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.expect("append");
}

#[test]
fn notes_on_a_full_disk_stay_whole_and_get_their_results_when_there_is_room() {
    let project = Project::new();
    let Some((watching, small)) = watch_on_a_small_disk(&project) else {
        return;
    };
    let notes = small.join(NOTES);
    let read = || fs::read_to_string(&notes).expect("read");
    let own_files = || {
        let entries = fs::read_dir(&small).expect("read dir");
        let names = entries.map(|entry| entry.expect("entry").file_name());
        let names = names.map(|name| name.into_string().expect("name"));
        let own = names.filter(|name| name.starts_with(".clada-"));
        own.collect::<Vec<_>>()
    };
    let refused = |times| {
        let why = "clada cannot store the new text: No space left on device (os error 28): free space on its disk";
        let told = || watching.said().matches(why).count() == times;
        wait_until(told, || watching.said());
        watching.wait_for("the results are not in the notes");
    };

    // The disk is full before there are results to write.
    let mut body = read();
    let fill = "dd if=/dev/zero of=fill bs=4k 2> ../dd.txt; echo one >> ../runs.txt";
    append(&notes, &exec(fill));
    body += &exec(fill);
    refused(1);
    assert_eq!(read(), body);
    assert_eq!(own_files(), [OUTPUT]);

    // The page that the notes have has room for a save.
    let two = exec("echo two >> ../runs.txt");
    append(&notes, &two);
    body += &two;
    refused(2);
    assert_eq!(read(), body);
    assert_eq!(own_files(), [OUTPUT]);

    fs::remove_file(small.join("fill")).expect("remove");
    append(&notes, "prose\n");
    body += "prose\n";
    let written = |task: &str, body: &str| {
        wait_until(|| read().contains(&format!("1 ✅ {task}")), read);
        let text = read();
        assert!(text.ends_with(&format!("=== END ===\n\n{body}")), "{text}");
    };
    written("exec echo two", &body);
    let three = exec("echo three >> ../runs.txt");
    append(&notes, &three);
    body += &three;
    written("exec echo three", &body);
    // What came off the path is looked at before it goes.
    wait_until(|| own_files() == [OUTPUT], || format!("{:?}", own_files()));
    assert_eq!(lines(&project, "runs.txt"), ["one", "two", "three"]);
}

#[test]
fn an_output_that_does_not_fit_leaves_room_for_the_results() {
    let project = Project::new();
    let Some((watching, small)) = watch_on_a_small_disk(&project) else {
        return;
    };
    let notes = small.join(NOTES);
    append(&notes, &exec("seq 200000"));
    let read = || fs::read_to_string(&notes).expect("read");
    wait_until(
        || read().contains("1 ✅ exec seq 200000"),
        || watching.said(),
    );
    let told = "⚠ cannot write the output file `";
    assert!(read().contains(told), "{}", read());
    let output = fs::read_to_string(small.join(OUTPUT)).expect("its start");
    assert!(output.contains("1 ✅ exec seq 200000\n") && output.contains("\n1\n2\n3\n"));
}

#[test]
fn what_the_ledger_has_no_room_for_does_not_run_until_there_is_some() {
    let project = Project::new();
    if !can_mount(&project) {
        return;
    }
    let clada = env!("CARGO_BIN_EXE_clada");
    let mut command = project.command("unshare");
    let script = format!(
        "{MOUNT}export XDG_STATE_HOME=$PWD; cd ..; exec {clada} watch --no-git --no-clipboard"
    );
    command.args(["-r", "-m", "bash", "-ec", &script]);
    let watching = Watching::logged(command);
    watching.wait_for("watching ");
    let notes = project.path(NOTES);
    append(&notes, &exec("echo one >> runs.txt"));
    wait_until(|| project.read(NOTES).contains("1 ✅"), || watching.said());

    let root = PathBuf::from(format!("/proc/{}/root", watching.pid()));
    let small = project.path("small");
    let fill = root
        .join(small.strip_prefix("/").expect("absolute"))
        .join("fill");
    let mut file = fs::File::create(&fill).expect("create");
    while file.write_all(&[0; 1024]).is_ok() {}
    append(&notes, &exec("echo two >> runs.txt"));
    watching.wait_for("no disk space is left for the ledger `");
    // Tried again and again, and told once.
    watching.until_it_looked_again(2);
    let said = watching.said();
    assert_eq!(said.matches("\nno disk space is left").count(), 1, "{said}");
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    drop(file);
    fs::remove_file(&fill).expect("remove");
    wait_until(
        || project.read(NOTES).contains("1 ✅ exec echo two"),
        || watching.said(),
    );
    assert_eq!(lines(&project, "runs.txt"), ["one", "two"]);
}

#[test]
fn a_limit_of_file_size_leaves_the_old_content_whole() {
    let project = Project::new();
    // The signal that comes with it would end the program: left out here, and not there.
    let script = format!(
        "{PREPARE}\nset +e\n(trap '' XFSZ; ulimit -f 8; $CLADA run --no-git ../reply)\n{LOOK}"
    );
    let output = sh(&project, false, &script).expect("bash");
    let said = text(&output.stdout);
    assert!(
        said.contains("1 ❌ edit old.txt - cannot write `old.txt`: File too large (os error 27)"),
        "{said}"
    );
    assert!(said.ends_with("exit 1\nwhole\n./old.txt\n"), "{said}");
    let script =
        format!("set +e\n(ulimit -c 0 -f 8; $CLADA run --no-git ../reply) 2>/dev/null\n{LOOK}");
    let said = text(&sh(&project, false, &script).expect("bash").stdout);
    assert!(said.ends_with("\nwhole\n./old.txt\n"), "{said}");
}

#[test]
fn what_is_mounted_is_not_deleted() {
    let project = Project::new();
    let script = r#"
mkdir -p dir/sub ../outside && echo kept > ../outside/kept.txt
mount --bind ../outside dir/sub
set +e
printf '<task><path>dir</path><c>delete</c></task>\n<task><path>dir/sub</path><c>delete</c></task>\n' | $CLADA run --no-git
ls ../outside; echo; ls dir
"#;
    let Some(output) = sh(&project, true, script) else {
        return;
    };
    let said = text(&output.stdout);
    let why = "` is a mount point, which clada does not delete with its folder: use an exec task";
    assert!(
        said.contains(&format!("1 ❌ delete dir - `dir/sub{why}")),
        "{said}"
    );
    assert!(
        said.contains(&format!("2 ❌ delete dir/sub - `dir/sub{why}")),
        "{said}"
    );
    assert!(said.ends_with("kept.txt\n\nsub\n"), "{said}");
}
