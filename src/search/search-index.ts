// The search index: how far each file was read, and the words of each passage. It holds no text: the text of a hit is read
// from its source, so the index stays small and can be deleted at any time.
import { statSync } from 'node:fs'
import type { SearchFilter, SearchKind, SearchSource } from '../domain/search.ts'
import { openOrRecreate, removeDatabase, type Database } from '../store/sqlite/database.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import {
  aboutSource,
  conditions,
  IndexBacklog,
  openSearchDatabase,
  putSource,
  roles,
  sourceColumns,
  sourceFromRow,
} from './index-rows.ts'
import type { FileState, FoundPassage, SourceRow } from './index-rows.ts'
import type { NeededLetters } from './regex-letters.ts'
import { allowedSources } from './search-filter.ts'
import { SearchMatch, type WordMatches } from './search-match.ts'
import { SearchVectors } from './search-vectors.ts'
import type { WordExpression } from './word-lists.ts'

export interface NewPassage extends Omit<FoundPassage, 'id' | 'source'> {
  /** Indexed, but not stored. */
  text: string
}

/** The result of reading a file, or a part of it. */
export interface Addition {
  source: SearchSource
  /** The offsets where reading started; undefined if the file was read from its beginning. */
  from: Pick<FileState, 'readBytes' | 'toolsBytes'> | undefined
  /** How far the file has been read now. */
  state: FileState
  passages: NewPassage[]
}

export interface KnownSource extends FileState {
  source: SearchSource
}

const lacksTools = `tools_bytes < read_bytes AND kind <> 'memory'
  AND (? IS NULL OR id IN (SELECT value FROM json_each(?)))`
/** Pages that are merged in one transaction. */
const mergePages = 500
const pageBytes = 4_096

export class SearchIndex {
  readonly vectors: SearchVectors
  readonly backlog: IndexBacklog
  #db: Database
  #match: SearchMatch
  /** Of the open file. */
  #inode: number | undefined

  private constructor(db: Database) {
    this.#db = db
    this.vectors = new SearchVectors(db)
    this.backlog = new IndexBacklog(db)
    this.#match = new SearchMatch(db.queries)
    this.#inode = inodeOf(db.path)
  }

  static open(path: string): SearchIndex {
    return openOrRecreate(
      () => new SearchIndex(openSearchDatabase(path)),
      () => removeDatabase(path),
    )
  }

  /** False if the index file was deleted or replaced since it was opened. */
  isPresent(): boolean {
    return inodeOf(this.#db.path) === this.#inode
  }

  async close(): Promise<void> {
    await this.#match.close()
    await this.#db.close()
  }

  /** All sources, or those of some kinds. */
  known(kinds?: SearchKind[]): Map<string, KnownSource> {
    const found = this.#sources('? IS NULL OR kind IN (SELECT value FROM json_each(?))', kinds)
    return new Map(found.map((each) => [each.source.path, each]))
  }

  /** Transcripts whose tool texts were not read to the end, the newest first, as far as the filter allows their sessions. */
  withoutTools(filter: SearchFilter = {}): KnownSource[] {
    const ids = allowedSources(this.#db.queries, filter)
    return this.#sources(`${lacksTools} ORDER BY mtime_ms DESC`, ids)
  }

  /** Whether there is such a transcript. */
  lacksTools(filter: SearchFilter): boolean {
    const ids = allowedSources(this.#db.queries, filter)
    return this.#sources(`${lacksTools} LIMIT 1`, ids).length > 0
  }

  /** `among` is asked for twice in the condition. */
  #sources(where: string, among: unknown[] | undefined): KnownSource[] {
    const rows = this.#db.queries.all<SourceRow & FileState>(
      `SELECT ${sourceColumns}, inode, size, mtime_ms AS mtimeMs, read_bytes AS readBytes, read_lines AS readLines,
              tools_bytes AS toolsBytes, tools_lines AS toolsLines FROM source s WHERE ${where}`,
      ...[1, 2].map(() => (among ? JSON.stringify(among) : null)),
    )
    return rows.map((row) => ({ ...stateFromRow(row), source: sourceFromRow(row) }))
  }

  /** True if all of Claude's transcripts are indexed as of this stamp of discovery. */
  isUpToDate(stamp: string): boolean {
    return this.#db.queries.get('SELECT 1 FROM settled WHERE stamp = ?', stamp) !== undefined
  }

  markUpToDate(stamp: string): Promise<void> {
    return this.#db.write((q) => {
      q.exec('DELETE FROM settled')
      q.run('INSERT INTO settled (stamp) VALUES (?)', stamp)
    })
  }

  /** Adds passages and stores how far each file was read, in one transaction. Nothing is indexed twice, not after a crash
   *  and not by two processes that read the same file: the second one finds a changed state and adds nothing. */
  add(additions: Addition[]): Promise<void> {
    this.backlog.restart()
    return this.#db.write((q) => {
      for (const { source, from, state, passages } of additions) {
        const row = q.get<Pick<FileState, 'readBytes' | 'toolsBytes' | 'inode'>>(
          'SELECT inode, read_bytes AS readBytes, tools_bytes AS toolsBytes FROM source WHERE path = ?',
          source.path,
        )
        if (from && (row?.readBytes !== from.readBytes || row.toolsBytes !== from.toolsBytes)) continue
        if (!from) forget(q, source.path)
        addPassages(q, putSource(q, source, state), passages)
      }
    })
  }

  /** Removes files that no longer exist. */
  async remove(paths: string[]): Promise<void> {
    if (paths.length === 0) return
    await this.#db.write((q) => {
      q.exec('DELETE FROM settled')
      for (const path of paths) forget(q, path)
    })
  }

  /** Removes the tool texts of a file; they may be read again. */
  async removeTools(path: string): Promise<void> {
    await this.#db.write((q) => {
      const tools = 'FROM passage WHERE role = 2 AND source_id = (SELECT id FROM source WHERE path = ?)'
      q.run(`DELETE FROM words WHERE rowid IN (SELECT id ${tools})`, path)
      q.run(`DELETE ${tools}`, path)
      q.run('UPDATE source SET tools_bytes = 0, tools_lines = 0 WHERE path = ?', path)
    })
  }

  /** How large the index is, without the pages that are free, and how much of its sources it has read. */
  bytes(): { used: number; indexed: number } {
    const { own, indexed } = this.#db.queries.get<{ own: number; indexed: number }>(
      `SELECT (SELECT page_count FROM pragma_page_count()) - (SELECT freelist_count FROM pragma_freelist_count())
              AS own, (SELECT coalesce(sum(read_bytes), 0) FROM source) AS indexed`,
    )!
    return { used: own * pageBytes, indexed }
  }

  /** Removes sessions so that none of their words is left in the file. Deleted words are only marked until they are merged,
   *  and a freed page keeps its bytes without `secure_delete`. Substrings are made again. */
  async purge(sessionIds: string[]): Promise<void> {
    const sql = 'SELECT id, path FROM source WHERE session_id IN (SELECT value FROM json_each(?))'
    const sources = this.#db.queries.all<{ id: number; path: string }>(sql, JSON.stringify(sessionIds))
    this.#db.queries.exec('PRAGMA secure_delete = ON')
    await this.vectors.remove(new Set(sources.map(({ id }) => id)))
    await this.remove(sources.map(({ path }) => path))
    await this.#mergeWords()
    await this.backlog.removePieces()
    await this.#db.emptyLog()
    this.#db.queries.exec('PRAGMA secure_delete = OFF')
  }

  /** Some pages at a time, so that other writers get their turn. */
  async #mergeWords(): Promise<void> {
    const changes = (q: Queries): number => q.get<{ n: number }>('SELECT total_changes() AS n')!.n
    // A negative number starts a full merge; repeat until a step changes nothing in the table.
    for (let pages = -mergePages, changed = 2; changed > 1; pages = mergePages) {
      changed = await this.#db.write((q) => {
        const before = changes(q)
        q.run(`INSERT INTO words (words, rank) VALUES ('merge', ?)`, pages)
        return changes(q) - before
      })
    }
  }

  /** Updates what is known of sources whose text has not changed. */
  async describe(sources: SearchSource[]): Promise<void> {
    if (sources.length === 0) return
    await this.#db.write((q) => {
      for (const source of sources) {
        q.run(
          `UPDATE source SET kind = ?, agent_ids = ?, session_id = ?, session_key = ?, repo_path = ?, branch = ?,
                             channel = ?, chat_id = coalesce(?, chat_id), agent_kind = ? WHERE path = ?`,
          ...aboutSource(source),
          source.path,
        )
      }
    })
  }

  /** The passages with the largest share of these words. */
  matchWords(terms: WordExpression[], filter: SearchFilter): WordMatches {
    return this.#asOfOneMoment(() => this.#match.byWords(terms, filter))
  }

  /** How the index makes tokens of a text. */
  tokensOf(text: string): string[] {
    return this.#match.tokensOf(text)
  }

  /** The newest passages that have the pieces of these substrings. */
  matchPieces(substrings: string[], filter: SearchFilter, limit: number): FoundPassage[] {
    return this.#asOfOneMoment(() => this.#match.byPieces(substrings, filter, limit))
  }

  /** A word like this one that occurs in passages that the filter allows, if this one does not. */
  nearWord(
    word: string,
    filter: SearchFilter,
    textOf: (passage: FoundPassage) => string,
  ): string | undefined {
    return this.#asOfOneMoment(() => this.#match.nearWord(word, filter, textOf))
  }

  /** Passages that fit the filter, the newest first, in groups; only those that may have the letters, if any are given. */
  *newest(filter: SearchFilter, needed?: NeededLetters): Generator<FoundPassage[]> {
    const among = needed && this.#asOfOneMoment(() => this.#match.withLetters(needed))
    yield* this.#match.newest(filter, among)
  }

  /** The index thread writes meanwhile: everything is read as of one moment. */
  #asOfOneMoment<T>(read: () => T): T {
    const { queries } = this.#db
    queries.exec('SAVEPOINT reading')
    try {
      return read()
    } finally {
      queries.exec('RELEASE reading')
    }
  }

  /** Those of these passages that fit the filter, the oldest first. */
  passages(ids: number[], filter: SearchFilter): FoundPassage[] {
    const { where, values } = conditions(filter)
    const rows = this.#db.queries.all<{ id: number }>(
      `SELECT p.id FROM passage p JOIN source s ON s.id = p.source_id
        WHERE p.id IN (SELECT value FROM json_each(?)) ${where}`,
      JSON.stringify(ids),
      ...values,
    )
    return this.#match.passages(rows.map(({ id }) => id).sort((a, b) => a - b))
  }

  /** Which of these passages still exist. */
  existing(ids: number[]): Set<number> {
    const sql = 'SELECT id FROM passage WHERE id IN (SELECT value FROM json_each(?))'
    return new Set(this.#db.queries.all<{ id: number }>(sql, JSON.stringify(ids)).map(({ id }) => id))
  }

  /** The sources that the filter allows; undefined for all of them. */
  sourceIds(filter: SearchFilter): Set<number> | undefined {
    const ids = allowedSources(this.#db.queries, filter)
    return ids && new Set(ids)
  }

  /** Removes everything. */
  clear(): Promise<void> {
    this.backlog.restart()
    return this.#db.write((q) => {
      q.exec('DELETE FROM passage; DELETE FROM source; DELETE FROM vectors; DELETE FROM settled')
      for (const table of ['words', 'pieces']) q.run(`INSERT INTO ${table} (${table}) VALUES ('delete-all')`)
    })
  }

  isEmpty(): boolean {
    return this.#db.queries.get('SELECT 1 FROM passage LIMIT 1') === undefined
  }

  counts(): Record<'sources' | 'passages' | 'spoken' | 'withPieces' | 'withVector', number> {
    return this.#db.queries.get(
      `SELECT (SELECT count(*) FROM source) AS sources, count(*) AS passages, coalesce(sum(role <> 2), 0) AS spoken,
              coalesce(sum(has_pieces), 0) AS withPieces, coalesce(sum(has_vector), 0) AS withVector FROM passage`,
    )!
  }
}

function inodeOf(path: string): number | undefined {
  return path === ':memory:' ? undefined : statSync(path, { throwIfNoEntry: false })?.ino
}

function stateFromRow(row: FileState): FileState {
  const { inode, size, mtimeMs, readBytes, readLines, toolsBytes, toolsLines } = row
  return { inode, size, mtimeMs, readBytes, readLines, toolsBytes, toolsLines }
}

/** The substrings of tool texts are added with their words: their file is large, and reading it again takes long. */
function addPassages(q: Queries, sourceId: number, passages: NewPassage[]): void {
  for (const { text, line, offset, length, role, at } of passages) {
    const isTool = role === 'tool'
    const { lastInsertRowid } = q.run(
      'INSERT INTO passage (source_id, line, offset, length, role, at, has_pieces) VALUES (?, ?, ?, ?, ?, ?, ?)',
      sourceId,
      line,
      offset,
      length,
      roles.indexOf(role),
      at,
      isTool ? 1 : 0,
    )
    q.run('INSERT INTO words (rowid, text) VALUES (?, ?)', lastInsertRowid, text)
    if (isTool) q.run('INSERT INTO pieces (rowid, text) VALUES (?, ?)', lastInsertRowid, text)
  }
}

/** The substrings of its passages stay behind until all are made again. */
function forget(q: Queries, path: string): void {
  const source = q.get<{ id: number }>('SELECT id FROM source WHERE path = ?', path)
  if (!source) return
  q.run('DELETE FROM words WHERE rowid IN (SELECT id FROM passage WHERE source_id = ?)', source.id)
  q.run('DELETE FROM passage WHERE source_id = ?', source.id)
  q.run('DELETE FROM source WHERE id = ?', source.id)
}
