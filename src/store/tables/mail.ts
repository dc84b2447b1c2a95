// Mail in both databases. A message is accepted in one synced commit. A process that delivers it writes itself into `holder` first;
// if it dies, the message waits again and is marked as possibly repeated.
import { RockpoolError } from '../../domain/errors.ts'
import { giverSchema, type Giver } from '../../domain/giver.ts'
import type { Mail, MailSession, NewMail, WakePolicy } from '../../domain/mail.ts'
import {
  all,
  columnsOf,
  fromRow,
  get,
  placeholders,
  run,
  type SqlDatabase,
  type Transaction,
} from './sql-database.ts'

interface MailLimits {
  /** Of one sender in a minute; none when absent. */
  perMinute?: number
  /** For one recipient. */
  maxWaiting: number
}

interface MailFilter {
  /** Sent by or to one of these addresses. */
  with?: readonly string[]
  to?: readonly string[]
  states?: ReadonlyArray<Mail['state']>
  limit: number
}

/** An address, the session that the sender named, and whether the message asks to resume it. */
export type WaitingFor = Pick<Mail, 'recipient' | 'session' | 'resume'>

const columns = `id, sender, sender_name, recipient, recipient_name, session, body, reply_to, resume, depth, state, accepted_at,
  expires_at, delivered_at, delivered_to, read_at, expired_at, woke_at, repeats, note`
/** No process delivers it now. */
const isWaiting = `state = 'accepted' AND holder IS NULL`
const redelivery = `UPDATE mail SET state = 'accepted', repeats = repeats + 1 WHERE state = 'delivered'`

export class MailStore {
  #sql: SqlDatabase

  constructor(sql: SqlDatabase) {
    this.#sql = sql
  }

  /** One synced commit. With the key of an earlier message of this sender it resolves to that message. */
  accept(mail: NewMail & { id: string }, now: number, limits: MailLimits, key?: string): Promise<Mail> {
    return this.#sql.transaction(() => accept(mail, now, limits, key), ['mail', mail.sender])
  }

  /** The message with this id, or with the only id that ends like this. */
  async find(ref: string): Promise<Mail[]> {
    const exact = await this.#sql.all<object>(`SELECT ${columns} FROM mail WHERE id = ?`, [ref])
    if (exact.length > 0 || ref.length < 4) return exact.map(mailOf)
    const bySuffix = await this.#sql.all<object>(
      `SELECT ${columns} FROM mail WHERE substr(id, length(id) - length(?1) + 1) = ?1 ORDER BY id DESC LIMIT 5`,
      [ref],
    )
    return bySuffix.map(mailOf)
  }

  /** Who gave the message. A message of an earlier version has no giver. */
  async giver(id: string): Promise<Giver> {
    const row = await this.#sql.get<{ giver: string | null }>('SELECT giver FROM mail WHERE id = ?', [id])
    return row?.giver ? giverSchema.parse(JSON.parse(row.giver)) : { mayApprove: false }
  }

  /** The latest first. */
  async list({ with: either, to, states, limit }: MailFilter): Promise<Mail[]> {
    const terms: string[] = ['1 = 1']
    const values: string[] = []
    const oneOf = (column: string, among: readonly string[]): string => {
      values.push(...among)
      return `${column} IN (${placeholders(among)})`
    }
    if (either) terms.push(`(${oneOf('sender', either)} OR ${oneOf('recipient', either)})`)
    if (to) terms.push(oneOf('recipient', to))
    if (states) terms.push(oneOf('state', states))
    const sql = `SELECT ${columns} FROM mail WHERE ${terms.join(' AND ')} ORDER BY id DESC LIMIT ?`
    return (await this.#sql.all<object>(sql, [...values, limit])).map(mailOf)
  }

  /** For whom messages wait that no process delivers now. */
  async recipients(): Promise<WaitingFor[]> {
    const sql = `SELECT DISTINCT recipient, session, resume FROM mail WHERE ${isWaiting}`
    const rows = await this.#sql.all<object>(sql)
    return rows.map((row) => withFlag(fromRow<Stored<WaitingFor>>(row)))
  }

  /** Messages that no process delivers now, the oldest first. */
  async waiting(recipients: readonly string[], limit: number): Promise<Mail[]> {
    const which = `recipient IN (${placeholders(recipients)})`
    const sql = `SELECT ${columns} FROM mail WHERE ${isWaiting} AND ${which} ORDER BY id LIMIT ?`
    return (await this.#sql.all<object>(sql, [...recipients, limit])).map(mailOf)
  }

  /** Claims those that still wait, for the process `holder`. On disk before anything is delivered. The turn of the session that
   *  gets them is as deep as they are, and one more. */
  async take(ids: readonly string[], holder: string, session?: string): Promise<Mail[]> {
    if (ids.length === 0) return []
    return this.#sql.transaction(() => take(ids, holder, session))
  }

  async delivered(ids: readonly string[], to: string, now: number): Promise<void> {
    await this.#change(
      ids,
      `state = 'delivered', delivered_at = ?, delivered_to = ?, holder = NULL, note = NULL`,
      [now, to],
    )
  }

  /** The claim of `holder` ends without a delivery: nothing was sent. */
  async putBack(ids: readonly string[], holder: string): Promise<void> {
    // Another process may have released the claim meanwhile, and hold a new one.
    await this.#change(ids, 'holder = CASE holder WHEN ? THEN NULL ELSE holder END', [holder])
  }

  async held(): Promise<Array<{ id: string; holder: string }>> {
    return this.#sql.all(`SELECT id, holder FROM mail WHERE state = 'accepted' AND holder IS NOT NULL`)
  }

  /** The process that held them is gone, so it is unknown whether they arrived. */
  async release(ids: readonly string[], holder: string): Promise<void> {
    if (ids.length === 0) return
    await this.#sql.repeat(
      `UPDATE mail SET holder = NULL, repeats = repeats + 1
       WHERE id IN (${placeholders(ids)}) AND state = 'accepted' AND holder = ?`,
      [...ids, holder],
    )
  }

  async unread(session: string): Promise<Mail[]> {
    const sql = `SELECT ${columns} FROM mail WHERE state = 'delivered' AND delivered_to = ? ORDER BY id`
    return (await this.#sql.all<object>(sql, [session])).map(mailOf)
  }

  async read(ids: readonly string[], now: number): Promise<void> {
    if (ids.length === 0) return
    await this.#sql.repeat(
      `UPDATE mail SET state = 'read', read_at = ? WHERE id IN (${placeholders(ids)}) AND state = 'delivered'`,
      [now, ...ids],
    )
  }

  /** They did not arrive, as far as is known: they wait again, marked as possibly repeated. */
  async redeliver(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.#sql.run(`${redelivery} AND id IN (${placeholders(ids)})`, [...ids])
  }

  /** The session ended before the turn did: its model may not have seen these. They wait for the next session of the lineage. */
  async redeliverUnread(session: string): Promise<number> {
    return this.#sql.run(`${redelivery} AND delivered_to = ?`, [session])
  }

  /** The sessions, chats and people with delivered messages that are not read. */
  async withUnread(): Promise<string[]> {
    const sql = `SELECT DISTINCT delivered_to AS recipient FROM mail WHERE state = 'delivered'`
    return (await this.#sql.all<{ recipient: string }>(sql)).map(({ recipient }) => recipient)
  }

  async woke(ids: readonly string[], now: number): Promise<void> {
    if (ids.length === 0) return
    await this.#sql.repeat(
      `UPDATE mail SET woke_at = ? WHERE woke_at IS NULL AND id IN (${placeholders(ids)})`,
      [now, ...ids],
    )
  }

  /** How often mail woke this recipient, or all of them, since then. */
  async wakes(since: number, recipient?: string): Promise<number> {
    const row = await this.#sql.get<{ wakes: number }>(
      `SELECT count(*) AS wakes FROM (SELECT DISTINCT recipient, woke_at FROM mail
         WHERE woke_at > ? ${recipient === undefined ? '' : 'AND recipient = ?'}) AS each_wake`,
      recipient === undefined ? [since] : [since, recipient],
    )
    return row!.wakes
  }

  /** Why it waits, for people. */
  async note(id: string, note: string): Promise<void> {
    await this.#sql.repeat(`UPDATE mail SET note = ?1 WHERE id = ?2 AND coalesce(note, '') <> ?1`, [note, id])
  }

  /** Messages whose time is over, and that no process delivers now. */
  async expire(now: number): Promise<number> {
    return this.#sql.repeat(
      `UPDATE mail SET state = 'expired', expired_at = ?1 WHERE ${isWaiting} AND expires_at <= ?1`,
      [now],
    )
  }

  /** Deletes messages that ended before this time. */
  async forget(before: number): Promise<number> {
    return this.#sql.repeat(`DELETE FROM mail WHERE state <> 'accepted' AND accepted_at < ?`, [before])
  }

  async session(session: string): Promise<MailSession | undefined> {
    const row = await this.#sql.get<object>('SELECT * FROM mail_session WHERE session = ?', [session])
    return row && fromRow<MailSession>(row)
  }

  /** Records that a session has started on this machine. A root that is stored already stays. */
  async sessionStarted({
    session,
    root,
    machine,
    pid,
    startedAt,
  }: Omit<MailSession, 'depth'>): Promise<void> {
    await this.#sql.repeat(
      `INSERT INTO mail_session (session, root, machine, pid, started_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (session) DO UPDATE SET machine = excluded.machine, pid = excluded.pid, started_at = excluded.started_at,
         ended_at = NULL`,
      [session, root, machine, pid ?? null, startedAt],
    )
  }

  /** The session that this process had before. */
  async lastOf(machine: string, pid: number, before: string): Promise<string | undefined> {
    const row = await this.#sql.get<{ session: string }>(
      'SELECT session FROM mail_session WHERE machine = ? AND pid = ? AND session <> ? ORDER BY started_at DESC LIMIT 1',
      [machine, pid, before],
    )
    return row?.session
  }

  async sessionEnded(session: string, now: number): Promise<void> {
    await this.#sql.repeat('UPDATE mail_session SET ended_at = ? WHERE session = ? AND ended_at IS NULL', [
      now,
      session,
    ])
  }

  /** Records that a session is a fork, as its transcript says: from now on it has the address of its origin. */
  async setRoot(session: string, root: string): Promise<void> {
    await this.#sql.repeat('UPDATE mail_session SET root = ? WHERE session = ?', [root, session])
  }

  async setDepth(session: string, depth: number): Promise<void> {
    await this.#sql.repeat('UPDATE mail_session SET depth = ?1 WHERE session = ?2 AND depth <> ?1', [
      depth,
      session,
    ])
  }

  async lineage(root: string): Promise<MailSession[]> {
    const sql = 'SELECT * FROM mail_session WHERE root = ? ORDER BY started_at DESC'
    return (await this.#sql.all<object>(sql, [root])).map((row) => fromRow<MailSession>(row))
  }

  /** Sessions that have not ended, as far as is known. */
  async live(): Promise<MailSession[]> {
    const sql = 'SELECT * FROM mail_session WHERE ended_at IS NULL'
    return (await this.#sql.all<object>(sql)).map((row) => fromRow<MailSession>(row))
  }

  async wakePolicy(root: string): Promise<WakePolicy | undefined> {
    const sql = 'SELECT policy FROM mail_wake WHERE root = ?'
    return (await this.#sql.get<{ policy: WakePolicy }>(sql, [root]))?.policy
  }

  async setWakePolicy(root: string, policy: WakePolicy): Promise<void> {
    await this.#sql.repeat(
      'INSERT INTO mail_wake (root, policy) VALUES (?1, ?2) ON CONFLICT (root) DO UPDATE SET policy = ?2',
      [root, policy],
    )
  }

  async #change(ids: readonly string[], assignments: string, values: Array<string | number>): Promise<void> {
    if (ids.length === 0) return
    const sql = `UPDATE mail SET ${assignments} WHERE id IN (${placeholders(ids)}) AND state = 'accepted'`
    await this.#sql.repeat(sql, [...values, ...ids])
  }
}

function* accept(
  mail: NewMail & { id: string },
  now: number,
  limits: MailLimits,
  key: string | undefined,
): Transaction<Mail> {
  const earlier = key === undefined ? undefined : yield* sentBefore(mail, key)
  if (earlier) return earlier
  yield* checkFlood(mail, now, limits)
  const fields = {
    ...columnsOf(
      mail,
      'id',
      'sender',
      'senderName',
      'recipient',
      'recipientName',
      'session',
      'body',
      'replyTo',
    ),
    ...columnsOf(mail, 'depth', 'expiresAt'),
    send_key: key,
    giver: JSON.stringify(mail.giver),
    resume: Number(mail.resume),
    state: 'accepted',
    accepted_at: now,
  }
  const values = Object.values(fields).map((value) => value ?? null)
  const [row] = yield* all<object>(
    `INSERT INTO mail (${Object.keys(fields).join(', ')}) VALUES (${placeholders(values)}) RETURNING ${columns}`,
    values,
  )
  return mailOf(row!)
}

function* take(ids: readonly string[], holder: string, session: string | undefined): Transaction<Mail[]> {
  const rows = yield* all<object>(
    `UPDATE mail SET holder = ? WHERE id IN (${placeholders(ids)}) AND ${isWaiting} RETURNING ${columns}`,
    [holder, ...ids],
  )
  const mails = rows.map(mailOf).sort((a, b) => (a.id < b.id ? -1 : 1))
  const depth = 1 + Math.max(0, ...mails.map((mail) => mail.depth))
  if (session !== undefined && mails.length > 0)
    yield* run('UPDATE mail_session SET depth = ? WHERE session = ?', [depth, session])
  return mails
}

function* sentBefore({ sender, recipient, body }: NewMail, key: string): Transaction<Mail | undefined> {
  const row = yield* get<object>(`SELECT ${columns} FROM mail WHERE sender = ? AND send_key = ?`, [
    sender,
    key,
  ])
  const earlier = row && mailOf(row)
  if (!earlier || (earlier.recipient === recipient && earlier.body === body)) return earlier
  throw new RockpoolError('conflict', `The key ${JSON.stringify(key)} was used for another message.`, {
    hint: 'Use a new key for a new message.',
  })
}

function* checkFlood({ sender, recipient }: NewMail, now: number, limits: MailLimits): Transaction<void> {
  const { perMinute, maxWaiting } = limits
  const sent = 'SELECT count(*) AS n FROM mail WHERE sender = ? AND accepted_at > ?'
  const recent = perMinute === undefined ? undefined : yield* get<{ n: number }>(sent, [sender, now - 60_000])
  if (recent && recent.n >= perMinute!)
    throw new RockpoolError('rate-limited', `${sender} has sent ${recent.n} messages within a minute.`, {
      hint: 'Wait a minute, and say more in one message. The owner sets mail.perMinute.',
    })
  const pending = `SELECT count(*) AS n FROM mail WHERE recipient = ? AND state = 'accepted'`
  const waiting = yield* get<{ n: number }>(pending, [recipient])
  if (waiting!.n < maxWaiting) return
  throw new RockpoolError('rate-limited', `${waiting!.n} messages wait for ${recipient} already.`, {
    hint: 'Wait until it has received them. `rockpool mail list` shows them; the owner sets mail.maxWaiting.',
  })
}

function mailOf(row: object): Mail {
  return withFlag(fromRow<Stored<Mail>>(row))
}

/** The databases have no type for a flag. */
type Stored<Row> = Omit<Row, 'resume'> & { resume: number }

function withFlag<Row extends { resume: number }>(row: Row): Omit<Row, 'resume'> & { resume: boolean } {
  return { ...row, resume: row.resume === 1 }
}
