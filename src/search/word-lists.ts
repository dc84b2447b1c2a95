// Which passages have a word: one bit for each passage, in memory, for the terms of recent questions. FTS5 reads the list of a
// word from the database each time, and the list of a common word is long. The gateway loads these lists between two searches;
// a command asks only once and uses none.
import type { Queries } from '../store/sqlite/queries.ts'

/** The passages that the index has. */
export interface IndexState {
  /** How many there are, and how many words they have on average. */
  passages: number
  average: number
  /** The id of the newest. */
  lastId: number
  /** How often passages were deleted. */
  deletions: number
}

/** Up to this much memory is used; then the list that was not used for longest is dropped. */
const mostBytes = 8 << 20
/** How many passages one step looks at: a few milliseconds, then the gateway does other work. */
const stepPassages = 50_000

export class WordLists {
  readonly #q: Queries
  /** By term; the one that was used last is the last one. */
  readonly #lists = new Map<string, WordList>()
  #deletions = 0

  constructor(q: Queries) {
    this.#q = q
  }

  /** The list of a term; undefined while it is not loaded. A term that is asked for is loaded by the next steps. */
  of(term: string, state: IndexState): WordList | undefined {
    this.#forgetAfterDeletion(state)
    const list = this.#lists.get(term) ?? new WordList()
    this.#lists.delete(term)
    this.#lists.set(term, list)
    if (list.readTo === 0 || state.lastId - list.readTo > stepPassages) return undefined
    if (list.readTo < state.lastId) this.#read(term, list, state.lastId)
    return list
  }

  /** Loads a part of a list; false when all are loaded. */
  load(state: IndexState): boolean {
    this.#forgetAfterDeletion(state)
    for (const [term, list] of this.#lists) {
      if (list.readTo >= state.lastId) continue
      this.#read(term, list, Math.min(state.lastId, list.readTo + stepPassages))
      this.#dropSome()
      return true
    }
    return false
  }

  /** The lists do not show which passages were deleted. Files are rarely deleted or written again. */
  #forgetAfterDeletion({ deletions }: IndexState): void {
    if (deletions !== this.#deletions) this.#lists.clear()
    this.#deletions = deletions
  }

  #read(term: string, list: WordList, to: number): void {
    // FTS5 limits its reading by whole numbers only, and numbers of JavaScript arrive as floating-point numbers.
    const sql = `SELECT json_group_array(rowid) AS ids FROM words
      WHERE words MATCH ? AND rowid > CAST(? AS INTEGER) AND rowid <= CAST(? AS INTEGER)`
    const { ids } = this.#q.get<{ ids: string }>(sql, term, list.readTo, to)!
    list.add(JSON.parse(ids) as number[], to)
  }

  #dropSome(): void {
    let bytes = [...this.#lists.values()].reduce((sum, list) => sum + list.bytes, 0)
    for (const [term, list] of this.#lists) {
      if (bytes <= mostBytes) return
      bytes -= list.bytes
      this.#lists.delete(term)
    }
  }
}

export class WordList {
  /** How many passages have the term. */
  count = 0
  /** The list is complete up to this id. */
  readTo = 0
  /** Bit n % 32 of number n / 32 is set if the passage n has the term. */
  #bits = new Uint32Array(0)

  get bytes(): number {
    return this.#bits.byteLength
  }

  add(ids: number[], readTo: number): void {
    const needed = (readTo >> 5) + 1
    if (needed > this.#bits.length) {
      const grown = new Uint32Array(needed + (needed >> 3))
      grown.set(this.#bits)
      this.#bits = grown
    }
    for (const id of ids) this.#bits[id >> 5]! |= 1 << (id & 31)
    this.count += ids.length
    this.readTo = readTo
  }

  has(id: number): boolean {
    return ((this.#bits[id >> 5]! >> (id & 31)) & 1) === 1
  }

  /** The newest passages that all of these lists have, the newest first. */
  static newest(lists: WordList[], limit: number): number[] {
    const all = lists.map((list) => list.#bits)
    const found: number[] = []
    for (let at = Math.min(...all.map((bits) => bits.length)) - 1; at >= 0; at--) {
      let common = all[0]![at]!
      for (let i = 1; i < all.length; i++) common &= all[i]![at]!
      for (; common !== 0; common &= ~(1 << (31 - Math.clz32(common)))) {
        if (found.length === limit) return found
        found.push(32 * at + 31 - Math.clz32(common))
      }
    }
    return found
  }
}
