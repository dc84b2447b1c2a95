import { expect, test } from 'vitest'
import { findPrinter } from './printers.ts'

const printChannels = await findPrinter('channels.list')
const printPairings = await findPrinter('pairing.list')

const page = (width: number) => ({ width, color: false, now: 0, interactive: true })
const ada = { channel: 'telegram', accountId: 'default', senderId: '5012345678', name: 'Ada Lovelace' }

test('on a narrow terminal a code, an id and a state stay whole; what is spare goes', () => {
  const waiting = { pending: [{ ...ada, code: 'K7RM2QXD', expiresAt: 60_000 }], people: [] }
  const asked = printPairings(waiting, page(44))
  expect(asked).toMatch(/K7RM2QXD {2}telegram {2}5012345678/)
  expect(asked).not.toContain('MINUTES')
  const row = { ...ada, enabled: true, state: 'reconnecting', since: 0, token: 'credentials' }
  const states = printChannels({ running: true, channels: [row] }, page(40))
  expect(states).toMatch(/telegram.*reconnecting/)
  for (const line of `${asked}\n${states}`.split('\n')) expect(line.length).toBeLessThanOrEqual(44)
  expect(printPairings(waiting, page(100))).toContain('MINUTES LEFT')
})
