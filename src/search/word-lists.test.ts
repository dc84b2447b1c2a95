import { expect, test } from 'vitest'
import { randomFrom } from '../../test/support/random.ts'
import { Database } from '../store/sqlite/database.ts'
import { DamagedContent } from '../store/sqlite/database-errors.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { PhraseReader, SetReader } from './list-readers.ts'
import { Postings } from './postings.ts'
import { pieceTokenizer, WordLists, WordList, wordTokenizer, type WordExpression } from './word-lists.ts'

const table = `CREATE VIRTUAL TABLE words USING fts5(text, content='', contentless_delete=1, tokenize="${wordTokenizer}")`
const vocabulary =
  'tide tides tidal harbour harbours heron herons weir weired wet été Größe ανα 海 x1 x12 x123 running runner'.split(
    ' ',
  )
const random = randomFrom(7)

function text(words: number): string {
  // Early words of the vocabulary are common, late ones are rare.
  return Array.from({ length: words }, () => vocabulary[Math.floor(random() ** 3 * vocabulary.length)]).join(
    ' ',
  )
}

function byFts5(q: Queries, expression: WordExpression): number[] {
  const sql = 'SELECT rowid AS id FROM words WHERE words MATCH ? ORDER BY rowid DESC'
  return q.all<{ id: number }>(sql, matchOf(expression)).map(({ id }) => id)
}

function matchOf(expression: WordExpression): string {
  if ('any' in expression) return `(${expression.any.map(matchOf).join(' OR ')})`
  if ('all' in expression) return `(${expression.all.map(matchOf).join(' AND ')})`
  if ('token' in expression) return `"${expression.token}"`
  return `"${expression.words}"${expression.isPrefix ? '*' : ''}`
}

const asked: WordExpression[] = [
  ...['tide', 'herons', 'weir', 'ETE', 'grosse', 'ΑΝΑ', '海', 'x12', 'running', 'nowhere', '!'].map(
    (words) => ({
      words,
    }),
  ),
  ...['t', 'tid', 'x', 'x12', 'h', 'zz', 'größ'].map((words) => ({ words, isPrefix: true })),
  ...['tide tide', 'tide harbour heron', 'harbour-weir', 'tide x12', 'heron nowhere'].map((words) => ({
    words,
  })),
  { words: 'tide har', isPrefix: true },
  { any: [{ words: 'x123' }, { words: 'wet' }] },
  { all: [{ words: 'tide' }, { any: [{ words: 'heron harbour' }, { words: 'ete' }] }] },
]

test('lists have exactly the passages that FTS5 finds, also after deletions, merges and long passages', async () => {
  const db = Database.open(':memory:', [
    `${table}; CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)`,
  ])
  const lists = new WordLists(db.queries)
  let lastId = 0
  const add = (words: number): void => {
    lastId += random() < 0.05 ? 300 : 1
    db.queries.run('INSERT INTO words (rowid, text) VALUES (?, ?)', lastId, text(words))
  }
  const compare = (): void => {
    lists.refresh(lastId)
    for (const expression of asked) {
      const list = lists.of(expression)
      const found = WordList.newest([list], Infinity)
      expect(String([matchOf(expression), found])).toBe(
        String([matchOf(expression), byFts5(db.queries, expression)]),
      )
      expect(list.count).toBe(found.length)
    }
    for (const beginning of ['t', 'x', 'w', 'z']) {
      const sql = 'SELECT term FROM vocabulary WHERE term >= ? AND term < ? ORDER BY term'
      const end = String.fromCharCode(beginning.charCodeAt(0) + 1)
      const known = db.queries.all<{ term: string }>(sql, beginning, end).map(({ term }) => term)
      expect([...new Set(lists.tokensLike(beginning))].sort()).toEqual(known)
    }
  }
  compare()
  for (let round = 0; round < 8; round++) {
    await db.write(() => {
      for (let i = 0; i < 100; i++)
        add(round % 4 === 1 && i % 40 === 0 ? 9_000 : 1 + Math.floor(20 * random()))
    })
    // A merge that stops in the middle, and passages that are deleted before and after merges.
    if (round === 5) await db.write((q) => q.run(`INSERT INTO words (words, rank) VALUES ('merge', -2)`))
    if (round % 3 === 2) await db.write((q) => q.run('DELETE FROM words WHERE rowid % 7 = ?', round))
    if (round % 2 === 1) compare()
  }
  await db.write((q) => q.run(`INSERT INTO words (words) VALUES ('optimize')`))
  compare()
  await lists.close()
  await db.close()
})

test('the newest of several lists, below an id', () => {
  const [even, third] = [2, 3].map((step) => {
    const ids = Array.from({ length: Math.floor(200 / step) }, (_, i) => (i + 1) * step)
    return WordList.of(ids, 200)
  })
  expect(WordList.newest([even!, third!], 3)).toEqual([198, 192, 186])
  expect(WordList.newest([even!, third!], 3, 192)).toEqual([186, 180, 174])
  expect(WordList.newest([even!], 9, 6)).toEqual([4, 2])
})

test('damaged pages and a damaged structure are reported as damage, or give a wrong list, and never hang', async () => {
  const db = Database.open(':memory:', [table])
  await db.write((q) => {
    for (let id = 1; id <= 300; id++) q.run('INSERT INTO words (rowid, text) VALUES (?, ?)', id, text(20))
  })
  const structure = new Postings(db.queries, 'words').structure()
  /** The pages have some other bytes. */
  const damaged = <T>(row: T | undefined): T | undefined =>
    row && { ...row, pages: withOtherBytes((row as { pages?: Uint8Array }).pages ?? new Uint8Array(), 0) }
  const withDamage: Queries = {
    ...db.queries,
    get: <T>(...asked: Parameters<Queries['get']>) => damaged(db.queries.get<T>(...asked)),
  }
  let reported = 0
  for (let round = 0; round < 400; round++) {
    const [pages, parts] =
      round % 2 === 0 ? [withDamage, structure] : [db.queries, withOtherBytes(structure, 8)]
    const reader = round % 4 < 2 ? new PhraseReader(300) : new SetReader(new Int32Array(10))
    try {
      new Postings(pages, 'words').read(parts, 'tide', true, reader)
    } catch (error) {
      expect(error).toBeInstanceOf(DamagedContent)
      reported++
    }
  }
  expect(reported).toBeGreaterThan(50)
  await db.close()
})

test('lists of substrings have the passages that FTS5 finds', async () => {
  const db = Database.open(':memory:', [
    `CREATE VIRTUAL TABLE pieces USING fts5(text, content='', columnsize=0, detail=none, tokenize="${pieceTokenizer}")`,
  ])
  const lists = new WordLists(db.queries, 'pieces')
  const byFts5 = (pieces: string[]): string => {
    const sql = 'SELECT rowid AS id FROM pieces WHERE pieces MATCH ? ORDER BY rowid DESC'
    const match = pieces.map((piece) => `"${piece}"`).join(' AND ')
    return String(db.queries.all<{ id: number }>(sql, match).map(({ id }) => id))
  }
  const found = (words: string): string => String(WordList.newest([lists.of({ words })], Infinity))
  let lastId = 0
  for (let round = 0; round < 6; round++) {
    await db.write((q) => {
      for (let i = 0; i < 200; i++)
        q.run(
          'INSERT INTO pieces (rowid, text) VALUES (?, ?)',
          (lastId += i % 50 === 0 ? 400 : 1),
          text(i % 90 === 0 ? 9_000 : 1 + Math.floor(6 * random())),
        )
    })
    if (round === 3) await db.write((q) => q.run(`INSERT INTO pieces (pieces, rank) VALUES ('merge', -2)`))
    lists.refresh(lastId)
    for (const piece of ['tid', 'RBO', ' x1', 'été', 'grö', 'ανα', 'zzz'])
      expect(found(piece)).toBe(byFts5([piece]))
    expect(found('heron')).toBe(byFts5(['her', 'ero', 'ron']))
    const rough = WordList.newest([lists.of({ words: 'herons', isRough: true })], Infinity)
    expect(String(rough)).toBe(byFts5(['her', 'ons']))
    expect(found('harbour herons wet')).toBe(byFts5(['har', 'bou', 'r h', 'ero', 'ns ', 'wet']))
  }
  await lists.close()
  await db.close()
})

/** Six bytes are others, somewhere from `first` on: high ones, which make large numbers. */
function withOtherBytes(bytes: Uint8Array, first: number): Buffer {
  const other = Buffer.from(bytes)
  const at = first + Math.floor(random() * (bytes.length - first - 6))
  for (let i = 0; i < 6; i++) other[at + i] = 128 + Math.floor(random() * 128)
  return other
}
