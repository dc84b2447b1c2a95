// NOTIFY between the members of one database. Correctness does not depend on it: a member that misses a notification
// finds the change at its next poll.
import { repeat } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Log } from '../../domain/log.ts'
import type { Postgres } from './connection.ts'

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
const longestGroup = 5_000

export class Signals {
  #postgres: Postgres
  #parts: { clock: Clock; log: Log }
  #unsent: Signal[] = []
  #listeners = new Set<(signal: Signal) => void>()
  #cancelSend = (): void => {}

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

  emit(signal: Signal): void {
    for (const listener of this.#listeners) listener(signal)
  }

  /** Sends to the other members; signals of one moment go together. */
  send(signal: Signal): void {
    if (signal.kind === 'work' && this.#unsent.some(({ kind }) => kind === 'work')) return
    this.#unsent.push(signal)
    if (this.#unsent.length > 1) return
    this.#cancelSend = this.#parts.clock.after(gatherMs, () => {
      this.#notify(this.#unsent.splice(0)).catch((error: unknown) =>
        this.#parts.log.warn(
          { event: 'notify-failed', error: String(error) },
          'NOTIFY failed; other machines will find the change by polling.',
        ),
      )
    })
  }

  async receive(payload: string): Promise<void> {
    try {
      const { from, signals, body } = JSON.parse(payload) as {
        from: string
        signals?: Signal[]
        body?: number
      }
      if (from === this.#postgres.member) return
      for (const signal of signals ?? (await this.#fetch(body))) this.emit(signal)
    } catch (error) {
      this.#parts.log.warn(
        { event: 'notify-invalid', error: String(error) },
        'Could not read a notification of another machine; its change is found by polling.',
      )
    }
  }

  close(): void {
    this.#cancelSend()
  }

  async #notify(signals: Signal[]): Promise<void> {
    const from = this.#postgres.member
    for (const group of groupsOf(signals)) {
      const text = JSON.stringify({ from, signals: group })
      const isShort = Buffer.byteLength(text) <= longestPayload
      const payload = isShort ? text : JSON.stringify({ from, body: await this.#store(text) })
      await this.#postgres.write('SELECT pg_notify($1, $2)', [this.channel, payload])
    }
  }

  async #store(body: string): Promise<number> {
    await this.#postgres.write(`DELETE FROM event_body WHERE at < now() - interval '1 minute'`)
    const insert = 'INSERT INTO event_body (body) VALUES ($1) RETURNING id'
    const [row] = await this.#postgres.write<{ id: number }>(insert, [body])
    return row!.id
  }

  async #fetch(id: number | undefined): Promise<Signal[]> {
    const select = 'SELECT body FROM event_body WHERE id = $1'
    const [row] = await this.#postgres.read<{ body: string }>(select, [id])
    return row ? (JSON.parse(row.body) as { signals: Signal[] }).signals : []
  }
}

/** Groups that fit into one notification or one stored body. */
function groupsOf(signals: Signal[]): Signal[][] {
  const groups: Signal[][] = []
  let bytes = Infinity
  for (const signal of signals) {
    const size = JSON.stringify(signal).length
    if (bytes + size > longestGroup) {
      groups.push([])
      bytes = 0
    }
    groups.at(-1)!.push(signal)
    bytes += size
  }
  return groups
}

/** Runs `task` when another machine sends such a signal, and at intervals: a poll finds changes whose signal was lost. */
export function onSignalAndPoll(
  from: Pick<Signals, 'on'> | undefined,
  kind: Signal['kind'],
  poll: { clock: Clock; ms: number },
  task: () => Promise<void>,
): () => void {
  const stopListening = from?.on((signal) => {
    if (signal.kind === kind) void task()
  })
  const stopPolling = repeat(poll.clock, poll.ms, task)
  return () => {
    stopListening?.()
    stopPolling()
  }
}
