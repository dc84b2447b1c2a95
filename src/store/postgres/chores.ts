// Maintenance jobs that several machines share, in a queue of pg-boss. Every machine announces each run; the database keeps one
// announcement per interval, and a free machine runs it. Jobs have no order; turns do, and use lanes.
import type PgBoss from 'pg-boss'
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { Chores } from '../storage.ts'
import type { Postgres } from './connection.ts'

export interface SharedChoresOptions {
  postgres: Pick<Postgres, 'libraryQuery'>
  /** The schema of the other tables; the queue has one of its own beside it. */
  schema: string
  clock: Clock
  log: Log
}

const queue = 'chores'
/** A job that failed or whose machine died is retried, perhaps on another machine. */
const retries = { retryLimit: 3, retryDelay: 5, expireInMinutes: 15 }
/** A queue that cannot be reached is retried with the next announcement, or after this time. */
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
    this.#openOrRetry()
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
      this.#announce(name, ms).catch((error: unknown) => this.#logFailure(error))
    })
    this.#cancels.set(name, cancel)
  }

  async #announce(name: string, ms: number): Promise<void> {
    const boss = await this.#open()
    const singletonSeconds = Math.max(1, Math.round(ms / 1_000))
    await boss.send(queue, { name }, { singletonKey: name, singletonSeconds, ...retries })
  }

  #openOrRetry(): void {
    if (this.#opening || this.#isStopped) return
    this.#open().catch((error: unknown) => {
      this.#logFailure(error)
      this.#cancels.set(
        '',
        this.#options.clock.after(reopenMs, () => this.#openOrRetry()),
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
      // Our connections know which server accepts writes.
      db: { executeSql: (text, values) => postgres.libraryQuery(text, values) },
      schema: `${schema.replaceAll(/\W/g, '_').slice(0, 40)}_chores`,
      schedule: false,
    })
    boss.on('error', (error) => this.#logFailure(error))
    await boss.start()
    await boss.createQueue(queue)
    await boss.work<{ name: string }>(queue, { pollingIntervalSeconds: 1 }, async (jobs) => {
      for (const { data } of jobs) await this.#runChore(data.name)
    })
    return boss
  }

  async #runChore(name: string): Promise<void> {
    const work = this.#works.get(name)
    // A job of another version: pg-boss retries it, perhaps on a machine that has it.
    if (!work) throw new Error(`This Rockpool has no chore ${name}.`)
    await work()
  }

  #logFailure(error: unknown): void {
    this.#options.log.warn(
      { event: 'chores-failed', error: String(error) },
      'Could not use the maintenance queue in PostgreSQL; retrying.',
    )
  }
}
