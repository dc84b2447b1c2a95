// Reads the session stores of an OpenClaw on this machine, files and databases, and never writes to them.
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { isRecord, parseRecord } from '../../domain/json.ts'
import type { Log } from '../../domain/log.ts'
import { errorCode, fileVersion } from '../disk/atomic-file.ts'
import { Database } from '../sqlite/database.ts'
import { namesIn, readForeign } from '../disk/foreign-file.ts'

/** One agent of an OpenClaw state directory, with those of the three stores that it has. */
export interface OpenClawStores {
  agentId: string
  /** `claude-code-sessions.json`: entries by `<repo>` or `<repo>::<label>`. */
  codingSessions: Record<string, unknown>
  /** Session entries by key, from `sessions.json` or from its database. */
  sessions: Record<string, unknown>
}

/** Reads all agents; unchanged stores are cached. */
export function openclawReader(stateDir: string, log: Log): () => OpenClawStores[] {
  const agents = join(stateDir, 'agents')
  const json = unlessUnchanged((path) => readJson(path, log))
  const nodes = unlessUnchanged((path) => readNodes(path, log))
  return () =>
    foldersIn(agents).map((agentId) => {
      const folder = join(agents, agentId)
      const registry = json(join(folder, 'claude-code-sessions.json'))['sessions']
      return {
        agentId,
        codingSessions: isRecord(registry) ? registry : {},
        sessions: {
          ...json(join(folder, 'sessions', 'sessions.json')),
          ...nodes(join(folder, 'agent', 'openclaw-agent.sqlite')),
        },
      }
    })
}

type Read = (path: string) => Record<string, unknown>

/** A database first changes in its write-ahead log, so the size and time of the log are compared too. */
function unlessUnchanged(read: Read): Read {
  const known = new Map<string, { stamp: string; value: Record<string, unknown> }>()
  return (path) => {
    const stamp = [path, `${path}-wal`].map(fileVersion).join(' ')
    const last = known.get(path)
    if (last?.stamp === stamp) return last.value
    const value = read(path)
    known.set(path, { stamp, value })
    return value
  }
}

function readNodes(path: string, log: Log): Record<string, unknown> {
  if (!existsSync(path)) return {}
  let database: Database | undefined
  try {
    database = Database.open(path, [], { readOnly: true, busyMs: 500 })
    const rows = database.read((q) =>
      q.all<{ key: string; entry: string }>(
        'SELECT session_key AS key, entry_json AS entry FROM session_nodes',
      ),
    )
    return Object.fromEntries(rows.map(({ key, entry }) => [key, parseRecord(entry)]))
  } catch (error) {
    log.warn(
      { event: 'openclaw-unreadable', path, reason: String(error) },
      "Could not read OpenClaw's sessions; continuing without them until the file changes.",
    )
    return {}
  } finally {
    void database?.close()
  }
}

function readJson(path: string, log: Log): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readForeign(path, 256 << 20).toString('utf8'))
    return isRecord(value) ? value : {}
  } catch (error) {
    if (errorCode(error) !== 'ENOENT')
      log.warn(
        { event: 'openclaw-unreadable', path, reason: String(error) },
        "Could not read OpenClaw's sessions; continuing without them until the file changes.",
      )
    return {}
  }
}

function foldersIn(folder: string): string[] {
  return namesIn(folder).filter((name) =>
    lstatSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory(),
  )
}
