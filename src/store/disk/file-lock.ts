// A lock file that several processes respect, including OpenClaw up to 2026.7.1. A lock is never taken from a live process, no
// matter how long that process holds it. Age matters only for a lock that names no process.
import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, type Clock } from '../../domain/clock.ts'
import { RockpoolError, attempt } from '../../domain/errors.ts'
import { asFileError, errorCode, fileIdentity, ifThere } from './atomic-file.ts'
import { describeHolder, holderOf, isDead, newPayload, type LockPayload } from './lock-payload.ts'
import { readForeign } from './foreign-file.ts'

export interface LockOptions {
  timeoutMs?: number
  pollIntervalMs?: number
  /** Age at which a lock that names no process is stale. */
  staleMs?: number
  /** Older versions of OpenClaw remove a lock after 30 s, so the holder updates its mtime this often. */
  touchEveryMs?: number
  clock?: Clock
}

export interface HeldLock {
  /** Throws `lock-lost` unless this process still holds the lock. Called right before a change becomes visible. */
  confirm(): void
  /** Does another process wait for the lock? A holder that batches its work releases it then. */
  isWanted(): boolean
  /** The previous holder died while it held the lock: cached knowledge about the file is invalid. */
  wasAbandoned: boolean
}

/** Far below the age at which a lock is stale. */
const trustMs = 200

/** How late a holder may notice that another process waits. */
const wantedMs = 75

export interface Lock {
  /** Runs `fn` under the lock. `op` names the work, for the error message of processes that time out. */
  hold<T>(op: string, fn: (held: HeldLock) => Promise<T>): Promise<T>
}

/** The lock `<path>.lock`. */
export class FileLock implements Lock {
  readonly #file: string
  readonly #options: Required<LockOptions>
  #politeUntil = 0

  constructor(path: string, options: LockOptions = {}) {
    const { timeoutMs = 10_000, pollIntervalMs = 25, staleMs = 30_000 } = options
    const { touchEveryMs = 5_000, clock = systemClock } = options
    this.#file = `${path}.lock`
    this.#options = { timeoutMs, pollIntervalMs, staleMs, touchEveryMs, clock }
  }

  async hold<T>(op: string, fn: (held: HeldLock) => Promise<T>): Promise<T> {
    const payload = newPayload(op, this.#options.clock.now())
    const wasAbandoned = await this.#take(payload)
    const confirm = confirmation(this.#file, payload, this.#options.clock)
    // Fails if the lock is gone: confirm() reports that before anything is changed.
    const touch = (): void => attempt(() => utimesSync(this.#file, new Date(), new Date()))
    const touching = setInterval(touch, this.#options.touchEveryMs).unref()
    try {
      return await fn({ confirm, wasAbandoned, isWanted: waitingCheck(this.#file, this.#options.clock) })
    } finally {
      clearInterval(touching)
      this.#release(payload)
    }
  }

  /** Runs `fn` under the lock if the lock is free now; returns undefined otherwise. */
  tryNow<T>(op: string, fn: () => T): T | undefined {
    const payload = newPayload(op, this.#options.clock.now())
    if (readLock(this.#file) !== undefined || !tryLink(this.#file, payload)) return undefined
    try {
      return fn()
    } finally {
      this.#release(payload)
    }
  }

  /** The operation of the live holder (`op`); undefined if the lock is free. */
  heldFor(): string | undefined {
    const content = readLock(this.#file)
    return content && !this.#isDead(content) ? holderOf(content)?.op : undefined
  }

  /** Resolves to whether the lock of a dead process was removed. */
  async #take(payload: LockPayload): Promise<boolean> {
    const deadline = this.#options.clock.monotonic() + this.#options.timeoutMs
    let wasAbandoned = false
    await sleep(Math.max(0, this.#politeUntil - this.#options.clock.monotonic()))
    for (;;) {
      const content = readLock(this.#file)
      if (content === undefined) {
        if (tryLink(this.#file, payload)) return wasAbandoned
      } else if (this.#isDead(content)) {
        wasAbandoned = true
        if (reclaim(this.#file, content, payload)) continue
      }
      if (this.#options.clock.monotonic() > deadline) throw this.#timedOut(content)
      // Fails if another process waits already, or the disk is full. Waiting files only improve fairness.
      attempt(() => writeFileSync(`${this.#file}.waiting`, '', { flag: 'wx', mode: 0o600 }))
      await sleep(this.#options.pollIntervalMs * (0.5 + Math.random()))
    }
  }

  #isDead(content: Buffer): boolean {
    const { staleMs, clock } = this.#options
    return isDead(content, ageOf(this.#file, clock), staleMs, clock.now())
  }

  #release(payload: LockPayload): void {
    if (holderOf(readLock(this.#file))?.nonce === payload.nonce) rmSync(this.#file, { force: true })
    // Waiting processes poll every few milliseconds. Taking the lock again at once would starve them.
    if (turnAskedFor(this.#file))
      this.#politeUntil = this.#options.clock.monotonic() + 2 * this.#options.pollIntervalMs
  }

  #timedOut(content: Buffer | undefined): RockpoolError {
    const holder = describeHolder(content, ageOf(this.#file, this.#options.clock), this.#options.clock.now())
    return new RockpoolError('locked', `${this.#file} has been held for too long: ${holder}.`, {
      hint: `We waited ${this.#options.timeoutMs / 1000} s. Try again, or end that process if it hangs. If it is not a program that uses these sessions, remove the lock file.`,
    })
  }
}

/** Creates the lock file with its whole payload in one step; false if the file exists. */
function tryLink(file: string, payload: LockPayload): boolean {
  const own = `${file}.${payload.pid}.${randomUUID()}.tmp`
  try {
    writeFileSync(own, JSON.stringify(payload), { flag: 'wx', mode: 0o600 })
    linkSync(own, file)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw asFileError(error, file)
  } finally {
    rmSync(own, { force: true })
  }
}

/** Removes the lock of a dead process. Between the check and the removal another process may take the lock, so only one process
 *  at a time may do both: a guard file, created like a lock, ensures that. */
function reclaim(file: string, dead: Buffer, payload: LockPayload): boolean {
  const guard = `${file}.reclaim`
  if (!tryLink(guard, payload)) {
    removeDeadGuard(guard)
    return false
  }
  try {
    if (readLock(file)?.equals(dead)) rmSync(file, { force: true })
    return true
  } finally {
    rmSync(guard, { force: true })
  }
}

/** A guard is held for less than a millisecond, so it is rare that its owner is killed meanwhile. */
function removeDeadGuard(guard: string): void {
  const content = readLock(guard)
  if (!content || !isDead(content, 0, Infinity, Date.now())) return
  const aside = `${guard}.${process.pid}.${randomUUID()}.tmp`
  try {
    renameSync(guard, aside)
    // Another process was faster, and this is the guard of a live process: restore it.
    if (!readLock(aside)?.equals(content)) linkSync(aside, guard)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(errorCode(error) ?? '')) throw asFileError(error, guard)
  } finally {
    rmSync(aside, { force: true })
  }
}

/** Checks that this process still holds the lock. The file is read only if it changed since the last check. Checks within 200 ms
 *  are skipped, because the lock cannot become stale in that time. */
function confirmation(file: string, payload: LockPayload, clock: Clock): () => void {
  let known: string | undefined
  let trustedUntil = -Infinity
  return () => {
    if (clock.monotonic() < trustedUntil) return
    trustedUntil = clock.monotonic() + trustMs
    // The identity is taken before the content, so a change in between is detected by the next check.
    const now = fileIdentity(file)
    if (now !== undefined && now === known) return
    if (holderOf(readLock(file))?.nonce !== payload.nonce)
      throw new RockpoolError('lock-lost', `${file} was taken away while we held it. Nothing was changed.`, {
        hint: 'Try again. If it happens often, another program removes the lock of a process that still runs.',
      })
    known = now
  }
}

/** A holder asks after every write, so this reads the disk only every few milliseconds. */
function waitingCheck(file: string, clock: Clock): () => boolean {
  let isWanted = false
  let knownUntil = -Infinity
  return () => {
    if (clock.monotonic() < knownUntil) return isWanted
    knownUntil = clock.monotonic() + wantedMs
    return (isWanted = existsSync(`${file}.waiting`))
  }
}

function readLock(file: string): Buffer | undefined {
  try {
    return ifThere(() => readForeign(file, 65_536))
  } catch (error) {
    throw asFileError(error, file)
  }
}

/** By the wall clock, which may jump: a time in the future is treated as now. */
export function ageOf(file: string, clock: Clock): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats ? Math.max(0, clock.now() - stats.mtimeMs) : 0
}

function turnAskedFor(file: string): boolean {
  try {
    rmSync(`${file}.waiting`)
    return true
  } catch {
    // No process waits.
    return false
  }
}
