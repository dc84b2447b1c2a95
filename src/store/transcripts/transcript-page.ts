// The last entries of a transcript, read from the end of the file backwards: the size of the file does not matter.
import type { FileHandle } from 'node:fs/promises'
import type { TranscriptEntry } from '../../domain/transcript.ts'
import { readHeader } from './transcript-append.ts'
import { readLine } from './transcript-entry.ts'
import { linesBackward } from './transcript-lines.ts'
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
  const end = Math.min(before ?? Infinity, (await handle.stat()).size)
  search: for await (const batch of linesBackward(handle, end)) {
    for (const line of batch) {
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
  const said = [...(header ? [] : ['the header is missing']), ...damage.list().reverse()]
  return { header, entries: newestFirst.reverse(), ...(isMore ? { before: mark } : {}), damage: said }
}
