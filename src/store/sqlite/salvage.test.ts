import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { aCodingSession } from '../../../test/support/coding-store-contract.ts'
import { findStateFault } from '../inspect-files.ts'
import { CodingStore } from './coding-store.ts'
import { insertRow } from './queries.ts'
import { rebuildStateDatabase, type Salvaged } from './salvage.ts'
import { openStateDatabase } from './state-database.ts'

const count = 400
/** One is too long for its page. */
const record = (n: number): string =>
  JSON.stringify({ text: `the words of message ${n}`.repeat(n === 77 ? 500 : 5) })

const sound = mkdtempSync(join(tmpdir(), 'rockpool-sound-'))
afterAll(() => rmSync(sound, { recursive: true, force: true }))
beforeAll(() => makeState(join(sound, 'rockpool.sqlite')))

/** A state database with rows in tables of both kinds, some of them deleted again: single ones, and whole pages. */
async function makeState(path: string): Promise<void> {
  const db = openStateDatabase(path)
  await db.write((q) => {
    for (let n = 1; n <= count + 100; n++) {
      const inbox = { id: n, key: `k${n}`, lane: 'l', agent_id: 'main', state: 'waiting', accepted_at: n }
      insertRow(q, 'inbox', { ...inbox, record: record(n) })
    }
    for (let n = 1; n <= count; n++) {
      const answer = {
        who: 'w',
        operation: 'o',
        key: `k${String(n).padStart(5, '0')}`,
        input_hash: 'h',
        at: n,
      }
      insertRow(q, 'answer', { ...answer, output: 'an answer' })
    }
    const person = { channel: 'telegram', account: 'default', name: 'Ada', approved_at: 1 }
    insertRow(q, 'paired_person', { ...person, sender: '1', owner: 1 })
    const rule = { id: 'g', tool: 'Bash', pattern: 'npm test', granted_at: 1, granted_by: 'Ada' }
    insertRow(q, 'grant_always', rule)
  })
  await db.write((q) => q.run('DELETE FROM inbox WHERE id % 4 = 0 OR id > ?', count))
  await db.emptyLog()
  await db.close()
}

interface Content {
  inbox: Array<{ id: number; record: string }>
  answers: Array<{ key: string }>
  rights: number
}

async function contentOf(path: string): Promise<Content> {
  await using db = openStateDatabase(path)
  expect(db.faults(5)).toEqual([])
  return db.read((q) => ({
    inbox: q.all('SELECT id, record FROM inbox ORDER BY id'),
    answers: q.all('SELECT key FROM answer ORDER BY key'),
    rights: q.all('SELECT id FROM grant_always UNION SELECT sender FROM paired_person').length,
  }))
}

async function damagedBy(spoil: (bytes: Buffer) => void): Promise<{ salvaged: Salvaged; content: Content }> {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-salvage-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'rockpool.sqlite')
  const bytes = readFileSync(join(sound, 'rockpool.sqlite'))
  spoil(bytes)
  writeFileSync(path, bytes)
  const salvaged = await rebuildStateDatabase(path)
  expect(readFileSync(salvaged.aside).equals(bytes)).toBe(true)
  const content = await contentOf(path)
  const left = readdirSync(join(path, '..')).filter((name) => /salvage|rebuilt/.test(name))
  expect(left).toEqual([])
  return { salvaged, content }
}

const all = count - count / 4
const deleted = new Set(
  Array.from({ length: count + 100 }, (_, i) => i + 1)
    .filter((n) => n % 4 === 0 || n > count)
    .map(record),
)

test('with 50 changed bytes most rows come back, none that was deleted, and what is missing is reported', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const random = randomFrom(seed)
    const { salvaged, content } = await damagedBy((bytes) => {
      for (let i = 0; i < 50; i++) {
        const at = Math.floor(random() * bytes.length)
        bytes[at] = bytes[at]! ^ (1 + Math.floor(random() * 255))
      }
    })
    const { inbox, answers } = content
    expect(inbox.filter(({ record: text }) => deleted.has(text))).toEqual([])
    // A changed byte costs the row that it is in.
    expect(inbox.length).toBeGreaterThan(all - 25)
    expect(answers.length).toBeGreaterThan(count - 25)
    const unchanged = inbox.filter(({ id, record: text }) => text === record(id))
    expect(unchanged.length).toBeGreaterThan(inbox.length - 50)
    const isLess = inbox.length < all || answers.length < count
    if (isLess) expect(salvaged.incomplete.length + salvaged.dropped).toBeGreaterThan(0)
  }
})

test('a destroyed header costs nothing', async () => {
  const { salvaged, content } = await damagedBy((bytes) => bytes.fill(0x55, 0, 100))
  expect(content.inbox.length).toBe(all)
  expect(content.answers.length).toBe(count)
  expect(salvaged.incomplete).toEqual([])
})

test('a damaged schema costs nothing where its entries can be recognized', async () => {
  const { content } = await damagedBy((bytes) => {
    for (const text of ['CREATE TABLE inbox', 'CREATE TABLE answer'])
      bytes.write('CREATE TXBLQ', bytes.indexOf(text))
  })
  expect(content.inbox.length).toBe(all)
  expect(content.answers.length).toBe(count)
})

test('rows on both sides of a destroyed page come back', async () => {
  const { salvaged, content } = await damagedBy((bytes) => {
    const at = bytes.indexOf(record(201).slice(0, 40))
    bytes.fill(0xff, at - (at % 4096), at - (at % 4096) + 4096)
  })
  const ids = content.inbox.map(({ id }) => id)
  expect(ids).toEqual(expect.arrayContaining([1, 399]))
  expect(ids.length).toBeGreaterThan(all - 40)
  expect(salvaged.incomplete).toEqual(['inbox'])
})

test('the rows of a table come back when the page is destroyed that leads to them, without those of free pages', async () => {
  const { salvaged, content } = await damagedBy((bytes) => {
    const { root, free } = aboutInbox()
    expect(free).toBeGreaterThan(3)
    bytes.fill(0x11, root, root + 4096)
  })
  expect(content.inbox.map(({ record: text }) => text)).toEqual(content.inbox.map(({ id }) => record(id)))
  expect(content.inbox.length).toBe(all)
  expect(salvaged.incomplete).toEqual(['inbox'])
})

test('a wrong page number leads to no rows of free pages, and does not cost the rows of the right page', async () => {
  const { salvaged, content } = await damagedBy((bytes) => {
    const firstCell = aboutInbox().root + bytes.readUInt16BE(aboutInbox().root + 12)
    const freeList = (bytes.readUInt32BE(32) - 1) * 4096
    bytes.copy(bytes, firstCell, freeList + 8, freeList + 12)
  })
  expect(content.inbox.map(({ record: text }) => text)).toEqual(content.inbox.map(({ id }) => record(id)))
  expect(content.inbox.length).toBe(all)
  expect(salvaged.incomplete).toEqual(['inbox'])
})

test.each([
  { page: 'of the schema', at: (bytes: Buffer) => bytes.lastIndexOf('CREATE TABLE inbox') },
  { page: 'with header and schema', at: () => 0 },
])('a destroyed page $page does not cost the tables that it names', async ({ at }) => {
  const { content } = await damagedBy((bytes) => {
    const from = at(bytes) - (at(bytes) % 4096)
    bytes.fill(0x11, from, from + 4096)
  })
  expect(content.inbox.length).toBe(all)
})

test('what is only in the log comes back, too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-salvage-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [open, path] = [join(folder, 'open.sqlite'), join(folder, 'rockpool.sqlite')]
  copyFileSync(join(sound, 'rockpool.sqlite'), open)
  {
    await using db = openStateDatabase(open)
    await db.write((q) => q.run("UPDATE inbox SET lane = 'from the log' WHERE id = 399"))
    copyFileSync(`${open}-wal`, `${path}-wal`)
    writeFileSync(path, readFileSync(open).fill(0x55, 0, 100))
  }
  await rebuildStateDatabase(path)
  await using db = openStateDatabase(path)
  const rows = db.read((q) => q.all("SELECT id FROM inbox WHERE lane = 'from the log'"))
  expect(rows).toEqual([{ id: 399 }])
})

test('an empty database is found, and what its log has comes back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-salvage-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [open, path] = [join(folder, 'open.sqlite'), join(folder, 'rockpool.sqlite')]
  {
    await using db = openStateDatabase(open)
    await db.write((q) => {
      const inbox = { id: 1, key: 'k1', lane: 'l', agent_id: 'main', state: 'waiting', accepted_at: 1 }
      insertRow(q, 'inbox', { ...inbox, record: record(1) })
    })
    copyFileSync(`${open}-wal`, `${path}-wal`)
  }
  writeFileSync(path, '')
  utimesSync(path, 1, 1)
  const fault = await findStateFault(path)
  expect(fault).toMatchObject({ problem: 'is damaged and cannot be relied on' })
  await fault!.fix!()
  expect(await findStateFault(path)).toBeUndefined()
  expect((await contentOf(path)).inbox).toEqual([{ id: 1, record: record(1) }])
})

test('rights do not come back from a damaged file', async () => {
  const { content } = await damagedBy((bytes) => bytes.fill(0, 0, 16))
  expect(content.rights).toBe(0)
})

/** `root`: where its first page begins. `free`: how many pages are free. */
function aboutInbox(): { root: number; free: number } {
  const db = new DatabaseSync(join(sound, 'rockpool.sqlite'), { readOnly: true })
  const { page } = db.prepare("SELECT rootpage AS page FROM sqlite_schema WHERE name = 'inbox'").get()!
  const { free } = db.prepare('SELECT freelist_count AS free FROM pragma_freelist_count').get()!
  db.close()
  return { root: (Number(page) - 1) * 4096, free: Number(free) }
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('a wrong byte in the name of a field is found; the column beside it has the value, and nothing loses a limit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-salvage-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'rockpool.sqlite')
  const db = openStateDatabase(path)
  const store = new CodingStore(db)
  const { request } = aCodingSession('any')
  await store.save(aCodingSession('whole', { createdAt: 11 }))
  await store.save(aCodingSession('named', { createdAt: 12 }))
  await store.save(aCodingSession('limited', { request: { ...request, withoutApprove: true } }))
  await db.write((q) => {
    q.run(
      "UPDATE coding_session SET record = replace(record, '\"createdAt\"', '\"4reatedAt\"') WHERE id = 'named'",
    )
    q.run(
      "UPDATE coding_session SET record = replace(record, 'withoutApprove', 'withoutApprovf') WHERE id = 'limited'",
    )
  })
  await db.close()
  expect(await findStateFault(path)).toMatchObject({
    details: expect.stringContaining('1 damaged record in coding_session'),
  })
  expect(await rebuildStateDatabase(path)).toMatchObject({ dropped: 1 })
  await using rebuilt = openStateDatabase(path)
  const sessions = new CodingStore(rebuilt).list()
  expect(sessions.map(({ id, createdAt }) => [id, createdAt])).toEqual([
    ['named', 12],
    ['whole', 11],
  ])
})
