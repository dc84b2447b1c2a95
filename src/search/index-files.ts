// Brings the index up to date with its sources: reads only what was appended, and removes files that no longer exist.
import { closeSync, fstatSync, readFileSync, readSync, type BigIntStats } from 'node:fs'
import type { IndexProgress, SearchKind, SearchSource } from '../domain/search.ts'
import { linesOfFile } from '../store/disk/file-lines.ts'
import { aboutSource, type FileState } from './index-rows.ts'
import type { Addition, KnownSource, NewPassage, SearchIndex } from './search-index.ts'
import { indexedText } from './query.ts'
import { conversationOf, mayConverse } from './passages.ts'
import { openForeign } from '../store/disk/foreign-file.ts'

interface IndexOptions {
  /** Removes secrets, which must not get into the index. */
  redact: (text: string) => string
  onProgress?: (progress: IndexProgress) => void
  /** The sources are complete only for these kinds; files of other kinds stay in the index. */
  kinds?: SearchKind[]
}

/** Size of one transaction; bounded, so that other writers do not wait long. */
const groupPassages = 1_500
const groupChars = 2_000_000
const groupFiles = 200
/** Stored as the size of a partly read file: it matches no real size, so the next pass continues reading. */
const notWhole = -1
const lineEnd = 10

/** Indexes what is new in these sources, and removes every other file from the index. */
export async function indexSources(
  index: SearchIndex,
  sources: Iterable<SearchSource>,
  options: IndexOptions,
): Promise<IndexProgress> {
  const known = index.known(options.kinds)
  const wanted = [...sources]
  const progress = await new Reading(index, known, options).read(wanted)
  for (const { path } of wanted) known.delete(path)
  await index.remove([...known.keys()])
  return progress
}

/** Indexes what is new in these sources only. */
export function indexSome(
  index: SearchIndex,
  sources: SearchSource[],
  options: IndexOptions,
): Promise<IndexProgress> {
  return new Reading(index, index.known(), options).read(sources)
}

/** One pass over some sources. Several small files share one transaction. */
class Reading {
  readonly #index: SearchIndex
  readonly #known: Map<string, KnownSource>
  readonly #options: IndexOptions
  readonly #progress: IndexProgress = { filesDone: 0, files: 0, bytesRead: 0, passages: 0 }
  #additions: Addition[] = []
  #passages = 0
  #chars = 0
  #gone: string[] = []
  #described: SearchSource[] = []

  constructor(index: SearchIndex, known: Map<string, KnownSource>, options: IndexOptions) {
    this.#index = index
    this.#known = known
    this.#options = options
  }

  async read(sources: SearchSource[]): Promise<IndexProgress> {
    this.#progress.files = sources.length
    for (const source of sources) {
      await this.#readSource(source)
      this.#progress.filesDone++
      if (this.#isFull()) await this.#write()
    }
    await this.#write()
    await this.#index.remove(this.#gone)
    await this.#index.describe(this.#described)
    return this.#progress
  }

  async #readSource(source: SearchSource): Promise<void> {
    const known = this.#known.get(source.path)
    if (known && source.seen && isUnchanged(known, source.seen)) return this.#compare(source, known)
    const fd = openSource(source.path)
    if (fd === undefined) {
      if (known) this.#gone.push(source.path)
      return
    }
    try {
      const stat = fstatSync(fd, { bigint: true })
      if (known && isUnchanged(known, stateFrom(stat, undefined))) this.#compare(source, known)
      else if (source.kind === 'memory') this.#readNotes(source, fd, stat)
      else
        await this.#readTranscript(source, fd, stat, known && hasGrown(fd, known, stat) ? known : undefined)
    } finally {
      closeSync(fd)
    }
  }

  #compare(source: SearchSource, known: KnownSource): void {
    // After a reset no session row names the chat any more; keep what the index knows.
    const described = { ...source, chat: source.chat ?? known.source.chat }
    const isSame = String(aboutSource(described)) === String(aboutSource(known.source))
    if (!isSame) this.#described.push(source)
  }

  async #readTranscript(source: SearchSource, fd: number, stat: BigIntStats, known: FileState | undefined) {
    const state = stateFrom(stat, known)
    let from = known && { readBytes: known.readBytes, toolsBytes: known.toolsBytes }
    let passages: NewPassage[] = []
    const readTo = (end: number, lines: number, size: number): void => {
      this.#progress.bytesRead += end - state.readBytes
      Object.assign(state, { readBytes: end, readLines: lines, size })
      this.#additions.push({ source, from, state: { ...state }, passages })
      from = { readBytes: end, toolsBytes: state.toolsBytes }
      passages = []
    }
    const before = state.readLines
    const reader = linesOfFile(fd, state.readBytes)
    for (;;) {
      const next = reader.next()
      // The last state says that the whole file was read, even if it had nothing to index.
      if (next.done) return readTo(next.value.end, before + next.value.lines, Number(stat.size))
      const line = before + next.value.number
      const passage = this.#passageOf(next.value.bytes, next.value.offset, line, source)
      if (!passage) continue
      passages.push(passage)
      if (!this.#isFull()) continue
      readTo(next.value.offset + next.value.bytes.length + 1, line, notWhole)
      await this.#write()
    }
  }

  #passageOf(bytes: Buffer, offset: number, line: number, source: SearchSource): NewPassage | undefined {
    if (!mayConverse(bytes, source.kind)) return undefined
    const found = conversationOf(bytes.toString('utf8'), source.kind)
    if (!found) return undefined
    const text = indexedText(this.#options.redact(found.text))
    this.#count(text)
    return { text, line, offset, length: bytes.length, role: found.role, at: found.at }
  }

  /** Notes are small: they are read as a whole after each change, one passage for each paragraph. */
  #readNotes(source: SearchSource, fd: number, stat: BigIntStats): void {
    const bytes = readFileSync(fd)
    const passages = paragraphsOf(bytes).map((paragraph) => {
      const text = indexedText(this.#options.redact(paragraph.text))
      this.#count(text)
      return { ...paragraph, text, role: 'memory' as const, at: Number(stat.mtimeMs) }
    })
    const readLines = bytes.toString('utf8').split('\n').length
    const state = { ...stateFrom(stat, undefined), readBytes: bytes.length, readLines }
    this.#additions.push({ source, from: undefined, state, passages })
    this.#progress.bytesRead += bytes.length
  }

  #count(text: string): void {
    this.#passages++
    this.#chars += text.length
    this.#progress.passages++
  }

  #isFull(): boolean {
    return (
      this.#passages >= groupPassages || this.#chars >= groupChars || this.#additions.length >= groupFiles
    )
  }

  async #write(): Promise<void> {
    const additions = this.#additions
    this.#additions = []
    this.#passages = this.#chars = 0
    if (additions.length > 0) await this.#index.add(additions)
    this.#options.onProgress?.(this.#progress)
  }
}

export function paragraphsOf(bytes: Buffer) {
  const paragraphs: Array<Pick<NewPassage, 'text' | 'line' | 'offset' | 'length'>> = []
  let line = 1
  let offset = 0
  for (const block of blocksOf(bytes.toString('utf8'))) {
    const length = Buffer.byteLength(block)
    if (block.trim() !== '') paragraphs.push({ text: block.trim(), line, offset, length })
    const gap = bytes.indexOf('\n', offset + length)
    line += block.split('\n').length
    offset = gap === -1 ? bytes.length : gap + 1
  }
  return paragraphs
}

/** Split at empty lines, but not within a private key: the redactor would not recognise half of it. */
function blocksOf(text: string): string[] {
  const keys = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?!-----)[\s\S])*/g
  const within = [...text.matchAll(keys)].map(({ index, 0: key }) => [index, index + key.length] as const)
  const blocks: string[] = []
  let from = 0
  for (const { index, 0: gap } of text.matchAll(/(?<=\n)[ \t\r]*\n/g)) {
    if (within.some(([start, end]) => index > start && index < end)) continue
    blocks.push(text.slice(from, index))
    from = index + gap.length
  }
  return [...blocks, text.slice(from)]
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

function isUnchanged(known: FileState, now: { inode: string | number; size: number; mtimeMs: number }) {
  return (
    known.inode === String(now.inode) && known.size === now.size && known.mtimeMs === Math.trunc(now.mtimeMs)
  )
}

/** True if the file only grew. The part already read ended with a line break; a rewritten file hardly has one at the same offset. */
function hasGrown(fd: number, known: FileState, stat: BigIntStats): boolean {
  if (known.inode !== String(stat.ino) || Number(stat.size) < known.readBytes) return false
  if (known.readBytes === 0) return true
  const last = Buffer.alloc(1)
  return readSync(fd, last, 0, 1, known.readBytes - 1) === 1 && last[0] === lineEnd
}

export function openSource(path: string): number | undefined {
  try {
    return openForeign(path, { noLink: true })
  } catch {
    // Removed, or a link to another place: nothing to index.
    return undefined
  }
}
