// Events for very many listeners.
import { expect, test } from 'vitest'
import { makeEvents } from '../domain/events.ts'
import { EventLog } from './event-log.ts'

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
    log.on((got) => seen.push(...got.map(({ seq }) => seq)))
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
