import { expect, test } from 'vitest'
import { formatSystemEvent, prependSystemEvents } from './system-events.ts'

const at = Date.UTC(2026, 0, 12, 20, 19, 17)

test('an event says when it happened, in the time zone of the user', () => {
  expect(formatSystemEvent({ text: 'Model switched.', at }, 'America/Los_Angeles')).toBe(
    'System: [2026-01-12 12:19:17 PST] Model switched.',
  )
})

test('waiting events stand in front of the message, once, each on one line', async () => {
  const waiting = new Map([['agent:main:main', [{ text: 'Model\nswitched.', at }]]])
  const drain = async (key: string) => {
    const events = waiting.get(key) ?? []
    waiting.delete(key)
    return events
  }
  const params = { sessionKey: 'agent:main:main', prefixedBodyBase: 'hello', drain, timeZone: 'UTC' }
  expect(await prependSystemEvents(params)).toBe('System: [2026-01-12 20:19:17 UTC] Model switched.\n\nhello')
  expect(await prependSystemEvents(params)).toBe('hello')
})

test('a new main session is told about the channels', async () => {
  const params = {
    sessionKey: 'agent:main:main',
    prefixedBodyBase: 'hello',
    drain: async () => [],
    channelSummary: ['telegram: connected'],
    isNewSession: true,
  }
  expect(await prependSystemEvents({ ...params, isMainSession: true })).toBe(
    'System: telegram: connected\n\nhello',
  )
  expect(await prependSystemEvents({ ...params, isMainSession: false })).toBe('hello')
})
