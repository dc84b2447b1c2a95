// Brings the index up to date with its sources: reads only what was appended, forgets what is gone.
import { closeSync, fstatSync, openSync, readFileSync, constants } from 'node:fs'
import type { BigIntStats } from 'node:fs'
import type { SearchSource } from '../domain/search.ts'
import { linesOfFile } from '../store/file-lines.ts'
import type { ReadSoFar } from '../store/file-lines.ts'
import type { FileState, NewPassage, SearchIndex } from '../store/search-index.ts'
import { withIdentifierParts } from './identifiers.ts'
import { conversationNeedles, conversationOf, toolTextOf } from './passages.ts'

export interface IndexProgress {
  filesDone: number
  files: number
  bytesRead: number
  passages: number
}

export interface IndexOptions {
  /** Secrets must not get into the index. */
  redact: (text: string) => string
  onProgress?: (progress: IndexProgress) => void
  /** Lets the event loop breathe; called between pieces of work. */
  pause?: () => Promise<void>
  signal?: AbortSignal
}

/** Passages that go into one transaction; bounded, so that a turn never waits long for the disk. */
const groupPassages = 2_000
const groupChars = 4_000_000

export async function indexSources(
  index: SearchIndex,
  sources: Iterable<SearchSource>,
  options: IndexOptions,
): Promise<IndexProgress> {
  const wanted = [...sources]
  const states = index.states()
  const progress: IndexProgress = { filesDone: 0, files: wanted.length, bytesRead: 0, passages: 0 }
  for (const source of wanted) {
    if (options.signal?.aborted) return progress
    await indexSource(index, source, states.get(source.path), options, progress)
    states.delete(source.path)
    progress.filesDone++
    options.onProgress?.(progress)
    await options.pause?.()
  }
  for (const path of states.keys()) await index.remove(path)
  return progress
}

/** One file: appended lines only, unless it was replaced or cut. */
export async function indexSource(
  index: SearchIndex,
  source: SearchSource,
  known: FileState | undefined,
  options: IndexOptions,
  progress: IndexProgress,
): Promise<void> {
  const fd = openSource(source.path)
  if (fd === undefined) return index.remove(source.path)
  try {
    const stat = fstatSync(fd, { bigint: true })
    if (known && isUnchanged(known, stat)) return
    const replaced =
      known !== undefined && (known.inode !== String(stat.ino) || Number(stat.size) < known.readBytes)
    if (known && (replaced || source.kind === 'memory')) await index.remove(source.path)
    const from = replaced || source.kind === 'memory' ? undefined : known
    if (source.kind === 'memory') await indexMemoryFile(index, source, stat, options, progress)
    else await indexTranscript(index, source, fd, stat, from, options, progress)
  } finally {
    closeSync(fd)
  }
}

async function indexTranscript(
  index: SearchIndex,
  source: SearchSource,
  fd: number,
  stat: BigIntStats,
  known: FileState | undefined,
  options: IndexOptions,
  progress: IndexProgress,
): Promise<void> {
  const kind = source.kind === 'native' ? 'native' : 'rockpool'
  const needles = conversationNeedles[kind]
  const state = stateFrom(stat, known)
  const before = state.readLines
  const reader = linesOfFile(fd, state.readBytes)
  let passages: NewPassage[] = []
  let chars = 0
  let line = before
  const flush = async (soFar: Pick<ReadSoFar, 'end' | 'lines'>): Promise<void> => {
    progress.bytesRead += soFar.end - state.readBytes
    progress.passages += passages.length
    Object.assign(state, { readBytes: soFar.end, readLines: before + soFar.lines })
    await index.add(source, state, passages)
    passages = []
    chars = 0
  }
  for (;;) {
    const next = reader.next()
    if (next.done) return flush(next.value)
    line++
    const { bytes, offset } = next.value
    if (!needles.some((needle) => bytes.includes(needle))) continue
    const passage = passageOf(bytes, offset, line, source, options)
    if (!passage) continue
    passages.push(passage)
    chars += passage.text.length
    if (passages.length < groupPassages && chars < groupChars) continue
    await flush({ end: offset + bytes.length + 1, lines: line - before })
    await options.pause?.()
    if (options.signal?.aborted) return
  }
}

function passageOf(
  bytes: Buffer,
  offset: number,
  line: number,
  source: SearchSource,
  options: IndexOptions,
): NewPassage | undefined {
  // A tool's output may be megabytes; its line is not conversation, so it is not even decoded.
  if (bytes.includes('"type":"tool_result"') || bytes.includes('"role":"toolResult"')) return undefined
  const found = conversationOf(bytes.toString('utf8'), source.kind)
  if (!found) return undefined
  const text = withIdentifierParts(options.redact(found.text))
  return { text, line, offset, length: bytes.length, role: found.role, at: found.at }
}

/** A memory file is small: paragraph by paragraph, whole again after each change. */
async function indexMemoryFile(
  index: SearchIndex,
  source: SearchSource,
  stat: BigIntStats,
  options: IndexOptions,
  progress: IndexProgress,
): Promise<void> {
  const bytes = readFileSync(source.path)
  const passages = paragraphsOf(bytes).map((paragraph) => ({
    ...paragraph,
    text: withIdentifierParts(options.redact(paragraph.text)),
    role: 'memory' as const,
    at: Number(stat.mtimeMs),
  }))
  const lines = bytes.toString('utf8').split('\n').length
  await index.add(
    source,
    { ...stateFrom(stat, undefined), readBytes: bytes.length, readLines: lines },
    passages,
  )
  progress.bytesRead += bytes.length
  progress.passages += passages.length
}

export function paragraphsOf(
  bytes: Buffer,
): Array<{ text: string; line: number; offset: number; length: number }> {
  const paragraphs: Array<{ text: string; line: number; offset: number; length: number }> = []
  let line = 1
  let offset = 0
  for (const block of bytes.toString('utf8').split(/(?<=\n)[ \t]*\n/)) {
    const length = Buffer.byteLength(block)
    if (block.trim() !== '') paragraphs.push({ text: block.trim(), line, offset, length })
    const gap = bytes.indexOf('\n', offset + length)
    line += block.split('\n').length
    offset = gap === -1 ? bytes.length : gap + 1
  }
  return paragraphs
}

/** The second tier: what tools were asked and answered, after the conversation of every file is in. */
export async function indexToolText(
  index: SearchIndex,
  source: SearchSource,
  known: FileState,
  options: IndexOptions,
): Promise<void> {
  const fd = openSource(source.path)
  if (fd === undefined) return
  try {
    const reader = linesOfFile(fd, known.toolsBytes)
    const passages: NewPassage[] = []
    let line = known.toolsLines
    for (;;) {
      const next = reader.next()
      if (next.done) {
        const toolsLines = known.toolsLines + next.value.lines
        return await index.add(source, { ...known, toolsBytes: next.value.end, toolsLines }, passages)
      }
      line++
      const found = toolTextOf(next.value.bytes.toString('utf8'), source.kind)
      if (!found) continue
      const { offset, bytes } = next.value
      passages.push({ ...found, text: options.redact(found.text), line, offset, length: bytes.length })
    }
  } finally {
    closeSync(fd)
  }
}

function stateFrom(stat: BigIntStats, known: FileState | undefined): FileState {
  return {
    inode: String(stat.ino),
    size: Number(stat.size),
    mtimeMs: Number(stat.mtimeMs),
    readBytes: known?.readBytes ?? 0,
    readLines: known?.readLines ?? 0,
    toolsBytes: known?.toolsBytes ?? 0,
    toolsLines: known?.toolsLines ?? 0,
  }
}

function isUnchanged(known: FileState, stat: BigIntStats): boolean {
  return (
    known.inode === String(stat.ino) &&
    known.size === Number(stat.size) &&
    known.mtimeMs === Number(stat.mtimeMs)
  )
}

function openSource(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch {
    // Gone, or a link to somewhere else: either way there is nothing of ours to index.
    return undefined
  }
}
