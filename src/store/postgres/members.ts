// The processes that share a database: heartbeats, leases, and signals between them. A member that was declared dead keeps its
// old id until it has released its work; until then the database refuses its writes.
import { randomBytes, randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import { repeat } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { Postgres } from './connection.ts'
import { aboutThisProcess, holdName, nameHolder, nameIsTaken } from './machine-name.ts'
import { quoted } from './migrate.ts'
import { Signals, type Signal } from './signals.ts'

export interface MemberOptions {
  /** The machine's name, for people. */
  machine: string
  labels: readonly string[]
  /** Takes work of others. False for a command that runs one operation. */
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

const heartbeatMs = 1_000
/** Living members send a heartbeat within this time after a database outage. */
const comeBackMs = 5_000
const checkListenerMs = 5_000

export class Members {
  #postgres: Postgres
  #options: MemberOptions
  /** Listens for signals and holds this member's lock. */
  #listener: Client | undefined
  #lockNo = ''
  #reach: string[] = []
  #others = 0
  #signals: Signals
  #stopHeartbeat = (): void => {}
  #cancelRetry = (): void => {}
  #releaseWork: () => Promise<void> = async () => {}
  #isClosed = false
  #hasReleased = false
  #listenerCheckedAt = -Infinity
  /** The server that we listen to, where there are several. */
  #listensTo: string | undefined

  constructor(postgres: Postgres, options: MemberOptions) {
    this.#postgres = postgres
    this.#options = options
    this.#signals = new Signals(postgres, options)
  }

  /** Called when this member was declared dead. It joins again when its work is released. */
  set onDeclaredDead(releaseWork: () => Promise<void>) {
    this.#releaseWork = releaseWork
  }

  get isAlone(): boolean {
    return this.#others === 0
  }

  get machine(): string {
    return this.#options.machine
  }

  get serves(): boolean {
    return this.#options.serves
  }

  async join(): Promise<void> {
    if (this.#postgres.member !== null) return
    // Before this process stores a time that others compare.
    await this.#postgres.compareClocks()
    this.#postgres.member = await this.#insertMember()
    await this.#listen()
    await this.#heartbeat()
    const { clock, log } = this.#options
    this.#stopHeartbeat = repeat(clock, heartbeatMs, () =>
      this.#heartbeat().catch((error: unknown) =>
        log.warn(
          { event: 'member-heartbeat-failed', error: String(error) },
          'Could not write the heartbeat; other machines may consider this process dead.',
        ),
      ),
    )
    if (!this.#options.serves) return
    const me = this.#postgres.member
    await holdName(this.#postgres, this.machine, me, this.#options).catch(async (error: unknown) => {
      await this.close()
      throw error
    })
  }

  async setReach(reach: readonly string[]): Promise<void> {
    this.#reach = [...reach]
    await this.#postgres.repeat('UPDATE member SET reach = $2 WHERE id = $1', [this.#postgres.member, reach])
  }

  list(): Promise<Member[]> {
    return listMembers(this.#postgres)
  }

  /** Takes a lease; resolves to its release. Rejects with `locked` while another member has it. */
  async hold(name: string): Promise<() => Promise<void>> {
    const me = this.#postgres.member
    const [holder] = await this.#postgres.repeat<{ owner: string; machine: string }>(
      `WITH taken AS (INSERT INTO lease (name, owner) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING owner)
       SELECT owner, machine FROM taken, member WHERE member.id = owner
       UNION ALL SELECT owner, machine FROM lease JOIN member ON member.id = owner WHERE name = $1`,
      [name, me],
    )
    if (holder?.owner !== me) {
      const machine = holder?.machine ?? 'another machine'
      throw new RockpoolError('locked', `${name} is in use by the Rockpool on ${machine}.`, {
        hint: 'This one stands by and takes over when the other one ends.',
      })
    }
    return async () => {
      await this.#postgres.repeat('DELETE FROM lease WHERE name = $1 AND owner = $2', [name, me])
    }
  }

  /** Sends a signal to the others, if there are any. Lost during an outage: every receiver also polls. */
  signal(signal: Signal): void {
    if (!this.isAlone && !this.#isClosed) this.#signals.send(signal)
  }

  on(listener: (signal: Signal) => void): () => void {
    return this.#signals.on(listener)
  }

  /** Leaves: other members can take its work at once. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopHeartbeat()
    this.#cancelRetry()
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
    await endQuietly(this.#listener)
  }

  async #insertMember(): Promise<string> {
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
    // The connection may end before it is assigned, while the server is unavailable.
    let client: Client | undefined
    const made = await this.#postgres.dedicated(() => this.#lostListener(client))
    client = made
    made.on('notification', ({ payload }) => void this.#signals.receive(payload ?? ''))
    if (this.#isClosed) return made.end()
    await made.query('SELECT pg_advisory_lock($1)', [this.#lockNo])
    await made.query(`LISTEN ${quoted(this.#signals.channel)}`)
    this.#listener = made
    this.#listensTo = this.#postgres.health.server
  }

  #lostListener(client: Client | undefined): void {
    if (this.#isClosed || client !== this.#listener || client === undefined) return
    this.#listener = undefined
    this.#listenAgain()
  }

  #listenAgain(): void {
    if (this.#isClosed) return
    this.#listen().then(
      // Signals may have been missed meanwhile.
      () => this.#signals.emit({ kind: 'work' }),
      () => {
        this.#cancelRetry = this.#options.clock.after(heartbeatMs, () => this.#listenAgain())
      },
    )
  }

  async #heartbeat(): Promise<void> {
    const me = this.#postgres.member
    if (me === null || this.#isClosed) return
    const sentAt = this.#options.clock.monotonic()
    const [row] = await this.#postgres.write<{ others: number }>(
      // Also stores `reach`, which may have changed while the database was away.
      `WITH me AS (UPDATE member SET seen_at = clock_timestamp(), reach = $2 WHERE id = $1 RETURNING id)
       SELECT (SELECT count(*) FROM member) - 1 AS others FROM me`,
      [me, this.#reach],
    )
    if (!row) return this.#rejoin()
    this.#postgres.seenAliveAt = sentAt
    this.#others = row.others
    if (this.#others > 0 && this.#mayDeclareDead()) await this.#postgres.write('SELECT bury_dead($1)', [me])
    this.#checkListener()
  }

  /** If the database was unavailable to us, it was unavailable to the others, too. They get a moment to send a heartbeat before
   *  this member may declare them dead. */
  #mayDeclareDead(): boolean {
    const { lastError, since } = this.#postgres.health
    return lastError === undefined || this.#options.clock.now() - since > comeBackMs
  }

  /** A connection that only listens does not notice a dead server, or that the others use another server. */
  #checkListener(): void {
    const client = this.#listener
    const now = this.#options.clock.monotonic()
    if (!client) return
    if (this.#listensTo !== this.#postgres.health.server) return this.#replaceListener(client)
    if (now - this.#listenerCheckedAt < checkListenerMs) return
    this.#listenerCheckedAt = now
    client.query('SELECT 1').catch(() => this.#replaceListener(client))
  }

  #replaceListener(client: Client): void {
    this.#lostListener(client)
    void endQuietly(client)
  }

  /** The others declared this member dead: it releases its work and joins under a new id. */
  async #rejoin(): Promise<void> {
    if (!this.#hasReleased) {
      this.#options.log.warn(
        { event: 'declared-dead' },
        'Other machines considered this process dead; releasing its work and joining again.',
      )
      await this.#releaseWork()
      this.#hasReleased = true
    }
    const old = this.#listener
    this.#listener = undefined
    await endQuietly(old)
    const id = await this.#insertMember()
    if (await this.#isReplaced(id)) return
    this.#postgres.member = id
    this.#hasReleased = false
    this.#listenAgain()
  }

  /** Another gateway has the machine's name now: the writes of this one are refused until that one ends. */
  async #isReplaced(id: string): Promise<boolean> {
    const { serves, log } = this.#options
    const holder = serves ? await nameHolder(this.#postgres, this.machine, id) : undefined
    if (!holder) return false
    await this.#postgres.write('DELETE FROM member WHERE id = $1', [id])
    const { message, hint } = nameIsTaken(this.machine, holder)
    log.error({ event: 'members-failed', hint }, message)
    return true
  }
}

async function endQuietly(client: Client | undefined): Promise<void> {
  await client?.end().catch(() => {
    // The connection is gone already.
  })
}

export function listMembers(postgres: Postgres): Promise<Member[]> {
  return postgres.read<Member>(
    `SELECT id, machine, labels, serves, reach,
       round(extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS "silentMs"
     FROM member ORDER BY started_at`,
  )
}
