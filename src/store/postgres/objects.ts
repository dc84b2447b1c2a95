// Objects in a table of the shared PostgreSQL, a row for each; see src/store/objects/object-store.ts.
import { RockpoolError } from '../../domain/errors.ts'
import type { ObjectEntry, ObjectStore, ObjectStoreParts } from '../objects/object-store.ts'
import { Postgres } from './connection.ts'
import { fromHex } from './sql.ts'

export function postgresObjects({ environment, clock, log }: ObjectStoreParts): ObjectStore {
  const { databaseUrl: url } = environment
  if (!url)
    throw new RockpoolError('config-invalid', 'vault.shared is postgres, and no database is named.', {
      hint: 'Set ROCKPOOL_DATABASE_URL, for example postgres://user@host/database.',
    })
  const postgres = new Postgres({ url, clock, log, maxConnections: 2 })
  return {
    list: (prefix) =>
      postgres.read<ObjectEntry>(
        'SELECT name, octet_length(data) AS bytes FROM vault_object WHERE starts_with(name, $1)',
        [prefix],
      ),
    async get(name) {
      const sql = 'SELECT data FROM vault_object WHERE name = $1'
      const [row] = await postgres.read<{ data: string }>(sql, [name])
      if (row) return fromHex(row.data)
      throw new RockpoolError('not-found', `The shared vault has no ${name}.`)
    },
    async put(name, bytes) {
      const sql = `INSERT INTO vault_object (name, data) VALUES ($1, $2)
        ON CONFLICT (name) DO UPDATE SET data = excluded.data`
      await postgres.repeat(sql, [name, bytes])
    },
    async remove(name) {
      await postgres.repeat('DELETE FROM vault_object WHERE name = $1', [name])
    },
    close: () => postgres.close(),
  }
}
