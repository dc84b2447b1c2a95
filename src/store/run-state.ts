// What became of a message that was handed over: the row of the inbox says it, also after a restart.
import type { Database } from './database.ts'

/** Undefined when it was never accepted, or so long ago that it is forgotten. */
export function readRunState(database: Database, runId: string): string | undefined {
  const row = database.read((q) =>
    q.get<{ state: string }>('SELECT state FROM inbox WHERE key = ?', `ask:${runId}`),
  )
  return row?.state
}
