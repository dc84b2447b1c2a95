// An agent that writes its notes may overwrite them. What stood in them before is put back: notes are only added to.
import { readFileSync } from 'node:fs'
import { writeFileAtomically } from './atomic-file.ts'
import { listFolder } from './notes.ts'

/** What every note in a folder says, by its path. */
export function textOfNotes(folder: string): Map<string, string> {
  return new Map(listFolder(folder).flatMap(({ path }) => entryOf(path)))
}

/** Puts back what a note has lost since then, before what is new in it. Resolves to the notes that had lost something. */
export async function restoreLost(before: ReadonlyMap<string, string>): Promise<string[]> {
  const mended: string[] = []
  for (const [path, old] of before) {
    const now = entryOf(path)[0]?.[1] ?? ''
    if (hasAllLines(now, old)) continue
    await writeFileAtomically(path, withLinesOf(old, now))
    mended.push(path)
  }
  return mended
}

/** A text with the lines below it that only the other one has. */
export function withLinesOf(text: string, other: string): string {
  return joined(text, withoutLinesOf(text, other))
}

/** Every line is still there, and in its order; others may stand between them. */
function hasAllLines(text: string, old: string): boolean {
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

function joined(old: string, added: string): string {
  return added === '' ? old : `${old.trimEnd()}\n\n${added}\n`
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
}

function entryOf(path: string): Array<[path: string, text: string]> {
  try {
    return [[path, readFileSync(path, 'utf8')]]
  } catch {
    // Gone since it was listed.
    return []
  }
}
