// A transcript written as a whole: a fork, an import, a shortened one. It appears under its name complete or not at
// all, and never in place of another.
import { randomUUID } from 'node:crypto'
import { link, mkdir, open, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { RockpoolError } from '../domain/errors.ts'
import type { TranscriptEntry, TranscriptHeader } from '../domain/transcript.ts'
import { asDiskError, entryLine, headerLine, syncFolder } from './transcript-append.ts'

const pieceBytes = 1 << 20

export async function writeNewTranscript(
  file: string,
  header: Omit<TranscriptHeader, 'type' | 'version'>,
  entries: AsyncIterable<TranscriptEntry> | Iterable<TranscriptEntry>,
): Promise<void> {
  const folder = dirname(file)
  const draft = join(folder, `.${basename(file).slice(0, 150)}.${randomUUID()}.tmp`)
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDraft(draft, header, entries)
    await link(draft, file)
    await syncFolder(folder)
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EEXIST'
    if (!isTaken) throw asDiskError(error, file)
    throw new RockpoolError('conflict', `${file} exists already.`, { cause: error })
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeDraft(
  draft: string,
  header: Omit<TranscriptHeader, 'type' | 'version'>,
  entries: AsyncIterable<TranscriptEntry> | Iterable<TranscriptEntry>,
): Promise<void> {
  await using handle = await open(draft, 'wx', 0o600)
  let text = headerLine(header)
  for await (const entry of entries) {
    text += entryLine(entry)
    if (text.length < pieceBytes) continue
    await handle.writeFile(text)
    text = ''
  }
  await handle.writeFile(text)
  await handle.sync()
}
