// When Rockpool dies, the kernel asks Claude's processes to end. One that does not listen would run on until the next
// start. So a shell waits beside us: when the pipe to it closes, it ends the remaining processes and their children.
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'

/** Reads `number start` lines until the pipe closes. In /proc/N/stat, after the name, the 2nd field is the parent and the
 *  20th the start. Nothing is started for a look: a busy machine has little time left for us. */
const script = `
list=
while read -r pid start; do list="$list $pid:$start"; done
sleep 2
look() {
  parent= start= line=
  read -r line 2>/dev/null < "/proc/$1/stat" || return
  set -- \${line##*) }
  parent=$2 start=\${20}
}
end_tree() {
  for path in /proc/[0-9]*; do
    look "\${path#/proc/}"
    [ "$parent" = "$1" ] && end_tree "\${path#/proc/}"
  done
  kill -KILL "$1" 2>/dev/null
}
for entry in $list; do
  look "\${entry%%:*}"
  [ "$start" = "\${entry##*:}" ] && end_tree "\${entry%%:*}"
done
`

export class LastWatch {
  #pipe: Writable | undefined

  /** Watches over this process too. */
  add({ pid, startTime }: ProcessIdentity): void {
    if (process.platform !== 'linux' || startTime === '') return
    this.#pipe ??= startWatch()
    this.#pipe.write(`${pid} ${startTime}\n`)
  }

  close(): void {
    this.#pipe?.end()
    this.#pipe = undefined
  }
}

function startWatch(): Writable {
  const shell = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  // Without it the next start still finds what was left; it must not keep us alive, nor end us.
  shell.on('error', () => {})
  shell.stdin.on('error', () => {})
  shell.unref()
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
  return shell.stdin
}
