// Bad weather for the session stores, in the promised sizes.
import { expect, test } from 'vitest'
import { contendersMeetDeadLocks } from '../support/lock-race.ts'
import { killedWriters, lostByPausedHolder, manyWriters, pausedWriters } from '../support/store-storms.ts'

const kinds = ['sqlite', 'files'] as const

test.each(kinds)('8 processes x 500 updates of one store (%s): all are in the result', async (kind) => {
  await manyWriters(kind, 8, 500)
})

test.each(kinds)(
  'holders that are paused past the stale limit, 10 times (%s): nothing is lost',
  async (kind) => {
    for (let round = 0; round < 10; round++) expect(await lostByPausedHolder(kind)).toBe(0)
  },
)

test.each(kinds)(
  '4 writers that are paused 40 times at random (%s): every acknowledged update is there',
  async (kind) => {
    await pausedWriters(kind, 300, 40)
  },
)

test.each(kinds)(
  '60 kills in an update storm (%s): nothing acknowledged is lost, no writer is blocked',
  async (kind) => {
    await killedWriters(kind, 60)
  },
)

test('six processes that meet a dead lock go in one by one, 200 times', async () => {
  await contendersMeetDeadLocks(200)
})
