// Inbox, turns and outbox on one database: a step that touches several of them is one transaction.
import type { Clock } from '../../domain/clock.ts'
import type { Database } from './database.ts'
import { sqliteInbox } from './inbox.ts'
import { sqliteOutbox } from './outbox.ts'
import { sqliteTurnLanes } from './lanes.ts'
import { sqliteSql } from './sql.ts'
import { overheardIn, systemEventsIn } from '../tables/overheard.ts'
import type { WorkStore } from '../work-store.ts'

/** `db` is the state database (state-database.ts). */
export function sqliteWork(db: Database, clock: Clock): WorkStore {
  const sql = sqliteSql(db)
  return {
    inbox: sqliteInbox(db, clock),
    lanes: sqliteTurnLanes(db, clock),
    outbox: sqliteOutbox(db, clock),
    overheard: overheardIn(sql),
    systemEvents: systemEventsIn(sql, clock),
  }
}
