// Records that are no part of the conversation, but say something about the session: titles, tags, costs. The last wins.
import { keptText } from './decode.ts'
import { WordTable } from './json-bytes.ts'
import type { Span } from './json-bytes.ts'
import type { TranscriptFacts } from './transcript-facts.ts'

/** What to do with a record of this type; undefined when it says nothing that we want to know. */
export function bookkeepingOf(buffer: Buffer, type: Span): Bookkeeping | undefined {
  return notes[noteTypes.find(buffer, type.start, type.end)]
}

type Bookkeeping = (facts: TranscriptFacts, record: Record<string, unknown>) => void

const bookkeeping: Readonly<Record<string, Bookkeeping>> = {
  'custom-title': (facts, record) => (facts.customTitle = text(record['customTitle'])),
  'ai-title': (facts, record) => (facts.aiTitle = text(record['aiTitle'] ?? record['title'])),
  summary: (facts, record) => (facts.summary = text(record['summary'])),
  tag: (facts, record) => (facts.tag = text(record['tag'])),
  'last-prompt': (facts, record) => (facts.lastPrompt = text(record['lastPrompt']) ?? facts.lastPrompt),
  relocated: (facts, record) => (facts.relocatedCwd = text(record['relocatedCwd']) ?? facts.relocatedCwd),
  'permission-mode': (facts, record) => (facts.permissionMode = text(record['permissionMode'])),
  'cost-state': (facts, record) => {
    if (typeof record['totalCostUSD'] === 'number') facts.costStateUsd = record['totalCostUSD']
  },
}
const notes = [undefined, ...Object.values(bookkeeping)]
const noteTypes = new WordTable(Object.fromEntries(Object.keys(bookkeeping).map((type, i) => [type, i + 1])))

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, keptText) : undefined
}
