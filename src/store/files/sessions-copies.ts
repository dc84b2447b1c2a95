// Copies of sessions.json that stand beside it: the last good one, unreadable ones that were set aside.
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Removes the copies of sessions.json (last good, set aside) that contain the session; the next change writes a new copy. */
export function removeCopiesNaming(sessionsJson: string, key: string): void {
  const folder = dirname(sessionsJson)
  const kinds = ['bak', 'corrupt-', 'set-aside'].map((kind) => `${basename(sessionsJson)}.${kind}`)
  const copies = readdirSync(folder).filter((name) => kinds.some((kind) => name.startsWith(kind)))
  const named = JSON.stringify(key).slice(1, -1)
  for (const path of copies.map((name) => join(folder, name))) {
    if (readFileSync(path).includes(named)) rmSync(path, { force: true })
  }
}
