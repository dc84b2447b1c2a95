#!/bin/sh
# What `npm start`, `npm test` and the like run in a checkout: installs what is missing, builds, then starts, tests, measures or takes pictures.
# Plain sh, because on a fresh machine nothing else is certain yet.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
# The last two hold mkfs.ext4 and losetup, and are not on everybody's path.
PATH="$root/node_modules/.bin:$PATH:/usr/sbin:/sbin"
export PATH
what=$1
shift

stamp=node_modules/.rockpool-installed
# Only what npm installs: any other line of package.json may change without a new installation.
dependencies() {
  node -p '
    const isOfInstallation = (field) => /dependencies|overrides|allowscripts/i.test(field)
    const { readFileSync } = require("node:fs")
    const fields = Object.entries(JSON.parse(readFileSync("package.json", "utf8")))
    JSON.stringify(fields.filter(([field]) => isOfInstallation(field)))'
  cat package-lock.json
}
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$(dependencies | cksum)" ]; then
  echo "Installing dependencies (once: a minute or two, about 1 GB) ..." >&2
  rm -f "$stamp"
  npm install --no-audit --no-fund --loglevel=error >&2
  # npm may have written package-lock.json.
  dependencies | cksum > "$stamp"
fi

node scripts/build.ts
case $what in
  setup) ;;
  start)
    echo 'In this folder `rockpool …` is `node bin/rockpool.js …`; `npm link` makes it a command.' >&2
    exec node bin/rockpool.js up "$@" ;;
  test) sh scripts/debian-packages.sh && exec vitest run "$@" ;;
  test:full) sh scripts/debian-packages.sh && ROCKPOOL_TEST=full exec vitest run "$@" ;;
  pictures)
    sh scripts/debian-packages.sh && node scripts/terminal-pictures.ts
    ROCKPOOL_SCREENSHOTS=1 ROCKPOOL_TEST=full exec vitest run test/full/dashboard.test.ts test/full/channel-pictures.test.ts ;;
  bench) exec node bench/run.ts "$@" ;;
  *) echo "unknown: $what" >&2; exit 2 ;;
esac
