// Coding sessions on disk: everything about a session survives the death of the process that runs it.
import { isDeepStrictEqual } from 'node:util'
import type { CodingOwner, CodingSession, CodingStatus, OutputBlock } from '../../domain/coding-session.ts'
import { isClaudeId } from '../../domain/coding-session.ts'
import { offlineModel } from '../../domain/agent.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Database } from './database.ts'
import type { Queries } from './queries.ts'
import { getRecord, keptBlocks, readRecords, watchId } from './record-tables.ts'
import type { NewOutput, OwnerRequest, Watch } from './record-tables.ts'
import { RecordStore, type Records } from './records.ts'

export interface CodingFilter {
  status?: CodingStatus
  agentId?: string
  /** Only sessions that have not ended: running, waiting, queued or suspended. */
  open?: boolean
  /** Only running and queued sessions: neither ended nor suspended. */
  running?: boolean
  /** Only what this agent may see: its own sessions, and those that its sessions launched for others. */
  visibleTo?: string
  /** Only suspended sessions whose question is not settled, or whose answer has not resumed them yet. */
  asking?: boolean
  /** Only suspended sessions that waited in the queue of their machine when it died. */
  cutOff?: boolean
  /** Only sessions in which Claude never started: without an id of Claude, or with the offline agent. */
  withoutClaude?: boolean
  limit?: number
}

const openFirst = "lifecycle = 'ended', created_at DESC"

const titleOf = "json_extract(record, '$.title')"

const latestOfAgent = `created_at = (SELECT max(created_at) FROM coding_session AS other
  WHERE other.name = coding_session.name AND other.agent_id = coding_session.agent_id)`

/** Two queries, because each has an index. */
const withoutClaude = `id IN (SELECT id FROM coding_session WHERE sdk_session_id IS NULL
  UNION SELECT id FROM coding_session WHERE json_extract(record, '$.model') = '${offlineModel}')`

const visibleToAgent = "? IN (agent_id, json_extract(record, '$.request.launchedBy'))"

export class CodingStore extends RecordStore {
  readonly #keepBlocks: number

  constructor(db: Database, options: { records?: Records; keepBlocks?: number } = {}) {
    super(db, options.records)
    this.#keepBlocks = options.keepBlocks ?? keptBlocks
  }

  /** Writes the session. Only its owner calls this and passes itself as `by`. Rejects with `lock-lost` when another machine
   *  has declared the owner dead. */
  save(session: CodingSession, by?: CodingOwner): Promise<void> {
    const guard = (stored: CodingSession | undefined): void => {
      // As it is after it was written and read.
      const owner: unknown = by && JSON.parse(JSON.stringify(by))
      if (!owner || !stored || isDeepStrictEqual(stored.owner, owner)) return
      const message = `This process sent no heartbeat for too long, so it no longer owns ${stored.name}.`
      throw new RockpoolError('lock-lost', message, { hint: 'The session can be resumed.' })
    }
    // Any process may set the title, so the owner of the session keeps the stored one.
    const merge = (stored = session): CodingSession => ({ ...session, title: stored.title })
    return this.records.put('coding', session.id, session, { guard, merge })
  }

  get(id: string): CodingSession | undefined {
    return getRecord(this.db.queries, 'coding', id)
  }

  /** Reads, changes and writes one session as one step. The session must exist. */
  async update(id: string, change: (session: CodingSession) => unknown): Promise<CodingSession> {
    let changed: CodingSession | undefined
    await this.records.update('coding', id, (session) => {
      if (session) change(session)
      return (changed = session)
    })
    if (!changed) throw new RockpoolError('not-found', `There is no coding session ${id}.`)
    return changed
  }

  list(filter: CodingFilter = {}): CodingSession[] {
    const terms: Array<[term: string, value: string | number | undefined]> = [
      ['status = ?', filter.status],
      ['agent_id = ?', filter.agentId],
      [visibleToAgent, filter.visibleTo],
    ]
    const used = terms.filter((term): term is [string, string | number] => term[1] !== undefined)
    const where = [
      'true',
      ...used.map(([term]) => term),
      ...(filter.open ? ["lifecycle <> 'ended'"] : []),
      ...(filter.running ? ["lifecycle <> 'ended' AND lifecycle <> 'suspended'"] : []),
      ...(filter.asking
        ? ["lifecycle = 'suspended' AND json_extract(record, '$.waiting.approvalId') IS NOT NULL"]
        : []),
      ...(filter.cutOff ? ["lifecycle = 'suspended' AND json_extract(record, '$.end.queued')"] : []),
      ...(filter.withoutClaude ? [withoutClaude] : []),
    ]
    const values = [...used.map(([, value]) => value), filter.limit ?? -1]
    return this.#sessions(`${where.join(' AND ')} ORDER BY created_at DESC, id LIMIT ?`, ...values)
  }

  /** By id, then by Claude's id, then by name (the latest of each agent), then by title, then by a prefix of one of them. Of several
   *  runs of one conversation the newest that has not ended counts. For an agent only among the sessions that it may see: neither
   *  the other sessions nor their names exist for it. */
  resolve(ref: string, visibleTo?: string): CodingSession[] {
    const prefix = `${ref.replace(/[\\%_]/g, '\\$&')}%`
    const byId: Array<[string, string]> = [
      ['id = ?', ref],
      [`sdk_session_id = ? ORDER BY ${openFirst} LIMIT 1`, ref],
    ]
    const byName: Array<[string, string]> = [
      [`name = ? AND ${latestOfAgent} ORDER BY created_at DESC`, ref],
      [`${titleOf} = ? ORDER BY ${openFirst}`, ref],
      ["(id LIKE ? ESCAPE '\\') ORDER BY created_at DESC LIMIT 10", prefix],
      [`(sdk_session_id LIKE ? ESCAPE '\\') ORDER BY ${openFirst} LIMIT 10`, prefix],
      ["(name LIKE ? ESCAPE '\\') ORDER BY created_at DESC LIMIT 10", prefix],
      [`(${titleOf} LIKE ? ESCAPE '\\') ORDER BY ${openFirst} LIMIT 10`, prefix],
    ]
    const seen = visibleTo === undefined ? [] : [visibleTo]
    const visible = visibleTo === undefined ? '' : `${visibleToAgent} AND `
    // A name or a title must not stand in for a conversation, which may belong to another agent or to no session of ours.
    const tiers = isClaudeId(ref) ? byId : [...byId, ...byName]
    for (const [where, value] of ref === '' ? [] : tiers) {
      const found = this.#sessions(`${visible}${where}`, ...seen, value)
      if (found.length > 0) return oneOfEach(found)
    }
    return []
  }

  /** The newest run of a conversation; its agent owns the conversation. */
  latestRun(sdkSessionId: string): CodingSession | undefined {
    return latestRunIn(this.db.queries, sdkSessionId)
  }

  /** Gives a conversation its title: all its runs have it. */
  async setTitle(sdkSessionId: string, title: string): Promise<CodingSession[]> {
    return Promise.all(
      this.runsOf(sdkSessionId).map(({ id }) =>
        this.update(id, (session) => Object.assign(session, { title })),
      ),
    )
  }

  /** All stored runs of a conversation, the newest first. */
  runsOf(sdkSessionId: string): CodingSession[] {
    return this.#sessions('sdk_session_id = ? ORDER BY created_at DESC', sdkSessionId)
  }

  /** The running or starting session that has this conversation. Called inside a write, it decides for that write. */
  holderOf(sdkSessionId: string): CodingSession | undefined {
    return holderIn(this.db.queries, sdkSessionId)
  }

  /** Adds a session in one step with `check`, which throws when there is no room, or when another session has the conversation
   *  that this one continues (`holder`); it may also change the session. If the agent has a session of this name, the first free
   *  number is appended to it. Throws `conflict` when another process has added a session with this id. */
  add(
    session: CodingSession,
    check: (holder?: CodingSession) => CodingSession | undefined | void,
  ): Promise<CodingSession> {
    return this.records.create('coding', (q) => {
      if (getRecord(q, 'coding', session.id))
        throw new RockpoolError('conflict', `The coding session ${session.id} was launched before.`)
      const { resume } = session.request
      const admitted = check(resume && !resume.fork ? holderIn(q, resume.sdkSessionId) : undefined) ?? session
      const continued = resume && !resume.fork ? latestRunIn(q, resume.sdkSessionId) : undefined
      return { ...admitted, name: freeName(q, session), title: continued?.title }
    })
  }

  /** Adds output under the next sequence numbers; resolves to the last one. The oldest blocks beyond the limit are deleted. */
  addOutput(id: string, blocks: NewOutput[]): Promise<number> {
    return this.records.appendOutput(id, blocks, this.#keepBlocks)
  }

  outputAfter(id: string, seq: number, limit = 1_000): OutputBlock[] {
    const sql =
      'SELECT seq, at, kind, text FROM coding_output WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?'
    return this.db.queries.all<OutputBlock>(sql, id, seq, limit)
  }

  /** The last blocks, with the prompts between them. Prompts are not counted, because lists of output do not show them. */
  lastOutput(id: string, limit: number): OutputBlock[] {
    return this.db.queries.all<OutputBlock>(
      `SELECT seq, at, kind, text FROM coding_output WHERE session_id = ?1 AND seq >= coalesce(
         (SELECT seq FROM coding_output WHERE session_id = ?1 AND kind <> 'prompt' ORDER BY seq DESC LIMIT 1 OFFSET ?2), 0)
       ORDER BY seq`,
      id,
      limit - 1,
    )
  }

  watches(codingId: string): Watch[] {
    return readRecords(this.db.queries, 'watch', 'WHERE session_id = ?', codingId)
  }

  async setWatch(watch: Watch): Promise<void> {
    await this.records.update('watch', watchId(watch), (before) => ({
      ...watch,
      seenSeq: Math.max(watch.seenSeq, before?.seenSeq ?? 0),
    }))
  }

  /** Records how far a chat has seen the output, whether it still watches or not. */
  async markSeen(codingId: string, channel: string, seq: number): Promise<void> {
    await this.records.update('watch', watchId({ codingId, channel }), (before) =>
      before && before.seenSeq < seq ? { ...before, seenSeq: seq } : undefined,
    )
  }

  watchedBy(channel: string): string[] {
    const sql = 'SELECT session_id AS id FROM coding_watch WHERE channel = ? AND foreground = 1'
    return this.db.queries.all<{ id: string }>(sql, channel).map((row) => row.id)
  }

  ask(request: OwnerRequest): Promise<void> {
    return this.records.put('request', request.id, request, { at: request.askedAt })
  }

  asked(codingIds: string[]): OwnerRequest[] {
    const which =
      'WHERE answer IS NULL AND session_id IN (SELECT value FROM json_each(?)) ORDER BY asked_at, id'
    return readRecords(this.db.queries, 'request', which, JSON.stringify(codingIds))
  }

  /** Calls `listener` when requests or answers of other machines have come. Callers poll for those of this machine. */
  onRequests(listener: () => void): () => void {
    return this.records.onCopied?.('request', listener) ?? (() => {})
  }

  async answer(id: string, answer: unknown): Promise<void> {
    await this.records.update('request', id, (request) => request && { ...request, answer })
  }

  /** As `answer`, if the request is still unanswered: only one process takes a request, or withdraws it. */
  answerFirst(id: string, answer: unknown): Promise<boolean> {
    return this.records.update('request', id, (request) =>
      request && request.answer === undefined ? { ...request, answer } : undefined,
    )
  }

  answerTo(id: string): unknown {
    return getRecord(this.db.queries, 'request', id)?.answer
  }

  /** A heartbeat of this process, for those that cannot see it: other containers and other machines. */
  markOwner(owner: string, at: number): Promise<void> {
    return this.records.put('owner', owner, { owner, at: at + this.records.aheadMs }, { at })
  }

  /** The time of the owner's last heartbeat, by our clock; undefined if there was none, or the owner was declared dead. */
  ownerSeenAt(owner: string): number | undefined {
    const found = getRecord(this.db.queries, 'owner', owner)
    return found && Math.max(found.at - this.records.aheadMs, this.records.backSince)
  }

  /** Deletes output and requests of sessions that ended long ago; the sessions themselves stay. */
  async forgetOutputBefore(endedBefore: number): Promise<number> {
    const ended = "SELECT id FROM coding_session WHERE lifecycle = 'ended' AND ended_at < ?"
    const groups = this.db.queries.all<{ id: string }>(ended, endedBefore).map(({ id }) => id)
    await this.records.forget('request', { before: endedBefore })
    await this.records.forget('owner', { before: endedBefore })
    await this.records.forget('output', { groups })
    return this.db.write((q) => {
      q.run('DELETE FROM coding_request WHERE asked_at < ?', endedBefore)
      q.run('DELETE FROM coding_owner WHERE seen_at < ?', endedBefore)
      return q.run(`DELETE FROM coding_output WHERE session_id IN (${ended})`, endedBefore).changes
    })
  }

  #sessions(where: string, ...values: Array<string | number>): CodingSession[] {
    return readRecords(this.db.queries, 'coding', `WHERE ${where}`, ...values)
  }
}

function latestRunIn(q: Queries, sdkSessionId: string): CodingSession | undefined {
  return readRecords(
    q,
    'coding',
    'WHERE sdk_session_id = ? ORDER BY created_at DESC LIMIT 1',
    sdkSessionId,
  )[0]
}

/** A session that has just been launched has no id of Claude's yet: its request names the conversation. */
function holderIn(q: Queries, sdkSessionId: string): CodingSession | undefined {
  const [holder] = readRecords(
    q,
    'coding',
    `WHERE status IN ('starting', 'running') AND (sdk_session_id = ?1 OR sdk_session_id IS NULL
       AND json_extract(record, '$.request.resume.sdkSessionId') = ?1
       AND NOT json_extract(record, '$.request.resume.fork')) LIMIT 1`,
    sdkSessionId,
  )
  return holder
}

/** The first run of each conversation, and all sessions that have none. */
function oneOfEach(sessions: CodingSession[]): CodingSession[] {
  const conversations = Map.groupBy(sessions, ({ id, sdkSessionId }) => sdkSessionId ?? id)
  return [...conversations.values()].map(([first]) => first!)
}

/** Unique for each agent only, so that an agent does not learn the names of others. */
function freeName(q: Queries, { name: base, request }: CodingSession): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if (!q.get('SELECT 1 FROM coding_session WHERE name = ? AND agent_id = ?', name, request.agentId))
      return name
  }
}
