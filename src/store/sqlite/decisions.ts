// Why a session was resumed, forked, made or waited for: every decision with all its scores, for `rockpool cc why`.
import { randomUUID } from 'node:crypto'
import type { Decisions } from '../../domain/selection.ts'
import type { Database } from './database.ts'
import { keptDecisions, readRecords } from './record-tables.ts'
import { localRecords, type Records } from './records.ts'

export function decisionsIn(db: Database, records: Records = localRecords(db)): Decisions {
  return {
    async record(decision) {
      const id = `d-${randomUUID().slice(0, 8)}`
      await records.put('decision', id, { ...decision, id }, { at: decision.at })
      await records.forget('decision', { beyond: keptDecisions })
      return id
    },
    async became(id, sessionId) {
      await records.update('decision', id, (found) => found && { ...found, becameSessionId: sessionId })
    },
    find: (ref, limit = 20) =>
      db.read((q) => readRecords(q, 'decision', which, ref, `${ref}\u{10ffff}`, limit)),
  }
}

/** A range instead of LIKE: `%` and `_` in an id are letters like any other. */
const which = `WHERE id = ?1 OR id IN
    (SELECT decision_id FROM decision_session WHERE session_id >= ?1 AND session_id < ?2)
  ORDER BY at DESC, rowid DESC LIMIT ?3`
