// Appends entries to a transcript file with one durable write, independent of the size of the file. Concurrent appends share a
// lock, a write and a sync; each resolves after that sync. Before the first new line the end of the file is checked: a missing
// newline is added, and a torn line is moved to `<file>.torn`.
import { randomUUID } from 'node:crypto'
import { constants, fstatSync, writeSync } from 'node:fs'
import { appendFile, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { checkJsonDepth, jsonText } from '../../domain/json.ts'
import type { EntryBody, TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import {
  asFileError,
  createFileAtomically,
  ensureDirectory,
  syncData,
  syncDirectory,
} from '../disk/atomic-file.ts'
import type { Entries } from '../session-store.ts'
import { readLine } from './transcript-entry.ts'
import { linesBackward, linesForward, maxLineBytes, type Line } from './transcript-lines.ts'
import { readTree } from './transcript-tree.ts'

/** Up to this size all ids are read and new ones have eight digits; beyond it new ids are long, so they need no check. */
const knownIdsBytes = 1 << 20

const shortBytes = 1 << 16

const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW } = constants

export interface NewEntries {
  bodies: EntryBody[]
  /** The JSON of each body (`bodyTexts`). */
  texts: string[]
  /** For the header, if there is no file yet. */
  header: { id: string; cwd: string; parentSession?: string }
  isKeptElsewhere: boolean
}

/** Cached knowledge about the end of a file; valid while the file is the same and has this size. */
export interface FileEnd {
  inode: number
  size: number
  leafId: string | null
  /** The ids of all entries; undefined for a file that is too large to read them. */
  ids: Set<string> | undefined
  needsHeader: boolean
}

interface Appended {
  entries: TranscriptEntry[][]
  end: FileEnd
}

/** Writes all groups at once; the caller holds the lock of the file. If this throws, the file is unchanged. */
export async function appendEntries(
  file: OpenTranscript,
  groups: NewEntries[],
  options: {
    known: FileEnd | undefined
    clock: Clock
    durability: 'full' | 'relaxed'
    confirm: () => void
  },
): Promise<Appended> {
  const { handle, path } = file
  try {
    // fstat of an open file is fast, so it runs synchronously.
    const { ino: inode, size: found } = fstatSync(handle.fd)
    const isKnown = options.known?.inode === inode && options.known.size === found
    const end = isKnown ? options.known! : await readEnd(file, { inode, size: found }, groups[0]!.header.id)
    const isNew = end.size === 0
    const { text, entries } = compose(groups, end, options.clock)
    options.confirm()
    const bytes = Buffer.from(text)
    const mayWait = !isNew && groups.every((group) => group.isKeptElsewhere)
    const sync = options.durability === 'full' && !mayWait
    try {
      // A short write is faster here than in another thread.
      if (bytes.length <= shortBytes) writeNow(handle.fd, bytes)
      else await writeLong(handle, bytes)
      if (sync) await syncData(handle.fd)
    } catch (error) {
      await undoAppend(handle, end.size)
      throw error
    }
    if (isNew && sync) await syncDirectory(dirname(path))
    const size = end.size + bytes.length
    const ids = size > knownIdsBytes ? undefined : end.ids
    return { entries, end: { ...end, size, ids, leafId: entries.at(-1)!.at(-1)!.id, needsHeader: false } }
  } catch (error) {
    throw asFileError(error, path)
  }
}

export interface OpenTranscript {
  path: string
  handle: FileHandle
}

type HeaderFields = Omit<TranscriptHeader, 'type' | 'version'>

export function headerLine(header: HeaderFields): string {
  const { id, timestamp, cwd, parentSession } = header
  return `${JSON.stringify({ type: 'session', version: 3, id, timestamp, cwd, parentSession })}\n`
}

/** The line of an entry, with the fields in pi's order. */
function entryLine(entry: TranscriptEntry): string {
  const { id, parentId, timestamp, ...body } = entry
  return lineOf(body.type, bodyText(body), { id, parentId, timestamp })
}

type Place = Pick<TranscriptEntry, 'id' | 'parentId' | 'timestamp'>

function lineOf(type: string, text: string, { id, parentId, timestamp }: Place): string {
  const own = `"id":${JSON.stringify(id)},"parentId":${JSON.stringify(parentId)},"timestamp":${JSON.stringify(timestamp)}`
  const body = text.slice(1, -1)
  const isCustom = type === 'custom' || type === 'custom_message'
  const fields = body === '' ? own : isCustom ? `${body},${own}` : `${own},${body}`
  return `{"type":${JSON.stringify(type)},${fields}}\n`
}

/** The longest `{"type":…,"id":…,"parentId":…,"timestamp":…}`, and more. */
const placeBytes = 512

/** The JSON of what an entry says, without its type. */
function bodyText(body: EntryBody): string {
  checkJsonDepth(body, 'An entry for a transcript')
  const { type: _type, ...fields } = body
  const text = jsonText(fields)
  // A letter of a string has at most three bytes.
  if (text.length * 3 <= maxLineBytes - placeBytes) return text
  if (Buffer.byteLength(text) <= maxLineBytes - placeBytes) return text
  throw new RockpoolError(
    'input-invalid',
    `An entry for a transcript has more than ${maxLineBytes >> 20} MiB.`,
    { hint: 'Keep large content in a file and write its name.' },
  )
}

const pieceBytes = 1 << 20

/** Writes a new transcript as a whole: a fork, an import, a shortened one. It never replaces another. */
export async function writeNewTranscript(
  file: string,
  header: HeaderFields,
  entries: Entries,
): Promise<void> {
  await ensureDirectory(dirname(file))
  if (await createFileAtomically(file, piecesOf(header, entries))) return
  throw new RockpoolError('conflict', `${file} exists already.`)
}

async function* piecesOf(header: HeaderFields, entries: Entries): AsyncGenerator<string> {
  let text = headerLine(header)
  for await (const entry of entries) {
    text += entryLine(entry)
    if (text.length < pieceBytes) continue
    yield text
    text = ''
  }
  yield text
}

/** Throws if these entries cannot be written, before they are grouped with other writers' entries. */
export function bodyTexts(bodies: EntryBody[]): string[] {
  if (bodies.length === 0)
    throw new RockpoolError('input-invalid', 'There is no entry to add to the transcript.')
  return bodies.map(bodyText)
}

export async function openToAppend(file: string): Promise<OpenTranscript> {
  const opening = open(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)
  const handle = await opening.catch((error: unknown) => {
    throw asFileError(error, file)
  })
  const stat = await handle.stat()
  if (stat.isFile()) {
    // OpenClaw leaves its transcripts readable by other users.
    if ((stat.mode & 0o077) !== 0) await handle.chmod(0o600)
    return { path: file, handle }
  }
  await handle.close()
  throw new RockpoolError('refused', `${file} is not a plain file.`)
}

async function readEnd(
  { handle, path }: OpenTranscript,
  { inode, size }: Pick<FileEnd, 'inode' | 'size'>,
  id: string,
): Promise<FileEnd> {
  if (size === 0) return { inode, size, leafId: null, ids: new Set(), needsHeader: true }
  await refuseOther(handle, path, id)
  const repaired = await repairEnd(handle, path, size)
  if (repaired <= knownIdsBytes) {
    const { header, leafId, nodes } = await readTree(handle)
    const needsHeader = !header && nodes.size === 0
    return { inode, size: repaired, leafId, ids: new Set(nodes.keys()), needsHeader }
  }
  const leafId = await findLeaf(handle, repaired)
  return { inode, size: repaired, leafId, ids: undefined, needsHeader: false }
}

/** On a case-insensitive file system two ids may name one file. */
async function refuseOther(handle: FileHandle, file: string, id: string): Promise<void> {
  const header = await readHeader(handle)
  if (!header || header.id === id || header.id.toLowerCase() !== id.toLowerCase()) return
  throw new RockpoolError('conflict', `${file} belongs to the session ${header.id}, not to ${id}.`)
}

export async function readHeader(handle: FileHandle): Promise<TranscriptHeader | undefined> {
  for await (const batch of linesForward(handle)) {
    for (const line of batch) {
      const read = readLine(line)
      if (read.kind === 'header') return read.header
      if (read.kind !== 'blank') return undefined
    }
  }
  return undefined
}

/** Ensures that the file ends with a newline; resolves to the resulting size. */
async function repairEnd(handle: FileHandle, file: string, size: number): Promise<number> {
  const last = await lastLine(handle, size)
  if (!last || last.ended) return size
  const isTorn = last.content !== undefined && readLine(last).kind === 'damage'
  if (!isTorn) {
    await handle.write('\n')
    return size + 1
  }
  // Copied before they are cut, so these bytes are never lost.
  await appendFile(`${file}.torn`, Buffer.concat([last.content!, Buffer.from('\n')]), {
    mode: 0o600,
    flush: true,
  })
  await handle.truncate(last.offset)
  return last.offset
}

async function lastLine(handle: FileHandle, size: number): Promise<Line | undefined> {
  for await (const batch of linesBackward(handle, size)) return batch[0]
  return undefined
}

/** The last entry of a large file. Reads only the end of the file, unless an old line seems to be repeated there. */
async function findLeaf(handle: FileHandle, size: number): Promise<string | null> {
  let leaf: TranscriptEntry | undefined
  for await (const batch of linesBackward(handle, size)) {
    for (const line of batch) {
      const read = readLine(line)
      if (read.kind !== 'entry') continue
      if (leaf === undefined) leaf = read.entry
      else if (leaf.timestamp >= read.entry.timestamp) return leaf.id
      else return (await readTree(handle)).leafId
    }
  }
  return leaf?.id ?? null
}

function compose(
  groups: NewEntries[],
  end: FileEnd,
  clock: Clock,
): { text: string; entries: TranscriptEntry[][] } {
  const timestamp = new Date(clock.now()).toISOString()
  let text = end.needsHeader ? headerLine({ ...groups[0]!.header, timestamp }) : ''
  let parentId = end.leafId
  const entries = groups.map(({ bodies, texts }) =>
    bodies.map((body, index) => {
      const id = newId(end.ids)
      const entry = { ...body, id, parentId, timestamp }
      text += lineOf(body.type, texts[index]!, entry)
      end.ids?.add(id)
      parentId = id
      return entry
    }),
  )
  return { text, entries }
}

function newId(taken: Set<string> | undefined): string {
  if (!taken) return randomUUID()
  for (;;) {
    // Eight random digits, which need not be secret.
    const id = Math.floor(Math.random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
    if (!taken.has(id)) return id
  }
}

function writeNow(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
}

async function writeLong(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done)).bytesWritten
}

/** Removes a partial line, and lines that may not be durable, because the append is reported as failed. */
async function undoAppend(handle: FileHandle, size: number): Promise<void> {
  await handle.truncate(size).catch(() => {
    // The next append finds the torn line and moves it away.
  })
}
