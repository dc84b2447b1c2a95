// Reads a transcript in special ways: the last entries of a file from its end, independent of its size; and a text to import.
import type { FileHandle } from 'node:fs/promises'
import type { TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import { readHeader } from './transcript-append.ts'
import { readLine } from './transcript-entry.ts'
import { linesBackward, maxLineBytes } from './transcript-lines.ts'
import type { TranscriptPage } from '../session-store.ts'
import { DamageList } from './transcript-tree.ts'

export async function readPage(handle: FileHandle, limit: number, before?: number): Promise<TranscriptPage> {
  const header = await readHeader(handle)
  const damage = new DamageList()
  const newestFirst: TranscriptEntry[] = []
  let mark: number | undefined
  let isMore = false
  let unlinked: TranscriptEntry | undefined
  // One entry more than requested: it shows whether there is more, and which entry is the parent of the first one.
  // `before` may come from a time when the file was longer.
  const { size } = await handle.stat()
  const end = Math.min(before ?? size, size)
  search: for await (const batch of linesBackward(handle, end)) {
    for (const line of batch) {
      // A mark inside of a line cuts off its end; in the file the line is whole.
      if (!line.ended && end < size) continue
      const read = readLine(line)
      if (read.kind === 'damage') damage.add(read.what)
      if (read.kind !== 'entry') continue
      if (unlinked) unlinked.parentId = read.entry.id
      unlinked = read.linked ? undefined : read.entry
      isMore = newestFirst.length >= limit
      if (isMore) break search
      if (read.damage) damage.add(read.damage)
      newestFirst.push(read.entry)
      mark = line.offset
    }
  }
  const problems = [...(header ? [] : ['the header is missing']), ...damage.list().reverse()]
  return { header, entries: newestFirst.reverse(), ...(isMore ? { before: mark } : {}), damage: problems }
}

interface TranscriptText {
  header: TranscriptHeader | undefined
  /** In the order of the lines; the parent of each is another of them, or it is the first. */
  entries: TranscriptEntry[]
  damage: string[]
}

export function readTranscriptText(text: string): TranscriptText {
  const read: TranscriptText = { header: undefined, entries: [], damage: [] }
  const ids = new Set<string>()
  let offset = 0
  for (const [at, lineText] of text.split('\n').entries()) {
    const content = Buffer.from(lineText)
    const bytes = content.length
    const line = {
      offset,
      bytes,
      content: bytes > maxLineBytes ? undefined : content,
      ended: true,
      number: at + 1,
    }
    offset += bytes + 1
    const found = bytes === 0 ? ({ kind: 'blank' } as const) : readLine(line)
    if (found.kind === 'damage') read.damage.push(found.what)
    if (found.kind === 'header') read.header ??= found.header
    if (found.kind !== 'entry') continue
    const { entry } = found
    const parentId =
      found.linked && (entry.parentId === null || ids.has(entry.parentId)) ? entry.parentId : undefined
    if (ids.has(entry.id)) read.damage.push(`line ${at + 1} repeats entry ${entry.id}`)
    else
      read.entries.push({
        ...entry,
        parentId: parentId === undefined ? (read.entries.at(-1)?.id ?? null) : parentId,
      })
    ids.add(entry.id)
  }
  return read
}
