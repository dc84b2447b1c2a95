// Copies the transcripts of an OpenClaw into our folder, for openclaw-import.ts: completely or not at all, unpacked with bounded
// memory, and never over a transcript that was continued here.
import { createReadStream, existsSync, type ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import zlib from 'node:zlib'
import { RockpoolError } from '../../domain/errors.ts'
import { createFileAtomically, ensureDirectory, writeFileAtomically } from '../disk/atomic-file.ts'
import { FileLock } from '../disk/file-lock.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'
import type { SourceTranscript } from './openclaw-source.ts'

type TranscriptOutcome = 'added' | 'changed' | 'kept' | 'differs'

/** Copies a transcript, or the lines that our copy lacks. A copy that was continued here stays unchanged. */
export async function importTranscript(
  { name, content }: SourceTranscript,
  folder: string,
  dryRun: boolean,
): Promise<TranscriptOutcome> {
  const target = join(folder, name)
  const source = (): AsyncIterable<Buffer> => bytesOf(content)
  if (existsSync(target)) {
    const isLonger = await isContinued(source(), target)
    if (isLonger === undefined) return 'differs'
    if (!isLonger) return 'kept'
    return dryRun || (await replaceByLonger(target, source)) ? 'changed' : 'differs'
  }
  if (dryRun) return 'added'
  await ensureDirectory(folder)
  return (await createFileAtomically(target, source())) ? 'added' : 'kept'
}

/** Runs under the lock of the transcript: a copy that was appended to meanwhile is a conversation of its own. */
function replaceByLonger(target: string, source: () => AsyncIterable<Buffer>): Promise<boolean> {
  return new FileLock(target).hold('import', async (held) => {
    if (!(await isContinued(source(), target))) return false
    await writeFileAtomically(target, source(), { beforeCommit: () => held.confirm() })
    return true
  })
}

async function* bytesOf(content: SourceTranscript['content']): AsyncIterable<Buffer> {
  if (!('file' in content)) yield* bounded(bytesOfLines(content.lines()), 'The transcript')
  else if (content.isPacked) yield* bounded(unpackedBytes(content.file), content.file)
  else yield* (await streamOf(content.file)) as AsyncIterable<Buffer>
}

function* bytesOfLines(lines: Iterable<string>): Iterable<Buffer> {
  for (const line of lines) yield Buffer.from(`${line}\n`)
}

async function streamOf(file: string): Promise<ReadStream> {
  return createReadStream('', { fd: await openForeignHandle(file, { noLink: true }) })
}

/** A small packed file can expand to more than any disk has. */
const maxUnpackedBytes = 512 * 1024 * 1024

async function* bounded(all: Iterable<Buffer> | AsyncIterable<Buffer>, what: string): AsyncIterable<Buffer> {
  let bytes = 0
  for await (const piece of all) {
    bytes += piece.length
    if (bytes > maxUnpackedBytes)
      throw new RockpoolError('refused', `${what} unpacks to more than ${maxUnpackedBytes >> 20} MiB.`)
    yield piece
  }
}

async function* unpackedBytes(file: string): AsyncIterable<Buffer> {
  if (!('createZstdDecompress' in zlib))
    throw new RockpoolError('unavailable', `${file} is packed, and this Node cannot unpack it.`, {
      hint: 'Use Node 22.15 or newer.',
    })
  // A failure of either stream reaches the loop that reads it.
  yield* pipeline(
    await streamOf(file),
    zlib.createZstdDecompress(),
    () => {},
  ) as unknown as AsyncIterable<Buffer>
}

/** True if `source` continues where our file ends; false if they are equal, undefined if they differ. */
async function isContinued(source: AsyncIterable<Buffer>, target: string): Promise<boolean | undefined> {
  await using file = await open(target, 'r')
  const { size } = await file.stat()
  let at = 0
  for await (const piece of source) {
    const here = Buffer.alloc(Math.min(piece.length, Math.max(0, size - at)))
    const { bytesRead } = await file.read(here, 0, here.length, at)
    if (bytesRead !== here.length || !here.equals(piece.subarray(0, here.length))) return undefined
    at += piece.length
  }
  return at < size ? undefined : at > size
}
