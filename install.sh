#!/bin/sh
# Installs clada for this user, without root: the program, its man pages and its completions.
#
# It runs in any POSIX shell, as `sh install.sh` or `curl … | sh`. All of it is functions, and its last line calls one of them:
# half a download does nothing. Nothing is changed until all is fetched, checked and tried; a failure leaves all as it was, and
# what was killed is undone by the next run.
set -u +e +C

# The address of the releases, and the one that this copy belongs to. The release fills them in; here both are empty.
releases=''
release=''
# The oldest glibc that the programs for glibc run on. `.github/workflows/release.yml` says where they are built.
glibc=2.35

usage() {
    cat <<END
Installs clada: the program, its man pages and its completions.

Usage: sh install.sh [OPTIONS]

  --version VERSION  Install this version, instead of ${release:-the only one that is there}
  --from PLACE       Take the archive and SHA256SUMS from this folder or https address
  --to DIR           Put the program here, instead of \$XDG_BIN_HOME or ~/.local/bin
  --only-program     Leave out the man pages and completions, which go to ~/.local/share
  --uninstall        Remove what this script wrote
  --help             Print this
END
}

say() { printf '%s\n' "$1"; }
fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# The checksum of a file, and nothing else.
checksum() {
    if has sha256sum; then
        sha256sum <"$1" | cut -d ' ' -f 1
    else
        shasum -a 256 <"$1" | cut -d ' ' -f 1
    fi
}

# A path from the root, spelled in one way.
absolute() {
    case $1 in
    /*) path=$1 ;;
    *)
        path=$(pwd)/$1
        [ -d "$(pwd)" ] || fail "the folder that this runs in is gone: go to another one"
        ;;
    esac
    printf '%s' "$path" | sed ':a; s|/\./|/|; ta; s|//*|/|g'
}

# A text of the archive, without what a terminal would obey.
plain() { printf '%s' "$1" | tr -d '\000-\037\177'; }

# A text as one word of a shell.
quoted() { printf '%s' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }

read_options() {
    version='' from='' to='' only_program=false uninstall=false
    options=$#
    while [ $# -gt 0 ]; do
        case $1 in
        --version | --from | --to)
            [ -n "${2:-}" ] || fail "$1 needs a value: see sh install.sh --help"
            case $1 in
            --version) version=${2#v} ;;
            --from) from=$2 ;;
            --to) to=$2 ;;
            esac
            shift
            ;;
        --only-program) only_program=true ;;
        --uninstall) uninstall=true ;;
        --help | -h)
            usage
            exit 0
            ;;
        *) fail "unknown option $1: see sh install.sh --help" ;;
        esac
        shift
    done
    if $uninstall && [ "$options" -gt 1 ]; then
        fail "--uninstall removes all that this script wrote: give no other option with it"
    fi
    case $version in
    *[!0-9A-Za-z.+-]*) fail "\`$version\` is no version: one looks like 0.1.0" ;;
    esac
}

# Finds the folders, and refuses those that the list of installed files cannot name.
find_folders() {
    data=${XDG_DATA_HOME:-}
    case $data in
    /*) ;;
    *)
        case ${HOME:-} in
        /*) data=$HOME/.local/share ;;
        *) fail "there is no home folder, and the list of installed files is kept below it: set HOME or XDG_DATA_HOME" ;;
        esac
        ;;
    esac
    if [ -z "$to" ]; then
        case ${XDG_BIN_HOME:-} in
        /*) to=$XDG_BIN_HOME ;;
        *)
            [ -n "${HOME:-}" ] || fail "there is no home folder: set HOME, or name a folder with --to"
            to=$HOME/.local/bin
            ;;
        esac
    fi
    to=$(absolute "$to") || exit
    while [ "${to%/}" != "$to" ] && [ "$to" != / ]; do to=${to%/}; done
    while [ "${data%/}" != "$data" ]; do data=${data%/}; done
    case $to$data in
    *'
'*) fail "a folder has a line break in its name: choose another one with --to" ;;
    esac
    list=$data/clada/installed
    if [ -L "$list" ] || { [ -e "$list" ] && [ ! -f "$list" ]; }; then
        fail "$list is not the list that this script keeps there: move it away"
    fi
}

need_programs() {
    has sha256sum || has shasum || fail "neither sha256sum nor shasum is here, and what is not checked is not installed: install one of them"
    for program in awk cat chmod cmp cp cut dirname find grep gzip head ln mkdir mktemp mv rm rmdir sed sort tar tr uname; do
        has "$program" || fail "there is no $program here: install it, then try again"
    done
}

# Finds the names that archives for this machine may have, the best one first.
find_targets() {
    machine=$(uname -m)
    case $(uname -s) in
    Linux)
        case $machine in
        x86_64 | amd64) machine=x86_64 loader=/lib64/ld-linux-x86-64.so.2 ;;
        aarch64 | arm64) machine=aarch64 loader=/lib/ld-linux-aarch64.so.1 ;;
        *) no_build "Linux on $machine" ;;
        esac
        # The programs for musl need no library at all, so they also run where glibc is old, or absent as on Alpine.
        targets="$machine-unknown-linux-musl $machine-unknown-linux-gnu"
        here=$(getconf GNU_LIBC_VERSION 2>/dev/null)
        if [ -e "$loader" ] && is_new_enough "${here#glibc }"; then
            targets="$machine-unknown-linux-gnu $machine-unknown-linux-musl"
        fi
        ;;
    Darwin)
        # A shell that Rosetta translates is told of another processor.
        [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" != 1 ] || machine=arm64
        case $machine in
        x86_64) targets=x86_64-apple-darwin ;;
        arm64) targets=aarch64-apple-darwin ;;
        *) no_build "macOS on $machine" ;;
        esac
        ;;
    MINGW* | MSYS* | CYGWIN*) no_build "Windows; it runs in WSL" ;;
    *) no_build "$(uname -s) on $machine" ;;
    esac
}

no_build() {
    fail "there is no build of clada for $1: releases are for Linux and macOS on x86_64 and arm64; another Unix may build it from source, with Rust"
}

# Tells if this version of glibc is not older than what the programs need.
is_new_enough() {
    printf '%s\n' "$1" | awk -F . -v needed="$glibc" '
        { split(needed, n, "."); exit !($1 + 0 > n[1] + 0 || ($1 + 0 == n[1] + 0 && $2 + 0 >= n[2] + 0)) }'
}

find_place() {
    if [ -z "$from" ]; then
        [ -n "$releases" ] || fail "this copy does not know where the releases are: name a folder or an https address with --from, or take the copy of a release"
        version=${version:-$release}
        from=$releases/v$version
    fi
    case $from in
    https://*) from=${from%/} is_remote=true ;;
    *://*) fail "$from is no https address: take one, or a folder" ;;
    *)
        is_remote=false
        from=$(absolute "$from") || exit
        [ -d "$from" ] || fail "there is no folder $from: name the one with the archive and SHA256SUMS"
        ;;
    esac
}

# Fetches a file of the release into the work folder.
fetch() {
    say "fetching $from/$1"
    if ! $is_remote; then
        [ -f "$from/$1" ] || fail "there is no $1 in $from: a release has it beside its archives"
        cp -- "$from/$1" "$work/$1" || fail "cannot copy $from/$1"
    elif has curl; then
        curl --proto =https --tlsv1.2 --fail --silent --show-error --location --retry 2 --output "$work/$1" -- "$from/$1" </dev/null ||
            fail "cannot fetch $from/$1: look at the message above, and try again"
    elif has wget && ! wget --help 2>&1 | grep -q BusyBox; then
        wget -q -O "$work/$1" -- "$from/$1" </dev/null ||
            fail "cannot fetch $from/$1: look whether the address and the network are right, and try again"
    else
        # That of BusyBox may not look at certificates, and then anybody on the way could send archive and checksums.
        fail "neither curl nor GNU wget is here: install curl, or fetch the archive and SHA256SUMS yourself and name their folder with --from"
    fi
}

# Finds the archive for this machine in SHA256SUMS.
choose_archive() {
    found=''
    for target in $targets; do
        found=$(awk -v want="$version" -v tail="-$target.tar.gz" '
            NF == 2 && length($1) == 64 {
                name = $2
                sub(/^\*/, "", name)
                rest = length(name) - length(tail) - 6
                if (rest < 1 || substr(name, 1, 6) != "clada-" || substr(name, rest + 7) != tail) next
                is = substr(name, 7, rest)
                if (is ~ /^[0-9][0-9A-Za-z.+-]*$/ && (want == "" || is == want)) print is
            }' "$work/SHA256SUMS")
        [ -z "$found" ] || break
    done
    case $found in
    '') fail "$from has no archive of clada${version:+ $version} for this machine: its SHA256SUMS names none for $(printf '%s' "$targets" | sed 's/ / or /')" ;;
    *'
'*) fail "$from has several versions of clada: name one with --version" ;;
    esac
    version=$found
    top=clada-$version-$target
    archive=$top.tar.gz
    odd="$archive is not as clada's archives are"
    again='fetch it again, and if that does not help, report it'
}

check_archive() {
    right=$(awk -v name="$archive" '{ sub(/^\*/, "", $2) } $2 == name { print $1 }' "$work/SHA256SUMS")
    is=$(checksum "$work/$archive")
    [ "$is" = "$right" ] || fail "the checksum of $archive is not the one in SHA256SUMS: $again"
    say "the checksum of $archive is right"
}

# Unpacks the archive. It must have nothing but files and folders, all of them in one folder.
unpack() {
    gzip -dc <"$work/$archive" >"$work/tar" 2>"$work/errors" || no_unpacking
    rm -f -- "${work:?}/$archive"
    for how in t tv; do
        tar "-${how}f" "$work/tar" >"$work/$how" 2>"$work/errors" || no_unpacking
    done
    if grep -qv "^$(printf '%s' "$top" | sed 's/[.+]/[&]/g')/" "$work/t" || grep -Eq '(^|/)\.\.(/|$)' "$work/t"; then
        fail "$odd, it has a file outside its folder: $again"
    fi
    if grep -qv '^[-d]' "$work/tv"; then fail "$odd, it has a link or a device in it: $again"; fi
    if ! mkdir "$work/unpacked" || ! tar -xof "$work/tar" -C "$work/unpacked" 2>"$work/errors"; then no_unpacking; fi
    unpacked=$work/unpacked/$top
    # Not every tar shows links among the kinds.
    [ -z "$(find "$unpacked" ! -type d ! \( -type f -links 1 \))" ] || fail "$odd, it has a link or a device in it: $again"
    [ -f "$unpacked/clada" ] || fail "$odd, it has no program: $again"
    [ -z "$(find "$unpacked" -name '*
*')" ] || fail "$odd, a file in it has a strange name: $again"
}

no_unpacking() { fail "cannot unpack $archive: is the disk of $to full? $(head -n 1 "$work/errors")"; }

# Starts the new program once, on the disk where it will be, before anything depends on it.
try_program() {
    chmod 755 "$unpacked/clada" || fail "cannot make $unpacked/clada a program"
    says=$("$unpacked/clada" --version </dev/null 2>"$work/errors") ||
        fail "clada $version does not run on this machine: $(plain "$(head -n 1 "$work/errors")")"
    [ "$says" = "clada $version" ] || fail "$odd, its program says that it is \`$(plain "$says")\`: $again"
}

# Makes a folder and those above it, and remembers the new ones, so that they can be removed again.
make_folder() {
    new=''
    above=$1
    while [ ! -d "$above" ]; do
        new="$above
$new"
        above=$(dirname -- "$above")
    done
    while IFS= read -r folder; do
        [ -n "$folder" ] || continue
        # First, since a signal may come between the two.
        made="$folder
$made"
        mkdir -- "$folder" 2>/dev/null || [ -d "$folder" ] || fail "cannot make the folder $folder: choose one that is yours with --to"
    done <<END
$new
END
}

# Makes the folders in which all is prepared. Each is on the disk of its files, so that these only need to be renamed. The one
# below $data has the same name each time: so only one run is at work, and the next one finds what a killed one left.
make_work() {
    take_turn
    make_folder "$to"
    work=$(mktemp -d "$to/.clada-install.XXXXXX" 2>/dev/null) || fail "cannot write to $to: choose a folder of yours with --to"
    printf '%s\n' "$work" >"$data_work/work" || fail "cannot write to $data_work: is its disk full?"
}

# Makes $data_work. One that a killed run left is undone and removed first.
take_turn() {
    tries=0
    until
        make_folder "$data/clada"
        mkdir -- "$data/clada/.install" 2>/dev/null
    do
        tries=$((tries + 1))
        if [ -d "$data/clada/.install" ]; then
            other=$(cat -- "$data/clada/.install/run" 2>/dev/null)
            if [ -z "$other" ] || kill -0 "$other" 2>/dev/null; then
                fail "another run of this script is at work${other:+ (process $other)}: wait for its end; if there is none, remove $data/clada/.install"
            fi
            say "an earlier run was killed: what it did is undone"
            undo_killed
        elif [ "$tries" -gt 9 ]; then
            fail "cannot write to $data/clada: make it yours"
        fi
    done
    data_work=$data/clada/.install
    printf '%s\n' "$$" >"$data_work/run" || fail "cannot write to $data_work: is its disk full?"
}

undo_killed() {
    data_work=$data/clada/.install is_needed=false
    undo
    killed=$(cat -- "$data_work/work" 2>/dev/null)
    ! $is_needed || exit 1
    case $killed in
    /*/.clada-install.*) rm -rf -- "$killed" ;;
    esac
    rm -rf -- "$data_work"
    data_work=''
}

# Lays the files out in `new` as they will be, below $to and $data.
prepare() {
    if ! mkdir "$work/new" "$work/old" "$data_work/new" "$data_work/old" || ! mv -- "$unpacked/clada" "$work/new/clada"; then
        fail "cannot write to $to: is its disk full?"
    fi
    files=''
    $only_program || prepare_data
    for_each_file refuse_other
    for_each_file make_folder_of
    write_list || fail "cannot write to $data_work: is its disk full?"
}
prepare_data() {
    (
        cd "$data_work/new" && mkdir -p man bash-completion/completions zsh/site-functions fish/vendor_completions.d &&
            cp -R -- "$unpacked/man/." man && cp -- "$unpacked/completions/clada.bash" bash-completion/completions/clada &&
            cp -- "$unpacked/completions/_clada" zsh/site-functions &&
            cp -- "$unpacked/completions/clada.fish" fish/vendor_completions.d && find . -type f -exec chmod 644 {} +
    ) || fail "cannot copy the man pages and completions to $data_work: is its disk full?"
    files=$(cd "$data_work/new" && find . -type f | sed 's/^\.\///' | sort)
    case $files in
    *[!0-9A-Za-z./_'
'-]*) fail "$odd, a file in it has a strange name: $again" ;;
    esac
}

# Calls a function for each new file with its path now, its path then, and one for what is there.
for_each_file() {
    for file in $files; do
        "$1" "$data_work/new/$file" "$data/$file" "$data_work/old/$file" || return
    done
    # The program comes last: until then all is done with the old one.
    "$1" "$work/new/clada" "$to/clada" "$work/old/clada"
}

# Refuses to replace what this script did not write.
refuse_other() {
    if [ -e "$2" ] || [ -L "$2" ]; then
        if ! is_listed "$2"; then
            fail "$2 is there, and this script did not write it: move it away, or choose another folder with --to"
        elif ! is_as_written "$2"; then
            fail "$2 has changed since this script wrote it: move it away, then try again"
        fi
    fi
}
is_listed() { [ -f "$list" ] && sed 's/^[^ ]*  //' "$list" | grep -qxF -- "$1"; }
is_as_written() {
    [ -f "$list" ] && [ -f "$1" ] && [ ! -L "$1" ] && grep -qxF -- "$(list_file "$1" "$1")" "$list"
}
make_folder_of() { make_folder "$(dirname -- "$2")"; }
list_file() { printf '%s  %s\n' "$(checksum "$1")" "$2"; }

# Writes the list of what is installed: `CHECKSUM  FILE` or `folder  FOLDER` in each line. What an older version installed beside
# the new files stays in it: a program elsewhere, and folders. Man pages that there are no more are in `gone` instead.
write_list() {
    for_each_file list_file >"$data_work/list" || return
    printf '%s' "$made" | sed 's/^/folder  /' >>"$data_work/list" || return
    : >"$data_work/gone" || return
    [ -f "$list" ] || return 0
    DATA=$data/ ALL=$only_program awk '
        { path = substr($0, index($0, "  ") + 2) }
        FNR == NR { is_new[path] = 1; next }
        path in is_new { next }
        ENVIRON["ALL"] == "true" || $1 == "folder" || index(path, ENVIRON["DATA"]) != 1 { print; next }
        { print path >gone }' gone="$data_work/gone" "$data_work/list" "$list" >"$data_work/kept" &&
        cat "$data_work/kept" >>"$data_work/list"
}

# Puts all in its place. What was there is kept until the end as a second name of the same file, and `undo` brings it back.
replace_all() {
    number=0
    while IFS= read -r path; do
        number=$((number + 1))
        if is_as_written "$path"; then replace '' "$path" "$data_work/old/gone.$number" || return; fi
    done <"$data_work/gone"
    replace "$data_work/list" "$list" "$data_work/old/list" || return
    for_each_file replace
}
replace() {
    if [ -f "$2" ]; then
        mkdir -p "$(dirname -- "$3")" || return
        ln -- "$2" "$3" 2>/dev/null || cp -p -- "$2" "$3" || return
    fi
    printf '%s\n%s\n' "$2" "$3" >>"$data_work/undo" || return
    if [ -n "$1" ]; then mv -f -- "$1" "$2"; else rm -f -- "$2"; fi
}
undo() {
    [ ! -f "$data_work/undo" ] || while IFS= read -r path && IFS= read -r old; do
        if [ ! -f "$old" ]; then
            rm -f -- "$path"
        elif ! cmp -s -- "$old" "$path" && ! mv -f -- "$old" "$path"; then
            say "$path is lost, and $old is what it was: copy it back" >&2
            is_needed=true
        fi
    done <"$data_work/undo"
}

# Ends the work, however it ended.
clean_up() {
    trap '' INT TERM HUP PIPE
    is_needed=false
    $is_done || [ -z "$data_work" ] || undo
    ! $is_needed || return
    for folder in "$work" "$data_work"; do
        [ -z "$folder" ] || rm -rf -- "$folder"
    done
    $is_done || remove_folders "$made"
}
remove_folders() {
    printf '%s' "$1" | while IFS= read -r folder; do rmdir -- "$folder" 2>/dev/null; done
}

tell() {
    say "clada $version is installed: $to/clada"
    [ -z "$files" ] || say "its man pages and completions are in $data"
    say "to remove what this wrote: sh install.sh --uninstall"
    case :$PATH: in
    *:"$to":*)
        first=$(command -v clada)
        [ "$first" = "$to/clada" ] || say "but \`clada\` means $first, which is earlier on PATH"
        return
        ;;
    esac
    word=$(quoted "$to")
    line="export PATH=$word:\"\$PATH\""
    case ${SHELL:-} in
    */fish) say "$to is not on PATH; this line adds it:" && say "fish_add_path $word" && return ;;
    */zsh) profile=.zshrc ;;
    */bash) if [ "$(uname -s)" = Darwin ]; then profile=.bash_profile; else profile=.bashrc; fi ;;
    *) profile=.profile ;;
    esac
    say "$to is not on PATH; add this line to ~/$profile, and open a new terminal:"
    say "$line"
}

# Removes what the list names, unless it has changed since.
remove_installed() {
    if [ ! -f "$list" ] && [ ! -d "$data/clada/.install" ]; then
        fail "there is nothing to remove: this script keeps a list of what it installs in $list, and there is none"
    fi
    trap clean_up EXIT
    take_turn
    if [ ! -f "$list" ]; then
        say "nothing else is there to remove"
        return
    fi
    refuse_service
    while IFS= read -r line; do
        path=${line#*  }
        case $line in folder*) continue ;; esac
        [ -e "$path" ] || [ -L "$path" ] || continue
        if [ -f "$path" ] && [ ! -L "$path" ] && [ "$(checksum "$path")" = "${line%%  *}" ]; then
            rm -f -- "$path" || fail "cannot remove $path: make its folder yours, then try again"
            case $path in "$data"/*) ;; *) say "removed $path" ;; esac
        else
            say "left $path: it is not as this script wrote it"
        fi
    done <"$list"
    trap '' INT TERM HUP PIPE
    folders=$(sed -n 's/^folder  //p' "$list" | sort -r)
    rm -f -- "$list" || fail "cannot remove $list: make its folder yours, then try again"
    rm -rf -- "$data_work"
    data_work='' is_done=true
    remove_folders "$folders
"
    say "removed what was installed in $data; settings and what clada remembers stay"
}

# Refuses to remove a program that the background service starts.
refuse_service() {
    for unit in "${XDG_CONFIG_HOME:-${HOME:-}/.config}/systemd/user/clada.service" "${HOME:-}/Library/LaunchAgents/clada.plist"; do
        [ -f "$unit" ] || continue
        while IFS= read -r line; do
            case $line in
            folder* | */bash-completion/completions/clada) continue ;;
            */clada) ;;
            *) continue ;;
            esac
            # As systemd and launchd have it in their files.
            program=$(printf '%s' "${line#*  }" | case $unit in
                *.plist) sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' ;;
                *) sed 's/[\\"]/\\&/g; s/%/%%/g' ;;
            esac)
            for end in ' ' '"' '<'; do
                if grep -qF -- "$program$end" "$unit"; then
                    fail "the background service starts ${line#*  }: run \`clada service uninstall\` first"
                fi
            done
        done <"$list"
    done
}

main() {
    LC_ALL=C
    export LC_ALL
    made='' work='' data_work='' is_done=false
    read_options "$@"
    need_programs
    find_folders
    if $uninstall; then
        remove_installed
        return
    fi
    find_targets
    find_place
    trap clean_up EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
    make_work
    fetch SHA256SUMS
    choose_archive
    fetch "$archive"
    check_archive
    unpack
    try_program
    prepare
    replace_all || fail "cannot replace the files in $to and $data: all is as it was"
    # From here on nothing is undone, also if this is killed.
    rm -f -- "$data_work/undo" || fail "cannot write to $data_work: all is as it was"
    is_done=true
    tell
}

{ main "$@"; }
