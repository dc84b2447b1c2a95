#!/bin/sh
# Tests use a few programs that npm does not have. Install the missing ones where that is possible;
# where it is not, the tests that need them say SKIPPED with the reason.
set -eu
missing=""
for pair in chromium:chromium strace:strace tmux:tmux git:git python3:python3-minimal mkfs.ext4:e2fsprogs; do
  command -v "${pair%%:*}" > /dev/null 2>&1 || missing="$missing ${pair##*:}"
done
command -v postgres > /dev/null 2>&1 || [ -n "$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null)" ] || missing="$missing postgresql"
[ -z "$missing" ] && exit 0
if command -v apt-get > /dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "Installing Debian packages for the tests:$missing" >&2
  log=$(mktemp)
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } > "$log" 2>&1 ||
    { echo "Could not install$missing; tests that need them will be skipped:" >&2; tail -n 3 "$log" >&2; }
  rm -f "$log"
else
  echo "Not installed:$missing. Tests that need them will be skipped." >&2
fi
