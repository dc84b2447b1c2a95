// The connection to PostgreSQL: a pool, bounded waits, and the health of the server. Statements that can be repeated safely are
// repeated while the server is unavailable; all others fail.
import type { Client, ClientConfig, Pool, PoolClient, QueryResult } from 'pg'
import { within } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import { StoreUnavailable, retryWhileUnavailable } from '../store-unavailable.ts'
import { asFailure, isConflict, isConnectionLoss, messageOf } from './failure.ts'
import { GroupedCalls, type GroupedCall } from './grouped-calls.ts'
import { migrate, quoted } from './migrate.ts'
import { placeOf, Servers } from './servers.ts'

export interface PostgresOptions {
  /** May name several servers, of which one accepts writes. */
  url: string
  /** The schema that holds the tables; `rockpool` unless given. */
  schema?: string
  clock: Clock
  log: Log
  maxConnections?: number
  /** Shorter ones for tests. */
  waits?: Partial<typeof usualWaits>
}

export interface Statements {
  rows: <T>(sql: string, values?: unknown[]) => Promise<T[]>
  /** Resolves to the number of changed rows. */
  run: (sql: string, values?: unknown[]) => Promise<number>
}

export interface Health {
  state: 'unused' | 'connected' | 'lost'
  /** The start of this state, wall time. */
  since: number
  lastError?: string
  /** The server in use, where there are several. */
  server?: string
  /** Statements that took longer than a second, since the start, and the last of them. */
  slow: number
  lastSlow?: { at: number; ms: number; statement: string }
}

const usualWaits = {
  connectMs: 5_000,
  /** The server cancels what takes longer. */
  statementMs: 30_000,
  lockMs: 10_000,
  /** Extra time after which a query is abandoned, because the server does not answer at all. */
  silenceMs: 5_000,
  slowMs: 1_000,
}
const closeMs = 5_000
const compareClocksMs = 60_000
/** Clocks that are set by the network differ less. */
const clockStepMs = 2_000
const maxAttempts = 10
/** How long a statement waits for an unavailable server: reads and safe repeats do, other changes do not. */
const patienceMs = { read: 5_000, write: 0, repeat: 60_000 }

export class Postgres {
  readonly schema: string
  /** The id of this process once it has joined. Its writes fail after it was declared dead. */
  member: string | null = null
  /** When it sent the last heartbeat that the database has confirmed, monotonic. */
  seenAliveAt = -Infinity
  #options: PostgresOptions
  #opening: Promise<Pool> | undefined
  #health: Health
  #names = new Map<string, string>()
  #isClosed = false
  #waits: typeof usualWaits
  #servers: Servers
  #aheadMs = 0
  #comparedAt = -Infinity

  constructor(options: PostgresOptions) {
    this.#options = options
    this.#waits = { ...usualWaits, ...options.waits }
    this.#servers = new Servers(options.url, (url) => this.#config(url))
    this.schema = options.schema ?? 'rockpool'
    this.#health = { state: 'unused', since: options.clock.now(), slow: 0 }
  }

  get health(): Health {
    const server = this.#servers.several ? { server: placeOf(this.#servers.found) } : {}
    return { ...this.#health, ...server }
  }

  get place(): string {
    return placeOf(this.#options.url)
  }

  /** How far the database's clock is ahead of ours, to the second. Times that machines compare are stored by the database's clock. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  /** Compares the clocks, once a minute; again at the next call after an answer that took long. */
  async compareClocks(): Promise<void> {
    const { clock } = this.#options
    const before = { now: clock.now(), monotonic: clock.monotonic() }
    if (before.monotonic - this.#comparedAt < compareClocksMs) return
    const [row] = await this.read<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
    )
    // The database read its clock at any moment of the wait, which includes repeated attempts.
    const uncertainMs = (clock.monotonic() - before.monotonic) / 2
    if (uncertainMs < clockStepMs / 4) this.#comparedAt = clock.monotonic()
    const found = Math.round((row!.now - (before.now + uncertainMs)) / 1_000) * 1_000
    // It changes only when a clock was set: otherwise two times of one machine could change their order.
    if (Math.abs(found - this.#aheadMs) - uncertainMs >= clockStepMs) this.#aheadMs = found
  }

  /** A statement that changes nothing. */
  read<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return this.#rows(patienceMs.read, sql, values)
  }

  /** A statement that changes something, once. */
  write<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return this.#rows(patienceMs.write, sql, values)
  }

  /** A change that has the same effect when it runs twice: repeated while the server is unavailable. */
  repeat<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return this.#rows(patienceMs.repeat, sql, values)
  }

  /** As `write` or `repeat`; resolves to the number of changed rows. */
  async change(sql: string, values: unknown[], { repeats = false } = {}): Promise<number> {
    const work = (): Promise<QueryResult> => this.#query(sql, values)
    return (await this.#patiently(patienceMs[repeats ? 'repeat' : 'write'], work)).rowCount ?? 0
  }

  /** As `read`, `write` or `repeat`, for a statement that runs once for all calls of a moment. */
  grouped<Row>(how: keyof typeof patienceMs, sql: string): GroupedCall<Row> {
    const calls = new GroupedCalls<Row>(async (columns) => (await this.#query(sql, columns)).rows)
    return (values, order) => this.#patiently(patienceMs[how], () => calls.call(values, order))
  }

  /** All or nothing. `fn` may run again when the server asks for it, unless it can run only `once`. */
  transaction<T>(fn: (statements: Statements) => Promise<T>, options?: { once?: boolean }): Promise<T> {
    const work = async (): Promise<T> => {
      const client = await (await this.#open()).connect()
      const query = (sql: string, values?: unknown[]) => this.#queryOn(client, sql, values)
      return inTransaction(client, () =>
        fn({
          rows: async <Row>(sql: string, values?: unknown[]) => (await query(sql, values)).rows as Row[],
          run: async (sql, values) => (await query(sql, values)).rowCount ?? 0,
        }),
      )
    }
    return this.#patiently(0, work, options?.once ? 1 : maxAttempts)
  }

  /** Several statements that have the same effect when they run twice: repeated as a whole while the server is unavailable. */
  untilBack<T>(work: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(this.#options.clock, work, () => this.#isClosed)
  }

  /** A query of a library, without our statement names and type parsers. */
  libraryQuery(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> {
    return this.#patiently(0, async () => {
      const { default: pg } = await import('pg')
      return (await this.#open()).query({ text, values, types: pg.types })
    })
  }

  /** A connection outside the pool, for LISTEN and session locks. */
  async dedicated(onEnd: () => void): Promise<Client> {
    await this.#open()
    const { default: pg } = await import('pg')
    const client = new pg.Client(this.#config(this.#servers.found))
    client.on('error', onEnd)
    client.on('end', onEnd)
    await client.connect()
    return client
  }

  /** Running queries get a moment to end; later queries are refused as closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    const pool = await this.#opening?.catch(() => undefined)
    if (pool) await within(this.#options.clock, closeMs, pool.end(), () => {})
  }

  async #rows<T>(patience: number, sql: string, values?: unknown[]): Promise<T[]> {
    return (await this.#patiently(patience, () => this.#query(sql, values))).rows as T[]
  }

  async #query(sql: string, values?: unknown[]): Promise<QueryResult> {
    return this.#queryOn(await this.#open(), sql, values)
  }

  async #queryOn(on: Pool | PoolClient, sql: string, values: unknown[] = []): Promise<QueryResult> {
    const began = this.#options.clock.monotonic()
    // A name makes the server keep the plan.
    const result = await on.query({ name: this.#nameOf(sql), text: sql, values })
    const took = this.#options.clock.monotonic() - began
    if (took > this.#waits.slowMs) this.#noteSlow(sql, took)
    return result
  }

  #nameOf(sql: string): string {
    let name = this.#names.get(sql)
    if (name === undefined) this.#names.set(sql, (name = `r${this.#names.size}`))
    return name
  }

  #noteSlow(sql: string, took: number): void {
    const { clock, log } = this.#options
    const slow = { ms: Math.round(took), statement: sql.replaceAll(/\s+/g, ' ').trim().slice(0, 120) }
    this.#health.slow++
    this.#health.lastSlow = { at: clock.now(), ...slow }
    log.warn({ event: 'postgres-slow', ...slow }, 'PostgreSQL answered slowly.')
  }

  async #patiently<T>(ms: number, work: () => Promise<T>, attempts = maxAttempts): Promise<T> {
    const { clock } = this.#options
    const deadline = clock.monotonic() + ms
    for (let attempt = 1; ; attempt++) {
      const used = this.#opening
      try {
        const value = await work()
        this.#note('connected')
        return value
      } catch (error) {
        const isAway = isConnectionLoss(error)
        if (isAway) this.#dropPool(used, error)
        const again = isAway ? clock.monotonic() < deadline : isConflict(error) && attempt < attempts
        if (!again) throw asFailure(error)
        const pause = Math.min(25 * 2 ** Math.min(attempt, 6), 1_000)
        await new Promise<void>((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())))
      }
    }
  }

  /** With several servers, the next query looks for the one that accepts writes now. */
  #dropPool(used: Promise<Pool> | undefined, error: unknown): void {
    this.#note('lost', error)
    if (!this.#servers.several || used === undefined || this.#opening !== used) return
    this.#opening = undefined
    used
      .then((pool) => pool.end())
      .catch(() => {
        // No connection was made, or all of them are broken.
      })
  }

  #note(state: 'connected' | 'lost', error?: unknown): void {
    const changed = this.#health.state !== state
    if (error !== undefined) this.#health.lastError = messageOf(error)
    if (!changed) return
    const wasLost = this.#health.state === 'lost'
    this.#health = { ...this.#health, state, since: this.#options.clock.now() }
    const { log } = this.#options
    if (state === 'lost')
      log.error(
        { event: 'postgres-unavailable', place: this.place, error: messageOf(error) },
        'PostgreSQL is unavailable; work waits until it is back.',
      )
    else if (wasLost)
      log.info({ event: 'postgres-available', place: this.place }, 'PostgreSQL is available again.')
  }

  #open(): Promise<Pool> {
    if (this.#isClosed)
      throw new StoreUnavailable('The connection to PostgreSQL is closed: this process ends.')
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async #connect(): Promise<Pool> {
    const { default: pg } = await import('pg')
    const config = this.#config(await this.#servers.find())
    const pool = new pg.Pool({ ...config, max: this.#options.maxConnections ?? 16 })
    // A connection that breaks while idle is replaced at the next query; that query reports what is wrong.
    pool.on('error', (error) => this.#note('lost', error))
    // A connection that breaks between two statements of a transaction emits 'error'; without a listener the process would end.
    pool.on('connect', (client) => void client.on('error', (error) => this.#note('lost', error)))
    try {
      await migrate(pool, this.schema)
      return pool
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  #config(url: string): ClientConfig & { connectionTimeoutMillis: number } {
    const { connectMs, statementMs, lockMs, silenceMs } = this.#waits
    return {
      connectionString: url,
      options: `-c search_path=${quoted(this.schema).replaceAll(/([\\ ])/g, '\\$1')}`,
      application_name: 'rockpool',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      statement_timeout: statementMs,
      query_timeout: statementMs + silenceMs,
      lock_timeout: lockMs,
      idle_in_transaction_session_timeout: 60_000,
      types: { getTypeParser: parserOf },
    }
  }
}

async function inTransaction<T>(client: PoolClient, fn: () => Promise<T>): Promise<T> {
  try {
    await client.query('BEGIN')
    const value = await fn()
    await client.query('COMMIT')
    client.release()
    return value
  } catch (error) {
    const rolledBack = await client.query('ROLLBACK').then(
      () => true,
      () => false,
    )
    // A connection in an unknown state must not be reused.
    client.release(!rolledBack)
    throw error
  }
}

/** Counters and times become numbers; the driver would return bigint as text, and times as dates. */
function parserOf(oid: number, format?: string): (text: string) => unknown {
  if (format === 'binary') return (text) => text
  if (oid === 20 || oid === 21 || oid === 23 || oid === 700 || oid === 701) return Number
  if (oid === 16) return (text) => text === 't'
  if (oid === 1009) return parseTextArray
  return (text) => text
}

function parseTextArray(text: string): string[] {
  const found = [...text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)]
  return found.map(([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '')
}
