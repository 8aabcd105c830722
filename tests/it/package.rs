//! What is made for packages: completions that real shells take, man pages that real programs read, the archive and the
//! Debian package.

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::process::Command;
#[cfg(target_os = "linux")]
use std::sync::LazyLock;

use clada::cli::topics::TOPICS;

use crate::cases;
use crate::harness::{Ended, Project, installed, skip};

fn run(command: &mut Command) -> String {
    let output = command.output().expect("start");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}\n{err}");
    out
}

#[test]
fn bash_completes_commands_and_flags() {
    let project = Project::new();
    let script = project.clada(["completions", "bash"]).exits(0).out;
    project.write("clada.bash", script);
    let complete = |words: &[&str]| {
        let words = words.join(" ");
        let script = format!(
            "source clada.bash\nCOMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             f=$(complete -p clada | sed 's/.*-F \\([^ ]*\\).*/\\1/')\n\
             $f clada \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let bash = project
            .command("bash")
            .args(["--norc", "-c", &script])
            .output();
        let bash = bash.expect("bash");
        assert!(
            bash.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&bash.stderr)
        );
        String::from_utf8(bash.stdout).expect("UTF-8")
    };
    assert_eq!(complete(&["clada", "un"]), "undo\n");
    assert_eq!(complete(&["clada", "undo", "--k"]), "--keep\n");
    assert_eq!(complete(&["clada", "completions", "f"]), "fish\n");
    assert_eq!(complete(&["clada", "help", "trou"]), "troubleshooting\n");
    assert_eq!(complete(&["clada", "help", "squ"]), "squash\n");
    assert_eq!(complete(&["clada", "help", "service", "inst"]), "install\n");
    assert_eq!(complete(&["clada", "help", "clip"]), "clipboard\n");
    let flag = |command, flag, word| complete(&["clada", command, flag, word]);
    assert_eq!(flag("instructions", "--dialect", "a"), "aider\n");
    let found = flag("instructions", "--actions", "files_r");
    assert!(found.lines().any(|line| line == "files_read"), "{found}");
    assert_eq!(flag("run", "--sandbox", "r"), "read-only\n");
    assert_eq!(flag("status", "--log-format", "j"), "json\n");
}

#[test]
fn other_shells_take_their_completions() {
    let project = Project::new();
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = project.clada(["completions", shell]).exits(0).out;
        assert!(script.contains("step-forward"), "{shell}");
        assert!(!script.contains("clipboard-owner"), "{shell}");
        project.write(shell, script);
    }
    for shell in ["zsh", "fish"] {
        if installed(shell) {
            let mut parse = project.command(shell);
            assert_eq!(run(parse.args(["-n", shell])), "");
        }
    }
    if installed("fish") {
        let script = "source fish; complete -C 'clada und'";
        let found = run(project.command("fish").args(["-c", script]));
        assert!(
            found.starts_with("undo\t") && found.lines().count() == 1,
            "{found}"
        );
        let script = "source fish; complete -C 'clada help trou'";
        let found = run(project.command("fish").args(["-c", script]));
        assert!(
            found.starts_with("troubleshooting\t") && found.lines().count() == 1,
            "{found}"
        );
    }
}

#[test]
fn the_man_pages_are_read_without_a_complaint() {
    let project = Project::new();
    let folder = project.path("man");
    let folder = folder.to_str().expect("UTF-8");
    project.clada(["man", folder]).exits(0);
    let main = project.read("man/man1/clada.1");
    assert_eq!(project.clada(["man"]).exits(0).out, main);
    for section in [
        "COMMANDS",
        "OPTIONS",
        "EXAMPLES",
        "FILES",
        "ENVIRONMENT",
        "\"EXIT STATUS\"",
        "\"SEE ALSO\"",
    ] {
        assert!(main.contains(&format!(".SH {section}\n")), "{section}");
    }
    let text = main.replace("\\-", "-").replace("\\(aq", "'");
    for line in [
        "The notes file, unless another one is named.",
        "The full output of the latest batch, next to the notes file.",
        "The settings of a project, in the project folder.",
        "Your settings, for all projects.",
        "The list of notes files that clada daemon watches.",
        "What clada keeps between runs: the ledger, locks, trusted settings, private snapshots.",
        "The last three of these on macOS.",
        "How much clada logs to stderr: error, warn, info, debug or trace.",
        "The format of that log: text or json.",
        "Set for the commands that clada runs. Where it is set, clada refuses what only you may do.",
        "The folders to use instead of ~/.config and ~/.local/state.",
        "The display with the clipboard.",
        "All done.",
        "Something failed.",
        "Wrong usage, or invalid settings.",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let synopsis = ".SH SYNOPSIS\n\\fBclada\\fR [\\fIFILE\\fR] [\\fIOPTIONS\\fR]\n.br\n\\fBclada\\fR \\fICOMMAND\\fR\n";
    assert!(main.contains(synopsis), "{main}");
    let pages = |section: &str| {
        let pages = std::fs::read_dir(Path::new(folder).join(section)).expect("pages");
        let mut pages: Vec<_> = pages.map(|page| page.expect("page").path()).collect();
        pages.sort();
        pages
    };
    let pages = [pages("man1"), pages("man7")].concat();
    let names: Vec<_> = pages
        .iter()
        .filter_map(|page| page.file_name()?.to_str())
        .collect();
    assert!(
        names.contains(&"clada-step-forward.1") && !names.contains(&"clada-clipboard-owner.1"),
        "{names:?}"
    );
    for topic in TOPICS {
        assert!(names.contains(&format!("clada-{}.7", topic.name).as_str()));
    }
    // Every page that one of them names is there.
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        for named in text.split("\\fBclada\\-").skip(1) {
            let (name, rest) = named.split_once("\\fR").expect("a name in bold");
            let section = if rest.starts_with("(7)") { 7 } else { 1 };
            let is_page = rest.starts_with('(');
            let name = format!("clada-{}.{section}", name.replace('\\', ""));
            assert!(
                !is_page || names.contains(&name.as_str()),
                "{name} in {}",
                page.display()
            );
        }
    }
    if installed("groff") {
        for page in &pages {
            let output = Command::new("groff")
                .args(["-man", "-ww", "-Tutf8", "-z"])
                .arg(page)
                .output()
                .expect("groff");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && said.is_empty(),
                "{}: {said}",
                page.display()
            );
        }
    }
}

/// The archive, and the Debian package where it can be made, from the program of these tests.
#[test]
fn the_archive_and_the_debian_package_have_all_that_belongs_in_them() {
    if !cfg!(target_os = "linux") {
        skip("tar here is not GNU's");
        return;
    }
    let project = Project::new();
    let deb = installed("cargo-deb");
    let binary = env!("CARGO_BIN_EXE_clada");
    let package = |deb: bool| {
        let mut command = Command::new(cases::root().join(".ci/package"));
        command.args(["--fast", "--binary", binary]);
        command.env("SOURCE_DATE_EPOCH", "1700000000");
        command.args((!deb).then_some("--no-deb"));
        run(&mut command);
    };
    package(deb);
    let made = cases::root().join("target/package/out");
    let sums = run(Command::new("sha256sum")
        .args(["-c", "SHA256SUMS"])
        .current_dir(&made));
    assert_eq!(sums.lines().count(), 1 + usize::from(deb), "{sums}");
    let find = |end: &str| {
        let files = std::fs::read_dir(&made).expect("made");
        let mut files = files.map(|file| file.expect("file").path());
        files
            .find(|file| file.to_string_lossy().ends_with(end))
            .expect(end)
    };

    let archive = find(".tar.gz");
    let top = archive
        .file_name()
        .expect("name")
        .to_string_lossy()
        .replace(".tar.gz", "");
    let listed = run(Command::new("tar").args(["-tf"]).arg(&archive));
    for name in [
        "clada",
        "man/man1/clada.1",
        "man/man1/clada-undo.1",
        "man/man7/clada-git.7",
        "completions/clada.bash",
        "completions/_clada",
        "completions/clada.fish",
        "systemd/",
        "launchd/clada.plist",
        "clada.toml",
        "docs/git.md",
        "README.md",
        "LICENSE",
    ] {
        assert!(
            listed.lines().any(|line| line == format!("{top}/{name}")),
            "{name} in {listed}"
        );
    }
    run(project.command("tar").arg("-xf").arg(&archive));
    let licences = project.path(&top).join("licences");
    let list = std::fs::read_to_string(licences.join("LIST")).expect("a list");
    let of = |name: &str| {
        let line = list
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("{name} in {list}"));
        let (library, terms) = line.split_once(": ").expect("terms");
        assert!(terms.contains("MIT"), "{line}");
        licences.join(library.replace(' ', "-"))
    };
    for (name, file) in [
        ("tokio", "LICENSE"),
        ("regex-automata", "LICENSE-MIT"),
        ("libgit2-sys", "libgit2/COPYING"),
        ("libgit2-sys", "libgit2/deps/pcre2/LICENCE.md"),
        ("libdbus-sys", "vendor/dbus/COPYING"),
    ] {
        let file = of(name).join(file);
        assert!(file.is_file(), "{}", file.display());
    }
    assert!(!list.contains("clap_derive"), "it is in no program: {list}");
    let version = |program: &Path| run(project.command(program).arg("--version"));
    let is_this = concat!("clada ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version(&project.path(&top).join("clada")), is_this);
    if deb {
        debian(&project, &find(".deb"), version, is_this);
    }
    let before = std::fs::read(&archive).expect("archive");
    package(false);
    let again = std::fs::read(&archive).expect("archive");
    assert!(again == before, "the same program gives another archive");
}

/// The folder with the archive of the program of these tests and its SHA256SUMS. It is made once.
#[cfg(target_os = "linux")]
pub(crate) fn release() -> &'static Path {
    static RELEASE: LazyLock<PathBuf> = LazyLock::new(|| {
        let stage = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release");
        let mut command = Command::new(cases::root().join(".ci/package"));
        command.args(["--fast", "--binary", env!("CARGO_BIN_EXE_clada"), "--stage"]);
        run(command.arg(&stage));
        stage.join("out")
    });
    &RELEASE
}

/// The names of the files that a SHA256SUMS lists, each with its checksum.
#[cfg(target_os = "linux")]
fn sums(folder: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(folder.join("SHA256SUMS")).expect("SHA256SUMS");
    let lines = text
        .lines()
        .map(|line| line.split_once("  ").expect("two columns"));
    lines
        .map(|(sum, name)| (name.to_owned(), sum.to_owned()))
        .collect()
}

fn manifest() -> toml::Table {
    let text = std::fs::read_to_string(cases::root().join("Cargo.toml")).expect("Cargo.toml");
    text.parse().expect("TOML")
}

/// The templates for cargo-binstall, filled in as it does, name the archive and the program in it.
#[test]
#[cfg(target_os = "linux")]
fn cargo_binstall_finds_the_archive_and_the_program_in_it() {
    let package = &manifest()["package"];
    let field = |name: &str| package[name].as_str().expect("text").to_owned();
    let binstall = &package["metadata"]["binstall"];
    let listed = sums(release());
    let archive = &listed[0].0;
    let version = field("version");
    let target = archive.strip_prefix(&format!("clada-{version}-"));
    let target = target.and_then(|rest| rest.strip_suffix(".tar.gz"));
    let values = [
        ("repo", field("repository")),
        ("name", field("name")),
        ("version", version.clone()),
        ("target", target.expect("a name with its target").to_owned()),
        ("bin", "clada".to_owned()),
        ("binary-ext", String::new()),
    ];
    let fill = |name: &str| {
        let template = binstall[name].as_str().expect("text").to_owned();
        let filled = values.iter().fold(template, |text, (name, value)| {
            text.replace(&format!("{{ {name} }}"), value)
        });
        assert!(!filled.contains('{'), "{filled}");
        filled
    };
    let url = format!(
        "{}/releases/download/v{version}/{archive}",
        field("repository")
    );
    assert_eq!(fill("pkg-url"), url);
    assert_eq!(binstall["pkg-fmt"].as_str(), Some("tgz"));
    let mut list = Command::new("tar");
    let listed = run(list.arg("-tzf").arg(release().join(archive)));
    let program = fill("bin-dir");
    assert!(
        listed.lines().any(|line| line == program),
        "{program} in {listed}"
    );
}

/// The files that are published of a crate of this repository.
fn published(name: &str) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "package",
        "--list",
        "--offline",
        "--allow-dirty",
        "--package",
        name,
    ]);
    run(command.current_dir(cases::root()))
}

/// The crate that is values only is published with the one that is made of it, and under the same number.
#[test]
fn both_crates_have_one_version() {
    let core = cases::root().join("src/core/Cargo.toml");
    let core: toml::Table = std::fs::read_to_string(core)
        .expect("manifest")
        .parse()
        .expect("toml");
    let manifest = manifest();
    assert_eq!(core["package"]["version"], manifest["package"]["version"]);
    assert_eq!(
        manifest["dependencies"]["clada-core"]["version"],
        manifest["package"]["version"]
    );
    let listed = published("clada-core");
    let has = |file: &str| listed.lines().any(|line| line == file);
    assert!(
        has("lib.rs") && has("reply/teaching/instructions.md"),
        "{listed}"
    );
}

/// Cargo forgets `strip` for a package that has options of its own, as `clada` has: its program is the one to be stripped.
#[test]
fn a_folder_with_other_files_is_not_emptied() {
    let project = Project::new();
    project
        .write("stage/clada", "a program")
        .write("stage/notes.md", "mine");
    let package = |binary: &Path| {
        let mut command = Command::new(cases::root().join(".ci/package"));
        command.args(["--fast", "--no-deb", "--binary"]).arg(binary);
        command.arg("--stage").arg(project.path("stage"));
        Ended::of(command, "").exits(1).err
    };
    let said = package(Path::new(env!("CARGO_BIN_EXE_clada")));
    assert!(said.contains("notes.md is not of an earlier run"), "{said}");
    std::fs::remove_file(project.path("stage/notes.md")).expect("remove");
    let said = package(&project.path("stage/clada"));
    assert!(said.contains("stage/clada would be removed"), "{said}");
    assert_eq!(project.read("stage/clada"), "a program");
}

#[test]
fn what_packages_hold_is_built_without_symbols() {
    let dist = &manifest()["profile"]["dist"];
    assert_eq!(dist["strip"].as_bool(), Some(true));
    assert_eq!(dist["package"]["clada"]["strip"].as_bool(), Some(true));
}

/// What is published as a crate: all that the program is built from, and no tests.
#[test]
fn the_crate_has_the_source_and_no_tests() {
    let listed = published("clada");
    let named = [
        "src/main.rs",
        "src/lib.rs",
        "config/clada.toml",
        "docs/cml.md",
        "launchd/clada.plist",
    ];
    for file in named.into_iter().chain([
        "systemd/clada.service",
        "LICENSE",
        "README.md",
        "Cargo.lock",
    ]) {
        assert!(
            listed.lines().any(|line| line == file),
            "{file} in {listed}"
        );
    }
    let tops = ["src/", "config/", "docs/", "launchd/", "systemd/"];
    let other = |line: &&str| line.contains('/') && !tops.iter().any(|top| line.starts_with(top));
    assert_eq!(listed.lines().find(other), None);
}

/// Fills in the formula, the PKGBUILD and `install.sh` for a release that has the same program for all targets.
#[test]
#[cfg(target_os = "linux")]
fn the_formulas_name_what_the_release_has() {
    let project = Project::new();
    let folder = project.path("release");
    std::fs::create_dir(&folder).expect("mkdir");
    let version = env!("CARGO_PKG_VERSION");
    let workflow = cases::root().join(".github/workflows/release.yml");
    let workflow = std::fs::read_to_string(workflow).expect("workflow");
    let targets = workflow
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- { target: "));
    let targets: Vec<&str> = targets.filter_map(|rest| rest.split(',').next()).collect();
    assert_eq!(targets.len(), 6, "{targets:?}");
    let archive = release().join(&sums(release())[0].0);
    for target in &targets {
        // Each of them has a checksum of its own.
        let mut text = std::fs::read(&archive).expect("archive");
        text.extend(target.bytes());
        std::fs::write(
            folder.join(format!("clada-{version}-{target}.tar.gz")),
            text,
        )
        .expect("write");
    }
    let formulas = || {
        let mut command = Command::new(cases::root().join(".ci/formulas"));
        command.arg(&folder).arg("https://example.org/a/clada/");
        command.output().expect("formulas")
    };
    let said = String::from_utf8(formulas().stderr).expect("UTF-8");
    let told = format!("PKGBUILD needs the checksum of clada-{version}.tar.gz, and ");
    assert!(said.contains(&told), "{said}");
    let mut command = Command::new(cases::root().join(".ci/package"));
    run(command
        .args(["--source", "--fast", "--stage"])
        .arg(project.path("source")));
    let source = format!("clada-{version}.tar.gz");
    std::fs::copy(
        project.path("source/out").join(&source),
        folder.join(&source),
    )
    .expect("copy");
    assert!(formulas().status.success());

    run(Command::new("sha256sum")
        .args(["--strict", "-c", "SHA256SUMS"])
        .current_dir(&folder));
    let sums = sums(&folder);
    assert_eq!(sums.len(), 7);
    let sum = |name: &str| {
        &sums
            .iter()
            .find(|(found, _)| found == name)
            .expect("listed")
            .1
    };
    let formula = project.read("release/clada.rb");
    let lines: Vec<&str> = formula.lines().map(str::trim).collect();
    let mut named = BTreeSet::new();
    for pair in lines.windows(2) {
        let Some(url) = pair[0].strip_prefix("url \"") else {
            continue;
        };
        let url = url.trim_end_matches('"').replace("#{version}", version);
        let (place, name) = url.rsplit_once('/').expect("a path");
        assert_eq!(
            place,
            format!("https://example.org/a/clada/releases/download/v{version}")
        );
        assert_eq!(pair[1], format!("sha256 \"{}\"", sum(name)));
        named.insert(name.to_owned());
    }
    assert_eq!(named.len(), 4, "{named:?}");
    let pkgbuild = project.read("release/PKGBUILD");
    assert!(
        pkgbuild.contains(&format!("\nsha256sums=('{}')\n", sum(&source))),
        "{pkgbuild}"
    );
    assert!(
        pkgbuild.contains(&format!("\npkgver={version}\n")),
        "{pkgbuild}"
    );
    for text in [&formula, &pkgbuild] {
        assert!(!text.contains("@") && !text.contains("template"), "{text}");
    }
    run(Command::new("bash").arg("-n").arg(folder.join("PKGBUILD")));
    if installed("ruby") {
        run(Command::new("ruby").arg("-c").arg(folder.join("clada.rb")));
    }
    let script = project.read("release/install.sh");
    let line = "\nreleases='https://example.org/a/clada/releases/download'\n";
    assert!(script.contains(line) && script.contains(&format!("\nrelease='{version}'\n")));
    for target in targets {
        let name = target.replace("x86_64-unknown", "$machine-unknown");
        let is_known = script.contains(target)
            || script.contains(&name)
            || target.starts_with("aarch64-unknown");
        assert!(is_known, "install.sh never looks for {target}");
    }
}

/// A release is refused where its names disagree.
#[test]
fn a_release_has_one_version_and_one_address() {
    let project = Project::new();
    let of = |name: &str| std::fs::read_to_string(cases::root().join(name)).expect("file");
    let version = env!("CARGO_PKG_VERSION");
    let dated = format!("## [{version}] - 2026-01-01\n");
    project
        .write("Cargo.toml", of("Cargo.toml"))
        .write("src/core/Cargo.toml", of("src/core/Cargo.toml"))
        .write("Cargo.lock", of("Cargo.lock"));
    project.write(".ci/versions", of(".ci/versions"));
    let refuses = |tag: &str, place: &str| {
        let mut command = project.command("bash");
        let output = command
            .args([".ci/versions", tag, place])
            .output()
            .expect("bash");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let address = env!("CARGO_PKG_REPOSITORY");
    let tag = format!("v{version}");
    project.write("CHANGELOG.md", "## [Unreleased]\n");
    let said = refuses(&tag, address);
    assert!(said.contains("CHANGELOG.md has no line `## ["), "{said}");
    project.write("CHANGELOG.md", dated);
    assert_eq!(refuses(&tag, address), "");
    let said = refuses("v9.9.9", address);
    assert!(
        said.contains(&format!(
            "the tag is v9.9.9, and Cargo.toml has version {version}: "
        )),
        "{said}"
    );
    let said = refuses(&tag, "https://example.org/fork");
    assert!(
        said.contains("this repository is https://example.org/fork, and Cargo.toml says "),
        "{said}"
    );
    let lock = of("Cargo.lock").replace(
        "name = \"clada\"\nversion = \"",
        "name = \"clada\"\nversion = \"9",
    );
    project.write("Cargo.lock", lock);
    let said = refuses(&tag, address);
    assert!(
        said.contains("Cargo.lock has another version of clada than Cargo.toml, "),
        "{said}"
    );
    let core = of("src/core/Cargo.toml").replace("version = \"0", "version = \"9");
    project
        .write("Cargo.lock", of("Cargo.lock"))
        .write("src/core/Cargo.toml", core);
    let said = refuses(&tag, address);
    assert!(
        said.contains("clada-core has another version than clada, "),
        "{said}"
    );
}

/// Looks into the Debian package, and starts the program that is in it.
fn debian(project: &Project, deb: &Path, version: impl Fn(&Path) -> String, is_this: &str) {
    if !installed("dpkg-deb") {
        return;
    }
    let field = |name: &str| run(Command::new("dpkg-deb").arg("-f").arg(deb).arg(name));
    assert_eq!(field("Package"), "clada\n");
    assert!(field("Version").starts_with(env!("CARGO_PKG_VERSION")));
    assert_eq!(field("Recommends"), "git\n");
    if installed("dpkg-shlibdeps") {
        assert!(field("Depends").contains("libc6"), "{}", field("Depends"));
    }
    let listed = run(Command::new("dpkg-deb").arg("-c").arg(deb));
    for (mode, name) in [
        ("-rwxr-xr-x", "usr/bin/clada"),
        ("-rw-r--r--", "usr/share/man/man1/clada.1.gz"),
        ("-rw-r--r--", "usr/share/man/man1/clada-undo.1.gz"),
        ("-rw-r--r--", "usr/share/man/man7/clada-git.7.gz"),
        ("-rw-r--r--", "usr/share/bash-completion/completions/clada"),
        ("-rw-r--r--", "usr/share/zsh/vendor-completions/_clada"),
        (
            "-rw-r--r--",
            "usr/share/fish/vendor_completions.d/clada.fish",
        ),
        ("-rw-r--r--", "usr/share/doc/clada/clada.toml"),
        ("-rw-r--r--", "usr/share/doc/clada/README.md"),
        ("-rw-r--r--", "usr/share/doc/clada/docs/git.md"),
        ("-rw-r--r--", "usr/share/doc/clada/copyright"),
        ("-rw-r--r--", "usr/share/doc/clada/licences/LIST"),
    ] {
        let is_it = |line: &&str| line.ends_with(&format!(" ./{name}"));
        let line = listed
            .lines()
            .find(is_it)
            .unwrap_or_else(|| panic!("{name} in {listed}"));
        assert!(
            line.starts_with(mode) && (line.contains(" 0/0 ") || line.contains(" root/root ")),
            "{line}"
        );
    }
    assert!(listed.contains("usr/lib/systemd/user/clada"), "{listed}");
    let root = project.path("installed");
    run(Command::new("dpkg-deb").arg("-x").arg(deb).arg(&root));
    assert_eq!(version(&root.join("usr/bin/clada")), is_this);
}
