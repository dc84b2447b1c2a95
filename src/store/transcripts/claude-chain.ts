// The conversation as a resume sees it: not the lines of the file in their order, but the records that are reached from
// the last one by going from child to parent. What hangs on no path to it is in the file and lost all the same. Whoever is
// about to resume a session and whoever examines one look at the same chain.
import { closeSync, fstatSync } from 'node:fs'
import { TimeSlice } from '../../domain/async.ts'
import { linesOfFile } from '../disk/file-lines.ts'
import { openForeign } from '../disk/foreign-file.ts'

/** A record of the conversation, without its words. */
export interface Link {
  uuid: string
  /** Undefined at a beginning: of the file, or after a compaction. */
  parent: string | undefined
  /** At a compaction: the last record that the summary stands for. */
  summarized: string | undefined
  kind: 'user' | 'assistant' | 'note'
  isCompaction: boolean
  /** Something that was asked, not the result of a tool. */
  isPrompt: boolean
  messageId: string | undefined
  calls: string[]
  results: string[]
  /** Where its line begins. */
  offset: number
  /** Its place among the records. */
  index: number
}

export interface Chain {
  links: Map<string, Link>
  /** The record that a resume continues from. */
  leaf: Link | undefined
  /** By uuid: what a resume reaches, compacted parts included. */
  reached: Set<string>
  /** Places where the way back ends in nothing or in a circle. */
  breaks: Break[]
  /** Sub-agents' records of old files, with their parents: no part of the conversation, but the way may lead by. */
  asides: Map<string, string | undefined>
  /** What the conversation had cost when it was last closed in order. */
  costUsd: number
  damagedLines: number
  overlongLines: number
  isTorn: boolean
}

export interface Break {
  /** The record that is missing, or that is met a second time. */
  uuid: string
  why: 'missing' | 'circle'
  /** In a part that a summary stands for: a resume does not need it. */
  isSummarized: boolean
}

const longestLineBytes = 16 << 20
const pauseAfterMs = 10

/** Long files are read with pauses, so that others get their turn. */
export async function readChain(path: string): Promise<Chain> {
  const chain = newChain()
  await readLinks(path, chain)
  return walked(chain)
}

/** Of records that are not in a file. */
export function chainOf(records: Iterable<Record<string, unknown>>): Chain {
  const chain = newChain()
  for (const record of records) addLink(record, 0, chain)
  return walked(chain)
}

function newChain(): Chain {
  return {
    links: new Map(),
    leaf: undefined,
    reached: new Set(),
    breaks: [],
    asides: new Map(),
    costUsd: 0,
    damagedLines: 0,
    overlongLines: 0,
    isTorn: false,
  }
}

function walked(chain: Chain): Chain {
  chain.leaf = [...chain.links.values()].findLast((link) => link.kind !== 'note')
  walkBack(chain)
  reachSiblings(chain)
  return chain
}

/** One record in full, and where it begins. */
export function* recordsOf(path: string): Generator<{ offset: number; record: Record<string, unknown> }> {
  const fd = openForeign(path, { noLink: true })
  try {
    for (const { offset, bytes } of linesOfFile(fd, 0, longestLineBytes)) {
      const record = parseRecord(bytes.toString('utf8'))
      if (record) yield { offset, record }
    }
  } finally {
    closeSync(fd)
  }
}

async function readLinks(path: string, chain: Chain): Promise<void> {
  const fd = openForeign(path, { noLink: true })
  try {
    const lines = linesOfFile(fd, 0, longestLineBytes)
    const share = new TimeSlice(pauseAfterMs)
    for (let next = lines.next(); ; next = lines.next()) {
      if (next.done) {
        chain.overlongLines = next.value.skipped
        chain.isTorn = fstatSync(fd).size > next.value.end
        return
      }
      // The bytes of a line are lent until the next one; a pause does not end that.
      if (share.isUsedUp) await share.yield()
      const text = next.value.bytes.toString('utf8')
      if (text.trim() === '') continue
      const record = parseRecord(text)
      if (!record) chain.damagedLines++
      else addLink(record, next.value.offset, chain)
    }
  } finally {
    closeSync(fd)
  }
}

function addLink(record: Record<string, unknown>, offset: number, chain: Chain): void {
  const { uuid, type } = record
  if (type === 'cost-state' && typeof record['totalCostUSD'] === 'number')
    chain.costUsd = record['totalCostUSD']
  // Without an id it is bookkeeping.
  if (typeof uuid !== 'string' || uuid === '' || chain.links.has(uuid)) return
  if (record['isSidechain'] === true) {
    chain.asides.set(uuid, text(record['parentUuid']))
    return
  }
  const message = isRecord(record['message']) ? record['message'] : {}
  const blocks: unknown[] = Array.isArray(message['content']) ? message['content'] : []
  const results = idsOf(blocks, 'tool_result', 'tool_use_id')
  chain.links.set(uuid, {
    uuid,
    parent: text(record['parentUuid']),
    summarized: text(record['logicalParentUuid']),
    kind: type === 'user' || type === 'assistant' ? type : 'note',
    isCompaction: type === 'system' && record['subtype'] === 'compact_boundary',
    isPrompt: type === 'user' && results.length === 0 && record['isMeta'] !== true,
    messageId: text(message['id']),
    calls: idsOf(blocks, 'tool_use', 'id'),
    results,
    offset,
    index: chain.links.size,
  })
}

function walkBack(chain: Chain): void {
  const passed = new Set<string>()
  let isSummarized = false
  for (let at: string | undefined = chain.leaf?.uuid; at !== undefined;) {
    const link = chain.links.get(at)
    if (passed.has(at) || (!link && !chain.asides.has(at))) {
      chain.breaks.push({ uuid: at, why: passed.has(at) ? 'circle' : 'missing', isSummarized })
      return
    }
    passed.add(at)
    if (link) chain.reached.add(at)
    isSummarized ||= link !== undefined && link.parent === undefined && link.summarized !== undefined
    at = link ? (link.parent ?? link.summarized) : chain.asides.get(at)
  }
}

/** A message is written a block a line, and several tools answer beside each other: one of them leads to the rest. */
function reachSiblings(chain: Chain): void {
  const messages = new Set<string>()
  for (const uuid of chain.reached) {
    const { messageId } = chain.links.get(uuid)!
    if (messageId !== undefined) messages.add(messageId)
  }
  const calls = new Set<string>()
  for (const link of chain.links.values()) {
    if (link.messageId === undefined || !messages.has(link.messageId)) continue
    chain.reached.add(link.uuid)
    for (const call of link.calls) calls.add(call)
  }
  for (const link of chain.links.values())
    if (link.results.some((result) => calls.has(result))) chain.reached.add(link.uuid)
}

function idsOf(blocks: unknown[], type: string, field: string): string[] {
  return blocks.flatMap((block) => {
    if (!isRecord(block) || block['type'] !== type) return []
    const id = block[field]
    return typeof id === 'string' ? [id] : []
  })
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  try {
    const record: unknown = JSON.parse(line)
    return isRecord(record) ? record : undefined
  } catch {
    // Damaged; the caller counts it.
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
