// `rockpool db`: the shared database: its schema, its health, and moving everything between it and this machine.
import { join } from 'node:path'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { copyAgent } from '../../sessions/copy-store.ts'
import type { CopyReport } from '../../sessions/copy-store.ts'
import { isShared, sharedFolder, verifiedFiles } from '../../store/backup.ts'
import type { Database } from '../../store/sqlite/database.ts'
import { statePaths } from '../../store/paths.ts'
import { tablesFromPostgres, tablesToPostgres } from '../../store/postgres/copy-tables.ts'
import type { Copied } from '../../store/postgres/copy-tables.ts'
import { databaseUrl } from '../../store/postgres/open.ts'
import { Postgres } from '../../store/postgres/connection.ts'
import { restoreTables } from '../../store/postgres/dump.ts'
import { listMembers } from '../../store/postgres/members.ts'
import { schemaState } from '../../store/postgres/migrate.ts'
import { PostgresSessions } from '../../store/postgres/sessions.ts'
import { PostgresTranscripts } from '../../store/postgres/transcript-store.ts'
import { openStateDatabase } from '../../store/sqlite/state-database.ts'
import { openSessionStore, openTranscriptStore } from '../../store/open.ts'
import type { SessionStore, TranscriptStore } from '../../store/session-store.ts'
import type { App } from '../app.ts'
import { filesFromPostgres, filesToPostgres } from './copy-files.ts'
import type { CopiedFiles } from './copy-files.ts'
import { operation } from '../operation.ts'
import { slowStatement } from './status.ts'

const report = z.object({
  sessions: z.number(),
  unchanged: z.number(),
  transcripts: z.number(),
  archives: z.number(),
  entries: z.number(),
  /** Rows of the other tables that are new there: messages, replies, people, coding sessions, approvals, … */
  rows: z.record(z.string(), z.number()),
  notes: z.number().describe('Notes of agents that both sides have now: they are merged.'),
  media: z.number().describe('Files of messages and replies that were copied.'),
  /** What could not be copied, in words. */
  problems: z.array(z.string()),
})

const status = operation({
  name: 'db.status',
  description: 'Show how the shared database is: schema, connection, which machines use it, and what waits.',
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
  description: 'Make the tables of the shared database, or bring them to this version.',
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

const fromTo = z.strictObject({
  from: z
    .enum(['sqlite', 'files'])
    .default('sqlite')
    .describe('What this machine keeps its sessions in: sqlite or files.'),
})

const importAll = operation({
  name: 'db.import',
  description:
    'Copy what this machine keeps into the shared database: sessions, transcripts, messages, people, coding sessions, notes, media. Can be repeated; what is there stays.',
  input: fromTo,
  output: report,
  scope: 'admin',
  changesState: true,
  command: { examples: ['rockpool db import', 'rockpool db import --from files'] },
  run: (app, { from }) =>
    withPostgres(app, async (postgres) => {
      const report = await copyAll(app, storesHere(app, from), sharedStores(app, postgres))
      const rows = await withTables(app, (here) => tablesToPostgres(here, postgres, progressOf(app)))
      return withFiles({ ...report, rows }, await filesToPostgres(app, postgres))
    }),
})

const exportAll = operation({
  name: 'db.export',
  description:
    'Copy what the shared database keeps to this machine: sessions, transcripts, messages, people, coding sessions, notes, media. Can be repeated; what is there stays.',
  input: z.strictObject({
    to: z
      .enum(['sqlite', 'files'])
      .default('sqlite')
      .describe('What this machine is to keep them in: sqlite or files.'),
  }),
  output: report,
  scope: 'admin',
  changesState: true,
  command: { examples: ['rockpool db export', 'rockpool db export --to files'] },
  run: (app, { to }) =>
    withPostgres(app, async (postgres) => {
      const agents = await postgres.read<{ agent: string }>('SELECT DISTINCT agent FROM session_count')
      const there = agents.map(({ agent }) => agent)
      const report = await copyAll(app, sharedStores(app, postgres), storesHere(app, to), there)
      const rows = await withTables(app, (here) => tablesFromPostgres(postgres, here, progressOf(app)))
      return withFiles({ ...report, rows }, await filesFromPostgres(app, postgres))
    }),
})

const restore = operation({
  name: 'db.restore',
  description: 'Put what a backup has of the shared database into an empty one.',
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
      return { place: postgres.place, rows: await restoreTables(postgres, join(from, sharedFolder)) }
    }),
})

export const operations = [status, migrate, importAll, exportAll, restore]

function withFiles<T extends CopyReport>(
  report: T,
  { notes, media, problems }: CopiedFiles,
): T & CopiedFiles {
  return { ...report, notes, media, problems: [...report.problems, ...problems] }
}

/** The connection that this process has, or one for this request: the configuration may still say `sqlite`. */
async function withPostgres<T>(app: App, work: (postgres: Postgres) => Promise<T>): Promise<T> {
  const { cluster } = app.storage
  if (cluster) return work(cluster.connection)
  if (!app.environment.databaseUrl)
    throw new RockpoolError(
      'config-invalid',
      'This Rockpool shares no database: ROCKPOOL_DATABASE_URL is not set.',
      {
        hint: 'Set it to postgres://user:password@host/database; docs/scale.md describes the next steps.',
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

/** The tables of this machine itself; with `store: "postgres"` the program works with a copy of the shared ones instead. */
async function withTables(app: App, work: (here: Database) => Promise<Copied>): Promise<Copied> {
  const here = openStateDatabase(statePaths(app.paths.root).database)
  try {
    return await work(here)
  } finally {
    await here.close()
  }
}

function progressOf(app: App): (copied: Copied) => void {
  return (copied) => app.onCopyProgress?.(copied)
}

interface Stores {
  sessions(agentId: string): SessionStore
  transcripts(agentId: string): TranscriptStore
}

function storesHere(app: App, store: 'sqlite' | 'files'): Stores {
  const parts = { ...app, config: { ...app.config, store } }
  return {
    sessions: (agentId) => openSessionStore(agentId, parts),
    transcripts: (agentId) => openTranscriptStore(agentId, parts),
  }
}

function sharedStores({ paths, clock, events }: App, postgres: Postgres): Stores {
  return {
    sessions: (agentId) => new PostgresSessions(agentId, postgres),
    transcripts: (agentId) =>
      new PostgresTranscripts(postgres, { agentId, dir: paths.sessions(agentId), clock, events }),
  }
}

async function copyAll(app: App, from: Stores, to: Stores, more: string[] = []): Promise<CopyReport> {
  if (app.gateway)
    throw new RockpoolError(
      'refused',
      'Sessions are not copied while the gateway runs: they would change meanwhile.',
      {
        hint: 'Stop it (Ctrl-C; `rockpool service uninstall` if it is a service), copy, and start it again.',
      },
    )
  const total: CopyReport = {
    sessions: 0,
    unchanged: 0,
    transcripts: 0,
    archives: 0,
    entries: 0,
    problems: [],
  }
  for (const agentId of new Set([...app.agentIds(), ...more])) {
    const pair = { from: openPair(from, agentId), to: openPair(to, agentId) }
    try {
      await copyAgent(pair.from, pair.to, total, (done) => app.onCopyProgress?.({ ...done }))
    } finally {
      for (const { sessions, transcripts } of [pair.from, pair.to]) {
        await transcripts.close()
        await sessions.close()
      }
    }
  }
  return total
}

function openPair(stores: Stores, agentId: string): { sessions: SessionStore; transcripts: TranscriptStore } {
  return { sessions: stores.sessions(agentId), transcripts: stores.transcripts(agentId) }
}
