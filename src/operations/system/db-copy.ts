// Copies everything between this machine and the shared database: sessions, transcripts, tables, notes and media. Notes are
// merged, so that both sides have all of them afterwards; of media each side gets what it lacks.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { copyAgent, type CopyReport, type StorePair } from '../../sessions/copy-store.ts'
import { openSessionStore, openTranscriptStore } from '../../store/open.ts'
import { statePaths } from '../../store/paths.ts'
import type { Postgres } from '../../store/postgres/connection.ts'
import { tablesFromPostgres, tablesToPostgres } from '../../store/postgres/copy-tables.ts'
import { openSharedMedia, openSharedNotes } from '../../store/postgres/open.ts'
import { PostgresSessions } from '../../store/postgres/sessions.ts'
import { PostgresTranscripts } from '../../store/postgres/transcript-store.ts'
import type { Database } from '../../store/sqlite/database.ts'
import { openStateDatabase } from '../../store/sqlite/state-database.ts'
import type { App } from '../app.ts'

export const copyReport = z.object({
  sessions: z.number(),
  unchanged: z.number(),
  transcripts: z.number(),
  archives: z.number(),
  entries: z.number(),
  rows: z.record(z.string(), z.number()).describe('New rows of the other tables: messages, people, …'),
  notes: z.number().describe('Notes of agents that both sides have now.'),
  media: z.number().describe('Files of messages and replies that were copied.'),
  problems: z.array(z.string()).describe('What could not be copied, in words.'),
})
type Report = z.infer<typeof copyReport>

type LocalStore = 'sqlite' | 'files'

export async function copyToPostgres(app: App, from: LocalStore, postgres: Postgres): Promise<Report> {
  const copied = await copySessions(app, localStores(app, from), sharedStores(app, postgres), app.agentIds())
  const rows = await withTables(app, (here) =>
    tablesToPostgres(here, postgres, (done) => app.onCopyProgress?.(done)),
  )
  const media = openSharedMedia({ postgres }, app)
  const known = new Set(await media.names())
  const missing = (await media.here()).filter((path) => !known.has(media.nameOf(path)))
  await copyEach(app, missing, (path) => media.give(path))
  return withNotes(app, postgres, app.agentIds(), { ...copied, rows, media: missing.length })
}

export async function copyFromPostgres(app: App, to: LocalStore, postgres: Postgres): Promise<Report> {
  const agents = await agentsIn(app, postgres, 'session_count')
  const copied = await copySessions(app, sharedStores(app, postgres), localStores(app, to), agents)
  const rows = await withTables(app, (here) =>
    tablesFromPostgres(postgres, here, (done) => app.onCopyProgress?.(done)),
  )
  const media = openSharedMedia({ postgres }, app)
  const here = new Set((await media.here()).map((path) => media.nameOf(path)))
  const missing = (await media.names()).filter((name) => !here.has(name))
  await copyEach(app, missing, (name) => media.bring(name))
  const authors = await agentsIn(app, postgres, 'memory_file')
  return withNotes(app, postgres, authors, { ...copied, rows, media: missing.length })
}

/** The agents of this machine, and those that have rows in the table. */
async function agentsIn(app: App, postgres: Postgres, table: 'session_count' | 'memory_file') {
  const rows = await postgres.read<{ agent: string }>(`SELECT DISTINCT agent FROM ${table}`)
  return [...new Set([...app.agentIds(), ...rows.map(({ agent }) => agent)])]
}

type Stores = (agentId: string) => StorePair

function localStores(app: App, store: LocalStore): Stores {
  const parts = { ...app, config: { ...app.config, store } }
  return (agentId) => ({
    sessions: openSessionStore(agentId, parts),
    transcripts: openTranscriptStore(agentId, parts),
  })
}

function sharedStores({ paths, clock, events }: App, postgres: Postgres): Stores {
  return (agentId) => ({
    sessions: new PostgresSessions(agentId, postgres),
    transcripts: new PostgresTranscripts(postgres, { agentId, dir: paths.sessions(agentId), clock, events }),
  })
}

async function copySessions(app: App, from: Stores, to: Stores, agents: string[]): Promise<CopyReport> {
  if (app.gateway)
    throw new RockpoolError(
      'refused',
      'Sessions cannot be copied while the gateway runs: they would change.',
      {
        hint: 'Stop it (Ctrl-C; `rockpool service uninstall` if it is a service), copy, and start it again.',
      },
    )
  const total = { sessions: 0, unchanged: 0, transcripts: 0, archives: 0, entries: 0, problems: [] }
  for (const agentId of agents) {
    const [source, target] = [from(agentId), to(agentId)]
    try {
      await copyAgent(source, target, total, (done) => app.onCopyProgress?.({ ...done }))
    } finally {
      for (const { sessions, transcripts } of [source, target]) {
        await transcripts.close()
        await sessions.close()
      }
    }
  }
  return total
}

/** The tables of this machine itself; with `store: "postgres"` the program works with a copy of the shared ones instead. */
async function withTables<T>(app: App, work: (here: Database) => Promise<T>): Promise<T> {
  await using here = openStateDatabase(statePaths(app.paths.root).database)
  return await work(here)
}

/** Merges the notes of these agents, and adds them to the report. */
async function withNotes(
  app: App,
  postgres: Postgres,
  agentIds: string[],
  report: Omit<Report, 'notes'>,
): Promise<Report> {
  const notes = openSharedNotes({ postgres }, app)
  try {
    for (const agentId of agentIds) await notes.sync(agentId)
    const [row] = await postgres.read<{ n: number }>(
      'SELECT count(*) AS n FROM memory_file WHERE body IS NOT NULL AND agent = ANY ($1)',
      [agentIds],
    )
    return { ...report, notes: row!.n, problems: [...report.problems, ...notes.problems()] }
  } finally {
    await notes.close()
  }
}

async function copyEach(app: App, files: string[], copy: (file: string) => Promise<unknown>): Promise<void> {
  for (const [n, file] of files.entries()) {
    await copy(file)
    if (n % 100 === 99)
      app.log.info({ event: 'copy-progress', media: n + 1, of: files.length }, 'Copying media files.')
  }
}
