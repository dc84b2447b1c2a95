// Two power cuts for each store; test/full/power-cut.test.ts has twenty, and stores that must not survive them.
import { expect, test } from 'vitest'
import { lostByPowerCuts, whyNoPowerCuts } from './support/power-cut.ts'

const whyNot = await whyNoPowerCuts()

test.for(['sqlite', 'files'] as const)('a power cut loses no acknowledged update (%s)', async (kind, ctx) => {
  if (whyNot) ctx.skip(whyNot)
  expect(await lostByPowerCuts(kind, 2)).toEqual([0, 0])
})
