// Which processes of this machine work in a folder: for tests that must leave none.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Does any process run in this folder, or with it in its environment, other than ours? */
export function isRunningClaude(folder: string): boolean {
  return processesIn(folder).length > 0
}

export function processesIn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => worksIn(pid, folder))
    .map(Number)
}

function worksIn(pid: string, folder: string): boolean {
  try {
    if (readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ')) return false
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/repo-`)
  } catch {
    // The process has ended meanwhile, or belongs to another user.
    return false
  }
}
