// Chores that several machines share: pg-boss keeps the queue. Every machine announces each occasion, the database keeps
// one of the announcements for each stretch of time, and whoever is free does it. Order does not matter here; for turns,
// where it does, there are lanes.
import type PgBoss from 'pg-boss'
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { Chores } from '../storage.ts'
import type { Postgres } from './connection.ts'

export interface SharedChoresOptions {
  postgres: Pick<Postgres, 'foreign'>
  /** The schema of the other tables; the queue has one of its own beside it. */
  schema: string
  clock: Clock
  log: Log
}

interface Chore {
  name: string
}

const queue = 'chores'
/** A chore that failed or whose machine died is tried again, perhaps elsewhere. */
const retries = { retryLimit: 3, retryDelay: 5, expireInMinutes: 15 }
/** A queue that cannot be reached is tried again with the next announcement, or after this. */
const reopenMs = 5_000

export class SharedChores implements Chores {
  #options: SharedChoresOptions
  #works = new Map<string, () => Promise<void>>()
  #cancels = new Map<string, () => void>()
  #opening: Promise<PgBoss> | undefined
  #isStopped = false

  constructor(options: SharedChoresOptions) {
    this.#options = options
  }

  every(name: string, ms: number, work: () => Promise<void>): void {
    this.#works.set(name, work)
    this.#announceLater(name, ms)
    this.#openSoon()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const cancel of this.#cancels.values()) cancel()
    const boss = await this.#opening?.catch(() => undefined)
    await boss?.stop({ graceful: true, timeout: 5_000, wait: true })
  }

  #announceLater(name: string, ms: number): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#announceLater(name, ms)
      this.#announce(name, ms).catch((error: unknown) => this.#mention(error))
    })
    this.#cancels.set(name, cancel)
  }

  async #announce(name: string, ms: number): Promise<void> {
    const boss = await this.#open()
    const singletonSeconds = Math.max(1, Math.round(ms / 1_000))
    await boss.send(queue, { name }, { singletonKey: name, singletonSeconds, ...retries })
  }

  #openSoon(): void {
    if (this.#opening || this.#isStopped) return
    this.#open().catch((error: unknown) => {
      this.#mention(error)
      this.#cancels.set(
        '',
        this.#options.clock.after(reopenMs, () => this.#openSoon()),
      )
    })
  }

  #open(): Promise<PgBoss> {
    this.#opening ??= this.#start().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #start(): Promise<PgBoss> {
    const { default: Boss } = await import('pg-boss')
    const { postgres, schema } = this.#options
    const boss = new Boss({
      // Our connections: they know which server takes writes.
      db: { executeSql: (text, values) => postgres.foreign(text, values) },
      schema: `${schema.replaceAll(/\W/g, '_').slice(0, 40)}_chores`,
      schedule: false,
    })
    boss.on('error', (error) => this.#mention(error))
    await boss.start()
    await boss.createQueue(queue)
    await boss.work<Chore>(queue, { pollingIntervalSeconds: 1 }, async (jobs) => {
      for (const { data } of jobs) await this.#do(data.name)
    })
    return boss
  }

  async #do(name: string): Promise<void> {
    const work = this.#works.get(name)
    // Another machine has it: it is tried again, and then not by us.
    if (!work) throw new Error(`This Rockpool has no chore ${name}.`)
    await work()
  }

  #mention(error: unknown): void {
    this.#options.log.warn(
      { event: 'chores-failed', error: String(error) },
      'The maintenance queue failed; retrying.',
    )
  }
}
