// A lock file that several processes respect, OpenClaw up to 2026.7.1 among them.
// The rule that matters: a lock is never taken from a process that lives, however long it holds the lock. Age decides
// only about a lock that names no process.
import { randomUUID } from 'node:crypto'
import { existsSync, linkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../domain/clock.ts'
import { systemClock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { asFileError, errorCode, fileIdentity } from './atomic-file.ts'
import { describeHolder, holderIn, isDead, newPayload } from './lock-payload.ts'
import type { LockPayload } from './lock-payload.ts'
import { readForeign } from './foreign-file.ts'

export interface LockOptions {
  /** How long to wait for other holders. */
  timeoutMs?: number
  pollIntervalMs?: number
  /** Age at which a lock that names no process counts as left behind. */
  staleMs?: number
  /** Older OpenClaws evict by age after 30 s, so a lock of ours must always look young. */
  touchEveryMs?: number
  clock?: Clock
}

export interface HeldLock {
  /** Throws `lock-lost` unless the lock is still ours. Called last before a change becomes visible. */
  confirm(): void
  /** Does somebody wait for it? Who holds it for a while lets go then. */
  isWanted(): boolean
  /** The previous holder died with the lock: what is known about the file must be read again. */
  wasAbandoned: boolean
}

/** Far below the age at which anybody takes a lock for left behind. */
const trustMs = 200

/** Whatever keeps others out while `fn` runs. */
export interface Lock {
  /** `op` says what it is held for, to those who wait in vain. */
  hold<T>(op: string, fn: (held: HeldLock) => Promise<T>): Promise<T>
}

/** The lock `<path>.lock`. */
export class FileLock implements Lock {
  readonly #file: string
  readonly #timeoutMs: number
  readonly #pollMs: number
  readonly #staleMs: number
  readonly #touchEveryMs: number
  readonly #clock: Clock
  #politeUntil = 0

  constructor(path: string, options: LockOptions = {}) {
    this.#file = `${path}.lock`
    this.#timeoutMs = options.timeoutMs ?? 10_000
    this.#pollMs = options.pollIntervalMs ?? 25
    this.#staleMs = options.staleMs ?? 30_000
    this.#touchEveryMs = options.touchEveryMs ?? 5_000
    this.#clock = options.clock ?? systemClock
  }

  async hold<T>(op: string, fn: (held: HeldLock) => Promise<T>): Promise<T> {
    const payload = newPayload(op, this.#clock.now())
    const wasAbandoned = await this.#take(payload)
    const confirm = confirmation(this.#file, payload, this.#clock)
    const touching = setInterval(() => touch(this.#file), this.#touchEveryMs).unref()
    try {
      return await fn({
        confirm,
        wasAbandoned,
        isWanted: () => existsSync(`${this.#file}.waiting`),
      })
    } finally {
      clearInterval(touching)
      this.#release(payload)
    }
  }

  /** Runs `fn` under the lock if the lock is free at this moment; undefined if not. */
  tryNow<T>(op: string, fn: () => T): T | undefined {
    const payload = newPayload(op, this.#clock.now())
    if (readLock(this.#file) !== undefined || !tryLink(this.#file, payload)) return undefined
    try {
      return fn()
    } finally {
      this.#release(payload)
    }
  }

  /** What a living process of ours holds the lock for; undefined when none does. */
  heldFor(): string | undefined {
    const content = readLock(this.#file)
    const isHeld =
      content && !isDead(content, ageOf(this.#file, this.#clock), this.#staleMs, this.#clock.now())
    return isHeld ? holderIn(content)?.op : undefined
  }

  /** Resolves to whether the lock of a dead process was removed on the way. */
  async #take(payload: LockPayload): Promise<boolean> {
    const deadline = this.#clock.monotonic() + this.#timeoutMs
    let wasAbandoned = false
    await sleep(Math.max(0, this.#politeUntil - this.#clock.monotonic()))
    for (;;) {
      const content = readLock(this.#file)
      if (content === undefined) {
        if (tryLink(this.#file, payload)) return wasAbandoned
      } else if (isDead(content, ageOf(this.#file, this.#clock), this.#staleMs, this.#clock.now())) {
        wasAbandoned = true
        if (reclaim(this.#file, content, payload)) continue
      }
      if (this.#clock.monotonic() > deadline) throw this.#timedOut(content)
      askForTurn(this.#file)
      await sleep(this.#pollMs * (0.5 + Math.random()))
    }
  }

  #release(payload: LockPayload): void {
    if (holderIn(readLock(this.#file))?.nonce === payload.nonce) rmSync(this.#file, { force: true })
    // Somebody waits, and looks only every few milliseconds: taking the lock again at once would starve them.
    if (turnAskedFor(this.#file)) this.#politeUntil = this.#clock.monotonic() + 2 * this.#pollMs
  }

  #timedOut(content: Buffer | undefined): RockpoolError {
    const holder = describeHolder(content, ageOf(this.#file, this.#clock), this.#clock.now())
    return new RockpoolError('locked', `${this.#file} has been held for too long: ${holder}.`, {
      hint: `We waited ${this.#timeoutMs / 1000} s. Try again, or end that process if it hangs. If it is not a program that uses these sessions, remove the lock file.`,
    })
  }
}

/** The payload appears under the name of the lock complete or not at all. */
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

/**
 * Removes a lock that was found dead. Looking and removing are two steps, and in between the lock may have become
 * somebody's: so only one process at a time may do them, under a guard that is itself made like a lock.
 */
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

/** A guard is held for less than a millisecond, so a dead one is rare: its owner was killed in just that moment. */
function removeDeadGuard(guard: string): void {
  const content = readLock(guard)
  if (!content || !isDead(content, 0, Infinity, Date.now())) return
  const aside = `${guard}.${process.pid}.${randomUUID()}.tmp`
  try {
    renameSync(guard, aside)
    // Somebody else was faster, and this is the guard of a living process: back with it.
    if (!readLock(aside)?.equals(content)) linkSync(aside, guard)
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(errorCode(error) ?? '')) throw asFileError(error, guard)
  } finally {
    rmSync(aside, { force: true })
  }
}

/**
 * Looks whether the lock is still ours. It is read only when somebody has touched it since the last time, and not looked
 * at twice within a moment in which nobody could have found it old; a process that was stopped for longer looks again.
 */
function confirmation(file: string, payload: LockPayload, clock: Clock): () => void {
  let known: string | undefined
  let trustedUntil = -Infinity
  return () => {
    if (clock.monotonic() < trustedUntil) return
    trustedUntil = clock.monotonic() + trustMs
    // Looked at first and read after: what changes in between is noticed the next time.
    const now = fileIdentity(file)
    if (now !== undefined && now === known) return
    if (holderIn(readLock(file))?.nonce !== payload.nonce) throw lockLost(file)
    known = now
  }
}

function lockLost(file: string): RockpoolError {
  return new RockpoolError('lock-lost', `${file} was taken away while we held it. Nothing was changed.`, {
    hint: 'Try again. If it happens often, another program removes the lock of a process that still runs.',
  })
}

function readLock(file: string): Buffer | undefined {
  try {
    return readForeign(file, 65_536)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw asFileError(error, file)
  }
}

/** By the wall clock, which may jump: a time in the future counts as now. */
function ageOf(file: string, clock: Clock): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats ? Math.max(0, clock.now() - stats.mtimeMs) : 0
}

function touch(file: string): void {
  try {
    const now = new Date()
    utimesSync(file, now, now)
  } catch {
    // It is gone: confirm() will say so before anything is changed.
  }
}

function askForTurn(file: string): void {
  try {
    writeFileSync(`${file}.waiting`, '', { flag: 'wx', mode: 0o600 })
  } catch {
    // Another one asks already, or the disk is full; the request is a courtesy, not part of the lock.
  }
}

function turnAskedFor(file: string): boolean {
  try {
    rmSync(`${file}.waiting`)
    return true
  } catch {
    // Nobody waits.
    return false
  }
}
