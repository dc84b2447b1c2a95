import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import { expect, test } from 'vitest'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'
import { makeStreamReader } from './claude-events.ts'
import type { StreamItem } from './claude-events.ts'
import { TurnTally } from './running-turn.ts'

const streams = join(import.meta.dirname, '../../test/fixtures/claude-code/streams')

/** A recorded stream as items; what was thrown in the end is left out, the result before it says it. */
function replay(name: string): StreamItem[] {
  const reader = makeStreamReader()
  const lines = readFileSync(join(streams, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
  return lines
    .map((line) => JSON.parse(line) as SDKMessage & { __thrown?: object })
    .filter((message) => !message.__thrown)
    .flatMap((message) => reader.read(message))
}

function eventsOf(name: string): TurnEvent[] {
  return replay(name).flatMap((item) => (item.is === 'event' ? [item.event] : []))
}

/** One result for each turn of the stream. */
function resultsOf(name: string): TurnResult[] {
  const finished: TurnResult[] = []
  let tally = new TurnTally()
  for (const item of replay(name)) {
    tally.add(item, 0)
    if (item.is !== 'result') continue
    finished.push(tally.finish({ fallback: { kind: 'completed' }, durationMs: 0, now: 0, timeZone: 'UTC' }))
    tally = new TurnTally()
  }
  return finished
}

const named = (events: TurnEvent[], type: TurnEvent['type']): TurnEvent[] =>
  events.filter((event) => event.type === type)

test('a plain chat gives the words, the id and the model of each turn', () => {
  const events = eventsOf('01-plain-chat')
  expect(named(events, 'turn-start')).toHaveLength(2)
  expect(named(events, 'session-id')).toHaveLength(1)
  const [first, second] = resultsOf('01-plain-chat')
  expect(first).toMatchObject({
    end: { kind: 'completed' },
    text: 'It is a tiny demo project with a sum helper.',
  })
  expect(second!.text).toBe('The sum helper subtracts instead of adding, you may want to fix that.')
})

test('the cost of a turn is what was added to the running total', () => {
  const [first, second] = resultsOf('01-plain-chat')
  expect(first!.costUsd).toBeCloseTo(0.034122)
  expect(second!.costUsd).toBeCloseTo(0.037764 - 0.034122)
})

test('what a call keeps in the cache for an hour is told apart while the turn runs', () => {
  const reader = makeStreamReader()
  const assistant = {
    type: 'assistant',
    parent_tool_use_id: null,
    message: {
      id: 'msg_1',
      model: 'claude-sonnet-4-5',
      content: [],
      usage: {
        input_tokens: 3,
        cache_creation_input_tokens: 900,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 800 },
      },
    },
  } as unknown as SDKMessage
  const next = { ...assistant, message: { id: 'msg_2', content: [], usage: {} } } as unknown as SDKMessage
  expect([assistant, next].flatMap((message) => reader.read(message))).toMatchObject([
    { event: { type: 'usage', usage: { cacheWrite: 900, cacheWrite1h: 800 } } },
  ])
})

test('tools are reported with input, outcome and output, and the reply is the last text', () => {
  const events = eventsOf('02-tools')
  const starts = named(events, 'tool-start').map((event) => (event as { name: string }).name)
  expect(starts).toEqual(['Read', 'Bash', 'Edit', 'Bash', 'Write'])
  expect(named(events, 'tool-end')).toHaveLength(5)
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'tool-end', isError: true, output: 'Exit code 3' }),
  )
  const [result] = resultsOf('02-tools')
  expect(result!.text).toBe('Done: sum() now adds its arguments.')
  expect(result!.said).toEqual([
    'Let me read the file and check git.',
    'Fixing the operator.',
    'Done: sum() now adds its arguments.',
  ])
})

test('a call to the model is counted once, though every block of its answer repeats the usage', () => {
  const events = eventsOf('02-tools')
  const ids = named(events, 'usage').map((event) => (event as { messageId: string }).messageId)
  expect(ids).toHaveLength(5)
  expect(new Set(ids).size).toBe(5)
})

test('a sub-agent is progress, never the reply, and its tokens are billed', () => {
  const events = eventsOf('09-subagent')
  expect(named(events, 'subagent').length).toBeGreaterThan(0)
  const [result] = resultsOf('09-subagent')
  expect(result!.said).toEqual([
    'I will delegate this.',
    'The subagent says the README describes a tiny demo.',
  ])
  expect(result!.usage).toEqual({ input: 1542, output: 130, cacheRead: 18000, cacheWrite: 0 })
})

test('a sub-agent in the background is known, and gives a second result', () => {
  const items = replay('10-subagent-background')
  const background = items.flatMap((item) => (item.is === 'background' ? [item.subagents] : []))
  expect(background).toEqual([1, 0])
  expect(resultsOf('10-subagent-background').map((result) => result.text)).toEqual([
    'It runs in the background.',
    'The background agent finished: tiny demo.',
  ])
  const spoken = items.flatMap((item) =>
    item.is === 'event' && item.event.type === 'text' ? [item.event.text] : [],
  )
  expect(spoken).not.toContain('The README describes a tiny demo.')
})

test('an API failure that calls itself a success is a failure', () => {
  expect(named(eventsOf('11-error-529'), 'retry')).toHaveLength(2)
  const [result] = resultsOf('11-error-529')
  expect(result!.end).toMatchObject({ kind: 'failed', why: 'overloaded' })
  expect(result!.text).toBe('')
})

test('a failure that was overcome is a completed turn', () => {
  const [result] = resultsOf('12-retry-then-ok')
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'Recovered after a retry.' })
})

test('a spent budget and too many steps are different failures', () => {
  const [budget] = resultsOf('13-error-max-budget')
  expect(budget!.end).toMatchObject({ kind: 'failed', why: 'budget-reached' })
  expect(budget!.costUsd).toBeCloseTo(0.15)
  expect(resultsOf('14-error-max-turns')[0]!.end).toMatchObject({ kind: 'failed', why: 'max-turns' })
})

test('an interrupted turn keeps what was said so far', () => {
  const [result] = resultsOf('15-interrupted')
  expect(result!.end).toEqual({ kind: 'interrupted' })
  expect(result!.text).toBe('word0 word1 word2 word3 ')
})

test('compactions are counted, with the size before and after', () => {
  const manual = eventsOf('07-compact-manual')
  expect(named(manual, 'compaction').at(-1)).toMatchObject({
    phase: 'end',
    trigger: 'manual',
    tokensBefore: 9027,
    tokensAfter: 932,
    summary:
      '1. Primary Request and Intent: fix the sum helper in src/sum.js.\n2. Files: src/sum.js.\n3. Pending Tasks: none.',
  })
  const compactions = resultsOf('08-compact-auto-x3').map((result) => result.compactions)
  expect(compactions.reduce((a, b) => a + b)).toBe(3)
})

test('after a compaction the context is as full as the summary, until the next call', () => {
  const [, compacted] = resultsOf('07-compact-manual')
  expect(compacted!.contextTokens).toBe(932)
})

test('/clear gives the conversation another id and resets the costs', () => {
  const ids = named(eventsOf('23-clear'), 'session-id')
  expect(ids).toHaveLength(2)
  const costs = resultsOf('23-clear').map((result) => result.costUsd)
  expect(costs[2]).toBeCloseTo(0.003642)
})

test('a resumed conversation does not pay for its past again', () => {
  const [result] = resultsOf('05b-resume-second')
  expect(result!.costUsd).toBeCloseTo(0.002946)
})

test.each([
  '16-permission-denied',
  '17-ask-user-question',
  '18-mcp',
  '19-hooked-first-user-line-17',
  '25-titled',
])('the recorded stream %s is read without surprise', (name) => {
  for (const result of resultsOf(name)) expect(result.end).toEqual({ kind: 'completed' })
})

test('unknown messages are ignored', () => {
  const reader = makeStreamReader()
  const unknown = { type: 'from_the_future', subtype: 'x', payload: 1 } as unknown as SDKMessage
  expect(reader.read(unknown)).toEqual([])
})

test('the windows of the subscription are read from what Claude reports, used up when it rejects', () => {
  const window = { utilization: 0.42, resetsAt: 2_000, status: 'allowed' }
  const info = {
    status: 'rejected',
    resetsAt: 1_000,
    rateLimitType: 'five_hour',
    unifiedWindows: {
      five_hour: { utilization: 0.99, resetsAt: 1_000, status: 'rejected' },
      seven_day: window,
    },
  }
  const message = { type: 'rate_limit_event', rate_limit_info: info } as unknown as SDKMessage
  expect(makeStreamReader().read(message)).toEqual([
    {
      is: 'windows',
      reports: [
        { id: 'five_hour', used: 1, resetsAt: 1_000_000, isRejected: true },
        { id: 'seven_day', used: 0.42, resetsAt: 2_000_000, isRejected: false },
      ],
    },
    { is: 'limit', endsAt: 1_000_000, window: 'five_hour' },
  ])
  const allowed = {
    type: 'rate_limit_event',
    rate_limit_info: { status: 'allowed' },
  } as unknown as SDKMessage
  expect(makeStreamReader().read(allowed)).toEqual([])
})
