import { expect, test } from 'vitest'
import { messagesConfig } from '../domain/config/session-settings.ts'
import { collectPrompt } from './questions.ts'
import { parseDuration, parseQueueCommand, resolveQueueSettings } from './queue-settings.ts'

const config = (queue: unknown) => messagesConfig.parse({ queue }).queue

test('the session wins over the channel, the channel over the rest', () => {
  const queue = config({
    mode: 'followup',
    cap: 5,
    byChannel: { telegram: { mode: 'collect', debounceMs: 9 } },
  })
  const entry = { sessionId: 's', updatedAt: 0, queueMode: 'interrupt' as const }
  expect(resolveQueueSettings({ config: config({}) })).toEqual({
    mode: 'steer',
    debounceMs: 500,
    cap: 20,
    drop: 'summarize',
  })
  expect(resolveQueueSettings({ config: queue }).mode).toBe('followup')
  expect(resolveQueueSettings({ config: queue, channel: 'telegram' })).toMatchObject({
    mode: 'collect',
    debounceMs: 9,
    cap: 5,
  })
  expect(resolveQueueSettings({ config: queue, channel: 'telegram', entry }).mode).toBe('interrupt')
  const older = { ...entry, queueMode: 'queue' as const }
  expect(resolveQueueSettings({ config: queue, channel: 'telegram', entry: older }).mode).toBe('followup')
  expect(resolveQueueSettings({ config: queue, channel: 'constructor' }).mode).toBe('followup')
})

test.each([
  ['', { kind: 'show' }],
  ['reset', { kind: 'reset' }],
  ['default', { kind: 'reset' }],
  [
    'collect debounce:0.5s cap:25 drop:summarize',
    { kind: 'set', change: { mode: 'collect', debounceMs: 500, cap: 25, drop: 'summarize' } },
  ],
  ['STEER', { kind: 'set', change: { mode: 'steer' } }],
  ['debounce:2m', { kind: 'set', change: { debounceMs: 120_000 } }],
  ['cap:0', { kind: 'wrong', word: 'cap:0' }],
  ['sometimes', { kind: 'wrong', word: 'sometimes' }],
])('/queue %s', (rest, expected) => {
  expect(parseQueueCommand(rest)).toEqual(expected)
})

test.each([
  ['500', 500],
  ['500ms', 500],
  ['0.5s', 500],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['soon', undefined],
])('the duration %s', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test('collected messages are numbered, and what was dropped is summarised', () => {
  expect(collectPrompt(['only one'])).toBe('only one')
  expect(collectPrompt(['a', 'b'])).toBe(
    '[Queued messages while agent was busy]\n\n---\nQueued #1\na\n\n---\nQueued #2\nb',
  )
  expect(collectPrompt(['a'], ['gone\nlong ago', 'x'.repeat(200)])).toBe(
    `[Queued messages while agent was busy]\n\n[Queue overflow] Dropped 2 messages due to cap.\nSummary:\n- gone long ago\n- ${'x'.repeat(139)}…\n\n---\nQueued #1\na`,
  )
})
