// Makes the syncs of a database's log fail, as a disk that fails: in this process, without root. Linux only.
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Puts a device that cannot be synced in the place of the descriptor with which we sync this file; SQLite has another one. */
export function breakSync(file: string): () => void {
  const fd = readdirSync('/proc/self/fd')
    .map(Number)
    .find((one) => isOpenForReading(one, file))!
  const reopen = (path: string): void => {
    closeSync(fd)
    // A new file gets the lowest free descriptor; lower ones are filled first.
    const lower: number[] = []
    for (let got = openSync(path, 'r'); got !== fd; got = openSync(path, 'r')) lower.push(got)
    for (const one of lower) closeSync(one)
  }
  reopen('/dev/null')
  return () => reopen(file)
}

function isOpenForReading(fd: number, file: string): boolean {
  try {
    const [, flags] = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))!
    return readlinkSync(`/proc/self/fd/${fd}`) === file && (parseInt(flags!, 8) & 3) === 0
  } catch {
    // The descriptor with which the folder was listed is closed again.
    return false
  }
}
