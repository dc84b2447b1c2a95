import { expect, test } from 'vitest'
import { aDelivery } from '../../test/support/work-store-contract.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import type { OutboxRow } from '../store/work-store.ts'
import { OutboxIntake } from './outbox-intake.ts'

function row(seq: number, change: Partial<OutboxRow> = {}): OutboxRow {
  const about = { attempts: 0, resent: false, notBefore: 0, messageIds: [], updatedAt: 0 }
  return { seq, delivery: aDelivery(seq), state: 'queued', ...about, ...change }
}

interface Take {
  afterSeq: number | undefined
  answer: (rows: OutboxRow[]) => void
  fail: (error: Error) => void
}

/** A store whose answers come when the test says so. */
function bench() {
  const takes: Take[] = []
  const passed: number[] = []
  const take = (afterSeq?: number): Promise<OutboxRow[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<OutboxRow[]>()
    takes.push({ afterSeq, answer: resolve, fail: reject })
    return promise
  }
  const arrivals = new OutboxIntake({ take }, ({ seq }) => void passed.push(seq))
  const asked = (n: number): Promise<Take> =>
    expect
      .poll(() => takes[n - 1])
      .toBeDefined()
      .then(() => takes[n - 1]!)
  return { arrivals, passed, asked, takes }
}

test.each([
  ['older', 1, 2],
  ['newer', 2, 1],
])(
  'rows that are reported while %s ones are being taken keep the order of the outbox',
  async (_, taken, told) => {
    const { arrivals, passed, asked } = bench()
    const taking = arrivals.takeMore()
    const { answer } = await asked(1)
    arrivals.add([row(told)])
    expect(passed).toEqual([])
    answer([row(taken)])
    await taking
    expect(passed).toEqual([1, 2])
  },
)

test('one that is marked as being sent is the first of its lane and waits for nothing', async () => {
  const { arrivals, passed, asked } = bench()
  const taking = arrivals.takeMore()
  arrivals.add([row(5, { state: 'attempting', isMarked: true })])
  expect(passed).toEqual([5])
  ;(await asked(1)).answer([])
  await taking
})

test('a row that is reported in the step in which a take returns belongs before what was taken', async () => {
  const { arrivals, passed, asked } = bench()
  const taking = arrivals.takeMore()
  const { answer } = await asked(1)
  answer([row(2)])
  const toldOf = Promise.resolve().then(() => arrivals.add([row(1), row(2)]))
  await Promise.all([taking, toldOf])
  expect(passed).toEqual([1, 2])
})

test('when the answer to a take is lost, reported rows wait for the next take: it may bring earlier ones', async () => {
  const { arrivals, passed, asked } = bench()
  const taking = arrivals.takeMore()
  ;(await asked(1)).fail(new StoreUnavailable('It is away.'))
  await expect(taking).rejects.toThrow('It is away.')
  arrivals.add([row(2)])
  expect(passed).toEqual([])
  const again = arrivals.takeMore()
  ;(await asked(2)).answer([row(1)])
  await again
  expect(passed).toEqual([1, 2])
  arrivals.add([row(3)])
  expect(passed).toEqual([1, 2, 3])
})

test('takes follow each other, and reported rows continue after the first', async () => {
  const { arrivals, passed, asked, takes } = bench()
  const [first, second] = [arrivals.takeAll(), arrivals.takeMore()]
  const { answer, afterSeq } = await asked(1)
  expect(afterSeq).toBeUndefined()
  arrivals.add([row(2)])
  await new Promise((resolve) => setImmediate(resolve))
  expect(takes).toHaveLength(1)
  answer([row(1)])
  await first
  expect(passed).toEqual([1, 2])
  ;(await asked(2)).answer([row(3)])
  await second
  expect(passed).toEqual([1, 2, 3])
})

test('a row of another process that is older than our own is found: our own do not move the mark', async () => {
  const { arrivals, passed, asked } = bench()
  arrivals.add([row(6)])
  const taking = arrivals.takeMore()
  const { afterSeq, answer } = await asked(1)
  expect(afterSeq).toBe(0)
  answer([row(5), row(6)])
  await taking
  expect(passed).toEqual([6, 5])
  const again = arrivals.takeMore()
  expect((await asked(2)).afterSeq).toBe(6)
  ;(await asked(2)).answer([])
  await again
})

test('however many are over, one that is still open never comes twice', async () => {
  const { arrivals, passed, asked } = bench()
  arrivals.add([row(1)])
  for (let seq = 2; seq <= 20_010; seq++) {
    arrivals.add([row(seq)])
    arrivals.done(row(seq))
  }
  const taking = arrivals.takeMore()
  ;(await asked(1)).answer([row(1), row(20_010), row(20_011)])
  await taking
  expect(passed.filter((seq) => seq === 1)).toHaveLength(1)
  expect(passed.slice(-2)).toEqual([20_010, 20_011])
})

test('a row that is not ours any more comes again when it becomes ours; earlier reports do not', async () => {
  const { arrivals, passed, asked } = bench()
  arrivals.add([row(1), row(2)])
  arrivals.done(row(1))
  const taking = arrivals.takeMore()
  arrivals.add([row(3)])
  ;(await asked(1)).fail(new StoreUnavailable('It is away.'))
  await taking.catch(() => {})
  await arrivals.forgetAll()
  const again = arrivals.takeMore()
  ;(await asked(2)).answer([row(1), row(2), row(4)])
  await again
  expect(passed).toEqual([1, 2, 2, 4])
})
