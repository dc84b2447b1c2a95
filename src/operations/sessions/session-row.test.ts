import { expect, test } from 'vitest'
import type { SessionEntry } from '../../domain/session.ts'
import { isNamedByKey } from '../../domain/session.ts'
import { rowOf } from './session-row.ts'

const nameOf = (key: string, more: Partial<SessionEntry>): string | undefined => {
  const entry: SessionEntry = { sessionId: 'id', updatedAt: 1, ...more }
  return rowOf({ key, agentId: 'main', entry }, 2, 'main').displayName
}

test.each<[string, Partial<SessionEntry>, string | undefined]>([
  // The first row is one that a real OpenClaw 2026.1.30 gave.
  ['agent:main:main', { channel: 'whatsapp' }, 'whatsapp:g-agent-main-main'],
  ['agent:main:telegram:group:-100', {}, 'telegram:g-100'],
  ['agent:main:telegram:group:-100', { subject: 'The Family' }, 'telegram:g-the-family'],
  ['agent:main:slack:channel:c1', { space: 'Acme', groupChannel: '#general' }, 'slack:acme#general'],
  ['agent:main:main', { label: 'Work' }, 'Work'],
  ['agent:main:main', { origin: { label: 'Ada' } }, 'Ada'],
  ['agent:main:main', { channel: 'telegram', displayName: 'Given' }, 'Given'],
  ['agent:main:main', {}, undefined],
])('the row of %s with %o is named as OpenClaw 2026.1.30 names it: %s', (key, entry, name) => {
  expect(nameOf(key, entry)).toBe(name)
})

test('a name that was made from the key alone is known as such', () => {
  const key = 'agent:main:telegram:direct:1001'
  expect(isNamedByKey({ key, displayName: nameOf(key, { channel: 'telegram' }) })).toBe(true)
  expect(isNamedByKey({ key, displayName: nameOf(key, { label: 'Work' }) })).toBe(false)
  expect(isNamedByKey({ key })).toBe(false)
})
