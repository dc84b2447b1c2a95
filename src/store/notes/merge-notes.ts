// One note, changed on two machines: what becomes of it. Nothing that anybody added is ever lost: what one side added goes
// below what the other one has, and where that cannot be told both are kept.
import { isUtf8 } from 'node:buffer'
import { hasAllLines, withLinesOf } from './kept-notes.ts'

/** A note as it is; undefined when there is none. */
export type NoteBody = Buffer | undefined

export interface Merged {
  body: NoteBody
  /** What this machine had and what could not be merged: to be kept under a name of its own. */
  beside?: Buffer
}

/** `base` is what this machine's note was when it last had everything that the others had. */
export function mergeNotes(base: NoteBody, here: NoteBody, there: NoteBody): Merged {
  if (isSame(here, there) || isSame(here, base)) return { body: there }
  if (isSame(there, base)) return { body: here }
  // One has removed what the other one has changed.
  if (here === undefined || there === undefined) return { body: here ?? there }
  if (beginsWith(here, there)) return { body: here }
  if (base === undefined) return withoutBase(here, there)
  // Both go on from the same lines, and those have all of the base: both have only added.
  const common = commonLines(here, there)
  if (hasAll(common, base)) return { body: below(there, here.subarray(common.length)) }
  if (beginsWith(here, base)) return { body: below(there, here.subarray(base.length)) }
  if (beginsWith(there, base)) return { body: below(here, there.subarray(base.length)) }
  return { body: there, beside: here }
}

export function isSame(a: NoteBody, b: NoteBody): boolean {
  return a === undefined || b === undefined ? a === b : a.equals(b)
}

export function beginsWith(text: Buffer, beginning: Buffer): boolean {
  return text.length >= beginning.length && text.subarray(0, beginning.length).equals(beginning)
}

/** Two that never knew of each other: the lines that only this machine has go below the others'. */
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

/** The lines with which both begin. */
function commonLines(a: Buffer, b: Buffer): Buffer {
  let end = 0
  for (let at = 0; at < Math.min(a.length, b.length) && a[at] === b[at]; at++)
    if (a[at] === lineEnd) end = at + 1
  return a.subarray(0, end)
}

/** Nothing is missing; compared byte by byte, whatever they mean. */
function hasAll(text: Buffer, old: Buffer): boolean {
  return hasAllLines(text.toString('latin1'), old.toString('latin1'))
}
