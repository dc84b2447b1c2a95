// What the search index still lacks: words are added when a file is read, their pieces and vectors later, in the quiet.
import type { SearchKind, SearchRole } from '../domain/search.ts'
import type { Database } from '../store/sqlite/database.ts'
import { roles } from './search-rows.ts'

export interface PassageToRead {
  id: number
  path: string
  kind: SearchKind
  offset: number
  length: number
  role: SearchRole
}

type Lack = 'pieces' | 'vector'

const end = Number.MAX_SAFE_INTEGER

export class SearchLacking {
  #db: Database
  /** Above these passages none lacks its pieces or its vector. */
  #below: Record<Lack, number> = { pieces: end, vector: end }

  constructor(db: Database) {
    this.#db = db
  }

  /** Passages were added, or all forgotten: the next look begins with the newest. */
  beginAnew(): void {
    this.#below = { pieces: end, vector: end }
  }

  /** The newest passages that still lack their pieces or their vector; tools have no vectors. */
  newest(what: Lack, limit: number): PassageToRead[] {
    const rows = this.#goOn(what, limit)
    if (rows.length > 0 || this.#below[what] === end) return rows
    this.#below[what] = end
    return this.#goOn(what, limit)
  }

  /** Goes on where the last look ended: what lies above has what it needs. */
  #goOn(what: Lack, limit: number): PassageToRead[] {
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
}
