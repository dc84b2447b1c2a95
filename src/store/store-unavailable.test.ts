// Waiting for a store that is away: bounded, and for nothing else.
import { expect, test } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { StoreUnavailable, retryWhileUnavailable } from './store-unavailable.ts'

test('work that meets a store which is away is done again until it is back', async () => {
  const clock = makeMovableClock()
  let tries = 0
  const done = retryWhileUnavailable(clock, async () => {
    if (++tries < 4) throw new StoreUnavailable('It is away.')
    return 'done'
  })
  for (let n = 0; n < 4; n++) await clock.advance(600)
  expect([await done, tries]).toEqual(['done', 4])
})

test('it is waited for a minute and no longer, not when all is over, and not for another failure', async () => {
  const clock = makeMovableClock()
  const away = (): Promise<never> => Promise.reject(new StoreUnavailable('It is away.'))
  const given = expect(retryWhileUnavailable(clock, away)).rejects.toThrow('It is away.')
  await clock.advance(61_000)
  await given
  await expect(retryWhileUnavailable(clock, away, () => true)).rejects.toThrow('It is away.')
  await expect(
    retryWhileUnavailable(clock, () => Promise.reject(new Error('It is broken.'))),
  ).rejects.toThrow('broken')
})
