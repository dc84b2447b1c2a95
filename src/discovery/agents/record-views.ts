// The records of another agent's session as people see them: cards in pages, and the anatomy of the session.
import { RockpoolError } from '../../domain/errors.ts'
import type { AgentRecord } from '../../domain/agent-records.ts'
import type { Anatomy, Card, CardPage, ContextKind } from '../../domain/transcript-views.ts'
import { contextParts, fewCalls } from '../anatomy.ts'
import { clip, type WantedCards } from '../cards.ts'
import { callCost } from '../price-table.ts'

/** One page. The marks of a page are numbers of cards, because the sessions of some agents are not files. */
export function recordCards(records: readonly AgentRecord[], wanted: WantedCards): CardPage {
  const all = records.flatMap(cardOf)
  const { limit, before, after, around } = wanted
  if (around !== undefined) {
    const place = placeOf(all, around)
    return page(all, place - Math.ceil(limit / 2), place + Math.ceil(limit / 2))
  }
  if (after !== undefined) return page(all, after, after + limit)
  const end = Math.min(before ?? all.length, all.length)
  return page(all, end - limit, end)
}

function page(all: Card[], from: number, to: number): CardPage {
  const start = Math.max(0, from)
  const end = Math.min(all.length, to)
  return {
    cards: all.slice(start, end),
    before: start > 0 ? start : undefined,
    after: end < all.length ? end : undefined,
  }
}

function placeOf(all: Card[], message: string): number {
  const time = /^@(\d+)$/.exec(message)?.[1]
  const at = all.findIndex((card) => (time === undefined ? card.uuid === message : card.at >= Number(time)))
  if (at >= 0) return at
  throw new RockpoolError('not-found', `There is no message ${JSON.stringify(message)} in this session.`, {
    hint: 'Read it without `around`: that begins at its end.',
  })
}

function cardOf(record: AgentRecord): Card[] {
  const about = { at: Date.parse(record.at) || 0, isRewound: record.rewound }
  switch (record.kind) {
    case 'prompt':
      return textCard('prompt', record.text, { ...about, uuid: record.id })
    case 'answer':
      return textCard('text', record.text, { ...about, uuid: record.id })
    case 'thinking':
      return textCard('thinking', record.text, about)
    case 'tool-call': {
      const tool = { name: record.name, input: record.input }
      return [{ ...about, kind: 'tool', text: '', tool, toolUseId: record.id }]
    }
    case 'tool-result': {
      const { id: toolUseId, isError } = record
      return [{ ...about, kind: 'result', text: clip(record.text), toolUseId, isError }]
    }
    case 'compaction':
      return [{ ...about, kind: 'compaction', text: 'Context compacted' }]
    case 'turn-end':
      return record.outcome === 'completed' ? [] : [{ ...about, kind: 'notice', text: noticeOf(record) }]
    default:
      return []
  }
}

function textCard(
  kind: 'prompt' | 'text' | 'thinking',
  text: string,
  about: Pick<Card, 'at' | 'uuid' | 'isRewound'>,
): Card[] {
  return text.trim() === '' ? [] : [{ ...about, kind, text: clip(text) }]
}

function noticeOf({ outcome, error }: { outcome: string; error?: string }): string {
  const what = outcome === 'failed' ? 'The turn failed' : 'The turn was interrupted'
  return error ? `${what}: ${clip(error)}` : `${what}.`
}

/** Sizes, calls, files and sub-agents, counted over the conversation as it is now. */
export function recordAnatomy(records: readonly AgentRecord[], contextTokens: number): Anatomy {
  const chars = new Map<ContextKind, number>()
  const weigh = (kind: ContextKind, text: string): void => {
    chars.set(kind, (chars.get(kind) ?? 0) + text.length)
  }
  const compactedAt: number[] = []
  for (const record of records) {
    if (record.kind === 'compaction') {
      compactedAt.push(Date.parse(record.at) || 0)
      chars.clear()
      weigh('summary', record.text)
    } else weighRecord(record, weigh)
  }
  return {
    context: contextParts(chars, contextTokens),
    calls: fewCalls(callsIn(records)),
    compactedAt,
    files: filesIn(records),
    subagents: records.flatMap((record) =>
      record.kind === 'subagent'
        ? [{ name: record.name, about: record.about, at: Date.parse(record.at) || 0, id: record.id }]
        : [],
    ),
    partial: false,
  }
}

function weighRecord(record: AgentRecord, weigh: (kind: ContextKind, text: string) => void): void {
  if (record.rewound) return
  if (record.kind === 'prompt') weigh('prompts', record.text)
  else if (record.kind === 'answer') weigh('answers', record.text)
  else if (record.kind === 'thinking') weigh('thinking', record.text)
  else if (record.kind === 'tool-call') weigh('tools', JSON.stringify(record.input))
  else if (record.kind === 'tool-result') weigh('results', record.text)
}

function callsIn(records: readonly AgentRecord[]): Anatomy['calls'] {
  let costUsd = 0
  return records.flatMap((record) => {
    if (record.kind !== 'usage' || record.inherited) return []
    const { input, output, cacheRead, cacheWrite, model } = record
    costUsd += record.costUsd ?? callCost(model, { input, output, cacheRead, cacheWrite })
    const at = Date.parse(record.at) || 0
    return [{ at, contextTokens: input + cacheRead + cacheWrite, outputTokens: output, costUsd }]
  })
}

function filesIn(records: readonly AgentRecord[]): Anatomy['files'] {
  const files = new Map<string, { reads: number; writes: number }>()
  for (const record of records) {
    const isRead = record.kind === 'tool-call' && record.name.startsWith('read')
    const path = isRead ? pathIn(record.input) : record.kind === 'edit' ? record.path : undefined
    if (path === undefined) continue
    const counts = files.get(path) ?? { reads: 0, writes: 0 }
    counts[isRead ? 'reads' : 'writes']++
    files.set(path, counts)
  }
  return [...files]
    .map(([path, counts]) => ({ path, ...counts }))
    .sort((a, b) => b.writes - a.writes || b.reads - a.reads)
    .slice(0, 200)
}

function pathIn(input: Record<string, unknown>): string | undefined {
  const path = input['filePath'] ?? input['path'] ?? input['file_path'] ?? input['absolute_path']
  return typeof path === 'string' ? path : undefined
}
