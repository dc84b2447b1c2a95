// The history of some lines, before and after the edit that wrote them: the earlier lines, the attempts that were undone, and
// later changes.
import { hashOfLine } from '../discovery/line-hash.ts'
import type { EditReader } from './edit-reader.ts'
import type { EditHunk, EditRecord } from './edit-record.ts'
import type { FoundEdit } from './find-edits.ts'

export interface PastEdit extends EditHunk {
  edit: FoundEdit
  /** The record in the transcript. */
  message: string | undefined
  /** Nothing of what it added is in the file now. */
  isGone: boolean
}

interface LineHistory {
  /** The last first. */
  earlier: PastEdit[]
  later: PastEdit[]
}

/** Edits that are read back on each side. */
const mostRead = 80
const mostListed = 10

interface Asked {
  /** All edits of the file, the oldest first. */
  edits: readonly FoundEdit[]
  texts: readonly string[]
  /** Whether a line is in the file now. */
  isAlive: (hash: number) => boolean
}

export async function historyOf(
  reader: EditReader,
  source: FoundEdit,
  { edits, texts, isAlive }: Asked,
): Promise<LineHistory> {
  const asked = hashesOf(texts)
  const at = edits.indexOf(source)
  const own = await reader.read(source)
  // The earlier lines, which the edit replaced.
  const places = new Set(asked)
  for (const { added, removed } of own?.hunks ?? [])
    if (hasOne(added, asked)) for (const hash of hashesOf(removed)) places.add(hash)
  const earlier: PastEdit[] = []
  for (const edit of edits.slice(Math.max(0, at - mostRead), at).toReversed()) {
    const isAbout = ({ added, removed }: EditHunk): boolean =>
      hasOne(added, places) || hasOne(removed, places)
    const past = pastEdit(edit, await reader.read(edit), isAbout, isAlive)
    if (!past) continue
    for (const hash of hashesOf(past.removed)) places.add(hash)
    earlier.push(past)
    if (earlier.length === mostListed) break
  }
  const later: PastEdit[] = []
  for (const edit of edits.slice(at + 1, at + 1 + mostRead)) {
    const isAbout = ({ removed }: EditHunk): boolean => hasOne(removed, asked)
    const past = pastEdit(edit, await reader.read(edit), isAbout, isAlive)
    if (past) later.push(past)
  }
  return { earlier, later: later.slice(0, mostListed) }
}

function pastEdit(
  edit: FoundEdit,
  record: EditRecord | undefined,
  isAbout: (hunk: EditHunk) => boolean,
  isAlive: (hash: number) => boolean,
): PastEdit | undefined {
  const hunks = record?.hunks.filter(isAbout) ?? []
  if (hunks.length === 0) return undefined
  const [added, removed] = [hunks.flatMap((hunk) => hunk.added), hunks.flatMap((hunk) => hunk.removed)]
  const isGone = ![...hashesOf(added)].some(isAlive)
  return { edit, message: record?.uuid, added, removed, isGone }
}

function hashesOf(texts: readonly string[]): Set<number> {
  return new Set(texts.flatMap((text) => hashOfLine(text) ?? []))
}

function hasOne(texts: readonly string[], wanted: ReadonlySet<number>): boolean {
  return texts.some((text) => wanted.has(hashOfLine(text) ?? -1))
}
