// Events for very many listeners.
import { expect, test } from 'vitest'
import { makeEvents } from '../domain/events.ts'
import { EventFrames } from './event-frame.ts'
import { EventBatch, EventLog } from './event-log.ts'

const deleted = (key: string) => ({ type: 'session-deleted' as const, agentId: 'main', key })

test('few listeners get an event at once; many get it in slices after the request, later events together', async () => {
  const events = makeEvents((error) => {
    throw error
  })
  const log = new EventLog(events, 'epoch', (json) => json)
  const heard: number[][] = []
  const listen = (): void => {
    const seen: number[] = []
    heard.push(seen)
    log.on(({ events: got }) => seen.push(...got.map(({ seq }) => seq)))
  }
  listen()
  events.emit(deleted('a'))
  expect(heard).toEqual([[1]])
  for (let n = 0; n < 200; n++) listen()
  events.emit(deleted('b'))
  events.emit(deleted('c'))
  const count = (): number => heard.filter((seen) => seen.includes(2)).length
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  // The caller gets its answer first.
  expect(count()).toBe(0)
  await tick()
  events.emit(deleted('d'))
  while (heard.at(-1)!.length < 2) await tick()
  for (const seen of heard.slice(1)) expect(seen).toEqual([2, 3])
  while (heard.at(-1)!.length < 3) await tick()
  expect(heard[0]).toEqual([1, 2, 3, 4])
  log.close()
})

test('the pause between two rounds is ten times as long as the writes took, so that requests keep the processor', async () => {
  const events = makeEvents((error) => {
    throw error
  })
  const log = new EventLog(events, 'epoch', (json) => json)
  const heardAt: number[] = []
  log.on(() => heardAt.push(performance.now()))
  const spin = (ms: number): void => {
    for (const until = performance.now() + ms; performance.now() < until;);
  }
  for (let n = 0; n < 50; n++) log.on(() => spin(0.5))
  log.on(() => process.nextTick(() => spin(15)))
  events.emit(deleted('a'))
  await expect.poll(() => heardAt.length).toBe(1)
  events.emit(deleted('b'))
  await expect.poll(() => heardAt.length, { timeout: 10_000 }).toBe(2)
  expect(heardAt[1]! - heardAt[0]!).toBeGreaterThan(390)
  log.close()
})

test('frames are built once for all listeners of one audience, and again for another audience', () => {
  const batch = new EventBatch([{ epoch: 'e', seq: 1, json: '{}', event: deleted('a') }])
  let built = 0
  const build = (): EventFrames => {
    built++
    return new EventFrames([{ text: batch.events[0]!, subscription: 0 }])
  }
  const frames = ['all', 'all', 'work', 'all', 'work'].map((audience) => batch.framesFor(audience, build))
  expect(built).toBe(2)
  expect(frames[0]).toBe(frames[3])
  expect(frames[0]).not.toBe(frames[2])
  const nothing = (): undefined => void built++
  for (let n = 0; n < 3; n++) expect(batch.framesFor('nothing', nothing)).toBeUndefined()
  expect(built).toBe(3)
})
