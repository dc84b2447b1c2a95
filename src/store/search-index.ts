// The search index: which files were read how far, and the words of each passage. It holds no text: what a hit says is
// read from its source, so the index stays small and can be thrown away at any time.
import { rmSync } from 'node:fs'
import type { SearchFilter, SearchKind, SearchRole, SearchSource } from '../domain/search.ts'
import { Database } from './database.ts'
import type { Queries } from './database.ts'

const migrations = [
  `CREATE TABLE source (
     id INTEGER PRIMARY KEY,
     path TEXT NOT NULL UNIQUE,
     kind TEXT NOT NULL,
     agent_id TEXT, session_id TEXT NOT NULL, session_key TEXT, repo_path TEXT, branch TEXT, channel TEXT,
     inode TEXT NOT NULL, size INTEGER NOT NULL, mtime_ms REAL NOT NULL,
     read_bytes INTEGER NOT NULL, read_lines INTEGER NOT NULL,
     tools_bytes INTEGER NOT NULL DEFAULT 0, tools_lines INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE TABLE passage (
     id INTEGER PRIMARY KEY,
     source_id INTEGER NOT NULL,
     line INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
     role INTEGER NOT NULL, at INTEGER NOT NULL,
     has_pieces INTEGER NOT NULL DEFAULT 0, has_vector INTEGER NOT NULL DEFAULT 0
   ) STRICT;
   CREATE INDEX passage_source ON passage (source_id, id);
   CREATE INDEX passage_without_pieces ON passage (id) WHERE has_pieces = 0;
   CREATE INDEX passage_without_vector ON passage (id) WHERE has_vector = 0;
   CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2");
   CREATE VIRTUAL TABLE pieces USING fts5(text, content='', contentless_delete=1, detail=none, tokenize="trigram remove_diacritics 1");
   CREATE TABLE vector (passage_id INTEGER PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL) STRICT;`,
]

const roles: SearchRole[] = ['user', 'assistant', 'tool', 'memory']

export interface FileState {
  inode: string
  size: number
  mtimeMs: number
  readBytes: number
  readLines: number
  toolsBytes: number
  toolsLines: number
}

export interface NewPassage {
  /** What is indexed; not kept. */
  text: string
  line: number
  offset: number
  length: number
  role: SearchRole
  at: number
}

export interface FoundPassage {
  id: number
  source: SearchSource
  line: number
  offset: number
  length: number
  role: SearchRole
  at: number
  /** Smaller is better. */
  rank: number
}

export interface PassageToRead {
  id: number
  path: string
  kind: SearchKind
  offset: number
  length: number
  role: SearchRole
}

export class SearchIndex {
  #db: Database

  private constructor(db: Database) {
    this.#db = db
  }

  /** A damaged or unknown index is no loss: it is removed and built again. */
  static open(path: string): SearchIndex {
    try {
      return new SearchIndex(Database.open(path, migrations, { durability: 'relaxed' }))
    } catch {
      // The index can be rebuilt from its sources, so whatever is wrong with the file, a new one is the remedy.
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
      return new SearchIndex(Database.open(path, migrations, { durability: 'relaxed' }))
    }
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  states(): Map<string, FileState> {
    const rows = this.#db.queries.all<FileState & { path: string }>(
      `SELECT path, inode, size, mtime_ms AS mtimeMs, read_bytes AS readBytes, read_lines AS readLines,
              tools_bytes AS toolsBytes, tools_lines AS toolsLines FROM source`,
    )
    return new Map(rows.map(({ path, ...state }) => [path, state]))
  }

  /** Adds passages and remembers how far the file was read, as one step: a crash never indexes anything twice. */
  add(source: SearchSource, state: FileState, passages: NewPassage[]): Promise<void> {
    return this.#db.write((q) => {
      const id = putSource(q, source, state)
      for (const p of passages) {
        const { lastInsertRowid } = q.run(
          'INSERT INTO passage (source_id, line, offset, length, role, at) VALUES (?, ?, ?, ?, ?, ?)',
          id,
          p.line,
          p.offset,
          p.length,
          roles.indexOf(p.role),
          p.at,
        )
        q.run('INSERT INTO words (rowid, text) VALUES (?, ?)', lastInsertRowid, p.text)
      }
    })
  }

  /** Forgets a file: it is gone, or was replaced by another. */
  remove(path: string): Promise<void> {
    return this.#db.write((q) => {
      const source = q.get<{ id: number }>('SELECT id FROM source WHERE path = ?', path)
      if (!source) return
      for (const table of ['words', 'pieces']) {
        q.run(`DELETE FROM ${table} WHERE rowid IN (SELECT id FROM passage WHERE source_id = ?)`, source.id)
      }
      q.run('DELETE FROM vector WHERE passage_id IN (SELECT id FROM passage WHERE source_id = ?)', source.id)
      q.run('DELETE FROM passage WHERE source_id = ?', source.id)
      q.run('DELETE FROM source WHERE id = ?', source.id)
    })
  }

  /** The best passages for a full-text expression. `table` is `words` (ranked by bm25) or `pieces` (newest first). */
  match(table: 'words' | 'pieces', expression: string, filter: SearchFilter, limit: number): FoundPassage[] {
    const { where, values } = conditions(filter)
    const rank = table === 'words' ? 'bm25(words)' : '-p.at'
    const rows = this.#db.queries.all<PassageRow>(
      `SELECT p.id, p.line, p.offset, p.length, p.role, p.at, ${rank} AS rank, ${sourceColumns}
         FROM ${table} JOIN passage p ON p.id = ${table}.rowid JOIN source s ON s.id = p.source_id
        WHERE ${table} MATCH ? ${where} ORDER BY ${table === 'words' ? 'rank' : 'p.at DESC'} LIMIT ?`,
      expression,
      ...values,
      limit,
    )
    return rows.map(foundFromRow)
  }

  /** Passages that fit the filter, newest first: what a regular expression looks through. */
  newest(filter: SearchFilter, limit: number, beforeId?: number): FoundPassage[] {
    const { where, values } = conditions(filter)
    const rows = this.#db.queries.all<PassageRow>(
      `SELECT p.id, p.line, p.offset, p.length, p.role, p.at, 0 AS rank, ${sourceColumns}
         FROM passage p JOIN source s ON s.id = p.source_id
        WHERE p.id < ? ${where} ORDER BY p.id DESC LIMIT ?`,
      beforeId ?? Number.MAX_SAFE_INTEGER,
      ...values,
      limit,
    )
    return rows.map(foundFromRow)
  }

  passages(ids: number[], filter: SearchFilter): FoundPassage[] {
    const { where, values } = conditions(filter)
    const rows = this.#db.queries.all<PassageRow>(
      `SELECT p.id, p.line, p.offset, p.length, p.role, p.at, 0 AS rank, ${sourceColumns}
         FROM passage p JOIN source s ON s.id = p.source_id
        WHERE p.id IN (SELECT value FROM json_each(?)) ${where}`,
      JSON.stringify(ids),
      ...values,
    )
    return rows.map(foundFromRow)
  }

  /** The newest passages that still lack their pieces or their vector. */
  lacking(what: 'pieces' | 'vector', limit: number): PassageToRead[] {
    return this.#db.queries
      .all<Omit<PassageToRead, 'role'> & { role: number }>(
        `SELECT p.id, s.path, s.kind, p.offset, p.length, p.role FROM passage p JOIN source s ON s.id = p.source_id
          WHERE p.has_${what} = 0 ${what === 'vector' ? 'AND p.role <> 2' : ''} ORDER BY p.id DESC LIMIT ?`,
        limit,
      )
      .map((row) => ({ ...row, role: roles[row.role]! }))
  }

  addPieces(texts: Array<{ id: number; text: string }>): Promise<void> {
    return this.#db.write((q) => {
      for (const { id, text } of texts) {
        q.run('INSERT INTO pieces (rowid, text) VALUES (?, ?)', id, text)
        q.run('UPDATE passage SET has_pieces = 1 WHERE id = ?', id)
      }
    })
  }

  addVectors(model: string, vectors: Array<{ id: number; vector: Int8Array }>): Promise<void> {
    return this.#db.write((q) => {
      for (const { id, vector } of vectors) {
        q.run('INSERT OR REPLACE INTO vector (passage_id, model, vector) VALUES (?, ?, ?)', id, model, vector)
        q.run('UPDATE passage SET has_vector = 1 WHERE id = ?', id)
      }
    })
  }

  *vectors(model: string, afterId = 0): IterableIterator<{ id: number; vector: Uint8Array }> {
    yield* this.#db.queries.each<{ id: number; vector: Uint8Array }>(
      'SELECT passage_id AS id, vector FROM vector WHERE model = ? AND passage_id > ? ORDER BY passage_id',
      model,
      afterId,
    )
  }

  /** Vectors of another model say nothing; they are made again. */
  async forgetVectorsExcept(model: string): Promise<void> {
    await this.#db.write((q) => {
      q.run(
        'UPDATE passage SET has_vector = 0 WHERE id IN (SELECT passage_id FROM vector WHERE model <> ?)',
        model,
      )
      q.run('DELETE FROM vector WHERE model <> ?', model)
    })
  }

  counts(): { sources: number; passages: number; withPieces: number; withVector: number } {
    return this.#db.queries.get(
      `SELECT (SELECT count(*) FROM source) AS sources, count(*) AS passages,
              coalesce(sum(has_pieces), 0) AS withPieces, coalesce(sum(has_vector), 0) AS withVector FROM passage`,
    )!
  }
}

const sourceColumns = `s.path, s.kind, s.agent_id, s.session_id, s.session_key, s.repo_path, s.branch, s.channel`

interface PassageRow {
  id: number
  line: number
  offset: number
  length: number
  role: number
  at: number
  rank: number
  path: string
  kind: SearchKind
  agent_id: string | null
  session_id: string
  session_key: string | null
  repo_path: string | null
  branch: string | null
  channel: string | null
}

function foundFromRow(row: PassageRow): FoundPassage {
  return {
    id: row.id,
    line: row.line,
    offset: row.offset,
    length: row.length,
    role: roles[row.role]!,
    at: row.at,
    rank: row.rank,
    source: {
      kind: row.kind,
      path: row.path,
      sessionId: row.session_id,
      agentId: row.agent_id ?? undefined,
      sessionKey: row.session_key ?? undefined,
      repoPath: row.repo_path ?? undefined,
      branch: row.branch ?? undefined,
      channel: row.channel ?? undefined,
    },
  }
}

function putSource(q: Queries, source: SearchSource, state: FileState): number {
  const row = q.get<{ id: number }>(
    `INSERT INTO source (path, kind, agent_id, session_id, session_key, repo_path, branch, channel,
                         inode, size, mtime_ms, read_bytes, read_lines, tools_bytes, tools_lines)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (path) DO UPDATE SET
       agent_id = excluded.agent_id, session_id = excluded.session_id, session_key = excluded.session_key,
       repo_path = excluded.repo_path, branch = excluded.branch, channel = excluded.channel,
       inode = excluded.inode, size = excluded.size, mtime_ms = excluded.mtime_ms,
       read_bytes = excluded.read_bytes, read_lines = excluded.read_lines,
       tools_bytes = excluded.tools_bytes, tools_lines = excluded.tools_lines
     RETURNING id`,
    source.path,
    source.kind,
    source.agentId ?? null,
    source.sessionId,
    source.sessionKey ?? null,
    source.repoPath ?? null,
    source.branch ?? null,
    source.channel ?? null,
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

function conditions(filter: SearchFilter): { where: string; values: Array<string | number> } {
  const parts: Array<[string, string | number | undefined]> = [
    ['s.agent_id = ?', filter.agentId],
    ['s.repo_path = ?', filter.repoPath],
    ['s.channel = ?', filter.channel],
    ['p.at >= ?', filter.since],
    ['p.role = ?', filter.role === undefined ? undefined : roles.indexOf(filter.role)],
    ['s.kind = ?', filter.source],
    [
      's.session_id IN (SELECT value FROM json_each(?))',
      filter.sessionIds && JSON.stringify(filter.sessionIds),
    ],
  ]
  const used = parts.filter((part): part is [string, string | number] => part[1] !== undefined)
  return { where: used.map(([sql]) => ` AND ${sql}`).join(''), values: used.map(([, value]) => value) }
}
