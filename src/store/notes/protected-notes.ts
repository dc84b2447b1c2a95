// Protects notes while an agent writes them: text that the agent overwrote is restored, because notes are append-only. The copy
// is on disk, so it survives a crash.
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { writeFileAtomically } from '../disk/atomic-file.ts'
import { listFolder } from './notes.ts'
import { identifyProcess, isSameProcess, type ProcessIdentity } from '../disk/process-identity.ts'
import { namesIn, readForeign } from '../disk/foreign-file.ts'

/** The content of notes before a write began, and the process that writes. */
interface NotesCopy {
  owner: ProcessIdentity
  notes: Array<[path: string, text: string]>
}

/** Copies the notes of a folder to disk. Resolves to a function that restores text that was lost since then. */
export async function protectNotes(folder: string, copies: string): Promise<() => Promise<string[]>> {
  const before = new Map(listFolder(folder).flatMap(({ path }) => entryOf(path)))
  if (before.size === 0) return async () => []
  const copy: NotesCopy = { owner: identifyProcess(process.pid)!, notes: [...before] }
  const path = join(copies, `${randomUUID()}.json`)
  mkdirSync(copies, { recursive: true, mode: 0o700 })
  await writeFileAtomically(path, JSON.stringify(copy))
  return async () => {
    const restored = await restoreLost(before)
    rmSync(path, { force: true })
    return restored
  }
}

/** Restores lost text of notes from the copies of dead processes. */
export async function restoreAbandonedNotes(copies: string, log: Log): Promise<void> {
  for (const name of namesIn(copies).filter((each) => each.endsWith('.json'))) {
    const path = join(copies, name)
    try {
      const { owner, notes } = JSON.parse(readFileSync(path, 'utf8')) as NotesCopy
      if (isSameProcess(owner)) continue
      const restored = await restoreLost(new Map(notes))
      if (restored.length > 0)
        log.warn(
          { event: 'notes-restored', notes: restored },
          'Restored notes that a crash left overwritten.',
        )
      rmSync(path, { force: true })
    } catch (error) {
      // Kept for the next start: it may be the only copy of a note.
      log.warn(
        { event: 'notes-restore-failed', path, error: String(error) },
        'Could not restore notes from a copy; the copy is kept, and the next start tries again.',
      )
    }
  }
}

/** Restores lost text of each note, before its new text. Resolves to the notes that had lost text. */
async function restoreLost(before: ReadonlyMap<string, string>): Promise<string[]> {
  const restored: string[] = []
  for (const [path, old] of before) {
    const now = entryOf(path)[0]?.[1] ?? ''
    if (hasAllLines(now, old)) continue
    await writeFileAtomically(path, withLinesOf(old, now))
    restored.push(path)
  }
  return restored
}

/** `text`, followed by the lines that only `other` has. */
export function withLinesOf(text: string, other: string): string {
  const added = withoutLinesOf(text, other)
  return added === '' ? text : `${text.trimEnd()}\n\n${added}\n`
}

/** Does `text` have all lines of `old` in the same order, possibly with others between them? */
export function hasAllLines(text: string, old: string): boolean {
  const lines = linesOf(text)
  let at = 0
  return linesOf(old).every((line) => {
    const found = lines.indexOf(line, at)
    at = found + 1
    return found >= 0
  })
}

function withoutLinesOf(old: string, text: string): string {
  const known = new Set(linesOf(old))
  const added = text.split('\n').filter((line) => line.trim() === '' || !known.has(line.trimEnd()))
  return added.join('\n').trim()
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
}

function entryOf(path: string): Array<[path: string, text: string]> {
  // Fails if it was removed since it was listed.
  return attempt(() => [[path, readForeign(path, 64 << 20).toString('utf8')]], [])
}
