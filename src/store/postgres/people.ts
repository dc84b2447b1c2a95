// Who may talk, in PostgreSQL. Whether somebody may is asked in places that cannot wait, so everybody who may is in
// memory too; the list follows the database at once when another machine says so, and every few seconds anyway.
import type { Clock } from '../../domain/clock.ts'
import { plainLine } from '../../domain/text.ts'
import { codeLifeMs, maxPending, newCode, noSuchCode } from '../sqlite/people.ts'
import type { PairedPerson, PairingAnswer, PairingRequest, People, PersonRef } from '../sqlite/people.ts'
import type { Postgres, Statements } from './connection.ts'
import type { Members } from './members.ts'

interface PersonRow {
  channel: string
  account: string
  sender: string
  name: string | null
  owner: boolean
  approved_at: number
}

interface RequestRow extends Omit<PersonRow, 'owner' | 'approved_at'> {
  code: string
  asked_at: number
}

const readAgainMs = 5_000

export class PostgresPeople implements People {
  #postgres: Postgres
  #members: Members
  #clock: Clock
  #known = new Map<string, PairedPerson>()
  #reading: Promise<void> | undefined

  constructor(postgres: Postgres, members: Members, clock: Clock) {
    this.#postgres = postgres
    this.#members = members
    this.#clock = clock
  }

  /** Reads who may talk, and keeps reading. */
  ready(): Promise<void> {
    this.#reading ??= this.#follow()
    return this.#reading
  }

  find(person: PersonRef): PairedPerson | undefined {
    return this.#known.get(nameOf(person))
  }

  known(): PairedPerson[] {
    return [...this.#known.values()]
  }

  async people(): Promise<PairedPerson[]> {
    const rows = await this.#postgres.read<PersonRow>('SELECT * FROM paired_person ORDER BY approved_at')
    return rows.map(asPerson)
  }

  async pending(): Promise<PairingRequest[]> {
    const rows = await this.#postgres.read<RequestRow>(
      'SELECT * FROM pairing_request WHERE asked_at > $1 ORDER BY asked_at',
      [this.#clock.now() - codeLifeMs],
    )
    return rows.map(asRequest)
  }

  request(person: PersonRef, name?: string): Promise<PairingAnswer> {
    const { channel, accountId } = person
    return this.#postgres.transaction<PairingAnswer>(async (statements) => {
      const { rows } = statements
      await rows('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [
        'pairing',
        `${channel}|${accountId}`,
      ])
      await this.#forgetExpired(statements)
      const waiting = await rows<RequestRow>(
        'SELECT * FROM pairing_request WHERE channel = $1 AND account = $2',
        [channel, accountId],
      )
      if (waiting.some(({ sender }) => sender === person.senderId)) return { kind: 'known' }
      if (waiting.length >= maxPending) return { kind: 'full' }
      const code = newCode()
      await rows('INSERT INTO pairing_request VALUES ($1, $2, $3, $4, $5, $6)', [
        channel,
        accountId,
        person.senderId,
        code,
        name === undefined ? null : plainLine(name, 64),
        this.#clock.now(),
      ])
      return { kind: 'new', code }
    })
  }

  async approve(code: string, options: { mayMakeOwner: boolean }): Promise<PairedPerson> {
    const person = await this.#postgres.transaction(async (statements) => {
      const request = await this.#take(statements, code)
      await statements.rows('SELECT pg_advisory_xact_lock(hashtext($1), 0)', ['pairing owner'])
      const [row] = await statements.rows<PersonRow>(
        `INSERT INTO paired_person (channel, account, sender, name, owner, approved_at)
         VALUES ($1, $2, $3, $4, $5 AND NOT EXISTS (SELECT 1 FROM paired_person WHERE owner), $6)
         ON CONFLICT (channel, account, sender) DO UPDATE SET name = excluded.name, approved_at = excluded.approved_at
         RETURNING *`,
        [
          request.channel,
          request.accountId,
          request.senderId,
          request.name ?? null,
          options.mayMakeOwner,
          this.#clock.now(),
        ],
      )
      return asPerson(row!)
    })
    await this.#changed()
    return person
  }

  deny(code: string): Promise<PairingRequest> {
    return this.#postgres.transaction((statements) => this.#take(statements, code))
  }

  async remove({ channel, accountId, senderId }: PersonRef): Promise<boolean> {
    const gone = await this.#postgres.write(
      'DELETE FROM paired_person WHERE channel = $1 AND account = $2 AND sender = $3 RETURNING sender',
      [channel, accountId, senderId],
    )
    await this.#changed()
    return gone.length > 0
  }

  async #follow(): Promise<void> {
    this.#members.on((signal) => {
      if (signal.kind === 'people') void this.#readOrKeep()
    })
    await this.#read()
    this.#readLater()
  }

  #readLater(): void {
    this.#clock.after(readAgainMs, () => void this.#readOrKeep().then(() => this.#readLater()))
  }

  /** While the database is away, those who could talk still can; nothing that they say is accepted without it anyway. */
  async #readOrKeep(): Promise<void> {
    await this.#read().catch(() => {
      // The connection reports its own loss.
    })
  }

  async #read(): Promise<void> {
    const people = await this.people()
    this.#known = new Map(people.map((person) => [nameOf(person), person]))
  }

  async #changed(): Promise<void> {
    await this.#read()
    this.#members.signal({ kind: 'people' })
  }

  async #take(statements: Statements, code: string): Promise<PairingRequest> {
    await this.#forgetExpired(statements)
    const [row] = await statements.rows<RequestRow>(
      'DELETE FROM pairing_request WHERE code = $1 RETURNING *',
      [code.trim().toUpperCase()],
    )
    if (!row) throw noSuchCode(code)
    return asRequest(row)
  }

  async #forgetExpired({ rows }: Statements): Promise<void> {
    await rows('DELETE FROM pairing_request WHERE asked_at <= $1', [this.#clock.now() - codeLifeMs])
  }
}

function nameOf({ channel, accountId, senderId }: PersonRef): string {
  return JSON.stringify([channel, accountId, senderId])
}

function asPerson({
  channel,
  account,
  sender,
  name,
  owner,
  approved_at: approvedAt,
}: PersonRow): PairedPerson {
  const who = { channel, accountId: account, senderId: sender }
  return { ...who, owner, approvedAt, ...(name === null ? {} : { name }) }
}

function asRequest({ channel, account, sender, name, code, asked_at: askedAt }: RequestRow): PairingRequest {
  const who = { channel, accountId: account, senderId: sender }
  return { ...who, code, askedAt, expiresAt: askedAt + codeLifeMs, ...(name === null ? {} : { name }) }
}
