#!/bin/sh
first() { :; }

# Colours of the terminal.
bold=$(tput bold) # bold
plain=$(tput sgr0)

# The name of the system.
os_name() {
  uname -s | tr '[:upper:]' '[:lower:]'
}

# True for a program that is there.
has() { command -v "$1" >/dev/null 2>&1; }

function with_lock
{
  local lock=$1
  shift
  (
    flock 9
    "$@"
  ) 9>"$lock"
}

case $(os_name) in
  linux)
    open_url() { xdg-open "$1"; }
    ;;
  darwin)
    open_url() { open "$1"; }
    ;;
esac

usage() {
  cat <<-END
	usage: $0 [--help]
	inside() { }
	END
}

test_has() {
  has sh || return 1
}

# Does it all.
all() {
  with_lock /tmp/lock test_has && usage
}
