// Merges a note that was changed on two machines. Added text is never lost: the lines that one side added go below those of the
// other side. If that is impossible, both versions are kept.
import { isUtf8 } from 'node:buffer'
import { hasAllLines, withLinesOf } from './protected-notes.ts'

export type NoteBody = Buffer | undefined

export interface Merged {
  body: NoteBody
  /** This machine's version if it could not be merged; it is kept under another name. */
  beside?: Buffer
}

/** `base` is the content when this machine and the others last agreed. */
export function mergeNotes(base: NoteBody, here: NoteBody, there: NoteBody): Merged {
  if (isSameNote(here, there) || isSameNote(here, base)) return { body: there }
  if (isSameNote(there, base)) return { body: here }
  // One side removed the note that the other side changed.
  if (here === undefined || there === undefined) return { body: here ?? there }
  if (beginsWith(here, there)) return { body: here }
  if (base === undefined) return withoutBase(here, there)
  // Both begin with the same lines, which include the base: both sides only added text.
  const common = commonLines(here, there)
  // Latin-1, so that lines are compared byte by byte.
  if (hasAllLines(common.toString('latin1'), base.toString('latin1')))
    return { body: below(there, here.subarray(common.length)) }
  if (beginsWith(here, base)) return { body: below(there, here.subarray(base.length)) }
  if (beginsWith(there, base)) return { body: below(here, there.subarray(base.length)) }
  return { body: there, beside: here }
}

export function isSameNote(a: NoteBody, b: NoteBody): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b)
}

export function beginsWith(text: Buffer, beginning: Buffer): boolean {
  return text.length >= beginning.length && text.subarray(0, beginning.length).equals(beginning)
}

/** Without a common base: the lines that only this machine has go below the others. */
function withoutBase(here: Buffer, there: Buffer): Merged {
  if (beginsWith(there, here)) return { body: there }
  if (!isUtf8(here) || !isUtf8(there)) return { body: there, beside: here }
  return { body: Buffer.from(withLinesOf(there.toString(), here.toString())) }
}

const lineEnd = 10

function below(text: Buffer, added: Buffer): Buffer {
  const gap = text.length === 0 || text.at(-1) === lineEnd ? '' : '\n'
  return Buffer.concat([text, Buffer.from(gap), added])
}

function commonLines(a: Buffer, b: Buffer): Buffer {
  let end = 0
  for (let at = 0; at < Math.min(a.length, b.length) && a[at] === b[at]; at++)
    if (a[at] === lineEnd) end = at + 1
  return a.subarray(0, end)
}
