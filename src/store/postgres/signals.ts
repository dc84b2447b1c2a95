// NOTIFY between the members of one database. Correctness does not depend on it: a member that misses a notification
// finds the change at its next poll.
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { Postgres } from './connection.ts'

/** Something that one member tells the others. */
export type Signal =
  | { kind: 'work' }
  | { kind: 'people' }
  | { kind: 'records' }
  | { kind: 'memory' }
  | { kind: 'gone' }
  | { kind: 'event'; event: unknown }

const gatherMs = 10
/** PostgreSQL takes less than 8000 bytes. */
const longestPayload = 7_500

export class Signals {
  #postgres: Postgres
  #parts: { clock: Clock; log: Log }
  #waiting: Signal[] = []
  #listeners = new Set<(signal: Signal) => void>()
  #cancel = (): void => {}

  constructor(postgres: Postgres, parts: { clock: Clock; log: Log }) {
    this.#postgres = postgres
    this.#parts = parts
  }

  get channel(): string {
    return `rockpool ${this.#postgres.schema}`.slice(0, 63)
  }

  on(listener: (signal: Signal) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** To those who listen in this process. */
  tell(signal: Signal): void {
    for (const listener of this.#listeners) listener(signal)
  }

  /** To the others; many at once go together. */
  send(signal: Signal): void {
    if (signal.kind === 'work' && this.#waiting.some(({ kind }) => kind === 'work')) return
    this.#waiting.push(signal)
    if (this.#waiting.length > 1) return
    this.#cancel = this.#parts.clock.after(gatherMs, () => {
      this.#sendAll(this.#waiting.splice(0)).catch((error: unknown) =>
        this.#parts.log.warn(
          { event: 'notify-failed', error: String(error) },
          'NOTIFY failed; other machines will find the change by polling.',
        ),
      )
    })
  }

  async hear(payload: string): Promise<void> {
    try {
      const told = JSON.parse(payload) as { from: string; signals?: Signal[]; body?: number }
      if (told.from === this.#postgres.member) return
      for (const signal of told.signals ?? (await this.#fetch(told.body))) this.tell(signal)
    } catch (error) {
      this.#parts.log.warn(
        { event: 'notify-invalid', error: String(error) },
        'Ignored a notification that could not be parsed.',
      )
    }
  }

  close(): void {
    this.#cancel()
  }

  async #sendAll(signals: Signal[]): Promise<void> {
    const from = this.#postgres.member
    for (const group of groupsOf(signals)) {
      const text = JSON.stringify({ from, signals: group })
      const payload =
        Buffer.byteLength(text) <= longestPayload
          ? text
          : JSON.stringify({ from, body: await this.#put(text) })
      await this.#postgres.write('SELECT pg_notify($1, $2)', [this.channel, payload])
    }
  }

  async #put(body: string): Promise<number> {
    await this.#postgres.write(`DELETE FROM event_body WHERE at < now() - interval '1 minute'`)
    const [row] = await this.#postgres.write<{ id: number }>(
      'INSERT INTO event_body (body) VALUES ($1) RETURNING id',
      [body],
    )
    return row!.id
  }

  async #fetch(id: number | undefined): Promise<Signal[]> {
    const [row] = await this.#postgres.read<{ body: string }>('SELECT body FROM event_body WHERE id = $1', [
      id,
    ])
    return row ? (JSON.parse(row.body) as { signals: Signal[] }).signals : []
  }
}

/** Pieces of a size that a notification or one stored body can have. */
function groupsOf(signals: Signal[]): Signal[][] {
  const groups: Signal[][] = []
  let bytes = Infinity
  for (const signal of signals) {
    const size = JSON.stringify(signal).length
    if (bytes + size > 5_000) {
      groups.push([])
      bytes = 0
    }
    groups.at(-1)!.push(signal)
    bytes += size
  }
  return groups
}
