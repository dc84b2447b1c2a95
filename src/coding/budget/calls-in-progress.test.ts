import { expect, test } from 'vitest'
import { systemClock } from '../../domain/clock.ts'
import { CallsUnderWay, ownCalls } from './calls-in-progress.ts'

const never = new AbortController().signal

test('a call is under way until its agent is heard of again; a sub-agent is known by its first sign', () => {
  const calls = new CallsUnderWay(systemClock)
  calls.begin(ownCalls)
  expect(calls.count).toBe(1)
  calls.over(ownCalls)
  calls.beginFirst('tool-1')
  calls.beginFirst('tool-2')
  expect(calls.count).toBe(2)
  expect(calls.countBeside('sub-a', ownCalls)).toBe(1)
  calls.over('sub-a')
  expect(calls.countBeside('sub-a', ownCalls)).toBe(1)
  expect(calls.count).toBe(1)
  calls.begin('sub-a')
  calls.over('sub-a')
  calls.over('sub-b')
  expect(calls.count).toBe(0)
})

test('one that was never started is forgotten when the tools of the agent above are done', () => {
  const calls = new CallsUnderWay(systemClock)
  calls.beginFirst('denied')
  calls.startersDone()
  expect(calls.count).toBe(0)
})

test('whoever waits hears of every change, and of the end', async () => {
  const calls = new CallsUnderWay(systemClock)
  calls.begin('sub-a')
  const [first, second] = [calls.change(never), calls.change(never)]
  calls.over('sub-a')
  expect(await Promise.all([first, second])).toEqual([true, true])
  const stop = new AbortController()
  const stopped = calls.change(stop.signal)
  stop.abort()
  expect(await stopped).toBe(true)
})
