// Coding sessions on disk: everything about them survives the death of the process that runs them.
import type { CodingOwner, CodingSession, CodingStatus, OutputBlock } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { dropOutput, freeName, putOutput, putOwner, putRequest } from './coding-rows.ts'
import { putSession, putWatch, readSession } from './coding-rows.ts'
import type { NewOutput, OwnerRequest, RecordRow, Watch } from './coding-rows.ts'
import type { Database } from './database.ts'

export interface CodingFilter {
  status?: CodingStatus
  agentId?: string
  repo?: string
  /** Only those that are not over: running, waiting, queued or suspended. */
  open?: boolean
  /** Only running and queued sessions: neither ended nor suspended. */
  running?: boolean
  /** Only what this agent may see: its own, and what its sessions launched for others. */
  visibleTo?: string
  /** Only those that Claude never gave an id. */
  neverBegun?: boolean
  since?: number
  limit?: number
}

/** How many of the last blocks of output are kept of each session, unless told otherwise. */
export const keptBlocks = 5_000

export class CodingStore {
  #db: Database
  /** How many of the last blocks of output are kept of each session. */
  #keepBlocks: number

  constructor(db: Database, options: { keepBlocks?: number } = {}) {
    this.#db = db
    this.#keepBlocks = options.keepBlocks ?? keptBlocks
  }

  /** Writes the session as it is. Only its owner does this, and says who it is; refused with `lock-lost` when somebody has
   *  taken it for dead, which only happens between machines. */
  save(session: CodingSession, _by?: CodingOwner): Promise<void> {
    return this.#db.write((q) => putSession(q, session))
  }

  get(id: string): CodingSession | undefined {
    return readSession(this.#db.queries.get<RecordRow>('SELECT record FROM coding_session WHERE id = ?', id))
  }

  /** Reads, changes and writes one session as one step. The session must be there. */
  update(id: string, change: (session: CodingSession) => unknown): Promise<CodingSession> {
    return this.#db.write((q) => {
      const session = readSession(q.get<RecordRow>('SELECT record FROM coding_session WHERE id = ?', id))
      if (!session) throw new RockpoolError('not-found', `There is no coding session ${id}.`)
      change(session)
      putSession(q, session)
      return session
    })
  }

  list(filter: CodingFilter = {}): CodingSession[] {
    const parts: Array<[string, string | number | undefined]> = [
      ['status = ?', filter.status],
      ['agent_id = ?', filter.agentId],
      ['repo = ?', filter.repo],
      ['created_at >= ?', filter.since],
      ["? IN (agent_id, json_extract(record, '$.request.launchedBy'))", filter.visibleTo],
    ]
    const used = parts.filter((part): part is [string, string | number] => part[1] !== undefined)
    const where = [
      ...used.map(([sql]) => sql),
      ...(filter.open ? ["lifecycle <> 'ended'"] : []),
      ...(filter.running ? ["lifecycle <> 'ended' AND lifecycle <> 'suspended'"] : []),
      ...(filter.neverBegun ? ['sdk_session_id IS NULL'] : []),
    ]
    const rows = this.#db.queries.all<RecordRow>(
      `SELECT record FROM coding_session ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}
        ORDER BY created_at DESC, id LIMIT ?`,
      ...used.map(([, value]) => value),
      filter.limit ?? -1,
    )
    return rows.map((row) => readSession(row)!)
  }

  /** By id, then by name (the latest of that name), then by Claude's id, then by a prefix of either id or of a name. */
  resolve(ref: string): CodingSession[] {
    const tiers: Array<[string, string]> = [
      ['id = ?', ref],
      ['name = ? ORDER BY created_at DESC LIMIT 1', ref],
      ['sdk_session_id = ? ORDER BY created_at DESC LIMIT 1', ref],
      ["(id LIKE ? ESCAPE '\\') ORDER BY created_at DESC LIMIT 10", `${escapeLike(ref)}%`],
      ["(sdk_session_id LIKE ? ESCAPE '\\') ORDER BY created_at DESC LIMIT 10", `${escapeLike(ref)}%`],
      ["(name LIKE ? ESCAPE '\\') ORDER BY created_at DESC LIMIT 10", `${escapeLike(ref)}%`],
    ]
    for (const [where, value] of ref === '' ? [] : tiers) {
      const rows = this.#db.queries.all<RecordRow>(`SELECT record FROM coding_session WHERE ${where}`, value)
      if (rows.length > 0) return rows.map((row) => readSession(row)!)
    }
    return []
  }

  /** Adds a session in one step with `check`, which throws when there is no room: nobody comes in between. Its name gets
   *  the first free number behind it when it is taken. */
  add(session: CodingSession, check: () => void): Promise<CodingSession> {
    return this.#db.write((q) => {
      check()
      const named = { ...session, name: freeName(q, session.name) }
      putSession(q, named)
      return named
    })
  }

  /** Adds output under the next sequence numbers; resolves to the last one. The oldest go when there are too many. */
  addOutput(id: string, blocks: NewOutput[]): Promise<number> {
    return this.#db.write((q) => {
      const last = q.get<{ seq: number }>(
        'SELECT coalesce(max(seq), 0) AS seq FROM coding_output WHERE session_id = ?',
        id,
      )!
      blocks.forEach((block, i) => putOutput(q, id, last.seq + i + 1, block))
      const end = last.seq + blocks.length
      dropOutput(q, id, end - this.#keepBlocks)
      return end
    })
  }

  outputAfter(id: string, seq: number, limit = 1_000): OutputBlock[] {
    return this.#db.queries.all<OutputBlock>(
      'SELECT seq, at, kind, text FROM coding_output WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?',
      id,
      seq,
      limit,
    )
  }

  /** The last blocks, with the prompts between them. Prompts are not counted, because lists of output do not show them. */
  lastOutput(id: string, limit: number): OutputBlock[] {
    return this.#db.queries.all<OutputBlock>(
      `SELECT seq, at, kind, text FROM coding_output WHERE session_id = ? AND seq >= coalesce(
         (SELECT seq FROM coding_output WHERE session_id = ? AND kind <> 'prompt' ORDER BY seq DESC LIMIT 1 OFFSET ?), 0)
       ORDER BY seq`,
      id,
      id,
      limit - 1,
    )
  }

  watches(codingId: string): Watch[] {
    return this.#db.queries
      .all<{ channel: string; seen_seq: number; foreground: number }>(
        'SELECT channel, seen_seq, foreground FROM coding_watch WHERE session_id = ?',
        codingId,
      )
      .map((row) => ({
        codingId,
        channel: row.channel,
        seenSeq: row.seen_seq,
        foreground: row.foreground === 1,
      }))
  }

  setWatch(watch: Watch): Promise<void> {
    return this.#db.write((q) => putWatch(q, watch))
  }

  /** How far a chat has seen, whether it still watches or not. */
  markSeen(codingId: string, channel: string, seq: number): Promise<void> {
    return this.#db.write((q) => {
      q.run(
        'UPDATE coding_watch SET seen_seq = max(seen_seq, ?) WHERE session_id = ? AND channel = ?',
        seq,
        codingId,
        channel,
      )
    })
  }

  watchedBy(channel: string): string[] {
    return this.#db.queries
      .all<{ id: string }>(
        'SELECT session_id AS id FROM coding_watch WHERE channel = ? AND foreground = 1',
        channel,
      )
      .map((row) => row.id)
  }

  /** Leaves a request for the process that owns the session. */
  ask(request: OwnerRequest): Promise<void> {
    return this.#db.write((q) => putRequest(q, request))
  }

  asked(codingIds: string[]): OwnerRequest[] {
    const rows = this.#db.queries.all<{
      id: string
      session_id: string
      action: string
      input: string
      asked_at: number
    }>(
      `SELECT id, session_id, action, input, asked_at FROM coding_request
        WHERE answer IS NULL AND session_id IN (SELECT value FROM json_each(?)) ORDER BY asked_at, id`,
      JSON.stringify(codingIds),
    )
    return rows.map((row) => ({
      id: row.id,
      codingId: row.session_id,
      action: row.action,
      input: JSON.parse(row.input) as Record<string, unknown>,
      askedAt: row.asked_at,
    }))
  }

  answer(id: string, answer: unknown): Promise<void> {
    return this.#db.write((q) => {
      q.run('UPDATE coding_request SET answer = ? WHERE id = ?', JSON.stringify(answer), id)
    })
  }

  /** The same, if it is still unanswered: only one process takes a request, or withdraws it. */
  answerFirst(id: string, answer: unknown): Promise<boolean> {
    return this.#db.write(
      (q) =>
        q.run(
          'UPDATE coding_request SET answer = ? WHERE id = ? AND answer IS NULL',
          JSON.stringify(answer),
          id,
        ).changes > 0,
    )
  }

  answerTo(id: string): unknown {
    const row = this.#db.queries.get<{ answer: string | null }>(
      'SELECT answer FROM coding_request WHERE id = ?',
      id,
    )
    return row?.answer ? JSON.parse(row.answer) : undefined
  }

  /** This process lives; asked about by those who cannot see it: other containers of the machine. */
  markOwner(owner: string, at: number): Promise<void> {
    return this.#db.write((q) => putOwner(q, { owner, at }))
  }

  ownerSeenAt(owner: string): number | undefined {
    return this.#db.queries.get<{ at: number }>(
      'SELECT seen_at AS at FROM coding_owner WHERE owner = ?',
      owner,
    )?.at
  }

  /** Output and answered requests of sessions that ended long ago; the sessions themselves stay. */
  forgetOutputBefore(endedBefore: number): Promise<number> {
    return this.#db.write((q) => {
      q.run('DELETE FROM coding_request WHERE asked_at < ?', endedBefore)
      q.run('DELETE FROM coding_owner WHERE seen_at < ?', endedBefore)
      return q.run(
        "DELETE FROM coding_output WHERE session_id IN (SELECT id FROM coding_session WHERE lifecycle = 'ended' AND ended_at < ?)",
        endedBefore,
      ).changes
    })
  }
}

function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
