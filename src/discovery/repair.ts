// Repairs a session: writes a copy as a new session, with all valid records in one chain. Branches that two processes wrote are
// put one after another, and missing tool results are replaced by an error. The original is only read.
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import type { SessionHealth } from '../domain/discovered-session.ts'
import { RockpoolError } from '../domain/errors.ts'
import { titleText } from '../domain/machine-text.ts'
import { writeFileAtomically } from '../store/disk/atomic-file.ts'
import { readChain, recordsOf, type Chain, type ChainRecord } from '../store/transcripts/claude-chain.ts'
import { branchesOf, healthOf, toolsOf, checkHealth } from './transcript-health.ts'

interface Repaired {
  sessionId: string
  filePath: string
  health: SessionHealth
  /** Records of the conversation that are not in the copy. */
  left: number
}

type JsonRecord = Record<string, unknown>

export async function repairTranscript(sessionId: string, path: string): Promise<Repaired> {
  const chain = await readChain(path)
  const order = inOneChain(chain)
  const { findings } = healthOf(sessionId, chain)
  if (order.length === 0)
    throw new RockpoolError('damaged', `${path} contains no conversation that could be repaired.`, {
      hint: `Findings: ${findings.join('; ')}.`,
    })
  if (findings.length === 0)
    throw new RockpoolError('refused', `${sessionId} is not damaged.`, {
      hint: `\`rockpool cc resume ${sessionId.slice(0, 8)}\` continues it as it is.`,
    })
  const newId = randomUUID()
  const filePath = join(dirname(path), `${newId}.jsonl`)
  await writeFileAtomically(filePath, copyOf(path, order, { from: sessionId, to: newId }))
  const health = await checkHealth(newId, filePath)
  const kept = new Set(order.map((link) => link.uuid))
  const left = [...chain.links.values()].filter((link) => link.kind !== 'note' && !kept.has(link.uuid)).length
  return { sessionId: newId, filePath, health, left }
}

/** Every record to keep, in the order of the conversation. */
function inOneChain(chain: Chain): ChainRecord[] {
  const lost = new Map(branchesOf(chain).map(({ from, lost }) => [from.uuid, lost]))
  const unreached = cutOff(chain, new Set([...lost.values()].flat()))
  const kept = [...chain.links.values()].filter((link) => chain.reached.has(link.uuid) || unreached.has(link))
  const order: ChainRecord[] = []
  let waiting: ChainRecord[] = []
  for (const link of kept) {
    // A branch is inserted before the next prompt, never between a tool call and its result.
    if (link.isPrompt) order.push(...waiting.splice(0))
    order.push(link)
    waiting = [...waiting, ...(lost.get(link.uuid) ?? [])]
  }
  return withoutOrphans([...order, ...waiting])
}

/** The records behind a broken link: not reached, and not part of a branch. */
function cutOff(chain: Chain, inBranches: Set<ChainRecord>): Set<ChainRecord> {
  if (chain.breaks.length === 0) return new Set()
  return new Set(
    [...chain.links.values()].filter((link) => !chain.reached.has(link.uuid) && !inBranches.has(link)),
  )
}

function withoutOrphans(order: ChainRecord[]): ChainRecord[] {
  const orphaned = new Set(toolsOf(order).orphaned)
  return order.filter((link) => !link.results.some((result) => orphaned.has(result)))
}

/** The lines of the copy, one after the other. */
async function* copyOf(
  path: string,
  order: ChainRecord[],
  ids: { from: string; to: string },
): AsyncGenerator<string> {
  const recordAt = recordsByOffset(path, order)
  const unanswered = new Set(toolsOf(order).unanswered)
  let title = ''
  let last: JsonRecord | undefined
  for (const [i, link] of order.entries()) {
    const record = chained(recordAt(link.offset), link, last, ids)
    yield `${JSON.stringify(record)}\n`
    last = record
    if (title === '' && link.isPrompt) title = firstWords(record)
    if (link.messageId !== undefined && order[i + 1]?.messageId === link.messageId) continue
    for (const call of unansweredOf(order, link, unanswered)) {
      last = lostResult(call, last)
      yield `${JSON.stringify(last)}\n`
    }
  }
  const customTitle = `${title || ids.from} (repaired)`
  yield `${JSON.stringify({ type: 'custom-title', customTitle, sessionId: ids.to })}\n`
}

/** The record in its new place. */
function chained(
  record: JsonRecord,
  link: ChainRecord,
  last: JsonRecord | undefined,
  ids: { from: string; to: string },
): JsonRecord {
  const before = last?.['uuid'] ?? null
  const place = link.isCompaction ? { parentUuid: null, logicalParentUuid: before } : { parentUuid: before }
  const origin = { sessionId: ids.from, messageUuid: link.uuid }
  return { ...record, ...place, sessionId: ids.to, forkedFrom: origin }
}

function lostResult(toolUseId: string, last: JsonRecord): JsonRecord {
  const { timestamp, userType, cwd, version, gitBranch, sessionId } = last
  const place = { timestamp, userType, cwd, version, gitBranch, sessionId }
  const content = 'The result of this call was lost.'
  const result = { type: 'tool_result', tool_use_id: toolUseId, is_error: true, content }
  return {
    parentUuid: last['uuid'],
    isSidechain: false,
    type: 'user',
    message: { role: 'user', content: [result] },
    uuid: randomUUID(),
    ...place,
  }
}

function unansweredOf(order: ChainRecord[], link: ChainRecord, unanswered: Set<string>): string[] {
  if (link.kind !== 'assistant') return []
  const message = order.filter(
    (other) => other === link || (link.messageId && other.messageId === link.messageId),
  )
  return message.flatMap((other) => other.calls).filter((call) => unanswered.has(call))
}

/** Gives records by their offset in any order. Callers nearly always ask in file order, so it holds few records in memory. */
function recordsByOffset(path: string, order: ChainRecord[]): (offset: number) => JsonRecord {
  const wanted = new Set(order.map((link) => link.offset))
  const held = new Map<number, JsonRecord>()
  const source = recordsOf(path)
  return (offset) => {
    while (!held.has(offset)) {
      const next = source.next()
      if (next.done) throw new RockpoolError('conflict', `${path} changed while it was read.`)
      if (wanted.has(next.value.offset)) held.set(next.value.offset, next.value.record)
    }
    const record = held.get(offset)!
    held.delete(offset)
    return record
  }
}

function firstWords(record: JsonRecord): string {
  const message = record['message'] as { content?: unknown } | undefined
  const content = message?.content
  const block: unknown = Array.isArray(content) ? content[0] : undefined
  const text = typeof content === 'string' ? content : (block as { text?: unknown } | undefined)?.text
  return typeof text === 'string' ? titleText(text).replace(/\s+/g, ' ').trim().slice(0, 80) : ''
}
