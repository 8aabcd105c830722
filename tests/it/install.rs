//! `install.sh`: what it installs from archives, what it refuses, and that whatever ends it too early leaves all as it was.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::cases;
use crate::harness::{Ended, Project, Watching, installed, wait_until};
use crate::package::release;

/// The target that the programs of these tests are for.
fn target() -> String {
    let libc = match cfg!(target_env = "musl") {
        true => "musl",
        false => "gnu",
    };
    format!("{}-unknown-linux-{libc}", std::env::consts::ARCH)
}

fn script() -> PathBuf {
    cases::root().join("install.sh")
}

/// A command that runs the script in this shell.
fn in_shell(project: &Project, shell: &[&str], args: &[&str]) -> Command {
    let mut command = project.command(shell[0]);
    command.args(&shell[1..]).arg(script()).args(args);
    command
}

fn install(project: &Project, args: &[&str]) -> Ended {
    Ended::of(in_shell(project, &["sh"], args), "")
}

/// Makes a release in a folder of the project: a program that only tells its version, with few pages. Then a script may change
/// the files in `$top`, before they are packed, and another one what is packed.
fn small_release(project: &Project, folder: &str, version: &str, change: [&str; 2]) -> String {
    let [files, packed] = change;
    let script = format!(
        "set -e\nexport top=clada-{version}-{target}\nmkdir -p {folder}/$top && cd {folder}\n\
         (cd $top && mkdir -p man/man1 man/man7 completions\n\
          printf '#!/bin/sh\\necho clada {version}\\n' > clada && chmod 755 clada\n\
          for page in man1/clada.1 man1/clada-undo.1 man7/clada-git.7; do echo $page {version} > man/$page; done\n\
          for name in clada.bash _clada clada.fish; do echo $name {version} > completions/$name; done)\n\
         tar=\"tar -P\"\n{files}\n\
         $tar -czf $top.tar.gz ${{members:-$top}}\nsha256sum *.tar.gz > SHA256SUMS\n{packed}\nrm -rf $top\n",
        target = target(),
    );
    let mut command = project.command("bash");
    command.args(["-c", &script]);
    Ended::of(command, "").exits(0);
    project.path(folder).to_str().expect("UTF-8").to_owned()
}

fn plain_release(project: &Project, version: &str) -> String {
    small_release(
        project,
        &format!("release-{version}"),
        version,
        ["true", "true"],
    )
}

/// A newer one that has another page instead of one.
fn newer_release(project: &Project) -> String {
    let changed = "rm $top/man/man1/clada-undo.1; echo new > $top/man/man1/clada-new.1";
    small_release(project, "new", "0.2.0", [changed, "true"])
}

/// All that is below a folder: the mode of each entry and, of files, the text.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).expect("folder") {
            let path = entry.expect("entry").path();
            let meta = path.symlink_metadata().expect("metadata");
            let text = match meta.is_file() {
                true => std::fs::read(&path).expect("file"),
                false => Vec::new(),
            };
            if meta.is_dir() {
                open.push(path.clone());
            }
            let name = path.strip_prefix(folder).expect("below").to_path_buf();
            found.insert(name, (meta.permissions().mode(), text));
        }
    }
    found
}

/// The names of the files in such a tree.
fn files(tree: &BTreeMap<PathBuf, (u32, Vec<u8>)>) -> Vec<&str> {
    let files = tree
        .iter()
        .filter(|(_, (mode, _))| mode & 0o170_000 == 0o100_000);
    files
        .map(|(path, _)| path.to_str().expect("UTF-8"))
        .collect()
}

const INSTALLED: [&str; 8] = [
    ".local/bin/clada",
    ".local/share/bash-completion/completions/clada",
    ".local/share/clada/installed",
    ".local/share/fish/vendor_completions.d/clada.fish",
    ".local/share/man/man1/clada-undo.1",
    ".local/share/man/man1/clada.1",
    ".local/share/man/man7/clada-git.7",
    ".local/share/zsh/site-functions/_clada",
];

#[test]
fn it_installs_what_was_packed_also_over_a_clada_that_runs() {
    let project = Project::with_git();
    let from = release().to_str().expect("UTF-8");
    let home = project.home();
    let said = install(&project, &["--from", from]).exits(0).out;
    let program = home.join(".local/bin/clada");
    let version = env!("CARGO_PKG_VERSION");
    let archive = format!("clada-{version}-{}.tar.gz", target());
    let (bin, share) = (home.join(".local/bin"), home.join(".local/share"));
    let (bin, share) = (bin.display(), share.display());
    let expected = format!(
        "fetching {from}/SHA256SUMS\n\
         fetching {from}/{archive}\n\
         the checksum of {archive} is right\n\
         clada {version} is installed: {bin}/clada\n\
         its man pages and completions are in {share}\n\
         to remove what this wrote: sh install.sh --uninstall\n\
         {bin} is not on PATH; add this line to ~/.profile, and open a new terminal:\n\
         export PATH='{bin}':\"$PATH\"\n"
    );
    assert_eq!(said, expected);
    let mut asked = project.command(&program);
    asked.arg("--version");
    assert_eq!(
        Ended::of(asked, "").exits(0).out,
        format!("clada {version}\n")
    );
    for file in INSTALLED {
        assert!(home.join(file).is_file(), "{file}");
    }

    let inode = program.metadata().expect("program").ino();
    let mut command = project.command(&program);
    command.args(["watch"]).env("HOME", project.path("."));
    let watching = Watching::logged(command);
    watching.wait_for("watching ");
    install(&project, &["--from", from]).exits(0);
    assert_ne!(program.metadata().expect("program").ino(), inode);
    project.write("clada.md", "nothing to do");
    watching.until_it_looked(&project.path("clada.md"));
    watching.stop(Signal::TERM);

    let said = install(&project, &["--uninstall"]).exits(0).out;
    let expected = format!(
        "removed {bin}/clada\nremoved what was installed in {share}; settings and what clada remembers stay\n"
    );
    assert_eq!(said, expected);
    assert_eq!(tree(&home), BTreeMap::new());
}

/// A folder with nothing but what BusyBox has, as on a small system.
fn only_busybox(project: &Project) -> PathBuf {
    let bin = project.path("bin");
    std::fs::create_dir(&bin).expect("mkdir");
    let mut command = project.command("busybox");
    command.args(["--install", "-s"]).arg(&bin);
    Ended::of(command, "").exits(0);
    bin
}

#[test]
fn every_shell_installs_and_uninstalls() {
    let shells: [&[&str]; 4] = [
        &["dash"],
        &["bash"],
        &["bash", "--posix"],
        &["busybox", "ash"],
    ];
    for shell in shells {
        if !installed(shell[0]) {
            continue;
        }
        let project = Project::new();
        let from = plain_release(&project, "0.1.0");
        let mut path = std::env::var_os("PATH").expect("PATH");
        if shell[0] == "busybox" {
            path = only_busybox(&project).into_os_string();
        }
        let run = |args: &[&str]| {
            let mut command = in_shell(&project, shell, args);
            if shell[0] == "busybox" {
                command = Command::new(Path::new(&path).join("ash"));
                command.arg(script()).args(args).env_clear();
                command.env("HOME", project.home());
            }
            Ended::of(
                {
                    command.env("PATH", &path);
                    command
                },
                "",
            )
        };
        run(&["--from", &from]).exits(0);
        assert_eq!(files(&tree(&project.home())), INSTALLED, "{shell:?}");
        run(&["--from", &from]).exits(0);
        assert_eq!(files(&tree(&project.home())), INSTALLED, "{shell:?}");
        run(&["--uninstall"]).exits(0);
        assert_eq!(tree(&project.home()), BTreeMap::new(), "{shell:?}");
    }
}

/// A newer version takes away the pages that it no longer has; a program elsewhere stays until all is removed.
#[test]
fn a_newer_version_replaces_the_older_one() {
    let project = Project::new();
    let old = plain_release(&project, "0.1.0");
    let new = ["rm $top/man/man1/clada-undo.1", "true"];
    let new = small_release(&project, "new", "0.2.0", new);
    install(&project, &["--from", &old]).exits(0);
    let elsewhere = project.home().join("a b/bin");
    let to = elsewhere.to_str().expect("UTF-8");
    install(&project, &["--from", &old, "--to", to, "--only-program"]).exits(0);
    assert!(project.home().join(INSTALLED[4]).exists());
    install(&project, &["--from", &new]).exits(0);
    let now = tree(&project.home());
    let mut expected: Vec<&str> = INSTALLED.to_vec();
    expected.retain(|name| !name.ends_with("undo.1"));
    expected.push("a b/bin/clada");
    assert_eq!(files(&now), expected);
    let text = |name: &str| String::from_utf8(now[Path::new(name)].1.clone()).expect("UTF-8");
    assert_eq!(text(INSTALLED[5]), "man1/clada.1 0.2.0\n");
    assert!(text(INSTALLED[0]).contains("0.2.0") && text("a b/bin/clada").contains("0.1.0"));
    install(&project, &["--uninstall"]).exits(0);
    assert_eq!(tree(&project.home()), BTreeMap::new());
}

#[test]
fn folders_with_odd_names_are_found_and_the_line_for_the_path_is_right() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let home = project.home().join("it's \"my\" $HOME");
    std::fs::create_dir(&home).expect("mkdir");
    let profiles = [
        ("/bin/zsh", "add this line to ~/.zshrc,"),
        ("/bin/bash", "add this line to ~/.bashrc,"),
        ("/usr/bin/fish", "this line adds it:"),
    ];
    for (shell, told) in profiles {
        let mut command = in_shell(&project, &["sh"], &["--from", &from, "--to", "bin"]);
        command
            .current_dir(&home)
            .env("HOME", &home)
            .env("SHELL", shell);
        let said = Ended::of(command, "").exits(0).out;
        assert!(said.contains(told), "{said}");
        let line = said.lines().last().expect("a line");
        if !shell.ends_with("fish") {
            let mut command = project.command("sh");
            command.args(["-c", &format!("{line}\ncommand -v clada")]);
            let found = Ended::of(command, "").exits(0).out;
            assert_eq!(found, format!("{}/bin/clada\n", home.display()));
        }
    }
    let mut command = in_shell(&project, &["sh"], &["--uninstall"]);
    Ended::of(
        {
            command.env("HOME", &home);
            command
        },
        "",
    )
    .exits(0);
    assert_eq!(tree(&home), BTreeMap::new());

    let path = std::env::var("PATH").expect("PATH");
    let bin = project.home().join(".local/bin");
    let mut command = in_shell(&project, &["sh"], &["--from", &from]);
    project.program("clada", "echo another");
    command.env(
        "PATH",
        format!(
            "{}:{}:{path}",
            project.home().join("bin").display(),
            bin.display()
        ),
    );
    let said = Ended::of(command, "").exits(0).out;
    let told = format!(
        "but `clada` means {}, which is earlier on PATH\n",
        project.home().join("bin/clada").display()
    );
    assert!(said.ends_with(&told), "{said}");
}

/// Changes of a release, each with what is said about it.
const ODD_RELEASES: [(&str, &str, &str); 17] = [
    (
        "true",
        "echo x >> $top.tar.gz",
        "is not the one in SHA256SUMS: fetch it again",
    ),
    (
        "true",
        "sed -i s/^./z/ SHA256SUMS",
        "is not the one in SHA256SUMS: fetch it again",
    ),
    ("true", "rm SHA256SUMS", "there is no SHA256SUMS in "),
    (
        "true",
        "rm $top.tar.gz",
        "a release has it beside its archives",
    ),
    (
        "true",
        "truncate -s 200 $top.tar.gz",
        "is not the one in SHA256SUMS: fetch it again",
    ),
    (
        "true",
        "truncate -s 200 $top.tar.gz; sha256sum *.gz > SHA256SUMS",
        ": is the disk of ",
    ),
    (
        "true",
        "mv $top.tar.gz clada-0.2.0-sparc.tar.gz; sha256sum *.gz > SHA256SUMS",
        "has no archive of clada for this machine: its SHA256SUMS names none for ",
    ),
    (
        "true",
        "for v in 1 2; do cp $top.tar.gz clada-0.3.$v${top#clada-0.2.0}.tar.gz; done; sha256sum *.gz > SHA256SUMS",
        "has several versions of clada: name one with --version",
    ),
    (
        "echo x > x; members=\"$top $top/../x\"",
        "true",
        "it has a file outside its folder",
    ),
    (
        "echo x > x; members=\"$top $PWD/x\"",
        "true",
        "it has a file outside its folder",
    ),
    (
        "echo x > clada-0x2x0; members=\"$top clada-0x2x0\"",
        "true",
        "it has a file outside its folder",
    ),
    (
        "ln -sf /etc/passwd $top/completions/_clada",
        "true",
        "it has a link or a device in it",
    ),
    (
        "ln $top/clada $top/second",
        "true",
        "it has a link or a device in it",
    ),
    (
        "mkfifo $top/man/man1/x.1",
        "true",
        "it has a link or a device in it",
    ),
    (
        "echo x > \"$top/man/man1/a b.1\"",
        "true",
        "a file in it has a strange name",
    ),
    ("rm $top/clada", "true", "it has no program"),
    (
        "echo 'echo clada 0.1.9' > $top/clada",
        "true",
        "its program says that it is `clada 0.1.9`",
    ),
];

#[test]
fn an_odd_release_changes_nothing() {
    let project = Project::new();
    let old = plain_release(&project, "0.1.0");
    install(&project, &["--from", &old]).exits(0);
    let before = tree(&project.home());
    for (number, (files, packed, told)) in ODD_RELEASES.into_iter().enumerate() {
        let odd = small_release(&project, &format!("odd-{number}"), "0.2.0", [files, packed]);
        let ended = install(&project, &["--from", &odd]).exits(1);
        assert!(
            ended.err.starts_with("install.sh: ") && ended.err.contains(told),
            "{number}: {}",
            ended.err
        );
        assert_eq!(ended.err.lines().count(), 1, "{number}: {}", ended.err);
        assert!(tree(&project.home()) == before, "{number}: {told}");
    }
    // Some programs show a link as if it were a file.
    let blind = "PATH=/usr/bin:/bin\ncase $1 in -tvf) tar \"$@\" | sed s/^[lh]/-/ ;; *) exec tar \"$@\" ;; esac";
    project.program("tar", blind);
    let before = tree(&project.home());
    for odd in ["odd-11", "odd-12"] {
        let odd = project.path(odd);
        let ended = install(&project, &["--from", odd.to_str().expect("UTF-8")]).exits(1);
        assert!(
            ended.err.contains("it has a link or a device in it"),
            "{}",
            ended.err
        );
        assert!(tree(&project.home()) == before);
    }
    let broken = ["printf '#!/no/such/loader\\n' > $top/clada", "true"];
    let broken = small_release(&project, "broken", "0.2.0", broken);
    let ended = install(&project, &["--from", &broken]).exits(1);
    assert!(
        ended
            .err
            .contains("clada 0.2.0 does not run on this machine: "),
        "{}",
        ended.err
    );
    assert!(tree(&project.home()) == before);
}

#[test]
fn what_it_cannot_do_changes_nothing() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let home = project.home();
    let refused = |command: Command, told: &str| {
        let ended = Ended::of(command, "").exits(1);
        assert!(ended.err.contains(told), "{}", ended.err);
        assert!(ended.err.starts_with("install.sh: "), "{}", ended.err);
        assert_eq!(tree(&home), BTreeMap::new(), "{told}");
    };
    let sh = |args: &[&str]| in_shell(&project, &["sh"], args);
    let other = |name: &str, value: &str, args: &[&str]| {
        let mut command = sh(args);
        command.env(name, value);
        command
    };
    let from = ["--from", from.as_str()];
    refused(
        sh(&[]),
        "this copy does not know where the releases are: name a folder or an https address with --from",
    );
    refused(
        sh(&["--from", "http://example.org"]),
        "http://example.org is no https address: take one, or a folder",
    );
    refused(
        sh(&["--from", "/nowhere"]),
        "there is no folder /nowhere: name the one with the archive and SHA256SUMS",
    );
    refused(
        sh(&["--to"]),
        "--to needs a value: see sh install.sh --help",
    );
    refused(
        sh(&["--tp", "x"]),
        "unknown option --tp: see sh install.sh --help",
    );
    refused(
        sh(&["--version", "../1"]),
        "`../1` is no version: one looks like 0.1.0",
    );
    refused(
        sh(&["--uninstall", "--only-program"]),
        "--uninstall removes all that this script wrote: give no other option with it",
    );
    refused(
        sh(&["--uninstall"]),
        "there is nothing to remove: this script keeps a list of what it installs in ",
    );
    refused(
        sh(&[from[0], from[1], "--version", "9.9.9"]),
        "has no archive of clada 9.9.9 for this machine",
    );
    refused(
        sh(&[from[0], from[1], "--to", "/proc"]),
        "cannot write to /proc: choose a folder of yours with --to",
    );
    refused(
        sh(&[from[0], from[1], "--to", "/proc/new/bin"]),
        "cannot make the folder /proc/new: choose one that is yours with --to",
    );
    refused(
        sh(&[from[0], from[1], "--to", "a\nb"]),
        "a folder has a line break in its name: choose another one with --to",
    );
    refused(
        other("XDG_DATA_HOME", "/proc", &from),
        "cannot make the folder /proc/clada",
    );
    refused(
        other("HOME", "", &from),
        "there is no home folder, and the list of installed files is kept below it: set HOME or XDG_DATA_HOME",
    );
    let mut no_home = other("XDG_DATA_HOME", "/proc", &from);
    refused(
        {
            no_home.env_remove("HOME");
            no_home
        },
        "there is no home folder: set HOME, or name a folder with --to",
    );

    let mut without = project.command("sh");
    let data = home.join("data");
    let to = home.join("bin");
    without.arg(script()).args(from).arg("--to").arg(&to);
    without.env_remove("HOME").env("XDG_DATA_HOME", &data);
    Ended::of(without, "").exits(0);
    assert!(to.join("clada").exists() && data.join("man/man1/clada.1").exists());
}

/// A person who has no right to write there, and a disk without room.
#[test]
fn neither_a_closed_folder_nor_a_full_disk_is_written_to() {
    let project = Project::new();
    let large = ["head -c 100000 /dev/zero >> $top/clada", "true"];
    let from = small_release(&project, "large", "0.1.0", large);
    let script = format!(
        "ulimit -f 20; trap '' XFSZ; exec sh {} --from {from}",
        script().display()
    );
    let mut command = project.command("sh");
    command.args(["-c", &script]);
    let ended = Ended::of(command, "").exits(1);
    assert!(ended.err.contains("is the disk of "), "{}", ended.err);
    assert_eq!(tree(&project.home()), BTreeMap::new());

    let mut command = in_shell(&project, &["sh"], &["--from", &from]);
    let bin = project.home().join("bin");
    std::fs::create_dir(&bin).expect("mkdir");
    std::fs::set_permissions(&bin, std::fs::Permissions::from_mode(0o555)).expect("chmod");
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere, unless it has none of its capabilities.
        command = project.command("setpriv");
        command
            .args(["--bounding-set=-all", "--inh-caps=-all", "sh"])
            .arg(self::script());
        command.args(["--from", &from]);
    }
    command.arg("--to").arg(&bin);
    let before = tree(&project.home());
    let ended = Ended::of(command, "").exits(1);
    let told = format!(
        "cannot write to {}: choose a folder of yours with --to",
        bin.display()
    );
    assert!(ended.err.contains(&told), "{}", ended.err);
    assert_eq!(tree(&project.home()), before);
}

#[test]
fn what_it_did_not_write_stays() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let home = project.home();
    let program = home.join(".local/bin/clada");
    std::fs::create_dir_all(program.parent().expect("folder")).expect("mkdir");
    std::fs::write(&program, "mine").expect("write");
    let before = tree(&home);
    let ended = install(&project, &["--from", &from]).exits(1);
    assert!(
        ended
            .err
            .contains("is there, and this script did not write it: move it away"),
        "{}",
        ended.err
    );
    assert_eq!(tree(&home), before);
    std::fs::remove_file(&program).expect("remove");

    install(&project, &["--from", &from]).exits(0);
    let unit = home.join(".config/systemd/user/clada.service");
    std::fs::create_dir_all(unit.parent().expect("folder")).expect("mkdir");
    std::fs::write(&unit, format!("ExecStart={} daemon\n", program.display())).expect("write");
    let before = tree(&home);
    let ended = install(&project, &["--uninstall"]).exits(1);
    let told = format!(
        "the background service starts {}: run `clada service uninstall` first",
        program.display()
    );
    assert!(ended.err.contains(&told), "{}", ended.err);
    assert_eq!(tree(&home), before);
    std::fs::remove_dir_all(home.join(".config")).expect("remove");

    std::fs::write(home.join(INSTALLED[4]), "mine").expect("write");
    let said = install(&project, &["--uninstall"]).exits(0).out;
    assert!(
        said.contains("/clada-undo.1: it is not as this script wrote it\n"),
        "{said}"
    );
    assert_eq!(files(&tree(&home)), [INSTALLED[4]]);
}

#[test]
fn the_service_of_this_program_is_known_by_its_path_as_systemd_writes_it() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let home = project.home();
    let folder = home.join("100% \"mine\"");
    let to = folder.to_str().expect("UTF-8");
    install(&project, &["--from", &from, "--to", to]).exits(0);
    let unit = home.join(".config/systemd/user/clada.service");
    std::fs::create_dir_all(unit.parent().expect("folder")).expect("mkdir");
    let starts = |program: &str| {
        let path = to.replace('"', "\\\"").replace('%', "%%");
        let text = format!("[Service]\nExecStart=\"{path}/{program}\" daemon\n");
        std::fs::write(&unit, text).expect("write");
    };
    starts("clada");
    let before = tree(&home);
    let ended = install(&project, &["--uninstall"]).exits(1);
    assert!(
        ended.err.contains("`clada service uninstall` first"),
        "{}",
        ended.err
    );
    assert_eq!(tree(&home), before);
    starts("clada-dev");
    install(&project, &["--uninstall"]).exits(0);
    assert_eq!(files(&tree(&home)), [".config/systemd/user/clada.service"]);
}

/// Starts the script as the leader of its own group, as a terminal does.
fn start_in_group(project: &Project, from: &str) -> std::process::Child {
    // A test that was itself started in the background inherits that SIGINT is ignored.
    let shell = ["env", "--default-signal=INT", "sh"];
    let mut command = in_shell(project, &shell, &["--from", from]);
    command
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("sh")
}

#[test]
fn a_signal_during_the_download_changes_nothing() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let project = Project::new();
        let from = plain_release(&project, "0.1.0");
        let reached = project.path("reached");
        project.program(
            "tar",
            &format!("touch {}\nexec sleep 1000", reached.display()),
        );
        let before = tree(&project.home());
        let mut child = start_in_group(&project, &from);
        wait_until(|| reached.exists(), || "the download".to_owned());
        let group = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process_group(group, signal).expect("kill");
        assert_eq!(child.wait().expect("end").code(), Some(code));
        assert_eq!(tree(&project.home()), before);
    }
}

/// Has mv do something else at one call: the one whose number is in the file `at`. The file `count` has a line for each call.
fn break_mv(project: &Project, how: &str) {
    let (count, at) = (project.path("count"), project.path("at"));
    project.program("mv", &format!(
        "PATH=/usr/bin:/bin\necho >> {count}\nif [ $(wc -l < {count}) -eq $(cat {at}) ]; then {how}; else exec mv \"$@\"; fi",
        count = count.display(), at = at.display(),
    ));
}

/// A signal or a failure at each file that is put in its place.
#[test]
fn an_end_between_two_files_brings_the_old_ones_back() {
    let project = Project::new();
    let old = plain_release(&project, "0.1.0");
    let new = newer_release(&project);
    install(&project, &["--from", &old]).exits(0);
    let count = project.path("count");
    let at = project.path("at");
    let breaks = |how: &str| break_mv(&project, how);
    breaks("true");
    let before = tree(&project.home().join(".local"));
    let all: Vec<usize> = (1..=9).collect();
    let ways = [
        ("mv \"$@\"; kill -TERM $PPID", 143, all),
        ("exit 1", 1, vec![1, 2, 5, 9]),
    ];
    for (how, code, numbers) in ways {
        breaks(how);
        // The program into its work folder, the list, six files and the program.
        for number in numbers {
            std::fs::write(&count, "").expect("write");
            std::fs::write(&at, number.to_string()).expect("write");
            let ended = install(&project, &["--from", &new]).exits(code);
            let after = tree(&project.home().join(".local"));
            assert!(
                after == before,
                "{number} {how}: {}{:?}",
                ended.err,
                files(&after)
            );
            let is_told = number == 1 || ended.err.ends_with(": all is as it was\n");
            assert!(code != 1 || is_told, "{}", ended.err);
        }
    }
    std::fs::write(&count, "").expect("write");
    std::fs::write(&at, "0").expect("write");
    install(&project, &["--from", &new]).exits(0);
    let counted = std::fs::read_to_string(&count).expect("count");
    assert_eq!(counted.lines().count(), 9);
}

/// Killed before or behind each file that is put in its place: the next run undoes that first, whatever it is.
#[test]
fn what_was_killed_is_undone_by_the_next_run() {
    let project = Project::new();
    let old = plain_release(&project, "0.1.0");
    let new = newer_release(&project);
    let (count, at) = (project.path("count"), project.path("at"));
    let calm = || {
        project.program("mv", "PATH=/usr/bin:/bin\nexec mv \"$@\"");
    };
    for (before, number) in [(true, 2), (true, 9), (false, 2), (false, 5), (false, 9)] {
        for next in [&["--from", &old][..], &["--from", &new], &["--uninstall"]] {
            calm();
            install(&project, &["--from", &old]).exits(0);
            let first = if before { "" } else { "mv \"$@\"; " };
            break_mv(&project, &format!("{first}kill -KILL $PPID"));
            std::fs::write(&count, "").expect("write");
            std::fs::write(&at, number.to_string()).expect("write");
            let killed = in_shell(&project, &["sh"], &["--from", &new]).output();
            assert!(!killed.expect("sh").status.success());
            calm();
            let ended = install(&project, next).exits(0);
            assert!(
                ended
                    .out
                    .contains("an earlier run was killed: what it did is undone\n"),
                "{}",
                ended.out
            );
            if next != ["--uninstall"] {
                install(&project, &["--uninstall"]).exits(0);
            }
            let left = tree(&project.home());
            assert_eq!(files(&left), ["bin/mv"], "{before} {number} {next:?}");
        }
    }
}

/// One of them installs, and the other may say that it is not its turn: none spoils what the other one does.
#[test]
fn two_at_once_leave_one_that_is_whole() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    for _ in 0..10 {
        let mut both = [(); 2].map(|()| {
            let mut command = in_shell(&project, &["sh"], &["--from", &from]);
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            command.spawn().expect("sh")
        });
        let ended = both.each_mut().map(|child| {
            let mut told = String::new();
            let mut err = child.stderr.take().expect("stderr");
            err.read_to_string(&mut told).expect("UTF-8");
            (child.wait().expect("end").success(), told)
        });
        assert!(ended.iter().any(|(is_well, _)| *is_well), "{ended:?}");
        for (is_well, told) in &ended {
            let is_turn = told.contains("another run of this script is at work");
            assert!(*is_well || is_turn, "{told}");
        }
        install(&project, &["--uninstall"]).exits(0);
        let left = tree(&project.home());
        assert!(files(&left).is_empty(), "{:?}", files(&left));
    }
}

/// Also where it stands in the place of a file that this script wrote.
#[test]
fn what_has_changed_since_is_not_replaced() {
    let project = Project::new();
    let old = plain_release(&project, "0.1.0");
    let changed = ["rm $top/man/man1/clada-undo.1", "true"];
    let new = small_release(&project, "new", "0.2.0", changed);
    install(&project, &["--from", &old]).exits(0);
    let program = project.home().join(".local/bin/clada");
    let page = project.home().join(".local/share/man/man1/clada-undo.1");
    let was = std::fs::read(&program).expect("program");
    for file in [&program, &page] {
        std::fs::write(file, "mine").expect("write");
    }
    let ended = install(&project, &["--from", &new]).exits(1);
    let said = format!(
        "install.sh: {} has changed since this script wrote it: move it away, then try again\n",
        program.display()
    );
    assert_eq!(ended.err, said);
    std::fs::write(&program, was).expect("write");
    install(&project, &["--from", &new]).exits(0);
    assert_eq!(std::fs::read_to_string(&page).expect("page"), "mine");

    let list = project.home().join(".local/share/clada/installed");
    std::fs::rename(&list, project.path("list")).expect("rename");
    std::fs::create_dir(&list).expect("mkdir");
    let ended = install(&project, &["--from", &new]).exits(1);
    assert!(
        ended
            .err
            .ends_with("is not the list that this script keeps there: move it away\n"),
        "{}",
        ended.err
    );
}

#[test]
fn half_a_script_does_nothing() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let text = std::fs::read_to_string(script()).expect("script");
    let text = text.trim_end();
    let run = |half: &str| {
        let mut command = project.command("dash");
        command.args(["-s", "--", "--from", &from]);
        Ended::of(command, half)
    };
    let tail = text.len() - 40;
    for end in (0..tail).step_by(101).chain(tail..text.len()) {
        let Some(half) = text.get(..end) else {
            continue;
        };
        let ended = run(half);
        let said = (ended.out.as_str(), ended.err.contains("install.sh: "));
        assert_eq!(said, ("", false), "{end}: {}", ended.err);
        assert!(tree(&project.home()).is_empty(), "{end}");
    }
    run(text).exits(0);
    assert_eq!(files(&tree(&project.home())), INSTALLED);
}

/// A program in the place of curl, which has the files of a release.
#[test]
fn a_release_is_fetched_by_https_only() {
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let log = project.path("log");
    let curl = format!(
        "echo \"$@\" >> {}\nwhile [ \"$1\" != --output ]; do shift; done\ncp {from}/${{4##*/}} \"$2\"",
        log.display()
    );
    project.program("curl", &curl);
    let place = "https://example.org/releases/download/v0.1.0";
    install(&project, &["--from", place]).exits(0);
    let asked = std::fs::read_to_string(&log).expect("log");
    let lines: Vec<&str> = asked.lines().collect();
    assert_eq!(lines.len(), 2, "{asked}");
    for (line, name) in lines.iter().zip([
        "SHA256SUMS".to_owned(),
        format!("clada-0.1.0-{}.tar.gz", target()),
    ]) {
        assert!(
            line.starts_with("--proto =https --tlsv1.2 --fail ")
                && line.ends_with(&format!("{place}/{name}")),
            "{line}"
        );
    }
    install(&project, &["--uninstall"]).exits(0);
    project.program("curl", "exit 22");
    let before = tree(&project.home());
    let ended = install(&project, &["--from", place]).exits(1);
    let told = format!("cannot fetch {place}/SHA256SUMS: look at the message above, and try again");
    assert!(ended.err.contains(&told), "{}", ended.err);
    assert_eq!(tree(&project.home()), before);
}

/// The wget of BusyBox is not trusted with a download, and that of GNU is.
#[test]
fn without_curl_it_takes_the_wget_that_checks_certificates() {
    if !installed("busybox") {
        return;
    }
    let project = Project::new();
    let from = plain_release(&project, "0.1.0");
    let bin = only_busybox(&project);
    let run = || {
        let mut command = in_shell(&project, &["sh"], &["--from", "https://example.org/x/"]);
        command.env("PATH", &bin);
        Ended::of(command, "")
    };
    let told = "neither curl nor GNU wget is here: install curl, or fetch the archive and SHA256SUMS yourself";
    let ended = run().exits(1);
    assert!(ended.err.contains(told), "{}", ended.err);
    assert_eq!(tree(&project.home()), BTreeMap::new());
    std::fs::remove_file(bin.join("wget")).expect("remove");
    let wget = format!("[ $1 = --help ] || cp {from}/${{5##*/}} \"$3\"");
    project.program("wget", &wget);
    std::fs::rename(project.home().join("bin/wget"), bin.join("wget")).expect("rename");
    std::fs::remove_dir(project.home().join("bin")).expect("remove");
    run().exits(0);
    assert_eq!(files(&tree(&project.home())), INSTALLED);

    std::fs::remove_file(bin.join("sha256sum")).expect("remove");
    let ended = run().exits(1);
    let told = "neither sha256sum nor shasum is here, and what is not checked is not installed: install one of them";
    assert!(ended.err.contains(told), "{}", ended.err);
}

/// A system, its processor and its glibc, each with the archive that is for it or what is said.
const MACHINES: [(&str, &str, &str, &str); 10] = [
    (
        "Linux",
        "x86_64",
        "2.35",
        "/clada-0.1.0-x86_64-unknown-linux-gnu.tar.gz",
    ),
    (
        "Linux",
        "x86_64",
        "3.0",
        "/clada-0.1.0-x86_64-unknown-linux-gnu.tar.gz",
    ),
    (
        "Linux",
        "amd64",
        "2.34",
        "/clada-0.1.0-x86_64-unknown-linux-musl.tar.gz",
    ),
    (
        "Linux",
        "x86_64",
        "",
        "/clada-0.1.0-x86_64-unknown-linux-musl.tar.gz",
    ),
    (
        "Linux",
        "arm64",
        "2.34",
        "/clada-0.1.0-aarch64-unknown-linux-musl.tar.gz",
    ),
    (
        "Darwin",
        "arm64",
        "",
        "/clada-0.1.0-aarch64-apple-darwin.tar.gz",
    ),
    (
        "Darwin",
        "x86_64",
        "",
        "/clada-0.1.0-x86_64-apple-darwin.tar.gz",
    ),
    (
        "Linux",
        "riscv64",
        "2.41",
        "there is no build of clada for Linux on riscv64: releases are for Linux and macOS",
    ),
    (
        "FreeBSD",
        "amd64",
        "",
        "there is no build of clada for FreeBSD on amd64: releases are for Linux and macOS",
    ),
    (
        "MINGW64_NT",
        "x86_64",
        "",
        "there is no build of clada for Windows; it runs in WSL: releases are for Linux and macOS",
    ),
];

#[test]
fn each_machine_gets_its_own_archive() {
    let project = Project::new();
    let folder = project.path("release");
    std::fs::create_dir(&folder).expect("mkdir");
    let libcs = ["unknown-linux-gnu", "unknown-linux-musl", "apple-darwin"];
    let names = ["x86_64", "aarch64"]
        .map(|cpu| libcs.map(|libc| format!("clada-0.1.0-{cpu}-{libc}.tar.gz")));
    let sum = "0".repeat(64);
    let sums: String = names
        .concat()
        .iter()
        .map(|name| format!("{sum}  {name}\n"))
        .collect();
    project.write("release/SHA256SUMS", sums);
    let from = folder.to_str().expect("UTF-8");
    for (system, machine, glibc, told) in MACHINES {
        // The programs for glibc need its loader, which another processor has elsewhere.
        if told.contains("linux-gnu") && !told.contains(std::env::consts::ARCH) {
            continue;
        }
        project.program(
            "uname",
            &format!("case $1 in -s) echo {system} ;; *) echo {machine} ;; esac"),
        );
        let getconf = if glibc.is_empty() {
            "exit 1".to_owned()
        } else {
            format!("echo glibc {glibc}")
        };
        project.program("getconf", &getconf);
        let before = tree(&project.home());
        let ended = install(&project, &["--from", from]).exits(1);
        let is_right = if told.starts_with('/') {
            ended.out.trim_end().ends_with(told)
        } else {
            ended.err.contains(told)
        };
        assert!(
            is_right,
            "{system} {machine} {glibc}: {}{}",
            ended.out, ended.err
        );
        assert_eq!(tree(&project.home()), before);
    }
}
