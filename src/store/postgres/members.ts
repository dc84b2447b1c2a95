// The processes that share a database: who lives, who has which name, and a way to tell each other something at once.
// A member that was taken for dead keeps its old name until it has let go of its work: what it writes is refused till then.
import { randomBytes, randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Postgres } from './connection.ts'
import { aboutThisProcess, holdName, nameHolder, nameIsTaken } from './machine-name.ts'
import { quoted } from './migrate.ts'
import { Signals } from './signals.ts'
import type { Signal } from './signals.ts'

export interface MemberOptions {
  /** The machine's name, for people. */
  machine: string
  labels: readonly string[]
  /** Takes work of others; a command that asks one thing does not. */
  serves: boolean
  clock: Clock
  log: Log
}

export interface Member {
  id: string
  machine: string
  labels: string[]
  serves: boolean
  reach: string[]
  silentMs: number
}

const beatMs = 1_000
/** Living members send a heartbeat within this time after a database outage. */
const comeBackMs = 5_000
const checkHearingMs = 5_000

export class Members {
  #postgres: Postgres
  #options: MemberOptions
  #client: Client | undefined
  #lockNo = ''
  #reach: string[] = []
  #others = 0
  #signals: Signals
  #cancels = new Set<() => void>()
  #onBuried: () => Promise<void> = async () => {}
  #closed = false
  #hasLetGo = false
  #heardAt = -Infinity
  /** The server that we listen to, where there are several. */
  #heardFrom: string | undefined

  constructor(postgres: Postgres, options: MemberOptions) {
    this.#postgres = postgres
    this.#options = options
    this.#signals = new Signals(postgres, options)
  }

  /** Releases this member's work after it was declared dead; it joins again when that is done. */
  set onBuried(letGo: () => Promise<void>) {
    this.#onBuried = letGo
  }

  /** Are there others to tell anything? */
  get isAlone(): boolean {
    return this.#others === 0
  }

  /** The machine's name, for people. */
  get machine(): string {
    return this.#options.machine
  }

  get serves(): boolean {
    return this.#options.serves
  }

  /** Joins once; later calls do nothing. */
  async join(): Promise<void> {
    if (this.#postgres.member !== null) return
    this.#postgres.member = await this.#enter()
    await this.#listen()
    await this.#beat()
    this.#again()
    if (!this.#options.serves) return
    const me = this.#postgres.member
    await holdName(this.#postgres, this.machine, me, this.#options).catch(async (error: unknown) => {
      await this.close()
      throw error
    })
  }

  /** Which accounts this member can send through. */
  async setReach(reach: readonly string[]): Promise<void> {
    this.#reach = [...reach]
    await this.#postgres.repeat('UPDATE member SET reach = $2 WHERE id = $1', [this.#postgres.member, reach])
  }

  async list(): Promise<Member[]> {
    return listMembers(this.#postgres)
  }

  /** A name that one member has at a time. Rejects with `locked` while another one has it. */
  async hold(name: string): Promise<() => Promise<void>> {
    const me = this.#postgres.member
    const [mine] = await this.#postgres.repeat<{ owner: string; machine: string }>(
      `WITH taken AS (INSERT INTO lease (name, owner) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING owner)
       SELECT owner, machine FROM taken, member WHERE member.id = owner
       UNION ALL SELECT owner, machine FROM lease JOIN member ON member.id = owner WHERE name = $1`,
      [name, me],
    )
    if (mine?.owner !== me)
      throw new RockpoolError(
        'locked',
        `${name} is in use by the Rockpool on ${mine?.machine ?? 'another machine'}.`,
        {
          hint: 'This one stands by and takes over when the other one ends.',
        },
      )
    return async () => {
      await this.#postgres.repeat('DELETE FROM lease WHERE name = $1 AND owner = $2', [name, me])
    }
  }

  /** Tells the others, if there are any. Lost when the server is away: everybody looks again by himself. */
  signal(signal: Signal): void {
    if (!this.isAlone && !this.#closed) this.#signals.send(signal)
  }

  on(listener: (signal: Signal) => void): () => void {
    return this.#signals.on(listener)
  }

  /** Leaves: its work is free at once. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const cancel of this.#cancels) cancel()
    this.#signals.close()
    const me = this.#postgres.member
    this.#postgres.member = null
    if (me !== null) {
      await this.#postgres.write('DELETE FROM member WHERE id = $1', [me]).catch((error: unknown) => {
        this.#options.log.warn(
          { event: 'leave-failed', error: String(error) },
          'Could not sign off; other machines notice after the heartbeat limit.',
        )
      })
    }
    await this.#client?.end().catch(() => {
      // It is gone already.
    })
  }

  async #enter(): Promise<string> {
    const { machine, labels, serves } = this.#options
    const id = `${machine}/${process.pid}/${randomUUID().slice(0, 8)}`
    this.#lockNo = String(randomBytes(8).readBigInt64BE() >> 1n)
    await this.#postgres.repeat(
      `INSERT INTO member (id, machine, labels, serves, reach, lock_no, about) VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (id) DO NOTHING`,
      [id, machine, labels, serves, this.#reach, this.#lockNo, aboutThisProcess()],
    )
    return id
  }

  async #listen(): Promise<void> {
    // It may end before it is there, while the server is away.
    let client: Client | undefined
    const made = await this.#postgres.dedicated(() => this.#lostConnection(client))
    client = made
    made.on('notification', ({ payload }) => void this.#signals.hear(payload ?? ''))
    if (this.#closed) return made.end()
    await made.query('SELECT pg_advisory_lock($1)', [this.#lockNo])
    await made.query(`LISTEN ${quoted(this.#signals.channel)}`)
    this.#client = made
    this.#heardFrom = this.#postgres.health.server
  }

  #lostConnection(client: Client | undefined): void {
    if (this.#closed || client !== this.#client || client === undefined) return
    this.#client = undefined
    this.#listenAgain()
  }

  #listenAgain(): void {
    if (this.#closed) return
    this.#listen().then(
      // Whatever was said meanwhile was not heard.
      () => this.#signals.tell({ kind: 'work' }),
      () => this.#later(beatMs, () => this.#listenAgain()),
    )
  }

  #again(): void {
    if (this.#closed) return
    this.#later(beatMs, () => {
      void this.#beat()
        .catch((error: unknown) =>
          this.#options.log.warn(
            { event: 'heartbeat-failed', error: String(error) },
            'Could not write the heartbeat; other machines may consider this process dead.',
          ),
        )
        .then(() => this.#again())
    })
  }

  async #beat(): Promise<void> {
    const me = this.#postgres.member
    if (me === null) return
    const [row] = await this.#postgres.write<{ others: number }>(
      `WITH me AS (UPDATE member SET seen_at = clock_timestamp() WHERE id = $1 RETURNING id)
       SELECT (SELECT count(*) FROM member) - 1 AS others FROM me`,
      [me],
    )
    if (!row) return this.#wasBuried()
    this.#others = row.others
    if (this.#others > 0 && this.#mayBury()) await this.#postgres.write('SELECT bury_dead($1)', [me])
    this.#checkHearing()
  }

  /** A database that was away for us was so for the others: they have a moment to come back. */
  #mayBury(): boolean {
    const { lastError, since } = this.#postgres.health
    return lastError === undefined || this.#options.clock.now() - since > comeBackMs
  }

  /** A connection that only listens does not notice a dead server, or that the others use another server. */
  #checkHearing(): void {
    const client = this.#client
    const now = this.#options.clock.monotonic()
    if (!client) return
    if (this.#heardFrom !== this.#postgres.health.server) return this.#leaveListening(client)
    if (now - this.#heardAt < checkHearingMs) return
    this.#heardAt = now
    client.query('SELECT 1').catch(() => this.#leaveListening(client))
  }

  #leaveListening(client: Client): void {
    this.#lostConnection(client)
    client.end().catch(() => {
      // It is gone already.
    })
  }

  async #wasBuried(): Promise<void> {
    if (!this.#hasLetGo) {
      this.#options.log.warn(
        { event: 'declared-dead' },
        'Other machines considered this process dead; releasing its work and joining again.',
      )
      await this.#onBuried()
      this.#hasLetGo = true
    }
    const old = this.#client
    this.#client = undefined
    await old?.end().catch(() => {
      // It is gone already.
    })
    const id = await this.#enter()
    if (await this.#isReplaced(id)) return
    this.#postgres.member = id
    this.#hasLetGo = false
    this.#listenAgain()
  }

  /** Another gateway has the machine's name by now: what this one writes is refused until that one ends. */
  async #isReplaced(id: string): Promise<boolean> {
    const { serves, log } = this.#options
    const holder = serves ? await nameHolder(this.#postgres, this.machine, id) : undefined
    if (!holder) return false
    await this.#postgres.write('DELETE FROM member WHERE id = $1', [id])
    const { message, hint } = nameIsTaken(this.machine, holder)
    log.error({ event: 'members-failed', hint }, message)
    return true
  }

  #later(ms: number, work: () => void): void {
    const cancel = this.#options.clock.after(ms, () => {
      this.#cancels.delete(cancel)
      work()
    })
    this.#cancels.add(cancel)
  }
}

export function listMembers(postgres: Postgres): Promise<Member[]> {
  return postgres.read<Member>(
    `SELECT id, machine, labels, serves, reach,
       round(extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS "silentMs"
     FROM member ORDER BY started_at`,
  )
}
