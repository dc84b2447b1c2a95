// People who write at once, in the promised number.
import { expect, test } from 'vitest'
import { writeInPairs } from '../support/pairs.ts'

test('1,000 pairs of people who write at the same millisecond: no answer to the wrong one', async () => {
  expect(await writeInPairs(1_000)).toEqual({ answered: 2_000, toTheWrongPerson: [] })
}, 1_800_000)
