// Ends Claude's processes when Rockpool dies. The kernel sends them a signal then, but some ignore it and some were detached from
// Claude; they would run until the next start. So a shell waits for the pipe from Rockpool to close, and then ends the processes
// that still run.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import { cgroupName, markerVariable, ownerMarker, ownIdentity } from '../store/disk/process-scope.ts'

/** Reads `pid start` lines until the pipe closes. $1 is the variable that marks our processes, $2 the prefix of the paths of our
 *  cgroups, $3 this Rockpool as `pid:start`. In /proc/N/stat, after the name, the 1st field is the state (Z: a zombie), the 2nd
 *  the parent and the 20th the start time. It starts few programs, because a busy machine may leave it little time. A process is
 *  killed only if it is the same one before and after its environment was read. */
const script = `
marker=$1 cgroups=$2 owner=$3 list=
while read -r pid start; do list="$list $pid:$start"; done
sleep 2
look() {
  parent= start= line=
  read -r line 2>/dev/null < "/proc/$1/stat" || return
  set -- \${line##*) }
  [ "$1" = Z ] || parent=$2 start=\${20}
}
end_tree() {
  for path in /proc/[0-9]*; do
    look "\${path#/proc/}"
    [ "$parent" = "$1" ] && end_tree "\${path#/proc/}"
  done
  kill -KILL "$1" 2>/dev/null
}
end_marked() {
  look "$1"
  before=$start
  [ -O "/proc/$1" ] && grep -qsaF "$marker" "/proc/$1/environ" || return
  look "$1"
  [ "$start" = "$before" ] && kill -KILL "$1" 2>/dev/null
}
for entry in $list; do
  look "\${entry%%:*}"
  [ "$start" = "\${entry##*:}" ] && end_tree "\${entry%%:*}"
done
# Rockpool still runs: only this pipe was closed. Its other processes have the same marker.
look "\${owner%%:*}"
[ "$start" = "\${owner##*:}" ] && exit
[ -n "$cgroups" ] && for cgroup in "$cgroups"*; do { echo 1 > "$cgroup/cgroup.kill"; } 2>/dev/null; done
# The next round finds processes that were started meanwhile.
for round in 1 2 3; do
  for path in $(grep -lsaF "$marker" /proc/[0-9]*/environ); do
    path=\${path%/environ}
    end_marked "\${path#/proc/}"
  done
done
[ -n "$cgroups" ] && rmdir "$cgroups"* 2>/dev/null
`

export class ProcessReaper {
  #cgroups: string | undefined
  #pipe: Writable | undefined

  /** `cgroups`: the parent of the cgroups of Claude's processes, if they have any. */
  constructor(cgroups?: string) {
    this.#cgroups = cgroups
  }

  /** Watches this process and every process that has our marker. */
  add({ pid, startTime }: ProcessIdentity): void {
    if (process.platform !== 'linux' || startTime === '') return
    this.#pipe ??= startShell(this.#cgroups)
    this.#pipe.write(`${pid} ${startTime}\n`)
  }

  close(): void {
    this.#pipe?.end()
    this.#pipe = undefined
  }
}

function startShell(cgroups: string | undefined): Writable {
  const own = ownIdentity()
  const marker = ownerMarker(own)
  const ours = cgroups === undefined ? '' : join(cgroups, cgroupName(marker))
  const args = [`${markerVariable}=${marker}`, ours, `${own.pid}:${own.startTime}`]
  const shell = spawn('/bin/sh', ['-c', script, 'sh', ...args], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    // If this Rockpool itself runs in a session, that session's marker must not be passed on: the shell outlives us a moment.
    env: { PATH: '/usr/bin:/bin' },
  })
  // If the shell fails, the next start of Rockpool ends the remaining processes. Neither the shell nor its failure may affect this
  // process.
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
  return shell.stdin
}
