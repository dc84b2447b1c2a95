// People who asked to talk, and people who may. A code goes to the person; whoever runs Rockpool approves it. The
// first person who is approved owns this Rockpool, unless the configuration names its owners; later ones do not.
import { randomInt } from 'node:crypto'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { plainLine } from '../../domain/text.ts'
import type { Database, Queries } from './database.ts'

/** Who, on which platform and through which of our accounts. A person paired with one account is not with another. */
export interface PersonRef {
  channel: string
  accountId: string
  senderId: string
}

export interface PairingRequest extends PersonRef {
  code: string
  name?: string
  askedAt: number
  expiresAt: number
}

export interface PairedPerson extends PersonRef {
  name?: string
  owner: boolean
  approvedAt: number
}

export type PairingAnswer =
  /** To be told to the person, once. */
  | { kind: 'new'; code: string }
  /** The code that they have still counts. */
  | { kind: 'known' }
  /** They were let in while their message was on its way. */
  | { kind: 'paired' }
  /** Too many others wait on this account. */
  | { kind: 'full' }

/** Without 0 O 1 I, which people mix up. */
const codeLetters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const codeLength = 8
export const codeLifeMs = 3_600_000
export const maxPending = 3

/** What every store of people keeps; this file does with SQLite, store/postgres/people.ts for several machines. */
export interface People {
  /** Resolves when `find` can answer. */
  ready(): Promise<void>
  find(person: PersonRef): PairedPerson | undefined
  /** Everybody who may talk, as `find` knows them. */
  known(): PairedPerson[]
  people(): Promise<PairedPerson[]>
  /** A stranger wrote. Resolves when the code is durable, so that a code that was told can always be approved. */
  request(person: PersonRef, name?: string): Promise<PairingAnswer>
  pending(): Promise<PairingRequest[]>
  /** The first person who is approved with `mayMakeOwner` becomes the owner. */
  approve(code: string, options: { mayMakeOwner: boolean }): Promise<PairedPerson>
  deny(code: string): Promise<PairingRequest>
  /** They may no longer talk. */
  remove(person: PersonRef): Promise<boolean>
}

export const peopleTables = `
  CREATE TABLE pairing_request (
    channel TEXT NOT NULL, account TEXT NOT NULL, sender TEXT NOT NULL,
    code TEXT NOT NULL UNIQUE, name TEXT, asked_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE paired_person (
    channel TEXT NOT NULL, account TEXT NOT NULL, sender TEXT NOT NULL,
    name TEXT, owner INTEGER NOT NULL, approved_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, sender)
  ) STRICT, WITHOUT ROWID;
`

export class Pairing implements People {
  #database: Database
  #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  async ready(): Promise<void> {
    // SQLite answers at once.
  }

  find(person: PersonRef): PairedPerson | undefined {
    const row = this.#database.read((q) =>
      q.get<PersonRow>(`SELECT * FROM paired_person WHERE ${sameRow}`, ...rowKey(person)),
    )
    return row && asPerson(row)
  }

  async people(): Promise<PairedPerson[]> {
    return this.known()
  }

  known(): PairedPerson[] {
    const rows = this.#database.read((q) =>
      q.all<PersonRow>('SELECT * FROM paired_person ORDER BY approved_at'),
    )
    return rows.map(asPerson)
  }

  request(person: PersonRef, name?: string): Promise<PairingAnswer> {
    return this.#database.write((q) => {
      this.#forgetExpired(q)
      if (q.get(`SELECT 1 FROM paired_person WHERE ${sameRow}`, ...rowKey(person))) return { kind: 'paired' }
      const known = q.get(`SELECT code FROM pairing_request WHERE ${sameRow}`, ...rowKey(person))
      if (known) return { kind: 'known' }
      const waiting = q.get<{ n: number }>(
        'SELECT count(*) AS n FROM pairing_request WHERE channel = ? AND account = ?',
        person.channel,
        person.accountId,
      )!.n
      if (waiting >= maxPending) return { kind: 'full' }
      const code = newCode()
      const shown = name === undefined ? null : plainLine(name, 64)
      q.run(
        'INSERT INTO pairing_request (channel, account, sender, code, name, asked_at) VALUES (?, ?, ?, ?, ?, ?)',
        ...rowKey(person),
        code,
        shown,
        this.#clock.now(),
      )
      return { kind: 'new', code }
    })
  }

  async pending(): Promise<PairingRequest[]> {
    const since = this.#clock.now() - codeLifeMs
    const rows = this.#database.read((q) =>
      q.all<RequestRow>('SELECT * FROM pairing_request WHERE asked_at > ? ORDER BY asked_at', since),
    )
    return rows.map(asRequest)
  }

  approve(code: string, options: { mayMakeOwner: boolean }): Promise<PairedPerson> {
    return this.#database.write((q) => {
      const request = this.#take(q, code)
      const isFirst = q.get<{ n: number }>('SELECT count(*) AS n FROM paired_person WHERE owner = 1')!.n === 0
      const owner = options.mayMakeOwner && isFirst
      q.run(
        `INSERT OR REPLACE INTO paired_person (channel, account, sender, name, owner, approved_at)
         VALUES (?, ?, ?, ?, ?, ?)`,
        ...rowKey(request),
        request.name ?? null,
        owner ? 1 : 0,
        this.#clock.now(),
      )
      return this.find(request)!
    })
  }

  deny(code: string): Promise<PairingRequest> {
    return this.#database.write((q) => this.#take(q, code))
  }

  remove(person: PersonRef): Promise<boolean> {
    return this.#database.write(
      (q) => q.run(`DELETE FROM paired_person WHERE ${sameRow}`, ...rowKey(person)).changes > 0,
    )
  }

  #take(q: Queries, code: string): PairingRequest {
    this.#forgetExpired(q)
    const wanted = code.trim().toUpperCase()
    const row = q.get<RequestRow>('SELECT * FROM pairing_request WHERE code = ?', wanted)
    if (!row) throw noSuchCode(code)
    q.run('DELETE FROM pairing_request WHERE code = ?', wanted)
    return asRequest(row)
  }

  #forgetExpired(q: Queries): void {
    q.run('DELETE FROM pairing_request WHERE asked_at <= ?', this.#clock.now() - codeLifeMs)
  }
}

export function noSuchCode(code: string): RockpoolError {
  return new RockpoolError(
    'not-found',
    `No pairing request has the code ${JSON.stringify(plainLine(code, 20))}.`,
    { hint: 'A code counts for one hour. `rockpool pairing list` shows those that wait.' },
  )
}

interface RequestRow {
  channel: string
  account: string
  sender: string
  code: string
  name: string | null
  asked_at: number
}

interface PersonRow {
  channel: string
  account: string
  sender: string
  name: string | null
  owner: number
  approved_at: number
}

const sameRow = 'channel = ? AND account = ? AND sender = ?'

function rowKey(person: PersonRef): [string, string, string] {
  return [person.channel, person.accountId, person.senderId]
}

function asRequest(row: RequestRow): PairingRequest {
  return {
    channel: row.channel,
    accountId: row.account,
    senderId: row.sender,
    code: row.code,
    askedAt: row.asked_at,
    expiresAt: row.asked_at + codeLifeMs,
    ...(row.name === null ? {} : { name: row.name }),
  }
}

function asPerson(row: PersonRow): PairedPerson {
  return {
    channel: row.channel,
    accountId: row.account,
    senderId: row.sender,
    owner: row.owner === 1,
    approvedAt: row.approved_at,
    ...(row.name === null ? {} : { name: row.name }),
  }
}

export function newCode(): string {
  return Array.from({ length: codeLength }, () => codeLetters[randomInt(codeLetters.length)]).join('')
}
