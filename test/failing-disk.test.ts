// The disk fails for a moment: what was stored meanwhile continues without a restart.
import { afterEach, expect, test } from 'vitest'
import { breakSync } from './support/break-sync.ts'
import type { FlowBench } from './support/flow-bench.ts'
import { openFlow } from './support/flow-bench.ts'

let bench: FlowBench | undefined
afterEach(async () => {
  await bench?.stop()
  bench?.remove()
})

test.runIf(process.platform === 'linux')(
  'a message that could not be synced is refused, and answered once when the disk works again',
  async () => {
    bench = await openFlow({})
    const { channel, paths } = bench
    await channel.say('first')
    await bench.settled()
    const repair = breakSync(`${paths.database}-wal`)
    await expect(channel.say('second', { id: 'again' })).rejects.toMatchObject({ code: 'disk-failed' })
    repair()
    await channel.say('second', { id: 'again' })
    await channel.untilSent(2)
    await bench.settled()
    expect(channel.texts.slice(1)).toEqual(['(offline) second'])
  },
)

test.runIf(process.platform === 'linux')(
  'an answer that could not be synced is sent when the disk works again, before later ones',
  async () => {
    bench = await openFlow({ config: { messages: { queue: { mode: 'followup' } } } })
    const { channel, paths, work } = bench
    await channel.say('first')
    await bench.settled()
    const finish = work.lanes.finish.bind(work.lanes)
    const { promise: failure, resolve: failed } = Promise.withResolvers<void>()
    work.lanes.finish = async (...args) => {
      const repair = breakSync(`${paths.database}-wal`)
      work.lanes.finish = finish
      return finish(...args).finally(() => failed(repair()))
    }
    await channel.say('second')
    await failure
    await channel.say('third')
    await channel.untilSent(3)
    await bench.settled()
    expect(channel.texts.slice(1)).toEqual([expect.stringContaining('second'), '(offline) third'])
  },
)
