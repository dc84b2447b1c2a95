// Making a damaged transcript whole again, for readers that are less patient than we are: every readable entry below
// a valid header, linked past the damage. The file as it was stays beside it as an archive.
import { link, rename } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import type { TranscriptEntry } from '../../domain/transcript.ts'
import { syncDirectory, temporaryName } from '../disk/atomic-file.ts'
import { FileLock } from '../disk/file-lock.ts'
import { writeNewTranscript } from './transcript-create.ts'
import { archiveName, parseTranscriptName } from './transcript-paths.ts'
import { entryAt, parentOf, readTree } from './transcript-tree.ts'
import type { TranscriptTree } from './transcript-tree.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'

/** What is wrong with the file, in words; nothing when it is whole. Reads all of it. */
export async function inspectTranscript(file: string): Promise<string[]> {
  await using handle = await openForeignHandle(file, { noLink: true })
  const tree = await readTree(handle)
  const isEmpty = !tree.header && tree.nodes.size === 0 && tree.damage.length === 0
  return [...tree.damage, ...wrongParents(tree), ...(isEmpty ? ['the file is empty'] : [])]
}

/** Resolves to the archive's name. */
export async function repairTranscript(file: string, clock: Clock): Promise<string> {
  return new FileLock(file).hold('repair', async (held) => {
    const folder = dirname(file)
    const whole = temporaryName(file)
    await using handle = await openForeignHandle(file, { noLink: true })
    const tree = await readTree(handle)
    const { sessionId = 'unknown' } = parseTranscriptName(basename(file)) ?? {}
    const first = tree.nodes.values().next().value
    const { timestamp = '' } = first ? await entryAt(handle, first) : {}
    const header = tree.header ?? { id: sessionId, timestamp, cwd: '' }
    await writeNewTranscript(whole, header, linkedEntries(handle, tree))
    held.confirm()
    const archive = archiveName(file, 'bak', clock.now())
    await link(file, join(folder, archive))
    await rename(whole, file)
    await syncDirectory(folder)
    return archive
  })
}

/** In file order, each below an entry before it. */
async function* linkedEntries(handle: FileHandle, tree: TranscriptTree): AsyncGenerator<TranscriptEntry> {
  const written = new Set<string>()
  for (const node of tree.nodes.values()) {
    const parent = parentOf(tree, node)?.id
    const parentId = parent !== undefined && written.has(parent) ? parent : null
    written.add(node.id)
    yield { ...(await entryAt(handle, node)), parentId }
  }
}

/** An entry comes after its parent; where it does not, the way to the root is lost or runs in a circle. */
function wrongParents(tree: TranscriptTree): string[] {
  const seen = new Set<string>()
  let wrong = 0
  for (const { id, parentId } of tree.nodes.values()) {
    if (parentId !== null && !seen.has(parentId)) wrong++
    seen.add(id)
  }
  return wrong === 0 ? [] : [`${wrong} entries hang below an entry that is not there`]
}
