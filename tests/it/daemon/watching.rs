//! What may happen to the watched file and to the directories it lies in, and that the next save is seen all the same; what
//! it costs to wait for it. Much of it is told by `/proc`.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{NOTES, Notes, lines, modified, pause, record, reply, wait_for_results};
use crate::harness::{Ended, Project, Watching, save_by_rename, skip, wait_until};

/// Appends a reply to a file that may have results on top, as an editor that writes in place.
fn append(path: &Path, word: &str) {
    let text = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, text + &reply(word)).expect("write");
}

/// Waits until the task of this word is on top of a file. Each so far has run once, in this order.
#[track_caller]
fn ran(project: &Project, name: &str, words: &[&str]) {
    let word = words.last().expect("a word");
    let holds = || {
        let text = fs::read_to_string(project.path(name)).unwrap_or_default();
        let line = format!("1 ✅ exec {}", record(word));
        Notes::parse(&text).is_some_and(|notes| notes.tasks() == [line.as_str()])
    };
    wait_until(holds, || {
        let text = fs::read_to_string(project.path(name));
        format!("the results of {word} on top of {name}: {text:?}")
    });
    assert_eq!(lines(project, "runs.txt"), words);
}

/// As [`ran`], where the results also tell of others.
#[track_caller]
fn ran_among(project: &Project, name: &str, words: &[&str]) {
    let word = words.last().expect("a word");
    let holds = || {
        let text = fs::read_to_string(project.path(name)).unwrap_or_default();
        text.contains(&format!("1 ✅ exec {}", record(word)))
    };
    wait_until(holds, || project.read(name));
    assert_eq!(lines(project, "runs.txt"), words);
}

#[test]
fn each_way_of_writing() {
    type Way = fn(&Path, &str);
    let ways: [(&str, Way); 5] = [
        ("in-place", |path, text| {
            fs::write(path, text).expect("write");
        }),
        ("renamed-over", |path, text| {
            save_by_rename(path, text);
        }),
        ("backup-and-rename", |path, text| {
            fs::rename(path, path.with_extension("md~")).expect("rename");
            save_by_rename(path, text);
        }),
        ("deleted-and-made-again", |path, text| {
            fs::remove_file(path).expect("remove");
            fs::write(path, text).expect("write");
        }),
        ("truncated-and-in-pieces", |path, text| {
            // The closing tag comes with the last piece.
            let mut file = File::create(path).expect("create");
            let (most, last) = text.split_at(text.rfind("</tasks>").expect("a closing tag"));
            let (first, second) = most.split_at(most.len() / 2);
            for piece in [first, second, last] {
                // Longer than what is written must be quiet before it is looked at.
                pause();
                file.write_all(piece.as_bytes()).expect("write");
            }
        }),
    ];
    for polling in [false, true] {
        let project = Project::with_git();
        let mut body = "my notes\n".to_owned();
        project.write(NOTES, &body);
        let watching = match polling {
            false => project.watch([]),
            true => project.watch(["--poll", "50ms"]),
        };
        let mut words = Vec::new();
        for (word, save) in &ways {
            save(&project.path(NOTES), &(project.read(NOTES) + &reply(word)));
            body += &reply(word);
            words.push(*word);
            ran(&project, NOTES, &words);
            assert_eq!(Notes::of(&project).body, body, "{word}");
        }
        watching.until_it_looked(&project.path(NOTES));
        assert_eq!(lines(&project, "runs.txt"), words, "{}", watching.said());
    }
}

#[test]
fn polling_looks_in_its_time() {
    let project = Project::new();
    let _watching = project.watch(["--poll", "200ms"]);
    for (count, save) in [save_by_rename as fn(&Path, String), |path, text| {
        fs::write(path, text).expect("write");
    }]
    .into_iter()
    .enumerate()
    {
        let text = project.read(NOTES) + &reply(&format!("save{count}"));
        let saved = std::time::Instant::now();
        save(&project.path(NOTES), text);
        wait_for_results(&project, &format!("save{count}"));
        // Its 200 ms, what the debouncing of a poll adds, and what a loaded machine needs for a run.
        let took = saved.elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

/// An event names the link that was written through, and not the watched one; polling reads the file and sees it.
#[test]
fn writing_through_another_hard_link_is_seen_by_polling() {
    for polling in [false, true] {
        let project = Project::with_git();
        project.write("elsewhere/other.md", "notes\n");
        let other = project.path("elsewhere/other.md");
        fs::hard_link(&other, project.path(NOTES)).expect("link");
        let watching = match polling {
            false => project.watch([]),
            true => project.watch(["--poll", "50ms"]),
        };
        append(&other, "one");
        match polling {
            // It is not told, and does not look.
            false => pause(),
            true => wait_until(|| project.exists("runs.txt"), || project.read(NOTES)),
        }
        assert_eq!(project.exists("runs.txt"), polling, "{}", watching.said());
    }
}

/// Points a link elsewhere, as `ln -sfn` and other programs do: at once, or taken away first.
fn point(link: &Path, target: &str, at_once: bool) {
    if at_once {
        let new = link.with_extension("link");
        symlink(target, &new).expect("symlink");
        fs::rename(new, link).expect("rename");
    } else {
        fs::remove_file(link).expect("remove");
        symlink(target, link).expect("symlink");
    }
}

#[test]
fn a_link_that_is_pointed_elsewhere_is_followed() {
    for (at_once, polling) in [(true, false), (false, false), (true, true)] {
        let project = Project::with_git();
        project.write("a.md", "a\n");
        // What is there at first sight is not run.
        project.write("b.md", "b\n".to_owned() + &reply("old"));
        symlink("a.md", project.path(NOTES)).expect("symlink");
        let watching = match polling {
            false => project.watch(["--no-clipboard"]),
            true => project.watch(["--no-clipboard", "--poll", "50ms"]),
        };
        let arrives = |name: &str| {
            let line = format!("watching {}\n", project.path(name).display());
            watching.wait_for(&line);
        };
        arrives("a.md");
        append(&project.path(NOTES), "one");
        ran(&project, "a.md", &["one"]);
        // A save of the old one right before is none of the new one's.
        append(&project.path("a.md"), "two");
        point(&project.path(NOTES), "b.md", at_once);
        arrives("b.md");
        ran(&project, "a.md", &["one", "two"]);
        let text = || project.read("b.md");
        wait_until(|| text().contains("[ ] run it"), text);
        append(&project.path(NOTES), "three");
        ran_among(&project, "b.md", &["one", "two", "three"]);
        // Nobody watches the old one any more, and another clada may.
        append(&project.path("a.md"), "late");
        let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
        command.args(["watch", "--no-clipboard", "a.md"]);
        let other = Watching::start(command);
        ran(&project, "a.md", &["one", "two", "three", "late"]);
        drop(other);
        // And back: what was saved there is known.
        point(&project.path(NOTES), "a.md", at_once);
        wait_until(
            || {
                let line = format!("watching {}\n", project.path("a.md").display());
                watching.said().matches(&line).count() == 2
            },
            || watching.said(),
        );
        append(&project.path(NOTES), "five");
        ran(&project, "a.md", &["one", "two", "three", "late", "five"]);
        assert!(project.path(NOTES).is_symlink(), "{}", watching.said());
    }
}

#[test]
fn a_link_that_is_pointed_to_what_cannot_be_watched_yet() {
    let project = Project::with_git();
    project.write("a.md", "a\n");
    symlink("a.md", project.path(NOTES)).expect("symlink");
    let watching = project.watch(["--no-clipboard"]);
    point(&project.path(NOTES), "later/b.md", true);
    watching.wait_for("; clada retries until it works");
    project.write("later/b.md", "b\n");
    watching.wait_for(&format!(
        "watching {}\n",
        project.path("later/b.md").display()
    ));
    append(&project.path(NOTES), "one");
    ran(&project, "later/b.md", &["one"]);
    // To a file that is not there yet: the first paste runs.
    point(&project.path(NOTES), "c.md", true);
    watching.wait_for(&format!("watching {}\n", project.path("c.md").display()));
    append(&project.path("c.md"), "two");
    ran(&project, "c.md", &["one", "two"]);
    assert_eq!(watching.stop(rustix::process::Signal::TERM), Some(0));
}

/// The watched file is in `folder`, the project around it stays where it is.
fn in_folder(folder: &str) -> (Project, Watching, String) {
    let project = Project::with_git();
    let name = format!("{folder}/notes.md");
    project.write(&name, "notes\n");
    let watching = project.watch([&name]);
    append(&project.path(&name), "one");
    ran(&project, &name, &["one"]);
    (project, watching, name)
}

#[test]
fn a_directory_that_is_renamed_away_and_back() {
    let (project, watching, name) = in_folder("folder");
    let (here, away) = (project.path("folder"), project.path("away"));
    fs::rename(&here, &away).expect("rename");
    watching.wait_for("the notes file does not exist: waiting for it");
    // What is saved in it meanwhile is not where clada was told to look.
    append(&project.path("away/notes.md"), "two");
    // It is not told, and does not look.
    pause();
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    fs::rename(&away, &here).expect("rename");
    ran(&project, &name, &["one", "two"]);
    append(&project.path(&name), "three");
    ran(&project, &name, &["one", "two", "three"]);
    // So fast that nobody was told of a loss.
    fs::rename(&here, &away).expect("rename");
    fs::rename(&away, &here).expect("rename");
    append(&project.path(&name), "four");
    ran(&project, &name, &["one", "two", "three", "four"]);
}

#[test]
fn another_directory_in_its_place() {
    let (project, watching, name) = in_folder("folder");
    fs::rename(project.path("folder"), project.path("away")).expect("rename");
    fs::create_dir(project.path("folder")).expect("mkdir");
    append(&project.path(&name), "two");
    ran(&project, &name, &["one", "two"]);
    let old = project.read("away/notes.md");
    append(&project.path("away/notes.md"), "old");
    // It is not told, and does not look.
    pause();
    assert_eq!(project.read("away/notes.md"), old + &reply("old"));
    fs::remove_dir_all(project.path("folder")).expect("remove");
    watching.wait_for("the notes file does not exist: waiting for it");
    fs::create_dir(project.path("folder")).expect("mkdir");
    append(&project.path(&name), "three");
    ran(&project, &name, &["one", "two", "three"]);
}

/// The system tells nothing of it; the next save where the directory is now does.
#[test]
fn a_directory_further_up_that_is_renamed() {
    let (project, watching, name) = in_folder("upper/folder");
    fs::rename(project.path("upper"), project.path("away")).expect("rename");
    append(&project.path("away/folder/notes.md"), "away");
    watching.wait_for("the notes file does not exist: waiting for it");
    fs::create_dir_all(project.path("upper/folder")).expect("mkdir");
    append(&project.path(&name), "two");
    ran(&project, &name, &["one", "two"]);
    append(&project.path(&name), "three");
    ran(&project, &name, &["one", "two", "three"]);
}

#[test]
fn another_branch() {
    let project = Project::with_git();
    project.write(NOTES, "notes\n");
    project.git(["add", NOTES]);
    project.git(["commit", "-qm", "notes"]);
    project.git(["checkout", "-qb", "other"]);
    project.write(
        NOTES,
        "notes of the other branch\n".to_owned() + &reply("other"),
    );
    project.git(["commit", "-qam", "other notes"]);
    project.git(["checkout", "-q", "main"]);
    let watching = project.watch(["--no-git"]);
    append(&project.path(NOTES), "one");
    ran(&project, NOTES, &["one"]);
    // What comes with a checkout is a save as any other; the results of the branch that was left went with its notes.
    project.git(["checkout", "-qf", "other"]);
    ran(&project, NOTES, &["one", "other"]);
    assert!(
        Notes::of(&project)
            .body
            .starts_with("notes of the other branch\n")
    );
    project.git(["checkout", "-qf", "main"]);
    watching.until_it_looked(&project.path(NOTES));
    assert_eq!(project.read(NOTES), "notes\n");
    append(&project.path(NOTES), "two");
    ran(&project, NOTES, &["one", "other", "two"]);
    // In place, as `git show` does it.
    let saved = modified(&project, NOTES);
    let mut show = project.command("git");
    let file = File::create(project.path(NOTES)).expect("create");
    let done = show.args(["show", "main:clada.md"]).stdout(file).status();
    assert!(done.expect("git").success());
    assert!(modified(&project, NOTES) > saved);
    append(&project.path(NOTES), "three");
    ran(&project, NOTES, &["one", "other", "two", "three"]);
}

/// `clada watch` in namespaces of its own, in which it may mount and set limits; this script has prepared them. `None` where the
/// system does not allow it.
fn in_namespaces<const N: usize>(
    project: &Project,
    script: &str,
    args: [&str; N],
) -> Option<Command> {
    let unshare = |script: &str| {
        let mut command = project.command("unshare");
        command.args([
            "-r",
            "-m",
            "bash",
            "-ec",
            script,
            env!("CARGO_BIN_EXE_clada"),
            "watch",
        ]);
        command
    };
    let tried = unshare(script).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        skip(&format!(
            "no namespaces here, or not the means to do `{script}` in them"
        ));
        return None;
    }
    let mut command = unshare(&format!("{script}\nexec \"$0\" \"$@\""));
    command.args(args);
    Some(command)
}

#[test]
fn a_file_system_that_comes_and_goes() {
    const MOUNT: &str = "mount -t tmpfs none disk";
    let project = Project::with_git();
    fs::create_dir(project.path("disk")).expect("mkdir");
    let script = format!("{MOUNT} && echo notes > disk/notes.md");
    let Some(command) = in_namespaces(&project, &script, ["disk/notes.md"]) else {
        return;
    };
    let watching = Watching::start(command);
    watching.wait_for("watching ");
    let inside = |script: &str| {
        let mut command = project.command("nsenter");
        command.args([
            "--preserve-credentials",
            "-U",
            "-m",
            "-t",
            &watching.pid().to_string(),
        ]);
        // Only from inside does the folder's path lead into the namespace.
        let script = format!("cd '{}'\n{script}", project.root().display());
        let done = command.args(["bash", "-ec", &script]).status();
        done.expect("nsenter").success()
    };
    // Not while clada has a file open there.
    let soon = |script: &str| wait_until(|| inside(script), || script.to_owned());
    let save = |word: &str| {
        soon(&format!("cat >> disk/notes.md <<'END'\n{}END", reply(word)));
        let seen = format!(
            "/proc/{}/root/{}",
            watching.pid(),
            project.path("disk/notes.md").display()
        );
        let results = || fs::read_to_string(&seen).unwrap_or_default();
        let line = format!("1 ✅ exec {}", record(word));
        wait_until(
            || results().contains(&line),
            || format!("{line:?} in {}: {}", results(), watching.said()),
        );
    };
    save("on-a-tmpfs");
    soon("umount disk");
    watching.wait_for("the notes file does not exist: waiting for it");
    soon(&format!("{MOUNT} && echo new notes > disk/notes.md"));
    save("mounted-again");
    soon(&format!(
        "umount disk && {MOUNT} && echo newer notes > disk/notes.md"
    ));
    save("at-once");
    soon(&format!("{MOUNT} && echo other notes > disk/notes.md"));
    save("mounted-over");
    let all = ["on-a-tmpfs", "mounted-again", "at-once", "mounted-over"];
    assert_eq!(lines(&project, "runs.txt"), all);
}

#[test]
fn limits_of_the_system() {
    for (limit, expect) in [
        (
            "instances",
            "the system has no file watchers left: raise `sysctl fs.inotify.max_user_instances` (now ",
        ),
        (
            "watches",
            "the system has no file watches left: raise `sysctl fs.inotify.max_user_watches` (now ",
        ),
    ] {
        let project = Project::new();
        let script = format!("echo 0 > /proc/sys/user/max_inotify_{limit}");
        let Some(mut command) = in_namespaces(&project, &script, []) else {
            return;
        };
        let ended = Ended::new(command.output().expect("clada")).exits(1);
        for advice in [expect, "or watch with `--poll 1s`"] {
            assert!(ended.err.contains(advice), "{}", ended.err);
        }
        let polling = in_namespaces(&project, &script, ["--poll", "50ms"]).expect("as above");
        let watching = Watching::start(polling);
        watching.wait_for("watching ");
        append(&project.path(NOTES), "one");
        ran(&project, NOTES, &["one"]);
    }
}

/// A number that the system tells of a process behind this name.
fn told(watching: &Watching, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/{file}", watching.pid())).expect("a process");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("{name} in {text}"))
}

/// In units of 1024 bytes.
fn resident(watching: &Watching) -> u64 {
    told(watching, "status", "VmRSS:")
}

/// Changes other files in the directory so often: each is made, written, closed, renamed or removed.
fn change_others(project: &Project, times: usize) {
    for number in 0..times {
        let name = project.path(&format!("other{}", number % 100));
        match number % 10 {
            8 => fs::rename(&name, project.path("other"))
                .or_else(|_| fs::write(&name, ""))
                .expect("rename"),
            9 => fs::remove_file(&name)
                .or_else(|_| fs::write(&name, ""))
                .expect("remove"),
            _ => fs::write(&name, "x").expect("write"),
        }
    }
}

/// The thread that looks is not even woken up: the events end where they are read.
#[test]
fn changes_of_other_files_cost_nothing() {
    let project = Project::with_git();
    let watching = project.watch([]);
    append(&project.path(NOTES), "one");
    ran(&project, NOTES, &["one"]);
    change_others(&project, 1_000);
    let woken = || {
        told(&watching, "status", "voluntary_ctxt_switches:")
            + told(&watching, "status", "nonvoluntary_ctxt_switches:")
    };
    let sleeps = || {
        let before = woken();
        pause();
        woken() == before
    };
    wait_until(sleeps, || "it to be done with its own run".to_owned());
    let (before, memory) = (woken(), resident(&watching));
    change_others(&project, 10_000);
    // The thread would be woken up by now, and log nothing of it.
    pause();
    assert_eq!(woken(), before, "{}", watching.said());
    let more = resident(&watching).saturating_sub(memory);
    assert!(more < 2_000, "{more} kB more");
    append(&project.path(NOTES), "two");
    ran(&project, NOTES, &["one", "two"]);
}

#[test]
fn a_save_among_more_events_than_the_system_keeps() {
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
    let most: usize = most.map_or(0, |most| most.trim().parse().expect("a number"));
    if !(1..=100_000).contains(&most) {
        skip(&format!("{most} events are kept here"));
        return;
    }
    let project = Project::new();
    // One that is made is looked at twice.
    project.write(NOTES, "");
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    let watching = Watching::start({
        command.arg("watch").env("CLADA_LOG", "debug");
        command
    });
    watching.wait_for("watching ");
    let kill = |signal| {
        let pid = i32::try_from(watching.pid()).expect("a process");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, signal).expect("kill");
    };
    kill(rustix::process::Signal::STOP);
    change_others(&project, most);
    append(&project.path(NOTES), "one");
    kill(rustix::process::Signal::CONT);
    ran(&project, NOTES, &["one"]);
    let said = watching.said();
    let first = said.lines().find(|line| line.contains("signal="));
    assert!(
        first.is_some_and(|line| line.contains("signal=Lost")),
        "the save itself was not seen, only that events are missing: {said}"
    );
}

/// Saves a file of 1 MB so often, each time with another line of prose, and waits each time until it was read.
fn grow(project: &Project, watching: &Watching, saves: std::ops::Range<usize>) {
    let prose =
        "A line of notes, as long as such lines are, about what was tried and what came of it.\n";
    let prose = prose.repeat(1_000_000 / prose.len());
    for number in saves {
        let read = told(watching, "io", "rchar:");
        let text = format!("line {number}\n{prose}");
        save_by_rename(&project.path(NOTES), &text);
        wait_until(
            || told(watching, "io", "rchar:") >= read + text.len() as u64,
            || format!("save {number} is read: {}", watching.said()),
        );
    }
}

/// How much more memory it takes after so many saves than after 100, in units of 1024 bytes.
fn growth(saves: usize) -> u64 {
    let project = Project::new();
    let watching = project.watch(["--no-clipboard"]);
    grow(&project, &watching, 0..100);
    let before = resident(&watching);
    grow(&project, &watching, 100..saves);
    let after = resident(&watching);
    eprintln!("{before} kB after 100 saves, {after} kB after {saves}");
    after.saturating_sub(before)
}

/// Takes some minutes: `cargo test --release --test it -- --ignored --nocapture memory_stays`
#[test]
#[ignore = "takes some minutes"]
fn memory_stays_as_it_is_for_10_000_saves() {
    let more = growth(10_000);
    assert!(more < 5_000, "{more} kB more");
}

#[test]
fn memory_stays_as_it_is() {
    let more = growth(200);
    assert!(more < 5_000, "{more} kB more");
}

/// The notes are in a folder of the project; the home has a folder that no command may write to, with a file of that name.
fn beside_others() -> Option<(Project, Watching, std::path::PathBuf)> {
    let project = Project::apart()?;
    project.write("folder/notes.md", "notes\n");
    let others = project.home().join("others");
    fs::create_dir(&others).expect("mkdir");
    fs::write(others.join("notes.md"), "theirs\n").expect("write");
    let watching = project.watch(["--no-git", "--no-clipboard", "folder/notes.md"]);
    append(&project.path("folder/notes.md"), "one");
    ran(&project, "folder/notes.md", &["one"]);
    Some((project, watching, others))
}

/// All that is in a folder.
fn content(folder: &Path) -> Vec<(std::path::PathBuf, String)> {
    let entries = fs::read_dir(folder).expect("folder").flatten();
    let mut all: Vec<_> = entries
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).expect("text");
            (entry.path(), text)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_folder_that_becomes_a_link_is_not_followed() {
    let Some((project, watching, others)) = beside_others() else {
        return;
    };
    let before = content(&others);
    let (here, away) = (project.path("folder"), project.path("away"));
    fs::rename(&here, &away).expect("rename");
    symlink(&others, &here).expect("symlink");
    watching.wait_for("` has become a symbolic link, which clada does not follow: it waits for `");
    fs::write(others.join("notes.md"), reply("theirs")).expect("write");
    // It is not told of either, and does not look.
    pause();
    fs::write(others.join("notes.md"), "theirs\n").expect("write");
    pause();
    assert_eq!(content(&others), before, "{}", watching.said());
    assert_eq!(lines(&project, "runs.txt"), ["one"]);
    assert_eq!(
        watching
            .said()
            .matches("has become a symbolic link")
            .count(),
        1
    );
    fs::remove_file(&here).expect("remove");
    fs::rename(&away, &here).expect("rename");
    append(&project.path("folder/notes.md"), "two");
    ran(&project, "folder/notes.md", &["one", "two"]);
}

/// A command does that while its own batch runs: the results must not get there either.
#[test]
fn a_command_that_makes_the_folder_a_link_gets_nothing_written_there() {
    let Some((project, watching, others)) = beside_others() else {
        return;
    };
    let before = content(&others);
    let script = format!(
        "mv folder away; ln -s '{}' folder; sleep 3",
        others.display()
    );
    let notes = project.path("folder/notes.md");
    let text = fs::read_to_string(&notes).expect("notes") + "link:\n" + &super::exec(&script);
    fs::write(notes, text).expect("write");
    watching.wait_for("has become a symbolic link");
    watching.until_it_rests();
    assert_eq!(content(&others), before, "{}", watching.said());
}

/// A link of the project's that a command points out of it.
#[test]
fn a_link_that_a_command_points_out_of_the_project_is_not_followed() {
    let Some(project) = Project::apart() else {
        return;
    };
    project.write("a.md", "a\n");
    symlink("a.md", project.path(NOTES)).expect("symlink");
    let theirs = project.home().join(".profile");
    fs::write(&theirs, "# theirs\n").expect("write");
    let watching = project.watch(["--no-git", "--no-clipboard"]);
    let script = format!("ln -sfn '{}' {NOTES}", theirs.display());
    fs::write(project.path("a.md"), super::exec(&script)).expect("write");
    watching.wait_for("`, as a command may have made it: replace it with a file, or start clada with the file's real path");
    watching.until_it_rests();
    fs::write(&theirs, reply("theirs")).expect("write");
    // It is not told, and does not look.
    pause();
    assert_eq!(fs::read_to_string(&theirs).expect("read"), reply("theirs"));
    assert!(!project.exists("runs.txt"), "{}", watching.said());
    // The notes of before are still the notes.
    append(&project.path("a.md"), "two");
    ran(&project, "a.md", &["two"]);
}

/// The notes lie outside, so that they are there when the project folder is not.
fn with_notes_elsewhere() -> (Project, Watching, std::path::PathBuf) {
    let project = Project::with_git();
    let notes = project.home().join("notes.md");
    fs::write(&notes, "notes\n").expect("write");
    let root = project.root().display().to_string();
    let name = notes.display().to_string();
    let mut command = project.command(env!("CARGO_BIN_EXE_clada"));
    command.args(["watch", "--no-clipboard", "--root", &root, &name]);
    let watching = Watching::logged(command);
    watching.wait_for("watching ");
    (project, watching, notes)
}

/// Saves a reply in notes elsewhere, and waits for this in them.
fn save_and_wait(notes: &Path, word: &str, text: &str, watching: &Watching) {
    let before = fs::read_to_string(notes).expect("notes");
    save_by_rename(notes, before + &reply(word));
    let read = || fs::read_to_string(notes).unwrap_or_default();
    wait_until(
        || read().contains(text),
        || format!("{}{}", read(), watching.said()),
    );
}

#[test]
fn nothing_runs_where_the_project_folder_was() {
    for is_link in [true, false] {
        let (project, watching, notes) = with_notes_elsewhere();
        save_and_wait(&notes, "one", "1 ✅ exec", &watching);
        let (root, away) = (project.root(), project.home().join("away"));
        let other = project.home().join("other");
        fs::create_dir(&other).expect("mkdir");
        fs::rename(&root, &away).expect("rename");
        let said = if is_link {
            symlink(&other, &root).expect("symlink");
            "` is not where it was: put the folder back, or restart clada to continue where the link leads"
        } else {
            fs::create_dir(&root).expect("mkdir");
            "` is not the project folder that clada started with, but another one of that name: put the first one back, or restart clada to continue in this one"
        };
        save_and_wait(&notes, "two", said, &watching);
        // It is tried again, and told once.
        watching.until_it_looked_again(2);
        let text = fs::read_to_string(&notes).expect("notes");
        assert_eq!(text.matches(said).count(), 1, "{text}");
        for place in [&root, &other] {
            assert!(!place.join("runs.txt").exists(), "{}", watching.said());
        }
        if is_link {
            fs::remove_file(&root).expect("remove");
        } else {
            fs::remove_dir(&root).expect("remove");
        }
        fs::rename(&away, &root).expect("rename");
        let text = || fs::read_to_string(&notes).unwrap_or_default();
        wait_until(|| lines(&project, "runs.txt") == ["one", "two"], text);
        save_and_wait(&notes, "three", "reply three", &watching);
        wait_until(|| lines(&project, "runs.txt").len() == 3, text);
    }
}
