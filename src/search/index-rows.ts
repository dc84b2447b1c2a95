// The tables of the search index and their rows: sources, passages, and what is not indexed of a passage yet.
import type { AgentKind } from '../domain/agent.ts'
import type { SearchFilter, SearchKind, SearchRole, SearchSource } from '../domain/search.ts'
import { Database } from '../store/sqlite/database.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { vectorTable } from './search-vectors.ts'
import { Numbers, type PostingTable } from './postings.ts'
import { pieceTokenizer, wordTokenizer } from './word-lists.ts'
import type { PassagePlace } from './passages.ts'

export function openSearchDatabase(path: string): Database {
  const database = Database.open(path, migrations, { durability: 'relaxed' })
  // A search reads all vectors and parts of the rest: memory mapping avoids a read call for each page.
  database.queries.exec(`PRAGMA mmap_size = ${1 << 29}`)
  shrinkIfEmpty(database.queries)
  return database
}

/** An index that is read again, after an update of the program or on request, begins with a small file. */
function shrinkIfEmpty(q: Queries): void {
  const { free } = q.get<{ free: number }>('SELECT freelist_count AS free FROM pragma_freelist_count()')!
  const { all } = q.get<{ all: number }>('SELECT page_count AS "all" FROM pragma_page_count()')!
  if (free < emptyPages || all - free > emptyPages) return
  try {
    q.exec('VACUUM')
  } catch {
    // Another process writes: the pages are used again, and the next start tries again.
  }
}

const emptyPages = 100

const migrations = [
  `CREATE TABLE source (
     id INTEGER PRIMARY KEY,
     path TEXT NOT NULL UNIQUE,
     kind TEXT NOT NULL,
     agent_ids TEXT, session_id TEXT NOT NULL, session_key TEXT, repo_path TEXT, branch TEXT, channel TEXT,
     inode TEXT NOT NULL, size INTEGER NOT NULL, mtime_ms REAL NOT NULL,
     read_bytes INTEGER NOT NULL, read_lines INTEGER NOT NULL,
     tools_bytes INTEGER NOT NULL DEFAULT 0, tools_lines INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE passage (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     source_id INTEGER NOT NULL,
     line INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
     role INTEGER NOT NULL, at INTEGER NOT NULL,
     has_pieces INTEGER NOT NULL DEFAULT 0, has_vector INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX passage_source ON passage (source_id);
   CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
   CREATE VIRTUAL TABLE pieces USING fts5(text, content='', contentless_delete=1, detail=none, tokenize="trigram remove_diacritics 1");
   CREATE TABLE vector (
     round INTEGER PRIMARY KEY AUTOINCREMENT, passage_id INTEGER NOT NULL UNIQUE, source_id INTEGER NOT NULL,
     model TEXT NOT NULL, vector BLOB NOT NULL
   ) STRICT;`,
  `DROP TABLE vector; UPDATE passage SET has_vector = 0; ${vectorTable}`,
  'CREATE INDEX passage_at ON passage (at)',
  'CREATE TABLE settled (stamp TEXT NOT NULL) STRICT',
  'ALTER TABLE source ADD COLUMN chat_id TEXT; DELETE FROM settled',
  // Words by their stem. The index holds no text, so everything is read again.
  `DELETE FROM passage; DELETE FROM source; DELETE FROM vectors; DELETE FROM settled;
   DROP TABLE words; DROP TABLE pieces;
   CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize="${wordTokenizer}");
   CREATE VIRTUAL TABLE pieces USING fts5(text, content='', contentless_delete=1, detail=none, tokenize="${pieceTokenizer}");`,
  // Titles of sessions, and the program of each. Everything is read again.
  `DELETE FROM passage; DELETE FROM source; DELETE FROM vectors; DELETE FROM settled;
   INSERT INTO words (words) VALUES ('delete-all'); INSERT INTO pieces (pieces) VALUES ('delete-all');
   ALTER TABLE source ADD COLUMN agent_kind TEXT;`,
  'CREATE TABLE deletions (count INTEGER NOT NULL) STRICT; INSERT INTO deletions VALUES (0)',
  'DROP TABLE deletions',
  'DROP INDEX passage_at',
  // Vectors without signs of their own, substrings without a row for each passage, and tool texts up to a limit. Everything is read again.
  `DELETE FROM passage; DELETE FROM source; DELETE FROM settled; DROP TABLE vectors; ${vectorTable}
   INSERT INTO words (words) VALUES ('delete-all'); DROP TABLE pieces;
   CREATE VIRTUAL TABLE pieces USING fts5(text, content='', columnsize=0, detail=none, tokenize="${pieceTokenizer}");
   CREATE INDEX passage_without_pieces ON passage (id) WHERE has_pieces = 0;`,
  // Messages that joined a turn. Everything is read again.
  `DELETE FROM passage; DELETE FROM source; DELETE FROM settled; DELETE FROM vectors;
   INSERT INTO words (words) VALUES ('delete-all'); INSERT INTO pieces (pieces) VALUES ('delete-all');`,
]

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

const sourceNames =
  'path kind agent_ids session_id session_key repo_path branch channel chat_id agent_kind'.split(' ')
export const sourceColumns = sourceNames.map((name) => `s.${name}`).join(', ')
/** For `json_object`. */
export const sourceFields = sourceNames.map((name) => `'${name}', s.${name}`).join(', ')

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
  agent_kind: AgentKind | null
}

type PassageFields = Omit<FoundPassage, 'source' | 'role'> & { role: number }

export function foundFromRow(row: PassageFields, source: SearchSource): FoundPassage {
  const { id, line, offset, length, at } = row
  return { id, line, offset, length, at, role: roles[row.role]!, source }
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
    agentKind: row.agent_kind ?? undefined,
  }
}

/** What the index knows of a source beside its text: it changes when a session gets an owner, a branch or a key. */
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
    source.agentKind ?? null,
  ]
}

export function putSource(q: Queries, source: SearchSource, state: FileState): number {
  const row = q.get<{ id: number }>(
    `INSERT INTO source (path, kind, agent_ids, session_id, session_key, repo_path, branch, channel,
                         chat_id, agent_kind, inode, size, mtime_ms, read_bytes, read_lines, tools_bytes, tools_lines)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (path) DO UPDATE SET
       agent_ids = excluded.agent_ids, session_id = excluded.session_id, session_key = excluded.session_key,
       repo_path = excluded.repo_path, branch = excluded.branch, channel = excluded.channel,
       chat_id = coalesce(excluded.chat_id, chat_id), agent_kind = excluded.agent_kind,
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
  const { agentId, agentKind, repoPaths, channel, source, role, since, until, sessionIds, tool, file } =
    filter
  const { exceptSessionId } = filter
  const parts: Array<[sql: string, ...values: Array<string | number | undefined>]> = [
    [`(instr(s.agent_ids, ?) > 0 OR s.agent_ids = '|*|')`, agentId && `|${agentId}|`],
    [`(${['false', ...(repoPaths ?? []).map(() => isWithin)].join(' OR ')})`, ...foldersOf(repoPaths)],
    ['s.channel = ?', channel],
    ['p.at >= ?', since],
    ['p.at < ?', until],
    // A tool's name is the first word of the text of its call.
    ['p.role = 2 AND p.id IN (SELECT rowid FROM words WHERE words MATCH ?)', tool && `^${quoted(tool)}`],
    [mentions, file && quoted(file), JSON.stringify(filter.fileSessions ?? [])],
    ['p.role = ?', role === undefined ? undefined : roles.indexOf(role)],
    ['p.role <> ?', filter.withoutTools === true ? roles.indexOf('tool') : undefined],
    ['s.kind = ?', source],
    ['s.agent_kind = ?', agentKind],
    ['s.session_id <> ?', exceptSessionId],
    ['s.session_id IN (SELECT value FROM json_each(?))', sessionIds && JSON.stringify(sessionIds)],
  ]
  const used = parts.filter(([, ...values]) => !values.includes(undefined))
  return {
    where: used.map(([sql]) => ` AND ${sql}`).join(''),
    values: used.flatMap(([, ...values]) => values.filter((value) => value !== undefined)),
  }
}

/** Sessions with a passage that names the file, in a message or in the input of a tool. */
const mentions = `s.session_id IN (SELECT about.session_id FROM words JOIN passage ON passage.id = words.rowid
  JOIN source about ON about.id = passage.source_id WHERE words MATCH ? UNION SELECT value FROM json_each(?))`

/** A text would end at a NUL. */
function quoted(text: string): string {
  return `"${text.replaceAll('"', '""').replaceAll('\0', ' ')}"`
}

const isWithin = `instr(s.repo_path || '/', ?) = 1`

function foldersOf(repoPaths: string[] | undefined): Array<string | undefined> {
  return repoPaths?.map(asFolder) ?? [undefined]
}

/** With a slash at the end, so that only the folder itself and what is in it begins with it. */
function asFolder(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

type PassageToRead = PassagePlace & { id: number }

type Lack = 'pieces' | 'vector'

const end = Number.MAX_SAFE_INTEGER
/** Up to this many pieces of deleted passages are tolerated, and as many as this share of the others. */
const toleratedOrphans = 10_000
const toleratedShare = 1.25

/** FTS5 keeps the number of passages and of their tokens in its first record, which is empty at first. */
export function totalsOf(q: Queries, table: PostingTable): { passages: number; tokens: number } {
  const sql = `SELECT block FROM ${table}_data WHERE id = 1`
  const numbers = new Numbers(q.get<{ block: Uint8Array }>(sql)!.block)
  return { passages: numbers.next(), tokens: numbers.next() }
}

/** Passages are indexed by word when their file is read, and by substring and vector later; this is what is left to do. */
export class IndexBacklog {
  #db: Database
  /** All passages with a higher id are done. */
  #below: Record<Lack, number> = { pieces: end, vector: end }

  constructor(db: Database) {
    this.#db = db
  }

  /** Passages were added or deleted: the next query starts at the newest. */
  restart(): void {
    this.#below = { pieces: end, vector: end }
  }

  /** The newest passages without pieces or without a vector. Tool texts get no vectors. */
  newest(what: Lack, limit: number): PassageToRead[] {
    const rows = this.#next(what, limit)
    if (rows.length > 0 || this.#below[what] === end) return rows
    this.#below[what] = end
    return this.#next(what, limit)
  }

  /** Continues where the last query ended. */
  #next(what: Lack, limit: number): PassageToRead[] {
    const rows = this.#db.queries.all<Omit<PassageToRead, 'role'> & { role: number }>(
      `SELECT p.id, s.path, s.kind, p.offset, p.length, p.role FROM passage p JOIN source s ON s.id = p.source_id
        WHERE p.id <= ? AND p.has_${what} = 0 ${what === 'vector' ? 'AND p.role <> 2' : ''}
        ORDER BY p.id DESC LIMIT ?`,
      this.#below[what],
      limit,
    )
    this.#below[what] = rows[0]?.id ?? this.#below[what]
    return rows.map((row) => ({ ...row, role: roles[row.role]! }))
  }

  addPieces(texts: Array<{ id: number; text: string }>): Promise<void> {
    return this.#db.write((q) => {
      for (const { id, text } of texts) {
        if (q.run('UPDATE passage SET has_pieces = 1 WHERE id = ? AND has_pieces = 0', id).changes === 0)
          continue
        q.run('INSERT INTO pieces (rowid, text) VALUES (?, ?)', id, text)
      }
    })
  }

  /** Deletes all pieces, to make them again: those of single passages cannot be deleted. */
  removePieces(): Promise<void> {
    this.restart()
    return this.#db.write((q) => {
      q.exec(`INSERT INTO pieces (pieces) VALUES ('delete-all'); UPDATE passage SET has_pieces = 0`)
    })
  }

  /** Makes all pieces again if too many belong to deleted passages. */
  async tidyPieces(): Promise<void> {
    const { used } = this.#db.queries.get<{ used: number }>(
      'SELECT count(*) AS used FROM passage WHERE has_pieces = 1',
    )!
    const all = totalsOf(this.#db.queries, 'pieces').passages
    if (all > toleratedShare * used + toleratedOrphans) await this.removePieces()
  }
}
