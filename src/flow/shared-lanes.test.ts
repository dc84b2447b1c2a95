// Inputs of one lane are taken in their order, whichever answer of the store comes first.
import { expect, test } from 'vitest'
import { anInput } from '../../test/support/work-store-contract.ts'
import { systemClock } from '../domain/clock.ts'
import type { AgentRuntime } from '../domain/agent.ts'
import { silentLog } from '../domain/log.ts'
import type { LaneShare, LaneWork, WaitingInput } from '../store/work-store.ts'
import { SharedLanes } from './shared-lanes.ts'
import type { TurnQueue } from './turn-queue.ts'

interface Take {
  failed: string[]
  answer: (work: LaneWork[]) => void
  fail: (error: Error) => void
}

function input(id: number): WaitingInput {
  return { ...anInput(id, 'lane'), id, acceptedAt: 0, lostTurns: 0, laneServer: 'here' }
}

const work = (id: number): LaneWork => ({ input: input(id), hasMoved: false })

/** A store whose answers come when the test says so. */
function bench(live: () => { close: () => Promise<void> } | undefined = () => undefined) {
  const takes: Take[] = []
  const begun: number[] = []
  const share: LaneShare = {
    serves: true,
    take: (_room, { failed }) => {
      const { promise, resolve, reject } = Promise.withResolvers<LaneWork[]>()
      takes.push({ failed, answer: resolve, fail: reject })
      return promise
    },
    lost: async () => [],
    wakeOthers: () => {},
    onWork: () => () => {},
    onDeclaredDead: () => {},
    holders: async () => [],
    keep: async () => false,
    unheld: async () => [],
    stopUnheld: async () => 0,
    setReach: async () => {},
  }
  const queue: Pick<TurnQueue, 'activeLanes' | 'has' | 'forget' | 'idle'> = {
    activeLanes: () => [],
    has: ({ id }) => begun.includes(id),
    forget: () => {},
    idle: async () => {},
  }
  const lanes = new SharedLanes(share, {
    config: { machine: { labels: [], turnsAtOnce: 4 } },
    clock: systemClock,
    log: silentLog,
    runtime: { live: live as AgentRuntime['live'] },
    release: async () => [],
    queue: queue as TurnQueue,
    begin: ({ id }) => void begun.push(id),
    deliverer: { add: () => {}, releaseAll: async () => {} },
  })
  const asked = async (n: number): Promise<Take> => {
    await expect.poll(() => takes[n - 1], { timeout: 10_000 }).toBeDefined()
    return takes[n - 1]!
  }
  return { lanes, begun, asked }
}

test('a message that is accepted while earlier ones are being taken comes after them', async () => {
  const { lanes, begun, asked } = bench()
  lanes.start()
  const { answer } = await asked(1)
  lanes.placed(input(3))
  answer([work(1), work(2)])
  await expect.poll(() => begun).toEqual([1, 2, 3])
  lanes.placed(input(4))
  await expect.poll(() => begun).toEqual([1, 2, 3, 4])
  await lanes.stop()
})

test('when a take fails, accepted messages wait for the next one, and start once', async () => {
  const { lanes, begun, asked } = bench()
  lanes.start()
  ;(await asked(1)).fail(new Error('away'))
  lanes.placed(input(2))
  const { answer } = await asked(2)
  expect(begun).toEqual([])
  answer([work(1), work(2)])
  await expect.poll(() => begun).toEqual([1, 2])
  await lanes.stop()
})

test('what is accepted in a lane that goes back comes again with all that waits there', async () => {
  const { lanes, begun, asked } = bench()
  lanes.start()
  ;(await asked(1)).answer([])
  lanes.failed('lane')
  const second = await asked(2)
  expect([second.failed, lanes.isGivingUp('lane')]).toEqual([['lane'], true])
  lanes.placed(input(3))
  second.answer([])
  // It may have been accepted after the lane was given up: then it must be given back, too.
  const third = await asked(3)
  expect(third.failed).toEqual(['lane'])
  expect(begun).toEqual([])
  third.answer([work(1), work(3)])
  await expect.poll(() => begun).toEqual([1, 3])
  expect(lanes.isGivingUp('lane')).toBe(false)
  await lanes.stop()
})

test('what is about to start in a lane that fails comes again with all that waits there', async () => {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  const { lanes, begun, asked } = bench(() => ({ close: () => closed }))
  lanes.start()
  ;(await asked(1)).answer([{ input: input(2), hasMoved: true }])
  await new Promise((resolve) => setImmediate(resolve))
  lanes.failed('lane')
  close()
  ;(await asked(2)).answer([work(1), work(2)])
  await expect.poll(() => begun).toEqual([1, 2])
  await lanes.stop()
})
