// Power cuts in the promised number, and the proof that this test would notice.
import { expect, test } from 'vitest'
import { lostByPowerCuts, whyNoPowerCuts } from '../support/power-cut.ts'

const whyNot = await whyNoPowerCuts()

test.for(['sqlite', 'files'] as const)(
  '20 power cuts lose no acknowledged update (%s)',
  async (kind, ctx) => {
    if (whyNot) ctx.skip(whyNot)
    const lost = await lostByPowerCuts(kind, 20)
    expect(lost.filter((count) => count > 0)).toEqual([])
  },
)

test.for(['sqlite-relaxed', 'files-unsynced'] as const)(
  '10 power cuts catch a store that does not sync (%s)',
  async (kind, ctx) => {
    if (whyNot) ctx.skip(whyNot)
    const lost = await lostByPowerCuts(kind, 10)
    expect(lost.some((count) => count > 0)).toBe(true)
  },
)
