import { expect, test } from 'vitest'
import { formatSystemEvent, withSystemLines } from './prompt-context.ts'

const at = Date.UTC(2026, 0, 12, 20, 19, 17)

test('an event says when it happened, in the time zone of the user', () => {
  expect(formatSystemEvent({ text: 'Model switched.', at }, 'America/Los_Angeles')).toBe(
    'System: [2026-01-12 12:19:17 PST] Model switched.',
  )
})

test('notices and events stand in front of the message, each on one line', () => {
  const events = [{ text: 'Model\nswitched.', at }]
  expect(withSystemLines('hello', ['telegram: connected'], events, 'UTC')).toBe(
    'System: telegram: connected\nSystem: [2026-01-12 20:19:17 UTC] Model switched.\n\nhello',
  )
  expect(withSystemLines('hello', [], [])).toBe('hello')
})
