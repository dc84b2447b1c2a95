import { expect, test } from 'vitest'
import { systemClock } from '../../domain/clock.ts'
import { CallsInProgress, ownCalls } from './calls-in-progress.ts'

const never = new AbortController().signal

test('a call is in progress until its agent appears again; a sub-agent is known from its first appearance on', () => {
  const calls = new CallsInProgress(systemClock)
  calls.start(ownCalls)
  expect(calls.count).toBe(1)
  calls.end(ownCalls)
  calls.startFirst('tool-1')
  calls.startFirst('tool-2')
  expect(calls.count).toBe(2)
  expect(calls.countWithout('sub-a', ownCalls)).toBe(1)
  calls.end('sub-a')
  expect(calls.countWithout('sub-a', ownCalls)).toBe(1)
  expect(calls.count).toBe(1)
  calls.start('sub-a')
  calls.end('sub-a')
  calls.end('sub-b')
  expect(calls.count).toBe(0)
})

test('a sub-agent that never started is forgotten when the tools of the agent above are done', () => {
  const calls = new CallsInProgress(systemClock)
  calls.startFirst('denied')
  calls.endFirst()
  expect(calls.count).toBe(0)
})

test('every waiter is woken by a change and by the end', async () => {
  const calls = new CallsInProgress(systemClock)
  calls.start('sub-a')
  const [first, second] = [calls.change(never), calls.change(never)]
  calls.end('sub-a')
  expect(await Promise.all([first, second])).toEqual([true, true])
  const stop = new AbortController()
  const stopped = calls.change(stop.signal)
  stop.abort()
  expect(await stopped).toBe(true)
})
