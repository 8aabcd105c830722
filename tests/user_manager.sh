# A real `systemd --user` with a journal, where none runs: as root, in namespaces of its own (unshare --mount --pid --fork
# --mount-proc --cgroup). Its home is $HOME. Says "ready", and ends when its input does.
set -e
mount --make-rprivate /
for folder in /run/systemd /run/log; do
    mkdir -p $folder
    mount -t tmpfs none $folder
done
mkdir -p /run/systemd/system /run/log/journal
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
# The journal tells a user's units by this shape of the path, below where the first process is.
top=/sys/fs/cgroup/$1.slice
mkdir -p "$top/user@0.service"
mkdir -m 700 "$XDG_RUNTIME_DIR"
/lib/systemd/systemd-journald &
until [ -S /run/systemd/journal/socket ]; do sleep 0.01; done
(echo $BASHPID >"$top/user@0.service/cgroup.procs" && exec /lib/systemd/systemd --user --log-target=journal) &
until systemctl --user list-units >/dev/null 2>&1; do sleep 0.01; done
echo ready
cat >/dev/null
managers=$(jobs -p)
disown -a
kill -9 $managers
# What has just been ended is there a moment longer.
echo 1 >"$top/cgroup.kill"
until find "$top" -depth -type d -exec rmdir {} + 2>/dev/null; do sleep 0.01; done
