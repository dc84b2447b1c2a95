// Small tools for waiting: one queue for each key, a limit on parallel tasks, a run that callers share, a condition, a pause, a
// limit on waiting, a task that repeats, a time slice for long work.
import { systemClock, type Clock } from './clock.ts'
import { RockpoolError } from './errors.ts'

/** Runs the tasks of one key one after another; tasks of different keys do not wait for each other. */
export class KeyedQueue {
  #last = new Map<string, Promise<unknown>>()

  /** The returned promise settles as `task` does. A task that fails does not stop the next one. */
  run<T>(key: string, task: () => Promise<T> | T): Promise<T> {
    const previous = this.#last.get(key) ?? Promise.resolve()
    const result = previous.then(task)
    const settled = result.then(
      () => {},
      () => {},
    )
    this.#last.set(key, settled)
    void settled.then(() => this.#last.get(key) === settled && this.#last.delete(key))
    return result
  }

  isBusy(key: string): boolean {
    return this.#last.has(key)
  }

  get isIdle(): boolean {
    return this.#last.size === 0
  }

  /** Resolves when every queue is empty. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}

/** Limits how many tasks run at once. The others wait in order of arrival; when too many wait, further ones are refused. */
export class AtMost {
  readonly #atOnce: number
  readonly #waitingLimit: number
  #running = 0
  #waiting: Array<() => void> = []

  constructor(atOnce: number, waitingLimit: number) {
    this.#atOnce = atOnce
    this.#waitingLimit = waitingLimit
  }

  /** Nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn()
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The next one takes over the place of this one.
      if (next) next()
      else this.#running--
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingLimit)
      throw new RockpoolError('busy', `${this.#waiting.length} requests of this kind wait already.`, {
        hint: 'Try again in a moment.',
      })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

/** Runs one task, never twice at once. Calls during a run share the next run, so each sees what was there before its call. */
export class SharedRun {
  readonly #task: () => Promise<void>
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(task: () => Promise<void>) {
    this.#task = task
  }

  start(): Promise<void> {
    const run = (): Promise<void> => {
      this.#next = undefined
      return (this.#running = this.#task())
    }
    return (this.#next ??= this.#running.then(run, run))
  }

  /** Resolves when no run is left; a failed run is reported to its callers only. */
  async idle(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next])
  }
}

/** Wakes all waiters when something has changed; each waiter then checks its own condition. */
export class Condition {
  readonly #clock: Clock
  #waiting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  notifyAll(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves to true at the next `notifyAll` or when `signal` fires, to false after `ms`. */
  wait(ms: number, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isChanged: boolean): void => {
        this.#waiting.delete(wake)
        signal?.removeEventListener('abort', wake)
        cancel()
        resolve(isChanged)
      }
      const wake = (): void => end(true)
      const cancel = this.#clock.after(ms, () => end(false))
      this.#waiting.add(wake)
      signal?.addEventListener('abort', wake, { once: true })
      if (signal?.aborted) wake()
    })
  }
}

/** A pause on `clock`. It does not keep the process alive. */
export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve))
}

/** The result of `work`, or of `late()` when `work` takes longer than `ms`. `late` may throw. */
export async function within<T, L>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: () => L,
): Promise<T | L> {
  let cancel = (): void => {}
  const tooLate = new Promise<L>((resolve, reject) => {
    cancel = clock.after(ms, () => {
      try {
        resolve(late())
      } catch (error) {
        reject(error)
      }
    })
  })
  try {
    return await Promise.race([work, tooLate])
  } finally {
    cancel()
  }
}

/**
 * Runs `task` every `ms`, counted from the end of the previous run, until the returned function is called.
 * `task` handles its own errors.
 */
export function repeat(clock: Clock, ms: number, task: () => Promise<void> | void): () => void {
  let isStopped = false
  let cancel = (): void => {}
  const later = (): void => {
    if (!isStopped) cancel = clock.after(ms, () => void Promise.resolve(task()).finally(later))
  }
  later()
  return () => {
    isStopped = true
    cancel()
  }
}

/** Long work checks its time slice, and yields to the event loop when the slice is used up. */
export class TimeSlice {
  readonly #ms: number
  #since = systemClock.monotonic()

  constructor(ms: number) {
    this.#ms = ms
  }

  get isUsedUp(): boolean {
    return systemClock.monotonic() - this.#since > this.#ms
  }

  async yield(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    this.#since = systemClock.monotonic()
  }
}
