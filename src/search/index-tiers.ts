// What follows after the words of the conversation, the newest first, a small piece at a time: substrings, what tools were
// asked and answered, and meaning.
import { closeSync } from 'node:fs'
import type { SearchSource } from '../domain/search.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import type { KnownSource, NewPassage, SearchIndex } from './search-index.ts'
import { openSource } from './index-files.ts'
import { mayBeTool, toolTextOf } from './passages.ts'
import { readPassage } from './snippet.ts'

type Redact = (text: string) => string

/** Makes some passages findable by substring; false when there is nothing left to do. */
export async function addSomePieces(index: SearchIndex, redact: Redact, limit = 200): Promise<boolean> {
  const passages = index.lacking.newest('pieces', limit)
  if (passages.length === 0) return false
  // A passage whose file is gone has no text; it is marked all the same and goes with the file.
  await index.lacking.addPieces(
    passages.map((each) => ({ id: each.id, text: redact(readPassage(each) ?? '') })),
  )
  return true
}

/** Files whose tools were not read to the end, the newest first. */
export function lackingTools(index: SearchIndex): KnownSource[] {
  return [...index.known().values()]
    .filter(({ source, toolsBytes, readBytes }) => source.kind !== 'memory' && toolsBytes < readBytes)
    .sort((a, b) => b.mtimeMs - a.mtimeMs)
}

const groupChars = 1_000_000
const groupBytes = 16 << 20

/** Reads on in what tools were asked and answered, up to a bounded amount; false when the file was read to the end. */
export async function addSomeTools(index: SearchIndex, known: KnownSource, redact: Redact): Promise<boolean> {
  const { source, ...before } = known
  const fd = openSource(source.path)
  if (fd === undefined) return false
  try {
    const { passages, end, lines } = readTools(fd, source, before.toolsBytes, before.toolsLines, redact)
    if (end === before.toolsBytes) return false
    Object.assign(known, { toolsBytes: end, toolsLines: before.toolsLines + lines })
    const { source: _, ...state } = known
    await index.add([{ source, from: before, state, passages }])
    return end < known.readBytes
  } finally {
    closeSync(fd)
  }
}

function readTools(
  fd: number,
  source: SearchSource,
  from: number,
  linesBefore: number,
  redact: Redact,
): { passages: NewPassage[]; end: number; lines: number } {
  const passages: NewPassage[] = []
  const reader = linesOfFile(fd, from)
  for (let chars = 0; ;) {
    const next = reader.next()
    if (next.done) return { passages, end: next.value.end, lines: next.value.lines }
    const { bytes, offset, number } = next.value
    const end = offset + bytes.length + 1
    const found = mayBeTool(bytes, source.kind) && toolTextOf(bytes.toString('utf8'), source.kind)
    if (found) {
      const text = redact(found.text)
      passages.push({ ...found, text, line: linesBefore + number, offset, length: bytes.length })
      chars += text.length
    }
    if (chars >= groupChars || end - from >= groupBytes) return { passages, end, lines: number }
  }
}
