// Indexes in small steps what comes after the words of the conversation, the newest first: substrings, tool inputs and
// results, and vectors.
import { closeSync } from 'node:fs'
import type { Embedder, SearchSource } from '../domain/search.ts'
import { linesOfFile, type ReadProgress } from '../store/disk/file-lines.ts'
import { openSource } from './index-files.ts'
import { mayBeTool, readPassage, toolTextOf } from './passages.ts'
import type { KnownSource, NewPassage, SearchIndex } from './search-index.ts'
import { packed } from './search-vectors.ts'

type Redact = (text: string) => string

/** Makes some passages findable by substring; false when none is left. */
export async function addSomePieces(index: SearchIndex, redact: Redact, limit = 200): Promise<boolean> {
  const passages = index.backlog.newest('pieces', limit)
  if (passages.length === 0) return false
  // A passage whose file was removed has no text. It is marked as done, and deleted with the file.
  await index.backlog.addPieces(
    passages.map((each) => ({ id: each.id, text: redact(readPassage(each)?.text ?? '') })),
  )
  return true
}

/** How much of a passage its vector stands for. */
const embeddedChars = 2_000

/** Computes the vectors of some passages; false when none is left. */
export async function addSomeVectors(
  index: SearchIndex,
  embedder: Embedder,
  redact: Redact,
  limit = 200,
): Promise<boolean> {
  const passages = index.backlog.newest('vector', limit)
  if (passages.length === 0) return false
  const texts = passages.map((each) => redact(readPassage(each)?.text ?? '').slice(0, embeddedChars))
  const vectors = await embedder.embed(texts)
  const added = passages.map(({ id }, i) => ({ id, numbers: packed(vectors[i]!) }))
  await index.vectors.add(embedder.name, added)
  return true
}

const groupChars = 500_000
const groupBytes = 16 << 20

/** Indexes the next tool texts of a file, up to a bounded amount; false when the file was read to the end. */
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

function readTools(fd: number, source: SearchSource, from: number, linesBefore: number, redact: Redact) {
  const passages: NewPassage[] = []
  const reader = toolTextsIn(fd, source, { toolsBytes: from, toolsLines: linesBefore }, redact)
  for (let chars = 0; ;) {
    const next = reader.next()
    if (next.done) return { passages, end: next.value.end, lines: next.value.lines }
    const { passage, end, lines } = next.value
    if (passage) passages.push(passage)
    chars += passage?.text.length ?? 0
    if (chars >= groupChars || end - from >= groupBytes) return { passages, end, lines }
  }
}

export interface ToolLine {
  /** Without secrets; absent if the line has no tool text, or is not wanted. */
  passage?: NewPassage & { id?: string }
  /** Where the next line begins, and how many lines were read. */
  end: number
  lines: number
}

/** The tool texts of a transcript, from where the index has read them to. Only wanted lines are parsed. */
export function* toolTextsIn(
  fd: number,
  { kind }: SearchSource,
  { toolsBytes, toolsLines }: Pick<KnownSource, 'toolsBytes' | 'toolsLines'>,
  redact: Redact,
  isWanted: (line: Buffer) => boolean = () => true,
): Generator<ToolLine, ReadProgress> {
  const reader = linesOfFile(fd, toolsBytes)
  for (;;) {
    const next = reader.next()
    if (next.done) return next.value
    const { bytes, offset, number } = next.value
    const isTool = mayBeTool(bytes, kind) && isWanted(bytes)
    const found = isTool ? toolTextOf(bytes.toString('utf8'), kind) : undefined
    const place = { line: toolsLines + number, offset, length: bytes.length }
    const passage = found && { ...found, ...place, text: redact(found.text) }
    yield { passage, end: offset + bytes.length + 1, lines: number }
  }
}
