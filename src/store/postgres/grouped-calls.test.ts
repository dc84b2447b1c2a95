// Calls that share a statement: each gets its own rows, and a failing one fails alone.
import { expect, test } from 'vitest'
import { GroupedCalls } from './grouped-calls.ts'

interface Sum {
  place: number
  sum: number
}

function refusal(): Error {
  return Object.assign(new Error('refused'), { code: '23505' })
}

/** Adds two numbers for each call; refuses a group that has a negative one. */
function adding(groups: number[][]) {
  return new GroupedCalls<Sum>(async (columns) => {
    const [a, b] = columns as [number[], number[]]
    groups.push(a)
    await new Promise((resolve) => setImmediate(resolve))
    if (a.some((n) => n < 0)) throw refusal()
    return a.map((n, place) => ({ place: place + 1, sum: n + b[place]! })).filter(({ sum }) => sum !== 0)
  })
}

test('calls of one moment share a statement, in their order; each gets its own rows', async () => {
  const groups: number[][] = []
  const calls = adding(groups)
  const answers = await Promise.all([
    calls.call([3, 1], 'c'),
    calls.call([1, 1], 'a'),
    calls.call([0, 0], 'b'),
  ])
  expect(answers.map((rows) => rows.map(({ sum }) => sum))).toEqual([[4], [2], []])
  expect(groups).toEqual([[1, 0, 3]])
})

test('calls that come while a statement runs share the next one', async () => {
  const groups: number[][] = []
  const calls = adding(groups)
  const first = calls.call([1, 1])
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([first, calls.call([2, 1]), calls.call([3, 1])])
  expect(groups).toEqual([[1], [2, 3]])
})

test('a refused call fails alone; the others of its group and of its lane are done, in their order', async () => {
  const groups: number[][] = []
  const calls = adding(groups)
  const answers = await Promise.allSettled([
    calls.call([1, 1], 'a'),
    calls.call([-1, 1], 'a'),
    calls.call([2, 1], 'a'),
    calls.call([3, 1], 'b'),
  ])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  const alone = groups.slice(1).flat()
  expect(alone.filter((n) => n !== 3)).toEqual([1, -1, 2])
})

test('a lost connection fails the group and what waits for it; the next call works', async () => {
  let isAway = true
  const calls = new GroupedCalls<Sum>(async ([values]) => {
    await new Promise((resolve) => setImmediate(resolve))
    if (isAway) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
    return values!.map((_, place) => ({ place: place + 1, sum: 1 }))
  })
  const first = calls.call([1])
  await new Promise((resolve) => setImmediate(resolve))
  const failed = await Promise.allSettled([first, calls.call([2])])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isAway = false
  expect(await calls.call([3])).toHaveLength(1)
})
