// Repairs a damaged transcript for programs that cannot read past damage: every readable entry below a valid header, linked past
// the damage. The original file is kept as an archive.
import { isUtf8 } from 'node:buffer'
import { link, lstat, rename, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import type { TranscriptEntry } from '../../domain/transcript.ts'
import { syncDirectory, temporaryName, unlessMissing } from '../disk/atomic-file.ts'
import { FileLock, type HeldLock } from '../disk/file-lock.ts'
import { readHeader, writeNewTranscript } from './transcript-append.ts'
import { linesForward } from './transcript-lines.ts'
import { archiveName, parseTranscriptName } from './transcript-paths.ts'
import { entryAt, parentOf, pathTo, readTree, type TranscriptTree } from './transcript-tree.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'

/** Descriptions of the damage; empty if the file is intact. Reads the whole file. */
export async function inspectTranscript(file: string): Promise<string[]> {
  await using handle = await openForeignHandle(file, { noLink: true })
  const tree = await readTree(handle)
  const isEmpty = !tree.header && tree.nodes.size === 0 && tree.damage.length === 0
  return [
    ...tree.damage,
    ...wrongParents(tree),
    ...(await badText(handle)),
    ...(isEmpty ? ['the file is empty'] : []),
  ]
}

export function repairTranscript(file: string, clock: Clock): Promise<string> {
  return new FileLock(file).hold('repair', async (held) => {
    await using handle = await openForeignHandle(file, { noLink: true })
    return await replaceByWhole(file, handle, await readTree(handle), held, clock)
  })
}

/** In a larger file only the first line is checked: an append must not read the whole file. */
const wholeLookBytes = 1 << 20

/** Repairs damage that breaks other programs: pi empties a file that does not begin with a header, and loops for ever on a cycle
 *  of parents. Called with the lock held, before the first append to a file. */
export async function repairForOtherPrograms(file: string, held: HeldLock, clock: Clock): Promise<void> {
  const stats = await lstat(file).catch(unlessMissing)
  if (!stats?.isFile() || stats.size === 0) return
  await using handle = await openForeignHandle(file, { noLink: true })
  const hasHeader = (await readHeader(handle)) !== undefined
  if (hasHeader && stats.size > wholeLookBytes) return
  const tree = await readTree(handle)
  const isCircular = pathTo(tree, tree.leafId).damage.length > 0
  // Without a readable entry there is nothing to repair, and the append writes a header.
  if (tree.nodes.size > 0 && (!hasHeader || isCircular)) await replaceByWhole(file, handle, tree, held, clock)
}

async function replaceByWhole(
  file: string,
  handle: FileHandle,
  tree: TranscriptTree,
  held: HeldLock,
  clock: Clock,
): Promise<string> {
  const folder = dirname(file)
  const whole = temporaryName(file)
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
}

async function* linkedEntries(handle: FileHandle, tree: TranscriptTree): AsyncGenerator<TranscriptEntry> {
  const written = new Set<string>()
  for (const node of tree.nodes.values()) {
    const parent = parentOf(tree, node)?.id
    const parentId = parent !== undefined && written.has(parent) ? parent : null
    written.add(node.id)
    yield { ...(await entryAt(handle, node)), parentId }
  }
}

/** OpenClaw's importer refuses a file with bytes that are not UTF-8; we skip them. */
async function badText(handle: FileHandle): Promise<string[]> {
  const bad: number[] = []
  for await (const batch of linesForward(handle))
    for (const { content, number } of batch) if (content && !isUtf8(content)) bad.push(number)
  return bad.slice(0, 50).map((number) => `line ${number} is not valid UTF-8`)
}

/** An entry before its parent means that the path to the root is lost or has a cycle. */
function wrongParents(tree: TranscriptTree): string[] {
  const seen = new Set<string>()
  let wrong = 0
  for (const { id, parentId } of tree.nodes.values()) {
    if (parentId !== null && !seen.has(parentId)) wrong++
    seen.add(id)
  }
  return wrong === 0 ? [] : [`${wrong} entries hang below an entry that is not there`]
}
