// The rows of the search index: how a source and a passage are written down, and how a filter becomes a condition.
import type { SearchFilter, SearchKind, SearchRole, SearchSource } from '../domain/search.ts'
import type { Queries } from '../store/sqlite/database.ts'

export const roles: SearchRole[] = ['user', 'assistant', 'tool', 'memory']

export interface FileState {
  inode: string
  size: number
  mtimeMs: number
  readBytes: number
  readLines: number
  toolsBytes: number
  toolsLines: number
}

export interface FoundPassage {
  id: number
  source: SearchSource
  line: number
  offset: number
  length: number
  role: SearchRole
  at: number
}

export const sourceColumns = `s.path, s.kind, s.agent_ids, s.session_id, s.session_key, s.repo_path, s.branch, s.channel, s.chat_id`
export const passageColumns = `p.id, p.line, p.offset, p.length, p.role, p.at`

export interface SourceRow {
  path: string
  kind: SearchKind
  agent_ids: string | null
  session_id: string
  session_key: string | null
  repo_path: string | null
  branch: string | null
  channel: string | null
  chat_id: string | null
}

export interface PassageRow extends SourceRow {
  id: number
  line: number
  offset: number
  length: number
  role: number
  at: number
}

export function foundFromRow(row: PassageRow): FoundPassage {
  const { id, line, offset, length, at } = row
  return { id, line, offset, length, at, role: roles[row.role]!, source: sourceFromRow(row) }
}

export function sourceFromRow(row: SourceRow): SearchSource {
  return {
    kind: row.kind,
    path: row.path,
    sessionId: row.session_id,
    agentIds: row.agent_ids?.split('|').filter(Boolean),
    sessionKey: row.session_key ?? undefined,
    repoPath: row.repo_path ?? undefined,
    branch: row.branch ?? undefined,
    channel: row.channel ?? undefined,
    chat: row.chat_id ?? undefined,
  }
}

/** What the index knows of a source beside its text; changes when a session gets an owner, a branch, a key. */
export function aboutSource(source: SearchSource): Array<string | null> {
  return [
    source.kind,
    source.agentIds && source.agentIds.length > 0 ? `|${[...source.agentIds].sort().join('|')}|` : null,
    source.sessionId,
    source.sessionKey ?? null,
    source.repoPath ?? null,
    source.branch ?? null,
    source.channel ?? null,
    source.chat ?? null,
  ]
}

export function putSource(q: Queries, source: SearchSource, state: FileState): number {
  const row = q.get<{ id: number }>(
    `INSERT INTO source (path, kind, agent_ids, session_id, session_key, repo_path, branch, channel,
                         chat_id, inode, size, mtime_ms, read_bytes, read_lines, tools_bytes, tools_lines)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (path) DO UPDATE SET
       agent_ids = excluded.agent_ids, session_id = excluded.session_id, session_key = excluded.session_key,
       repo_path = excluded.repo_path, branch = excluded.branch, channel = excluded.channel,
       chat_id = coalesce(excluded.chat_id, chat_id),
       inode = excluded.inode, size = excluded.size, mtime_ms = excluded.mtime_ms,
       read_bytes = excluded.read_bytes, read_lines = excluded.read_lines,
       tools_bytes = excluded.tools_bytes, tools_lines = excluded.tools_lines
     RETURNING id`,
    source.path,
    ...aboutSource(source),
    state.inode,
    state.size,
    state.mtimeMs,
    state.readBytes,
    state.readLines,
    state.toolsBytes,
    state.toolsLines,
  )
  return row!.id
}

export function conditions(filter: SearchFilter): { where: string; values: Array<string | number> } {
  const { agentId, repoPaths, channel, since, role, source, sessionIds } = filter
  const parts: Array<[sql: string, ...values: Array<string | number | undefined>]> = [
    [`(instr(s.agent_ids, ?) > 0 OR s.agent_ids = '|*|')`, agentId && `|${agentId}|`],
    [`(${['false', ...(repoPaths ?? []).map(() => isWithin)].join(' OR ')})`, ...foldersOf(repoPaths)],
    ['s.channel = ?', channel],
    ['p.at >= ?', since],
    ['p.role = ?', role === undefined ? undefined : roles.indexOf(role)],
    ['p.role <> ?', filter.withoutTools === true ? roles.indexOf('tool') : undefined],
    ['s.kind = ?', source],
    ['s.session_id IN (SELECT value FROM json_each(?))', sessionIds && JSON.stringify(sessionIds)],
  ]
  const used = parts.filter(([, ...values]) => !values.includes(undefined))
  return {
    where: used.map(([sql]) => ` AND ${sql}`).join(''),
    values: used.flatMap(([, ...values]) => values.filter((value) => value !== undefined)),
  }
}

const isWithin = `instr(s.repo_path || '/', ?) = 1`

function foldersOf(repoPaths: string[] | undefined): Array<string | undefined> {
  return repoPaths?.map(asFolder) ?? [undefined]
}

/** Ends in a slash: what begins with it is the folder itself, or in it. */
function asFolder(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}
