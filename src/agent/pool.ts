// Limits how many Claude processes are live, and how many start at the same time. A process takes 200 MB and its start a whole
// core. The process that has been idle longest is closed to make room; one that takes a turn never is.
import type { Clock } from '../domain/clock.ts'

interface Pooled {
  readonly key: string
  readonly busy: boolean
  close(why: 'evicted'): Promise<void>
}

interface PoolLimits {
  maxLive: number
  maxStarts: number
  idleMs: number
}

interface Place<T> {
  item: T
  pinned: boolean
  usedAt: number
  /** Opened for a turn that has not started: not idle yet. */
  reservedUntil: number
}

/** The longest time between `open` and the start of the turn; until then the conversation is not evicted. */
const reservationMs = 30_000

export class Pool<T extends Pooled> {
  #clock: Clock
  #limits: PoolLimits
  #places = new Map<string, Place<T>>()
  #starting = 0
  #startsPinned = 0
  #waiting: Array<() => void> = []
  #cancelSweep: (() => void) | undefined

  constructor(clock: Clock, limits: PoolLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get(key: string): T | undefined {
    return this.#places.get(key)?.item
  }

  all(): T[] {
    return [...this.#places.values()].map((place) => place.item)
  }

  /** Starts one more as soon as there is room and not too many others start. */
  async start(key: string, pinned: boolean, make: () => Promise<T>): Promise<T> {
    await this.#takeSlot(pinned)
    try {
      const item = await make()
      this.#places.set(key, { item, pinned, usedAt: this.#clock.monotonic(), reservedUntil: 0 })
      this.reserve(key)
      return item
    } finally {
      this.#starting--
      if (pinned) this.#startsPinned--
      this.look()
    }
  }

  /** The item was opened and will be used at once. */
  reserve(key: string): void {
    const place = this.#places.get(key)
    if (!place) return
    place.usedAt = this.#clock.monotonic()
    place.reservedUntil = place.usedAt + reservationMs
    this.#cancelSweep ??= this.#clock.after(Math.min(this.#limits.idleMs, 60_000), () => this.#sweep())
  }

  /** A turn started or ended. */
  touch(key: string): void {
    const place = this.#places.get(key)
    if (!place) return
    place.usedAt = this.#clock.monotonic()
    place.reservedUntil = 0
    this.look()
  }

  remove(item: T): void {
    if (this.#places.get(item.key)?.item === item) this.#places.delete(item.key)
    this.look()
  }

  /** Capacity changed: waiters check again. */
  look(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  close(): void {
    this.#cancelSweep?.()
  }

  /** Waits for a free slot and takes it without an await in between. */
  async #takeSlot(pinned: boolean): Promise<void> {
    for (;;) {
      const hasSlot = this.#starting < this.#limits.maxStarts
      if (hasSlot && (pinned || this.#hasRoom())) break
      if (hasSlot && this.#makeRoom()) continue
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#starting++
    if (pinned) this.#startsPinned++
  }

  #hasRoom(): boolean {
    const live = [...this.#places.values()].filter((place) => !place.pinned).length
    return live + this.#starting - this.#startsPinned < this.#limits.maxLive
  }

  /** Closes the process that has been idle longest; false if all are in use. */
  #makeRoom(): boolean {
    const idle = this.#idle().sort((a, b) => a.usedAt - b.usedAt)[0]
    if (idle) this.#evict(idle)
    return idle !== undefined
  }

  #sweep(): void {
    this.#cancelSweep = undefined
    const now = this.#clock.monotonic()
    for (const place of this.#idle()) if (now - place.usedAt >= this.#limits.idleMs) this.#evict(place)
    // The turn for which a place was reserved may never have started.
    this.look()
    if (this.#places.size > 0) {
      this.#cancelSweep = this.#clock.after(Math.min(this.#limits.idleMs, 60_000), () => this.#sweep())
    }
  }

  #idle(): Array<Place<T>> {
    const now = this.#clock.monotonic()
    return [...this.#places.values()].filter(
      (place) => !place.pinned && !place.item.busy && place.reservedUntil <= now,
    )
  }

  #evict(place: Place<T>): void {
    this.#places.delete(place.item.key)
    void place.item.close('evicted').finally(() => this.look())
  }
}
