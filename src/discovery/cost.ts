// Adds up tokens and dollars over many files. Each message counts once, although several files may repeat it: with the record
// that has most tokens, charged to the file that has it first.
import type { AgentKind } from '../domain/agent.ts'
import type { Cost, CostFilter, CostGroup, CostParts, CostReport } from '../domain/costs.ts'
import { periodOf } from '../domain/local-time.ts'
import { pricesAsOf, pricesOf } from './model-prices.ts'
import { chargeFor } from './price-table.ts'
import { UsageTable, creationOf, type UsageRecord } from './usage-table.ts'
import { noTokens } from './transcript-facts.ts'

/** The usage of one file, and what its calls can be grouped by. */
export interface FileUsage {
  usage: UsageTable
  models: string[]
  sessionId: string
  sessionName: string
  repoPath: string
  agentId: string
  agentKind: AgentKind
  part: keyof CostParts
  /** Calls before this time (ms) are of no part of Rockpool: it continued a session that was there. */
  partSince?: number
}

type Line = CostReport['by'][number]

/** Adds up all files. `dayOf` gives the date of a time (ms). */
export function reportCosts(
  files: Iterable<FileUsage>,
  filter: CostFilter,
  dayOf: (ms: number) => string,
): CostReport {
  const totals = noCost()
  const parts: CostParts = { chatsUsd: 0, codingUsd: 0, nativeUsd: 0 }
  const known = memoized(pricesOf)
  const unpriced = new Set<string>()
  const groups = new Map<string, Line & { ids: Set<string> }>()
  for (const { record, file } of eachMessageOnce(files)) {
    if (!isWanted(record, file, filter, dayOf)) continue
    const model = file.models[record.model]
    const prices = known(model)
    if (prices.isUnknown && record.reportedUsd === undefined && model !== undefined) unpriced.add(model)
    const { m5, h1 } = creationOf(record)
    const cost: Cost = {
      inputTokens: record.input,
      outputTokens: record.output,
      cacheReadTokens: record.cacheRead,
      cacheCreationTokens: m5 + h1,
      costUsd: chargeFor(record, prices, m5, h1),
      guessed: prices.guessed && record.reportedUsd === undefined,
    }
    add(totals, cost)
    parts[partOf(record, file)] += cost.costUsd
    const group = groupOf(filter.by ?? 'repo', record, file, model, dayOf)
    const line = lineOf(groups, group.key, group.name)
    add(line, cost)
    line.messages++
    line.ids.add(file.sessionId)
    if (filter.by === 'day') addModel(line, model ?? 'unknown', cost.costUsd)
  }
  const by = sorted(groups, filter.by ?? 'repo')
  return { totals, parts, by, pricesAsOf, unpriced: unpriced.size > 0 ? [...unpriced].sort() : undefined }
}

function partOf({ seconds }: UsageRecord, { part, partSince = 0 }: FileUsage): keyof CostParts {
  // Records have whole seconds.
  return seconds > 0 && seconds * 1_000 + 999 < partSince ? 'nativeUsd' : part
}

function addModel(line: Line, model: string, usd: number): void {
  line.models ??= {}
  line.models[model] = (line.models[model] ?? 0) + usd
}

interface Call {
  record: UsageRecord
  file: FileUsage
}

function eachMessageOnce(files: Iterable<FileUsage>): Call[] {
  const once = new UsageTable()
  const calls: Call[] = []
  for (const file of files) {
    for (let i = 0; i < file.usage.length; i++) {
      const record = file.usage.at(i)
      once.put(record)
      const { index } = once
      if (index === calls.length) calls.push({ record, file })
      // A more complete copy in a later file: use its numbers, but charge the session that had the message first.
      else calls[index]!.record = { ...once.at(index), model: calls[index]!.record.model }
    }
  }
  return calls
}

function isWanted(record: UsageRecord, file: FileUsage, filter: CostFilter, dayOf: (ms: number) => string) {
  const ms = record.seconds * 1000
  if (filter.since !== undefined && ms < filter.since) return false
  if (filter.until !== undefined && ms >= filter.until) return false
  if (filter.firstDay !== undefined && dayOf(ms) < filter.firstDay) return false
  if (filter.lastDay !== undefined && dayOf(ms) > filter.lastDay) return false
  return filter.agentId === undefined || file.agentId === filter.agentId
}

function groupOf(
  by: CostGroup,
  { seconds }: UsageRecord,
  { repoPath, agentId, agentKind, sessionId, sessionName }: FileUsage,
  model = 'unknown',
  dayOf: (ms: number) => string,
): { key: string; name: string } {
  if (by === 'repo') return { key: repoPath, name: repoPath }
  if (by === 'agent-kind') return { key: agentKind, name: agentKind }
  if (by === 'agent') return { key: agentId, name: agentId || '(no agent)' }
  if (by === 'model') return { key: model, name: model }
  if (by === 'session') return { key: sessionId, name: sessionName }
  const day = seconds > 0 ? periodOf(by, dayOf(seconds * 1000)) : 'unknown'
  return { key: day, name: day }
}

function lineOf(groups: Map<string, Line & { ids: Set<string> }>, key: string, name: string) {
  let line = groups.get(key)
  if (!line)
    groups.set(key, (line = { key, name, ...noCost(), sessions: 0, messages: 0, ids: new Set<string>() }))
  return line
}

function sorted(groups: Map<string, Line & { ids: Set<string> }>, by: CostGroup): Line[] {
  const lines = [...groups.values()].map(({ ids, ...line }) => ({ ...line, sessions: ids.size }))
  const byKey = (a: Line, b: Line): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
  return lines.sort((a, b) => (isPeriod(by) ? byKey(a, b) : b.costUsd - a.costUsd || byKey(a, b)))
}

function isPeriod(by: CostGroup): boolean {
  return by === 'day' || by === 'week' || by === 'month'
}

function noCost(): Cost {
  return { ...noTokens, costUsd: 0, guessed: false }
}

function add(to: Cost, cost: Cost): void {
  to.inputTokens += cost.inputTokens
  to.outputTokens += cost.outputTokens
  to.cacheReadTokens += cost.cacheReadTokens
  to.cacheCreationTokens += cost.cacheCreationTokens
  to.costUsd += cost.costUsd
  to.guessed ||= cost.guessed
}

function memoized<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return (key) => {
    let value = made.get(key)
    if (value === undefined) made.set(key, (value = make(key)))
    return value
  }
}
