// Writes a new transcript as a whole: a fork, an import, a shortened one. The file appears complete or not at all, and never
// replaces another.
import { link, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { asFileError, ensureDirectory, errorCode, syncDirectory, temporaryName } from '../disk/atomic-file.ts'
import type { Entries } from '../session-store.ts'
import { entryLine, headerLine, type HeaderFields } from './transcript-append.ts'

const pieceBytes = 1 << 20

export async function writeNewTranscript(
  file: string,
  header: HeaderFields,
  entries: Entries,
): Promise<void> {
  const folder = dirname(file)
  const draft = temporaryName(file)
  try {
    await ensureDirectory(folder)
    await writeDraft(draft, header, entries)
    await link(draft, file)
    await syncDirectory(folder)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw asFileError(error, file)
    throw new RockpoolError('conflict', `${file} exists already.`, { cause: error })
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeDraft(draft: string, header: HeaderFields, entries: Entries): Promise<void> {
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
