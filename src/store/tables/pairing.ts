// People who asked to talk, and people who may. The person gets a code; the operator of Rockpool approves the code. The
// first approved person owns this Rockpool, unless the configuration names its owners or ever did. Later owners are named as such.
import { randomInt } from 'node:crypto'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { plainLine } from '../../domain/text.ts'
import { all, fromRow, get, run, type SqlDatabase, type Transaction } from './sql-database.ts'

/** A sender on a platform, through one of our accounts. A person paired with one account is not paired with another. */
export interface PersonRef {
  channel: string
  accountId: string
  senderId: string
}

interface PairingRequest extends PersonRef {
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

type PairingAnswer =
  /** Send this code to the person, once. */
  | { kind: 'new'; code: string }
  /** The person has a code that is still valid. */
  | { kind: 'known' }
  /** The person was approved while the message was on its way. */
  | { kind: 'paired' }
  | { kind: 'full' }

export interface ApproveOptions {
  /** The person becomes the owner if no person was approved before and no configuration named an owner. */
  mayMakeOwner: boolean
  /** The person becomes an owner in any case. */
  asOwner?: boolean
}

/** Without 0 O 1 I, which people mix up. */
const codeLetters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const codeLength = 8
const codeLifeMs = 3_600_000
const maxPending = 3
/** No newer request replaces a request before this time. After it a newer one may replace the oldest, so that strangers without
 *  an approval cannot block others for the whole hour. Any number of strangers gets at most three codes in this time. */
const keepsPlaceMs = 10 * 60_000
const samePerson = 'channel = ? AND account = ? AND sender = ?'
const columns = 'channel, account AS account_id, sender AS sender_id, name'
export const personColumns = `${columns}, owner, approved_at`
/** People whom earlier versions approved as guests have no row in `first_owner`. */
const anyApproval = 'SELECT 1 FROM first_owner UNION ALL SELECT 1 FROM paired_person LIMIT 1'
const requestColumns = `${columns}, code, asked_at`

/** People in the tables of both databases. Each database adds how `find` and `known` answer without waiting. */
export abstract class People {
  #sql: SqlDatabase
  #clock: Clock

  constructor(sql: SqlDatabase, clock: Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** Resolves when `find` and `known` can answer. */
  abstract ready(): Promise<void>
  abstract find(person: PersonRef): PairedPerson | undefined
  abstract known(): PairedPerson[]

  async people(): Promise<PairedPerson[]> {
    const rows = await this.#sql.all<PersonRow>(
      `SELECT ${personColumns} FROM paired_person ORDER BY approved_at`,
    )
    return rows.map(asPerson)
  }

  /** Called when a stranger wrote. Resolves when the code is durable, so that it can be approved after a crash. */
  request(person: PersonRef, name?: string): Promise<PairingAnswer> {
    const { channel, accountId } = person
    return this.#sql.transaction(() => this.#addRequest(person, name), ['pairing', `${channel}|${accountId}`])
  }

  async pending(): Promise<PairingRequest[]> {
    const sql = `SELECT ${requestColumns} FROM pairing_request WHERE asked_at > ? ORDER BY asked_at`
    return (await this.#sql.all<object>(sql, [this.#clock.now() - codeLifeMs])).map(asRequest)
  }

  /** Accounts that accept no further request for now, because too many wait, and until when. */
  async full(): Promise<Array<{ channel: string; accountId: string; until: number }>> {
    const accounts = Map.groupBy(await this.pending(), ({ channel, accountId }) =>
      JSON.stringify([channel, accountId]),
    )
    return [...accounts.values()].flatMap((waiting) => {
      const { channel, accountId, askedAt } = waiting[0]!
      const until = askedAt + keepsPlaceMs
      return waiting.length < maxPending || until <= this.#clock.now() ? [] : [{ channel, accountId, until }]
    })
  }

  /** Would the next approved person become the owner? False after the first approval, also if that person was removed. */
  async firstOwns(): Promise<boolean> {
    return (await this.#sql.get(anyApproval)) === undefined
  }

  /** The configuration names the owners: if they are taken out later, no approval makes another one by itself. */
  async noteConfiguredOwner(): Promise<void> {
    await this.#sql.transaction(() => this.#noteFirst(), ['pairing owner'])
  }

  approve(code: string, options: ApproveOptions): Promise<PairedPerson> {
    return this.#sql.transaction(() => this.#approve(code, options), ['pairing owner'])
  }

  deny(code: string): Promise<PairingRequest> {
    return this.#sql.transaction(() => this.#take(code))
  }

  async remove(person: PersonRef): Promise<boolean> {
    return (await this.#sql.run(`DELETE FROM paired_person WHERE ${samePerson}`, keyOf(person))) > 0
  }

  *#addRequest(person: PersonRef, name: string | undefined): Transaction<PairingAnswer> {
    yield* this.#forgetExpired()
    if (yield* get(`SELECT 1 FROM paired_person WHERE ${samePerson}`, keyOf(person)))
      return { kind: 'paired' }
    const query = `SELECT ${requestColumns} FROM pairing_request WHERE channel = ? AND account = ? ORDER BY asked_at`
    const rows = yield* all<object>(query, [person.channel, person.accountId])
    const waiting = rows.map(asRequest)
    if (waiting.some(({ senderId }) => senderId === person.senderId)) return { kind: 'known' }
    if (waiting.length >= maxPending) {
      const [oldest] = waiting
      if (oldest!.askedAt + keepsPlaceMs > this.#clock.now()) return { kind: 'full' }
      yield* this.#take(oldest!.code)
    }
    const letters = Array.from({ length: codeLength }, () => codeLetters[randomInt(codeLetters.length)])
    const code = letters.join('')
    yield* run(
      'INSERT INTO pairing_request (channel, account, sender, code, name, asked_at) VALUES (?, ?, ?, ?, ?, ?)',
      [...keyOf(person), code, name === undefined ? null : plainLine(name, 64), this.#clock.now()],
    )
    return { kind: 'new', code }
  }

  *#approve(code: string, { mayMakeOwner, asOwner = false }: ApproveOptions): Transaction<PairedPerson> {
    const request = yield* this.#take(code)
    const isFirst = (yield* get(anyApproval)) === undefined
    const owner = asOwner || (mayMakeOwner && isFirst)
    yield* this.#noteFirst()
    const row = yield* get<PersonRow>(
      `INSERT INTO paired_person (channel, account, sender, name, owner, approved_at)
       VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (channel, account, sender) DO UPDATE SET name = excluded.name, approved_at = excluded.approved_at,
         owner = paired_person.owner OR excluded.owner
       RETURNING ${personColumns}`,
      [...keyOf(request), request.name ?? null, owner, this.#clock.now()],
    )
    return asPerson(row!)
  }

  *#noteFirst(): Transaction<void> {
    if ((yield* get('SELECT 1 FROM first_owner')) !== undefined) return
    yield* run('INSERT INTO first_owner (paired_at) VALUES (?)', [this.#clock.now()])
  }

  *#take(code: string): Transaction<PairingRequest> {
    yield* this.#forgetExpired()
    const sql = `DELETE FROM pairing_request WHERE code = ? RETURNING ${requestColumns}`
    const row = yield* get<object>(sql, [code.trim().toUpperCase()])
    if (!row)
      throw new RockpoolError(
        'not-found',
        `No pairing request has the code ${JSON.stringify(plainLine(code, 20))}.`,
        { hint: 'A code is valid for one hour. `rockpool pairing list` shows the pending ones.' },
      )
    return asRequest(row)
  }

  *#forgetExpired(): Transaction<void> {
    yield* run('DELETE FROM pairing_request WHERE asked_at <= ?', [this.#clock.now() - codeLifeMs])
  }
}

/** SQLite has 0 or 1. */
export type PersonRow = { owner: boolean | number }

function keyOf({ channel, accountId, senderId }: PersonRef): [string, string, string] {
  return [channel, accountId, senderId]
}

function asRequest(row: object): PairingRequest {
  const request = fromRow<Omit<PairingRequest, 'expiresAt'>>(row)
  return { ...request, expiresAt: request.askedAt + codeLifeMs }
}

export function asPerson(row: PersonRow): PairedPerson {
  return { ...fromRow<PairedPerson>(row), owner: Boolean(row.owner) }
}
