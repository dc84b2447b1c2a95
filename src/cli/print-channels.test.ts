import { expect, test } from 'vitest'
import { findPrinter } from './printers.ts'

const printChannels = await findPrinter('channels.list')
const printPairings = await findPrinter('pairing.list')

const page = (width: number) => ({ width, color: false, now: 0, interactive: true })
const ada = { channel: 'telegram', accountId: 'default', senderId: '5012345678', name: 'Ada Lovelace' }

test('on a narrow terminal a code, an id and a state stay whole; what is spare goes', () => {
  const pending = [{ ...ada, code: 'K7RM2QXD', expiresAt: 60_000 }]
  const waiting = { pending, people: [], full: [], firstOwns: true }
  const asked = printPairings(waiting, page(44))
  expect(asked).toMatch(/K7RM2QXD {2}telegram {2}5012345678/)
  expect(asked).not.toContain('MINUTES')
  const row = { ...ada, enabled: true, state: 'reconnecting', since: 0, token: 'credentials' }
  const states = printChannels({ running: true, channels: [row] }, page(40))
  expect(states).toMatch(/telegram.*reconnecting/)
  for (const line of `${asked}\n${states}`.split('\n')) expect(line.length).toBeLessThanOrEqual(44)
  expect(printPairings(waiting, page(100))).toContain('MINUTES LEFT')
})

test('the list of requests says who would own this Rockpool, and that an account takes no further request', () => {
  const full = [{ channel: 'telegram', accountId: 'default', until: 90_000 }]
  const pending = [{ ...ada, code: 'K7RM2QXD', expiresAt: 60_000 }]
  const shown = printPairings({ pending, people: [], full, firstOwns: true }, page(100))
  expect(shown).toContain('telegram (default) takes no further request for 2 min: deny one to make room.')
  expect(shown).toContain('The first person whom you approve becomes the owner.')
})
