//! Figures of what a command writes: how fast it passes through clada, how much memory that takes, and how soon a line
//! is there to read.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::project::{CLADA, Project, Watch, number_behind, task, whole};
use crate::table::{Pair, Row, gbs, ms, paired};

/// How long anything may take before the benchmark is given up.
const PATIENCE: Duration = Duration::from_secs(300);

const ROUNDS: usize = 3;

const OUTPUT: &str = ".clada-output-latest.txt";

/// Values to be masked in all of an output.
const SECRETS: [(&str, &str); 5] = [
    ("GH_TOKEN", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("API_KEY", "sk-0123456789abcdef0123456789abcdef"),
    (
        "AWS_SECRET_ACCESS_KEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    ("DB_PASSWORD", "correct horse battery staple"),
    ("SESSION_SECRET", "yes-this-begins-as-the-output-does"),
];

/// A command that writes more than anybody reads. `CLADA_BENCH_GIB` says how much; 2 if it does not.
pub(crate) fn flood(print: &mut dyn FnMut(Row)) {
    let gib = std::env::var("CLADA_BENCH_GIB").ok();
    let gib: usize = gib.and_then(|gib| gib.parse().ok()).unwrap_or(2);
    let shortest = format!("yes | head -c {gib}G");
    let usual = format!("yes 'a short line of text' | head -c {gib}G");
    let project = Project::new();
    project.configure("[limits]\noutput = \"64 GiB\"\n");
    // So that all of it is on one disk.
    let on_disk = |mut command: Command| {
        command.env("TMPDIR", project.path("home"));
        command
    };
    let reply = project.path("reply.md");
    fs::write(&reply, task(&shortest)).expect("write");
    let copy = project.path("copy");
    let cat = |script: &str| {
        let mut bash = on_disk(project.command("/bin/bash"));
        bash.args(["-c", &format!("{script} | cat >'{}'", copy.display())]);
        let took = whole(bash);
        fs::remove_file(&copy).expect("remove");
        took
    };
    let mut measure =
        |what: &str, script: &str, most: f64, ours: &mut dyn FnMut() -> (Duration, u64)| {
            let mut peak = 0;
            let pair = paired(
                ROUNDS,
                || {
                    let (took, most) = ours();
                    peak = peak.max(most);
                    took
                },
                || cat(script),
            );
            let bytes = gib << 30;
            print(Row {
                what: format!("of {gib} GiB, {what}"),
                ours: gbs(bytes, pair.ours),
                baseline: ("| cat >file", gbs(bytes, pair.theirs)),
                ratio: pair.ratio,
                goal: Some((format!("ratio {most}"), pair.ratio <= most)),
            });
            let mb = peak as f64 * 1024.0 / 1e6;
            print(Row {
                what: format!("of {gib} GiB, {what}, peak memory"),
                ours: format!("{mb:.1} MB"),
                baseline: ("none", "0.0 MB".to_owned()),
                ratio: f64::NAN,
                goal: Some(("< 50 MB".to_owned(), mb < 50.0)),
            });
        };

    let run = |secrets: &[(&str, &str)]| {
        let mut command = on_disk(project.run(&reply));
        command.arg("--json").envs(secrets.iter().copied());
        let clock = Instant::now();
        let mut clada = command.spawn().expect("clada");
        let peak = until(&mut clada, &mut |clada| {
            clada.try_wait().expect("its end").is_some()
        });
        let took = clock.elapsed();
        assert!(clada.wait().is_ok_and(|status| status.success()));
        (took, peak)
    };
    measure("clada run", &shortest, 2.0, &mut || run(&[]));
    measure("clada run, 5 secrets", &shortest, 2.0, &mut || {
        run(&SECRETS)
    });

    let notes = project.path("root/clada.md");
    let mut rounds = 0;
    let mut watching = |script: &str| {
        rounds += 1;
        let mut clada = watch(on_disk(project.command(CLADA)), &notes);
        let clock = Instant::now();
        // Each has something that the others have not, so that it is new; and the one before was killed perhaps before it
        // knew that its results are in the notes, so that they may come once more.
        let script = format!("{script} # {rounds}");
        let told = format!("\n1 ✅ exec {script}\n");
        save(&notes, &task(&script));
        let peak = until(&mut clada.0, &mut |_| {
            fs::read_to_string(&notes).is_ok_and(|text| text.contains(&told))
        });
        let took = clock.elapsed();
        drop(clada);
        let output = project.path("root").join(OUTPUT);
        assert!(fs::metadata(&output).expect("its output").len() > (gib as u64) << 30);
        for file in [&output, &notes] {
            fs::remove_file(file).expect("remove");
        }
        (took, peak)
    };
    measure("clada watch", &usual, 1.18, &mut || watching(&usual));
    let what = "clada watch, lines of 1 letter";
    measure(what, &shortest, 2.0, &mut || watching(&shortest));
}

/// From when a command is told to print a line to when that is in the output file.
pub(crate) fn line(print: &mut dyn FnMut(Row)) {
    let limit = Duration::from_millis(100);
    let project = Project::new();
    let notes = project.path("root/clada.md");
    let pipes = ["root/lines", "lines"].map(|name| RefCell::new(project.pipe(name)));
    let [fifo, other] = ["root/lines", "lines"].map(|name| project.path(name));
    let script = |fifo: &Path| {
        let fifo = fifo.display();
        format!("while read -r line; do echo \"$line\"; done <'{fifo}'")
    };
    let clada = watch(project.command(CLADA), &notes);
    save(&notes, &task(&script(&fifo)));
    let direct = project.path("direct");
    let mut bash = project.command("/bin/bash");
    bash.args(["-c", &script(&other)])
        .stdout(File::create(&direct).expect("create"));
    let mut bash = bash.spawn().expect("bash");

    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let time = |pipe: &RefCell<File>, path: &Path| {
        let before = size(path);
        let clock = Instant::now();
        pipe.borrow_mut().write_all(b"a line\n").expect("write");
        while size(path) == before {
            assert!(clock.elapsed() < PATIENCE, "no line in {}", path.display());
            thread::sleep(Duration::from_micros(20));
        }
        clock.elapsed()
    };
    let output = project.path("root").join(OUTPUT);
    // The file is begun before the command.
    let clock = Instant::now();
    while !fs::read_to_string(&output).is_ok_and(|text| text.ends_with(":\n")) {
        assert!(clock.elapsed() < PATIENCE, "nothing runs");
        thread::sleep(Duration::from_millis(5));
    }
    let pair: Pair = paired(
        100,
        || time(&pipes[0], &output),
        || time(&pipes[1], &direct),
    );
    print(Row {
        what: "from a command's echo".to_owned(),
        ours: ms(pair.ours),
        baseline: ("bash writing to the file itself", ms(pair.theirs)),
        ratio: pair.ratio,
        goal: Some((format!("< {} ms", limit.as_millis()), pair.ours < limit)),
    });
    drop(clada);
    let _ = bash.kill().and_then(|()| bash.wait());
}

/// By rename, as an editor does.
fn save(notes: &Path, text: &str) {
    let beside: PathBuf = notes.with_extension("swp");
    fs::write(&beside, text).expect("write");
    fs::rename(&beside, notes).expect("rename");
}

/// The most memory that a process had (in units of 1024 bytes) until something happens.
fn until(process: &mut Child, happened: &mut dyn FnMut(&mut Child) -> bool) -> u64 {
    let status = format!("/proc/{}/status", process.id());
    let clock = Instant::now();
    let mut peak = 0;
    loop {
        // One that has ended has a status without it.
        let told = fs::read_to_string(&status).unwrap_or_default();
        if told.contains("VmHWM:") {
            peak = number_behind(&told, "VmHWM:");
        }
        if happened(process) {
            return peak;
        }
        assert!(clock.elapsed() < PATIENCE, "it takes too long");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A listener on notes that hold no reply yet.
fn watch(mut command: Command, notes: &Path) -> Watch {
    fs::write(notes, "notes\n").expect("write");
    Watch::start(command.args(["watch", "--no-git", "--no-clipboard"]))
}
