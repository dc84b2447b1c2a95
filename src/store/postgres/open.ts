// Storage in one PostgreSQL that several machines share, as the configuration and the environment name it. Coding sessions,
// approvals, spending and decisions are written to PostgreSQL and read from a local copy (records.ts).
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { RockpoolError } from '../../domain/errors.ts'
import { LazyParts, lazily } from '../../domain/lazy-parts.ts'
import { workspaceOf } from '../agents.ts'
import type { Environment } from '../config-file.ts'
import { checkAgentId } from '../paths.ts'
import { ApprovalStore } from '../sqlite/approval-store.ts'
import { CodingStore } from '../sqlite/coding-store.ts'
import { decisionsIn } from '../sqlite/decisions.ts'
import { ScheduleStore } from '../sqlite/schedule-store.ts'
import { purgeWork } from '../sqlite/work.ts'
import { SpendStore } from '../sqlite/spend-store.ts'
import { openStateDatabase } from '../sqlite/state-database.ts'
import { UsageStore } from '../sqlite/usage-store.ts'
import type { Cluster, Storage, StorageParts } from '../storage.ts'
import { answersIn } from '../tables/answers.ts'
import { MailStore } from '../tables/mail.ts'
import { replyMapIn } from '../tables/reply-map.ts'
import { SharedChores } from './chores.ts'
import { sharedClaudeTranscripts } from './claude-transcripts-between-machines.ts'
import { claudeEntries } from './claude-transcripts.ts'
import { Postgres } from './connection.ts'
import { dumpTables } from './dump.ts'
import { sharedMachines } from './machine-records.ts'
import { SharedMedia } from './media.ts'
import { Members } from './members.ts'
import { SharedNotes } from './note-store.ts'
import { PostgresPeople } from './people.ts'
import { SharedRecords } from './records.ts'
import { PostgresSessions } from './sessions.ts'
import { postgresSql } from './sql.ts'
import { TranscriptCopies } from './transcript-copies.ts'
import { PostgresTranscripts } from './transcript-store.ts'
import { postgresWork, purgeSharedClaude, purgeSharedWork, purgedClaudeIds } from './work.ts'

type FileParts = Pick<StorageParts, 'config' | 'paths' | 'clock' | 'log' | 'agentIds'>

interface Connected {
  postgres: Postgres
  members?: Members
}

export function openSharedStorage(parts: StorageParts): Storage {
  const { config, environment, paths, clock, log, events, serves } = parts
  const postgres = new Postgres({ url: databaseUrl(environment), clock, log })
  const { name = hostname(), labels } = config.machine
  const members = new Members(postgres, { machine: name, labels, serves, clock, log })
  const lazy = new LazyParts()
  const copy = lazy.open(() => openStateDatabase(paths.database, { durability: 'relaxed' }))
  const records = lazy.open(() => new SharedRecords({ postgres, members, copy: copy(), clock, log }))
  const notes = lazy.open(() => openSharedNotes({ postgres, members }, parts))
  const media = lazy.once(
    () => openSharedMedia({ postgres, members }, parts),
    async (opened) => opened.close(),
  )
  // Stores that read the copy keep it up to date, from the first of them on.
  const followed = (): SharedRecords => {
    records().follow()
    return records()
  }
  const coding = lazy.once(() => new CodingStore(copy(), { records: followed() }))
  return lazily<Storage>({
    sessions: () => lazy.openEach((agentId) => new PostgresSessions(checkAgentId(agentId), postgres)),
    transcripts: () =>
      lazy.openEach((agentId) => {
        const dir = paths.sessions(agentId)
        return new PostgresTranscripts(postgres, { agentId, dir, clock, events })
      }),
    work: () => postgresWork(postgres, clock, members),
    people: () => new PostgresPeople(postgres, members, clock),
    coding,
    existingCoding: () => () => (existsSync(paths.database) ? coding() : undefined),
    approvals: () => new ApprovalStore(copy(), followed()),
    spend: () => new SpendStore(copy(), followed()),
    usage: () => new UsageStore(copy(), followed()),
    schedules: () => new ScheduleStore(copy(), followed()),
    mail: () => new MailStore(postgresSql(postgres)),
    decisions: () => decisionsIn(copy(), records()),
    answers: () => answersIn(postgresSql(postgres), clock),
    replyMap: () => replyMapIn(postgresSql(postgres)),
    notes,
    media,
    purge: () => async (session) => [
      ...(await purgeWork(copy(), session)),
      ...(await purgeSharedWork(postgres, session)),
    ],
    cluster: () => clusterOf({ postgres, members, records, notes, media }, parts, { name, labels }),
    close: () => async () => {
      await lazy.close()
      await members.close()
      await postgres.close()
    },
  })
}

interface ClusterParts {
  postgres: Postgres
  members: Members
  records: () => SharedRecords
  notes: () => SharedNotes
  media: () => SharedMedia
}

function clusterOf(
  { postgres, members, records, notes, media }: ClusterParts,
  { paths, clock, log }: StorageParts,
  machine: { name: string; labels: readonly string[] },
): Cluster {
  return lazily<Cluster>({
    members: () => members,
    machines: () => sharedMachines({ postgres, records: records() }, machine),
    openChores: () => () => new SharedChores({ postgres, schema: postgres.schema, clock, log }),
    claudeTranscripts: () => (configDir) => {
      const rows = <Row>(sql: string, values: unknown[]): Promise<Row[]> => postgres.repeat<Row>(sql, values)
      return sharedClaudeTranscripts(
        claudeEntries(rows, 'claude_entry', () => postgres.member),
        configDir,
        { clock, log },
      )
    },
    openTranscriptCopies: () => () => new TranscriptCopies(postgres, paths.transcriptCopies, clock),
    refresh: () => () => records().refresh(),
    followFiles: () => async () => {
      notes().follow()
      await media().follow()
    },
    purgeClaude: () => (sdkSessionId) => purgeSharedClaude(postgres, sdkSessionId),
    purgedClaudeIds: () => (since) => purgedClaudeIds(postgres, since),
    forgetMachines: () => (before) => records().forget('machine', { before }),
    health: () => () => ({ place: postgres.place, ...postgres.health }),
    dump: () => (folder) => dumpTables(postgres, folder),
    connection: () => postgres,
  })
}

export function openSharedNotes({ postgres, members }: Connected, parts: FileParts): SharedNotes {
  const { config, paths, clock, log, agentIds } = parts
  return new SharedNotes({
    postgres,
    members,
    bases: paths.memoryBase,
    machine: members?.machine ?? config.machine.name ?? hostname(),
    agentIds,
    placesOf: (agentId) => ({
      workspace: workspaceOf(parts, agentId),
      agentFolder: paths.agent(agentId),
    }),
    clock,
    log,
  })
}

export function openSharedMedia({ postgres, members }: Connected, parts: FileParts): SharedMedia {
  const { paths, clock, log, agentIds } = parts
  const workspaces = (): string[] => agentIds().map((agentId) => workspaceOf(parts, agentId))
  return new SharedMedia({ postgres, members, root: paths.media, workspaces, clock, log })
}

export function databaseUrl({ databaseUrl: url }: Pick<Environment, 'databaseUrl'>): string {
  const hint = 'Set it to postgres://user@host/database; several servers as host1,host2.'
  if (url === undefined || url === '')
    throw new RockpoolError('config-invalid', 'ROCKPOOL_DATABASE_URL is not set.', {
      hint: `${hint} Without PostgreSQL \`store\` is \`sqlite\`.`,
    })
  if (/^postgres(?:ql)?:\/\/./.test(url)) return url
  throw new RockpoolError('config-invalid', 'ROCKPOOL_DATABASE_URL is not the address of a PostgreSQL.', {
    hint,
  })
}
