import { expect, test } from 'vitest'
import type { Clock } from '../domain/clock.ts'
import { makePreviewStream, previewOf } from './stream.ts'

test.each([
  ['a line that is being wri', 'a line that is being …'],
  ['one\ntwo thr', 'one\ntwo …'],
  ['see:\n```js\nlet x = 1\nlet y', 'see:\n```js\nlet x = 1\nlet\n```'],
  ['word', ''],
  ['[[reply_to_current]] I think so, ye', 'I think so, …'],
  ['I think [[reply_to: 12', 'I think …'],
  ['Here it is:\nMEDIA:./chart.png\nAnd more wor', 'Here it is:\nAnd more …'],
  ['Here it is:\nMEDIA:./a chart', 'Here it is: …'],
  ['NO_REPLY ', ''],
  ['As code: `[[reply_to_current]]` is sho', 'As code: `[[reply_to_current]]` is …'],
])('the preview of %j', (text, expected) => {
  expect(previewOf(text, 1_000)).toBe(expected)
})

test('a preview never grows over the limit', () => {
  expect(previewOf('word '.repeat(100), 50).length).toBeLessThanOrEqual(50)
})

function handClock() {
  const timers: Array<() => void> = []
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after: (_, fn) => {
      timers.push(fn)
      return () => timers.splice(timers.indexOf(fn), 1)
    },
  }
  return { clock, tick: () => timers.splice(0).forEach((fn) => fn()) }
}

test('updates come one at a time, when there is enough, and none after the end', async () => {
  const { clock, tick } = handClock()
  const shown: string[] = []
  const gate = Promise.withResolvers<void>()
  const stream = makePreviewStream({
    clock,
    maxChars: 1_000,
    firstChars: 10,
    show: async (text) => {
      shown.push(text)
      if (shown.length === 1) await gate.promise
    },
  })
  stream.push('short ')
  tick()
  expect(shown).toEqual([])
  stream.push('but now it is longer ')
  tick()
  stream.push('and goes on ')
  tick()
  expect(shown).toEqual(['short but now it is longer …'])
  gate.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  tick()
  expect(shown[1]).toBe('short but now it is longer and goes on …')
  stream.push('never shown ')
  await stream.end()
  tick()
  expect(shown).toHaveLength(2)
})

test('a preview that cannot be shown does no harm', async () => {
  const { clock, tick } = handClock()
  const stream = makePreviewStream({
    clock,
    maxChars: 100,
    firstChars: 1,
    show: async () => {
      throw new Error('offline')
    },
  })
  stream.push('hello there ')
  tick()
  await stream.end()
})
