import { expect, test } from 'vitest'
import { formatEnvelope } from '../inbound/prompt-context.ts'
import type { HistoryEntry } from './group-history.ts'
import {
  appendHistoryEntry,
  buildHistoryContextFromMap,
  clearHistoryEntries,
  DEFAULT_GROUP_HISTORY_LIMIT,
  evictOldHistoryKeys,
  MAX_HISTORY_KEYS,
} from './group-history.ts'

const at = (minute: number): number => Date.UTC(2026, 0, 13, 7, minute)
const formatEntry = (entry: HistoryEntry): string =>
  formatEnvelope({ channel: 'whatsapp', chat: '120363@g.us', ...entry })

test('the context looks exactly like the seed', () => {
  const historyMap = new Map<string, HistoryEntry[]>()
  const add = (entry: HistoryEntry) =>
    appendHistoryEntry({ historyMap, historyKey: 'g', entry, limit: DEFAULT_GROUP_HISTORY_LIMIT })
  add({ sender: 'Alice', body: 'hello', timestamp: at(45) })
  add({ sender: 'Bob', body: 'hi there', timestamp: at(46) })
  const current = { sender: 'Alice', body: '@bot what do you think?', timestamp: at(47) }
  const text = buildHistoryContextFromMap({
    historyMap,
    historyKey: 'g',
    limit: 50,
    entry: current,
    currentMessage: `${formatEntry(current)}\n[from: Alice (+1234567890)]`,
    formatEntry,
  })
  expect(text).toBe(
    `[Chat messages since your last reply - for context]
[WhatsApp 120363@g.us 2026-01-13T07:45Z] Alice: hello
[WhatsApp 120363@g.us 2026-01-13T07:46Z] Bob: hi there

[Current message - respond to this]
[WhatsApp 120363@g.us 2026-01-13T07:47Z] Alice: @bot what do you think?
[from: Alice (+1234567890)]`,
  )
})

test('without history the message stands alone', () => {
  const base = { historyMap: new Map(), historyKey: 'g', currentMessage: 'hi', formatEntry }
  expect(buildHistoryContextFromMap({ ...base, limit: 50 })).toBe('hi')
  expect(buildHistoryContextFromMap({ ...base, limit: 0, entry: { sender: 'A', body: 'x' } })).toBe('hi')
})

test('the oldest entries go first, and a limit of 0 keeps none', () => {
  const historyMap = new Map<string, HistoryEntry[]>()
  for (let n = 0; n < 60; n++) {
    appendHistoryEntry({ historyMap, historyKey: 'g', entry: { sender: 'A', body: String(n) }, limit: 50 })
  }
  expect(historyMap.get('g')).toHaveLength(50)
  expect(historyMap.get('g')![0]!.body).toBe('10')
  expect(
    appendHistoryEntry({ historyMap, historyKey: 'h', entry: { sender: 'A', body: 'x' }, limit: 0 }),
  ).toEqual([])
})

test('the group that was silent longest is forgotten first', () => {
  const historyMap = new Map<string, HistoryEntry[]>()
  const say = (historyKey: string) =>
    appendHistoryEntry({ historyMap, historyKey, entry: { sender: 'A', body: 'x' }, limit: 50 })
  for (let n = 0; n < MAX_HISTORY_KEYS; n++) say(`g${n}`)
  say('g0')
  say('new')
  expect(historyMap.size).toBe(MAX_HISTORY_KEYS)
  expect(historyMap.has('g0')).toBe(true)
  expect(historyMap.has('g1')).toBe(false)
  evictOldHistoryKeys(historyMap, 2)
  expect([...historyMap.keys()]).toEqual(['g0', 'new'])
})

test('after a reply the buffer is empty', () => {
  const historyMap = new Map([['g', [{ sender: 'A', body: 'x' }]]])
  clearHistoryEntries({ historyMap, historyKey: 'g' })
  expect(historyMap.get('g')).toEqual([])
})
