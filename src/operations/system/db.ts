// `rockpool db`: the schema and the state of the shared database, and copies between it and this machine.
import { join, relative } from 'node:path'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { isShared, sharedFolder, verifiedFiles } from '../../store/backup.ts'
import { Postgres } from '../../store/postgres/connection.ts'
import { restoreTables } from '../../store/postgres/dump.ts'
import { listMembers } from '../../store/postgres/members.ts'
import { schemaState } from '../../store/postgres/migrate.ts'
import { databaseUrl } from '../../store/postgres/open.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { copyFromPostgres, copyReport, copyToPostgres } from './db-copy.ts'
import { slowStatement } from './status.ts'

const status = operation({
  name: 'db.status',
  description: 'Show the shared database: schema, connection, the machines that use it, and what waits.',
  input: z.strictObject({}),
  output: z.object({
    place: z.string(),
    schema: z.object({ version: z.number(), known: z.number() }),
    connection: z.object({
      state: z.string(),
      since: z.number(),
      server: z.string().optional(),
      lastError: z.string().optional(),
      slow: z.number(),
      lastSlow: slowStatement.optional(),
      roundTripMs: z.number(),
    }),
    machines: z.array(
      z.object({
        id: z.string(),
        machine: z.string(),
        labels: z.array(z.string()),
        serves: z.boolean(),
        reach: z.array(z.string()),
        silentMs: z.number(),
      }),
    ),
    waiting: z.object({ inputs: z.number(), turns: z.number(), deliveries: z.number() }),
  }),
  scope: 'read',
  redactOutput: true,
  operatorOnly: true,
  command: { examples: ['rockpool db status', 'rockpool db status --json'] },
  run: (app) => withPostgres(app, (postgres) => statusOf(app, postgres)),
})

const migrate = operation({
  name: 'db.migrate',
  description: 'Create the tables of the shared database, or migrate them to this version.',
  input: z.strictObject({}),
  output: z.object({ place: z.string(), version: z.number() }),
  scope: 'admin',
  changesState: true,
  command: { examples: ['rockpool db migrate'] },
  run: (app) =>
    withPostgres(app, async (postgres) => ({
      place: postgres.place,
      version: (await schemaState(postgres)).version,
    })),
})

const localStore = z.enum(['sqlite', 'files']).default('sqlite')

const importAll = operation({
  name: 'db.import',
  description:
    'Copy everything of this machine into the shared database. Can be repeated; nothing is overwritten.',
  input: z.strictObject({ from: localStore.describe('Where this machine stores its sessions.') }),
  output: copyReport,
  scope: 'admin',
  changesState: true,
  command: { examples: ['rockpool db import', 'rockpool db import --from files'] },
  run: (app, { from }) => withPostgres(app, (postgres) => copyToPostgres(app, from, postgres)),
})

const exportAll = operation({
  name: 'db.export',
  description:
    'Copy everything of the shared database to this machine. Can be repeated; nothing is overwritten.',
  input: z.strictObject({ to: localStore.describe('Where this machine will store its sessions.') }),
  output: copyReport,
  scope: 'admin',
  changesState: true,
  command: { examples: ['rockpool db export', 'rockpool db export --to files'] },
  run: (app, { to }) => withPostgres(app, (postgres) => copyFromPostgres(app, to, postgres)),
})

const restore = operation({
  name: 'db.restore',
  description: 'Restore the shared database from a backup into an empty one.',
  input: z.strictObject({ from: z.string().describe('The folder of the backup.') }),
  output: z.object({ place: z.string(), rows: z.record(z.string(), z.number()) }),
  scope: 'admin',
  changesState: true,
  command: {
    positional: ['from'],
    paths: ['from'],
    examples: ['rockpool db restore ~/backups/rockpool-backup-2026-11-15T09-00-00-000Z'],
  },
  run: (app, { from }) =>
    withPostgres(app, async (postgres) => {
      const files = (await verifiedFiles(from)).filter(isShared)
      if (files.length === 0)
        throw new RockpoolError('not-found', `${from} has nothing of a shared database.`, {
          hint: 'A backup has it when it was made with `store` set to `postgres`.',
        })
      const names = new Set(files.map((path) => relative(sharedFolder, path)))
      return { place: postgres.place, rows: await restoreTables(postgres, join(from, sharedFolder), names) }
    }),
})

export const operations = [status, migrate, importAll, exportAll, restore]

/** The connection that this process has, or one for this request: the configuration may still say `sqlite`. */
async function withPostgres<T>(app: App, work: (postgres: Postgres) => Promise<T>): Promise<T> {
  const { cluster } = app.storage
  if (cluster) return work(cluster.connection)
  if (!app.environment.databaseUrl)
    throw new RockpoolError(
      'config-invalid',
      'ROCKPOOL_DATABASE_URL is not set: there is no shared database.',
      {
        hint: 'Set it to postgres://user@host/database; docs/scale.md describes the next steps.',
      },
    )
  const { clock, log } = app
  const postgres = new Postgres({ url: databaseUrl(app.environment), clock, log, maxConnections: 4 })
  try {
    return await work(postgres)
  } finally {
    await postgres.close()
  }
}

async function statusOf(app: App, postgres: Postgres) {
  const schema = await schemaState(postgres)
  const began = app.clock.monotonic()
  const [waiting] = await postgres.read<{ inputs: number; turns: number; deliveries: number }>(
    `SELECT (SELECT count(*) FROM inbox WHERE state = 'waiting') AS inputs,
       (SELECT count(*) FROM turn WHERE state = 'running') AS turns,
       (SELECT count(*) FROM outbox WHERE state IN ('queued', 'attempting', 'retry', 'unknown')) AS deliveries`,
  )
  const roundTripMs = Math.round((app.clock.monotonic() - began) * 10) / 10
  return {
    place: postgres.place,
    schema,
    connection: { ...postgres.health, roundTripMs },
    machines: await listMembers(postgres),
    waiting: waiting!,
  }
}
