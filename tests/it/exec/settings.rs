//! What the settings say of commands, and whether it holds.

use std::net::TcpListener;

use super::{clada, printed, reply, run, tasks};
use crate::harness::{Ended, Project, Watching};
use clada::world::sandbox::support;

#[test]
fn in_a_workspace_commands_write_inside() {
    let Some(project) = Project::apart() else {
        return;
    };
    let fenced = support().by.is_some();
    run(
        &project,
        &[],
        &["echo x > inside && echo x > $TMPDIR/temporary"],
    )
    .exits(0);
    let outside = project.home().canonicalize().unwrap().join("outside");
    let script = "echo x > ~/outside";
    let ended = run(&project, &[], &[script]);
    assert_eq!(outside.exists(), !fenced);
    if fenced {
        let ended = ended.exits(1);
        let expect = format!(
            "; exec may not write `{}` (`exec.write` in clada.toml allows more)",
            outside.display()
        );
        assert!(tasks(&ended).trim_end().ends_with(&expect), "{}", ended.out);
        let refusals = ["Permission denied", "Read-only file system"];
        let is_refused = refusals.iter().any(|refusal| ended.out.contains(refusal));
        assert!(is_refused, "{}", ended.out);
    }
    // The same next to the project, from a folder in it, as somebody would name it who is there.
    project.write("deep/er/file", "");
    let reply = "<task><c>exec</c><x cwd=\"deep/er\">echo x > ../../../beside</x></task>\n";
    let ended = Ended::of(clada(&project, &["run", "--no-git"], &[]), reply);
    let beside = project.root().parent().unwrap().join("beside");
    assert_eq!(beside.exists(), !fenced);
    if fenced {
        let expect = format!("exec may not write `{}`", beside.display());
        assert!(tasks(&ended.exits(1)).contains(&expect));
    }
    // What the message says helps.
    project.configure("[exec]\nwrite = ['~']\n");
    run(&project, &[], &[script]).exits(0);
    assert!(outside.exists());
}

#[test]
fn reading_only_they_write_in_temporary_folders() {
    let Some(project) = Project::apart() else {
        return;
    };
    let fenced = support().by.is_some();
    project.write("file", "text\n");
    let args = ["run", "--no-git", "--sandbox", "read-only"];
    for (settings, args) in [
        ("", &args[..]),
        ("[exec]\nsandbox = 'read-only'\n", &args[..2]),
    ] {
        project.configure(settings);
        let try_it = |script| Ended::of(clada(&project, args, &[]), &reply(&[script]));
        let read = try_it("cat file && echo x > $TMPDIR/temporary").exits(0);
        assert!(read.out.contains("stdout:\ntext\n"));
        let _ = std::fs::remove_file(project.path("new"));
        let ended = try_it("echo x > ./new");
        assert_eq!(project.exists("new"), !fenced);
        if fenced {
            let expect = "/new` (`exec.sandbox = \"workspace\"` allows the project)";
            assert!(tasks(&ended.exits(1)).trim_end().ends_with(expect));
        }
    }
}

#[test]
fn without_a_fence_they_write_where_the_user_may() {
    let Some(project) = Project::apart() else {
        return;
    };
    let script = "echo x > ~/outside && rm ~/outside";
    let args = ["run", "--no-git", "--sandbox", "off"];
    Ended::of(clada(&project, &args, &[]), &reply(&[script])).exits(0);
    project.configure("[exec]\nsandbox = 'off'\n");
    run(&project, &[], &[script]).exits(0);
}

#[test]
fn without_a_network_nothing_is_connected_to() {
    let project = Project::new();
    let server = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = server.local_addr().expect("address").port();
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
    let with = run(&project, &[], &[&script]).exits(0);
    assert!(with.out.contains("stdout:\nconnected\n"));
    project.configure("[exec]\nnetwork = 'off'\n");
    let without = run(&project, &[], &[&script]);
    if support().network {
        let without = without.exits(1);
        let expect = "exec has no network (`exec.network = \"on\"` allows it)";
        assert!(
            tasks(&without).trim_end().ends_with(expect),
            "{}",
            without.out
        );
    } else {
        let without = without.exits(0);
        let told = [
            ": `exec.network = \"off\"` is not enforced",
            "⚠ exec is not fenced",
        ];
        assert!(
            told.iter().any(|told| without.results().contains(told)),
            "{}",
            without.out
        );
    }
}

#[test]
fn caches_are_written_to_where_they_are_there() {
    let Some(project) = Project::apart() else {
        return;
    };
    let fenced = support().by.is_some();
    std::fs::create_dir_all(project.home().join(".cache/pip")).expect("mkdir");
    let target = project.home().join("target");
    std::fs::create_dir(&target).expect("mkdir");
    let vars = [("CARGO_TARGET_DIR", target.to_str().expect("UTF-8"))];
    run(
        &project,
        &vars,
        &["echo x > ~/.cache/pip/x && echo x > $CARGO_TARGET_DIR/x"],
    )
    .exits(0);

    let npm = project.home().canonicalize().unwrap().join(".npm");
    for script in ["mkdir -p ~/.npm/_cacache", "mkdir ~/.npm"] {
        let ended = run(&project, &[], &[script]);
        if fenced {
            let expect = format!(
                "; exec may write `{}`, but it did not exist: clada has created it, so run this again",
                npm.display()
            );
            assert!(tasks(&ended.exits(1)).trim_end().ends_with(&expect));
            assert_eq!(std::fs::read_dir(&npm).expect("it").count(), 0);
        }
        let _ = std::fs::remove_dir_all(&npm);
    }
    // What the system says of it has nothing to do with the fence.
    let ended = run(&project, &[], &["echo x > ~/.npm/x"]).exits(1);
    assert!(tasks(&ended).contains(" - exit code 1 ("));
    run(&project, &[], &["mkdir -p ~/.npm/_cacache"]);
    run(
        &project,
        &[],
        &["mkdir -p ~/.npm/_cacache && echo x > ~/.npm/x"],
    )
    .exits(0);
}

#[test]
fn no_cache_that_may_be_written_holds_programs() {
    let Some(project) = Project::apart() else {
        return;
    };
    if support().by.is_none() {
        return;
    }
    let home = project.home();
    let closed = [
        ".local/share/pnpm",
        ".local/share/pnpm/store/../bin",
        ".local/share/uv/tools",
        ".rustup/toolchains",
        ".cache",
        ".cache/starship",
        ".cache/pre-commit",
        ".cache/ms-playwright",
        ".cache/node/corepack",
        ".gradle/wrapper",
        ".m2/wrapper",
        ".cargo/bin",
        "go/bin",
        "xdg",
        // As it holds a folder of the PATH.
        ".cache/uv",
    ];
    let open = [
        ".local/share/pnpm/store",
        ".cache/pip",
        "xdg/pip",
        "xdg/go-build",
        ".cargo/registry",
        "go/pkg",
        ".npm",
    ];
    std::fs::create_dir_all(home.join(".local/share/pnpm/bin")).expect("mkdir");
    for name in closed.iter().chain(&open) {
        std::fs::create_dir_all(home.join(name)).expect("mkdir");
    }
    let at = |name: &str| home.join(name).to_str().expect("UTF-8").to_owned();
    let path = format!(
        "{}:{}",
        at(".cache/uv/tools/bin"),
        std::env::var("PATH").expect("PATH")
    );
    let xdg = at("xdg");
    let vars = [("XDG_CACHE_HOME", xdg.as_str()), ("PATH", path.as_str())];
    let mut wrong = Vec::new();
    for name in closed {
        let ended = run(&project, &vars, &[&format!("echo x > ~/{name}/x")]);
        wrong.extend((ended.code == Some(0)).then(|| format!("written: {name}")));
    }
    for name in open {
        let ended = run(&project, &vars, &[&format!("echo x > ~/{name}/x")]);
        wrong.extend((ended.code != Some(0)).then(|| format!("refused: {name} {}", ended.out)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_project_opens_its_fence_only_once_it_is_trusted() {
    let Some(project) = Project::apart() else {
        return;
    };
    let fenced = support().by.is_some();
    project.write(
        "clada.toml",
        "[exec]\nsandbox = 'off'\nenv = { OF_PROJECT = 'yes' }\n",
    );
    let script = "echo \"<$OF_PROJECT>\"; echo x > ~/outside && rm ~/outside";
    let ended = run(&project, &[], &[script]);
    assert!(ended.out.contains("stdout:\n<>\n"));
    assert!(
        ended
            .results()
            .contains("⚠ `exec.sandbox`, `exec.env.OF_PROJECT` in clada.toml are not trusted"),
        "{}",
        ended.out
    );
    assert_eq!(ended.code, Some(i32::from(fenced)));
    // A command cannot trust for the user.
    let trust = format!("{} trust", env!("CARGO_BIN_EXE_clada"));
    run(&project, &[], &[&trust]).exits(1);
    assert!(
        run(&project, &[], &["true"])
            .results()
            .contains("⚠ `exec.sandbox`")
    );

    project.clada(["trust"]).exits(0);
    let ended = run(&project, &[], &[script]).exits(0);
    assert!(
        ended.out.contains("stdout:\n<yes>\n") && !ended.out.contains("⚠ `exec."),
        "{}",
        ended.out
    );
    // Another text is another matter; the trusted one holds.
    project.write(
        "clada.toml",
        "[exec]\nsandbox = 'off'\nenv = { OF_PROJECT = 'no' }\n",
    );
    assert_eq!(
        run(&project, &[], &[script])
            .exits(0)
            .out
            .matches("<yes>")
            .count(),
        1
    );
}

#[test]
fn wrong_settings_are_wrong_use() {
    let project = Project::new();
    let refused = |path: &str, place: &str| {
        for args in [&["run", "--no-git"][..], &["watch", "--no-git"]] {
            let command = clada(&project, args, &[]);
            let ended = match args[0] {
                "run" => Ended::of(command, &reply(&["touch ran"])),
                _ => {
                    let (code, err) = Watching::start(command).end();
                    Ended {
                        code,
                        out: String::new(),
                        err,
                    }
                }
            };
            let ended = ended.exits(2);
            assert_eq!(ended.out, "");
            assert!(
                ended.err.starts_with("clada: `")
                    && ended.err.contains(&format!("{path}`, {place}: ")),
                "{}",
                ended.err
            );
        }
        assert!(!project.exists("ran"));
    };
    project.write("clada.toml", "# ours\n[exec]\ntimeout = 'soon'\n");
    refused("/project/clada.toml", "line 3, column 11");
    project.write("clada.toml", "[limits]\noutput = 5\n");
    refused("/project/clada.toml", "line 2, column 10");
    project.write("clada.toml", "[limits]\noutput = '5 MiB'\n");
    project.configure("[exec]\ncaches = [\n  '~/.cache',\n  7,\n]\n");
    refused("/config.toml", "line 4, column 3");
    project.configure("[exec]\nask = ['{a']\n");
    let ended = run(&project, &[], &["touch ran"]).exits(2);
    assert!(
        ended.err.starts_with("clada: `exec.deny and exec.ask`: "),
        "{}",
        ended.err
    );
    project.configure("");
    assert_eq!(printed(&project, &[], "echo fine"), "fine\n");
}
