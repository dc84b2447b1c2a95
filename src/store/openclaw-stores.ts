// What OpenClaw keeps on this machine about sessions: files and databases of another program, read and never written.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../domain/log.ts'
import { Database } from './database.ts'

/** One agent of an OpenClaw state directory, with whatever of the three stores it has. */
export interface OpenclawAgent {
  agentId: string
  /** `claude-code-sessions.json`: entries by `<repo>` or `<repo>::<label>`. */
  codingSessions: Record<string, unknown>
  /** Session entries by key, from `sessions.json` or from its database. */
  sessions: Record<string, unknown>
}

export function readOpenclawAgents(stateDir: string, log: Log): OpenclawAgent[] {
  const agents = join(stateDir, 'agents')
  return foldersIn(agents).map((agentId) => {
    const folder = join(agents, agentId)
    const registry = readJson(join(folder, 'claude-code-sessions.json'), log)['sessions']
    return {
      agentId,
      codingSessions: isRecord(registry) ? registry : {},
      sessions: {
        ...readJson(join(folder, 'sessions', 'sessions.json'), log),
        ...readNodes(join(folder, 'agent', 'openclaw-agent.sqlite'), log),
      },
    }
  })
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
    return Object.fromEntries(rows.map(({ key, entry }) => [key, parse(entry)]))
  } catch (error) {
    log.warn({ path, reason: String(error) }, "OpenClaw's sessions cannot be read.")
    return {}
  } finally {
    void database?.close()
  }
}

function readJson(path: string, log: Log): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return isRecord(value) ? value : {}
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isMissing) log.warn({ path, reason: String(error) }, "OpenClaw's sessions cannot be read.")
    return {}
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // One row that is no JSON must not hide the others.
    return undefined
  }
}

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  } catch {
    // No OpenClaw on this machine.
    return []
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
