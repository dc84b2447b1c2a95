// Small cases of bad weather; test/full/store-storms.test.ts has the promised sizes.
import { expect, test } from 'vitest'
import { contendersMeetDeadLocks } from './support/lock-race.ts'
import { killedWriters, lostByPausedHolder, manyWriters } from './support/store-storms.ts'

const kinds = ['sqlite', 'files'] as const

test.each(kinds)('4 processes x 25 updates of one store (%s): all are in the result', async (kind) => {
  await manyWriters(kind, 4, 25)
})

test.each(kinds)('a holder that is paused past the stale limit (%s): nothing is lost', async (kind) => {
  expect(await lostByPausedHolder(kind)).toBe(0)
})

test('the same test catches a lock that is taken away by its age', async () => {
  expect(await lostByPausedHolder('files-age-lock')).toBe(1)
})

test.each(kinds)(
  '4 kills in an update storm (%s): nothing acknowledged is lost, no writer is blocked',
  async (kind) => {
    await killedWriters(kind, 4)
  },
)

test('six processes that meet a dead lock go in one by one, 8 times', async () => {
  await contendersMeetDeadLocks(8)
})
