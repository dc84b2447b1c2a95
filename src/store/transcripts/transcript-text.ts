// A transcript that is a text, not a file of ours: something to import.
import type { TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import { readLine } from './transcript-entry.ts'
import { maxLineBytes } from './transcript-lines.ts'

export interface TranscriptText {
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
