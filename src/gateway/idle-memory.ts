// Collects garbage while the gateway is idle. V8 waits for further allocations before it collects, so a gateway that becomes
// idle just before a collection would keep tens of megabytes of garbage until it works again.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { repeat } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'

const checkMs = 5_000
/** The gateway is idle when its event loop was busy for less than this share of the last interval. */
const idleShare = 0.05
/** A collection pauses the process for some 30 ms: fewer megabytes than this are not worth it. */
const worthMb = 8

interface Heap {
  /** How long the event loop has been busy since the start of the process. */
  busyMs(): number
  /** The size of the heap, including garbage and the free pages that V8 keeps. */
  sizeMb(): number
  collect(): void
}

/** The returned function stops it. */
export function collectWhenIdle(clock: Clock, heap: Heap = processHeap()): () => void {
  let smallestMb = heap.sizeMb()
  let busyMs = heap.busyMs()
  return repeat(clock, checkMs, () => {
    const spentMs = heap.busyMs() - busyMs
    busyMs += spentMs
    if (spentMs > checkMs * idleShare || heap.sizeMb() - smallestMb < worthMb) return
    heap.collect()
    smallestMb = heap.sizeMb()
  })
}

function processHeap(): Heap {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  return {
    busyMs: () => performance.eventLoopUtilization().active,
    sizeMb: () => process.memoryUsage().heapTotal / 2 ** 20,
    // Only this kind of collection also returns the freed pages to the system.
    collect: () => collect({ type: 'major', flavor: 'last-resort' }),
  }
}
