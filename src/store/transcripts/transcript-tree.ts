// The tree of a transcript: the parent of each entry. It is built in one pass over the file and holds offsets, not texts, so
// that a transcript of hundreds of megabytes fits into memory. Paths bridge damaged parts.
import type { FileHandle } from 'node:fs/promises'
import { RockpoolError } from '../../domain/errors.ts'
import type { TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import { readLine, type ReadLine } from './transcript-entry.ts'
import { lineAt, linesForward, type Line } from './transcript-lines.ts'

interface TranscriptNode {
  id: string
  parentId: string | null
  offset: number
  bytes: number
  type: string
  /** The last entry before the nearest damage above this one; the parent may have been lost there. */
  beforeDamage?: string
  /** The first entry that a compaction keeps; version 1 stores only its number. */
  firstKeptEntryId?: string
}

export interface TranscriptTree {
  header: TranscriptHeader | undefined
  nodes: Map<string, TranscriptNode>
  /** The last entry of the file: the parent of the next one. */
  leafId: string | null
  damage: string[]
}

/** One entry of a pass over the file, with missing ids and parents filled in. */
interface FileEntry {
  entry: TranscriptEntry
  line: Line
}

/** Every entry in file order. Damage is reported to `onDamage` and skipped. */
export async function* entriesOf(
  file: FileHandle,
  onDamage: (what: string) => void,
  onHeader: (header: TranscriptHeader) => void = () => {},
): AsyncGenerator<FileEntry> {
  const ids: string[] = []
  let header: TranscriptHeader | undefined
  let first = true
  for await (const batch of linesForward(file)) {
    for (const line of batch) {
      const read = readLine(line)
      if (first && read.kind !== 'header' && read.kind !== 'blank') onDamage('the header is missing')
      first &&= read.kind === 'blank'
      if (read.kind === 'header') {
        if (header) onDamage(`line ${line.number} is a second header`)
        else onHeader((header = read.header))
      }
      noteDamage(read, onDamage)
      if (read.kind !== 'entry') continue
      if (!read.linked) read.entry.parentId = ids.at(-1) ?? null
      resolveKeptIndex(read.entry, header, ids)
      // Only version 1 refers to entries by number; other versions need only the last id.
      if (!header || header.version > 1) ids.length = 0
      ids.push(read.entry.id)
      yield { entry: read.entry, line }
    }
  }
}

export async function readTree(file: FileHandle): Promise<TranscriptTree> {
  const damage = new DamageList()
  const nodes = new Map<string, TranscriptNode>()
  let header: TranscriptHeader | undefined
  let leafId: string | null = null
  let lastId: string | undefined
  let beforeDamage: string | undefined
  const onDamage = (what: string): void => {
    damage.add(what)
    beforeDamage = lastId
  }
  for await (const { entry, line } of entriesOf(file, onDamage, (found) => (header = found))) {
    let { id } = entry
    const other = nodes.get(id)
    if (other) {
      damage.add(`line ${line.number} repeats entry ${id}`)
      if (await isSameLine(file, other, line)) continue
      id = `${id}-${line.offset.toString(16)}`
    }
    const { offset, bytes } = line
    const node: TranscriptNode = {
      id,
      parentId: entry.parentId,
      offset,
      bytes,
      type: entry.type,
      beforeDamage,
    }
    if (entry.type === 'compaction') node.firstKeptEntryId = entry.firstKeptEntryId
    nodes.set(id, node)
    lastId = leafId = id
  }
  return { header, nodes, leafId, damage: damage.list() }
}

/** The nodes from the root to an entry. A lost parent is bridged at damage; a cycle ends the path. */
export function pathTo(
  tree: TranscriptTree,
  leafId: string | null,
): { path: TranscriptNode[]; damage: string[] } {
  const path: TranscriptNode[] = []
  const damage: string[] = []
  const seen = new Set<string>()
  let node = leafId === null ? undefined : tree.nodes.get(leafId)
  while (node) {
    if (seen.has(node.id)) {
      damage.push(`entry ${node.id} is its own ancestor`)
      break
    }
    seen.add(node.id)
    path.push(node)
    node = parentOf(tree, node)
  }
  return { path: path.reverse(), damage }
}

export async function* entriesAt(file: FileHandle, path: TranscriptNode[]): AsyncGenerator<TranscriptEntry> {
  let parentId: string | null = null
  for (const node of path) {
    yield { ...(await entryAt(file, node)), parentId }
    parentId = node.id
  }
}

export async function entryAt(file: FileHandle, node: TranscriptNode): Promise<TranscriptEntry> {
  const { id, offset, bytes, firstKeptEntryId } = node
  const content = await lineAt(file, offset, bytes)
  const read = readLine({ offset, bytes, content, ended: true, number: 0 })
  if (read.kind !== 'entry') throw new RockpoolError('conflict', 'The transcript changed while it was read.')
  const entry: TranscriptEntry = { ...read.entry, id, parentId: node.parentId }
  if (firstKeptEntryId !== undefined) keepFrom(entry, firstKeptEntryId)
  return entry
}

/** The parent of a node; a lost parent is bridged at damage. */
export function parentOf(tree: TranscriptTree, node: TranscriptNode): TranscriptNode | undefined {
  if (node.parentId === null) return undefined
  const parent = tree.nodes.get(node.parentId)
  if (parent || node.beforeDamage === undefined) return parent
  return tree.nodes.get(node.beforeDamage)
}

function noteDamage(read: ReadLine, onDamage: (what: string) => void): void {
  if (read.kind === 'damage') onDamage(read.what)
  if (read.kind === 'entry' && read.damage) onDamage(read.damage)
}

/** Version 1 refers to the first kept entry by its number; the header has number 0. */
function resolveKeptIndex(entry: TranscriptEntry, header: TranscriptHeader | undefined, ids: string[]): void {
  if (entry.type !== 'compaction' || header === undefined || header.version > 1) return
  const index = (entry as { firstKeptEntryIndex?: unknown }).firstKeptEntryIndex
  if (typeof index === 'number') keepFrom(entry, ids[index - 1] ?? '')
}

function keepFrom(entry: TranscriptEntry, firstKeptEntryId: string): void {
  if (entry.type !== 'compaction') return
  entry.firstKeptEntryId = firstKeptEntryId
  delete (entry as { firstKeptEntryIndex?: unknown }).firstKeptEntryIndex
}

async function isSameLine(file: FileHandle, node: TranscriptNode, line: Line): Promise<boolean> {
  if (node.bytes !== line.bytes || !line.content) return false
  return (await lineAt(file, node.offset, node.bytes)).equals(line.content)
}

/** Descriptions of damage, limited to what a person reads, and how many more there were. */
export class DamageList {
  #shown: string[] = []
  #more = 0

  add(what: string): void {
    if (this.#shown.length < 50) this.#shown.push(what)
    else this.#more++
  }

  list(): string[] {
    return this.#more === 0 ? this.#shown : [...this.#shown, `and ${this.#more} more`]
  }
}
