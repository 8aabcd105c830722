//! The sockets by which a command would have another program act for it: the desktop, terminals, agents, the service
//! manager, containers. Connects to none.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{is_in, real};

/// The sockets of all users, and folders of them.
const OF_SYSTEM: &[&str] = &[
    "/tmp/.X11-unix",
    "/tmp/.ICE-unix",
    "/run/screen",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/docker.sock",
    "/run/podman",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/libvirt",
    "/run/snapd.socket",
    "/var/lib/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
];

/// The sockets below the home directory.
const OF_HOME: &[&str] = &[
    ".gnupg/S.gpg-agent",
    ".gnupg/S.gpg-agent.ssh",
    ".gnupg/S.gpg-agent.extra",
    ".gnupg/S.gpg-agent.browser",
    ".gnupg/S.scdaemon",
    ".gnupg/S.keyboxd",
    ".screen",
    ".docker/run/docker.sock",
];

/// Variables whose value is one, maybe behind `unix:` or with more behind a comma.
const VARIABLES: &[&str] = &[
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "CONTAINER_HOST",
    "TMUX",
    "VSCODE_IPC_HOOK_CLI",
    "VSCODE_GIT_IPC_HANDLE",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "KITTY_LISTEN_ON",
    "WEZTERM_UNIX_SOCKET",
    "ALACRITTY_SOCKET",
    "SWAYSOCK",
    "I3SOCK",
];

/// The sockets of this user that are there, and folders of them, but for `opened` ones.
pub fn doors<'e>(
    home: &Path,
    var: impl Fn(&str) -> Option<&'e OsStr>,
    opened: &[PathBuf],
) -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    let of_user = [
        format!("/run/user/{user}"),
        format!("/tmp/tmux-{user}"),
        format!("/tmp/emacs{user}"),
    ];
    let tmux = var("TMUX_TMPDIR").map(|dir| Path::new(dir).join(format!("tmux-{user}")));
    let named = VARIABLES.iter().filter_map(|name| path_in(var(name)?));
    let all = OF_SYSTEM.iter().map(PathBuf::from);
    let all = all.chain(of_user.iter().map(PathBuf::from));
    let all = all.chain(OF_HOME.iter().map(|name| home.join(name)));
    let there = all.chain(tmux).chain(named).filter(|path| path.exists());
    let mut doors: Vec<PathBuf> = there.map(|path| real(&path)).collect();
    let opened: Vec<PathBuf> = opened.iter().map(|path| real(path)).collect();
    let mut hidden = BTreeSet::new();
    while let Some(door) = doors.pop() {
        if is_in(&door, &opened) {
            continue;
        }
        if opened.iter().any(|path| path.starts_with(&door)) {
            let entries = fs::read_dir(&door).into_iter().flatten().flatten();
            doors.extend(entries.map(|entry| entry.path()));
        } else {
            hidden.insert(door);
        }
    }
    hidden.into_iter().collect()
}

/// The path that a variable names.
fn path_in(value: &OsStr) -> Option<PathBuf> {
    let value = value.to_str()?;
    let start = value.find('/')?;
    // `unix:///run/x`, `unix:path=/run/x,guid=…`, `/run/x,123,0`.
    let path = value[start..].split([',', ';']).next()?;
    Some(Path::new("/").join(path.trim_start_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn what_is_opened_is_not_hidden_and_its_neighbours_are() {
        let dir = tempfile::tempdir().unwrap();
        let home = real(dir.path());
        let run = home.join("run");
        fs::create_dir_all(run.join("gnupg")).unwrap();
        fs::create_dir_all(run.join("systemd")).unwrap();
        let agent = run.join("gnupg/S.gpg-agent");
        let _agent = UnixListener::bind(&agent).unwrap();
        let _bus = UnixListener::bind(run.join("bus")).unwrap();
        let _ssh = UnixListener::bind(home.join("ssh")).unwrap();
        let bus = format!("unix:path={},guid=1", run.join("bus").display());
        let (run_var, ssh) = (run.clone(), home.join("ssh"));
        let var = |name: &str| match name {
            "XDG_RUNTIME_DIR" => Some(run_var.as_os_str()),
            "DBUS_SESSION_BUS_ADDRESS" => Some(OsStr::new(&bus)),
            "SSH_AUTH_SOCK" => Some(ssh.as_os_str()),
            _ => None,
        };
        let of_home = |opened: &[PathBuf]| {
            let mut doors = doors(&home, var, opened);
            doors.retain(|path| path.starts_with(&home));
            doors
        };
        assert_eq!(of_home(&[]), [run.clone(), run.join("bus"), ssh.clone()]);
        assert_eq!(
            of_home(&[agent, ssh.clone()]),
            [run.join("bus"), run.join("systemd")]
        );
    }
}
