// Reads the sessions of an OpenClaw without changing them: files up to 2026.7.1, one database per agent since then.
import { existsSync, lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import zlib from 'node:zlib'
import { deliveryFields, readDeliveryContext, type SessionEntry } from '../../domain/session.ts'
import { RockpoolError, asRockpoolError, errorText } from '../../domain/errors.ts'
import { errorCode, readFileSafely } from '../disk/atomic-file.ts'
import { Database } from '../sqlite/database.ts'
import type { Queries } from '../sqlite/queries.ts'
import { checkAgentId } from '../paths.ts'
import { parseSessions } from '../files/sessions-text.ts'
import {
  archiveName,
  listNames,
  parseArchiveName,
  parseTranscriptName,
  transcriptName,
} from '../transcripts/transcript-paths.ts'

/** A transcript with the name that it gets in our folder. */
export interface SourceTranscript {
  name: string
  /** The file to copy, or the lines to write. */
  content: { file: string; isPacked?: boolean } | { lines(): Iterable<string> }
}

export interface OpenClawAgent {
  agentId: string
  kind: 'files' | 'sqlite'
  path: string
  entries: Map<string, SessionEntry>
  transcripts: SourceTranscript[]
  /** For people: what could not be read. */
  problems: string[]
  close(): Promise<void>
}

/** Every agent with sessions below `stateDir`. An agent with a database is read from the database. An agent that cannot be read
 *  has no sessions and a problem, so that the others are still read. */
export function* readOpenClaw(stateDir: string): Generator<OpenClawAgent> {
  for (const name of listNames(join(stateDir, 'agents')).sort()) {
    const folder = join(stateDir, 'agents', name)
    const database = join(folder, 'agent', 'openclaw-agent.sqlite')
    const sessions = join(folder, 'sessions')
    const kind = existsSync(database) ? 'sqlite' : 'files'
    if (kind === 'files' && !existsSync(sessions)) continue
    let agent: OpenClawAgent
    try {
      const agentId = checkAgentId(name.toLowerCase())
      agent = kind === 'sqlite' ? openDatabase(agentId, database) : readFiles(agentId, sessions)
    } catch (error) {
      agent = unreadable(name, kind, folder, asRockpoolError(error).message)
    }
    yield agent
  }
}

function unreadable(agentId: string, kind: OpenClawAgent['kind'], path: string, why: string): OpenClawAgent {
  const problems = [`${path} was left out: ${why}`]
  return { agentId, kind, path, entries: new Map(), transcripts: [], problems, close: async () => {} }
}

function readFiles(agentId: string, folder: string): OpenClawAgent {
  const path = join(folder, 'sessions.json')
  const problems: string[] = []
  const entries = new Map<string, SessionEntry>()
  try {
    const file = readFileSafely(path)
    const content = file ? parseSessions(file.text, path) : undefined
    for (const [key, entry] of content?.entries ?? []) entries.set(key, entry)
    for (const [key, { fault }] of content?.unusable ?? []) problems.push(`the entry of ${key} ${fault}`)
  } catch (error) {
    problems.push(errorText(error))
  }
  const isTranscript = (name: string): boolean =>
    (parseTranscriptName(name) ?? parseArchiveName(name)) !== undefined
  const transcripts = [...filesIn(folder, isTranscript, problems), ...packedArchivesIn(folder, problems)]
  return { agentId, kind: 'files', path, entries, transcripts, problems, close: async () => {} }
}

function filesIn(
  folder: string,
  isWanted: (name: string) => boolean,
  problems: string[],
): Array<{ name: string; content: { file: string } }> {
  return listNames(folder)
    .filter(isWanted)
    .flatMap((name) => {
      const file = join(folder, name)
      if (lstatSync(file).isFile()) return [{ name, content: { file } }]
      problems.push(`${file} is not a regular file and was left out`)
      return []
    })
}

/** `<id>.jsonl.deleted.<time>.zst`: newer versions write it before they delete a session. */
function packedArchivesIn(folder: string, problems: string[]): SourceTranscript[] {
  const unpackedName = (name: string): string => name.slice(0, -packedSuffix.length)
  const isArchive = (name: string): boolean =>
    name.endsWith(packedSuffix) && parseArchiveName(unpackedName(name)) !== undefined
  return filesIn(folder, isArchive, problems).map(({ name, content }) => ({
    name: unpackedName(name),
    content: { ...content, isPacked: true },
  }))
}

const packedSuffix = '.zst'

interface NodeRow {
  session_key: string
  current_session_id: string
  entry_json: string
  updated_at: number
  [column: string]: unknown
}

function openDatabase(agentId: string, path: string): OpenClawAgent {
  const db = Database.open(path, [], { readOnly: true })
  try {
    return readDatabase(agentId, path, db)
  } catch (error) {
    void db.close()
    throw error
  }
}

function readDatabase(agentId: string, path: string, db: Database): OpenClawAgent {
  const nothing = { entries: new Map<string, SessionEntry>(), transcripts: [], problems: [] }
  const agent: OpenClawAgent = { agentId, kind: 'sqlite', path, ...nothing, close: () => db.close() }
  const tables = db.queries.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'")
  if (!tables.some(({ name }) => name === 'session_nodes')) {
    agent.problems.push(`${path} has no table session_nodes: its version is not known here`)
    return agent
  }
  const current = new Set<string>()
  for (const row of db.queries.each<NodeRow>('SELECT * FROM session_nodes')) {
    current.add(row.current_session_id)
    const entry = entryOf(row, agent.problems)
    if (entry) agent.entries.set(row.session_key, entry)
  }
  const archives = packedArchivesIn(join(dirname(dirname(path)), 'sessions'), agent.problems)
  agent.transcripts = [...transcriptsIn(db.queries, current), ...archives]
  return agent
}

/** Puts fields that OpenClaw stores in columns back into the entry. */
function entryOf(row: NodeRow, problems: string[]): SessionEntry | undefined {
  let stored: Record<string, unknown>
  try {
    stored = JSON.parse(row.entry_json) as Record<string, unknown>
  } catch {
    problems.push(`the entry of ${row.session_key} is not JSON`)
    return undefined
  }
  const delivery = stored['delivery'] as { context?: unknown; origin?: unknown } | undefined
  const context = readDeliveryContext(delivery?.context)
  const fields = {
    origin: delivery?.origin,
    channel: context?.channel,
    ...(context && deliveryFields(context)),
    label: row['label'],
    displayName: row['display_name'],
    status: row['status'],
    spawnedBy: row['spawned_by'],
    parentSessionKey: row['parent_session_key'],
    pinnedAt: row['pinned_at'],
    archivedAt: row['archived_at'],
    lastInteractionAt: row['last_interaction_at'],
  }
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  const entry = { ...Object.fromEntries(present), ...stored }
  return { ...entry, sessionId: row.current_session_id, updatedAt: row.updated_at }
}

/** An id that is not current belonged to a session before a reset. */
function transcriptsIn(queries: Queries, current: Set<string>): SourceTranscript[] {
  const rows = queries.all<{ session_id: string; at: number }>(
    'SELECT session_id, max(created_at) AS at FROM transcript_events GROUP BY session_id ORDER BY session_id',
  )
  return rows.flatMap(({ session_id: id, at }) => {
    if (!parseTranscriptName(`${id}.jsonl`)) return []
    const name = transcriptName(id)
    const lines = (): Iterable<string> => linesOf(queries, id)
    return [{ name: current.has(id) ? name : archiveName(name, 'reset', at), content: { lines } }]
  })
}

function* linesOf(queries: Queries, sessionId: string): Generator<string> {
  const columns = queries.all<{ name: string }>("SELECT name FROM pragma_table_info('transcript_events')")
  const packed = columns.some(({ name }) => name === 'event_zstd') ? 'event_zstd' : 'NULL'
  const rows = queries.each<{ text: string | null; packed: Uint8Array | null }>(
    `SELECT event_json AS text, ${packed} AS packed FROM transcript_events WHERE session_id = ? ORDER BY seq`,
    sessionId,
  )
  for (const row of rows) {
    const text = row.text ?? unpack(row.packed!)
    // The header says version 4, but the entries have version 3, which readers of files understand.
    yield text.startsWith('{"type":"session",') ? text.replace('"version":4', '"version":3') : text
  }
}

/** A few packed bytes can expand to more than the memory. */
const maxRecordBytes = 64 * 1024 * 1024

function unpack(packed: Uint8Array): string {
  if ('zstdDecompressSync' in zlib) {
    try {
      return zlib.zstdDecompressSync(packed, { maxOutputLength: maxRecordBytes }).toString('utf8')
    } catch (error) {
      if (errorCode(error) !== 'ERR_BUFFER_TOO_LARGE') throw error
      throw new RockpoolError('refused', `A record unpacks to more than ${maxRecordBytes >> 20} MiB.`)
    }
  }
  const message = 'This OpenClaw packs its transcripts, and this Node cannot unpack them.'
  throw new RockpoolError('unavailable', message, { hint: 'Use Node 22.15 or newer.' })
}
