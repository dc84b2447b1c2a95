// Rows of the state database of a running Rockpool, read over a connection of their own.
import type { App } from '../../src/operations/app.ts'
import { openStateDatabase } from '../../src/store/sqlite/state-database.ts'
import type { Row } from '../../src/store/sqlite/queries.ts'

export function rowsOf<T extends object = Row>(app: Pick<App, 'paths'>, sql: string): T[] {
  const database = openStateDatabase(app.paths.database, { readOnly: true })
  try {
    return database.read((q) => q.all<T>(sql))
  } finally {
    void database.close()
  }
}
