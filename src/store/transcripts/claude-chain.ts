// The conversation as a resume sees it: not all lines of the file, but the records that are reached from the last one by
// following parents. Records on no such path are in the file, but lost for the conversation. Resume and examination use the same
// chain.
import { fstatSync } from 'node:fs'
import { TimeSlice } from '../../domain/async.ts'
import { isRecord, parseRecord } from '../../domain/json.ts'
import { withJoinedPrompt } from '../../domain/joined-prompt.ts'
import { linesOfFile } from '../disk/file-lines.ts'
import { closeAtEnd, openForeign } from '../disk/foreign-file.ts'

/** A record of the conversation, without its text. */
export interface ChainRecord {
  uuid: string
  /** Undefined at the beginning of the file, or after a compaction. */
  parent: string | undefined
  /** For a compaction: the last record that the summary replaces. */
  summarized: string | undefined
  /** A message that joined a turn is one of the user: a resume gives it to Claude, also after the last answer. */
  kind: 'user' | 'assistant' | 'note'
  isCompaction: boolean
  /** A prompt that begins a turn, not the result of a tool. */
  isPrompt: boolean
  messageId: string | undefined
  calls: string[]
  results: string[]
  offset: number
  index: number
}

export type Chain = ReturnType<typeof newChain>

interface ChainBreak {
  /** The missing record, or the first one that is met twice. */
  uuid: string
  why: 'missing' | 'circle'
  /** In a part that a summary replaces: a resume does not need it. */
  isSummarized: boolean
}

const longestLineBytes = 16 << 20
const pauseAfterMs = 10

/** Long files are read with pauses, so that other work continues. */
export async function readChain(path: string): Promise<Chain> {
  const chain = newChain()
  await readLinks(path, chain)
  return walked(chain)
}

export function chainOf(records: Iterable<Record<string, unknown>>): Chain {
  const chain = newChain()
  for (const record of records) addLink(record, 0, chain)
  return walked(chain)
}

/** Of records that are read one by one. */
export class ChainReader {
  readonly #chain = newChain()

  add(record: Record<string, unknown>): void {
    addLink(record, 0, this.#chain)
  }

  end(): Chain {
    return walked(this.#chain)
  }
}

function newChain() {
  return {
    links: new Map<string, ChainRecord>(),
    /** The record that a resume continues from. */
    leaf: undefined as ChainRecord | undefined,
    /** The uuids that a resume reaches, including compacted parts. */
    reached: new Set<string>(),
    /** Places where a parent is missing or the parents form a cycle. */
    breaks: [] as ChainBreak[],
    /** Records of sub-agents in old files, with their parents: not part of the conversation, but a path may lead through them. */
    asides: new Map<string, string | undefined>(),
    /** The cost of the conversation when it was last closed properly. */
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

export function* recordsOf(path: string): Generator<{ offset: number; record: Record<string, unknown> }> {
  const fd = openForeign(path, { noLink: true })
  using _ = closeAtEnd(fd)
  for (const { offset, bytes } of linesOfFile(fd, 0, longestLineBytes)) {
    const record = parseRecord(bytes.toString('utf8'))
    if (record) yield { offset, record }
  }
}

async function readLinks(path: string, chain: Chain): Promise<void> {
  const fd = openForeign(path, { noLink: true })
  using _ = closeAtEnd(fd)
  const lines = linesOfFile(fd, 0, longestLineBytes)
  const share = new TimeSlice(pauseAfterMs)
  for (let next = lines.next(); ; next = lines.next()) {
    if (next.done) {
      chain.overlongLines = next.value.skipped
      chain.isTorn = fstatSync(fd).size > next.value.end
      return
    }
    // The bytes of a line are valid until the next line; a pause does not change that.
    if (share.isUsedUp) await share.yield()
    const text = next.value.bytes.toString('utf8')
    if (text.trim() === '') continue
    const record = parseRecord(text)
    if (!record) chain.damagedLines++
    else addLink(record, next.value.offset, chain)
  }
}

function addLink(record: Record<string, unknown>, offset: number, chain: Chain): void {
  const { uuid, type } = record
  if (type === 'cost-state' && typeof record['totalCostUSD'] === 'number')
    chain.costUsd = record['totalCostUSD']
  // A record without an id is bookkeeping.
  if (typeof uuid !== 'string' || uuid === '' || chain.links.has(uuid)) return
  if (record['isSidechain'] === true) {
    chain.asides.set(uuid, text(record['parentUuid']))
    return
  }
  const said = withJoinedPrompt(record)
  const message = isRecord(said['message']) ? said['message'] : {}
  const blocks: unknown[] = Array.isArray(message['content']) ? message['content'] : []
  const results = idsOf(blocks, 'tool_result', 'tool_use_id')
  chain.links.set(uuid, {
    uuid,
    parent: text(record['parentUuid']),
    summarized: text(record['logicalParentUuid']),
    kind: said['type'] === 'user' ? 'user' : type === 'assistant' ? 'assistant' : 'note',
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

/** A message has one line for each block, and several tools answer in parallel: each of them is on the path. */
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

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
