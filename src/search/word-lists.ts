// Which passages have the words of a question: one bit for each passage. Lists are read from FTS5's tables at their first use,
// and kept in memory until the index changes.
import { Database } from '../store/sqlite/database.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { PhraseReader, PlainSetReader, SetReader } from './list-readers.ts'
import { Postings, type PostingTable } from './postings.ts'

/** The requirement for a passage: these words next to each other, one of several expressions, or all of them. */
export type WordExpression =
  /** With `isPrefix` the last word is the beginning of a word. With `isRough` some of the pieces of letters are enough. */
  | { words: string; isPrefix?: boolean; isRough?: boolean }
  /** As the index has it. */
  | { token: string }
  | { any: WordExpression[] }
  | { all: WordExpression[] }

/** How the index makes tokens of a text. */
export const wordTokenizer = 'porter unicode61 remove_diacritics 2'
export const pieceTokenizer = 'trigram remove_diacritics 1'

/** Up to this much memory is used; then the list that was not used for longest is dropped. */
const mostBytes = 8 << 20
/** Of letters with more pieces than this, some are enough. */
const manyPieces = 12
/** Pages of tokens that are looked through for words like another, with about 250 tokens each. */
const mostPages = 60

/** Of the table of substrings: what are words here are letters that stand together, as far as their pieces tell. */
export class WordLists {
  readonly #table: PostingTable
  readonly #postings: Postings
  readonly #tokens: Tokens
  /** By expression; the one that was used last is the last one. */
  readonly #lists = new Map<string, WordList>()
  #structure: Buffer = Buffer.alloc(0)
  #deleted: number[] = []
  #lastId = 0

  constructor(q: Queries, table: PostingTable = 'words') {
    this.#table = table
    this.#postings = new Postings(q, table)
    this.#tokens = new Tokens(table === 'words' ? wordTokenizer : pieceTokenizer)
  }

  /** Forgets the lists if the index has changed. Call it in the transaction that reads the lists. */
  refresh(lastId: number): void {
    const structure = this.#postings.structure()
    // An index that was filled again may have the same structure, but it has other ids.
    if (structure.equals(this.#structure) && lastId === this.#lastId) return
    this.#structure = structure
    this.#lastId = lastId
    this.#deleted = [...this.#postings.deleted(structure)]
    this.#lists.clear()
  }

  of(expression: WordExpression): WordList {
    const key = JSON.stringify(expression)
    const list = this.#lists.get(key) ?? this.#read(expression)
    this.#lists.delete(key)
    this.#lists.set(key, list)
    this.#dropSome()
    return list
  }

  tokensOf(text: string): string[] {
    return this.#tokens.of(text)
  }

  /** How the index makes a token of the word; undefined if it makes none or several. */
  tokenOf(word: string): string | undefined {
    const tokens = this.#tokens.of(word)
    return tokens.length === 1 ? tokens[0] : undefined
  }

  /** All tokens that begin so; of too many, those that begin with more letters of the word. */
  tokensLike(word: string): string[] {
    for (let letters = 1; letters <= 3; letters++) {
      const found = this.#postings.tokens(this.#structure, word.slice(0, letters), mostPages)
      if (found) return found
    }
    return []
  }

  close(): Promise<void> {
    return this.#tokens.close()
  }

  #read(expression: WordExpression): WordList {
    if ('any' in expression) return WordList.withAny(expression.any.map((each) => this.of(each)))
    if ('all' in expression) return WordList.withAll(expression.all.map((each) => this.of(each)))
    if ('token' in expression) return this.#withToken(expression.token, false)
    const tokens = this.#tokens.of(expression.words)
    const { isPrefix = false, isRough = tokens.length > manyPieces } = expression
    if (tokens.length > 1 && this.#table === 'pieces') return this.#withPieces(tokens, isRough ? 3 : 1)
    return tokens.length > 1 ? this.#withPhrase(tokens, isPrefix) : this.#withToken(tokens[0], isPrefix)
  }

  #withToken(token: string | undefined, isPrefix: boolean): WordList {
    const bits = new Int32Array((this.#lastId >> 5) + 1)
    const reader = this.#table === 'words' ? new SetReader(bits) : new PlainSetReader(bits)
    if (token !== undefined) this.#postings.read(this.#structure, token, isPrefix, reader)
    return new WordList(bits, this.#deleted)
  }

  /** The passages that have the tokens next to each other. */
  #withPhrase(tokens: string[], isPrefix: boolean): WordList {
    let found: PhraseReader | undefined
    for (const [at, token] of tokens.entries()) {
      const reader = new PhraseReader(this.#lastId, found)
      this.#postings.read(this.#structure, token, isPrefix && at === tokens.length - 1, reader)
      reader.end()
      found = reader
    }
    return new WordList(found!.bits, this.#deleted)
  }

  /** The passages that have these pieces, or every third one and the last: they overlap. */
  #withPieces(tokens: string[], step: number): WordList {
    const used = tokens.filter((_, at) => at % step === 0 || at === tokens.length - 1)
    let found = this.of({ token: used[0]! })
    for (const token of used.slice(1)) {
      if (found.count === 0) break
      found = WordList.withAll([found, this.of({ token })])
    }
    return found
  }

  #dropSome(): void {
    for (const [key, { bytes }] of this.#lists) {
      if (this.#lists.size * bytes <= mostBytes) return
      this.#lists.delete(key)
    }
  }
}

/** Asks FTS5 for the tokens of a text: an empty index of the same kind gets the text, and lists what it has of it. */
class Tokens {
  readonly #tokenizer: string
  #database: Database | undefined

  constructor(tokenizer: string) {
    this.#tokenizer = tokenizer
  }

  of(text: string): string[] {
    const { queries } = (this.#database ??= Database.open(':memory:', [tokenTables(this.#tokenizer)]))
    queries.run('INSERT INTO texts (text) VALUES (?)', text)
    const tokens = queries.all<{ term: string }>('SELECT term FROM tokens ORDER BY "offset"')
    queries.run(`INSERT INTO texts (texts) VALUES ('delete-all')`)
    return tokens.map(({ term }) => term)
  }

  async close(): Promise<void> {
    await this.#database?.close()
  }
}

function tokenTables(tokenizer: string): string {
  return `CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize="${tokenizer}");
    CREATE VIRTUAL TABLE tokens USING fts5vocab(texts, instance);`
}

/** A set of passages. */
export class WordList {
  readonly count: number
  /** Bit n % 32 of number n / 32 is set if the passage n is in the set. */
  readonly #bits: Int32Array

  constructor(bits: Int32Array, without: Iterable<number> = []) {
    for (const id of without) bits[id >> 5]! &= ~(1 << (id & 31))
    this.#bits = bits
    this.count = countBits(bits)
  }

  static of(ids: Iterable<number>, lastId: number): WordList {
    const bits = new Int32Array((lastId >> 5) + 1)
    for (const id of ids) bits[id >> 5]! |= 1 << (id & 31)
    return new WordList(bits)
  }

  static withAny(lists: WordList[]): WordList {
    const bits = lists[0]!.#bits.slice()
    for (const list of lists.slice(1)) {
      const other = list.#bits
      for (let at = 0; at < bits.length; at++) bits[at]! |= other[at]!
    }
    return new WordList(bits)
  }

  static withAll(lists: WordList[]): WordList {
    const bits = lists[0]!.#bits.slice()
    for (const list of lists.slice(1)) {
      const other = list.#bits
      for (let at = 0; at < bits.length; at++) bits[at]! &= other[at]!
    }
    return new WordList(bits)
  }

  get bytes(): number {
    return this.#bits.byteLength
  }

  has(id: number): boolean {
    return ((this.#bits[id >> 5]! >> (id & 31)) & 1) === 1
  }

  /** The newest passages below this id that all of these lists have, the newest first. */
  static newest(lists: WordList[], limit: number, below = Infinity): number[] {
    const all = lists.map((list) => list.#bits)
    const found: number[] = []
    for (let at = Math.min(all[0]!.length - 1, Math.floor(below / 32)); at >= 0; at--) {
      let common = all[0]![at]!
      for (let i = 1; i < all.length; i++) common &= all[i]![at]!
      for (; common !== 0; common &= ~(1 << (31 - Math.clz32(common)))) {
        const id = 32 * at + 31 - Math.clz32(common)
        if (id >= below) continue
        if (found.length === limit) return found
        found.push(id)
      }
    }
    return found
  }
}

function countBits(bits: Int32Array): number {
  let count = 0
  for (const each of bits) {
    const twos = each - ((each >>> 1) & 0x55555555)
    const fours = (twos & 0x33333333) + ((twos >>> 2) & 0x33333333)
    count += Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
  }
  return count
}
