import { expect, test } from 'vitest'
import { aMessage } from '../../test/support/work-store-contract.ts'
import { systemClock } from '../domain/clock.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { QueueSettings } from './queue-settings.ts'
import type { Batch } from './turn-queue.ts'
import { TurnQueue } from './turn-queue.ts'

let nextId = 1
function input(text: string, lane = 'a', chat = '7'): WaitingInput {
  const id = nextId++
  const message = aMessage(id, { text, address: { channel: 't', accountId: 'default', to: chat } })
  return {
    id,
    key: String(id),
    lane,
    agentId: 'main',
    message,
    mayCommand: true,
    owner: true,
    acceptedAt: 0,
    lostTurns: 0,
  }
}

function bench(over: Partial<QueueSettings> = {}) {
  const settings: QueueSettings = { mode: 'followup', debounceMs: 0, cap: 20, drop: 'summarize', ...over }
  const turns: Array<Batch & { end: () => void; steered: string[]; interrupted: boolean }> = []
  const dropped: Array<{ texts: string[]; told: boolean }> = []
  const waiters: Array<() => void> = []
  const queue = new TurnQueue({
    clock: systemClock,
    settings: async () => settings,
    take: async (batch, begun) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const turn = { ...batch, end: resolve, steered: [] as string[], interrupted: false }
      turns.push(turn)
      begun({
        isRevoked: false,
        steer: async (joined) => {
          turn.steered.push(joined.message.text)
          return true
        },
        interrupt: async () => {
          turn.interrupted = true
          resolve()
        },
      })
      for (const wake of waiters.splice(0)) wake()
      await promise
      return []
    },
    cancel: async () => {},
    drop: async (inputs, told) => void dropped.push({ texts: inputs.map((i) => i.message.text), told }),
    mayJoin: (candidate) => !candidate.message.text.startsWith('/new'),
    onError: (_, error) => {
      throw error
    },
    onUnplaced: (_, error) => {
      throw error
    },
  })
  const untilTurns = async (count: number) => {
    while (turns.length < count) await new Promise<void>((resolve) => waiters.push(resolve))
  }
  const texts = (n: number) => turns[n]!.inputs.map((i) => i.message.text)
  return { queue, turns, dropped, untilTurns, texts }
}

test('a second message waits until the first turn ends; another session does not', async () => {
  const { queue, turns, untilTurns, texts } = bench()
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  await queue.offer(input('other', 'b'))
  expect(turns.map((turn) => turn.lane)).toEqual(['a', 'b'])
  turns[0]!.end()
  await untilTurns(3)
  expect(texts(2)).toEqual(['two'])
})

test('steer: a message joins the running turn', async () => {
  const { queue, turns } = bench({ mode: 'steer' })
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  expect(turns[0]!.steered).toEqual(['two'])
  expect(queue.waiting('a')).toEqual([])
})

test('steer: what comes after a message that waits does not overtake it', async () => {
  const { queue, turns } = bench({ mode: 'steer' })
  await queue.offer(input('one'))
  await queue.offer(input('/new'))
  await queue.offer(input('after the new session'))
  expect(turns[0]!.steered).toEqual([])
  expect(queue.waiting('a').map((i) => i.message.text)).toEqual(['/new', 'after the new session'])
})

test('steer-backlog: it joins the turn and is asked again afterwards', async () => {
  const { queue, turns, untilTurns, texts } = bench({ mode: 'steer-backlog' })
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  expect(turns[0]!.steered).toEqual(['two'])
  turns[0]!.end()
  await untilTurns(2)
  expect(texts(1)).toEqual(['two'])
})

test('collect: what waits in one chat becomes one turn, other chats have their own', async () => {
  const { queue, turns, untilTurns, texts } = bench({ mode: 'collect' })
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  await queue.offer(input('three'))
  await queue.offer(input('elsewhere', 'a', '8'))
  await queue.offer(input('four'))
  turns[0]!.end()
  await untilTurns(2)
  expect(texts(1)).toEqual(['two', 'three'])
  turns[1]!.end()
  await untilTurns(3)
  expect(texts(2)).toEqual(['elsewhere'])
  turns[2]!.end()
  await untilTurns(4)
  expect(texts(3)).toEqual(['four'])
})

test('collect: a burst is waited for', async () => {
  const { queue, turns, untilTurns, texts } = bench({ mode: 'collect', debounceMs: 40 })
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  turns[0]!.end()
  await queue.offer(input('three'))
  await untilTurns(2)
  expect(texts(1)).toEqual(['two', 'three'])
})

test('interrupt: the running turn ends and the new message is taken', async () => {
  const { queue, turns, untilTurns, texts } = bench({ mode: 'interrupt' })
  await queue.offer(input('one'))
  await queue.offer(input('no, two'))
  expect(turns[0]!.interrupted).toBe(true)
  await untilTurns(2)
  expect(texts(1)).toEqual(['no, two'])
})

test.each([
  ['summarize', ['2'], true, ['3', '4']],
  ['old', ['2'], false, ['3', '4']],
  ['new', ['4'], false, ['2', '3']],
] as const)('over the cap, drop %s', async (drop, gone, told, left) => {
  const { queue, turns, dropped, untilTurns } = bench({ cap: 2, drop })
  for (const text of ['1', '2', '3', '4']) await queue.offer(input(text))
  expect(dropped).toEqual([{ texts: gone, told }])
  expect(queue.waiting('a').map((i) => i.message.text)).toEqual(left)
  turns[0]!.end()
  await untilTurns(2)
  expect(turns[1]!.dropped).toEqual(told ? gone : [])
})

test('a question whose caller waits is not dropped, and takes no place of a message', async () => {
  const { queue, dropped } = bench({ cap: 2, drop: 'old' })
  await queue.offer(input('running'))
  const question = { ...input('question'), turnOptions: { deliver: false } }
  await queue.offer(question)
  for (const text of ['1', '2', '3']) await queue.offer(input(text))
  expect(dropped).toEqual([{ texts: ['1'], told: false }])
  expect(queue.waiting('a').map((i) => i.message.text)).toEqual(['question', '2', '3'])
})

test('stop interrupts the turn and gives back what waits', async () => {
  const { queue, turns } = bench()
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  const stopped = await queue.stop('a')
  expect(stopped.wasRunning).toBe(true)
  expect(stopped.cancelled.map((i) => i.message.text)).toEqual(['two'])
  expect(turns[0]!.interrupted).toBe(true)
  await queue.idle()
  expect(turns).toHaveLength(1)
  expect(await queue.stop('a')).toEqual({ wasRunning: false, cancelled: [] })
})

test('closing waits for what runs and begins nothing', async () => {
  const { queue, turns } = bench()
  await queue.offer(input('one'))
  await queue.offer(input('two'))
  const closed = queue.close()
  turns[0]!.end()
  await closed
  expect(turns).toHaveLength(1)
  expect(queue.waiting('a').map((i) => i.message.text)).toEqual(['two'])
})

test('a stop between the taking of a batch and the beginning of its turn ends the turn', async () => {
  const opening = Promise.withResolvers<void>()
  const ended: string[] = []
  const queue = new TurnQueue({
    clock: systemClock,
    settings: async () => ({ mode: 'followup', debounceMs: 0, cap: 20, drop: 'summarize' }),
    take: async (batch, begun) => {
      await opening.promise
      begun({
        isRevoked: false,
        steer: async () => false,
        interrupt: async () => void ended.push(batch.lane),
      })
      return []
    },
    drop: async () => {},
    cancel: async () => {},
    mayJoin: () => true,
    onError: (_, error) => {
      throw error
    },
    onUnplaced: (_, error) => {
      throw error
    },
  })
  await queue.offer(input('one'))
  expect(await queue.stop('a')).toEqual({ wasRunning: true, cancelled: [] })
  opening.resolve()
  await queue.idle()
  expect(ended).toEqual(['a'])
  await queue.offer(input('two'))
  await queue.idle()
  expect(ended).toEqual(['a'])
})

test('a stop also ends a message that is being placed, and one that joined the turn and got no answer', async () => {
  const turn = Promise.withResolvers<WaitingInput[]>()
  const cancelled: string[] = []
  const taken: string[][] = []
  const queue = new TurnQueue({
    clock: systemClock,
    settings: async () => ({ mode: 'steer', debounceMs: 0, cap: 20, drop: 'summarize' }),
    take: async ({ inputs }, begun) => {
      taken.push(inputs.map(({ message }) => message.text))
      begun({ isRevoked: false, steer: async () => true, interrupt: async () => {} })
      return taken.length === 1 ? turn.promise : []
    },
    drop: async () => {},
    cancel: async (inputs) => void cancelled.push(...inputs.map(({ message }) => message.text)),
    mayJoin: () => true,
    onError: (_, error) => {
      throw error
    },
    onUnplaced: (_, error) => {
      throw error
    },
  })
  const [one, joined, placing] = ['one', 'joined', 'placing'].map((text) => input(text))
  await queue.offer(one!)
  await queue.offer(joined!)
  const offer = queue.offer(placing!)
  expect(await queue.stop('a')).toEqual({ wasRunning: true, cancelled: [placing] })
  await offer
  expect(queue.has(placing!)).toBe(false)
  turn.resolve([joined!])
  await queue.idle()
  expect(cancelled).toEqual(['joined'])
  expect(taken).toEqual([['one']])
})

test('one input can be stopped alone: while it runs, while it waits, while it is being placed', async () => {
  const { queue, turns, untilTurns, texts } = bench()
  const [one, two, three, four] = ['one', 'two', 'three', 'four'].map((text) => input(text))
  await queue.offer(one!)
  await queue.offer(two!)
  await queue.offer(three!)
  expect(await queue.stopInput('a', two!.key)).toEqual({ wasRunning: false, cancelled: [two] })
  expect(turns[0]!.interrupted).toBe(false)
  const placing = queue.offer(four!)
  expect(await queue.stopInput('a', four!.key)).toEqual({ wasRunning: false, cancelled: [four] })
  await placing
  expect([one, two, three, four].map((each) => queue.has(each!))).toEqual([true, false, true, false])
  expect(await queue.stopInput('a', one!.key)).toEqual({ wasRunning: true, cancelled: [] })
  expect(turns[0]!.interrupted).toBe(true)
  await untilTurns(2)
  expect(texts(1)).toEqual(['three'])
  expect(turns[1]!.interrupted).toBe(false)
  expect(await queue.stopInput('elsewhere', one!.key)).toEqual({ wasRunning: false, cancelled: [] })
})

test('a lane that failed forgets inputs that are being placed: the store gives all of them again, in order', async () => {
  const held: Array<() => void> = []
  const order: string[] = []
  const { promise: failure, reject: fail } = Promise.withResolvers<WaitingInput[]>()
  const queue = new TurnQueue({
    clock: systemClock,
    settings: async () => {
      await new Promise<void>((resolve) => held.push(resolve))
      return { mode: 'followup', debounceMs: 0, cap: 20, drop: 'summarize' }
    },
    take: async ({ inputs }) => {
      order.push(...inputs.map(({ message }) => message.text))
      return order.length === 1 ? failure : []
    },
    drop: async () => {},
    cancel: async () => {},
    mayJoin: () => true,
    onError: (lane) => queue.forget(lane),
    onUnplaced: (_, error) => {
      throw error
    },
  })
  const [first, second] = [input('one'), input('two')]
  void queue.offer(first)
  const placing = queue.offer(second)
  await expect.poll(() => held).toHaveLength(1)
  expect(queue.has(second)).toBe(true)
  fail(new Error('the database is away'))
  await expect.poll(() => queue.isBusy('a')).toBe(false)
  expect([first, second].map((one) => queue.has(one))).toEqual([false, false])
  const again = [queue.offer(first), queue.offer(second)]
  held[0]!()
  await placing
  while (queue.has(first) || queue.has(second)) {
    for (const release of held) release()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(again)
  expect(order).toEqual(['one', 'one', 'two'])
})

test('a lane that was forgotten while an input was being placed shows its next turn as running', async () => {
  const held: Array<() => void> = []
  const ends: Array<() => void> = []
  const queue = new TurnQueue({
    clock: systemClock,
    settings: async () => {
      await new Promise<void>((resolve) => held.push(resolve))
      return { mode: 'followup', debounceMs: 0, cap: 20, drop: 'summarize' }
    },
    take: () => new Promise((resolve) => ends.push(() => resolve([]))),
    drop: async () => {},
    cancel: async () => {},
    mayJoin: () => true,
    onError: (_, error) => {
      throw error
    },
    onUnplaced: (_, error) => {
      throw error
    },
  })
  const [first, second] = [input('one'), input('two')]
  void queue.offer(first)
  void queue.offer(second)
  await expect.poll(() => held).toHaveLength(1)
  // Another process has the lane.
  queue.forget('a')
  ends[0]!()
  await expect.poll(() => queue.isBusy('a')).toBe(false)
  const again = queue.offer(first)
  held[0]!()
  await expect.poll(() => held).toHaveLength(2)
  held[1]!()
  await again
  expect(queue.activeLanes()).toEqual(['a'])
  expect(queue.has(first)).toBe(true)
  ends[1]!()
  await queue.idle()
  expect(queue.activeLanes()).toEqual([])
})
