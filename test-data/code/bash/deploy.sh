#!/usr/bin/env bash
# Deploys the thing.
#
# SPDX-License-Identifier: MIT

set -euo pipefail

readonly TARGET="${1:-staging}"
declare -A hosts=(
  [staging]=one.example.org
)

# ---- messages ----

# Prints a message.
#
# $1: the message
log() {
  printf '%s\n' "$1" >&2
}

die() { log "error: $1"; exit 1; }

# Builds it.
function build {
  local out
  out=$(mktemp -d)

  # Only for this build.
  clean() {
    rm -rf "$out"
  }
  trap clean EXIT
  cat <<'EOF' > "$out/run.sh"
fake() {
  echo "not a function of this file"
}
EOF
}

function deploy-to()
{
  case "$1" in
    staging) rsync -a out/ "${hosts[$1]}:" ;;
    *) die "no such target: $1" ;;
  esac
}

check::disk() (
  cd /
  df -h .
)

if [[ $TARGET == staging ]]; then
  # With more output.
  notify() {
    log "done: $1"
  }
else
  notify() { :; }
fi

größe() { du -sh "$1"; }

retry() { for _ in 1 2 3; do "$@" && break; done; }

# Goes through all.
main() {
  build
  deploy-to "$TARGET"
  notify "$TARGET"
}

main "$@"
