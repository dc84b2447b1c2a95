// People who write at once; test/full/pairs.test.ts has a thousand pairs of them.
import { expect, test } from 'vitest'
import { writeInPairs } from './support/pairs.ts'

test('two people who write at the same millisecond each get their own answer', async () => {
  expect(await writeInPairs(50)).toEqual({ answered: 100, toTheWrongPerson: [] })
})
