// A lock that is broken on purpose: it takes a lock away by its age, whether its holder lives or not, and does not ask
// before it commits whether it still holds it. The tests of the real lock must catch this one.
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { HeldLock, Lock } from '../../src/store/disk/file-lock.ts'

export class AgeLock implements Lock {
  readonly #file: string
  readonly #staleMs: number

  constructor(path: string, staleMs: number) {
    this.#file = `${path}.lock`
    this.#staleMs = staleMs
  }

  async hold<T>(_op: string, fn: (held: HeldLock) => Promise<T>): Promise<T> {
    while (!this.#take()) await sleep(5)
    try {
      return await fn({ confirm: () => {}, isWanted: () => false, wasAbandoned: false })
    } finally {
      rmSync(this.#file, { force: true })
    }
  }

  #take(): boolean {
    try {
      writeFileSync(this.#file, JSON.stringify({ pid: process.pid, startedAt: Date.now() }), { flag: 'wx' })
      return true
    } catch {
      const stats = statSync(this.#file, { throwIfNoEntry: false })
      if (stats && Date.now() - stats.mtimeMs > this.#staleMs) rmSync(this.#file, { force: true })
      return false
    }
  }
}
